//! `strata replay`: the report of a recorded run.

use std::process::ExitCode;

use gpu_strata::{Answer, Recording};

use super::{Call, Fault, output};
use crate::cli::Replay;

/// Reads the recording and infers all values again.
pub fn run(arguments: &Replay, call: Call) -> Result<ExitCode, Fault> {
    let destination = output::Destination::open(&arguments.output)?;
    let answer = Recording::open(&arguments.file)?.replay_only(&arguments.only)?;
    if matches!(answer, Answer::Characterized(_)) {
        output::check_of_characterization(arguments.output.format)?;
    }
    output::warn(call, &answer.run().warnings);
    destination.answer(&answer, &arguments.output)
}
