//! `strata replay`: the report of a recorded run.

use std::process::ExitCode;

use gpu_strata::discover::{Question, discover};
use gpu_strata::probe::Effort;
use gpu_strata::recording::Recording;
use gpu_strata::report;
use gpu_strata::topology::Topology;

use super::{Fault, output};
use crate::cli::Replay;

/// Reads the recording and infers everything anew.
pub fn run(arguments: &Replay) -> Result<ExitCode, Fault> {
    let destination = output::Destination::open(&arguments.output)?;
    let recording = Recording::read(&arguments.file).map_err(Fault::usage)?;
    let topology = replay(recording, &arguments.output.only, &arguments.file.display().to_string());
    output::warn(&topology.run.warnings);
    destination.write(&output::render(&topology, arguments.output.format)?)?;
    Ok(report::exit_code(&topology))
}

fn replay(mut recording: Recording, only: &[gpu_strata::topology::ElementName], name: &str) -> Topology {
    let run = recording.run_info();
    let facts = recording.header.device.clone();
    let question = Question {
        only: if only.is_empty() { run.only.clone() } else { only.to_vec() },
        effort: Effort::from_name(&run.effort).unwrap_or(Effort::Standard),
        seed: run.seed,
    };
    let found = discover(&mut recording, &facts, &question, &mut |_| {});
    report::assemble(facts, run, found, Some(name))
}
