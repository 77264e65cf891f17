//! `strata characterize`: measure what access patterns cost, record, report.

use std::process::ExitCode;

use super::{Call, Fault, measuring, output};
use crate::cli::Characterize;

/// Measures what access patterns cost on one GPU.
pub fn run(arguments: &Characterize, call: Call) -> Result<ExitCode, Fault> {
    output::check_of_characterization(arguments.run.output.format)?;
    let suite = arguments.suite();
    measuring::run(&arguments.run, None, call, |device, options| Ok(device.characterize(&suite, options)?.into()))
}
