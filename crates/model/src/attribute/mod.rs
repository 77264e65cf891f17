//! The attributes of an element of a topology: its name, its meaning, and the type of its value.
//!
//! This is the only place that names them. A probe says which attribute a finding is for by its [`Key`], so that a value of
//! another type does not compile; reports, comparisons, the JSON format and its schema follow from the table below. A new
//! attribute is an entry there and a probe.

mod banks;
mod cache;
mod curve;
mod explained;
mod hints;
mod launches;
mod path;
mod sm_map;
mod spectrum;
mod value;
mod words;

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

pub use banks::{BankCurve, BankPoint, Padding, PaddingRow};
pub use cache::{Configuration, Counts, Elements, IndexFunction, Mask, Odds, Policy, Sizes, Ways};
pub use curve::{Curve, Step};
pub use explained::Explanation;
pub use hints::{Effect, FetchRow, Fetches, HintRow, Hints};
pub use launches::{LaunchRow, Launches};
pub use path::Path;
pub use sm_map::{Reach, SmMap, SmPlace};
pub use spectrum::{Data, Spectrum, SpectrumRow, Translation};
pub use value::{Compared, Kind, Typed, Value};

use crate::units::{
    Bytes, BytesPerClock, BytesPerSecond, Cycles, Nanoseconds, OperationsPerClock, OperationsPerSecond,
};

/// What an attribute is about, in the order of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Capacity, line and fetch.
    Capacity,
    /// What a miss costs.
    Misses,
    /// What is shared, and how a cache is made.
    Structure,
    /// Translation of addresses.
    Translation,
    /// Parts of the L2.
    Partitions,
    /// Banks of shared memory.
    Banks,
    /// Latency of a hit.
    Latency,
    /// Bytes a second, and what it takes to get them.
    Bandwidth,
    /// Atomics a second.
    Atomics,
}

/// Names an attribute and the type of its value.
pub struct Key<T> {
    attribute: Attribute,
    value: PhantomData<fn() -> T>,
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Key<T> {}

impl<T> Key<T> {
    const fn new(attribute: Attribute) -> Self {
        Key { attribute, value: PhantomData }
    }

    /// The attribute.
    pub const fn attribute(self) -> Attribute {
        self.attribute
    }

    /// The attribute's key in JSON.
    pub const fn key(self) -> &'static str {
        self.attribute.key()
    }
}

impl<T> From<Key<T>> for Attribute {
    fn from(key: Key<T>) -> Self {
        key.attribute
    }
}

/// What is said of an attribute.
struct Description {
    key: &'static str,
    title: &'static str,
    topic: Topic,
    kind: Kind,
    unit: &'static str,
    about: &'static str,
}

macro_rules! attributes {
    ($($name:ident $constant:ident: $type:ty, $key:literal, $title:literal, $topic:ident, $unit:literal, $about:literal;)*) => {
        /// An attribute of an element. The order is that of the JSON format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Attribute {
            $(#[doc = $about] $name,)*
        }

        $(#[doc = $about] pub const $constant: Key<$type> = Key::new(Attribute::$name);)*

        impl Attribute {
            /// All of them, in the order of the JSON format.
            pub const ALL: &'static [Attribute] = &[$(Attribute::$name,)*];
        }

        const DESCRIPTIONS: &[Description] = &[$(Description {
            key: $key,
            title: $title,
            topic: Topic::$topic,
            kind: <$type as Typed>::KIND,
            unit: $unit,
            about: $about,
        },)*];
    };
}

// Name, constant and type of the value; key in JSON, where a dot means an object within the element; title; topic; unit, in
// words where it is one of several; explanation. How two values are compared follows from the type.
attributes! {
    Cached CACHED: bool, "cached", "Cached", Capacity, "",
        "Whether a cache before the L2 answers these loads: global loads for the L1, loads of local memory for local memory.";
    Size SIZE: Bytes, "size", "Size", Capacity, "B",
        "Usable capacity: the largest footprint before misses begin to grow with it.";
    NominalSize NOMINAL_SIZE: Bytes, "nominal_size", "Nominal size", Capacity, "B",
        "The size that the driver reports.";
    ThrashSize THRASH_SIZE: Bytes, "thrash_size", "Thrash size", Capacity, "B",
        "The footprint from which every load of a lap misses.";
    Conflicts CONFLICTS: f64, "conflicts", "Conflict misses", Capacity, "loads, or a share of them",
        "Misses below the usable capacity that do not grow with the footprint.";
    Staircase STAIRCASE: Curve, "staircase", "Misses by footprint", Capacity, "",
        "Share of the loads of a lap that miss, by footprint, from the usable capacity to where everything misses.";
    KeptBy KEPT_BY: Elements, "kept_by", "Kept by", Capacity, "",
        "Caches of this GPU that keep lines of the other GPU's memory.";
    LineSize LINE_SIZE: Bytes, "line_size", "Cache line", Capacity, "B",
        "Size of a cache line: the unit of allocation.";
    FetchGranularity FETCH_GRANULARITY: Bytes, "fetch_granularity", "Fetch granularity", Capacity, "B",
        "Size of a sector: the unit in which a miss fetches.";
    Reach REACH: Bytes, "reach", "TLB reach", Translation, "B",
        "Memory that a TLB translates before its first entry is evicted.";
    Entries ENTRIES: u64, "entries", "TLB entries", Translation, "entries",
        "Number of entries of a TLB.";
    PageSize PAGE_SIZE: Bytes, "page_size", "Page size", Translation, "B",
        "Memory that one entry of a TLB maps.";
    LatencyCycles LATENCY_CYCLES: Cycles, "latency.cycles", "Latency in cycles", Latency, "cycles",
        "Load latency of a hit, in cycles of the SM clock.";
    LatencyNs LATENCY_NS: Nanoseconds, "latency.ns", "Latency in nanoseconds", Latency, "ns",
        "Load latency of a hit in nanoseconds, by the SM clock that the same run measured.";
    OwnLatency OWN_LATENCY: Cycles, "own_latency", "Latency of the block's own memory", Latency, "cycles",
        "Latency of a block's own shared memory, loaded by its generic addresses in the cluster.";
    ClusterBarrier CLUSTER_BARRIER: Cycles, "cluster_barrier", "Barrier of a cluster", Latency, "cycles",
        "Cycles of a barrier for both blocks of a cluster of two that arrive together.";
    RelaxedClusterBarrier RELAXED_CLUSTER_BARRIER: Cycles, "relaxed_cluster_barrier", "Relaxed barrier of a cluster", Latency, "cycles",
        "Cycles of a barrier for both blocks of a cluster of two, without the fence that orders the memory accesses before it.";
    AtomicLatency ATOMIC_LATENCY: Cycles, "atomic_latency", "Latency of an atomic", Latency, "cycles",
        "Cycles of an atomic in another block's shared memory, or in another GPU's L2, until its result is there.";
    BulkCopyLatency BULK_COPY_LATENCY: Cycles, "bulk_copy_latency", "Latency of a bulk copy", Latency, "cycles",
        "Cycles of `cp.async.bulk` of 16 bytes from the L2 to shared memory, until an mbarrier says that it is done.";
    BulkStoreLatency BULK_STORE_LATENCY: Cycles, "bulk_store_latency", "Latency of a bulk copy to memory", Latency, "cycles",
        "Cycles of `cp.async.bulk` of 16 bytes from shared to global memory, until `cp.async.bulk.wait_group` lets the thread go on.";
    CpAsyncLatency CP_ASYNC_LATENCY: Cycles, "cp_async_latency", "Latency of cp.async", Latency, "cycles",
        "Cycles of `cp.async` of 16 bytes from the L2 to shared memory, until the thread can read them.";
    MbarrierCycles MBARRIER_CYCLES: Cycles, "mbarrier", "Mbarrier", Latency, "cycles",
        "Cycles of an mbarrier at which one thread arrives and waits, with no copy.";
    LargestCluster LARGEST_CLUSTER: u64, "largest_cluster", "Largest cluster", Structure, "blocks",
        "Blocks of the largest cluster, if each of them takes an SM to itself.";
    MissPenalty MISS_PENALTY: Cycles, "miss_penalty", "Miss penalty", Misses, "cycles",
        "How many cycles longer a miss takes than a hit.";
    MissOverhead MISS_OVERHEAD: Cycles, "miss_overhead", "Miss overhead", Misses, "cycles",
        "How many cycles longer a load through the L1 takes than one that bypasses it, if both miss the L1.";
    MappingGranularity MAPPING_GRANULARITY: Bytes, "mapping_granularity", "Mapping granularity", Translation, "B",
        "Size of the pieces in which the driver maps device memory.";
    Spectrum SPECTRUM: Spectrum, "spectrum", "Latency spectrum", Translation, "cycles",
        "Latency by path, by the level that has the data, and by the TLB level that has the translation.";
    SharedWith SHARED_WITH: Elements, "shared_with", "Shared with", Structure, "",
        "Other elements that use the same physical cache.";
    InstancesPerSm INSTANCES_PER_SM: u64, "instances_per_sm", "Instances per SM", Structure, "",
        "Number of physical caches of this kind in one SM.";
    SmsOfAnInstance SMS_OF_AN_INSTANCE: Counts, "sms_of_an_instance", "SMs that share one", Structure, "SMs",
        "How many SMs share each physical cache of this kind, in ascending order.";
    InstanceOfSms INSTANCE_OF_SMS: Counts, "instance_of_sms", "Which one each SM uses", Structure, "",
        "Number of the physical cache of this kind that each SM uses: by SM, from SM 0 on, counted in the order of their first SMs.";
    Sets SETS: u64, "sets", "Sets", Structure, "sets",
        "Number of sets.";
    Ways WAYS: Ways, "ways", "Ways", Structure, "lines, or entries of a TLB",
        "Number of lines that a set holds; a list in descending order where sets differ.";
    Index INDEX: IndexFunction, "index", "Set index", Structure, "",
        "How an address finds its set: by some of its bits, by parities of its bits, or by the line number modulo the sets.";
    Replacement REPLACEMENT: Policy, "replacement", "Replacement policy", Structure, "",
        "Which line a full set evicts; for a random choice with unequal probabilities, these by the order of filling.";
    WritePolicy WRITE_POLICY: String, "write_policy", "Stores", Structure, "",
        "What a store leaves in the cache: it allocates its line, updates only a line that is there, or evicts that line.";
    WriteBack WRITE_BACK: bool, "write_back", "Write-back", Structure, "",
        "Whether what is stored stays in the cache until its line gives way, and goes to memory only then.";
    Hints HINTS: Hints, "hints", "Effect of hints", Structure, "",
        "What becomes of the lines of an access, beside those of a plain load: by instruction and cache hint.";
    FetchByHint FETCH_BY_HINT: Fetches, "fetch_by_hint", "Fetched by hint", Structure, "",
        "How many bytes a load that misses brings in, from the beginning of an aligned block on: by instruction and prefetch size.";
    LeastConfiguration LEAST_CONFIGURATION: Configuration, "least_configuration", "Smallest configuration", Structure, "",
        "The same cache when a kernel requests all shared memory.";
    ByLaunch BY_LAUNCH: Launches, "by_launch", "Size by launch", Structure, "",
        "The usable capacity beside the shared memory that the driver sets aside for a launch, by its threads and shared memory.";
    Partitions PARTITIONS: u64, "partitions", "Partitions", Partitions, "",
        "Number of parts of a shared cache to which SMs are near or far.";
    NearLatency NEAR_LATENCY: Cycles, "near_latency", "Near latency", Partitions, "cycles",
        "Latency of a line of the SM's own partition: in the L2 of an atomic, in DRAM of a load.";
    FarLatency FAR_LATENCY: Cycles, "far_latency", "Far latency", Partitions, "cycles",
        "Latency of a line of another partition: in the L2 of an atomic, in DRAM of a load.";
    SmMap SM_MAP: SmMap, "sm_map", "Map of the SMs", Partitions, "",
        "The partition of each SM, its group within that partition, and its latency to the lines of each partition.";
    PartitionHash PARTITION_HASH: IndexFunction, "partition_hash", "Partition by address", Partitions, "",
        "How an address within a page of 2 MiB chooses the partition: by some of its bits, or by parities of its bits.";
    Slices SLICES: u64, "slices", "Slices", Partitions, "",
        "How many parts of the cache serve loads independently of each other, as one SM sees them: where each partition keeps copies of the lines of others, the slices of one partition.";
    SliceHash SLICE_HASH: IndexFunction, "slice_hash", "Slice by address", Partitions, "",
        "How an address within a page of 2 MiB chooses the slice: by some of its bits, or by parities of its bits.";
    Gpcs GPCS: Counts, "gpcs", "SMs of the GPCs", Partitions, "SMs",
        "How many SMs each graphics processing cluster (GPC) has, in ascending order.";
    Map MAP: SmMap, "map", "Map of the die", Partitions, "",
        "The graphics processing cluster (GPC) and the texture processing cluster (TPC) of each SM.";
    Fingerprint FINGERPRINT: String, "fingerprint", "Fingerprint of the die", Partitions, "",
        "A hash of the GPC, the TPC and the partition of every SM: equal for two dies with the same map.";
    Banks BANKS: u64, "banks", "Banks", Banks, "",
        "Number of banks of shared memory.";
    BankWidth BANK_WIDTH: Bytes, "bank_width", "Bank width", Banks, "B",
        "Bytes that one bank delivers at once.";
    BankModes BANK_MODES: Sizes, "bank_modes", "Bank modes", Banks, "B",
        "Widths of the consecutive pieces that are in consecutive banks, as a program can choose them.";
    ConflictCycles CONFLICT_CYCLES: Cycles, "conflict_cycles", "Cost of a bank conflict", Banks, "cycles",
        "Cycles for each further row that the lanes of a warp access in one bank.";
    Broadcast BROADCAST: bool, "broadcast", "Broadcast", Banks, "",
        "Whether lanes that read the same word are served at once.";
    Padding PADDING: Padding, "padding", "Padding", Banks, "",
        "Smallest padding of the rows of a square of 32 x 32 elements with which a column is read without bank conflicts.";
    BankCurve BANK_CURVE: BankCurve, "bank_curve", "Latency by stride", Banks, "",
        "Latency of a warp's load of shared memory, by stride and width of the access.";
    ReadBandwidth READ_BANDWIDTH: BytesPerSecond, "read_bandwidth.bytes_per_s", "Read bandwidth", Bandwidth, "B/s",
        "Bytes a second that all SMs together read at most.";
    ReadBandwidthPerSm READ_BANDWIDTH_PER_SM: BytesPerClock, "read_bandwidth.bytes_per_clk_per_sm", "Read bandwidth of an SM", Bandwidth, "B/clk",
        "Bytes a cycle that an SM reads at most while all SMs do.";
    WriteBandwidth WRITE_BANDWIDTH: BytesPerSecond, "write_bandwidth.bytes_per_s", "Write bandwidth", Bandwidth, "B/s",
        "Bytes a second that all SMs together write at most.";
    WriteBandwidthPerSm WRITE_BANDWIDTH_PER_SM: BytesPerClock, "write_bandwidth.bytes_per_clk_per_sm", "Write bandwidth of an SM", Bandwidth, "B/clk",
        "Bytes a cycle that an SM writes at most while all SMs do.";
    CopyBandwidth COPY_BANDWIDTH: BytesPerSecond, "copy_bandwidth.bytes_per_s", "Copy bandwidth", Bandwidth, "B/s",
        "Bytes a second, those that are read and those that are written, with which all SMs together copy one array to another.";
    CopyBandwidthPerSm COPY_BANDWIDTH_PER_SM: BytesPerClock, "copy_bandwidth.bytes_per_clk_per_sm", "Copy bandwidth of an SM", Bandwidth, "B/clk",
        "Bytes a cycle, those that are read and those that are written, with which an SM copies while all SMs do.";
    TriadBandwidth TRIAD_BANDWIDTH: BytesPerSecond, "triad_bandwidth.bytes_per_s", "Triad bandwidth", Bandwidth, "B/s",
        "Bytes a second, those that are read and those that are written, with which all SMs together make one array of two others.";
    TriadBandwidthPerSm TRIAD_BANDWIDTH_PER_SM: BytesPerClock, "triad_bandwidth.bytes_per_clk_per_sm", "Triad bandwidth of an SM", Bandwidth, "B/clk",
        "Bytes a cycle, those that are read and those that are written, with which an SM makes one array of two others while all SMs do.";
    BytesInFlight BYTES_IN_FLIGHT: Bytes, "bytes_in_flight", "Bytes in flight", Bandwidth, "B",
        "Bytes that the loads of each SM must have in flight for nine tenths of the read bandwidth.";
    OutstandingLoads OUTSTANDING_LOADS: u64, "outstanding_loads", "Outstanding loads", Bandwidth, "loads",
        "Loads of warps, past the L1, that an SM has under way at most.";
    OutstandingLoadsOfAWarp OUTSTANDING_LOADS_OF_A_WARP: u64, "outstanding_loads_of_a_warp", "Outstanding loads of a warp", Bandwidth, "loads",
        "Loads of one warp, past the L1, that it has under way at most.";
    SaturatingSms SATURATING_SMS: u64, "saturating_sms", "SMs for the read bandwidth", Bandwidth, "SMs",
        "SMs that together read nine tenths of what all SMs do.";
    EffectiveSize EFFECTIVE_SIZE: Bytes, "effective_size", "Size for all SMs together", Bandwidth, "B",
        "Bytes that all SMs together read again and again with nine tenths of the cache's read bandwidth.";
    LoadedLatency LOADED_LATENCY: Cycles, "loaded_latency.cycles", "Loaded latency", Bandwidth, "cycles",
        "Cycles that a load takes while the other SMs read half of what they can.";
    LoadedLatencyNs LOADED_LATENCY_NS: Nanoseconds, "loaded_latency.ns", "Loaded latency in time", Bandwidth, "ns",
        "Nanoseconds that a load takes while the other SMs read half of what they can.";
    LatencyDoublesAt LATENCY_DOUBLES_AT: BytesPerSecond, "latency_doubles_at", "Rate that doubles latency", Bandwidth, "B/s",
        "Bytes a second that the other SMs read when a load takes twice as long as without them.";
    NearReadBandwidth NEAR_READ_BANDWIDTH: BytesPerSecond, "near_read_bandwidth", "Read bandwidth, near", Bandwidth, "B/s",
        "Bytes a second that all SMs together read of lines that are at home in the SM's own partition of the L2.";
    FarReadBandwidth FAR_READ_BANDWIDTH: BytesPerSecond, "far_read_bandwidth", "Read bandwidth, far", Bandwidth, "B/s",
        "Bytes a second that all SMs together read of lines that are at home in the other partition of the L2.";
    NearWriteBandwidth NEAR_WRITE_BANDWIDTH: BytesPerSecond, "near_write_bandwidth", "Write bandwidth, near", Bandwidth, "B/s",
        "Bytes a second that all SMs together write to lines that are at home in the SM's own partition of the L2.";
    FarWriteBandwidth FAR_WRITE_BANDWIDTH: BytesPerSecond, "far_write_bandwidth", "Write bandwidth, far", Bandwidth, "B/s",
        "Bytes a second that all SMs together write to lines that are at home in the other partition of the L2.";
    NearLoadedLatency NEAR_LOADED_LATENCY: Cycles, "near_loaded_latency", "Loaded latency, near", Bandwidth, "cycles",
        "Cycles that a load of a line of the SM's own partition takes while the other SMs read half of what they can.";
    FarLoadedLatency FAR_LOADED_LATENCY: Cycles, "far_loaded_latency", "Loaded latency, far", Bandwidth, "cycles",
        "Cycles that a load of a line of the other partition takes while the other SMs read half of what they can.";
    RandomReadBandwidth RANDOM_READ_BANDWIDTH: BytesPerSecond, "random_read_bandwidth", "Reads at random", Bandwidth, "B/s",
        "Bytes a second that all SMs together read in single lines at random from seven eighths of the memory that is free.";
    WindowedReadBandwidth WINDOWED_READ_BANDWIDTH: BytesPerSecond, "windowed_read_bandwidth", "Reads at random, by TLB", Bandwidth, "B/s",
        "Bytes a second of reads at random where the SMs that share a TLB read from one window of the memory, which it covers.";
    HostToDeviceBandwidth HOST_TO_DEVICE_BANDWIDTH: BytesPerSecond, "host_to_device_bandwidth", "Copy to the device", Bandwidth, "B/s",
        "Bytes a second that a copy engine moves from pinned host memory to the device.";
    DeviceToHostBandwidth DEVICE_TO_HOST_BANDWIDTH: BytesPerSecond, "device_to_host_bandwidth", "Copy to the host", Bandwidth, "B/s",
        "Bytes a second that a copy engine moves from the device to pinned host memory.";
    BothWaysBandwidth BOTH_WAYS_BANDWIDTH: BytesPerSecond, "both_ways_bandwidth", "Copies both ways", Bandwidth, "B/s",
        "Bytes a second, those of both directions together, while one copy engine serves each direction.";
    FromPeerBandwidth FROM_PEER_BANDWIDTH: BytesPerSecond, "from_peer_bandwidth", "Copy from the other GPU", Bandwidth, "B/s",
        "Bytes a second that a copy engine moves from the other GPU's memory to this GPU's.";
    ToPeerBandwidth TO_PEER_BANDWIDTH: BytesPerSecond, "to_peer_bandwidth", "Copy to the other GPU", Bandwidth, "B/s",
        "Bytes a second that a copy engine moves from this GPU's memory to the other GPU's.";
    BulkCopyBandwidth BULK_COPY_BANDWIDTH: BytesPerSecond, "bulk_copy_bandwidth", "Bulk copies from the L2", Bandwidth, "B/s",
        "Bytes a second that all SMs together bring from the L2 to shared memory by `cp.async.bulk`.";
    BulkCopyDramBandwidth BULK_COPY_DRAM_BANDWIDTH: BytesPerSecond, "bulk_copy_dram_bandwidth", "Bulk copies from DRAM", Bandwidth, "B/s",
        "Bytes a second that all SMs together bring from DRAM to shared memory by `cp.async.bulk`.";
    CpAsyncBandwidth CP_ASYNC_BANDWIDTH: BytesPerSecond, "cp_async_bandwidth", "cp.async from the L2", Bandwidth, "B/s",
        "Bytes a second that all SMs together bring from the L2 to shared memory by `cp.async`, 16 bytes of each lane.";
    CpAsyncDramBandwidth CP_ASYNC_DRAM_BANDWIDTH: BytesPerSecond, "cp_async_dram_bandwidth", "cp.async from DRAM", Bandwidth, "B/s",
        "Bytes a second that all SMs together bring from DRAM to shared memory by `cp.async`, 16 bytes of each lane.";
    MulticastBandwidth MULTICAST_BANDWIDTH: BytesPerSecond, "multicast_bandwidth.bytes_per_s", "Multicast from the L2", Bandwidth, "B/s",
        "Bytes a second that all SMs together receive from the L2 in shared memory by `cp.async.bulk` of which each copy is for both blocks of a cluster of two. Each block asks for half of what both receive.";
    MulticastBandwidthPerSm MULTICAST_BANDWIDTH_PER_SM: BytesPerClock, "multicast_bandwidth.bytes_per_clk_per_sm", "Multicast from the L2, of an SM", Bandwidth, "B/clk",
        "Bytes a cycle that an SM receives from the L2 in shared memory by `cp.async.bulk` of which each copy is for both blocks of a cluster of two; by cluster size as a series.";
    AtomicThroughput ATOMIC_THROUGHPUT: OperationsPerSecond, "atomic_throughput.operations_per_s", "Atomics", Atomics, "op/s",
        "Additions a second that all SMs together make by atomics where each thread adds to a word of its own.";
    AtomicThroughputPerSm ATOMIC_THROUGHPUT_PER_SM: OperationsPerClock, "atomic_throughput.operations_per_clk_per_sm", "Atomics, of an SM", Atomics, "op/clk",
        "Additions a cycle that an SM makes by atomics where each thread adds to a word of its own.";
    AtomicThroughputOneLine ATOMIC_THROUGHPUT_ONE_LINE: OperationsPerSecond, "atomic_throughput_one_line.operations_per_s", "Atomics on one line", Atomics, "op/s",
        "Additions a second that all SMs together make by atomics where all threads add to the 32 words of the same 128 bytes.";
    AtomicThroughputOneLinePerSm ATOMIC_THROUGHPUT_ONE_LINE_PER_SM: OperationsPerClock, "atomic_throughput_one_line.operations_per_clk_per_sm", "Atomics on one line, of an SM", Atomics, "op/clk",
        "Additions a cycle that an SM makes by atomics where all threads add to the 32 words of the same 128 bytes.";
    AtomicThroughputOneAddress ATOMIC_THROUGHPUT_ONE_ADDRESS: OperationsPerSecond, "atomic_throughput_one_address.operations_per_s", "Atomics on one address", Atomics, "op/s",
        "Additions a second that all SMs together make by atomics where all threads add to the same word.";
    AtomicThroughputOneAddressPerSm ATOMIC_THROUGHPUT_ONE_ADDRESS_PER_SM: OperationsPerClock, "atomic_throughput_one_address.operations_per_clk_per_sm", "Atomics on one address, of an SM", Atomics, "op/clk",
        "Additions a cycle that an SM makes by atomics where all threads add to the same word.";
    AtomicThroughputAggregated ATOMIC_THROUGHPUT_AGGREGATED: OperationsPerSecond, "atomic_throughput_one_address_aggregated.operations_per_s", "Additions on one address, summed up by warps", Atomics, "op/s",
        "Additions a second that all SMs together make to the same word where each warp sums up first and one of its lanes makes the atomic.";
    AtomicThroughputAggregatedPerSm ATOMIC_THROUGHPUT_AGGREGATED_PER_SM: OperationsPerClock, "atomic_throughput_one_address_aggregated.operations_per_clk_per_sm", "Additions on one address, summed up by warps, of an SM", Atomics, "op/clk",
        "Additions a cycle that an SM makes to the same word where each warp sums up first and one of its lanes makes the atomic.";
}

impl Attribute {
    const fn described(self) -> &'static Description {
        &DESCRIPTIONS[self as usize]
    }

    /// The key in JSON and on the command line; of a part of an object with a dot, such as `latency.cycles`.
    pub const fn key(self) -> &'static str {
        self.described().key
    }

    /// The name of the field in an element's JSON, and of the field within that where it is an object.
    pub fn path(self) -> (&'static str, Option<&'static str>) {
        self.key().split_once('.').map_or((self.key(), None), |(field, within)| (field, Some(within)))
    }

    /// The name in a heading.
    pub const fn title(self) -> &'static str {
        self.described().title
    }

    /// What it means, in one sentence.
    pub const fn about(self) -> &'static str {
        self.described().about
    }

    /// What it is about.
    pub const fn topic(self) -> Topic {
        self.described().topic
    }

    /// The kind of its values.
    pub const fn kind(self) -> Kind {
        self.described().kind
    }

    /// The unit of its values, in words where it is one of several; empty where there is none.
    pub const fn unit(self) -> &'static str {
        self.described().unit
    }

    /// How two values are compared.
    pub const fn compared(self) -> Compared {
        self.kind().compared()
    }

    /// Whether its value is a curve or a map: pictures and programs show it, a line of text cannot.
    pub const fn is_pictured(self) -> bool {
        matches!(self.kind(), Kind::Curve | Kind::SmMap | Kind::Spectrum | Kind::BankCurve | Kind::Launches)
    }

    /// Whether two GPUs of one product have exactly the same value: it is counted or built so. All else is measured, and two
    /// runs may differ by a little.
    pub const fn is_discrete(self) -> bool {
        use Attribute::{BankWidth, FetchGranularity, LineSize, MappingGranularity, NominalSize, PageSize};
        matches!(self, NominalSize | LineSize | FetchGranularity | PageSize | MappingGranularity | BankWidth)
            || self.kind().is_discrete()
    }

    /// All of them in the order of a report: by topic.
    pub fn in_report_order() -> Vec<Attribute> {
        let mut all = Attribute::ALL.to_vec();
        all.sort_by_key(|attribute| attribute.topic());
        all
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}

impl FromStr for Attribute {
    type Err = String;

    fn from_str(key: &str) -> Result<Self, Self::Err> {
        let found = Attribute::ALL.iter().find(|attribute| attribute.key() == key);
        found.copied().ok_or_else(|| format!("no attribute `{key}`"))
    }
}

#[cfg(test)]
mod tests;
