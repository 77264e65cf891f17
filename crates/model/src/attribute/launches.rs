//! What a cache holds beside the shared memory of a launch.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// The cache of an SM as kernels of one launch shape find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct LaunchRow {
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Blocks that an SM can hold at a time, as threads, shared memory and the number of blocks limit it.
    pub blocks_per_sm: u32,
    /// Dynamic shared memory of a block.
    pub shared_per_block: Bytes,
    /// Preferred carveout, in per cent of the most shared memory that an SM can have; null where the launch states none.
    #[serde(default)]
    pub carveout_percent: Option<u8>,
    /// Shared memory that is set aside on an SM; null where the sizes do not tell it.
    #[serde(default)]
    pub shared_configured: Option<Bytes>,
    /// Usable capacity.
    pub size: Bytes,
    /// Lower end of the interval of `size`.
    pub low: Bytes,
    /// Upper end of the interval of `size`.
    pub high: Bytes,
}

/// A cache by the launch of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Launches(pub Vec<LaunchRow>);

impl Launches {
    /// The launches with the most and the least, the first of equals, if they differ.
    pub fn extremes(&self) -> Option<(&LaunchRow, &LaunchRow)> {
        let most = self.0.iter().rev().max_by_key(|row| row.size)?;
        let least = self.0.iter().min_by_key(|row| row.size)?;
        (least.size < most.size).then_some((most, least))
    }
}
