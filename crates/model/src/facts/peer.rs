//! The other GPU of a link, as the driver knows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The GPU whose memory another GPU reaches over a link, and what the driver and NVML say of the way there. `None`: nobody says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeerFacts {
    /// Name, such as `NVIDIA H200`.
    pub name: String,
    /// UUID, as `nvidia-smi` prints it.
    pub uuid: Option<String>,
    /// PCI address, `domain:bus:device.function`.
    pub pci: Option<String>,
    /// Size of its L2, in bytes; 0 if nobody says.
    pub l2_size: u64,
    /// Its memory that was free when the run started, in bytes.
    pub free_memory: u64,
    /// Atomics on its memory are carried out over the link.
    pub native_atomics: Option<bool>,
    /// The driver's rank of the way there among those of the system; 0 is the best.
    pub performance_rank: Option<u32>,
    /// NVLink connections of the first GPU that are up. They may lead to a switch, which the other GPU is connected to.
    pub nvlinks: Option<u32>,
    /// Generation of these connections.
    pub nvlink_generation: Option<u32>,
}
