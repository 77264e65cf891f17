//! The latency spectrum: the latency of a load for each combination of the level that has the data and the TLB level that has
//! the translation.
//!
//! Mei et al. (section 4.2, table 3) visit memory at non-uniform strides, so that one experiment holds every combination. Here
//! one chain does so by design. From a flushed L2 on, it goes over more pages than the second TLB holds, a new line in each,
//! then over the same lines again, then over groups of pages that the second TLB holds and the first does not; so it is known
//! of each visit what it meets, and the latencies of those that meet the same are one pattern. The same chain is walked past the
//! L1 (`.cg`) and through it (`.ca`).
//!
//! Assumes what the TLB probes found, and that old translations and lines give way before new ones. It would be refuted by a
//! pattern whose loads fall apart: the interval of each is from the 5th to the 95th hundredth of its loads.

mod consistent;

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

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
/// As many pages beyond what a TLB holds are enough for none to be held from lap to lap, where its sets fill evenly.
const BEYOND: (u64, u64) = (6, 5);
/// A group is so many times the first TLB, so that none of it is held there from lap to lap.
const GROUP: u64 = 4;
/// Most groups of pages.
const MOST_GROUPS: u64 = 16;
/// A line has left the L1 after this many halves of its lines; it is there still after so many that a third of them fit.
const LEFT_HALVES: u64 = 3;
const HELD_THIRDS: u64 = 3;
/// Lines of each page that are loaded between two loads of one, in a group.
const LOADED_BETWEEN: u64 = 3;
/// Fewer loads than this are no pattern.
const FEWEST: usize = 8;
/// Nor are those of which fewer than this share found the L1 as designed: an L1 may keep what was hit, or drop what is new.
const AS_DESIGNED: f64 = 0.5;

/// What must be known of an L1 that caches global loads.
#[derive(Clone, Copy, Debug)]
pub struct L1 {
    /// Lines that it holds.
    pub lines: u64,
    /// Its hits and misses.
    pub levels: HitMiss,
}

/// What has the data, and how many levels of translation miss.
type Meets = (Data, usize);

/// One load of the chain: where, and what it meets past the L1 and through it, if that is certain.
#[derive(Clone, Copy, Debug)]
struct Visit {
    page: u64,
    line: usize,
    past: Option<Meets>,
    through: Option<Meets>,
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

/// What is known of translation and of the L1, in pages and lines.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Pages that the first TLB holds.
    first: u64,
    /// Pages that the second holds, if there is one.
    second: Option<u64>,
    /// Pages behind which a third level begins to miss, if there is one.
    third: Option<u64>,
    /// Most pages that may be visited.
    most: u64,
    /// Pages that may be among them.
    memory: u64,
    /// Lines of the L1, if global loads are cached there.
    l1_lines: Option<u64>,
}

impl Known {
    fn levels(self) -> usize {
        1 + usize::from(self.second.is_some())
    }

    /// Pages of which a lap misses every level but the third.
    fn enough(self) -> u64 {
        let held = self.second.unwrap_or(self.first);
        held * BEYOND.0 / BEYOND.1 + 2
    }
}

/// The visits, in order.
fn visits(known: Known, lacks: &mut Vec<String>) -> Vec<Visit> {
    let all = known.levels();
    let lines = known.l1_lines.unwrap_or(0);
    // Between two laps over the pages two lines of each are loaded.
    let to_leave_l1 = (LEFT_HALVES * lines).div_ceil(4);
    let wanted = if to_leave_l1 <= known.most { to_leave_l1.max(2 * known.enough()) } else { 2 * known.enough() };
    let pages = wanted.min(known.most);
    let overflows = pages >= known.enough();
    if !overflows {
        lacks.push(format!("pages that no TLB level holds ({} are needed, {pages} can be visited)", known.enough()));
    }
    let leaves_l1 = pages >= to_leave_l1;
    if !leaves_l1 && known.l1_lines.is_some() {
        lacks.push(format!(
            "lines evicted from an L1 of {lines} lines (two lines of each of {pages} pages are too few)"
        ));
    }
    let missed = |data| overflows.then_some((data, all));
    // What the L1 still has need not be translated, so that nothing is certain of later visits to its page.
    let if_left = |meets: Option<Meets>| meets.filter(|_| leaves_l1);
    let mut visits = Vec::new();
    let mut visit = |page, line, past, through| visits.push(Visit { page, line, past, through });
    let new = |levels| (Data::Memory, levels);
    for page in 0..pages {
        visit(page, 0, missed(Data::Memory), missed(Data::Memory));
        visit(page, 1, Some(new(0)), Some(new(0)));
    }
    for page in 0..pages {
        visit(page, 0, missed(Data::L2), if_left(missed(Data::L2)));
        visit(page, 0, Some((Data::L2, 0)), Some((Data::L1, 0)));
        visit(page, 1, Some((Data::L2, 0)), if_left(Some((Data::L2, 0))));
    }
    let group = (GROUP * known.first).min(known.second.map_or(u64::MAX, |s| s / 2)).min(pages);
    if group * BEYOND.1 < known.first * BEYOND.0 {
        lacks.push("pages that only the second level holds (it is hardly larger than the first)".into());
    } else {
        for first in (0..(pages / group).min(MOST_GROUPS)).map(|g| g * group) {
            let pages = first..first + group;
            let one = |data| Some((data, 1));
            // A line that no cache has, so that it is translated by any path.
            pages.clone().for_each(|page| visit(page, 4, missed(Data::Memory), if_left(missed(Data::Memory))));
            pages.clone().for_each(|page| visit(page, 2, one(Data::Memory), if_left(one(Data::Memory))));
            pages.clone().for_each(|page| visit(page, 1, one(Data::L2), if_left(one(Data::L2))));
            let held = HELD_THIRDS * LOADED_BETWEEN * group <= lines;
            pages.clone().for_each(|page| visit(page, 2, one(Data::L2), if_left(one(Data::L1).filter(|_| held))));
        }
    }
    if let Some(reach) = known.third {
        // To and fro between two parts, over pages that were not among the last.
        let (each, beyond) = (known.enough().div_ceil(2).min(reach), reach.max(pages));
        if beyond + each <= known.memory {
            for page in 0..each {
                visit(page, 3, Some(new(all + 1)), Some(new(all + 1)));
                visit(beyond + page, 3, Some(new(all + 1)), Some(new(all + 1)));
            }
        } else {
            lacks.push(format!("pages that the third level does not hold ({} are needed)", beyond + each));
        }
    }
    visits
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
    let mut rows = Vec::new();
    for (&path, measurement) in paths.iter().zip(&measurements) {
        let overhead = latency::overhead(notebook, &Setting::small(path))?;
        let through = l1.filter(|_| path == LoadPath::GlobalCa);
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
            let all = values.len() + others;
            let fewer = rows.last().filter(|row: &&SpectrumRow| row.path == path && row.data == meets.0);
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
            rows.push(SpectrumRow {
                path,
                pattern: pattern(meets, trip.levels),
                data: meets.0,
                translation: if meets.1 == 0 { Translation::Hit } else { Translation::Miss(meets.1 as u32) },
                cycles: at(0.5),
                low: Some(at(0.05)),
                high: Some(at(0.95)),
                loads: Some(values.len() as u64),
            });
        }
    }
    let (rows, contradicted) = consistent::Known::of(notebook)?.agreeing(rows);
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
    Ok(if trip.lacks.is_empty() { finding } else { finding.note(format!("missing: {}", trip.lacks.join("; "))) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Caches of whole lines and pages in which the oldest gives way.
    struct Held {
        room: usize,
        held: Vec<u64>,
    }

    impl Held {
        fn new(room: u64) -> Self {
            Held { room: room as usize, held: Vec::new() }
        }

        fn meets(&mut self, what: u64) -> bool {
            let place = self.held.iter().position(|&h| h == what);
            place.map(|p| self.held.remove(p));
            self.held.push(what);
            if self.held.len() > self.room {
                self.held.remove(0);
            }
            place.is_some()
        }
    }

    #[test]
    fn every_visit_meets_what_it_is_said_to() {
        for (second, third, l1_lines) in
            [(Some(65), Some(256), Some(384)), (Some(65), None, None), (None, None, Some(60))]
        {
            let known = Known { first: 16, second, third, most: 448, memory: 600, l1_lines };
            let mut lacks = Vec::new();
            let visits = visits(known, &mut lacks);
            assert_eq!(lacks, Vec::<String>::new());
            let mut tlbs = vec![Held::new(16)];
            tlbs.extend(second.map(Held::new));
            let mut window = third.map(|_| Held::new(1));
            let mut l2 = Held::new(u64::from(u32::MAX));
            let mut l1 = Held::new(l1_lines.unwrap_or(0));
            let mut patterns = std::collections::BTreeSet::new();
            for v in &visits {
                let line = v.page * LINES as u64 + v.line as u64;
                let in_l2 = l2.meets(line);
                let in_l1 = l1_lines.is_some() && l1.meets(line);
                let mut missed = tlbs.iter_mut().map(|t| t.meets(v.page)).take_while(|hit| !hit).count();
                if let (true, Some(window), Some(size)) = (missed == tlbs.len(), &mut window, third) {
                    // The first visit of a part of the table is none of the other levels' misses.
                    missed += usize::from(!window.meets(v.page / size)) * usize::from(v.line == 3);
                }
                let past = (if in_l2 { Data::L2 } else { Data::Memory }, missed);
                let through = (if in_l1 { Data::L1 } else { past.0 }, missed);
                assert!(v.past.is_none_or(|said| said == past), "{v:?}: {past:?}");
                if l1_lines.is_some() {
                    assert!(v.through.is_none_or(|said| said == through), "{v:?}: {through:?}");
                }
                patterns.extend(v.past.and_then(|meets| pattern(meets, tlbs.len())));
            }
            let all: &[u32] = match (second, third) {
                (Some(_), Some(_)) => &[1, 2, 3, 4, 5, 6],
                (Some(_), None) => &[1, 2, 3, 4, 5],
                _ => &[1, 2, 4, 5],
            };
            assert_eq!(patterns.into_iter().collect::<Vec<_>>(), all);
        }
    }

    #[test]
    fn what_cannot_be_met_is_said() {
        let known = Known { first: 16, second: Some(400), third: None, most: 100, memory: 100, l1_lines: Some(2000) };
        let mut lacks = Vec::new();
        let visits = visits(known, &mut lacks);
        assert_eq!(lacks.len(), 2, "{lacks:?}");
        assert!(visits.iter().all(|v| v.past.is_none_or(|(_, missed)| missed < 2)));
    }
}
