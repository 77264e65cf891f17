//! `strata replay`: the report of a recorded run.

use std::process::ExitCode;

use anyhow::anyhow;
use gpu_strata::{Answer, Recording};

use super::files::{self, Files};
use super::node::{self, NodeFiles};
use super::output::{self, Destination};
use super::{Call, Fault};
use crate::cli::{Output, Replay};

/// Reads the recording and infers all values again.
pub fn run(arguments: &Replay, call: Call) -> Result<ExitCode, Fault> {
    let target = node::report(arguments.output.output.as_deref(), &arguments.node);
    let files = Files::default().read(&arguments.file).written(target, output::OUTPUT);
    node::checked(files, &arguments.node).check()?;
    let destinations = (Destination::open(&arguments.output)?, NodeFiles::open(&arguments.node)?);
    let recording = match (&arguments.file, &arguments.example) {
        (Some(file), _) => files::recording(file)?,
        (None, Some(example)) => Recording::example(example)?,
        (None, None) => return Err(Fault::usage(anyhow!("give a recording, or --example"))),
    };
    report(recording, &arguments.only, destinations, &arguments.output, call)
}

/// Reports these elements or parts of a recorded run, or all of them.
pub(super) fn report<S: AsRef<str>>(
    recording: Recording,
    only: &[S],
    (destination, node): (Destination, NodeFiles),
    options: &Output,
    call: Call,
) -> Result<ExitCode, Fault> {
    let is_whole = recording.defects().is_empty();
    let answer = recording.replay_only(only)?;
    if matches!(answer, Answer::Characterized(_)) {
        output::check_of_characterization(options.format)?;
        if !node.is_none() {
            return Err(node::of_discovery());
        }
    }
    output::warn(call, &answer.run().warnings);
    let reported = destination.answer(&answer, options);
    let noted = match &answer {
        Answer::Discovery(found) => node.write(&found.topology, call),
        Answer::Characterized(_) => Ok(()),
    };
    let reported = noted.and(reported)?;
    Ok(if is_whole { reported } else { output::partial() })
}
