//! How each attribute is found, how that fails, and what it is good for. A new attribute does not compile without these.

use super::Attribute;

/// What one wants to know of an attribute besides [`Attribute::about`], each in a few sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// How it is found.
    pub found: &'static str,
    /// How finding it fails, and what it does not say.
    pub fails: &'static str,
    /// Where it is used.
    pub used: &'static str,
}

impl Attribute {
    /// How it is found, how that fails, and where it is used.
    pub const fn explained(self) -> Explanation {
        let (found, fails, used) = match self {
            Attribute::Cached => (
                "A small footprint is loaded again and again, by the usual path and by one that bypasses the L1. If the \
                 usual path is faster, a cache answers.",
                "Unknown if the two medians are too close for their spread.",
                "It decides whether the L1 is worth a tile, and whether spilled registers stay near the SM.",
            ),
            Attribute::Size => (
                "A chase walks nested footprints and times each load. The size is the last footprint before the number of \
                 misses grows with it; a Kolmogorov-Smirnov test confirms the change.",
                "If no footprint misses, only a lower bound is known. Spikes of latency widen the interval. On most GPUs \
                 the L1 depends on the launch: see `by_launch`.",
                "Size of a tile or of a table that is read again. Use the lower end of the interval.",
            ),
            Attribute::NominalSize => (
                "The driver is asked. Nothing is measured.",
                "It may count what one SM cannot use, such as a far partition.",
                "To see what a data sheet means, beside the measured size.",
            ),
            Attribute::ThrashSize => (
                "In the chase that finds the size, it is the smallest footprint of which at least 99 % of the loads miss.",
                "Unknown if the search ends before everything misses. With random replacement the last hits fade slowly, \
                 and the interval is wide.",
                "From here on a cache helps nothing. Together with the size it shows how replacement works.",
            ),
            Attribute::Conflicts => (
                "Misses of each lap below the usable capacity are counted, after the growth with the footprint is taken \
                 off.",
                "Unknown if the misses cannot be told from the noise of single loads.",
                "If it is not zero, a tile of the usable size does not stay in the cache whole.",
            ),
            Attribute::Staircase => (
                "It is the miss rate of the footprints from the size to the thrash size, from the chase that finds both.",
                "Unknown where the size is unknown. It has as many points as the search happened to measure.",
                "Steps show sets that fill one by one; a smooth curve shows random replacement.",
            ),
            Attribute::LineSize => (
                "A footprint of 1.5 times the capacity is cut into chunks, and one element of each is loaded. The miss \
                 rate falls when chunks become larger than a line.",
                "Unknown without a size, or if the miss rates do not step at a power of two.",
                "Alignment of arrays and structures, and padding against false sharing of lines.",
            ),
            Attribute::FetchGranularity => (
                "A cold array is walked element by element. The distance from one miss to the next is what a miss fetches.",
                "Unknown if hits and misses overlap. A prefetch looks like a larger fetch.",
                "Coalescing: a warp that uses only a part of each sector wastes the rest of the bandwidth.",
            ),
            Attribute::Reach => (
                "One line in each page is visited, over more and more pages. The reach is the last footprint before the \
                 first load of a page takes longer than the second.",
                "Unknown if the data leaves the L2 first, or if misses cost too little to be seen.",
                "Keep random accesses within it, or walk large data in pieces of it.",
            ),
            Attribute::Entries => (
                "The pages in use when the first TLB miss occurs, divided by how many pages share an entry.",
                "Sets that were not full may hold more. Unknown if one entry maps a different amount at different \
                 distances.",
                "To compare the TLB with those of other GPUs.",
            ),
            Attribute::PageSize => (
                "The distance between visited pages is doubled until the covered footprint stops growing. The largest \
                 distance before that is one entry.",
                "Unknown without a reach. Memory of the driver in smaller pieces would give a smaller value.",
                "Data within one page costs one translation: place together what is used together.",
            ),
            Attribute::LatencyCycles => (
                "A chase of dependent loads within the memory is timed over n and over 2n loads. The difference holds no \
                 overhead. Loads from DRAM are timed one by one, after the L2 was flushed.",
                "Unknown if no footprint stays in this memory alone. Another program on the GPU disturbs it; the run \
                 measures again.",
                "How many independent loads or warps it takes to hide a load.",
            ),
            Attribute::LatencyNs => (
                "The latency in cycles, divided by the SM clock that the same run measured.",
                "Unknown if the clock could not be measured. If the clock changes during the run, the interval widens.",
                "To compare GPUs that run at different clocks.",
            ),
            Attribute::MissPenalty => (
                "In footprints that are partly too large, the median of the misses minus the median of the hits. Of the L2 \
                 it is the difference of two latencies; of a TLB, what the first load of a page takes longer than the \
                 second.",
                "Unknown if hits and misses form no two groups.",
                "What a tile that fits saves for each load.",
            ),
            Attribute::MissOverhead => (
                "One chain larger than the L1 is timed load by load, once through the L1 and once around it.",
                "Unknown if the spread is larger than the difference can be.",
                "Whether loads without reuse should bypass the L1 (`ld.global.cg`).",
            ),
            Attribute::MappingGranularity => (
                "The driver is asked for the smallest piece of memory that it maps. Nothing is measured.",
                "It is not known where the driver gives no answer.",
                "It bounds which addresses are neighbours in physical memory.",
            ),
            Attribute::Spectrum => (
                "One cold chain contains every combination of cache level and TLB level. The latencies of each combination \
                 have a median of their own.",
                "A combination that the chain did not meet is missing; the note says which.",
                "To tell which part of a slow load is the cache and which the translation.",
            ),
            Attribute::KeptBy => (
                "A small chain in the other GPU's memory is walked again and again, by `ld.global.ca` and by `ld.global.cg`. If it takes \
                 no longer than a chain in this GPU's memory, a cache here has kept its lines.",
                "Only lines that one SM loads twice are looked at.",
                "Whether data of another GPU that is read again should be copied first.",
            ),
            Attribute::SharedWith => (
                "One path fills a cache, another path loads, and the first one looks again. If its data are gone, both use \
                 the same cache.",
                "Unknown if the size of one of the two is unknown.",
                "Data read by two paths compete for the same space.",
            ),
            Attribute::InstancesPerSm => (
                "Thread 0 fills the cache and another thread of the block disturbs it, for every thread. Threads that \
                 never disturb use another instance.",
                "Unknown if a disturbance cannot be told from noise.",
                "Whether the capacity is there once in an SM, or once for each of its parts.",
            ),
            Attribute::Sets => (
                "The footprint grows line by line. Lines that start to miss together are in one set.",
                "Unknown if a line that missed hits again at a larger footprint: then no line belongs to one fixed set \
                 that is replaced in order.",
                "Together with the index it says which strides collide.",
            ),
            Attribute::Ways => (
                "The number of lines that start to miss together, when one line more comes to their set.",
                "Unknown where the sets are unknown. A list where sets differ.",
                "As many lines at a colliding stride stay in the cache; one more evicts.",
            ),
            Attribute::Index => (
                "Of the addresses of each set, the bits or parities of bits that all of them share. Their number must \
                 explain all sets.",
                "Unknown if sets are unknown, or if pages of physical memory are smaller than the cache.",
                "To choose strides and paddings that spread over all sets.",
            ),
            Attribute::Replacement => (
                "Random orders of visits to the lines of one set are timed. A policy is named if it alone explains every \
                 visit; probabilities are counted.",
                "Unknown if no known policy explains the visits, or if more than one does.",
                "What stays when data does not fit: under LRU a loop that is a little too large misses always.",
            ),
            Attribute::LeastConfiguration => (
                "Size and structure are measured again, with a kernel that requests all shared memory (carveout 100 %).",
                "Its parts are unknown for the same reasons as those of the whole cache.",
                "What a kernel with much shared memory has left of the L1.",
            ),
            Attribute::ByLaunch => (
                "The size is measured again for launches with different threads, shared memory and carveouts.",
                "Only some launches are measured; `strata l1` infers others from the memory that is set aside. Unknown if \
                 sizes vary more between allocations than between launches.",
                "To choose threads and shared memory of a block so that a tile fits.",
            ),
            Attribute::Partitions => (
                "Every SM, one at a time, does dependent atomics on the same lines. SMs whose times rise and fall together \
                 are near the same part.",
                "Unknown if the times correlate for some SMs only, or if they drift. Very close parts do not show.",
                "Whether work should stay with the SMs of one part.",
            ),
            Attribute::NearLatency => (
                "The atomics that find the partitions, on lines of the SM's own partition. In DRAM cold loads of lines whose \
                 partition atomics have shown.",
                "Unknown if partitions are unknown. In the L2 it is of an atomic, with the overhead of timing: a load is faster. In DRAM \
                 it is also unknown if there is one partition only, if lines are near no partition clearly, if their memory was \
                 moved, or if the L2 still answers after a flush.",
                "The least that a flag or a counter in global memory costs.",
            ),
            Attribute::FarLatency => (
                "As the near latency, on lines of another partition.",
                "Unknown if partitions are unknown, or if there is one only; in DRAM also as the near latency is.",
                "What an access across the partitions costs more, beside the near latency.",
            ),
            Attribute::SmMap => (
                "The atomics that find the partitions, SM by SM, and the groups of SMs with alike times within each. The latency to a \
                 partition is the mean over its lines among 256 of one page, with the 5th and the 95th percentile of them.",
                "Groups are null where times within a partition do not separate.",
                "To place blocks that share data on SMs of one partition.",
            ),
            Attribute::PartitionHash => (
                "A few SMs of each partition do dependent atomics on random lines of some pages of 2 MiB. Parities of address bits \
                 that tell the partitions apart there are tried on other pages.",
                "Unknown if there is one partition only, if lines are near no partition clearly, if the address bits below 2 MiB do \
                 not tell the partitions apart by parities, or if these predict less than 99 % of the other pages' lines.",
                "To keep what the SMs of one partition use in the pieces of memory that are near to them.",
            ),
            Attribute::Slices => (
                "All SMs but one load one line over and over, and that one times loads of random lines of a page of 2 MiB: those of the same slice \
                 wait. Lines are grouped so, and another line of each group and another SM must confirm it.",
                "Unknown where no load waits for those of others, where all do, with more than 64 slices, and where fewer than 99 % of the loads \
                 confirm the groups.",
                "Many accesses at a time to lines of one slice are as slow as one slice is: what strides and shared counters cost.",
            ),
            Attribute::SliceHash => (
                "Parities of address bits that are the same for all lines of a slice, as `slices` groups them, are tried on the next page.",
                "Unknown where the slices are unknown or no power of two, where no parities of the address bits below 2 MiB tell them apart, and \
                 where these predict less than 99 % of the other page's loads that wait.",
                "To spread what is used at a time over all slices, and for models of the L2.",
            ),
            Attribute::Gpcs => (
                "Blocks are launched in clusters of 3 to 16, and each says on which SM it is: the SMs of a cluster are in one GPC. Then \
                 SMs read the L2 together: those of one GPC share what it delivers, those of different ones do not.",
                "Unknown without clusters (before compute capability 9.0), and if the two ways disagree.",
                "How large clusters can be, how many of them run at a time, and how evenly work is spread.",
            ),
            Attribute::Map => (
                "As `gpcs`. SMs that larger clusters leave out are given to the GPC in which they slow the others down. Two SMs that clusters \
                 of two blocks always use together are a TPC.",
                "Numbers of GPCs and TPCs are in the order of their first SMs; they are not NVIDIA's.",
                "To put blocks that exchange data near to each other, and to compare the dies of one product.",
            ),
            Attribute::OwnLatency => (
                "One thread of each block follows a chain in its own shared memory, by the addresses that other blocks of the cluster use.",
                "Unknown without clusters (before compute capability 9.0).",
                "Beside the latency of other blocks' memory: what distance costs. Beside that of shared memory: what generic addresses cost.",
            ),
            Attribute::ClusterBarrier => (
                "One thread of each block arrives and waits at `barrier.cluster`, again and again, in clusters of two blocks on all SMs. The note \
                 gives the medians of larger clusters.",
                "Unknown without clusters.",
                "The least that blocks pay to exchange data: a barrier before others read, and one before it is overwritten.",
            ),
            Attribute::RelaxedClusterBarrier => (
                "As the barrier of a cluster, by `barrier.cluster.arrive.relaxed`.",
                "Unknown without clusters, and to drivers older than CUDA 12.0, which do not know this instruction.",
                "What is left of a barrier without its fence. It is enough only where no memory access before it must be ordered with one after \
                 it.",
            ),
            Attribute::AtomicLatency => (
                "A thread follows a chain by atomics that add nothing: each returns the address of the next. In distributed shared memory one thread \
                 of each block does, and the note gives what one takes in the block's own memory. Of a link one SM at a time does, over lines that \
                 the other GPU's L2 has.",
                "Unknown without clusters or where atomics do not go over the link, and if a walk does not end where it must.",
                "What a counter or a lock costs that the blocks of a cluster, or several GPUs, share.",
            ),
            Attribute::BulkCopyLatency => (
                "One thread copies 16 bytes from memory that the L2 has and waits at an mbarrier, again and again. The same with larger copies \
                 gives a series by bytes. The interval holds several places in memory, near and far ones, and two SMs.",
                "Unknown before compute capability 9.0, which has no bulk copies.",
                "How early a kernel must ask for a tile, beside the latency of a load of the L2.",
            ),
            Attribute::BulkStoreLatency => (
                "As the latency of a bulk copy, in the other direction, with `cp.async.bulk.wait_group 0` after each copy.",
                "Unknown before compute capability 9.0, and if memory does not hold what was copied.",
                "How long a thread waits for what it stores in bulk before it may end. It may not have reached the L2 by then.",
            ),
            Attribute::CpAsyncLatency => (
                "One thread copies 16 bytes by `cp.async.cg` and waits by `cp.async.wait_all`, again and again.",
                "Unknown before compute capability 8.0, which has no such copies.",
                "Beside a bulk copy: what the older way of copying takes for few bytes.",
            ),
            Attribute::MbarrierCycles => (
                "One thread arrives at an mbarrier of one, and waits for its phase by `mbarrier.try_wait`, again and again.",
                "Unknown without `mbarrier.try_wait` (before compute capability 9.0).",
                "The part of a copy's latency that is the barrier and not the copy.",
            ),
            Attribute::BulkCopyBandwidth => (
                "All SMs copy from the L2; one lane of each warp asks for the whole piece of its warp, and an mbarrier of the warp says when \
                 it is there. Launches are searched as for a read bandwidth. The series has the best launch by bytes in flight.",
                "Unknown before compute capability 9.0, on 12.0 and 12.1, and where the size of the L2 is unknown.",
                "What a kernel gets at most by bulk copies. The series says how many bytes it must have in flight for that.",
            ),
            Attribute::BulkCopyDramBandwidth => (
                "As the bandwidth of bulk copies from the L2, over as much memory as the read bandwidth of DRAM.",
                "Unknown before compute capability 9.0, on 12.0 and 12.1, and with too little free memory.",
                "Whether the buffers of a kernel are large enough to keep DRAM busy.",
            ),
            Attribute::CpAsyncBandwidth => (
                "All SMs copy from the L2; each lane asks for 16 bytes by `cp.async.cg`, up to 16 times, and waits by `cp.async.wait_all`.",
                "Unknown before compute capability 8.0, and where the size of the L2 is unknown.",
                "Beside bulk copies: what the older way of copying gives with the same bytes in flight.",
            ),
            Attribute::CpAsyncDramBandwidth => (
                "As the bandwidth of `cp.async` from the L2, over as much memory as the read bandwidth of DRAM.",
                "Unknown before compute capability 8.0, and with too little free memory.",
                "Whether a kernel that prefetches tiles by `cp.async` is held up by memory or by too few bytes in flight.",
            ),
            Attribute::MulticastBandwidth => (
                "Clusters of two blocks, one block on each SM, copy from the L2. Two warps share each piece: each asks for a half, for both \
                 blocks. No warp asks for the next piece before both have all of this one. Launches are searched as for a read bandwidth.",
                "Unknown without clusters of two, on compute capability 12.0 and 12.1, and where the size of the L2 is unknown.",
                "Whether blocks that need the same tile should load it together. It counts what they receive, so half of it leaves the L2.",
            ),
            Attribute::MulticastBandwidthPerSm => (
                "As the multicast bandwidth of all SMs. The series has clusters of one block, which copy for themselves, to 16.",
                "Unknown where the multicast bandwidth of all SMs is. Sizes of clusters that do not run are left out of the series.",
                "From which size on larger clusters bring no more.",
            ),
            Attribute::LargestCluster => (
                "Launches in clusters of 2 to 16 blocks: the largest that ran.",
                "Unknown without clusters. Each block asks for the most shared memory, so smaller blocks may share an SM.",
                "How many SMs can exchange data without the L2.",
            ),
            Attribute::Fingerprint => (
                "The map of the die as numbers in the order of the SMs, hashed by SHA-256, of which it is the first 16 hexadecimal digits.",
                "Unknown if the GPC, the TPC or the partition of any SM is. Two dies may have the same fingerprint: six of nine H200s did.",
                "To notice that a GPU was replaced, and to find GPUs on which a placement of blocks works alike.",
            ),
            Attribute::SmsOfAnInstance => (
                "Of an instruction cache: all SMs but one walk through the same code, which fits. Then the one walks through other code, and \
                 the rest walk again: those that miss share the cache with it. Of a TLB: some SMs visit pages that fit, then one visits \
                 others, and the first visit theirs again.",
                "Unknown where the size is, where the code or the pages of both do not overflow the cache, and where groups overlap; of an \
                 instruction cache also where no SM misses, and of a TLB where an SM does not displace its own pages either.",
                "SMs that share an instruction cache should run the same kernel, and those that share a TLB should use the same memory.",
            ),
            Attribute::InstanceOfSms => (
                "As the number of SMs that share one. Numbers are in the order of the first SMs; they are not NVIDIA's.",
                "Unknown where that number is unknown. It differs from die to die, even of one product.",
                "Where a kernel uses more memory than one TLB translates, let the SMs of each group have a part of it.",
            ),
            Attribute::WritePolicy => (
                "A thread stores to lines that the cache does not have, or to some that it has, and loads from them are timed. To the L2 two \
                 stores write 32 bytes together.",
                "Unknown where loads that hit and loads that miss cannot be told apart.",
                "Where stores allocate, results that nobody reads again displace inputs.",
            ),
            Attribute::WriteBack => (
                "L2: all SMs write to half as many lines as the cache holds, or read them. Then they read other memory, which displaces those \
                 lines: after stores that takes longer, since what was stored must go to memory first. L1: SMs store to a few lines, one SM \
                 alone and all at once. If an SM stores less while the others do, stores go on to the L2.",
                "L2: unknown where it takes no longer; stores may go to memory at once, or memory's bandwidth does not limit the reading. L1: \
                 unknown where all SMs store as fast together as alone.",
                "Results that a later kernel reads soon cost no bandwidth of memory, as long as nothing displaces them. Through an L1 that passes \
                 stores on each store costs bandwidth of the L2, also of a line that is stored to again and again.",
            ),
            Attribute::Hints => (
                "Other memory fills the cache, lines are accessed in one way, other memory of half the capacity or of twice the capacity \
                 is read, and loads of the lines are timed. Plain loads are the control.",
                "Unknown where plain loads do not stay for half the capacity or do stay for twice the capacity. Only what the GPU has is tried.",
                "Streams that are read once should not displace what is used again; a few lines can be kept while much else is read.",
            ),
            Attribute::FetchByHint => (
                "Other memory fills the cache, the first bytes of blocks of 512 bytes are loaded in one way, and in the next launch a load of other \
                 bytes of each block is timed, one distance at a time, in steps of 32 bytes.",
                "Unknown where loads that hit and loads that miss cannot be told apart, and where 288 bytes or more are fetched. Only what the GPU \
                 has is tried.",
                "Loads that use few bytes of each block should not ask for more; streams can ask for more at once.",
            ),
            Attribute::Banks => (
                "31 lanes of a warp load one word and the last lane another. The nearest word that takes longer is one row \
                 away.",
                "Unknown if no stride stands out from the spread, or if rows are longer than 512 words.",
                "Lanes that access words a multiple of the banks apart wait for each other.",
            ),
            Attribute::BankWidth => (
                "Words of the next row that conflict with word 0 are in its bank: their number is the width.",
                "Unknown if the conflicting words are not at powers of two from each other.",
                "Which neighbouring words of different lanes come from one bank.",
            ),
            Attribute::BankModes => (
                "The banks are measured again with the other width that the driver offers (compute capability 3.x).",
                "Unknown if the rows stay where they are when the other width is requested.",
                "To choose the mode by the width of a kernel's elements.",
            ),
            Attribute::ConflictCycles => (
                "The latencies of all strides are fitted by the number of rows that each needs from one bank. The slope is \
                 the cost of one more.",
                "If no straight line fits, the note says so.",
                "To weigh a bank conflict against the instructions that avoid it.",
            ),
            Attribute::Broadcast => (
                "All lanes load one word; then all but one. The times are compared with one word for each lane.",
                "Unknown if the times lie between those of two and of 32 rows.",
                "Whether a warp may read one word of shared memory without a cost.",
            ),
            Attribute::Padding => (
                "Words are added to the rows of a square of 32 x 32 elements, until a column costs as little as the best \
                 stride.",
                "Null for a width for which no padding helps.",
                "Transposes and tiles in shared memory.",
            ),
            Attribute::BankCurve => (
                "A warp loads shared memory at strides from 0 to 64 elements, for accesses of 4, 8 and 16 bytes.",
                "Unknown if another program disturbs it. Counts of rows are null where they are no whole number.",
                "To look up what a stride costs.",
            ),
            Attribute::ReadBandwidth => (
                "Blocks stay on all SMs and load for a set time. The launch is searched for: width of a load, independent \
                 loads of a thread, threads and blocks. The best is measured several times, and bytes a cycle become bytes \
                 a second by the clock of the same launches.",
                "It is a burst of less than a millisecond: a long run may get a lower clock. Memory that the driver places \
                 differently in another process may differ by a part of a per cent.",
                "The ceiling of a roofline, and the time that a kernel needs at least for its data.",
            ),
            Attribute::ReadBandwidthPerSm => (
                "As the bandwidth of all SMs, divided by their number, in bytes for each cycle of the SM clock.",
                "SMs are not equal where many share a port: it is their mean.",
                "To compare GPUs with other clocks, and to see how near a cache comes to the width of its port.",
            ),
            Attribute::WriteBandwidth => (
                "As the read bandwidth, with stores only. What was stored is read back.",
                "Stores count that have left the SM. The first megabytes stay in the L2, so they come before the timed part.",
                "The time that a kernel needs at least to write its results.",
            ),
            Attribute::WriteBandwidthPerSm => (
                "As the write bandwidth of all SMs, divided by their number and by the clock.",
                "The mean of SMs that may differ.",
                "To see whether the SM or the memory limits stores.",
            ),
            Attribute::CopyBandwidth => (
                "As the read bandwidth: what is loaded from one array is stored to another. Both count.",
                "Programs that count the bytes once get half of it.",
                "To compare with the copy of other benchmarks, and with a memory copy of the driver.",
            ),
            Attribute::CopyBandwidthPerSm => (
                "As the copy bandwidth of all SMs, divided by their number and by the clock.",
                "The mean of SMs, some of which may share a port.",
                "To compare GPUs with other clocks.",
            ),
            Attribute::TriadBandwidth => (
                "As the read bandwidth: two arrays are loaded, multiplied and added, and stored to a third. All three count.",
                "It multiplies whole numbers, and not numbers of floating point, which takes no more time here.",
                "It is what most benchmarks of memory state.",
            ),
            Attribute::TriadBandwidthPerSm => (
                "As the triad bandwidth of all SMs, divided by their number and by the clock.",
                "The mean of SMs, as for the other bandwidths.",
                "To compare it with the other bandwidths of an SM.",
            ),
            Attribute::BytesInFlight => (
                "From the launches of the search: the fewest bytes in flight with which some launch reaches nine tenths of \
                 the best. A thread has as many loads in flight as its loop holds.",
                "The launches are a grid with steps of a factor of two or less, so it lies between two of them.",
                "How many threads and independent loads a kernel needs. At least latency times bandwidth; more, since a loop waits for its loads before it makes the next.",
            ),
            Attribute::OutstandingLoads => (
                "The warps of one block load words of pinned host memory, all lanes of a warp the same word, and use none before the \
                 last load is issued. A burst takes little longer than one load, until a load finds no room: it waits for the first \
                 answer, and the whole time jumps. The jump is searched for by two ways to share the loads out.",
                "A load that wants several sectors may take the room of several. Where the bus takes as long for all loads as the first \
                 takes to be answered, the jump cannot be seen, and it is unknown.",
                "How many loads of all warps of an SM can overlap: more of them wait before they leave it. Times the bytes of a load and \
                 divided by the latency, it is the most that an SM reads.",
            ),
            Attribute::OutstandingLoadsOfAWarp => (
                "As for the loads of an SM, with bursts of a single warp, of up to 40 loads.",
                "A compiler keeps the results of some fifty loads apart. Where 40 loads of a warp do not wait for each other, it is unknown, \
                 with that as its least.",
                "How many warps it takes to fill an SM with loads: those of the SM over those of a warp.",
            ),
            Attribute::SaturatingSms => (
                "The launches with which a quarter of the SMs and all of them read the most run on more and more SMs, taken from all \
                 partitions of the L2 in turn. Between the last number that is too few and the first that is enough, further numbers are tried.",
                "It depends on which SMs are taken: those of one GPC may share a port. The second curve takes one partition after \
                 the other, where there are several.",
                "How many SMs may do other work while some of them move the data.",
            ),
            Attribute::EffectiveSize => (
                "All SMs together go over footprints up to four times the L2. It is the last one before the rate falls below nine \
                 tenths of the highest.",
                "A cache that keeps part of a footprint that is too large falls off slowly, so that more than it holds may \
                 still be fast. Footprints are multiples of what all warps touch at once.",
                "To choose the size of tiles that all SMs share. The size beside it is what one SM finds again.",
            ),
            Attribute::LoadedLatency => (
                "One thread of one SM follows a chain while all other SMs read and pause after each pass, for longer and longer. \
                 Between the two pauses around half of the highest rate it is interpolated.",
                "The chain's lines lie where the driver put them, so the traffic around them may be more or less than the mean.",
                "How long loads wait in a kernel that moves much but not all that it could: more than without traffic, and \
                 less than at the peak.",
            ),
            Attribute::LoadedLatencyNs => (
                "As the loaded latency in cycles, divided by the clock of the same launches.",
                "It fails as the loaded latency in cycles does.",
                "To compare GPUs of different clocks, and with what other tools print.",
            ),
            Attribute::LatencyDoublesAt => (
                "From the same launches as the loaded latency: the rate of reads at which the mean load takes twice as long as in the \
                 launch with the longest pauses.",
                "Where the queue is short, the latency never doubles; then it is unknown, with the longest latency.",
                "Up to this rate the memory answers about as fast as when it is idle. Beyond it, more traffic is paid for with \
                 latency.",
            ),
            Attribute::RandomReadBandwidth => (
                "All SMs read lines of 128 bytes at random, each thread one at a time, from parts of the memory that grow beyond the reach of \
                 the last TLB. The memory holds zeros.",
                "Unknown where no TLB level was found. The rate depends on how much memory is free; the series says it by the bytes read from.",
                "What gathers from large tables get, such as embeddings and hash tables, where indices are random.",
            ),
            Attribute::WindowedReadBandwidth => (
                "As reads at random from all of the memory. It is cut into windows below the reach of the last TLB, and the SMs of each TLB \
                 read from one of them.",
                "Unknown where it is unknown which SMs share a TLB, where there are fewer TLBs than windows, and where one TLB covers all of the \
                 memory that is free.",
                "What a kernel can gain that sorts its accesses by window and gives each window to the SMs of some TLBs.",
            ),
            Attribute::NearReadBandwidth => (
                "As the read bandwidth, but each SM goes only through lines that are at home in its own partition of the L2. Where lines are at \
                 home follows from the hash of the address and from the times of atomics on a few lines of each page of 2 MiB.",
                "It is unknown where the hash is, or where there are not two partitions. Lines are listed, and the list is read \
                 besides, from the L1 where it caches global loads.",
                "What a kernel gains at most if each SM works on the data near to it.",
            ),
            Attribute::FarReadBandwidth => (
                "As the near one, through lines that are at home in the other partition.",
                "An L2 that keeps copies of far lines in the SM's own partition answers from these, and the footprint has room for copies: \
                 then it is as high as the near one.",
                "What a kernel gets whose data lies on the wrong side.",
            ),
            Attribute::NearWriteBandwidth => (
                "As the write bandwidth, but each SM goes only through lines that are at home in its own partition of the L2.",
                "It fails as the near read bandwidth does.",
                "What writing near data gains.",
            ),
            Attribute::FarWriteBandwidth => (
                "As the near one, to lines that are at home in the other partition. All that is written crosses between them.",
                "Which of the two partitions is the bottleneck cannot be seen where their numbers of SMs differ.",
                "What the connection of the partitions carries at least.",
            ),
            Attribute::NearLoadedLatency => (
                "As the loaded latency, but the lines of the chain are at home in the partition of the SM that chases. The other SMs read all \
                 lines.",
                "Where homes are unknown it is, too.",
                "How long a load waits at best under such a load.",
            ),
            Attribute::FarLoadedLatency => (
                "As the near one, with a chain through lines that are at home in the other partition.",
                "Where the L2 keeps copies of far lines, a line that was loaded before is near.",
                "How much longer loads wait if the data lies on the wrong side.",
            ),
            Attribute::HostToDeviceBandwidth => (
                "The driver copies 8 MiB and 32 MiB of pinned memory, timed by events of the device. The difference of the two leaves \
                 out what starting a copy takes.",
                "It depends on the socket whose memory the pages are in, and on what else crosses the bus.",
                "The time that it takes to bring data to the GPU, if it is pinned.",
            ),
            Attribute::DeviceToHostBandwidth => (
                "As the copy to the device, the other way.",
                "The two directions of a bus need not be equal. Pageable memory is copied more slowly.",
                "The time that it takes to fetch results.",
            ),
            Attribute::BothWaysBandwidth => (
                "As the copy to the device, with a copy to the host at the same time. Both count. Of a link: each GPU's \
                 engine fetches from the other.",
                "A GPU with one copy engine makes one copy after the other.",
                "Whether a program gains by sending while it fetches.",
            ),
            Attribute::FromPeerBandwidth => (
                "The driver copies 32 MiB and 96 MiB of the other GPU's memory, timed by events of the device. The difference of the two \
                 leaves out what starting a copy takes.",
                "Nothing else may use the link at the same time.",
                "The time that it takes to fetch a tensor from the other GPU without its SMs and without this GPU's.",
            ),
            Attribute::ToPeerBandwidth => (
                "As the copy from the other GPU, the other way.",
                "What others move over the same link at that time is missing in it.",
                "The time that it takes to send a tensor to the other GPU.",
            ),
            Attribute::AtomicThroughput => (
                "Blocks stay on all SMs and add by `red` for a set time; each thread has words of its own, and those of a warp lie \
                 side by side in one line. Atomics in a pass, threads and blocks are searched for. Afterwards all counters \
                 together hold what the blocks say they added.",
                "Nobody waits for the old value: an atomic that returns it (`atom`) may be slower. So may a warp whose lanes add to \
                 different lines.",
                "The most that a histogram or a scatter of many bins can get, where neighbours add to neighbours.",
            ),
            Attribute::AtomicThroughputPerSm => (
                "As the atomics of all SMs a second, by `red.shared`, in additions for each cycle of the SM clock.",
                "The number that is added is no constant. For adding 1 some GPUs have a faster instruction.",
                "Whether a histogram should be in shared memory, where many blocks fill it.",
            ),
            Attribute::AtomicThroughputOneLine => (
                "As the atomics on words of each thread, but all warps add to the same 128 bytes, each lane to its own word.",
                "Lines of the L2 may be shorter than 128 bytes. Then these are several lines.",
                "What it costs if all warps add to the same few counters. If it is far less than with words of each thread, give \
                 each block counters of its own.",
            ),
            Attribute::AtomicThroughputOneLinePerSm => (
                "As the atomics of an SM on words of each thread, with the 32 words of one row of the banks for all warps.",
                "Each block has a row of its own.",
                "It is less than with words of each thread only where warps wait for each other at a row.",
            ),
            Attribute::AtomicThroughputOneAddress => (
                "As the atomics on words of each thread, but all threads add to one word. The compiler cannot see that they do, so it \
                 does not sum up by itself.",
                "If the compiler can see that all lanes have one address, it may sum up by itself, and the kernel is faster.",
                "What a counter of a whole grid costs.",
            ),
            Attribute::AtomicThroughputOneAddressPerSm => (
                "As the atomics of an SM on words of each thread, but all threads of a block add to one word.",
                "The blocks of an SM have a word each.",
                "What a counter of a block costs, and the worst case of a histogram whose values are all alike.",
            ),
            Attribute::AtomicThroughputAggregated => (
                "As the atomics on one address, but each warp sums up by shuffles, and one lane adds for all. All 32 additions count.",
                "The shuffles are in the time. Newer GPUs have one instruction for this sum, which may be faster.",
                "What summing up in the warp gains over an atomic of each lane, for a counter of a whole grid.",
            ),
            Attribute::AtomicThroughputAggregatedPerSm => (
                "As the atomics of an SM on one address, but each warp sums up by shuffles before one lane adds for all of them.",
                "Shuffles limit it where atomics are fast. Then a sum over the block before the atomic gains nothing.",
                "What summing up in the warp gains in shared memory.",
            ),
        };
        Explanation { found, fails, used }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_has_four_texts_of_its_own() {
        let mut all = Vec::new();
        for attribute in Attribute::ALL {
            let Explanation { found, fails, used } = attribute.explained();
            for text in [attribute.about(), found, fails, used] {
                assert!(text.ends_with('.') && text.len() > 10, "{attribute}: {text:?}");
                all.push(text);
            }
        }
        // Attributes that are unknown together may say so in the same words, but nothing else is said twice.
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "a text stands twice");
    }
}
