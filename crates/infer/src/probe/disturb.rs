//! Which load paths share a physical cache, and how many instances of it an SM has, found by disturbance.
//!
//! One thread warms a small chain, another walks twice the capacity that it sees on its own path, and
//! the first times its chain again (Größler, sections 4.5 and 4.6). In one physical cache the first chain is gone; in two
//! it is untouched. For the instances the two threads use the same path: thread 0 against every other thread of a full
//! block; those that never disturb it are served by another instance. That something is untouched counts only where such
//! a walk can displace: if loads by a path do not even displace what it cached itself, its capacity was taken too small.
//!
//! Assumes that a warp stays with its instance while the block lives. Fails if a path bypasses its cache under load.

use super::levels::HitMiss;
use super::{Gap, Measurement, Notebook, ask_all, sweep};
use crate::analysis::hundredths::nearest;
use crate::analysis::robust;
use strata_model::experiment::{Disturb, LoadPath, Partner};
use strata_model::topology::SeriesPoint;
use strata_model::units::Bytes;

/// The first chain takes this share of its cache: small, so that the partner displaces all of it whatever the policy.
const SHARE: u64 = 8;
/// The partner walks so many times what its path holds without misses: a cache that is unevenly filled has more room than
/// that, and where victims are drawn some of the first chain survives a walk of just its size.
const PARTNER_FACTOR: u64 = 2;
/// Laps that the partner walks.
const LAPS: u32 = 2;
/// More than this share of the first chain gone means displaced.
const DISPLACED: f64 = 0.5;
/// Less than this share gone means untouched.
const UNTOUCHED: f64 = 0.1;
/// Threads of the small block for pairs of paths: two warps, so that the agents are in different ones.
const PAIR_BLOCK: u32 = 64;

/// A cache as one path sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The path.
    pub path: LoadPath,
    /// Its usable capacity.
    pub usable: Bytes,
    /// Distance of elements: the line, or the sector where the line is unknown.
    pub stride: Bytes,
    /// Hits and misses.
    pub levels: HitMiss,
}

fn chase(first: &Seen, second: &Seen, limit: Bytes, thread: u32, block_threads: u32) -> Disturb {
    let footprint = (first.usable / SHARE).round_up(first.stride).max(first.stride * 2);
    let partner = Bytes(second.usable.0 * PARTNER_FACTOR).min(limit).round_down(second.stride);
    let partner =
        Partner { path: second.path, footprint: partner, stride: second.stride, laps: LAPS, thread, block_threads };
    // One lap: a line that was hit once may be protected from a scan (Hopper's L1 keeps such lines, whatever walks by).
    Disturb { warm_laps: 1, ..Disturb::new(first.path, footprint, first.stride, partner) }
}

/// Room for the partner: unlimited but for constants, which share the bank with the first chain.
fn partner_limit(first: &Seen, second: &Seen) -> Bytes {
    match (first.path, second.path) {
        (LoadPath::Constant, LoadPath::Constant) => Bytes::kib(32),
        (_, LoadPath::Constant) => Bytes::kib(64),
        _ => Bytes(u64::MAX),
    }
}

fn share_gone(seen: &Seen, measurement: &Measurement<Disturb>) -> f64 {
    seen.levels.miss_share(measurement.latencies())
}

/// Whether the second path's loads displace the first's: the share of the first chain that is gone.
///
/// # Errors
///
/// An unknown, if about half is gone, which neither one cache nor two explain, or if a path does not even displace what it
/// cached itself.
pub fn one_cache(notebook: &Notebook, first: &Seen, second: &Seen) -> Result<bool, Gap> {
    let thread = notebook.facts().warp_size.max(1);
    // The partner is in the next warp, and in the same one too: an instance may serve warps, or threads.
    let chases: Vec<Disturb> =
        [thread, 1].map(|t| chase(first, second, partner_limit(first, second), t, PAIR_BLOCK)).into();
    let gone = notebook.read(&chases)?.iter().map(|s| share_gone(first, s)).fold(0.0, f64::max);
    if gone > DISPLACED {
        Ok(true)
    } else if gone < UNTOUCHED {
        ask_all([first, second].map(|seen| displaces_itself(notebook, seen)))?;
        Ok(false)
    } else {
        Gap::unknown(format!(
            "loads by {} displace {:.0} % of what {} had cached, which is neither all nor nothing",
            second.path,
            gone * 100.0,
            first.path
        ))
    }
}

/// The control: loads by a path displace what the same path has cached, from the same warp or from the next.
fn displaces_itself(notebook: &Notebook, seen: &Seen) -> Result<(), Gap> {
    let facts = notebook.facts();
    let block = facts.max_threads_per_block.max(2);
    let chases: Vec<Disturb> =
        [1, facts.warp_size.clamp(1, block - 1)].map(|t| chase(seen, seen, partner_limit(seen, seen), t, block)).into();
    if notebook.read(&chases)?.iter().any(|s| share_gone(seen, s) > DISPLACED) {
        return Ok(());
    }
    Gap::unknown(format!(
        "control failed: loads by {} do not displace their own cached data, so the cache may hold more than {}",
        seen.path, seen.usable
    ))
}

/// What the disturbance of every thread says.
#[derive(Clone, Debug, PartialEq)]
pub struct Instances {
    /// Caches of this kind in an SM.
    pub count: u32,
    /// Threads of the block that share thread 0's, itself included.
    pub sharing: u32,
    /// Threads of the block.
    pub block: u32,
}

/// Thread 0 against every other thread of a full block, in their order.
fn by_thread(notebook: &Notebook, seen: &Seen) -> Result<Vec<Measurement<Disturb>>, Gap> {
    let block = notebook.facts().max_threads_per_block.max(2);
    let chases: Vec<Disturb> = (1..block).map(|t| chase(seen, seen, partner_limit(seen, seen), t, block)).collect();
    notebook.read(&chases)
}

/// How much longer than a hit the loads of thread 0 take after each other thread's walk: a point for the threads of a warp
/// (Größler's disturbance flow, figures 4.21 to 4.26).
///
/// # Errors
///
/// The first failure.
pub(super) fn flow(notebook: &Notebook, seen: &Seen) -> Result<Vec<SeriesPoint>, Gap> {
    let warp = notebook.facts().warp_size.max(1);
    let thread = |measurement: &Measurement<Disturb>| measurement.experiment.partner.thread;
    let longer = |measurement: &Measurement<Disturb>| sweep::average(measurement.latencies()) - seen.levels.hit;
    let point = |threads: &[Measurement<Disturb>]| {
        let cycles: Vec<f64> = threads.iter().map(longer).collect();
        let ends = (cycles.iter().copied().fold(f64::MAX, f64::min), cycles.iter().copied().fold(f64::MIN, f64::max));
        SeriesPoint {
            x: f64::from(thread(&threads[0])),
            value: nearest(robust::mean(&cycles)),
            band: Some((nearest(ends.0), nearest(ends.1))),
        }
    };
    let measurements = by_thread(notebook, seen)?;
    Ok(measurements.chunk_by(|a, b| thread(a) / warp == thread(b) / warp).map(point).collect())
}

/// Thread 0 against every other thread of a full block.
///
/// # Errors
///
/// An unknown, if the threads that share do not divide the block evenly, some neither displace nor spare, or none does.
pub fn instances(notebook: &Notebook, seen: &Seen) -> Result<Instances, Gap> {
    let block = notebook.facts().max_threads_per_block.max(2);
    let gone: Vec<f64> = by_thread(notebook, seen)?.iter().map(|s| share_gone(seen, s)).collect();
    let displacing = gone.iter().filter(|&&g| g > DISPLACED).count() as u32;
    let unclear = gone.iter().filter(|&&g| (UNTOUCHED..=DISPLACED).contains(&g)).count();
    if unclear > 0 {
        return Gap::unknown(format!(
            "{unclear} of {} threads displace only part of what thread 0 had cached",
            block - 1
        ));
    }
    if displacing == 0 {
        return Gap::unknown(format!(
            "control failed: no thread displaces what thread 0 had cached, not even a thread of its warp, so the cache \
             may hold more than {}",
            seen.usable
        ));
    }
    let sharing = displacing + 1;
    if !block.is_multiple_of(sharing) {
        return Gap::unknown(format!("{sharing} of {block} threads share a cache, which does not divide the block"));
    }
    Ok(Instances { count: block / sharing, sharing, block })
}
