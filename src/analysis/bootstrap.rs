//! Bootstrap.
use rand::{RngExt, SeedableRng};
pub struct Interval { pub low: f64, pub high: f64, pub level: f64 }
pub fn interval(values: &[f64], statistic: impl Fn(&[f64]) -> f64, level: f64, resamples: usize, seed: u64) -> Interval {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
    let stats: Vec<f64> = (0..resamples).map(|_| { let s: Vec<f64> = (0..values.len()).map(|_| values[rng.random_range(0..values.len())]).collect(); statistic(&s) }).collect();
    let tail = (1.0 - level) / 2.0;
    Interval { low: super::robust::quantile(&stats, tail).unwrap_or(0.0), high: super::robust::quantile(&stats, 1.0 - tail).unwrap_or(0.0), level }
}
