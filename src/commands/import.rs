//! `strata import`: timings of another tool become a recording.

use std::process::ExitCode;

use gpu_strata::Imported;

use super::Fault;
use super::output::{self, Reserved};
use crate::cli::{Import, Tool};

/// Reads the timings and writes the recording.
pub fn run(arguments: &Import) -> Result<ExitCode, Fault> {
    let imported = match arguments.tool {
        Tool::Mt4g => Imported::mt4g(&arguments.folder)?,
    };
    let reserved = Reserved::open(&arguments.output, "--output")?;
    let (warnings, series, files) = (imported.run().warnings.clone(), imported.series(), imported.files());
    let device = imported.device().name.clone();
    imported.record(reserved.take())?;
    output::warn(&warnings);
    eprintln!(
        "strata: {series} series of {files} files about {device} are in `{file}`; `strata replay {file}` reports what they \
         show",
        file = arguments.output.display(),
    );
    Ok(ExitCode::SUCCESS)
}
