//! Doubling and bisection (Größler, section 3.2), in batches: since many small experiments run at once, a round asks for many
//! points inside the bracket where bisection asks for one.

/// The change lies above `low` and not above `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bracket {
    /// A point without the change.
    pub low: u64,
    /// A point with it.
    pub high: u64,
}

/// `start`, twice that, and so on below `limit`, and `limit` itself.
pub fn doubling(start: u64, limit: u64) -> Vec<u64> {
    let mut points: Vec<u64> =
        std::iter::successors(Some(start.max(1)), |s| s.checked_mul(2)).take_while(|&s| s < limit).collect();
    points.push(limit);
    points
}

/// At most `count` points strictly inside the bracket, multiples of `granule` (not 0), evenly spread; all there are, if there
/// are no more. With a count of 1 this is bisection.
pub fn sections(bracket: Bracket, granule: u64, count: usize) -> Vec<u64> {
    let first = bracket.low / granule + 1;
    let end = bracket.high.div_ceil(granule);
    let inside = end.saturating_sub(first);
    let count = count as u64;
    if inside <= count {
        return (first..end).map(|k| k * granule).collect();
    }
    // u128: a bracket may span all of u64.
    let place = |i: u64| (u128::from(inside) * u128::from(i) / u128::from(count + 1)) as u64;
    let mut points: Vec<u64> = (1..=count).map(|i| (first + place(i)) * granule).collect();
    points.dedup();
    points
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn doubling_ends_at_the_limit() {
        assert_eq!(doubling(1, 8), [1, 2, 4, 8]);
        assert_eq!(doubling(3, 10), [3, 6, 10]);
        assert_eq!(doubling(16, 8), [8]);
        assert_eq!(doubling(1 << 63, u64::MAX), [1 << 63, u64::MAX]);
    }

    proptest! {
        #[test]
        fn any_step_is_found_to_one_granule(
            granule in 1u64..100, low in 0u64..1000, width in 1u64..100_000, at in 0.0f64..1.0, count in 1usize..40,
        ) {
            let bracket = Bracket { low: low * granule, high: (low + width) * granule };
            let step = bracket.low + granule * (1 + (at * (width - 1) as f64) as u64);
            let mut bracket = bracket;
            let mut rounds = 0;
            while bracket.high - bracket.low > granule {
                let points = sections(bracket, granule, count);
                prop_assert!(!points.is_empty() && points.len() <= count);
                prop_assert!(points.iter().all(|&p| bracket.low < p && p < bracket.high && p % granule == 0));
                prop_assert!(points.is_sorted());
                for point in points {
                    if point < step {
                        bracket.low = bracket.low.max(point);
                    } else {
                        bracket.high = bracket.high.min(point);
                    }
                }
                rounds += 1;
            }
            prop_assert_eq!(bracket.high, step);
            // Each round divides by count + 1, but for the rounding to granules.
            let expected = (width as f64).ln() / ((count + 1) as f64).ln();
            prop_assert!(f64::from(rounds) <= expected + 2.0, "{rounds} rounds, expected {expected}");
        }
    }
}
