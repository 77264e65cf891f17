//! DRAM latency: cold lines, random within a page, pages in turn, over at least three times the L2 and sixteen pages.
//!
//! Fails to keep out misses of a translation level that holds less than a page. On a device whose memory hangs on two halves
//! the figure is the mean of near and far. Where the homes of lines are known, [`near_far`](super::near_far) tells them apart.

use std::collections::BTreeMap;

use super::latency::{self, Setting};
use super::levels::{HitMiss, are_slower};
use super::{Gap, Measurement, Notebook, l2};
use crate::analysis::{mean, robust};
use strata_model::experiment::{Chase, LARGE_PAGE, LoadPath, Order, Place, Prepare, Timing};
use strata_model::units::{Bytes, MIB};

/// DRAM is measured over at least this many times the L2.
const DRAM_FACTOR: u64 = 3;
/// Page within which DRAM loads stay before they move on: the driver's large page.
const PAGE: Bytes = LARGE_PAGE;
/// Pages at least, since the interval is taken from how much they differ: two that differ little by chance would make it narrow.
const LEAST_PAGES: u64 = 16;
/// Loads in each page: one in so many meets a cold translation, and that one is left out.
const LINES_A_PAGE: u32 = 32;

/// Share of loads as fast as hits up to which they are hits in spite of the flush. More may be loads from a nearer part of the memory.
const FEW_HITS: f64 = 0.02;

/// DRAM latency: cold lines, random within a page, pages in turn, over at least three times the L2 and sixteen pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Dram {
    /// The latency.
    pub measured: latency::Measured,
    /// Over what footprint.
    pub footprint: Bytes,
    /// Share of the loads that were left out because they are as fast as hits of the L2, if they may be something else. Then the
    /// interval includes the mean of all loads.
    pub as_hits: Option<f64>,
}

/// The DRAM latency. The first load in each page, which finds no translation, is left out; so is what hits the L2 in
/// spite of the flush.
///
/// # Errors
///
/// An unknown, if there is not memory enough or nothing misses.
pub fn dram(notebook: &Notebook) -> Result<Dram, Gap> {
    notebook.once(&notebook.memo.dram, (), || {
        let facts = notebook.facts();
        let wanted = beyond(Bytes(facts.l2_size), Bytes(facts.free_memory))?;
        let (levels, overhead) = (l2::levels(notebook)?, overhead(notebook)?);
        of_cold(notebook, &cold_chases(notebook, LoadPath::GlobalCg, wanted), wanted, levels.threshold, overhead)
    })
}

/// The same of the memory of the GPU at the other end of a link.
///
/// # Errors
///
/// As [`dram`], and an unknown if there is no other GPU.
pub fn of_peer(notebook: &Notebook) -> Result<Dram, Gap> {
    notebook.once(&notebook.memo.peer_dram, (), || {
        let Some(peer) = &notebook.facts().peer else { return Gap::unknown("there is no other GPU in this run") };
        let wanted = beyond(Bytes(peer.l2_size), Bytes(peer.free_memory))?;
        let cold = cold_chases(notebook, LoadPath::Peer, wanted);
        // Warm lines tell what hits take, and how much timing adds. All of them before the large footprint, for which the memory is
        // allocated again: elsewhere, where lines may be farther away.
        let small = Setting::small(LoadPath::Peer);
        let overhead = latency::overhead(notebook, &small)?;
        let [warm, _] = latency::singles_and_pairs(notebook, &small);
        let (warm, misses) = (notebook.read(&[warm])?, notebook.read(&cold)?);
        let misses: Vec<&[u32]> = misses.iter().map(Measurement::latencies).collect();
        let threshold = match HitMiss::learn(warm[0].latencies(), &misses) {
            Ok(levels) => levels.threshold,
            // The SM of the warm lines may be so much farther away than those of the others that their times overlap. If these are slower all
            // the same, the flush worked, and all of them count.
            Err(_) if misses.iter().all(|cold| are_slower(cold, warm[0].latencies(), ALPHA)) => 0,
            Err(unknown) => return Err(unknown.into()),
        };
        of_cold(notebook, &cold, wanted, threshold, overhead)
    })
}

/// Level of the test that cold loads are slower than warm ones.
const ALPHA: f64 = 0.01;

/// A footprint beyond an L2 of this size, if half of the free memory has room for it.
fn beyond(l2_size: Bytes, free: Bytes) -> Result<Bytes, Gap> {
    let wanted = Bytes(l2_size.0.max(MIB) * DRAM_FACTOR).round_up(PAGE).max(PAGE * LEAST_PAGES);
    if wanted.0 > free.0 / 2 {
        return Gap::unknown(format!(
            "three times the L2 and {LEAST_PAGES} pages, {wanted}, are more than half of the {free} that are free"
        ));
    }
    Ok(wanted)
}

/// What these chases after a flush show. Loads up to the threshold are hits.
fn of_cold(
    notebook: &Notebook,
    chases: &[Chase],
    footprint: Bytes,
    threshold: u32,
    overhead: f64,
) -> Result<Dram, Gap> {
    let mut values = Vec::new();
    let mut pages: BTreeMap<(u32, usize), Vec<f64>> = BTreeMap::new();
    let (mut every, mut hits) = (Vec::new(), 0usize);
    for measurement in notebook.read(chases)? {
        let allocation = measurement.experiment.place.allocation;
        let mut kept: Vec<f64> = Vec::new();
        for (i, &latency) in measurement.latencies().iter().enumerate() {
            // It finds no translation.
            if i.is_multiple_of(LINES_A_PAGE as usize) {
                continue;
            }
            let is_hit = latency <= threshold;
            let latency = f64::from(latency) - overhead;
            every.push(latency);
            if is_hit {
                hits += 1;
            } else {
                kept.push(latency);
                pages.entry((allocation, i / LINES_A_PAGE as usize)).or_default().push(latency);
            }
        }
        if !kept.is_empty() {
            values.push((allocation, robust::trimmed_mean(&kept)));
        }
    }
    if values.is_empty() {
        return Gap::unknown("no load after a flush of the L2 takes longer than a hit");
    }
    let measured = with_pages(latency::Measured::of(&values), &pages);
    let share = hits as f64 / every.len().max(1) as f64;
    let as_hits = Some(share).filter(|share| *share > FEW_HITS);
    Ok(Dram {
        measured: if as_hits.is_some() { measured.down_to(mean::interval(&every, latency::LEVEL).0) } else { measured },
        as_hits,
        footprint,
    })
}

/// Cycles that timing one load adds.
pub(super) fn overhead(notebook: &Notebook) -> Result<f64, Gap> {
    latency::overhead(notebook, &Setting { sms: 1, allocations: 1, ..l2::setting(notebook)? })
}

/// With an interval that allows for other pages: all SMs load the same lines, so they cannot show how far other lines are off, but
/// the pages show it.
pub(super) fn with_pages<K>(measured: latency::Measured, pages: &BTreeMap<K, Vec<f64>>) -> latency::Measured {
    let pages: Vec<f64> = pages.values().map(|latencies| robust::trimmed_mean(latencies)).collect();
    let (low, high) = mean::interval(&pages, latency::LEVEL);
    measured.widened((high - low) / 2.0)
}

fn cold_chases(notebook: &Notebook, path: LoadPath, footprint: Bytes) -> Vec<Chase> {
    let allocations = notebook.effort().choose(1, 3, 5);
    let sms = latency::spread_sms(notebook, notebook.effort().choose(2, 8, 33));
    let mut chases = Vec::new();
    for allocation in 0..allocations {
        for &sm in &sms {
            let chase = Chase {
                order: Order::Paged { page: PAGE, lines: LINES_A_PAGE },
                ..Chase::each_load(path, footprint, Bytes(256))
            };
            chases.push(Chase {
                timing: Timing::straight(chase.lap() as u32),
                seed: notebook.seed(15),
                warm_laps: 0,
                prepare: Prepare::FlushL2,
                place: Place { allocation, ..Place::alone_on(sm) },
                ..chase
            });
        }
    }
    chases
}
