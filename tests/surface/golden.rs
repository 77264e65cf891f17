//! Every committed recording of a real run still gives the report it gave: in both formats, byte for byte.
//!
//! `UPDATE_GOLDEN=1 cargo test --test surface golden` writes the reports anew; the difference is then for a reader to judge.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;

/// Largest recording that the repository takes, in bytes.
const LIMIT: u64 = 5 << 20;

fn recordings() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let mut all: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "strata"))
        .collect();
    all.sort();
    all
}

fn replay(recording: &Path, format: &str) -> String {
    // Named as a user in the repository names it, because the report says what was replayed.
    let name = Path::new("recordings").join(recording.file_name().unwrap());
    let output = Command::cargo_bin("strata")
        .unwrap()
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["replay", "--details", "--format", format])
        .arg(&name)
        .assert()
        // What was measured beside another program is answered in part.
        .code(if name.display().to_string().contains("-beside-") { 4 } else { 0 })
        .get_output()
        .stdout
        .clone();
    String::from_utf8(output).unwrap()
}

#[test]
fn every_recording_gives_the_report_it_gave() {
    let mut discoveries = 0;
    for recording in recordings() {
        assert!(fs::metadata(&recording).unwrap().len() < LIMIT, "{} is too large", recording.display());
        for (format, extension) in [("text", "txt"), ("json", "json")] {
            let golden = recording.with_extension(extension);
            if !golden.exists() {
                // Experiments of `strata measure`, from which no report follows.
                continue;
            }
            discoveries += 1;
            let now = replay(&recording, format);
            if std::env::var_os("UPDATE_GOLDEN").is_some() {
                fs::write(&golden, &now).unwrap();
            }
            let kept = fs::read_to_string(&golden).unwrap();
            assert!(now == kept, "the {format} report of {} has changed:\n{now}", recording.display());
        }
    }
    assert!(discoveries >= 2, "no recording with reports was found");
}

#[test]
fn a_replay_is_the_same_twice() {
    let recording = recordings().into_iter().find(|r| r.with_extension("txt").exists()).unwrap();
    assert_eq!(replay(&recording, "json"), replay(&recording, "json"));
}

#[test]
fn text_reports_keep_to_80_columns() {
    for recording in recordings().into_iter().filter(|r| r.with_extension("txt").exists()) {
        for line in replay(&recording, "text").lines() {
            assert!(line.chars().count() <= 80, "{}: {line}", recording.display());
        }
    }
}
