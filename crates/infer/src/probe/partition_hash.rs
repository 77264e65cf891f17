//! Which bits of an address choose the partition of the L2.
//!
//! `homes` says in which partitions random lines of some pages of 2 MiB are at home. A parity of address bits that is
//! the same for all lines of a page that share a partition, and differs between those that do not, is part of the hash; the
//! bits above the page add the same to all of its lines. What is found so in half of the pages is then tried on the others: each
//! line predicts the partition of the next line of its page.
//!
//! Assumes that the driver maps memory in pages of 2 MiB, so that the lower 21 bits of virtual and physical addresses are the
//! same. A hash that is no parity has no such mask, or predicts too little: then that is said.

use std::collections::BTreeMap;

use super::homes::{self, Area, Line};
use super::{Gap, Notebook};
use crate::analysis::overflow::{Index, parities, separating_parities};
use strata_model::attribute::IndexFunction;
use strata_model::experiment::LARGE_PAGE;
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// Share of the other pages' lines that the masks must predict.
const PREDICTED: f64 = 0.99;

/// Each line of these pages with the previous line of its page. A step is the partition of the previous line and the parities of the
/// bits in which the two addresses differ. It leads to the partition of the line.
fn steps(masks: &[u64], pages: &[&Vec<Line>]) -> Vec<((usize, u64), usize)> {
    let step = |two: &[Line]| ((two[0].home, parities(masks, two[0].address ^ two[1].address)), two[1].home);
    pages.iter().flat_map(|lines| lines.windows(2).map(step)).collect()
}

/// The hash.
#[derive(Clone, Debug)]
pub(super) struct Hashed {
    /// The bits whose parities choose the partition.
    pub masks: Vec<u64>,
    /// Lines of other pages that it predicts, and how many were tried.
    predicted: (usize, usize),
}

/// The hash.
///
/// # Errors
///
/// An unknown where there is one partition, where lines are near none clearly, or where no parities of address bits tell the
/// partitions apart.
pub(super) fn hashed(notebook: &Notebook) -> Result<Hashed, Gap> {
    notebook.once(&notebook.memo.partition_hash, (), || {
        let homes = homes::homes(notebook, Area::OF_THE_HASH)?;
        let mut pages: BTreeMap<u64, Vec<Line>> = BTreeMap::new();
        homes.lines.iter().for_each(|line| pages.entry(line.page()).or_default().push(*line));
        let pages: Vec<&Vec<Line>> = pages.values().collect();
        let (tried, fresh) = pages.split_at(pages.len() / 2);
        let mut groups: BTreeMap<(u64, usize), Vec<u64>> = BTreeMap::new();
        for line in tried.iter().copied().flatten() {
            groups.entry((line.page(), line.home)).or_default().push(line.address % LARGE_PAGE.0);
        }
        let masks = separating_parities(&groups.into_values().collect::<Vec<_>>());
        if 1usize.checked_shl(masks.len() as u32) != Some(homes.partitions) {
            return Gap::unknown(format!(
                "no parities of the address bits below {LARGE_PAGE} tell the {} partitions apart; a line whose home was misjudged \
                 would hide them, too",
                homes.partitions
            ));
        }
        // What leads from one partition to another is learned from the pages that the masks come from.
        let leads: BTreeMap<(usize, u64), usize> = steps(&masks, tried).into_iter().collect();
        let fresh = steps(&masks, fresh);
        let right = fresh.iter().filter(|(step, home)| leads.get(step) == Some(home)).count();
        if (right as f64) < PREDICTED * fresh.len() as f64 {
            return Gap::unknown(format!(
                "the parities that were found predict {right} of {} lines of other pages",
                fresh.len()
            ));
        }
        Ok(Hashed { masks, predicted: (right, fresh.len()) })
    })
}

/// The hash as the finding `partition_hash`.
///
/// # Errors
///
/// As for the hash.
pub fn hash(notebook: &Notebook) -> Result<Finding<IndexFunction>, Gap> {
    let Hashed { masks, predicted: (right, tried) } = hashed(notebook)?;
    let finest = Bytes(1 << masks.iter().fold(0, |all, mask| all | mask).trailing_zeros());
    Ok(Finding::measured((&Index::of_masks(masks)).into(), homes::METHOD).note(format!(
        "lines go to the partitions in pieces of {finest}; this is of the address bits below {LARGE_PAGE}, all others add the same to \
         the lines of a page; in pages that were not used for it, it predicts {right} of {} lines",
        tried
    )))
}
