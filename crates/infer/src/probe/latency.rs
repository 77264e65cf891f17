//! Load latency of a hit, and the overhead of timing a single load.
//!
//! The latency is that of a whole lap of dependent loads: the time of 2n loads less that of n, over n, so that nothing but
//! loads is in it. The overhead of per-load timing is found the same way, from one and from two loads between the clock
//! reads. Assumes that the loop's counter is done while a load is under way, which the machine-code check makes sure of.

use super::clock::{self, Held};
use super::gap::Settle as _;
use super::{Gap, Measurement, Notebook, Unknown};
use crate::analysis::hundredths::{down, nearest, up};
use crate::analysis::{mean, robust};
use strata_model::attribute::{LATENCY_CYCLES, LATENCY_NS};
use strata_model::experiment::{Chase, LoadPath, Order, Place, Timing};
use strata_model::topology::{Element, Entry, Finding};
use strata_model::units::{Bytes, Cycles};

/// Loads of the shorter measurement: enough that a clock's granularity of one cycle is 0.2 % of a cycle a load.
const LOADS: u32 = 512;
/// Measurements of each length in one launch; their median drops the odd one that was disturbed.
const ROUNDS: u32 = 5;
/// Per-load samples for the overhead.
const OVERHEAD_LOADS: u32 = 1024;
/// Widths of the middle half of values, beyond which a value is a spike's.
const FAR: f64 = 10.0;
/// Confidence level of intervals.
pub const LEVEL: f64 = 0.95;
/// Allocations at least before their means have an interval: of two it would say nothing.
const ALLOCATIONS: usize = 3;
/// Cycles by which a latency may be off however well its measurements agree: the clock counts whole cycles over
/// [`LOADS`] loads more. Never less than the last digit that is stated.
const RESOLUTION: f64 = 0.01;

/// The loop around the loads takes longer than they do, if a load of a whole lap takes so many times as long as one between two
/// clock reads does, and at least so many cycles more.
const LOOP_SHOWS: (f64, f64) = (1.1, 1.0);
/// Cycles by which a load between two clock reads may be off: the clock reads wait for the load, and each may do so a cycle sooner or
/// later than the other.
const READING: f64 = 0.5;

/// Where and over what a latency is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The path.
    pub path: LoadPath,
    /// Bytes walked: well inside the level, well beyond the one before.
    pub footprint: Bytes,
    /// Distance of elements: no two in what one fetch brings in.
    pub stride: Bytes,
    /// The level is shared by SMs, which are then measured one at a time.
    pub shared: bool,
    /// Allocations.
    pub allocations: u32,
    /// SMs, spread evenly over the device.
    pub sms: u32,
}

/// Footprint that every first-level cache of data holds, and the largest line known.
const SMALL: (Bytes, Bytes) = (Bytes::kib(4), Bytes(128));

impl Setting {
    /// Of a footprint that the first cache on the path holds, on one SM.
    pub const fn small(path: LoadPath) -> Self {
        Setting { path, footprint: SMALL.0, stride: SMALL.1, shared: false, allocations: 1, sms: 1 }
    }

    /// No more than half of a cache of this capacity: where the index is hashed, the first conflict may come early.
    pub fn within(self, capacity: Bytes) -> Self {
        let most = (capacity / 2).round_down(self.stride).max(self.stride);
        Setting { footprint: self.footprint.min(most), ..self }
    }
}

/// A latency: the mean over SMs and allocations of each one's median.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Mean.
    pub cycles: Cycles,
    /// Interval of the mean.
    pub interval: (f64, f64),
    /// Lowest and highest of any SM and allocation.
    pub range: (f64, f64),
    /// How many SM and allocation pairs.
    pub count: usize,
}

/// Every `n`-th SM so that `count` of them cover the device.
pub fn spread_sms(notebook: &Notebook, count: u32) -> Vec<u32> {
    spaced(notebook.facts().multiprocessors, count)
}

/// Up to `count` of so many places, evenly over all of them; at least one.
pub(super) fn spaced(all: u32, count: u32) -> Vec<u32> {
    let all = all.max(1);
    let count = count.clamp(1, all);
    (0..count).map(|i| i * all / count).collect()
}

fn laps(notebook: &Notebook, setting: &Setting) -> Vec<Chase> {
    let mut experiments = Vec::new();
    for allocation in 0..setting.allocations {
        for sm in spread_sms(notebook, setting.sms) {
            experiments.push(Chase {
                order: Order::Random,
                seed: notebook.seed(u64::from(allocation)),
                warm_laps: 2,
                timing: Timing::Laps { loads: LOADS, rounds: ROUNDS },
                place: Place { sm: Some(sm), allocation, alone: setting.shared, ..Place::default() },
                ..Chase::laps(setting.path, setting.footprint, setting.stride)
            });
        }
    }
    experiments
}

/// Cycles a load of each round, from its pair of measurements.
pub(super) fn rounds<E>(measurement: &Measurement<E>) -> Vec<f64> {
    measurement
        .samples()
        .laps
        .chunks_exact(2)
        .filter(|pair| pair[1].loads > pair[0].loads)
        .map(|pair| (pair[1].cycles as f64 - pair[0].cycles as f64) / f64::from(pair[1].loads - pair[0].loads))
        .collect()
}

/// Cycles a load: the median of the rounds.
pub(super) fn cycles_a_load<E>(measurement: &Measurement<E>) -> Option<f64> {
    robust::median(&rounds(measurement))
}

/// The latency in this setting.
///
/// # Errors
///
/// An unknown or a failure, if no SM gave samples.
pub fn measure(notebook: &Notebook, setting: &Setting) -> Result<Measured, Gap> {
    let measurements = notebook.read_each(&laps(notebook, setting))?;
    let value = |s: &Measurement<Chase>| Some((s.experiment.place.allocation, cycles_a_load(s)?));
    let values: Vec<(u32, f64)> = measurements.iter().flatten().filter_map(value).collect();
    if values.is_empty() {
        return Err(match measurements.into_iter().find_map(Result::err) {
            Some(failure) => failure.into(),
            None => Unknown::because("no lap was measured").into(),
        });
    }
    let measured = Measured::of(&values);
    // Medians are equal where all places had as many slow rounds; then the rounds still show how far a median may be off.
    let rounds: Vec<(f64, f64)> = measurements.iter().flatten().filter_map(middle_rounds).collect();
    let mean_of = |end: fn(&(f64, f64)) -> f64| robust::mean(&rounds.iter().map(end).collect::<Vec<_>>());
    let interval = (measured.interval.0.min(mean_of(|r| r.0)), measured.interval.1.max(mean_of(|r| r.1)));
    Ok(Measured { interval, ..measured })
}

/// As [`measure`], of loads so short that the loop around them may take longer than they do, where arithmetic is slow. Then the
/// latency is what one load more takes between two clock reads. Recordings of earlier versions hold no pairs of these loads;
/// what they say stays as it was.
///
/// # Errors
///
/// As [`measure`].
pub fn in_loop(notebook: &Notebook, setting: &Setting) -> Result<Measured, Gap> {
    let measured = measure(notebook, setting)?;
    let Ok(alone) = between_clock_reads(notebook, setting).settled()? else { return Ok(measured) };
    let Cycles(lap) = measured.cycles;
    if lap < LOOP_SHOWS.0 * alone || lap < alone + LOOP_SHOWS.1 {
        return Ok(measured);
    }
    Ok(Measured { cycles: Cycles(alone), interval: (alone - READING, alone + READING), ..measured })
}

/// What one load takes between two clock reads, without the overhead of timing.
fn between_clock_reads(notebook: &Notebook, setting: &Setting) -> Result<f64, Gap> {
    let overhead = overhead(notebook, setting)?;
    let singles = notebook.read(&singles_and_pairs(notebook, setting)[..1])?;
    let by_place = medians_by_place(singles[0].latencies(), singles[0].experiment.lap() as usize);
    Ok(robust::trimmed_mean(&without_spikes(&by_place)) - overhead)
}

/// The second lowest and the second highest of the rounds of a place, around its median.
fn middle_rounds(measurement: &Measurement<Chase>) -> Option<(f64, f64)> {
    let mut rounds = rounds(measurement);
    rounds.sort_unstable_by(f64::total_cmp);
    let inner = if rounds.len() > 2 { &rounds[1..rounds.len() - 1] } else { &rounds[..] };
    Some((*inner.first()?, *inner.last()?))
}

impl Measured {
    /// Of the medians of SMs, each with its allocation; there must be one. What is measured in one allocation may have its place
    /// in common, so the means of the allocations say how far another one may be off, if there are enough of them.
    pub(super) fn of(measured: &[(u32, f64)]) -> Self {
        let values: Vec<f64> = measured.iter().map(|(_, value)| *value).collect();
        let cycles = robust::mean(&values);
        let (mut low, mut high) = mean::interval(&values, LEVEL);
        let means: Vec<f64> = measured
            .chunk_by(|a, b| a.0 == b.0)
            .map(|same| robust::mean(&same.iter().map(|(_, value)| *value).collect::<Vec<_>>()))
            .collect();
        if means.len() >= ALLOCATIONS {
            let of_means = mean::interval(&means, LEVEL);
            (low, high) = (low.min(of_means.0), high.max(of_means.1));
        }
        Measured {
            cycles: Cycles(cycles),
            interval: (low.min(cycles - RESOLUTION), high.max(cycles + RESOLUTION)),
            range: (values.iter().copied().fold(f64::MAX, f64::min), values.iter().copied().fold(f64::MIN, f64::max)),
            count: values.len(),
        }
    }

    /// With an interval down to `low`, and as much below that as it had, because another reading of the loads gives this mean.
    pub(super) fn down_to(self, low: f64) -> Self {
        let Measured { cycles: Cycles(mean), interval, .. } = self;
        Measured { interval: (interval.0.min(low - (mean - interval.0)), interval.1), ..self }
    }

    /// With a wider interval, because of a further and independent error of plus or minus so many cycles.
    pub(super) fn widened(self, error: f64) -> Self {
        let Measured { cycles: Cycles(mean), interval: (low, high), .. } = self;
        Measured { interval: (mean - (mean - low).hypot(error), mean + (high - mean).hypot(error)), ..self }
    }
}

/// As a finding in cycles. Nanoseconds follow at the end of a run ([`nanoseconds`]).
pub fn finding(notebook: &Notebook, infer: impl FnOnce() -> Result<Measured, Gap>, method: &str) -> Option<Entry> {
    notebook.attribute(LATENCY_CYCLES, || {
        let m = infer()?;
        let range = format!("{} to {} over {} measurements", nearest(m.range.0), nearest(m.range.1), m.count);
        Ok(stated(&m, method).note(range))
    })
}

impl Measured {
    /// The same, where another process may find so large a share more or less than any place in this one shows.
    pub(super) fn in_another_process(self, share: f64) -> Self {
        let ((low, high), more) = (self.interval, share * self.cycles.0);
        Measured { interval: (low - more, high + more), ..self }
    }
}

/// A latency with its interval.
pub(super) fn stated(measured: &Measured, method: &str) -> Finding<Cycles> {
    let Measured { cycles, interval: (low, high), .. } = measured;
    Finding::measured(Cycles(nearest(cycles.0)), method).interval(down(*low), up(*high), LEVEL)
}

/// The latency of an element in nanoseconds, if it has one in cycles, by the clock as it was seen over the whole run.
pub fn nanoseconds(element: &Element, clock: Option<&Held>) -> Option<Entry> {
    let cycles = element.finding(LATENCY_CYCLES)?;
    Some(Entry::new(LATENCY_NS, clock::in_ns(cycles, clock)))
}

/// The overhead of timing one load on this path, in cycles: what is left of one load's time when half the difference to
/// two loads' is taken off. `setting` must be one in which every load hits.
///
/// # Errors
///
/// An unknown or a failure, if either kernel gave no samples.
pub fn overhead(notebook: &Notebook, setting: &Setting) -> Result<f64, Gap> {
    let measurements = notebook.read(&singles_and_pairs(notebook, setting))?;
    let (singles, pairs) = (measurements[0].latencies(), measurements[1].latencies());
    let lap = measurements[0].experiment.lap() as usize;
    let left = left_of_pairs(singles, pairs, lap);
    if left.is_empty() {
        return Gap::unknown("the timing of single loads was not sampled");
    }
    Ok(robust::trimmed_mean(&without_spikes(&left)))
}

/// A chain of which each load is timed, and the same of which each two loads are.
pub(super) fn singles_and_pairs(notebook: &Notebook, setting: &Setting) -> [Chase; 2] {
    [Timing::straight(OVERHEAD_LOADS), Timing::EachPair { pairs: OVERHEAD_LOADS }].map(|timing| Chase {
        order: Order::Random,
        seed: notebook.seed(2),
        warm_laps: 2,
        timing,
        place: Place::alone_on(0),
        ..Chase::each_load(setting.path, setting.footprint, setting.stride)
    })
}

/// The time of two single loads less that of the pair of the same two elements, for each pair of the ring of `lap` elements. Both
/// walks go round it from its first element. So elements that are near and elements that are far cancel, and the median over
/// the laps leaves out what disturbed one of them.
fn left_of_pairs(singles: &[u32], pairs: &[u32], lap: usize) -> Vec<f64> {
    let singles = medians_by_place(singles, lap);
    let pairs = medians_by_place(pairs, if lap.is_multiple_of(2) { lap / 2 } else { lap });
    let single = |step: usize| singles.get(step % lap);
    let of_pair = |(i, &pair): (usize, &f64)| Some(single(2 * i)? + single(2 * i + 1)? - pair);
    pairs.iter().enumerate().filter_map(of_pair).collect()
}

/// What is left of these without those that lie [`FAR`] times the middle half's width, and at least so many cycles, beyond it. Where
/// each place is measured in two laps only, a spike shows in half of the places' medians of two loads, and pairs do not have
/// as many.
fn without_spikes(left: &[f64]) -> Vec<f64> {
    let mut sorted = left.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (Some(low), Some(high)) = (robust::quantile(&sorted, 0.25), robust::quantile(&sorted, 0.75)) else {
        return sorted;
    };
    let beyond = FAR * (high - low).max(1.0);
    sorted.retain(|&value| (low - beyond..=high + beyond).contains(&value));
    sorted
}

/// The median over the rounds of each place, of samples of one round after the other.
pub(super) fn medians_by_place(samples: &[u32], places: usize) -> Vec<f64> {
    let of_place = |place: usize| -> Vec<u32> { samples.iter().copied().skip(place).step_by(places).collect() };
    (0..places.min(samples.len())).filter_map(|place| robust::median_u32(&of_place(place))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::units::Gigahertz;

    fn element(cycles: Finding<Cycles>) -> Element {
        Element::from([Entry::new(LATENCY_CYCLES, cycles)])
    }

    #[test]
    fn a_chain_stays_well_inside_of_a_small_cache() {
        let footprint = |capacity| Setting::small(LoadPath::GlobalCa).within(capacity).footprint;
        assert_eq!([Bytes::kib(241), Bytes::kib(8)].map(footprint), [Bytes::kib(4); 2]);
        assert_eq!([Bytes::kib(3), Bytes(700), Bytes(100)].map(footprint), [Bytes(1536), Bytes(256), Bytes(128)]);
    }

    fn ns(element: &Element, clock: Option<&Held>) -> Finding {
        nanoseconds(element, clock).expect("it has a latency in cycles").finding().clone()
    }

    #[test]
    fn nanoseconds_span_what_the_clock_spans() {
        let cycles = Finding::measured(Cycles(100.0), "a chase").interval(99.0, 101.0, LEVEL).from_experiments([3, 4]);
        let clock = Held { rate: Gigahertz(1.0), low: 0.5, high: 2.0 };
        let found = ns(&element(cycles), Some(&clock));
        assert_eq!(found.number(), Some(100.0));
        assert_eq!((found.low, found.high, found.level), (Some(49.5), Some(202.0), Some(LEVEL)));
        assert_eq!(found.experiments, [3, 4]);
    }

    #[test]
    fn without_cycles_or_a_clock_there_are_none_and_it_says_why() {
        let failed = ns(&element(Finding::failed("broken")), None);
        assert_eq!((failed.reason.as_deref(), failed.failed), (Some("broken"), true));
        let unclocked = ns(&element(Finding::measured(Cycles(1.0), "a chase")), None);
        assert_eq!(unclocked.reason.as_deref(), Some("the SM clock could not be measured"));
        assert!(nanoseconds(&Element::default(), None).is_none());
    }

    #[test]
    fn near_and_far_elements_cancel_and_a_spike_is_left_out() {
        // Loads of 30 and 50 cycles in turn, with 7 of overhead.
        let singles: Vec<u32> = (0..64).map(|i| if i == 5 { 900 } else { 37 + 20 * (i % 2) }).collect();
        let pairs: Vec<u32> = (0..64).map(|i| if i == 9 { 900 } else { 87 }).collect();
        assert_eq!(left_of_pairs(&singles, &pairs, 8), [7.0; 4]);
        // A ring of which each element was timed once.
        assert_eq!(left_of_pairs(&singles[8..12], &pairs[..2], 9), [7.0; 2]);
    }

    #[test]
    fn a_further_error_is_added_as_independent() {
        let measured = Measured { cycles: Cycles(10.0), interval: (7.0, 13.0), range: (5.0, 15.0), count: 9 };
        assert_eq!(measured.widened(4.0).interval, (5.0, 15.0));
    }
}
