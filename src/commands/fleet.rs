//! `strata fleet`: many results at once.

use std::path::Path;
use std::process::ExitCode;

use gpu_strata::{Extent, FleetOptions, expected_hosts, fleet};

use super::files::Files;
use super::output::{self, Destination};
use super::{Call, Fault};
use crate::cli::{Fleet, FleetFormat};

/// Merges, reports and returns the exit status of `diff`: 0 nothing stands out, 1 something does, 2 any trouble.
pub fn run(arguments: &Fleet, call: Call) -> Result<ExitCode, Fault> {
    merged(arguments, call).map_err(Fault::trouble)
}

fn merged(arguments: &Fleet, call: Call) -> Result<ExitCode, Fault> {
    let output = arguments.output.as_deref();
    Files::default().read(&arguments.expect).written(output, "--output").check()?;
    let options = FleetOptions {
        least_sigmas: arguments.sigmas,
        least_percent: arguments.percent,
        only: arguments.only.clone(),
        expected: arguments.expect.as_ref().map(expected_hosts).transpose()?,
    };
    let destination = Destination::at(output, "--output")?;
    let answer = fleet(&arguments.paths, &options)?;
    output::warn(call, &answer.warnings());
    // A report of an earlier run in one of the folders may be replaced; a result may not.
    if output.is_some_and(Path::exists) {
        Files::default().read(answer.files()).written(output, "--output").check()?;
    }
    let text = match arguments.format {
        FleetFormat::Text => {
            // A file is kept, and has room.
            let is_file = output.is_some_and(|path| path != Path::new(strata_files::STANDARD));
            let extent = if arguments.details || is_file { Extent::Details } else { Extent::Short };
            answer.text(&destination.terminal(), extent)
        }
        FleetFormat::Json => answer.json()?,
        FleetFormat::Html => answer.html()?,
    };
    destination.write(&text)?;
    Ok(ExitCode::from(u8::from(!answer.is_well())))
}
