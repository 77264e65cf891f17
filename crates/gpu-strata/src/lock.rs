//! One measurement of a GPU at a time: an advisory lock on a file, by the GPU's UUID.
//!
//! The operating system releases the lock when the process ends, however it ends. The file stays and says who holds the lock.
//! Anybody may write such a file, so nothing in it is trusted: it is only shown.

use std::env;
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use strata_report::report;

use crate::error::{Error, Result};

/// Names the folder of the locks.
const DIRECTORY_VARIABLE: &str = "STRATA_LOCK_DIR";
/// Where locks are kept otherwise, before the folder for temporary files.
const DIRECTORIES: [&str; 2] = ["/run/lock", "/var/lock"];
/// Time between two attempts to take a lock that another process holds. A person does not notice it.
const PAUSE: Duration = Duration::from_millis(50);
/// Most bytes of a lock's file that are shown.
const LONGEST_HOLDER: u64 = 200;
/// Everybody may take the lock, whoever made the file.
const FOR_ALL: u32 = 0o666;

/// A lock that this process holds until the value is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

/// What came of taking a lock.
#[derive(Debug)]
pub(crate) enum Taken {
    /// It is held; so much of the time to wait is left.
    Held(Lock, Duration),
    /// There can be none here, and why. The GPU is measured without.
    Impossible(String),
}

impl Lock {
    /// Takes the lock of a device, waiting at most so long for another process to let go.
    pub fn take(device: &str, wait: Duration, interrupted: &AtomicBool) -> Result<Taken> {
        Lock::take_in(&directories(), device, wait, interrupted)
    }

    fn take_in(directories: &[PathBuf], device: &str, wait: Duration, interrupted: &AtomicBool) -> Result<Taken> {
        let mut file = match open_first(directories, device) {
            Ok(file) => file,
            Err(reason) => return Ok(Taken::Impossible(unlocked(&reason))),
        };
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(failed)) => return Ok(Taken::Impossible(unlocked(&failed.to_string()))),
            }
            if interrupted.load(Ordering::Relaxed) {
                return Err(Error::Interrupted { recorded: None });
            }
            let left = wait.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Err(Error::Busy { device: device.to_owned(), holder: holder(&mut file), waited: wait });
            }
            std::thread::sleep(left.min(PAUSE));
        }
        // Whoever waits sees who holds it; a file that cannot be written holds the lock just as well.
        let _ = file.set_len(0).and_then(|()| file.write_all(own().as_bytes()));
        Ok(Taken::Held(Lock { file }, wait.saturating_sub(started.elapsed())))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A name of somebody who does not hold the lock would mislead; the lock goes with the file.
        let _ = self.file.set_len(0);
    }
}

/// Why there is no lock, for a reader of the result.
fn unlocked(reason: &str) -> String {
    format!(
        "this GPU is not locked against another strata that measures it at the same time: {reason}; set {DIRECTORY_VARIABLE} \
         to a folder that can be written"
    )
}

fn directories() -> Vec<PathBuf> {
    match env::var_os(DIRECTORY_VARIABLE).filter(|directory| !directory.is_empty()) {
        Some(directory) => vec![directory.into()],
        None => DIRECTORIES.iter().map(PathBuf::from).chain([env::temp_dir()]).collect(),
    }
}

/// The lock's file in the first folder that can have one.
fn open_first(directories: &[PathBuf], device: &str) -> std::result::Result<File, String> {
    let name: String = device.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    let mut reason = String::new();
    for directory in directories {
        let path = directory.join(format!("strata-{name}.lock"));
        match open(&path) {
            Ok(file) => return Ok(file),
            Err(failed) => reason = format!("`{}` cannot be opened ({failed})", path.display()),
        }
    }
    Err(reason)
}

/// Opens the file of a lock, or makes it. A symbolic link is an error: in a folder where everybody may write it could lead to
/// any file. A file that is there is opened without asking to make one, which Linux may refuse for a file of another user.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).mode(FOR_ALL).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let existing = options.clone().write(true).open(path).or_else(|failed| match failed.kind() {
        // It can be locked even so.
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => options.open(path),
        _ => Err(failed),
    });
    let file = match existing {
        Err(failed) if failed.kind() == io::ErrorKind::NotFound => {
            match options.clone().write(true).create_new(true).open(path) {
                Ok(made) => {
                    // The process's mask may have taken the others' permission away.
                    let _ = made.set_permissions(Permissions::from_mode(FOR_ALL));
                    made
                }
                // Another process made it meanwhile.
                Err(failed) if failed.kind() == io::ErrorKind::AlreadyExists => {
                    options.clone().write(true).open(path)?
                }
                Err(failed) => return Err(failed),
            }
        }
        other => other?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    Ok(file)
}

/// This process, for those who wait for it.
fn own() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { "an unknown host" } else { host.trim() };
    format!("process {} on {host} since {}\n", std::process::id(), report::utc_now())
}

/// What the file says of the process that holds the lock. Anybody may have written it.
fn holder(file: &mut File) -> Option<String> {
    let mut said = Vec::new();
    file.take(LONGEST_HOLDER).read_to_end(&mut said).ok()?;
    let said: String = String::from_utf8_lossy(&said).trim().chars().filter(|c| !c.is_control()).collect();
    (!said.is_empty()).then_some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    static GO_ON: AtomicBool = AtomicBool::new(false);

    fn folder(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("strata-lock-test-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn take(folder: &Path, wait: Duration) -> Result<Taken> {
        Lock::take_in(&[folder.to_owned()], "GPU-1", wait, &GO_ON)
    }

    #[test]
    fn one_at_a_time_and_the_other_learns_who() {
        let folder = folder("one");
        let Ok(Taken::Held(held, _)) = take(&folder, Duration::ZERO) else { panic!("nobody holds it") };
        let mode = std::fs::metadata(folder.join("strata-GPU-1.lock")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, FOR_ALL);
        let Err(Error::Busy { device, holder: Some(holder), .. }) = take(&folder, Duration::ZERO) else {
            panic!("it is held")
        };
        assert!(device == "GPU-1" && holder.starts_with(&format!("process {} on ", std::process::id())), "{holder}");
        let other = Lock::take_in(std::slice::from_ref(&folder), "GPU-2", Duration::ZERO, &GO_ON);
        assert!(matches!(other, Ok(Taken::Held(..))), "another GPU has another lock");
        let waiting = std::thread::spawn({
            let folder = folder.clone();
            move || take(&folder, Duration::from_secs(60))
        });
        std::thread::sleep(PAUSE);
        drop(held);
        let Ok(Taken::Held(_, left)) = waiting.join().unwrap() else { panic!("it was let go") };
        assert!(left < Duration::from_secs(60));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_wait_that_is_interrupted_ends() {
        let folder = folder("stop");
        let _held = take(&folder, Duration::ZERO).unwrap();
        let stop = AtomicBool::new(true);
        let stopped = Lock::take_in(std::slice::from_ref(&folder), "GPU-1", Duration::from_secs(60), &stop);
        assert!(matches!(stopped, Err(Error::Interrupted { .. })));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_planted_link_is_not_followed_and_no_lock_is_no_error() {
        let folder = folder("link");
        let target = folder.join("target");
        std::os::unix::fs::symlink(&target, folder.join("strata-GPU-1.lock")).unwrap();
        let Ok(Taken::Impossible(reason)) = take(&folder, Duration::ZERO) else { panic!("a link was followed") };
        assert!(reason.contains("not locked") && reason.contains(DIRECTORY_VARIABLE), "{reason}");
        assert!(!target.exists());
        let nowhere = folder.join("nowhere");
        assert!(matches!(take(&nowhere, Duration::ZERO), Ok(Taken::Impossible(_))));
        // The next folder serves.
        let both = [nowhere, folder.join(".")];
        assert!(matches!(Lock::take_in(&both, "GPU-3", Duration::ZERO, &GO_ON), Ok(Taken::Held(..))));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
