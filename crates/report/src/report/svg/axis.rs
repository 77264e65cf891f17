//! An axis that is drawn: from numbers to places, and ticks at round numbers.

use super::{CHARACTER, LARGEST};
use crate::report::plot::{Axis, Measure};

/// Numbers that differ by less, itself or as a part of them, are shown as one: ticks between them would differ in no digit
/// that is printed, and floats of the largest magnitude are not much closer.
const CLOSEST: f64 = 1e-12;

/// The round step next above `least`.
fn step(measure: Measure, least: f64) -> f64 {
    match measure {
        Measure::Bytes => least.max(1.0).log2().ceil().exp2(),
        _ => {
            let decade = 10f64.powf(least.log10().floor());
            let factor = [1.0, 2.0, 5.0].into_iter().find(|f| f * decade >= least);
            factor.unwrap_or(10.0) * decade
        }
    }
}

/// An axis that is laid out: numbers `low` to `high` on places `from` to `to`.
pub(super) struct Ruler {
    low: f64,
    high: f64,
    log2: bool,
    from: f64,
    to: f64,
    /// Where the round numbers stand, in ascending order.
    pub ticks: Vec<f64>,
}

impl Ruler {
    /// Lays out an axis for these numbers, which must be drawable, with about `most` ticks; `None` without numbers. With
    /// `whole_steps` it begins and ends at a tick.
    pub fn new(
        axis: &Axis,
        numbers: impl Iterator<Item = f64>,
        most: usize,
        whole_steps: bool,
        (from, to): (f64, f64),
    ) -> Option<Ruler> {
        let (mut low, mut high) = numbers.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
        if low > high || low.abs() > LARGEST || high.abs() > LARGEST {
            return None;
        }
        // A single number, or two that no picture tells apart, has an axis around it.
        if high - low <= (high.abs().max(low.abs()) * CLOSEST).max(CLOSEST) {
            let around = (high.abs() * 0.1).max(1.0);
            (low, high) = (if low >= 0.0 { (low - around).max(low * 0.5) } else { low - around }, high + around);
        }
        let log2 = axis.log2 && low >= 1.0;
        let mut ticks = Vec::new();
        if log2 {
            ticks = doublings(low, high, most);
        }
        // Within one doubling there may be no power of two.
        if ticks.len() < 2 {
            let step = step(axis.measure, (high - low) / most as f64);
            if whole_steps {
                (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
            }
            ticks = multiples(low, high, step, most);
            // One number says nothing of the distance to another.
            if ticks.len() < 2 {
                ticks = multiples(low, high, self::step(axis.measure, (high - low) / (2 * most) as f64), 2 * most);
            }
        }
        Some(Ruler { low, high, log2, from, to, ticks })
    }

    /// The place of a number.
    pub fn place(&self, x: f64) -> f64 {
        let part = if self.log2 {
            (x / self.low).log2() / (self.high / self.low).log2()
        } else {
            (x - self.low) / (self.high - self.low)
        };
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Room that the labels of the ticks take, by the estimate.
    pub fn label_width(&self, measure: Measure) -> f64 {
        self.ticks.iter().map(|t| measure.show(*t).chars().count()).max().unwrap_or(0) as f64 * CHARACTER
    }
}

/// Powers of two from `low` to `high`, every second, third… so that there are no more than `most` and one.
fn doublings(low: f64, high: f64, most: usize) -> Vec<f64> {
    let (first, last) = (low.log2().ceil() as i32, high.log2().floor() as i32);
    let every = usize::try_from(last - first).unwrap_or(0) / most.max(1) + 1;
    (first..=last).step_by(every).map(|power| f64::from(power).exp2()).collect()
}

/// Multiples of `step` from `low` to `high`.
fn multiples(low: f64, high: f64, step: f64, most: usize) -> Vec<f64> {
    let first = (low / step).ceil();
    // Rounding must not cost the last tick, nor a step that vanishes beside its numbers give ticks without end.
    (0..=most + 1).map(|i| (first + i as f64) * step).take_while(|t| *t <= high + step * 1e-6).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruler(measure: Measure, log2: bool, numbers: &[f64]) -> Ruler {
        let axis = Axis { label: String::new(), measure, log2 };
        Ruler::new(&axis, numbers.iter().copied(), 4, false, (0.0, 100.0)).unwrap()
    }

    fn labels(measure: Measure, log2: bool, numbers: &[f64]) -> Vec<String> {
        ruler(measure, log2, numbers).ticks.iter().map(|t| measure.show(*t)).collect()
    }

    #[test]
    fn ticks_stand_at_round_numbers() {
        assert_eq!(labels(Measure::Number, false, &[0.0, 371.0]), ["0", "100", "200", "300"]);
        assert_eq!(labels(Measure::Number, false, &[-3.0, 4.0]), ["-2", "0", "2", "4"]);
        assert_eq!(labels(Measure::Share, false, &[0.0, 1.0]), ["0 %", "50 %", "100 %"]);
        assert_eq!(labels(Measure::Share, false, &[0.0, 0.016]), ["0 %", "0.5 %", "1 %", "1.5 %"]);
        assert_eq!(
            labels(Measure::Bytes, false, &[246_784.0, 479_000.0]),
            ["256 KiB", "320 KiB", "384 KiB", "448 KiB"]
        );
        assert_eq!(labels(Measure::Number, false, &[1.0, 992.0]), ["200", "400", "600", "800"]);
        assert_eq!(labels(Measure::Bytes, true, &[1024.0, 65536.0]), ["1 KiB", "4 KiB", "16 KiB", "64 KiB"]);
        assert_eq!(labels(Measure::Bytes, true, &[1100.0, 1900.0]), ["1.25 KiB", "1.5 KiB", "1.75 KiB"]);
    }

    #[test]
    fn any_numbers_lie_on_their_axis() {
        let edge = [0.0, 1.0, -1.0, 5e-324, 1e-300, 0.1, 1e9, 1e18, -1e18, 1e18 - 256.0, f64::EPSILON];
        for measure in [Measure::Bytes, Measure::Share, Measure::Number] {
            for (a, b) in edge.iter().flat_map(|a| edge.iter().map(move |b| (*a, *b))) {
                for log2 in [false, true] {
                    let ruler = ruler(measure, log2, &[a, b]);
                    assert!(ruler.ticks.len() <= 7, "{a} {b} {measure:?}: {:?}", ruler.ticks);
                    for x in ruler.ticks.iter().chain([&a, &b]) {
                        let place = ruler.place(*x);
                        assert!((0.0..=100.0).contains(&place), "{a} {b} {measure:?} {log2}: {x} lies at {place}");
                    }
                }
            }
        }
    }

    #[test]
    fn without_numbers_there_is_no_axis() {
        let axis = Axis { label: String::new(), measure: Measure::Number, log2: false };
        assert!(Ruler::new(&axis, std::iter::empty(), 4, true, (0.0, 1.0)).is_none());
    }
}
