//! Percentile bootstrap (Efron 1979): how far a statistic moves when the sample is drawn anew from itself.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::robust;

/// An interval with its confidence level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence level, 0 to 1.
    pub level: f64,
}

/// The interval of `statistic` over `values`, from `resamples` draws. The seed fixes the result.
///
/// Of a single value both ends are the statistic: one value says nothing of its own spread.
///
/// # Panics
///
/// If there are no values or no resamples.
pub fn interval(
    values: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    level: f64,
    resamples: usize,
    seed: u64,
) -> Interval {
    assert!(!values.is_empty() && resamples > 0, "a bootstrap needs values and resamples");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut draw = vec![0.0; values.len()];
    let statistics: Vec<f64> = (0..resamples)
        .map(|_| {
            draw.fill_with(|| values[rng.random_range(0..values.len())]);
            statistic(&draw)
        })
        .collect();
    let tail = (1.0 - level) / 2.0;
    let at = |q| robust::quantile(&statistics, q).unwrap_or_else(|| statistic(values));
    Interval { low: at(tail), high: at(1.0 - tail), level }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_covers_the_mean_about_as_often_as_it_says() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let trials = 300;
        let covered = (0..trials)
            .filter(|&trial| {
                // A sum of uniform draws is near enough to normal; its mean is 6.
                let values: Vec<f64> =
                    (0..40).map(|_| (0..12).map(|_| rng.random_range(0.0..1.0)).sum::<f64>()).collect();
                let interval = interval(&values, robust::mean, 0.95, 400, trial);
                interval.low <= 6.0 && 6.0 <= interval.high
            })
            .count();
        let share = covered as f64 / trials as f64;
        assert!((0.90..=0.99).contains(&share), "covered {share}");
    }

    #[test]
    fn the_seed_fixes_it_and_one_value_has_no_width() {
        let values = [1.0, 2.0, 5.0, 9.0];
        let once = interval(&values, robust::mean, 0.9, 100, 1);
        assert_eq!(once, interval(&values, robust::mean, 0.9, 100, 1));
        assert_ne!(once, interval(&values, robust::mean, 0.9, 100, 2));
        let single = interval(&[4.0], robust::mean, 0.95, 10, 0);
        assert_eq!((single.low, single.high), (4.0, 4.0));
    }
}
