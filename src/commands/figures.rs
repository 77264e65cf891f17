//! The folder of a Markdown report's pictures. Like the report's file, it is made before the measurement.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use gpu_strata::PictureFile;

use super::Fault;

/// Suffix of the folder's name, after the name of the report.
const ENDING: &str = "-figures";

/// A folder that is filled later. If it is new and stays empty, it is removed again.
pub struct Folder {
    path: PathBuf,
    name: OsString,
    created: bool,
}

impl Folder {
    /// Makes or finds `report-figures` beside `report.md`, and checks that files can be made there. A report that is not a file,
    /// such as a pipe, has no such folder: its pictures are embedded.
    ///
    /// # Errors
    ///
    /// Bad usage, if the folder cannot be made or written.
    pub fn beside(report: &Path) -> Result<Option<Self>, Fault> {
        let (Some(stem), true) = (report.file_stem(), report.is_file()) else { return Ok(None) };
        let mut name = stem.to_owned();
        name.push(ENDING);
        let path = report.with_file_name(&name);
        let refused = || {
            let path = path.display();
            format!("cannot write pictures to the folder `{path}`; name another report with --output")
        };
        let created = match fs::create_dir(&path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error).with_context(refused).map_err(Fault::usage),
        };
        let folder = Folder { path: path.clone(), name, created };
        // Permissions alone do not tell whether files can be made, so one is made.
        let trial = path.join(format!(".strata-{}", std::process::id()));
        File::create(&trial).and_then(|_| fs::remove_file(&trial)).with_context(refused).map_err(Fault::usage)?;
        Ok(Some(folder))
    }

    /// Its name, which the report's links use.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Writes the pictures. Other files in the folder stay.
    pub fn fill(mut self, pictures: &[PictureFile]) -> Result<(), Fault> {
        for picture in pictures {
            let path = self.path.join(&picture.name);
            fs::write(&path, &picture.svg)
                .with_context(|| format!("writing `{}` failed", path.display()))
                .map_err(Fault::run)?;
            self.created = false;
        }
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.created {
            // This only removes an empty folder: files of somebody else stay.
            let _ = fs::remove_dir(&self.path);
        }
    }
}
