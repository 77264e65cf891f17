//! The best split of latencies into hits and misses, and its quality.

use super::cluster::clusters;
use super::histogram::{Histogram, ends_at_gap};

/// Share of each group that may lie beyond its edge when the gap is measured: single stragglers do not close it.
const EDGE: f64 = 0.02;
/// Smallest separation that is evidence of two groups. Halves of one group have at most 1 (of a uniform jitter of ±2;
/// halves of a normal one have 0.3); two tight groups 3 cycles apart have at least 2.
const SEPARATION: f64 = 1.5;

/// Two groups of latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// Latencies above this belong to the high group.
    pub threshold: u32,
    /// Median of the low group, in the samples' unit.
    pub low_centre: f64,
    /// Median of the high group.
    pub high_centre: f64,
    /// Gap between the groups (from the 98 % quantile of the low to the 2 % quantile of the high one) over their pooled
    /// median absolute deviation, which counts as at least one clock step.
    pub separation: f64,
}

/// Splits latencies where the squared deviations from the two groups' means are least (two-means in one dimension, by running
/// sums, as Otsu 1979 does for grey levels); `None` without evidence of two groups.
///
/// What [`clusters`] calls outliers (below 1 % of the samples) is left out first, since one spike far above all outweighs hits
/// and misses. If there are several levels, only the thresholds between them are candidates. O(n log n).
pub fn two_levels(latencies: &[u32]) -> Option<Split> {
    let found = clusters(latencies);
    let level_of = |v: u32| found.levels.partition_point(|l| l.high < v);
    let inside: Vec<u32> =
        latencies.iter().copied().filter(|&v| found.levels.get(level_of(v)).is_some_and(|l| l.low <= v)).collect();
    let h = Histogram::of(&inside);
    let bins = h.values.len();
    let several = found.levels.len() > 1;
    let at = (1..bins)
        .filter(|&i| !several || level_of(h.values[i - 1]) != level_of(h.values[i]))
        .map(|i| (i, saved(&h, i)))
        .max_by(|a, b| a.1.total_cmp(&b.1))?
        .0;
    let (low, high) = (edges(&h, 0, at), edges(&h, at, bins));
    let gap = f64::from(high.0) - f64::from(low.1);
    let between = (h.values.partition_point(|&v| v <= low.1), h.values.partition_point(|&v| v < high.0));
    // The groups' own stragglers lie there by the definition of the edges.
    let strangers =
        h.count(between.0, between.1.max(between.0)).saturating_sub((EDGE * h.total() as f64).ceil() as usize);
    let ends = |from: usize, to: usize, edges: (u32, u32)| {
        ends_at_gap(h.count(from, to), f64::from(edges.1 - edges.0) + 1.0, gap - 1.0, strangers)
    };
    let apart = gap > 1.0 && ends(0, at, low) && ends(at, bins, high);
    let spread = pooled_deviation(&h, at).max(1.0);
    let separation = gap / spread;
    (apart && separation >= SEPARATION).then(|| Split {
        threshold: h.values[at - 1] + (h.values[at] - h.values[at - 1]) / 2,
        low_centre: h.median(0, at),
        high_centre: h.median(at, bins),
        separation,
    })
}

/// Squared deviations that a split before bin `at` saves.
fn saved(h: &Histogram, at: usize) -> f64 {
    let (low, high) = (h.count(0, at) as f64, h.count(at, h.values.len()) as f64);
    let distance = h.mean(at, h.values.len()) - h.mean(0, at);
    low * high / (low + high) * distance * distance
}

/// Where the bulk of a group begins and ends.
fn edges(h: &Histogram, from: usize, to: usize) -> (u32, u32) {
    (h.quantile(from, to, EDGE), h.quantile(from, to, 1.0 - EDGE))
}

/// Median absolute deviations of the groups, weighted by their sizes.
fn pooled_deviation(h: &Histogram, at: usize) -> f64 {
    let weighted = |from: usize, to: usize| {
        let centre = h.median(from, to);
        let mut deviations: Vec<(f64, usize)> =
            (from..to).map(|bin| ((f64::from(h.values[bin]) - centre).abs(), h.count(bin, bin + 1))).collect();
        deviations.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let half = h.count(from, to).div_ceil(2);
        let mut seen = 0;
        let middle = deviations.iter().find(|d| {
            seen += d.1;
            seen >= half
        });
        middle.map_or(0.0, |d| d.0) * h.count(from, to) as f64
    };
    (weighted(0, at) + weighted(at, h.values.len())) / h.total() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mixture(parts: &[(u32, u32, usize)]) -> Vec<u32> {
        parts.iter().flat_map(|&(low, high, n)| (0..n as u32).map(move |i| low + i * 7 % (high - low + 1))).collect()
    }

    #[test]
    fn hits_and_misses() {
        let mut latencies = mixture(&[(40, 41, 900), (43, 44, 100)]);
        latencies.extend([5000, 7000, 9000]);
        let split = two_levels(&latencies).unwrap();
        assert_eq!((split.threshold, split.low_centre, split.high_centre), (42, 40.5, 43.5));
        assert_eq!(split.separation, 2.0);
    }

    #[test]
    fn broad_groups_count_by_their_spread() {
        let split = two_levels(&mixture(&[(200, 330, 4000), (400, 600, 4000)])).unwrap();
        assert!((330..400).contains(&split.threshold));
        assert!(split.separation < 3.0);
    }

    #[test]
    fn of_three_levels_the_best_two_groups() {
        let split = two_levels(&mixture(&[(40, 42, 1000), (200, 240, 1000), (600, 680, 1000)])).unwrap();
        assert_eq!(split.threshold, 420);
    }

    #[test]
    fn rare_misses_beside_broad_hits() {
        let split = two_levels(&mixture(&[(40, 41, 200), (200, 330, 9800)])).unwrap();
        assert!((41..200).contains(&split.threshold), "{split:?}");
    }

    #[test]
    fn a_thin_bridge_joins_the_levels_but_not_the_groups() {
        let latencies = mixture(&[(40, 40, 5000), (41, 59, 190), (60, 60, 4810)]);
        assert_eq!(clusters(&latencies).levels.len(), 1);
        let split = two_levels(&latencies).unwrap();
        assert_eq!((split.low_centre, split.high_centre), (40.0, 60.0));
    }

    #[test]
    fn one_group_is_not_split() {
        assert_eq!(two_levels(&[]), None);
        assert_eq!(two_levels(&[40; 1000]), None);
        assert_eq!(two_levels(&mixture(&[(38, 42, 1000)])), None);
        assert_eq!(two_levels(&mixture(&[(200, 330, 10_000)])), None);
        assert_eq!(two_levels(&[40, 44, 40, 44]), None, "too few to say");
    }

    proptest! {
        #[test]
        fn the_split_is_the_cheapest(
            low in prop::collection::vec(100u32..110, 100..300),
            high in prop::collection::vec(140u32..160, 100..300),
        ) {
            let all: Vec<u32> = low.iter().chain(&high).copied().collect();
            let split = two_levels(&all).unwrap();
            let cost = |threshold: u32| {
                [all.iter().filter(|v| **v <= threshold).collect::<Vec<_>>(), all.iter().filter(|v| **v > threshold).collect()]
                    .iter()
                    .map(|group| {
                        let mean = group.iter().map(|v| f64::from(**v)).sum::<f64>() / group.len().max(1) as f64;
                        group.iter().map(|v| (f64::from(**v) - mean).powi(2)).sum::<f64>()
                    })
                    .sum::<f64>()
            };
            let least = (100..160).map(cost).fold(f64::INFINITY, f64::min);
            prop_assert!(cost(split.threshold) <= least + 1e-6);
            prop_assert!((110..140).contains(&split.threshold));
        }
    }
}
