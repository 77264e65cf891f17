//! What each element is and what programs use it for. A new element does not compile without these.

use super::ElementName;
use crate::attribute::Attribute;

impl ElementName {
    /// What it is, in a sentence or two.
    pub const fn about(self) -> &'static str {
        match self {
            ElementName::L1 => {
                "The data cache of an SM, as loads of global memory see it (`ld.global.ca`). It shares one memory with \
                 shared memory on most GPUs."
            }
            ElementName::Texture => "The cache that texture fetches use (`tex`). On newer GPUs it is the L1.",
            ElementName::ReadOnly => {
                "The path of loads of data that the kernel does not write (`ld.global.nc`, `__ldg`). On newer GPUs it is \
                 the L1."
            }
            ElementName::ConstantL1 => "The first cache of constant memory (`ld.const`, by a computed index).",
            ElementName::ConstantL15 => "The second cache of constant memory, between the first one and the L2.",
            ElementName::ConstantUniform => {
                "The path of constants whose address is the same for the whole warp, as the compiler can prove (ULDC)."
            }
            ElementName::Shared => {
                "Memory of an SM that the threads of a block share, and that a program fills itself (`ld.shared`)."
            }
            ElementName::Local => {
                "Memory of one thread: spilled registers and arrays with a computed index (`ld.local`). It is part of \
                 global memory and cached like it."
            }
            ElementName::L2 => {
                "The cache that all SMs share, before device memory (`ld.global.cg` goes to it past the L1)."
            }
            ElementName::Dram => "Device memory: GDDR or HBM.",
            ElementName::Host => "Pinned memory of the host, which a kernel reads over the bus.",
            ElementName::TlbL1 => "The first level of address translation: the TLB that is asked first.",
            ElementName::TlbL2 => "The second level of address translation, asked where the first one misses.",
            ElementName::TlbL3 => "The third level of address translation, asked where the second one misses.",
            ElementName::Die => {
                "The chip: how its SMs are grouped into graphics and texture processing clusters (GPCs, TPCs)."
            }
            ElementName::DistributedShared => {
                "Distributed shared memory: the shared memory of the other blocks of a cluster, which a block can load and store."
            }
            ElementName::AsyncCopy => {
                "Copies between global and shared memory that go on by themselves: the thread that asks for one does other work meanwhile."
            }
            ElementName::InstructionL0 => {
                "The first instruction cache that jumps through code show. Where a smaller one does not show, it is the second one."
            }
            ElementName::InstructionL1 => {
                "The second instruction cache that jumps through code show. On Hopper the two SMs of a TPC share it."
            }
            ElementName::InstructionL15 => {
                "The third instruction cache, between the second one and the L2. On Hopper the SMs of a GPC share it."
            }
            ElementName::PeerL2 => {
                "The L2 of another GPU of the node, which this GPU's SMs reach over a link. `strata links` measures it."
            }
            ElementName::PeerDram => {
                "The memory of another GPU of the node, behind that GPU's L2. `strata links` measures it."
            }
            ElementName::ScalarL1 => "The scalar data cache of an AMD GPU. Only imported timings have it.",
        }
    }

    /// What programs use it for.
    pub const fn used(self) -> &'static str {
        match self {
            ElementName::L1 => "Data that the blocks of an SM read again within a short time.",
            ElementName::Texture => "Images with filters, and data read in two or three dimensions.",
            ElementName::ReadOnly => "Inputs of a kernel, where global loads are not cached otherwise.",
            ElementName::ConstantL1 => "Small tables of which all lanes of a warp read the same word.",
            ElementName::ConstantL15 => "Constants that do not fit into the first cache.",
            ElementName::ConstantUniform => "Kernel parameters and constants with a fixed index.",
            ElementName::Shared => "Tiles that all threads of a block read, and exchange between threads.",
            ElementName::Local => "The compiler uses it where registers do not suffice.",
            ElementName::L2 => "Data that several SMs read, and what one kernel leaves for the next.",
            ElementName::Dram => "Everything that no cache holds.",
            ElementName::Host => "Data that is read once, without a copy before.",
            ElementName::TlbL1 => "Every access to global memory.",
            ElementName::TlbL2 => "Accesses spread over more memory than the first level covers.",
            ElementName::TlbL3 => "Accesses spread over more memory than the second level covers.",
            ElementName::Die => "Every kernel: blocks of one cluster run on the SMs of one GPC.",
            ElementName::DistributedShared => "What blocks of a cluster exchange without going through the L2.",
            ElementName::AsyncCopy => "Tiles that a block brings to its shared memory while it computes on others.",
            ElementName::InstructionL0 => "Inner loops: code that does not fit is fetched again in each pass.",
            ElementName::InstructionL1 => "Kernels whose inner loops are large, and long ones without a loop.",
            ElementName::InstructionL15 => "Several large kernels at a time, each on some SMs of a GPC.",
            ElementName::PeerL2 => "Flags and small tables that one GPU writes and another reads.",
            ElementName::PeerDram => "Tensors that are divided among the GPUs of a node, and their exchange.",
            ElementName::ScalarL1 => "Values that are the same for all lanes of a wavefront.",
        }
    }

    /// The attributes that it may have, in the order of a report. A GPU may have some of them only.
    pub fn attributes(self) -> impl Iterator<Item = Attribute> {
        use Attribute::*;
        const OF_A_CACHE: &[Attribute] = &[
            Size,
            ThrashSize,
            Conflicts,
            Staircase,
            LineSize,
            FetchGranularity,
            MissPenalty,
            SharedWith,
            InstancesPerSm,
            Sets,
            Ways,
            Index,
            Replacement,
            LatencyCycles,
            LatencyNs,
        ];
        const OF_A_TLB: &[Attribute] = &[Staircase, MissPenalty, Sets, Ways, Reach, Entries, PageSize];
        const LATENCY: &[Attribute] = &[LatencyCycles, LatencyNs];
        let (many, more): (&[Attribute], &[Attribute]) = match self {
            ElementName::L1 => {
                (OF_A_CACHE, &[Cached, MissOverhead, WritePolicy, WriteBack, Hints, LeastConfiguration, ByLaunch])
            }
            ElementName::Texture
            | ElementName::ReadOnly
            | ElementName::ConstantL1
            | ElementName::ConstantL15
            | ElementName::ScalarL1 => (OF_A_CACHE, &[]),
            ElementName::L2 => (
                OF_A_CACHE,
                &[
                    NominalSize,
                    WritePolicy,
                    WriteBack,
                    Hints,
                    FetchByHint,
                    Partitions,
                    NearLatency,
                    FarLatency,
                    SmMap,
                    PartitionHash,
                    Slices,
                    SliceHash,
                ],
            ),
            ElementName::Shared => {
                (LATENCY, &[Size, Banks, BankWidth, BankModes, ConflictCycles, Broadcast, Padding, BankCurve])
            }
            ElementName::Local => (LATENCY, &[Cached]),
            ElementName::Dram => (LATENCY, &[Size, NearLatency, FarLatency]),
            ElementName::ConstantUniform => (LATENCY, &[Size]),
            ElementName::Host | ElementName::PeerDram => (LATENCY, &[]),
            ElementName::PeerL2 => (LATENCY, &[AtomicLatency, KeptBy]),
            ElementName::TlbL1 => (OF_A_TLB, &[MappingGranularity, Spectrum, SmsOfAnInstance, InstanceOfSms]),
            ElementName::TlbL2 | ElementName::TlbL3 => (OF_A_TLB, &[SmsOfAnInstance, InstanceOfSms]),
            ElementName::Die => (&[], &[Gpcs, Map, Fingerprint]),
            ElementName::InstructionL0 | ElementName::InstructionL1 | ElementName::InstructionL15 => {
                (&[], &[Size, FetchGranularity, MissPenalty, SmsOfAnInstance, InstanceOfSms])
            }
            ElementName::AsyncCopy => (&[], &[BulkCopyLatency, BulkStoreLatency, CpAsyncLatency, MbarrierCycles]),
            ElementName::DistributedShared => {
                (LATENCY, &[OwnLatency, AtomicLatency, ClusterBarrier, RelaxedClusterBarrier, LargestCluster])
            }
        };
        const READS: &[Attribute] = &[ReadBandwidth, ReadBandwidthPerSm, BytesInFlight];
        const WRITES: &[Attribute] = &[WriteBandwidth, WriteBandwidthPerSm];
        const COPIES: &[Attribute] = &[CopyBandwidth, CopyBandwidthPerSm, TriadBandwidth, TriadBandwidthPerSm];
        const UNDER_LOAD: &[Attribute] = &[LoadedLatency, LoadedLatencyNs, LatencyDoublesAt];
        const AT_RANDOM: &[Attribute] = &[RandomReadBandwidth, WindowedReadBandwidth];
        const BY_PARTITION: &[Attribute] = &[
            NearReadBandwidth,
            FarReadBandwidth,
            NearWriteBandwidth,
            FarWriteBandwidth,
            NearLoadedLatency,
            FarLoadedLatency,
        ];
        const COPY_ENGINES: &[Attribute] = &[HostToDeviceBandwidth, DeviceToHostBandwidth, BothWaysBandwidth];
        const LINK_ENGINES: &[Attribute] = &[FromPeerBandwidth, ToPeerBandwidth, BothWaysBandwidth];
        const COPIES_TO_SHARED: &[Attribute] = &[
            BulkCopyBandwidth,
            BulkCopyDramBandwidth,
            CpAsyncBandwidth,
            CpAsyncDramBandwidth,
            MulticastBandwidth,
            MulticastBandwidthPerSm,
        ];
        const ATOMICS: &[Attribute] =
            &[AtomicThroughput, AtomicThroughputOneLine, AtomicThroughputOneAddress, AtomicThroughputAggregated];
        const ATOMICS_OF_AN_SM: &[Attribute] = &[
            AtomicThroughputPerSm,
            AtomicThroughputOneLinePerSm,
            AtomicThroughputOneAddressPerSm,
            AtomicThroughputAggregatedPerSm,
        ];
        let rates: &[&[Attribute]] = match self {
            ElementName::L1 => &[READS, &[OutstandingLoads, OutstandingLoadsOfAWarp]],
            ElementName::Texture | ElementName::ReadOnly | ElementName::ConstantL1 | ElementName::ConstantL15 => {
                &[READS]
            }
            ElementName::ConstantUniform => &[&[ReadBandwidth, ReadBandwidthPerSm]],
            ElementName::Shared => &[READS, ATOMICS_OF_AN_SM],
            ElementName::DistributedShared => &[&[ReadBandwidth, ReadBandwidthPerSm], WRITES],
            ElementName::AsyncCopy => &[COPIES_TO_SHARED],
            ElementName::L2 => &[READS, WRITES, &[SaturatingSms, EffectiveSize], UNDER_LOAD, BY_PARTITION, ATOMICS],
            ElementName::Dram => &[READS, WRITES, COPIES, &[SaturatingSms], UNDER_LOAD, BY_PARTITION, AT_RANDOM],
            ElementName::Host => &[READS, WRITES, COPY_ENGINES],
            ElementName::PeerL2 => &[READS, WRITES],
            ElementName::PeerDram => &[READS, WRITES, LINK_ENGINES],
            _ => &[],
        };
        let has = move |attribute: &Attribute| {
            many.contains(attribute) || more.contains(attribute) || rates.iter().any(|of| of.contains(attribute))
        };
        Attribute::in_report_order().into_iter().filter(has)
    }
}
