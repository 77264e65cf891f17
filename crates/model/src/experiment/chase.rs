//! One thread walks a chain of dependent loads.

use serde::{Deserialize, Serialize};

use super::{Chain, LoadPath, Order, Place, Prepare};
use crate::units::Bytes;

/// A chase: one thread follows a chain of pointers, so that each load waits for the one before.
///
/// A probe begins with [`Chase::each_load`], [`Chase::each_pair`] or [`Chase::laps`] and changes what it needs:
///
/// ```
/// use strata_model::experiment::{Chase, LoadPath, Order, Place};
/// use strata_model::units::Bytes;
///
/// let chase = Chase {
///     order: Order::Random,
///     seed: 7,
///     place: Place::alone_on(0),
///     ..Chase::each_load(LoadPath::GlobalCa, Bytes::kib(16), Bytes(128))
/// };
/// assert_eq!(chase.lap(), 128);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chase {
    /// By which instruction.
    pub path: LoadPath,
    /// Bytes walked.
    pub footprint: Bytes,
    /// Distance of neighbouring elements.
    pub stride: Bytes,
    /// Order of the visit.
    pub order: Order,
    /// What is timed.
    pub timing: Timing,
    /// Whole laps before the first timed load; 0 is a cold chain.
    pub warm_laps: u32,
    /// State of the L2 before the launch.
    pub prepare: Prepare,
    /// Where it runs.
    pub place: Place,
    /// Seed of the order.
    pub seed: u64,
    /// Tells repetitions of one experiment apart.
    pub repeat: u32,
}

/// What of a chase is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// Each load by itself (Mei et al., section 3, the fine-grained pointer chase).
    EachLoad {
        /// Loads that are timed.
        loads: u32,
        /// How windows follow one another.
        walk: Walk,
    },
    /// Each pair of dependent loads by itself: with it the overhead of timing is calibrated. Pairs are timed straight on,
    /// since a window of them need not fit a lap.
    EachPair {
        /// Pairs that are timed.
        pairs: u32,
    },
    /// Many loads between two clock reads: the time of `loads` and of twice as many, `rounds` times.
    Laps {
        /// Loads of the shorter measurement.
        loads: u32,
        /// Measurements of each length inside one launch.
        rounds: u32,
    },
}

impl Timing {
    /// So many loads, one by one, with whole laps between the windows.
    pub const fn resident(loads: u32) -> Self {
        Timing::EachLoad { loads, walk: Walk::Resident }
    }

    /// So many loads, one by one, straight on.
    pub const fn straight(loads: u32) -> Self {
        Timing::EachLoad { loads, walk: Walk::Straight }
    }
}

/// How the timed loads continue when the window that holds their times is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Walk {
    /// Walk whole laps between windows, so that writing the window out cannot disturb what is resident.
    Resident,
    /// Go straight on: for caches that are much larger than the window, and for cold chains.
    Straight,
    /// As resident, with several laps between windows: a set that replaces its lines in the order of their arrival needs more
    /// than one before it holds all of them again.
    Settled {
        /// Whole laps between two windows, at least one.
        laps: u32,
    },
}

impl Walk {
    /// Whole laps between two windows; none, where the walk goes straight on.
    pub const fn laps_between(self) -> u32 {
        match self {
            Walk::Straight => 0,
            Walk::Resident => 1,
            Walk::Settled { laps } => laps,
        }
    }
}

impl Chase {
    /// Sequential, after one warm lap, on any SM, with the smallest possible share of shared memory; every load of one lap is
    /// timed.
    pub fn each_load(path: LoadPath, footprint: Bytes, stride: Bytes) -> Self {
        Chase {
            path,
            footprint,
            stride,
            order: Order::Sequential,
            timing: Timing::resident(one_lap(footprint, stride)),
            warm_laps: 1,
            prepare: Prepare::Nothing,
            place: Place::default(),
            seed: 0,
            repeat: 0,
        }
    }

    /// As [`Chase::each_load`], with as many pairs of loads timed as a lap has loads.
    pub fn each_pair(path: LoadPath, footprint: Bytes, stride: Bytes) -> Self {
        let timing = Timing::EachPair { pairs: one_lap(footprint, stride) };
        Chase { timing, ..Chase::each_load(path, footprint, stride) }
    }

    /// As [`Chase::each_load`], with a lap and two laps timed as a whole, once.
    pub fn laps(path: LoadPath, footprint: Bytes, stride: Bytes) -> Self {
        let timing = Timing::Laps { loads: one_lap(footprint, stride), rounds: 1 };
        Chase { timing, ..Chase::each_load(path, footprint, stride) }
    }

    /// The chain that it walks.
    pub fn chain(&self) -> Chain<'_> {
        let Chase { path, footprint, stride, seed, .. } = *self;
        Chain { path, footprint, stride, order: &self.order, seed }
    }

    /// Elements in one lap.
    pub fn lap(&self) -> u64 {
        self.chain().lap()
    }

    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        if let Timing::EachLoad { walk: Walk::Settled { laps: 0 }, .. } = self.timing {
            return Some("no laps between windows: a walk that goes straight on is `straight`".into());
        }
        self.chain().defect()
    }
}

/// Loads of a sequential lap.
pub(super) fn one_lap(footprint: Bytes, stride: Bytes) -> u32 {
    (footprint / stride) as u32
}
