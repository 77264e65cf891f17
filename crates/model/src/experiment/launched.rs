//! A chase in a launch as a program makes it: with blocks of many threads and shared memory of their own.

use serde::{Deserialize, Serialize};

use super::{Chase, LoadPath, Timing};
use crate::units::Bytes;

/// Threads of a block that a launch can state.
const MOST_THREADS: u32 = 1024;

/// One thread of a block on each SM walks a chain; all other threads leave at once. How many such blocks an SM could hold at a time
/// decides how much shared memory the driver sets aside, and so what is left to the L1. How many blocks the grid has does not: on
/// an H200 the L1 was the same with one block for each SM as with all that fit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launched {
    /// What the one thread does, timed by whole laps: times of single loads would take shared memory of their own.
    pub chase: Chase,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Dynamic shared memory of a block.
    pub shared_per_block: Bytes,
}

impl Launched {
    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        let Launched { chase, threads_per_block, .. } = self;
        if !matches!(chase.timing, Timing::Laps { .. }) {
            return Some("in a launch with shared memory of its own, only whole laps are timed".into());
        }
        if chase.path == LoadPath::Shared {
            return Some("a chain in shared memory has a launch of its own shape".into());
        }
        if !(1..=MOST_THREADS).contains(threads_per_block) {
            return Some(format!("{threads_per_block} threads: a block has 1 to {MOST_THREADS}"));
        }
        chase.defect()
    }
}
