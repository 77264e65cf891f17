//! Facts that the driver reports about a device, without a measurement (Größler, section 4.1), and those of the host and the board
//! around it.

mod board;
mod host;
mod limits;
mod peer;

pub use board::{BoardFacts, RemappedRows, Unavailable};
pub use host::HostFacts;
pub use peer::PeerFacts;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::apart;
use crate::units::Bytes;

/// Facts from the driver. Sizes in bytes, clocks in kHz as the driver gives them. `None`, and 0 of a plain number: nobody says; in
/// JSON it is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceFacts {
    /// Name, such as `NVIDIA H200`.
    pub name: String,
    /// UUID, as `nvidia-smi` prints it.
    pub uuid: Option<String>,
    /// PCI address, `domain:bus:device.function`.
    pub pci: Option<String>,
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// Version of the CUDA driver interface, such as `13.0`.
    pub driver_api: String,
    /// Version of the kernel driver, such as `580.95.05`, where NVML tells it.
    pub driver_version: Option<String>,
    /// Streaming multiprocessors that this process can use.
    #[serde(with = "known")]
    #[schemars(with = "Option<u32>")]
    pub multiprocessors: u32,
    /// FP32 cores per multiprocessor, from a table by compute capability.
    pub cores_per_multiprocessor: Option<u32>,
    /// Threads of a warp.
    #[serde(with = "known")]
    #[schemars(with = "Option<u32>")]
    pub warp_size: u32,
    /// Most threads of a block.
    #[serde(with = "known")]
    #[schemars(with = "Option<u32>")]
    pub max_threads_per_block: u32,
    /// Most threads resident on a multiprocessor.
    #[serde(with = "known")]
    #[schemars(with = "Option<u32>")]
    pub max_threads_per_multiprocessor: u32,
    /// Most blocks resident on a multiprocessor.
    pub max_blocks_per_multiprocessor: Option<u32>,
    /// Most blocks of a grid in its first dimension.
    #[serde(with = "known")]
    #[schemars(with = "Option<u32>")]
    pub max_grid_blocks: u32,
    /// 32-bit registers of a block.
    #[serde(with = "known")]
    #[schemars(with = "Option<u32>")]
    pub registers_per_block: u32,
    /// 32-bit registers of a multiprocessor.
    #[serde(with = "known")]
    #[schemars(with = "Option<u32>")]
    pub registers_per_multiprocessor: u32,
    /// Shared memory of a block without asking for more, in bytes.
    #[serde(with = "known")]
    #[schemars(with = "Option<u64>")]
    pub shared_per_block: u64,
    /// Shared memory of a block after asking for more, in bytes.
    pub shared_per_block_optin: Option<u64>,
    /// Shared memory of a multiprocessor, in bytes.
    #[serde(with = "known")]
    #[schemars(with = "Option<u64>")]
    pub shared_per_multiprocessor: u64,
    /// Shared memory of every block that the system keeps, in bytes.
    pub shared_reserved_per_block: Option<u64>,
    /// Constant memory that a module may declare, in bytes.
    #[serde(with = "known")]
    #[schemars(with = "Option<u64>")]
    pub constant_memory: u64,
    /// Device memory, in bytes.
    #[serde(with = "known")]
    #[schemars(with = "Option<u64>")]
    pub total_memory: u64,
    /// Device memory that was free when the run started, in bytes.
    #[serde(with = "known")]
    #[schemars(with = "Option<u64>")]
    pub free_memory: u64,
    /// L2 size, in bytes.
    #[serde(with = "known")]
    #[schemars(with = "Option<u64>")]
    pub l2_size: u64,
    /// Whether global loads may be cached in the L1, as the driver says.
    pub global_l1_cache: Option<bool>,
    /// Whether local memory may be cached in the L1, as the driver says.
    pub local_l1_cache: Option<bool>,
    /// Peak SM clock, in kHz.
    #[serde(with = "known")]
    #[schemars(with = "Option<u32>")]
    pub clock_khz: u32,
    /// Peak memory clock, in kHz.
    #[serde(with = "known")]
    #[schemars(with = "Option<u32>")]
    pub memory_clock_khz: u32,
    /// Width of the memory bus, in bits.
    #[serde(with = "known")]
    #[schemars(with = "Option<u32>")]
    pub memory_bus_bits: u32,
    /// Error-correcting memory is on.
    pub ecc: Option<bool>,
    /// The device shares memory with the host.
    pub integrated: bool,
    /// A display watchdog limits the time of a launch.
    pub watchdog: bool,
    /// Virtual-memory calls are supported.
    pub virtual_memory: Option<bool>,
    /// Widest linear texture, in texels.
    pub max_linear_texture: Option<u64>,
    /// Smallest piece of device memory that the driver maps, in bytes.
    pub mapping_granularity: Option<u64>,
    /// The GPU whose memory it reaches over a link, in a run that measured a link.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "apart")]
    #[schemars(with = "Option<PeerFacts>")]
    pub peer: Option<PeerFacts>,
}

impl DeviceFacts {
    /// The most shared memory that a block may have.
    pub fn most_shared_per_block(&self) -> Bytes {
        Bytes(self.shared_per_block_optin.unwrap_or(0).max(self.shared_per_block))
    }

    /// Shared memory that a block takes: its own, and what the system keeps.
    pub fn shared_of_block(&self, own: Bytes) -> Bytes {
        Bytes(own.0.saturating_add(self.shared_reserved_per_block.unwrap_or(0)))
    }

    /// Blocks of so many threads (at least one), with so much shared memory of their own, that a multiprocessor holds at a time,
    /// and what limits their number. Registers may limit it further.
    pub fn resident_blocks(&self, threads: u32, shared: Bytes) -> (u32, Limit) {
        // What nobody says is no limit.
        let known = |count: u64| if count == 0 { u64::MAX } else { count };
        let warps = u64::from(threads.max(1)).div_ceil(u64::from(self.warp_size.max(1)));
        let warps_of_sm = known(u64::from(self.max_threads_per_multiprocessor)) / u64::from(self.warp_size.max(1));
        let blocks = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let by_threads = blocks(warps_of_sm / warps);
        let by_shared = known(self.shared_per_multiprocessor).checked_div(self.shared_of_block(shared).0);
        let by_shared = by_shared.map_or(u32::MAX, blocks);
        let limits = [
            (by_threads, Limit::Threads),
            (self.max_blocks_per_multiprocessor.unwrap_or(u32::MAX), Limit::Blocks),
            (by_shared, Limit::Shared),
        ];
        let (least, limit) = limits.into_iter().min_by_key(|(blocks, _)| *blocks).unwrap_or((1, Limit::Blocks));
        (least.max(1), limit)
    }
}

/// What limits the number of blocks that a multiprocessor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Threads of a multiprocessor.
    Threads,
    /// Blocks of a multiprocessor.
    Blocks,
    /// Shared memory of a multiprocessor.
    Shared,
}

/// A device as `strata devices` lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Number in the driver's order, as in `cuda:N`.
    pub ordinal: u32,
    /// Name.
    pub name: String,
    /// UUID.
    pub uuid: Option<String>,
    /// PCI address.
    pub pci: Option<String>,
    /// Compute capability.
    pub compute_capability: (u32, u32),
    /// Device memory, in bytes.
    pub total_memory: u64,
}

/// What is known of other processes on the GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OtherProcesses {
    /// Nothing can be said, and why.
    #[default]
    NotVisible,
    /// NVML lists this many besides this process. Zero is "none visible": in a container others may be hidden.
    Visible(u32),
}

/// Whether the device is a slice of a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mig {
    /// Nothing is known.
    #[default]
    Unknown,
    /// MIG is off.
    Off,
    /// MIG is on: what is measured is one instance.
    On,
}

/// The state of the GPU at one moment, from NVML. Empty where NVML is absent; `note` then says why.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Telemetry {
    /// Current SM clock, in MHz.
    pub sm_clock_mhz: Option<u32>,
    /// Highest SM clock, in MHz.
    pub max_sm_clock_mhz: Option<u32>,
    /// Current memory clock, in MHz.
    pub memory_clock_mhz: Option<u32>,
    /// Reasons for which the clock is held down, in NVML's words.
    pub throttle_reasons: Vec<String>,
    /// Temperature, in degrees Celsius.
    pub temperature_c: Option<u32>,
    /// MIG mode.
    pub mig: Mig,
    /// Other processes.
    pub processes: OtherProcesses,
    /// Why something above is absent.
    pub note: Option<String>,
}

/// A number of which 0 stands for "not known": null where a person may read it, the number itself in a recording.
mod known {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<T: Serialize + Default + PartialEq, S: Serializer>(
        n: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() && *n == T::default() {
            serializer.serialize_none()
        } else {
            n.serialize(serializer)
        }
    }

    pub fn deserialize<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        if deserializer.is_human_readable() {
            Ok(Option::deserialize(deserializer)?.unwrap_or_default())
        } else {
            T::deserialize(deserializer)
        }
    }
}
