//! How a rate depends on the number of SMs that read, and on the footprint that all of them read.

use super::halving::Round;
use super::interval::{digits, range};
use super::search::{Shape, peak, shapes};
use super::{Level, NEARLY, UNSURE, lap};
use crate::probe::{Gap, Measurement, Notebook, Settle, partitions};
use strata_model::experiment::{Persistent, Prepare, Stream};
use strata_model::topology::{
    BANDWIDTH_BY_FOOTPRINT, BANDWIDTH_BY_SMS, BANDWIDTH_BY_SMS_OF_ONE_PARTITION_FIRST, Finding, SeriesPoint,
};
use strata_model::units::Bytes;

/// A launch is looked for that is best where one in so many SMs reads.
const FEW: u64 = 4;
/// Numbers of SMs that are above this share of all are not tried: they are as good as all.
const ALL: f64 = 0.95;
/// How the number of SMs is found.
const METHOD: &str = "the launches with which a quarter of the SMs and all of them read the most, on more and more SMs, taken from all \
                      partitions in turn";
/// How often each launch is measured.
const REPEATS: u32 = 3;
/// Numbers that tell these launches from those of a search.
const REPEATED_FROM: u32 = 32;
/// So many numbers of SMs, at most, are tried between one that is too few and one that is enough.
const BETWEEN: u64 = 8;
/// Largest footprint, as a multiple of what the driver calls the size of the L2.
const LARGEST: u64 = 4;
/// Part of the L2 by which footprints grow at most, up to half as much again as the L2.
const STEP: u64 = 16;
/// Beyond that each footprint is so many times the one before.
const FARTHER: (u64, u64) = (5, 4);
/// Passes over a footprint before it counts, and while it does, at the rate of the L2; DRAM takes longer.
const PASSES: (f64, f64) = (4.0, 2.0);

/// A launch that was repeated: bytes a cycle of all SMs at work together.
struct Point {
    x: u64,
    middle: f64,
    low: f64,
    high: f64,
}

impl Point {
    fn as_series(&self) -> SeriesPoint {
        let band = Some((digits(self.low), digits(self.high)));
        SeriesPoint { x: self.x as f64, value: digits(self.middle), band }
    }
}

/// Each stream of these several times, with the place on the axis to which it belongs.
fn points(notebook: &Notebook, streams: &[(u64, Stream)]) -> Result<Vec<Point>, Gap> {
    let repeated = |stream: &Stream| {
        let stream = stream.clone();
        (0..REPEATS).map(move |repeat| Stream { repeat: REPEATED_FROM + repeat, ..stream.clone() })
    };
    let wanted: Vec<Stream> = streams.iter().flat_map(|(_, stream)| repeated(stream)).collect();
    let measured = notebook.read(&wanted)?;
    let mut points = Vec::new();
    for ((x, _), measured) in streams.iter().zip(measured.chunks(REPEATS as usize)) {
        let rates: Vec<f64> = measured
            .iter()
            .filter_map(|m| m.experiment.counted(m.samples()))
            .map(|streamed| streamed.total())
            .collect();
        let (middle, low, high) = range(&rates);
        points.push(Point { x: *x, middle, low, high });
    }
    Ok(points)
}

/// Numbers from 1 to all SMs, each about half as much again as the one before.
fn growing(sms: u64) -> Vec<u64> {
    let steps = (0..u32::BITS).flat_map(|bit| [1 << bit, 3 << bit]);
    let mut all: Vec<u64> = steps.filter(|n| *n as f64 <= ALL * sms as f64).collect();
    all.push(sms);
    all.sort_unstable();
    all
}

/// SMs in the order in which more and more of them read: from all partitions in turn, and one partition after the other, if there are
/// several and it is known which SM belongs to which.
fn orders(notebook: &Notebook) -> Result<(Vec<u32>, Option<Vec<u32>>), Gap> {
    let sms: Vec<u32> = (0..notebook.facts().multiprocessors).collect();
    // Without the partitions there is one order.
    let Ok(found) = partitions::partitions(notebook).settled()? else { return Ok((sms, None)) };
    if found.number() < 2 {
        return Ok((sms, None));
    }
    let mut packed = sms.clone();
    packed.sort_by_key(|&sm| (found.of(sm), sm));
    let mut seen = vec![0; found.number()];
    let mut place: Vec<(usize, u32)> = Vec::new();
    for sm in sms {
        let of = found.of(sm);
        place.push((seen[of], sm));
        seen[of] += 1;
    }
    place.sort_unstable();
    Ok((place.into_iter().map(|(_, sm)| sm).collect(), Some(packed)))
}

/// The first so many SMs of an order read by a launch of this shape.
fn by_some(notebook: &Notebook, level: &Level, shape: Shape, order: &[u32], count: u64) -> Stream {
    let facts = notebook.facts();
    let mut sms = order[..count as usize].to_vec();
    sms.sort_unstable();
    let stream = level.stream(facts.multiprocessors, shape, Round::Again, 0);
    let lap = lap(&stream, count as u32);
    let (footprint, prepare) = if level.footprint.0 > facts.l2_size {
        // What few SMs read would still be in the L2 from the launch before, if they read as little as fits there.
        (level.footprint, Prepare::FlushL2)
    } else {
        // As much for each SM as where all read, so that few of them go over it as often before it counts.
        ((level.footprint * count / u64::from(facts.multiprocessors)).max(lap), stream.prepare)
    };
    Stream { footprint: footprint.round_down(lap), sms, prepare, ..stream }
}

/// The shape by which so many SMs, the first of an order, read the most. What is best for all SMs may not be best for few, of which each
/// must have more bytes in flight.
fn best_of_few(notebook: &Notebook, level: &Level, order: &[u32], count: u64) -> Result<Shape, Gap> {
    let all = shapes(notebook, level);
    let streams: Vec<Stream> = all.iter().map(|&shape| by_some(notebook, level, shape, order, count)).collect();
    let rate = |measured: &Measurement<Stream>| measured.experiment.counted(measured.samples());
    let answers = notebook.read_each(&streams)?;
    let rates = answers.iter().map(|answer| answer.as_ref().ok().and_then(rate).map_or(0.0, |rate| rate.total()));
    let best = all.into_iter().zip(rates).max_by(|a, b| a.1.total_cmp(&b.1));
    match best {
        Some((shape, rate)) if rate > 0.0 => Ok(shape),
        _ => Gap::unknown("no launch of the search fits on this device"),
    }
}

/// The fewest SMs that together read nearly as much as all of them do.
pub fn saturating_sms(notebook: &Notebook, level: &Level) -> Result<Finding<u64>, Gap> {
    let peak = peak(notebook, level)?;
    let (spread, packed) = orders(notebook)?;
    let all = spread.len() as u64;
    let whole = peak.per_sm.0 * all as f64;
    // Few SMs may read the most by another launch than all of them; at each number the better of both counts.
    let mut launches = vec![best_of_few(notebook, level, &spread, all.div_ceil(FEW))?, peak.shape];
    launches.dedup();
    let of = |order: &[u32], counts: &[u64]| -> Result<Vec<Point>, Gap> {
        let by =
            |&count: &u64| launches.iter().map(move |&shape| (count, by_some(notebook, level, shape, order, count)));
        let mut points = points(notebook, &counts.iter().flat_map(by).collect::<Vec<_>>())?;
        points.sort_by(|a, b| a.x.cmp(&b.x).then(b.middle.total_cmp(&a.middle)));
        points.dedup_by_key(|point| point.x);
        Ok(points)
    };
    let mut spreading = of(&spread, &growing(all))?;
    let first = |points: &[Point], share: f64, rate: fn(&Point) -> f64| {
        points.iter().find(|point| rate(point) >= share * whole).map(|point| point.x)
    };
    let enough = first(&spreading, NEARLY, |point| point.middle).unwrap_or(all);
    let fewer = spreading.iter().map(|point| point.x).rfind(|count| *count < enough).unwrap_or(0);
    let between: Vec<u64> = (1..=BETWEEN)
        .map(|part| fewer + (enough - fewer) * part / (BETWEEN + 1))
        .filter(|count| *count > fewer && *count < enough)
        .collect();
    if !between.is_empty() {
        spreading.extend(of(&spread, &between)?);
        spreading.sort_by_key(|point| point.x);
        spreading.dedup_by_key(|point| point.x);
    }
    let found = first(&spreading, NEARLY, |point| point.middle).unwrap_or(all);
    let early = first(&spreading, NEARLY - UNSURE, |point| point.high).unwrap_or(found);
    let late = first(&spreading, NEARLY + UNSURE, |point| point.low).unwrap_or(all);
    let below = spreading.iter().map(|point| point.x).rfind(|count| *count < early).map_or(1, |count| count + 1);
    let series = |points: &[Point]| points.iter().map(Point::as_series).collect();
    let finding = Finding::measured(found, METHOD)
        .unit("SMs")
        .range(below.min(found) as f64, late.max(found) as f64)
        .series(BANDWIDTH_BY_SMS, series(&spreading));
    Ok(match packed {
        Some(packed) => {
            let packing = of(&packed, &growing(all))?;
            finding.series(BANDWIDTH_BY_SMS_OF_ONE_PARTITION_FIRST, series(&packing))
        }
        None => finding,
    })
}

/// Footprints up to several times an L2 of this size: multiples of what the warps of a launch touch at once.
fn footprints(l2: u64, lap: u64, most: u64) -> Vec<Bytes> {
    let step = lap.max((l2 / STEP).div_ceil(lap) * lap);
    let mut all = Vec::new();
    let mut next = step;
    while next <= (LARGEST * l2).max(step).min(most) {
        all.push(Bytes(next));
        let farther = next * FARTHER.0 / FARTHER.1 / lap * lap;
        next = if next < l2 * 3 / 2 { next + step } else { farther.max(next + step) };
    }
    all
}

/// The largest footprint that all SMs together read again and again at nearly the rate of the L2.
pub fn effective_size(notebook: &Notebook, level: &Level) -> Result<Finding<Bytes>, Gap> {
    let facts = notebook.facts();
    let peak = peak(notebook, level)?;
    let rate = peak.per_sm.0 * f64::from(facts.multiprocessors);
    let streams_of = |shape: Shape| -> Vec<(u64, Stream)> {
        let shape = level.stream(facts.multiprocessors, shape, Round::Stated, 0);
        let all = footprints(facts.l2_size, lap(&shape, facts.multiprocessors).0, facts.free_memory / 8);
        let stream = |footprint: Bytes| {
            let cycles = |passes: f64| (passes * footprint.0 as f64 / rate) as u32;
            let warm_cycles = level.warm.max(cycles(PASSES.0));
            let timed_cycles = level.timed.max(cycles(PASSES.1));
            Stream { footprint, warm_cycles, timed_cycles, ..shape.clone() }
        };
        all.into_iter().map(|footprint| (footprint.0, stream(footprint))).collect()
    };
    let mut streams = streams_of(peak.best_of_fine);
    // Older recordings have a launch that read up to a tenth less.
    if let [(_, first), ..] = streams.as_slice()
        && notebook.is_not_recorded(&Stream { repeat: REPEATED_FROM, ..first.clone() })?
    {
        streams = streams_of(peak.fine);
    }
    let shape = streams.first().map(|(_, stream)| stream.shape());
    let points = points(notebook, &streams)?;
    let plateau = points.iter().map(|point| point.middle).fold(0.0, f64::max);
    let slower = |share: f64, rate: fn(&Point) -> f64| {
        let from = points.iter().position(|point| point.middle >= plateau)?;
        (from..points.len()).find(|&at| rate(&points[at]) < share * plateau)
    };
    let at = |place: Option<usize>| place.map(|place| points[place.saturating_sub(1)].x as f64);
    let series = points.iter().map(Point::as_series).collect();
    let Some(first) = slower(NEARLY, |point| point.middle) else {
        return Gap::unknown("no footprint that was read is slower than nine tenths of the highest rate");
    };
    let low = at(slower(NEARLY + UNSURE, |point| point.low)).unwrap_or(points[0].x as f64);
    // The first that is clearly slower is already too large.
    let high = slower(NEARLY - UNSURE, |point| point.high).map(|place| points[place].x as f64);
    let value = points[first.saturating_sub(1)].x;
    let finding = Finding::measured(
        Bytes(value),
        format!(
            "reads of all SMs over growing footprints, {}; the largest with nine tenths of the highest rate",
            shape.unwrap_or_default()
        ),
    )
    .series(BANDWIDTH_BY_FOOTPRINT, series);
    Ok(match high {
        Some(high) => finding.range(low.min(value as f64), high),
        None => finding.at_least(low.min(value as f64)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_sms_grow_up_to_all() {
        assert_eq!(growing(1), [1]);
        assert_eq!(growing(5), [1, 2, 3, 4, 5]);
        assert_eq!(growing(13), [1, 2, 3, 4, 6, 8, 12, 13]);
        assert_eq!(growing(132)[11..], [64, 96, 132]);
    }

    #[test]
    fn footprints_are_whole_laps_up_to_four_times_the_l2() {
        let all = footprints(60, 4, u64::MAX);
        assert!(all.iter().all(|footprint| footprint.0 % 4 == 0) && all.is_sorted_by(|a, b| a < b), "{all:?}");
        assert!(all[0] == Bytes(4) && (200..=240).contains(&all.last().unwrap().0), "{all:?}");
        // A lap larger than the L2 is the first footprint; what is free bounds the last.
        assert_eq!(footprints(60, 100, u64::MAX), [Bytes(100), Bytes(200)]);
        assert!(footprints(60, 100, 50).is_empty());
    }
}
