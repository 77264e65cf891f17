//! The L2: usable capacity as one SM sees it, fetch granularity, line.
//!
//! Filled by a full block of the SM that then measures, so that a footprint of 100 MiB takes a millisecond; then a chain that
//! visits a sample of the footprint's lines, page by page, is timed load by load. No other SM runs during the measurement. The
//! footprint at which DRAM misses begin is the size; the rise from near to far hits, where an L2 has partitions, is not.
//! Assumes that the sample stands for the footprint: it is spread evenly over it.
//!
//! Reading order: this file (samples, hits and misses, fetch granularity, line), `search` (where misses begin), `exact` (the same
//! line by line), `line`.

mod exact;
mod line;
mod search;

use super::capacity::{Capacity, OFTEN};
use super::latency::Setting;
use super::levels::HitMiss;
use super::{Gap, Notebook, Settle, Unknown, ask_all, fetch};
use crate::analysis::robust;
pub use line::line_size;
pub use search::capacity;
use strata_model::experiment::{Chase, LoadPath, Order, Place, Prepare, Timing};
use strata_model::topology::Finding;
use strata_model::units::{Bytes, MIB};

/// Distance of sampled lines: the largest line known of an L2, so that no two loads share one.
pub const STRIDE: Bytes = Bytes(128);
/// Lines are sampled from each such piece of the footprint; footprints are multiples of it.
const PIECE: Bytes = Bytes::kib(64);
/// Loads timed of a footprint, about.
const SAMPLE: u64 = 2048;
/// Smallest footprint: a quarter of the smallest L2 known of a GPU with compute capability 2.0 or later.
const START: Bytes = Bytes(MIB / 16);
/// Where a footprint shows no hits, one that is smaller by this factor may.
const SMALLER: u64 = 4;
/// A footprint that is less than this part of the stated size fits a partition for sure: no L2 is known of more partitions with
/// copies of their own than two.
const PARTITIONS: u64 = 16;
/// Passes of the fill: the second finds what the first displaced.
const PASSES: u32 = 2;
/// A measured size below this share of the stated one disagrees with it.
const DISAGREES: f64 = 0.9;
/// A footprint counts as missing if more than this share of its sample does.
const CHANGED: f64 = 0.05;
/// Footprint of which the latency is taken where hits cannot be told from misses: even a small partition holds it.
const UNSURE: Bytes = Bytes::kib(16);

fn sample(footprint: Bytes, stride: Bytes, allocation: u32, seed: u64) -> Chase {
    let pieces = footprint / PIECE;
    let lines = (SAMPLE.div_ceil(pieces)).clamp(1, PIECE / stride) as u32;
    let chase = Chase::each_load(LoadPath::GlobalCg, footprint, stride);
    let chase = Chase { order: Order::Paged { page: PIECE, lines }, ..chase };
    Chase {
        timing: Timing::straight(chase.lap() as u32),
        seed,
        warm_laps: 0,
        prepare: Prepare::Fill { passes: PASSES },
        place: Place { allocation, ..Place::alone_on(0) },
        ..chase
    }
}

/// Hits in a small footprint and misses after a flush: what `ld.global.cg` takes from either.
///
/// # Errors
///
/// An unknown, if the two do not separate.
pub fn levels(notebook: &Notebook) -> Result<HitMiss, Gap> {
    notebook.once(&notebook.memo.l2_levels, (), || Ok(held(notebook)?.1))
}

/// A footprint that the L2 holds for one SM, and how its hits differ from misses. A quarter of what the driver says is too much
/// where each of several partitions keeps copies for its own SMs.
fn held(notebook: &Notebook) -> Result<(Bytes, HitMiss), Gap> {
    let stated = Bytes(notebook.facts().l2_size);
    let mut first = None;
    let mut footprint = small(notebook);
    while footprint >= PIECE {
        let smaller = Bytes(footprint.0 / SMALLER).round_down(PIECE);
        let hits = warm(notebook, footprint);
        let measurements = notebook.read(&[hits.clone(), cold(&hits)])?;
        match HitMiss::learn(measurements[0].latencies(), &[measurements[1].latencies()]) {
            Ok(_) if footprint.0 * PARTITIONS > stated.0 && overflows(notebook, &hits, smaller)? => {}
            Ok(levels) => return Ok((footprint, levels)),
            Err(unknown) => first = first.or(Some(unknown)),
        }
        footprint = smaller;
    }
    Err(first.unwrap_or_else(|| Unknown::because("the L2 is too small")).into())
}

fn warm(notebook: &Notebook, footprint: Bytes) -> Chase {
    sample(footprint, STRIDE, 0, notebook.seed(10))
}

/// Whether many loads of this chain take as long as loads that miss the L2 after a smaller footprint. Where some of its lines stay
/// and the hits of a far partition, or of a cache behind the L2, differ from loads out of memory, a footprint that the L2 does
/// not hold looks like one that it holds.
fn overflows(notebook: &Notebook, hits: &Chase, smaller: Bytes) -> Result<bool, Gap> {
    if smaller < PIECE {
        return Ok(false);
    }
    let fewer = warm(notebook, smaller);
    let measurements = notebook.read(&[hits.clone(), fewer.clone(), cold(&fewer)])?;
    let levels =
        HitMiss::learn(measurements[1].latencies(), &[measurements[0].latencies(), measurements[2].latencies()]);
    Ok(levels.is_ok_and(|levels| levels.miss_share(measurements[0].latencies()) > OFTEN))
}

/// A footprint that nearly every L2 holds: a quarter of what the driver says, but no more than fits one large page.
fn small(notebook: &Notebook) -> Bytes {
    Bytes(notebook.facts().l2_size / 4).clamp(PIECE, START * 4).round_down(PIECE)
}

/// The same lines by the same SM, out of DRAM.
fn cold(warm: &Chase) -> Chase {
    Chase { prepare: Prepare::FlushL2, ..warm.clone() }
}

/// Share of a sample that comes from DRAM, line by line: a line is a miss if it takes about as long as the same line did
/// when the L2 had been flushed. A fixed threshold would not do where an L2 has partitions: a hit in the far one and a
/// miss to the near half of DRAM take about as long. Lines that the L2 had in spite of the flush say nothing.
fn dram_share(levels: &HitMiss, warm: &[u32], cold: &[u32]) -> f64 {
    // Half of what the fastest DRAM loads take above a near hit: far hits gain at least as much over far DRAM.
    let fastest = robust::quantile_u32(cold, 0.25).unwrap_or_default();
    let gain = (fastest - levels.hit) / 2.0;
    let flushed = || warm.iter().zip(cold).filter(|&(_, &c)| c > levels.threshold);
    let misses = flushed().filter(|&(&w, &c)| f64::from(w) > f64::from(c) - gain).count();
    if misses == 0 { 0.0 } else { misses as f64 / flushed().count() as f64 }
}

/// [`dram_share`] of each of these samples.
fn dram_shares(notebook: &Notebook, samples: &[Chase]) -> Result<Vec<f64>, Gap> {
    let levels = levels(notebook)?;
    ask_all(samples.iter().map(|warm| {
        notebook.once(&notebook.memo.l2_dram_share, warm.clone(), || {
            let pair = notebook.read(&[warm.clone(), cold(warm)])?;
            Ok(dram_share(&levels, pair[0].latencies(), pair[1].latencies()))
        })
    }))
}

/// Hits that take longer than near ones, in a footprint between the usable capacity and the stated size: what share of the
/// loads they are and how long they take. `None` if there is no such footprint.
fn far_hits(notebook: &Notebook, found: &Capacity) -> Result<Option<(Bytes, f64, f64)>, Gap> {
    let stated = Bytes(notebook.facts().l2_size);
    let footprint = Bytes(stated.0 * 4 / 5).round_down(PIECE);
    if footprint.0 < found.usable.0 * 5 / 4 {
        return Ok(None);
    }
    let warm = sample(footprint, STRIDE, 0, notebook.seed(11));
    let measurements = notebook.read(&[warm.clone(), cold(&warm)])?;
    let fastest = robust::quantile_u32(measurements[1].latencies(), 0.25).unwrap_or_default();
    let gain = (fastest - found.levels.hit) / 2.0;
    let far: Vec<u32> = measurements[0]
        .latencies()
        .iter()
        .zip(measurements[1].latencies())
        .map(|(&w, &c)| (f64::from(w), f64::from(c)))
        .filter(|&(w, c)| w <= c - gain && w > found.levels.hit + gain / 2.0)
        .map(|(w, _)| w as u32)
        .collect();
    let share = far.len() as f64 / measurements[0].latencies().len().max(1) as f64;
    Ok(robust::quantile_u32(&far, 0.5).map(|median| (footprint, share, median)))
}

/// Hits of footprints that fit before memory, where many take longer than those of small ones.
struct NearHits {
    /// How they differ.
    levels: HitMiss,
    /// The largest footprint that was tried of which hardly any do; a piece if none was.
    most: Bytes,
}

/// How hits of the L2 differ from those of a cache behind it, or of another partition whose lines it keeps copies of, if footprints that
/// fit before memory have such: by the samples of the search.
fn near_hits(notebook: &Notebook, found: &Capacity) -> Result<Option<NearHits>, Gap> {
    let swept = found.stairs.steps.iter().map(|step| step.footprint).filter(|&footprint| footprint <= found.usable);
    let swept: Vec<Bytes> = swept.collect();
    let small = sample(held(notebook)?.0, STRIDE, 0, notebook.seed(10));
    let step = search::step(notebook)?;
    let larger = swept.iter().map(|&footprint| sample(footprint, step, 0, search::seed(notebook, 0)));
    let measurements = notebook.read(&std::iter::once(small).chain(larger).collect::<Vec<_>>())?;
    let Some((fits, smaller)) = measurements.split_last().filter(|(_, smaller)| !smaller.is_empty()) else {
        return Ok(None);
    };
    let Ok(levels) = HitMiss::learn_frequent(smaller[0].latencies(), &[fits.latencies()], OFTEN) else {
        return Ok(None);
    };
    let near = swept.iter().zip(&measurements[1..]);
    let near = near.take_while(|(_, sample)| levels.miss_share(sample.latencies()) <= CHANGED);
    Ok(Some(NearHits { levels, most: near.map(|(&footprint, _)| footprint).last().unwrap_or(PIECE) }))
}

/// As the finding `size`.
///
/// # Errors
///
/// As [`capacity`].
pub fn size(notebook: &Notebook) -> Result<Finding<Bytes>, Gap> {
    let found = capacity(notebook)?;
    let mut finding = Finding::measured(
        found.usable,
        format!(
            "largest footprint before DRAM misses begin, filled and sampled by one SM in {} allocations{}",
            found.by_allocation.len(),
            match found.walked {
                0 => String::new(),
                walked => format!(", then line by line in {walked}"),
            }
        ),
    )
    .range(found.lowest.0 as f64, found.highest.0 as f64);
    if let Some(near) = near_hits(notebook, &found).settled()?.ok().flatten()
        && near.most < found.lowest
    {
        finding = finding.range(near.most.0 as f64, found.highest.0 as f64).note(format!(
            "of footprints beyond {} many hits take {:.0} cycles longer: another partition or another cache holds part of \
             this",
            near.most,
            near.levels.miss - near.levels.hit
        ));
    }
    let stated = Bytes(notebook.facts().l2_size);
    if (found.usable.0 as f64) < DISAGREES * stated.0 as f64 {
        finding = finding.note(format!("the driver states {stated}: the loads of one SM do not use all of it"));
    }
    if let Some((footprint, share, median)) = far_hits(notebook, &found)?
        && share > CHANGED
    {
        finding = finding.note(format!(
            "at {footprint}, {:.0} % of the loads are hits that take about {median:.0} cycles instead of {:.0} (timing \
             overhead included): the L2 has a far partition and keeps copies of its lines in the near one",
            share * 100.0,
            found.levels.hit
        ));
    }
    Ok(finding)
}

/// Fetch granularity: distance of DRAM misses in a cold walk.
///
/// # Errors
///
/// As [`levels`] and [`fetch::granularity`].
pub fn fetch_granularity(notebook: &Notebook) -> Result<fetch::Fetch, Gap> {
    let threshold = levels(notebook)?.threshold;
    fetch::granularity(notebook, LoadPath::GlobalCg, LoadPath::GlobalCg.element(), true, threshold, fetch::FOOTPRINT)
}

/// Setting of the L2's latency: inside one large page, lines that no L1 keeps because `.cg` passes it by.
///
/// # Errors
///
/// Missing measurements.
pub fn setting(notebook: &Notebook) -> Result<Setting, Gap> {
    Ok(Setting {
        path: LoadPath::GlobalCg,
        footprint: held(notebook).settled()?.map_or(UNSURE, |(footprint, _)| footprint),
        stride: STRIDE,
        shared: true,
        allocations: notebook.effort().choose(1, 3, 5),
        sms: notebook.effort().choose(4, 33, u32::MAX),
    })
}
