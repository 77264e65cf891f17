//! How a cache is made: its sets, ways, index and replacement.

use toml_edit::Value;

use super::found::{Found, Sourced, assumed, not_found};
use super::table::{IntoToml, Table, inline};
use strata_model::attribute::{Attribute, INDEX, IndexFunction, Policy, REPLACEMENT, SETS, WAYS};
use strata_model::topology::ElementName::{self, ConstantL1, ConstantL15};

/// Sets of a cache of data of an SM, and ways of a constant cache, where the structure is unknown.
const ASSUMED_SETS: u64 = 4;
const CONSTANT_WAYS: u64 = 4;
/// Finest part into which odds of a victim are divided.
const ODDS: f64 = 1000.0;
/// The attributes that say how a cache is made.
const SHAPE: [Attribute; 3] = [Attribute::Sets, Attribute::Ways, Attribute::Index];

/// Sets, ways, index and replacement.
pub(super) struct Structure {
    pub sets: u64,
    /// Lines of every set, or of each where they differ.
    pub ways: Vec<u64>,
    index: Value,
    replacement: Value,
    source: String,
    replacement_source: String,
}

impl Structure {
    /// Lines of the whole cache.
    pub fn lines(&self) -> u64 {
        if self.ways.len() == 1 { self.sets.saturating_mul(self.ways[0]) } else { self.ways.iter().sum() }
    }

    /// As it was found, if it makes up the size.
    pub fn found(found: &Found, element: ElementName, lines: u64) -> Option<Self> {
        let sets = *found.get(element, SETS)?;
        let ways = found.get(element, WAYS)?;
        let index = match found.get(element, INDEX) {
            Some(index) => index_value(index),
            None if sets == 1 => "modulo".into_toml(),
            None => return None,
        };
        let (replacement, replacement_source) = replacement(found, element);
        let structure = Structure {
            sets,
            ways: ways.list().to_vec(),
            index,
            replacement,
            source: found.source(element, &SHAPE, found.known(element, WAYS)?),
            replacement_source,
        };
        (structure.lines() == lines).then_some(structure)
    }

    /// Where it is unknown.
    pub fn assumed(found: &Found, element: ElementName, lines: u64) -> Self {
        let constant = [ConstantL1, ConstantL15].contains(&element);
        let ways = if constant && lines.is_multiple_of(CONSTANT_WAYS) {
            CONSTANT_WAYS
        } else {
            lines / few_sets(lines, ASSUMED_SETS)
        };
        let (replacement, replacement_source) = replacement(found, element);
        let source = assumed(&format!("the structure of {element} was not found"));
        Structure {
            sets: lines / ways,
            ways: vec![ways],
            index: "modulo".into_toml(),
            replacement,
            source,
            replacement_source,
        }
    }

    /// Adds them to the table of a cache.
    pub fn put(self, table: &mut Table) {
        match self.ways[..] {
            [ways] => {
                table.put("sets", Sourced::new(self.sets, self.source.clone()));
                table.put("ways", Sourced::new(ways, self.source.clone()));
            }
            _ => table.put("set_ways", Sourced::new(self.ways.clone(), self.source.clone())),
        }
        table.put("index", Sourced::new(self.index, self.source));
        table.put("replacement", Sourced::new(self.replacement, self.replacement_source));
    }
}

/// The largest power of two up to `most` that divides the lines.
pub(super) fn few_sets(lines: u64, most: u64) -> u64 {
    (0..=most.max(1).ilog2()).rev().map(|bits| 1 << bits).find(|sets| lines.is_multiple_of(*sets)).unwrap_or(1)
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

/// The policy, as a machine file can say it.
fn replacement(found: &Found, element: ElementName) -> (Value, String) {
    let attribute = REPLACEMENT.attribute();
    let (Some(finding), Some(replacement)) = (found.known(element, attribute), found.get(element, REPLACEMENT)) else {
        return ("lru".into_toml(), not_found(element, attribute));
    };
    match policy(replacement) {
        Some(policy) => (policy, found.source(element, &[attribute], finding)),
        None => {
            ("lru".into_toml(), assumed(&format!("found {}, which a machine file cannot express", replacement.name())))
        }
    }
}

/// The policy as a value of a machine file; `None` for one that a machine file cannot express.
pub(super) fn policy(policy: &Policy) -> Option<Value> {
    match policy {
        Policy::Weighted(probabilities) => {
            let odds: Vec<u64> = probabilities.iter().map(|share| (share * ODDS).round() as u64).collect();
            Some(inline([("weighted", odds.into_toml())]))
        }
        Policy::Lru | Policy::Fifo | Policy::Plru | Policy::Random => Some(policy.name().into_toml()),
        Policy::BitPlru | Policy::Other(_) => None,
    }
}
