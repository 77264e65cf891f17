//! Mixtures whose levels are known.

use super::*;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// `n` latencies spread evenly over `low..=high`, at random.
fn draw(rng: &mut ChaCha8Rng, low: u32, high: u32, n: usize) -> Vec<u32> {
    (0..n).map(|_| rng.random_range(low..=high)).collect()
}

fn centres(latencies: &[u32]) -> Vec<f64> {
    levels(latencies).iter().map(|l| l.centre).collect()
}

#[test]
fn equal_values_are_one_level() {
    let found = clusters(&[40; 7]);
    assert_eq!(found.levels, [Group { low: 40, high: 40, centre: 40.0, count: 7 }]);
    assert_eq!((found.outliers, found.split()), (0, vec![]));
    assert_eq!(clusters(&[]), Groups::default());
    assert_eq!(clusters(&[]).level_of(40), 0);
}

#[test]
fn thresholds_lie_in_the_middle_of_the_gap() {
    let found = clusters(&[vec![40; 100], vec![200; 100], vec![601; 100]].concat());
    assert_eq!(found.split(), [120, 400]);
    let of = [0, 40, 120, 121, 400, 401, u32::MAX].map(|v| found.level_of(v));
    assert_eq!(of, [0, 0, 0, 1, 1, 2, 2]);
}

#[test]
fn few_samples_are_no_evidence() {
    assert_eq!(clusters(&[40, 43, 40, 43]).levels.len(), 1);
    assert_eq!(clusters(&[vec![40; 20], vec![43; 20]].concat()).levels.len(), 2);
}

#[test]
fn a_comb_of_slices_is_one_level() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut latencies = vec![33; 5000];
    for slice in 0..16 {
        latencies.extend(draw(&mut rng, 200 + 8 * slice, 202 + 8 * slice, 500));
    }
    latencies.extend(draw(&mut rng, 600, 800, 5000));
    let found = clusters(&latencies);
    assert_eq!(found.levels.len(), 3, "{found:?}");
    assert_eq!((found.levels[1].low, found.levels[1].high), (200, 322));
}

#[test]
fn a_clock_that_counts_in_twos_makes_no_levels() {
    let latencies: Vec<u32> = (0..3000).map(|i| 38 + 2 * (i % 3)).collect();
    assert_eq!(clusters(&latencies).levels.len(), 1);
}

#[test]
fn strewn_spikes_bridge_no_valley() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut latencies = [vec![40; 50_000], draw(&mut rng, 200, 260, 50_000)].concat();
    // Half a per cent, dense enough that nearly every value between the levels occurs.
    latencies.extend(draw(&mut rng, 41, 199, 500));
    let found = clusters(&latencies);
    assert_eq!(found.levels.len(), 2, "{found:?}");
    assert!((200..=500).contains(&found.outliers), "{}", found.outliers);
}

#[test]
fn a_scatter_without_groups_is_one_level() {
    let latencies: Vec<u32> = (0..300).map(|i| i * 5000).collect();
    assert_eq!(clusters(&latencies).levels.len(), 1);
}

#[test]
fn chance_makes_no_levels_however_few_the_samples() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    for n in [2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 500] {
        for _ in 0..20_000 / (n + 50) {
            let width = rng.random_range(4..400);
            let even = draw(&mut rng, 200, 200 + width, n);
            let hump: Vec<u32> = even.iter().map(|v| (v + rng.random_range(200..=200 + width)) / 2).collect();
            for latencies in [even, hump] {
                assert_eq!(clusters(&latencies).levels.len(), 1, "{latencies:?}");
                assert_eq!(two_levels(&latencies), None, "{latencies:?}");
            }
        }
    }
}

#[test]
fn scattered_spikes_beyond_a_levels_share_are_outliers_still() {
    let mut latencies = [vec![40; 600], vec![200; 387]].concat();
    // 1.3 %, no two alike: together more than a level's share, but not on either side of the upper level.
    latencies.extend((0..13).map(|i| 57 + 31 * i));
    let found = clusters(&latencies);
    assert_eq!((found.levels.len(), found.outliers), (2, 13), "{found:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn two_tight_levels_separate_at_three_cycles(
        at in 20u32..400, apart in 3u32..40, spread in 0u32..2, n in 100usize..2000, m in 100usize..2000, seed: u64,
    ) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let latencies = [draw(&mut rng, at, at + spread, n), draw(&mut rng, at + apart, at + apart + spread, m)].concat();
        let found = clusters(&latencies);
        prop_assert_eq!(found.levels.len(), 2, "{:?}", found);
        prop_assert_eq!((found.levels[0].count, found.levels[1].count), (n, m));
        prop_assert_eq!(found.outliers, 0);
        prop_assert_eq!(found.level_of(at + spread), 0);
        prop_assert_eq!(found.level_of(at + apart), 1);
        let split = two_levels(&latencies).unwrap();
        prop_assert!(split.threshold >= at + spread && split.threshold < at + apart);
    }

    #[test]
    fn a_jitter_of_two_cycles_makes_one_level(at in 20u32..400, n in 1usize..3000, seed: u64, peaked: bool) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut latencies = draw(&mut rng, at - 2, at + 2, n);
        if peaked {
            latencies.extend(vec![at; 5 * n]);
        }
        prop_assert_eq!(clusters(&latencies).levels.len(), 1);
        prop_assert_eq!(two_levels(&latencies), None);
    }

    #[test]
    fn a_broad_level_stays_whole(
        low in 150u32..300, width in 50u32..400, n in 1usize..5000, seed: u64, hump: bool,
    ) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // The mean of two draws is a triangle, with the tails that a real distribution has.
        let latencies: Vec<u32> = (0..n)
            .map(|_| {
                let (a, b) = (rng.random_range(0..=width), rng.random_range(0..=width));
                low + if hump { (a + b) / 2 } else { a }
            })
            .collect();
        let found = clusters(&latencies);
        prop_assert_eq!(found.levels.len(), 1, "{:?}", found);
        prop_assert_eq!(two_levels(&latencies), None);
    }

    #[test]
    fn a_hierarchy_with_spikes(seed: u64, n in 2000usize..8000, share in 0.03..0.9f64, spikes in 0usize..10) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let l2 = (n as f64 * share) as usize;
        let mut latencies = draw(&mut rng, 32, 34, n - l2);
        latencies.extend(draw(&mut rng, 200, 330, l2));
        latencies.extend(draw(&mut rng, 500, 700, n));
        latencies.extend(draw(&mut rng, 2000, 1_000_000, spikes));
        let found = clusters(&latencies);
        prop_assert_eq!(found.levels.len(), 3, "{:?}", found);
        prop_assert_eq!(found.level_of(34), 0);
        prop_assert_eq!((found.level_of(200), found.level_of(330)), (1, 1));
        prop_assert_eq!(found.level_of(500), 2);
        prop_assert!(found.outliers >= spikes && found.outliers <= latencies.len() / 100 + spikes);
        let means = centres(&latencies);
        prop_assert!((means[0] - 33.0).abs() <= 1.0 && (means[1] - 265.0).abs() < 30.0 && (means[2] - 600.0).abs() < 30.0);
    }

    #[test]
    fn spikes_are_counted_apart(n in 500usize..3000, spikes in 1usize..5, at in 100u32..10_000) {
        let latencies = [vec![40; n], vec![at; spikes]].concat();
        let found = clusters(&latencies);
        prop_assert_eq!(found.levels.len(), 1);
        prop_assert_eq!((found.levels[0].high, found.outliers), (40, spikes));
    }

    #[test]
    fn anything_is_accounted_for(latencies in prop::collection::vec(prop_oneof![0u32..60, any::<u32>()], 1..200)) {
        let found = clusters(&latencies);
        prop_assert!(!found.levels.is_empty());
        prop_assert_eq!(found.levels.iter().map(|l| l.count).sum::<usize>() + found.outliers, latencies.len());
        for level in &found.levels {
            let inside = latencies.iter().filter(|v| (level.low..=level.high).contains(v)).count();
            prop_assert_eq!(level.count, inside);
        }
        for pair in found.levels.windows(2) {
            prop_assert!(pair[0].high < pair[1].low);
        }
        for &latency in &latencies {
            let at = found.level_of(latency);
            let level = &found.levels[at];
            let in_another = found.levels.iter().enumerate().any(|(i, l)| i != at && l.low <= latency && latency <= l.high);
            prop_assert!(!in_another, "{} to {:?}", latency, level);
        }
    }
}
