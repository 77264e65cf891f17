//! Machine files with a few values changed: either a clear error, or a machine that experiments run on, in little time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use strata_bench::Bench;
use strata_model::experiment::{Chase, Experiment, LoadPath, Prepare, Timing};
use strata_model::source::Source;
use strata_model::units::Bytes;
use strata_sim::Sim;
use strata_sim::machine::Machine;
use toml::{Table, Value};

/// Machines of the second generator that are changed, besides those that come with strata.
const DRAWN: u64 = 500;
/// Loads of an experiment.
const LOADS: u64 = 64;
/// Longest that reading a file, or a few experiments, may take: a hundred times what they do.
const LONGEST: Duration = Duration::from_secs(20);

/// What becomes of a value.
#[derive(Clone, Debug)]
enum Change {
    Number(i64),
    Times(i64),
    Parts(i64),
    More(i64),
    Word(&'static str),
    /// An index or a policy with numbers.
    Numbers(&'static str, Vec<i64>),
    Removed,
    /// Once more: in a list behind it, in a table by another name.
    Twice,
}

/// Words of a machine file.
const WORDS: [&str; 14] =
    ["lru", "fifo", "plru", "random", "unhit", "modulo", "dealt", "sm", "device", "evict", "l1", "l2", "0", "10"];

fn change() -> impl Strategy<Value = Change> {
    let numbers = || prop::collection::vec(prop_oneof![0..64i64, (0..63u32).prop_map(|bit| 1 << bit)], 0..6);
    prop_oneof![
        3 => prop_oneof![Just(0), Just(1), Just(-1), Just(i64::MAX), 0..200i64, (0..62u32).prop_map(|bit| 1 << bit)]
            .prop_map(Change::Number),
        4 => select(&[2, 3, 1000][..]).prop_map(Change::Times),
        3 => select(&[2, 3, 16][..]).prop_map(Change::Parts),
        3 => (-3..4i64).prop_map(Change::More),
        1 => select(&WORDS[..]).prop_map(Change::Word),
        1 => (select(&["bits", "parity", "weighted"][..]), numbers()).prop_map(|(key, all)| Change::Numbers(key, all)),
        1 => Just(Change::Removed),
        1 => Just(Change::Twice),
    ]
}

/// The places of all values but for sources and what others report.
fn places(value: &Value, path: &mut Vec<String>, all: &mut Vec<Vec<String>>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Table(table) => table.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (key, value) in inner.into_iter().filter(|(key, _)| !["sources", "reported"].contains(&key.as_str())) {
        path.push(key);
        all.push(path.clone());
        places(value, path, all);
        path.pop();
    }
}

fn at<'v>(value: &'v mut Value, path: &[String]) -> &'v mut Value {
    path.iter().fold(value, |value, key| match value {
        Value::Table(table) => table.get_mut(key).expect("a key"),
        Value::Array(list) => &mut list[key.parse::<usize>().expect("a place")],
        _ => unreachable!("a path leads through tables and lists"),
    })
}

fn apply(machine: &mut Value, place: &Index, change: &Change) {
    let mut all = Vec::new();
    places(machine, &mut Vec::new(), &mut all);
    let path = place.get(&all);
    let (key, parent) = path.split_last().expect("no place is the file itself");
    let number = at(machine, path).as_integer();
    let new = match (change, number) {
        (Change::Number(new), _) => Value::Integer(*new),
        (Change::Times(by), Some(number)) => Value::Integer(number.saturating_mul(*by)),
        (Change::Parts(by), Some(number)) => Value::Integer(number / by),
        (Change::More(by), Some(number)) => Value::Integer(number.saturating_add(*by)),
        (Change::Word(word), _) => Value::String((*word).into()),
        (Change::Numbers(key, all), _) => {
            let all = all.iter().copied().map(Value::Integer).collect();
            Value::Table(Table::from_iter([((*key).to_owned(), Value::Array(all))]))
        }
        _ => {
            let twice = matches!(change, Change::Twice).then(|| at(machine, path).clone());
            match (at(machine, parent), twice) {
                (Value::Table(table), Some(value)) => drop(table.insert(format!("{key}_2"), value)),
                (Value::Table(table), None) => drop(table.remove(key)),
                (Value::Array(list), Some(value)) => list.push(value),
                (Value::Array(list), None) => drop(list.pop()),
                _ => unreachable!("a parent is a table or a list"),
            }
            return;
        }
    };
    *at(machine, path) = new;
}

/// Makes the sizes of caches what their sets hold, so that a change of these is not always refused.
fn resize(machine: &mut Value) {
    let Some(caches) = machine.get_mut("cache").and_then(Value::as_table_mut) else { return };
    for cache in caches.iter_mut().filter_map(|(_, cache)| cache.as_table_mut()) {
        let number = |key| cache.get(key).and_then(Value::as_integer);
        if let (Some(line), Some(sets), Some(ways)) = (number("line"), number("sets"), number("ways")) {
            cache.insert("size".into(), Value::Integer(line.saturating_mul(sets).saturating_mul(ways)));
        }
    }
}

/// One experiment by each path, in a flushed L2.
fn experiments() -> Vec<Experiment> {
    let paths = [LoadPath::GlobalCa, LoadPath::GlobalCg, LoadPath::GlobalNc, LoadPath::Texture, LoadPath::Constant];
    let chase = |path: LoadPath| Chase {
        prepare: if path == LoadPath::GlobalCg { Prepare::FlushL2 } else { Prepare::Nothing },
        timing: Timing::resident(LOADS as u32),
        ..Chase::each_load(path, Bytes(128 * LOADS), Bytes(128))
    };
    paths.into_iter().map(|path| Experiment::Chase(chase(path))).collect()
}

/// Reads a machine and runs experiments on it. Whether it was valid.
fn takes_little_time(text: &str) -> bool {
    let began = Instant::now();
    let Ok(machine) = Machine::parse("damaged", text) else {
        assert!(began.elapsed() < LONGEST, "it took {:?} to refuse", began.elapsed());
        return false;
    };
    let mut gpu = Sim::new(machine, 1);
    // A bench or an experiment may be refused, in words.
    if let Ok(mut bench) = Bench::new(&mut gpu, Arc::default()) {
        let answers = bench.run(&experiments());
        assert!(answers.iter().flatten().all(|samples| !samples.latencies.is_empty()));
    }
    assert!(began.elapsed() < LONGEST, "it took {:?}", began.elapsed());
    true
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_machine_is_refused_or_runs(
        drawn in prop::option::weighted(0.7, 0..DRAWN),
        name in select(strata_sim::machine::names().collect::<Vec<_>>()),
        changes in prop::collection::vec((any::<Index>(), change()), 1..4),
        resized in any::<bool>(),
    ) {
        let text = match drawn {
            Some(seed) => strata_drawn::second(seed).machine.text,
            None => Machine::named(name).expect("it comes with strata").text,
        };
        let mut machine = Value::Table(text.parse::<Table>().expect("it is valid"));
        changes.iter().for_each(|(place, change)| apply(&mut machine, place, change));
        if resized {
            resize(&mut machine);
        }
        takes_little_time(&machine.to_string());
    }
}

/// The K20c with parts of its text replaced, and nothing else wrong.
fn extreme(changes: &[(&str, &str)]) -> String {
    let mut text = Machine::named("k20c").expect("it comes with strata").text;
    for (from, to) in changes {
        assert!(text.contains(from), "the file of the K20c has no `{from}` any more");
        text = text.replacen(from, to, 1);
    }
    text
}

/// Each once took minutes, or too much memory.
#[test]
fn extremes_that_are_valid_take_little_time() {
    const L2: &str = "size = \"1.25 MiB\"\nline = 128\nsector = 32\nsets = 640\nways = 16\nindex = \"modulo\"";
    // Flushing it overwrites three times the size that the driver states, line by line.
    let stated = extreme(&[
        ("\nl2 = \"1.25 MiB\"", "\nl2 = \"64 GiB\""),
        ("\nmemory = \"4744 MiB\"", "\nmemory = \"1 TiB\""),
        (L2, "size = \"64 KiB\"\nline = 4\nsets = 64\nways = 256\nindex = \"modulo\""),
    ]);
    // One set of many ways among many of one.
    let ways = format!("[65536, {}]", vec!["1"; 50_000].join(", "));
    let size = (65_536 + 50_000) * 128;
    let unequal = extreme(&[(L2, &format!("size = {size}\nline = 128\nset_ways = {ways}\nindex = \"dealt\""))]);
    for text in [stated, unequal] {
        assert!(takes_little_time(&text), "{:?}", Machine::parse("extreme", &text).err());
    }
}
