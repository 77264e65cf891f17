//! Disturbance: the walk of one thread may displace the cached chain of another.

use serde::{Deserialize, Serialize};

use super::chase::one_lap;
use super::{Chain, LoadPath, Order, Place, Prepare};
use crate::units::Bytes;

/// Thread 0 warms a chain, its partner walks another, and thread 0 times each load of the first again (Größler, sections 4.5
/// and 4.6).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disturb {
    /// By which instruction thread 0 loads.
    pub path: LoadPath,
    /// Bytes that thread 0 walks.
    pub footprint: Bytes,
    /// Distance of its neighbouring elements.
    pub stride: Bytes,
    /// Order of its visit.
    pub order: Order,
    /// Loads that are timed after the partner's walk.
    pub loads: u32,
    /// Whole laps of thread 0 before the partner's walk.
    pub warm_laps: u32,
    /// The agent that disturbs.
    pub partner: Partner,
    /// State of the L2 before the launch.
    pub prepare: Prepare,
    /// Where it runs.
    pub place: Place,
    /// Seed of the order.
    pub seed: u64,
    /// Tells repetitions of one experiment apart.
    pub repeat: u32,
}

/// The second agent of a disturbance. Its chain is sequential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partner {
    /// The path it loads by.
    pub path: LoadPath,
    /// Bytes it walks.
    pub footprint: Bytes,
    /// Distance of its loads.
    pub stride: Bytes,
    /// Laps that it walks.
    pub laps: u32,
    /// Which thread of the block it is; the first agent is thread 0.
    pub thread: u32,
    /// Threads in the block.
    pub block_threads: u32,
}

impl Disturb {
    /// A sequential chain, warmed by one lap, disturbed by this partner, of which each load of a lap is timed, on any SM.
    pub fn new(path: LoadPath, footprint: Bytes, stride: Bytes, partner: Partner) -> Self {
        Disturb {
            path,
            footprint,
            stride,
            order: Order::Sequential,
            loads: one_lap(footprint, stride),
            warm_laps: 1,
            partner,
            prepare: Prepare::Nothing,
            place: Place::default(),
            seed: 0,
            repeat: 0,
        }
    }

    /// The chain of thread 0.
    pub fn chain(&self) -> Chain<'_> {
        let Disturb { path, footprint, stride, seed, .. } = *self;
        Chain { path, footprint, stride, order: &self.order, seed }
    }

    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        self.chain().defect()
    }
}

impl Partner {
    /// The chain that it walks.
    pub fn chain(&self) -> Chain<'static> {
        static SEQUENTIAL: Order = Order::Sequential;
        let Partner { path, footprint, stride, .. } = *self;
        Chain { path, footprint, stride, order: &SEQUENTIAL, seed: 0 }
    }
}
