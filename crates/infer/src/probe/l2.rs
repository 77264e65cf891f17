//! The L2: usable capacity as one SM sees it, fetch granularity, line.
//!
//! Filled by a full block of the SM that then measures, so that a footprint of 100 MiB takes a millisecond; then a chain that
//! visits a sample of the footprint's lines, page by page, is timed load by load. No other SM runs during the measurement. The
//! footprint at which DRAM misses begin is the size; the rise from near to far hits, where an L2 has partitions, is not.
//! Assumes that the sample stands for the footprint: it is spread evenly over it. Fill and sample go in steps of [`STRIDE`];
//! where three quarters of what is found overflow once every sector is loaded, lines are shorter than that and the search is
//! made again in steps of a sector.

use super::capacity::Capacity;
use super::latency::Setting;
use super::levels::HitMiss;
use super::spikes::{self, Count, Spikes};
use super::stairs::Stairs;
use super::{Gap, Notebook, Settle, Unknown, ask_all, fetch, l2_exact, line};
use crate::analysis::growth::Growth;
use crate::analysis::robust;
use crate::analysis::search::{self, Bracket};
use strata_model::experiment::{Chase, LoadPath, Order, Place, Prepare, Timing};
use strata_model::topology::Finding;
use strata_model::units::{Bytes, MIB};

/// Distance of sampled lines: the largest line known of an L2, so that no two loads share one.
pub const STRIDE: Bytes = Bytes(128);
/// Lines are sampled from each such piece of the footprint; footprints are multiples of it.
pub(super) const PIECE: Bytes = Bytes::kib(64);
/// Misses may begin so many pieces before the sample shows them, or, as samples are written, after it does.
pub(super) const LATE: u64 = 3;
/// Loads timed of a footprint, about.
const SAMPLE: u64 = 2048;
/// Smallest footprint: a quarter of the smallest L2 known of a GPU with compute capability 2.0 or later.
const START: Bytes = Bytes(MIB / 16);
/// Footprints up to this many times what the driver says.
const BEYOND: u64 = 4;
/// Passes of the fill: the second finds what the first displaced.
const PASSES: u32 = 2;
/// Passes that settle what two do not.
const MANY_PASSES: u32 = 8;
/// More passes help if they halve the share of misses and take this away besides: ten loads of a sample.
const SETTLED: f64 = 0.005;
/// Sections of a bracket.
const SECTIONS: usize = 16;
/// Rounds of sections; the last ones only if the bracket is still wide.
const MAX_ROUNDS: usize = 3;
/// The bracket is narrow enough below this share of the size.
const NARROW: f64 = 0.005;
/// A measured size below this share of the stated one disagrees with it.
const DISAGREES: f64 = 0.9;
/// A footprint counts as missing if more than this share of its sample does.
const CHANGED: f64 = 0.05;

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
    notebook.once(&notebook.memo.l2_levels, (), || {
        let hits = sample(small(notebook), STRIDE, 0, notebook.seed(10));
        let measurements = notebook.read(&[hits.clone(), cold(&hits)])?;
        Ok(HitMiss::learn(measurements[0].latencies(), &[measurements[1].latencies()])?)
    })
}

/// A footprint that every L2 holds: a quarter of what the driver says, but no more than fits one large page.
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
fn dram_shares(notebook: &Notebook, levels: &HitMiss, samples: &[Chase]) -> Result<Vec<f64>, Gap> {
    let pairs: Vec<Chase> = samples.iter().flat_map(|s| [s.clone(), cold(s)]).collect();
    let measurements = notebook.read(&pairs)?;
    Ok(measurements.chunks_exact(2).map(|pair| dram_share(levels, pair[0].latencies(), pair[1].latencies())).collect())
}

/// The usable capacity over all allocations.
///
/// # Errors
///
/// An unknown with a lower bound, if no footprint that was tried misses.
pub fn capacity(notebook: &Notebook) -> Result<Capacity, Gap> {
    let found = capacity_by(notebook, STRIDE).settled()?;
    let reached = match &found {
        Ok(found) => found.usable,
        Err(Unknown::Beyond { bound, .. }) => *bound,
        Err(_) => return Ok(found?),
    };
    match shorter_lines(notebook, reached).settled()? {
        Ok(Some(sector)) => capacity_by(notebook, sector),
        // A recording may not hold the check.
        Ok(None) | Err(_) => Ok(found?),
    }
}

/// The sector, if footprints well below `reached` overflow once every sector of them is loaded: then lines are shorter
/// than [`STRIDE`], and steps of it left some out.
fn shorter_lines(notebook: &Notebook, reached: Bytes) -> Result<Option<Bytes>, Gap> {
    let sector = fetch_granularity(notebook)?.granularity;
    if sector >= STRIDE {
        return Ok(None);
    }
    let footprint = Bytes(reached.0 * 3 / 4).round_down(PIECE).max(PIECE);
    let dense = sample(footprint, sector, 0, notebook.seed(16));
    let shares = dram_shares(notebook, &levels(notebook)?, &[dense])?;
    Ok((shares[0] > CHANGED).then_some(sector))
}

fn capacity_by(notebook: &Notebook, stride: Bytes) -> Result<Capacity, Gap> {
    notebook.once(&notebook.memo.l2_capacity, stride, || {
        let levels = levels(notebook)?;
        settles(notebook, &levels)?;
        let limit = limit(notebook);
        let sizes = search::doubling(START.0, limit.0);
        let doubling: Vec<Chase> =
            sizes.iter().map(|&s| sample(Bytes(s).round_down(PIECE), stride, 0, notebook.seed(11))).collect();
        let shares = dram_shares(notebook, &levels, &doubling)?;
        let Some(at) = shares.iter().position(|&share| share > CHANGED) else {
            let (wanted, free) = (notebook.facts().l2_size.max(MIB) * BEYOND, notebook.facts().free_memory);
            let reason = if wanted > free / 2 {
                format!(
                    "no footprint up to this one misses, and larger ones need more than half of the {} that were free",
                    Bytes(free)
                )
            } else {
                "no footprint up to this one misses".into()
            };
            return Err(Unknown::Beyond { bound: limit, reason }.into());
        };
        if at == 0 {
            return Gap::unknown(format!("less than {START}: even the smallest footprint misses"));
        }
        // Misses may begin to grow well before they are counted as a change: an octave more on the lower side.
        let bracket = Bracket { low: doubling[at - 1].footprint.0 / 2, high: doubling[at].footprint.0 };
        // Spikes, as in the search of a smaller cache; the last footprint before the change may have its first misses.
        let calm = &shares[..(at - 1).max(1)];
        let spikes = Spikes::among(&calm.iter().map(|&share| count(0, share)).collect::<Vec<_>>());
        let allocations = notebook.effort().choose(1, 3, 10);
        let knees = ask_all((0..allocations).map(|a| one_allocation(notebook, bracket, &levels, spikes, stride, a)))?;
        let by_allocation: Vec<Bytes> = knees.iter().map(|k| Bytes(k.growth.last_flat)).collect();
        let sizes: Vec<f64> = by_allocation.iter().map(|b| b.0 as f64).collect();
        let sampled = Bytes(robust::median(&sizes).unwrap_or(0.0) as u64).round_down(PIECE);
        // A first miss may be outside of the sample, or be displaced by the samples themselves as they are written.
        let (mut lowest, mut highest) = (
            knees.iter().map(|k| k.growth.last_flat).min().unwrap_or_default().saturating_sub(LATE * PIECE.0),
            knees.iter().map(|k| k.growth.first_grown).max().unwrap_or_default(),
        );
        let mut exact = None;
        if sampled <= l2_exact::LARGEST {
            // Where it is unknown, the sample's answer stands: a recording may hold no more.
            let refined = l2_exact::refine(notebook, &levels, &knees[0].growth, spikes, stride).settled()?;
            if let Ok(growth) = refined {
                (lowest, highest) = (growth.last_flat.min(lowest), growth.last_flat.max(highest));
                exact = Some(Bytes(growth.last_flat));
            }
        }
        Ok(Capacity {
            usable: exact.unwrap_or(sampled),
            by_allocation,
            lowest: Bytes(lowest),
            highest: Bytes(highest),
            conflicts: knees.iter().map(|k| k.growth.base / SAMPLE as f64).collect(),
            stairs: staircase(&knees, highest - lowest),
            levels,
            line: Err(Unknown::because("not part of the search")),
            change_point: Bytes(bracket.low),
            ks: (0.0, 0.0),
        })
    })
}

/// The points of the first allocation, with the others as what may differ; the knee may be `off` bytes further on.
fn staircase(knees: &[Knee], off: u64) -> Stairs {
    let points: Vec<Vec<(u64, f64)>> = knees.iter().map(|knee| knee.points.clone()).collect();
    let Some((first, others)) = points.split_first() else { return Stairs::default() };
    Stairs::of_shares(first, off, &vec![SAMPLE as usize; first.len()], others)
}

/// Whether filling the L2 settles: after two passes a footprint of a part of it is there. Where lines give way at random,
/// those of the footprint displace each other while others still hold the rest, and more passes help.
///
/// # Errors
///
/// An unknown, if more passes do help.
fn settles(notebook: &Notebook, levels: &HitMiss) -> Result<(), Gap> {
    let footprint = Bytes(notebook.facts().l2_size / 2).max(PIECE).round_down(PIECE);
    // Every line of it, also where lines are shorter than the usual distance.
    let stride = fetch_granularity(notebook)?.granularity.min(STRIDE);
    let filled =
        |passes| Chase { prepare: Prepare::Fill { passes }, ..sample(footprint, stride, 0, notebook.seed(17)) };
    // From DRAM, so that what was there before must give way.
    let chases = [cold(&filled(PASSES)), filled(PASSES), cold(&filled(MANY_PASSES)), filled(MANY_PASSES)];
    let answers = notebook.read_each(&chases)?;
    let misses = |i: usize| answers[i].as_ref().ok().map(|measurement| levels.miss_share(measurement.latencies()));
    match (misses(1), misses(3)) {
        (Some(few), Some(many)) if few > 2.0 * many + SETTLED => Gap::unknown(format!(
            "replacement is random: {:.0} % of the lines miss after {PASSES} passes over {footprint}, and {:.0} % after \
             {MANY_PASSES}, so no footprint reaches a steady state",
            few * 100.0,
            many * 100.0
        )),
        // A recording may lack the check.
        _ => Ok(()),
    }
}

/// Largest footprint that is tried: four times the stated size, within half of what is free.
fn limit(notebook: &Notebook) -> Bytes {
    let facts = notebook.facts();
    let stated = facts.l2_size.max(MIB) * BEYOND;
    Bytes(stated.min(facts.free_memory / 2)).round_down(PIECE)
}

/// Misses of a sample as a count; samples are of about one size.
fn count(footprint: u64, share: f64) -> Count {
    Count { footprint, loads: SAMPLE as usize, slow: share * SAMPLE as f64 }
}

/// Where the DRAM misses of one allocation begin to grow, and their share by footprint.
struct Knee {
    growth: Growth,
    points: Vec<(u64, f64)>,
}

fn one_allocation(
    notebook: &Notebook,
    first: Bracket,
    levels: &HitMiss,
    spikes: Spikes,
    stride: Bytes,
    allocation: u32,
) -> Result<Knee, Gap> {
    let mut bracket = first;
    let mut sweep: Vec<Chase> = Vec::new();
    let seed = notebook.seed(12 + u64::from(allocation));
    for round in 1.. {
        let ends = [bracket.low, bracket.high];
        for size in search::sections(bracket, PIECE.0, SECTIONS).into_iter().chain(ends) {
            let chase = sample(Bytes(size), stride, allocation, seed);
            if !sweep.contains(&chase) {
                sweep.push(chase);
            }
        }
        let shares = dram_shares(notebook, levels, &sweep)?;
        let mut points: Vec<(u64, f64)> = sweep.iter().map(|s| s.footprint.0).zip(shares).collect();
        points.sort_unstable_by_key(|p| p.0);
        let counts: Vec<Count> = points.iter().map(|&(size, share)| count(size, share)).collect();
        let Some(knee) = spikes::knee(&counts, spikes) else {
            return Gap::unknown("misses do not grow with the footprint");
        };
        let growth = knee.growth;
        let width = growth.first_grown - growth.last_flat;
        if round == MAX_ROUNDS || width as f64 <= NARROW * growth.last_flat as f64 || width <= PIECE.0 {
            return Ok(Knee { growth, points });
        }
        bracket = Bracket { low: growth.last_flat, high: growth.first_grown };
    }
    Gap::unknown("the search did not converge")
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
            if found.by_allocation.contains(&found.usable) { "" } else { ", and in one of them line by line" }
        ),
    )
    .range(found.lowest.0 as f64, found.highest.0 as f64);
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

/// Line: as for the other caches, with the L2 filled in the chunks' own places.
///
/// # Errors
///
/// As [`capacity`]; and an unknown, if the misses never drop.
pub fn line_size(notebook: &Notebook) -> Result<Bytes, Gap> {
    let found = capacity(notebook)?;
    let sector = fetch_granularity(notebook)?.granularity;
    let footprint = Bytes(found.usable.0 * 3 / 2).round_down(PIECE);
    let chunks: Vec<Bytes> = (0..5).map(|k| sector * (1 << k)).collect();
    let chases: Vec<Chase> = chunks
        .iter()
        .map(|&chunk| Chase {
            order: Order::Scattered { granule: LoadPath::GlobalCg.element() },
            seed: notebook.seed(13),
            warm_laps: 0,
            timing: Timing::straight(SAMPLE as u32),
            prepare: Prepare::Fill { passes: PASSES },
            place: Place::alone_on(0),
            ..Chase::each_load(LoadPath::GlobalCg, footprint, chunk)
        })
        .collect();
    let shares: Vec<line::Share> = dram_shares(notebook, &found.levels, &chases)?
        .into_iter()
        .map(|share| line::Share::sampled(share, SAMPLE))
        .collect();
    Ok(line::decide(&chunks, &shares)?)
}

/// Setting of the L2's latency: inside one large page, lines that no L1 keeps because `.cg` passes it by.
pub fn setting(notebook: &Notebook) -> Setting {
    Setting {
        path: LoadPath::GlobalCg,
        footprint: small(notebook),
        stride: STRIDE,
        shared: true,
        allocations: notebook.effort().choose(1, 3, 5),
        sms: notebook.effort().choose(4, 33, u32::MAX),
    }
}
