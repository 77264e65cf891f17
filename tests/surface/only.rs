//! `--only` with attributes of elements: what the command states, records, replays and refuses.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command::{recording, refused, strata};
use crate::published;

/// What a result in JSON states: its elements with their keys.
fn stated(result: &Value) -> Value {
    let keys = |element: &Value| Value::from_iter(element.as_object().unwrap().keys().cloned());
    result["elements"].as_object().unwrap().iter().map(|(name, element)| (name.clone(), keys(element))).collect()
}

fn json_of(arguments: &[&str]) -> Value {
    let run = strata(&[arguments, &["--format", "json"]].concat());
    assert_eq!(run.status, Some(0), "{arguments:?}: {}", run.stderr);
    published::conforms(&run.stdout);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn attributes_are_named_as_elements_are() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("run.strata");
    let file = file.to_str().unwrap();
    let only = "constant_l1.latency,shared.size,local";
    let found = json_of(&["discover", "--device", "sim:k20c", "--effort", "quick", "--only", only, "--record", file]);
    assert_eq!(found["run"]["only"], json!(["constant_l1.latency", "shared.size", "local"]));
    let all = json!({ "constant_l1": ["latency"], "shared": ["size"], "local": ["cached", "latency"] });
    assert_eq!(stated(&found), all);

    let again = json_of(&["replay", file]);
    assert_eq!((&again["elements"], &again["run"]["only"]), (&found["elements"], &found["run"]["only"]));
    let less = json_of(&["replay", file, "--only", "local.cached"]);
    assert_eq!((stated(&less), &less["run"]["only"]), (json!({ "local": ["cached"] }), &json!(["local.cached"])));
}

/// A recording of a whole run has all attributes of which each can be named.
#[test]
fn a_replay_states_what_is_named() {
    let replayed = recording();
    let found = json_of(&["replay", replayed.to_str().unwrap(), "--only", "l2.latency,dram.size,tlb_l1.reach"]);
    assert_eq!(stated(&found), json!({ "l2": ["latency"], "dram": ["size"], "tlb_l1": ["reach"] }));
}

#[test]
fn a_text_has_what_is_named_and_no_room_for_the_rest() {
    let replayed = recording();
    let text = |only: &str| {
        let run = strata(&["replay", replayed.to_str().unwrap(), "--only", only]);
        assert_eq!(run.status, Some(0), "{}", run.stderr);
        run.stdout
    };
    let table = text("l1.size,dram.latency.cycles");
    assert!(table.contains("Asked for: only l1.size, dram.latency.cycles\n"), "{table}");
    assert!(table.contains("Size") && table.contains("Latency") && !table.contains("Line"), "{table}");
    // Not asked for is not the same as "does not apply".
    assert!(!table.contains("does not apply"), "{table}");
    // An element of which nothing has a column has no row either.
    let mixed = text("l1.size,shared.banks");
    assert!(mixed.contains("\nL1 data ") && !mixed.contains("\nShared"), "{mixed}");
    let no_column = text("shared.banks,shared.bank_curve");
    assert!(no_column.contains("\n  shared banks: 32\n") && !no_column.contains("Size"), "{no_column}");
    assert!(no_column.contains("\n  shared bank_curve: a picture in the formats html and markdown"), "{no_column}");
    assert!(!no_column.contains("\n\n\n"), "{no_column}");
}

#[test]
fn pages_have_what_is_named() {
    let replayed = recording();
    for (format, there, absent) in [
        ("markdown", "- **line_size**: ", "- **size**: "),
        ("html", "<code>line_size</code>", "<code>fetch_granularity</code>"),
    ] {
        let run = strata(&["replay", replayed.to_str().unwrap(), "--only", "l1.line_size", "--format", format]);
        assert_eq!(run.status, Some(0), "{format}: {}", run.stderr);
        assert!(run.stdout.contains("Asked for: only l1.line_size"), "{format}");
        assert!(run.stdout.contains(there) && !run.stdout.contains(absent), "{format}: {:.3000}", run.stdout);
    }
}

#[test]
fn other_formats_have_what_is_named_and_nothing_in_place_of_the_rest() {
    let replayed = recording();
    let found = json_of(&["replay", replayed.to_str().unwrap(), "--only", "l1.line_size"]);
    let line = &found["elements"]["l1"]["line_size"]["value"];
    for (format, there, absent) in [
        ("mt4g", format!("\"method\": \"p-chase\",\n        \"size\": {line},"), "\"fetchGranularity\": {"),
        ("hwloc", format!("name=\"l1.line_size\" value=\"{line} B"), "fetch_granularity"),
        ("machine", "source = \"measured: l1.line_size".to_owned(), "fetch_granularity"),
    ] {
        let run =
            strata(&["replay", replayed.to_str().unwrap(), "--only", "l1.line_size,l2.sm_map", "--format", format]);
        assert_eq!(run.status, Some(0), "{format}: {}", run.stderr);
        assert!(run.stdout.contains(&there) && !run.stdout.contains(absent), "{format}: {}", run.stdout);
    }
}

#[test]
fn a_name_that_does_not_exist_is_refused_with_what_does() {
    let replayed = recording();
    for (name, words) in [
        ("l11", "no element `l11`; did you mean `l1`?"),
        ("l1.siz", "no attribute `siz` of l1; did you mean `size`?"),
        ("texture.partitions", "no attribute `partitions` of texture; it is an attribute of l2"),
        ("local.volume", "no attribute `volume` of local; there are cached, latency"),
        ("l1.", "no attribute `` of l1; there are cached, size"),
    ] {
        refused(&["discover", "--device", "sim:k20c", "--only", &format!("l2,{name}")], &[words]);
        refused(&["replay", replayed.to_str().unwrap(), "--only", name], &[words]);
    }
    // Imported timings have elements that no recording of a GPU has.
    refused(&["replay", replayed.to_str().unwrap(), "--only", "scalar_l1.size"], &["no element `scalar_l1`"]);
}

#[test]
fn bandwidth_is_not_named_and_left_out_at_once() {
    let words = ["--only asks for `l1.read_bandwidth`", "--bandwidth=off leaves that out"];
    refused(&["discover", "--device", "sim:k20c", "--only", "l2,l1.read_bandwidth", "--bandwidth=off"], &words);
    let run = strata(&[
        "discover",
        "--device",
        "sim:840m",
        "--effort",
        "quick",
        "--only",
        "host.both_ways_bandwidth",
        "--quiet",
    ]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("host both_ways_bandwidth: "), "{}", run.stdout);
}
