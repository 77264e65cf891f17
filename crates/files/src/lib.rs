//! Files that are read and written with care.
//!
//! - [`open`] opens an input. What is no plain file is refused at once, and not waited for.
//! - [`Replacement`] is an output that is written at once: its path has the former file or the whole new one.
//! - [`Growing`] is an output that grows while something is measured: it has a name of its own until it is complete.
//! - [`is_same`] says whether two paths are one file.
//!
//! Nothing here knows what the files hold.

mod growing;
mod input;
mod replacement;

pub use growing::{Growing, PARTIAL};
pub use input::{STANDARD, open, read};
pub use replacement::{Replacement, replace};

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Whether two paths are one file: of one device and inode, so also by links. Of files that are not there, whether they
/// would have one name in one folder.
pub fn is_same(a: &Path, b: &Path) -> bool {
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        (Err(_), Err(_)) => place(a) == place(b),
        _ => false,
    }
}

/// Where a file would be: its folder without links, and its name.
fn place(path: &Path) -> PathBuf {
    let folder = fs::canonicalize(folder_of(path)).unwrap_or_else(|_| folder_of(path).to_owned());
    folder.join(path.file_name().unwrap_or_default())
}

/// The folder of a file.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_the_same_file() {
        let folder = tempfile::tempdir().unwrap();
        let [file, hard, soft, other] = ["file", "hard", "soft", "other"].map(|name| folder.path().join(name));
        fs::write(&file, "1").unwrap();
        fs::write(&other, "1").unwrap();
        fs::hard_link(&file, &hard).unwrap();
        symlink(&file, &soft).unwrap();
        assert!(is_same(&file, &hard) && is_same(&file, &soft) && is_same(&file, &folder.path().join("./file")));
        assert!(!is_same(&file, &other));
        // Neither is there.
        let new = folder.path().join("new");
        assert!(is_same(&new, &folder.path().join("./new")) && !is_same(&new, &folder.path().join("newer")));
        assert!(!is_same(&new, &file) && is_same(Path::new("no-such-file"), Path::new("./no-such-file")));
    }
}
