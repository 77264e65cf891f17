//! `strata discover`: measure, record, report.

use std::process::ExitCode;
use std::time::Instant;

use gpu_strata::discover::{Question, discover};
use gpu_strata::report;

use super::Fault;
use super::measuring::{self, Asked, Outcome};
use super::output::Answer;
use crate::cli::Discover;

/// Measures the topology of one GPU.
pub fn run(arguments: &Discover, started: Instant) -> Result<ExitCode, Fault> {
    let Discover { only, run } = arguments;
    let question = Question { only: only.clone(), effort: run.effort, seed: run.seed };
    measuring::run(
        run,
        &Asked::Elements(only),
        started,
        |source, facts, progress| {
            let found = discover(source, facts, &question, progress);
            Outcome { clock: found.clock.clone(), stages: found.stages.clone(), found }
        },
        |facts, run, mut found| {
            let evidence = std::mem::take(&mut found.evidence);
            Answer::Topology(Box::new(report::assemble(facts, run, found, None)), evidence)
        },
    )
}
