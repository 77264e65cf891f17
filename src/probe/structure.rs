//! What is inside a cache: its sets, their ways, which address goes where, and who gives way.
//!
//! Footprints grow line by line beyond the usable capacity, each walked in several laps; which lines begin to miss together
//! is one set ([`crate::analysis::overflow`]). Then lines of one set are visited in random orders, from an empty cache,
//! and policies are rejected by the first visit that they do not explain ([`crate::analysis::replacement`]; Mei et al.,
//! section 4.2, tell policies by whether misses repeat with the lap). Where the same order gives different misses, chance is
//! at work, and the line that gives way is counted by the place in which it came.
//!
//! Assumes that the cache is empty, or refilled by the visits before, when a kernel starts; visits that find a line where
//! none can be are thrown away. Fails where loads are slow at random (a single line cannot be told), and where lines that
//! were hit never give way: both are said.

use std::collections::BTreeSet;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use super::capacity::{Capacity, Search};
use super::{Gap, Notebook, Sheet};
use crate::analysis::overflow::{Footprint, Index, Sets, Unclear};
use crate::analysis::replacement::Deterministic;
use crate::experiment::{Experiment, Kernel, Order, Walk};
use crate::topology::Finding;
use crate::units::Bytes;

/// Most footprints beyond the capacity: enough for 128 sets and as many lines as unequal ones differ by.
const MOST_STEPS: u64 = 136;
/// Footprints of which the first show whether sets show at all.
const FIRST_STEPS: u64 = 24;
/// Loads that revealing the sets of one cache may time, so that a large cache with many sets is not walked for minutes and a
/// recording stays small: enough for 64 sets of 6 ways (Fermi's L1 of 48 KiB) in [`MORE_LAPS`].
const MOST_LOADS: u64 = 1_000_000;
/// Fewer footprints than this in [`MORE_LAPS`] are not worth the time: the laps that there are must do.
const FEWEST_STEPS: u64 = 32;
/// Laps watched of each footprint: policies that draw or take turns do not miss on every line in each.
const LAPS: u32 = 3;
/// Laps watched where those differ.
const MORE_LAPS: u32 = 36;
/// Laps before the first that is watched.
const WARM_LAPS: u32 = 2;
/// Random orders in which the lines of one set are visited.
const TRAILS: u64 = 8;
/// Most visits of one order.
const MOST_VISITS: usize = 1024;
/// Victims counted where chance decides: a probability is then known to 0.02 at 95 % (1.96 · √(0.25 / 2500)).
const VICTIMS: usize = 4000;
/// Launches in which they are counted.
const MOST_LAUNCHES: usize = 400;
/// Standard deviations by which χ² must exceed its mean before victims count as weighted rather than uniform.
const WEIGHTED: f64 = 4.0;

/// What was revealed.
#[derive(Clone, Debug)]
pub struct Structure {
    sets: Sets,
    index: Option<Index>,
    /// Misses differ from lap to lap.
    varies: bool,
    base: u64,
    line: Bytes,
    footprint: Bytes,
}

/// Footprints of about so many lines that may be walked in so many laps.
fn affordable(lines: u64, laps: u32) -> u64 {
    MOST_LOADS / (lines.max(1) * u64::from(laps))
}

/// The lines of each footprint from the capacity on that missed in some of `laps`, where they began, and whether the laps
/// differ.
fn overflow(
    notebook: &Notebook,
    search: &Search,
    capacity: &Capacity,
    line: Bytes,
    laps: u32,
    most: u64,
) -> Result<(Vec<Footprint>, u64, bool), Gap> {
    let fits = capacity.by_allocation.first().copied().unwrap_or(capacity.usable) / line;
    let thrash = capacity.thrash.map_or(fits + MOST_STEPS, |t| t / line);
    let affordable = affordable(fits, laps);
    let steps =
        (thrash.saturating_sub(fits) + 1).min(most).min(affordable).min((search.limit / line).saturating_sub(fits));
    let chase = |lines: u64, lap: u32| Experiment {
        warm_laps: WARM_LAPS + lap,
        carveout: Some(search.carveout),
        ..Experiment::chase(Kernel::PerLoad, search.path, line * lines, line)
    };
    // A few laps in a row by an experiment each; many by one, with a lap that is not watched after each that is.
    let each = if laps > LAPS { 1 } else { laps };
    let watched = |lines: u64, lap: u32| Experiment { timed_loads: laps / each * lines as u32, ..chase(lines, lap) };
    let wanted: Vec<Experiment> =
        (fits..=fits + steps).flat_map(|lines| (0..each).map(move |lap| watched(lines, lap))).collect();
    let sheets = notebook.read(&wanted)?;
    let base = sheets[0].samples().base;
    if sheets.iter().any(|s| s.samples().base != base) {
        return Gap::unknown("footprints began at different addresses, so that their lines cannot be compared");
    }
    let mut varies = false;
    let footprints = sheets
        .chunks(each as usize)
        .map(|sheets| {
            let lines = sheets[0].experiment.lap() as usize;
            let missed = |lap: &[u32]| -> BTreeSet<usize> {
                lap.iter().enumerate().filter(|&(_, &l)| capacity.levels.is_miss(l)).map(|(i, _)| i).collect()
            };
            let laps = sheets.iter().flat_map(|sheet| sheet.latencies().chunks(lines));
            let each: Vec<BTreeSet<usize>> = laps.map(missed).collect();
            varies |= each.iter().any(|lap| *lap != each[0]);
            Footprint { lines, missed: each.into_iter().flatten().collect() }
        })
        .collect();
    Ok((footprints, base, varies))
}

/// The sets of a cache.
///
/// # Errors
///
/// An unknown, if the lines that miss beyond the capacity do not show them.
pub fn structure(notebook: &Notebook, search: &Search, capacity: &Capacity) -> Result<Structure, Gap> {
    notebook.once(&format!("structure {search:?}"), || {
        let line = capacity.line.clone()?;
        let (mut footprints, mut base, mut varies) = overflow(notebook, search, capacity, line, LAPS, FIRST_STEPS)?;
        if !varies && Sets::reveal(&footprints).is_ok() {
            (footprints, base, varies) = overflow(notebook, search, capacity, line, LAPS, MOST_STEPS)?;
        }
        if varies && affordable(footprints[0].lines as u64, MORE_LAPS) >= FEWEST_STEPS {
            (footprints, base, _) = overflow(notebook, search, capacity, line, MORE_LAPS, MOST_STEPS)?;
        }
        let fits = footprints[0].lines;
        let sets =
            Sets::reveal(&footprints).map_err(|unclear| Gap::Unknown(why_unclear(&unclear, fits)))?;
        let index = sets.index(base, line.0);
        if varies && index.is_none() {
            return Gap::unknown(format!(
                "victims change from lap to lap, and the lines that missed in {MORE_LAPS} laps follow no index function: \
                 they need not be all of a set"
            ));
        }
        let footprint = line * footprints.last().map_or(0, |f| f.lines as u64);
        Ok(Structure { sets, index, varies, base, line, footprint })
    })
}

/// Why there are no sets, in words, if `fits` lines fit.
pub fn why_unclear(unclear: &Unclear, fits: usize) -> String {
    match unclear {
        Unclear::Unsteady => format!(
            "lines miss although all {fits} fit: loads are slow at random, so that a single one cannot be told from a miss"
        ),
        Unclear::Recovers { lines, hit } => format!(
            "of {lines} lines {hit} are hit that missed when there were fewer: a line too many does not make the lines of a \
             fixed set miss, so that sets do not show"
        ),
        Unclear::OnlyNew => format!(
            "beyond {fits} lines nothing misses but the new lines: those that were hit keep their place, so that sets do not \
             show"
        ),
    }
}

/// As the finding `sets`, up to a footprint.
pub fn sets_finding(sets: &Sets, footprint: Bytes, method: &str) -> Finding {
    let seen = sets.members.len();
    if sets.complete {
        return Finding::measured(seen, method).unit("sets").range(seen as f64, seen as f64);
    }
    Finding::unknown(format!(
        "at least {seen}: so many overflow up to a footprint of {footprint}, and lines of others still hit there"
    ))
    .unit("sets")
    .at_least(seen as f64)
}

/// As the finding `ways`: a number, or a list where sets differ.
pub fn ways_finding(sets: &Sets, method: &str) -> Finding {
    let mut ways = sets.ways();
    ways.sort_unstable_by(|a, b| b.cmp(a));
    let (most, least) = (ways[0], ways[ways.len() - 1]);
    let seen = if sets.complete { "all sets".to_owned() } else { format!("the {} sets seen", ways.len()) };
    // Where not all were seen, what nearly all of them have; a set may have been taken for two by a line that missed late.
    let middle = ways[ways.len() / 2];
    let others = ways.iter().filter(|&&w| w != middle).count();
    if !sets.complete && others > 0 && others * RARE <= ways.len() {
        return Finding::measured(middle, method)
            .unit("lines")
            .range(least as f64, most as f64)
            .note(format!("of {seen}, {others} of which seem to have others, up to {most}"));
    }
    let value = if most == least { json!(most) } else { json!(ways) };
    Finding::measured(value, method).unit("lines").range(least as f64, most as f64).note(format!("of {seen}"))
}

/// Of so many sets one may seem to differ from the others.
const RARE: usize = 20;

const METHOD: &str = "lines that begin to miss together as the footprint grows line by line";

impl Structure {
    /// As the finding `sets`.
    pub fn sets(&self) -> Finding {
        sets_finding(&self.sets, self.footprint, METHOD)
    }

    /// As the finding `ways`: a number, or a list where sets differ.
    pub fn ways(&self) -> Finding {
        ways_finding(&self.sets, METHOD)
    }

    /// As the finding `index`.
    pub fn index(&self) -> Finding {
        match &self.index {
            Some(Index::Bits(bits)) => Finding::measured(json!({ "kind": "bits", "bits": bits }), METHOD).note(
                format!("bits of the address that lines of a set share, of those that vary in {}", self.footprint),
            ),
            Some(Index::Parity(masks)) => {
                let masks: Vec<String> = masks.iter().map(|m| format!("{m:#x}")).collect();
                Finding::measured(json!({ "kind": "parity", "masks": masks }), METHOD)
                    .note("the parity of the address under each mask is a bit of the set's number")
            }
            Some(Index::Modulo(sets)) => Finding::measured(json!({ "kind": "modulo", "sets": sets }), METHOD)
                .note("the number of the line modulo the number of sets"),
            None if self.sets.members.len() < 2 => Finding::unknown("there is one set, or only one was seen"),
            None if !self.sets.complete => Finding::unknown("not all sets were seen"),
            None => Finding::unknown(format!(
                "hashed: no bits, no parities of bits and no modulo of the line number put the lines of {} into these sets",
                self.footprint
            )),
        }
    }
}

/// Visits to the lines of one set, as byte offsets: the k-th visit of a line goes to its k-th element, in its first sector.
fn place(lines: &[usize], line: Bytes, element: Bytes, visits: &[usize]) -> Vec<u64> {
    let mut visited = vec![0u64; lines.len()];
    visits
        .iter()
        .map(|&v| {
            let offset = lines[v] as u64 * line.0 + visited[v] * element.0;
            visited[v] += 1;
            offset
        })
        .collect()
}

fn listed(search: &Search, structure: &Structure, offsets: Vec<u64>, repeat: u32) -> Experiment {
    let element = search.path.element();
    Experiment {
        timed_loads: offsets.len() as u32,
        order: Order::Listed { offsets },
        warm_laps: 0,
        walk: Walk::Straight,
        carveout: Some(search.carveout),
        repeat,
        ..Experiment::chase(Kernel::PerLoad, search.path, structure.footprint, element)
    }
}

/// As the finding `replacement`.
///
/// # Errors
///
/// An unknown, if no candidate explains what the set does, or several do.
pub fn replacement(notebook: &Notebook, search: &Search, capacity: &Capacity) -> Result<Finding, Gap> {
    let structure = structure(notebook, search, capacity)?;
    let element = search.path.element();
    let lines = &structure.sets.members[0];
    let ways = lines.len() - 1;
    // A second visit to another sector of a line would be a miss of its own.
    let visits_a_line = ((search.sector / element) as usize).min(MOST_VISITS / lines.len().max(1));
    if visits_a_line < 2 {
        return Gap::unknown("a sector holds one element, so that no line can be visited twice in a chain");
    }
    let orders: Vec<Vec<usize>> = (0..TRAILS)
        .map(|trail| {
            let mut visits: Vec<usize> = (0..lines.len()).flat_map(|v| std::iter::repeat_n(v, visits_a_line)).collect();
            visits.shuffle(&mut ChaCha8Rng::seed_from_u64(notebook.seed(trail)));
            visits
        })
        .collect();
    let wanted: Vec<Experiment> = orders
        .iter()
        .flat_map(|visits| {
            let offsets = place(lines, structure.line, element, visits);
            (0..2).map(move |repeat| (offsets.clone(), repeat))
        })
        .map(|(offsets, repeat)| listed(search, &structure, offsets, repeat))
        .collect();
    let sheets = notebook.read(&wanted)?;
    if sheets.iter().any(|s| s.samples().base != structure.base) && !matches!(structure.index, Some(Index::Bits(_))) {
        return Gap::unknown(
            "the visits began at another address than the footprints, so that their sets are not known",
        );
    }
    let hits = |sheet: &Sheet| -> Vec<bool> {
        sheet.latencies().iter().map(|&latency| !capacity.levels.is_miss(latency)).collect()
    };
    let seen: Vec<Vec<bool>> = sheets.iter().map(hits).collect();
    for (pair, visits) in seen.chunks(2).zip(&orders) {
        let mut new = BTreeSet::new();
        if pair.iter().any(|hits| visits.iter().zip(hits).any(|(v, hit)| new.insert(v) && *hit)) {
            return Gap::unknown("lines are there before they are loaded: the cache is not empty when a kernel starts");
        }
    }
    if seen.chunks(2).any(|pair| pair[0] != pair[1]) || structure.varies && ways == 1 {
        return victims(notebook, search, capacity, &structure);
    }
    let explains = |policy: &Deterministic| {
        policy.fits(ways)
            && orders.iter().zip(seen.chunks(2)).all(|(visits, pair)| policy.hits(ways, visits) == pair[0])
    };
    let left: Vec<Deterministic> = Deterministic::ALL.into_iter().filter(explains).collect();
    let visits: usize = orders.iter().map(Vec::len).sum();
    match left.as_slice() {
        [policy] => Ok(Finding::measured(policy.name(), "random orders of visit to the lines of one set, from empty")
            .note(format!("the only candidate that explains each of {visits} visits; {}", rejected(&left)))),
        [] => Gap::unknown(format!(
            "the same visits give the same misses, but neither lru nor fifo, plru or bit_plru explains {visits} visits to a \
             set of {ways} lines"
        )),
        several => {
            let names: Vec<&str> = several.iter().map(|p| p.name()).collect();
            Gap::unknown(format!("{} explain {visits} visits to a set of {ways} alike", names.join(" and ")))
        }
    }
}

fn rejected(left: &[Deterministic]) -> String {
    let names: Vec<&str> = Deterministic::ALL.iter().filter(|p| !left.contains(p)).map(|p| p.name()).collect();
    format!("rejected: {}", names.join(", "))
}

/// Where chance decides: fill a set, bring one line more, and look for the one that has gone.
fn victims(notebook: &Notebook, search: &Search, capacity: &Capacity, structure: &Structure) -> Result<Finding, Gap> {
    let ways = structure.sets.members[0].len() - 1;
    if structure.sets.ways().iter().any(|&w| w != ways) {
        return Ok(Finding::measured("random", "the same visits to one set, repeated, give different misses")
            .note("sets differ in ways, so that victims are not counted by place"));
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
    let wanted: Vec<Experiment> = (0..launches).map(|n| listed(search, structure, offsets.clone(), n as u32)).collect();
    let mut gone = vec![0usize; ways];
    let mut stayed = 0;
    for sheet in notebook.read(&wanted)? {
        let looks = &sheet.latencies()[sets * (ways + 1)..];
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
            "victims are drawn, but in {stayed} of {} cases none of the {ways} lines had gone",
            stayed + counted
        ));
    }
    let share = |n: usize| n as f64 / counted as f64;
    let expected = 1.0 / ways as f64;
    let square: f64 = gone.iter().map(|&n| (share(n) - expected).powi(2) / expected).sum::<f64>() * counted as f64;
    let freedom = (ways - 1) as f64;
    let method =
        format!("{counted} sets filled and overfilled: place, in the order of filling, of the line that had gone");
    let uniform = square <= freedom + WEIGHTED * (2.0 * freedom).sqrt();
    let error = 1.96 * (0.25 / counted as f64).sqrt();
    Ok(if uniform {
        Finding::measured("random", method)
            .note(format!("every place alike (χ² {square:.1} of {freedom} degrees of freedom)"))
    } else {
        let odds: Vec<f64> = gone.iter().map(|&n| (share(n) * 1e4).round() / 1e4).collect();
        Finding::measured(json!({ "policy": "weighted", "probabilities": odds }), method)
            .note(format!("each to ±{error:.3} at 95 %; χ² of equal ones {square:.0} of {freedom} degrees of freedom"))
    })
}
