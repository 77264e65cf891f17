//! Groups of values along a line, without a fixed threshold between them.
//!
//! Latencies of one level form a tight group with a few wild values above it. So a sample is cut at the best place for two
//! groups (least squares, by prefix sums over the sorted values), the cut is believed if the gap is wide for the groups'
//! own spread, and the halves are cut again. A group that is too small to be a level is left to its neighbour as noise.

use super::robust;

/// A group of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Smallest value.
    pub low: u32,
    /// Median.
    pub centre: f64,
    /// Largest value, noise included.
    pub high: u32,
    /// How many values.
    pub count: usize,
}

/// Smallest share of all values that makes a level; fewer are spikes (refreshes, translation misses).
const MIN_SHARE: f64 = 0.01;
/// A gap separates if it is this many times the wider half-spread of the two groups.
const SEPARATION: f64 = 2.0;
/// Clock reads are whole cycles, so no spread is taken for less than this.
const RESOLUTION: f64 = 1.0;

/// The levels of a sample, ascending; one if there is no evidence for two, none of no values.
pub fn levels(values: &[u32]) -> Vec<Level> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let mut found = Vec::new();
    let least = ((values.len() as f64 * MIN_SHARE).ceil() as usize).max(1);
    cut(&sorted, least, &mut found);
    found
}

fn cut(sorted: &[u32], least: usize, found: &mut Vec<Level>) {
    if sorted.is_empty() {
        return;
    }
    match best_cut(sorted, least) {
        Some(at) => {
            cut(&sorted[..at], least, found);
            cut(&sorted[at..], least, found);
        }
        None => found.push(Level {
            low: sorted[0],
            centre: robust::median_u32(sorted).unwrap_or_default(),
            high: sorted[sorted.len() - 1],
            count: sorted.len(),
        }),
    }
}

/// Index of the first value of the right group, if the cut of least squares among those whose gap separates exists.
fn best_cut(sorted: &[u32], least: usize) -> Option<usize> {
    let n = sorted.len();
    let mut sums = vec![0.0; n + 1];
    for (i, &v) in sorted.iter().enumerate() {
        sums[i + 1] = sums[i] + f64::from(v);
    }
    let between = |at: usize| {
        let (left, right) = (sums[at] / at as f64, (sums[n] - sums[at]) / (n - at) as f64);
        at as f64 * (n - at) as f64 * (right - left) * (right - left)
    };
    (least..=n.saturating_sub(least))
        .filter(|&at| at > 0 && at < n && sorted[at] > sorted[at - 1] && separates(sorted, at))
        .max_by(|&a, &b| between(a).total_cmp(&between(b)))
}

/// Whether the gap before `at` is wide for the spread of what lies around it: from the median to the edge, with a tenth of
/// the values left out as noise.
fn separates(sorted: &[u32], at: usize) -> bool {
    let (left, right) = sorted.split_at(at);
    let value = |part: &[u32], share: f64| f64::from(part[((part.len() - 1) as f64 * share) as usize]);
    let spread_left = (value(left, 0.9) - value(left, 0.5)).max(RESOLUTION);
    let spread_right = (value(right, 0.5) - value(right, 0.1)).max(RESOLUTION);
    let gap = value(right, 0.1) - value(left, 0.9);
    f64::from(right[0] - left[left.len() - 1]) >= RESOLUTION && gap > SEPARATION * spread_left.max(spread_right)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn centres(values: &[u32]) -> Vec<u32> {
        levels(values).iter().map(|l| l.centre as u32).collect()
    }

    proptest! {
        #[test]
        fn tight_groups_are_told_apart(
            hits in 20usize..400, misses in 20usize..400, jitter in 0u32..3, apart in 20u32..300, seed: u32,
        ) {
            let noise = |i: usize| (i as u32).wrapping_mul(2_654_435_761).wrapping_add(seed) % (jitter + 1);
            let values: Vec<u32> = (0..hits).map(|i| 40 + noise(i))
                .chain((0..misses).map(|i| 40 + apart + noise(i)))
                .collect();
            let found = levels(&values);
            prop_assert_eq!(found.len(), 2);
            prop_assert_eq!((found[0].count, found[1].count), (hits, misses));
        }

        #[test]
        fn every_value_is_in_one_level(values in prop::collection::vec(0u32..2000, 0..300)) {
            let found = levels(&values);
            prop_assert_eq!(found.iter().map(|l| l.count).sum::<usize>(), values.len());
            prop_assert!(found.windows(2).all(|w| w[0].high < w[1].low));
        }
    }

    #[test]
    fn three_cycles_are_enough_where_groups_are_tight() {
        let values: Vec<u32> = (0..200).map(|i| if i % 2 == 0 { 30 } else { 33 }).collect();
        assert_eq!(centres(&values), [30, 33]);
    }

    #[test]
    fn a_broad_group_is_one_level_and_spikes_are_none() {
        let broad: Vec<u32> = (0..1000).map(|i| 200 + i * 37 % 130).collect();
        assert_eq!(levels(&broad).len(), 1);
        let mut spiked = vec![40; 1000];
        spiked[5] = 900;
        assert_eq!(levels(&spiked).len(), 1);
        assert_eq!(levels(&[]), []);
    }

    #[test]
    fn three_levels_are_found() {
        let values: Vec<u32> = (0..900).map(|i| [33, 105, 280][i % 3] + (i % 2) as u32).collect();
        assert_eq!(centres(&values), [33, 105, 280]);
    }
}
