//! Inputs.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// The name of standard input and standard output on a command line.
pub const STANDARD: &str = "-";

/// Opens a plain file for reading.
///
/// # Errors
///
/// What the system says; [`io::ErrorKind::InvalidInput`], which says what it is, for a folder, a pipe, a device or a socket:
/// reading one of these may wait for ever, or end never.
pub fn open(path: &Path) -> io::Result<File> {
    // Looked at first, since opening some devices does something.
    plain(fs::metadata(path)?.file_type())?;
    // A pipe that has come in between is not waited for.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    plain(file.metadata()?.file_type())?;
    Ok(file)
}

/// The bytes of a plain file, or of standard input for [`STANDARD`]: at most so many, and one more if there are more.
///
/// # Errors
///
/// As [`open`].
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new(STANDARD) {
        io::stdin().lock().take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    } else {
        open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn plain(kind: FileType) -> io::Result<()> {
    let what = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "it is a folder; give a file in it",
        kind if kind.is_fifo() => "it is a pipe; write its content to a file first, or give `-` for standard input",
        kind if kind.is_socket() => "it is a socket; give a file",
        _ => "it is a device; give a file, or `-` for standard input",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    #[test]
    fn only_plain_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let [file, pipe, socket] = ["file", "pipe", "socket"].map(|name| folder.path().join(name));
        fs::write(&file, "12345").unwrap();
        assert_eq!((read(&file, 5).unwrap(), read(&file, 2).unwrap()), (b"12345".to_vec(), b"123".to_vec()));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let _listener = UnixListener::bind(&socket).unwrap();
        let refused = |path: &Path| open(path).unwrap_err();
        for (path, word) in [
            (pipe.as_path(), "pipe"),
            (&socket, "socket"),
            (Path::new("/dev/zero"), "device"),
            (folder.path(), "folder"),
        ] {
            let error = refused(path);
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
            assert!(error.to_string().contains(word), "{error}");
        }
        assert_eq!(refused(&folder.path().join("none")).kind(), io::ErrorKind::NotFound);
    }
}
