//! Robust statistics: centre and spread that a few outliers do not change.
//!
//! Values carry the caller's unit and results keep it. Contract: no value is NaN or infinite. Functions of an empty slice
//! give `None`, apart from the means, which give 0.

/// Share of the values that [`trimmed_mean`] drops at each end: more than the spikes that refreshes and arbitration cause
/// (below 2 % of loads on the GPUs seen), less than would hide a second level.
pub const TRIM: f64 = 0.05;

/// The `q`-quantile (0 to 1, clamped) of finite values, linear between neighbours: type 7 of Hyndman and Fan (1996).
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    quantile_by(values.to_vec(), q, f64::total_cmp, |v| v)
}

/// [`quantile`] of integers.
pub fn quantile_u32(values: &[u32], q: f64) -> Option<f64> {
    quantile_by(values.to_vec(), q, u32::cmp, f64::from)
}

/// By selection rather than by sorting: O(n).
fn quantile_by<T: Copy>(
    mut values: Vec<T>,
    q: f64,
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
    number: impl Fn(T) -> f64,
) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let rank = last as f64 * q.clamp(0.0, 1.0);
    let below = rank.floor() as usize;
    let (_, &mut lower, above) = values.select_nth_unstable_by(below, &order);
    // The next in order is the least of what was left above; there is none after the last.
    let upper = above.iter().copied().min_by(&order).unwrap_or(lower);
    let (lower, upper) = (number(lower), number(upper));
    Some(lower + (upper - lower) * (rank - below as f64))
}

/// The median: the mean of the middle two of an even number.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// [`median`] of integers.
pub fn median_u32(values: &[u32]) -> Option<f64> {
    quantile_u32(values, 0.5)
}

/// Median absolute deviation from the median, unscaled: half of the values lie within it.
pub fn median_absolute_deviation(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    median(&values.iter().map(|v| (v - centre).abs()).collect::<Vec<_>>())
}

/// [`median_absolute_deviation`] of integers.
pub fn median_absolute_deviation_u32(values: &[u32]) -> Option<f64> {
    let centre = median_u32(values)?;
    median(&values.iter().map(|&v| (f64::from(v) - centre).abs()).collect::<Vec<_>>())
}

/// The median, the least and the greatest; nothing of none.
pub fn spread(values: &[f64]) -> Option<(f64, f64, f64)> {
    let least = values.iter().copied().reduce(f64::min)?;
    let most = values.iter().copied().reduce(f64::max)?;
    Some((median(values)?, least, most))
}

/// Rounded to tenths, which is what findings in cycles state.
pub fn tenths(x: f64) -> f64 {
    // Adding zero makes minus zero plus zero.
    (x * 10.0).round() / 10.0 + 0.0
}

/// Arithmetic mean; 0 of none.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Mean of what is left when the lowest and the highest [`TRIM`] of the values are dropped (rounded down: nothing below 20
/// values); 0 of none.
pub fn trimmed_mean(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let cut = (sorted.len() as f64 * TRIM) as usize;
    mean(&sorted[cut..sorted.len() - cut])
}

/// [`trimmed_mean`] of integers.
pub fn trimmed_mean_u32(values: &[u32]) -> f64 {
    trimmed_mean(&values.iter().map(|&v| f64::from(v)).collect::<Vec<_>>())
}

/// The commonest value; the lowest of those that are equally common.
pub fn mode(values: &[u32]) -> Option<u32> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let mut best = None;
    for run in sorted.chunk_by(|a, b| a == b) {
        if best.is_none_or(|(length, _)| run.len() > length) {
            best = Some((run.len(), run[0]));
        }
    }
    best.map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantiles_of_type_7() {
        // R: quantile(c(1, 2, 3, 4), c(0.1, 0.25, 0.5, 0.9), type = 7)
        let values = [4.0, 1.0, 3.0, 2.0];
        for (q, expected) in [(0.0, 1.0), (0.1, 1.3), (0.25, 1.75), (0.5, 2.5), (0.9, 3.7), (1.0, 4.0), (7.0, 4.0)] {
            assert!((quantile(&values, q).unwrap() - expected).abs() < 1e-12, "{q}");
            assert!((quantile_u32(&[4, 1, 3, 2], q).unwrap() - expected).abs() < 1e-12, "{q}");
        }
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn a_wild_value_moves_the_mean_alone() {
        let mut values = vec![40.0; 40];
        values[7] = 9000.0;
        assert_eq!(median(&values), Some(40.0));
        assert_eq!(median_absolute_deviation(&values), Some(0.0));
        assert_eq!(trimmed_mean(&values), 40.0);
        assert_eq!(mean(&values), 264.0);
    }

    #[test]
    fn deviation_by_hand() {
        assert_eq!(median_absolute_deviation(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
        assert_eq!(median_absolute_deviation_u32(&[1, 1, 2, 2, 4, 6, 9]), Some(1.0));
    }

    #[test]
    fn means_of_few_and_none() {
        assert_eq!(trimmed_mean_u32(&[1, 2, 6]), 3.0);
        assert_eq!((mean(&[]), trimmed_mean(&[])), (0.0, 0.0));
    }

    #[test]
    fn the_lowest_of_equally_common_values_is_the_mode() {
        assert_eq!(mode(&[7, 3, 7, 3, 9]), Some(3));
        assert_eq!(mode(&[7, 3, 7]), Some(7));
        assert_eq!(mode(&[]), None);
    }

    proptest! {
        #[test]
        fn a_quantile_is_that_of_the_sorted_values(values in prop::collection::vec(0u32..50, 1..60), q in 0.0..1.0f64) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let rank = q * (sorted.len() - 1) as f64;
            let (low, high) = (f64::from(sorted[rank.floor() as usize]), f64::from(sorted[rank.ceil() as usize]));
            let expected = low + (high - low) * rank.fract();
            prop_assert!((quantile_u32(&values, q).unwrap() - expected).abs() < 1e-9);
        }
    }
}
