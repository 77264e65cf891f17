//! The SM clock: `%clock64` over `%globaltimer`, repeated until it settles.
//!
//! Assumes that the global timer is right. It ticks coarsely (up to a microsecond), so both ends of a span are taken at a
//! tick and the span is long. Fails to notice a clock that changes within a span and back.

use std::fmt;

use super::{Gap, Notebook, Settle, Unknown};
use crate::analysis::hundredths::{down, nearest, up};
use strata_model::characterization::Time;
use strata_model::experiment;
use strata_model::samples::ClockSpan;
use strata_model::topology::Finding;
use strata_model::units::{Cycles, Gigahertz, Nanoseconds};

/// Length of one span, in microseconds: 10,000 ticks of a timer of 1 µs, so that its coarseness is 0.01 %.
const SPAN_US: u32 = 10_000;
/// Spans after which a clock that still rises is taken as it is: half a second, more than a GPU takes to leave idle.
const MAX_SPANS: u32 = 50;
/// Spans in a row that must agree.
const AGREEING: usize = 3;
/// Part by which the clock of the next run may be off from this one's. An H200 at its highest clock ran at 1980.0 MHz in one process
/// and at 1977.5 MHz in another. The timer by which the clock is measured is accurate to a tenth of this.
const BETWEEN_RUNS: f64 = 1e-3;
/// They agree if they differ by no more than this share. An H200 that came from idle ran at 1977 MHz for some spans before it
/// ran at 1980, which is 0.15 %.
const TOLERANCE: f64 = 0.0005;
/// A recording that ends before they agree so well has settled if they agree as well as this.
const SETTLED: f64 = 0.002;
/// `repeat` of the spans at the end of a run.
const AFTER: u32 = 1000;
/// A clock that moved by more than this share during the run is worth a warning.
const DRIFT: f64 = 0.01;

/// The clock as it settled, in GHz.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Mean of the spans that agree.
    pub rate: Gigahertz,
    /// Lowest of them.
    pub low: f64,
    /// Highest of them.
    pub high: f64,
    /// Spans before it settled.
    pub ramp: usize,
    /// It did settle.
    pub settled: bool,
}

/// The clock over a whole run, in GHz.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// By which cycles become nanoseconds.
    pub rate: Gigahertz,
    /// It may have been as low as this.
    pub low: f64,
    /// It may have been as high as this.
    pub high: f64,
}

impl Held {
    /// Of a clock that was measured before a run and, unless the run broke off, after it.
    pub fn of(before: &Clock, after: Option<&Clock>) -> Self {
        let after = after.unwrap_or(before);
        let (low, high) = (before.low.min(after.low), before.high.max(after.high));
        // Of a clock that moved nobody knows when it did.
        let moved = !before.settled || spread(&[low, high]) > DRIFT;
        let rate = if moved { Gigahertz(f64::midpoint(low, high)) } else { before.rate };
        Held { rate, low: low * (1.0 - BETWEEN_RUNS), high: high * (1.0 + BETWEEN_RUNS) }
    }

    /// Cycles, with their interval, as a time.
    pub fn time(&self, cycles: f64, (low, high): (f64, f64)) -> Time {
        let ns = |cycles: f64, rate: f64| Gigahertz(rate).duration(Cycles(cycles)).0;
        // Less than nothing takes the longer the slower the clock.
        let earliest = ns(low, self.high).min(ns(low, self.low));
        let latest = ns(high, self.low).max(ns(high, self.high));
        Time { value: nearest(ns(cycles, self.rate.0)), low: down(earliest), high: up(latest) }
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mhz = |gigahertz: f64| (gigahertz * 1e3).round();
        // Without what another run may be off.
        let (low, high) = (mhz(self.low / (1.0 - BETWEEN_RUNS)), mhz(self.high / (1.0 + BETWEEN_RUNS)));
        if low == high { write!(f, "{low} MHz") } else { write!(f, "{low} to {high} MHz") }
    }
}

/// A finding in cycles as a time.
pub fn in_ns(cycles: &Finding, clock: Option<&Held>) -> Finding<Nanoseconds> {
    let found = match (cycles.number(), clock) {
        (None, _) => Finding { failed: cycles.failed, ..Finding::unknown(cycles.reason.clone().unwrap_or_default()) },
        (Some(_), None) => Finding::unknown("the SM clock could not be measured"),
        (Some(value), Some(clock)) => {
            let time = clock.time(value, (cycles.low.unwrap_or(value), cycles.high.unwrap_or(value)));
            let found = Finding::derived(Nanoseconds(time.value), format!("cycles at the measured {clock}"));
            Finding { level: cycles.level, ..found.range(time.low, time.high) }
        }
    };
    found.from_experiments(cycles.experiments.iter().copied())
}

/// A span on the first SM.
fn span(repeat: u32) -> experiment::Clock {
    experiment::Clock { span_us: SPAN_US, sm: 0, repeat }
}

/// Warms the clock up and measures it: spans one after another until three in a row agree.
pub fn infer(notebook: &Notebook) -> Result<Clock, Gap> {
    let mut rates: Vec<f64> = Vec::new();
    for repeat in 0..MAX_SPANS {
        let measurements = match notebook.read(&[span(repeat)]).settled()? {
            Ok(measurements) => measurements,
            Err(unknown) if rates.len() < AGREEING => return Err(unknown.into()),
            Err(_) => break,
        };
        rates.push(rate(&measurements[0].samples().clocks)?);
        if let Some(last) = rates.len().checked_sub(AGREEING).map(|first| &rates[first..])
            && spread(last) <= TOLERANCE
        {
            return Ok(summary(last, rates.len() - AGREEING, true));
        }
    }
    let last = &rates[rates.len() - AGREEING..];
    Ok(summary(last, rates.len() - AGREEING, spread(last) <= SETTLED))
}

/// The clock at the end of the run.
pub fn after(notebook: &Notebook) -> Result<Clock, Gap> {
    let measurements = notebook.read(&[span(AFTER)])?;
    Ok(summary(&[rate(&measurements[0].samples().clocks)?], 0, true))
}

/// What is to be said of a clock that did not settle or did not hold.
pub fn drift(before: &Clock, after: &Clock) -> Vec<String> {
    let mut warnings = Vec::new();
    if !before.settled {
        warnings.push(format!(
            "the SM clock did not settle within {} ms ({:.0} to {:.0} MHz); the intervals of times in ns span both",
            MAX_SPANS * SPAN_US / 1000,
            before.low * 1e3,
            before.high * 1e3
        ));
    }
    let moved = (after.rate.0 - before.rate.0) / before.rate.0;
    if moved.abs() > DRIFT {
        warnings.push(format!(
            "the SM clock changed from {:.0} to {:.0} MHz during the run; the intervals of times in ns span both",
            before.rate.0 * 1e3,
            after.rate.0 * 1e3
        ));
    }
    warnings
}

fn rate(spans: &[ClockSpan]) -> Result<f64, Unknown> {
    match spans {
        [span, ..] if span.nanoseconds > 0 && span.cycles > 0 => Ok(span.cycles as f64 / span.nanoseconds as f64),
        _ => Err(Unknown::because("the device's global timer does not advance")),
    }
}

fn spread(rates: &[f64]) -> f64 {
    let high = rates.iter().copied().fold(f64::MIN, f64::max);
    let low = rates.iter().copied().fold(f64::MAX, f64::min);
    (high - low) / low
}

fn summary(rates: &[f64], ramp: usize, settled: bool) -> Clock {
    Clock {
        rate: Gigahertz(rates.iter().sum::<f64>() / rates.len() as f64),
        low: rates.iter().copied().fold(f64::MAX, f64::min),
        high: rates.iter().copied().fold(f64::MIN, f64::max),
        ramp,
        settled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(rates: &[f64]) -> Clock {
        summary(rates, 0, spread(rates) <= TOLERANCE)
    }

    #[test]
    fn a_clock_that_rose_during_a_run_is_known_between_both_ends() {
        let held = Held::of(&seen(&[1.978, 1.978]), Some(&seen(&[1.980])));
        assert_eq!(held.rate, Gigahertz(1.978));
        assert!(held.low < 1.978 && held.high > 1.980, "{held:?}");
        assert_eq!(held.to_string(), "1978 to 1980 MHz");
        assert_eq!(Held::of(&seen(&[1.98]), None).to_string(), "1980 MHz");
    }

    #[test]
    fn the_next_run_may_have_another_clock() {
        let [one, next] = [1.9800, 1.9775].map(|rate| Held::of(&seen(&[rate, rate]), None));
        assert!(one.low <= next.high && one.high - one.low < 0.005, "{one:?} {next:?}");
    }

    #[test]
    fn of_a_clock_that_moved_far_the_middle_is_taken() {
        let ramp = Held::of(&seen(&[0.2, 0.2]), Some(&seen(&[1.8])));
        assert!((ramp.rate.0 - 1.0).abs() < 1e-9, "{ramp:?}");
        let unsettled = Held::of(&seen(&[1.0, 1.004]), None);
        assert!((unsettled.rate.0 - 1.002).abs() < 1e-9, "{unsettled:?}");
    }
}
