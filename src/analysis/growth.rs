//! Where misses begin to *grow* with the footprint.
//!
//! A handful of misses that stays the same is a conflict, and a single footprint with many is noise; what counts is a level
//! of misses that is never left again. So each point is judged by the least misses of itself and of every larger footprint,
//! which is a staircase that only rises: its first step above the ground is the knee.

/// The knee of a curve of misses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Misses that do not grow: the ground of the staircase.
    pub base: f64,
    /// Largest footprint before the growth.
    pub last_flat: u64,
    /// The next footprint that was measured.
    pub first_grown: u64,
}

/// The knee of `points` (footprint, misses), ascending in footprint. `None` if the misses do not grow.
pub fn growth(points: &[(u64, f64)]) -> Option<Growth> {
    let mut least = f64::INFINITY;
    let mut stairs: Vec<f64> = points
        .iter()
        .rev()
        .map(|&(_, misses)| {
            least = least.min(misses);
            least
        })
        .collect();
    stairs.reverse();
    let base = *stairs.first()?;
    let at = stairs.iter().position(|&stair| stair > base)?;
    Some(Growth { base, last_flat: points[at - 1].0, first_grown: points[at].0 })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_sustained_step_is_the_knee(
            flat in 1usize..40, grown in 1usize..40, base in 0u32..50, step in 1u32..50,
            noisy in prop::collection::vec((0usize..80, 1u32..500), 0..6),
        ) {
            let mut points: Vec<(u64, f64)> = (0..flat + grown)
                .map(|i| {
                    let rise = i.saturating_sub(flat - 1) as u32 * step;
                    (100 + i as u64, f64::from(base + rise))
                })
                .collect();
            // Noise adds misses to single footprints, but not to the last flat one nor to the first.
            for (at, extra) in noisy {
                if at != 0 && at + 1 != flat && at < points.len() {
                    points[at].1 += f64::from(extra);
                }
            }
            let knee = growth(&points).unwrap();
            prop_assert_eq!(knee.base, f64::from(base));
            prop_assert_eq!(knee.last_flat, 100 + flat as u64 - 1);
            prop_assert_eq!(knee.first_grown, 100 + flat as u64);
        }
    }

    #[test]
    fn misses_that_come_and_go_are_no_growth() {
        assert_eq!(growth(&[(1, 0.0), (2, 7.0), (3, 0.0)]), None);
        assert_eq!(growth(&[(1, 3.0), (2, 3.0)]), None);
        assert_eq!(growth(&[]), None);
    }
}
