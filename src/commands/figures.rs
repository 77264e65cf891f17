//! The folder of a Markdown report's pictures. As the report's file, it is made before anything is measured.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use gpu_strata::PictureFile;

use super::Fault;

/// What the folder's name has after that of the report.
const ENDING: &str = "-figures";

/// A folder that is to be filled later; one that was not there before is taken away again if nothing comes.
pub struct Folder {
    path: PathBuf,
    name: OsString,
    created: bool,
}

impl Folder {
    /// Makes or finds `report-figures` beside `report.md`, and sees that files can be made there. There is none beside what is no
    /// file, such as a pipe: its pictures can only go where it goes.
    ///
    /// # Errors
    ///
    /// Bad usage, if there can be no such folder.
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
        // Whether files can be made is seen by making one: permissions alone do not tell.
        let trial = path.join(format!(".strata-{}", std::process::id()));
        File::create(&trial).and_then(|_| fs::remove_file(&trial)).with_context(refused).map_err(Fault::usage)?;
        Ok(Some(folder))
    }

    /// Its name, by which the report refers to it.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Writes the pictures. What else is in the folder stays.
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
            // It is empty, or somebody else has put something there and it stays.
            let _ = fs::remove_dir(&self.path);
        }
    }
}
