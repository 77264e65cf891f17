//! The capacity of a cache in one allocation: the footprint at which misses begin to grow, exact to one sector.
//!
//! Footprints compare only where they lie at the same addresses: with a hashed index each place in memory fills the sets in
//! another way, and with it the usable capacity changes. A bench may move an allocation between two launches, so the place
//! that was measured last is searched, from the whole bracket again if it is new, and a place that was left widens the
//! interval by what it showed. Where misses come and go (random victims, loads that are slow at random) and no knee one
//! step wide comes out, the edge is an interval: up to its lower end every repetition fits, from its upper end on every
//! repetition overflows.

use super::capacity::{Rough, SECTIONS, Search};
use super::repeated::{counts, repetitions, sometimes_flat, surely_flat, varies};
use super::spikes::{self, Count, Knee};
use super::{Gap, Measurement, Notebook};
use crate::analysis::growth::HANDFUL;
use crate::analysis::search::{self, Bracket};
use strata_model::experiment::Chase;
use strata_model::units::Bytes;

/// Rounds of sections: three narrow an octave of 2^31 granules to one; the rest is for second looks.
const MAX_ROUNDS: usize = 12;
/// So few misses more than before may have been chance.
const FEW: f64 = 2.0;
/// Times that the two sides of the knee are measured again.
const REPEATS: u32 = 2;
/// Laps of so few loads may show no spike below the knee although spikes are frequent: with one load in a hundred slow, one
/// lap of 32 in four has a spike, and three laps in a row have one once in fifty times.
const SHORT: u64 = 128;
/// Times that such a lap is measured again, if it shows few misses.
const OFTEN: u32 = 8;
/// Part of the smallest footprint by which the search goes further down, if too many of its loads miss already.
const DOWN: u64 = 4;
/// Times that the search starts anew because the allocation has moved.
const MOST_MOVES: u32 = 2;
/// Added to the number of the repetition for each move, so that the experiments are others.
const MOVED: u32 = 16;

/// The usable capacity of one allocation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Edge {
    /// The largest footprint before misses grow.
    pub usable: Bytes,
    /// It may be as low as this.
    pub lowest: Bytes,
    /// It may be as high as this.
    pub highest: Bytes,
    /// Misses a lap that do not grow.
    pub base: f64,
}

impl Edge {
    /// Whether the two have no capacity in common.
    pub(super) fn excludes(&self, other: &Edge) -> bool {
        self.highest < other.lowest || other.highest < self.lowest
    }
}

/// Measurements by the address at which their chain lay, the place of the last one first.
fn by_place(measurements: &[Measurement<Chase>]) -> Vec<Vec<Measurement<Chase>>> {
    let mut places: Vec<Vec<Measurement<Chase>>> = Vec::new();
    for measurement in measurements.iter().rev() {
        match places.iter_mut().find(|place| place[0].samples().base == measurement.samples().base) {
            Some(place) => place.push(measurement.clone()),
            None => places.push(vec![measurement.clone()]),
        }
    }
    places
}

/// What one place says if no more is measured: up to the lower end no repetition misses more than before the knee, from the
/// upper end on every repetition does. `None` if misses do not grow, or do at the smallest footprint already.
fn interval(measurements: &[Measurement<Chase>], rough: &Rough, from: u64) -> Option<Edge> {
    let growth = spikes::knee(&counts(measurements, &rough.levels), rough.spikes)?.growth;
    let mut grown: Vec<(u64, bool)> = measurements
        .iter()
        .map(|measurement| {
            let loads = measurement.latencies();
            let (footprint, slow) = (measurement.experiment.footprint.0, rough.levels.misses(loads) as f64);
            (footprint, rough.spikes.excess(&Count { footprint, loads: loads.len(), slow }) > growth.base)
        })
        .collect();
    grown.sort_unstable();
    let first = grown.iter().find(|(_, grown)| *grown)?.0;
    let low = grown.iter().map(|&(footprint, _)| footprint).rfind(|&footprint| footprint < first)?;
    let last = grown.iter().rfind(|(_, grown)| !grown)?.0;
    let high = grown.iter().map(|&(footprint, _)| footprint).find(|&footprint| footprint > last)?;
    let holds = grown.first().is_some_and(|&(footprint, _)| footprint <= from);
    holds.then_some(Edge { usable: Bytes(low), lowest: Bytes(low), highest: Bytes(high), base: growth.base })
}

/// The edge that covers all of these.
fn covering(edges: impl IntoIterator<Item = Edge>) -> Option<Edge> {
    edges.into_iter().reduce(|a, b| Edge {
        usable: a.usable.min(b.usable),
        lowest: a.lowest.min(b.lowest),
        highest: a.highest.max(b.highest),
        base: a.base.max(b.base),
    })
}

/// Finds the edge of one allocation: sections of a bracket around the rough capacity, which is narrowed until it is one
/// sector wide. `step` is the stride of the chains, a line or a sector.
///
/// # Errors
///
/// An unknown, if misses do not grow up to the limit or nowhere settle.
pub(super) fn edge(
    notebook: &Notebook,
    search: &Search,
    rough: &Rough,
    step: Bytes,
    allocation: u32,
) -> Result<Edge, Gap> {
    let margin = (rough.high.0 - rough.low.0).max(rough.low.0 / 8).max(4 * step.0);
    let limit = search.limit.0;
    let ends =
        |bracket: Bracket| [Bytes(bracket.low).round_down(step).0, Bytes(bracket.high).round_up(step).0.min(limit)];
    let smallest = (search.start.0 / 2).max(step.0);
    let mut wide =
        Bracket { low: rough.low.0.saturating_sub(margin).max(smallest), high: (rough.high.0 + margin).min(limit) };
    let (mut bracket, mut moves) = (wide, 0);
    let mut sweep: Vec<Chase> = Vec::new();
    let mut places = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let from = ends(wide)[0];
        let inner = search::sections(bracket, step.0, SECTIONS);
        for size in inner.into_iter().chain(ends(bracket)) {
            let chase = Chase { repeat: moves * MOVED, ..search.chase(Bytes(size), step, allocation) };
            if !sweep.contains(&chase) {
                sweep.push(chase);
            }
        }
        places = by_place(&notebook.read(&sweep)?);
        let here = &places[0];
        if !here.iter().any(|measurement| measurement.experiment.footprint.0 == from) {
            // The allocation has moved: what is known of the bracket is of another place.
            if moves == MOST_MOVES {
                break;
            }
            (bracket, moves) = (wide, moves + 1);
            continue;
        }
        let counts = counts(here, &rough.levels);
        let Some(knee) = spikes::knee(&counts, rough.spikes) else {
            // This allocation holds more than the first one did: look further up.
            if bracket.high >= limit {
                return Gap::unknown(format!("misses do not grow up to {}", Bytes(limit)));
            }
            bracket = Bracket { low: bracket.high, high: (bracket.high + bracket.high / 4).min(limit) };
            continue;
        };
        // This allocation holds less than the first one did: where more than a handful of a lap misses, beyond what spikes explain,
        // misses have begun to grow.
        let least = counts[0];
        if rough.below.excess(&least) > HANDFUL * least.loads as f64 && from > smallest {
            wide.low = (from - from / DOWN).max(smallest);
            bracket = Bracket { low: wide.low, high: from };
            continue;
        }
        let growth = knee.growth;
        if growth.first_grown - growth.last_flat > step.0 {
            bracket = Bracket { low: growth.last_flat, high: growth.first_grown };
            continue;
        }
        // A line too many may stay unseen by chance: a random victim is missed in a part of the lap that is not timed.
        let ends = [growth.last_flat, growth.first_grown]
            .map(|size| Chase { repeat: moves * MOVED, ..search.chase(Bytes(size), step, allocation) });
        let few = counts.iter().any(|c| c.footprint == growth.first_grown && c.slow - growth.base <= FEW);
        let repeats = |end: &Chase| if few && end.lap() <= SHORT { OFTEN } else { REPEATS };
        // What is slow only sometimes may fit, and so may what follows it.
        let sometimes = sometimes_flat(here, &rough.levels, growth.base, growth.last_flat);
        let next = (sometimes > growth.last_flat && sometimes + step.0 <= bracket.high)
            .then(|| Chase { footprint: Bytes(sometimes + step.0), ..ends[0].clone() });
        let again: Vec<Chase> = ends
            .iter()
            .chain(next.as_ref().filter(|next| next.lap() <= SHORT))
            .flat_map(|end| repetitions(end, repeats(end)))
            .filter(|e| !sweep.contains(e))
            .collect();
        if !again.is_empty() {
            sweep.extend(again);
            continue;
        }
        let usable = finest(notebook, search, rough, &ends[0], &knee, here[0].samples().base)?;
        let certain = surely_flat(here, &rough.levels, growth.base, growth.last_flat);
        let mut lowest = Bytes(knee.lowest(&counts, step.0).min(certain)).min(usable);
        if few || varies(here, &rough.levels, growth.first_grown) {
            // So few misses, or such that come and go, may also have stayed away one step before.
            lowest = lowest.min(Bytes(growth.last_flat.saturating_sub(step.0)));
        }
        // Misses that do not grow are of lines that find no place already.
        lowest = lowest.min(Bytes(usable.0.saturating_sub(growth.base as u64 * step.0)));
        let spiked = if knee.spikes.share() > 0.0 { growth.first_grown } else { growth.last_flat };
        let highest = usable.max(Bytes(spiked.max(sometimes)));
        let found = Edge { usable, lowest, highest, base: growth.base };
        let left = covering(places[1..].iter().filter_map(|place| interval(place, rough, from)));
        return Ok(Edge {
            lowest: left.map_or(lowest, |edge| lowest.min(edge.lowest)),
            highest: left.map_or(highest, |edge| highest.max(edge.highest)),
            ..found
        });
    }
    match covering(places.iter().filter_map(|place| interval(place, rough, ends(wide)[0]))) {
        Some(edge) => Ok(edge),
        None => {
            Gap::unknown("the search did not converge: the number of misses rises and falls while the footprint grows")
        }
    }
}

/// The last step, from a line to a sector: how much of the line that follows the knee still fits. `like` is a chase of the
/// sweep, whose chain lay at `base`.
fn finest(
    notebook: &Notebook,
    search: &Search,
    rough: &Rough,
    like: &Chase,
    knee: &Knee,
    base: u64,
) -> Result<Bytes, Gap> {
    let growth = knee.growth;
    if like.stride <= search.sector {
        return Ok(Bytes(growth.last_flat));
    }
    let sizes = (growth.last_flat..=growth.first_grown).step_by(search.sector.0 as usize);
    let mut chases: Vec<Chase> = sizes.map(|s| search.chase(Bytes(s), search.sector, like.place.allocation)).collect();
    let excess = |chases: &[Chase]| -> Result<Vec<(u64, f64)>, Gap> {
        let mut measurements = notebook.read(chases)?;
        // What lies elsewhere says nothing of this place.
        measurements.retain(|measurement| measurement.samples().base == base);
        let counts = counts(&measurements, &rough.levels);
        Ok(counts.iter().map(|c| (c.footprint, rough.spikes.excess(c))).collect())
    };
    let mut points = excess(&chases)?;
    // At the knee the misses were `base`, counted in lines; in sectors they are up to that many times more.
    let fitting = points.first().map_or(0.0, |p| p.1);
    if points.iter().any(|&(_, misses)| misses > fitting && misses - fitting <= FEW) {
        let again = chases.clone();
        chases.extend(again.iter().flat_map(|chase| repetitions(chase, REPEATS)));
        points = excess(&chases)?;
    }
    let fitting = points.first().map_or(0.0, |p| p.1);
    let grown = points.iter().position(|&(_, misses)| misses > fitting);
    Ok(Bytes(grown.map_or(growth.last_flat, |index| points[index - 1].0)))
}

#[cfg(test)]
mod tests {
    use super::super::levels::HitMiss;
    use super::*;
    use strata_model::effort::Effort;
    use strata_model::experiment::{Experiment, LoadPath, Timing};
    use strata_model::facts::DeviceFacts;
    use strata_model::samples::Samples;

    const STEP: Bytes = Bytes(128);
    const KIB: u64 = 1024;

    /// The edge of a device whose chains of a round lie at `place`, and where so many loads of each footprint miss.
    fn found(place: impl Fn(u32) -> u64, misses: impl Fn(u64, &Chase) -> usize) -> Result<Edge, Gap> {
        let search = Search::first_level(LoadPath::GlobalCa, STEP, Bytes::mib(1), 1);
        found_by(&search, (60 * KIB, 66 * KIB), place, misses)
    }

    /// As [`found`], by a search whose first idea of the capacity lies between these bytes.
    fn found_by(
        search: &Search,
        about: (u64, u64),
        place: impl Fn(u32) -> u64,
        misses: impl Fn(u64, &Chase) -> usize,
    ) -> Result<Edge, Gap> {
        let rough = Rough {
            low: Bytes(about.0),
            high: Bytes(about.1),
            levels: HitMiss { threshold: 100, hit: 40.0, miss: 300.0, spread: 1.0 },
            spikes: spikes::Spikes::default(),
            below: spikes::Spikes::default(),
            change_point: Bytes::kib(60),
            ks: (1.0, 0.1),
            sweep: Default::default(),
        };
        let mut notebook = Notebook::new(DeviceFacts::default(), Effort::Quick, 0);
        for round in 0..64 {
            let edge = edge(&notebook, search, &rough, search.sector, 0);
            let missing = notebook.take_missing();
            if missing.is_empty() {
                return edge;
            }
            for (number, experiment) in missing.into_iter().enumerate() {
                let Experiment::Chase(chase) = &experiment else { unreachable!("an edge asks for chases") };
                let Timing::EachLoad { loads, .. } = chase.timing else {
                    unreachable!("whose loads are timed one by one")
                };
                let (base, loads) = (place(round), loads as usize);
                let slow = misses(base, chase).min(loads);
                let latencies = (0..loads).map(|i| if i < slow { 300 } else { 40 }).collect();
                notebook.add(number as u32, experiment, Ok(Samples { latencies, base, ..Samples::default() }));
            }
        }
        unreachable!("an edge takes a few rounds")
    }

    /// Lines beyond a capacity miss, and some that they displace.
    fn beyond(capacity: u64, footprint: Bytes) -> usize {
        2 * (footprint.0.saturating_sub(capacity)).div_ceil(STEP.0) as usize
    }

    fn range(edge: &Edge) -> (u64, u64, u64) {
        (edge.lowest.0, edge.usable.0, edge.highest.0)
    }

    #[test]
    fn one_place_has_one_edge() {
        let edge = found(|_| 0, |_, e| beyond(63 * KIB, e.footprint)).unwrap();
        // Two misses more may have been chance, one step before.
        assert_eq!(range(&edge), (63 * KIB - 128, 63 * KIB, 63 * KIB));
        let sharp = found(|_| 0, |_, e| 4 * beyond(63 * KIB, e.footprint)).unwrap();
        assert_eq!(range(&sharp), (63 * KIB, 63 * KIB, 63 * KIB));
    }

    #[test]
    fn an_allocation_that_moves_has_the_edge_of_its_last_place_and_an_interval_over_all() {
        let capacity = |base| if base == 0 { 58 * KIB } else { 64 * KIB };
        let edge =
            found(u64::from, |base, e| 4 * beyond(capacity(base), e.footprint)).map(|edge| range(&edge)).unwrap();
        assert!(edge.0 <= 58 * KIB && edge.2 >= 64 * KIB, "{edge:?}");
        let once = found(|round| u64::from(round > 0), |base, e| 4 * beyond(capacity(base), e.footprint)).unwrap();
        assert_eq!(once.usable.0, 64 * KIB);
        assert!(once.lowest.0 <= 58 * KIB && once.highest.0 == 64 * KIB, "{once:?}");
    }

    #[test]
    fn an_allocation_that_holds_less_than_where_its_search_begins_is_searched_further_down() {
        // The first allocation holds about 60 KiB. This one overflows at 40, stays so for a while, and grows again.
        let misses =
            |footprint: Bytes| 4 * beyond(40 * KIB, footprint.min(Bytes::kib(48))) + 4 * beyond(60 * KIB, footprint);
        let edge = found(|_| 0, |_, e| misses(e.footprint)).unwrap();
        assert_eq!(range(&edge), (40 * KIB, 40 * KIB, 40 * KIB));
        // A handful of misses that stays the same is a conflict.
        let conflict = |footprint: Bytes| 4 + 4 * beyond(63 * KIB, footprint) + 96 * beyond(66 * KIB, footprint);
        let edge = found(|_| 0, |_, e| conflict(e.footprint)).unwrap();
        assert_eq!((edge.usable, edge.base), (Bytes::kib(63), 4.0));
    }

    #[test]
    fn spikes_in_a_majority_of_short_laps_are_no_misses() {
        let search = Search::first_level(LoadPath::Constant, Bytes(64), Bytes::kib(16), 1);
        // The two footprints before the capacity of 2 KiB have a spike in the first lap and every other repetition; so few loads
        // below show none.
        let spiked = |e: &Chase| (1920..=2048).contains(&e.footprint.0) && e.repeat.is_multiple_of(2);
        let misses = |e: &Chase| if e.footprint.0 > 2048 { 5 } else { usize::from(spiked(e)) };
        let edge = found_by(&search, (2048, 2112), |_| 0, |_, e| misses(e)).unwrap();
        assert!(edge.lowest.0 <= 2048 && edge.highest.0 >= 2048, "{edge:?}");
        // A majority of spikes leaves the footprint open.
        let mostly = |e: &Chase| match e.footprint.0 {
            2049.. => 5,
            1985..=2048 => usize::from(e.repeat % 5 != 1),
            _ => 0,
        };
        let edge = found_by(&search, (2048, 2112), |_| 0, |_, e| mostly(e)).unwrap();
        assert_eq!(range(&edge), (1920, 1984, 2048));
    }

    #[test]
    fn misses_that_come_and_go_leave_an_interval() {
        // Between 60 and 64 KiB every other footprint overflows, by chance.
        let chance = |e: &Chase| (e.footprint.0 / 128 * 2_654_435_761 + u64::from(e.repeat) * 40_503) >> 7 & 1 == 1;
        let misses = |_: u64, e: &Chase| match e.footprint.0 {
            footprint if footprint <= 60 * KIB => 0,
            footprint if footprint <= 64 * KIB => 6 * usize::from(chance(e)),
            _ => 4 * beyond(60 * KIB, e.footprint),
        };
        let edge = found(|_| 0, misses).unwrap();
        assert!((60 * KIB..=64 * KIB).contains(&edge.usable.0), "{edge:?}");
        assert!(edge.lowest <= edge.usable && edge.usable <= edge.highest, "{edge:?}");
    }
}
