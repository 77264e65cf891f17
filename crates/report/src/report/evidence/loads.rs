//! The loads of one chain: how they spread, to which group each belongs, and as many of them as can be seen.

use std::collections::HashMap;

use super::{Kind, Measurement, What};
use crate::report::plot::{Axis, Curves, Draw, Plot, Series};
use strata_infer::analysis::cluster::{self, Groups};
use strata_model::units::Bytes;

/// Most points of a chain that are drawn: about two for each column of pixels.
pub(super) const MOST_POINTS: usize = 1600;
/// Loads of each chain from which the groups are learned, and chains: enough for a group of one load in a hundred.
const LEARNED: usize = 2048;
const CHAINS: usize = 4;
/// Parts of the loads of a chain below and above the ends of its band.
const TAIL: f64 = 0.1;

/// Which loads of a chain are looked at: all, or every second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Which {
    All,
    First,
    Second,
}

/// Median, lower and upper end of the band, by chain: findings share most of their chains.
#[derive(Default)]
pub(super) struct Spreads(HashMap<(u32, Which), [f64; 3]>);

impl Spreads {
    /// Of the loads of a chain; `None` if it has none.
    pub fn of(&mut self, measurement: &Measurement<'_>, which: Which) -> Option<[f64; 3]> {
        if let Some(spread) = self.0.get(&(measurement.number, which)) {
            return Some(*spread);
        }
        let all = &measurement.samples.latencies;
        let mut loads: Vec<u32> = match which {
            Which::All => all.clone(),
            Which::First => all.iter().step_by(2).copied().collect(),
            Which::Second => all.iter().skip(1).step_by(2).copied().collect(),
        };
        let last = loads.len().checked_sub(1)?;
        let mut at = |part: f64| f64::from(*loads.select_nth_unstable((last as f64 * part).round() as usize).1);
        let spread = [at(0.5), at(TAIL), at(1.0 - TAIL)];
        self.0.insert((measurement.number, which), spread);
        Some(spread)
    }
}

/// The groups of latencies in these chains, learned from a few of them: the first, the last and some between.
pub(super) fn groups(measurements: &[Measurement<'_>]) -> Groups {
    let mut pooled = Vec::new();
    let chains = CHAINS.min(measurements.len());
    for i in 0..chains {
        let loads = &measurements[i * (measurements.len() - 1) / (chains - 1).max(1)].samples.latencies;
        pooled.extend(loads.iter().step_by((loads.len() / LEARNED).max(1)).copied());
    }
    cluster::clusters(&pooled)
}

/// Share of the loads above the first group.
pub(super) fn miss_share(levels: &Groups, latencies: &[u32]) -> f64 {
    let Some(&threshold) = levels.split().first() else { return 0.0 };
    latencies.iter().filter(|&&l| l > threshold).count() as f64 / latencies.len().max(1) as f64
}

/// The latency of each load of a chain, by group.
pub(super) fn scatter(kind: &Kind, measurement: &Measurement<'_>, levels: &Groups) -> Plot {
    let latencies = &measurement.samples.latencies;
    let thresholds = levels.split();
    let level_of = |latency: u32| thresholds.partition_point(|&t| latency > t);
    let mut series: Vec<Vec<(f64, f64)>> = vec![Vec::new(); thresholds.len() + 1];
    for i in thinned(latencies, MOST_POINTS) {
        series[level_of(latencies[i])].push((i as f64, f64::from(latencies[i])));
    }
    let mut counts = vec![0usize; series.len()];
    latencies.iter().for_each(|&l| counts[level_of(l)] += 1);
    let name = |i: usize| match levels.levels.len() {
        0 | 1 => "loads".to_owned(),
        2 => format!("{} ({})", ["hits", "misses"][i], counts[i]),
        _ => format!("around {:.0} cycles ({})", levels.levels[i].centre, counts[i]),
    };
    let named = series.into_iter().enumerate().filter(|(_, points)| !points.is_empty());
    let footprint = measurement.footprint();
    let loads = if kind.what == What::EachPair { "cycles of two loads" } else { "cycles" };
    Plot::Curves(Curves {
        title: format!("Load by load over {footprint}: {}", kind.words()),
        choice: format!("{footprint} by {} (experiment {})", Bytes(measurement.stride().0), measurement.number),
        x: Axis::of("load"),
        y: Axis::of(loads),
        series: named.map(|(i, points)| Series::new(name(i), Draw::Points, points)).collect(),
        ..Curves::default()
    })
}

/// Places of at most about `most` loads: of each stretch of a longer chain the quickest and the slowest, so that no single
/// slow load is lost. Ascending.
pub(super) fn thinned(latencies: &[u32], most: usize) -> Vec<usize> {
    if latencies.len() <= most {
        return (0..latencies.len()).collect();
    }
    let stretch = latencies.len().div_ceil(most / 2);
    let mut kept = Vec::with_capacity(most);
    for (i, loads) in latencies.chunks(stretch).enumerate() {
        let ends = [
            (0..loads.len()).min_by_key(|&j| loads[j]).unwrap_or(0),
            (0..loads.len()).max_by_key(|&j| loads[j]).unwrap_or(0),
        ];
        kept.push(i * stretch + ends[0].min(ends[1]));
        if ends[0] != ends[1] {
            kept.push(i * stretch + ends[0].max(ends[1]));
        }
    }
    kept
}
