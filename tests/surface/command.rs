//! The command as tests run it: where no driver can be found, at 80 columns.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Result of a run: exit status, standard output, standard error.
pub struct Run {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs strata where no driver can be found, at 80 columns.
pub fn strata(arguments: &[&str]) -> Run {
    let done = command(arguments).output().expect("the binary runs");
    Run {
        status: done.status.code(),
        stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
    }
}

pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strata"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).env("COLUMNS", "80");
    command.env("STRATA_CUDA_LIBRARY", "/nonexistent/libcuda.so.1");
    command
}

/// The committed recording of a discovery.
pub fn recording() -> PathBuf {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let mut all: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    all.retain(|p| p.extension().is_some_and(|e| e == "strata") && p.with_extension("txt").exists());
    all.sort();
    all.remove(0)
}

/// A recorded characterization of a real GPU.
pub fn characterization() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/2026-11-22-h200-characterize.strata")
}

/// Bad usage or input: status 2, nothing on standard output, and these words on standard error.
#[track_caller]
pub fn refused(arguments: &[&str], words: &[&str]) {
    let run = strata(arguments);
    assert_eq!(run.status, Some(2), "{arguments:?}: {}", run.stderr);
    assert_eq!(run.stdout, "", "{arguments:?}");
    for word in words {
        assert!(run.stderr.contains(word), "{arguments:?}: no {word:?} in: {}", run.stderr);
    }
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
}
