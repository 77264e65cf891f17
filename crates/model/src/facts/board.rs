//! What NVML says of the board at the end of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The board of a run at its end, from NVML (Größler, section 7.5). What is `None` has its reason in `unavailable`. Of a MIG
/// instance it is the whole GPU's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoardFacts {
    /// Architecture, such as `Hopper`.
    pub architecture: Option<String>,
    /// FP32 cores of the whole GPU.
    pub cores: Option<u32>,
    /// PCIe generation of the link now. An idle GPU may lower it.
    pub pcie_generation: Option<u32>,
    /// Highest PCIe generation that the GPU and the system have in common.
    pub pcie_max_generation: Option<u32>,
    /// Lanes of the PCIe link now.
    pub pcie_width: Option<u32>,
    /// Most lanes that the GPU and the system have in common.
    pub pcie_max_width: Option<u32>,
    /// Bytes a second that the GPU received over PCIe, counted for 20 ms after the last measurement: it is traffic of others, and
    /// not what the link can carry.
    pub pcie_received_bytes_per_s: Option<u64>,
    /// Bytes a second that the GPU sent over PCIe, counted as those that it received.
    pub pcie_sent_bytes_per_s: Option<u64>,
    /// Speed of the first fan, in per cent of its highest.
    pub fan_percent: Option<u32>,
    /// The driver keeps the GPU initialised while no program uses it.
    pub persistence_mode: Option<bool>,
    /// Who may compute: `default`, `exclusive_process`, `exclusive_thread` or `prohibited`.
    pub compute_mode: Option<String>,
    /// GPU operation mode: `all_on`, `compute` or `low_dp`.
    pub operation_mode: Option<String>,
    /// Graphics clock that applications get, in MHz.
    pub applications_graphics_clock_mhz: Option<u32>,
    /// Memory clock that applications get, in MHz.
    pub applications_memory_clock_mhz: Option<u32>,
    /// Power limit, in watts.
    pub power_limit_w: Option<f64>,
    /// Corrected memory errors since the driver was loaded.
    pub ecc_volatile_corrected: Option<u64>,
    /// Uncorrected memory errors since the driver was loaded.
    pub ecc_volatile_uncorrected: Option<u64>,
    /// Corrected memory errors in the life of the board.
    pub ecc_aggregate_corrected: Option<u64>,
    /// Uncorrected memory errors in the life of the board.
    pub ecc_aggregate_uncorrected: Option<u64>,
    /// Pages of memory that were retired for several single-bit errors.
    pub retired_pages_single_bit: Option<u32>,
    /// Pages of memory that were retired for a double-bit error.
    pub retired_pages_double_bit: Option<u32>,
    /// Rows of memory that were replaced by spare ones.
    pub remapped_rows: Option<RemappedRows>,
    /// Why something above is `None`, for each.
    pub unavailable: Vec<Unavailable>,
}

/// What NVML does not tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unavailable {
    /// The key that is `None`.
    pub key: String,
    /// Why it is.
    pub reason: String,
}

/// Rows of memory that were replaced by spare ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemappedRows {
    /// For corrected errors.
    pub corrected: u32,
    /// For uncorrected errors.
    pub uncorrected: u32,
    /// A row waits for the next reset of the GPU.
    pub pending: bool,
    /// A row could not be replaced.
    pub failed: bool,
}
