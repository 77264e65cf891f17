//! The latency of the memory behind the SM's own partition of the L2, and of that behind others.
//!
//! The L2 is flushed, and SMs of each partition load the lines once whose homes are known (`homes`). As for the latency of
//! [DRAM](super::dram) the first load of a page is left out, since it finds no translation.
//!
//! Fails where the flush leaves the lines in the L2: then many loads take no longer than the SM's atomics on the same lines did.

use std::collections::{BTreeMap, BTreeSet};

use super::dram::{overhead, with_pages};
use super::homes::{self, Area, Asked, Homes};
use super::latency::Measured;
use super::{Gap, Measurement, Notebook};
use crate::analysis::robust;
use strata_model::experiment::{Chase, LoadPath, Prepare, Timing};

/// At least this share of the loads on one side must take longer than the slowest of the SM's four atomics on the same line in the L2. Of
/// hits a fifth would by chance.
const LEAST_MISSES: f64 = 0.75;

/// Both latencies.
#[derive(Clone, Debug, PartialEq)]
pub struct NearFar {
    /// Behind the SM's own partition.
    pub near: Measured,
    /// Behind others.
    pub far: Measured,
}

/// A cold load.
struct Load {
    page: u64,
    is_near: bool,
    /// In cycles, without the timing overhead.
    latency: f64,
    /// It took longer than the slowest atomic of the SM on the same line.
    misses: bool,
}

/// The loads of one SM, without those that find no translation.
fn loads(homes: &Homes, asked: &Asked, measurement: &Measurement<Chase>, overhead: f64) -> Vec<Load> {
    let mut seen = BTreeSet::new();
    let lines = homes.lines.iter().zip(&asked.slowest).zip(measurement.latencies());
    let translated = lines.filter(|((line, _), _)| !seen.insert(line.page()));
    let load = |((line, slowest), latency): ((&homes::Line, &f64), &u32)| Load {
        page: line.page(),
        is_near: line.home == asked.partition,
        latency: f64::from(*latency) - overhead,
        misses: f64::from(*latency) > *slowest,
    };
    translated.map(load).collect()
}

/// The latency on one side, of the loads of each SM.
fn side(by_sm: &[Vec<Load>], is_near: bool) -> Result<Measured, Gap> {
    let on_side = |load: &&Load| load.is_near == is_near;
    let all = by_sm.iter().flatten().filter(on_side).count();
    let missed = |loads: &[Load]| -> Vec<f64> {
        loads.iter().filter(on_side).filter(|load| load.misses).map(|load| load.latency).collect()
    };
    let of_sms: Vec<Vec<f64>> = by_sm.iter().map(|loads| missed(loads)).filter(|missed| !missed.is_empty()).collect();
    let kept: usize = of_sms.iter().map(Vec::len).sum();
    if kept == 0 || (kept as f64) < LEAST_MISSES * all as f64 {
        return Gap::unknown(format!(
            "after a flush of the L2 only {kept} of {all} loads of {} lines take longer than atomics on the same lines in it",
            if is_near { "near" } else { "far" }
        ));
    }
    let mut pages: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for load in by_sm.iter().flatten().filter(on_side).filter(|load| load.misses) {
        pages.entry(load.page).or_default().push(load.latency);
    }
    // All of one allocation.
    let values: Vec<(u32, f64)> = of_sms.iter().map(|missed| (0, robust::trimmed_mean(missed))).collect();
    Ok(with_pages(Measured::of(&values), &pages))
}

/// Both latencies.
///
/// # Errors
///
/// An unknown, if the homes of lines are, or if too few loads take longer than atomics.
pub fn near_far(notebook: &Notebook) -> Result<NearFar, Gap> {
    notebook.once(&notebook.memo.near_far, (), || {
        let homes = homes::homes(notebook, Area::OF_THE_HASH)?;
        let overhead = overhead(notebook)?;
        let cold = |asked: &Asked| Chase {
            timing: Timing::straight(homes.lines.len() as u32),
            warm_laps: 0,
            prepare: Prepare::FlushL2,
            ..homes.chase(LoadPath::GlobalCg, asked.sm)
        };
        let measurements = notebook.read(&homes.asked.iter().map(cold).collect::<Vec<Chase>>())?;
        if !measurements.iter().all(|measurement| homes.are_of(measurement)) {
            return Gap::unknown(homes::MOVED);
        }
        let of_sm = |(asked, measurement)| loads(&homes, asked, measurement, overhead);
        let by_sm: Vec<Vec<Load>> = homes.asked.iter().zip(&measurements).map(of_sm).collect();
        Ok(NearFar { near: side(&by_sm, true)?, far: side(&by_sm, false)? })
    })
}
