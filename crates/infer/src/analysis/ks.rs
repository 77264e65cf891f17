//! The two-sample Kolmogorov-Smirnov test (Größler 2022, section 3.3.4): do two samples follow the same distribution?

/// Outcome of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KsTest {
    /// D: the largest distance of the two empirical distribution functions, 0 to 1 (equation 3.2).
    pub statistic: f64,
    /// What D must exceed to count at this `alpha`; above 1 (never exceeded) for very small samples, infinite if one is
    /// empty.
    pub critical: f64,
    /// Largest accepted probability of calling two samples of one distribution distinct.
    pub alpha: f64,
    /// Whether D exceeds the critical value.
    pub distinct: bool,
}

/// Tests two samples, in any order, at `alpha` (between 0 and 1). O((n + m) log (n + m)). Contract: finite values.
///
/// Assumes independent draws and samples that are not tiny (the critical value is asymptotic). Of values with many ties,
/// as of whole cycles, the test is conservative: it calls fewer samples distinct than `alpha` allows.
pub fn ks_test(a: &[f64], b: &[f64], alpha: f64) -> KsTest {
    let statistic = statistic(a, b);
    let critical = critical(a.len(), b.len(), alpha);
    KsTest { statistic, critical, alpha, distinct: statistic > critical }
}

/// By how much more of `a` than of `b` lies above some value, at most, and that value; `None` if the test does not tell the two
/// apart at `alpha`, or `a` is nowhere above. As in [`ks_test`], of which this is one side.
pub fn slower(a: &[f64], b: &[f64], alpha: f64) -> Option<(f64, f64)> {
    let above = |values: &[f64], value: f64| values.iter().filter(|v| **v > value).count() as f64 / values.len() as f64;
    let mut values = b.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    let by = values.into_iter().map(|value| (above(a, value) - above(b, value), value));
    by.max_by(|one, other| one.0.total_cmp(&other.0)).filter(|&(by, _)| by > critical(a.len(), b.len(), alpha))
}

/// D of two samples; 0 if one is empty.
fn statistic(a: &[f64], b: &[f64]) -> f64 {
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let (a, b) = (sorted(a), sorted(b));
    let (mut i, mut j, mut largest) = (0, 0, 0.0f64);
    // Once one sample is used up, its function is 1 and the other's distance to it can only shrink.
    while i < a.len() && j < b.len() {
        // Both functions jump at a tie: they are compared only when all of its values are counted.
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

/// The critical value √(−½ ln(α/2) (n + m)/(n m)).
///
/// Equation 3.3 of the thesis leaves out the minus sign: ln(α/2) is negative, so that its root would not be real.
fn critical(n: usize, m: usize, alpha: f64) -> f64 {
    let (n, m) = (n as f64, m as f64);
    if n * m == 0.0 {
        return f64::INFINITY;
    }
    (-0.5 * (alpha / 2.0).ln() * (n + m) / (n * m)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// From the definition: both functions at every value that occurs.
    fn by_definition(a: &[f64], b: &[f64]) -> f64 {
        let share = |values: &[f64], x: f64| values.iter().filter(|v| **v <= x).count() as f64 / values.len() as f64;
        a.iter().chain(b).map(|&x| (share(a, x) - share(b, x)).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn known_critical_values() {
        // Tables give c(α) √((n + m)/(n m)) with c(0.10) = 1.224, c(0.05) = 1.358, c(0.01) = 1.628.
        for (alpha, c) in [(0.10, 1.224), (0.05, 1.358), (0.01, 1.628)] {
            let root = (1.0 / 100.0 + 1.0 / 50.0f64).sqrt();
            assert!((critical(100, 50, alpha) - c * root).abs() < 1e-3 * root, "{alpha}");
        }
    }

    #[test]
    fn known_statistics() {
        assert_eq!(statistic(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0]), 1.0);
        assert_eq!(statistic(&[1.0, 2.0, 3.0, 4.0], &[3.0, 4.0, 5.0, 6.0]), 0.5);
        // A tie on both sides: 1 of 3 and 2 of 4 lie below, 3 of 3 and 3 of 4 at it or below.
        assert!((statistic(&[2.0, 2.0, 1.0], &[1.0, 1.0, 2.0, 3.0]) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn distinct_and_alike() {
        let hits: Vec<f64> = (0..100).map(|i| f64::from(40 + i % 3)).collect();
        let misses: Vec<f64> = (0..100).map(|i| f64::from(44 + i % 3)).collect();
        assert!(ks_test(&hits, &misses, 0.01).distinct);
        let alike = ks_test(&hits, &hits, 0.01);
        assert_eq!((alike.statistic, alike.distinct), (0.0, false));
    }

    #[test]
    fn one_side_is_above_the_other() {
        let (low, high) = (vec![40.0; 50], vec![75.0; 50]);
        assert_eq!(slower(&high, &low, 0.01), Some((1.0, 40.0)));
        assert_eq!((slower(&low, &high, 0.01), slower(&[], &low, 0.01), slower(&low, &[], 0.01)), (None, None, None));
    }

    #[test]
    fn nothing_is_distinct_from_nothing() {
        let test = ks_test(&[], &[1.0], 0.05);
        assert_eq!((test.statistic, test.critical, test.distinct), (0.0, f64::INFINITY, false));
    }

    #[test]
    fn false_alarms_are_as_rare_as_promised() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| f64::from(rng.random_range(0..1u32 << 24))).collect() };
        let runs = 1000;
        let alarms = (0..runs).filter(|_| ks_test(&draw(120), &draw(80), 0.05).distinct).count();
        // 50 expected at most (the asymptotic value errs to fewer); 71 is three standard deviations of a binomial more.
        assert!((15..=71).contains(&alarms), "{alarms} of {runs}");
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_definition(
            a in prop::collection::vec(0u32..12, 1..40),
            b in prop::collection::vec(0u32..12, 1..40),
        ) {
            let numbers = |v: &[u32]| v.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
            let (a, b) = (numbers(&a), numbers(&b));
            prop_assert!((statistic(&a, &b) - by_definition(&a, &b)).abs() < 1e-12);
        }
    }
}
