//! The shape of one cache: lines, sectors, sets, index function and replacement. First a plan says what is wanted; then it is
//! made to agree with what the format allows.

use super::dice::{Dice, KIB};
use super::names::Names;
use super::text::Text;

/// Ways of the largest set: enough for a fully associative cache of 1 MiB in lines of 128 B. More would say nothing new and take
/// time.
const MOST_WAYS: u64 = 8192;
/// Most ways with odds of their own: each of them is written out.
const MOST_ODDS: u64 = 64;
/// Address bits above those that number the sets, of which an index by parity takes some.
const HIGHER_BITS: u64 = 10;
/// Sectors of a line at most, as the format has it.
const MOST_SECTORS: u64 = 64;

/// Which line of a full set is replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// The one used longest ago.
    Lru,
    /// The one that came first.
    Fifo,
    /// By a tree of bits.
    Plru,
    /// Any.
    Random,
    /// Any that was never hit.
    Unhit,
    /// By way, with odds.
    Weighted,
}

impl Policy {
    /// All that are unusual.
    pub const UNUSUAL: [Policy; 5] = [Policy::Fifo, Policy::Plru, Policy::Random, Policy::Unhit, Policy::Weighted];

    /// An unusual one, and more often one that is common in processors.
    pub fn unusual(dice: &mut Dice) -> Policy {
        let common = [Policy::Fifo, Policy::Plru, Policy::Random];
        dice.pick(&[&common[..], &Policy::UNUSUAL].concat())
    }

    /// As a machine file has it; `odds` has a number for each way.
    pub fn written(self, odds: &[u64]) -> String {
        match self {
            Policy::Lru => "\"lru\"".to_owned(),
            Policy::Fifo => "\"fifo\"".to_owned(),
            Policy::Plru => "\"plru\"".to_owned(),
            Policy::Random => "\"random\"".to_owned(),
            Policy::Unhit => "\"unhit\"".to_owned(),
            Policy::Weighted => format!("{{ weighted = {odds:?} }}"),
        }
    }
}

/// Which set a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Index {
    /// Its number, modulo the sets.
    Modulo,
    /// To unequal sets in turn.
    Dealt,
    /// A hash of its number.
    Hash,
    /// Bits of the address.
    Bits,
    /// Parities of bits of the address.
    Parity,
}

/// How many sets there are, and how ways are distributed to them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sets {
    /// A power of two.
    Power,
    /// Any other number.
    Other,
    /// One: fully associative.
    One,
    /// Four with many ways each, as reported of Volta's L1.
    Four,
    /// A power of two, of which the first has more ways.
    Unequal,
}

/// What is wanted of a cache.
#[derive(Clone)]
pub struct Plan {
    /// About its size; it is not larger unless its sets are unequal or its lines very long.
    pub bytes: u64,
    /// Line.
    pub line: u64,
    /// Sector.
    pub sector: u64,
    /// Ways of a set.
    pub ways: u64,
    /// Sets.
    pub sets: Sets,
    /// Index function.
    pub index: Index,
    /// Replacement.
    pub policy: Policy,
    /// Partitions, each of which has its own sets.
    pub partitions: u64,
}

/// What may be unusual about a shape.
#[derive(Clone, Copy)]
pub enum Change {
    /// Replacement.
    Policy,
    /// Index function.
    Index,
    /// Number of sets, unequal sets, or one way.
    Sets,
    /// Lines and sectors.
    Lines,
}

impl Change {
    /// All of them, the ones with many kinds more often.
    pub const ALL: [Change; 10] = [
        Change::Policy,
        Change::Policy,
        Change::Policy,
        Change::Index,
        Change::Index,
        Change::Sets,
        Change::Sets,
        Change::Lines,
        Change::Lines,
        Change::Lines,
    ];
}

/// A cache's shape, as it is written.
pub struct Shape {
    /// Line.
    pub line: u64,
    /// Sector.
    pub sector: u64,
    /// Ways of each set.
    pub ways: Vec<u64>,
    /// Index function.
    pub index: Index,
    /// Its text.
    index_text: String,
    /// Replacement.
    pub policy: Policy,
    /// Odds of each way of the largest set.
    pub odds: Vec<u64>,
    /// Partitions.
    partitions: u64,
}

impl Plan {
    /// An LRU cache with a plain index and a power of two of sets.
    pub fn plain(bytes: u64, line: u64, sector: u64, ways: u64) -> Self {
        let (sets, index, policy) = (Sets::Power, Index::Modulo, Policy::Lru);
        Plan { bytes, line, sector, ways, sets, index, policy, partitions: 1 }
    }

    /// Changes one property to something unusual.
    pub fn change(&mut self, dice: &mut Dice, change: Change) {
        match change {
            Change::Policy => self.policy = Policy::unusual(dice),
            Change::Index => self.index = dice.pick(&[Index::Hash, Index::Bits, Index::Parity]),
            Change::Sets => {
                match dice.pick(&[Some(Sets::Other), Some(Sets::Other), Some(Sets::One), Some(Sets::Unequal), None]) {
                    Some(sets) => self.sets = sets,
                    None => self.ways = 1,
                }
            }
            Change::Lines => {
                self.line = dice.pick(&[16, 32, 64, 128, 128, 256, 512, 1024, 2048]);
                let least = (self.line / MOST_SECTORS).max(8);
                self.sector = least << dice.within(0..=u64::from((self.line / least).ilog2()));
            }
        }
    }

    /// Gives up what the format does not allow together. What was changed last is not always what stays: the traits are
    /// read off the result.
    fn agree(&mut self) {
        let masked = matches!(self.index, Index::Bits | Index::Parity);
        if self.partitions > 1 {
            // The format wants equal sets in partitions, and two to the power of bits sets in each of them, which an odd number
            // of partitions seldom leaves: so none are numbered by bits.
            self.sets = if self.sets == Sets::Unequal { Sets::Other } else { self.sets };
            self.index = if masked { Index::Hash } else { self.index };
        } else if masked && self.sets != Sets::One {
            self.sets = Sets::Power;
        }
        if self.sets == Sets::One && self.partitions == 1 {
            self.index = Index::Modulo;
        }
        if self.policy == Policy::Weighted && self.sets == Sets::Unequal {
            self.policy = Policy::Fifo;
        }
        if self.policy == Policy::Weighted && self.set_ways() > MOST_ODDS {
            self.policy = Policy::Random;
        }
    }

    /// Ways of a set.
    fn set_ways(&self) -> u64 {
        let ways = match self.sets {
            Sets::One => self.bytes / self.line / self.partitions,
            Sets::Four => self.bytes / self.line / 4 / self.partitions,
            Sets::Power | Sets::Other | Sets::Unequal => self.ways,
        };
        let ways = ways.clamp(1, MOST_WAYS);
        if self.policy == Policy::Plru { 1 << ways.ilog2() } else { ways }
    }

    /// Ways of each set of all partitions together.
    fn all_ways(&self, dice: &mut Dice) -> Vec<u64> {
        let ways = self.set_ways();
        let fit = (self.bytes / (self.line * ways * self.partitions)).max(1);
        let sets = match self.sets {
            Sets::One => 1,
            Sets::Four => 4,
            Sets::Power => 1 << fit.ilog2(),
            Sets::Unequal => (1 << fit.ilog2()).max(2),
            Sets::Other if fit < 3 => 3,
            Sets::Other if fit.is_power_of_two() => dice.pick(&[fit - 1, fit / 4 * 3, fit / 4 * 3]),
            Sets::Other => fit,
        };
        let mut all = vec![ways; (sets * self.partitions) as usize];
        if self.sets == Sets::Unequal {
            all[0] += if self.policy == Policy::Plru { ways } else { dice.within(1..=ways + 1) };
        }
        all
    }

    /// The text of an index function for so many sets of so many ways, and what it is in the end.
    fn index(&self, dice: &mut Dice, sets: u64, ways: u64) -> (Index, String) {
        let shift = u64::from(self.line.ilog2());
        let bits = u64::from(sets.ilog2());
        let list = |numbers: Vec<u64>| format!("{numbers:?}");
        match self.index {
            Index::Bits if sets > 1 => {
                // Neighbouring lines may belong to one set, as many as it has ways.
                let first = shift + dice.within(0..=u64::from(ways.ilog2()).min(2));
                (Index::Bits, format!("{{ bits = {} }}", list((first..first + bits).collect())))
            }
            Index::Parity if sets > 1 => {
                let higher = |dice: &mut Dice| 1u64 << (shift + bits + dice.within(0..=HIGHER_BITS));
                let mask = |bit| (0..3).fold(1u64 << (shift + bit), |mask: u64, _| mask | higher(dice));
                (Index::Parity, format!("{{ parity = {} }}", list((0..bits).map(mask).collect())))
            }
            Index::Hash if sets > 1 => (Index::Hash, format!("{{ hash = {} }}", dice.within(1..=1000))),
            _ if self.sets == Sets::Unequal && dice.one_in(2) => (Index::Dealt, "\"dealt\"".to_owned()),
            _ => (Index::Modulo, "\"modulo\"".to_owned()),
        }
    }

    /// The shape that comes nearest.
    pub fn settle(mut self, dice: &mut Dice) -> Shape {
        self.agree();
        let ways = self.all_ways(dice);
        let (index, index_text) = self.index(dice, ways.len() as u64 / self.partitions, ways[0]);
        let most = if self.policy == Policy::Weighted { ways[0] } else { 0 };
        let odds = (0..most).map(|_| dice.pick(&[1, 1, 1, 2, 3, 5])).collect();
        let Plan { line, sector, policy, partitions, .. } = self;
        Shape { line, sector, ways, index, index_text, policy, odds, partitions }
    }
}

impl Shape {
    /// Bytes of all sets.
    pub fn bytes(&self) -> u64 {
        self.ways.iter().sum::<u64>() * self.line
    }

    /// Sets and ways, if all sets have as many.
    pub fn equal(&self) -> Option<(u64, u64)> {
        self.ways.iter().all(|&ways| ways == self.ways[0]).then_some((self.ways.len() as u64, self.ways[0]))
    }

    /// Writes its keys.
    pub fn write(&self, text: &mut Text) {
        let bytes = self.bytes();
        match bytes % KIB {
            0 => text.text("size", format_args!("{} KiB", bytes / KIB)),
            _ => text.value("size", bytes),
        }
        text.value("line", self.line);
        if self.sector < self.line {
            text.value("sector", self.sector);
        }
        write_ways(text, &self.ways);
        text.value("index", &self.index_text);
        text.value("replacement", self.policy.written(&self.odds));
    }

    /// Notes what is unusual.
    pub fn note(&self, dice: &mut Dice, names: &Names) {
        if let Some(name) = names.policy(self.policy) {
            dice.note(name);
        }
        let sets = self.ways.len() as u64 / self.partitions;
        dice.note_if(self.index == Index::Hash, names.hash);
        dice.note_if(self.index == Index::Bits, names.bits);
        dice.note_if(self.index == Index::Parity, names.parity);
        dice.note_if(self.equal().is_none(), names.unequal);
        dice.note_if(!sets.is_power_of_two(), names.other_sets);
        dice.note_if(sets == 1, names.one_set);
        dice.note_if(self.ways[0] == 1, names.direct);
        dice.note_if(self.line <= names.short_line, names.short);
        dice.note_if(self.line >= names.long_line, names.long);
        dice.note_if(self.sector < 32, names.tiny_sectors);
        dice.note_if(self.line / self.sector > 4, names.many_sectors);
    }
}

/// Writes sets and ways, or the ways of each set where they differ.
pub fn write_ways(text: &mut Text, ways: &[u64]) {
    if ways.iter().all(|&one| one == ways[0]) {
        text.value("sets", ways.len());
        text.value("ways", ways[0]);
    } else {
        text.value("set_ways", format_args!("{ways:?}"));
    }
}
