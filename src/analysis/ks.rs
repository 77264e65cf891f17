//! Two-sample Kolmogorov-Smirnov test (Größler, section 3.3.4).

/// The outcome of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KsTest {
    /// Largest distance between the two empirical distribution functions, 0 to 1.
    pub statistic: f64,
    /// Above this the samples are distinct.
    pub critical: f64,
    /// Level of the test.
    pub alpha: f64,
    /// Whether the samples come from different distributions, at this level.
    pub distinct: bool,
}

/// Tests whether two samples come from one distribution, at level `alpha`. Two empty samples are alike; an empty sample and
/// another cannot be told apart.
///
/// The critical value is the thesis' equation 3.3, √(−ln(α/2)/2 · (n+m)/(n·m)); the thesis prints the logarithm without
/// its sign, which would make the root imaginary.
pub fn ks_test(a: &[f64], b: &[f64], alpha: f64) -> KsTest {
    let (n, m) = (a.len() as f64, b.len() as f64);
    if a.is_empty() || b.is_empty() {
        return KsTest { statistic: 0.0, critical: f64::INFINITY, alpha, distinct: false };
    }
    let statistic = statistic(a, b);
    let critical = (-(alpha / 2.0).ln() / 2.0 * (n + m) / (n * m)).sqrt();
    KsTest { statistic, critical, alpha, distinct: statistic > critical }
}

fn statistic(a: &[f64], b: &[f64]) -> f64 {
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let (a, b) = (sorted(a), sorted(b));
    let (mut i, mut j) = (0, 0);
    let mut largest = 0.0f64;
    while i < a.len() && j < b.len() {
        // Both functions step past all values that are equal before they are compared.
        let value = a[i].min(b[j]);
        while i < a.len() && a[i] <= value {
            i += 1;
        }
        while j < b.len() && b[j] <= value {
            j += 1;
        }
        largest = largest.max((i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs());
    }
    largest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};

    use super::*;

    proptest! {
        #[test]
        fn the_statistic_is_that_of_the_definition(
            a in prop::collection::vec(0u8..12, 1..40),
            b in prop::collection::vec(0u8..12, 1..40),
        ) {
            let floats = |v: &[u8]| v.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
            let below = |v: &[u8], x: u8| v.iter().filter(|&&y| y <= x).count() as f64 / v.len() as f64;
            let expected = (0..12).map(|x| (below(&a, x) - below(&b, x)).abs()).fold(0.0, f64::max);
            prop_assert!((ks_test(&floats(&a), &floats(&b), 0.05).statistic - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn known_values() {
        let test = ks_test(&[1.0, 2.0, 3.0, 4.0], &[3.0, 4.0, 5.0, 6.0], 0.05);
        assert_eq!(test.statistic, 0.5);
        // 1.3581 √(8/16), from tables of the distribution.
        assert!((test.critical - 1.358_1 * 0.5f64.sqrt()).abs() < 1e-4);
        assert!(!test.distinct);
        assert!(!ks_test(&[], &[1.0], 0.05).distinct);
    }

    #[test]
    fn one_distribution_is_seldom_called_two() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(5);
        let mut draw = || (0..100).map(|_| rng.random_range(0.0..1.0)).collect::<Vec<f64>>();
        let wrong = (0..1000).filter(|_| ks_test(&draw(), &draw(), 0.05).distinct).count();
        assert!(wrong <= 70, "{wrong} of 1000");
    }
}
