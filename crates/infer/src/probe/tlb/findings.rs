//! What is stated of a level of the TLB: its reach, entries, page, cost of a miss and curve, with what one run cannot see.

use super::super::Unknown;
use super::rise::BELIEVED;
use super::{Level, SHARP};
use crate::analysis::robust::tenths;
use strata_model::attribute;
use strata_model::topology::Finding;
use strata_model::units::{Bytes, Cycles};

/// Ways of a level with a hashed index where they are not known: those of an H200's second level, the only one known.
const FEWEST_WAYS: usize = 8;
/// Where one page too many makes only some pages miss, so many of the pages that seem to fit do: the first misses are few, and may
/// come by chance only.
const UNNOTICED: f64 = 0.95;
/// Two places of which one holds so many times the pages of the other do not differ by their page tables alone.
const APART: u64 = 2;
/// Of fewer pages that fit, places may end at multiples of so much by chance.
const SEVERAL: u64 = 16;
/// Pages too many whose misses may come by chance only, however few pages fit.
const RARELY: u64 = 2;

/// How all of it is measured.
pub(super) const METHOD: &str = "visits to one line per page by ld.global.cg: first load of the line minus the second";

impl Level {
    /// The reach.
    ///
    /// # Errors
    ///
    /// An unknown, if at some place less than half of it fits: what a walk over one place leaves behind then keeps out what the next
    /// one visits, as where entries that were hit are not replaced.
    pub(super) fn reach(&self) -> Result<Finding<Bytes>, Unknown> {
        if let Some(entry) = self.ends_with_entry() {
            return Ok(self.reach_of_entry(entry));
        }
        let reach = self.distance * self.entries;
        let fewest = self.counts().fold(self.entries, u64::min);
        if fewest * APART < self.entries {
            return Err(Unknown::because(format!(
                "{} pages fit at one place in the memory and {fewest} at another: entries that were hit may stay, so that the reach \
                 depends on what was visited before",
                self.entries
            )));
        }
        // The first misses may go unseen.
        let low = (self.distance * self.surely(fewest)).0 as f64 * (1.0 - self.early());
        // Among loads that are slow at random one may have passed for the first miss; here visits take longer in the mean.
        let grown = if self.rise.strays > 0.0 { self.rise.grown } else { 0 };
        // What took so long to settle may not be settled yet: as much again.
        let most = self.distance * (self.most() + self.unsettled + self.written());
        let high = most.0.max(self.with_first_entry()).max(grown) as f64;
        let counts: Vec<String> = self.windows.iter().map(|window| window.entries.to_string()).collect();
        let early = match self.early() {
            0.0 => "",
            _ => "; the index is hashed: with other page tables, up to one entry of each set fewer fit",
        };
        let at_others = match counts.is_empty() {
            true => "; one place in the memory".to_owned(),
            false => format!("; at other places in the memory {}", counts.join(", ")),
        };
        Ok(Finding::measured(reach, METHOD).range(low, high).note(format!(
            "{} pages at a distance of {} fit, and one more does not{at_others}{early}",
            self.entries, self.distance
        )))
    }

    /// Whether one page too many makes nearly all miss.
    pub(super) fn is_sharp(&self) -> bool {
        self.curve.get(1).is_some_and(|step| step.share > SHARP)
    }

    /// Entries that may hold what is written rather than what is visited: the page of the times that a walk writes out. Where each
    /// page too many makes nearly all miss, it would have, too.
    fn written(&self) -> u64 {
        u64::from(!self.is_sharp())
    }

    /// The reach in bytes, with what the first entry may map before the first page that was visited: where the page is unknown, no
    /// more than the alignment of the place allows at which a further entry begins. The first of at least two entries is no
    /// larger than what was counted.
    fn with_first_entry(&self) -> u64 {
        let reach = (self.distance * self.entries).0;
        let alignment = lowest_bit(self.base.wrapping_add(reach));
        if self.page.is_ok() { reach } else { reach + (self.base & alignment.wrapping_sub(1)).min(reach) }
    }

    /// Most that a single entry maps, where the level has one: then what fits ends at every place where the entry does, at a multiple of a power
    /// of two that is at least the most that fits, and how much fits says how far into the entry a place is. None, if it is not so.
    fn ends_with_entry(&self) -> Option<Bytes> {
        let end = |(first, entries): (u64, u64)| self.base.wrapping_add((self.distance * (first + entries)).0);
        let places = std::iter::once((0, self.entries)).chain(self.windows.iter().map(|w| (w.first, w.entries)));
        let entry = places.map(|place| lowest_bit(end(place))).min()?;
        let differ = self.windows.iter().any(|window| window.entries != self.entries);
        let is_seen = self.windows.iter().all(|window| window.ends) && self.most() >= SEVERAL;
        // Where it is known that an entry maps a page, several pages are several entries.
        let is_one = self.page.is_err() && entry >= (self.distance * self.most()).0;
        (differ && is_seen && is_one).then_some(Bytes(entry))
    }

    /// The reach of a level with one entry, which maps no more than so many bytes.
    fn reach_of_entry(&self, entry: Bytes) -> Finding<Bytes> {
        let most = self.most();
        let low = (self.distance * self.surely(most)).0 as f64;
        let counts: Vec<String> = self.counts().map(|pages| pages.to_string()).collect();
        Finding::measured(self.distance * most, METHOD).range(low, entry.0 as f64).note(format!(
            "{} pages at a distance of {} fit at the places that were tried. At each place they end at a multiple of {entry}, as where one \
             entry maps up to so much",
            counts.join(", "),
            self.distance
        ))
    }

    /// How many of so many pages that seem to fit surely do. Unless one too many makes nearly all miss, it may be missed by chance
    /// only now and then.
    fn surely(&self, pages: u64) -> u64 {
        let share = |share: f64| (share * pages as f64).floor() as u64;
        match self.rise.classes {
            _ if self.is_sharp() => pages,
            Some(_) => share(UNNOTICED).min(pages.saturating_sub(self.rise.unnoticed(pages).max(RARELY))),
            None => share(1.0 - BELIEVED),
        }
    }

    /// By what share of the entries the first miss may come earlier in another process. Where the index is hashed, pages in a row
    /// fill the sets to within about one page of each other, so that the first set overflows up to one page of each set before
    /// all are full. Which sets that are depends on where the driver put the pages, which stays as it is in one process.
    fn early(&self) -> f64 {
        match &self.sets {
            _ if self.is_sharp() => 0.0,
            Ok(sets) if sets.complete => 0.0,
            Ok(sets) => 1.0 / sets.ways().into_iter().min().unwrap_or(FEWEST_WAYS).max(1) as f64,
            Err(_) => 1.0 / FEWEST_WAYS as f64,
        }
    }

    /// How many pages fit, at each place.
    fn counts(&self) -> impl Iterator<Item = u64> {
        std::iter::once(self.entries).chain(self.windows.iter().map(|window| window.entries))
    }

    /// Most pages that fit at any place.
    fn most(&self) -> u64 {
        self.counts().fold(self.entries, u64::max)
    }

    pub(super) fn entries(&self) -> Result<Finding<u64>, Unknown> {
        self.page.clone()?;
        let ways = self.sets.as_ref().ok().filter(|s| s.complete).map(|s| s.ways().iter().sum::<usize>());
        Ok(match ways {
            Some(sum) => Finding::measured(sum as u64, METHOD).unit("entries").range(sum as f64, sum as f64),
            None => Finding::measured(self.most(), METHOD)
                .unit("entries")
                .at_least(self.surely(self.most()) as f64)
                .note("entries in use when the first TLB miss occurs; sets that were not full may hold more"),
        })
    }

    pub(super) fn page(&self) -> Result<Finding<Bytes>, Unknown> {
        self.page.clone()?;
        let page = self.distance.0;
        Ok(Finding::measured(
            self.distance,
            "largest distance between pages at which the covered footprint does not grow yet",
        )
        .range(page as f64, page as f64))
    }

    /// Largest footprint walked page by page.
    pub(super) fn largest(&self) -> Bytes {
        self.curve.last().map_or(Bytes(0), |step| step.footprint)
    }

    /// Cycles that a miss adds, and how far off that may be.
    pub(super) fn cost(&self) -> (f64, f64) {
        match (self.rise.classes, self.every_miss, self.rise.above) {
            (Some(classes), _, _) => (classes.miss - classes.hit, classes.spread),
            (None, Some((cost, error)), _) => (cost, 2.0 * error),
            (None, None, Some(above)) => (above - self.rise.below, 2.0 * self.rise.error),
            (None, None, None) => (0.0, f64::INFINITY),
        }
    }

    pub(super) fn penalty(&self) -> Finding<Cycles> {
        let (penalty, error) = self.cost();
        Finding::measured(Cycles(tenths(penalty)), METHOD)
            .range(tenths(penalty - error), tenths(penalty + error))
            .note("added to a hit in this TLB level, with the data in the L2")
    }

    pub(super) fn staircase(&self) -> Finding<attribute::Curve> {
        let mut curve = self.curve.clone();
        if self.early() > 0.0 {
            // In another process the whole curve may have moved by more than its length.
            let highest = curve.iter().filter_map(|step| step.interval).map(|(_, high)| high).fold(0.0, f64::max);
            curve.iter_mut().for_each(|step| step.interval = Some((0.0, highest)));
        }
        Finding::measured(
            attribute::Curve::rounded(&curve),
            "footprint in bytes, share of visits that miss, and the lowest and highest share expected of another measurement; \
             pages in ascending order",
        )
    }
}

fn lowest_bit(address: u64) -> u64 {
    address & address.wrapping_neg()
}
