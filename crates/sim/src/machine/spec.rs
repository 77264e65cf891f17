//! The tables of a machine file: one type per table. `check.rs` holds the tables against each other.

use std::collections::BTreeMap;

use serde::Deserialize;

pub use self::caches::{
    Cache, Configuration, Hint, Index, InstructionCache, Partitions, Prefetch, Replacement, Scope, Sharers, Threads,
    Tlb, Write,
};
use super::value::{Busy, Capability, Delay, Extra, Rate, Share, Size, Whole};

mod caches;

/// Where the values of a table are from: names of its keys, separated by commas, and the source. Printed, never computed
/// with. Every table of a machine that comes with this program has a source for every key.
pub type Sources = BTreeMap<String, String>;

/// A machine file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Version of the format.
    pub schema: Schema,
    /// What the driver would say.
    pub device: Device,
    /// The SM clock.
    pub clock: Clock,
    /// The SM's pipeline.
    #[serde(default)]
    pub pipeline: Pipeline,
    /// What disturbs.
    #[serde(default)]
    pub noise: Noise,
    /// Caches, by name.
    pub cache: BTreeMap<String, Cache>,
    /// Levels of address translation, the first one first.
    #[serde(default)]
    pub tlb: Vec<Tlb>,
    /// Instruction caches, the first one first. If there are none, code takes no time to fetch.
    #[serde(default)]
    pub instruction: Vec<InstructionCache>,
    /// Shared memory.
    pub shared: Shared,
    /// What lies behind the caches.
    pub memory: Memory,
    /// The link to another GPU; none if absent.
    pub link: Option<Link>,
    /// Which way loads go.
    pub path: Paths,
    /// Values that others have reported of this GPU, and why they may differ from what is modelled.
    #[serde(default)]
    pub reported: Vec<Reported>,
}

/// The only format there is.
#[derive(Clone, Copy, Debug, Deserialize)]
pub enum Schema {
    /// Version 1.
    #[serde(rename = "strata/machine/1")]
    One,
}

/// What the driver would say.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Name, as the driver gives it.
    pub name: String,
    /// Generation and chip.
    pub chip: String,
    /// Compute capability.
    pub compute_capability: Capability,
    /// SMs.
    pub multiprocessors: Whole<1, 1024>,
    /// FP32 cores of an SM.
    pub cores_per_multiprocessor: Option<Whole<1, 1024>>,
    /// Threads of a block.
    #[serde(default = "default_block")]
    pub max_threads_per_block: Whole<32, 1024>,
    /// Threads of an SM.
    pub max_threads_per_multiprocessor: Whole<32, 4096>,
    /// Blocks of an SM.
    pub max_blocks_per_multiprocessor: Whole<1, 64>,
    /// 32-bit registers of an SM.
    pub registers_per_multiprocessor: Whole<1024, 1_048_576>,
    /// Device memory.
    pub memory: Size,
    /// L2 size as the driver states it.
    pub l2: Size,
    /// Peak memory clock.
    pub memory_clock_mhz: Whole<1, 100_000>,
    /// Width of the memory bus.
    pub memory_bus_bits: Whole<8, 16384>,
    /// GPC of each SM in turn, as digits and small letters. If absent, no clusters can be launched.
    pub gpcs: Option<String>,
    /// SMs that take clusters of two blocks, but no larger ones: the last ones of a GPU whose GPCs differ in size.
    #[serde(default)]
    pub pairs_only: Vec<u32>,
    /// Blocks of the largest cluster.
    #[serde(default = "default_cluster")]
    pub largest_cluster: Whole<1, 16>,
    /// Sources.
    #[serde(default)]
    pub sources: Sources,
}

impl Device {
    /// Number of each SM's GPC, if the file says them.
    pub fn gpc_of_sms(&self) -> Option<Vec<u32>> {
        numbers(self.gpcs.as_ref()?)
    }
}

impl Tlb {
    /// Number of the instance that each SM uses, if the file says them.
    pub fn instance_of_sms(&self) -> Option<Vec<u32>> {
        numbers(self.sms.as_ref()?)
    }
}

fn numbers(of_sms: &str) -> Option<Vec<u32>> {
    of_sms.chars().map(|one| one.to_digit(RADIX)).collect()
}

/// GPCs and instances are named by a digit or a small letter.
pub(super) const RADIX: u32 = 36;

/// What every device with clusters takes (CUDA C++ Programming Guide, "Thread Block Clusters").
fn default_cluster() -> Whole<1, 16> {
    Whole::new(8).expect("in range")
}

/// About what Hopper takes (docs/evidence/h200.md).
fn default_remote() -> Whole<1, 10_000> {
    Whole::new(190).expect("in range")
}

fn default_block() -> Whole<32, 1024> {
    Whole::new(1024).expect("in range")
}

/// The SM clock and the global timer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Steady clock.
    pub mhz: Whole<1, 10_000>,
    /// Clock at which every run begins, until `ramp_us` have passed; the steady clock if absent.
    pub ramp_from_mhz: Option<Whole<1, 10_000>>,
    /// How long the clock takes to become steady, in microseconds.
    #[serde(default)]
    pub ramp_us: Extra,
    /// Step of the global timer, in nanoseconds.
    pub timer_step_ns: Whole<1, 1_000_000>,
    /// Sources.
    #[serde(default)]
    pub sources: Sources,
}

/// The SM's pipeline: in order, with a scoreboard.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pipeline {
    /// Cycles until the result of an arithmetic instruction can be used.
    pub arithmetic: Whole<1, 100>,
    /// Cycles between two instructions of one warp.
    pub issue: Whole<1, 100>,
    /// Cycles that a barrier takes once everybody has arrived.
    pub barrier: Whole<1, 1000>,
    /// Cycles that a barrier of 32 warps takes longer than one of a single warp; fewer warps take their share of it, rounded up.
    pub barrier_warps: Whole<0, 1000>,
    /// Cycles that a barrier of a cluster takes once everybody has arrived.
    pub cluster_barrier: Whole<1, 10_000>,
    /// What a bulk copy takes beside the loads or stores of its sectors.
    pub bulk_copy: Whole<0, 10_000>,
    /// From one sector of a bulk copy to the next.
    pub bulk_sector: Whole<0, 1000>,
    /// What `cp.async` takes beside the load.
    pub cp_async: Whole<0, 10_000>,
    /// Cycles of a look at an mbarrier.
    pub mbarrier: Whole<1, 1000>,
    /// Bytes of memory that the lanes of a warp get by one transaction where a cache of the SM is asked first: a power of two
    /// from 32 on; 32 if absent. Requests that go straight to a cache of the device are divided into sectors of 32 B.
    pub coalescing: Whole<32, 1024>,
    /// Cycles for each further transaction; 1 if absent.
    pub transaction: Whole<0, 1000>,
    /// Cycles for each further word of constant memory that lanes want by addresses that may differ; 4 if absent, which is
    /// assumed. (CUDA C Programming Guide, constant memory: as many separate requests as there are different addresses.)
    pub constant_word: Whole<0, 1000>,
    /// Cycles for each further lane whose atomic is on the same word of global memory; 1 if absent, as on Kepler (NVIDIA's white
    /// paper on the GK110, recalled: one operation per clock on a common address).
    pub atomic: Whole<0, 1000>,
    /// Cycles by which a texture load takes longer where it gives the mean of texels; 0 if absent, as the units of a texture filter
    /// at full rate (assumed of the latency, too).
    pub filtering: Whole<0, 1000>,
    /// Cycles for which a request with atomics occupies its line of the device's cache, besides those of further lanes on one word;
    /// requests of all SMs for a line wait for each other. As `atomic` if absent: operations on one address come one every so
    /// many cycles, whoever asks for them.
    pub atomic_line: Option<Whole<0, 1000>>,
    /// Operations of lanes a cycle that atomics on global memory make at most, those of all SMs and on all lines together; any number
    /// if absent.
    pub atomic_rate: Option<Rate>,
    /// Bytes a cycle that an SM gets from the caches of the device and what lies behind them, all its warps together; as many as it asks
    /// for if absent.
    pub delivery: Option<Rate>,
    /// Bytes a cycle that the SMs of a GPC get from there together, where the file says the GPCs; as many as they ask for if absent.
    pub gpc_delivery: Option<Rate>,
    /// Instructions of warps that an SM issues in a cycle, all its warps together; as many as it has warps if absent.
    pub issue_width: Option<Whole<1, 64>>,
    /// Requests of an SM that may be on their way to the caches of the device and back, loads and stores together: a further one
    /// waits until the oldest is answered, and with it whatever the SM asks of its caches after it. Any number if absent.
    pub outstanding: Option<Whole<1, 65536>>,
    /// Sources.
    pub sources: Sources,
}

impl Default for Pipeline {
    fn default() -> Self {
        let whole = |value| Whole::new(value).expect("in range");
        Pipeline {
            arithmetic: whole(6),
            issue: Whole::new(1).expect("in range"),
            barrier: Whole::new(20).expect("in range"),
            barrier_warps: Whole::new(0).expect("in range"),
            cluster_barrier: Whole::new(300).expect("in range"),
            bulk_copy: Whole::new(300).expect("in range"),
            bulk_sector: Whole::new(1).expect("in range"),
            cp_async: Whole::new(30).expect("in range"),
            mbarrier: Whole::new(30).expect("in range"),
            coalescing: Whole::new(32).expect("in range"),
            transaction: Whole::new(1).expect("in range"),
            constant_word: Whole::new(4).expect("in range"),
            atomic: Whole::new(1).expect("in range"),
            filtering: Whole::new(0).expect("in range"),
            atomic_line: None,
            atomic_rate: None,
            delivery: None,
            gpc_delivery: None,
            issue_width: None,
            outstanding: None,
            sources: Sources::new(),
        }
    }
}

/// What disturbs the timing of loads.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Noise {
    /// Each load takes 0 to this many cycles more.
    pub jitter: Extra,
    /// Share of the loads that take `spike` cycles more.
    pub spikes: Share,
    /// What a spike adds.
    pub spike: Extra,
    /// Each load takes any time from 0 to this many cycles more: no plateau is left.
    pub smear: Extra,
    /// Sources.
    pub sources: Sources,
}

/// Shared memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Of a block without asking for more.
    pub per_block: Size,
    /// Of a block after asking for more.
    pub per_block_optin: Option<Size>,
    /// Of an SM.
    pub per_multiprocessor: Size,
    /// What the system keeps of it for each block.
    #[serde(default = "nothing")]
    pub reserved_per_block: Size,
    /// Latency of a load without conflicts.
    pub cycles: Delay,
    /// Latency of the shared memory of another block of the same cluster.
    #[serde(default = "default_remote")]
    pub remote_cycles: Whole<1, 10_000>,
    /// What it takes longer for each place of an SM in its GPC, counted from 0, at both ends.
    #[serde(default)]
    pub remote_step: Extra,
    /// What an atomic takes longer there than a load.
    #[serde(default)]
    pub remote_atomic: Extra,
    /// Bytes a cycle that an SM gives to blocks on other SMs, or takes from them. They do not wait for each other if absent.
    pub remote_bandwidth: Option<Rate>,
    /// Bytes a cycle that an SM gets by copies that are for several blocks of a cluster. They do not wait for each other if absent.
    pub multicast_bandwidth: Option<Rate>,
    /// Banks; a power of two.
    pub banks: Whole<1, 128>,
    /// Width of a bank in bytes: what it gives at once. 4 or 8.
    pub bank_width: Whole<4, 8>,
    /// Widths of the words that go to banks in turn, where a program can choose (compute capability 3.x): 4, 8 or both, none
    /// wider than a bank. The first is the driver's own choice. If there are none, words are as wide as banks.
    #[serde(default)]
    pub modes: Vec<Whole<4, 8>>,
    /// Cycles for each further row that a bank must give.
    pub conflict: Delay,
    /// Cycles for each further lane whose atomic is on the same word; those of `conflict` if absent, since each such lane needs
    /// the bank for itself.
    pub atomic: Option<Extra>,
    /// Cycles for which a request with atomics of a warp occupies shared memory, besides those of conflicts and of further lanes on one
    /// word; 1 if absent, a row of all banks a cycle.
    #[serde(default = "one")]
    pub atomic_request: Whole<1, 1000>,
    /// Bytes a cycle that all banks of an SM give or take, at most as many as they are wide together: each row of all banks that a
    /// load or store needs occupies them. Loads and stores do not wait for each other if absent.
    pub bandwidth: Option<Rate>,
    /// Sources.
    #[serde(default)]
    pub sources: Sources,
}

fn one() -> Whole<1, 1000> {
    Whole::new(1).expect("in range")
}

fn nothing() -> Size {
    Size(0)
}

/// What lies behind the caches.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Cycles for which an access occupies a channel.
    pub port: Busy,
    /// Channels.
    pub channels: Whole<1, 256>,
    /// Bytes a cycle of the SM clock that all of memory gives or takes: what misses of the device's caches fetch, and stores that
    /// miss there. Besides `port` and `channels`; any number if absent.
    pub bandwidth: Option<Rate>,
    /// Pinned host memory: latency of a load.
    pub host_cycles: Delay,
    /// Bytes a cycle of the SM clock that the bus to the host carries each way, for all SMs or a copy engine. If absent, any number for
    /// the SMs, and there are no copy engines.
    pub host_bandwidth: Option<Rate>,
    /// Sources.
    #[serde(default)]
    pub sources: Sources,
}

/// A link to the memory of another GPU, which has the same clock.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Latency of a load that the other GPU's L2 answers.
    pub cycles: Delay,
    /// Latency of a load that its memory answers.
    pub memory_cycles: Delay,
    /// What an atomic takes more than a load.
    #[serde(default)]
    pub atomic: Extra,
    /// Bytes a cycle of the SM clock that the link carries each way, for all SMs or a copy engine. If absent, any number for the SMs,
    /// and copy engines do not reach the other GPU.
    pub bandwidth: Option<Rate>,
    /// Whether the first cache of an SM keeps lines of the other GPU's memory.
    #[serde(default)]
    pub cached: bool,
    /// Sources.
    #[serde(default)]
    pub sources: Sources,
}

/// The way of one kind of load.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Caches in the order in which they are asked.
    pub levels: Vec<String>,
    /// Latency of a hit in each of them: from issue to use.
    pub cycles: Vec<Delay>,
    /// Latency if all miss.
    pub memory: Delay,
    /// Bytes a cycle that an SM hands to its warps on this way, wherever they come from; of constants each word once, whatever number
    /// of lanes wants it. As many as the caches give if absent.
    pub bandwidth: Option<Rate>,
    /// The first cache that is asked by physical address, so that the address must have been translated; the first of all
    /// if absent.
    pub translated: Option<String>,
    /// Sources.
    #[serde(default)]
    pub sources: Sources,
}

/// Which way loads go. A path that is absent does not exist on this machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paths {
    /// `ld.global.ca`.
    pub global_ca: Path,
    /// `ld.global.cg`; stores and atomics take the way of its device-wide caches.
    pub global_cg: Path,
    /// `ld.global.nc`.
    pub global_nc: Option<Path>,
    /// `tex`.
    pub texture: Option<Path>,
    /// `ld.const` by an address that differs from thread to thread, as far as a compiler can see.
    pub constant: Path,
    /// `ld.const` by an address that is the same for all threads.
    pub constant_uniform: Option<Path>,
    /// `ld.local`.
    pub local: Path,
}

/// What somebody has reported of this GPU.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reported {
    /// Element and attribute, such as `l1.size`.
    pub what: String,
    /// The value, with its unit.
    pub value: String,
    /// Who says so, and where.
    pub source: String,
    /// Why it may differ from what is modelled.
    pub note: Option<String>,
}

impl Spec {
    /// Whether warps wait for what they have together: issue, ports of so many bytes a cycle, or answers that are outstanding. Then
    /// the order in which the warps of an SM ask matters, and they ask in the order of time.
    pub fn has_queues(&self) -> bool {
        let caches = || self.cache.values().any(|cache| cache.bandwidth.is_some() || cache.write_bandwidth.is_some());
        let crossings =
            || self.cache.values().filter_map(|cache| cache.partitions.as_ref()).any(|parts| parts.crossing.is_some());
        self.pipeline.issue_width.is_some()
            || self.pipeline.outstanding.is_some()
            || self.pipeline.gpc_delivery.is_some()
            || self.pipeline.atomic_rate.is_some()
            || self.shared.bandwidth.is_some()
            || self.shared.remote_bandwidth.is_some()
            || self.shared.multicast_bandwidth.is_some()
            || self.memory.bandwidth.is_some()
            || self.memory.host_bandwidth.is_some()
            || self.link.as_ref().is_some_and(|link| link.bandwidth.is_some())
            || self.path.all().any(|(_, path)| path.bandwidth.is_some())
            || caches()
            || crossings()
    }
}

impl Paths {
    /// The paths that there are, with their names.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        [
            ("global_ca", Some(&self.global_ca)),
            ("global_cg", Some(&self.global_cg)),
            ("global_nc", self.global_nc.as_ref()),
            ("texture", self.texture.as_ref()),
            ("constant", Some(&self.constant)),
            ("constant_uniform", self.constant_uniform.as_ref()),
            ("local", Some(&self.local)),
        ]
        .into_iter()
        .filter_map(|(name, path)| Some((name, path?)))
    }
}
