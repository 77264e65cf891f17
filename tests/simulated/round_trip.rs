//! The round trip of a machine file: what is discovered, written as a machine and discovered again is equal.
//!
//! Equal is: of each attribute that both discoveries know,
//!
//! - a number of bytes, lines or anything else that is counted is the same, or lies in the first one's interval;
//! - cycles are within [`CYCLES`] of the first one's interval, since a machine file has whole ones;
//! - a list or a name is the same; of a spectrum, each row of the first is there, with ends within [`CYCLES`] and a median within
//!   the first one's.
//!
//! Not compared are attributes that follow from what was not found, and so was assumed: [`follows`].
//!
//! Two machines take the trip in every run; with `STRATA_ALL_MACHINES=1` all do, and the recording of a real GPU.

use crate::published;
use crate::sim;
use std::path::Path;

use serde_json::Value;
use strata_infer::discover::{Request, discover};
use strata_infer::probe::Effort;
use strata_model::attribute::{Attribute, Elements, Key, READ_BANDWIDTH_PER_SM, WRITE_BACK, WRITE_BANDWIDTH_PER_SM};
use strata_model::topology::{ElementName, Finding, Provenance, Topology};
use strata_model::units::BytesPerClock;
use strata_recording::Recording;
use strata_report::report;
use strata_sim::machine::{self, Machine};

/// Machines of every run: without a cache for global loads, and with one of its own for each path.
const ALWAYS: [&str; 2] = ["840m", "k20c"];
/// Machines of which all that matters is found: their reports are the same, word for word.
const WHOLE: [&str; 1] = ["k20c"];
/// The machine that takes the trip with all that a discovery asks by default; the others take it with less. With one allocation,
/// which is what quick effort has, its hashed L1 shows the capacity of one place in memory, and that is not the machine's.
const THOROUGH: &str = "a100";
/// What whole cycles of the levels that a load passes may add up to.
const CYCLES: f64 = 1.0;

/// Attributes that follow from a cache's structure. Where that was not found a plain one is assumed.
const OF_STRUCTURE: [&str; 8] =
    ["thrash_size", "conflicts", "staircase", "sets", "ways", "index", "replacement", "least_configuration"];

/// Whether an attribute of the machine that was written follows from what was not found of the first.
fn follows(first: &Topology, element: ElementName, attribute: &str) -> bool {
    let unknown = |attribute| !known(first, element, attribute).is_some_and(Finding::is_known);
    match attribute {
        // Where the loads of an L2 go depends on addresses and on the partitions' granule, which nothing shows.
        "staircase" | "conflicts" | "thrash_size" if element == ElementName::L2 => true,
        _ => OF_STRUCTURE.contains(&attribute) && (unknown("sets") || unknown("ways")),
    }
}

fn known<'t>(topology: &'t Topology, element: ElementName, attribute: &str) -> Option<&'t Finding> {
    topology.elements.get(&element)?.known(attribute.parse::<Attribute>().unwrap())
}

/// What differs, and how many attributes were compared.
fn differences(first: &Topology, second: &Topology) -> (Vec<String>, usize) {
    let clock = f64::from(first.device.clock_khz) / 1e6;
    let parts = known(first, ElementName::L2, "partitions").and_then(Finding::number).is_some_and(|parts| parts > 1.0);
    let (mut off, mut compared) = (Vec::new(), 0);
    for (&element, found) in &first.elements {
        for (attribute, one) in found.findings().filter(|(_, finding)| finding.is_known()) {
            let attribute = attribute.key();
            let Some(other) = known(second, element, attribute) else { continue };
            if follows(first, element, attribute) {
                continue;
            }
            compared += 1;
            let same = match attribute {
                "shared_with" => told(first, one) == told(first, other),
                "spectrum" => has_rows(&sim::json(other), &sim::json(one), parts),
                _ => equal(one, other, slack(one, clock)),
            };
            if !same {
                off.push(format!("{element}.{attribute}: {} became {}", shown(one), shown(other)));
            }
        }
    }
    (off, compared)
}

/// How far off a value may be, in its unit.
fn slack(finding: &Finding, ghz: f64) -> f64 {
    match (finding.unit.as_deref(), finding.source) {
        // A difference of two latencies.
        (Some("cycles"), Some(Provenance::Derived)) => 2.0 * CYCLES,
        (Some("cycles"), _) => CYCLES,
        (Some("ns"), _) => CYCLES / ghz + 0.01,
        _ => 0.0,
    }
}

/// Which elements share a cache, of those of which the first discovery could tell.
fn told(first: &Topology, shared_with: &Finding) -> Vec<ElementName> {
    let names = shared_with.get::<Elements>().map_or(&[][..], |elements| &elements.names);
    names.iter().copied().filter(|name| known(first, *name, "shared_with").is_some()).collect()
}

/// Whether a spectrum has each of these rows. Where the L2 has parts, how far memory is behind another one is assumed: of those rows
/// the median counts.
fn has_rows(spectrum: &Value, rows: &Value, parts: bool) -> bool {
    let (Some(all), Some(rows)) = (spectrum.as_array(), rows.as_array()) else { return false };
    rows.iter().all(|row| {
        let is_it = |other: &&Value| ["path", "data", "translation"].iter().all(|key| other[key] == row[key]);
        let Some(other) = all.iter().find(is_it) else { return false };
        let of = |row: &Value, key: &str| row[key].as_f64().unwrap_or(f64::NAN);
        let (low, high) = (of(row, "low"), of(row, "high"));
        let far = parts && row["data"] == "memory";
        let ends = (of(other, "low") - low).abs() <= CYCLES && (of(other, "high") - high).abs() <= CYCLES;
        (far || ends) && (low - CYCLES..=high + CYCLES).contains(&of(other, "cycles"))
    })
}

fn equal(one: &Finding, other: &Finding, slack: f64) -> bool {
    match (one.number(), other.number()) {
        (Some(a), Some(b)) => {
            let (low, high) = (one.low.unwrap_or(a).min(a), one.high.unwrap_or(a).max(a));
            (low - slack..=high + slack).contains(&b)
        }
        _ => alike(&sim::json(one), &sim::json(other), slack.max(CYCLES)),
    }
}

/// Lists and objects are equal but for cycles, and how many loads a mean is of.
fn alike(one: &Value, other: &Value, slack: f64) -> bool {
    match (one, other) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b, slack)),
        (Value::Object(a), Value::Object(b)) => a.iter().all(|(key, value)| match key.as_str() {
            "loads" => true,
            "cycles" | "low" | "high" => {
                let (a, b) = (value.as_f64(), b.get(key).and_then(Value::as_f64));
                a.zip(b).is_some_and(|(a, b)| (a - b).abs() <= slack)
            }
            _ => b.get(key).is_some_and(|other| alike(value, other, slack)),
        }),
        _ => one == other || one.as_f64().is_some_and(|a| other.as_f64() == Some(a)),
    }
}

fn shown(finding: &Finding) -> String {
    match (finding.low, finding.high) {
        (Some(low), Some(high)) => format!("{:.300} [{low} to {high}]", sim::json(finding).to_string()),
        _ => format!("{:.300}", sim::json(finding).to_string()),
    }
}

/// The machine that is written of a discovery, and what discovery finds of it.
fn again(first: &Topology, effort: Effort) -> Topology {
    let text = report::machine(first);
    let machine = Machine::parse("round trip", &text).unwrap_or_else(|defect| panic!("{defect}\n{text}"));
    sourced(&text);
    sim::whole_discovery(&machine, effort, 1).topology
}

/// Every value of every table has a source, which says of which kind it is.
fn sourced(text: &str) {
    let table: toml::Table = text.parse().expect("it was parsed before");
    let mut tables = vec![&table];
    let mut seen = 0;
    while let Some(table) = tables.pop() {
        let sources = table.get("sources").and_then(toml::Value::as_table);
        for (key, value) in table {
            let inline = ["index", "replacement", "partitions", "configuration"].contains(&key.as_str());
            match value {
                _ if ["sources", "schema", "reported"].contains(&key.as_str()) => {}
                toml::Value::Table(inner) if !inline => tables.push(inner),
                toml::Value::Array(all) if !inline && all.iter().all(toml::Value::is_table) => {
                    tables.extend(all.iter().filter_map(toml::Value::as_table));
                }
                _ => {
                    let source = sources.into_iter().flatten().find(|(keys, _)| keys.split(", ").any(|k| k == key));
                    let source = source.and_then(|(_, source)| source.as_str()).unwrap_or_default();
                    let kind = source.split(':').next().unwrap_or_default();
                    assert!(["measured", "driver", "derived", "assumed"].contains(&kind), "{key}: `{source}`");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 40, "only {seen} values were seen");
}

/// The text report up to the reasons of what is unknown. Both runs get the same date. Neither has what is found by the bandwidth of the L2 alone, which
/// these discoveries do not measure, so that the file does not have it.
fn report_of(mut topology: Topology) -> String {
    if let Some(l1) = topology.elements.get_mut(&ElementName::L1) {
        l1.remove(WRITE_BACK);
    }
    (topology.run.started, topology.run.duration_s) = (String::new(), 0.0);
    let report = report::text(&topology, &report::Terminal::PAPER, report::Extent::Details);
    let (known, _unknown) = report.split_once("\nUnknown\n").expect("something is always unknown");
    known.to_owned()
}

fn takes_the_trip(name: &str, effort: Effort) {
    let machine = Machine::named(name).expect("it comes with strata");
    let first = sim::whole_discovery(&machine, effort, 1).topology;
    published::conforms(&report::json(&first).expect("it can be written"));
    let second = again(&first, effort);
    let (off, compared) = differences(&first, &second);
    assert!(compared > 30, "{name}: only {compared} attributes were compared");
    assert!(off.is_empty(), "{name}:\n{}", off.join("\n"));
    if WHOLE.contains(&name) {
        let (first, second) = (report_of(first), report_of(second));
        let differ = first.lines().zip(second.lines()).find(|(one, other)| one != other);
        assert!(first == second, "{name}: the reports differ from these lines on: {differ:?}");
    }
}

#[test]
fn machines_are_found_again() {
    let one = std::env::var("STRATA_MACHINE").ok();
    let all = std::env::var_os("STRATA_ALL_MACHINES").is_some();
    let wanted = |name: &str| one.as_deref().map_or(all || ALWAYS.contains(&name), |one| one == name);
    for name in machine::names().filter(|name| wanted(name)) {
        takes_the_trip(name, if name == THOROUGH { Effort::Standard } else { Effort::Quick });
    }
}

/// What differs between a real H200 and the machine that is written of it, and why.
const OF_A_REAL_GPU: [(&str, &str); 3] = [
    ("shared.bank_curve", "its noise"),
    ("l2.sm_map", "a machine has no groups of SMs within a partition"),
    ("tlb_l1.spectrum", "nine tenths of its loads lie further apart"),
];

#[test]
fn a_real_gpu_is_found_again() {
    let asked = std::env::var("STRATA_MACHINE").is_ok_and(|name| name == "recording");
    if !asked && std::env::var_os("STRATA_ALL_MACHINES").is_none() {
        eprintln!("SKIPPED: takes a minute; set STRATA_MACHINE=recording or STRATA_ALL_MACHINES=1");
        return;
    }
    let first = recorded();
    let second = again(&first, Effort::Quick);
    let (off, compared) = differences(&first, &second);
    let unexplained: Vec<&String> = off
        .iter()
        .filter(|what| !OF_A_REAL_GPU.iter().any(|(name, _)| what.starts_with(&format!("{name}:"))))
        .collect();
    assert!(unexplained.is_empty(), "{unexplained:?}");
    let seen = |name: &str| off.iter().any(|what| what.starts_with(&format!("{name}:")));
    let stale: Vec<&str> = OF_A_REAL_GPU.iter().map(|(name, _)| *name).filter(|name| !seen(name)).collect();
    assert!(stale.is_empty(), "no longer different: {stale:?}");
    assert!(compared > 50, "only {compared} attributes were compared");
}

fn recorded() -> Topology {
    let file = "recordings/2026-11-21-h200.strata";
    let mut recording = Recording::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).expect("it is committed");
    let (run, facts) = (recording.run_info(), recording.header.device.clone());
    let question = Request { selection: recording.selection(), effort: Effort::Standard, seed: run.seed };
    let found = discover(&mut recording, &facts, &question, &mut |_| {});
    found.into_topology(facts, run, Some(file))
}

#[test]
fn a_recording_of_a_real_gpu_makes_a_machine() {
    let first = recorded();
    let text = report::machine(&first);
    let machine = Machine::parse("h200", &text).unwrap_or_else(|defect| panic!("{defect}\n{text}"));
    sourced(&text);
    assert!(text.contains("recordings/2026-11-21-h200.strata"), "its values say where they are from");
    let expected = [
        ("multiprocessors", machine.spec.device.multiprocessors.get(), 132),
        ("L1", machine.spec.cache["l1"].size.0, 246_784),
        ("L2 of one SM", machine.spec.cache["l2"].size.0, 2 * 29_753_344),
        ("shared memory beside the L1", machine.spec.cache["l1"].configuration[0].shared.0, 8192),
        ("levels of translation", machine.spec.tlb.len() as u64, 2),
    ];
    for (what, found, is) in expected {
        assert_eq!(found, is, "{what}");
    }
    assert!(text.contains("# l1.sets: at 1933 lines"), "what was not found stands in the file");
}

/// The simulated machine gives what was measured: each rate is the machine file's, of an SM or of all of them.
#[test]
fn bandwidth_becomes_the_width_of_the_machine() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/2026-11-25-h200-bandwidth.json");
    let topology: Topology = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let machine = Machine::parse("written", &report::machine(&topology)).unwrap();
    let spec = &machine.spec;
    let is = |rate: Option<machine::value::Rate>, element: ElementName, key: Key<BytesPerClock>, sms: f64| {
        let BytesPerClock(found) = *topology.elements[&element].get(key).unwrap();
        let rate = rate.unwrap_or_else(|| panic!("{element}: no width")).bytes();
        assert!((rate - found * sms).abs() < 0.01, "{element}: {found} became {rate}");
    };
    let sms = f64::from(topology.device.multiprocessors);
    is(spec.cache["l1"].bandwidth, ElementName::L1, READ_BANDWIDTH_PER_SM, 1.0);
    is(spec.shared.bandwidth, ElementName::Shared, READ_BANDWIDTH_PER_SM, 1.0);
    is(spec.cache["l2"].bandwidth, ElementName::L2, READ_BANDWIDTH_PER_SM, sms);
    is(spec.cache["l2"].write_bandwidth, ElementName::L2, WRITE_BANDWIDTH_PER_SM, sms);
    is(spec.memory.bandwidth, ElementName::Dram, READ_BANDWIDTH_PER_SM, sms);
    // One SM alone reads more than its share, but not all.
    let alone = spec.pipeline.delivery.unwrap().bytes();
    assert!(alone > spec.cache["l2"].bandwidth.unwrap().bytes() / sms && alone < 128.0, "{alone}");
}
