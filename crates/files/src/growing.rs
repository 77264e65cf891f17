//! Outputs that grow while something is measured.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::replacement::sync_folder;

/// What follows the name of a file that is not complete.
pub const PARTIAL: &str = ".partial";

/// An output that grows. It is written to `NAME.partial` and gets its name by [`Growing::commit`], so a file that was there
/// before stays until then. A program that is killed leaves `NAME.partial` with all that was written. One program at a time
/// writes it. Something else than a plain file, such as a device, is written in its place.
#[derive(Debug)]
pub struct Growing {
    file: File,
    /// Its present and its later name; none of what is written in its place.
    names: Option<Names>,
}

#[derive(Debug)]
struct Names {
    partial: PathBuf,
    target: PathBuf,
}

impl Growing {
    /// Makes the file. What a killed program has left in its place is replaced.
    ///
    /// # Errors
    ///
    /// What the system says; [`io::ErrorKind::WouldBlock`], if another program writes it now.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let target = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
            there => {
                let plain = there?.is_file();
                // A file that may not be written is not replaced either.
                let file = OpenOptions::new().write(true).open(path)?;
                if !plain {
                    return Ok(Growing { file, names: None });
                }
                fs::canonicalize(path)?
            }
        };
        let Some(name) = target.file_name() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it names no file"));
        };
        let mut partial = OsString::from(name);
        partial.push(PARTIAL);
        let partial = target.with_file_name(partial);
        let file = locked(&partial)?;
        file.set_len(0)?;
        Ok(Growing { file, names: Some(Names { partial, target }) })
    }

    /// Where the bytes are now, if not in the place of what was there.
    pub fn partial(&self) -> Option<&Path> {
        self.names.as_ref().map(|names| names.partial.as_path())
    }

    /// Gives the file its name, once the disk has its content.
    ///
    /// # Errors
    ///
    /// What the system says; `NAME.partial` is then still there.
    pub fn commit(self) -> io::Result<()> {
        let Some(Names { partial, target }) = &self.names else { return Ok(()) };
        self.file.sync_all()?;
        if let Ok(there) = fs::metadata(target) {
            self.file.set_permissions(there.permissions())?;
        }
        fs::rename(partial, target)?;
        sync_folder(target);
        Ok(())
    }

    /// Removes the file: nothing of it is of any use. A failure to remove it does no harm.
    pub fn discard(self) {
        if let Some(names) = &self.names {
            let _ = fs::remove_file(&names.partial);
        }
    }
}

impl Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Opens or makes a file that this program alone writes.
fn locked(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(io::ErrorKind::WouldBlock, "another strata is writing it now"));
            }
            // A file system without locks.
            Err(TryLockError::Error(_)) => return Ok(file),
        }
        // The one before may have given it its name in between: then this is no longer the file of that path.
        let ours = file.metadata()?;
        if fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
            return Ok(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_former_file_stays_until_the_new_one_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let (path, partial) = (folder.path().join("run.strata"), folder.path().join("run.strata.partial"));
        fs::write(&path, "old").unwrap();
        let mut growing = Growing::begin(&path).unwrap();
        growing.write_all(b"ne").unwrap();
        assert_eq!((fs::read(&path).unwrap(), fs::read(&partial).unwrap()), (b"old".to_vec(), b"ne".to_vec()));
        assert_eq!(growing.partial(), Some(partial.as_path()));
        // A killed program does neither of commit and discard.
        drop(growing);
        assert_eq!(fs::read(&partial).unwrap(), b"ne");
        let mut growing = Growing::begin(&path).unwrap();
        growing.write_all(b"new").unwrap();
        growing.commit().unwrap();
        assert_eq!((fs::read(&path).unwrap(), partial.exists()), (b"new".to_vec(), false));
        Growing::begin(&path).unwrap().discard();
        assert_eq!((fs::read(&path).unwrap(), partial.exists()), (b"new".to_vec(), false));
    }

    #[test]
    fn one_program_writes_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.strata");
        let first = Growing::begin(&path).unwrap();
        assert_eq!(Growing::begin(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        first.commit().unwrap();
        Growing::begin(&path).unwrap().discard();
    }

    #[test]
    fn a_device_is_written_in_its_place() {
        let mut full = Growing::begin(Path::new("/dev/full")).unwrap();
        assert_eq!(full.write(b"x").unwrap_err().kind(), io::ErrorKind::StorageFull);
        let folder = tempfile::tempdir().unwrap();
        assert!(Growing::begin(folder.path()).is_err());
    }
}
