//! `strata replay`: the report of a recorded run.

use std::process::ExitCode;

use anyhow::anyhow;
use gpu_strata::{Answer, Recording};

use super::files::{self, Files};
use super::output::{self, Destination};
use super::{Call, Fault};
use crate::cli::{Output, Replay};

/// Reads the recording and infers all values again.
pub fn run(arguments: &Replay, call: Call) -> Result<ExitCode, Fault> {
    let target = arguments.output.output.as_deref();
    Files::default().read(&arguments.file).written(target, "--output").check()?;
    let destination = Destination::open(&arguments.output)?;
    let recording = match (&arguments.file, &arguments.example) {
        (Some(file), _) => files::recording(file)?,
        (None, Some(example)) => Recording::example(example)?,
        (None, None) => return Err(Fault::usage(anyhow!("give a recording, or --example"))),
    };
    report(recording, &arguments.only, destination, &arguments.output, call)
}

/// Reports these elements or parts of a recorded run, or all of them.
pub(super) fn report<S: AsRef<str>>(
    recording: Recording,
    only: &[S],
    destination: Destination,
    options: &Output,
    call: Call,
) -> Result<ExitCode, Fault> {
    let is_whole = recording.defects().is_empty();
    let answer = recording.replay_only(only)?;
    if matches!(answer, Answer::Characterized(_)) {
        output::check_of_characterization(options.format)?;
    }
    output::warn(call, &answer.run().warnings);
    let reported = destination.answer(&answer, options)?;
    Ok(if is_whole { reported } else { output::partial() })
}
