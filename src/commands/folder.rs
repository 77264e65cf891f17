//! A folder of pictures: of a Markdown report, or of `strata figures`. Like a report's file, it is made before the measurement.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context;
use gpu_strata::PictureFile;

use super::Fault;

/// Suffix of the folder's name, after the name of the report.
const ENDING: &str = "-figures";

/// A folder that is filled later. What of its path is new is removed again, if nothing was written.
pub struct Folder {
    path: PathBuf,
    name: OsString,
    /// Folders of its path that are new, the innermost first.
    created: Vec<PathBuf>,
}

impl Folder {
    /// Makes or finds `report-figures` beside `report.md`, and checks that files can be made there. A report that is not a file,
    /// such as a pipe, has no such folder: its pictures are embedded.
    ///
    /// # Errors
    ///
    /// Bad usage, if the folder cannot be made or written.
    pub fn beside(report: &Path) -> Result<Option<Self>, Fault> {
        let is_plain = report.is_file() || !report.exists();
        let (Some(stem), true) = (report.file_stem(), is_plain) else { return Ok(None) };
        let mut name = stem.to_owned();
        name.push(ENDING);
        Folder::open(&report.with_file_name(&name), "name another report with --output").map(Some)
    }

    /// Makes or finds a folder, and checks that files can be made there.
    ///
    /// # Errors
    ///
    /// Bad usage, if the folder cannot be made or written; what to do about it is `advice`.
    pub fn open(path: &Path, advice: &str) -> Result<Self, Fault> {
        let refused = || format!("cannot write pictures to the folder `{}`; {advice}", path.display());
        let is_new = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let created = path.ancestors().take_while(is_new).map(Path::to_owned).collect();
        let name = path.file_name().unwrap_or_default().to_owned();
        let folder = Folder { path: path.to_owned(), name, created };
        fs::create_dir_all(path).with_context(refused).map_err(Fault::usage)?;
        // Permissions alone do not tell whether files can be made, so one is made.
        let trial = path.join(format!(".strata-{}", std::process::id()));
        File::create(&trial).and_then(|_| fs::remove_file(&trial)).with_context(refused).map_err(Fault::usage)?;
        Ok(folder)
    }

    /// Its name, which the report's links use.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Writes the pictures. Other files in the folder stay.
    pub fn fill(&mut self, pictures: &[PictureFile]) -> Result<(), Fault> {
        pictures.iter().try_for_each(|picture| self.write(&picture.name, &picture.svg).map(drop))
    }

    /// Writes a file; its path.
    pub fn write(&mut self, name: &str, content: &str) -> Result<PathBuf, Fault> {
        let path = self.path.join(name);
        strata_files::replace(&path, content.as_bytes())
            .with_context(|| format!("writing `{}` failed", path.display()))
            .map_err(Fault::run)?;
        self.created.clear();
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        for folder in &self.created {
            // This only removes an empty folder: files of somebody else stay.
            let _ = fs::remove_dir(folder);
        }
    }
}
