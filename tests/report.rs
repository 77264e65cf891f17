//! Reports with pictures: complete, self-contained, and safe whatever a recording holds.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use gpu_strata::gpu::DeviceFacts;
use gpu_strata::report;
use gpu_strata::topology::{Element, ElementName, Finding, Latency, RunInfo, SCHEMA, Topology};
use serde_json::json;

/// A name that would be markup if it were not text.
const MISCHIEF: &str = "<script>&\"";

/// A small result of everything: known, unknown and failed, from the driver, with a curve and with one of a wrong shape.
fn small(device: &str, simulated: bool) -> Topology {
    let cycles =
        Finding::measured(32.0, "whole-lap chase").unit("cycles").interval(31.5, 32.5, 0.95).from_experiments([1]);
    let l1 = Element {
        size: Some(
            Finding::measured(2048, "nested footprints").unit("B").range(1984.0, 2048.0).note("one of two | three"),
        ),
        staircase: Some(Finding::measured(
            vec![json!([2112, 0.1515]), json!([2176, 0.2941]), json!([2560, 1.0])],
            "footprint in bytes, share of a lap that misses",
        )),
        line_size: Some(Finding::failed("no load came back")),
        shared_with: Some(Finding::measured(vec!["texture", "read_only"], "disturbance")),
        latency: Some(Latency { cycles, ns: Finding::derived(16.2, "by the clock").unit("ns") }),
        ..Element::default()
    };
    let dram = Element {
        size: Some(Finding::from_driver(1u64 << 30, "device memory").unit("B")),
        staircase: Some(Finding::measured("not a curve", "by hand")),
        miss_penalty: Some(Finding::unknown(format!("{device} does not say"))),
        ..Element::default()
    };
    let run = RunInfo {
        tool_version: "0.1.0".into(),
        backend: "sim".into(),
        simulated,
        seed: 1,
        effort: "quick".into(),
        started: "2026-11-21T13:18:07Z".into(),
        duration_s: 2.1,
        measured_clock_mhz: Some((705.9, 706.0)),
        scope: "whole GPU".into(),
        warnings: vec![format!("*{device}* was warm")],
        ..RunInfo::default()
    };
    Topology {
        schema: SCHEMA.into(),
        device: DeviceFacts { name: device.into(), compute_capability: (3, 5), ..DeviceFacts::default() },
        run,
        elements: BTreeMap::from([(ElementName::L1, l1), (ElementName::Dram, dram)]),
        replayed_from: Some(format!("{device}.strata")),
    }
}

/// The results of the committed recordings.
fn recorded() -> Vec<Topology> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let files = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    let files = files.filter(|p| p.extension().is_some_and(|e| e == "json"));
    let all: Vec<Topology> = files.map(|p| serde_json::from_str(&fs::read_to_string(p).unwrap()).unwrap()).collect();
    assert!(!all.is_empty(), "no result was found");
    all
}

/// Every tag is closed in its order, and what stands in a tag are a name and quoted attributes.
#[track_caller]
fn well_formed(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page.strip_prefix("<!doctype html>\n").expect("a page begins with its kind");
    while let Some(at) = rest.find('<') {
        let end = rest[at..].find('>').map(|end| at + end).expect("a tag ends");
        let (tag, context) = (&rest[at + 1..end], &rest[at..(at + 80).min(rest.len())]);
        rest = &rest[end + 1..];
        assert!(tag.matches('"').count() % 2 == 0, "a quotation mark is missing: {context}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric()), "no tag: {context}");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "closed out of order: {context}");
        } else if !tag.ends_with('/') && !["meta", "br"].contains(&name) {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<&str>::new(), "left open");
    // What is no reference of a character is a bare ampersand.
    for (at, _) in page.match_indices('&') {
        let reference = page[at + 1..].split(';').next().unwrap_or_default();
        let known = ["amp", "lt", "gt", "quot"].contains(&reference) || reference.starts_with('#');
        assert!(known && reference.len() < 8, "a bare ampersand: {reference:.20}");
    }
}

/// A page asks for nothing from elsewhere and runs nothing.
#[track_caller]
fn self_contained(page: &str) {
    let page = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for word in ["http", "<script", "<link", "<iframe", "src=", "url(", "@import", "javascript:", " onload"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn a_small_report_reads_well_as_markdown() {
    let mut settings = insta::Settings::clone_current();
    // What the picture looks like is for other tests and for eyes.
    settings.add_filter("base64,[A-Za-z0-9+/=]+", "base64,[picture]");
    settings.bind(|| insta::assert_snapshot!(report::markdown(&small("Tesla K20c", true))));
}

#[test]
fn names_that_mean_mischief_are_text() {
    let topology = small(MISCHIEF, false);
    let page = report::html(&topology).unwrap();
    well_formed(&page);
    self_contained(&page);
    assert!(page.contains("<h1>Memory hierarchy of &lt;script&gt;&amp;&quot;</h1>"), "{page}");
    let markdown = report::markdown(&topology);
    assert!(
        !markdown.contains("<script") && markdown.contains("# Memory hierarchy of &lt;script&gt;&amp;\""),
        "{markdown}"
    );
    assert!(markdown.contains("- \\*&lt;script&gt;&amp;\"\\* was warm"), "{markdown}");
}

#[test]
fn a_simulated_result_says_so_before_anything_else() {
    let simulated = small("Tesla K20c", true);
    assert!(report::text(&simulated).starts_with("SIMULATED: "));
    assert!(report::markdown(&simulated).starts_with("**SIMULATED: no hardware was measured.**\n"));
    let page = report::html(&simulated).unwrap();
    let body = page.split("<body>").nth(1).unwrap().trim_start();
    assert!(
        body.starts_with("<p class=\"simulated\" role=\"note\">SIMULATED: no hardware was measured.</p>"),
        "{body}"
    );
    assert!(page.contains("<title>SIMULATED: "));
    let measured = small("Tesla K20c", false);
    assert!(
        !report::html(&measured).unwrap().contains("SIMULATED") && !report::markdown(&measured).contains("SIMULATED")
    );
}

#[test]
fn recorded_results_make_whole_pages() {
    for topology in recorded() {
        let page = report::html(&topology).unwrap();
        well_formed(&page);
        self_contained(&page);
        let curves = topology.elements.values().filter(|e| e.staircase.as_ref().is_some_and(Finding::is_known)).count();
        assert!(curves > 0 && page.matches("<svg ").count() >= curves, "a curve has no picture");
        for name in topology.elements.keys() {
            assert!(page.contains(&format!("<section id=\"{}\">", name.key())), "{name} is missing");
        }
    }
}

#[test]
fn recorded_results_make_whole_markdown() {
    for topology in recorded() {
        let markdown = report::markdown(&topology);
        let pictures: Vec<&str> = markdown.lines().filter(|l| l.starts_with("![")).collect();
        assert!(!pictures.is_empty());
        for picture in pictures {
            let key = &picture[picture.rfind('[').unwrap()..];
            assert_eq!(markdown.matches(&format!("\n{key}: data:image/svg+xml;base64,")).count(), 1, "{key}");
        }
        let outside = markdown.lines().filter(|l| !l.starts_with('['));
        assert!(!outside.clone().any(|l| l.contains("http")), "no reference to elsewhere");
        // Each row of a table has the cells of its head.
        let mut columns = None;
        for line in outside {
            let cells = line.starts_with('|').then(|| line.replace("\\|", "").matches('|').count());
            assert!(columns.is_none() || cells.is_none() || cells == columns, "{line}");
            columns = cells;
        }
    }
}
