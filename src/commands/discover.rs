//! `strata discover`: measure, record, report.

use std::process::ExitCode;

use super::{Call, Fault, measuring};
use crate::cli::Discover;

/// Measures the topology of one GPU.
pub fn run(arguments: &Discover, call: Call) -> Result<ExitCode, Fault> {
    let Discover { only, bandwidth, run } = arguments;
    measuring::run(run, call, |device, options| Ok(device.discover_only(only, options.bandwidth(*bandwidth))?.into()))
}
