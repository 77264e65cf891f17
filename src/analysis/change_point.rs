//! The single change point of least cost (Größler, section 3.3.3, equation 3.1, after Rigaill and others).
//!
//! The cost of a segment is the sum of its squared deviations from its mean. With prefix sums every split costs the same
//! small time, so the whole search is linear; the thesis' "Simplified Opt", which costs every segment anew, is the oracle
//! of the tests.

/// Fewest values on either side: one value has no deviation, and would always be split off.
pub const MIN_SIDE: usize = 2;

/// Where a series changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value of the right part.
    pub index: usize,
    /// Cost of both parts together.
    pub cost: f64,
    /// Cost of the whole less that of the parts.
    pub gain: f64,
}

/// The split of least cost. `None` if the series is too short or all of one value.
pub fn change_point(values: &[f64]) -> Option<ChangePoint> {
    let n = values.len();
    if n < 2 * MIN_SIDE {
        return None;
    }
    // Deviations from the mean keep the squares small, so that their sums lose no digits.
    let mean = values.iter().sum::<f64>() / n as f64;
    let mut sums = Vec::with_capacity(n + 1);
    let mut squares = Vec::with_capacity(n + 1);
    let (mut sum, mut square) = (0.0, 0.0);
    sums.push(0.0);
    squares.push(0.0);
    for value in values {
        let x = value - mean;
        sum += x;
        square += x * x;
        sums.push(sum);
        squares.push(square);
    }
    let cost = |from: usize, to: usize| {
        let s: f64 = sums[to] - sums[from];
        (squares[to] - squares[from] - s * s / (to - from) as f64).max(0.0)
    };
    let whole = cost(0, n);
    // The first of equals, so that the result does not depend on rounding of a later one.
    let (index, parts) = (MIN_SIDE..=n - MIN_SIDE)
        .map(|split| (split, cost(0, split) + cost(split, n)))
        .reduce(|best, next| if next.1 < best.1 { next } else { best })?;
    (whole > parts).then_some(ChangePoint { index, cost: parts, gain: whole - parts })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The thesis' Algorithm 1: the cost of every segment from its own mean.
    fn quadratic(values: &[f64]) -> Option<(usize, f64)> {
        let cost = |part: &[f64]| {
            let mean = part.iter().sum::<f64>() / part.len() as f64;
            part.iter().map(|v| (v - mean).powi(2)).sum::<f64>()
        };
        let splits = MIN_SIDE..=values.len().checked_sub(MIN_SIDE)?;
        splits
            .map(|split| (split, cost(&values[..split]) + cost(&values[split..])))
            .reduce(|best, next| if next.1 < best.1 { next } else { best })
    }

    proptest! {
        #[test]
        fn the_fast_search_finds_what_the_quadratic_one_finds(
            left in prop::collection::vec(0.0f64..10.0, 2..40),
            right in prop::collection::vec(0.0f64..10.0, 2..40),
            step in -50.0f64..50.0,
            offset in -1e6f64..1e6,
        ) {
            let values: Vec<f64> =
                left.iter().map(|v| v + offset).chain(right.iter().map(|v| v + offset + step)).collect();
            let (_, expected) = quadratic(&values).unwrap();
            let found = change_point(&values).unwrap();
            prop_assert!((found.cost - expected).abs() <= 1e-6 * expected.max(1.0));
            if step.abs() > 20.0 {
                prop_assert_eq!(found.index, left.len());
            }
        }
    }

    #[test]
    fn a_constant_or_short_series_has_none() {
        assert_eq!(change_point(&[3.0; 50]), None);
        assert_eq!(change_point(&[1.0, 9.0, 9.0]), None);
        assert_eq!(change_point(&[]), None);
    }

    #[test]
    fn the_first_value_of_the_right_part_is_named() {
        let found = change_point(&[1.0, 1.0, 1.0, 4.0, 4.0]).unwrap();
        assert_eq!(found.index, 3);
        assert!(found.cost < 1e-12 && found.gain > 10.0);
    }
}
