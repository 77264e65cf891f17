//! Which footprints fit the L1 of a launch, by the mean of a lap.

use super::super::capacity::Capacity;
use super::super::{Gap, Measurement, Notebook, Settle};
use crate::analysis::search::{self, Bracket};
use crate::analysis::{mean, robust};
use strata_model::attribute::{LaunchRow, Step};
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
/// Times the share that could miss unseen, from which on misses are not noise.
pub(super) const CLEAR: f64 = 2.0;
/// Share of missing loads that must be told from none.
const MOST_UNSEEN: f64 = 0.05;
/// Standard deviations by which the misses of a footprint may lie above those of one that fits, by its place.
const DEVIATIONS: f64 = 2.0;
/// The standard deviation of a normal distribution, in medians of its absolute values.
const MEDIAN_TO_DEVIATION: f64 = 1.4826;
/// Chases of the small footprint in each launch, which show the noise.
const REFERENCES: u32 = 6;
/// Level of the interval of their mean.
const LEVEL: f64 = 0.99;
/// Measurements of each length in a launch. Together they time at least one lap.
const MEASUREMENTS: u32 = 3;

/// Times that a footprint with misses is measured where single loads are slow by chance: all must show misses.
const AMONG_SPIKES: u32 = 3;

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
    /// Lower and upper end at any place in memory. Each footprint lies at another place; if that changes how much of it misses,
    /// these ends are further apart than `low` and `high`.
    pub elsewhere: (Bytes, Bytes),
}

impl Range {
    /// Widened to hold another range of the same size.
    pub fn cover(&mut self, other: Range) {
        (self.low, self.high) = (self.low.min(other.low), self.high.max(other.high));
        self.elsewhere = (self.elsewhere.0.min(other.elsewhere.0), self.elsewhere.1.max(other.elsewhere.1));
    }
}

/// The cache of which the size by launch is asked.
pub struct Cache<'c> {
    /// The path of its loads.
    pub path: LoadPath,
    /// Its capacity with the smallest hint.
    pub capacity: &'c Capacity,
    /// Distance of the elements of a chain: its line.
    pub stride: Bytes,
    /// Whether single loads that should hit are slow by chance.
    pub spikes: bool,
}

impl Cache<'_> {
    /// Largest footprint that is tried.
    pub(super) fn top(&self) -> Bytes {
        Bytes((self.capacity.highest.0 as f64 * BEYOND) as u64).round_up(self.stride)
    }

    fn experiment(&self, shape: Shape, footprint: Bytes, repeat: u32) -> Launched {
        let loads = (self.top() / self.stride).div_ceil(u64::from(3 * MEASUREMENTS)) as u32;
        Launched {
            chase: Chase {
                repeat,
                timing: Timing::Laps { loads, rounds: MEASUREMENTS },
                place: Place { carveout_percent: shape.carveout, ..Place::default() },
                ..Chase::laps(self.path, footprint, self.stride)
            },
            threads_per_block: shape.threads,
            shared_per_block: shape.shared,
        }
    }

    /// The share of a lap that misses in a launch of this shape, by footprint, and what share could miss unseen.
    pub(super) fn shares(
        &self,
        notebook: &Notebook,
        shape: Shape,
        footprints: &[u64],
    ) -> Result<(Vec<(u64, f64)>, f64), Gap> {
        // The launch with the largest L1 tells what hits take, should the small footprint not fit this one's.
        let largest = Shape { threads: notebook.facts().max_threads_per_block, shared: Bytes(0), carveout: Some(0) };
        let small = |shape| (0..REFERENCES).map(move |repeat| self.experiment(shape, SMALL, repeat));
        let larger = footprints.iter().map(|&footprint| self.experiment(shape, Bytes(footprint), 0));
        let experiments: Vec<Launched> = small(largest).chain(small(shape)).chain(larger).collect();
        let measurements = notebook.read(&experiments)?;
        let (hits, larger) = measurements.split_at(2 * REFERENCES as usize);
        let hits: Vec<f64> = hits.iter().map(|hit| cycles(&hit.samples().laps)).collect();
        let (of_largest, hits) = hits.split_at(REFERENCES as usize);
        let (low, high) = mean::interval(hits, LEVEL);
        let hit = f64::midpoint(low, high);
        let levels = &self.capacity.levels;
        let miss = levels.miss - levels.hit;
        if low - mean::interval(of_largest, LEVEL).1 > FEWEST * miss {
            return Gap::unknown(format!("{SMALL} does not fit, so there are no hits to compare with"));
        }
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
        // Of a whole lap, since misses may all be in one part of it.
        let share = |larger: &Measurement<Launched>| (cycles(&larger.samples().laps) - hit) / miss;
        let mut shares: Vec<(u64, f64)> =
            footprints.iter().zip(larger).map(|(&footprint, larger)| (footprint, share(larger))).collect();
        if self.spikes {
            // One slow load among a few hundred passes for misses.
            let doubtful: Vec<&mut (u64, f64)> = shares.iter_mut().filter(|(_, share)| *share > unseen).collect();
            let again = |footprint| (1..AMONG_SPIKES).map(move |repeat| self.experiment(shape, footprint, repeat));
            let experiments: Vec<Launched> = doubtful.iter().flat_map(|one| again(Bytes(one.0))).collect();
            // An older recording has no repetitions.
            let measurements = notebook.read(&experiments).settled()?.unwrap_or_default();
            for (one, repeats) in doubtful.into_iter().zip(measurements.chunks(AMONG_SPIKES as usize - 1)) {
                one.1 = repeats.iter().map(share).fold(one.1, f64::min);
            }
        }
        Ok((shares, unseen))
    }

    /// The largest footprint without misses in a launch of this shape.
    pub(super) fn knee(&self, notebook: &Notebook, shape: Shape) -> Result<Range, Gap> {
        let mut bracket = Bracket { low: 0, high: self.top().0 };
        let mut unseen: f64 = 0.0;
        let mut least = 0;
        let (mut fits, mut last) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let sections = search::sections(bracket, self.stride.0, SECTIONS);
            if sections.is_empty() {
                break;
            }
            let (shares, share) = self.shares(notebook, shape, &sections)?;
            unseen = unseen.max(share);
            let shown = missing(&shares, share);
            last = shares;
            // Each footprint lies elsewhere. Where one near the edge misses that is smaller than one that does not, the place
            // matters.
            let run = shown.iter().take_while(|(_, misses)| !misses).map(|(at, _)| *at);
            least = run.last().unwrap_or(bracket.low);
            fits.extend(shown.iter().filter(|(_, misses)| !misses).map(|(at, _)| *at));
            // Noise may have made the first footprint that shows misses do so: the next round goes one further.
            let end = bracket.high;
            bracket = search::narrow(&shown, bracket, false);
            if round + 1 < ROUNDS {
                let further = shown.iter().map(|(at, _)| *at).find(|at| *at > bracket.high);
                bracket.high = further.unwrap_or(end);
            }
        }
        if bracket.low <= SMALL.0 {
            return Gap::unknown(format!("{SMALL} may not fit, so there are no hits to compare with"));
        }
        if bracket.high == self.top().0 {
            return Gap::unknown(format!("misses stay rare up to {}", self.top()));
        }
        let value = Bytes(bracket.low);
        let least = least.min(bracket.low);
        let low = self.less(least, unseen);
        // Where single loads are slow by chance, the next footprint may fit as well: all its measurements may have had one.
        let beyond = if self.spikes { bracket.high } else { bracket.high - self.stride.0 };
        let high = Bytes(beyond).max(value);
        // What shows hardly more misses than none at all may fit: noise is as large as that.
        let clear = last.iter().find(|(at, share)| *at >= bracket.high && *share > CLEAR * unseen);
        let most = clear.map_or(high, |(at, _)| high.max(Bytes(at - self.stride.0)));
        // Where the place in memory changes the misses by more than can be detected, another place may have another edge.
        let scatter = scatter(&last, unseen);
        let elsewhere = if scatter > unseen {
            let might_fit = last.iter().filter(|(_, share)| *share <= unseen + DEVIATIONS * scatter);
            let highest = might_fit.map(|(at, _)| Bytes(*at)).max().unwrap_or_default();
            // If no smaller footprint missed, this one may fit only at its own place: the next smaller one is the lower end.
            let before = fits.into_iter().filter(|fit| *fit < least).max().filter(|_| least == bracket.low);
            (self.less(before.unwrap_or(least), unseen), most.max(highest))
        } else {
            (low, most)
        };
        let elsewhere = (Bytes((elsewhere.0.0 as f64 * self.slowly(unseen)) as u64), elsewhere.1);
        Ok(Range { low, value, high, elsewhere })
    }

    /// A footprint less what could miss of it unseen. Twice as much, since lines that find no place in a hashed cache may be
    /// rarer than the lines that were added.
    fn less(&self, footprint: u64, unseen: f64) -> Bytes {
        Bytes((footprint as f64 * (1.0 - 2.0 * unseen)) as u64).round_down(self.stride)
    }

    /// The share that surely fits of the largest footprint whose misses go unseen. In sets that are not equal misses grow slowly at
    /// first, as single loads have shown with the smallest hint.
    fn slowly(&self, unseen: f64) -> f64 {
        let Capacity { usable, stairs, .. } = self.capacity;
        let is_unseen = |step: &&Step| step.interval.map_or(step.share, |(low, _)| low) <= unseen;
        let most = stairs.steps.iter().filter(is_unseen).map(|step| step.footprint).max();
        most.map_or(1.0, |most| usable.0 as f64 / most.max(*usable).0.max(1) as f64)
    }

    /// A range as wide as places and allocations differ, too.
    pub(super) fn over_allocations(&self, knee: Range) -> Range {
        let Capacity { usable, lowest, highest, .. } = self.capacity;
        let (low, high) = knee.elsewhere;
        let scaled = |end: Bytes, by: Bytes| Bytes((end.0 as f64 * by.0 as f64 / usable.0.max(1) as f64) as u64);
        Range {
            low: scaled(low, *lowest).min(low).round_down(self.stride),
            high: scaled(high, *highest).max(high).round_down(self.stride),
            ..knee
        }
    }
}

/// Which footprints show misses.
pub(super) fn missing(shares: &[(u64, f64)], unseen: f64) -> Vec<(u64, bool)> {
    shares.iter().map(|&(footprint, share)| (footprint, share > unseen)).collect()
}

/// By how much the share of misses scatters around a smooth curve, as a standard deviation: from how far each footprint is off
/// the line through its neighbours, where not all three are without misses. None, with fewer than three of them.
fn scatter(shares: &[(u64, f64)], unseen: f64) -> f64 {
    let some_miss = |three: &&[(u64, f64)]| three.iter().any(|(_, share)| *share > unseen);
    let off = |three: &[(u64, f64)]| {
        let [(from, first), (at, share), (to, last)] = [three[0], three[1], three[2]];
        let part = (at - from) as f64 / (to - from).max(1) as f64;
        // Its variance is that of a share, and those of both neighbours in their weights.
        (share - first - (last - first) * part).abs() / (1.0 + part * part + (1.0 - part) * (1.0 - part)).sqrt()
    };
    let offs: Vec<f64> = shares.windows(3).filter(some_miss).map(off).collect();
    if offs.len() < 3 {
        return 0.0;
    }
    robust::median(&offs).unwrap_or(0.0) * MEDIAN_TO_DEVIATION
}

/// Cycles a load of all these measurements together.
fn cycles(spans: &[Lap]) -> f64 {
    let sum = |of: fn(&Lap) -> u64| spans.iter().map(of).sum::<u64>() as f64;
    sum(|span| span.cycles) / sum(|span| span.loads.into()).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNSEEN: f64 = 0.005;

    fn scattered(shares: &[f64]) -> f64 {
        scatter(&(0..).zip(shares.iter().copied()).collect::<Vec<_>>(), UNSEEN)
    }

    #[test]
    fn a_smooth_curve_does_not_scatter() {
        assert!(scattered(&[0.0, 0.0, 0.0, 0.01, 0.02, 0.03, 0.04, 0.05]) < 1e-9);
        // Footprints are whole lines, so the steps between them are not equal.
        let steep = search::sections(Bracket { low: 128 * 100, high: 128 * 246 }, 128, SECTIONS);
        let line: Vec<(u64, f64)> = steep.into_iter().map(|at| (at, at as f64 / 7000.0)).collect();
        assert!(scatter(&line, UNSEEN) < 1e-9);
        // One kink, at the knee, is not scatter.
        assert!(scattered(&[0.0, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0]) < 1e-9);
    }

    #[test]
    fn places_that_differ_scatter() {
        // Seen on the simulated H200: the misses of footprints from 149 to 156 KB.
        let shares =
            [0.0, 0.006, 0.0, 0.004, 0.005, 0.0, 0.043, 0.013, 0.027, 0.025, 0.010, 0.017, 0.022, 0.010, 0.052];
        let scatter = scattered(&shares);
        assert!((0.005..0.02).contains(&scatter), "{scatter}");
    }

    #[test]
    fn of_few_footprints_with_misses_nothing_is_said() {
        assert_eq!(scattered(&[0.0, 0.0, 0.0, 0.2]), 0.0);
    }
}
