//! Usable capacity of a cache that is private to an SM: the largest footprint before misses begin to grow with it.
//!
//! The thesis' pipeline (Größler, chapter 3) finds and tests the change: doubling, then sections of the bracket in place
//! of bisection (a batch of footprints costs no more than one, each on an SM of its own), the latency vectors reduced to
//! distances, the change point by cost, the Kolmogorov-Smirnov test. What is reported is finer: footprints are nested (a
//! smaller one is a prefix of a larger), hits and misses are counted, and the knee is where misses begin to *grow*, over
//! several allocations. A handful of misses that stays the same is a conflict and a finding of its own. Loads
//! that are slow at random are told from misses in [`super::spikes`].
//!
//! Assumes that SMs are alike. Fails if the cache is smaller than 1 KiB or larger than the limit (then it says so).

use std::collections::BTreeMap;

use super::edge::{self, Edge};
use super::levels::HitMiss;
use super::repeated::{counts, repetitions};
use super::spikes::{self, Spikes};
use super::stairs::{self, Stairs};
use super::sweep::Sweep;
use super::{Gap, Measurement, Notebook, Settle, Unknown, allocations, line};
use crate::analysis::search::{self, Bracket};
use crate::analysis::{change_point, ks, reduction, robust};
use strata_model::experiment::{Chase, LoadPath, Place, Timing};
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// Footprint at which doubling begins, as in the thesis.
const START: Bytes = Bytes::kib(1);
/// Loads timed of each footprint while doubling: a doubled footprint that does not fit misses all over.
const DOUBLING_LOADS: u32 = 3072;
/// Share of missing loads that ends the doubling.
const CHANGED: f64 = 0.05;
/// Misses that end it at least: one of a few loads may be a spike.
const SEVERAL: usize = 2;
/// Share of the loads of some footprint that misses are at least which another cache hides: no spikes are so frequent.
pub(super) const OFTEN: f64 = 0.2;
/// Part of the cost of the misses found that they cost at most.
const CHEAPER: f64 = 0.75;
/// Times that the smallest footprint is measured again, if spikes may hide what a hit takes: so many that a spike or two among four
/// loads are less than a twentieth.
const AGAIN: u32 = 15;
/// Footprints between the ends of a bracket, measured at once.
pub(super) const SECTIONS: usize = 32;
/// Level of the Kolmogorov-Smirnov test.
const ALPHA: f64 = 0.01;

/// Which cache is searched, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Search {
    /// The path.
    pub path: LoadPath,
    /// The sector: no finer step exists.
    pub sector: Bytes,
    /// Largest footprint that is tried.
    pub limit: Bytes,
    /// Footprints from here on (smaller ones belong to the level before).
    pub start: Bytes,
    /// Carveout asked for, in per cent of the unified memory.
    pub carveout: u8,
    /// Allocations at least; where they differ, more are measured.
    pub allocations: u32,
    /// Elements that a cache before this one may keep. Chains that leave sectors out must be several times as long, or what
    /// misses here hits there.
    pub before: u64,
}

impl Search {
    /// Of a cache that begins at the smallest footprint.
    pub fn first_level(path: LoadPath, sector: Bytes, limit: Bytes, allocations: u32) -> Self {
        Search { path, sector, limit, start: START, carveout: 0, allocations, before: 0 }
    }

    /// The chase of a footprint of nested ones.
    pub(super) fn chase(&self, footprint: Bytes, stride: Bytes, allocation: u32) -> Chase {
        Chase {
            warm_laps: 2,
            place: Place { allocation, ..Place::carveout(self.carveout) },
            ..Chase::each_load(self.path, footprint, stride)
        }
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// Median usable capacity over the allocations; of an even number the lower one of the middle two.
    pub usable: Bytes,
    /// Of each allocation.
    pub by_allocation: Vec<Bytes>,
    /// Allocations of which all lines were timed, not a sample of them.
    pub walked: usize,
    /// Lowest of all that it may be, where spikes hide the first misses.
    pub lowest: Bytes,
    /// Highest of all that it may be, where a spike may pass for the first miss.
    pub highest: Bytes,
    /// Misses a lap that do not grow with the footprint, of each allocation.
    pub conflicts: Vec<f64>,
    /// What was seen beyond the knee.
    pub stairs: Stairs,
    /// Hits and misses.
    pub levels: HitMiss,
    /// The cache's line, as far as it is known.
    pub line: Result<Bytes, Unknown>,
    /// Where the thesis' pipeline puts the change.
    pub change_point: Bytes,
    /// Statistic and critical value of the test that confirmed it.
    pub ks: (f64, f64),
    /// What the footprints about it showed.
    pub(super) sweep: Sweep,
}

/// A first idea of the capacity, from doubling and one round of sections.
#[derive(Clone, Debug, PartialEq)]
pub struct Rough {
    /// Largest footprint without the change.
    pub low: Bytes,
    /// Smallest footprint with it.
    pub high: Bytes,
    /// Hits and misses.
    pub levels: HitMiss,
    /// Slow loads of footprints well below the change.
    pub spikes: Spikes,
    /// Slow loads of all footprints below the change.
    pub below: Spikes,
    /// Where the thesis' pipeline puts the change.
    pub change_point: Bytes,
    /// Statistic and critical value of the test that confirmed it.
    pub ks: (f64, f64),
    /// What the footprints about it showed.
    pub(super) sweep: Sweep,
}

/// Doubling, one round of sections, and the thesis' test.
///
/// # Errors
///
/// An unknown with a lower bound, if all loads hit up to the limit; without one, if hits and misses cannot be told apart.
pub fn rough(notebook: &Notebook, search: &Search) -> Result<Rough, Gap> {
    notebook.once(&notebook.memo.rough, *search, || {
        let sizes = search::doubling(search.start.0, search.limit.0);
        let doubling: Vec<Chase> = sizes
            .iter()
            .map(|&size| {
                let chase = search.chase(Bytes(size), search.sector, 0);
                Chase { timing: Timing::resident((chase.lap() as u32).min(DOUBLING_LOADS)), ..chase }
            })
            .collect();
        let measurements = notebook.read(&doubling)?;
        let (first, last) = (&measurements[0], &measurements[measurements.len() - 1]);
        let reference = reference(notebook, first)?;
        let larger: Vec<&[u32]> = measurements[1..].iter().map(Measurement::latencies).collect();
        let levels = HitMiss::learn(&reference, &larger).map_err(|unknown| {
            // No misses is a lower bound, misses that cannot be told from hits are none.
            let all_hit = larger.iter().all(|latencies| HitMiss::alike(&reference, latencies, larger.len()));
            if all_hit {
                Unknown::Beyond { bound: last.experiment.footprint, reason: unknown.reason() }
            } else {
                unknown
            }
        })?;
        let sizes: Vec<u64> = measurements.iter().map(|s| s.experiment.footprint.0).collect();
        let misses = std::iter::once(&reference[..]).chain(larger.iter().copied());
        let misses: Vec<(usize, usize)> = misses.map(|loads| (levels.misses(loads), loads.len())).collect();
        let Some(at) = first_changed(&misses) else {
            let reason = "misses stay rare up to this footprint".to_owned();
            // A cache behind another one is asked in steps smaller than its line, so that few loads miss even if all lines do.
            if last.latencies().len() > first.latencies().len()
                && levels.miss_share(last.latencies()) > levels.most_by_chance(first.latencies())
            {
                return Gap::unknown("a few loads miss, and more at the largest footprint than at the smallest: it is unclear where misses begin");
            }
            // Among few loads of the smallest footprint spikes may pass for its bulk, and misses for hits.
            if HitMiss::typically_slower(first.latencies(), last.latencies()) {
                return Gap::unknown(format!(
                    "most loads of {} take longer than those of {}, but spikes hide where misses begin",
                    last.experiment.footprint, first.experiment.footprint
                ));
            }
            return Err(Unknown::Beyond { bound: last.experiment.footprint, reason }.into());
        };
        if at == 0 {
            return Gap::unknown(format!(
                "less than {}: even the smallest footprint misses",
                first.experiment.footprint
            ));
        }
        let levels = levels.with_hits_of(measurements[..at].iter().map(Measurement::latencies));
        // The last footprint before the change may have its first misses already.
        let calm = &measurements[..(at - 1).max(1)];
        let spikes = Spikes::among(&counts(calm, &levels));
        let bracket = Bracket { low: sizes[at - 1], high: sizes[at] };
        // A quarter of an octave more on the lower side, so that the test's first distribution is filled.
        let wide = Bracket { low: bracket.low - bracket.low / 4, high: bracket.high };
        let sections: Vec<Chase> = search::sections(wide, search.sector.0, SECTIONS)
            .into_iter()
            .map(|size| search.chase(Bytes(size), search.sector, 0))
            .collect();
        let mut sweep = notebook.read(&sections)?;
        let tested = match test(&sweep) {
            // With the change at the very end of the bracket, it is the second one that lacks.
            Err(_) if bracket.high < search.limit.0 => {
                let beyond = Bracket { low: bracket.high, high: (bracket.high + bracket.high / 2).min(search.limit.0) };
                let sections = search::sections(beyond, search.sector.0, SECTIONS / 2).into_iter();
                let chases: Vec<Chase> = sections.map(|size| search.chase(Bytes(size), search.sector, 0)).collect();
                sweep.extend(notebook.read(&chases)?);
                test(&sweep)?
            }
            tested => tested?,
        };
        // Another cache may overflow in the same octave, and have hidden misses that cost less.
        let mut all: Vec<&Measurement<Chase>> = measurements.iter().chain(&sweep).collect();
        all.sort_by_key(|measurement| measurement.experiment.footprint);
        let larger: Vec<&[u32]> = all.into_iter().skip(1).map(Measurement::latencies).collect();
        // By all the hits that are known: the few loads of the smallest footprint may be closer together than hits are.
        let hits: Vec<u32> = calm.iter().flat_map(Measurement::latencies).copied().collect();
        let nearer = HitMiss::learn_frequent(&hits, &larger, OFTEN).ok();
        let cost = |levels: &HitMiss| levels.miss - levels.hit;
        let (levels, spikes) = match nearer.filter(|nearer| cost(nearer) < CHEAPER * cost(&levels)) {
            Some(nearer) => (nearer, Spikes::among(&counts(calm, &nearer))),
            None => (levels, spikes),
        };
        let Some(knee) = spikes::knee(&counts(&sweep, &levels), spikes) else {
            return Gap::unknown("misses do not grow with the footprint");
        };
        Ok(Rough {
            low: Bytes(knee.growth.last_flat),
            high: Bytes(knee.growth.first_grown),
            levels,
            spikes,
            below: knee.spikes,
            change_point: tested.0.footprint,
            ks: tested.1,
            sweep: Sweep::of(&sweep, |chase| chase.footprint),
        })
    })
}

/// The first of these doubled footprints, each with its misses and its loads, whose misses are no spikes: misses are several and
/// stay, a spike among a few loads does not.
fn first_changed(footprints: &[(usize, usize)]) -> Option<usize> {
    let changed = |&(misses, loads): &(usize, usize)| misses >= SEVERAL && misses as f64 > CHANGED * loads as f64;
    (0..footprints.len()).find(|&at| changed(&footprints[at]) && footprints.get(at + 1).is_none_or(changed))
}

/// Loads of the smallest footprint, all of which should hit. Of four loads one spike is a quarter, two are more than a twentieth of 32,
/// and either would pass for the time that hits may take: where some are apart from the others, the footprint is measured often
/// enough to tell. An older recording has that for four loads only.
fn reference(notebook: &Notebook, smallest: &Measurement<Chase>) -> Result<Vec<u32>, Gap> {
    let mut loads = smallest.latencies().to_vec();
    if HitMiss::few_and_apart(&loads) {
        let again: Vec<Chase> = repetitions(&smallest.experiment, AGAIN).collect();
        let again = notebook.read(&again).settled()?.unwrap_or_default();
        loads.extend(again.iter().flat_map(Measurement::latencies));
    }
    Ok(loads)
}

/// The thesis' chapter 3.3: reduce, estimate, test. Gives the last experiment before the change and the test's two numbers.
pub(super) fn test<E>(sweep: &[Measurement<E>]) -> Result<(&E, (f64, f64)), Unknown> {
    let vectors: Vec<&[u32]> = sweep.iter().map(Measurement::latencies).collect();
    let distances: Vec<f64> = reduction::reduce(&vectors).iter().map(|r| r.distance).collect();
    let Some(change) = change_point::change_point(&distances) else {
        return Err(Unknown::because("the latencies of all footprints are equal"));
    };
    let pooled = |measurements: &[Measurement<E>]| -> Vec<f64> {
        measurements.iter().flat_map(|s| s.latencies().iter().map(|&l| f64::from(l))).collect()
    };
    let test = ks::ks_test(&pooled(&sweep[..change.index]), &pooled(&sweep[change.index..]), ALPHA);
    if !test.distinct {
        return Err(Unknown::because(format!(
            "the Kolmogorov-Smirnov test rejects the change point (D = {:.3}, critical {:.3})",
            test.statistic, test.critical
        )));
    }
    Ok((&sweep[change.index - 1].experiment, (test.statistic, test.critical)))
}

/// The capacity over all allocations.
///
/// # Errors
///
/// An unknown, if [`rough`] finds none or no allocation's misses grow.
pub fn capacity(notebook: &Notebook, search: &Search) -> Result<Capacity, Gap> {
    notebook.once(&notebook.memo.capacity, *search, || {
        let rough = rough(notebook, search)?;
        let line = line::line_size(notebook, search, &rough).settled()?;
        // Coarse steps are lines: every line that is visited shows whether it was kept. Behind another cache no sector is
        // left out, so that nothing is kept there.
        let step = match &line {
            Ok(line) if search.before == 0 => (*line).max(search.sector),
            _ => search.sector,
        };
        let knees = allocations::enough(search.allocations, Edge::excludes, |allocation| {
            let edge = || edge::edge(notebook, search, &rough, step, allocation);
            notebook.once(&notebook.memo.edge, (*search, step, allocation), edge)
        });
        let stairs =
            notebook.once(&notebook.memo.stairs, (*search, step), || stairs::stairs(notebook, search, &rough, step));
        let (knees, stairs) = (knees?, stairs?);
        let by_allocation: Vec<Bytes> = knees.iter().map(|k| k.usable).collect();
        Ok(Capacity {
            usable: allocations::middle(&by_allocation),
            by_allocation,
            walked: knees.len(),
            lowest: knees.iter().map(|k| k.lowest).min().unwrap_or_default(),
            highest: knees.iter().map(|k| k.highest).max().unwrap_or_default(),
            conflicts: knees.iter().map(|k| k.base).collect(),
            stairs,
            levels: rough.levels,
            line,
            change_point: rough.change_point,
            ks: rough.ks,
            sweep: rough.sweep,
        })
    })
}

impl Capacity {
    /// As the finding `size`.
    pub fn size(&self, search: &Search) -> Finding<Bytes> {
        let low = self.lowest.0 as f64;
        let high = self.highest.0 as f64;
        let over = match self.by_allocation.len() {
            1 => "one allocation".to_owned(),
            count => format!("median and range of {count} allocations ({})", self.allocations()),
        };
        let method =
            format!("per-load chase by {}, nested footprints; {over}, step {} B", search.path, search.sector.0);
        let finding = Finding::measured(self.usable, method).range(low, high).note(format!(
            "change point at {}, confirmed by Kolmogorov-Smirnov (D = {:.3}, critical {:.3})",
            self.change_point, self.ks.0, self.ks.1
        ));
        self.sweep.on(finding)
    }

    /// Which usable capacities were found, and in how many allocations each.
    fn allocations(&self) -> String {
        let mut counts: BTreeMap<Bytes, usize> = BTreeMap::new();
        for &size in &self.by_allocation {
            *counts.entry(size).or_default() += 1;
        }
        let listed: Vec<String> = counts.iter().rev().map(|(size, count)| format!("{size} in {count}")).collect();
        listed.join(", ")
    }

    /// As the finding `conflicts`.
    pub fn conflicts(&self) -> Finding<f64> {
        let most = self.conflicts.iter().copied().fold(0.0, f64::max);
        let least = self.conflicts.iter().copied().fold(f64::MAX, f64::min).min(most);
        Finding::measured(
            robust::median(&self.conflicts).unwrap_or(0.0),
            "misses per lap below the usable capacity that do not grow with the footprint",
        )
        .unit("loads")
        .range(least, most)
    }
}
