//! Distributed shared memory: what a load of another block's shared memory takes, what a barrier of a cluster does, and how many blocks a
//! cluster has.
//!
//! One thread of each block follows a chain of generic addresses in the shared memory of another block of its cluster. No two blocks are on one
//! SM, because each asks for the most shared memory that there is; every block says on which SM it is, and the finding says what pairs of
//! SMs differ by. What would refute it: a block that takes as long for its own memory as for another's (it is stated beside it).

use std::collections::{BTreeMap, BTreeSet};

use super::die::{PAIR, cluster_launches};
use super::{Gap, Measurement, Notebook, Unknown};
use crate::analysis::robust::{self, spread, tenths};
use strata_model::experiment::{ClusterWork, Distributed};
use strata_model::topology::Finding;
use strata_model::units::Cycles;

/// Steps of a short measurement, and how often both kinds are made: the median of three has no chance disturbance.
const STEPS: (u32, u32) = (64, 3);
/// Blocks of the clusters in which all pairs are looked at: what every device with clusters takes (CUDA C++ Programming Guide, "Thread
/// Block Clusters").
const PORTABLE: u32 = 8;
/// More cycles than a pair of SMs differed by between two launches: 1.5 at most on an H200 and an H100.
const AGAIN: f64 = 2.0;
/// Sizes of clusters whose barriers are timed.
const MEETING: [u32; 4] = [2, 4, 8, 16];

const LOADS: &str =
    "chase by generic loads of the shared memory of another block of the cluster, difference of 2n and n loads";
const OWN: &str = "chase by generic loads of the block's own shared memory, by its addresses in the cluster, difference of 2n and n loads";
const ATOMICS: &str = "chase by atomics that add nothing, in the shared memory of another block of the cluster, difference of 2n and n atomics";
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

/// What each worker of some launches took, with its own SM and the other one. Two blocks of a cluster on one SM would be near each other
/// for that reason.
fn taken(measurements: &[Measurement<Distributed>]) -> Result<Vec<(u32, u32, f64)>, Gap> {
    let mut all = Vec::new();
    for measurement in measurements {
        let (experiment, samples) = (&measurement.experiment, measurement.samples());
        let Some(taken) = experiment.steps_taken(samples) else {
            return Gap::unknown("blocks of clusters reported no times");
        };
        if !experiment.clusters().of(samples).all(are_apart) {
            return Gap::unknown(
                "two blocks of a cluster were on one SM, although each asks for all of its shared memory",
            );
        }
        all.extend(taken);
    }
    Ok(all)
}

/// Whether each block of a cluster is on another SM.
fn are_apart(sms: &[u32]) -> bool {
    sms.iter().collect::<BTreeSet<_>>().len() == sms.len()
}

fn finding((median, least, most): (f64, f64, f64), method: &str) -> Finding<Cycles> {
    Finding::measured(Cycles(tenths(median)), method).range(tenths(least - AGAIN), tenths(most + AGAIN))
}

/// What each of them took.
fn cycles(taken: &[(u32, u32, f64)]) -> Vec<f64> {
    taken.iter().map(|&(.., cycles)| cycles).collect()
}

/// The median of what each ordered pair of SMs took, in ascending order of the pairs.
fn by_pair(taken: &[(u32, u32, f64)]) -> Vec<f64> {
    let mut pairs: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
    taken.iter().for_each(|&(own, other, cycles)| pairs.entry((own, other)).or_default().push(cycles));
    pairs.values().filter_map(|cycles| robust::median(cycles)).collect()
}

/// What walks by loads or atomics take, over all ordered pairs of SMs that were in one cluster, and how many pairs these are; and over those
/// of clusters of two.
struct Pairs {
    all: (f64, f64, f64),
    seen: usize,
    of_two: (f64, f64, f64),
}

fn over_pairs(notebook: &Notebook, work: ClusterWork) -> Result<Pairs, Gap> {
    let pairs = [launch(notebook, work, PAIR, 1)];
    let others: Vec<Distributed> = (1..PORTABLE).map(|distance| launch(notebook, work, PORTABLE, distance)).collect();
    let [pairs, others] = [
        notebook.read(&pairs),
        notebook.read_each(&others).map(|all| all.into_iter().flatten().collect()).map_err(Gap::from),
    ];
    // No GPC may have room for clusters of eight. Those of two are enough for an answer.
    let (pairs, others): (_, Vec<_>) = (taken(&pairs?)?, others?);
    let all = [pairs.clone(), taken(&others)?].concat();
    let (all, pairs) = (by_pair(&all), by_pair(&pairs));
    let seen = all.len();
    match (spread(&all), spread(&pairs)) {
        (Some(all), Some(of_two)) => Ok(Pairs { all, seen, of_two }),
        _ => Gap::unknown("no cluster ran"),
    }
}

/// As the finding `latency.cycles`: over all pairs of SMs that were in one cluster.
///
/// # Errors
///
/// An unknown, if the device launches no clusters or two blocks were on one SM.
pub fn latency(notebook: &Notebook) -> Result<Finding<Cycles>, Gap> {
    let Pairs { all, seen, of_two } = over_pairs(notebook, ClusterWork::Load)?;
    Ok(finding(all, LOADS).note(format!(
        "the interval holds all {seen} ordered pairs of SMs that were in one cluster; in clusters of two, which have the SMs of a TPC, the \
         median is {:.0}, from {:.0} to {:.0}",
        of_two.0, of_two.1, of_two.2
    )))
}

/// As the finding `own_latency`.
///
/// # Errors
///
/// As [`latency`].
pub fn own(notebook: &Notebook) -> Result<Finding<Cycles>, Gap> {
    Ok(finding(of_own(notebook, ClusterWork::Load)?, OWN))
}

/// What walks in a block's own memory take, by its addresses in the cluster.
fn of_own(notebook: &Notebook, work: ClusterWork) -> Result<(f64, f64, f64), Gap> {
    let measurements = notebook.read(&[launch(notebook, work, PAIR, 0)])?;
    spread(&cycles(&taken(&measurements)?)).ok_or_else(|| Unknown::because("no cluster ran").into())
}

/// As the finding `atomic_latency`.
///
/// # Errors
///
/// As [`latency`].
pub fn atomic(notebook: &Notebook) -> Result<Finding<Cycles>, Gap> {
    let Pairs { all, seen, of_two } = over_pairs(notebook, ClusterWork::Atomic)?;
    let own = of_own(notebook, ClusterWork::Atomic)?;
    Ok(finding(all, ATOMICS).note(format!(
        "the interval holds all {seen} ordered pairs of SMs that were in one cluster; the median is {:.0} in clusters of two, and {:.0} in the \
         block's own memory",
        of_two.0, own.0
    )))
}

/// As the finding `cluster_barrier` or `relaxed_cluster_barrier`: of clusters of two.
///
/// # Errors
///
/// As [`latency`].
pub fn barrier(notebook: &Notebook, work: ClusterWork) -> Result<Finding<Cycles>, Gap> {
    let launches = MEETING.map(|size| launch(notebook, work, size, 0));
    let mut sizes = Vec::new();
    let mut of_pairs = None;
    for (answer, size) in notebook.read_each(&launches)?.into_iter().zip(MEETING) {
        match answer {
            Ok(measurement) => {
                let Some(seen) = spread(&cycles(&taken(&[measurement])?)) else {
                    continue;
                };
                of_pairs = of_pairs.or(Some(seen));
                sizes.push(format!("{:.0} in clusters of {size}", seen.0));
            }
            Err(failure) if size == PAIR => return Err(failure.into()),
            // Larger ones need more room.
            Err(_) => {}
        }
    }
    let Some(of_pairs) = of_pairs else { return Gap::unknown("no cluster ran") };
    let (method, what) = match work {
        ClusterWork::RelaxedBarrier => (RELAXED, "without the fence before it"),
        _ => (BARRIERS, "with the fence before it"),
    };
    Ok(finding(of_pairs, method).note(format!("of clusters of two blocks; medians: {}; {what}", sizes.join(", "))))
}

/// As the finding `largest_cluster`.
///
/// # Errors
///
/// As [`latency`].
pub fn largest(notebook: &Notebook) -> Result<Finding<u64>, Gap> {
    let launches = cluster_launches(notebook);
    let answers = notebook.read_each(&launches)?;
    let mut most = None;
    let mut refused = None;
    for (launch, answer) in launches.iter().zip(answers) {
        match answer {
            Ok(measurement) if launch.of(measurement.samples()).all(are_apart) => most = most.max(Some(launch.size)),
            Ok(_) => {
                return Gap::unknown(
                    "two blocks of a cluster were on one SM, although each asks for all of its shared memory",
                );
            }
            Err(failure) => refused = refused.or(Some((launch.size, failure))),
        }
    }
    let most = match (most, refused.clone()) {
        (Some(most), _) => most,
        (None, Some((_, failure))) => return Err(failure.into()),
        (None, None) => return Gap::unknown("no cluster was asked for"),
    };
    let method = "launches in clusters of 2 to 16 blocks, each with the most shared memory that a block can have";
    let finding = Finding::measured(u64::from(most), method).range(f64::from(most), f64::from(most)).unit("blocks");
    Ok(match refused.filter(|(size, _)| *size > most) {
        Some((size, failure)) => finding.note(format!("of {size}: {failure}")),
        None => finding.note("no larger one was tried"),
    })
}
