//! What the repetitions of one footprint's chase say: how many loads miss, and whether that comes and goes.

use std::collections::BTreeMap;

use super::Measurement;
use super::levels::HitMiss;
use super::spikes::Count;
use strata_model::experiment::Chase;

/// Slow loads by footprint. Of a repeated experiment the median counts: what comes once in three times is a spike, what
/// stays away once in three may be a line that gives way at random.
pub(super) fn counts(measurements: &[Measurement<Chase>], levels: &HitMiss) -> Vec<Count> {
    let mut slow: BTreeMap<u64, (usize, Vec<usize>)> = BTreeMap::new();
    for measurement in measurements {
        let entry = slow.entry(measurement.experiment.footprint.0).or_default();
        entry.0 = measurement.latencies().len();
        entry.1.push(levels.misses(measurement.latencies()));
    }
    slow.into_iter()
        .map(|(footprint, (loads, mut slow))| {
            slow.sort_unstable();
            Count { footprint, loads, slow: slow[slow.len() / 2] as f64 }
        })
        .collect()
}

/// The largest footprint up to `from` at which no repetition shows more than `base` misses.
pub(super) fn surely_flat(measurements: &[Measurement<Chase>], levels: &HitMiss, base: f64, from: u64) -> u64 {
    let grown = |measurement: &&Measurement<Chase>| levels.misses(measurement.latencies()) as f64 > base;
    let repeated = |measurement: &&Measurement<Chase>| {
        measurements
            .iter()
            .any(|s| s.experiment.repeat > 0 && s.experiment.footprint == measurement.experiment.footprint)
    };
    let doubted: Vec<u64> =
        measurements.iter().filter(repeated).filter(grown).map(|s| s.experiment.footprint.0).collect();
    let mut flat: Vec<u64> = measurements.iter().map(|s| s.experiment.footprint.0).filter(|&f| f <= from).collect();
    flat.sort_unstable();
    flat.into_iter().rev().find(|f| !doubted.contains(f)).unwrap_or(from)
}

/// The same experiment again.
pub(super) fn repetitions(of: &Chase, times: u32) -> impl Iterator<Item = Chase> + use<> {
    let of = of.clone();
    (1..=times).map(move |again| Chase { repeat: of.repeat + again, ..of.clone() })
}

/// Whether the misses of a footprint differ from repetition to repetition.
pub(super) fn varies(measurements: &[Measurement<Chase>], levels: &HitMiss, footprint: u64) -> bool {
    let mut misses =
        measurements.iter().filter(|s| s.experiment.footprint.0 == footprint).map(|s| levels.misses(s.latencies()));
    let first = misses.next();
    misses.any(|m| Some(m) != first)
}

/// The largest footprint from `from` on that shows no more than `base` misses in some repetition, as all before it do. What was
/// slow in the other repetitions may have been spikes, which are too rare to be seen in the few loads of a small cache's lap.
pub(super) fn sometimes_flat(measurements: &[Measurement<Chase>], levels: &HitMiss, base: f64, from: u64) -> u64 {
    let mut least: BTreeMap<u64, usize> = BTreeMap::new();
    for measurement in measurements {
        let (footprint, misses) = (measurement.experiment.footprint.0, levels.misses(measurement.latencies()));
        least.entry(footprint).and_modify(|least| *least = misses.min(*least)).or_insert(misses);
    }
    let flat = least.range(from..).take_while(|&(_, &misses)| misses as f64 <= base);
    flat.last().map_or(from, |(&footprint, _)| footprint)
}
