//! `strata import`: timings of another tool become a recording.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gpu_strata::Imported;

use super::files::Files;
use super::{Call, Fault, output};
use crate::cli::{Import, Tool};

/// Reads the timings and writes the recording.
pub fn run(arguments: &Import, call: Call) -> Result<ExitCode, Fault> {
    let imported = match arguments.tool {
        Tool::Mt4g => Imported::mt4g(&arguments.folder)?,
    };
    Files::default().read(inputs(&arguments.folder)).written(Some(&arguments.output), "--output").check()?;
    output::check_writable(&arguments.output, "--output")?;
    let (warnings, series, files) = (imported.run().warnings.clone(), imported.series(), imported.files());
    let device = imported.device().name.clone();
    imported.record(&arguments.output)?;
    output::warn(call, &warnings);
    output::note(
        call,
        &format!(
            "wrote {series} series from {files} files about {device} to `{file}`; run `strata replay {file}` for the report",
            file = arguments.output.display(),
        ),
    );
    Ok(ExitCode::SUCCESS)
}

/// Files that may be read: those of the folder, and those beside it, of which one may be the summary.
fn inputs(folder: &Path) -> Vec<PathBuf> {
    let beside = fs::canonicalize(folder).ok().and_then(|folder| folder.parent().map(Path::to_owned));
    let entries =
        [Some(folder.to_owned()), beside].into_iter().flatten().filter_map(|folder| fs::read_dir(folder).ok());
    let is_recording = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "strata");
    // An earlier recording may be replaced.
    entries.flatten().flatten().map(|entry| entry.path()).filter(|path| !is_recording(path)).collect()
}
