//! The recovery table: discovery on the machines that come with strata, held against what is true of them.
//!
//! `machines/RECOVERY.md` keeps the table. Each machine is discovered in the way of the command line, several times with
//! different seeds. Three machines are recovered in every run, with two seeds each. `STRATA_RECOVERY_SEEDS=10` asks for so many seeds,
//! and with it `STRATA_ALL_MACHINES=1` for all machines. `STRATA_MACHINES=a100,v100` names some. `UPDATE_GOLDEN=1` writes
//! the sections that are run anew.

use crate::sim;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use gpu_strata::Effort;

use crate::sim::expect::{Expect, Row, Verdict, judge, pattern, pattern_name};
use strata_judge::side_by_side;
use strata_model::attribute::{Launches, Spectrum};
use strata_model::topology::{ElementName, Finding, Wanted};
use strata_sim::machine::{self, Machine};

/// Machines of every run: without a cache for global loads, with one of its own for each path, with one for all.
const ALWAYS: [&str; 3] = ["840m", "k20c", "p6000"];

/// Seeds of every run: 1 to this.
const SEEDS: u64 = 2;
/// Part of the seeds for which an attribute that can be known may stay unknown, where more than two are run.
const UNANSWERED: f64 = 0.2;

const HEAD: &str = "# What discovery recovers of the simulated machines\n\n\
    Written by `tests/simulated/recovery.rs` and checked by it. \"Reported\" is what others have said of the GPU (the machine's file gives \
    the source of each, and why the model may differ). \"True\" is what holds of the machine, counted at the addresses of the \
    run where it depends on them. \"Found\" is what `strata discover` says with standard effort and seed 1, with its interval \
    where that is wider than the value. The last column has the seeds, from 1 on, with which the value was found: *right* is \
    the value itself, *covered* an interval that holds it, *unknown* an unknown with a reason.\n";

fn seeds() -> u64 {
    std::env::var("STRATA_RECOVERY_SEEDS")
        .map_or(SEEDS, |n| n.parse().expect("STRATA_RECOVERY_SEEDS is a number of seeds"))
}

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
        None if let Some(Launches(rows)) = finding.get() => {
            let hints = rows.iter().filter(|row| row.carveout_percent.is_some());
            let shown = hints.map(|row| {
                let aside = row.shared_configured.map_or("?".to_owned(), |aside| aside.to_string());
                format!("{aside}: {} [{} to {}]", row.size, row.low, row.high)
            });
            return format!("beside {}; {} rows", shown.collect::<Vec<_>>().join(", "), rows.len());
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

/// What became of an attribute over the seeds.
#[derive(Default)]
struct Tally {
    right: u64,
    covered: u64,
    unknown: u64,
    wrong: Vec<String>,
}

impl Tally {
    fn add(&mut self, seed: u64, row: &Row, verdict: &Verdict, finding: &Finding) {
        match verdict {
            Verdict::Right if !finding.is_known() && !matches!(row.expect, Expect::Unknown(_)) => self.unknown += 1,
            Verdict::Right => self.right += 1,
            Verdict::Covered => self.covered += 1,
            Verdict::Unanswered(_) => self.unknown += 1,
            Verdict::Missed(_) | Verdict::Wrong(_) => {
                let what =
                    format!("with seed {seed} {verdict:?}, true is {}, found {}", row.expect.shown(), found(finding));
                self.wrong.push(what);
            }
        }
    }

    fn shown(&self) -> String {
        let parts = [
            (self.right, "right"),
            (self.covered, "covered"),
            (self.unknown, "unknown"),
            (self.wrong.len() as u64, "wrong"),
        ];
        let parts: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        parts.join(", ")
    }
}

/// A row of what is true, what it was judged, and what was found.
type Judged = (Row, Verdict, Finding);

/// What a discovery with this seed finds.
fn judged(name: &str, seed: u64) -> Vec<Judged> {
    let machine = Machine::named(name).expect("it comes with strata");
    let outcome = sim::whole_discovery(&machine, Effort::Standard, seed);
    let rows = sim::truth::rows(&machine, &outcome.seen);
    let found = |row: &Row| sim::finding(&outcome.topology, row.element, row.attribute).clone();
    judge(&outcome.topology, &rows).into_iter().map(|(row, verdict)| (row.clone(), verdict, found(row))).collect()
}

/// One machine's section, and the rows that are not as they should be. `by_seed` has what each seed found, from the first on.
fn section(name: &str, by_seed: &[Vec<Judged>]) -> (String, Vec<String>) {
    let seeds = by_seed.len();
    let machine = Machine::named(name).expect("it comes with strata");
    let mut reported: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in &machine.spec.reported {
        reported.entry(&one.what).or_default().push(&one.value);
    }
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut off = Vec::new();
    for (seed, judged) in (1..).zip(by_seed) {
        for (row, verdict, finding) in judged {
            let attribute = format!("{}.{}", row.element, row.attribute);
            // Papers give cycles.
            let key = attribute.replace(".cycles", "");
            let said = reported.get(key.as_str()).map_or("-".to_owned(), |all| all.join("; "));
            let tally = tallies.entry(attribute.clone()).or_default();
            if seed == 1 {
                let said = said.replace('|', "/");
                lines.push((attribute.clone(), format!("| {said} | {} | {} |", row.expect.shown(), found(finding))));
            }
            tally.add(seed, row, verdict, finding);
            if let Verdict::Unanswered(reason) = verdict
                && tally.unknown as f64 > UNANSWERED * seeds as f64
            {
                off.push(format!("{name} {attribute}: unknown with seed {seed}: {reason}"));
            }
        }
    }
    let mut text = format!(
        "\n## {name}: {}\n\n| attribute | reported | true | found | of {seeds} seeds |\n|---|---|---|---|---|\n",
        machine.spec.device.name
    );
    for (attribute, line) in lines {
        let tally = &tallies[&attribute];
        let _ = writeln!(text, "| {attribute} {line} {} |", tally.shown());
        off.extend(tally.wrong.iter().map(|what| format!("{name} {attribute}: {what}")));
    }
    (text, off)
}

/// A section as it says what seed 1 found, without the seeds that others may have been run with.
fn of_seed_one(section: &str) -> Vec<&str> {
    section.lines().map(|line| line.trim_end_matches('|').rsplit_once('|').map_or(line, |(rest, _)| rest)).collect()
}

/// The sections of a table, by machine.
fn sections(text: &str) -> BTreeMap<String, String> {
    let bodies = text.split("\n## ").skip(1);
    bodies.map(|body| (body.split(':').next().unwrap_or_default().to_owned(), format!("\n## {body}"))).collect()
}

#[test]
fn discovery_recovers_the_machines() {
    // Many seeds of all machines take hours: who wants them says both.
    let all = ["STRATA_ALL_MACHINES", "STRATA_RECOVERY_SEEDS"].iter().all(|name| std::env::var_os(name).is_some());
    let named = std::env::var("STRATA_MACHINES").ok();
    let is_wanted = |name: &&str| match &named {
        Some(named) => named.split(',').any(|one| one.trim() == *name),
        None => all || ALWAYS.contains(name),
    };
    let mut wanted: Vec<&str> = machine::names().filter(is_wanted).collect();
    // The newest have most to measure, and come first.
    wanted.reverse();
    let runs: Vec<(&str, u64)> = wanted.iter().flat_map(|name| (1..=seeds()).map(move |seed| (*name, seed))).collect();
    let found: BTreeMap<(&str, u64), Vec<Judged>> =
        side_by_side(&runs, |&(name, seed)| Some(((name, seed), judged(name, seed)))).into_iter().collect();
    let of = |name: &str| {
        found.iter().filter(|((of, _), _)| *of == name).map(|(_, judged)| judged.clone()).collect::<Vec<_>>()
    };
    let results: BTreeMap<&str, (String, Vec<String>)> =
        wanted.iter().map(|name| (*name, section(name, &of(name)))).collect();
    let kept = std::fs::read_to_string(path()).unwrap_or_default();
    let mut table = sections(&kept);
    let mut changed = Vec::new();
    for (name, (text, _)) in &results {
        let before = table.insert((*name).to_owned(), text.clone()).unwrap_or_default();
        // How often each value is found depends on the number of seeds; what the first seed finds does not.
        if before.contains(" seeds |") && of_seed_one(&before) != of_seed_one(text) {
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

/// The usable capacity depends on the place in memory where the index is hashed: it has a value or an interval with every
/// seed, and the truth is inside. The machines of `STRATA_MACHINES`, or one; the texture and read-only paths too where
/// machines are named.
#[test]
fn a_hashed_first_level_has_a_size_with_every_seed() {
    let named = std::env::var("STRATA_MACHINES").ok();
    let names = named.as_deref().unwrap_or("rtx2080ti");
    let paths = [ElementName::L1, ElementName::Texture, ElementName::ReadOnly];
    let only = if named.is_some() { &paths[..] } else { &paths[..1] };
    let sizes: Vec<Wanted> = only.iter().map(|name| format!("{name}.size").parse().expect("an attribute")).collect();
    let mut off = Vec::new();
    for name in names.split(',') {
        let machine = Machine::named(name.trim()).expect("it comes with strata");
        for seed in 1..=seeds() {
            let outcome = sim::discovery(&machine, Effort::Standard, seed, &sizes);
            let rows = sim::truth::rows(&machine, &outcome.seen);
            let rows: Vec<Row> =
                rows.into_iter().filter(|row| row.attribute == "size" && only.contains(&row.element)).collect();
            for (row, verdict) in judge(&outcome.topology, &rows) {
                let found = found(sim::finding(&outcome.topology, row.element, "size"));
                let line = format!(
                    "{name} seed {seed} {}: {verdict:?}, true {}, found {found}",
                    row.element,
                    row.expect.shown()
                );
                println!("{line}, {} experiments", outcome.seen.len());
                if !matches!(verdict, Verdict::Right | Verdict::Covered) {
                    off.push(line);
                }
            }
        }
    }
    assert!(off.is_empty(), "{}", off.join("\n"));
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
