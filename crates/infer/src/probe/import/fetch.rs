//! Fetch granularity: the smallest stride of a cold chase at which no load hits data that another load fetched.

use super::super::{Notebook, Unknown};
use super::{STRAY, latency, series, stride};
use crate::analysis::{cluster, robust};
use strata_model::import::{Level, Question};
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// A fetch is told from a hit if it takes so many times the spread of the hits longer.
const APART: f64 = 3.0;
/// Of a level behind another one, at least this many loads of a row must have come that far.
const ENOUGH: usize = 8;

pub(super) fn granularity(notebook: &Notebook, level: Level) -> Result<Finding<Bytes>, Unknown> {
    let measurements = series(notebook, level, Question::FetchGranularity)?;
    let floor = before(notebook, level);
    // The first load of a cold chase also meets what every launch meets first.
    let rows: Vec<(u64, Vec<u32>)> = measurements
        .iter()
        .map(|measurement| {
            let loads = measurement.latencies().iter().skip(1).copied();
            (stride(&measurement.experiment).0, loads.filter(|&l| f64::from(l) > floor).collect())
        })
        .filter(|(_, loads): &(u64, Vec<u32>)| loads.len() >= ENOUGH)
        .collect();
    let Some(&(smallest, _)) = rows.first() else {
        return Err(Unknown::because("too few loads of the cold chases reached this level"));
    };
    let Some(threshold) = threshold(&rows, measurements[0].latencies().len()) else {
        return Err(Unknown::because(
            "the loads of the cold chases do not form two groups, so hits and misses cannot be separated",
        ));
    };
    let fast = |loads: &[u32]| loads.iter().filter(|&&l| f64::from(l) <= threshold).count();
    let vanished = |at: usize| {
        let double = 2 * rows[at].0;
        rows[at..].iter().take_while(|(stride, _)| *stride <= double).all(|(_, loads)| fast(loads) == 0)
    };
    let Some(at) = (0..rows.len()).find(|&at| vanished(at)) else {
        return Err(Unknown::because(format!(
            "at every stride some loads take at most {threshold:.0} cycles, so the fetch granularity cannot be inferred"
        )));
    };
    let (stride, loads) = (rows[at].0, rows[at].1.len());
    let Some((before, rows_before)) = at.checked_sub(1).map(|i| (rows[i].0, &rows[i].1)) else {
        return Err(Unknown::because(format!(
            "even at the smallest stride, {smallest} B, no load hits data that another load fetched"
        )));
    };
    // A little more could be fetched than this stride without any of so few loads meeting it.
    let most = stride as f64 * loads as f64 / (loads as f64 - 1.0);
    let likely = (before + 1..=most as u64).find(|bytes| bytes.is_power_of_two());
    let method = "cold chase: the smallest stride at which no load hits data that another load fetched, up to twice \
                  this stride";
    let finding = Finding::measured(Bytes(likely.unwrap_or(stride)), method).range(before as f64 + 1.0, most.floor());
    let finding = finding.note(format!(
        "at {before} B {} of {} loads take at most {threshold:.0} cycles, at {stride} B none",
        fast(rows_before),
        rows_before.len()
    ));
    Ok(match likely {
        Some(_) => finding.note("the power of two in the interval"),
        None => finding,
    })
}

/// Between loads that find what another fetched and those that do not, in cycles, if they are told apart. `loads` are those of the
/// smallest stride before any were left out.
fn threshold(rows: &[(u64, Vec<u32>)], loads: usize) -> Option<f64> {
    let (first, last) = (&rows.first()?.1, &rows.last()?.1);
    if 2 * first.len() < loads {
        // The level before this one answered most of them: of what is left, all strides together.
        let pooled: Vec<u32> = rows.iter().flat_map(|(_, loads)| loads).copied().collect();
        return cluster::two_levels(&pooled).map(|split| f64::from(split.threshold));
    }
    // At the smallest stride most loads find what the one before them fetched; at the largest none does.
    let (fast, slow) = (robust::quantile_u32(first, 0.5)?, robust::quantile_u32(last, STRAY)?);
    let spread = (robust::quantile_u32(first, 0.5)? - robust::quantile_u32(first, 0.25)?).max(1.0);
    (slow - fast > APART * spread).then(|| f64::midpoint(fast, slow))
}

/// Loads up to this, in cycles, were answered before the level in question: halfway from the latency of the one to the other's.
fn before(notebook: &Notebook, level: Level) -> f64 {
    let earlier = match level {
        Level::L2 => Level::L1,
        _ => return 0.0,
    };
    match (latency::least(notebook, earlier), latency::stated(notebook, level)) {
        (Some(earlier), Some(own)) if earlier.cycles < own => f64::midpoint(earlier.cycles, own),
        _ => 0.0,
    }
}
