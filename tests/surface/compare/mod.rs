//! `strata compare` as its users meet it: statuses, the recordings, published values, summaries of MT4G, bad input.

mod accept;
mod hostile;
mod nvbandwidth;
mod policy;
mod reports;
mod several;

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use serde_json::Value;
use tempfile::TempDir;

/// Runs `strata compare` with these arguments.
fn compare(arguments: &[&str]) -> Assert {
    let mut command = Command::cargo_bin("strata").unwrap();
    command.current_dir(env!("CARGO_MANIFEST_DIR")).env("COLUMNS", "80").arg("compare").args(arguments).assert()
}

fn stdout(done: &Assert) -> String {
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

fn stderr(done: &Assert) -> String {
    String::from_utf8_lossy(&done.get_output().stderr).into_owned()
}

const H200: &str = "recordings/2026-11-21-h200.json";
const COSTS: &str = "recordings/2026-11-22-h200-characterize.json";

/// The committed result with something changed.
fn changed(dir: &TempDir, name: &str, change: impl Fn(&mut Value)) -> String {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(H200)).unwrap();
    let mut result: Value = serde_json::from_str(&text).unwrap();
    change(&mut result);
    let path = dir.path().join(name);
    fs::write(&path, result.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn statuses_are_those_of_diff() {
    let dir = TempDir::new().unwrap();
    let slower = changed(&dir, "slower.json", |result| {
        let cycles = &mut result["elements"]["l2"]["latency"]["cycles"];
        for (key, value) in [("value", 310.0), ("low", 309.0), ("high", 311.0)] {
            cycles[key] = value.into();
        }
    });
    compare(&[H200, H200]).code(0);
    let differs = compare(&[H200, &slower]).code(1);
    let text = stdout(&differs);
    assert!(text.contains("l2 latency.cycles: 281.53 cycles"), "{text}");
    assert!(text.contains("8.5 % apart"), "{text}");
    compare(&[H200, &slower, "--tolerance", "9"]).code(0);
    compare(&[H200, &slower, "--only", "l1,dram"]).code(0);
    compare(&[H200, &slower, "--only", "l2.size"]).code(0);
    let quiet = compare(&[H200, &slower, "--only", "l2.latency", "--quiet"]).code(1);
    assert_eq!((stdout(&quiet), stderr(&quiet)), (String::new(), String::new()));
    // Trouble.
    compare(&[]).code(2);
    compare(&[H200, H200, "--tolerance", "-1"]).code(2);
    compare(&[H200, H200, "--tolerance", "NaN"]).code(2);
    compare(&[H200, H200, "--only", "l9"]).code(2);
    compare(&[H200, H200, "--output", "/nonexistent/file"]).code(2);
    let nothing = compare(&[H200, COSTS]).code(2);
    assert!(stderr(&nothing).contains("no attribute in common"), "{}", stderr(&nothing));
    compare(&[H200, H200, "--only", "l1.sizes"]).code(2);
}

#[test]
fn a_recording_is_told_by_its_first_bytes() {
    let dir = TempDir::new().unwrap();
    let renamed = dir.path().join("run.json");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/2026-11-22-h200-characterize.strata"), &renamed)
        .unwrap();
    let same = compare(&[renamed.to_str().unwrap(), COSTS]);
    let same = same.code(0);
    assert!(stdout(&same).contains("Nothing differs"), "{}", stdout(&same));
}

#[test]
fn what_another_gpu_says_is_said_in_the_head() {
    let dir = TempDir::new().unwrap();
    let other = changed(&dir, "other.json", |result| {
        result["device"]["name"] = "NVIDIA H100 NVL".into();
        result["device"]["driver_version"] = "1.2".into();
        result["run"]["simulated"] = true.into();
    });
    let done = compare(&[H200, &other]).code(0);
    let text = stdout(&done);
    for words in [
        "Different GPUs: NVIDIA H200 and NVIDIA H100 NVL",
        "B is simulated, A is not",
        "Different drivers: ",
        "(SIMULATED)",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
}

#[test]
fn references_are_listed_and_found() {
    let listed = stdout(&compare(&["--list-references"]).code(0));
    for name in ["gh100", "ga100", "gk110", "Tesla K20c", "GeForce GTX 280"] {
        assert!(listed.contains(name), "{listed}");
    }
    // Left out, the second side is what is published of the GPU.
    assert_eq!(stdout(&compare(&[H200]).code(0)), stdout(&compare(&[H200, "reference"]).code(0)));
    let named = compare(&[H200, "reference:h100-nvl"]).code(1);
    assert!(stdout(&named).contains("GH100 (Hopper), named: H100 NVL\n"), "{}", stdout(&named));
    let swapped = compare(&["reference:gh100", H200]);
    assert!(stdout(&swapped).starts_with("A: reference:gh100"));
    assert!(stderr(&compare(&[H200, "reference:gh9"]).code(2)).contains("--list-references"));
    assert!(stderr(&compare(&["reference"]).code(2)).contains("reference:NAME"));
    let costs = stdout(&compare(&[COSTS, "reference:gtx-680"]).code(2)).to_string();
    assert_eq!(costs, "");
    let costs = stdout(&compare(&[COSTS, "reference:gk104"]).code(1));
    assert!(costs.contains("synchronization slowdown_by_barriers: 145.74 % "), "{costs}");
}

/// Data of other people, beside the checkout where they are at all.
fn summaries() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = root.join("../shared/mt4g-results");
    let found: Vec<PathBuf> = fs::read_dir(&dir)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    if found.is_empty() {
        eprintln!("skipped: no summaries of MT4G in {}", dir.display());
    }
    found
}

#[test]
fn summaries_of_mt4g_are_read() {
    for path in summaries() {
        let name = path.to_str().unwrap();
        let text = stdout(&compare(&[name, name]).code(0));
        assert!(text.contains("l1 size:") && text.contains("(p50)") && text.contains("(mean)"), "{text}");
        let reference = compare(&[name]);
        let expected = if name.contains("MI210") { 2 } else { 1 };
        reference.code(expected);
    }
}

#[test]
fn another_host_is_no_other_gpu() {
    let dir = TempDir::new().unwrap();
    let on = |name: &str, cpu: &str| {
        changed(&dir, name, |result| {
            result["run"]["host"] = serde_json::json!({"cpu": cpu, "threads": 8, "architecture": "x86_64"});
            result["run"]["board"] = serde_json::json!({"architecture": cpu, "unavailable": []});
        })
    };
    let (a, b) = (on("a.json", "CPU of A"), on("b.json", "CPU of B"));
    let text = stdout(&compare(&[&a, &b]).code(0)).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("Different hosts, which is no difference of the GPUs: CPU of A, 8 threads; x86_64"),
        "{text}"
    );
    let json = stdout(&compare(&[&a, &b, "--format", "json"]).code(0));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["b"]["host"], json["differs"].as_array().unwrap().len()),
        (&"CPU of B, 8 threads; x86_64".into(), 0)
    );
    // The same host, and a result that is older than these facts.
    for other in [&a, H200] {
        assert!(!stdout(&compare(&[&a, other]).code(0)).contains("Different hosts"));
    }
}
