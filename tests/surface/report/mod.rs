//! Reports with pictures: complete, self-contained, and safe whatever a recording holds.

mod characterization;
mod drawing;
mod machines;
mod rendered;
mod snapshots;
mod surroundings;
mod topology;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use strata_gpu::DeviceFacts;
use strata_model::topology::{Finding, RunInfo};
use strata_report::report::{self, Pictures, Terminal};

/// A name that would be markup if it were not text.
const MISCHIEF: &str = "<script>&\"";

/// A run with a warning that names the device.
fn run(device: &str, simulated: bool) -> RunInfo {
    RunInfo {
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
    }
}

/// The results of the committed recordings that are of this schema.
fn recorded_of<T: serde::de::DeserializeOwned>(schema: &str) -> Vec<T> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    let files = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    let files = files.filter(|p| p.extension().is_some_and(|e| e == "json"));
    let texts = files.map(|p| fs::read_to_string(p).unwrap()).filter(|text| text.contains(&format!("\"{schema}\"")));
    let all: Vec<T> = texts.map(|text| serde_json::from_str(&text).unwrap()).collect();
    assert!(!all.is_empty(), "no result was found");
    all
}

/// What holds for every page.
#[track_caller]
pub fn is_a_page(page: &str) {
    well_formed(page);
    self_contained(page);
}

/// What stands in elements that a browser does not read as markup, in their order, and the page without it.
fn taken_apart(page: &str) -> (Vec<&str>, String) {
    let (mut raw, mut markup, mut rest) = (Vec::new(), String::new(), page);
    while let Some(at) = ["<script", "<style"].iter().filter_map(|tag| rest.find(tag)).min() {
        let name = if rest[at..].starts_with("<script") { "script" } else { "style" };
        let from = at + rest[at..].find('>').expect("a tag ends") + 1;
        let to = from + rest[from..].find(&format!("</{name}>")).expect("an element ends");
        raw.push(&rest[from..to]);
        markup.push_str(&rest[..from]);
        rest = &rest[to..];
        let end = rest.find('>').unwrap() + 1;
        markup.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    (raw, markup + rest)
}

/// The data of the page's plots.
fn plots(page: &str) -> serde_json::Value {
    serde_json::from_str(taken_apart(page).0[1]).unwrap()
}

/// Every tag is closed in its order, and what stands in a tag are a name and quoted attributes.
#[track_caller]
fn well_formed(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let (_, page) = taken_apart(page);
    let mut rest = page.strip_prefix("<!doctype html>\n").expect("a page begins with its kind");
    while let Some(at) = rest.find('<') {
        let end = rest[at..].find('>').map(|end| at + end).expect("a tag ends");
        let (tag, context) = (&rest[at + 1..end], rest[at..].chars().take(80).collect::<String>());
        rest = &rest[end + 1..];
        assert!(tag.matches('"').count() % 2 == 0, "a quotation mark is missing: {context}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric()), "no tag: {context}");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "closed out of order: {context}");
        } else if !tag.ends_with('/') && !["meta", "br", "wbr", "input"].contains(&name) {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<&str>::new(), "left open");
    // What is no reference of a character is a bare ampersand.
    for (at, _) in page.match_indices('&') {
        let reference = page[at + 1..].split(';').next().unwrap_or_default();
        let known = ["amp", "lt", "gt", "quot", "apos"].contains(&reference) || reference.starts_with('#');
        assert!(known && reference.len() < 8, "a bare ampersand: {reference:.20}");
    }
}

/// A page asks for nothing from elsewhere, and runs its own two scripts, which its policy names, and nothing else.
#[track_caller]
fn self_contained(page: &str) {
    let (raw, markup) = taken_apart(page);
    assert_eq!(raw.len(), 4, "style, data, and two scripts");
    assert!(!raw[1].contains('<'), "data could end their element");
    let scripts = ["<script type=\"application/json\" id=\"plots\">", "<script>", "<script>"];
    assert_eq!(markup.matches("<script").count(), scripts.len());
    assert!(scripts.iter().all(|tag| markup.contains(tag)), "a script with other attributes");
    assert!(raw[2].contains("uPlot") && raw[2].contains("The MIT License"), "uPlot comes with its licence");
    assert!(!raw[0].contains("url(") && !raw[0].contains("@import"), "the style asks for more");
    assert!(markup.contains("content=\"default-src &#x27;none&#x27;; script-src &#x27;sha256-"), "{markup:.400}");
    let markup = markup.replace("xmlns=\"http://www.w3.org/2000/svg\"", "").replace("http-equiv", "");
    for word in ["http", "<link", "<iframe", "src=", "url(", "@import", "javascript:", " onload"] {
        assert!(!markup.contains(word), "{word}");
    }
}
