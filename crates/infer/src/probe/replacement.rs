//! The replacement policy: which line is replaced in a full set.
//!
//! Lines of one set are visited in random orders, from an empty cache, and policies are rejected by the first visit that they
//! do not explain ([`crate::analysis::replacement`]; Mei et al., section 4.2, tell policies by whether misses repeat with the
//! lap). Where the same order gives different misses, sets are filled, overfilled and looked through, and the line that has
//! gone is counted by the place in which it came. Where that is always the same, nothing is drawn: loads are slow at random,
//! and each visit is decided by a vote of repetitions.
//!
//! Assumes that the cache is empty, or refilled by the visits before, when a kernel starts: visits that find a line where
//! none can be are said instead of a policy.

use std::collections::BTreeSet;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::capacity::{Capacity, Search};
use super::structure::{Structure, structure};
use super::{Gap, Measurement, Notebook};
use crate::analysis::overflow::Index;
use crate::analysis::replacement::Deterministic;
use strata_model::attribute::{Odds, Policy};
use strata_model::experiment::{Chase, Order, Place, Timing};
use strata_model::order;
use strata_model::topology::Finding;

/// Random orders in which the lines of one set are visited.
const TRAILS: u64 = 8;
/// Most visits of one order.
const MOST_VISITS: usize = 1024;
/// Victims counted where chance decides: a probability of a half is then known to 0.011 at 95 % (1.96 · √(0.25 / 8000)).
const VICTIMS: usize = 8000;
/// Launches in which they are counted.
const MOST_LAUNCHES: usize = 400;
/// Standard deviations of a normal distribution as rare as the χ² from which on victims count as weighted rather than uniform.
const WEIGHTED: f64 = 4.0;
/// Share of the victims in one place from which on nothing is drawn: the rest are loads that were slow by chance.
const ALWAYS: f64 = 0.9;
/// Repetitions that vote on each visit, an odd number: with one load in a hundred slow, three votes in ten million are wrong.
const VOTERS: u32 = 7;

fn listed(search: &Search, structure: &Structure, offsets: Vec<u64>, repeat: u32) -> Chase {
    let element = search.path.element();
    Chase {
        timing: Timing::straight(offsets.len() as u32),
        order: Order::Listed { offsets },
        warm_laps: 0,
        place: Place::carveout(search.carveout),
        repeat,
        ..Chase::each_load(search.path, structure.footprint, element)
    }
}

/// As the finding `replacement`.
///
/// # Errors
///
/// An unknown, if no candidate explains what the set does, or several do.
pub fn replacement(notebook: &Notebook, search: &Search, capacity: &Capacity) -> Result<Finding<Policy>, Gap> {
    let structure = structure(notebook, search, capacity)?;
    let element = search.path.element();
    let lines = &structure.sets.members[0];
    let ways = lines.len() - 1;
    // A second visit to another sector of a line would be a miss of its own.
    let elements = (search.sector / element) as usize;
    if elements < 2 {
        return Gap::unknown("a sector holds one element, so no line can be visited twice in a chain");
    }
    let visits_a_line = elements.min(MOST_VISITS / lines.len());
    if visits_a_line < 2 {
        return Gap::unknown(format!("a set of {ways} lines is too large for random visits"));
    }
    let orders: Vec<Vec<usize>> = (0..TRAILS)
        .map(|trail| {
            let mut visits: Vec<usize> = (0..lines.len()).flat_map(|v| std::iter::repeat_n(v, visits_a_line)).collect();
            visits.shuffle(&mut ChaCha8Rng::seed_from_u64(notebook.seed(trail)));
            visits
        })
        .collect();
    let repeated = |repeats: std::ops::Range<u32>| {
        let wanted: Vec<Chase> = orders
            .iter()
            .flat_map(|visits| {
                let offsets = order::revisits(visits.iter().map(|&v| lines[v] as u64 * structure.line.0), element);
                repeats.clone().map(move |repeat| (offsets.clone(), repeat))
            })
            .map(|(offsets, repeat)| listed(search, &structure, offsets, repeat))
            .collect();
        notebook.read(&wanted)
    };
    let measurements = repeated(0..2)?;
    if measurements.iter().any(|s| s.samples().base != structure.base)
        && !matches!(&structure.index, Some(Index::Bits(bits)) if in_a_row(bits))
    {
        return Gap::unknown(
            "the visits and the footprints began at different addresses, so the sets of the visits are unknown",
        );
    }
    let hits = |measurement: &Measurement<Chase>| -> Vec<bool> {
        measurement.latencies().iter().map(|&latency| !capacity.levels.is_miss(latency)).collect()
    };
    let seen: Vec<Vec<bool>> = measurements.iter().map(hits).collect();
    for (pair, visits) in seen.chunks(2).zip(&orders) {
        let mut new = BTreeSet::new();
        if pair.iter().any(|hits| visits.iter().zip(hits).any(|(v, hit)| new.insert(v) && *hit)) {
            return Gap::unknown("lines hit before they are loaded: the cache is not empty when a kernel starts");
        }
    }
    let mut decided: Vec<Vec<bool>> = seen.iter().step_by(2).cloned().collect();
    let mut how = "random orders of visits to the lines of one set, starting with an empty cache".to_owned();
    if seen.chunks(2).any(|pair| pair[0] != pair[1]) {
        if ways == 1 {
            return Gap::unknown("the same visits give different misses, but a set of one way has no choice of victim");
        }
        match victims(notebook, search, capacity, &structure)? {
            Victims::Drawn(finding) => return Ok(*finding),
            Victims::Always(share) => {
                let measurements = repeated(0..VOTERS)?;
                let votes: Vec<Vec<bool>> = measurements.iter().map(hits).collect();
                decided = votes.chunks(VOTERS as usize).map(vote).collect();
                how = format!(
                    "{how}; as single loads are slow at random (the same line gives way in {:.1} % of overfilled sets), \
                     {VOTERS} repetitions vote on each visit",
                    100.0 * share
                );
            }
        }
    }
    let explains = |policy: &Deterministic| {
        policy.fits(ways) && orders.iter().zip(&decided).all(|(visits, hits)| policy.hits(ways, visits) == *hits)
    };
    let left: Vec<Deterministic> = Deterministic::ALL.into_iter().filter(explains).collect();
    let visits: usize = orders.iter().map(Vec::len).sum();
    match left.as_slice() {
        [policy] => Ok(Finding::measured(Policy::named(policy.name()), how)
            .note(format!("the only policy that explains all {visits} visits; {}", rejected(ways, &left)))),
        [] => Gap::unknown(format!(
            "the same visits give the same misses, but no candidate explains {visits} visits to a set of {ways} lines ({})",
            rejected(ways, &left)
        )),
        several => {
            let names: Vec<&str> = several.iter().map(|p| p.name()).collect();
            Gap::unknown(format!(
                "{} explain {visits} visits to a set of {ways} lines equally well",
                names.join(" and ")
            ))
        }
    }
}

/// Of each visit what most repetitions say.
fn vote(repetitions: &[Vec<bool>]) -> Vec<bool> {
    let visits = repetitions.first().map_or(0, Vec::len);
    (0..visits).map(|v| repetitions.iter().filter(|hits| hits[v]).count() * 2 > repetitions.len()).collect()
}

/// The candidates that are not left, and those that there cannot be.
fn rejected(ways: usize, left: &[Deterministic]) -> String {
    let names = |fit: bool| {
        let all = Deterministic::ALL.iter().filter(|p| !left.contains(p) && p.fits(ways) == fit);
        all.map(|p| p.name()).collect::<Vec<_>>().join(", ")
    };
    let untried = names(false);
    let cannot = if untried.is_empty() { String::new() } else { format!("; {untried}: not of {ways} ways") };
    format!("rejected: {}{cannot}", names(true))
}

/// Whether a base that is displaced by whole lines leaves lines of one set in one set.
fn in_a_row(bits: &[u32]) -> bool {
    bits.windows(2).all(|pair| pair[1] == pair[0] + 1)
}

/// Who gives way.
enum Victims {
    /// Different lines, as this finding says.
    Drawn(Box<Finding<Policy>>),
    /// The same line in this share of the cases.
    Always(f64),
}

/// The χ² that is exceeded as rarely as so many standard deviations of a normal distribution (Wilson and Hilferty 1931). Of few
/// degrees of freedom χ² is far from normal: 10 of two is exceeded in one of 150 cases.
fn chi_square(freedom: f64, deviations: f64) -> f64 {
    let part = 2.0 / (9.0 * freedom);
    freedom * (1.0 - part + deviations * part.sqrt()).powi(3)
}

/// Where chance seems to decide: fill a set, bring one line more, and look for the one that has gone.
fn victims(notebook: &Notebook, search: &Search, capacity: &Capacity, structure: &Structure) -> Result<Victims, Gap> {
    let ways = structure.sets.members[0].len() - 1;
    if structure.sets.ways().iter().any(|&w| w != ways) {
        return Ok(Victims::Drawn(Box::new(
            Finding::measured(Policy::Random, "the same visits to one set, repeated, give different misses")
                .note("sets differ in their ways, so victims cannot be counted by position"),
        )));
    }
    let element = search.path.element();
    let each = 2 * ways + 1;
    let sets = structure.sets.members.len().min(MOST_VISITS / each).max(1);
    // All sets are filled, then overfilled, then looked through: in each the same happens as if it were alone.
    let mut offsets = Vec::new();
    for phase in [0..ways, ways..ways + 1, 0..ways] {
        let second = u64::from(offsets.len() > sets * ways) * element.0;
        for lines in &structure.sets.members[..sets] {
            offsets.extend(phase.clone().map(|v| lines[v] as u64 * structure.line.0 + second));
        }
    }
    let launches = VICTIMS.div_ceil(sets).min(MOST_LAUNCHES);
    let wanted: Vec<Chase> = (0..launches).map(|n| listed(search, structure, offsets.clone(), n as u32)).collect();
    let mut gone = vec![0usize; ways];
    let mut stayed = 0;
    for measurement in notebook.read(&wanted)? {
        let looks = &measurement.latencies()[sets * (ways + 1)..];
        for look in looks.chunks_exact(ways) {
            match look.iter().position(|&latency| capacity.levels.is_miss(latency)) {
                Some(place) => gone[place] += 1,
                None => stayed += 1,
            }
        }
    }
    let counted: usize = gone.iter().sum();
    if stayed * 10 > counted {
        return Gap::unknown(format!(
            "victims are random, but in {stayed} of {} cases none of the {ways} lines was replaced",
            stayed + counted
        ));
    }
    let share = |n: usize| n as f64 / counted as f64;
    let most = share(gone.iter().copied().max().unwrap_or(0));
    if most >= ALWAYS {
        return Ok(Victims::Always(most));
    }
    let expected = 1.0 / ways as f64;
    let square: f64 = gone.iter().map(|&n| (share(n) - expected).powi(2) / expected).sum::<f64>() * counted as f64;
    let freedom = (ways - 1) as f64;
    let method =
        format!("{counted} sets were filled and overfilled: position of the replaced line in the order of filling");
    let uniform = square <= chi_square(freedom, WEIGHTED);
    let error = 1.96 * (0.25 / counted as f64).sqrt();
    Ok(Victims::Drawn(Box::new(if uniform {
        Finding::measured(Policy::Random, method)
            .note(format!("all positions are equally likely (χ² {square:.1} with {freedom} degrees of freedom)"))
    } else {
        let probabilities = gone.iter().map(|&n| (share(n) * 1e4).round() / 1e4).collect();
        let odds = Odds { probabilities, counted: Some(counted as u64) };
        Finding::measured(Policy::Weighted(odds), method).note(format!(
            "each ±{error:.3} at 95 %; χ² for equal probabilities {square:.0} with {freedom} degrees of freedom"
        ))
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chi_square_is_that_of_tables() {
        // 1 % is 2.326 deviations: 9.21 with two degrees of freedom, 18.48 with seven.
        assert!((chi_square(2.0, 2.326) - 9.21).abs() < 0.1);
        assert!((chi_square(7.0, 2.326) - 18.48).abs() < 0.1);
    }
}
