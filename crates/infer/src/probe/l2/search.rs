//! The search for the footprint at which DRAM misses begin.
//!
//! Fill and sample go in steps of [`STRIDE`]; where three quarters of what is found overflow once every sector is loaded, lines
//! are shorter than that and the search is made again in steps of a sector.

use super::super::capacity::Capacity;
use super::super::levels::HitMiss;
use super::super::spikes::{self, Count, Spikes};
use super::super::stairs::Stairs;
use super::super::sweep::Sweep;
use super::super::{Gap, Notebook, Settle, Unknown, allocations};
use super::exact::{self, Exact, Walks};
use super::{CHANGED, PASSES, PIECE, SAMPLE, START, STRIDE, cold, dram_shares, fetch_granularity, levels, sample};
use crate::analysis::growth::Growth;
use crate::analysis::search::{self, Bracket};
use strata_model::experiment::{Chase, Prepare};
use strata_model::units::{Bytes, MIB};

/// Misses may begin so many pieces before the sample shows them, or, as samples are written, after it does.
pub(super) const LATE: u64 = 3;
/// Footprints up to this many times what the driver says.
const BEYOND: u64 = 4;
/// Passes that settle what two do not.
const MANY_PASSES: u32 = 8;
/// More passes help where two leave so many times the misses that they leave, and ten loads of a sample besides.
const FEWER: f64 = 1.5;
/// Ten loads of a sample.
const SETTLED: f64 = 0.005;
/// So many of the loads miss in part, and not nearly all.
const PARTLY: std::ops::Range<f64> = 2.0 * SETTLED..0.25;
/// Sections of a bracket.
const SECTIONS: usize = 16;
/// Rounds of sections; the last ones only if the bracket is still wide.
const MAX_ROUNDS: usize = 3;
/// The bracket is narrow enough below this share of the size.
const NARROW: f64 = 0.005;

/// The usable capacity over all allocations.
///
/// # Errors
///
/// An unknown with a lower bound, if no footprint that was tried misses.
pub fn capacity(notebook: &Notebook) -> Result<Capacity, Gap> {
    capacity_by(notebook, step(notebook)?)
}

/// Distance of the lines that are sampled: a sector, where lines are shorter than [`STRIDE`].
///
/// # Errors
///
/// Missing measurements.
pub(super) fn step(notebook: &Notebook) -> Result<Bytes, Gap> {
    let reached = match capacity_by(notebook, STRIDE).settled()? {
        Ok(found) => found.usable,
        Err(Unknown::Beyond { bound, .. }) => bound,
        Err(_) => return Ok(STRIDE),
    };
    // A recording may not hold the check.
    Ok(shorter_lines(notebook, reached).settled()?.ok().flatten().unwrap_or(STRIDE))
}

/// The seed of the samples of an allocation.
pub(super) fn seed(notebook: &Notebook, allocation: u32) -> u64 {
    notebook.seed(12 + u64::from(allocation))
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
    let shares = dram_shares(notebook, &[dense])?;
    Ok((shares[0] > CHANGED).then_some(sector))
}

fn capacity_by(notebook: &Notebook, stride: Bytes) -> Result<Capacity, Gap> {
    notebook.once(&notebook.memo.l2_capacity, stride, || {
        let levels = levels(notebook)?;
        settles(notebook, &levels, Bytes(notebook.facts().l2_size / 2).max(PIECE).round_down(PIECE), 0.0)?;
        let limit = limit(notebook);
        let sizes = search::doubling(START.0, limit.0);
        let doubling: Vec<Chase> =
            sizes.iter().map(|&s| sample(Bytes(s).round_down(PIECE), stride, 0, notebook.seed(11))).collect();
        let shares = dram_shares(notebook, &doubling)?;
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
        let bracket = Bracket { low: (doubling[at - 1].footprint.0 / 2).max(PIECE.0), high: doubling[at].footprint.0 };
        // Spikes, as in the search of a smaller cache; the last footprint before the change may have its first misses.
        let calm = &shares[..(at - 1).max(1)];
        let spikes = Spikes::among(&calm.iter().map(|&share| count(0, share)).collect::<Vec<_>>());
        let few = notebook.effort().choose(2, 3, 10);
        let found = allocations::enough(few, Found::differs, |allocation| {
            let knee = one_allocation(notebook, bracket, spikes, stride, allocation)?;
            let small = knee.growth.last_flat <= exact::LARGEST.0;
            let walks = Walks { notebook, levels: &levels, spikes, step: stride, allocation };
            // Where it is unknown, the sample's answer stands: a recording may hold no more.
            let exact = if small { walks.refine(&knee.growth).settled()?.ok() } else { None };
            Ok(Found { knee, exact })
        })?;
        let over = |ranges: &[(u64, u64)]| {
            let lowest = ranges.iter().map(|range| range.0).min().unwrap_or_default();
            (lowest, ranges.iter().map(|range| range.1).max().unwrap_or_default())
        };
        let by_allocation: Vec<Bytes> = found.iter().map(Found::usable).collect();
        let (lowest, highest) = over(&found.iter().map(Found::range).collect::<Vec<_>>());
        // The points of the curve are samples, however well the size is known.
        let sampled = over(&found.iter().map(|one| one.knee.range()).collect::<Vec<_>>());
        let walked = found.iter().filter(|one| one.exact.is_some()).count();
        let knees: Vec<Knee> = found.into_iter().map(|one| one.knee).collect();
        // A footprint of which only some lines miss may fit, once they no longer displace each other.
        let points = || knees.iter().flat_map(|knee| knee.points.iter().copied());
        if let Some(footprint) = points().filter(|point| PARTLY.contains(&point.1)).map(|point| point.0).max() {
            let seen = points().filter(|point| point.0 == footprint).map(|point| point.1).reduce(f64::min);
            settles(notebook, &levels, Bytes(footprint), seen.unwrap_or_default())?;
        }
        Ok(Capacity {
            usable: allocations::middle(&by_allocation),
            by_allocation,
            walked,
            lowest: Bytes(lowest),
            highest: Bytes(highest),
            conflicts: knees.iter().map(|k| k.growth.base / SAMPLE as f64).collect(),
            stairs: staircase(&knees, sampled.1 - sampled.0),
            levels,
            line: Err(Unknown::because("not part of the search")),
            change_point: Bytes(bracket.low),
            ks: (0.0, 0.0),
            // The thesis does not search the L2.
            sweep: Sweep::default(),
        })
    })
}

/// The points of the first allocation, with the others as what may differ; the knee may be `off` bytes further on.
fn staircase(knees: &[Knee], off: u64) -> Stairs {
    let points: Vec<Vec<(u64, f64)>> = knees.iter().map(|knee| knee.points.clone()).collect();
    let Some((first, others)) = points.split_first() else { return Stairs::default() };
    Stairs::of_shares(first, off, &vec![SAMPLE as usize; first.len()], others)
}

/// Whether filling the L2 settles: after two passes a footprint that fits is there. Where lines give way at random,
/// those of the footprint displace each other while others still hold the rest, and more passes help. `seen` is the least share of misses that
/// samples of this footprint showed before: which lines are left there is chance, so that the few passes made here may show fewer.
///
/// # Errors
///
/// An unknown, if more passes do help.
fn settles(notebook: &Notebook, levels: &HitMiss, footprint: Bytes, seen: f64) -> Result<(), Gap> {
    // Every line of it, also where lines are shorter than the usual distance.
    let stride = fetch_granularity(notebook)?.granularity.min(STRIDE);
    let filled =
        |passes| Chase { prepare: Prepare::Fill { passes }, ..sample(footprint, stride, 0, notebook.seed(17)) };
    // From DRAM, so that what was there before must give way.
    let chases = [cold(&filled(PASSES)), filled(PASSES), cold(&filled(MANY_PASSES)), filled(MANY_PASSES)];
    let answers = notebook.read_each(&chases)?;
    let misses = |i: usize| answers[i].as_ref().ok().map(|measurement| levels.miss_share(measurement.latencies()));
    match (misses(1).map(|few| few.max(seen)), misses(3)) {
        (Some(few), Some(many)) if few > FEWER * many + SETTLED => Gap::unknown(format!(
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

impl Knee {
    /// Where the capacity lies: a first miss may be outside of the sample, or be displaced by the samples themselves as they
    /// are written.
    fn range(&self) -> (u64, u64) {
        (self.growth.last_flat.saturating_sub(LATE * PIECE.0), self.growth.first_grown)
    }
}

/// What one allocation shows.
struct Found {
    /// By a sample of its lines.
    knee: Knee,
    /// By all of its lines, where there are not too many.
    exact: Option<Exact>,
}

impl Found {
    fn usable(&self) -> Bytes {
        Bytes(self.exact.map_or(self.knee.growth.last_flat, |exact| exact.usable))
    }

    /// Where the capacity lies. A walk that was not looked at again must agree with the sample.
    fn range(&self) -> (u64, u64) {
        let (low, high) = self.knee.range();
        match self.exact {
            Some(exact) if exact.sure || (low <= exact.lowest && exact.highest <= high) => {
                (exact.lowest, exact.highest)
            }
            Some(exact) => (low.min(exact.lowest), high.max(exact.highest)),
            None => (low, high),
        }
    }

    /// Whether the two may be two capacities: they have none in common, or samples found two. The ranges of single samples
    /// are wide: on an H200 three of them overlapped by chance within 0.5 MiB, where six allocations of other runs have 2.9 MiB.
    fn differs(&self, other: &Found) -> bool {
        let (one, its) = (self.range(), other.range());
        let are_samples = self.exact.is_none() && other.exact.is_none();
        one.1 < its.0 || its.1 < one.0 || (are_samples && self.usable() != other.usable())
    }
}

fn one_allocation(
    notebook: &Notebook,
    first: Bracket,
    spikes: Spikes,
    stride: Bytes,
    allocation: u32,
) -> Result<Knee, Gap> {
    let mut bracket = first;
    let mut sweep: Vec<Chase> = Vec::new();
    let seed = seed(notebook, allocation);
    for round in 1.. {
        let ends = [bracket.low, bracket.high];
        for size in search::sections(bracket, PIECE.0, SECTIONS).into_iter().chain(ends) {
            let chase = sample(Bytes(size), stride, allocation, seed);
            if !sweep.contains(&chase) {
                sweep.push(chase);
            }
        }
        let shares = dram_shares(notebook, &sweep)?;
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
