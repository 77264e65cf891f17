//! Which files a fleet is read from: those that are named, and those in folders whose names end in `.json`.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Error;
use super::document::Skipped;

/// The ending of a result in a folder.
const ENDING: &str = "json";

/// What the arguments of a fleet lead to.
#[derive(Debug, Default)]
pub struct Listed {
    /// Files that may be results, each once, in the order of the arguments and by name within a folder.
    pub files: Vec<PathBuf>,
    /// What cannot be read, and files that are named twice.
    pub skipped: Vec<Skipped>,
    /// Files in folders that are not called `*.json`, and hidden ones.
    pub passed_over: usize,
    /// Device and inode of what was seen.
    seen: HashSet<(u64, u64)>,
}

impl Listed {
    /// Of files and folders. Folders are read with all that are in them.
    ///
    /// # Errors
    ///
    /// If one of the paths is not there.
    pub fn of(paths: &[PathBuf]) -> Result<Self, Error> {
        let mut listed = Listed::default();
        for path in paths {
            let there = fs::metadata(path).map_err(|source| Error::NotThere { path: path.clone(), source })?;
            let is_new = listed.seen.insert((there.dev(), there.ino()));
            match (there.is_dir(), is_new) {
                // What a folder holds was read with it.
                (true, false) => {}
                (true, true) => listed.folder(path),
                (false, true) => listed.files.push(path.clone()),
                (false, false) => listed.skip(path, "is named twice, or a link to another file; it counts once".into()),
            }
        }
        Ok(listed)
    }

    fn folder(&mut self, folder: &Path) {
        let entries = fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
        let mut paths: Vec<PathBuf> = match entries {
            Ok(paths) => paths,
            Err(error) => return self.skip(folder, format!("cannot be read: {error}")),
        };
        paths.sort();
        for path in paths {
            let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            let there = match fs::metadata(&path) {
                Ok(there) => there,
                // A file that went away in between, such as one that was being written, is not missed.
                Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => continue,
                Err(error) => {
                    self.skip(&path, format!("cannot be read: {error}"));
                    continue;
                }
            };
            if is_hidden || !there.is_dir() && path.extension().is_none_or(|ending| ending != ENDING) {
                self.passed_over += 1;
            } else if !self.seen.insert((there.dev(), there.ino())) {
                // A folder that a link leads back to was read already.
                if !there.is_dir() {
                    self.skip(&path, "is named twice, or a link to another file; it counts once".into());
                }
            } else if there.is_dir() {
                self.folder(&path);
            } else {
                self.files.push(path);
            }
        }
    }

    fn skip(&mut self, path: &Path, reason: String) {
        self.skipped.push(Skipped { file: path.display().to_string(), reason });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn folders_are_read_with_what_is_in_them_and_each_file_once() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("b/deep")).unwrap();
        for name in ["z.json", "a.json", "b/deep/c.json", "notes.txt", "b/.d.json.x.new", "run.strata"] {
            fs::write(at(name), "{}").unwrap();
        }
        symlink(dir.path(), at("b/loop")).unwrap();
        symlink(at("a.json"), at("link.json")).unwrap();
        symlink(at("gone"), at("broken.json")).unwrap();
        let listed = Listed::of(&[at("z.json"), dir.path().to_owned(), at("b"), at("b/deep/c.json")]).unwrap();
        assert_eq!(listed.files, [at("z.json"), at("a.json"), at("b/deep/c.json")]);
        assert_eq!(listed.passed_over, 3);
        let skipped: Vec<&str> = listed.skipped.iter().map(|one| one.file.rsplit('/').next().unwrap()).collect();
        assert_eq!(skipped, ["broken.json", "link.json", "z.json", "c.json"], "{:?}", listed.skipped);
        let error = Listed::of(&[at("none")]).unwrap_err().to_string();
        assert!(error.contains("none"), "{error}");
    }
}
