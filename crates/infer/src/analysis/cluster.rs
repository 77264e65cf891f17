//! Groups latencies into levels without a fixed threshold: the latencies of each memory level form a cluster.
//!
//! From the bottom up. Bins (distinct values) are joined in the order of the gaps between them; a gap stays when so many
//! samples are missing from it that chance is out of the question, given how dense the groups on its sides are. So the
//! spread of the groups, not the clock, sets what counts as apart: two tight groups 3 cycles from each other are two, a
//! broad one of 130 cycles is one. First one side is enough, which leaves spikes alone on islands that are dropped; then
//! the islands that are left must be apart for both sides.
//!
//! Fails (by giving fewer levels) where levels overlap, or where there are too few samples to show a valley.

use super::histogram::{Histogram, ends_at_gap};
pub use super::split::{Split, two_levels};

/// Smallest share of the samples that is a level. Spikes (refreshes, arbitration, interrupts) are fewer on the GPUs seen.
pub const LEVEL_SHARE: f64 = 0.01;
/// Fewest samples of a level: fewer are no group, however few there are in all.
const LEVEL_SAMPLES: usize = 5;
/// Means of groups that are less apart than this, in cycles, are one level: a jitter of ±1 gives two values 2 apart.
const RESOLUTION: f64 = 2.5;
/// A run of at least this many groups may be the teeth of a comb (one L2 whose slices lie at as many distances); no GPU has
/// so many levels so close together.
const TEETH: usize = 5;
/// Teeth follow each other within this part of their latency; levels of a hierarchy are further apart.
const TOOTH_GAP: f64 = 0.125;

/// One level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// Lowest latency that belongs to it, in the samples' unit.
    pub low: u32,
    /// Highest latency that belongs to it.
    pub high: u32,
    /// Median.
    pub centre: f64,
    /// Samples from `low` to `high`.
    pub count: usize,
}

/// What [`clusters`] found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Groups {
    /// Ascending and disjoint; at least one unless there were no samples.
    pub levels: Vec<Group>,
    /// Samples outside all levels: spikes, and groups below [`LEVEL_SHARE`].
    pub outliers: usize,
}

impl Groups {
    /// Thresholds between neighbouring levels, in the middle of the gap: a latency above the `i`-th belongs to level `i + 1`
    /// or a later one. One fewer than levels.
    pub fn split(&self) -> Vec<u32> {
        self.levels.windows(2).map(|w| w[0].high + (w[1].low - w[0].high) / 2).collect()
    }

    /// Index of the level a latency belongs to by these thresholds: of outliers too, the nearest. 0 if there is no level.
    pub fn level_of(&self, latency: u32) -> usize {
        self.split().partition_point(|&threshold| latency > threshold)
    }
}

/// A range of bins, from the first to one past the last.
type Range = (usize, usize);

/// The levels in these latencies, ascending; at least one unless there are none. [`clusters`] without the outliers.
pub fn levels(latencies: &[u32]) -> Vec<Group> {
    clusters(latencies).levels
}

/// The levels in these latencies (any order, any unit of which 1 is the clock's step) and the outliers. O(n log n).
pub fn clusters(latencies: &[u32]) -> Groups {
    let histogram = Histogram::of(latencies);
    if latencies.is_empty() {
        return Groups::default();
    }
    let total = histogram.total();
    let enough = |count: usize| count >= LEVEL_SAMPLES && count as f64 >= LEVEL_SHARE * total as f64;
    let bins = populated(&histogram).into_iter().map(|bin| (bin, bin + 1)).collect();
    let mut islands = join(&histogram, bins, |left, right| left || right);
    islands.retain(|&(from, to)| enough(histogram.count(from, to)));
    let groups = join_comb(&histogram, join(&histogram, islands, |left, right| left && right));
    let mut levels: Vec<Group> =
        reattach(&histogram, groups).into_iter().map(|range| level(&histogram, range)).collect();
    if levels.is_empty() {
        // So few or so scattered that no group is large enough: nothing speaks for more than one level.
        levels.push(level(&histogram, (0, histogram.values.len())));
    }
    let outliers = total - levels.iter().map(|l| l.count).sum::<usize>();
    Groups { levels, outliers }
}

fn level(h: &Histogram, (from, to): Range) -> Group {
    Group { low: h.values[from], high: h.values[to - 1], centre: h.median(from, to), count: h.count(from, to) }
}

/// Cycles over which a range of bins extends.
fn extent(h: &Histogram, (from, to): Range) -> f64 {
    f64::from(h.values[to - 1] - h.values[from]) + 1.0
}

/// Bins without the sparsest, which together are fewer samples than make a level: thinly strewn spikes would bridge valleys.
fn populated(h: &Histogram) -> Vec<usize> {
    let count = |bin: usize| h.count(bin, bin + 1);
    let mut counts: Vec<usize> = (0..h.values.len()).map(count).collect();
    counts.sort_unstable();
    let mut budget = (h.total() as f64 * LEVEL_SHARE) as usize;
    let mut least = 1;
    // Bins of one count are dropped together or not at all, so that the order of values does not matter.
    for run in counts.chunk_by(|a, b| a == b) {
        match budget.checked_sub(run.len() * run[0]) {
            Some(left) => (budget, least) = (left, run[0] + 1),
            None => break,
        }
    }
    (0..h.values.len()).filter(|&bin| count(bin) >= least).collect()
}

/// Joins neighbouring groups (ascending), those with the narrowest gaps first, unless `apart` says of a gap that it stays, given
/// whether the left and the right group end there.
fn join(h: &Histogram, groups: Vec<Range>, apart: impl Fn(bool, bool) -> bool) -> Vec<Range> {
    let gap = |i: usize| h.values[groups[i + 1].0] - h.values[groups[i].1 - 1];
    let mut order: Vec<usize> = (1..groups.len()).map(|i| i - 1).collect();
    order.sort_by_key(|&i| gap(i));
    // The two ends of each joined run know each other, and the widest gap inside; what lies between is not looked at again.
    let mut other: Vec<usize> = (0..groups.len()).collect();
    let mut widest: Vec<u32> = vec![0; groups.len()];
    let mut stays = vec![false; groups.len()];
    for i in order {
        let (first, last) = (other[i], other[i + 1]);
        let (left, right) = ((groups[first].0, groups[i].1), (groups[i + 1].0, groups[last].1));
        let strangers = h.count(left.1, right.0);
        let ends = |run: Range| ends_at_gap(h.count(run.0, run.1), extent(h, run), f64::from(gap(i) - 1), strangers);
        // A gap like one inside either run is that run's own step.
        let stands_out = gap(i) > widest[i].max(widest[i + 1]);
        let resolved = h.mean(right.0, right.1) - h.mean(left.0, left.1) >= RESOLUTION;
        if stands_out && resolved && apart(ends(left), ends(right)) {
            stays[i] = true;
            continue;
        }
        (other[first], other[last]) = (last, first);
        let within = gap(i).max(widest[i]).max(widest[i + 1]);
        (widest[first], widest[last]) = (within, within);
    }
    let mut joined: Vec<Range> = Vec::new();
    for (i, &group) in groups.iter().enumerate() {
        match joined.last_mut() {
            Some(run) if !stays[i - 1] => run.1 = group.1,
            _ => joined.push(group),
        }
    }
    joined
}

/// Joins runs of at least [`TEETH`] groups that follow each other closely.
fn join_comb(h: &Histogram, groups: Vec<Range>) -> Vec<Range> {
    let close = |a: &Range, b: &Range| {
        let (end, next) = (f64::from(h.values[a.1 - 1]), f64::from(h.values[b.0]));
        next - end <= TOOTH_GAP * end
    };
    let mut joined = Vec::new();
    for run in groups.chunk_by(close) {
        if run.len() >= TEETH {
            joined.push((run[0].0, run[run.len() - 1].1));
        } else {
            joined.extend_from_slice(run);
        }
    }
    joined
}

/// Gives sparse bins back to a group that is no further than its own extent (at least [`RESOLUTION`]): its tails.
fn reattach(h: &Histogram, groups: Vec<Range>) -> Vec<Range> {
    let reach: Vec<f64> = groups.iter().map(|&g| extent(h, g).max(RESOLUTION)).collect();
    let distance = |a: usize, b: usize| f64::from(h.values[b]) - f64::from(h.values[a]);
    (0..groups.len())
        .map(|k| {
            let (mut from, mut to) = groups[k];
            let (first, last) = (from, to - 1);
            let (floor, roof) = (k.checked_sub(1).map(|p| groups[p].1 - 1), groups.get(k + 1).map(|n| n.0));
            // Between two groups a bin goes to the nearer one.
            let mine_below = |bin: usize| {
                distance(bin, first) <= reach[k] && floor.is_none_or(|f| distance(f, bin) > distance(bin, first))
            };
            let mine_above = |bin: usize| {
                distance(last, bin) <= reach[k] && roof.is_none_or(|r| distance(bin, r) >= distance(last, bin))
            };
            while from > 0 && Some(from - 1) != floor && mine_below(from - 1) {
                from -= 1;
            }
            while to < h.values.len() && Some(to) != roof && mine_above(to) {
                to += 1;
            }
            (from, to)
        })
        .collect()
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
