//! Markdown reports with their pictures beside them, as a user asks for them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// The recording of a discovery that is replayed, and few of its elements.
const ASKED: [&str; 4] = ["replay", "recordings/2026-11-21-h200.strata", "--only", "constant_l1,dram"];

fn strata(arguments: &[&str], output: Option<&Path>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strata"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).args(["--format", "markdown"]);
    // No driver: what needs one fails after the output has been looked at.
    command.env("STRATA_CUDA_LIBRARY", "/nonexistent/libcuda.so.1");
    if let Some(path) = output {
        command.arg("--output").arg(path);
    }
    command.output().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The pictures of what is asked.
const PICTURES: [&str; 5] = [
    "constant_l1-instances_per_sm-disturbance.svg",
    "constant_l1-size-average_load.svg",
    "constant_l1-size-distance.svg",
    "constant_l1-staircase.svg",
    "topology.svg",
];

#[test]
fn pictures_are_files_that_the_report_refers_to() {
    let dir = TempDir::new().unwrap();
    let report = dir.path().join("my H200 é.md");
    let done = strata(&ASKED, Some(&report));
    assert!(done.status.success() && done.stdout.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = fs::read_to_string(&report).unwrap();
    let pictures = names(&dir.path().join("my H200 é-figures"));
    assert_eq!(pictures, PICTURES);
    for picture in pictures {
        assert_eq!(text.matches(&format!("](my%20H200%20%C3%A9-figures/{picture})")).count(), 1, "{text}");
    }
}

#[test]
fn a_folder_that_is_there_keeps_what_is_not_the_reports() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().join("report-figures");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("photo.jpg"), "of somebody").unwrap();
    fs::write(folder.join("topology.svg"), "of an earlier run").unwrap();
    assert!(strata(&ASKED, Some(&dir.path().join("report.md"))).status.success());
    assert_eq!(fs::read_to_string(folder.join("photo.jpg")).unwrap(), "of somebody");
    assert!(fs::read_to_string(folder.join("topology.svg")).unwrap().starts_with("<svg "));
    assert_eq!(names(&folder), [&PICTURES[..4], &["photo.jpg"], &PICTURES[4..]].concat());
}

#[test]
fn a_folder_that_cannot_be_is_noticed_before_anything_else() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("report-figures"), "a file").unwrap();
    let report = dir.path().join("report.md");
    // Without a driver a discovery ends with status 3, but it does not come so far.
    for asked in [&["discover"] as &[&str], &["characterize"], &ASKED] {
        let done = strata(asked, Some(&report));
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{asked:?}: {said}");
        assert!(said.contains("report-figures") && said.contains("--output"), "{said}");
        assert!(!report.exists(), "{asked:?}");
    }
    assert_eq!(fs::read_to_string(dir.path().join("report-figures")).unwrap(), "a file");
}

#[test]
fn a_run_that_fails_leaves_no_folder() {
    let dir = TempDir::new().unwrap();
    let done = strata(&["discover"], Some(&dir.path().join("report.md")));
    assert_eq!(done.status.code(), Some(3));
    assert_eq!(names(dir.path()), [] as [&str; 0]);
}

#[test]
fn standard_output_has_its_pictures_in_it() {
    let done = strata(&ASKED, None);
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.contains("\n[topology]: data:image/svg+xml;base64,") && !text.contains(".svg"), "{text:.500}");
    // A pipe that has a name is no place for a folder either.
    let stdout = Path::new("/dev/stdout");
    if stdout.exists() {
        assert_eq!(String::from_utf8(strata(&ASKED, Some(stdout)).stdout).unwrap(), text);
        assert!(!PathBuf::from("/dev/stdout-figures").exists());
    }
}

#[test]
fn a_characterization_has_its_pictures_beside_it() {
    let dir = TempDir::new().unwrap();
    let asked = ["replay", "recordings/2026-11-22-h200-characterize.strata", "--only", "locality"];
    assert!(strata(&asked, Some(&dir.path().join("costs.md"))).status.success());
    let pictures = names(&dir.path().join("costs-figures"));
    assert!(!pictures.is_empty() && pictures.iter().all(|name| name.starts_with("locality-")), "{pictures:?}");
}
