//! A run that lets other threads of Python work, and that Ctrl-C ends.

use std::panic;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use gpu_strata::{Device, Effort, Options, Progress, Recorded};
use pyo3::prelude::*;

use crate::error::raised;

/// How long a signal waits at most until Python handles it.
const PERIOD: Duration = Duration::from_millis(50);

/// A result as JSON, and of its recording the path and why it is not complete, if that is so.
pub type Found = (String, Option<(PathBuf, Option<String>)>);

/// How a run is made.
pub struct Settings {
    pub effort: Effort,
    pub seed: u64,
    pub record: Option<PathBuf>,
    pub host_facts: bool,
    /// How long to wait for a GPU that is in use.
    pub wait: Duration,
    /// Called with title, share, done and total before each batch of experiments.
    pub progress: Option<Py<PyAny>>,
}

/// Opens a device and measures by `ask`, on a thread of its own. This thread meanwhile handles signals and calls `progress`. An
/// exception that either raises ends the run, and is raised once the run has ended.
pub fn run(
    py: Python<'_>,
    name: &str,
    settings: Settings,
    ask: impl FnOnce(&mut Device, Options<'_>) -> gpu_strata::Result<gpu_strata::Answer> + Send,
) -> PyResult<Found> {
    let Settings { effort, seed, record, host_facts, wait, progress } = settings;
    let interrupted = Arc::new(AtomicBool::new(false));
    let (sender, mut news) = mpsc::channel::<Progress>();
    let is_told = progress.is_some();
    let measured = {
        let interrupted = Arc::clone(&interrupted);
        move || -> gpu_strata::Result<Found> {
            let mut device = Device::open_within(name, wait, &interrupted)?;
            let mut options = Options::effort(effort).seed(seed).on_progress(move |step| {
                if is_told {
                    // Nobody listens any more once an exception was raised.
                    let _ = sender.send(step);
                }
            });
            options.record = record;
            options.host_facts = host_facts;
            options.interrupted = interrupted;
            let answer = ask(&mut device, options)?;
            Ok((answer.json()?, device.recorded().map(recorded)))
        }
    };
    thread::scope(|scope| {
        let worker = scope.spawn(measured);
        let mut raised_here: Option<PyErr> = None;
        loop {
            let (receiver, step) = py.detach(move || next(news));
            news = receiver;
            let told = match step {
                Err(RecvTimeoutError::Disconnected) => break,
                Ok(step) if raised_here.is_none() => tell(py, progress.as_ref(), &step),
                _ => Ok(()),
            };
            if let Err(error) = told.and_then(|()| py.check_signals()) {
                interrupted.store(true, Ordering::Relaxed);
                raised_here.get_or_insert(error);
            }
        }
        let outcome = py.detach(|| worker.join()).unwrap_or_else(|panic| panic::resume_unwind(panic));
        match (outcome, raised_here) {
            (Ok(found), None) => Ok(found),
            (Ok(_), Some(error)) => Err(error),
            (Err(error), None) => Err(raised(py, &error)),
            (Err(error), Some(first)) => {
                first.set_cause(py, Some(raised(py, &error)));
                Err(first)
            }
        }
    })
}

fn recorded(recorded: &Recorded) -> (PathBuf, Option<String>) {
    match recorded {
        Recorded::Complete { path, .. } => (path.clone(), None),
        Recorded::Incomplete { path, reason } => (path.clone(), Some(reason.clone())),
    }
}

type Step = Result<Progress, RecvTimeoutError>;

fn next(news: Receiver<Progress>) -> (Receiver<Progress>, Step) {
    let step = news.recv_timeout(PERIOD);
    (news, step)
}

fn tell(py: Python<'_>, progress: Option<&Py<PyAny>>, step: &Progress) -> PyResult<()> {
    let Some(progress) = progress else { return Ok(()) };
    progress.call1(py, (step.title, step.share, step.done, step.total)).map(drop)
}
