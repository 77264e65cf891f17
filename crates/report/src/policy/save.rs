//! Writes a file so that it is either the old one or the whole new one.

use std::fs;
use std::path::{Path, PathBuf};

use strata_files::is_same;

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

/// Writes a text so that the target is the old file or the whole new one.
///
/// # Errors
///
/// [`Error::Write`]; the target is then as before.
pub fn replace(path: &Path, text: &str) -> Result<(), Error> {
    strata_files::replace(path, text.as_bytes()).map_err(|source| Error::Write { path: path.to_owned(), source })
}
