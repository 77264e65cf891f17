//! Fetch granularity: the smallest stride of a cold chase at which no load hits data that another load fetched.

use super::super::{Measurement, Notebook, Unknown};
use super::{STRAY, latency, only_power_of_two, series, stride};
use crate::analysis::{cluster, robust};
use strata_model::experiment::Imported;
use strata_model::import::{Level, Question, Series};
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
    let mut rows: Vec<(u64, Vec<u32>)> = Vec::new();
    for measurement in &measurements {
        let (stride, loads) = (stride(&measurement.experiment).0, measurement.latencies().iter().skip(1));
        match rows.last_mut() {
            Some((before, all)) if *before == stride => all.extend(loads),
            _ => rows.push((stride, loads.copied().collect())),
        }
    }
    let reached = |(_, loads): &(u64, Vec<u32>)| -> Vec<u32> {
        loads.iter().copied().filter(|&l| f64::from(l) > floor).collect()
    };
    let far: Vec<Vec<u32>> = rows.iter().map(reached).filter(|loads| loads.len() >= ENOUGH).collect();
    if far.is_empty() {
        return Err(Unknown::because("too few loads of the cold chases reached this level"));
    }
    let Some(threshold) = threshold(&far, rows[0].1.len()) else {
        return Err(Unknown::because(
            "the loads of the cold chases do not form two groups, so hits and misses cannot be separated",
        ));
    };
    // A load that an earlier level answered found data that another load fetched, too.
    let fast = |loads: &[u32]| loads.iter().filter(|&&l| f64::from(l) <= threshold).count();
    let vanished = |at: usize| {
        let double = 2 * rows[at].0;
        let mut upward = rows[at..].iter().take_while(|(stride, _)| *stride <= double);
        rows[at].1.len() >= ENOUGH && upward.all(|(_, loads)| fast(loads) == 0)
    };
    let Some(at) = (0..rows.len()).find(|&at| vanished(at)) else {
        return Err(Unknown::because(format!(
            "at every stride some loads take at most {threshold:.0} cycles, so the fetch granularity cannot be inferred"
        )));
    };
    let (stride, loads) = (rows[at].0, rows[at].1.len());
    let Some((before, loads_before)) = at.checked_sub(1).map(|i| (rows[i].0, &rows[i].1)) else {
        return Err(Unknown::because(format!(
            "even at the smallest stride, {stride} B, no load hits data that another load fetched"
        )));
    };
    // A little more could be fetched than this stride without any of so few loads meeting it.
    let most = (stride as f64 * loads as f64 / (loads as f64 - 1.0)).floor();
    let (quick, all) = (fast(loads_before), loads_before.len());
    let seen = format!("at {before} B {quick} of {all} loads take at most {threshold:.0} cycles, at {stride} B none");
    // Of loads at a stride, the rest of what one fetch brings is the share that hit; where the chain begins may add one.
    let least = before as f64 * all as f64 / (all - quick + 1) as f64;
    if least > most {
        return Err(Unknown::because(format!("{seen}: so many hits need a fetch of at least {least:.0} B")));
    }
    let Some(likely) = only_power_of_two(before + 1, most as u64) else {
        return Err(Unknown::because(format!(
            "{seen}; it is from {} to {most} B, where there is not exactly one power of two",
            before + 1
        )));
    };
    let method = "cold chase: the smallest stride at which no load hits data that another load fetched, up to twice \
                  this stride; the power of two in the interval";
    Ok(Finding::measured(Bytes(likely), method).range(before as f64 + 1.0, most).note(seen))
}

/// What a miss costs in the cold chase, in cycles, if hits and misses are told apart there. It comes from far: no miss of a warm
/// lap costs more.
pub(super) fn cold_miss(notebook: &Notebook, level: Level) -> Option<f64> {
    let rows = notebook.imported(Series { level, question: Question::FetchGranularity });
    let median = |row: &Measurement<Imported>| robust::median_u32(row.latencies());
    let (hit, miss) = (median(rows.first()?)?, median(rows.last()?)?);
    (miss > hit).then_some(miss - hit)
}

/// Between loads that find what another fetched and those that do not, in cycles, if they are told apart. `loads` are those of the
/// smallest stride before any were left out.
fn threshold(rows: &[Vec<u32>], loads: usize) -> Option<f64> {
    let (first, last) = (rows.first()?, rows.last()?);
    if 2 * first.len() < loads {
        // The level before this one answered most of them: of what is left, all strides together.
        let pooled: Vec<u32> = rows.iter().flatten().copied().collect();
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
