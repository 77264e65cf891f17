//! What one reads at a terminal: the table and about a screen below it; the rest on request, or in a file. And nothing but
//! errors on standard error, if that is asked for.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const DISCOVERY: &str = "recordings/2026-11-22-h200.strata";
const CHARACTERIZATION: &str = "recordings/2026-11-23-h200-characterize.strata";
const DISTURBED: &str = "recordings/2026-11-22-h200-beside-copy.strata";

/// Lines of a large screen, less those of the prompt.
const SCREEN: usize = 30;

fn strata(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strata"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).env("COLUMNS", "80");
    command.env("STRATA_CUDA_LIBRARY", "/nonexistent/libcuda.so.1");
    command.output().expect("the binary runs")
}

fn stdout(arguments: &[&str]) -> String {
    String::from_utf8(strata(arguments).stdout).unwrap()
}

fn stderr(arguments: &[&str]) -> String {
    String::from_utf8(strata(arguments).stderr).unwrap()
}

#[test]
fn a_discovery_is_a_table_and_a_screen() {
    let text = stdout(&["replay", DISCOVERY]);
    let (table, below) = text.split_once("\n? unknown; > lower bound; - does not apply; † from the driver").unwrap();
    assert!(table.contains("L1 data                241 KiB") && below.lines().count() <= SCREEN, "{text}");
    for line in [
        // The least that was found, not the median.
        "Tiles: up to 215.5 KiB that the blocks of an SM read again stay in the L1",
        "224 x 224 floats",
        "a miss there fetches 32 B",
        "32 x 32 array by one element",
        "L2: up to 27.25 MiB that one SM reads again",
        "takes 196 cycles longer",
        "more than 52.582 GiB miss the TLB L2",
        "l1, read_only sets, ways, index, replacement: at 1933 lines",
        "tlb_l3 everything: ",
    ] {
        assert!(below.split_whitespace().collect::<Vec<_>>().join(" ").contains(line), "no {line:?} in {below}");
    }
    assert_eq!(below.matches("17 lines hit").count(), 1, "a reason stands once");
    assert!(!text.contains("Intervals and sources") && text.ends_with("(`--output FILE`).\n"), "{text}");
}

#[test]
fn warnings_come_first() {
    let text = stdout(&["replay", DISTURBED]);
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("no {words:?} in {text}"));
    assert!(at("† from the driver") < at("Warnings\n") && at("Warnings\n") < at("What to do with it\n"), "{text}");
    assert!(at("What to do with it\n") < at("Unknown\n"), "{text}");
    assert!(!text.contains("lower bound"), "a sign that does not occur is not explained: {text}");
}

#[test]
fn a_cache_that_loads_do_not_use_is_no_advice() {
    let text = stdout(&["replay", "tests/surface/report/../../../recordings/2026-11-22-h200-beside-compute.strata"]);
    assert!(!text.contains("What to do with it") && !text.contains("Tiles:"), "nothing is known: {text}");
}

#[test]
fn a_characterization_is_a_short_list() {
    let text = stdout(&["replay", CHARACTERIZATION]);
    let parts = stdout(&["replay", CHARACTERIZATION, "--format", "json"]);
    let parts: serde_json::Value = serde_json::from_str(&parts).unwrap();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (name, part) in parts["parts"].as_object().unwrap() {
        assert!(words.contains(&format!("({name}) {}", part["meaning"][0].as_str().unwrap())), "{name}: {text}");
    }
    assert_eq!(text.matches("  Advice: ").count(), 12, "{text}");
    assert!(text.lines().count() < 90 && !text.contains("Intervals and sources"), "{text}");
}

#[test]
fn details_come_on_request_and_in_a_file() {
    for recording in [DISCOVERY, CHARACTERIZATION] {
        let asked = stdout(&["replay", recording, "--details"]);
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("report.txt");
        assert_eq!(stdout(&["replay", recording, "--output", file.to_str().unwrap()]), "");
        assert_eq!(fs::read_to_string(&file).unwrap(), asked);
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(recording).with_extension("txt");
        assert_eq!(fs::read_to_string(kept).unwrap(), asked);
        assert!(
            asked.contains("\nIntervals and sources\n") && asked.contains("\nDevice, from the driver\n"),
            "{asked}"
        );
        assert!(!asked.contains("`--details`"), "nothing more is there");
    }
}

#[test]
fn every_command_can_be_quiet() {
    let help = stdout(&["--help"]);
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names: Vec<&str> = commands.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"discover") && names.contains(&"completions"), "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help" && help.contains(&format!("\n  {name} "))) {
        let help = stdout(&[name, "--help"]);
        assert!(help.contains("-q, --quiet"), "{name}: {help}");
    }
    assert!(stderr(&["replay", DISTURBED]).contains("strata: warning: "));
    for quiet in [["--quiet", "replay", DISTURBED], ["replay", DISTURBED, "--quiet"], ["replay", "-q", DISTURBED]] {
        let run = strata(&quiet);
        assert_eq!((run.status.code(), String::from_utf8(run.stderr).unwrap().as_str()), (Some(4), ""), "{quiet:?}");
        assert!(!run.stdout.is_empty());
    }
    assert!(stderr(&["--quiet", "replay", "no/such.strata"]).contains("no/such.strata"), "errors are printed");
}

#[test]
fn notes_and_warnings_of_other_commands_are_left_out_as_well() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // A recording whose end is missing: its run was killed.
    let cut = path("cut.strata");
    let whole = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(DISCOVERY)).unwrap();
    fs::write(&cut, &whole[..whole.len() * 3 / 4]).unwrap();
    let csv = path("csv");
    assert!(stderr(&["export", &cut, "--csv", &csv]).contains("strata: warning: "));
    assert_eq!(stderr(&["export", &cut, "--csv", &csv, "--quiet"]), "");
    let timings = "tests/surface/import/no-such-folder";
    assert!(stderr(&["import", "mt4g", timings, "--output", &path("i.strata"), "--quiet"]).contains(timings));
    let run = strata(&["--quiet", "discover", "--device", "sim:gtx560ti", "--only", "shared", "--effort", "quick"]);
    assert_eq!((run.status.code(), run.stderr.as_slice()), (Some(0), &[][..]));
}
