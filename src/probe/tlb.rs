//! Address translation: levels of TLBs, what they reach, how much one entry maps, what a miss costs.
//!
//! One line a page is visited, and two of its elements in a row: the first load needs the page's translation, the second
//! finds it done and the line where the first found it, so that their difference is what translating took ([`Order::Pages`]).
//! The L2, with its near and far halves and its physical addresses, is so out of the picture, and no page need be mapped
//! twice. Lines are few enough to stay in the L2, at changing offsets, loaded by `.cg` so that no L1 answers (Mei et al.,
//! section 4.2, who visit pages at one stride and let the data cache overflow as well).
//!
//! Footprints grow up to what the device has free; where the mean difference steps up, a level has overflowed
//! ([`crate::analysis::plateau`]). The page of a level's entries is the largest distance at which no more fits than at
//! shorter ones; at that distance the reach is counted entry by entry.
//!
//! Fails where two levels overflow within a factor of one and a half, or where a level holds more than 8192 entries.

use std::collections::BTreeSet;

use super::levels::HitMiss;
use super::{Gap, Notebook, Sheet, structure};
use crate::analysis::overflow::{Footprint, Sets};
use crate::analysis::plateau::{self, Point};
use crate::analysis::robust;
use crate::experiment::{Experiment, Kernel, LoadPath, Order, Walk};
use crate::topology::{Element, Finding};
use crate::units::{Bytes, KIB, MIB};

/// Distance of the pages visited while levels are looked for: the driver's large page.
const LARGE_PAGE: Bytes = Bytes(2 * MIB);
/// The same where large pages turn out to be more than one entry: the smallest page of GPUs since Pascal but for 4 KiB.
const SMALL_PAGE: Bytes = Bytes(64 * KIB);
/// Visited lines are so far apart: the largest line of an L2 known.
const LINE: Bytes = Bytes(128);
/// Laps of which the median counts, so that a refresh is no miss.
const LAPS: u32 = 4;
/// The same of walks longer than this, which take long and average over many pages.
const FEW_LAPS: (u64, u32) = (512, 2);
/// Pages of which two laps fit the window of a chase by `.cg`.
const ONE_WINDOW: u64 = 2048;
/// Most pages of one walk: their lines, of 128 B, must stay in the L2 with room to spare.
const MOST_PAGES: u64 = 1 << 16;
/// Most entries of a level: four times those of the largest known (2048 on an H200).
const MOST_ENTRIES: u64 = 8192;
/// Part of the free memory that may be walked.
const FREE_SHARE: (u64, u64) = (7, 8);
/// Share of a level's pages that must miss before an overflow is believed in where single misses cannot be told: visits to
/// a few pages differ in the mean by as much as a tenth of a miss.
const BELIEVED: f64 = 0.5;
/// Share that misses of one page too many where all entries are one set.
const SHARP: f64 = 0.85;
/// Share that misses of one and a half times as many pages as fit: twice as far from none as from all.
const SMALLER_PAGES: f64 = 0.33;
/// Share of loads that miss whatever the page: more is no chance.
const CHANCE: f64 = 0.02;
/// Standard deviations of a count that are no chance.
const SIGNIFICANT: f64 = 4.0;
/// At a distance of one and a half or two entries, one and a half or two times the footprint fits; less is chance.
const FITS_MORE: f64 = 1.25;
/// Longer walks watched for sets: so many entries beyond the reach.
const MOST_STEPS: u64 = 160;
/// Visits timed of all of these together, so that a recording stays small.
const MOST_VISITS: u64 = 300_000;

fn walk(notebook: &Notebook, distance: Bytes, pages: u64, shuffled: bool) -> Experiment {
    let laps = if pages > FEW_LAPS.0 { FEW_LAPS.1 } else { LAPS };
    let order = Order::Pages { granule: LINE, shuffled };
    let chase =
        Experiment { order, ..Experiment::chase(Kernel::PerLoad, LoadPath::GlobalCg, distance * pages, distance) };
    let lap = chase.lap() as u32;
    Experiment {
        warm_laps: 2,
        timed_loads: laps * lap,
        // Writing out the window of a long walk touches a page or two of thousands.
        walk: if pages > ONE_WINDOW { Walk::Straight } else { Walk::Resident },
        alone: true,
        sm: Some(0),
        seed: notebook.seed(20),
        ..chase
    }
}

/// Of each visit to a page, lap by lap, what the first load took longer than the second.
fn extras(sheet: &Sheet) -> Vec<Vec<f64>> {
    let lap = sheet.experiment.lap() as usize;
    let visits = |lap: &[u32]| lap.chunks_exact(2).map(|pair| f64::from(pair[0]) - f64::from(pair[1])).collect();
    sheet.latencies().chunks_exact(lap).map(visits).collect()
}

/// The median over laps of what each page's translation took.
fn typical(sheet: &Sheet) -> Vec<f64> {
    let laps = extras(sheet);
    let pages = laps.first().map_or(0, Vec::len);
    let mut of_page = Vec::with_capacity(laps.len());
    (0..pages)
        .map(|page| {
            of_page.clear();
            of_page.extend(laps.iter().map(|lap| lap[page]));
            of_page.sort_unstable_by(f64::total_cmp);
            // Of an even number the lower: a spike must not count by half.
            of_page[(of_page.len() - 1) / 2]
        })
        .collect()
}

/// As whole cycles that cannot be negative, for the clustering of latencies.
fn as_latencies(extras: &[f64]) -> Vec<u32> {
    extras.iter().map(|&x| (x + ZERO).max(0.0).round() as u32).collect()
}

/// What stands for no extra cycles in [`as_latencies`]: second loads may take a little longer than first ones.
const ZERO: f64 = 64.0;

fn point(sheet: &Sheet) -> Point {
    let typical = typical(sheet);
    let mean = robust::mean(&typical);
    let variance = typical.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / typical.len().max(1) as f64;
    // A difference of two clock readings is known to a cycle at best.
    let error = variance.sqrt().max(1.0) / (typical.len().max(1) as f64).sqrt();
    Point { at: sheet.experiment.footprint.0, mean, error }
}

/// One level as the curve over footprints shows it.
#[derive(Clone, Debug)]
struct Rise {
    /// Distance of the pages walked.
    distance: Bytes,
    /// Footprints of the last point below and the first above.
    flat: u64,
    grown: u64,
    below: f64,
    above: Option<f64>,
    error: f64,
    /// Where single misses can be told.
    classes: Option<HitMiss>,
}

/// The steps of the curve over footprints.
fn rises(notebook: &Notebook) -> Result<Vec<Rise>, Gap> {
    notebook.once("tlb rises", || {
        let large = rises_by(notebook, LARGE_PAGE)?;
        let Some(first) = large.first() else { return Ok(large) };
        // Half as far apart, three quarters of the reach fit, unless an entry maps less than a large page.
        let half = LARGE_PAGE / 2;
        let pages = (first.flat * 3 / 4 / half.0).max(1);
        let sheets = notebook.read(&[walk(notebook, half, pages, true)])?;
        if first.share(&sheets[0]) > SMALLER_PAGES { rises_by(notebook, SMALL_PAGE) } else { Ok(large) }
    })
}

/// Largest footprint walked.
fn limit(notebook: &Notebook) -> Bytes {
    Bytes(notebook.facts().free_memory / FREE_SHARE.1 * FREE_SHARE.0)
}

fn rises_by(notebook: &Notebook, distance: Bytes) -> Result<Vec<Rise>, Gap> {
    let most = (limit(notebook) / distance).min(MOST_PAGES);
    if most < 4 {
        return Gap::unknown(format!("{} are too little memory to walk page by page", limit(notebook)));
    }
    // The largest first, so that one allocation serves all.
    let mut counts: Vec<u64> = vec![most];
    let mut power = 4;
    while power < most {
        counts.extend([power, power + power / 2].into_iter().filter(|&n| n < most));
        power *= 2;
    }
    let chases: Vec<Experiment> = counts.iter().map(|&n| walk(notebook, distance, n, true)).collect();
    let mut sheets = notebook.read(&chases)?;
    sheets.sort_by_key(|s| s.experiment.footprint);
    let points: Vec<Point> = sheets.iter().map(point).collect();
    Ok(plateau::steps(&points)
        .into_iter()
        .map(|step| {
            let reference = as_latencies(&typical(&sheets[step.flat]));
            let larger: Vec<Vec<u32>> = sheets[step.grown..].iter().map(|s| as_latencies(&typical(s))).collect();
            let larger: Vec<&[u32]> = larger.iter().map(Vec::as_slice).collect();
            Rise {
                distance,
                flat: points[step.flat].at,
                grown: points[step.grown].at,
                below: step.below,
                above: step.above.filter(|_| step.settled.is_some()),
                error: points[step.flat].error.hypot(points[step.grown].error),
                classes: HitMiss::learn(&reference, &larger).ok(),
            }
        })
        .collect())
}

impl Rise {
    /// Pages that miss this level, if single misses can be told: those that do in most laps.
    fn missed(&self, sheet: &Sheet) -> Option<BTreeSet<usize>> {
        let classes = self.classes?;
        let missed = as_latencies(&typical(sheet)).into_iter().enumerate().filter(|&(_, x)| classes.is_miss(x));
        Some(missed.map(|(page, _)| page).collect())
    }

    /// Share of visits that miss this level.
    fn share(&self, sheet: &Sheet) -> f64 {
        match (self.classes, self.above) {
            (Some(classes), _) => {
                let all: Vec<f64> = extras(sheet).concat();
                classes.miss_share(&as_latencies(&all))
            }
            (None, Some(above)) => ((point(sheet).mean - self.below) / (above - self.below)).clamp(0.0, 1.0),
            (None, None) => 0.0,
        }
    }

    /// Whether the pages walked are more than fit.
    fn overflows(&self, sheet: &Sheet) -> bool {
        match self.missed(sheet) {
            Some(missed) => {
                let visits = (sheet.latencies().len() / 2) as f64;
                let chance = CHANCE * visits;
                !missed.is_empty() || self.share(sheet) * visits > chance + SIGNIFICANT * chance.sqrt()
            }
            None => self.share(sheet) > BELIEVED,
        }
    }
}

/// What is known of one level.
#[derive(Clone, Debug)]
struct Level {
    rise: Rise,
    /// What one entry maps.
    page: Bytes,
    /// Entries that fit at that distance.
    entries: u64,
    /// Pages of the walks from the reach on, and the share of visits that miss.
    curve: Vec<(u64, f64)>,
    /// What a visit costs where every page misses, less one where none does, and how far off that may be.
    every_miss: Option<(f64, f64)>,
    /// Sets, or why they are not known.
    sets: Result<Sets, Gap>,
}

/// For each of these distances, how many pages fit, and whether one more does not: more may not have been tried.
fn fits(notebook: &Notebook, rise: &Rise, distances: &[Bytes]) -> Result<Vec<(u64, bool)>, Gap> {
    let most = |distance: Bytes| (limit(notebook) / distance).min(2 * (rise.grown / rise.distance.0)).min(MOST_ENTRIES);
    let mut brackets: Vec<(u64, u64)> = distances.iter().map(|&d| (1, most(d) + 1)).collect();
    loop {
        let open: Vec<usize> = (0..brackets.len()).filter(|&i| brackets[i].1 - brackets[i].0 > 1).collect();
        if open.is_empty() {
            let tried = |i: usize| brackets[i].1 <= most(distances[i]);
            return Ok((0..brackets.len()).map(|i| (brackets[i].0, tried(i))).collect());
        }
        let middles: Vec<u64> = open.iter().map(|&i| brackets[i].0.midpoint(brackets[i].1)).collect();
        let chases: Vec<Experiment> =
            open.iter().zip(&middles).map(|(&i, &pages)| walk(notebook, distances[i], pages, false)).collect();
        let sheets = notebook.read(&chases)?;
        for ((&i, &at), sheet) in open.iter().zip(&middles).zip(&sheets) {
            if rise.overflows(sheet) { brackets[i].1 = at } else { brackets[i].0 = at }
        }
    }
}

fn level(notebook: &Notebook, number: usize) -> Result<Level, Gap> {
    notebook.once(&format!("tlb level {number}"), || {
        let rises = rises(notebook)?;
        let Some(rise) = rises.get(number).cloned() else {
            let reached = limit(notebook);
            return Gap::unknown(match number {
                0 => format!("no visit to a page of up to {reached} takes longer than the next to the same line"),
                _ => format!("up to {reached} translating takes no longer than a miss of the level before"),
            });
        };
        if rise.classes.is_none() && rise.above.is_none() {
            return Gap::unknown(format!(
                "translating takes longer from {} on, but up to {} no plateau is reached",
                Bytes(rise.grown),
                limit(notebook)
            ));
        }
        let shortest = Bytes((rise.grown / MOST_ENTRIES).next_power_of_two()).max(rise.distance);
        let longest = Bytes(rise.grown.min(limit(notebook).0 / 4));
        let powers: Vec<Bytes> =
            std::iter::successors(Some(shortest), |d| Some(*d * 2)).take_while(|&d| d <= longest).collect();
        let distances: Vec<Bytes> = powers.iter().flat_map(|&d| [d, d + d / 2]).collect();
        let counts = fits(notebook, &rise, &distances)?;
        let reach = |i: usize| (distances[i] * counts[i].0).0 as f64;
        // Where pages one and a half or two times as far apart fit over a longer stretch, some entries lie between them.
        let page = (0..powers.len()).filter(|i| counts[2 * i].1).find(|i| {
            let here = reach(2 * i);
            reach(2 * i + 1) >= FITS_MORE * here || distances.len() > 2 * i + 2 && reach(2 * i + 2) >= FITS_MORE * here
        });
        let Some(index) = page else {
            return Gap::unknown(format!(
                "pages of {shortest} to {longest} fit over the same footprint, as if none were apart"
            ));
        };
        let (page, entries) = (powers[index], counts[2 * index].0);
        let most = (limit(notebook) / page)
            .min(entries + MOST_STEPS)
            .min(entries + MOST_VISITS / (u64::from(FEW_LAPS.1) * entries.max(1)));
        let chases: Vec<Experiment> = (entries..=most).map(|n| walk(notebook, page, n, false)).collect();
        let sheets = notebook.read(&chases)?;
        let curve = sheets.iter().map(|s| (s.experiment.footprint.0, rise.share(s))).collect();
        let missing: Vec<Point> = sheets.iter().skip(1).filter(|s| rise.share(s) > SHARP).map(point).collect();
        let every_miss = robust::median(&missing.iter().map(|p| p.mean).collect::<Vec<_>>())
            .map(|cost| (cost - rise.below, missing[0].error.hypot(rise.error)));
        let footprints: Option<Vec<Footprint>> = sheets
            .iter()
            .map(|s| Some(Footprint { lines: s.experiment.lap() as usize / 2, missed: rise.missed(s)? }))
            .collect();
        let sets = match footprints {
            Some(footprints) => Sets::reveal(&footprints)
                .map_err(|unclear| Gap::Unknown(structure::why_unclear(&unclear, footprints[0].lines))),
            None => Gap::unknown(
                "a single miss costs less than visits differ by, so that it cannot be told which pages miss",
            ),
        };
        Ok(Level { rise, page, entries, curve, every_miss, sets })
    })
}

const METHOD: &str = "visits to one line a page, second load of a line taken off the first, by ld.global.cg";

impl Level {
    fn reach(&self) -> Finding {
        let step = self.page.0 as f64;
        let reach = self.page * self.entries;
        // Where single misses cannot be told, so many may go unseen.
        // Where single misses cannot be told, so many may go unseen, unless one page more makes nearly all miss.
        let sharp = self.curve.get(1).is_some_and(|c| c.1 > SHARP);
        let unseen =
            if self.rise.classes.is_some() || sharp { 0.0 } else { (BELIEVED * self.entries as f64).floor() * step };
        Finding::measured(reach.0, METHOD)
            .unit("B")
            .range(reach.0 as f64 - unseen, reach.0 as f64)
            .note(format!("{} pages {} apart fit, one more does not", self.entries, self.page))
    }

    fn entries(&self) -> Finding {
        let ways = self.sets.as_ref().ok().filter(|s| s.complete).map(|s| s.ways().iter().sum::<usize>());
        match ways {
            Some(sum) => Finding::measured(sum, METHOD).unit("entries").range(sum as f64, sum as f64),
            None => Finding::measured(self.entries, METHOD)
                .unit("entries")
                .at_least(self.entries as f64)
                .note("those that fit before the first gives way; sets that were not full may hold more"),
        }
    }

    fn page(&self) -> Finding {
        Finding::measured(self.page.0, "largest distance of pages at which no longer stretch fits than at shorter ones")
            .unit("B")
            .range(self.page.0 as f64, self.page.0 as f64)
    }

    /// Largest footprint walked page by page.
    fn largest(&self) -> Bytes {
        Bytes(self.curve.last().map_or(0, |c| c.0))
    }

    fn penalty(&self) -> Finding {
        let (penalty, error) = match (self.rise.classes, self.every_miss, self.rise.above) {
            (Some(classes), _, _) => (classes.miss - classes.hit, classes.spread),
            (None, Some((cost, error)), _) => (cost, 2.0 * error),
            (None, None, Some(above)) => (above - self.rise.below, 2.0 * self.rise.error),
            (None, None, None) => (0.0, f64::INFINITY),
        };
        let round = |x: f64| (x * 10.0).round() / 10.0;
        Finding::measured(round(penalty), METHOD)
            .unit("cycles")
            .range(round(penalty - error), round(penalty + error))
            .note("above a hit in this level, the data in the L2")
    }

    fn staircase(&self) -> Finding {
        let rows: Vec<serde_json::Value> =
            self.curve.iter().map(|&(size, share)| serde_json::json!([size, (share * 1e4).round() / 1e4])).collect();
        Finding::measured(rows, "footprint in bytes, share of visits that miss; pages in ascending order")
    }
}

/// Everything that is asked of one level, from 0.
pub fn element(notebook: &Notebook, number: usize) -> Element {
    let level = || level(notebook, number);
    let sets = || level()?.sets;
    Element {
        reach: notebook.attribute(|| Ok(level()?.reach())),
        entries: notebook.attribute(|| Ok(level()?.entries())),
        page_size: notebook.attribute(|| Ok(level()?.page())),
        miss_penalty: notebook.attribute(|| Ok(level()?.penalty())),
        staircase: notebook.attribute(|| Ok(level()?.staircase())),
        sets: notebook.attribute(|| Ok(structure::sets_finding(&sets()?, level()?.largest(), METHOD))),
        ways: notebook.attribute(|| Ok(structure::ways_finding(&sets()?, METHOD).unit("entries"))),
        ..Element::default()
    }
}
