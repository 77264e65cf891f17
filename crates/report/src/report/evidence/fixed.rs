//! Figures of experiments with few numbers each: whole laps, warps, the clock, and chains that a partner disturbs.

use std::collections::BTreeMap;

use super::loads::{self, Spreads, Which};
use super::{Drawn, Kind, Measurement, Over, What, spread};
use crate::report::plot::{Axis, Curves, Draw, Plot, Series};
use crate::report::plots::crowded;
use strata_model::experiment::Experiment;

/// Fewest threads, SMs or footprints that make a curve of their own.
const CURVE: usize = 4;

/// Values at places, each place once with the spread of its values.
type Places = BTreeMap<u64, Vec<f64>>;
/// Such places by the name of their curve.
type ByName = BTreeMap<String, Places>;

fn series(name: &str, draw: Draw, places: Places) -> Series {
    let points = places.into_iter().filter_map(|(x, values)| Some((x as f64, spread(&values)?)));
    Series::banded(name, draw, points)
}

fn one(over: Over, experiments: usize, title: String, x: Axis, y: Axis, series: Vec<Series>) -> Vec<Drawn> {
    let plot = Plot::Curves(Curves { title, x, y, series, ..Curves::default() });
    vec![Drawn { over, rank: 0, experiments, plots: vec![plot] }]
}

/// The clock of each experiment.
pub(super) fn clock(measurements: &[Measurement<'_>]) -> Vec<Drawn> {
    let mhz = |s: &Measurement<'_>| {
        let span = s.samples.clocks.first().filter(|span| span.nanoseconds > 0)?;
        Some((f64::from(s.number), span.cycles as f64 / span.nanoseconds as f64 * 1e3))
    };
    let series = vec![Series::new("SM clock", Draw::Points, measurements.iter().filter_map(mhz))];
    one(Over::Else, measurements.len(), "SM clock".into(), Axis::of("experiment"), Axis::of("MHz"), series)
}

/// Cycles a load of each round, from its pair of measurements of n and 2n loads.
fn rounds(measurement: &Measurement<'_>) -> Vec<f64> {
    let pairs = measurement.samples.laps.chunks_exact(2).filter(|pair| pair[1].loads > pair[0].loads);
    let cycles = |pair: &[strata_model::samples::Lap]| {
        (pair[1].cycles as f64 - pair[0].cycles as f64) / f64::from(pair[1].loads - pair[0].loads)
    };
    pairs.map(cycles).collect()
}

/// Cycles a load over whatever varies: SM, footprint or stride, else experiment.
pub(super) fn laps(kind: &Kind, measurements: &[Measurement<'_>]) -> Vec<Drawn> {
    let by = |place: fn(&Measurement<'_>) -> u64| {
        let mut places = Places::new();
        measurements.iter().for_each(|s| places.entry(place(s)).or_default().extend(rounds(s)));
        places
    };
    let log2 = |places: &Places| crowded(places.keys().map(|x| *x as f64));
    let (sms, footprints, strides) = (by(|s| u64::from(s.sm())), by(|s| s.footprint().0), by(|s| s.stride().0));
    let (over, axis, places) = if sms.len() >= CURVE {
        (Over::Else, Axis::of("SM"), sms)
    } else if footprints.len() >= CURVE {
        (Over::Footprint, Axis::bytes("footprint", log2(&footprints)), footprints)
    } else if strides.len() >= CURVE {
        (Over::Stride, Axis::bytes("stride", log2(&strides)), strides)
    } else {
        (Over::Else, Axis::of("experiment"), by(|s| u64::from(s.number)))
    };
    let draw = if over == Over::Else { Draw::Points } else { Draw::Line };
    let title = format!("Whole laps: {}", kind.words());
    let series = vec![series("median, minimum and maximum of the rounds", draw, places)];
    one(over, measurements.len(), title, axis, Axis::of("cycles per load"), series)
}

/// Cycles of a warp's load: over stride where the lanes are evenly apart, over the distance of the farthest lane elsewhere.
pub(super) fn warps(measurements: &[Measurement<'_>]) -> Vec<Drawn> {
    let mut figures = [
        ("A warp's load over stride", "stride", 0, ByName::new()),
        ("A warp's load over the farthest lane", "farthest lane", 0, ByName::new()),
    ];
    for measurement in measurements {
        let Experiment::Warp(warp) = measurement.experiment else { continue };
        let offsets = &*warp.offsets;
        let (first, second) = (offsets[0], offsets[1]);
        let step = second.saturating_sub(first);
        let even = offsets.iter().zip(0u64..).all(|(o, lane)| o.checked_sub(first) == lane.checked_mul(step));
        let place = if even { step } else { offsets.iter().max().map_or(0, |far| far.saturating_sub(first)) };
        let width = warp.width.bytes();
        let banks = warp.bank_width.map_or(String::new(), |bank| format!(", banks of {}", bank.bytes()));
        let name = format!("{width} per lane{banks}");
        let (_, _, count, curves) = &mut figures[usize::from(!even)];
        *count += 1;
        curves.entry(name).or_default().entry(place).or_default().extend(rounds(measurement));
    }
    let mut drawn = Vec::new();
    for (title, label, count, curves) in figures {
        if !curves.is_empty() {
            let series = curves.into_iter().map(|(name, places)| series(&name, Draw::Line, places)).collect();
            drawn.extend(one(
                Over::Else,
                count,
                title.into(),
                Axis::bytes(label, false),
                Axis::of("cycles per load"),
                series,
            ));
        }
    }
    drawn
}

/// A chain after a partner's walk, beside the same chain that nobody disturbed: by the partner's thread where many were tried,
/// load by load where few.
pub(super) fn disturbed(
    kind: &Kind,
    measurements: &[Measurement<'_>],
    groups: &BTreeMap<Kind, Vec<Measurement<'_>>>,
) -> Vec<Drawn> {
    let undisturbed = undisturbed(kind, measurements, groups);
    let thread = |s: &Measurement<'_>| s.experiment.partner().map_or(0, |p| p.thread);
    let mut threads: Vec<u32> = measurements.iter().map(thread).collect();
    threads.sort_unstable();
    threads.dedup();
    let partner = |s: &Measurement<'_>| s.experiment.partner().map_or("nobody", |p| p.path.instruction());
    let mut all = Vec::new();
    let mut spreads = Spreads::default();
    if threads.len() > CURVE {
        let ends = [threads[0], threads[threads.len() - 1]].map(f64::from);
        if let Some(before) = undisturbed.as_ref().and_then(|s| spreads.of(s, Which::All)) {
            all.push(Series::new("undisturbed", Draw::Line, ends.map(|x| (x, before[0]))));
        }
        let mut by_path: BTreeMap<&str, Vec<&Measurement<'_>>> = BTreeMap::new();
        measurements.iter().for_each(|s| by_path.entry(partner(s)).or_default().push(s));
        for (path, measurements) in by_path {
            let points =
                measurements.into_iter().filter_map(|s| Some((f64::from(thread(s)), spreads.of(s, Which::All)?)));
            all.push(Series::banded(format!("after {path}"), Draw::Points, points));
        }
        let title = format!("A chain after a partner's walk, by the partner's thread: {}", kind.words());
        let (x, y) = (Axis::of("thread of the partner"), Axis::of("cycles"));
        return one(Over::Else, measurements.len(), title, x, y, all);
    }
    let loads = |s: &Measurement<'_>, count: usize| {
        let loads = &s.samples.latencies[..s.samples.latencies.len().min(count)];
        let kept = loads::thinned(loads, loads::MOST_POINTS);
        kept.into_iter().map(|i| (i as f64, f64::from(loads[i]))).collect::<Vec<_>>()
    };
    let longest = measurements.iter().map(|s| s.samples.latencies.len()).max().unwrap_or(0);
    if let Some(before) = &undisturbed {
        all.push(Series::new("undisturbed", Draw::Points, loads(before, longest)));
    }
    for measurement in measurements {
        let name = format!(
            "after {}, thread {} (experiment {})",
            partner(measurement),
            thread(measurement),
            measurement.number
        );
        all.push(Series::new(name, Draw::Points, loads(measurement, longest)));
    }
    let title = format!("A chain before and after a partner's walk: {}", kind.words());
    one(Over::Else, measurements.len(), title, Axis::of("load"), Axis::of("cycles"), all)
}

/// Of the chains by the same path that were warm and undisturbed, the one of the nearest footprint.
fn undisturbed<'e>(
    kind: &Kind,
    measurements: &[Measurement<'e>],
    groups: &BTreeMap<Kind, Vec<Measurement<'e>>>,
) -> Option<Measurement<'e>> {
    let first = measurements.first()?;
    let warm = groups.iter().filter(|(other, _)| {
        other.what == What::EachLoad && other.path == kind.path && !other.cold && other.carveout == kind.carveout
    });
    let alike = warm.flat_map(|(_, measurements)| measurements).filter(|s| s.stride() == first.stride());
    alike.min_by_key(|s| s.footprint().0.abs_diff(first.footprint().0)).copied()
}
