//! Describes which lines miss from lap to lap beyond the capacity, where no fixed sets can be identified.

use std::collections::BTreeSet;
use std::fmt;

/// What laps over one footprint have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turns {
    /// Laps watched.
    pub laps: usize,
    /// Fewest and most lines that miss in a lap.
    pub a_lap: (usize, usize),
    /// Lines that miss in some lap.
    pub together: usize,
    /// Neighbouring lines that miss and hit as one, a power of two.
    pub block: usize,
    /// Watched laps after which the same lines miss again, if they do.
    pub period: Option<usize>,
}

/// Largest block that is looked for: 2^5 lines.
const LARGEST_BLOCK: u32 = 5;

impl Turns {
    /// From the lines that missed in each lap over `lines` lines. `first` is the number of the first line from address 0 on, so
    /// that blocks are aligned. `None` if nothing missed.
    pub fn of(laps: &[BTreeSet<usize>], lines: usize, first: u64) -> Option<Self> {
        let together: BTreeSet<usize> = laps.iter().flatten().copied().collect();
        if together.is_empty() {
            return None;
        }
        let block_of = |line: usize, shift: u32| (first + line as u64) >> shift;
        let as_one = |shift: u32| {
            laps.iter().all(|missed| {
                let size = 1usize << shift;
                // A block at either end may be cut off.
                (0..lines).all(|line| {
                    let begin = (block_of(line, shift) << shift).checked_sub(first).map(|b| b as usize);
                    match begin {
                        Some(begin) if begin + size <= lines => missed.contains(&line) == missed.contains(&begin),
                        _ => true,
                    }
                })
            })
        };
        let block = 1 << (0..=LARGEST_BLOCK).take_while(|&shift| as_one(shift)).last().unwrap_or(0);
        let period = (1..=laps.len() / 2).find(|&p| laps.iter().zip(&laps[p..]).all(|(a, b)| a == b));
        let counts = laps.iter().map(BTreeSet::len);
        let a_lap = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
        Some(Turns { laps: laps.len(), a_lap, together: together.len(), block, period })
    }
}

impl fmt::Display for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = self.a_lap;
        if least == most {
            write!(f, "{least}")?
        } else {
            write!(f, "{least} to {most}")?
        }
        write!(f, " lines miss per lap, {} different lines over {} laps", self.together, self.laps)?;
        if self.block > 1 {
            write!(f, "; groups of {} neighbouring lines miss together", self.block)?;
        }
        match self.period {
            Some(1) => write!(f, "; every lap misses the same lines"),
            Some(_) => write!(f, "; the laps repeat"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_and_periods_are_found(shift in 0u32..4, period in 1usize..6, first in 0u64..100, blocks in 12usize..30) {
            // In each lap every `period`-th block misses, one further on than in the lap before.
            let size = 1usize << shift;
            let lines = blocks * size;
            let number = |line: usize| ((first + line as u64) >> shift) as usize;
            let lap = |n: usize| (0..lines).filter(|&line| (number(line) + n).is_multiple_of(period + 1)).collect::<BTreeSet<_>>();
            let laps: Vec<_> = (0..20).map(lap).collect();
            let turns = Turns::of(&laps, lines, first).unwrap();
            prop_assert_eq!(turns.block, size);
            prop_assert_eq!(turns.period, Some(period + 1));
            prop_assert_eq!(turns.together, lines);
        }
    }

    #[test]
    fn chance_has_no_turns() {
        let laps: Vec<BTreeSet<usize>> = [vec![1, 7], vec![2, 9], vec![1], vec![5, 8]]
            .into_iter()
            .map(|missed| missed.into_iter().collect())
            .collect();
        let turns = Turns::of(&laps, 10, 0).unwrap();
        assert_eq!((turns.block, turns.period, turns.a_lap, turns.together), (1, None, (1, 2), 6));
        assert_eq!(turns.to_string(), "1 to 2 lines miss per lap, 6 different lines over 4 laps");
        assert_eq!(Turns::of(&vec![BTreeSet::new(); 3], 10, 0), None);
    }
}
