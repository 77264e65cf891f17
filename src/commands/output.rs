//! Where a result goes: standard output, or a file that is opened before anything is measured.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use gpu_strata::report;
use gpu_strata::topology::Topology;

use super::Fault;
use crate::cli::{self, Format};

/// An opened destination.
pub struct Destination {
    file: Option<(File, PathBuf)>,
}

impl Destination {
    /// Opens the file, if there is to be one, so that a path that cannot be written is noticed at once. An existing file
    /// keeps its content until the result is there.
    pub fn open(arguments: &cli::Output) -> Result<Self, Fault> {
        let Some(path) = &arguments.output else { return Ok(Destination { file: None }) };
        let file = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .with_context(|| format!("cannot write `{}`; choose another --output", path.display()))
            .map_err(Fault::usage)?;
        Ok(Destination { file: Some((file, path.clone())) })
    }

    /// Writes the whole result.
    pub fn write(self, text: &str) -> Result<(), Fault> {
        match self.file {
            None => stdout(text),
            Some((mut file, path)) => file
                .set_len(0)
                .and_then(|()| file.write_all(text.as_bytes()))
                .and_then(|()| file.flush())
                .with_context(|| format!("writing `{}` failed", path.display()))
                .map_err(Fault::run),
        }
    }
}

/// Prints to standard output.
pub fn stdout(text: &str) -> Result<(), Fault> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Fault::run)
}

/// The report in the format asked for.
pub fn render(topology: &Topology, format: Format) -> Result<String, Fault> {
    match format {
        Format::Text => Ok(report::text(topology)),
        Format::Json => report::json(topology).map_err(Fault::run),
    }
}

/// Opens a recording to write to, before anything is measured.
pub fn recorder(path: &Path) -> Result<gpu_strata::recording::Writer, Fault> {
    gpu_strata::recording::Writer::create(path).map_err(|e| Fault::usage(anyhow!(e)))
}

/// Prints warnings to standard error.
pub fn warn(warnings: &[String]) {
    for warning in warnings {
        eprintln!("strata: warning: {warning}");
    }
}
