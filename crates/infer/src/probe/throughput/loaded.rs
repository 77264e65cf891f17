//! What a load takes while others move memory: one SM chases, all others stream and pause after each pass, for longer and longer.

use super::Level;
use super::halving::Round;
use super::interval::{OTHER_CLOCK, digits, promised, range};
use super::search::{Shape, peak};
use crate::analysis::robust;
use crate::probe::{Gap, Measurement, Notebook, Unknown, homes};
use strata_model::experiment::{Experiment, LoadedChase, Persistent, Prepare, Stream, Traffic};
use strata_model::topology::{
    Finding, LATENCY_BY_COPY_BANDWIDTH, LATENCY_BY_READ_BANDWIDTH, LATENCY_BY_WRITE_BANDWIDTH, SeriesPoint,
};
use strata_model::units::{Bytes, BytesPerSecond, Cycles, Nanoseconds};

/// Pauses after a pass, in cycles: from next to no traffic to all that there can be. A pass of an SM that has 128 KiB in flight takes
/// some 8,000 cycles where all SMs of an H200 read from DRAM.
const PAUSES: [u32; 16] =
    [1 << 20, 1 << 17, 65_536, 32_768, 16_384, 12_288, 8_192, 6_144, 4_096, 3_072, 2_048, 1_536, 1_024, 512, 256, 0];
/// With quick effort every n-th pause is measured.
const EVERY_OTHER: usize = 2;
/// SMs that chase, one after the other, a part of all SMs apart: their distances from the memory differ.
const PLACES: u32 = 3;
/// The chain in a cache, and the distance of its lines: it stays there beside what is streamed.
pub(super) const CACHED: (Bytes, Bytes) = (Bytes::kib(32), Bytes(256));
/// Cycles in which all lines of that chain are loaded once, from wherever they were.
const ALL_LINES: u32 = 160_000;
/// The chain in memory: more lines than a launch visits, within the reach of all first-level TLBs known.
const BEYOND: (Bytes, Bytes) = (Bytes::mib(16), Bytes::kib(4));
/// Share of the highest rate at which the latency is stated.
const HALF: f64 = 0.5;
/// Times the latency without traffic that is looked for.
const DOUBLE: f64 = 2.0;
pub(super) const METHOD: &str =
    "one thread chases by ld.global.cg while all other SMs read and pause; the longer they pause, the less they move";

/// A value with the ends of its interval.
type Interval = (f64, f64, f64);

/// What was measured with one pause.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    /// Bytes a cycle of all SMs that stream.
    rate: f64,
    /// Bytes a second, if the timer runs.
    per_second: Option<Interval>,
    /// Mean load of the chase, in cycles, over the SMs that chased.
    cycles: Interval,
    /// As [`Point::cycles`], in nanoseconds.
    ns: Option<Interval>,
}

/// The points, from the longest pause to none: the rate grows until the memory gives no more.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded(Vec<Point>);

impl Point {
    fn of<E>(measured: &[&Measurement<E>], stream: impl Fn(&E) -> &Stream) -> Option<Self> {
        let of = |m: &&Measurement<E>| {
            let streamed = stream(&m.experiment).counted(m.samples())?;
            let loads: Vec<f64> = m.latencies().iter().map(|&cycles| f64::from(cycles)).collect();
            Some((streamed.total(), streamed.clock_ghz, robust::mean(&loads))).filter(|_| !loads.is_empty())
        };
        let each: Vec<(f64, Option<f64>, f64)> = measured.iter().filter_map(of).collect();
        if each.is_empty() {
            return None;
        }
        let all = |of: fn(f64, f64, f64) -> f64| -> Option<Vec<f64>> {
            each.iter().map(|&(rate, clock, cycles)| Some(of(rate, clock?, cycles))).collect()
        };
        let per_second = all(|rate, clock, _| rate * clock * 1e9);
        let ns = all(|_, clock, cycles| cycles / clock);
        Some(Point {
            rate: robust::median(&each.iter().map(|one| one.0).collect::<Vec<_>>())?,
            per_second: per_second.map(|rates| promised(&rates, OTHER_CLOCK)),
            cycles: promised(&each.iter().map(|one| one.2).collect::<Vec<_>>(), OTHER_CLOCK),
            ns: ns.map(|ns| promised(&ns, OTHER_CLOCK)),
        })
    }
}

impl Loaded {
    fn most(&self) -> f64 {
        self.0.iter().map(|point| point.rate).fold(0.0, f64::max)
    }

    /// A value at a rate: between its neighbours, at the first place where the rate is reached.
    fn at(&self, rate: f64, value: impl Fn(&Point) -> Option<Interval>) -> Option<Interval> {
        let after = self.0.iter().position(|point| point.rate >= rate)?;
        let (before, after) = (&self.0[after.saturating_sub(1)], &self.0[after]);
        let part = ((rate - before.rate) / (after.rate - before.rate).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        let (a, b) = (value(before)?, value(after)?);
        let between = |a: f64, b: f64| a + part * (b - a);
        Some((between(a.0, b.0), between(a.1, b.1), between(a.2, b.2)))
    }

    /// The first of these values by rate at which the latency by `end` reaches a limit.
    fn reaches(&self, limit: f64, end: fn(&Point) -> f64, value: impl Fn(&Point) -> Option<f64>) -> Option<f64> {
        let after = self.0.iter().position(|point| end(point) >= limit)?;
        let (before, after) = (&self.0[after.saturating_sub(1)], &self.0[after]);
        let part = (limit - end(before)) / (end(after) - end(before)).max(f64::MIN_POSITIVE);
        let (a, b) = (value(before)?, value(after)?);
        Some(a + part.clamp(0.0, 1.0) * (b - a))
    }

    /// What a load takes at half of the highest rate, as a finding.
    pub fn at_half(&self, method: &str) -> Result<Finding<Cycles>, Gap> {
        let (value, low, high) = self
            .at(HALF * self.most(), |point| Some(point.cycles))
            .ok_or_else(|| Unknown::because("no SM moved anything"))?;
        Ok(Finding::measured(Cycles(digits(value)), method).range(digits(low), digits(high)).note(format!(
            "{:.0} cycles with next to no traffic, {:.0} at the highest rate",
            self.0[0].cycles.0,
            self.0.last().map_or(0.0, |point| point.cycles.0)
        )))
    }

    /// The latency of each point by its rate.
    pub fn series(&self) -> Vec<SeriesPoint> {
        let of = |point: &Point| {
            let (middle, low, high) = point.cycles;
            SeriesPoint { x: digits(point.rate), value: digits(middle), band: Some((digits(low), digits(high))) }
        };
        self.0.iter().map(of).collect()
    }
}

/// The latency of the level that is streamed through, by the rate.
fn loaded(notebook: &Notebook, level: &Level, is_cache: bool) -> Result<Loaded, Gap> {
    by(notebook, level, is_cache, |chase| chase, |chase| &chase.stream, |_| true)
}

/// The latency by the rate, of the chases that `chase` makes of those of all lines. What `holds` is not of is left out.
pub(super) fn by<E: Clone + Into<Experiment>>(
    notebook: &Notebook,
    level: &Level,
    is_cache: bool,
    chase: impl Fn(LoadedChase) -> E,
    stream: impl Fn(&E) -> &Stream,
    holds: impl Fn(&Measurement<E>) -> bool,
) -> Result<Loaded, Gap> {
    let peak = peak(notebook, level)?;
    // With few bytes in flight the queues never fill: on one H100 a load then took 1,190 cycles at most, and 4,000 with many. The
    // kernel with pauses takes more registers, so that fewer of its blocks may fit on an SM than of the search's. Older recordings
    // have the best launch.
    let by_shape = |shape| by_shape(notebook, level, shape, is_cache, &chase, &stream, &holds);
    let mut found = by_shape(peak.deep);
    for shape in [peak.shape, peak.fine] {
        if let Err(Gap::Unknown(_)) = found {
            found = by_shape(shape);
        }
    }
    found
}

/// As [`by`], by launches of this shape.
fn by_shape<E: Clone + Into<Experiment>>(
    notebook: &Notebook,
    level: &Level,
    shape: Shape,
    is_cache: bool,
    chase: &impl Fn(LoadedChase) -> E,
    stream_of: &impl Fn(&E) -> &Stream,
    holds: &impl Fn(&Measurement<E>) -> bool,
) -> Result<Loaded, Gap> {
    let sms = notebook.facts().multiprocessors;
    if sms < 2 {
        return Gap::unknown("it takes one SM that chases and another that streams; this device has one");
    }
    let (footprint, stride) = if is_cache { CACHED } else { BEYOND };
    let places = PLACES.min(sms);
    let at_pause = |pause: u32| {
        // Whole laps of those that stream: otherwise they read what others have just read.
        let stream = level.stream(sms - 1, shape, Round::Stated, 0);
        let prepare = if is_cache { Prepare::Nothing } else { Prepare::FlushL2 };
        let warm_cycles = if is_cache { ALL_LINES } else { stream.warm_cycles };
        let stream = Stream { prepare, warm_cycles, ..stream };
        (0..places).map(move |place| {
            let sm = place * sms / places;
            chase(LoadedChase { stream: stream.clone(), sm, footprint, stride, seed: 1, pause })
        })
    };
    // The longest pause and none at all are always among them.
    let every = notebook.effort().choose(EVERY_OTHER, 1, 1);
    let kept = |at: usize| at == 0 || at % every == every - 1;
    let pauses = (0..).zip(PAUSES).filter(|(at, _)| kept(*at)).map(|(_, pause)| pause);
    let wanted: Vec<E> = pauses.flat_map(at_pause).collect();
    let answers = notebook.read_each(&wanted)?;
    let mut points = Vec::new();
    let (mut failure, mut has_moved) = (None, false);
    for answers in answers.chunks(places as usize) {
        // A launch may have found no place for the chase; the other places stand for it.
        let answered = || answers.iter().filter_map(|answer| answer.as_ref().ok());
        has_moved |= answered().any(|measured| !holds(measured));
        let measured: Vec<&Measurement<E>> = answered().filter(|measured| holds(measured)).collect();
        failure = failure.or_else(|| answers.iter().find_map(|answer| answer.as_ref().err().cloned()));
        points.extend(Point::of(&measured, stream_of));
    }
    match (points.is_empty(), failure) {
        (true, Some(failure)) => return Err(failure.into()),
        (true, None) if has_moved => return Gap::unknown(homes::MOVED),
        (true, None) => return Gap::unknown("no load of a chase ended in the time that counts"),
        _ => {}
    }
    Ok(Loaded(points))
}

/// What a load takes at half of the highest rate of reads, in cycles; with the curves of all kinds of traffic.
pub fn latency(
    notebook: &Notebook,
    is_cache: bool,
    kinds: &[Traffic],
    level: impl Fn(Traffic) -> Result<Level, Gap>,
) -> Result<Finding<Cycles>, Gap> {
    let reads = loaded(notebook, &level(Traffic::Read)?, is_cache)?;
    let mut finding = reads.at_half(METHOD)?;
    for &kind in kinds {
        let (name, of) = match kind {
            Traffic::Read => (LATENCY_BY_READ_BANDWIDTH, Ok(reads.clone())),
            Traffic::Write => (LATENCY_BY_WRITE_BANDWIDTH, loaded(notebook, &level(kind)?, is_cache)),
            Traffic::Copy | Traffic::Triad => (LATENCY_BY_COPY_BANDWIDTH, loaded(notebook, &level(kind)?, is_cache)),
        };
        match of {
            Ok(of) => finding = finding.series(name, of.series()),
            Err(Gap::Unknown(_)) => {}
            Err(missing) => return Err(missing),
        }
    }
    Ok(finding)
}

/// As [`latency`], in nanoseconds.
pub fn nanoseconds(notebook: &Notebook, is_cache: bool, level: &Level) -> Result<Finding<Nanoseconds>, Gap> {
    let reads = loaded(notebook, level, is_cache)?;
    let Some((value, low, high)) = reads.at(HALF * reads.most(), |point| point.ns) else {
        return Gap::unknown("the device's timer stood still");
    };
    Ok(Finding::measured(Nanoseconds(digits(value)), METHOD).range(digits(low), digits(high)))
}

/// The rate of reads at which a load takes twice as long as without traffic.
pub fn doubles_at(notebook: &Notebook, is_cache: bool, level: &Level) -> Result<Finding<BytesPerSecond>, Gap> {
    let reads = loaded(notebook, level, is_cache)?;
    let (idle, least, most) = reads.0[0].cycles;
    let at = |limit: f64, end: fn(&Point) -> f64, rate: fn(Interval) -> f64| {
        reads.reaches(DOUBLE * limit, end, |point| point.per_second.map(rate))
    };
    if reads.0.iter().any(|point| point.per_second.is_none()) {
        return Gap::unknown("the device's timer stood still");
    }
    let Some(value) = at(idle, |point| point.cycles.0, |rate| rate.0) else {
        let (_, _, longest) = range(&reads.0.iter().map(|point| point.cycles.0).collect::<Vec<_>>());
        return Gap::unknown(format!(
            "at no rate of reads does a load take twice as long as without traffic: {longest:.0} cycles at most, {idle:.0} without"
        ));
    };
    // Close to the highest rate the latency still rises where the rate does not.
    let early = at(least, |point| point.cycles.2, |rate| rate.1).unwrap_or(value).min(value);
    let late = at(most, |point| point.cycles.1, |rate| rate.2);
    let finding = Finding::measured(BytesPerSecond(digits(value)), METHOD);
    Ok(match late {
        Some(late) => finding.range(digits(early), digits(late.max(value))),
        None => finding.at_least(digits(early)),
    })
}

#[cfg(test)]
mod tests {
    use strata_model::effort::Effort;
    use strata_model::facts::DeviceFacts;
    use strata_model::samples::{Lap, Samples};

    use super::*;

    /// Launches with fewer bytes in flight reach half of the rate. Of the others those with fewer are a little better.
    #[test]
    fn the_launch_with_the_most_bytes_in_flight_loads_the_memory() {
        const LEAST: Bytes = Bytes::kib(32);
        const CYCLES: u64 = 1 << 20;
        let rate = |stream: &Stream| match stream.in_flight() {
            few if few < LEAST => 50.0,
            enough => 100.0 - enough.0 as f64 / Bytes::mib(1).0 as f64,
        };
        let samples = |stream: &Stream, sms: u32| {
            let blocks = stream.blocks_per_sm as usize;
            let loads = rate(stream) * CYCLES as f64 / (stream.pass().0 as f64 * blocks as f64);
            let lap = Lap { loads: loads as u32, cycles: CYCLES };
            Samples { laps: vec![lap; stream.workers(sms as usize).len() * blocks], ..Samples::default() }
        };
        let facts = DeviceFacts {
            multiprocessors: 4,
            max_threads_per_block: 1024,
            max_threads_per_multiprocessor: 2048,
            ..DeviceFacts::default()
        };
        let sms = facts.multiprocessors;
        let level = Level::shared(Traffic::Read, Bytes::mib(8));
        let mut notebook = Notebook::new(facts, Effort::Quick, 0);
        let (mut searched, mut loading) = (Vec::new(), Vec::new());
        while loaded(&notebook, &level, true).is_err() {
            let missing = notebook.take_missing();
            assert!(!missing.is_empty());
            for experiment in missing {
                let answer = match &experiment {
                    Experiment::Stream(stream) => {
                        searched.push(stream.in_flight());
                        samples(stream, sms)
                    }
                    Experiment::LoadedChase(chase) => {
                        loading.push(chase.stream.in_flight());
                        Samples { latencies: vec![300], ..samples(&chase.stream, sms - 1) }
                    }
                    other => unreachable!("{other:?}"),
                };
                notebook.add(0, experiment, Ok(answer));
            }
        }
        let most = searched.into_iter().max().unwrap();
        assert!(most > LEAST && loading.iter().all(|in_flight| *in_flight == most), "{most}: {loading:?}");
    }

    /// Points of a queue: bytes a cycle, and cycles.
    fn queue(points: &[(f64, f64)]) -> Loaded {
        let of = |&(rate, cycles): &(f64, f64)| Point {
            rate,
            per_second: Some((rate * 2e9, rate * 1.9e9, rate * 2.1e9)),
            cycles: (cycles, cycles - 1.0, cycles + 1.0),
            ns: None,
        };
        Loaded(points.iter().map(of).collect())
    }

    #[test]
    fn a_latency_between_two_points_is_between_theirs() {
        let loaded = queue(&[(1.0, 500.0), (40.0, 520.0), (60.0, 560.0), (100.0, 2000.0)]);
        assert_eq!(loaded.at(HALF * loaded.most(), |point| Some(point.cycles)), Some((540.0, 539.0, 541.0)));
        assert_eq!(loaded.at(HALF * loaded.most(), |point| point.ns), None);
        let doubled = loaded.reaches(1000.0, |point| point.cycles.0, |point| Some(point.rate)).unwrap();
        assert!((doubled - (60.0 + 40.0 * 440.0 / 1440.0)).abs() < 1e-6, "{doubled}");
        assert_eq!(loaded.reaches(2500.0, |point| point.cycles.0, |point| Some(point.rate)), None);
    }
}
