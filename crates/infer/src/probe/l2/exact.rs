//! The usable capacity of an L2 that is small enough to be walked line by line.
//!
//! The search by samples ([`super::search`]) leaves a bracket of a few pieces of 64 KiB. Inside it every line of a footprint is
//! timed; whole laps of one thread before, and between the windows of times, undo what other data and what writing the times
//! out has displaced. So the first line beyond the capacity shows. A walk takes time in proportion to the square of the
//! footprint, which is why large L2s keep the answer of the sample, with its interval.
//!
//! One lap between windows does not undo everything where lines leave in the order of their arrival (FIFO): a line that is
//! older than the one that displaced its neighbour is hit, and displaced before its next turn. So the edge is looked at again
//! with many laps, and searched again with them if its misses stay away.

use std::collections::BTreeSet;

use super::super::levels::HitMiss;
use super::super::spikes::{self, Count, Spikes};
use super::super::{Gap, Measurement, Notebook, Settle};
use super::PIECE;
use super::search::LATE;
use crate::analysis::growth::Growth;
use crate::analysis::search::{self, Bracket};
use strata_model::experiment::{Chase, LoadPath, Place, Timing, Walk};
use strata_model::units::Bytes;

/// Footprints up to this are walked line by line.
pub const LARGEST: Bytes = Bytes::mib(8);
/// Footprints between the ends of a bracket: a round of several costs little more than one while walks are short.
const SECTIONS: usize = 3;
/// As [`SECTIONS`], with many laps: each walk takes a tenth of a second, so that as few as possible are best.
const SECTIONS_OF_MANY: usize = 1;
/// Rounds at most: the slower way leaves half of the bracket each time, so that 24 narrow 2^24 lines to one.
const MAX_ROUNDS: usize = 24;
/// Whole laps before the first timed load, in the first search.
const WARM_LAPS: u32 = 2;
/// Whole laps before the first timed load and between the windows that settle FIFO sets, at least and at most. A set of `n` lines
/// needs up to `n` laps, where each lap has one miss, and L2s have up to 32 lines a set.
const MANY_LAPS: (u64, u64) = (12, 36);
/// Loads of all these laps together where that is more than the fewest: a tenth of a second.
const SETTLING_LOADS: u64 = 1 << 19;

/// What walking one allocation says of the capacity, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact {
    /// The largest footprint before misses grow.
    pub usable: u64,
    /// It may be as low as this.
    pub lowest: u64,
    /// It may be as high as this.
    pub highest: u64,
    /// The edge was found, or found again, with many laps.
    pub sure: bool,
}

/// How an allocation is walked.
pub struct Walks<'n> {
    /// Where samples come from.
    pub notebook: &'n Notebook,
    /// Hits and misses.
    pub levels: &'n HitMiss,
    /// Spikes below the edge.
    pub spikes: Spikes,
    /// Distance of the elements.
    pub step: Bytes,
    /// The allocation.
    pub allocation: u32,
}

impl Walks<'_> {
    /// Where misses begin to grow, to one step, from the bracket that a sample has left.
    ///
    /// # Errors
    ///
    /// An unknown, if misses do not grow within the bracket.
    pub fn refine(&self, coarse: &Growth) -> Result<Exact, Gap> {
        let margin = LATE * PIECE.0;
        let low = coarse.last_flat.saturating_sub(margin).max(PIECE.0);
        let first = self.search(Bracket { low, high: coarse.first_grown + margin }, coarse, Walk::Resident)?;
        let laps = (SETTLING_LOADS * self.step.0 / coarse.first_grown).clamp(MANY_LAPS.0, MANY_LAPS.1);
        let many = Walk::Settled { laps: laps as u32 };
        // A recording may lack the second look.
        let Ok(again) = self.counts(&first.edge, many).settled()? else { return Ok(first.exact) };
        if grown(&again) >= first.grown / 2.0 {
            return Ok(Exact { sure: true, ..first.exact });
        }
        let [low, high] = first.edge;
        let found = self.search(Bracket { low, high: high.max(coarse.first_grown) + margin }, coarse, many)?;
        Ok(Exact { sure: true, ..found.exact })
    }

    fn search(&self, first: Bracket, coarse: &Growth, walk: Walk) -> Result<Found, Gap> {
        let mut bracket = first;
        let mut sizes: BTreeSet<u64> = BTreeSet::new();
        for _ in 0..MAX_ROUNDS {
            let between = if walk == Walk::Resident { SECTIONS } else { SECTIONS_OF_MANY };
            let sections = search::sections(bracket, self.step.0, between).into_iter();
            sizes.extend(sections.chain([bracket.low, bracket.high]).map(|size| Bytes(size).round_down(self.step).0));
            let counts = self.counts(&sizes, walk)?;
            let Some(knee) = spikes::knee(&counts, self.spikes) else {
                // The sample was early by more than that: look further up.
                if bracket.high > 2 * coarse.first_grown {
                    return Gap::unknown("misses do not grow line by line where a sample shows growth");
                }
                bracket = Bracket { low: bracket.high, high: bracket.high + bracket.high / 16 };
                continue;
            };
            let Growth { last_flat, first_grown, flat_points, .. } = knee.growth;
            if flat_points == 1 && last_flat > PIECE.0 {
                // All of them miss, or the last that fits is the first: look further down.
                bracket = Bracket { low: (last_flat - last_flat / 16).max(PIECE.0), high: last_flat };
                continue;
            }
            if first_grown - last_flat <= self.step.0 {
                let edge = [last_flat, first_grown];
                let of_edge: Vec<Count> =
                    counts.iter().filter(|count| edge.contains(&count.footprint)).copied().collect();
                // A spike may pass for the first miss.
                let highest = if knee.spikes.share() > 0.0 { first_grown } else { last_flat };
                let lowest = knee.lowest(&counts, self.step.0).min(last_flat);
                let exact = Exact { usable: last_flat, lowest, highest, sure: false };
                return Ok(Found { exact, edge, grown: grown(&of_edge) });
            }
            bracket = Bracket { low: last_flat, high: first_grown };
        }
        Gap::unknown("the search line by line did not converge")
    }

    /// Slow loads of these footprints, in their order.
    fn counts<'s>(&self, sizes: impl IntoIterator<Item = &'s u64>, walk: Walk) -> Result<Vec<Count>, Gap> {
        let walks: Vec<Chase> = sizes.into_iter().map(|&size| self.walk(Bytes(size), walk)).collect();
        let count = |measurement: &Measurement<Chase>| Count {
            footprint: measurement.experiment.footprint.0,
            loads: measurement.latencies().len(),
            slow: self.levels.misses(measurement.latencies()) as f64,
        };
        Ok(self.notebook.read(&walks)?.iter().map(count).collect())
    }

    fn walk(&self, footprint: Bytes, walk: Walk) -> Chase {
        let warm_laps = if walk == Walk::Resident { WARM_LAPS } else { walk.laps_between() };
        let place = Place { allocation: self.allocation, ..Place::alone_on(0) };
        let chase = Chase { warm_laps, place, ..Chase::each_load(LoadPath::GlobalCg, footprint, self.step) };
        Chase { timing: Timing::EachLoad { loads: chase.lap() as u32, walk }, ..chase }
    }
}

/// What a search found.
struct Found {
    exact: Exact,
    /// The last footprint without further misses, and the first with them.
    edge: [u64; 2],
    /// By how many loads they differ.
    grown: f64,
}

/// How many loads more are slow at the end than at the beginning.
fn grown(counts: &[Count]) -> f64 {
    counts.last().map_or(0.0, |count| count.slow) - counts.first().map_or(0.0, |count| count.slow)
}
