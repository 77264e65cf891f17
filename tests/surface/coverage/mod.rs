//! The page that says where each measurement, table and figure of the four documents is: `docs/coverage.md` is made of the rows in
//! `rows.toml` and of the committed results of an H200, so that it names nothing that is not there.
//!
//! `UPDATE_GOLDEN=1 cargo test --test surface coverage` writes the page anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// The results that rows name: a discovery and a characterization.
const RESULTS: [&str; 3] = ["2026-11-22-h200", "2026-11-23-h200-characterize", "2026-11-25-h200-roofline"];
/// What the page says before its tables.
const HEAD: &str = "\
# Coverage of the four documents

What the papers and the lecture measure, show or state, and where `strata` has it. The values are from three committed
recordings of an H200: `recordings/2026-11-22-h200.strata`, `recordings/2026-11-23-h200-characterize.strata` and
`recordings/2026-11-25-h200-roofline.strata`. Simulated
machines of the papers' own GPUs are in [RECOVERY.md](../machines/RECOVERY.md) and on the page [Simulated machines beside
their papers](evidence/papers.md). Pictures are made by `strata figures`. A test makes this page from the results, so it
names nothing that is not there.
";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Papers {
    paper: Vec<Paper>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Paper {
    name: String,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    place: String,
    what: String,
    #[serde(default)]
    found: Vec<String>,
    figure: Option<String>,
    see: Option<String>,
    later: Option<String>,
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The finding of this name, in either result. A latency is in cycles here.
fn finding<'r>(results: &'r [Value], name: &str) -> &'r Value {
    let (part, attribute) = name.split_once('.').expect("a part and an attribute");
    let mut places = results.iter().filter_map(|result| {
        let element = result.pointer(&format!("/elements/{part}/{attribute}"));
        let element = element.map(|found| found.get("cycles").unwrap_or(found));
        element.or_else(|| result.pointer(&format!("/parts/{part}/findings/{attribute}")))
    });
    // A part may have the name of an element.
    places.next_back().unwrap_or_else(|| panic!("no result has `{name}`"))
}

/// A value in few words.
fn shown(finding: &Value) -> String {
    let unit = finding["unit"].as_str().unwrap_or_default();
    match &finding["value"] {
        Value::Null => "unknown".into(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.into(),
        Value::Number(number) if unit == "B" => {
            strata_model::units::Bytes(number.as_f64().unwrap_or_default() as u64).to_string()
        }
        Value::Number(number) => format!("{number} {unit}").trim_end().into(),
        Value::String(text) => text.clone(),
        Value::Array(list) if list.len() <= 8 && list.iter().all(|one| !one.is_object()) => {
            let all: Vec<String> = list.iter().map(|one| one.as_str().map_or(one.to_string(), str::to_owned)).collect();
            if all.is_empty() { "none".into() } else { format!("{} {unit}", all.join(", ")).trim_end().into() }
        }
        Value::Array(list) => format!("{} rows", list.len()),
        Value::Object(_) => "found".into(),
    }
}

/// The cell that says where a row is here.
fn place(row: &Row, results: &[Value]) -> String {
    let mut cells: Vec<String> =
        row.found.iter().map(|name| format!("`{name}` {}", shown(finding(results, name)))).collect();
    cells.extend(row.figure.iter().map(|figure| format!("picture `{figure}`")));
    cells.extend(row.see.iter().map(|page| {
        let name = Path::new(page).file_stem().and_then(|stem| stem.to_str()).expect("a page has a name");
        format!("[{name}]({page})")
    }));
    cells.extend(row.later.iter().map(|why| format!("later: {why}")));
    assert!(!cells.is_empty(), "`{}` is nowhere", row.what);
    cells.join("; ")
}

fn page(papers: &Papers, results: &[Value]) -> String {
    let mut text = HEAD.to_owned();
    for paper in &papers.paper {
        let _ = write!(text, "\n## {}\n\n| place | what | here |\n|---|---|---|\n", paper.name);
        for row in &paper.rows {
            let _ = writeln!(text, "| {} | {} | {} |", row.place, row.what, place(row, results));
        }
    }
    text
}

#[test]
fn the_page_of_coverage_names_what_is_there() {
    let papers: Papers = toml::from_str(include_str!("rows.toml")).expect("the rows are sound");
    let read = |name: &str| {
        let text = fs::read_to_string(in_repository(&format!("recordings/{name}.json"))).expect("it is committed");
        serde_json::from_str(&text).expect("it is a result")
    };
    let results: Vec<Value> = RESULTS.iter().map(|name| read(name)).collect();
    let now = page(&papers, &results);
    let rows = || papers.paper.iter().flat_map(|paper| &paper.rows);
    for see in rows().filter_map(|row| row.see.as_deref()) {
        assert!(in_repository("docs").join(see).is_file(), "no page `{see}`");
    }
    // Pictures of these results have the names that the rows give.
    let dir = tempfile::tempdir().expect("a folder");
    let files = RESULTS.map(|name| in_repository(&format!("recordings/{name}.json")));
    let mut strata = assert_cmd::Command::cargo_bin("strata").expect("it is built");
    strata.arg("figures").arg(dir.path()).args(files).assert().success();
    let drawn: BTreeSet<String> = fs::read_dir(dir.path())
        .expect("it was filled")
        .filter_map(|entry| entry.expect("readable").file_name().into_string().ok())
        .collect();
    for figure in rows().filter_map(|row| row.figure.as_deref()) {
        assert!(drawn.iter().any(|file| file.starts_with(figure)), "no picture `{figure}` among {drawn:?}");
    }
    let golden = in_repository("docs/coverage.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &now).expect("it can be written");
    }
    assert!(
        fs::read_to_string(&golden).is_ok_and(|kept| kept == now),
        "the page has changed; UPDATE_GOLDEN=1 writes it anew"
    );
}
