//! What a comparison looks like in its formats.

use crate::published;
use crate::report::is_a_page;
use serde_json::json;
use strata_model::topology::{SCHEMA, Topology};
use strata_report::compare::{self, Asked, Comparison, Kind, Options, Statement, published};
use strata_report::report::{self, Terminal, comparison};

use super::*;

/// A small result; `latency` and `replacement` are what two of them differ in.
fn small(name: &str, latency: f64, replacement: &str) -> Topology {
    let known = |value: Value, unit: &str| json!({"value": value, "unit": unit, "source": "measured"});
    let l1 = json!({
        "size": {"value": 2048, "unit": "B", "low": 1984.0, "high": 2048.0},
        "line_size": {"value": null, "reason": "no load came back", "failed": true},
        "sets": if latency > 33.0 { json!({"value": null, "reason": "lines recover"}) } else { known(4.into(), "sets") },
        "latency": {"cycles": known(latency.into(), "cycles"), "ns": {"value": null, "reason": "no clock"}},
        "shared_with": {"value": ["texture", "read_only"]},
        "replacement": {"value": replacement},
        "staircase": {"value": [[2112, 0.1515], [2176, latency / 100.0], [2560, 1.0]]},
    });
    let constant = json!({"size": {"value": null, "low": 65536.0, "unit": "B", "reason": "beyond <64 KiB>"}});
    serde_json::from_value(json!({
        "schema": SCHEMA,
        "device": strata_gpu::DeviceFacts { name: name.into(), compute_capability: (9, 0), ..Default::default() },
        "run": strata_model::topology::RunInfo { tool_version: "0.1.0".into(), effort: "quick".into(), ..Default::default() },
        "elements": {"l1": l1, "constant_l15": constant},
    }))
    .unwrap()
}

fn statement(name: &str, latency: f64, replacement: &str) -> Statement {
    Statement::of_topology(&small(name, latency, replacement), "run|1.json")
}

fn pair() -> Comparison {
    compare::compare(&statement("GPU *x*", 32.0, "lru"), &statement("<GPU>", 34.0, "fifo"), &Options::default())
}

fn beside_reference() -> Comparison {
    let reference = published(Asked::Device("NVIDIA H200", Some((9, 0))), Kind::Topology).unwrap();
    compare::compare(&statement("NVIDIA H200", 32.0, "lru"), &reference, &Options::default())
}

#[test]
fn two_results_read_well() {
    insta::assert_snapshot!("two_text", comparison::text(&pair(), &Terminal::PAPER));
    insta::assert_snapshot!("two_markdown", comparison::markdown(&pair()));
    let json = report::json(&pair()).unwrap();
    published::conforms(&json);
    insta::assert_snapshot!("two_json", json);
}

#[test]
fn a_result_beside_what_is_published_reads_well() {
    insta::assert_snapshot!("reference_text", comparison::text(&beside_reference(), &Terminal::PAPER));
    insta::assert_snapshot!("reference_markdown", comparison::markdown(&beside_reference()));
}

/// The part of a page that is its own.
fn main_of(page: &str) -> &str {
    let (_, from) = page.split_once("<main>\n").unwrap();
    from.split_once("</main>").unwrap().0
}

#[test]
fn a_comparison_is_one_page_for_a_browser() {
    for (name, comparison) in [("two_html", pair()), ("reference_html", beside_reference())] {
        let page = comparison::html(&comparison).unwrap();
        is_a_page(&page);
        insta::assert_snapshot!(name, main_of(&page));
    }
    let page = comparison::html(&pair()).unwrap();
    assert!(page.contains("<h1>Comparison of GPU *x* with &lt;GPU&gt;</h1>"), "names are escaped");
}

#[test]
fn several_results_are_one_page_for_a_browser() {
    let sides = [("GPU", 32.0, "lru"), ("GPU", 32.0, "<fifo>"), ("GPU", 32.0, "lru"), ("GPU", 34.0, "lru")];
    let sides = sides.map(|(name, latency, replacement)| statement(name, latency, replacement));
    let page = comparison::several::html(&compare::several(&sides, &Options::default())).unwrap();
    is_a_page(&page);
    assert!(page.contains("<h1>Comparison of 4 results of GPU</h1>"));
    assert!(page.contains("<td class=\"outlier\">&lt;fifo&gt; <b>▲ outlier</b></td>"), "{}", main_of(&page));
    insta::assert_snapshot!("several_html", main_of(&page));
}

#[test]
fn the_recorded_h200_beside_what_is_published_reads_well() {
    let text = stdout(&compare(&["recordings/2026-11-21-h200.strata", "reference"]).code(0));
    insta::assert_snapshot!("h200_text", text);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn every_format_goes_to_a_file_and_json_is_read_back() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("out");
    for (format, words) in
        [("text", "A: "), ("markdown", "# Comparison"), ("html", "</html>"), ("json", "\"strata/comparison/1\"")]
    {
        let done = compare(&[H200, "--format", format, "--output", path.to_str().unwrap()]).code(0);
        assert_eq!(stdout(&done), "");
        assert!(fs::read_to_string(&path).unwrap().contains(words));
    }
    let read: Comparison = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert!(read.same && !read.context.is_empty());
    assert!(stderr(&compare(&[path.to_str().unwrap(), H200]).code(2)).contains("is already a comparison"));
}
