//! Where misses begin to *grow* with the footprint: the knee that is the usable capacity.
//!
//! The rule. Noise (a refresh, another process) only ever adds misses, so that what a point and all larger ones keep, the
//! *sustained* level, is what the footprint itself causes; a spike vanishes from it. The knee is the first point
//! 1. at which the sustained level rises,
//! 2. above the fence of the points before it (Tukey: third quartile and 1.5 interquartile ranges; of a constant base
//!    that is the base), so that a noisy base needs a rise that stands out, and
//! 3. that does not begin a *conflict*: a handful of misses (at most [`HANDFUL`] of the sweep's most) that stays the same
//!    (less than doubles) over [`PLATEAU_POINTS`] points and over [`PLATEAU`] of the footprint, and then goes on to grow.
//!
//! Exact for staircases on a constant base with spikes on fewer than a quarter of the flat points. A spike directly before
//! the knee cannot be told from growth: the knee is then one step early. A dip is no noise: growth begins after it.

/// Largest part of the sweep's most misses that may be a conflict rather than a step: one overfull set of a cache of 64.
pub const HANDFUL: f64 = 0.02;
/// Over this part of the footprint at which they appear a handful of misses must not grow. The treads of a staircase are
/// single lines or index granules, far shorter than an eighth of the capacity.
pub const PLATEAU: f64 = 0.125;
/// Points that must show it: fewer may be the treads of a coarse sweep.
pub const PLATEAU_POINTS: usize = 4;
/// Share of a lap that misses where "everything misses": the rest is timing noise.
pub const ALL: f64 = 0.99;
/// Tukey's fence (Exploratory Data Analysis, 1977): so many interquartile ranges above the third quartile.
const FENCE: f64 = 1.5;

/// Where misses begin to grow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Misses a lap that do not grow: those sustained at `last_flat`. Conflicts, in the unit of the input.
    pub base: f64,
    /// Usable capacity: the largest footprint before sustained growth, in bytes.
    pub last_flat: u64,
    /// The next larger footprint of the sweep, in bytes.
    pub first_grown: u64,
    /// First footprint from which on at least [`ALL`] of each lap misses, in bytes; `None` if there is none or no lap
    /// lengths were given.
    pub all_miss: Option<u64>,
    /// Points of the sweep below the knee. With one there is no telling whether the growth began before it.
    pub flat_points: usize,
    /// Points above the knee. One alone may be a spike: measure a larger footprint before believing it.
    pub grown_points: usize,
}

/// Finds the knee in points of (footprint in bytes, misses a lap or share of it), ascending by footprint; `None` if misses
/// do not grow. O(n²), for sweeps of up to some thousand points. Contract: finite misses.
pub fn growth(points: &[(u64, f64)]) -> Option<Growth> {
    let sustained = sustained(points);
    let most = sustained.last()?;
    let mut before: Vec<f64> = Vec::with_capacity(points.len());
    for i in 1..points.len() {
        let misses = points[i - 1].1;
        before.insert(before.partition_point(|b| *b < misses), misses);
        if sustained[i] <= sustained[i - 1] || sustained[i] <= fence(&before) {
            continue;
        }
        if is_conflict(points, &sustained, i, *most) {
            // From here on the base is a higher one, and what was below says nothing of its noise.
            before.clear();
            continue;
        }
        return Some(Growth {
            base: sustained[i - 1],
            last_flat: points[i - 1].0,
            first_grown: points[i].0,
            all_miss: None,
            flat_points: i,
            grown_points: points.len() - i,
        });
    }
    None
}

/// [`growth`], and where everything misses: `laps` holds the loads of a lap at each point, in the unit of the misses.
///
/// # Panics
///
/// If `laps` is not as long as `points`.
pub fn growth_of_laps(points: &[(u64, f64)], laps: &[u64]) -> Option<Growth> {
    assert_eq!(points.len(), laps.len(), "one lap length a point");
    let found = growth(points)?;
    let some_hit = points.iter().zip(laps).rposition(|(p, &lap)| p.1 < ALL * lap as f64);
    let all_miss = points.get(some_hit.map_or(0, |i| i + 1)).map(|p| p.0);
    Some(Growth { all_miss, ..found })
}

/// The least misses of each point and all larger ones: the points without what noise added.
fn sustained(points: &[(u64, f64)]) -> Vec<f64> {
    let mut least = f64::INFINITY;
    let mut levels: Vec<f64> = points
        .iter()
        .rev()
        .map(|p| {
            least = least.min(p.1);
            least
        })
        .collect();
    levels.reverse();
    levels
}

/// Above this a value stands out of these, which are sorted. Quartiles are values, not interpolated ones, so that one spike
/// among two or three points does not lift them.
fn fence(sorted: &[f64]) -> f64 {
    let last = sorted.len() - 1;
    let (first, third) = (sorted[last / 4], sorted[last * 3 / 4]);
    third + FENCE * (third - first)
}

/// Whether the rise at `i` is a handful of misses that then stays the same while the footprint grows, until more follow.
fn is_conflict(points: &[(u64, f64)], sustained: &[f64], i: usize, most: f64) -> bool {
    let base = sustained[i - 1];
    let height = sustained[i] - base;
    let Some(end) = (i..points.len()).find(|&j| sustained[j] - base >= 2.0 * height) else {
        return false;
    };
    height <= HANDFUL * (most - base)
        && end - i >= PLATEAU_POINTS
        && (points[end - 1].0 - points[i].0) as f64 >= PLATEAU * points[i].0 as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points(misses: &[f64]) -> Vec<(u64, f64)> {
        misses.iter().enumerate().map(|(i, &m)| (1024 + 32 * i as u64, m)).collect()
    }

    /// Index of the last flat point.
    fn knee(misses: &[f64]) -> Option<usize> {
        growth(&points(misses)).map(|g| ((g.last_flat - 1024) / 32) as usize)
    }

    #[test]
    fn the_first_step_of_a_staircase_is_the_knee() {
        assert_eq!(knee(&[0.0, 0.0, 0.0, 5.0, 5.0, 10.0, 10.0]), Some(2));
        let g = growth(&points(&[3.0, 3.0, 7.0, 7.0, 11.0])).unwrap();
        assert_eq!((g.base, g.last_flat, g.first_grown), (3.0, 1056, 1088));
        assert_eq!((g.flat_points, g.grown_points), (2, 3));
    }

    #[test]
    fn what_does_not_grow_has_no_knee() {
        assert_eq!(knee(&[4.0; 20]), None);
        assert_eq!(knee(&[4.0, 4.0, 90.0, 4.0, 4.0]), None);
        assert_eq!(knee(&[9.0, 5.0, 5.0]), None);
        assert_eq!(knee(&[7.0]), None);
        assert_eq!(knee(&[]), None);
    }

    #[test]
    fn growth_must_last_to_the_end() {
        assert_eq!(knee(&[0.0, 0.0, 5.0, 6.0, 0.0, 0.0, 7.0, 8.0]), Some(5));
    }

    #[test]
    fn a_noisy_base_needs_a_rise_that_stands_out() {
        let noisy = [100.0, 103.0, 98.0, 101.0, 99.0, 102.0, 100.0, 102.0, 130.0, 160.0, 190.0];
        assert_eq!(knee(&noisy), Some(7));
        assert_eq!(knee(&[1.0, 0.0, 2.0, 1.0, 0.0, 1.0, 2.0, 1.0, 2.0]), None);
    }

    /// Four misses from 1 KiB up, flat for three quarters of a KiB; then the cache is full.
    fn conflict_then_capacity() -> Vec<f64> {
        let mut misses = vec![0.0; 10];
        misses.extend([4.0; 24]);
        misses.extend((1..100).map(|k| 4.0 + 6.0 * f64::from(k)));
        misses
    }

    #[test]
    fn a_conflict_inside_the_sweep_is_not_the_knee() {
        let g = growth(&points(&conflict_then_capacity())).unwrap();
        assert_eq!((g.base, g.flat_points), (4.0, 34));
        // The same step with nothing beyond it is all there is to report.
        assert_eq!(knee(&conflict_then_capacity()[..30]), Some(9));
        // Too high to be a handful.
        let high: Vec<f64> = conflict_then_capacity().iter().map(|&m| if m > 0.0 { m + 86.0 } else { m }).collect();
        assert_eq!(knee(&high), Some(9));
    }

    #[test]
    fn everything_misses_from_the_last_hit_on() {
        let sweep = points(&[0.0, 0.0, 20.0, 34.0, 36.0, 38.0]);
        let all = |laps: [u64; 6]| growth_of_laps(&sweep, &laps).unwrap().all_miss;
        assert_eq!(all([32, 33, 34, 34, 36, 38]), Some(1024 + 3 * 32));
        assert_eq!(all([32, 33, 34, 35, 36, 39]), None);
        assert_eq!(growth(&sweep).unwrap().all_miss, None);
    }

    proptest! {
        #[test]
        fn the_knee_of_a_staircase_is_found_through_spikes(
            base in 0u32..40,
            flat in 8usize..80,
            steps in prop::collection::vec((1usize..4, 1u32..200), 1..20),
            spikes in prop::collection::vec((0.0..1.0f64, 1u32..5000), 0..8),
        ) {
            let mut misses = vec![f64::from(base); flat];
            // More than a handful at first, which could be a conflict.
            let mut level = base + steps.iter().map(|(_, rise)| rise).sum::<u32>() / 40;
            for (tread, rise) in steps {
                level += rise;
                misses.extend(std::iter::repeat_n(f64::from(level), tread));
            }
            // Isolated, on less than a quarter of the flat points, and not the last of them.
            for (k, (at, height)) in spikes.iter().enumerate().take((flat - 1) / 4) {
                let span = (flat - 1) / ((flat - 1) / 4).min(spikes.len());
                let place = k * span + (at * (span - 1) as f64) as usize;
                misses[place] += f64::from(*height);
            }
            let found = growth(&points(&misses)).unwrap();
            prop_assert_eq!(found.flat_points, flat, "{:?}", misses);
            prop_assert_eq!(found.base, f64::from(base));
            prop_assert_eq!((found.last_flat, found.first_grown), (1024 + 32 * (flat as u64 - 1), 1024 + 32 * flat as u64));
        }

        #[test]
        fn spikes_on_the_grown_side_do_not_matter(flat in 2usize..40, spike in 0usize..30, height in 1u32..9000) {
            let mut misses = vec![2.0; flat];
            misses.extend((1..31).map(|k| 2.0 + 3.0 * f64::from(k)));
            misses[flat + spike] += f64::from(height);
            prop_assert_eq!(knee(&misses), Some(flat - 1));
        }

        #[test]
        fn spikes_alone_are_no_growth(base in 0u32..40, spikes in prop::collection::vec(0usize..50, 0..10)) {
            let mut misses = vec![f64::from(base); 51];
            for at in spikes {
                misses[at] += 100.0;
            }
            prop_assert_eq!(knee(&misses), None);
        }
    }
}
