//! The latency spectrum: the latency of a load for each combination of the level that has the data and the TLB level that has
//! the translation.
//!
//! Mei et al. (section 4.2, table 3) visit memory at non-uniform strides, so that one experiment holds every combination. Here
//! one chain does so by design. From a flushed L2 on, it goes over more pages than the second TLB holds, a new line in each,
//! then over the same lines again, then over groups of pages that the second TLB holds and the first does not; so it is known
//! of each visit what it meets, and the latencies of those that meet the same are one pattern. The same chain is walked past the
//! L1 (`.cg`) and through it (`.ca`).
//!
//! Lines of an L2 in partitions are at home in one of them at random, and what a far one takes more would pass for a miss of
//! translation. So the loads of the near partition count alone, where a pattern has two groups (`near.rs`).
//!
//! Assumes what the TLB probes found, and that old translations and lines give way before new ones. It would be refuted by a
//! pattern whose loads fall apart: the interval of each is from the 5th to the 95th hundredth of its loads.

mod consistent;
mod near;
mod visits;

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use self::consistent::Found;
use self::visits::{Known, Meets, Visit, visits};
use super::latency::{self, Setting};
use super::levels::HitMiss;
use super::{Gap, Notebook, Unknown, tlb};
use crate::analysis::robust;
use strata_model::attribute::{Data, Spectrum, SpectrumRow, Translation};
use strata_model::experiment::{Chase, LoadPath, Order, Place, Prepare, Timing, pages_span};
use strata_model::order;
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// Lines of one page are so far apart: no cache is known whose lines are longer.
const APART: Bytes = Bytes(256);
/// An element of the chain by `ld.global`.
const ELEMENT: Bytes = LoadPath::GlobalCa.element();
/// Lines of each page.
const LINES: usize = 5;
/// So much of the L2 there must be for each page: mostly four lines of at most 256 B, and half as much again to spare.
const L2_ROOM: Bytes = Bytes(1536);
/// Most pages of a chain: with ten visits to each, the recording of a chain stays below 100 KB.
const MOST_PAGES: u64 = 4096;
/// Fewer loads than this are no pattern.
const FEWEST: usize = 8;
/// Nor are those of which fewer than this share found the L1 as designed: an L1 may keep what was hit, or drop what is new.
const AS_DESIGNED: f64 = 0.5;

/// What must be known of an L1 that caches global loads.
#[derive(Clone, Copy, Debug)]
pub struct L1 {
    /// What it holds.
    pub size: Bytes,
    /// Lines that it holds.
    pub lines: u64,
    /// Its hits and misses.
    pub levels: HitMiss,
}

/// The chain, and what can be said of it.
#[derive(Clone, Debug)]
struct Trip {
    visits: Vec<Visit>,
    distance: Bytes,
    /// Levels of translation, but for one behind those of which the pages are known.
    levels: usize,
    /// Why some patterns are not in it.
    lacks: Vec<String>,
}

impl Trip {
    /// Memory over which its visits meet the levels of translation that are known.
    fn looked_at(&self) -> Bytes {
        let met = |visit: &&Visit| visit.past.is_some_and(|(_, missed)| missed <= self.levels);
        self.distance * self.visits.iter().filter(met).map(|visit| visit.page + 1).max().unwrap_or(0)
    }
}

fn trip(notebook: &Notebook, l1_lines: Option<u64>) -> Result<Trip, Gap> {
    let found = tlb::reaches(notebook)?;
    let plain: Vec<&tlb::Reach> = found.levels.iter().take_while(|r| r.page_known).take(2).collect();
    let Some(first) = plain.first() else {
        return Gap::unknown("no TLB level is known well enough to design hits and misses for it");
    };
    let distance = plain.iter().map(|r| r.distance).max().unwrap_or(first.distance);
    let limit = found.limit / distance;
    let third = found.levels.get(2).filter(|r| plain.len() == 2 && !r.page_known).map(|r| r.reach() / distance);
    let most = limit.min(Bytes(notebook.facts().l2_size) / L2_ROOM).min(MOST_PAGES);
    let known =
        Known { first: first.entries, second: plain.get(1).map(|r| r.entries), third, most, memory: limit, l1_lines };
    let mut lacks = Vec::new();
    let visits = visits(known, &mut lacks);
    if found.levels.len() > plain.len() && third.is_none() {
        lacks.push("misses of a further level (its page size is unknown)".into());
    } else if third.is_none() {
        lacks.push(format!(
            "a switch of page tables (up to {} no visit takes longer than a miss of the last TLB level)",
            found.reached
        ));
    }
    Ok(Trip { visits, distance, levels: known.levels(), lacks })
}

/// Byte offsets of the visits: lines at random places of their pages.
fn offsets(trip: &Trip, seed: u64) -> Vec<u64> {
    let places = (pages_span(trip.distance) / APART.0) as usize;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let pages = trip.visits.iter().map(|v| v.page).max().map_or(0, |page| page as usize + 1);
    let of_page: Vec<Vec<usize>> =
        (0..pages).map(|_| rand::seq::index::sample(&mut rng, places, LINES).into_vec()).collect();
    let start = |v: &Visit| v.page * trip.distance.0 + of_page[v.page as usize][v.line] as u64 * APART.0;
    order::revisits(trip.visits.iter().map(start), ELEMENT)
}

/// Number of the pattern in Mei et al., table 3, of which the data cache is the last that may have the data.
fn pattern((data, missed): Meets, levels: usize) -> Option<u32> {
    match (data, missed) {
        (Data::Memory, n) if n > levels => Some(6),
        (Data::Memory, 0) => Some(4),
        (Data::Memory, n) if n == levels => Some(5),
        (Data::Memory, _) => None,
        (_, 0) => Some(1),
        (_, n) if n == levels && levels > 1 => Some(3),
        (_, _) => Some(2),
    }
}

/// As the finding `spectrum`. `l1` is the L1, if global loads are cached there.
///
/// # Errors
///
/// An unknown, if translation is not known, or a failure.
pub fn spectrum(notebook: &Notebook, l1: Result<Option<L1>, Unknown>) -> Result<Finding<Spectrum>, Gap> {
    let (l1, unknown) = match l1 {
        Ok(l1) => (l1, None),
        Err(unknown) => (None, Some(unknown.reason())),
    };
    let mut trip = trip(notebook, l1.map(|l1| l1.lines))?;
    trip.lacks.extend(unknown.map(|reason| format!("all patterns through the L1 ({reason})")));
    let offsets = offsets(&trip, notebook.seed(22));
    let paths: &[LoadPath] =
        if l1.is_some() { &[LoadPath::GlobalCg, LoadPath::GlobalCa] } else { &[LoadPath::GlobalCg] };
    let footprint = Bytes(offsets.iter().max().map_or(0, |o| o + ELEMENT.0));
    let wanted: Vec<Chase> = paths
        .iter()
        .map(|&path| Chase {
            timing: Timing::straight(offsets.len() as u32),
            order: Order::Listed { offsets: offsets.clone() },
            warm_laps: 0,
            prepare: Prepare::FlushL2,
            place: Place::alone_on(0),
            ..Chase::each_load(path, footprint, ELEMENT)
        })
        .collect();
    let measurements = notebook.read(&wanted)?;
    let partitions = near::partitions(notebook)?;
    let (mut rows, mut conditioned) = (Vec::new(), false);
    // Near and far loads of the same data part alike by both paths.
    let mut limits: BTreeMap<Data, near::Limit> = BTreeMap::new();
    for (&path, measurement) in paths.iter().zip(&measurements) {
        let through = l1.filter(|_| path == LoadPath::GlobalCa);
        let small = Setting::small(path);
        let overhead = latency::overhead(notebook, &through.map_or(small, |l1| small.within(l1.size)))?;
        let mut patterns: BTreeMap<Meets, (Vec<f64>, usize)> = BTreeMap::new();
        let mut translated = None;
        for (visit, &latency) in trip.visits.iter().zip(measurement.latencies()) {
            // What the L1 has need not be translated, so the next visit to the page may be the first that is.
            let was_translated = translated == Some(visit.page);
            if through.is_none_or(|l1| l1.levels.is_miss(latency)) {
                translated = Some(visit.page);
            } else if !was_translated {
                translated = None;
            }
            let meets = if through.is_some() { visit.through } else { visit.past };
            if let Some(meets) = meets.filter(|m| m.1 > 0 || m.0 == Data::L1 || was_translated) {
                let (values, others) = patterns.entry(meets).or_default();
                let otherwise = through.is_some_and(|l1| l1.levels.is_miss(latency) == (meets.0 == Data::L1));
                if otherwise { *others += 1 } else { values.push(f64::from(latency) - overhead) }
            }
        }
        let mut last = f64::INFINITY;
        for (meets, (values, others)) in patterns {
            let fewer =
                rows.last().map(|found: &Found| &found.row).filter(|row| row.path == path && row.data == meets.0);
            let before = limits.get(&meets.0).copied();
            let near::Near { values, less, chance, limit } = near::only(values, partitions, before);
            if before.is_some() && limit.is_none() {
                trip.lacks
                    .push(format!("misses of level {} of translation (near and far loads do not separate)", meets.1));
                continue;
            }
            limits.extend(limit.map(|limit| (meets.0, limit)));
            let all = values.len() + others;
            let values = consistent::own(values, fewer.filter(|_| meets.1 <= trip.levels));
            if values.len() < FEWEST || (values.len() as f64) < AS_DESIGNED * all as f64 {
                let (design, not) = if meets.0 == Data::L1 { ("hit", "miss") } else { ("miss", "hit") };
                trip.lacks.push(match others {
                    0 => format!("misses of level {} of translation ({} of {all} met it)", meets.1, values.len()),
                    _ => format!("lines designed to {design} the L1 ({others} of {all} {not} it)"),
                });
                continue;
            }
            let at = |q| robust::tenths(robust::quantile(&values, q).unwrap_or_default());
            // To and fro misses a level of one entry; one of several would hold both ends.
            if meets.1 > trip.levels && at(0.05) <= last {
                trip.lacks.push("a miss of the third level (alternating across its reach costs no more)".into());
                continue;
            }
            last = at(0.5);
            conditioned |= less > 0.0;
            let row = SpectrumRow {
                path,
                pattern: pattern(meets, trip.levels),
                data: meets.0,
                translation: if meets.1 == 0 { Translation::Hit } else { Translation::Miss(meets.1 as u32) },
                cycles: at(0.5),
                low: Some(at(0.05)),
                high: Some(at(0.95)),
                loads: Some(values.len() as u64),
            };
            rows.push(Found { row, less, chance });
        }
    }
    let (rows, contradicted) = consistent::Known::of(notebook, trip.looked_at())?.agreeing(&rows);
    trip.lacks.extend(contradicted);
    if rows.is_empty() {
        return Gap::unknown(format!("no pattern was met as designed: {}", trip.lacks.join("; ")));
    }
    let method = format!(
        "one cold chain of {} loads after an L2 flush, which may leave what a cache behind the L2 holds; designed to contain every \
         combination",
        offsets.len()
    );
    let finding = Finding::measured(Spectrum(rows), method).unit("cycles");
    let near = conditioned
        .then(|| "of loads that go to a far partition of the L2 as well, only those to the near one count".to_owned());
    let missing = (!trip.lacks.is_empty()).then(|| format!("missing: {}", trip.lacks.join("; ")));
    Ok([near, missing].into_iter().flatten().fold(finding, |finding, note| finding.note(note)))
}
