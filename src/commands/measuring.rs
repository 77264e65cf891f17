//! The common part of the commands that measure: output, progress, Ctrl-C and warnings.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use gpu_strata::{Answer, Device, Options, Result};

use super::progress::Bar;
use super::{Call, Fault, output};
use crate::cli;

/// A run: opens the device, measures by `ask`, and writes the report.
pub fn run(
    arguments: &cli::Run,
    call: Call,
    ask: impl FnOnce(&mut Device, Options<'_>) -> Result<Answer>,
) -> std::result::Result<ExitCode, Fault> {
    // A path that cannot be written is an error before the measurement.
    let destination = output::Destination::open(&arguments.output)?;
    let record = arguments.record.as_deref().map(|path| output::Reserved::open(path, "--record")).transpose()?;
    let answer = Meter::open(&arguments.measuring, call)?.ask(call.started, record, ask)?;
    destination.answer(&answer, &arguments.output)
}

/// A device that is open, and how it is measured. Ctrl-C ends a measurement.
pub struct Meter<'a> {
    arguments: &'a cli::Measuring,
    call: Call,
    device: Device,
    interrupted: Arc<AtomicBool>,
}

impl<'a> Meter<'a> {
    /// Opens the device.
    pub fn open(arguments: &'a cli::Measuring, call: Call) -> std::result::Result<Self, Fault> {
        let interrupted = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&interrupted);
        ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed)).map_err(Fault::run)?;
        let device = Device::open_within(&arguments.device, arguments.wait, &interrupted)?;
        Ok(Meter { arguments, call, device, interrupted })
    }

    /// Measures by `ask`, which began when `started` says.
    pub fn ask(
        &mut self,
        started: Instant,
        record: Option<output::Reserved>,
        ask: impl FnOnce(&mut Device, Options<'_>) -> Result<Answer>,
    ) -> std::result::Result<Answer, Fault> {
        let arguments = self.arguments;
        let bar = Bar::new(self.call.quiet);
        let mut options =
            Options::effort(arguments.effort).seed(arguments.seed).on_progress(|progress| bar.show(&progress));
        options.record = record.map(output::Reserved::take);
        options.host_facts = !arguments.no_host_facts;
        options.interrupted = Arc::clone(&self.interrupted);
        options.started = started;
        let answer = ask(&mut self.device, options);
        bar.clear();
        let answer = answer?;
        if let Some(timings) = answer.timings().filter(|_| arguments.timings) {
            eprint!("{timings}");
        }
        output::warn(self.call, &answer.run().warnings);
        Ok(answer)
    }
}
