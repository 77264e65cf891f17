//! The recovery table: discovery on the machines that come with strata, held against what is true of them.
//!
//! `machines/RECOVERY.md` keeps the table. Three machines are recovered in every run, all of them with
//! `STRATA_ALL_MACHINES=1`; `UPDATE_GOLDEN=1` writes the sections that are run anew.

use crate::sim;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Mutex;

use crate::sim::expect::{Verdict, judge, pattern, pattern_name};
use strata_infer::probe::Effort;
use strata_model::attribute::Spectrum;
use strata_model::topology::Finding;
use strata_sim::machine::{self, Machine};

/// Machines of every run: without a cache for global loads, with one of its own for each path, with one for all.
const ALWAYS: [&str; 3] = ["840m", "k20c", "p6000"];

const HEAD: &str = "# What discovery recovers of the simulated machines\n\n\
    Written by `tests/recovery.rs` and checked by it. \"Reported\" is what others have said of the GPU (the machine's file gives \
    the source of each, and why the model may differ); \"true\" is what holds of the machine, counted at the addresses of the \
    run where it depends on them; \"found\" is what `strata discover` says, with its interval where that is wider than the \
    value. Standard effort, seed 1, one simulated GPU.\n";

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("machines/RECOVERY.md")
}

fn number(value: f64) -> String {
    format!("{}", (value * 100.0).round() / 100.0)
}

fn found(finding: &Finding) -> String {
    let value = match finding.number() {
        Some(value) => number(value),
        None if is_spectrum(finding) => {
            let value = sim::json(finding);
            let rows = value.as_array().map_or(&[][..], Vec::as_slice);
            let shown = rows.iter().map(|row| {
                let cycles = row["cycles"].as_f64().unwrap_or(f64::NAN);
                pattern(&pattern_name(row), cycles, cycles)
            });
            return shown.collect::<Vec<_>>().join(", ");
        }
        None if finding.is_known() => sim::json(finding).to_string().replace('"', ""),
        None => return "unknown".into(),
    };
    match (finding.low, finding.high) {
        (Some(low), Some(high)) if number(low) != number(high) => {
            format!("{value} [{} to {}]", number(low), number(high))
        }
        _ => value,
    }
}

fn is_spectrum(finding: &Finding) -> bool {
    finding.get::<Spectrum>().is_some()
}

/// One machine's section, and the rows that are not as they should be.
fn section(name: &str) -> (String, Vec<String>) {
    let machine = Machine::named(name).expect("it comes with strata");
    let outcome = sim::discovery(&machine, Effort::Standard, 1);
    let rows = sim::truth::rows(&machine, &outcome.seen);
    let mut reported: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in &machine.spec.reported {
        reported.entry(&one.what).or_default().push(&one.value);
    }
    let mut text = format!(
        "\n## {name}: {}\n\n| attribute | reported | true | found |\n|---|---|---|---|\n",
        machine.spec.device.name
    );
    let mut off = Vec::new();
    for (row, verdict) in judge(&outcome.topology, &rows) {
        let finding = sim::finding(&outcome.topology, row.element, row.attribute);
        let attribute = format!("{}.{}", row.element, row.attribute);
        // Papers give cycles.
        let key = attribute.replace(".cycles", "");
        let said = reported.get(key.as_str()).map_or("-".to_owned(), |all| all.join("; "));
        let _ = writeln!(
            text,
            "| {attribute} | {} | {} | {} |",
            said.replace('|', "/"),
            row.expect.shown(),
            found(finding)
        );
        if !matches!(verdict, Verdict::Right | Verdict::Covered) {
            off.push(format!(
                "{name} {attribute}: {verdict:?}, true is {}, found {}",
                row.expect.shown(),
                found(finding)
            ));
        }
    }
    (text, off)
}

/// The sections of a table, by machine.
fn sections(text: &str) -> BTreeMap<String, String> {
    let bodies = text.split("\n## ").skip(1);
    bodies.map(|body| (body.split(':').next().unwrap_or_default().to_owned(), format!("\n## {body}"))).collect()
}

#[test]
fn discovery_recovers_the_machines() {
    let all = std::env::var_os("STRATA_ALL_MACHINES").is_some();
    let mut wanted: Vec<&str> = machine::names().filter(|name| all || ALWAYS.contains(name)).collect();
    wanted.reverse();
    let queue = Mutex::new(wanted);
    let results = Mutex::new(BTreeMap::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some(name) = queue.lock().expect("nobody panicked").pop() else { return };
                    let section = section(name);
                    results.lock().expect("nobody panicked").insert(name, section);
                }
            });
        }
    });
    let results = results.into_inner().expect("nobody panicked");
    let kept = std::fs::read_to_string(path()).unwrap_or_default();
    let mut table = sections(&kept);
    let mut changed = Vec::new();
    for (name, (text, _)) in &results {
        if table.insert((*name).to_owned(), text.clone()).as_ref() != Some(text) {
            changed.push(*name);
        }
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let order = machine::names().filter_map(|name| table.get(name).map(String::as_str));
        std::fs::write(path(), HEAD.to_owned() + &order.collect::<String>()).expect("the table can be written");
        changed.clear();
    }
    let off: Vec<&String> = results.values().flat_map(|(_, off)| off).collect();
    assert!(off.is_empty(), "not recovered:\n{}", off.iter().map(|s| s.as_str()).collect::<Vec<_>>().join("\n"));
    assert!(changed.is_empty(), "the sections of {changed:?} have changed; UPDATE_GOLDEN=1 writes them anew");
}

#[test]
fn every_value_of_a_machine_has_a_source() {
    for name in machine::names() {
        let machine = Machine::named(name).unwrap_or_else(|defect| panic!("{defect}"));
        let table: toml::Table = machine.text.parse().expect("it was parsed before");
        let mut missing = Vec::new();
        visit(name, &toml::Value::Table(table), &mut missing);
        assert!(missing.is_empty(), "without a source: {missing:?}");
    }
}

/// Notes the keys of every table that its sources do not name. What divides a cache further is sourced with the cache.
fn visit(path: &str, value: &toml::Value, missing: &mut Vec<String>) {
    if let toml::Value::Array(all) = value {
        all.iter().enumerate().for_each(|(i, one)| visit(&format!("{path}.{i}"), one, missing));
    }
    let Some(table) = value.as_table() else { return };
    let sources = table.get("sources").and_then(toml::Value::as_table);
    let named = |key: &str| sources.is_some_and(|s| s.keys().flat_map(|k| k.split(',')).any(|name| name.trim() == key));
    for (key, inner) in table.iter().filter(|(key, _)| !["sources", "schema", "reported"].contains(&key.as_str())) {
        let is_table = inner.is_table() || inner.as_array().is_some_and(|all| all.iter().all(toml::Value::is_table));
        let divides = ["configuration", "partitions", "index", "replacement"].contains(&key.as_str());
        if is_table && !divides {
            visit(&format!("{path}.{key}"), inner, missing);
        } else if !named(key) {
            missing.push(format!("{path}.{key}"));
        }
    }
}
