//! Where all lines of an allocation are at home that is streamed through by partition of the L2.
//!
//! `partition_hash` says how the partition follows from the address within a page of 2 MiB. What a page adds is asked of a few of its
//! lines (`homes`): these must agree.
//!
//! Fails where there are more than two partitions, since each line is far from several then, or where the hash is unknown.

use std::collections::HashMap;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::homes::{self, Area};
use super::{Gap, Notebook, Unknown, partition_hash, partitions};
use crate::analysis::overflow::parities;
use strata_model::experiment::{HomeMap, LARGE_PAGE, Place};

/// Where lines are at home, and where SMs are.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    /// Of the lines of [`Place::PARTITIONED`].
    pub homes: HomeMap,
    /// Of each SM.
    pub sms: Vec<u8>,
    /// Where the allocation begins.
    pub base: u64,
}

impl Placed {
    /// Up to `most` of the places `0`, `stride`, `2 stride` … below `end` whose lines are at home in a partition, in random order.
    pub fn some_of(&self, partition: u8, stride: u64, end: u64, most: usize, seed: u64) -> Vec<u64> {
        let end = end.min(self.homes.bytes().0);
        let mut places: Vec<u64> =
            (0..end / stride).map(|at| at * stride).filter(|at| self.homes.home(*at) == partition).collect();
        places.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        places.truncate(most);
        places
    }
}

/// The homes.
///
/// # Errors
///
/// An unknown, if there are not two partitions, if their hash is unknown, or if lines of a page disagree.
pub(super) fn home_map(notebook: &Notebook) -> Result<Placed, Gap> {
    notebook.once(&notebook.memo.home_map, (), || {
        let parts = partitions::partitions(notebook)?;
        if parts.number() > 2 {
            return Gap::unknown(format!("there are {} partitions: each line is far from several", parts.number()));
        }
        let mask = partition_hash::hashed(notebook)?.masks.iter().fold(0, |all, mask| all ^ mask);
        let bytes = Place::partitioned_bytes(notebook.facts());
        if bytes < LARGE_PAGE {
            return Gap::unknown("too little memory is free to stream through lines of each partition");
        }
        let homes = homes::homes(notebook, Area::of_streams(bytes, mask))?;
        if !homes.base.is_multiple_of(LARGE_PAGE.0) {
            return Gap::unknown(format!(
                "the memory that is streamed through does not begin at a page of {LARGE_PAGE}"
            ));
        }
        let even = homes.lines.iter().map(|line| {
            let offset = line.address.wrapping_sub(homes.base);
            ((offset / LARGE_PAGE.0), line.home as u8 ^ parities(&[mask], offset) as u8)
        });
        let mut pages: HashMap<u64, u8> = HashMap::new();
        for (page, home) in even {
            if *pages.entry(page).or_insert(home) != home {
                return Gap::unknown(format!("the hash of the partitions does not hold in page {page} of the memory"));
            }
        }
        let pages: Option<Vec<u8>> = (0..bytes / LARGE_PAGE).map(|page| pages.get(&page).copied()).collect();
        let pages = pages.ok_or_else(|| Unknown::because("no line of some page is clearly near a partition"))?;
        let sms = (0..notebook.facts().multiprocessors).map(|sm| parts.of(sm) as u8).collect();
        Ok(Placed { homes: HomeMap { mask, pages }, sms, base: homes.base })
    })
}
