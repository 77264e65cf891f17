//! `strata l1`: how much L1 a kernel gets, from a result.

use std::path::Path;
use std::process::{Command, Output};

const RESULT: &str = "recordings/2026-11-22-h200.json";

fn l1(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strata"));
    command.arg("l1").args(arguments).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")));
    command.env("COLUMNS", "80").env("STRATA_CUDA_LIBRARY", "/nonexistent/libcuda.so.1");
    command.output().unwrap()
}

fn text(arguments: &[&str]) -> String {
    let done = l1(arguments);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn json(arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&text(&[arguments, &["--format", "json"]].concat())).unwrap()
}

#[test]
fn a_measured_launch_and_one_between_read_well() {
    insta::assert_snapshot!("measured", text(&["--threads", "256", "--shared", "16KiB", RESULT]));
    insta::assert_snapshot!("between", text(&["--threads", "96", "--shared", "5000", RESULT]));
}

#[test]
fn sizes_are_written_as_people_write_them() {
    let of = |shared: &str| json(&["--threads", "128", "--shared", shared, RESULT]);
    for shared in ["8K", "8KiB", "8 KiB", "8192", "0.0078125M"] {
        assert_eq!(of(shared), of("8kb"), "{shared}");
    }
    assert_eq!((of("8K")["basis"].as_str(), of("8K")["shared_per_block"].as_u64()), (Some("measured"), Some(8192)));
    assert_eq!(json(&["--threads", "1024", RESULT])["shared_per_block"], 0);
}

#[test]
fn an_answer_of_programs_has_what_the_text_has() {
    let answer = json(&["--threads", "256", "--shared", "16K", RESULT]);
    assert_eq!(answer["device"], "NVIDIA H200");
    assert_eq!((answer["blocks_per_sm"].as_u64(), answer["limited_by"].as_str()), (Some(8), Some("threads")));
    assert_eq!(
        (answer["shared_needed"].as_u64(), answer["shared_configured"].as_u64()),
        (Some(136 << 10), Some(164 << 10))
    );
    // Two of the nine are too small for one block.
    assert_eq!(answer["with_hint"].as_array().unwrap().len(), 7);
}

#[test]
fn without_a_file_the_l1_is_measured() {
    let answer = json(&["--threads", "64", "--shared", "4K", "--device", "sim:k20c"]);
    assert_eq!((answer["basis"].as_str(), answer["size"].as_u64()), (Some("measured"), Some(16 << 10)));
}

#[test]
fn what_cannot_be_answered_is_refused() {
    for (arguments, words) in [
        (&["--threads", "2048", RESULT][..], "1 to 1024 threads, not 2048"),
        (&["--threads", "32", "--shared", "228K", RESULT], "at most 227 KiB of shared memory"),
        (&["--threads", "32", "--shared", "8X", RESULT], "such as 16KiB"),
        (&["--threads", "32", "--shared", "0.3", RESULT], "such as 16KiB"),
        (&["--threads", "32", "recordings/2026-11-21-h200.json"], "the result does not say"),
        (&["--threads", "32", "recordings/2026-11-22-h200-characterize.json"], "a result of `strata discover`"),
        (&["--threads", "32", "--device", "sim:k20c", RESULT], "cannot be used with"),
    ] {
        let done = l1(arguments);
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && error.contains(words), "{arguments:?}: {error}");
        assert!(done.stdout.is_empty(), "{arguments:?}");
    }
}
