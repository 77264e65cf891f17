//! Beyond the knee: what share of a lap misses, by footprint, and how many cycles longer a miss takes than a hit.
//!
//! The footprints go up to twice the capacity, each on an SM of its own, in one allocation. A part of them is measured in
//! further allocations, which shows how far the place in memory matters. The cost of a miss is the mean over these SMs and
//! allocations, so its interval holds what varies between them.
//!
//! Where the next level overflows, too, misses take longer by a step from some footprint on. Then those before it count.

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
/// A farther level costs at least so many times what the next one does, and so many spreads of the hits more: costs of one
/// level differ by less from SM to SM.
const FARTHER: f64 = 1.25;
const FARTHER_SPREADS: f64 = 3.0;
/// Costs that differ by more are of misses that different levels answer, or partitions far apart.
const MIXED: f64 = 1.5;
/// What comes more rarely is no chance: all footprints of some stairs are asked.
const CHANCE: f64 = 1e-4;
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
    let penalty_of = |s: &Measurement<Chase>| Some((s.experiment.footprint.0, penalty(s.latencies(), &rough.levels)?));
    let penalties = of_next_level(first.iter().chain(&further).filter_map(penalty_of).collect(), rough.levels.spread);
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

/// Of the cost of a miss by footprint that of misses which the next level answers. Where that overflows, too, footprints cost more
/// than all before: all of them from one on, or so many that it is no chance that none came before. Another SM may fill the next
/// level while one footprint is measured, and not while the next is.
fn of_next_level(mut by_footprint: Vec<(u64, f64)>, spread: f64) -> Vec<f64> {
    by_footprint.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let costs: Vec<f64> = by_footprint.into_iter().map(|(_, cost)| cost).collect();
    let most_before = running(costs.iter().copied(), f64::max);
    let begins = |&at: &usize| {
        let from = &costs[at..];
        let farther = from.iter().filter(|&&cost| is_farther(cost, most_before[at - 1], spread)).count();
        is_farther(from[0], most_before[at - 1], spread)
            && (farther == from.len() || none_before(farther, from.len(), costs.len()) < CHANCE)
    };
    let end = (1..costs.len()).find(begins).unwrap_or(costs.len());
    costs[..end].to_vec()
}

/// The probability that all of so many that are farther lie by chance among the last so many of all.
fn none_before(farther: usize, last: usize, all: usize) -> f64 {
    (0..farther).map(|taken| (last - taken) as f64 / (all - taken) as f64).product()
}

/// Whether a miss that costs so much is answered by a farther level than those that cost so much at most.
pub(super) fn is_farther(cost: f64, most: f64, spread: f64) -> bool {
    cost > most * FARTHER + FARTHER_SPREADS * spread
}

/// What `pick` leaves of the values up to each.
fn running(values: impl Iterator<Item = f64>, pick: fn(f64, f64) -> f64) -> Vec<f64> {
    let picked = values.scan(None, |so_far: &mut Option<f64>, value| {
        *so_far = Some(so_far.map_or(value, |before| pick(before, value)));
        *so_far
    });
    picked.collect()
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
        let range = |pick: fn(f64, f64) -> f64| self.penalties.iter().copied().reduce(pick).unwrap_or(penalty);
        let (least, most) = (range(f64::min), range(f64::max));
        // Not misses of one kind: how many of each kind there are differs from run to run, so their mean is no promise.
        let (low, high) = match most > MIXED * least {
            true => (least, most),
            false => mean::interval(&self.penalties, LEVEL),
        };
        Finding::measured(
            Cycles(tenths(penalty)),
            format!(
                "median of the misses minus median of the hits, mean of {} footprints, each on an SM of its own",
                self.penalties.len()
            ),
        )
        .interval(tenths(low.min(penalty - RESOLUTION)), tenths(high.max(penalty + RESOLUTION)), LEVEL)
        .note(format!("{} to {} cycles on single SMs", tenths(least), tenths(most)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cycles over which hits are spread.
    const SPREAD: f64 = 2.0;

    #[test]
    fn misses_that_a_farther_level_answers_are_left_out() {
        let overflowing = vec![(6, 70.0), (7, 72.0), (8, 69.0), (9, 230.0), (10, 232.0), (6, 71.0), (9, 229.0)];
        assert_eq!(of_next_level(overflowing, SPREAD), [70.0, 71.0, 72.0, 69.0]);
        // Every other footprint of the last: that none came before is no chance.
        let now_and_then = (0..48).map(|at| (at, if at >= 31 && at % 2 == 1 { 487.0 } else { 223.0 })).collect();
        assert_eq!(of_next_level(now_and_then, SPREAD), [223.0; 31]);
    }

    #[test]
    fn misses_of_two_kinds_have_no_mean_that_holds() {
        let levels = HitMiss { threshold: 100, hit: 30.0, miss: 200.0, spread: SPREAD };
        let ends = |penalties: Vec<f64>| {
            let finding = Stairs { penalties, ..Stairs::default() }.miss_penalty(&levels);
            (finding.low.unwrap(), finding.high.unwrap())
        };
        // The second of 24 footprints and each third one after it: memory answers.
        assert_eq!(ends((0..24).map(|at| if at % 3 == 1 { 283.0 } else { 141.0 }).collect()), (141.0, 283.0));
        // Near and far SMs of one level: the interval of the mean.
        let (low, high) = ends((0..24).map(|at| if at % 2 == 1 { 265.0 } else { 235.0 }).collect());
        assert!(235.0 < low && low < 250.0 && 250.0 < high && high < 265.0, "{low} {high}");
    }

    #[test]
    fn costs_that_differ_by_sm_all_count() {
        let by_sm = vec![(6, 70.0), (7, 84.0), (8, 69.0), (9, 82.0)];
        assert_eq!(of_next_level(by_sm, SPREAD), [70.0, 84.0, 69.0, 82.0]);
        // Another partition of the L2, on every fourth SM.
        let far: Vec<(u64, f64)> = (0..24).map(|at| (at, if at % 4 == 3 { 320.0 } else { 220.0 })).collect();
        assert_eq!(of_next_level(far.clone(), SPREAD).len(), far.len());
        assert!(of_next_level(Vec::new(), SPREAD).is_empty());
    }
}
