//! A GPU that others use: another `strata`, a program that computes, one that comes, one that holds the memory. The stand-in runs
//! the kernels here, on a simulated machine, and stops them when the other process has its turn.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::{library, texts, with_driver};

/// The first device of the stand-in.
const UUID: &str = "GPU-11111111-1111-1111-1111-111111111111";
/// Cycles of 2 ms: how long each process has the device at a time.
const SLICE: u64 = 4_000_000;
/// More work than any run does. The spans of the clock are about 32 million cycles of it, a look or an attempt at the part 4 million.
const LONG: u64 = 1 << 40;

/// A place for locks, recordings and what NVML tells.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `strata` with these arguments, stopped by another process until so many cycles of work are done.
    fn command(&self, arguments: &[&str], stopped_until: u64) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_strata"));
        command.args(arguments).env("STRATA_LOCK_DIR", self.folder.path());
        if stopped_until > 0 {
            command.env("FAKE_CUDA_SLICES", format!("{SLICE},{SLICE},{stopped_until}"));
        }
        with_driver(command, &library(Some("executes")), "none")
    }

    fn discover(&self, further: &[&str], stopped_until: u64) -> (Option<i32>, Value, String) {
        let record = self.path("run.strata");
        let fixed = ["discover", "--only", "shared", "--effort", "quick", "--format", "json", "--record"];
        let arguments: Vec<&str> =
            fixed.into_iter().chain([record.to_str().unwrap()]).chain(further.to_vec()).collect();
        let done = self.command(&arguments, stopped_until).output().expect("the program runs");
        let (status, stdout, stderr) = told(&done);
        (status, serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{status:?}: {stdout}{stderr}")), stderr)
    }

    /// The replay of what was recorded, without what only a replay says.
    fn replayed(&self) -> Value {
        let record = self.path("run.strata");
        let arguments = ["replay", record.to_str().unwrap(), "--format", "json"];
        let (_, stdout, stderr) = told(&self.command(&arguments, 0).output().expect("the program runs"));
        let mut replayed: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stderr}"));
        replayed["replayed_from"] = Value::Null;
        replayed
    }
}

fn told(done: &Output) -> (Option<i32>, String, String) {
    let (stdout, stderr) = texts(done);
    (done.status.code(), stdout, stderr)
}

/// The same result, but for what says that it is a replay.
#[track_caller]
fn replays(place: &Place, result: &Value) {
    let mut result = result.clone();
    result["replayed_from"] = Value::Null;
    assert!(place.replayed() == result, "a replay gives something else");
}

fn disturbances(result: &Value) -> &Vec<Value> {
    result["run"]["disturbances"].as_array().expect("somebody watched")
}

fn warnings(result: &Value) -> String {
    result["run"]["warnings"].to_string()
}

/// Holds the lock of the first device, as another `strata` does.
fn hold(folder: &Path) -> File {
    let file = File::create(folder.join(format!("strata-{UUID}.lock"))).unwrap();
    file.lock().unwrap();
    fs::write(folder.join(format!("strata-{UUID}.lock")), "process 4711 on node7 since 2026-11-22T12:00:00Z\n")
        .unwrap();
    file
}

#[test]
fn a_quiet_gpu_is_measured_without_a_word() {
    let place = Place::new();
    let (status, result, stderr) = place.discover(&[], 0);
    assert_eq!((status, disturbances(&result).len()), (Some(0), 0), "{stderr}");
    assert!(!warnings(&result).contains("another process") && !warnings(&result).contains("not locked"));
    replays(&place, &result);
}

#[test]
fn another_strata_has_the_gpu() {
    let place = Place::new();
    let held = hold(place.folder.path());
    for arguments in
        [&["discover", "--quiet"][..], &["characterize", "--wait", "0.1"], &["discover", "--device", "cuda:0"]]
    {
        let (status, stdout, stderr) = told(&place.command(arguments, 0).output().unwrap());
        assert_eq!((status, stdout.as_str()), (Some(3), ""), "{stderr}");
        for word in [UUID, "busy", "process 4711 on node7 since 2026", "--wait SECONDS"] {
            assert!(stderr.contains(word), "no {word:?} in: {stderr}");
        }
    }
    // The other GPU is free, and a simulated one is nobody's.
    for device in ["cuda:1", "sim:k20c"] {
        let arguments = ["discover", "--only", "shared", "--effort", "quick", "--quiet", "--device", device];
        let (status, _, stderr) = told(&place.command(&arguments, 0).output().unwrap());
        assert_eq!(status, Some(0), "{device}: {stderr}");
    }
    let waiting: Child = place
        .command(&["discover", "--only", "shared", "--effort", "quick", "--quiet", "--wait", "60"], 0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(300));
    drop(held);
    let (status, stdout, stderr) = told(&waiting.wait_with_output().unwrap());
    assert_eq!(status, Some(0), "{stderr}");
    assert!(stdout.contains("NVIDIA H200"), "{stdout}");
}

#[test]
fn a_lock_that_cannot_be_made_is_a_warning() {
    let place = Place::new();
    let mut command = place.command(&["discover", "--only", "shared", "--effort", "quick", "--format", "json"], 0);
    let (status, stdout, stderr) = told(&command.env("STRATA_LOCK_DIR", "/nonexistent").output().unwrap());
    assert_eq!(status, Some(0), "{stderr}");
    assert!(stdout.contains("not locked against another strata") && stdout.contains("STRATA_LOCK_DIR"), "{stdout}");
}

#[test]
fn what_another_process_disturbs_is_measured_again() {
    let place = Place::new();
    // It ends during the first attempts at the part.
    let (status, result, stderr) = place.discover(&[], 40_000_000);
    assert_eq!(status, Some(0), "{stderr}");
    let seen = disturbances(&result);
    assert!(seen.iter().all(|one| one["sign"] == "stopped" && one["stopped_us"].as_f64() > Some(1900.0)), "{seen:?}");
    assert!(
        seen.iter().any(|one| one["consequence"] == "repeated" && one["experiments"].as_u64() > Some(0)),
        "{seen:?}"
    );
    assert!(warnings(&result).contains("experiments were measured again"), "{}", warnings(&result));
    assert!(stderr.contains("another process used the GPU"), "{stderr}");
    assert_eq!(result["elements"]["shared"]["latency"]["cycles"]["value"], 23.0);
    replays(&place, &result);
}

#[test]
fn what_stays_disturbed_is_unknown_for_that_reason() {
    let place = Place::new();
    let (status, result, stderr) = place.discover(&[], LONG);
    assert_eq!(status, Some(4), "{stderr}");
    let latency = &result["elements"]["shared"]["latency"]["cycles"];
    let reason = latency["reason"].as_str().expect("it is unknown");
    assert!(latency["value"].is_null() && reason.contains("another process used the GPU"), "{reason}");
    assert!(reason.contains("2.0 ms") && reason.contains("--wait SECONDS"), "{reason}");
    assert_eq!(disturbances(&result).last().unwrap()["consequence"], "given_up");
    assert!(warnings(&result).contains("were given up"), "{}", warnings(&result));
    replays(&place, &result);
}

#[test]
fn a_process_that_computes_is_waited_for() {
    let place = Place::new();
    // So much work is more than three attempts; looking again and again brings it to its end.
    let (status, result, stderr) = place.discover(&["--wait", "60"], 60_000_000);
    assert_eq!(status, Some(0), "{stderr}");
    let seen = disturbances(&result);
    assert_eq!((seen.len(), &seen[0]["consequence"]), (1, &Value::from("noted")), "{seen:?}");
}

/// A quick discovery of these elements beside a stand-in for NVML, which tells so many processes, and so many KB/s on the bus.
fn monitored(place: &Place, only: &str, processes: &str, kilobytes: &str) -> (Option<i32>, Value, String) {
    let numbers = place.path("processes");
    fs::copy(library(Some("executes")), place.path("libnvidia-ml.so.1")).unwrap();
    fs::write(&numbers, processes).unwrap();
    let mut command = place.command(&["discover", "--only", only, "--effort", "quick", "--format", "json"], 0);
    command.env("LD_LIBRARY_PATH", place.folder.path()).env("FAKE_NVML_PROCESSES", &numbers);
    command.env("FAKE_NVML_BUS", kilobytes);
    let (status, stdout, stderr) = told(&command.output().unwrap());
    (status, serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stderr}")), stderr)
}

#[test]
fn a_process_that_comes_is_seen() {
    let place = Place::new();
    let run = |numbers: &str| monitored(&place, "shared", numbers, "0");
    let (status, result, stderr) = run("1");
    assert_eq!((status, disturbances(&result).len()), (Some(0), 0), "{stderr}");
    // One that is there from the beginning and does nothing disturbs nothing.
    let (status, result, stderr) = run("2");
    assert_eq!((status, disturbances(&result).len()), (Some(0), 0), "{stderr}");
    assert!(warnings(&result).contains("1 other process uses this GPU"));
    // The stand-in counts one more from its sixth answer on: two are of the first state, each look takes two.
    let (status, result, stderr) = run("1 2 6");
    let seen = disturbances(&result);
    assert_eq!((status, seen.len()), (Some(0), 1), "{stderr}");
    assert_eq!((&seen[0]["sign"], &seen[0]["processes"]), (&Value::from("process"), &Value::from(1)));
    assert_eq!(seen[0]["consequence"], "repeated");
}

#[test]
fn a_process_that_copies_disturbs_host_memory_only() {
    let place = Place::new();
    let run = |kilobytes: &str| monitored(&place, "shared,host", "2", kilobytes);
    let (status, quiet, stderr) = run("2000");
    assert_eq!((status, disturbances(&quiet).len()), (Some(0), 0), "{stderr}");
    let (status, beside, _) = run("9000000");
    let latency = &beside["elements"]["host"]["latency"]["cycles"];
    let reason = latency["reason"].as_str().expect("it is unknown");
    assert!(reason.contains("another process used the GPU") && reason.contains("copied data"), "{reason}");
    assert_eq!((status, &disturbances(&beside).last().unwrap()["sign"]), (Some(4), &Value::from("copies")));
    assert_eq!(beside["elements"]["shared"]["latency"]["cycles"]["value"], 23.0);
}

#[test]
fn too_little_memory_is_told_in_numbers() {
    let place = Place::new();
    let experiments = place.path("large.json");
    let chase = serde_json::json!([{
        "kind": "chase", "path": "global_cg", "footprint": 1_u64 << 36, "stride": 1 << 30, "order": "sequential",
        "timing": { "each_load": { "loads": 64, "walk": "straight" } }, "warm_laps": 1, "prepare": "nothing",
        "place": { "sm": 0, "allocation": 0, "carveout_percent": 0, "alone": true }, "seed": 1, "repeat": 0
    }]);
    fs::write(&experiments, chase.to_string()).unwrap();
    let arguments = ["measure", experiments.to_str().unwrap()];
    let mut command = with_driver(place.command(&arguments, 0), &library(Some("executes")), "memory-taken");
    let (status, stdout, stderr) = told(&command.output().unwrap());
    assert_eq!(status, Some(4), "{stdout}{stderr}");
    for word in ["of device memory were needed at once", "of 139.801 GiB were free", "64"] {
        assert!(stdout.contains(word), "no {word:?} in: {stdout}{stderr}");
    }
    assert!(!stdout.contains("CUDA_ERROR"), "{stdout}");
}
