//! How many pages a level holds at other places in the memory.
//!
//! Where the index of a level is hashed, the number of pages in a row that fit depends on which pages they are. One place says
//! nothing of others, so the count is repeated at places spread over what may be walked.

use super::curve::{limit, walk_from};
use super::rise::Rise;
use crate::probe::{Gap, Notebook, ask_all};
use strata_model::experiment::Chase;
use strata_model::units::Bytes;

/// At other places this many times as many pages are tried as fit at the first.
const TRIED: (u64, u64) = (5, 4);
/// Parts of the curve beyond the reach whose ends are measured at other places too.
const PARTS: u64 = 4;

/// One place: the curve over pages that begins there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Window {
    /// Pages in a row that fit.
    pub entries: u64,
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
    let found = most_that_fit(notebook, rise, vec![Fit::up_to(tried); firsts.len()], None, at)?;
    let counts: Vec<u64> = (0..=PARTS).map(|part| entries + (most - entries) * part / PARTS).collect();
    let chases: Vec<Chase> =
        (0..firsts.len()).flat_map(|window| counts.iter().map(move |&n| (window, n))).map(|(w, n)| at(w, n)).collect();
    let shares: Vec<f64> = notebook.read(&chases)?.iter().map(|measurement| rise.share(measurement)).collect();
    let curves = shares.chunks(counts.len()).map(|shares| counts.iter().copied().zip(shares.iter().copied()).collect());
    Ok(found.into_iter().zip(curves).map(|(fit, shares)| Window { entries: fit.fits, shares }).collect())
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
/// its number and pages.
pub(super) fn most_that_fit(
    notebook: &Notebook,
    rise: &Rise,
    mut found: Vec<Fit>,
    parts: Option<u64>,
    at: impl Fn(usize, u64) -> Chase,
) -> Result<Vec<Fit>, Gap> {
    let is_open = |fit: &Fit| fit.over - fit.fits > parts.map_or(1, |parts| (fit.fits / parts).max(1));
    loop {
        let open: Vec<usize> = (0..found.len()).filter(|&i| is_open(&found[i])).collect();
        if open.is_empty() {
            return Ok(found);
        }
        let middles: Vec<u64> = open.iter().map(|&i| found[i].fits.midpoint(found[i].over)).collect();
        let overflow = ask_all(open.iter().zip(&middles).map(|(&i, &pages)| overflows(notebook, rise, at(i, pages))))?;
        for ((&i, &pages), overflows) in open.iter().zip(&middles).zip(overflow) {
            if overflows { found[i].over = pages } else { found[i].fits = pages }
        }
    }
}

/// Whether the pages of this walk are more than the level holds.
fn overflows(notebook: &Notebook, rise: &Rise, walk: Chase) -> Result<bool, Gap> {
    let key = (rise.distance, rise.grown, walk.clone());
    notebook.once(&notebook.memo.tlb_overflows, key, || Ok(rise.overflows(&notebook.read(&[walk])?[0])))
}
