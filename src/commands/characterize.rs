//! `strata characterize`: measure what access patterns cost, record, report.

use std::process::ExitCode;
use std::time::Instant;

use super::{Fault, measuring, output};
use crate::cli::Characterize;

/// Measures what access patterns cost on one GPU.
pub fn run(arguments: &Characterize, started: Instant) -> Result<ExitCode, Fault> {
    output::check_of_characterization(arguments.run.output.format)?;
    let suite = arguments.suite();
    measuring::run(&arguments.run, started, |device, options| Ok(device.characterize(&suite, options)?.into()))
}
