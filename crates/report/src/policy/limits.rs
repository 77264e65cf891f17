//! Where the limits of a number lie, by what good results showed.
//!
//! The next good value lies within mean ± t · s · √(1 + 1/n) with the confidence of t: the prediction interval for one further
//! observation of a normal distribution (Hahn and Meeker, *Statistical Intervals*, 1991, section 4.7). On each side
//! the limit is the end of that interval or the envelope of all results' intervals and [`FLOOR`] more, whichever lies further out.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// What one result says: its value and interval. An end may be infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The value.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// How certain each limit is. A policy has some fifty numbers: with 99.9 % for each, a good node passes all of them with 95 %
/// (Bonferroni). With 99 % every third good node would fail.
const LEVEL: f64 = 0.999;

/// What the limits leave beyond the envelope at least, as a share of its greater end: a few results that are equal do not show
/// that all are.
const FLOOR: f64 = 0.01;

/// Digits of a limit that count.
const DIGITS: i32 = 5;

/// How many standard deviations from the mean of `n` results the next one may lie. Fewer than two show no spread.
fn factor(n: usize) -> f64 {
    let n = n.max(1) as f64;
    let student = StudentsT::new(0.0, 1.0, (n - 1.0).max(1.0));
    student.map_or(f64::INFINITY, |student| student.inverse_cdf(f64::midpoint(1.0, LEVEL))) * (1.0 + 1.0 / n).sqrt()
}

/// The limits for a number: lower and upper one. What is never negative gets no negative limit.
pub fn limits(seen: &[Seen]) -> (f64, f64) {
    let n = seen.len() as f64;
    let mean = seen.iter().map(|one| one.value).sum::<f64>() / n;
    let squares = seen.iter().map(|one| (one.value - mean).powi(2)).sum::<f64>();
    let deviation = (squares / (n - 1.0).max(1.0)).sqrt();
    // Sums of equal numbers may differ from them in the last digit.
    let reach = if seen.iter().all(|one| one.value == seen[0].value) { 0.0 } else { factor(seen.len()) * deviation };
    let least = seen.iter().map(|one| one.low.min(one.value)).fold(f64::INFINITY, f64::min);
    let greatest = seen.iter().map(|one| one.high.max(one.value)).fold(f64::NEG_INFINITY, f64::max);
    let finite = |x: f64| if x.is_finite() { x.abs() } else { 0.0 };
    let floor = FLOOR * finite(least).max(finite(greatest)).max(mean.abs());
    let low = (least - floor).min(mean - reach);
    let high = (greatest + floor).max(mean + reach);
    let low = if least >= 0.0 { low.max(0.0) } else { low };
    (rounded(low, f64::floor), rounded(high, f64::ceil))
}

/// Rounded to a few digits that count.
fn rounded(x: f64, round: fn(f64) -> f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let decimals = DIGITS - 1 - x.abs().log10().floor() as i32;
    let power = 10_f64.powi(decimals.abs());
    // What differs from a whole number by the error of the arithmetic alone is that number.
    let whole = |scaled: f64| if (scaled - scaled.round()).abs() < 1e-6 { scaled.round() } else { round(scaled) };
    if decimals > 0 { whole(x * power) / power } else { whole(x / power) * power }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(value: f64) -> Seen {
        Seen { value, low: value, high: value }
    }

    #[test]
    fn equal_results_leave_one_per_cent_on_each_side() {
        assert_eq!(limits(&[exact(100.0); 3]), (99.0, 101.0));
        assert_eq!(limits(&[exact(0.0); 3]), (0.0, 0.0));
        assert_eq!(limits(&[exact(-100.0); 3]), (-101.0, -99.0));
    }

    #[test]
    fn the_envelope_of_the_intervals_is_always_within() {
        let wide = [Seen { value: 100.0, low: 80.0, high: 101.0 }, Seen { value: 100.0, low: 99.0, high: 130.0 }];
        assert_eq!(limits(&wide), (78.7, 131.3));
        let bound = [Seen { value: 100.0, low: 100.0, high: f64::INFINITY }; 2];
        assert_eq!(limits(&bound), (99.0, f64::INFINITY));
    }

    /// The miss penalties of five runs of an H200 (docs/evidence/h200.md).
    #[test]
    fn the_spread_counts_less_the_more_results_there_are() {
        let five: Vec<Seen> = [248.0, 254.0, 254.0, 254.0, 250.0].map(exact).to_vec();
        let (low, high) = limits(&five);
        assert!((223.0..227.0).contains(&low) && (278.0..281.0).contains(&high), "{low} {high}");
        let forty: Vec<Seen> = five.iter().copied().cycle().take(40).collect();
        let (nearer, _) = limits(&forty);
        assert!((241.0..245.5).contains(&nearer), "{nearer}");
        assert!((2..60).all(|n| factor(n) > factor(n + 1)));
    }

    /// The rule holds what it promises: of good nodes whose values are normal, one in a thousand fails a limit.
    #[test]
    fn the_next_good_result_is_within() {
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        };
        let mut normal = || {
            let (u, v) = (uniform(), uniform());
            exact(1000.0 + 100.0 * (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos())
        };
        for n in [2, 3, 5, 20] {
            let trials = 20_000;
            let outside = (0..trials).filter(|_| {
                let good: Vec<Seen> = (0..n).map(|_| normal()).collect();
                let ((low, high), next) = (limits(&good), normal().value);
                next < low || next > high
            });
            let outside = outside.count();
            assert!(outside <= 2 * trials / 1000, "{outside} of {trials} outside, by limits of {n} results");
        }
    }

    #[test]
    fn limits_are_rounded_outwards() {
        assert_eq!((rounded(281.53179, f64::floor), rounded(281.53179, f64::ceil)), (281.53, 281.54));
        assert_eq!((rounded(-281.53179, f64::floor), rounded(0.0123456, f64::ceil)), (-281.54, 0.012346));
        assert_eq!(rounded(150_109_880_320.0, f64::floor), 150_100_000_000.0);
    }
}
