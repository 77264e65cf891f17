//! Beyond the knee: what share of a lap misses, by footprint, and how many cycles longer a miss takes than a hit.
//!
//! The footprints go up to twice the capacity, each on an SM of its own, in one allocation. A part of them is measured in
//! further allocations, which shows how far the place in memory matters. The cost of a miss is the mean over these SMs and
//! allocations, so its interval holds what varies between them.
//!
//! Assumes that the next level holds twice the capacity. The medians of misses would show both levels otherwise.

use super::capacity::{Rough, Search};
use super::latency::LEVEL;
use super::levels::HitMiss;
use super::{Gap, Measurement, Notebook};
use crate::analysis::robust::{self, tenths};
use crate::analysis::search::{self, Bracket};
use crate::analysis::{band, mean};
use strata_model::attribute::{Curve, Step};
use strata_model::experiment::{Chase, LoadPath, Place};
use strata_model::topology::Finding;
use strata_model::units::{Bytes, Cycles};

/// Footprints between the knee and the footprint from which everything misses.
const STAIRS: usize = 40;
/// In further allocations one of so many footprints is measured.
const FEWER: usize = 4;
/// Share of missing loads where "everything misses": the rest are spikes of the other kind.
const THRASHED: f64 = 0.99;
/// Share of a footprint's loads that must miss before the median of its misses counts: random spikes are fewer.
const MOSTLY: f64 = 0.5;
/// Cycles by which a difference of two medians may be off, each of which is known to half a cycle.
const RESOLUTION: f64 = 1.0;

/// What was seen beyond the knee.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stairs {
    /// Share of misses by footprint.
    pub steps: Vec<Step>,
    /// Cycles that a miss takes longer than a hit, one for each SM and allocation that showed enough misses.
    penalties: Vec<f64>,
}

impl Stairs {
    /// Of shares by footprint alone, each counted among so many loads; `others` are those of other allocations, and the knee may
    /// be `off` bytes further on.
    pub fn of_shares(shares: &[(u64, f64)], off: u64, loads: &[usize], others: &[Vec<(u64, f64)>]) -> Self {
        let intervals = band::around(shares, off, loads, others);
        let step = |(&(footprint, share), interval)| Step { interval: Some(interval), ..Step::new(footprint, share) };
        Stairs { steps: shares.iter().zip(intervals).map(step).collect(), penalties: Vec::new() }
    }
}

/// Measures them, in steps of `step`.
///
/// # Errors
///
/// A failure of the experiments in the first allocation.
pub fn stairs(notebook: &Notebook, search: &Search, rough: &Rough, step: Bytes) -> Result<Stairs, Gap> {
    let bracket = Bracket { low: rough.low.0, high: (2 * rough.high.0).min(search.limit.0) };
    let mut sizes = search::sections(bracket, step.0, STAIRS);
    sizes.push(Bytes(bracket.high).round_down(step).0);
    sizes.sort_unstable();
    sizes.dedup();
    let chase = |size: u64, allocation| search.chase(Bytes(size), step, allocation);
    let first: Vec<Chase> = sizes.iter().map(|&size| chase(size, 0)).collect();
    let further: Vec<Vec<Chase>> = (1..places(notebook, search))
        .map(|allocation| sizes.iter().step_by(FEWER).map(|&size| chase(size, allocation)).collect())
        .collect();
    // Both at once: what is missing of either is measured in one batch. A recording may lack the further ones.
    let (first, further) = (notebook.read(&first), notebook.read_each(&further.concat()));
    let (first, further) = (first?, further?);
    let further: Vec<Measurement<Chase>> = further.into_iter().flatten().collect();
    let shares = |all: &[Measurement<Chase>]| -> Vec<(u64, f64)> {
        all.iter().map(|s| (s.experiment.footprint.0, rough.levels.miss_share(s.latencies()))).collect()
    };
    let others: Vec<Vec<(u64, f64)>> =
        further.chunk_by(|a, b| place(a).allocation == place(b).allocation).map(shares).collect();
    let penalties = first.iter().chain(&further).filter_map(|s| penalty(s.latencies(), &rough.levels)).collect();
    let loads: Vec<usize> = first.iter().map(|s| s.latencies().len()).collect();
    Ok(Stairs { penalties, ..Stairs::of_shares(&shares(&first), 0, &loads, &others) })
}

fn place(measurement: &Measurement<Chase>) -> Place {
    measurement.experiment.place
}

/// Allocations in which they are measured. The constant bank is at one place.
fn places(notebook: &Notebook, search: &Search) -> u32 {
    if search.path == LoadPath::Constant { 1 } else { notebook.effort().choose(3, 3, 5) }
}

/// What a miss costs on one SM, if most of these miss.
fn penalty(latencies: &[u32], levels: &HitMiss) -> Option<f64> {
    let misses: Vec<u32> = latencies.iter().copied().filter(|&l| levels.is_miss(l)).collect();
    let most = misses.len() as f64 >= MOSTLY * latencies.len() as f64;
    most.then(|| robust::quantile_u32(&misses, 0.5)).flatten().map(|miss| miss - levels.hit)
}

impl Stairs {
    /// The smallest footprint from which at least 99 % of a lap misses.
    pub fn thrash(&self) -> Option<Bytes> {
        self.thrash_range().map(|(from, ..)| from)
    }

    /// That footprint, and where it may be.
    fn thrash_range(&self) -> Option<(Bytes, Bytes, Option<Bytes>)> {
        let ends = |step: &Step| step.interval.unwrap_or((step.share, step.share));
        let first = |is: &dyn Fn(&Step) -> bool| self.steps.iter().find(|step| is(step)).map(|step| step.footprint);
        let from = first(&|step| step.share >= THRASHED)?;
        let earliest = first(&|step| ends(step).1 >= THRASHED).unwrap_or(from);
        Some((from, earliest.min(from), first(&|step| step.footprint >= from && ends(step).0 >= THRASHED)))
    }

    /// As the finding `thrash_size`.
    pub fn thrash_size(&self) -> Finding<Bytes> {
        match (self.thrash_range(), self.steps.last()) {
            (Some((size, low, high)), _) => {
                let method = "smallest footprint of which at least 99 % of the loads miss";
                let finding = Finding::measured(size, method).at_least(low.0 as f64);
                high.into_iter().fold(finding, |finding, high| finding.at_most(high.0 as f64))
            }
            (None, Some(last)) => Finding::unknown(format!(
                "more than {}: there {:.0} % of the loads of a lap miss",
                last.footprint,
                last.share * 100.0
            )),
            (None, None) => Finding::unknown("no footprint beyond the capacity was measured"),
        }
    }

    /// As the finding `staircase`.
    pub fn staircase(&self) -> Finding<Curve> {
        Finding::measured(
            Curve::rounded(&self.steps),
            "footprint in bytes, share of a lap's loads that miss, and the lowest and highest share expected of another \
             measurement: by the footprints on either side, by other allocations, and by chance",
        )
    }

    /// As the finding `miss_penalty`. Where no footprint shows enough misses, from the groups by which hits are told from misses.
    pub fn miss_penalty(&self, levels: &HitMiss) -> Finding<Cycles> {
        if self.penalties.is_empty() {
            let penalty = levels.miss - levels.hit;
            let method = "median of the misses minus median of the hits; the interval is the spread of the hits";
            return Finding::measured(Cycles(penalty), method).range(penalty - levels.spread, penalty + levels.spread);
        }
        let penalty = robust::mean(&self.penalties);
        let (low, high) = mean::interval(&self.penalties, LEVEL);
        let range = |pick: fn(f64, f64) -> f64| self.penalties.iter().copied().reduce(pick).unwrap_or(penalty);
        Finding::measured(
            Cycles(tenths(penalty)),
            format!(
                "median of the misses minus median of the hits, mean of {} footprints, each on an SM of its own",
                self.penalties.len()
            ),
        )
        .interval(tenths(low.min(penalty - RESOLUTION)), tenths(high.max(penalty + RESOLUTION)), LEVEL)
        .note(format!("{} to {} cycles on single SMs", tenths(range(f64::min)), tenths(range(f64::max))))
    }
}
