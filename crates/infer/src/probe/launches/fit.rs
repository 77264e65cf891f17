//! Which footprints fit the L1 of a launch, by the mean of a lap.

use super::super::capacity::Capacity;
use super::super::{Gap, Notebook};
use crate::analysis::search::{self, Bracket};
use crate::analysis::{mean, robust};
use strata_model::attribute::LaunchRow;
use strata_model::experiment::{Chase, Launched, LoadPath, Place, Timing};
use strata_model::facts::DeviceFacts;
use strata_model::samples::Lap;
use strata_model::units::Bytes;

/// Footprint that every L1 holds.
pub(super) const SMALL: Bytes = Bytes::kib(1);
/// Largest footprint that is tried, in the usable capacity that was found with the smallest hint: a launch that sets nothing
/// aside has more.
const BEYOND: f64 = 1.25;
/// Footprints of a round of the search.
const SECTIONS: usize = 32;
/// Rounds of the search. Two leave some 1/500 of the largest footprint.
const ROUNDS: usize = 2;
/// Share of missing loads that is told from none by the mean of a lap.
const FEWEST: f64 = 0.005;
/// Share of missing loads that must be told from none.
const MOST_UNSEEN: f64 = 0.05;
/// Chases of the small footprint in each launch, which show the noise.
const REFERENCES: u32 = 6;
/// Level of the interval of their mean.
const LEVEL: f64 = 0.99;
/// Measurements of each length in a launch. Together they time at least one lap.
const MEASUREMENTS: u32 = 3;

/// What a launch states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Threads of a block.
    pub threads: u32,
    /// Shared memory of a block.
    pub shared: Bytes,
    /// The hint, in per cent.
    pub carveout: Option<u8>,
}

impl Shape {
    /// The row of a launch of this shape, with what is set aside for it.
    pub fn row(self, facts: &DeviceFacts, size: Range, configured: Option<Bytes>) -> LaunchRow {
        LaunchRow {
            threads_per_block: self.threads,
            blocks_per_sm: facts.resident_blocks(self.threads, self.shared).0,
            shared_per_block: self.shared,
            carveout_percent: self.carveout,
            shared_configured: configured,
            size: size.value,
            low: size.low,
            high: size.high,
        }
    }
}

/// A size with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    /// Lower end.
    pub low: Bytes,
    /// The size.
    pub value: Bytes,
    /// Upper end.
    pub high: Bytes,
}

/// The cache of which the size by launch is asked.
pub struct Cache<'c> {
    /// The path of its loads.
    pub path: LoadPath,
    /// Its capacity with the smallest hint.
    pub capacity: &'c Capacity,
    /// Distance of the elements of a chain: its line.
    pub stride: Bytes,
}

impl Cache<'_> {
    /// Largest footprint that is tried.
    pub(super) fn top(&self) -> Bytes {
        Bytes((self.capacity.highest.0 as f64 * BEYOND) as u64).round_up(self.stride)
    }

    fn experiment(&self, shape: Shape, footprint: Bytes) -> Launched {
        let loads = (self.top() / self.stride).div_ceil(u64::from(3 * MEASUREMENTS)) as u32;
        Launched {
            chase: Chase {
                timing: Timing::Laps { loads, rounds: MEASUREMENTS },
                place: Place { carveout_percent: shape.carveout, ..Place::default() },
                ..Chase::laps(self.path, footprint, self.stride)
            },
            threads_per_block: shape.threads,
            shared_per_block: shape.shared,
        }
    }

    /// Which footprints show misses in a launch of this shape, and what share of a lap could miss unseen.
    pub(super) fn seen(
        &self,
        notebook: &Notebook,
        shape: Shape,
        footprints: &[u64],
    ) -> Result<(Vec<(u64, bool)>, f64), Gap> {
        let hits = (0..REFERENCES).map(|repeat| {
            let hit = self.experiment(shape, SMALL);
            Launched { chase: Chase { repeat, ..hit.chase }, ..hit }
        });
        let larger = footprints.iter().map(|&footprint| self.experiment(shape, Bytes(footprint)));
        let experiments: Vec<Launched> = hits.chain(larger).collect();
        let measurements = notebook.read(&experiments)?;
        let (hits, larger) = measurements.split_at(REFERENCES as usize);
        let hits: Vec<f64> = hits.iter().map(|hit| cycles(&hit.samples().laps)).collect();
        let (low, high) = mean::interval(&hits, LEVEL);
        let hit = f64::midpoint(low, high);
        let levels = &self.capacity.levels;
        let miss = levels.miss - levels.hit;
        let conflicts = robust::median(&self.capacity.conflicts).unwrap_or(0.0) * self.stride.0 as f64
            / self.capacity.usable.0.max(1) as f64;
        // A chain that is measured once is noisier than the references together: a whole width.
        let unseen = FEWEST.max((high - low) / miss).max(2.0 * conflicts);
        if unseen > MOST_UNSEEN {
            return Gap::unknown(format!(
                "{:.0} % of a lap could miss unseen: noise is too large beside what a miss costs",
                unseen * 100.0
            ));
        }
        let shown = footprints.iter().zip(larger).map(|(&footprint, larger)| {
            // Of a whole lap, since misses may all be in one part of it.
            (footprint, (cycles(&larger.samples().laps) - hit) / miss > unseen)
        });
        Ok((shown.collect(), unseen))
    }

    /// The largest footprint without misses in a launch of this shape.
    pub(super) fn knee(&self, notebook: &Notebook, shape: Shape) -> Result<Range, Gap> {
        let mut bracket = Bracket { low: 0, high: self.top().0 };
        let mut unseen: f64 = 0.0;
        let mut least = 0;
        for round in 0..ROUNDS {
            let sections = search::sections(bracket, self.stride.0, SECTIONS);
            if sections.is_empty() {
                break;
            }
            let (shown, share) = self.seen(notebook, shape, &sections)?;
            unseen = unseen.max(share);
            // Each footprint lies elsewhere. Where one near the edge misses that is smaller than one that does not, the place
            // matters.
            let fits = shown.iter().take_while(|(_, misses)| !misses).map(|(at, _)| *at).last();
            least = fits.unwrap_or(bracket.low);
            // Noise may have made the first footprint that shows misses do so: the next round goes one further.
            let end = bracket.high;
            bracket = search::narrow(&shown, bracket, false);
            if round + 1 < ROUNDS {
                let further = shown.iter().map(|(at, _)| *at).find(|at| *at > bracket.high);
                bracket.high = further.unwrap_or(end);
            }
        }
        if bracket.low == 0 {
            return Gap::unknown("even the smallest footprint misses");
        }
        if bracket.high == self.top().0 {
            return Gap::unknown(format!("misses stay rare up to {}", self.top()));
        }
        let value = Bytes(bracket.low);
        Ok(Range {
            low: self.less(least.min(bracket.low), unseen),
            value,
            high: Bytes(bracket.high - self.stride.0).max(value),
        })
    }

    /// A footprint less what could miss of it unseen. Twice as much, since lines that find no place in a hashed cache may be
    /// rarer than the lines that were added.
    fn less(&self, footprint: u64, unseen: f64) -> Bytes {
        Bytes((footprint as f64 * (1.0 - 2.0 * unseen)) as u64).round_down(self.stride)
    }

    /// A range as wide as allocations differ, too.
    pub(super) fn over_allocations(&self, knee: Range) -> Range {
        let Capacity { usable, lowest, highest, .. } = self.capacity;
        let scaled = |end: Bytes, by: Bytes| Bytes((end.0 as f64 * by.0 as f64 / usable.0.max(1) as f64) as u64);
        Range {
            low: scaled(knee.low, *lowest).min(knee.low).round_down(self.stride),
            high: scaled(knee.high, *highest).max(knee.high).round_down(self.stride),
            ..knee
        }
    }
}

/// Cycles a load of all these measurements together.
fn cycles(spans: &[Lap]) -> f64 {
    let sum = |of: fn(&Lap) -> u64| spans.iter().map(of).sum::<u64>() as f64;
    sum(|span| span.cycles) / sum(|span| span.loads.into()).max(1.0)
}
