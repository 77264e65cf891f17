//! Discovery through the library's front, several machines side by side.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use gpu_strata::{Effort, Error, Options};
use strata_model::topology::Topology;

use super::{Job, Request};

/// Carries out jobs in their order until the time is over; the results with the number of their job.
pub fn all(jobs: &[Job<'_>], request: &Request) -> Result<Vec<(usize, Topology)>> {
    if let Some(folder) = &request.out {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
    }
    let end = request.minutes.map(|minutes| Instant::now() + Duration::from_secs_f64(minutes.max(0.0) * 60.0));
    let (next, interrupted) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
    let (sender, receiver) = mpsc::channel();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, interrupted) = (sender.clone(), &next, &interrupted);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(number) else { return };
                    let found = one(job, request, interrupted);
                    if sender.send((number, found)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut all = Vec::new();
        loop {
            let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            // What runs when the time is over is given up.
            let left = if interrupted.load(Ordering::Relaxed) { Duration::MAX } else { left };
            match receiver.recv_timeout(left) {
                Ok((number, Ok(Some(topology)))) => all.push((number, topology)),
                Ok((_, Ok(None))) => {}
                Ok((_, Err(error))) => {
                    interrupted.store(true, Ordering::Relaxed);
                    return Err(error);
                }
                Err(RecvTimeoutError::Timeout) => interrupted.store(true, Ordering::Relaxed),
                Err(RecvTimeoutError::Disconnected) => return Ok(all),
            }
        }
    })
}

/// The result of a job, from the folder if it is there; `None` if the time is over.
fn one(job: &Job<'_>, request: &Request, interrupted: &Arc<AtomicBool>) -> Result<Option<Topology>> {
    let change = job.change.map_or("as-it-is", |change| change.key());
    let origin = job.machine.origin.split(',').next().unwrap_or_default().replace(' ', "-");
    let name = format!("{origin}-{change}-{}-{}.json", request.effort.name(), job.seed);
    let file = request.out.as_ref().map(|folder| folder.join(name));
    if let Some(text) = file.as_deref().filter(|file| file.exists()).map(std::fs::read_to_string) {
        return Ok(Some(serde_json::from_str(&text?).context("a result that was kept cannot be read")?));
    }
    if interrupted.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let found = discover(job, request.effort, interrupted).with_context(|| job.machine.origin.clone())?;
    if let (Some(file), Some(topology)) = (file, &found) {
        keep(&file, topology)?;
    }
    Ok(found)
}

/// Writes a result under another name first, so that a file is whole or not there.
fn keep(file: &Path, topology: &Topology) -> Result<()> {
    let begun = file.with_extension("part");
    std::fs::write(&begun, serde_json::to_string(topology)?)?;
    std::fs::rename(&begun, file).with_context(|| format!("cannot write `{}`", file.display()))
}

fn discover(job: &Job<'_>, effort: Effort, interrupted: &Arc<AtomicBool>) -> Result<Option<Topology>> {
    let mut device = strata_judge::device(job.machine);
    let mut options = Options::effort(effort).seed(job.seed);
    options.interrupted = Arc::clone(interrupted);
    match device.discover(options) {
        Ok(found) => Ok(Some(found.topology)),
        Err(Error::Interrupted { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
