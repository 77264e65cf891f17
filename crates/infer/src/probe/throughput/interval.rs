//! What is stated of a rate that was measured several times, and what another run may find.

use super::halving::Rates;
use crate::analysis::robust;

/// Share by which a rate may be off however well its measurements agree: where the driver put the memory, and the warmth of the die.
const RESOLUTION: f64 = 0.002;
/// Share by which the clock under such a load may differ in another run: by 1.8 % in six runs of an H200, from first to last.
pub(super) const OTHER_CLOCK: f64 = 0.01;
/// Thousandths by which a rate over host memory may differ in another run: by where the host has the pages. Launches of one run differ
/// by up to 2.8 % on an H200.
pub(super) const OTHER_PAGES: u32 = 20;
/// The same of both ways at a time. The medians of twelve runs of an H200 (GPU-8168be1d) lay from 84.6 to 102.8 GB/s.
pub(super) const OTHER_BOTH: u32 = 80;
/// Thousandths by which a rate over a link between GPUs may differ in another run.
pub(super) const OTHER_LINK: u32 = 4;
/// Part of the range of the measurements that is added to it on each side, for what another run may find.
const BEYOND: f64 = 0.5;

/// The median of these, the least and the most; zeros of none.
pub(super) fn range(values: &[f64]) -> (f64, f64, f64) {
    robust::spread(values).unwrap_or_default()
}

/// The median of these, and what another run may find: their range and a part of it on each side, and a share of the median besides.
pub(super) fn promised(values: &[f64], besides: f64) -> (f64, f64, f64) {
    let (middle, low, high) = range(values);
    let more = BEYOND * (high - low) + (RESOLUTION + besides) * middle;
    (middle, low - more, high + more)
}

/// Thousandths as a share.
pub(super) fn thousandths(of: u32) -> f64 {
    f64::from(of) / 1000.0
}

/// What is done in a second: what each launch does in a cycle, by its own clock, which is as exact as the steps of the timer are small.
pub(super) fn per_second<S>(of: &Rates<S>, besides: f64) -> Result<(f64, f64, f64), String> {
    let rates: Option<Vec<f64>> = of.each.iter().map(|seen| Some(seen.total() * seen.clock_ghz? * 1e9)).collect();
    let Some(rates) = rates else { return Err("the device's timer stood still".into()) };
    Ok(promised(&rates, besides + of.step as f64 / of.shortest.max(1) as f64))
}

/// Four digits of a number.
pub(super) fn digits(number: f64) -> f64 {
    format!("{number:.3e}").parse().expect("a number in digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_wider_than_what_was_seen() {
        let (middle, low, high) = promised(&[100.0, 101.0, 102.0], 0.0);
        assert_eq!(middle, 101.0);
        assert!(low < 99.0 && high > 103.0, "{low} {high}");
        let (_, low, high) = promised(&[100.0; 3], 0.01);
        assert!((low, high) == (98.8, 101.2), "{low} {high}");
    }

    #[test]
    fn four_digits_are_stated() {
        assert_eq!((digits(127.4567), digits(9.563_412e12), digits(0.0)), (127.5, 9.563e12, 0.0));
    }
}
