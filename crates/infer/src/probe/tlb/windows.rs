//! How many pages a level holds at other places in the memory.
//!
//! Where the index of a level is hashed, the number of pages in a row that fit depends on which pages they are. One place says
//! nothing of others, so the count is repeated at places spread over what may be walked.

use super::curve::{limit, walk_from};
use super::rise::Rise;
use crate::probe::repeated::repetitions;
use crate::probe::{Gap, Measurement, Notebook, Settle, ask_all};
use strata_model::experiment::Chase;
use strata_model::units::Bytes;

/// At other places this many times as many pages are tried as fit at the first.
const TRIED: (u64, u64) = (5, 4);
/// Parts of the curve beyond the reach whose ends are measured at other places too.
const PARTS: u64 = 4;

/// One place: the curve over pages that begins there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Window {
    /// Pages from the first place to this one.
    pub first: u64,
    /// Pages in a row that fit.
    pub entries: u64,
    /// Whether more of them were tried, which do not.
    pub ends: bool,
    /// Share of misses by the number of pages, where it was measured; in ascending order.
    pub shares: Vec<(u64, f64)>,
}

/// The level at other places, where pages at `distance` are walked; at the first place `entries` fit, and up to `most` were
/// walked.
///
/// # Errors
///
/// A failure of the experiments: a recording may lack them.
pub(super) fn windows(
    notebook: &Notebook,
    rise: &Rise,
    distance: Bytes,
    entries: u64,
    most: u64,
) -> Result<Vec<Window>, Gap> {
    let tried = (entries * TRIED.0).div_ceil(TRIED.1);
    let room = (limit(notebook) / distance).saturating_sub(tried.max(most));
    let wanted = notebook.effort().choose(1, 1, 5).min(room);
    let firsts: Vec<u64> = (1..=wanted).map(|k| room * k / wanted).collect();
    let at = |window: usize, pages: u64| walk_from(notebook, distance, firsts[window], pages);
    let found = most_that_fit(notebook, rise, vec![Fit::up_to(tried); firsts.len()], None, 0, at)?;
    let counts: Vec<u64> = (0..=PARTS).map(|part| entries + (most - entries) * part / PARTS).collect();
    let chases: Vec<Chase> =
        (0..firsts.len()).flat_map(|window| counts.iter().map(move |&n| (window, n))).map(|(w, n)| at(w, n)).collect();
    let shares: Vec<f64> = notebook.read(&chases)?.iter().map(|measurement| rise.share(measurement)).collect();
    let curves = shares.chunks(counts.len()).map(|shares| counts.iter().copied().zip(shares.iter().copied()).collect());
    let places = firsts.iter().zip(found).zip(curves);
    Ok(places.map(|((&first, fit), shares)| Window { first, entries: fit.fits, ends: fit.ends(), shares }).collect())
}

/// How many pages of a walk fit, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    /// So many fit.
    pub fits: u64,
    /// So many do not; one more than `most` if all that were tried fit.
    over: u64,
    most: u64,
}

impl Fit {
    /// Before anything is known.
    pub fn up_to(most: u64) -> Self {
        Fit::between(1, most)
    }

    /// Where so many fit, and it is open how many more, up to `most`.
    pub fn between(fits: u64, most: u64) -> Self {
        Fit { fits, over: most + 1, most }
    }

    /// Whether more pages than fit were tried.
    pub fn ends(&self) -> bool {
        self.over <= self.most
    }
}

/// For each of several walks, how many pages fit, to one part in `parts` if that is given, or else to a page. `at` gives a walk by
/// its number and pages. One in which misses come and go is repeated so many times: see [`overflows`].
pub(super) fn most_that_fit(
    notebook: &Notebook,
    rise: &Rise,
    mut found: Vec<Fit>,
    parts: Option<u64>,
    again: u32,
    at: impl Fn(usize, u64) -> Chase,
) -> Result<Vec<Fit>, Gap> {
    let is_open = |fit: &Fit| fit.over - fit.fits > parts.map_or(1, |parts| (fit.fits / parts).max(1));
    loop {
        let open: Vec<usize> = (0..found.len()).filter(|&i| is_open(&found[i])).collect();
        if open.is_empty() {
            return Ok(found);
        }
        let middles: Vec<u64> = open.iter().map(|&i| found[i].fits.midpoint(found[i].over)).collect();
        let asked = open.iter().zip(&middles);
        let overflow = ask_all(asked.map(|(&i, &pages)| overflows(notebook, rise, at(i, pages), again)))?;
        for ((&i, &pages), overflows) in open.iter().zip(&middles).zip(overflow) {
            if overflows { found[i].over = pages } else { found[i].fits = pages }
        }
    }
}

/// Whether the pages of this walk are more than the level holds.
///
/// With random victims entries of earlier walks may be left after all warm laps, by chance. Then the pages that miss change from lap
/// to lap, as they do where one page is too many. But one page too many costs a miss in every lap, while entries of earlier walks go at
/// last: a lap without any miss, in one of so many repetitions, shows that all pages fit.
fn overflows(notebook: &Notebook, rise: &Rise, walk: Chase, again: u32) -> Result<bool, Gap> {
    let key = (rise.distance, rise.grown, walk.clone(), again);
    notebook.once(&notebook.memo.tlb_overflows, key, || {
        let first = &notebook.read(std::slice::from_ref(&walk))?[0];
        if again == 0 || !rise.overflows(first) || !rise.come_and_go(first) {
            return Ok(rise.overflows(first));
        }
        let repeated: Vec<Chase> = repetitions(&walk, again).collect();
        // An older recording has no repetitions.
        let repeated: Vec<Measurement<Chase>> = notebook.read(&repeated).settled()?.unwrap_or_default();
        Ok(!repeated.iter().any(|walk| rise.is_without_misses(walk)))
    })
}

#[cfg(test)]
mod tests {
    use super::super::curve::walk;
    use super::*;
    use crate::probe::levels::HitMiss;
    use strata_model::effort::Effort;
    use strata_model::experiment::{Experiment, LARGE_PAGE};
    use strata_model::facts::DeviceFacts;
    use strata_model::samples::Samples;

    /// How many pages fit, of a device on which a page misses in a lap of a walk over so many pages, by their numbers and that of the
    /// repetition.
    fn found(again: u32, misses: impl Fn(u64, u64, u64, u32) -> bool) -> u64 {
        let rise = Rise {
            distance: LARGE_PAGE,
            flat: 0,
            grown: 0,
            below: 20.0,
            above: None,
            settled: None,
            error: 1.0,
            // Beside hits of 20 cycles, counted from 64.
            classes: Some(HitMiss { threshold: 154, hit: 84.0, miss: 224.0, spread: 1.0 }),
            two_costs: false,
            strays: 0.0,
            is_noisy: false,
        };
        let mut notebook = Notebook::new(DeviceFacts::default(), Effort::Quick, 0);
        for _ in 0..16 {
            let at = |_, pages| walk(&notebook, LARGE_PAGE, pages, false);
            let fit = most_that_fit(&notebook, &rise, vec![Fit::between(150, 170)], None, again, at);
            let missing = notebook.take_missing();
            if missing.is_empty() {
                return fit.unwrap()[0].fits;
            }
            for (number, experiment) in missing.into_iter().enumerate() {
                let Experiment::Chase(chase) = &experiment else { unreachable!("only chases are asked for") };
                let (pages, repeat) = (chase.footprint / LARGE_PAGE, chase.repeat);
                let laps = u64::from(super::super::curve::laps(pages));
                let visits = (0..laps).flat_map(|lap| (0..pages).map(move |page| (lap, page)));
                let extra = |(lap, page)| if misses(page, lap, pages, repeat) { 160 } else { 20 };
                let latencies = visits.flat_map(|visit| [300 + extra(visit), 300]).collect();
                notebook.add(number as u32, experiment, Ok(Samples { latencies, ..Samples::default() }));
            }
        }
        unreachable!("a search takes a few rounds")
    }

    #[test]
    fn entries_of_earlier_walks_that_are_left_by_chance_are_no_overflow() {
        // 160 pages fit. Of 155 on an entry of another walk is left at first: one page misses in all laps but the last, in which
        // another one does. One page too many misses in all laps of all repetitions, with others.
        let left = |page, lap, repeat| repeat < 3 && page == if lap < 4 { 17 } else { 80 };
        let misses = |page: u64, lap: u64, pages: u64, repeat: u32| match pages {
            161.. => page == 3 || page == 20 + lap,
            155.. => left(page, lap, repeat),
            _ => false,
        };
        assert_eq!(found(0, misses), 154);
        assert_eq!(found(4, misses), 160);
        // What misses the same pages in each lap is not asked again.
        assert_eq!(found(4, |page, _, pages, repeat| pages > 154 && page < 8 && repeat == 0), 154);
    }
}
