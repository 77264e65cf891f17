//! Distributed shared memory: what a load of another block's shared memory takes, what a barrier of a cluster does, and how many blocks a
//! cluster has.
//!
//! One thread of each block follows a chain of generic addresses in the shared memory of another block of its cluster. No two blocks are on one
//! SM, because each asks for the most shared memory that there is; every block says on which SM it is, and the finding says what pairs of
//! SMs differ by. What would refute it: a block that takes as long for its own memory as for another's (it is stated beside it).

use std::collections::BTreeSet;

use super::die::{LARGEST, PAIR, cluster_launches};
use super::{Gap, Measurement, Notebook, Unknown};
use crate::analysis::robust;
use strata_model::experiment::{ClusterWork, Distributed};
use strata_model::topology::Finding;
use strata_model::units::Cycles;

/// Steps of a short measurement, and how often both kinds are made: the median of three has no chance disturbance.
const STEPS: (u32, u32) = (64, 3);
/// Blocks of the clusters in which all pairs are looked at: what every device with clusters takes (CUDA C++ Programming Guide, "Thread
/// Block Clusters").
const PORTABLE: u32 = 8;
/// Cycles by which a pair of SMs differed between two launches of an H200, at most.
const AGAIN: f64 = 1.2;
/// Sizes of clusters whose barriers are timed.
const MEETING: [u32; 4] = [2, 4, 8, 16];

const LOADS: &str =
    "chase by generic loads of the shared memory of another block of the cluster, difference of 2n and n loads";
const OWN: &str = "chase by generic loads of the block's own shared memory, by its addresses in the cluster, difference of 2n and n loads";
const BARRIERS: &str = "barrier.cluster, arrive and wait, by one thread of each block, difference of 2n and n barriers";
const RELAXED: &str =
    "barrier.cluster, arrive.relaxed and wait, by one thread of each block, difference of 2n and n barriers";

fn launch(notebook: &Notebook, work: ClusterWork, size: u32, distance: u32) -> Distributed {
    let facts = notebook.facts();
    Distributed {
        size,
        count: (facts.multiprocessors / size).max(1),
        shared_per_block: facts.most_shared_per_block(),
        work,
        distance,
        steps: STEPS.0,
        rounds: STEPS.1,
        alone: false,
        repeat: 0,
    }
}

/// What each worker of some launches took, with its own SM and the other one.
fn taken(measurements: &[Measurement<Distributed>]) -> Result<Vec<(u32, u32, f64)>, Gap> {
    let all: Option<Vec<_>> =
        measurements.iter().map(|measurement| measurement.experiment.steps_taken(measurement.samples())).collect();
    match all {
        Some(all) => Ok(all.into_iter().flatten().collect()),
        None => Gap::unknown("blocks of clusters reported no times"),
    }
}

/// The median, and all that was seen.
fn spread(cycles: &[f64]) -> Option<(f64, f64, f64)> {
    let least = cycles.iter().copied().reduce(f64::min)?;
    let most = cycles.iter().copied().reduce(f64::max)?;
    Some((robust::median(cycles)?, least, most))
}

fn finding((median, least, most): (f64, f64, f64), method: &str) -> Finding<Cycles> {
    let tenths = |x: f64| (10.0 * x).round() / 10.0;
    Finding::measured(Cycles(tenths(median)), method).range(tenths(least - AGAIN), tenths(most + AGAIN))
}

/// As the finding `latency.cycles`: over all pairs of SMs that were in one cluster.
///
/// # Errors
///
/// An unknown, if the device launches no clusters or two blocks were on one SM.
pub fn latency(notebook: &Notebook) -> Result<Finding<Cycles>, Gap> {
    let pairs = launch(notebook, ClusterWork::Load, PAIR, 1);
    let others = (1..PORTABLE).map(|distance| launch(notebook, ClusterWork::Load, PORTABLE, distance));
    let measurements = notebook.read(&[pairs].into_iter().chain(others).collect::<Vec<_>>())?;
    let (pairs, all) = (taken(&measurements[..1])?, taken(&measurements)?);
    if let Some((sm, ..)) = all.iter().find(|(own, other, _)| own == other) {
        return Gap::unknown(format!("two blocks of a cluster were on SM {sm}: their memory is near for that reason"));
    }
    let cycles = |of: &[(u32, u32, f64)]| of.iter().map(|(.., cycles)| *cycles).collect::<Vec<f64>>();
    let (Some(whole), Some(near)) = (spread(&cycles(&all)), spread(&cycles(&pairs))) else {
        return Gap::unknown("no cluster ran");
    };
    let seen: BTreeSet<(u32, u32)> = all.iter().map(|&(own, other, _)| (own, other)).collect();
    Ok(finding(whole, LOADS).note(format!(
        "the interval holds all {} pairs of SMs that were in one cluster; in clusters of two, which have the SMs of a TPC, the median is \
         {:.0}, from {:.0} to {:.0}",
        seen.len(),
        near.0,
        near.1,
        near.2
    )))
}

/// As the finding `own_latency`.
///
/// # Errors
///
/// As [`latency`].
pub fn own(notebook: &Notebook) -> Result<Finding<Cycles>, Gap> {
    let measurements = notebook.read(&[launch(notebook, ClusterWork::Load, PAIR, 0)])?;
    let cycles: Vec<f64> = taken(&measurements)?.into_iter().map(|(.., cycles)| cycles).collect();
    spread(&cycles).map(|spread| finding(spread, OWN)).ok_or_else(|| Unknown::because("no cluster ran").into())
}

/// As the finding `cluster_barrier` or `relaxed_cluster_barrier`: over clusters of all sizes.
///
/// # Errors
///
/// As [`latency`].
pub fn barrier(notebook: &Notebook, work: ClusterWork) -> Result<Finding<Cycles>, Gap> {
    let launches = MEETING.map(|size| launch(notebook, work, size, 0));
    let answers = notebook.read_each(&launches)?;
    if let Err(failure) = &answers[0] {
        return Err(failure.clone().into());
    }
    let mut all = Vec::new();
    let mut sizes = Vec::new();
    for measurement in answers.into_iter().flatten() {
        let size = measurement.experiment.size;
        let cycles: Vec<f64> = taken(&[measurement])?.into_iter().map(|(.., cycles)| cycles).collect();
        if let Some((median, ..)) = spread(&cycles) {
            sizes.push(format!("{median:.0} of {size}"));
        }
        all.extend(cycles);
    }
    let Some(whole) = spread(&all) else { return Gap::unknown("no cluster ran") };
    let (method, what) = match work {
        ClusterWork::RelaxedBarrier => (RELAXED, "without the fence before it"),
        _ => (BARRIERS, "with the fence before it"),
    };
    Ok(finding(whole, method).note(format!("medians by blocks of a cluster: {}; {what}", sizes.join(", "))))
}

/// As the finding `largest_cluster`.
///
/// # Errors
///
/// As [`latency`].
pub fn largest(notebook: &Notebook) -> Result<Finding<u64>, Gap> {
    let launches = cluster_launches(notebook);
    let answers = notebook.read_each(&launches)?;
    let ran = launches.iter().zip(&answers).filter(|(_, answer)| answer.is_ok()).map(|(launch, _)| launch.size).max();
    let (Some(most), Some(first)) = (ran, answers.first()) else { return Gap::unknown("no cluster was asked for") };
    if let Err(failure) = first {
        return Err(failure.clone().into());
    }
    let method = "launches in clusters of 2 to 16 blocks, each with the most shared memory that a block can have";
    let finding = Finding::measured(u64::from(most), method).range(f64::from(most), f64::from(most)).unit("blocks");
    Ok(if most == LARGEST { finding.note("no larger one was tried") } else { finding })
}
