//! `strata discover`: measure, record, report.

use std::process::ExitCode;
use std::time::Instant;

use super::{Fault, measuring};
use crate::cli::Discover;

/// Measures the topology of one GPU.
pub fn run(arguments: &Discover, started: Instant) -> Result<ExitCode, Fault> {
    let Discover { only, run } = arguments;
    measuring::run(run, started, |device, options| Ok(device.discover_only(only, options)?.into()))
}
