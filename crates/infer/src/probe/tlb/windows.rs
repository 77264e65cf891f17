//! How many pages a level holds at other places in the memory.
//!
//! Where the index of a level is hashed, the number of pages in a row that fit depends on which pages they are. One place says
//! nothing of others, so the count is repeated at places spread over what may be walked.

use super::curve::{Rise, limit, walk_from};
use crate::probe::{Gap, Notebook};
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
    let found = most_that_fit(notebook, rise, &vec![tried; firsts.len()], at)?;
    let counts: Vec<u64> = (0..=PARTS).map(|part| entries + (most - entries) * part / PARTS).collect();
    let chases: Vec<Chase> =
        (0..firsts.len()).flat_map(|window| counts.iter().map(move |&n| (window, n))).map(|(w, n)| at(w, n)).collect();
    let shares: Vec<f64> = notebook.read(&chases)?.iter().map(|measurement| rise.share(measurement)).collect();
    let curves = shares.chunks(counts.len()).map(|shares| counts.iter().copied().zip(shares.iter().copied()).collect());
    Ok(found.into_iter().zip(curves).map(|((entries, _), shares)| Window { entries, shares }).collect())
}

/// For each of several walks, how many pages fit, up to `most` of each; and whether one more does not, which may not have been
/// tried. `at` gives a walk by its number and pages.
pub(super) fn most_that_fit(
    notebook: &Notebook,
    rise: &Rise,
    most: &[u64],
    at: impl Fn(usize, u64) -> Chase,
) -> Result<Vec<(u64, bool)>, Gap> {
    let mut brackets: Vec<(u64, u64)> = most.iter().map(|&most| (1, most + 1)).collect();
    loop {
        let open: Vec<usize> = (0..brackets.len()).filter(|&i| brackets[i].1 - brackets[i].0 > 1).collect();
        if open.is_empty() {
            return Ok(brackets.iter().zip(most).map(|(&(fits, over), &most)| (fits, over <= most)).collect());
        }
        let middles: Vec<u64> = open.iter().map(|&i| brackets[i].0.midpoint(brackets[i].1)).collect();
        let chases: Vec<Chase> = open.iter().zip(&middles).map(|(&i, &pages)| at(i, pages)).collect();
        let measurements = notebook.read(&chases)?;
        for ((&i, &pages), measurement) in open.iter().zip(&middles).zip(&measurements) {
            if rise.overflows(measurement) { brackets[i].1 = pages } else { brackets[i].0 = pages }
        }
    }
}
