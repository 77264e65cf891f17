//! Where the SMs are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Cycles;

/// What the accesses of one SM to the lines of one partition take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Reach {
    /// The partition of the lines.
    pub partition: u32,
    /// The mean over the lines.
    pub cycles: Cycles,
    /// The 5th percentile over the lines.
    pub low: Cycles,
    /// The 95th percentile over the lines.
    pub high: Cycles,
}

/// Where one SM is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct SmPlace {
    /// Its `%smid`.
    pub sm: u32,
    /// The part of the L2 that it is near to.
    #[serde(default)]
    pub partition: Option<u32>,
    /// Its group within the partition: SMs at like distances from the lines.
    #[serde(default)]
    pub group: Option<u32>,
    /// Its texture processing cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpc: Option<u32>,
    /// Its graphics processing cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpc: Option<u32>,
    /// What its atomics on lines of each partition take, in the order of partitions; empty in a result of before 27 November 2026.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency: Vec<Reach>,
}

/// Where each SM is, in ascending order of `%smid`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct SmMap(pub Vec<SmPlace>);
