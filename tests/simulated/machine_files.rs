//! Machine files that are wrong: each defect is named with file, line, key, what was found and what is allowed; and whatever
//! a file holds, reading it takes little time and memory.

use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use strata_sim::machine::{Machine, names};
use strata_sim::ptx;

fn text() -> String {
    text_of("k20c")
}

fn text_of(name: &str) -> String {
    Machine::named(name).expect("it comes with strata").text
}

/// The K20c's text with one thing replaced must be refused, in a message with all of these parts.
#[track_caller]
fn refused(from: &str, to: &str, parts: &[&str]) {
    refused_of("k20c", from, to, parts);
}

/// The same of any machine that comes with strata.
#[track_caller]
fn refused_of(name: &str, from: &str, to: &str, parts: &[&str]) {
    let text = text_of(name);
    assert!(text.contains(from), "the file of the {name} has no `{from}` any more");
    let Err(defect) = Machine::parse("k.toml", &text.replacen(from, to, 1)) else { panic!("`{to}` was accepted") };
    let message = defect.to_string();
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
fn an_index_that_does_not_reach_every_set_once() {
    let bits = "index = { bits = [7, 8] }";
    refused(bits, "index = { bits = [4, 8] }", &["cache.texture.index", "bit 4", "line of 32 B", "bits from 5 on"]);
    refused(bits, "index = { bits = [7, 7] }", &["cache.texture.index", "[7, 7]", "never"]);
    refused(bits, "index = { parity = [0x90, 0x100] }", &["cache.texture.index", "0x90", "line of 32 B", "from 5 on"]);
    // The third mask is the sum of the others.
    let sets = "sets = 4\nways = 96\nindex = { bits = [7, 8] }";
    let masks = "sets = 8\nways = 48\nindex = { parity = [0x80, 0x100, 0x180] }";
    refused(sets, masks, &["cache.texture.index", "0x180", "never"]);
    refused(bits, "index = { parity = [0x80, 0] }", &["cache.texture.index", "0x0", "never"]);
}

#[test]
fn partitions_have_sets_of_their_own_and_are_of_one_cache() {
    // Bits number the sets of one partition: 15,360 of them are no power of two.
    let bits = "sets = 32768\nways = 15\nindex = { bits = [7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21] }";
    refused_of(
        "h200",
        "sets = 30720\nways = 16\nindex = \"modulo\"",
        bits,
        &["cache.l2.index", "15 bits for 16384 sets", "of a partition"],
    );
    let l3 = r#"
[cache.l3]
scope = "device"
size = "128 MiB"
line = 128
sets = 65536
ways = 16
index = "modulo"
replacement = "lru"
[cache.l3.partitions]
count = 8
sms = "01234567"
granule = "4 KiB"
copies = false
far_hit = 10
far_memory = 10

[cache.l2.partitions]"#;
    refused_of("h200", "\n[cache.l2.partitions]", l3, &["cache.l3.partitions", "`l2`", "allowed is one"]);
}

#[test]
fn what_a_store_does_is_a_property_of_an_sms_cache() {
    refused("[cache.l2]\n", "[cache.l2]\nwrite = \"through\"\n", &["cache.l2.write", "device", "SM"]);
}

#[test]
fn a_carveout_leaves_less_the_more_shared_memory_it_has() {
    let second = "{ shared = \"16 KiB\", sets = 4, ways = 480 }";
    let larger_than_the_next = "{ shared = \"16 KiB\", sets = 4, ways = 400 }";
    refused_of(
        "h200",
        second,
        larger_than_the_next,
        &["cache.l1.configuration", "229376 B beside 32768 B", "204800 B"],
    );
    let falls = "{ shared = \"6 KiB\", sets = 4, ways = 480 }";
    refused_of("h200", second, falls, &["cache.l1.configuration", "6144 B after 8192 B", "rise"]);
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
