//! The optimal single change point of a series, by cost (Größler 2022, section 3.3.3).

/// Fewest values on either side of a change point: a mean of one value costs nothing, so that with fewer every lone spike
/// at an end would be a change.
pub const MIN_SIDE: usize = 2;

/// Where a series changes most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value of the right part.
    pub index: usize,
    /// Sum of squared deviations from the means of the two parts, in the values' unit squared.
    pub cost: f64,
    /// By how much that is less than around a single mean, in the values' unit squared.
    pub gain: f64,
}

/// The split with the least cost (equation 3.1, the cost of a part being its squared deviations from its mean); the first of
/// several. `None` for fewer than 2 × [`MIN_SIDE`] values or if all are equal. Contract: finite values.
///
/// It always finds one in a series that varies: whether it is one, a test must say ([`super::ks`]).
///
/// O(n), in place of the O(n²) of the thesis' "Simplified Opt": what a split saves follows from the running sum S of the
/// first k values less the mean as S² n / (k (n − k)). That is a square, with nothing subtracted that cancels.
pub fn change_point(values: &[f64]) -> Option<ChangePoint> {
    let n = values.len();
    if n < 2 * MIN_SIDE || values.iter().all(|v| *v == values[0]) {
        return None;
    }
    // Twice, since the first mean of large values is off by their rounding.
    let first = super::robust::mean(values);
    let mean = first + values.iter().map(|v| v - first).sum::<f64>() / n as f64;
    let mut best = (0, f64::NEG_INFINITY);
    let (mut sum, mut total) = (0.0, 0.0);
    for (i, value) in values.iter().enumerate() {
        if i >= MIN_SIDE && n - i >= MIN_SIDE {
            let (left, right) = (i as f64, (n - i) as f64);
            let gain = sum * sum / left / right * n as f64;
            if gain > best.1 {
                best = (i, gain);
            }
        }
        let deviation = value - mean;
        sum += deviation;
        total += deviation * deviation;
    }
    let (index, gain) = best;
    // Rounding may make a perfect split save a little more than there is.
    Some(ChangePoint { index, cost: (total - gain).max(0.0), gain })
}

/// The thesis' "Simplified Opt" in O(n²), straight from the definition: what [`change_point`] is tested against.
#[cfg(test)]
fn change_point_quadratic(values: &[f64]) -> Option<ChangePoint> {
    fn cost(part: &[f64]) -> f64 {
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        part.iter().map(|v| (v - mean).powi(2)).sum()
    }
    let n = values.len();
    if n < 2 * MIN_SIDE || values.iter().all(|v| *v == values[0]) {
        return None;
    }
    let (index, least) = (MIN_SIDE..=n - MIN_SIDE)
        .map(|t| (t, cost(&values[..t]) + cost(&values[t..])))
        .min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(ChangePoint { index, cost: least, gain: cost(values) - least })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_examples_of_the_thesis() {
        let small = change_point(&[1.0, 1.0, 1.0, 1.0, 1.3, 1.3, 1.3, 1.3]).unwrap();
        assert_eq!(small.index, 4);
        assert!(small.cost < 1e-12 && (small.gain - 8.0 * 0.15 * 0.15).abs() < 1e-12);
        let large = change_point(&[1.0, 1.0, 1.0, 1.0, 4.0, 5.0, 6.0, 7.0]).unwrap();
        assert_eq!((large.index, large.cost), (4, 5.0));
    }

    #[test]
    fn nothing_changes_in_few_or_equal_values() {
        assert_eq!(change_point(&[1.0, 2.0, 3.0]), None);
        assert_eq!(change_point(&[0.1; 1000]), None);
        assert_eq!(change_point(&[]), None);
    }

    #[test]
    fn a_lone_spike_at_the_end_is_no_part_of_its_own() {
        let mut values = vec![0.0; 10];
        values[9] = 100.0;
        assert_eq!(change_point(&values).unwrap().index, 8);
    }

    #[test]
    fn a_small_step_on_a_large_offset_is_found() {
        let values: Vec<f64> = (0..1000).map(|i| 1e9 + if i < 637 { 0.0 } else { 1e-3 }).collect();
        assert_eq!(change_point(&values).unwrap().index, 637);
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_quadratic_search(
            values in prop::collection::vec(-1e3..1e3f64, 0..80),
            step in -500.0..500.0f64,
            at in 0usize..80,
            offset in prop::sample::select(vec![0.0, 1e6]),
        ) {
            let values: Vec<f64> =
                values.iter().enumerate().map(|(i, v)| offset + v + if i < at { 0.0 } else { step }).collect();
            match (change_point(&values), change_point_quadratic(&values)) {
                (None, None) => {}
                (Some(fast), Some(slow)) => {
                    // Distinct random values tie with probability zero, so that the index is the same too.
                    prop_assert_eq!(fast.index, slow.index);
                    let scale = (slow.cost + slow.gain) * 1e-9;
                    prop_assert!((fast.cost - slow.cost).abs() <= scale, "{:?} {:?}", fast, slow);
                    prop_assert!((fast.gain - slow.gain).abs() <= scale, "{:?} {:?}", fast, slow);
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
