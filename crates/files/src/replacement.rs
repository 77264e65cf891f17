//! Outputs that are written at once.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use super::folder_of;

/// What a new file may be used for, before the user's mask: reading and writing by everybody.
const FOR_ALL: u32 = 0o666;
/// Below it are names of open files and of devices, which are no places for another file.
const DEVICES: &str = "/dev";

/// An output that is written beside its path and gets its name at the end. Without [`Replacement::commit`] the path is as it
/// was. Something else than a plain file, such as a pipe or a device, is written in its place; so is a file of which the folder
/// takes no new files.
#[derive(Debug)]
pub struct Replacement {
    target: PathBuf,
    out: Out,
}

#[derive(Debug)]
enum Out {
    /// The new file, beside the path.
    Beside(NamedTempFile),
    /// The file of that path, and whether its former content is still there.
    InPlace { file: File, is_old: bool },
}

impl Replacement {
    /// Makes the new file. A path that cannot be written is an error now.
    ///
    /// # Errors
    ///
    /// What the system says: the path is a folder or write-protected, or its folder is missing or takes no files.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let in_place = |file| Ok(Replacement { target: path.to_owned(), out: Out::InPlace { file, is_old: true } });
        let there = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            there => Some(there?),
        };
        let Some(there) = there else {
            let new = beside(path)?;
            return Ok(Replacement { target: path.to_owned(), out: Out::Beside(new) });
        };
        // A file that may not be written is not replaced either.
        let file = OpenOptions::new().write(true).open(path)?;
        if !there.is_file() || path.starts_with(DEVICES) {
            return in_place(file);
        }
        // A link stays one, and what it points to is replaced.
        let target = fs::canonicalize(path)?;
        match beside(&target) {
            Ok(new) => {
                new.as_file().set_permissions(there.permissions())?;
                Ok(Replacement { target, out: Out::Beside(new) })
            }
            Err(_) => in_place(file),
        }
    }

    /// Gives the new file the path's name, once the disk has its content.
    ///
    /// # Errors
    ///
    /// What the system says; the path is then as it was.
    pub fn commit(self) -> io::Result<()> {
        match self.out {
            Out::Beside(new) => {
                new.as_file().sync_all()?;
                match new.persist(&self.target) {
                    Ok(_) => {}
                    // The path is a file of its own in its folder, as containers mount them.
                    Err(failed) if failed.error.kind() == io::ErrorKind::ResourceBusy => {
                        fs::copy(failed.file.path(), &self.target)?;
                    }
                    Err(failed) => return Err(failed.error),
                }
                sync_folder(&self.target);
                Ok(())
            }
            Out::InPlace { mut file, is_old } => {
                emptied(&file, is_old)?;
                file.flush()?;
                // Pipes and devices cannot be synced.
                if file.metadata()?.is_file() { file.sync_all() } else { Ok(()) }
            }
        }
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.out {
            Out::Beside(new) => new.write(bytes),
            Out::InPlace { file, is_old } => {
                emptied(file, std::mem::take(is_old))?;
                file.write(bytes)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::Beside(new) => new.flush(),
            Out::InPlace { file, .. } => file.flush(),
        }
    }
}

/// Writes a whole file, as a [`Replacement`].
///
/// # Errors
///
/// As [`Replacement::begin`] and [`Replacement::commit`].
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut new = Replacement::begin(path)?;
    new.write_all(content)?;
    new.commit()
}

/// Removes the former content of a plain file that is written in its place.
fn emptied(file: &File, is_old: bool) -> io::Result<()> {
    if is_old && file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) }
}

/// A new file beside a path, with a name that is not used.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let Some(name) = path.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it names no file"));
    };
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(".new").permissions(Permissions::from_mode(FOR_ALL));
    builder.tempfile_in(folder_of(path)).map_err(|error| {
        // Its text has the name of the new file, which is of no use to the reader.
        error.raw_os_error().map_or(error, io::Error::from_raw_os_error)
    })
}

/// Has the disk keep the new name. Some file systems cannot; then the name may be lost with the power, but no content.
pub(crate) fn sync_folder(path: &Path) {
    let _ = File::open(folder_of(path)).and_then(|folder| folder.sync_all());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_old_or_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.json");
        let mut new = Replacement::begin(&path).unwrap();
        new.write_all(b"half of").unwrap();
        drop(new);
        assert_eq!(names(folder.path()), Vec::<String>::new());

        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let mut new = Replacement::begin(&path).unwrap();
        new.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        new.commit().unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"new".to_vec(), vec!["report.json".to_owned()]));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_link_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        symlink(&path, &link).unwrap();
        replace(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn what_is_no_plain_file_is_written_in_its_place() {
        replace(Path::new("/dev/null"), b"text").unwrap();
        let full = replace(Path::new("/dev/full"), b"text").unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        let folder = tempfile::tempdir().unwrap();
        assert!(Replacement::begin(folder.path()).is_err());
        assert!(Replacement::begin(&folder.path().join("none/file")).is_err());
        assert!(Replacement::begin(Path::new("/")).is_err());
    }
}
