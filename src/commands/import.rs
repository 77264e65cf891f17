//! `strata import`: timings of another tool become a recording.

use std::process::ExitCode;

use gpu_strata::import;
use gpu_strata::recording::{Entry, Header};

use super::Fault;
use super::output::{self, Reserved};
use crate::cli::{Import, Tool};

/// Reads the timings and writes the recording.
pub fn run(arguments: &Import) -> Result<ExitCode, Fault> {
    let imported = match arguments.tool {
        Tool::Mt4g => import::mt4g(&arguments.folder).map_err(Fault::usage)?,
    };
    let mut writer = Reserved::open(&arguments.output, "--output")?.record()?;
    let import::Import { device, run, measured, files } = imported;
    writer.header(&Header { device: device.clone(), run: run.clone() }).map_err(Fault::run)?;
    let entries: Vec<Entry> =
        (1..).zip(measured).map(|(number, (what, samples))| Entry::new(number, what.into(), Ok(samples), 0.0)).collect();
    writer.measured(&entries).map_err(Fault::run)?;
    writer.end(&run).map_err(Fault::run)?;
    output::warn(&run.warnings);
    eprintln!(
        "strata: {} series of {files} files about {} are in `{file}`; `strata replay {file}` reports what they show",
        entries.len(),
        device.name,
        file = arguments.output.display(),
    );
    Ok(ExitCode::SUCCESS)
}
