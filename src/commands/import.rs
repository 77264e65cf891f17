//! `strata import`: timings of another tool become a recording.

use std::process::ExitCode;

use gpu_strata::Imported;

use super::output::{self, Reserved};
use super::{Call, Fault};
use crate::cli::{Import, Tool};

/// Reads the timings and writes the recording.
pub fn run(arguments: &Import, call: Call) -> Result<ExitCode, Fault> {
    let imported = match arguments.tool {
        Tool::Mt4g => Imported::mt4g(&arguments.folder)?,
    };
    let reserved = Reserved::open(&arguments.output, "--output")?;
    let (warnings, series, files) = (imported.run().warnings.clone(), imported.series(), imported.files());
    let device = imported.device().name.clone();
    imported.record(reserved.take())?;
    output::warn(call, &warnings);
    if !call.quiet {
        eprintln!(
            "strata: wrote {series} series from {files} files about {device} to `{file}`; run `strata replay {file}` for the report",
            file = arguments.output.display(),
        );
    }
    Ok(ExitCode::SUCCESS)
}
