//! Plans the search for a capacity: doubling, then sections of the bracket (Größler 2022, section 3.2).
//!
//! The thesis halves the bracket. Here many small experiments run at once, so that each round asks for several points inside
//! it: with one point a round this is plain bisection, with k points a bracket of w granules takes ⌈log w / log (k + 1)⌉
//! rounds.

/// Where a change lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bracket {
    /// A point at which nothing has changed yet.
    pub low: u64,
    /// A larger point at which it has.
    pub high: u64,
}

/// `start` (at least 1), doubled while below `limit`, then `limit`: ascending, never empty, none above `limit`.
pub fn doubling(start: u64, limit: u64) -> Vec<u64> {
    let mut points: Vec<u64> = std::iter::successors(Some(start.max(1)), |size| size.checked_mul(2))
        .take_while(|&size| size < limit)
        .collect();
    points.push(limit);
    points
}

/// At most `count` multiples of `granule` (at least 1) strictly inside the bracket, ascending: all of them if there are no
/// more than `count`, else evenly spread. Empty once the bracket is one granule wide.
///
/// Which points these are decides which experiments a recording holds: placing them otherwise makes older ones unreadable
/// to the probes.
pub fn sections(bracket: Bracket, granule: u64, count: usize) -> Vec<u64> {
    let granule = granule.max(1);
    let first = bracket.low / granule + 1;
    let inside = bracket.high.div_ceil(granule).saturating_sub(first);
    let count = count as u64;
    if inside <= count {
        return (first..first + inside).map(|k| k * granule).collect();
    }
    // Wider than 64 bits, since the product of a width in bytes and a number of points need not fit.
    let place = |i: u64| (u128::from(inside) * u128::from(i) / u128::from(count + 1)) as u64;
    (1..=count).map(|i| (first + place(i)) * granule).collect()
}

/// What is left of the bracket once points inside it (ascending; whether each is changed) are measured.
///
/// The change must be *sustained*: `high` becomes the first point from which on all are changed, `low` the point before it.
/// The ends of the bracket stand in where there is no such point. An isolated changed point with unchanged ones after it is
/// thereby noise.
///
/// If `tolerant`, an isolated unchanged point is noise too: one that follows two changed points in a row and is followed by
/// a changed one (the bracket's end is one). Two are asked for because in unchanged, changed, unchanged, changed either
/// middle point may be the noisy one, and the smaller claim is that the change comes later.
pub fn narrow(points: &[(u64, bool)], bracket: Bracket, tolerant: bool) -> Bracket {
    let changed = |i: usize| points.get(i).is_none_or(|p| p.1);
    let noise = |i: usize| tolerant && i >= 2 && changed(i - 1) && changed(i - 2) && changed(i + 1);
    let last_flat = (0..points.len()).rev().find(|&i| !changed(i) && !noise(i));
    let at = last_flat.map_or(0, |i| i + 1);
    Bracket { low: last_flat.map_or(bracket.low, |i| points[i].0), high: points.get(at).map_or(bracket.high, |p| p.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WIDE: Bracket = Bracket { low: 0, high: 100 };

    fn narrowed(pattern: &str, tolerant: bool) -> (u64, u64) {
        let points: Vec<(u64, bool)> =
            pattern.chars().enumerate().map(|(i, c)| ((i as u64 + 1) * 10, c == 'C')).collect();
        let b = narrow(&points, WIDE, tolerant);
        (b.low, b.high)
    }

    #[test]
    fn doubling_ends_at_the_limit() {
        assert_eq!(doubling(1024, 5000), [1024, 2048, 4096, 5000]);
        assert_eq!(doubling(1024, 4096), [1024, 2048, 4096]);
        assert_eq!(doubling(1024, 100), [100]);
        assert_eq!(doubling(0, 3), [1, 2, 3]);
        assert_eq!(doubling(1 << 63, u64::MAX), [1 << 63, u64::MAX]);
    }

    #[test]
    fn one_section_is_the_middle() {
        assert_eq!(sections(Bracket { low: 64, high: 128 }, 32, 1), [96]);
        assert_eq!(sections(Bracket { low: 64, high: 96 }, 32, 1), [] as [u64; 0]);
        assert_eq!(sections(Bracket { low: 96, high: 64 }, 32, 4), [] as [u64; 0]);
        assert_eq!(sections(Bracket { low: 0, high: u64::MAX }, 1, 3), [1 << 62, 1 << 63, (3 << 62) - 1]);
    }

    #[test]
    fn few_points_are_all_asked_for() {
        assert_eq!(sections(Bracket { low: 70, high: 200 }, 32, 8), [96, 128, 160, 192]);
    }

    #[test]
    fn a_change_must_be_sustained() {
        assert_eq!(narrowed("UUUCCC", false), (30, 40));
        assert_eq!(narrowed("UCUUCC", false), (40, 50));
        assert_eq!(narrowed("UUU", false), (30, 100));
        assert_eq!(narrowed("CCC", false), (0, 10));
        assert_eq!(narrowed("", true), (0, 100));
    }

    #[test]
    fn an_isolated_unchanged_point_is_noise_if_told_so() {
        assert_eq!(narrowed("UCCUCC", true), (10, 20));
        assert_eq!(narrowed("UCCUCC", false), (40, 50));
        assert_eq!(narrowed("UCCU", true), (10, 20), "the bracket's end is changed");
        assert_eq!(narrowed("UUCUCC", true), (40, 50), "either middle point may be the noisy one");
        assert_eq!(narrowed("UCCUUC", true), (50, 60), "two in a row are not isolated");
    }

    proptest! {
        #[test]
        fn any_step_is_found_in_the_expected_rounds(
            granule in 1u64..200, low in 0u64..10_000, cells in 1u64..1_000_000, at in 0.0..1.0f64, count in 1usize..40,
        ) {
            let (start, width) = (low / granule, cells);
            let mut bracket = Bracket { low: start * granule, high: (start + width) * granule };
            let first_changed = (start + 1 + (at * (width - 1) as f64) as u64) * granule;
            let mut expected = 0;
            let mut reached = 1u64;
            while reached < width {
                reached = reached.saturating_mul(count as u64 + 1);
                expected += 1;
            }
            let mut rounds = 0;
            loop {
                let points = sections(bracket, granule, count);
                if points.is_empty() {
                    break;
                }
                prop_assert!(points.len() <= count);
                rounds += 1;
                let seen: Vec<(u64, bool)> = points.iter().map(|&p| (p, p >= first_changed)).collect();
                bracket = narrow(&seen, bracket, rounds % 2 == 0);
            }
            prop_assert_eq!(bracket, Bracket { low: first_changed - granule, high: first_changed });
            prop_assert!(rounds <= expected, "{} rounds, {} expected", rounds, expected);
        }

        #[test]
        fn sections_lie_inside_and_are_even(
            granule in 1u64..100, low in 0u64..10_000, wide in 0u64..100_000, count in 0usize..50,
        ) {
            let bracket = Bracket { low, high: low + wide };
            let points = sections(bracket, granule, count);
            let inside = (low + 1..low + wide).filter(|p| p % granule == 0).count();
            prop_assert_eq!(points.len(), inside.min(count));
            prop_assert!(points.iter().all(|p| p % granule == 0 && *p > low && *p < low + wide));
            let steps: Vec<u64> = points.windows(2).map(|w| w[1] - w[0]).collect();
            if let (Some(least), Some(most)) = (steps.iter().min(), steps.iter().max()) {
                prop_assert!(*least > 0 && most - least <= granule);
            }
        }
    }
}
