//! `strata replay`: the report of a recorded run.

use std::process::ExitCode;

use anyhow::anyhow;
use gpu_strata::{Answer, Recording};

use super::files::{self, Files};
use super::{Call, Fault, output};
use crate::cli::Replay;

/// Reads the recording and infers all values again.
pub fn run(arguments: &Replay, call: Call) -> Result<ExitCode, Fault> {
    let target = arguments.output.output.as_deref();
    Files::default().read(&arguments.file).written(target, "--output").check()?;
    let destination = output::Destination::open(&arguments.output)?;
    let recording = match (&arguments.file, &arguments.example) {
        (Some(file), _) => files::recording(file)?,
        (None, Some(example)) => Recording::example(example)?,
        (None, None) => return Err(Fault::usage(anyhow!("give a recording, or --example"))),
    };
    let is_whole = recording.defects().is_empty();
    let answer = recording.replay_only(&arguments.only)?;
    if matches!(answer, Answer::Characterized(_)) {
        output::check_of_characterization(arguments.output.format)?;
    }
    output::warn(call, &answer.run().warnings);
    let reported = destination.answer(&answer, &arguments.output)?;
    Ok(if is_whole { reported } else { output::partial() })
}
