//! `strata l1`: how much L1 a kernel gets.

use std::process::ExitCode;

use gpu_strata::topology::ElementName;
use gpu_strata::{Device, Launch, Options, Side, l1};

use super::{Fault, output, terminal};
use crate::cli::{L1, ListFormat};

/// Answers from a result, or measures the L1 first.
pub fn run(arguments: &L1) -> Result<ExitCode, Fault> {
    let L1 { file, threads, shared, device, format } = arguments;
    let side = match file {
        Some(file) => Side::File(file.clone()),
        None => {
            let found = Device::open(device)?.discover_only(&[ElementName::L1], Options::default())?;
            Side::Answer(Box::new(found.into()), device.clone())
        }
    };
    let answer = l1(side, Launch { threads_per_block: *threads, shared_per_block: *shared })?;
    match format {
        ListFormat::Text => output::stdout(&answer.text(&terminal::of_stdout()))?,
        ListFormat::Json => output::stdout(&answer.json()?)?,
    }
    Ok(ExitCode::SUCCESS)
}
