//! Writes a file so that it is either the old one or the whole new one.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{Error, Policy};

/// Refuses to replace a file that is one of the inputs, or that is something else than a policy: a forgotten name makes the
/// first good result the target.
///
/// # Errors
///
/// [`Error::Target`], with what is there.
pub fn check_target(path: &Path, inputs: &[PathBuf]) -> Result<(), Error> {
    let refuse = |why| Err(Error::Target { path: path.to_owned(), why });
    if inputs.iter().any(|input| is_same(path, input)) {
        return refuse("is one of the results");
    }
    match fs::metadata(path) {
        Err(_) => Ok(()),
        Ok(there) if there.is_dir() => refuse("is a folder"),
        Ok(there) if !there.is_file() => refuse("is no plain file"),
        Ok(there) if there.len() == 0 || Policy::read(path).is_ok() => Ok(()),
        Ok(_) => refuse("exists and is not a policy"),
    }
}

/// Whether two paths are one file, also by links.
fn is_same(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => a == b,
    }
}

/// Writes a text to a file beside the target, and gives that the target's name.
///
/// # Errors
///
/// [`Error::Write`]; the target is then as before.
pub fn replace(path: &Path, text: &str) -> Result<(), Error> {
    let failed = |source: io::Error| Error::Write { path: path.to_owned(), source };
    // A link stays one, and what it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let Some(name) = target.file_name() else {
        return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "it names no file")));
    };
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}.new", std::process::id()));
    let beside = target.with_file_name(beside);
    let written = written(&beside, text).and_then(|()| fs::rename(&beside, &target));
    written.map_err(|error| {
        // What was not renamed is of no use. That it cannot be removed either does not change the error.
        let _ = fs::remove_file(&beside);
        failed(error)
    })
}

fn written(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
