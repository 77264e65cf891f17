//! The command as its users meet it: help, bad input, files that cannot be written, a pipe that closes.

use crate::command::{characterization, command, recording, refused, strata};
use crate::published;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use strata_model::characterization::{PartName, Suite};
use strata_model::topology::RunInfo;
use strata_recording::{Header, VERSION, Writer};
use tempfile::TempDir;

#[test]
fn help_reads_well() {
    let commands = [
        "",
        "discover",
        "characterize",
        "replay",
        "import",
        "compare",
        "fleet",
        "figures",
        "l1",
        "devices",
        "machines",
        "explain",
        "measure",
        "export",
        "schema",
        "completions",
    ];
    for command in commands {
        let arguments: Vec<&str> = if command.is_empty() { vec!["--help"] } else { vec![command, "--help"] };
        let run = strata(&arguments);
        assert_eq!(run.status, Some(0));
        let name = if command.is_empty() { "strata" } else { command };
        insta::assert_snapshot!(format!("help_{name}"), run.stdout);
        assert!(run.stdout.lines().all(|l| l.chars().count() <= 80), "{}", run.stdout);
    }
}

#[test]
fn without_arguments_it_shows_the_help() {
    let run = strata(&[]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("Usage: strata [OPTIONS] <COMMAND>"), "{}", run.stderr);
    let version = strata(&["--version"]);
    assert_eq!(version.stdout, format!("strata {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn what_does_not_exist_is_refused_with_what_does() {
    refused(&["discover", "--only", "l33"], &["l33", "l1, texture, read_only", "dram"]);
    refused(&["discover", "--effort", "heroic"], &["heroic", "quick, standard, thorough"]);
    refused(&["discover", "--format", "yaml"], &["yaml", "text", "json", "markdown", "html"]);
    refused(&["discover", "--seed", "x"], &["`x` is no seed", "a whole number from 0"]);
    refused(&["discover", "--wait", "-1"], &["`-1` is no number of seconds", "such as 60"]);
    refused(&["replay", "none.strata"], &["none.strata", "`strata discover --record FILE` makes one"]);
    refused(&["export", "none.strata"], &["--csv <DIR>", "--code <DIR>"]);
    refused(&["discover", "--device", "gpu7"], &["gpu7", "auto, cuda:N", "strata devices"]);
    refused(&["discover", "--device", "sim:gtx9999"], &["sim:gtx9999", "no such machine", "a100", "FILE.toml"]);
    refused(&["discover", "--device", "sim:"], &["sim:", "auto, cuda:N"]);
    refused(&["discover", "--device", "sim:none/such.toml"], &["none/such.toml", "cannot be opened"]);
    refused(&["machines", "gtx9999"], &["gtx9999", "k20c"]);
    refused(&["discovr"], &["discovr", "discover"]);
    refused(&["schema", "recording"], &["recording", "topology", "characterization"]);
    refused(&["replay"], &["FILE.strata"]);
    refused(&["export", "x.strata"], &["--csv"]);
}

#[test]
fn what_cannot_be_characterized_is_refused_with_what_can() {
    let refused = |option: &str, value: &str, allowed: &str| {
        refused(&["characterize", option, value], &[option, value.split(',').next_back().unwrap(), allowed]);
    };
    for value in ["0", "1025", "32,2048", "-4", "4.5", "x", "", "99999999999"] {
        refused("--threads", value, "1 to 1024");
    }
    for value in ["0", "2", "6", "4,5", "4100", "8192", "1KiB"] {
        refused("--distances", value, "multiples of 4 B from 4 to 4096");
    }
    for value in ["0", "2049", "99999999999999999999999"] {
        refused("--jumps", value, "1 to 2048 B");
    }
    for value in ["0", "3", "2048", "x"] {
        refused("--barriers", value, "powers of two from 1 to 1024");
    }
    for value in ["1", "2049", "-2"] {
        refused("--variables", value, "2 to 2048");
    }
    for value in ["0", "255", "65792", "99999999999"] {
        refused("--statements", value, "multiples of 256 from 256 to 65536");
    }
    refused("--only", "l2", "locality, synchronization, coalescing");
    refused("--only", "locality,localty", "intensity");
}

/// A recording of a question without an answer.
fn asked(dir: &Path, suite: &Suite) -> String {
    let path = dir.join("asked.strata");
    let mut writer = Writer::create(&path).unwrap();
    writer.header(&Header::default()).unwrap();
    writer.asked(suite).unwrap();
    writer.end(&RunInfo::default()).unwrap();
    writer.complete().unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_replay_gives_what_was_asked() {
    let dir = TempDir::new().unwrap();
    let file = asked(dir.path(), &Suite { parts: vec![PartName::Locality, PartName::ReadOnly], ..Suite::default() });
    let replayed = |more: &[&str]| -> serde_json::Value {
        let run = strata(&[&["replay", &file, "--format", "json"], more].concat());
        assert_eq!(run.status, Some(0), "{}", run.stderr);
        serde_json::from_str(&run.stdout).unwrap()
    };
    let parts = |answer: &serde_json::Value| answer["parts"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let answer = replayed(&[]);
    assert_eq!(answer["schema"], "strata/characterization/1");
    assert_eq!(parts(&answer), ["locality", "read_only"]);
    let answer = replayed(&["--only", "read_only"]);
    assert_eq!(
        (parts(&answer), &answer["asked"]["parts"]),
        (vec!["read_only".into()], &serde_json::json!(["read_only"]))
    );

    refused(&["replay", &file, "--only", "l2"], &["is a characterization", "no part `l2`", "locality", "intensity"]);
    let discovery = recording();
    let discovery = discovery.to_str().unwrap();
    refused(
        &["replay", discovery, "--only", "banks"],
        &["is a discovery", "no element `banks`", "l1, texture", "dram"],
    );
    for suite in [
        Suite { threads: vec![u32::MAX], ..Suite::default() },
        Suite { distances: vec![8, 8], ..Suite::default() },
        Suite { jumps: Vec::new(), ..Suite::default() },
        Suite { barriers: vec![3], ..Suite::default() },
        Suite { variables: vec![1], ..Suite::default() },
        Suite { statements: 0, ..Suite::default() },
    ] {
        let file = asked(dir.path(), &suite);
        refused(&["replay", &file], &["asked.strata", "cannot be measured", "record again"]);
    }
}

/// Duplicates are merged and all is sorted, so that one question has one recording.
#[test]
fn a_characterization_is_recorded_and_replays() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("run.strata");
    let file = file.to_str().unwrap();
    let run = strata(&[
        "characterize",
        "--device",
        "sim:gtx680",
        "--only",
        "synchronization,synchronization",
        "--threads",
        "32,1,32",
        "--effort",
        "quick",
        "--record",
        file,
        "--quiet",
    ]);
    assert_eq!(run.stderr, "");
    assert!(run.stdout.starts_with("SIMULATED: no hardware was measured.\n"), "{}", run.stdout);
    assert!(run.stdout.contains("Synchronization (synchronization)\n"), "{}", run.stdout);
    let asked = strata_recording::Recording::read(Path::new(file)).unwrap().asked.unwrap();
    assert_eq!((asked.parts, asked.threads), (vec![PartName::Synchronization], vec![1, 32]));
    let replayed = strata(&["replay", file]);
    assert_eq!(replayed.status, run.status);
    let unmarked: Vec<&str> =
        replayed.stdout.lines().filter(|l| !l.starts_with("Replayed from") && !l.ends_with("run.strata")).collect();
    assert_eq!(unmarked, run.stdout.lines().collect::<Vec<_>>());
    for (format, words) in
        [("markdown", "# What access patterns cost on "), ("html", "<section id=\"synchronization\">")]
    {
        assert!(strata(&["replay", file, "--format", format]).stdout.contains(words));
    }
}

#[test]
fn a_missing_driver_is_said_before_anything_else_happens() {
    for arguments in [&["devices"][..], &["discover"], &["characterize"]] {
        let run = strata(arguments);
        assert_eq!((run.status, run.stdout.as_str()), (Some(3), ""), "{}", run.stderr);
        assert!(run.stderr.contains("strata replay --example h200"), "{}", run.stderr);
    }
}

#[test]
fn files_that_cannot_be_written_are_named_before_the_device_is_opened() {
    for option in ["--output", "--record"] {
        refused(&["discover", option, "/nonexistent/folder/file"], &["/nonexistent/folder/file", option]);
    }
    let replayed = recording();
    let replayed = replayed.to_str().unwrap();
    refused(&["replay", replayed, "--output", "/nonexistent/file"], &["/nonexistent/file", "--output"]);
    refused(&["export", replayed, "--csv", "/proc/nothing"], &["/proc/nothing"]);
}

#[test]
fn a_run_that_fails_leaves_files_as_they_were() {
    let dir = TempDir::new().unwrap();
    let (old, new) = (dir.path().join("old"), dir.path().join("new"));
    fs::write(&old, "precious").unwrap();
    for option in ["--output", "--record"] {
        for file in [&old, &new] {
            assert_eq!(strata(&["discover", option, file.to_str().unwrap()]).status, Some(3));
        }
        assert_eq!(fs::read_to_string(&old).unwrap(), "precious", "{option}");
        assert!(!new.exists(), "{option} left an empty file");
    }
}

#[test]
fn a_result_goes_where_it_is_told_to() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("report.txt");
    fs::write(&file, "x".repeat(1 << 20)).unwrap();
    let replayed = recording();
    let replayed = replayed.to_str().unwrap();
    let run = strata(&["replay", replayed, "--output", file.to_str().unwrap()]);
    assert_eq!((run.status, run.stdout.as_str()), (Some(0), ""));
    assert_eq!(fs::read_to_string(&file).unwrap(), strata(&["replay", replayed, "--details"]).stdout);
}

#[test]
fn damaged_recordings_are_refused_with_what_is_wrong_and_where() {
    let dir = TempDir::new().unwrap();
    let whole = fs::read(recording()).unwrap();
    let with = |name: &str, bytes: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let mut flipped = whole.clone();
    flipped[100] ^= 0x10;
    let mut newer = whole.clone();
    newer[8..10].copy_from_slice(&(VERSION + 1).to_le_bytes());
    let cases = [
        ("/nonexistent.strata".to_owned(), vec!["/nonexistent.strata"]),
        (with("empty.strata", b""), vec!["empty"]),
        (with("text.strata", b"{\"schema\": 1}\n"), vec!["not a"]),
        (with("newer.strata", &newer), vec!["version"]),
        (with("head.strata", &whole[..20]), vec!["20"]),
        (with("flipped.strata", &flipped), vec!["byte"]),
    ];
    for (file, words) in &cases {
        refused(&["replay", file], words);
        refused(&["export", file, "--csv", dir.path().to_str().unwrap()], words);
        refused(&["measure", file], words);
    }
}

#[test]
fn a_recording_that_was_cut_replays_up_to_the_cut_and_says_so() {
    let dir = TempDir::new().unwrap();
    let whole = fs::read(recording()).unwrap();
    let cut = dir.path().join("cut.strata");
    fs::write(&cut, &whole[..whole.len() * 2 / 3]).unwrap();
    let run = strata(&["replay", cut.to_str().unwrap()]);
    assert_eq!(run.status, Some(4), "{}", run.stderr);
    assert!(run.stderr.contains("ends early, at byte"), "{}", run.stderr);
    assert!(run.stdout.contains("ends early, at byte") && run.stdout.contains("L1 data"), "{}", run.stdout);
}

#[test]
fn only_names_what_is_reported() {
    let replayed = recording();
    let run = strata(&["replay", replayed.to_str().unwrap(), "--only", "l2,shared", "--format", "json"]);
    let result: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let mut names: Vec<&str> = result["elements"].as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["l2", "shared"]);
}

#[test]
fn a_replay_is_what_the_published_schema_says() {
    for file in [recording(), characterization()] {
        published::conforms(&strata(&["replay", file.to_str().unwrap(), "--format", "json"]).stdout);
    }
}

#[test]
fn formats_for_other_programs_are_of_a_discovery() {
    let (replayed, costs) = (recording(), characterization());
    let words = [
        ("mt4g", "\"computeCapability\""),
        ("hwloc", "<!DOCTYPE topology"),
        ("machine", "strata/machine/1"),
        ("accelsim", "-gpgpu_n_clusters 132"),
    ];
    for (format, word) in words {
        assert!(strata(&["replay", replayed.to_str().unwrap(), "--format", format]).stdout.contains(word), "{format}");
        let of_costs = ["text, json, markdown or html", "characterization"];
        refused(&["replay", costs.to_str().unwrap(), "--format", format], &of_costs);
        refused(&["characterize", "--device", "sim:k20c", "--format", format], &of_costs);
    }
}

#[test]
fn experiments_are_data() {
    let dir = TempDir::new().unwrap();
    let replayed = recording();
    let replayed = replayed.to_str().unwrap();
    let printed = strata(&["measure", replayed, "--number", "5,9", "--print"]);
    assert_eq!(printed.status, Some(0), "{}", printed.stderr);
    let file = dir.path().join("two.json");
    fs::write(&file, &printed.stdout).unwrap();
    assert_eq!(strata(&["measure", file.to_str().unwrap(), "--print"]).stdout, printed.stdout);
    refused(&["measure", replayed, "--number", "99999999"], &["99999999"]);
    fs::write(&file, "[{\"kernel\": \"lap\"}]").unwrap();
    refused(&["measure", file.to_str().unwrap()], &["two.json", "missing field `kind`", "line 1"]);
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let mut child = command(&["schema"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The reader goes away before the first byte can have filled the pipe.
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_machine_file_that_is_wrong_is_refused_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mine.toml");
    let text = strata_sim::machine::Machine::named("k20c").unwrap().text;
    std::fs::write(&file, text.replacen("mhz = 706", "mhz = 70600", 1)).unwrap();
    let device = format!("sim:{}", file.display());
    let line = text.lines().position(|l| l == "mhz = 706").unwrap() + 1;
    refused(
        &["discover", "--device", &device],
        &[&format!("mine.toml:{line}: clock.mhz"), "found 70600", "1 to 10000"],
    );
}

#[test]
fn machines_are_listed_and_explained() {
    let list = strata(&["machines"]);
    assert_eq!(list.status, Some(0), "{}", list.stderr);
    assert_eq!(list.stdout.lines().filter(|l| !l.is_empty()).count(), 14, "{}", list.stdout);
    let one = strata(&["machines", "sim:k20c"]);
    assert!(one.stdout.contains("Tesla K20c") && one.stdout.contains("Cache l2"), "{}", one.stdout);
    assert!(one.stdout.lines().all(|l| l.chars().count() <= 80), "wider than 80 columns");
    let toml = strata(&["machines", "k20c", "--toml"]);
    assert!(toml.stdout.contains("schema = \"strata/machine/1\""), "{}", toml.stdout);
}

/// A simulated run says so first, is recorded like any other, and replays to the same report.
#[test]
fn a_simulated_run_says_so_and_replays() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.strata");
    let file = file.to_str().unwrap();
    let run =
        strata(&["discover", "--device", "sim:gtx560ti", "--only", "shared,constant_l1", "--record", file, "--quiet"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(run.stdout.starts_with("SIMULATED: no hardware was measured.\n"), "{}", run.stdout);
    assert!(run.stdout.contains("compute capability 3.0 or later"), "{}", run.stdout);
    assert!(!run.stdout.contains("Host and board"), "it is the same on every host: {}", run.stdout);
    let markdown = strata(&["replay", file, "--format", "markdown"]).stdout;
    assert!(markdown.starts_with("**SIMULATED: no hardware was measured.**\n\n# Memory hierarchy of "), "{markdown}");
    let html = strata(&["replay", file, "--format", "html"]).stdout;
    assert!(html.contains("<title>SIMULATED: no hardware was measured. Memory hierarchy of "), "{html}");
    let replayed = strata(&["replay", file]);
    let unmarked: Vec<&str> =
        replayed.stdout.lines().filter(|l| !l.starts_with("Replayed from") && !l.ends_with("run.strata")).collect();
    assert_eq!(unmarked, run.stdout.lines().collect::<Vec<_>>());
    let again = strata(&["discover", "--device", "sim:gtx560ti", "--only", "shared,constant_l1", "--quiet"]);
    let findings = |text: &str| text.split("Device, from the driver").nth(1).map(str::to_owned);
    assert_eq!(findings(&again.stdout), findings(&run.stdout), "a seed gives one result");
}

/// A wrong name is refused with what is near.
#[test]
fn a_wrong_name_is_refused_with_those_that_are_near() {
    for (arguments, words) in [
        (&["discover", "--device", "k20c"][..], "did you mean `sim:k20c`?"),
        (&["discover", "--device", "sim:k2oc"], "did you mean `k20c`"),
        (&["discover", "--device", "cudda:0"], "did you mean `cuda:0`?"),
        (&["machines", "gtx56ti"], "did you mean `gtx560ti`"),
        (&["discover", "--only", "constant_l"], "did you mean `constant_l1`"),
        (&["characterize", "--only", "localty"], "similar value exists: 'locality'"),
        (&["discover", "--effort", "quik"], "similar value exists: 'quick'"),
        (&["compare", "recordings/2026-11-21-h200.json", "reference:gh10"], "did you mean `gh100`"),
        (&["replay", "recordings/2026-11-22-h200.strata", "--only", "l11"], "did you mean `l1`"),
        (&["replay", "--example", "h20"], "h200"),
    ] {
        refused(arguments, &[words]);
    }
    // What only imported timings have cannot be asked for, and is not proposed.
    let listed = strata(&["discover", "--only", "lds"]).stderr;
    assert!(listed.contains("there are l1, texture,"), "{listed}");
    assert!(!listed.contains("scalar_l1"), "{listed}");
}

/// A number is short for a GPU of the driver.
#[test]
fn a_number_names_a_gpu() {
    for device in ["0", "1", "cuda:1"] {
        let run = strata(&["discover", "--device", device]);
        assert_eq!(run.status, Some(3), "{}", run.stderr);
    }
}

#[test]
fn manual_pages_are_written() {
    let dir = TempDir::new().unwrap();
    let folder = dir.path().join("man");
    let run = strata(&["man", folder.to_str().unwrap()]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    for (page, words) in
        [("strata.1", ".TH strata 1"), ("strata-discover.1", "\\-\\-effort"), ("strata-compare.1", "SYNOPSIS")]
    {
        let text = fs::read_to_string(folder.join(page)).unwrap();
        assert!(text.contains(words), "{page}: no {words} in {text:.2000}");
    }
}

/// One line of JSON without the numbers of experiments says the same.
#[test]
fn compact_json_says_the_same_in_a_fifth() {
    let replayed = recording();
    let replayed = replayed.to_str().unwrap();
    let whole = strata(&["replay", replayed, "--format", "json"]).stdout;
    let compact = strata(&["replay", replayed, "--format", "json", "--compact"]).stdout;
    assert!(compact.len() < whole.len() / 4, "{} of {} bytes", compact.len(), whole.len());
    assert_eq!(compact.lines().count(), 1);
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("compact.json");
    fs::write(&file, &compact).unwrap();
    let run = strata(&["compare", file.to_str().unwrap(), replayed]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let value: serde_json::Value = serde_json::from_str(&compact).unwrap();
    assert_eq!(published::defects(&value, true), Vec::<String>::new());
    refused(&["replay", replayed, "--compact"], &["--compact is for --format json"]);
}

/// The first thing to try without a GPU is a recorded run of a real one.
#[test]
fn an_example_comes_with_the_program() {
    let run = strata(&["replay", "--example", "h200"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("NVIDIA H200") && run.stdout.contains("Replayed from example h200"), "{}", run.stdout);
    let run = strata(&["discover"]);
    let (example, simulated) = (run.stderr.find("replay --example h200"), run.stderr.find("sim:k20c"));
    assert!(example.is_some() && example < simulated, "{}", run.stderr);
}

/// Names in a file reach no terminal as they are.
#[test]
fn control_characters_reach_no_terminal() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("names.toml");
    let machine = strata(&["machines", "k20c", "--toml"]).stdout;
    let name = machine.lines().find(|line| line.starts_with("name = ")).unwrap();
    let evil = "name = \"Evil\\u001b[31m\\u202eGPU\\u0007\"";
    fs::write(&file, machine.replacen(name, evil, 1)).unwrap();
    let file = file.to_str().unwrap();
    let recorded = dir.path().join("names.strata");
    let recorded = recorded.to_str().unwrap();
    let device = format!("sim:{file}");
    for arguments in [
        &["machines", file][..],
        &["machines", file, "--toml"],
        &["discover", "--device", &device, "--only", "shared", "--record", recorded],
        &["replay", recorded],
        &["replay", recorded, "--format", "markdown"],
        &["compare", recorded, recorded],
        &["replay", "\u{1b}[31m\u{202e}.strata"],
        &["discover", "--device", "sim:\u{1b}[31m\u{202e}"],
    ] {
        let run = strata(arguments);
        for text in [run.stdout, run.stderr] {
            assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{arguments:?}: {text:?}");
        }
    }
}

/// A cause is said once.
#[test]
fn causes_are_printed_once() {
    for arguments in [
        &["replay", "/nonexistent.strata"][..],
        &["compare", "/nonexistent.json", "reference"],
        &["measure", "/nonexistent.json"],
        &["discover", "--device", "sim:/nonexistent.toml"],
        &["l1", "/nonexistent.json", "--threads", "32"],
        &["compare", "--policy", "/nonexistent.toml", "recordings/2026-11-21-h200.json"],
        &["import", "mt4g", "/nonexistent", "--output", "/tmp/none.strata"],
        &["replay", "recordings/2026-11-21-h200.strata", "--output", "/nonexistent/file"],
    ] {
        let run = strata(arguments);
        assert_eq!(run.status, Some(2), "{arguments:?}: {}", run.stderr);
        assert_eq!(run.stderr.matches("No such file").count(), 1, "{}", run.stderr);
    }
}
