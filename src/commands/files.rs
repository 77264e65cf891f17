//! The files that a command names. None that it writes may be one that it reads, or be named twice.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use gpu_strata::{Machine, Recording, Side};
use strata_files::{STANDARD, is_same};

use super::Fault;

/// The name of standard input in reports and errors.
const STANDARD_INPUT: &str = "standard input";

/// What a command reads and writes.
#[derive(Default)]
pub struct Files {
    read: Vec<PathBuf>,
    /// With the option that names each.
    written: Vec<(PathBuf, &'static str)>,
}

impl Files {
    /// With files that are read.
    pub fn read<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.read.extend(paths.into_iter().map(Into::into).filter(|path: &PathBuf| path != Path::new(STANDARD)));
        self
    }

    /// With the machine file that a device's name asks for, if it does.
    pub fn device(self, name: &str) -> Self {
        self.read(Machine::file(name))
    }

    /// With a file that is written, if there is one.
    pub fn written(mut self, path: Option<&Path>, option: &'static str) -> Self {
        self.written.extend(path.map(|path| (path.to_owned(), option)));
        self
    }

    /// Refuses a file that would be written over another one of the command.
    ///
    /// # Errors
    ///
    /// Bad usage, with the file and the option.
    pub fn check(&self) -> Result<(), Fault> {
        for (at, (path, option)) in self.written.iter().enumerate() {
            let shown = path.display();
            if self.read.iter().any(|read| is_same(read, path)) {
                return Err(Fault::usage(anyhow!(
                    "`{shown}` is read by this command and would be lost; name another file with {option}"
                )));
            }
            if let Some((_, first)) = self.written[..at].iter().find(|(other, _)| is_same(other, path)) {
                let what = if path == Path::new(STANDARD) { "standard output".into() } else { format!("`{shown}`") };
                return Err(Fault::usage(anyhow!("{first} and {option} both name {what}; name another file")));
            }
        }
        Ok(())
    }
}

/// Reads a recording: a file, or standard input for `-`.
pub fn recording(path: &Path) -> Result<Recording, Fault> {
    if path == Path::new(STANDARD) {
        return Ok(Recording::from_reader(std::io::stdin().lock(), STANDARD_INPUT)?);
    }
    Ok(Recording::open(path)?)
}

/// A result: a file, or standard input for `-`.
pub fn side(path: &Path) -> Side {
    if path == Path::new(STANDARD) { Side::Standard } else { Side::File(path.to_owned()) }
}
