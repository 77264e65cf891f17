//! What NVML tells of the board: all of it, some of it, nothing. What it does not tell has its reason and is no error.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use strata_gpu::{BoardFacts, Gpu, RemappedRows, Unavailable};
use tempfile::TempDir;

use super::{in_child, library, open, texts, with_driver};

/// The stand-in as the driver and as NVML, which lists one process, with this board.
fn monitored(command: Command, folder: &Path, feature: Option<&'static str>, board: &str) -> Command {
    fs::copy(library(feature), folder.join("libnvidia-ml.so.1")).unwrap();
    fs::write(folder.join("processes"), "1").unwrap();
    let mut command = with_driver(command, &library(feature), "none");
    command.env("LD_LIBRARY_PATH", folder).env("FAKE_NVML_PROCESSES", folder.join("processes"));
    command.env("FAKE_NVML_BOARD", board).env("FAKE_NVML_BUS", "2500");
    command
}

/// The board of the stand-in, in the test `name`.
fn board(name: &str, feature: Option<&'static str>, board: &str, body: impl FnOnce(BoardFacts)) {
    let folder = TempDir::new().unwrap();
    in_child(
        name,
        |child| monitored(child, folder.path(), feature, board),
        || body(open().board().expect("NVML knows the stand-in")),
    );
}

/// Why this key is absent.
fn reason<'b>(board: &'b BoardFacts, key: &str) -> &'b str {
    &board.unavailable.iter().find(|missing| missing.key == key).expect("it is absent").reason
}

/// The keys of what is absent, which are those that have a reason.
#[track_caller]
fn absent(board: &BoardFacts) -> Vec<String> {
    let json = serde_json::to_value(board).unwrap();
    let absent = json.as_object().unwrap().iter().filter(|(_, value)| value.is_null());
    let mut absent: Vec<String> = absent.map(|(key, _)| key.clone()).collect();
    absent.sort();
    let mut reasoned: Vec<String> = board.unavailable.iter().map(|missing| missing.key.clone()).collect();
    reasoned.sort();
    assert_eq!(absent, reasoned);
    absent
}

#[test]
fn a_board_is_told() {
    board("board::a_board_is_told", None, "server", |board| {
        assert_eq!((board.architecture.as_deref(), board.cores), (Some("Hopper"), Some(16896)));
        assert_eq!((board.pcie_generation, board.pcie_max_generation), (Some(4), Some(5)));
        assert_eq!((board.pcie_width, board.pcie_max_width), (Some(8), Some(16)));
        assert_eq!((board.pcie_received_bytes_per_s, board.pcie_sent_bytes_per_s), (Some(2_500_000), Some(2_500_000)));
        assert_eq!((board.persistence_mode, board.compute_mode.as_deref()), (Some(true), Some("exclusive_process")));
        assert_eq!(board.applications_graphics_clock_mhz, Some(1980));
        assert_eq!((board.applications_memory_clock_mhz, board.power_limit_w), (Some(3201), Some(700.0)));
        assert_eq!((board.ecc_volatile_corrected, board.ecc_volatile_uncorrected), (Some(11), Some(12)));
        assert_eq!((board.ecc_aggregate_corrected, board.ecc_aggregate_uncorrected), (Some(21), Some(22)));
        let rows = RemappedRows { corrected: 5, uncorrected: 6, pending: true, failed: false };
        assert_eq!(board.remapped_rows, Some(rows));
        let reasons = ["fan_percent", "operation_mode", "retired_pages_double_bit", "retired_pages_single_bit"];
        assert_eq!(absent(&board), reasons);
        assert_eq!(reason(&board, "fan_percent"), "not supported by this GPU and driver");
    });
}

#[test]
fn what_a_board_lacks_or_hides_has_its_reason() {
    board("board::what_a_board_lacks_or_hides_has_its_reason", None, "desktop", |board| {
        assert_eq!((board.fan_percent, board.operation_mode.as_deref()), (Some(43), Some("low_dp")));
        assert_eq!((board.retired_pages_single_bit, board.retired_pages_double_bit), (Some(2), Some(0)));
        assert_eq!((board.persistence_mode, board.pcie_generation), (Some(false), Some(1)));
        assert_eq!(absent(&board).len(), 8);
        for (key, words) in [
            ("architecture", "4711"),
            ("compute_mode", "77"),
            ("power_limit_w", "permission"),
            ("ecc_aggregate_corrected", "not supported"),
            ("remapped_rows", "not supported"),
        ] {
            assert!(reason(&board, key).contains(words), "{key}: {}", reason(&board, key));
        }
    });
}

#[test]
fn an_old_nvml_tells_what_it_knows() {
    board("board::an_old_nvml_tells_what_it_knows", Some("no-optional-calls"), "server", |board| {
        assert_eq!(board.pcie_sent_bytes_per_s, Some(2_500_000));
        let known = BoardFacts {
            pcie_received_bytes_per_s: Some(2_500_000),
            pcie_sent_bytes_per_s: Some(2_500_000),
            unavailable: board.unavailable.clone(),
            ..BoardFacts::default()
        };
        assert_eq!(board, known);
        assert!(absent(&board).len() > 15);
        let unknown = |missing: &Unavailable| missing.reason == "this driver's NVML does not have the call";
        assert!(board.unavailable.iter().all(unknown), "{board:?}");
    });
}

/// A quick discovery with these arguments, and its replay.
fn discovered(folder: &TempDir, board: &str, further: &[&str]) -> [Value; 2] {
    let record = folder.path().join("run.strata");
    let record = record.to_str().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_strata"));
        command.args(arguments).args(["--format", "json"]).env("STRATA_LOCK_DIR", folder.path());
        let done = monitored(command, folder.path(), Some("executes"), board).output().expect("the program runs");
        let (stdout, stderr) = texts(&done);
        let mut result: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}{stderr}"));
        result["replayed_from"] = Value::Null;
        result
    };
    let fixed = ["discover", "--only", "shared", "--effort", "quick", "--record", record];
    let arguments: Vec<&str> = fixed.into_iter().chain(further.iter().copied()).collect();
    [run(&arguments), run(&["replay", record])]
}

#[test]
fn a_run_tells_of_its_host_and_board() {
    let folder = TempDir::new().unwrap();
    let [result, replayed] = discovered(&folder, "server", &[]);
    assert!(result == replayed, "a replay gives something else");
    let (host, board) = (&result["run"]["host"], &result["run"]["board"]);
    // What can be told of any host that the tests run on.
    assert_eq!(host["architecture"], std::env::consts::ARCH);
    assert!(host["kernel"].as_str().is_some_and(|kernel| kernel.starts_with("Linux ")), "{host}");
    assert!(host["threads"].as_u64() > Some(0) && host["memory"].as_u64() > Some(1 << 28), "{host}");
    assert_eq!((&board["architecture"], &board["cores"]), (&json!("Hopper"), &json!(16896)));
    // Nobody needs to act on what a board does not have.
    assert!(!result["run"]["warnings"].to_string().contains("not supported by this GPU"), "{}", result["run"]);
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().len() > 3 {
        assert!(!result.to_string().contains(name.trim()), "the name of the host is told");
    }
}

#[test]
fn a_run_leaves_its_host_out_if_asked() {
    let folder = TempDir::new().unwrap();
    let [result, replayed] = discovered(&folder, "desktop", &["--no-host-facts"]);
    assert!(result == replayed, "a replay gives something else");
    assert_eq!((result["run"].get("host"), &result["run"]["board"]["fan_percent"]), (None, &json!(43)));
}
