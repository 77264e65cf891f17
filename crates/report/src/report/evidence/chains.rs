//! Figures of chains whose loads are timed one by one: over footprint, over stride, SM against line, load by load.

use std::collections::BTreeMap;

use super::loads::{self, Spreads, Which};
use super::{Drawn, Kind, Measurement, Over};
use crate::report::plot::{Axis, Curves, Draw, Heat, Measure, Plot, Series};
use crate::report::plots::crowded;
use strata_infer::analysis::cluster::{Groups, LEVEL_SHARE};
use strata_infer::analysis::robust;
use strata_model::experiment::{Experiment, LoadPath, Order};

/// Fewest footprints or strides of a curve.
const CURVE: usize = 4;
/// Fewest SMs of a map.
const MAP: usize = 2;
/// Most rows and columns of a map.
const MOST_CELLS: usize = 256;
/// Most chains that are shown load by load at one place.
const MOST_CHOICES: usize = 6;
/// Most curves over strides at one place.
const MOST_CURVES: usize = 6;

/// The figures of a group; `near` is the footprint about which the loads of single chains are shown.
pub(super) fn draw(
    kind: &Kind,
    measurements: &[Measurement<'_>],
    near: Option<f64>,
    spreads: &mut Spreads,
) -> Vec<Drawn> {
    if kind.path == Some(LoadPath::Atomic)
        && let Some(map) = map(measurements)
    {
        return vec![Drawn { over: Over::Else, rank: 0, experiments: measurements.len(), plots: vec![map] }];
    }
    let mut by_stride: BTreeMap<u64, Vec<Measurement<'_>>> = BTreeMap::new();
    for measurement in measurements {
        by_stride.entry(measurement.stride().0).or_default().push(*measurement);
    }
    let (mut drawn, mut rest) = (Vec::new(), Vec::new());
    for (_, mut same) in by_stride {
        same.sort_by_key(|s| (s.footprint(), s.number));
        let footprints = same.chunk_by(|a, b| a.footprint() == b.footprint()).count();
        if footprints < CURVE {
            rest.extend(same);
            continue;
        }
        let levels = loads::groups(&same);
        let experiments = same.len();
        // A curve on which nothing changes says less than one with hits and misses.
        let rank = if levels.levels.len() > 1 { 1 } else { 2 };
        drawn.push(Drawn {
            over: Over::Footprint,
            rank,
            experiments,
            plots: vec![over_footprint(kind, &same, &levels, spreads)],
        });
        let chosen = about(&same, &levels, near);
        let plots = chosen.iter().map(|measurement| loads::scatter(kind, measurement, &levels)).collect();
        // After the curve that it belongs to, since sorting keeps the order of equals.
        drawn.push(Drawn { over: Over::Else, rank, experiments, plots });
    }
    let mut strides: Vec<u64> = rest.iter().map(|s| s.stride().0).collect();
    strides.sort_unstable();
    strides.dedup();
    if strides.len() >= CURVE {
        drawn.push(Drawn {
            over: Over::Stride,
            rank: 1,
            experiments: rest.len(),
            plots: vec![over_stride(kind, &rest, strides.iter().map(|s| *s as f64))],
        });
    } else if !rest.is_empty() {
        let levels = loads::groups(&rest);
        let plots =
            rest.iter().take(MOST_CHOICES).map(|measurement| loads::scatter(kind, measurement, &levels)).collect();
        drawn.push(Drawn { over: Over::Else, rank: 3, experiments: rest.len(), plots });
    }
    drawn
}

/// Latency and share of misses over footprint. Chains ascend in footprint.
fn over_footprint(kind: &Kind, measurements: &[Measurement<'_>], levels: &Groups, spreads: &mut Spreads) -> Plot {
    let pairs = matches!(measurements[0].experiment.chain(), Some(chain) if matches!(chain.order, Order::Pages { .. } | Order::Window { .. }));
    let mut curve = |which: Which| -> Vec<(f64, [f64; 3])> {
        let same = measurements.chunk_by(|a, b| a.footprint() == b.footprint());
        let point = |same: &[Measurement<'_>]| {
            let all: Vec<[f64; 3]> = same.iter().filter_map(|s| spreads.of(s, which)).collect();
            let medians: Vec<f64> = all.iter().map(|s| s[0]).collect();
            let low = all.iter().map(|s| s[1]).fold(f64::MAX, f64::min);
            let high = all.iter().map(|s| s[2]).fold(f64::MIN, f64::max);
            Some((same[0].footprint().0 as f64, [robust::median(&medians)?, low, high]))
        };
        same.filter_map(point).collect()
    };
    let mut series = if pairs {
        vec![
            Series::banded("first load of a line: median, and the middle 80 %", Draw::Line, curve(Which::First)),
            Series::new("second load", Draw::Line, curve(Which::Second).into_iter().map(|(x, y)| (x, y[0]))),
        ]
    } else {
        vec![Series::banded("median, and the middle 80 % of the loads", Draw::Line, curve(Which::All))]
    };
    if !pairs && levels.levels.len() > 1 {
        let same = measurements.chunk_by(|a, b| a.footprint() == b.footprint());
        let share = |same: &[Measurement<'_>]| {
            let shares: Vec<f64> = same.iter().map(|s| loads::miss_share(levels, &s.samples.latencies)).collect();
            Some((same[0].footprint().0 as f64, robust::median(&shares)?))
        };
        series.push(Series::new("misses", Draw::Line, same.filter_map(share)).on_the_right());
    }
    let log2 = crowded(measurements.iter().map(|s| s.footprint().0 as f64));
    Plot::Curves(Curves {
        title: format!("Latency over footprint: {}, {} apart", kind.words(), measurements[0].stride()),
        x: Axis::bytes("footprint", log2),
        y: Axis::of("cycles"),
        series,
        ..Curves::default()
    })
}

/// The chains whose loads say most: on both sides of a footprint, which is the given one or where misses begin, and the
/// extremes. Chains ascend in footprint.
fn about<'e>(measurements: &[Measurement<'e>], levels: &Groups, near: Option<f64>) -> Vec<Measurement<'e>> {
    let footprint = |s: &Measurement<'_>| s.footprint().0 as f64;
    let misses = |s: &Measurement<'_>| loads::miss_share(levels, &s.samples.latencies) > LEVEL_SHARE;
    let above = match near {
        Some(near) => measurements.iter().position(|s| footprint(s) > near),
        None => measurements.iter().position(misses),
    };
    let last = measurements.len() - 1;
    let above = above.unwrap_or(last);
    // The first shown is the one beyond, where both groups are to be seen.
    let mut chosen = Vec::new();
    for place in [above, above.saturating_sub(1), 0, last] {
        if !chosen.contains(&place) {
            chosen.push(place);
        }
    }
    chosen.into_iter().map(|place| measurements[place]).collect()
}

/// Mean latency over stride, a curve for each footprint where they are few.
fn over_stride(kind: &Kind, measurements: &[Measurement<'_>], strides: impl Iterator<Item = f64>) -> Plot {
    let mut curves: BTreeMap<u64, BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
    let mut footprints: Vec<u64> = measurements.iter().map(|s| s.footprint().0).collect();
    footprints.sort_unstable();
    footprints.dedup();
    let together = footprints.len() > MOST_CURVES;
    for measurement in measurements {
        let loads = &measurement.samples.latencies;
        let mean = loads.iter().map(|&l| f64::from(l)).sum::<f64>() / loads.len().max(1) as f64;
        let curve = if together { 0 } else { measurement.footprint().0 };
        curves.entry(curve).or_default().entry(measurement.stride().0).or_default().push(mean);
    }
    let series = curves.into_iter().map(|(footprint, points)| {
        let name =
            if footprint == 0 { "all footprints".into() } else { strata_model::units::Bytes(footprint).to_string() };
        let points = points.into_iter().filter_map(|(x, y)| Some((x as f64, super::spread(&y)?)));
        Series::banded(name, Draw::Line, points)
    });
    Plot::Curves(Curves {
        title: format!("Mean latency over stride: {}", kind.words()),
        x: Axis { label: "stride".into(), measure: Measure::Bytes, log2: crowded(strides) },
        y: Axis::of("cycles, mean of a chain"),
        series: series.collect(),
        ..Curves::default()
    })
}

/// Latency by SM and line, where several SMs visited the same lines in the same order. Rows and columns are in the order of
/// how near they are to the first SM, so that parts of the cache stand together.
fn map(measurements: &[Measurement<'_>]) -> Option<Plot> {
    let first = measurements.first()?.experiment;
    let chain = first.chain()?;
    let lap = usize::try_from(chain.lap()).ok()?.max(1);
    let alike = |s: &&Measurement<'_>| {
        let allocation = |e: &Experiment| e.place().map(|place| place.allocation);
        s.experiment.chain() == Some(chain)
            && allocation(s.experiment) == allocation(first)
            && s.samples.latencies.len() >= lap
    };
    let every = lap.div_ceil(MOST_CELLS);
    let row = |s: &Measurement<'_>| {
        let loads = &s.samples.latencies;
        let line = |i: usize| {
            let mut visits: Vec<u32> = loads.iter().skip(i).step_by(lap).copied().collect();
            let middle = visits.len() / 2;
            *visits.select_nth_unstable(middle).1
        };
        (s.sm(), (0..lap).step_by(every).map(line).collect::<Vec<u32>>())
    };
    let mut rows: Vec<(u32, Vec<u32>)> = measurements.iter().filter(alike).take(MOST_CELLS).map(row).collect();
    if rows.len() < MAP {
        return None;
    }
    let mut columns: Vec<usize> = (0..rows[0].1.len()).collect();
    columns.sort_by_key(|&i| rows[0].1[i]);
    for (_, cells) in &mut rows {
        *cells = columns.iter().map(|&i| cells[i]).collect();
    }
    // How much nearer the lines are that are near to the first SM.
    let turned = |cells: &[u32]| {
        let (near, far) = cells.split_at(cells.len() / 2);
        let sum = |part: &[u32]| part.iter().map(|&c| i64::from(c)).sum::<i64>();
        sum(near) - sum(far)
    };
    rows.sort_by_key(|(sm, cells)| (turned(cells), *sm));
    Some(Plot::Heat(Heat {
        title: "Latency of atomics by SM and line".into(),
        x: "line, sorted by latency from the first SM".into(),
        y: "SM".into(),
        value: "cycles".into(),
        rows: rows.iter().map(|(sm, _)| format!("SM {sm}")).collect(),
        cells: rows.into_iter().map(|(_, cells)| cells).collect(),
    }))
}
