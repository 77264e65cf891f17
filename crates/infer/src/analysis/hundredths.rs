//! Numbers to a hundredth: no measurement here is finer than that.

/// See [`nearest`].
const HUNDREDTHS: f64 = 100.0;
/// What arithmetic on hundredths may be off, in hundredths.
const EXACT: f64 = 1e-6;

/// To the nearest hundredth. Zero has no sign.
pub fn nearest(x: f64) -> f64 {
    (x * HUNDREDTHS).round() / HUNDREDTHS + 0.0
}

/// The low end of an interval: rounding must not leave anything out. It never lies above the rounded value, even where a float
/// has no hundredths left.
pub fn down(x: f64) -> f64 {
    ((x * HUNDREDTHS + EXACT).floor() / HUNDREDTHS).min(nearest(x)) + 0.0
}

/// The high end of an interval; see [`down`].
pub fn up(x: f64) -> f64 {
    ((x * HUNDREDTHS - EXACT).ceil() / HUNDREDTHS).max(nearest(x)) + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_an_interval_are_rounded_away_from_its_middle() {
        assert_eq!((down(1.239), up(1.231)), (1.23, 1.24));
        assert_eq!((down(-0.001), up(0.001)), (-0.01, 0.01));
        assert!([nearest(-0.001), up(-0.001), down(-0.0)].iter().all(|zero| zero.is_sign_positive()));
        // A hundredth stays what it is.
        assert_eq!((down(0.29), up(0.29), down(-0.0), up(4.1)), (0.29, 0.29, 0.0, 4.1));
    }
}
