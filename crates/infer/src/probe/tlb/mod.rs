//! Address translation: the TLB levels, their reach, the page size of an entry, the cost of a miss.
//!
//! Footprints grow up to what the device has free (`curve`); where visits to pages become dearer, a level has overflowed. The
//! page of a level's entries is the largest distance at which no more fits than at shorter ones; at that distance the reach is
//! counted entry by entry.
//!
//! Fails where two levels overflow within a factor of one and a half, or where a level holds more than 8192 entries.

mod curve;
mod domains;
mod findings;
mod pages;
mod rise;
mod visits;
mod windows;

use super::{Gap, Measurement, Notebook, Settle, Unknown, structure};
use crate::analysis::band;
use crate::analysis::overflow::{self, Footprint, Sets};
use crate::analysis::plateau::Point;
use crate::analysis::robust;
pub(super) use curve::Curve;
use curve::{FEW_LAPS, curve, limit, walk};
pub(super) use domains::domains as instances;
use findings::METHOD;
use pages::Pages;
use rise::Rise;
use strata_model::attribute::{
    ENTRIES, INSTANCE_OF_SMS, MISS_PENALTY, PAGE_SIZE, REACH, SETS, SMS_OF_AN_INSTANCE, STAIRCASE, Step, WAYS,
};
use strata_model::experiment::Chase;
use strata_model::topology::Element;
use strata_model::units::Bytes;
use visits::point;
use windows::Window;

/// Most entries of a level: four times those of the largest known (about 2048 on an H200).
const MOST_ENTRIES: u64 = 8192;
/// Share that misses of one page too many where all entries are one set.
const SHARP: f64 = 0.85;
/// Where single misses show, they show no later than at so many times the footprint at which visits take longer in the mean.
const LATE: f64 = 1.25;
/// Levels that are looked for.
const LEVELS: usize = 3;
/// Pages that are no more than so many times the entries of the level before may all be held there.
const HELD_BEFORE: f64 = 1.5;
/// Longer walks watched for sets: so many entries beyond the reach.
const MOST_STEPS: u64 = 160;
/// Visits timed of all of these together, so that a recording stays small.
const MOST_VISITS: u64 = 170_000;

/// What is known of one level.
#[derive(Clone, Debug)]
pub(super) struct Level {
    rise: Rise,
    /// Distance of the pages by which the reach was counted.
    distance: Bytes,
    /// Whether that is what an entry maps, or why that is not known.
    page: Result<(), Unknown>,
    /// Pages at that distance that fit.
    entries: u64,
    /// How many of them fit only after many warm laps.
    unsettled: u64,
    /// Address of the first page.
    base: u64,
    /// The same pages in a row at other places in the memory.
    windows: Vec<Window>,
    /// Footprints of the walks from the reach on, and the share of visits that miss.
    curve: Vec<Step>,
    /// What a visit costs where every page misses, less one where none does, and how far off that may be.
    every_miss: Option<(f64, f64)>,
    /// Sets, or why they are not known.
    sets: Result<Sets, Unknown>,
}

fn level(notebook: &Notebook, number: usize) -> Result<Level, Gap> {
    notebook.once(&notebook.memo.tlb_level, number, || {
        let Curve { rises, reached, leaves_l2, costs_more, hides, .. } = curve(notebook)?;
        let next = rises.get(number + 1).map_or(u64::MAX, |next| next.flat);
        let Some(rise) = rises.get(number).cloned() else {
            if let Some((first, last)) = hides {
                return Gap::unknown(format!(
                    "visits to {last} take longer than one TLB miss costs: between {first} and {last} a further level \
                     overflows, so it is unknown which level the next one is"
                ));
            }
            let facts = notebook.facts();
            let beyond = if costs_more {
                "; visits to more pages take longer than one TLB miss costs, so a further level may overflow there".to_owned()
            } else if leaves_l2 {
                "; with more pages the L2 does not hold even one line per page".to_owned()
            } else if facts.free_memory < facts.total_memory / 2 {
                let (free, total) = (Bytes(facts.free_memory), Bytes(facts.total_memory));
                format!("; larger footprints need more memory than the {free} of {total} that were free")
            } else {
                String::new()
            };
            return Gap::unknown(match number {
                0 => {
                    format!("up to {reached} no visit to a page has a TLB miss{beyond}")
                }
                _ => format!(
                    "up to {reached} visits show no further level{beyond}; one that reaches less than twice as far as \
                     the level before, or whose misses cost little more, would not show"
                ),
            });
        };
        if !rise.has_cost() {
            return Gap::unknown(format!(
                "TLB misses begin at {}, but their cost reaches no plateau up to {}",
                Bytes(rise.grown),
                limit(notebook)
            ));
        }
        // What is beyond half of the mean may be misses of the further level, and say nothing of this one.
        if let (None, Some((first, last))) = (rise.classes, rise.hides()) {
            return Gap::unknown(format!(
                "between {first} and {last} visits take longer by two amounts: a further level overflows there, and its misses cannot \
                 be told from those of this one"
            ));
        }
        let pages = Pages::of(notebook, &rise)?;
        let entry = pages.checked_entry(notebook, &rise)?;
        // So few pages that the level before may hold them all say nothing of this one.
        let before = if number == 0 { 0 } else { level(notebook, number - 1)?.entries };
        let further = pages.further(entry).unwrap_or(u64::MAX);
        let (entry, page) = if number > 0 && further as f64 <= HELD_BEFORE * before as f64 {
            let reason = "at the distance of its entries so few pages fit in memory that the level before may hold \
                          them all";
            (0, Err(Unknown::because(reason)))
        } else if !pages.is_confirmed(notebook, &rise, entry)? {
            let reason = "a miss costs so much less than visits vary that it is uncertain which pages share an entry";
            (0, Err(Unknown::because(reason)))
        } else {
            (entry, Ok(()))
        };
        let distance = pages.distance(entry);
        let (entries, unsettled) = pages.count(notebook, &rise, entry)?;
        if (distance * entries).0 as f64 > LATE * rise.grown as f64 {
            return Gap::unknown(format!(
                "visits begin to take longer at {}, but the misses that can be told from hits begin beyond {}: a level whose \
                 misses cost less may be in between",
                Bytes(rise.grown),
                distance * entries
            ));
        }
        let most = (limit(notebook) / distance)
            .min(entries + MOST_STEPS)
            .min(entries + MOST_VISITS / (u64::from(FEW_LAPS.1) * entries.max(1)));
        let chases: Vec<Chase> = (entries..=most).map(|n| walk(notebook, distance, n, false)).collect();
        let measurements = notebook.read(&chases)?;
        // An older recording has no other places.
        let windows = windows::windows(notebook, &rise, distance, entries, most).settled()?.unwrap_or_default();
        let curve = steps(&rise, distance, &measurements, &windows);
        let beyond = measurements.iter().zip(&curve).skip(1);
        // From where the next level overflows on, its misses are among them.
        let missing: Vec<Point> = beyond
            .filter(|(_, step)| step.share > SHARP && step.footprint.0 <= next)
            .map(|(s, _)| point(s))
            .collect();
        // Where the step of the level before does not end before this one begins, the walks below hit it now and then. Here all miss it.
        let before = (0..number).map(|before| Ok(level(notebook, before)?.cost().0)).sum::<Result<f64, Gap>>()?;
        let unsettled_below = (before - rise.below).max(0.0);
        let below = rise.below + unsettled_below;
        let every_miss = robust::median(&missing.iter().map(|p| p.mean).collect::<Vec<_>>())
            .map(|cost| (cost - below, missing[0].error.hypot(rise.error) + unsettled_below / 2.0));
        let footprints: Option<Vec<Footprint>> = measurements
            .iter()
            .map(|s| Some(Footprint { lines: s.experiment.lap() as usize / 2, missed: rise.missed(s)? }))
            .collect();
        let sets = match footprints {
            Some(footprints) => {
                let steady = if rise.strays > 0.0 { overflow::steady(&footprints) } else { footprints };
                match Sets::reveal_late(&steady, measurements[0].samples().base / distance.0) {
                    Ok(sets) if rise.strays > 0.0 && !sets.are_equal() => Err(Unknown::because(
                        "single loads are slow at random, so it is not certain which pages share a set",
                    )),
                    Ok(sets) => Ok(sets),
                    Err(unclear) => {
                        let fits = steady.first().map_or(0, |footprint| footprint.lines);
                        Err(Unknown::because(structure::why_unclear(&unclear, fits)))
                    }
                }
            }
            None => Err(Unknown::because("one miss costs less than visits vary, so it is unknown which pages miss")),
        };
        let base = measurements[0].samples().base;
        let level = Level { rise, distance, page, entries, unsettled, base, windows, curve, every_miss, sets };
        let (penalty, error) = level.cost();
        if penalty <= error {
            return Gap::unknown(format!(
                "visits to {} in random order take longer, but visits to more pages than that in ascending order do not \
                 ({penalty:.1} cycles, give or take {error:.1}), as they would if they missed a TLB",
                Bytes(level.rise.grown)
            ));
        }
        Ok(level)
    })
}

/// The curve with a band: what footprints on either side show, other places, single laps, and where the limit between hits and
/// misses may lie.
fn steps(rise: &Rise, distance: Bytes, walks: &[Measurement<Chase>], windows: &[Window]) -> Vec<Step> {
    let bytes = |pages: u64| (distance * pages).0;
    let shares: Vec<(u64, f64)> = walks.iter().map(|s| (s.experiment.footprint.0, rise.share(s))).collect();
    let elsewhere = |window: &Window| window.shares.iter().map(|&(pages, share)| (bytes(pages), share)).collect();
    let others: Vec<Vec<(u64, f64)>> = windows.iter().map(elsewhere).collect();
    let counted: Vec<usize> = walks.iter().map(|s| s.latencies().len() / 2).collect();
    let band = band::around(&shares, 0, &counted, &others);
    let points = shares.iter().zip(band).zip(walks);
    let step = |footprint, share, (low, high): (f64, f64), walk: &Measurement<Chase>| {
        let (least, most) = rise.least_and_most(walk);
        Step { interval: Some((low.min(least), high.max(most))), ..Step::new(footprint, share) }
    };
    points.map(|((&(footprint, share), band), walk)| step(footprint, share, band, walk)).collect()
}

/// Everything that is asked of one level, from 0.
pub fn element(notebook: &Notebook, number: usize) -> Element {
    let level = || level(notebook, number);
    let sets = || -> Result<Sets, Gap> {
        let level = level()?;
        level.page?;
        Ok(level.sets?)
    };
    Element::from([
        notebook.attribute(REACH, || Ok(level()?.reach()?)),
        notebook.attribute(ENTRIES, || Ok(level()?.entries()?)),
        notebook.attribute(PAGE_SIZE, || Ok(level()?.page()?)),
        notebook.attribute(MISS_PENALTY, || Ok(level()?.penalty())),
        notebook.attribute(STAIRCASE, || Ok(level()?.staircase())),
        notebook.attribute(SETS, || Ok(structure::sets_finding(&sets()?, level()?.largest(), METHOD))),
        notebook.attribute(WAYS, || Ok(structure::ways_finding(&sets()?, METHOD).unit("entries"))),
        notebook.attribute(SMS_OF_AN_INSTANCE, || domains::sizes(notebook, number)),
        notebook.attribute(INSTANCE_OF_SMS, || domains::of_sms(notebook, number)),
    ])
}

/// What other probes need of one level.
#[derive(Clone, Debug)]
pub struct Reach {
    /// Distance of the pages by which it was counted.
    pub distance: Bytes,
    /// Pages at that distance that fit.
    pub entries: u64,
    /// Whether the distance is what one entry maps.
    pub page_known: bool,
    /// What a miss adds, as an interval in cycles.
    pub penalty: (f64, f64),
}

impl Reach {
    /// Bytes that it translates.
    pub fn reach(&self) -> Bytes {
        self.distance * self.entries
    }
}

/// The levels, and how far was walked.
#[derive(Clone, Debug)]
pub struct Reaches {
    /// From the first on, up to one that is not known.
    pub levels: Vec<Reach>,
    /// Most that may be walked.
    pub limit: Bytes,
    /// Up to where a further level would show.
    pub reached: Bytes,
}

/// The levels.
///
/// # Errors
///
/// Why the first is not known, or a failure.
pub fn reaches(notebook: &Notebook) -> Result<Reaches, Gap> {
    let mut levels = Vec::new();
    for number in 0..LEVELS {
        match level(notebook, number).settled()? {
            Ok(level) => {
                let (penalty, error) = level.cost();
                levels.push(Reach {
                    distance: level.distance,
                    entries: level.entries,
                    page_known: level.page.is_ok(),
                    penalty: (penalty - error, penalty + error),
                });
            }
            Err(Unknown::Because(_)) if number > 0 => break,
            Err(unknown) => return Err(unknown.into()),
        }
    }
    Ok(Reaches { levels, limit: limit(notebook), reached: curve(notebook)?.reached })
}
