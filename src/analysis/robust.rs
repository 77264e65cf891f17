//! Centres and quantiles that a few wild values do not move. Values must not be NaN.

/// Share of the values that [`trimmed_mean`] leaves out at each end.
pub const TRIM: f64 = 0.05;

/// The `q`-quantile (0 to 1), interpolated between neighbours (type 7 of Hyndman and Fan 1996). `None` of no values.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let place = last as f64 * q.clamp(0.0, 1.0);
    let low = place.floor() as usize;
    let mut values = values.to_vec();
    // Selecting is linear where sorting is not; the next larger value is the least of those behind.
    let (_, &mut at, behind) = values.select_nth_unstable_by(low, f64::total_cmp);
    let next = behind.iter().copied().min_by(f64::total_cmp).unwrap_or(at);
    Some(at + (next - at) * (place - low as f64))
}

/// The median. `None` of no values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The `q`-quantile of integers, as [`quantile`].
pub fn quantile_u32(values: &[u32], q: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let place = last as f64 * q.clamp(0.0, 1.0);
    let low = place.floor() as usize;
    let mut values = values.to_vec();
    let (_, &mut at, behind) = values.select_nth_unstable(low);
    let next = behind.iter().copied().min().unwrap_or(at);
    Some(f64::from(at) + f64::from(next - at) * (place - low as f64))
}

/// The median of integers. `None` of no values.
pub fn median_u32(values: &[u32]) -> Option<f64> {
    quantile_u32(values, 0.5)
}

/// The mean; 0 of no values.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The mean without the [`TRIM`] share of smallest and of largest values; 0 of no values.
pub fn trimmed_mean(values: &[f64]) -> f64 {
    let cut = (values.len() as f64 * TRIM) as usize;
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    mean(&values[cut..values.len() - cut])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_interpolate() {
        let values = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(median(&values), Some(2.5));
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&values, 1.0), Some(4.0));
        assert_eq!(quantile(&values, 0.25), Some(1.75));
        assert_eq!(median(&[]), None);
        assert_eq!(median_u32(&[7, 5]), Some(6.0));
    }

    #[test]
    fn a_trimmed_mean_ignores_spikes() {
        let mut values = vec![10.0; 100];
        values[3] = 1e9;
        assert_eq!(trimmed_mean(&values), 10.0);
        assert_eq!(trimmed_mean(&[]), 0.0);
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_the_sorted_values(values in prop::collection::vec(0u32..1000, 1..80), q in 0.0f64..=1.0) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let place = (sorted.len() - 1) as f64 * q;
            let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            let expected = f64::from(low) + f64::from(high - low) * place.fract();
            prop_assert!((quantile_u32(&values, q).unwrap() - expected).abs() < 1e-9);
            let floats: Vec<f64> = values.iter().map(|&v| f64::from(v)).collect();
            prop_assert!((quantile(&floats, q).unwrap() - expected).abs() < 1e-9);
        }
    }
}
