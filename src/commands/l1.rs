//! `strata l1`: how much L1 a kernel gets.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use gpu_strata::attribute::BY_LAUNCH;
use gpu_strata::topology::{ElementName, Wanted};
use gpu_strata::{Device, Launch, Options, Side, l1};

use super::files::side;
use super::{Call, Fault, output, terminal};
use crate::cli::{L1, ListFormat};

/// Answers from a result, or measures the L1 first.
pub fn run(arguments: &L1, call: Call) -> Result<ExitCode, Fault> {
    let launch = Launch { threads_per_block: arguments.threads, shared_per_block: arguments.shared };
    let side = match &arguments.file {
        Some(file) => side(file),
        None => {
            let mut device = Device::open_within(&arguments.device, arguments.wait, &AtomicBool::new(false))?;
            let found = device.discover_only(&[Wanted::attribute(ElementName::L1, BY_LAUNCH)], Options::default())?;
            output::warn(call, &found.topology.run.warnings);
            if found.topology.is_partial() {
                return Err(Fault::run(anyhow!(
                    "the L1 could not be measured: see the warnings, or `strata discover`"
                )));
            }
            Side::Answer(Box::new(found.into()), arguments.device.clone())
        }
    };
    let answer = l1(side, launch)?;
    match arguments.format {
        ListFormat::Text => output::stdout(&answer.text(&terminal::of_stdout()))?,
        ListFormat::Json => output::stdout(&answer.json()?)?,
    }
    Ok(ExitCode::SUCCESS)
}
