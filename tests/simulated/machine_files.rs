//! Machine files that are wrong: each defect is named with file, line, key, what was found and what is allowed; and whatever
//! a file holds, reading it takes little time and memory.

use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use strata_sim::machine::{Machine, names};
use strata_sim::ptx;

fn text() -> String {
    Machine::named("k20c").expect("it comes with strata").text
}

/// The text with one thing replaced must be refused, in a message with all of these parts.
#[track_caller]
fn refused(from: &str, to: &str, parts: &[&str]) {
    let text = text();
    assert!(text.contains(from), "the file of the K20c has no `{from}` any more");
    let message = Machine::parse("k.toml", &text.replacen(from, to, 1)).expect_err("it is wrong").to_string();
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    assert!(message.starts_with("k.toml:"), "no line: {message}");
}

#[test]
fn every_machine_is_read() {
    assert_eq!(names().count(), 13);
    for name in names() {
        Machine::named(name).unwrap_or_else(|defect| panic!("{defect}"));
    }
}

#[test]
fn an_unknown_key_and_a_missing_one() {
    refused("[clock]\n", "[clock]\nmegahertz = 7\n", &["megahertz", "clock", "expected"]);
    refused("[cache.l2]\nscope = \"device\"\n", "[cache.l2]\n", &["cache.l2", "missing field `scope`"]);
}

#[test]
fn values_out_of_range() {
    refused("mhz = 706", "mhz = 0", &["clock.mhz", "found 0", "1 to 10000"]);
    refused("mhz = 706", "mhz = \"fast\"", &["clock.mhz", "fast"]);
    refused("compute_capability = \"3.5\"", "compute_capability = \"1.3\"", &["1.3", "from 2.0 on"]);
    refused("compute_capability = \"3.5\"", "compute_capability = 3.5", &["compute_capability"]);
}

#[test]
fn sizes_that_do_not_add_up_and_terabytes() {
    refused("size = \"32 KiB\"", "size = \"33 KiB\"", &["cache.constant_l15.size", "33792", "32768"]);
    refused("size = \"32 KiB\"", "size = \"9 TiB\"", &["9 TiB", "1 TiB"]);
    refused(
        "size = \"32 KiB\"\nline = 256\nsets = 32\nways = 4",
        "size = \"1 TiB\"\nline = 65536\nsets = 16777216\nways = 65536",
        &["constant_l15", "allowed"],
    );
    refused(
        "size = \"32 KiB\"\nline = 256",
        "size = \"32 KiB\"\nline = 100",
        &["cache.constant_l15.line", "powers of two"],
    );
}

#[test]
fn paths_that_go_in_circles_or_nowhere() {
    let constant = "levels = [\"constant_l1\", \"constant_l15\", \"l2\"]";
    refused(constant, "levels = [\"constant_l1\", \"constant_l1\", \"l2\"]", &["path.constant.levels", "circle"]);
    refused(constant, "levels = [\"constant_l1\", \"l3\", \"l2\"]", &["path.constant.levels", "`l3`", "constant_l15"]);
    refused(constant, "levels = [\"constant_l1\", \"constant_l15\"]", &["path.constant.levels", "cache of the device"]);
    refused(constant, "levels = [\"l2\", \"constant_l1\", \"constant_l15\"]", &["path.constant.levels", "reverse"]);
    let both = text()
        .replacen("[path.local]\nlevels = [\"l1\", \"l2\"]", "[path.local]\nlevels = [\"texture\", \"l1\", \"l2\"]", 1)
        .replacen(
            "levels = [\"texture\", \"l2\"]\ncycles = [",
            "levels = [\"l1\", \"texture\", \"l2\"]\ncycles = [1, ",
            1,
        );
    let message = Machine::parse("k.toml", &both).expect_err("texture and l1 each behind the other").to_string();
    assert!(message.contains("found a cycle") || message.contains("latenc"), "{message}");
}

#[test]
fn what_is_no_machine_at_all() {
    for (text, part) in [("", "missing field"), ("schema = 3", "schema"), ("[[[", "k.toml:1")] {
        let message = Machine::parse("k.toml", text).expect_err("it is no machine").to_string();
        assert!(message.contains(part), "{message}");
    }
    let message = Machine::named("gtx9999").expect_err("there is none").to_string();
    assert!(message.contains("gtx9999") && message.contains("a100") && message.contains("FILE.toml"), "{message}");
}

/// One second of files and kernels that are nearly right.
#[test]
fn a_second_of_damage() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let files: Vec<String> = names().map(|name| Machine::named(name).expect("ours").text).collect();
    let kernel = strata_kernels::all(strata_kernels::PTX, (9, 0)).remove(3).code;
    let pieces = [
        "0",
        "99999999999",
        "-1",
        "\"",
        "[",
        "]",
        "{",
        "}",
        "\n",
        "1e9",
        "sets = 1\n",
        ";",
        "%",
        "@",
        ".reg",
        "ld.",
        "é",
    ];
    let end = Instant::now() + Duration::from_secs(1);
    let mut slowest = Duration::ZERO;
    let mut rounds = 0;
    while Instant::now() < end {
        let is_kernel = rng.random_bool(0.5);
        let original = if is_kernel { &kernel } else { &files[rng.random_range(0..files.len())] };
        let mut damaged: Vec<char> = original.chars().collect();
        for _ in 0..rng.random_range(1..6) {
            let at = rng.random_range(0..damaged.len());
            let to = (at + rng.random_range(0..12)).min(damaged.len());
            let piece = pieces[rng.random_range(0..pieces.len())];
            damaged.splice(at..to, piece.chars());
        }
        let damaged: String = damaged.into_iter().collect();
        let began = Instant::now();
        if is_kernel {
            let _ = ptx::module(&damaged);
        } else {
            let _ = Machine::parse("damaged", &damaged);
        }
        slowest = slowest.max(began.elapsed());
        rounds += 1;
    }
    assert!(rounds > 20, "{rounds} rounds");
    assert!(slowest < Duration::from_secs(1), "one took {slowest:?}");
}
