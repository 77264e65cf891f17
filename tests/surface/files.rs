//! Files that users would lose: inputs that are named as outputs, runs that are killed, disks that are full, two runs with one
//! recording, recordings that are damaged, and what is no file at all.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::command::{characterization, command, recording, refused, strata};
use strata_gpu::DeviceFacts;
use strata_recording::{Header, Recording, Writer};
use tempfile::TempDir;

/// A discovery that a debug build needs long enough for that something can happen to it.
const LONG: [&str; 4] = ["discover", "--device", "sim:k20c", "--quiet"];
/// A short one.
const SHORT: [&str; 6] = ["discover", "--device", "sim:k20c", "--only", "shared", "--quiet"];
/// Longest time that another process is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn no_input_is_overwritten() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    let [run, hard, soft, json, other, machine] =
        ["run.strata", "hard.strata", "soft.strata", "a.json", "b.json", "my.toml"].map(at);
    fs::copy(recording(), &run).unwrap();
    fs::hard_link(&run, &hard).unwrap();
    symlink(&run, &soft).unwrap();
    for path in [&json, &other] {
        fs::copy("recordings/2026-11-21-h200.json", path).unwrap();
    }
    fs::write(&machine, strata(&["machines", "k20c", "--toml"]).stdout).unwrap();
    let device = format!("sim:{}", text(&machine));
    let new = at("new");
    let before = [&run, &json, &other, &machine].map(|path| fs::read(path).unwrap());
    for (arguments, option) in [
        (vec!["replay", text(&run), "--output", text(&run)], "--output"),
        (vec!["replay", text(&run), "--output", text(&hard)], "--output"),
        (vec!["replay", text(&run), "--output", text(&soft)], "--output"),
        (vec!["discover", "--device", "sim:k20c", "--record", text(&new), "--output", text(&new)], "--record"),
        (vec!["discover", "--device", &device, "--output", text(&machine)], "--output"),
        (vec!["discover", "--device", &device, "--record", text(&machine)], "--record"),
        (vec!["characterize", "--device", &device, "--output", text(&machine)], "--output"),
        (vec!["compare", text(&json), text(&other), "--output", text(&other)], "--output"),
        (vec!["compare", "--write-policy", text(&json), text(&json), text(&other)], "results"),
        (vec!["measure", text(&run), "--device", "sim:k20c", "--record", text(&run)], "--record"),
        (vec!["discover", "--device", "sim:k20c", "--record", "-"], "standard output"),
    ] {
        refused(&arguments, &[option]);
    }
    assert_eq!(before, [&run, &json, &other, &machine].map(|path| fs::read(path).unwrap()));
    assert!(!new.exists());
}

#[test]
fn timings_of_another_tool_are_not_overwritten() {
    let dir = TempDir::new().unwrap();
    let raw = dir.path().join("raw");
    fs::create_dir(&raw).unwrap();
    let series = raw.join("GPU - L1 Latency.txt");
    fs::write(&series, "38 38 38 38 39\n").unwrap();
    let run = strata(&["import", "mt4g", text(&raw), "--output", text(&series)]);
    assert_eq!(
        (run.status, fs::read_to_string(&series).unwrap().as_str()),
        (Some(2), "38 38 38 38 39\n"),
        "{}",
        run.stderr
    );
}

/// Waits until something is true.
#[track_caller]
fn wait_for(what: &str, is_true: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_true() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(5));
    }
}

/// A long run with a recording, of which some blocks are written.
fn recording_run(file: &Path, more: &[&str]) -> Child {
    let child = command(&[&LONG[..], &["--record", text(file)], more].concat());
    let child = { child }.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut partial = file.as_os_str().to_owned();
    partial.push(".partial");
    wait_for("something is recorded", || fs::metadata(&partial).is_ok_and(|there| there.len() > 20_000));
    child
}

#[test]
fn a_killed_run_leaves_the_former_files_and_what_it_recorded() {
    let dir = TempDir::new().unwrap();
    let (run, report) = (dir.path().join("run.strata"), dir.path().join("report.json"));
    fs::write(&run, "former").unwrap();
    fs::write(&report, "former").unwrap();
    let mut child = recording_run(&run, &["--format", "json", "--output", text(&report)]);
    // One writer for a recording.
    refused(&[&SHORT[..], &["--record", text(&run)]].concat(), &["another strata is recording", "run.strata"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!([&run, &report].map(|path| fs::read_to_string(path).unwrap()), ["former", "former"]);
    let replayed = strata(&["replay", text(&dir.path().join("run.strata.partial"))]);
    assert_eq!(replayed.status, Some(4), "{}", replayed.stderr);
    assert!(replayed.stderr.contains("ends early") && replayed.stdout.contains("L1 data"), "{}", replayed.stderr);
    // The next run takes its place.
    let done = strata(&[&SHORT[..], &["--record", text(&run)]].concat());
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert!(Recording::read(&run).unwrap().cut.is_none());
    assert!(!dir.path().join("run.strata.partial").exists());
}

#[test]
fn a_full_disk_costs_the_recording_and_not_the_report() {
    let run = strata(&[&SHORT[..], &["--record", "/dev/full"]].concat());
    assert_eq!(run.status, Some(4), "{}", run.stderr);
    assert!(run.stdout.contains("Shared"), "{}", run.stdout);
    assert!(
        run.stderr.contains("/dev/full` is not complete") && run.stderr.contains("No space left"),
        "{}",
        run.stderr
    );
    let replayed = recording();
    let run = strata(&["replay", text(&replayed), "--output", "/dev/full"]);
    assert_eq!(run.status, Some(1));
    assert!(run.stderr.contains("/dev/full") && run.stderr.matches("No space left").count() == 1, "{}", run.stderr);
    for arguments in
        [&["replay", text(&replayed)][..], &["--help"], &["discover", "--help"], &["--version"], &["schema"]]
    {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let done = command(arguments).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("standard output"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_folder_of_recordings_gets_names_of_their_own() {
    let dir = TempDir::new().unwrap();
    let folder = format!("{}/", text(&dir.path().join("runs")));
    let run = strata(&["discover", "--device", "sim:k20c", "--only", "shared", "--record", &folder]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let [path] = &fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>()[..] else {
        panic!("one recording was made")
    };
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("tesla-k20c-20") && name.ends_with("Z.strata"), "{name}");
    assert!(run.stderr.contains(text(path)), "the name is said: {}", run.stderr);
}

#[test]
fn one_flipped_bit_loses_a_block() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("flipped.strata");
    for (original, shown) in [(characterization(), "ocality"), (recording(), "L1 data")] {
        let mut bytes = fs::read(&original).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        fs::write(&path, bytes).unwrap();
        let run = strata(&["replay", text(&path)]);
        assert_eq!(run.status, Some(4), "{}", run.stderr);
        assert!(run.stderr.contains("the recording is damaged from byte"), "{}", run.stderr);
        assert!(run.stdout.contains(shown), "{}", run.stdout);
        let exported = strata(&["export", text(&path), "--csv", text(&dir.path().join("csv"))]);
        assert_eq!(exported.status, Some(4), "{}", exported.stderr);
    }
    // What is gone is named, and is the reason of what is unknown.
    let run = strata(&["replay", text(&path), "--format", "json"]);
    assert!(run.stderr.contains("experiments ") && run.stderr.contains(" are missing"), "{}", run.stderr);
    assert!(run.stdout.contains("the recording is damaged, and this experiment is not in what is left of it"));
}

#[test]
fn a_header_that_claims_too_much_is_refused_at_once() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("claims.strata");
    let device = DeviceFacts { name: "GPU".into(), multiprocessors: u32::MAX, ..DeviceFacts::default() };
    let mut writer = Writer::create(&path).unwrap();
    writer.header(&Header { device, ..Header::default() }).unwrap();
    writer.end(&strata_model::topology::RunInfo::default()).unwrap();
    writer.complete().unwrap();
    let began = Instant::now();
    refused(&["replay", text(&path)], &["4294967295 multiprocessors"]);
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// A pipe, a device and a socket are not waited for.
#[test]
fn what_is_no_file_is_refused_at_once() {
    let dir = TempDir::new().unwrap();
    let pipe = dir.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
    let socket = dir.path().join("socket");
    let json = "recordings/2026-11-21-h200.json";
    for (path, word) in
        [(text(&pipe), "it is a pipe"), (text(&socket), "it is a socket"), ("/dev/zero", "it is a device")]
    {
        refused(&["replay", path], &[path, word]);
        refused(&["export", path, "--csv", text(dir.path())], &[path, word]);
        refused(&["compare", path, json], &[path, word]);
        refused(&["compare", "--policy", path, json], &[path, word]);
        refused(&["measure", path], &[path, word]);
        refused(&["l1", path, "--threads", "32"], &[path, word]);
        refused(&["figures", text(&dir.path().join("figures")), path], &[path, word]);
        refused(&["discover", "--device", &format!("sim:{path}")], &[path, word]);
    }
}

/// `-` is standard input, and standard output.
#[test]
fn standard_input_and_output_have_a_name() {
    let with = |arguments: &[&str], input: &Path| {
        let done = command(arguments).stdin(File::open(input).unwrap()).output().unwrap();
        (done.status.code(), done.stdout, String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let recorded = recording();
    let (status, report, said) = with(&["replay", "-", "--format", "json", "--output", "-"], &recorded);
    assert_eq!(status, Some(0), "{said}");
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(report["replayed_from"], "standard input");
    let json = recorded.with_extension("json");
    for input in [&recorded, &json] {
        let (status, _, said) = with(&["compare", "-", text(&json)], input);
        assert_eq!(status, Some(0), "{said}");
    }
    let (status, samples, said) = with(&["measure", "-", "--print", "--number", "1"], &recorded);
    assert_eq!((status, samples.starts_with(b"[")), (Some(0), true), "{said}");

    let dir = TempDir::new().unwrap();
    let (report, run) = (dir.path().join("report.txt"), dir.path().join("run.strata"));
    let done = command(&[&SHORT[..], &["--record", "-", "--output", text(&report)]].concat()).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    File::create(&run).unwrap().write_all(&done.stdout).unwrap();
    assert!(Recording::read(&run).unwrap().cut.is_none());
    assert!(fs::read_to_string(&report).unwrap().contains("Shared"));
}

/// What a result says is possible: an interval has two ends in their order, and no size is negative.
#[test]
fn a_result_that_cannot_be_is_refused() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("changed.json");
    let good = "recordings/2026-11-21-h200.json";
    let whole: serde_json::Value = serde_json::from_str(&fs::read_to_string(good).unwrap()).unwrap();
    let changes: [(&str, &str, serde_json::Value, &str); 8] = [
        ("/elements/l1/size", "low", 1e9.into(), "its interval begins at"),
        ("/elements/l1/size", "low", (-7.0).into(), "negative"),
        ("/elements/l1/size", "value", 5.into(), "outside of its interval"),
        ("/elements/l1/size", "value", serde_json::Value::Null, "neither a value nor a reason"),
        ("/elements/l1/size", "source", serde_json::Value::Null, "without a source"),
        ("/elements/l1/size", "method", serde_json::Value::Null, "without a method"),
        ("/elements/l1/latency/cycles", "level", 2.0.into(), "between 0 and 1"),
        ("/device", "multiprocessors", u32::MAX.into(), "4294967295 multiprocessors"),
    ];
    for (at, key, value, words) in changes {
        let mut changed = whole.clone();
        changed.pointer_mut(at).unwrap()[key] = value;
        fs::write(&path, changed.to_string()).unwrap();
        refused(&["compare", text(&path), good], &[words, "changed.json"]);
    }
}
