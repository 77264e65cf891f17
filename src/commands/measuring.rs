//! The common part of the commands that measure: output, progress, Ctrl-C and warnings.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::anyhow;
use gpu_strata::{Answer, Device, Options, Recorded, Result, is_of_several};
use strata_files::STANDARD;

use super::files::Files;
use super::node::{self, NodeFiles};
use super::progress::Bar;
use super::{Call, Fault, output};
use crate::cli;

/// A run: opens the device, measures by `ask`, and writes the report.
pub fn run(
    arguments: &cli::Run,
    node: Option<&cli::NodeFiles>,
    call: Call,
    ask: impl FnOnce(&mut Device, Options<'_>) -> Result<Answer>,
) -> std::result::Result<ExitCode, Fault> {
    // A path that cannot be written is an error before the measurement.
    let record = arguments.record.as_deref();
    let files = Files::default().device(&arguments.measuring.device);
    let files = node.into_iter().fold(files, node::checked);
    let output = arguments.output.output.as_deref();
    check(files, record, node.map_or(output, |node| node::report(output, node)))?;
    let destination = output::Destination::open(&arguments.output)?;
    let node = node.map(NodeFiles::open).transpose()?;
    let mut meter = Meter::open(&arguments.measuring, call)?;
    let answer = meter.ask(call.started, record, ask)?;
    let recorded = recorded(call, &meter.device, record);
    let reported = destination.answer(&answer, &arguments.output);
    let noted = match (&answer, node) {
        (Answer::Discovery(found), Some(node)) => node.write(&found.topology, call),
        _ => Ok(()),
    };
    // A report that cannot be written does not keep the other files from being written.
    let reported = noted.and(reported)?;
    Ok(if recorded { reported } else { output::partial() })
}

/// Refuses files that would overwrite each other or what is read, and a recording that cannot be written.
pub fn check(read: Files, record: Option<&Path>, output: Option<&Path>) -> std::result::Result<(), Fault> {
    let standard = Path::new(STANDARD);
    let report = output.or(record.filter(|path| *path == standard).map(|_| standard));
    read.written(report, "--output").written(record, "--record").check()?;
    record.map_or(Ok(()), |path| output::check_writable(path, "--record"))
}

/// Says what became of the recording, if one was asked for; whether it has everything.
pub fn recorded(call: Call, device: &Device, asked: Option<&Path>) -> bool {
    device.recorded().is_none_or(|recorded| told(call, recorded, asked))
}

/// Says what became of a recording; whether it has everything.
pub fn told(call: Call, recorded: &Recorded, asked: Option<&Path>) -> bool {
    match recorded {
        Recorded::Complete { path, bytes } => {
            // The user did not choose the name.
            if asked.is_some_and(|asked| asked != path) {
                output::note(call, &format!("recorded in `{}` ({bytes} bytes)", path.display()));
            }
            true
        }
        Recorded::Incomplete { path, reason } => {
            output::error(&format!("the recording `{}` is not complete: {reason}", path.display()));
            false
        }
    }
}

/// What Ctrl-C sets.
pub fn interruption() -> std::result::Result<Arc<AtomicBool>, Fault> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed)).map_err(Fault::run)?;
    Ok(interrupted)
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
        if is_of_several(&arguments.device) {
            let names = &arguments.device;
            return Err(Fault::usage(anyhow!(
                "--device: only `strata discover` measures several GPUs; name one in place of `{names}`"
            )));
        }
        let interrupted = interruption()?;
        let device = Device::open_within(&arguments.device, arguments.wait, &interrupted)?;
        Ok(Meter { arguments, call, device, interrupted })
    }

    /// Measures by `ask`, which began when `started` says.
    pub fn ask(
        &mut self,
        started: Instant,
        record: Option<&Path>,
        ask: impl FnOnce(&mut Device, Options<'_>) -> Result<Answer>,
    ) -> std::result::Result<Answer, Fault> {
        let arguments = self.arguments;
        let bar = Bar::new(self.call.quiet);
        let mut options =
            Options::effort(arguments.effort).seed(arguments.seed).on_progress(|progress| bar.show(&progress));
        options.record = record.map(Path::to_owned);
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
