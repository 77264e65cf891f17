//! The common part of the commands that measure: output, progress, Ctrl-C and warnings.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gpu_strata::{Answer, Device, Options, Progress, Recorded, Result};
use indicatif::{ProgressBar, ProgressStyle};
use strata_files::STANDARD;

use super::files::Files;
use super::{Fault, output};
use crate::cli;

/// A run: opens the device, measures by `ask`, and writes the report.
pub fn run(
    arguments: &cli::Run,
    started: Instant,
    ask: impl FnOnce(&mut Device, Options<'_>) -> Result<Answer>,
) -> std::result::Result<ExitCode, Fault> {
    // A path that cannot be written is an error before the measurement.
    let record = arguments.record.as_deref();
    check(&arguments.measuring.device, record, arguments.output.output.as_deref())?;
    let destination = output::Destination::open(&arguments.output)?;
    let mut meter = Meter::open(&arguments.measuring)?;
    let answer = meter.ask(started, record, ask)?;
    let recorded = recorded(&meter.device, record, arguments.measuring.quiet);
    let reported = destination.answer(&answer, &arguments.output)?;
    Ok(if recorded { reported } else { output::partial() })
}

/// Refuses files that would overwrite each other, and a recording that cannot be written.
pub fn check(device: &str, record: Option<&Path>, output: Option<&Path>) -> std::result::Result<(), Fault> {
    let standard = Path::new(STANDARD);
    let report = output.or(record.filter(|path| *path == standard).map(|_| standard));
    Files::default().device(device).written(report, "--output").written(record, "--record").check()?;
    record.map_or(Ok(()), |path| output::check_writable(path, "--record"))
}

/// Says what became of the recording, if one was asked for; whether it has everything.
pub fn recorded(device: &Device, asked: Option<&Path>, quiet: bool) -> bool {
    match device.recorded() {
        None => true,
        Some(Recorded::Complete { path, bytes }) => {
            // The user did not choose the name.
            if !quiet && asked.is_some_and(|asked| asked != path) {
                output::note(&format!("recorded in `{}` ({bytes} bytes)", path.display()));
            }
            true
        }
        Some(Recorded::Incomplete { path, reason }) => {
            output::warn(&[format!("the recording `{}` is not complete: {reason}", path.display())]);
            false
        }
    }
}

/// A device that is open, and how it is measured. Ctrl-C ends a measurement.
pub struct Meter<'a> {
    arguments: &'a cli::Measuring,
    device: Device,
    interrupted: Arc<AtomicBool>,
}

impl<'a> Meter<'a> {
    /// Opens the device.
    pub fn open(arguments: &'a cli::Measuring) -> std::result::Result<Self, Fault> {
        let interrupted = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&interrupted);
        ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed)).map_err(Fault::run)?;
        let device = Device::open_within(&arguments.device, arguments.wait, &interrupted)?;
        Ok(Meter { arguments, device, interrupted })
    }

    /// Measures by `ask`, which began when `started` says.
    pub fn ask(
        &mut self,
        started: Instant,
        record: Option<&Path>,
        ask: impl FnOnce(&mut Device, Options<'_>) -> Result<Answer>,
    ) -> std::result::Result<Answer, Fault> {
        let arguments = self.arguments;
        let bar = progress_bar(arguments.quiet);
        let mut options =
            Options::effort(arguments.effort).seed(arguments.seed).on_progress(|progress| show(&bar, &progress));
        options.record = record.map(Path::to_owned);
        options.host_facts = !arguments.no_host_facts;
        options.interrupted = Arc::clone(&self.interrupted);
        options.started = started;
        let answer = ask(&mut self.device, options);
        bar.finish_and_clear();
        let answer = answer?;
        if let Some(timings) = answer.timings().filter(|_| arguments.timings) {
            eprint!("{timings}");
        }
        if !arguments.quiet {
            output::warn(&answer.run().warnings);
        }
        Ok(answer)
    }
}

fn progress_bar(quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    // Drawn to standard error, and only if that is a terminal.
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg} [{elapsed} elapsed, about {eta} left]");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

fn show(bar: &ProgressBar, progress: &Progress) {
    bar.set_length(progress.total as u64);
    bar.set_position(progress.done as u64);
    bar.set_message(format!("{}: {} experiments", progress.title, progress.batch));
}
