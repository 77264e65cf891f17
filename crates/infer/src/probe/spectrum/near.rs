//! The loads of a pattern that go to the SM's own partition of the L2.
//!
//! Lines are at home in one of the partitions by a hash of their address, whatever they meet. So if the L2 has n partitions, about
//! one in n loads of each pattern goes to the near one. If the loads fall into two groups, of which the fast one has about that
//! share, the fast group is that of the near partition.

use crate::analysis::cluster::two_levels;
use crate::analysis::robust;
use crate::probe::{Gap, Notebook, Settle, partitions};

/// Fewer loads than this have no share worth the name.
const FEWEST: usize = 16;

/// Standard errors by which means of different lines may differ.
const DEVIATIONS: f64 = 4.0;

/// The share of loads that a valley may hold.
const EMPTIEST: f64 = 0.02;
/// The share of the near partition may be off by this part of itself.
const AROUND: f64 = 0.3;
/// Latencies that are this many cycles apart are the same.
const JITTER: f64 = 4.0;
/// A valley is so many times wider than as many loads usually are there.
const CLEARLY: f64 = 2.0;

/// Loads of a pattern to the near partition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Near {
    /// Their latencies; of all loads, if near and far ones are not two groups.
    pub values: Vec<f64>,
    /// What all loads of the pattern take more in the mean, in cycles.
    pub less: f64,
    /// By how many cycles the mean of other lines may differ from that of these, since chance says where a line is at home.
    pub chance: f64,
    /// Where near and far loads part.
    pub limit: Option<Limit>,
}

/// A latency between near and far loads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limit {
    /// The latency, in cycles.
    at: f64,
    /// Mean of all loads, in cycles.
    mean: f64,
}

/// Partitions of the L2; 1 if it is not known to have more.
///
/// # Errors
///
/// Missing measurements.
pub(super) fn partitions(notebook: &Notebook) -> Result<usize, Gap> {
    Ok(partitions::partitions(notebook).settled()?.map_or(1, |found| found.number()))
}

/// The loads of the near one of so many partitions. `before` is the limit of a pattern of the same data: where this one's groups
/// overlap, they part there, moved by what these loads take more in the mean.
pub(super) fn only(values: Vec<f64>, partitions: usize, before: Option<Limit>) -> Near {
    let all = Near { values, less: 0.0, chance: 0.0, limit: None };
    if partitions < 2 || all.values.len() < FEWEST {
        return all;
    }
    let mean = robust::trimmed_mean(&all.values);
    let whole: Vec<u32> = all.values.iter().map(|&cycles| cycles.round().max(0.0) as u32).collect();
    let split = two_levels(&whole).map(|split| f64::from(split.threshold) + 0.5);
    let moved = before.map(|before| before.at + mean - before.mean);
    let limits = [split, moved, valley(&all.values, partitions)];
    limits.into_iter().flatten().find_map(|at| near(&all.values, partitions, Limit { at, mean })).unwrap_or(all)
}

/// The emptiest latency near which the share of the near partition ends, if it is clearly emptier than those around it. Far loads
/// may spread so much that they are no group of their own.
fn valley(all: &[f64], partitions: usize) -> Option<f64> {
    let mut sorted = all.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = |share: f64| (share * sorted.len() as f64) as usize;
    let expected = 1.0 / partitions as f64;
    let step = place(EMPTIEST).max(1);
    let (from, to) = (place(expected * (1.0 - AROUND)), place(expected * (1.0 + AROUND)).min(sorted.len() - step));
    let width = |i: usize| sorted[i + step] - sorted[i];
    let widest = (from..to).max_by(|&a, &b| width(a).total_cmp(&width(b)))?;
    let usual = robust::median(&(from..to).map(width).collect::<Vec<f64>>())?;
    (width(widest) > CLEARLY * usual.max(JITTER)).then(|| f64::midpoint(sorted[widest], sorted[widest + step]))
}

/// The loads below a limit, if they may be those of one of so many partitions.
fn near(all: &[f64], partitions: usize, limit: Limit) -> Option<Near> {
    let values: Vec<f64> = all.iter().copied().filter(|&cycles| cycles < limit.at).collect();
    let share = values.len() as f64 / all.len() as f64;
    let expected = 1.0 / partitions as f64;
    // Neither group is less than half of what it should be.
    if share < expected / 2.0 || 1.0 - share < (1.0 - expected) / 2.0 {
        return None;
    }
    let less = limit.mean - robust::trimmed_mean(&values);
    let deviation = less / (1.0 - share) * (share * (1.0 - share)).sqrt();
    // Both means are of as many loads.
    let chance = DEVIATIONS * deviation * (2.0 / all.len() as f64).sqrt();
    Some(Near { values, less, chance, limit: Some(limit) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Loads of which every `count`th is near, with a jitter of three cycles; the far ones take `far` more.
    fn mixed(loads: usize, count: usize, far: f64) -> Vec<f64> {
        (0..loads).map(|i| 492.0 + (i * 7 % 4) as f64 + if i % count == 0 { 0.0 } else { far }).collect()
    }

    proptest! {
        #[test]
        fn near_loads_are_told_from_far_ones(loads in 100usize..3000, count in 2usize..5, far in 12f64..400.0) {
            let Near { values, less, chance, .. } = only(mixed(loads, count, far.round()), count, None);
            prop_assert!(values.iter().all(|&cycles| cycles < 496.0), "{values:?}");
            let expected = far.round() * (1.0 - 1.0 / count as f64);
            prop_assert!((less - expected).abs() < 0.05 * far + 2.0, "{less} for {expected}");
            prop_assert!(chance > 0.0 && chance < 0.6 * far, "{chance}");
        }

        #[test]
        fn one_partition_has_no_far_loads(loads in 100usize..3000, far in 12f64..400.0) {
            let all = mixed(loads, 2, far);
            prop_assert_eq!(only(all.clone(), 1, None).values, all);
        }
    }

    #[test]
    fn far_loads_that_spread_are_no_group_but_leave_a_valley() {
        // 44 in 100 loads are near. The far ones take 60 to 480 cycles more, the more the fewer.
        let loads = (0..2000).map(|i: u32| {
            let (near, draw) = (i % 25 < 11, f64::from(i * 7919 % 1000) / 1000.0);
            540.0 + f64::from(i * 31 % 48) + if near { 0.0 } else { 60.0 + 420.0 * draw * draw }
        });
        let near = only(loads.collect(), 2, None);
        assert!((0.4..0.48).contains(&(near.values.len() as f64 / 2000.0)), "{}", near.values.len());
        assert!(near.values.iter().all(|&cycles| cycles < 600.0));
    }

    #[test]
    fn a_few_loads_that_met_something_else_are_no_partition() {
        let mut all = mixed(200, 1, 0.0);
        all.extend([450.0; 20]);
        assert_eq!(only(all.clone(), 2, None).values, all);
    }

    #[test]
    fn groups_that_overlap_part_where_those_of_the_pattern_before_do() {
        let before = only(mixed(400, 2, 60.0), 2, None);
        // A miss takes 30 to 110 cycles more, so that nothing lies between near and far loads.
        let missed: Vec<f64> =
            mixed(400, 2, 60.0).iter().zip(0..).map(|(cycles, i)| cycles + f64::from(30 + i / 2 * 7 % 81)).collect();
        assert_eq!(only(missed.clone(), 2, None).limit, None);
        let near = only(missed, 2, before.limit);
        assert!((0.4..0.6).contains(&(near.values.len() as f64 / 400.0)), "{}", near.values.len());
        assert!(near.less > 25.0 && robust::median(&near.values).unwrap_or_default() < 570.0, "{near:?}");
    }
}
