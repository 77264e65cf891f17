//! Banks of shared memory: padding and latency by stride.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// Padding for elements of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct PaddingRow {
    /// Bytes of an element.
    pub width: Bytes,
    /// Words of 4 bytes at the end of each row: 0 where none are needed, null where none were found to help.
    #[serde(default)]
    pub words: Option<u64>,
    /// Width of the pieces that go to the banks in turn, where a program can choose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Bytes>,
}

/// Padding by the width of an element.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Padding(pub Vec<PaddingRow>);

/// Latency of a warp's load at one stride.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct BankPoint {
    /// Bytes of a lane's access.
    pub width: Bytes,
    /// Distance from lane to lane, in elements of that width.
    pub stride: u64,
    /// Cycles of a load.
    pub cycles: f64,
    /// Lower end of the interval of `cycles`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the interval of `cycles`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// How often banks give a row, by the cycles above those of one element for all lanes; null if that is no whole number.
    #[serde(default)]
    pub ways: Option<u64>,
    /// Width of the pieces that go to the banks in turn, where a program can choose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Bytes>,
}

/// Latencies of a warp's loads by stride.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct BankCurve(pub Vec<BankPoint>);
