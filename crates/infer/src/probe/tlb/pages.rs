//! How many pages of a level fit at distances that double: the page that an entry maps is the largest distance at which no more
//! fits than at shorter ones.

use super::MOST_ENTRIES;
use super::curve::{limit, walk};
use super::rise::Rise;
use super::windows::{Fit, most_that_fit};
use crate::probe::{Gap, Measurement, Notebook, Settle, Unknown};
use strata_model::experiment::{Chase, Timing, Walk};
use strata_model::units::Bytes;

/// At a distance of one and a half or two entries, one and a half or two times the footprint fits; less is chance.
const FITS_MORE: f64 = 1.25;
/// Distances are compared by how many pages fit to one part in so many: far less than [`FITS_MORE`].
const COMPARED: u64 = 32;
/// A walk over so many times the footprint at which visits take longer misses all over.
const OVERFLOW: u64 = 3;
/// Visits of the warm laps after which a level holds the pages of a walk only, if they fit: some ten milliseconds.
const WARM_VISITS: u64 = 1 << 14;
/// Most warm laps: with random victims among 16 ways, another page's entry is left after so many with a chance of one in sixty.
const MOST_WARM_LAPS: u64 = 64;
/// Times that such a walk is repeated, if misses come and go: among ways of which some give way three times as rarely as others,
/// another page's entry is left after the most warm laps with a chance of one in eight, and after all of these with one in 30,000.
const UNSETTLED: u32 = 4;
/// Share of the visits that miss where each page is an entry of its own.
const OWN: f64 = 0.75;
/// The same, at least and at most, of pages that share entries by twos: half, less what survives the lap.
const SHARED: (f64, f64) = (0.25, 0.6);
/// Where pages share entries, twice as many visits miss if they are twice as far apart; less is chance.
const MORE: f64 = 1.5;

/// Pages of a level at several distances.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    /// Distances, each twice the one before.
    powers: Vec<Bytes>,
    /// For each power and for one and a half times it, how many pages fit, to one part in [`COMPARED`].
    counts: Vec<Fit>,
}

impl Pages {
    /// Of a level whose misses begin with this rise.
    ///
    /// # Errors
    ///
    /// A failure of the experiments.
    pub(super) fn of(notebook: &Notebook, rise: &Rise) -> Result<Self, Gap> {
        let shortest = Bytes((rise.grown / MOST_ENTRIES).next_power_of_two()).max(rise.distance);
        let longest = Bytes(rise.grown.min(limit(notebook).0 / 4));
        let powers: Vec<Bytes> =
            std::iter::successors(Some(shortest), |d| Some(*d * 2)).take_while(|&d| d <= longest).collect();
        let distances: Vec<Bytes> = powers.iter().flat_map(|&d| [d, d + d / 2]).collect();
        let most =
            |distance: &Bytes| (limit(notebook) / *distance).min(2 * (rise.grown / rise.distance.0)).min(MOST_ENTRIES);
        let unknown: Vec<Fit> = distances.iter().map(most).map(Fit::up_to).collect();
        let at = |i: usize, pages| walk(notebook, distances[i], pages, false);
        let counts = most_that_fit(notebook, rise, unknown, Some(COMPARED), 0, at)?;
        Ok(Pages { powers, counts })
    }

    /// Number of the distance that is what an entry maps.
    ///
    /// # Errors
    ///
    /// Why it is not known.
    pub(super) fn entry(&self) -> Result<usize, Unknown> {
        let distance = |i: usize| if i.is_multiple_of(2) { self.powers[i / 2] } else { self.powers[i / 2] * 3 / 2 };
        let reach = |i: usize| (distance(i) * self.counts[i].fits).0 as f64;
        // Where pages one and a half or two times as far apart fit over a longer stretch, some entries lie between them.
        let entry = (0..self.powers.len()).filter(|i| self.counts[2 * i].ends()).find(|i| {
            let more = FITS_MORE * reach(2 * i);
            reach(2 * i + 1) >= more || self.counts.len() > 2 * i + 2 && reach(2 * i + 2) >= more
        });
        entry.ok_or_else(|| {
            let [shortest, .., longest] = self.powers[..] else {
                return Unknown::because("too few distances between pages fit in memory to find the page size");
            };
            Unknown::because(if self.counts.iter().any(|fit| !fit.ends()) {
                format!("at distances of {shortest} to {longest} all pages in memory fit, or more than were tried")
            } else {
                format!(
                    "pages at distances of {shortest} to {longest} fit over the same footprint, so the page size \
                     cannot be identified"
                )
            })
        })
    }

    /// As [`Pages::entry`], corrected by walks over many more pages than fit. Where pages half as far apart turn out to be entries
    /// of their own, only some of the sets are used at the distance found, so that fewer pages fit over the same stretch. Where
    /// pages at that distance turn out to share entries, half of the visits hit, which hides an overflow that shows in the mean only.
    ///
    /// # Errors
    ///
    /// As [`Pages::entry`], or a failure.
    pub(super) fn checked_entry(&self, notebook: &Notebook, rise: &Rise) -> Result<usize, Gap> {
        let mut entry = self.entry()?;
        while entry > 0 && own_entries(notebook, rise, self.powers[entry - 1])?.unwrap_or(false) {
            entry -= 1;
        }
        while entry + 1 < self.powers.len() && self.are_shared(notebook, rise, entry)? {
            entry += 1;
        }
        Ok(entry)
    }

    /// Whether pages at the distance of this number share entries: half of the visits to more of them than fit miss, or fewer do and more of the
    /// visits to pages twice as far apart.
    ///
    /// # Errors
    ///
    /// Missing measurements.
    fn are_shared(&self, notebook: &Notebook, rise: &Rise, number: usize) -> Result<bool, Gap> {
        let share = |number: usize| overflown(notebook, rise, self.powers[number]);
        let Some(pages) = share(number)? else { return Ok(false) };
        if pages.share >= SHARED.0 {
            return Ok(pages.is_own() == Some(false));
        }
        Ok(share(number + 1)?.is_some_and(|further| further.share > MORE * pages.share))
    }

    /// Whether walks over many more pages than fit show that pages at this distance are entries of their own, and that pages half as far apart
    /// share them. Single misses show that anyway, and so do means that are certain.
    ///
    /// # Errors
    ///
    /// Missing measurements.
    pub(super) fn is_confirmed(&self, notebook: &Notebook, rise: &Rise, number: usize) -> Result<bool, Gap> {
        // An older recording has no more laps, so that its means are uncertain anyway.
        if rise.classes.is_some() || !rise.is_noisy {
            return Ok(true);
        }
        let share = |number: usize| overflown(notebook, rise, self.powers[number]);
        let own = share(number)?.is_none_or(|share| share.is_own() == Some(true) && share.least > SHARED.1);
        let shared = match number.checked_sub(1) {
            Some(half) => share(half)?.is_none_or(|share| share.is_own() == Some(false) && share.most < OWN),
            None => true,
        };
        Ok(own && shared)
    }

    /// The distance of this number.
    pub(super) fn distance(&self, number: usize) -> Bytes {
        self.powers[number]
    }

    /// How many pages at the distance of this number fit, to a page, and how many more than after the usual warm laps.
    ///
    /// Where the victim is not the entry that was used least recently, entries of earlier walks go only by and by, and pages miss for
    /// them although all would fit.
    ///
    /// # Errors
    ///
    /// A failure of the experiments.
    pub(super) fn count(&self, notebook: &Notebook, rise: &Rise, number: usize) -> Result<(u64, u64), Gap> {
        let at = |_, pages| walk(notebook, self.powers[number], pages, false);
        let few = most_that_fit(notebook, rise, vec![self.counts[2 * number]], None, 0, at)?[0].fits;
        let most = (limit(notebook) / self.powers[number]).min(2 * few);
        let fit_up_to = |most: u64| {
            let at = |_, pages| warmed(at(0, pages), pages);
            let between = vec![Fit::between(few, most)];
            most_that_fit(notebook, rise, between, None, UNSETTLED, at).map(|found| found[0].fits)
        };
        // An older recording has no such walks.
        let settled = match fit_up_to(most.min(few + 1)).settled()? {
            Ok(more) if more > few => fit_up_to(most)?,
            _ => few,
        };
        Ok((settled, settled - few))
    }

    /// About how many pages at twice the distance of this number fit, if they were tried.
    pub(super) fn further(&self, number: usize) -> Option<u64> {
        self.counts.get(2 * number + 2).map(|fit| fit.fits)
    }
}

/// A walk over so many pages with warm laps enough for a level with random victims to forget other pages. As far as one window
/// holds the times, nothing is written out meanwhile, which takes an entry.
fn warmed(chase: Chase, pages: u64) -> Chase {
    let laps = (WARM_VISITS / pages.max(1)).clamp(u64::from(chase.warm_laps), MOST_WARM_LAPS);
    let timing = match chase.timing {
        Timing::EachLoad { loads, .. } => Timing::EachLoad { loads, walk: Walk::Straight },
        other => other,
    };
    Chase { warm_laps: laps as u32, timing, ..chase }
}

/// Whether pages so far apart are entries of their own, or share them by twos, by a walk over many more than fit in ascending order:
/// where an entry maps two of them, every second visit hits. `None` if it cannot be said.
///
/// # Errors
///
/// Missing measurements.
pub(super) fn own_entries(notebook: &Notebook, rise: &Rise, distance: Bytes) -> Result<Option<bool>, Gap> {
    Ok(overflown(notebook, rise, distance)?.and_then(Overflown::is_own))
}

/// The share of the visits that miss of many more pages than fit, and between what it lies for sure.
#[derive(Clone, Copy)]
struct Overflown {
    share: f64,
    least: f64,
    most: f64,
}

impl Overflown {
    /// Whether the pages are entries of their own, or share them by twos.
    fn is_own(self) -> Option<bool> {
        match self.share {
            share if share > OWN => Some(true),
            share if (SHARED.0..=SHARED.1).contains(&share) => Some(false),
            _ => None,
        }
    }
}

/// A walk in ascending order over many more pages than fit, so far apart; `None` if the memory has no room for it, or an older recording no such
/// walk.
fn overflown(notebook: &Notebook, rise: &Rise, distance: Bytes) -> Result<Option<Overflown>, Gap> {
    let Some(measurement) = over_many(notebook, rise, distance)? else { return Ok(None) };
    // Where single misses are told, the share is what was counted.
    if rise.classes.is_some() {
        let share = rise.share(&measurement);
        return Ok(Some(Overflown { share, least: share, most: share }));
    }
    // In the random order of the curve some visits to pages that share entries hit, so that its plateau may be lower than what a miss costs. If
    // the pages are entries of their own, visits to pages twice as far apart take as long; if they share entries, twice as long.
    let further = if rise.is_noisy { over_many(notebook, rise, distance * 2)? } else { None };
    let rise = further.map_or_else(|| rise.clone(), |further| rise.with_plateau(&further));
    let (share, (least, most)) = (rise.share(&measurement), rise.least_and_most(&measurement));
    Ok(Some(Overflown { share, least, most }))
}

/// The walk of [`overflown`].
fn over_many(notebook: &Notebook, rise: &Rise, distance: Bytes) -> Result<Option<Measurement<Chase>>, Gap> {
    let pages = (OVERFLOW * rise.grown / distance.0).min(limit(notebook) / distance).min(MOST_ENTRIES);
    if distance * pages < Bytes(rise.grown) * 3 / 2 {
        return Ok(None);
    }
    Ok(notebook.read(&[walk(notebook, distance, pages, false)]).settled()?.ok().and_then(|mut read| read.pop()))
}
