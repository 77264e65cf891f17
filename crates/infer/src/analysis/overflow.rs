//! Sets of a cache from what overflows: while a footprint grows line by line, the first extra line of a set makes the lines of
//! that set miss, and no others.
//!
//! Mei et al. (section 4) read sets and ways off the staircase of miss counts. Which lines miss says more: the lines that
//! begin to miss together are one set, whatever the index function, and the set's ways are one less than their number.
//!
//! Assumes that a set, once it holds a line too many, misses on every line some time, which least recently used, first in
//! first out, trees and random victims all do on a cyclic walk. Where lines that were hit never give way it does not hold,
//! which shows: lines stop missing while the footprint grows.

use std::collections::{BTreeMap, BTreeSet};

/// Lines that missed, by number, of the first so many lines of an allocation.
#[derive(Clone, Debug, PartialEq)]
pub struct Footprint {
    /// Lines walked: 0 to this, less one.
    pub lines: usize,
    /// Those that missed in at least one lap.
    pub missed: BTreeSet<usize>,
}

/// These footprints but for the last, each without the lines that hit in the next one: where loads are slow at random, a line that
/// seems to miss may hit. A line of a set with a line too many misses in every larger footprint, too.
pub fn steady(footprints: &[Footprint]) -> Vec<Footprint> {
    let both = |pair: &[Footprint]| Footprint {
        lines: pair[0].lines,
        missed: pair[0].missed.intersection(&pair[1].missed).copied().collect(),
    };
    footprints.windows(2).map(both).collect()
}

/// Sets as far as they have overflowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Sets {
    /// Lines of each set, in the order in which the sets overflowed; one more than it has ways.
    pub members: Vec<Vec<usize>>,
    /// Whether every line of the largest footprint belongs to one of them.
    pub complete: bool,
}

/// Why the lines that miss do not say which sets there are.
#[derive(Clone, Debug, PartialEq)]
pub enum Unclear {
    /// Lines miss before any set should overflow.
    Unsteady,
    /// Lines that missed of a footprint are hit again in a larger one.
    Recovers {
        /// Lines of the larger footprint.
        lines: usize,
        /// How many that missed before are hit.
        hit: usize,
    },
    /// A line that was there before begins to miss by itself, which no set of a line too many explains.
    Alone {
        /// Lines of the footprint.
        lines: usize,
    },
    /// A set seems to have one way and others many: a line that missed late, or by chance, passes for a set.
    Single,
    /// Nothing more misses than the new lines themselves.
    OnlyNew,
}

/// Share of the lines of sets that have overflowed that may be hit in a larger footprint: by chance, in the laps seen.
const RECOVERING: f64 = 0.02;

/// Most sets that overflow already in the first footprint of [`Sets::reveal_late`].
const MOST_LATE: usize = 8;
/// Sets of equal ways that say how those that overflowed first are divided.
const FEWEST_ALIKE: usize = 4;

/// No cache has sets of so many ways and others of one.
const MANY: usize = 16;

impl Sets {
    /// From footprints that grow by one line at a time, the first of which fits.
    ///
    /// # Errors
    ///
    /// The reason, if the lines that miss are not those of fixed sets.
    pub fn reveal(footprints: &[Footprint]) -> Result<Self, Unclear> {
        let mut known: BTreeSet<usize> = BTreeSet::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        let mut before = 0;
        for (step, footprint) in footprints.iter().enumerate() {
            if step == 0 && !footprint.missed.is_empty() {
                return Err(Unclear::Unsteady);
            }
            let hit = known.difference(&footprint.missed).count();
            if hit as f64 > RECOVERING * known.len() as f64 {
                return Err(Unclear::Recovers { lines: footprint.lines, hit });
            }
            let new: Vec<usize> = footprint.missed.difference(&known).copied().collect();
            known.extend(&new);
            if new.iter().any(|&line| line < before) {
                if new.len() < 2 {
                    return Err(Unclear::Alone { lines: footprint.lines });
                }
                members.push(new);
            }
            before = footprint.lines;
        }
        if members.is_empty() {
            return Err(Unclear::OnlyNew);
        }
        let complete = footprints.last().is_some_and(|f| known.len() == f.lines);
        let sets = Sets { members, complete };
        let ways = sets.ways();
        if ways.contains(&1) && ways.iter().any(|&ways| ways >= MANY) {
            return Err(Unclear::Single);
        }
        Ok(sets)
    }

    /// As [`Sets::reveal`], of footprints of which the first may come too late: some sets overflow there already, and those that do
    /// seem to be one. They are told apart by the address bits whose parities all other sets have in common. `first` is the number of the
    /// first line.
    ///
    /// # Errors
    ///
    /// As of [`Sets::reveal`].
    pub fn reveal_late(footprints: &[Footprint], first: u64) -> Result<Self, Unclear> {
        let plain = Self::reveal(footprints);
        let Some(begin) = footprints.first() else { return plain };
        // The newest lines of the first footprint: each is the line too many of a set.
        let late =
            (1..).take_while(|&back| back <= begin.lines && begin.missed.contains(&(begin.lines - back))).count();
        let sets = match plain {
            Ok(sets) if sets.are_equal() => return Ok(sets),
            Err(Unclear::Unsteady) if (1..=MOST_LATE).contains(&late) => {
                let before = Footprint { lines: begin.lines - late, missed: BTreeSet::new() };
                let all: Vec<Footprint> = [before].into_iter().chain(footprints.iter().cloned()).collect();
                Self::reveal(&all)?
            }
            other => other?,
        };
        Ok(sets.with_first_divided(first))
    }

    /// With the first set divided into several, if the address bits that tell the others apart divide it into as many lines as all
    /// others have.
    fn with_first_divided(mut self, first: u64) -> Self {
        let Some((merged, others)) = self.members.split_first() else { return self };
        let numbers = |lines: &[usize]| lines.iter().map(|&line| first + line as u64).collect::<Vec<u64>>();
        let size = others.first().map_or(0, Vec::len);
        if others.len() < FEWEST_ALIKE || others.iter().any(|lines| lines.len() != size) || merged.len() <= size {
            return self;
        }
        let masks = separating_parities(&others.iter().map(|lines| numbers(lines)).collect::<Vec<_>>());
        let mut divided: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for &line in merged {
            divided.entry(parities(&masks, first + line as u64)).or_default().push(line);
        }
        if divided.values().all(|lines| lines.len() == size) {
            self.members.splice(..1, divided.into_values());
        }
        self
    }

    /// Ways of each set.
    pub fn ways(&self) -> Vec<usize> {
        self.members.iter().map(|lines| lines.len() - 1).collect()
    }

    /// Whether all sets have the same ways.
    pub fn are_equal(&self) -> bool {
        self.members.iter().all(|lines| lines.len() == self.members[0].len())
    }

    /// The function from address to set that separates the sets, if there is a simple one. `base` is the address of the
    /// first line, `line` a power of two, in bytes.
    pub fn index(&self, base: u64, line: u64) -> Option<Index> {
        let number = |&i: &usize| base / line + i as u64;
        let groups: Vec<Vec<u64>> = self.members.iter().map(|m| m.iter().map(number).collect()).collect();
        if groups.len() < 2 {
            return None;
        }
        let differ = separating_parities(&groups);
        let numbers = 1usize.checked_shl(differ.len() as u32) == Some(groups.len());
        if self.complete && numbers && labels(&groups, |n| parities(&differ, n)) {
            return Some(Index::of_masks(differ.iter().map(|m| m << line.trailing_zeros()).collect()));
        }
        let sets = groups.len() as u64;
        (self.complete && labels(&groups, |n| n % sets)).then_some(Index::Modulo(sets))
    }
}

/// How an address finds its set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Index {
    /// These bits of the address, ascending.
    Bits(Vec<u32>),
    /// The parity of the address under each of these masks.
    Parity(Vec<u64>),
    /// The line's number modulo the number of sets.
    Modulo(u64),
}

impl Index {
    /// The bits, where each mask is one, or else the parities.
    pub fn of_masks(masks: Vec<u64>) -> Self {
        let bits: Vec<u32> = masks.iter().filter(|m| m.is_power_of_two()).map(|m| m.trailing_zeros()).collect();
        if bits.len() == masks.len() { Index::Bits(bits) } else { Index::Parity(masks) }
    }
}

/// The parities of a number under masks, as one number.
pub fn parities(masks: &[u64], number: u64) -> u64 {
    masks.iter().fold(0, |all, mask| all << 1 | u64::from((number & mask).count_ones() & 1))
}

fn separates(groups: &[Vec<u64>], label: impl Fn(u64) -> u64) -> bool {
    groups.iter().any(|g| label(g[0]) != label(groups[0][0]))
}

/// Whether all lines of a group have one label and no two groups have the same.
fn labels(groups: &[Vec<u64>], label: impl Fn(u64) -> u64) -> bool {
    let mut seen = BTreeSet::new();
    groups.iter().all(|g| g.iter().all(|&n| label(n) == label(g[0])) && seen.insert(label(g[0])))
}

/// Masks under which all lines of each group have the same parity: a basis of all such masks, each with a leading bit that
/// no other has. Gaussian elimination over the differences within the groups.
fn constant_parities(groups: &[Vec<u64>]) -> Vec<u64> {
    let mut rows: Vec<u64> = Vec::new();
    let all = groups.iter().flatten().fold(0, |bits, n| bits | (n ^ groups[0][0]));
    for difference in groups.iter().flat_map(|g| g.iter().map(|n| n ^ g[0])) {
        let rest = rows.iter().fold(difference, |d, &row| if d & top(row) != 0 { d ^ row } else { d });
        if rest != 0 {
            rows.iter_mut().filter(|row| **row & top(rest) != 0).for_each(|row| *row ^= rest);
            rows.push(rest);
        }
    }
    let pivots: u64 = rows.iter().map(|&row| top(row)).sum();
    // One mask for each bit that is no pivot: it, and the pivots of the rows that have it.
    (0..64)
        .map(|bit| 1u64 << bit)
        .filter(|bit| all & bit != 0 && pivots & bit == 0)
        .map(|bit| rows.iter().filter(|row| *row & bit != 0).fold(bit, |mask, &row| mask | top(row)))
        .collect()
}

/// Masks under which all numbers of each group have the same parity, and not all groups the same.
pub fn separating_parities(groups: &[Vec<u64>]) -> Vec<u64> {
    let masks = constant_parities(groups).into_iter();
    masks.filter(|mask| separates(groups, |n| u64::from((n & mask).count_ones() & 1))).collect()
}

fn top(n: u64) -> u64 {
    1 << n.ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a cache of these sets shows: every line of a set with too many misses.
    fn walk(lines: usize, ways: &[usize], set: impl Fn(usize) -> usize) -> Footprint {
        let mut held = vec![0; ways.len()];
        (0..lines).for_each(|i| held[set(i)] += 1);
        Footprint { lines, missed: (0..lines).filter(|&i| held[set(i)] > ways[set(i)]).collect() }
    }

    fn reveal(ways: &[usize], set: impl Fn(usize) -> usize + Copy) -> Sets {
        let fits = (1..).take_while(|&n| walk(n, ways, set).missed.is_empty()).last().unwrap();
        let all = (fits..).find(|&n| walk(n, ways, set).missed.len() == n).unwrap();
        let footprints: Vec<Footprint> = (fits..=all).map(|n| walk(n, ways, set)).collect();
        Sets::reveal(&footprints).unwrap()
    }

    #[test]
    fn what_misses_once_is_no_set() {
        let footprints: Vec<Footprint> = (32..=40).map(|n| walk(n, &[8; 4], |i| i % 4)).collect();
        let mut disturbed = footprints.clone();
        // One line seems to miss too early, another one to hit too late.
        disturbed[1].missed.insert(3);
        disturbed[2].missed.remove(&1);
        let plain = Sets::reveal(&footprints).unwrap();
        assert_eq!(plain.ways(), [8; 4]);
        assert_ne!(Sets::reveal(&disturbed), Ok(plain.clone()));
        disturbed[2].missed.insert(1);
        assert_eq!(Sets::reveal(&steady(&disturbed)), Ok(plain));
    }

    /// The first footprint is one that fits, or up to three lines more: then the sets that overflow there seem to be one.
    #[test]
    fn sets_that_overflow_in_the_first_footprint_are_told_apart() {
        for (first, from) in [(0u64, 64usize), (64, 65), (0, 66), (128, 67)] {
            // Eight sets by parities of three bits each; eight lines of each fit.
            let set = |i: usize| {
                let n = first as usize + i;
                (n ^ n >> 3 ^ n >> 6) & 7
            };
            let footprints: Vec<Footprint> = (from..=71).map(|n| walk(n, &[8; 8], set)).collect();
            let sets = Sets::reveal_late(&footprints, first).unwrap();
            assert!(sets.ways().iter().all(|ways| *ways == 8), "{from}: {:?}", sets.ways());
            assert_eq!(sets.members.len(), 7, "{from}");
            assert!(sets.members.iter().all(|lines| lines.iter().all(|line| set(*line) == set(lines[0]))), "{from}");
            // Without the first footprint with misses they are one, too.
            if from == 64 {
                let late = [&footprints[..1], &footprints[2..]].concat();
                assert_eq!(Sets::reveal(&late).unwrap().ways(), [17, 8, 8, 8, 8, 8]);
                assert_eq!(Sets::reveal_late(&late, first).unwrap().ways(), [8; 7]);
            }
        }
    }

    /// One set with twice as many ways stays one.
    #[test]
    fn a_larger_set_is_not_divided() {
        let ways = [17, 8, 8, 8, 8, 8, 8, 8];
        // The larger set has every second line until it overflows.
        let set = |i: usize| if i < 36 && i.is_multiple_of(2) { 0 } else { 1 + i % 7 };
        let fits = (1..).take_while(|&n| walk(n, &ways, set).missed.is_empty()).last().unwrap();
        let footprints: Vec<Footprint> = (fits..fits + 20).map(|n| walk(n, &ways, set)).collect();
        let sets = Sets::reveal_late(&footprints, 0).unwrap();
        assert_eq!(sets, Sets::reveal(&footprints).unwrap());
        assert!(sets.ways().contains(&17), "{:?}", sets.ways());
    }

    #[test]
    fn a_late_line_and_a_new_one_are_no_set() {
        let mut footprints: Vec<Footprint> = (32..=40).map(|n| walk(n, &[16, 16], |i| i % 2)).collect();
        footprints[..4].iter_mut().for_each(|footprint| assert!(footprint.lines == 32 || footprint.missed.remove(&4)));
        assert_eq!(Sets::reveal(&footprints), Err(Unclear::Single));
    }

    #[test]
    fn bits_of_the_address_are_found() {
        // Mei et al., section 4.3: the texture L1, four sets of 96 ways, address bits 7 and 8, lines of 32 bytes.
        let sets = reveal(&[96; 4], |i| i >> 2 & 3);
        assert_eq!(sets.ways(), [96; 4]);
        assert_eq!(sets.index(1 << 33, 32), Some(Index::Bits(vec![7, 8])));
    }

    #[test]
    fn sets_that_have_not_overflowed_are_said_to_lack() {
        let footprints: Vec<Footprint> = (32..=36).map(|n| walk(n, &[4; 8], |i| i % 8)).collect();
        let sets = Sets::reveal(&footprints).unwrap();
        assert_eq!((sets.members.len(), sets.complete), (4, false));
        assert_eq!(sets.index(0, 64), None);
    }

    #[test]
    fn lines_that_recover_are_no_sets() {
        let missed = |lines: &[usize]| lines.iter().copied().collect();
        let footprints = [
            Footprint { lines: 10, missed: missed(&[]) },
            Footprint { lines: 11, missed: missed(&[1, 5, 10]) },
            Footprint { lines: 12, missed: missed(&[2, 7, 11]) },
        ];
        assert_eq!(Sets::reveal(&footprints), Err(Unclear::Recovers { lines: 12, hit: 3 }));
        let newest = [
            Footprint { lines: 10, missed: missed(&[]) },
            Footprint { lines: 11, missed: missed(&[10]) },
            Footprint { lines: 12, missed: missed(&[10, 11]) },
        ];
        assert_eq!(Sets::reveal(&newest), Err(Unclear::OnlyNew));
        let alone = [Footprint { lines: 10, missed: missed(&[]) }, Footprint { lines: 11, missed: missed(&[0]) }];
        assert_eq!(Sets::reveal(&alone), Err(Unclear::Alone { lines: 11 }));
    }

    proptest! {
        #[test]
        fn unequal_sets_are_found(ways in proptest::collection::vec(1usize..9, 2..12), base in 0u64..1000) {
            let count = ways.len();
            let sets = reveal(&ways, |i| (i + base as usize) % count);
            let mut found = sets.ways();
            found.sort_unstable();
            let mut expected = ways.clone();
            expected.sort_unstable();
            prop_assert!(sets.complete);
            prop_assert_eq!(found, expected);
            let modulo = match sets.index(base * 64, 64) {
                Some(Index::Modulo(n)) => n as usize == count,
                Some(Index::Bits(bits)) => count == 1 << bits.len(),
                _ => false,
            };
            prop_assert!(modulo);
        }

        #[test]
        fn parities_are_found(ways in 1usize..6, high in 0u32..4, base in 0u64..64) {
            // Two bits, the lower with another mixed in.
            let set = |i: usize| {
                let n = base as usize * 64 + i;
                (n ^ n >> (2 + high)) & 1 | n & 2
            };
            let sets = reveal(&[ways; 4], set);
            prop_assert_eq!(sets.ways(), vec![ways; 4]);
            prop_assert!(sets.index(base * 64 * 128, 128).is_some());
        }
    }
}
