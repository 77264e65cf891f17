//! A machine with one property changed, as a GPU with one defect differs from its sisters.

use std::fmt;

use strata_model::topology::ElementName;
use strata_sim::machine::Machine;
use toml::{Table, Value};

/// Caches of more ways than this lose a sixteenth of them, others one.
const WAYS: i64 = 16;

/// One property of a machine, and how it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The L1 has one way less, or a sixteenth less.
    L1Size,
    /// A hit of the L1 takes two cycles more.
    L1Latency,
    /// A hit of the L2 takes 2 % more.
    L2Latency,
    /// The L2 is a sixteenth smaller.
    L2Size,
    /// Memory behind the caches takes 3 % more.
    DramLatency,
    /// The first level of TLBs has half the entries.
    TlbReach,
    /// Each further row of a bank takes one cycle more.
    BankConflict,
    /// The first constant cache replaces its lines by another policy.
    ConstantPolicy,
    /// A miss of the L1 brings in twice the bytes, or one of the L2 where the L1 already brings in its line.
    FetchSize,
}

/// What came of a change.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The machine.
    pub machine: Machine,
    /// Elements of which a result shows the change, if it shows it at all.
    pub elements: Vec<ElementName>,
    /// What it was and what it is.
    pub what: String,
}

impl Change {
    /// All of them.
    pub const ALL: [Change; 9] = [
        Change::L1Size,
        Change::L1Latency,
        Change::L2Latency,
        Change::L2Size,
        Change::DramLatency,
        Change::TlbReach,
        Change::BankConflict,
        Change::ConstantPolicy,
        Change::FetchSize,
    ];

    /// Its name, in words that a file name can have.
    pub fn key(self) -> &'static str {
        match self {
            Change::L1Size => "l1-size",
            Change::L1Latency => "l1-latency",
            Change::L2Latency => "l2-latency",
            Change::L2Size => "l2-size",
            Change::DramLatency => "dram-latency",
            Change::TlbReach => "tlb-reach",
            Change::BankConflict => "bank-conflict",
            Change::ConstantPolicy => "constant-policy",
            Change::FetchSize => "fetch-size",
        }
    }

    /// A machine with this change; `None` where it makes no sense.
    pub fn of(self, machine: &Machine) -> Option<Changed> {
        let mut table: Table = machine.text.parse().ok()?;
        let first = first_cache(machine)?;
        let second = machine.spec.path.global_cg.levels.first()?.clone();
        let (elements, what) = match self {
            Change::L1Size => (shown_by(machine, &first), smaller(cache(&mut table, &first)?)?),
            Change::L2Size => (vec![ElementName::L2], smaller(cache(&mut table, &second)?)?),
            Change::L1Latency => (shown_by(machine, &first), slower(&mut table, &first, |cycles| cycles + 2)?),
            Change::L2Latency => (vec![ElementName::L2], slower(&mut table, &second, |cycles| by_percent(cycles, 2))?),
            Change::DramLatency => (vec![ElementName::Dram], slower_memory(&mut table)?),
            Change::TlbReach => (vec![ElementName::TlbL1, ElementName::TlbL2, ElementName::TlbL3], half(&mut table)?),
            Change::BankConflict => {
                let conflict = table.get_mut("shared")?.get_mut("conflict")?;
                (vec![ElementName::Shared], replace(conflict, |cycles| cycles + 1)?)
            }
            Change::ConstantPolicy => {
                let name = machine.spec.path.constant.levels.first()?;
                // A set of one line has no choice.
                machine.spec.cache[name].sets().ok()?.iter().find(|ways| **ways > 1)?;
                let policy = cache(&mut table, name)?.get_mut("replacement")?;
                let before = policy.to_string();
                // A tree of two ways is LRU.
                let like_lru = matches!(policy.as_str(), Some("lru" | "plru"));
                *policy = Value::String(if like_lru { "fifo" } else { "lru" }.into());
                (vec![ElementName::ConstantL1, ElementName::ConstantUniform], format!("{before} to {policy}"))
            }
            Change::FetchSize => match wider(cache(&mut table, &first)?) {
                Some(what) => (shown_by(machine, &first), what),
                None => (vec![ElementName::L2], wider(cache(&mut table, &second)?)?),
            },
        };
        let text = toml::to_string(&table).ok()?;
        // A change that makes a machine impossible is none.
        let machine = Machine::parse(&format!("{}, {self}", machine.origin), &text).ok()?;
        Some(Changed { machine, elements, what })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

/// The cache of an SM that global loads ask first, or where they ask none, other loads. Local loads come last: of their cache
/// only the latency is measured.
fn first_cache(machine: &Machine) -> Option<String> {
    let paths = &machine.spec.path;
    let of_sm = |name: &&String| paths.global_cg.levels.first() != Some(*name);
    let all = [Some(&paths.global_ca), paths.global_nc.as_ref(), paths.texture.as_ref(), Some(&paths.local)];
    all.into_iter().flatten().find_map(|path| path.levels.first().filter(of_sm).cloned())
}

/// The elements whose loads ask this cache first.
fn shown_by(machine: &Machine, name: &str) -> Vec<ElementName> {
    let paths = &machine.spec.path;
    let all = [
        (ElementName::L1, Some(&paths.global_ca)),
        (ElementName::ReadOnly, paths.global_nc.as_ref()),
        (ElementName::Texture, paths.texture.as_ref()),
        (ElementName::Local, Some(&paths.local)),
    ];
    let asks = |(element, path): (ElementName, Option<&strata_sim::machine::spec::Path>)| {
        path.is_some_and(|path| path.levels.first().is_some_and(|first| first == name)).then_some(element)
    };
    all.into_iter().filter_map(asks).collect()
}

fn cache<'t>(table: &'t mut Table, name: &str) -> Option<&'t mut Table> {
    table.get_mut("cache")?.get_mut(name)?.as_table_mut()
}

/// Puts another number in the place of one, and says so.
fn replace(value: &mut Value, to: impl Fn(i64) -> i64) -> Option<String> {
    let before = value.as_integer()?;
    *value = Value::Integer(to(before));
    Some(format!("{before} to {value}"))
}

fn by_percent(cycles: i64, percent: i64) -> i64 {
    cycles + ((cycles * percent + 50) / 100).max(1)
}

/// Takes ways from a cache, or sets where it has one way alone.
fn smaller(cache: &mut Table) -> Option<String> {
    let line = cache.get("line")?.as_integer()?;
    let before = lines(cache)?;
    if cache.contains_key("set_ways") {
        for ways in cache.get_mut("set_ways")?.as_array_mut()? {
            *ways = Value::Integer(fewer(ways.as_integer()?)?);
        }
    } else {
        take_ways(cache)?;
    }
    for configuration in cache.get_mut("configuration").and_then(Value::as_array_mut).into_iter().flatten() {
        take_ways(configuration.as_table_mut()?)?;
    }
    let after = lines(cache)?;
    cache.insert("size".into(), Value::Integer(after * line));
    Some(format!("{} to {} B", before * line, after * line))
}

/// Lines that a cache holds.
fn lines(cache: &Table) -> Option<i64> {
    match cache.get("set_ways").and_then(Value::as_array) {
        Some(ways) => ways.iter().map(Value::as_integer).sum(),
        None => Some(cache.get("sets")?.as_integer()? * cache.get("ways")?.as_integer()?),
    }
}

/// Fewer ways; `None` of a single one.
fn fewer(ways: i64) -> Option<i64> {
    (ways > 1).then(|| ways - (ways / WAYS).max(1))
}

/// Takes ways from sets that are all alike. A tree of bits needs a power of two, so it loses a sixteenth of its sets.
fn take_ways(shape: &mut Table) -> Option<()> {
    let tree = shape.get("replacement").and_then(Value::as_str) == Some("plru");
    match fewer(shape.get("ways")?.as_integer()?).filter(|_| !tree) {
        Some(ways) => {
            shape.insert("ways".into(), Value::Integer(ways));
            let odds = shape.get_mut("replacement").and_then(|policy| policy.get_mut("weighted"));
            if let Some(odds) = odds.and_then(Value::as_array_mut) {
                odds.truncate(ways as usize);
            }
        }
        None => {
            let sets = fewer(shape.get("sets")?.as_integer()?)?;
            shape.insert("sets".into(), Value::Integer(sets));
        }
    }
    Some(())
}

fn paths(table: &mut Table) -> Option<impl Iterator<Item = &mut Table>> {
    Some(table.get_mut("path")?.as_table_mut()?.iter_mut().filter_map(|(_, path)| path.as_table_mut()))
}

/// Changes the latency of a cache on every path that asks it.
fn slower(table: &mut Table, name: &str, to: impl Fn(i64) -> i64) -> Option<String> {
    let mut what = None;
    for path in paths(table)? {
        let place = path.get("levels")?.as_array()?.iter().position(|level| level.as_str() == Some(name));
        let Some(place) = place else { continue };
        let said = replace(path.get_mut("cycles")?.get_mut(place)?, &to)?;
        what.get_or_insert(said);
    }
    what
}

fn slower_memory(table: &mut Table) -> Option<String> {
    let mut what = None;
    for path in paths(table)? {
        let said = replace(path.get_mut("memory")?, |cycles| by_percent(cycles, 3))?;
        what.get_or_insert(said);
    }
    what
}

/// Halves the first level of TLBs.
fn half(table: &mut Table) -> Option<String> {
    let tlb = table.get_mut("tlb")?.as_array_mut()?.first_mut()?;
    let single = tlb.get("sets").and_then(Value::as_integer) == Some(1);
    replace(tlb.get_mut(if single { "ways" } else { "sets" })?, |entries| (entries / 2).max(1))
        .map(|what| format!("{}: {what}", if single { "ways" } else { "sets" }))
}

/// Doubles what a miss fetches, where lines have several sectors.
fn wider(cache: &mut Table) -> Option<String> {
    let line = cache.get("line")?.as_integer()?;
    let sector = cache.get_mut("sector")?;
    (sector.as_integer()? < line).then(|| replace(sector, |bytes| bytes * 2))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_is_of_one_property_and_makes_a_machine() {
        let machine = Machine::named("k20c").unwrap();
        let what = |change: Change| change.of(&machine).map(|changed| changed.what);
        assert_eq!(what(Change::L1Size).unwrap(), "49152 to 40960 B");
        assert_eq!(what(Change::L2Size).unwrap(), "1310720 to 1228800 B");
        assert_eq!(what(Change::TlbReach).unwrap(), "ways: 16 to 8");
        assert_eq!(what(Change::BankConflict).unwrap().split(" to ").count(), 2);
        let l1 = Change::L1Latency.of(&machine).unwrap();
        let before = machine.spec.path.global_ca.cycles[0].get();
        assert_eq!(l1.machine.spec.path.global_ca.cycles[0].get(), before + 2);
        assert_eq!(l1.machine.spec.path.global_ca.memory, machine.spec.path.global_ca.memory);
        assert_eq!(l1.elements, [ElementName::L1, ElementName::Local]);
        let fetch = Change::FetchSize.of(&machine).unwrap();
        assert_eq!((fetch.elements, fetch.what.as_str()), (vec![ElementName::L2], "32 to 64"), "its L1 has no sectors");
    }

    #[test]
    fn machines_that_are_drawn_can_be_changed() {
        for seed in 0..20 {
            let machine = crate::machine(seed).machine;
            let many = Change::ALL.into_iter().filter(|change| change.of(&machine).is_some()).count();
            assert!(many >= 5, "{many} of machine {seed}");
        }
    }
}
