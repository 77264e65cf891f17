//! How a cache is made: its sets, ways, index and replacement.
//!
//! What was found of them stays. The rest is assumed so that all agree: where sets and ways hold more than the usable capacity the
//! index spreads lines unevenly, so a hash is assumed; where only the ways are known there are as many sets as come nearest to
//! the capacity.

use toml_edit::Value;

use super::found::{Found, Sourced, assumed, named, not_found};
use super::table::{IntoToml, Table, inline};
use strata_model::attribute::{Attribute, INDEX, IndexFunction, Key, Odds, Policy, REPLACEMENT, SETS, Typed, WAYS};
use strata_model::topology::ElementName::{self, ConstantL1, ConstantL15};

/// Sets of a cache of data of an SM, and ways of a constant cache, where the structure is unknown.
const ASSUMED_SETS: u64 = 4;
const CONSTANT_WAYS: u64 = 4;
/// Seed of a hash that is assumed.
const HASH: u64 = 1;
/// Finest part into which odds of a victim are divided.
const ODDS: f64 = 1000.0;

/// Sets, ways, index and replacement.
pub(super) struct Structure {
    pub sets: Sourced<u64>,
    /// Lines of every set, or of each where they differ.
    pub ways: Sourced<Vec<u64>>,
    index: Sourced<Value>,
    replacement: Option<Policy>,
    replacement_source: String,
}

impl Structure {
    /// Of a cache that can use so many bytes.
    pub fn of(found: &Found, element: ElementName, usable: u64, line: u64) -> Self {
        let lines = (usable / line).max(1);
        let index = found.known(element, INDEX).map(|_| INDEX.attribute());
        let sets = found.known(element, SETS).map(|_| SETS.attribute());
        let names: Vec<Attribute> = [sets, Some(WAYS.attribute()), index].into_iter().flatten().collect();
        let ways = measured(found, element, WAYS, &names);
        let ways = ways.map(|ways| Sourced::new(ways.value.list().to_vec(), ways.source));
        let known = match (measured(found, element, SETS, &names), ways) {
            (Some(sets), Some(ways)) => {
                let index = measured(found, element, INDEX, &names);
                whole(element, (sets, ways, index), lines, line)
            }
            (None, Some(ways)) if ways.value.len() == 1 => by_ways(element, ways, lines),
            _ => None,
        };
        let (sets, ways, index) = known.unwrap_or_else(|| plain(element, lines));
        let (replacement, replacement_source) = replacement(found, element, &ways.value);
        Structure { sets, ways, index, replacement, replacement_source }
    }

    /// Whether a footprint that the sets hold has a place for each of its lines.
    pub fn is_plain(&self) -> bool {
        self.index.value.as_str() == Some("modulo")
    }

    /// Lines of the whole cache.
    pub fn lines(&self) -> u64 {
        lines_of(self.sets.value, &self.ways.value)
    }

    /// The size that follows from the sets: the usable one, unless the sets hold more or less than that.
    pub fn size(&self, usable: Sourced<u64>, line: u64) -> Sourced<u64> {
        let bytes = self.lines().saturating_mul(line);
        if bytes == usable.value {
            return usable;
        }
        let how = format!("derived: all sets and ways; usable are {} B, {}", usable.value, usable.source);
        Sourced::new(bytes, how)
    }

    /// The policy of the same cache with other ways.
    pub fn replacement(&self, ways: &[u64]) -> Value {
        self.replacement
            .as_ref()
            .and_then(|one| policy(one, ways))
            .unwrap_or_else(|| fallback(self.replacement.as_ref()))
    }

    /// Adds them to the table of a cache.
    pub fn put(self, table: &mut Table) {
        let replacement = Sourced::new(self.replacement(&self.ways.value), self.replacement_source.clone());
        match self.ways.value[..] {
            [ways] => {
                table.put("sets", self.sets);
                table.put("ways", Sourced::new(ways, self.ways.source));
            }
            _ => table.put("set_ways", self.ways),
        }
        table.put("index", self.index);
        table.put("replacement", replacement);
    }
}

/// Sets, ways and index as they were found.
type Measured = (Sourced<u64>, Sourced<Vec<u64>>, Option<Sourced<IndexFunction>>);
/// Sets, ways and index as a machine file says them.
type Shape = (Sourced<u64>, Sourced<Vec<u64>>, Sourced<Value>);

/// What was found of an attribute, with the source of these.
fn measured<T: Typed + Clone>(
    found: &Found,
    element: ElementName,
    key: Key<T>,
    names: &[Attribute],
) -> Option<Sourced<T>> {
    let finding = found.known(element, key)?;
    Some(Sourced::new(found.get(element, key)?.clone(), found.source(element, names, finding)))
}

fn lines_of(sets: u64, ways: &[u64]) -> u64 {
    match ways {
        [ways] => sets.saturating_mul(*ways),
        _ => ways.iter().fold(0, |all: u64, ways| all.saturating_add(*ways)),
    }
}

/// Sets and ways were found, and hold the lines that can be used or more.
fn whole(element: ElementName, (sets, ways, index): Measured, lines: u64, line: u64) -> Option<Shape> {
    let all = lines_of(sets.value, &ways.value);
    let index = index.filter(|index| can_be(&index.value, sets.value, line));
    let index = match index {
        // A plain index lets every line of its sets be used.
        Some(index) if all == lines || !matches!(index.value, IndexFunction::Modulo { .. }) && all > lines => {
            Sourced::new(index_value(&index.value), index.source)
        }
        None if all == lines => Sourced::new("modulo".into_toml(), not_found(element, Attribute::Index)),
        None if all > lines => {
            let why = format!(
                "{} was not found; {} of {lines} lines of the {all} that the sets hold shows that it is not a plain one: a hash",
                named(element, Attribute::Index),
                named(element, Attribute::Size)
            );
            Sourced::new(inline([("hash", HASH.into_toml())]), assumed(&why))
        }
        _ => return None,
    };
    Some((sets, ways, index))
}

/// Only the ways were found.
fn by_ways(element: ElementName, ways: Sourced<Vec<u64>>, lines: u64) -> Option<Shape> {
    let each = *ways.value.first().filter(|ways| **ways > 0)?;
    let sets = ((lines + each / 2) / each).max(1);
    let why = format!(
        "{} was not found; as many sets of {each} ways as come nearest to {lines} lines",
        named(element, Attribute::Sets)
    );
    let index = Sourced::new("modulo".into_toml(), not_found(element, Attribute::Index));
    Some((Sourced::new(sets, assumed(&why)), ways, index))
}

/// Nothing that agrees with the size was found.
fn plain(element: ElementName, lines: u64) -> Shape {
    let constant = [ConstantL1, ConstantL15].contains(&element);
    let ways = if constant && lines.is_multiple_of(CONSTANT_WAYS) {
        CONSTANT_WAYS
    } else {
        lines / few_sets(lines, ASSUMED_SETS)
    };
    let source = assumed(&format!("the structure of {element} was not found"));
    let index = Sourced::new("modulo".into_toml(), source.clone());
    (Sourced::new(lines / ways, source.clone()), Sourced::new(vec![ways], source), index)
}

/// The largest power of two up to `most` that divides the lines.
pub(super) fn few_sets(lines: u64, most: u64) -> u64 {
    (0..=most.max(1).ilog2()).rev().map(|bits| 1 << bits).find(|sets| lines.is_multiple_of(*sets)).unwrap_or(1)
}

/// Whether an index function numbers so many sets by bits that are not within a line.
pub(super) fn can_be(index: &IndexFunction, sets: u64, line: u64) -> bool {
    let Some(masks) = index.masks() else { return *index == IndexFunction::Modulo { sets } };
    sets.checked_ilog2() == Some(masks.len() as u32)
        && sets.is_power_of_two()
        && masks.iter().all(|mask| *mask != 0 && mask & (line - 1) == 0)
}

/// The index function, as a machine file can say it.
pub(super) fn index_value(index: &IndexFunction) -> Value {
    match index {
        IndexFunction::Bits { bits } => {
            let bits: Vec<u64> = bits.iter().map(|bit| u64::from(*bit)).collect();
            inline([("bits", bits.into_toml())])
        }
        IndexFunction::Parity { masks } => {
            let masks: Vec<u64> = masks.iter().map(|mask| mask.0).collect();
            inline([("parity", masks.into_toml())])
        }
        IndexFunction::Modulo { .. } => "modulo".into_toml(),
    }
}

/// The policy that was found, with its source, or why another one is taken for sets of these ways.
fn replacement(found: &Found, element: ElementName, ways: &[u64]) -> (Option<Policy>, String) {
    let attribute = REPLACEMENT.attribute();
    let (Some(finding), Some(replacement)) = (found.known(element, attribute), found.get(element, REPLACEMENT)) else {
        return (None, not_found(element, attribute));
    };
    let source = match policy(replacement, ways) {
        Some(_) => found.source(element, &[attribute], finding),
        None => assumed(&format!("found {}, which a machine file cannot express of these ways", replacement.name())),
    };
    (Some(replacement.clone()), source)
}

/// The policy of sets of so many ways as a value of a machine file; `None` for one that a machine file cannot express.
pub(super) fn policy(policy: &Policy, ways: &[u64]) -> Option<Value> {
    match policy {
        Policy::Weighted(Odds { probabilities, .. }) => {
            let odds: Vec<u64> = probabilities.iter().map(|share| (share * ODDS).round() as u64).collect();
            let fits = ways.iter().all(|ways| *ways == odds.len() as u64) && odds.iter().any(|odds| *odds > 0);
            fits.then(|| inline([("weighted", odds.into_toml())]))
        }
        Policy::Plru => ways.iter().all(|ways| ways.is_power_of_two()).then(|| policy.name().into_toml()),
        Policy::Lru | Policy::Fifo | Policy::Random => Some(policy.name().into_toml()),
        Policy::BitPlru | Policy::Other(_) => None,
    }
}

/// What comes nearest to a policy that cannot be expressed.
fn fallback(policy: Option<&Policy>) -> Value {
    match policy {
        Some(Policy::Weighted(_)) => Policy::Random.name().into_toml(),
        _ => Policy::Lru.name().into_toml(),
    }
}
