//! Options for accepting a node: names that must exist, values that must be known, and how old a result may be.

use serde_json::json;
use strata_report::compare::Comparison;
use strata_report::report::{Terminal, comparison};

use crate::published;

use super::*;

/// Refused with these words on standard error, and nothing on standard output.
#[track_caller]
fn refused(arguments: &[&str], words: &[&str]) {
    let done = compare(arguments).code(2);
    let said = stderr(&done);
    assert_eq!(stdout(&done), "");
    for word in words {
        assert!(said.contains(word), "{arguments:?}: no {word:?} in: {said}");
    }
}

/// A name with a letter too few is never ignored, however many others are right.
#[test]
fn a_name_that_does_not_exist_is_refused_with_the_near_ones() {
    for option in ["--only", "--require"] {
        refused(&[H200, H200, option, "l1.line_size,l1.siz"], &["no attribute `siz`", "did you mean `size`?"]);
        refused(&[H200, H200, option, "l1.size,l9.size"], &["no element or part `l9`", "l1, texture"]);
        refused(&[H200, H200, option, "l2.latency.cycle"], &["`latency.cycles`"]);
        refused(&[H200, H200, option, "l1.volume"], &["there are cached, size"]);
        // What a part finds stands in results alone.
        refused(
            &[COSTS, COSTS, option, "coalescing.ca_window,synchronization.grid_barier"],
            &["nothing of `synchronization` is called `grid_barier`", "did you mean `grid_barrier`"],
        );
        refused(&[COSTS, COSTS, option, "banks.volume"], &["there are ", "bank_width", "padding"]);
        refused(&[H200, H200, option, "l1.size,coalescing.ca_window"], &["neither side has anything of `coalescing`"]);
        // The key of an element and of a part.
        refused(&[H200, H200, option, "l1.size,read_only.siz"], &["did you mean `size`?"]);
        compare(&[H200, H200, option, "l2.latency,read_only.size,l1.least_configuration.size"]).code(0);
        compare(&[COSTS, COSTS, option, "coalescing.ca_window,synchronization.grid_barrier"]).code(0);
    }
    refused(&[H200, H200, "--require", "l1"], &["names no attribute", "`l1.size`"]);
}

#[test]
fn what_is_chosen_and_on_neither_side_is_said() {
    let done = compare(&[H200, H200, "--only", "l1.size,shared.page_size"]).code(0);
    assert!(stdout(&done).contains("Neither side has anything of shared.page_size"), "{}", stdout(&done));
}

#[test]
fn a_required_value_that_a_side_does_not_know_is_a_difference() {
    let dir = TempDir::new().unwrap();
    let unknown = changed(&dir, "unknown.json", |result| {
        result["elements"]["l2"]["latency"]["cycles"] =
            json!({"value": null, "reason": "the clock stood still", "failed": true});
        result["elements"].as_object_mut().unwrap().remove("dram");
    });
    // Without the option, what one side alone knows is no difference.
    compare(&[H200, &unknown]).code(0);
    compare(&[H200, &unknown, "--require", "l1.size,l2.latency.ns"]).code(0);
    let quiet = compare(&[H200, &unknown, "--require", "l2.latency", "--quiet"]).code(1);
    assert_eq!((stdout(&quiet), stderr(&quiet)), (String::new(), String::new()));
    let in_b = stdout(&compare(&[H200, &unknown, "--require", "l1.size,l2.latency"]).code(1));
    let words = in_b.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("A required value is not known"), "{in_b}");
    assert!(words.contains("l2 latency.cycles: required, but unknown in B: failed: the clock stood still"), "{in_b}");
    assert!(!words.contains("l2 latency.ns: required"), "{in_b}");
    let in_a = stdout(&compare(&[&unknown, H200, "--require", "dram.latency.ns"]).code(1));
    assert!(in_a.contains("dram latency.ns: required, but unknown in A: not among its elements"), "{in_a}");
    let in_both = stdout(&compare(&[H200, H200, "--require", "l1.sets"]).code(1));
    assert!(in_both.contains("unknown in A: ") && in_both.contains("unknown in B: "), "{in_both}");
    // Results of two kinds have nothing in common, which is trouble; what is required and absent is a difference.
    compare(&[H200, COSTS, "--require", "l1.size"]).code(1);
    // It is compared even if nothing else of it is asked for.
    compare(&[H200, &unknown, "--only", "l1", "--require", "l2.latency"]).code(1);
    // Neither a bound nor what was published for another product is a value.
    let bound = stdout(&compare(&[H200, H200, "--require", "constant_l15.size"]).code(1));
    assert!(bound.contains("only a bound of it is known"), "{bound}");
    let context = stdout(&compare(&[H200, "--require", "l1.size"]).code(1));
    assert!(context.contains("unknown in B: "), "{context}");
}

#[test]
fn a_required_value_that_cannot_be_compared_is_a_difference() {
    let dir = TempDir::new().unwrap();
    let elsewhere = changed(&dir, "elsewhere.json", |result| {
        result["elements"]["l1"]["staircase"]["value"] = json!([[1, 0.5]]);
    });
    compare(&[H200, &elsewhere]).code(0);
    let text = stdout(&compare(&[H200, &elsewhere, "--require", "l1.staircase"]).code(1));
    assert!(text.contains("l1 staircase: required, but it cannot be compared: no point in"), "{text}");
}

#[test]
fn what_is_unmet_is_in_every_format() {
    let done = compare(&[H200, H200, "--require", "l1.size,l1.sets", "--format", "json"]).code(1);
    published::conforms(&stdout(&done));
    let read: Comparison = serde_json::from_str(&stdout(&done)).unwrap();
    assert_eq!((read.same, read.differs.len(), read.required.len()), (false, 0, 2));
    let places: Vec<&str> = read.unmet.iter().map(|unmet| unmet.place.as_str()).collect();
    assert_eq!(places, ["l1 sets"]);
    assert!(read.unmet[0].a.is_some() && read.unmet[0].b.is_some());
    for text in [comparison::text(&read, &Terminal::PAPER), comparison::markdown(&read)] {
        assert!(text.contains("l1 sets: required, but unknown in A"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("1 required but not known"), "{text}");
    }
}

#[test]
fn an_old_file_cannot_pass() {
    let dir = TempDir::new().unwrap();
    let started = |name: &str, started: &str| {
        let started = Value::from(started);
        changed(&dir, name, move |result| result["run"]["started"] = started.clone())
    };
    let fresh = started("fresh.json", &strata_report::report::utc_now());
    let old = started("old.json", "2020-01-01T00:00:00Z");
    // B is judged: how old A is does not matter.
    compare(&[&old, &fresh, "--max-age", "1h"]).code(0);
    refused(&[&fresh, &old, "--max-age", "1h"], &["old.json", "2020-01-01T00:00:00Z", "--max-age allows 1h"]);
    refused(&[&fresh, &old, "--max-age", "30days", "--quiet"], &["measure again"]);
    compare(&[&fresh, &old, "--max-age", "1000y"]).code(0);
    // Published values are not judged.
    compare(&[&fresh, "--max-age", "30m"]).code(0);
    refused(&[&old, "--max-age", "30m"], &["old.json"]);
    refused(&["reference:gh100", "reference:gh100", "--max-age", "30m"], &["does not say when"]);
    for (date, words) in [("2999-01-01T00:00:00Z", "in the future"), ("", "does not say when"), ("soon", "no date")] {
        refused(&[&fresh, &started("odd.json", date), "--max-age", "1h"], &["odd.json", words]);
    }
    // A recording has the date of its run, however new its file is.
    refused(&[&fresh, "recordings/2026-11-21-h200.strata", "--max-age", "1s"], &["2026-11-21T20:24:15Z"]);
    for duration in ["1", "0s", "soon", "-1h"] {
        refused(&[&fresh, &fresh, &format!("--max-age={duration}")], &["such as 30m, 1h or 7d"]);
    }
}
