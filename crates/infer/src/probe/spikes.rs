//! Slow loads that are not misses: on some devices single loads are slow at random (a refresh, another process).
//!
//! Their number grows with the footprint although it fits, so that raw counts would put the knee far too low. Their share
//! is taken from footprints that fit, and what chance makes of it is taken off each count before the growth is looked for;
//! the footprints below the knee that comes out say the share more exactly, until nothing changes. So a knee among spikes
//! is found a little late; without spikes nothing is taken off. Misses that stay the same from footprint to footprint are
//! conflicts, not spikes. Spikes come as often in every footprint. So where slow loads are more frequent in the larger ones of
//! the footprints below the knee than in the smaller ones, they are misses that begin slowly (uneven sets of a policy that keeps
//! what was hit miss once or twice a lap), and the share is taken from the smaller ones only. Fails if spikes come in bursts.

use crate::analysis::growth::{self, Growth};
use statrs::distribution::{Binomial, DiscreteCDF};

/// Counts begin to mean misses so many standard deviations above the number of spikes that is expected.
const SURE: f64 = 3.0;
/// Lines by which a footprint grows until one more misses, at most: where sets are unevenly filled, the next one overflows
/// some lines after the first.
const SLOWEST: f64 = 8.0;
/// Slow loads that fall among the larger footprints so often with a smaller chance than this are no spikes: about that of [`SURE`]
/// deviations.
const CHANCE: f64 = 1e-3;
/// Times that the share is taken anew.
const MAX_ROUNDS: usize = 8;

/// Slow loads of one footprint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// The footprint.
    pub footprint: u64,
    /// Loads that were timed.
    pub loads: usize,
    /// Those that were slow.
    pub slow: f64,
}

/// Slow loads among all, of footprints that fit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spikes {
    slow: f64,
    loads: f64,
}

impl Spikes {
    /// Of these counts, all of footprints that fit.
    pub fn among(counts: &[Count]) -> Self {
        let sum = |f: fn(&Count) -> f64| counts.iter().map(f).sum();
        Spikes { slow: sum(|c| c.slow), loads: sum(|c| c.loads as f64) }
    }

    /// Their share of the loads.
    pub fn share(&self) -> f64 {
        if self.slow > 0.0 { self.slow / self.loads } else { 0.0 }
    }

    /// These and those together.
    fn and(self, other: Spikes) -> Self {
        Spikes { slow: self.slow + other.slow, loads: self.loads + other.loads }
    }

    /// The chance that so many or more of all these slow loads fall among the later ones, if they are as frequent there as before.
    fn chance(self, later: Spikes) -> f64 {
        let all = self.and(later);
        if self.loads <= 0.0 || later.slow < 1.0 {
            return 1.0;
        }
        let falls = Binomial::new(later.loads / all.loads, all.slow.round() as u64);
        falls.map_or(1.0, |falls| falls.sf(later.slow.round() as u64 - 1))
    }

    /// Slow loads that spikes do not explain. The share is itself a count, with a deviation of its own.
    pub fn excess(&self, count: &Count) -> f64 {
        let loads = count.loads as f64;
        let expected = self.share() * loads;
        let deviation = if self.slow > 0.0 { (expected * (1.0 + loads / self.loads)).sqrt() } else { 0.0 };
        (count.slow - expected - SURE * deviation).max(0.0)
    }
}

/// A knee with what spikes leave open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// Where misses have grown for sure.
    pub growth: Growth,
    /// The spikes as they are known below it.
    pub spikes: Spikes,
}

impl Knee {
    /// The lowest footprint at which the knee may be: among spikes the first misses beyond it go unseen. Misses grow by at
    /// least one a lap for every few `step`s, whatever the policy and the index; a knee from which they would have been seen
    /// to is ruled out. Without spikes that is the knee itself.
    pub fn lowest(&self, counts: &[Count], step: u64) -> u64 {
        let last = self.growth.last_flat;
        if self.spikes.slow <= 0.0 {
            return last;
        }
        let flat: Vec<&Count> = counts.iter().filter(|c| c.footprint <= last).collect();
        let possible = |candidate: u64| {
            let beyond = || flat.iter().filter(|c| c.footprint > candidate);
            let loads: f64 = beyond().map(|c| c.loads as f64).sum();
            let spiked = self.spikes.share() * loads;
            let excess = beyond().map(|c| c.slow).sum::<f64>() - spiked;
            let deviation = (spiked * (1.0 + loads / self.spikes.loads)).sqrt();
            let grown: f64 = beyond().map(|c| ((c.footprint - candidate) / step) as f64 / SLOWEST).sum();
            excess + SURE * deviation >= grown
        };
        flat.iter().map(|c| c.footprint).rev().take_while(|&f| possible(f)).last().unwrap_or(last)
    }
}

/// The spikes of these footprints, which ascend, and of those that fit: up to where slow loads become more frequent, if they do. There
/// misses have begun. If no load before is slow, one may have been.
fn steady(mut counts: &[Count], fitting: Spikes) -> Spikes {
    let all = counts.len();
    let until = |counts: &[Count], at: usize| fitting.and(Spikes::among(&counts[..at]));
    loop {
        let chance = |at: usize| until(counts, at).chance(Spikes::among(&counts[at..]));
        let least = (0..counts.len()).map(|at| (at, chance(at))).min_by(|a, b| a.1.total_cmp(&b.1));
        match least {
            Some((at, chance)) if chance < CHANCE => counts = &counts[..at],
            _ => break,
        }
    }
    let spikes = until(counts, counts.len());
    if counts.len() < all { Spikes { slow: spikes.slow.max(1.0), ..spikes } } else { spikes }
}

/// Where slow loads begin to grow by more than spikes explain. `counts` ascend in footprint.
pub fn knee(counts: &[Count], fitting: Spikes) -> Option<Knee> {
    let mut spikes = fitting;
    let mut knee = None;
    for _ in 0..MAX_ROUNDS {
        let points: Vec<(u64, f64)> = counts.iter().map(|c| (c.footprint, spikes.excess(c))).collect();
        let growth = growth::growth(&points)?;
        if knee == Some(growth) {
            break;
        }
        knee = Some(growth);
        let below: Vec<Count> = counts.iter().copied().filter(|c| c.footprint <= growth.last_flat).collect();
        let equal = below.iter().all(|c| c.slow == below[0].slow);
        if equal && fitting.slow == 0.0 {
            break;
        }
        spikes = steady(&below, fitting);
    }
    knee.map(|growth| Knee { growth, spikes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(slow: impl Fn(u64) -> f64) -> Vec<Count> {
        (20..60).map(|k| Count { footprint: k * 32, loads: 100 * k as usize, slow: slow(k) }).collect()
    }

    #[test]
    fn without_spikes_the_first_step_is_the_knee() {
        let found = knee(&counts(|k| if k > 40 { 1.0 } else { 0.0 }), Spikes { slow: 0.0, loads: 1000.0 });
        assert_eq!(found.map(|k| (k.growth.last_flat, k.growth.first_grown)), Some((40 * 32, 41 * 32)));
        let conflicts = knee(&counts(|k| if k > 40 { 8.0 } else { 7.0 }), Spikes::default());
        assert_eq!(conflicts.map(|k| (k.growth.base, k.growth.last_flat)), Some((7.0, 40 * 32)));
    }

    #[test]
    fn what_spikes_may_hide_is_left_open() {
        // One load in a hundred spikes; beyond the fortieth line five more loads a line miss, which shows late.
        let slow = |k: u64| k as f64 + 5.0 * k.saturating_sub(40) as f64;
        let found = knee(&counts(slow), Spikes { slow: 100.0, loads: 10_000.0 }).unwrap();
        assert!(found.growth.last_flat > 42 * 32, "{found:?}");
        let lowest = found.lowest(&counts(slow), 32);
        assert!((20 * 32..=40 * 32).contains(&lowest), "{lowest}");
    }

    #[test]
    fn misses_that_begin_slowly_are_no_spikes() {
        // One lap in seven has a spike. Beyond 240 lines two loads of a lap miss, and one more with every sixteen lines, as in uneven
        // sets that keep what was hit. Beyond 330 lines two more miss with each.
        let line = |k: u64| Count {
            footprint: k * 64,
            loads: k as usize,
            slow: f64::from(u8::from(k.is_multiple_of(7)))
                + if k > 240 { (2 + (k - 241) / 16) as f64 } else { 0.0 }
                + 2.0 * k.saturating_sub(330) as f64,
        };
        let counts: Vec<Count> = (200..360).map(line).collect();
        let found = knee(&counts, Spikes { slow: 1.0, loads: 500.0 }).unwrap();
        assert!(found.growth.last_flat < 280 * 64, "{found:?}");
        assert!(found.lowest(&counts, 64) <= 240 * 64, "{found:?}");
    }

    #[test]
    fn spikes_that_grow_with_the_footprint_are_no_knee() {
        // One load in a hundred, more or less, and 30 misses more with every line beyond the fortieth.
        let noise = |k: u64| (k as f64 + (k * 7 % 11) as f64 - 5.0).max(0.0);
        let slow = |k: u64| noise(k) + 30.0 * k.saturating_sub(40) as f64;
        for fitting in [Spikes { slow: 10.0, loads: 1000.0 }, Spikes { slow: 0.0, loads: 100.0 }] {
            let found = knee(&counts(slow), fitting).unwrap();
            assert!((40 * 32..=42 * 32).contains(&found.growth.last_flat), "{found:?}");
            assert!(found.lowest(&counts(slow), 32) <= 40 * 32, "{found:?}");
        }
        assert_eq!(knee(&counts(noise), Spikes { slow: 10.0, loads: 1000.0 }), None);
    }
}
