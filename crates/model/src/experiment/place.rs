//! Where an experiment runs, and what is done to the device before it.

use serde::{Deserialize, Serialize};

use super::LARGE_PAGE;
use crate::facts::DeviceFacts;
use crate::units::{Bytes, MIB};

/// Memory that is streamed through is so many times as large as the L2: what is read again has left it.
pub const BEYOND_L2: u64 = 8;
/// No L2 is larger: a damaged recording asks for no absurd memory.
const MOST_L2: u64 = 1024 * MIB;

/// Where an experiment runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// On which SM, counted from 0 in ascending `%smid`; any when absent.
    pub sm: Option<u32>,
    /// Which of the run's device allocations holds the chain.
    pub allocation: u32,
    /// Share of the unified memory asked for as shared memory, in per cent; the driver's choice when absent.
    pub carveout_percent: Option<u8>,
    /// Nothing else may run on the device: for levels that SMs share.
    pub alone: bool,
}

impl Default for Place {
    /// Any SM, the first allocation, the smallest possible share of shared memory, beside others.
    fn default() -> Self {
        Place { sm: None, allocation: 0, carveout_percent: Some(0), alone: false }
    }
}

impl Place {
    /// The number of an allocation that stays where it is for the whole run: only experiments with the footprint
    /// [`Place::UNMOVED_BYTES`] use it.
    pub const UNMOVED: u32 = 20;
    /// Bytes of it: sixteen large pages.
    pub const UNMOVED_BYTES: Bytes = Bytes::mib(32);

    /// The number of another allocation that stays where it is: streams go through its lines by partition of the L2. Allocations are
    /// shifted by a distance that grows with their number, and one of this number begins at a page of 2 MiB again.
    pub const PARTITIONED: u32 = 4096;

    /// Bytes of [`Place::PARTITIONED`] on a device: several times its L2, and no more than a sixteenth of what is free, in whole large pages.
    pub fn partitioned_bytes(facts: &DeviceFacts) -> Bytes {
        let wanted = Bytes(facts.l2_size.clamp(MIB, MOST_L2) * BEYOND_L2).round_up(LARGE_PAGE);
        wanted.min(Bytes(facts.free_memory / 16).round_down(LARGE_PAGE))
    }

    /// On this SM.
    pub fn on(sm: u32) -> Self {
        Place { sm: Some(sm), ..Place::default() }
    }

    /// On this SM, with nothing else on the device.
    pub fn alone_on(sm: u32) -> Self {
        Place { sm: Some(sm), alone: true, ..Place::default() }
    }

    /// With this share of the unified memory as shared memory, in per cent.
    pub fn carveout(percent: u8) -> Self {
        Place { carveout_percent: Some(percent), ..Place::default() }
    }
}

/// What is done to the L2 before the kernel starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prepare {
    /// Nothing: the chain has just been written, so it is in the L2 as far as it fits.
    Nothing,
    /// Overwrite a buffer of several times the L2's size, so that the chain is in DRAM.
    FlushL2,
    /// Let a full block on the same SM load the footprint, one element every `stride`, this many times.
    Fill {
        /// Passes over the footprint.
        passes: u32,
    },
}
