//! Where the SMs are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where one SM is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
}

/// Where each SM is, in ascending order of `%smid`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct SmMap(pub Vec<SmPlace>);
