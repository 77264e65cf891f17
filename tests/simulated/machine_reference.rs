//! The reference of machine files in docs/methods/simulated-machines.md names every key that the parser accepts and no other, every
//! required one as such, and every word. The parser says itself what it accepts, where it refuses what it does not know.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use strata_sim::machine::Machine;
use toml::{Table, Value};

/// A key and a word that no machine file has.
const UNKNOWN: &str = "no_such_name";

/// A table of the reference, and where the machine of this test has one.
const TABLES: [(&str, &[&str]); 16] = [
    ("Top of the file", &[]),
    ("`[device]`", &["device"]),
    ("`[clock]`", &["clock"]),
    ("`[pipeline]`", &["pipeline"]),
    ("`[noise]`", &["noise"]),
    ("`[cache.NAME]`", &["cache", "l1"]),
    ("`configuration` of `[cache.NAME]`", &["cache", "l1", "configuration"]),
    ("`[cache.NAME.partitions]`", &["cache", "l2", "partitions"]),
    ("`[[tlb]]`", &["tlb"]),
    ("`[[instruction]]`", &["instruction"]),
    ("`[shared]`", &["shared"]),
    ("`[memory]`", &["memory"]),
    ("`[link]`", &["link"]),
    ("`[path]`", &["path"]),
    ("`[path.NAME]`", &["path", "global_ca"]),
    ("`[[reported]]`", &["reported"]),
];
/// Keys whose values are words.
const WORDS: [(&str, &str); 9] = [
    ("`[cache.NAME]`", "scope"),
    ("`[cache.NAME]`", "threads"),
    ("`[cache.NAME]`", "index"),
    ("`[cache.NAME]`", "replacement"),
    ("`[cache.NAME]`", "write"),
    ("`[cache.NAME]`", "hints"),
    ("`[cache.NAME]`", "prefetch"),
    ("`[[tlb]]`", "scope"),
    ("`[[instruction]]`", "shared_by"),
];

/// What a row of the reference says of a key.
struct Row {
    values: String,
    default: String,
}

/// The tables of the reference, by heading.
fn reference() -> BTreeMap<String, BTreeMap<String, Row>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/methods/simulated-machines.md");
    let text = std::fs::read_to_string(path).expect("it is part of the repository");
    let (_, text) = text.split_once("\n## The keys of a machine file\n").expect("the reference");
    let text = text.split("\n## ").next().expect("a first part");
    let mut tables: BTreeMap<String, BTreeMap<String, Row>> = BTreeMap::new();
    let mut heading = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("### ") {
            heading = name.to_owned();
        }
        let cells: Vec<&str> = line.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect();
        if let ([keys, values, default, _], true) = (&cells[..], line.starts_with("| `")) {
            for key in quoted(keys) {
                let row = Row { values: (*values).to_owned(), default: (*default).to_owned() };
                assert!(tables.entry(heading.clone()).or_default().insert(key.clone(), row).is_none(), "{key} twice");
            }
        }
    }
    tables
}

/// The words in backticks, without what belongs to their values.
fn quoted(text: &str) -> BTreeSet<String> {
    let inside = text.split('`').skip(1).step_by(2);
    inside.filter_map(|word| word.trim_start_matches("{ ").split(' ').next()).map(str::to_owned).collect()
}

/// A machine that has every table.
fn machine() -> Table {
    let mut text = Machine::named("h200").expect("it comes with strata").text;
    text.push_str("\n[noise]\n");
    text.parse().expect("it was parsed before")
}

/// The table at a path; of a list its first.
fn at<'t>(table: &'t mut Table, path: &[&str]) -> &'t mut Table {
    path.iter().fold(table, |table, key| match &mut table[*key] {
        Value::Table(inner) => inner,
        Value::Array(list) => list[0].as_table_mut().expect("a list of tables"),
        other => panic!("{key} is {other}"),
    })
}

fn refusal(machine: &Table) -> Option<String> {
    Machine::parse("machine", &machine.to_string()).err().map(|defect| defect.to_string())
}

/// What the parser would accept where it is given a name that it does not know.
fn accepted(path: &[&str], change: impl FnOnce(&mut Table)) -> BTreeSet<String> {
    let mut machine = machine();
    change(at(&mut machine, path));
    let message = refusal(&machine).expect("it has a name that nobody knows");
    let (_, expected) = message.split_once("expected").unwrap_or_else(|| panic!("{message}"));
    quoted(expected)
}

#[test]
fn every_table_of_the_reference_is_one_of_the_format() {
    assert_eq!(refusal(&machine()), None);
    let documented: BTreeSet<String> = reference().into_keys().collect();
    assert_eq!(documented, TABLES.iter().map(|(heading, _)| (*heading).to_owned()).collect());
}

#[test]
fn the_keys_of_the_reference_are_those_that_are_accepted() {
    let mut reference = reference();
    for (heading, path) in TABLES {
        let documented: BTreeSet<String> = reference.remove(heading).unwrap_or_default().into_keys().collect();
        let accepted = accepted(path, |table| drop(table.insert(UNKNOWN.into(), Value::Integer(1))));
        assert!(!accepted.is_empty(), "{heading}");
        assert_eq!(documented, accepted, "{heading}");
    }
}

#[test]
fn the_reference_says_which_keys_are_required() {
    let reference = reference();
    for (heading, path) in TABLES {
        let rows = reference[heading].iter();
        let documented: BTreeSet<&String> =
            rows.filter(|(_, row)| row.default == "required").map(|(key, _)| key).collect();
        // A machine that is valid has every key that is required.
        let keys: Vec<String> = at(&mut machine(), path).keys().cloned().collect();
        let is_required = |key: &&String| {
            let mut machine = machine();
            at(&mut machine, path).remove(key.as_str());
            refusal(&machine).is_some_and(|message| message.contains(&format!("missing field `{key}`")))
        };
        assert_eq!(documented, keys.iter().filter(is_required).collect(), "{heading}");
    }
}

#[test]
fn the_words_of_the_reference_are_those_that_are_accepted() {
    let reference = reference();
    let paths: BTreeMap<&str, &[&str]> = TABLES.into_iter().collect();
    for (heading, key) in WORDS {
        let word = Value::String(UNKNOWN.into());
        let words = if matches!(key, "hints" | "prefetch") { Value::Array(vec![word]) } else { word };
        let accepted = accepted(paths[heading], |table| drop(table.insert(key.into(), words)));
        assert_eq!(quoted(&reference[heading][key].values), accepted, "{heading} {key}");
    }
}
