//! What chance alone makes of many comparisons.
//!
//! Two measurements of one value have intervals that do not overlap in about one of two hundred cases, at a level of 95 %. Two
//! results have a hundred values, so a difference would be found between most results of one GPU. Therefore all comparisons of
//! two results share one chance of a false difference (Bonferroni): the more values, the wider each interval counts.

use statrs::distribution::{ContinuousCDF, Normal};

/// Chance that two results of one GPU differ in anything, of the values that have an interval at a level.
const FALSE_DIFFERENCE: f64 = 0.05;
/// Of so many points of a curve one may lie apart by chance: their intervals are of 95 % or thereabouts, and there are too many of
/// them for none to be left out.
const ONE_POINT_IN: usize = 20;

/// The chance that is left to one comparison of several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chance(f64);

impl Chance {
    /// Of one of so many comparisons.
    pub const fn of_one_among(comparisons: usize) -> Self {
        Chance(FALSE_DIFFERENCE / if comparisons == 0 { 1.0 } else { comparisons as f64 })
    }

    /// The chance of one of so many numbers of which this one value is made.
    pub fn shared_by(self, numbers: usize) -> Self {
        Chance(self.0 / numbers.max(1) as f64)
    }

    /// By how much an interval of this level is to be widened before it is asked whether it overlaps another one, or holds a
    /// number without an interval. Never narrower than it is stated.
    pub fn widening(self, level: f64, other_has_level: bool) -> f64 {
        let quantile = |p: f64| Normal::standard().inverse_cdf(p);
        let stated = quantile(0.5 + level.clamp(0.5, 0.9999) / 2.0);
        // Two intervals of equal width meet half-way of the distance of their values, whose deviation is the square root of 2. A
        // number without an interval does not vary, and meets nothing half-way.
        let meet = if other_has_level { std::f64::consts::SQRT_2 } else { 1.0 };
        let needed = quantile(1.0 - self.0 / 2.0) / meet;
        (needed / stated).max(1.0)
    }
}

/// How many points of a curve may lie apart by chance, of so many that were compared.
pub fn points_apart(compared: usize) -> usize {
    compared / ONE_POINT_IN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_is_compared_the_wider() {
        assert_eq!(
            Chance::of_one_among(1).widening(0.95, true),
            1.0,
            "intervals that do not overlap are stricter than 5 %"
        );
        let of = |n| Chance::of_one_among(n).widening(0.95, true);
        // Of 100: a chance of 0.0005 on two sides is 3.48 deviations of a difference, 2.46 of one value; 1.96 are stated.
        assert!((of(100) - 2.46 / 1.96).abs() < 0.005 && of(100) < of(1000), "{}", of(100));
    }

    #[test]
    fn two_results_of_one_thing_rarely_differ() {
        let normal = Normal::standard();
        for values in [2, 30, 100, 1000] {
            let factor = Chance::of_one_among(values).widening(0.95, true);
            // Both intervals are as wide; the deviation of a difference is the square root of 2.
            let apart = 2.0 * normal.sf(2.0 * 1.96 * factor / std::f64::consts::SQRT_2);
            let any = 1.0 - (1.0 - apart).powi(values as i32);
            assert!(any <= 0.05, "{any} of {values}");
        }
    }

    #[test]
    fn a_number_without_an_interval_rarely_differs_from_its_measurement() {
        assert!((Chance::of_one_among(1).widening(0.95, false) - 1.0).abs() < 1e-3, "that is what 95 % means");
        let normal = Normal::standard();
        for values in [2, 30, 100] {
            let outside = 2.0 * normal.sf(1.96 * Chance::of_one_among(values).widening(0.95, false));
            let any = 1.0 - (1.0 - outside).powi(values as i32);
            assert!(any <= 0.0501, "{any} of {values}");
        }
    }

    #[test]
    fn a_point_in_twenty_may_lie_apart() {
        assert_eq!([1, 19, 20, 41, 161].map(points_apart), [0, 0, 1, 2, 8]);
    }
}
