//! `strata characterize`: measure what access patterns cost, record, report.

use std::process::ExitCode;
use std::time::Instant;

use gpu_strata::characterize::{Question, characterize};
use gpu_strata::report;

use super::Fault;
use super::measuring::{self, Asked, Outcome};
use super::output::{self, Answer};
use crate::cli::Characterize;

/// Measures what access patterns cost on one GPU.
pub fn run(arguments: &Characterize, started: Instant) -> Result<ExitCode, Fault> {
    output::check_of_characterization(arguments.run.output.format)?;
    let (suite, run) = (arguments.suite(), &arguments.run);
    let question = Question { suite: suite.clone(), effort: run.effort, seed: run.seed };
    measuring::run(
        run,
        &Asked::Parts(&suite),
        started,
        |source, facts, progress| {
            let found = characterize(source, facts, &question, progress);
            Outcome { clock: found.clock.clone(), stages: found.stages.clone(), found }
        },
        |facts, run, found| {
            let answer = report::assemble_characterization(facts, run, question.suite.clone(), found, None);
            Answer::Characterization(Box::new(answer))
        },
    )
}
