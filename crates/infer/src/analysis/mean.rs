//! Student's interval of a mean: where the mean of another such sample is expected.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::robust;

/// The ends of the interval of the mean of `values` at `level` (0 to 1).
///
/// Contract: finite values that are independent of each other and not far from normal. Unlike a bootstrap's, the interval of a
/// few values is as wide as it has to be.
///
/// Degenerate inputs: of one value and of equal values both ends are the mean. With no values they are the mean of nothing.
pub fn interval(values: &[f64], level: f64) -> (f64, f64) {
    let (n, mean) = (values.len() as f64, robust::mean(values));
    let Ok(student) = StudentsT::new(0.0, 1.0, n - 1.0) else { return (mean, mean) };
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = student.inverse_cdf(0.5 + level / 2.0) * (variance / n).sqrt();
    (mean - half, mean + half)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// How many of 1000 samples of `n` values have the truth, 0, in their interval of 95 %.
    fn covered(n: usize) -> usize {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut normal = || (0..12).map(|_| rng.random_range(0.0..1.0)).sum::<f64>() - 6.0;
        let samples = (0..1000).map(|_| (0..n).map(|_| normal()).collect::<Vec<f64>>());
        samples
            .filter(|sample| {
                let (low, high) = interval(sample, 0.95);
                low <= 0.0 && 0.0 <= high
            })
            .count()
    }

    #[test]
    fn it_holds_the_truth_as_often_as_it_says_however_few_the_values() {
        for n in [2, 4, 12, 40] {
            let covered = covered(n);
            // Three standard deviations of a binomial of 1000 with 0.95.
            assert!((930..=970).contains(&covered), "{covered} of 1000 with {n} values");
        }
    }

    #[test]
    fn one_value_and_equal_values_have_no_width() {
        assert_eq!(interval(&[7.0], 0.95), (7.0, 7.0));
        assert_eq!(interval(&[7.0; 5], 0.95), (7.0, 7.0));
    }

    #[test]
    fn a_textbook_example() {
        // Student 1908: ten differences in hours of sleep, mean 1.58, deviation 1.23; t of 9 degrees is 2.262.
        let sleep = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let (low, high) = interval(&sleep, 0.95);
        assert!((low - 0.70).abs() < 0.01 && (high - 2.46).abs() < 0.01, "{low} to {high}");
    }
}
