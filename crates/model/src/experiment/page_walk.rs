//! Walks over pages: whether what one SM translates displaces the translations of another.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Chain, LoadPath, Order};
use crate::samples::{Lap, Samples};
use crate::units::Bytes;

/// Distance of the places within a page at which it may be visited: a cache line of any GPU is no longer.
const LINE: Bytes = Bytes(128);
/// Most laps of anybody, and most pages of a window: more than any TLB known has entries. A launch then takes a few seconds at most.
const MOST_LAPS: u32 = 64;
const MOST_PAGES: u32 = 1 << 16;
/// Most parts of a lap.
const MOST_PARTS: u32 = 64;

/// Some SMs, the walkers, visit the pages of one window of memory, some others, the partners, those of another. Walkers make laps, time one,
/// wait for the laps of the partners, and time one more. Each page is visited at one place, by loads that bypass the L1, in a random order.
///
/// A lap is timed in parts, so that a load that takes long for another reason spoils one of them only. `laps` has the times of each walker, those
/// before and those after the partners, one walker after the other; `sms` has the walkers, and `base` is the address of their window.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageWalk {
    /// Pages of each of the two windows, a multiple of `parts`.
    pub pages: u32,
    /// Their distance.
    pub distance: Bytes,
    /// The SMs that walk the first window, counted from 0 in ascending `%smid`, and in ascending order.
    pub walkers: Vec<u32>,
    /// The SMs that walk the second, in ascending order. One that is a walker, too, does it between its own times.
    pub partners: Vec<u32>,
    /// Laps of a walker before the first that is timed, and laps of a partner.
    pub laps: u32,
    /// Parts of a lap that are timed one by one.
    pub parts: u32,
    /// Seed of the order of the pages, and of the places in them.
    pub seed: u64,
    /// Tells repetitions of one experiment apart.
    pub repeat: u32,
}

impl PageWalk {
    const SCATTERED: Order = Order::Scattered { granule: LINE };

    /// Memory of one of the windows.
    pub const fn window(&self) -> Bytes {
        Bytes(self.distance.0.saturating_mul(self.pages as u64))
    }

    /// The visits to the window of the walkers, or of the partners.
    pub fn chain(&self, of_partners: bool) -> Chain<'static> {
        // Another order of the same length, so that nobody takes the two for one.
        let seed = self.seed.wrapping_add(of_partners.into());
        Chain {
            path: LoadPath::GlobalCg,
            footprint: self.window(),
            stride: self.distance,
            order: &Self::SCATTERED,
            seed,
        }
    }

    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        if let Some(defect) = self.chain(false).defect() {
            return Some(defect);
        }
        if self.pages > MOST_PAGES || self.window().0.checked_mul(2).is_none() {
            return Some(format!(
                "two windows of {} pages at distances of {}: they have {MOST_PAGES} pages each at most",
                self.pages, self.distance
            ));
        }
        if self.walkers.is_empty() {
            return Some("nobody walks".into());
        }
        let ascend = |sms: &[u32]| sms.is_sorted_by(|one, next| one < next);
        if !ascend(&self.walkers) || !ascend(&self.partners) {
            return Some("the SMs of a walk over pages are listed in ascending order, each once".into());
        }
        if !(1..=MOST_PARTS).contains(&self.parts) || !self.pages.is_multiple_of(self.parts) {
            return Some(format!(
                "{} pages in {} parts: there are 1 to {MOST_PARTS}, all alike",
                self.pages, self.parts
            ));
        }
        (!(1..=MOST_LAPS).contains(&self.laps)).then(|| format!("{} laps: there are 1 to {MOST_LAPS}", self.laps))
    }

    /// All SMs that take part, in ascending order.
    pub fn sms(&self) -> Vec<u32> {
        let mut all = [&self.walkers[..], &self.partners[..]].concat();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Pages of a part.
    pub const fn pages_of_a_part(&self) -> u32 {
        self.pages / self.parts
    }

    /// Times that the samples hold.
    pub const fn times(&self) -> usize {
        2 * self.parts as usize * self.walkers.len()
    }

    /// Cycles by which a visit takes longer after the partners have walked, by walker: the median over the parts of the lap. Nothing, if the
    /// samples are not of this.
    pub fn rises(&self, samples: &Samples) -> Option<Vec<(u32, f64)>> {
        if self.defect().is_some() || samples.sms != self.walkers || samples.laps.len() != self.times() {
            return None;
        }
        let parts = self.parts as usize;
        let rise = |laps: &[Lap]| {
            let (before, after) = laps.split_at(parts);
            let mut rises: Vec<f64> =
                before.iter().zip(after).map(|(before, after)| after.cycles as f64 - before.cycles as f64).collect();
            rises.sort_unstable_by(f64::total_cmp);
            f64::midpoint(rises[(parts - 1) / 2], rises[parts / 2]) / f64::from(self.pages_of_a_part())
        };
        Some(samples.sms.iter().zip(samples.laps.chunks_exact(2 * parts)).map(|(&sm, laps)| (sm, rise(laps))).collect())
    }
}

impl fmt::Display for PageWalk {
    /// `96 pages at distances of 2 MiB, 3 SMs, after SM 7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sms = |sms: &[u32]| match sms {
            [] => "no SM".to_owned(),
            [one] => format!("SM {one}"),
            several => format!("{} SMs", several.len()),
        };
        write!(f, "{} pages at distances of {}, {}", self.pages, self.distance, sms(&self.walkers))?;
        write!(f, ", after {}", sms(&self.partners))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::MIB;

    fn walk() -> PageWalk {
        let distance = Bytes(2 * MIB);
        PageWalk { pages: 100, distance, walkers: vec![0, 7], partners: vec![3], laps: 2, parts: 4, seed: 1, repeat: 0 }
    }

    #[test]
    fn a_rise_is_of_a_visit() {
        let lap = |cycles| Lap { loads: 25, cycles };
        // One part of the second SM was disturbed.
        let laps = [700, 700, 700, 700, 700, 700, 700, 700, 700, 701, 702, 700, 950, 5000, 952, 950];
        let samples = Samples { laps: laps.map(lap).to_vec(), sms: vec![0, 7], ..Samples::default() };
        assert_eq!(walk().rises(&samples), Some(vec![(0, 0.0), (7, 10.0)]));
        assert_eq!(walk().rises(&Samples { sms: vec![0], ..samples }), None);
    }

    #[test]
    fn sms_ascend_and_somebody_walks() {
        assert_eq!(walk().defect(), None);
        assert_eq!(walk().sms(), [0, 3, 7]);
        assert!(PageWalk { walkers: vec![], ..walk() }.defect().unwrap().contains("nobody"));
        assert!(PageWalk { walkers: vec![7, 0], ..walk() }.defect().unwrap().contains("ascending"));
        assert!(PageWalk { partners: vec![3, 3], ..walk() }.defect().unwrap().contains("each once"));
        assert!(PageWalk { parts: 3, ..walk() }.defect().unwrap().contains("all alike"));
        assert!(PageWalk { parts: 0, ..walk() }.defect().is_some());
        assert!(PageWalk { laps: 0, ..walk() }.defect().unwrap().contains("1 to 64"));
        assert!(PageWalk { pages: 0, ..walk() }.defect().is_some());
        assert!(PageWalk { pages: 1 << 17, distance: Bytes(128), ..walk() }.defect().unwrap().contains("at most"));
        assert!(PageWalk { distance: Bytes(u64::MAX / 128 * 128), pages: 1, ..walk() }.defect().is_some());
    }

    #[test]
    fn the_windows_are_two_chains() {
        assert_ne!(walk().chain(false), walk().chain(true));
        assert_eq!(walk().chain(true).lap(), 100);
    }
}
