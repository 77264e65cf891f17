//! The shipped configurations of GPGPU-Sim 4.x that defaults are of.

use strata_model::facts::DeviceFacts;

/// The options of a shipped configuration that a discovery may have a value for. Strings are as its file has them.
pub(super) struct Base {
    /// Its folder in `configs/tested-cfgs`.
    pub name: &'static str,
    pub n_mem: u64,
    pub sub_partitions: u64,
    /// Bits of the memory bus of its GPU for each memory controller.
    pub channel_bits: u32,
    /// How often the data bus of its DRAM ticks for each tick of the command bus.
    pub data_command_ratio: u32,
    pub partition_indexing: u32,
    pub clock_domains: &'static str,
    pub registers: u32,
    pub threads: u32,
    pub blocks: u32,
    /// The L1 grows into what shared memory leaves.
    pub is_adaptive: bool,
    /// KiB of the L1 and shared memory together; 0 where they are apart.
    pub unified_kib: u64,
    /// KiB of shared memory that a launch may set aside; 0 alone where there is no choice.
    pub shared_option: &'static str,
    pub dl1: &'static str,
    pub skips_l1: u32,
    pub l1_latency: u32,
    pub shared: u64,
    pub shared_latency: u32,
    pub dl2: &'static str,
    pub il1: &'static str,
    pub constant: &'static str,
    pub rop_latency: u32,
    pub dram_latency: u32,
}

const GTX480: Base = Base {
    name: "SM2_GTX480",
    n_mem: 6,
    sub_partitions: 2,
    channel_bits: 64,
    data_command_ratio: 4,
    partition_indexing: 0,
    clock_domains: "700.0:700.0:700.0:924.0",
    registers: 32768,
    threads: 1536,
    blocks: 8,
    is_adaptive: false,
    unified_kib: 0,
    shared_option: "0",
    dl1: "N:32:128:4,L:L:m:N:H,S:64:8,8",
    skips_l1: 0,
    l1_latency: 35,
    shared: 49152,
    shared_latency: 26,
    dl2: "S:64:128:8,L:B:m:L:L,A:256:4,4:0,32",
    il1: "N:4:128:4,L:R:f:N:L,S:2:32,4",
    constant: "N:64:64:2,L:R:f:N:L,S:2:32,4",
    rop_latency: 120,
    dram_latency: 100,
};

const TITAN: Base = Base {
    name: "SM3_KEPLER_TITAN",
    n_mem: 12,
    channel_bits: 32,
    clock_domains: "837.0:837.0:837.0:1502.0",
    registers: 65536,
    threads: 2048,
    blocks: 16,
    dl1: "S:4:128:32,L:L:s:N:L,A:256:8,16:0,32",
    skips_l1: 1,
    l1_latency: 82,
    shared_latency: 24,
    dl2: "S:32:128:16,L:B:m:L:P,A:256:64,16:0,32",
    il1: "N:8:128:4,L:R:f:N:L,S:2:48,4",
    constant: "N:128:64:2,L:R:f:N:L,S:2:64,4",
    ..GTX480
};

const TITANX: Base = Base {
    name: "SM6_TITANX",
    partition_indexing: 4,
    clock_domains: "1417.0:1417.0:1417.0:2500.0",
    blocks: 32,
    dl1: "S:4:128:96,L:L:s:N:L,A:256:8,16:0,32",
    shared: 98304,
    dl2: "S:64:128:16,L:B:m:L:P,A:256:64,16:0,32",
    ..TITAN
};

const QV100: Base = Base {
    name: "SM7_QV100",
    n_mem: 32,
    sub_partitions: 2,
    channel_bits: 128,
    data_command_ratio: 2,
    partition_indexing: 2,
    clock_domains: "1132.0:1132.0:1132.0:850.0",
    registers: 65536,
    threads: 2048,
    blocks: 32,
    is_adaptive: true,
    unified_kib: 128,
    shared_option: "0,8,16,32,64,96",
    dl1: "S:4:128:64,L:T:m:L:L,A:512:8,16:0,32",
    skips_l1: 0,
    l1_latency: 20,
    shared: 98304,
    shared_latency: 20,
    dl2: "S:32:128:24,L:B:m:L:P,A:192:4,32:0,32",
    il1: "N:64:128:16,L:R:f:N:L,S:2:48,4",
    constant: "N:128:64:8,L:R:f:N:L,S:2:64,4",
    rop_latency: 160,
    dram_latency: 100,
};

const RTX2060: Base = Base {
    name: "SM75_RTX2060",
    n_mem: 12,
    channel_bits: 16,
    data_command_ratio: 4,
    partition_indexing: 0,
    clock_domains: "1365:1365:1365:3500.5",
    threads: 1024,
    blocks: 16,
    unified_kib: 96,
    shared_option: "32,64",
    dl1: "S:4:128:64,L:T:m:L:L,A:256:32,16:0,32",
    l1_latency: 32,
    shared: 65536,
    shared_latency: 30,
    dl2: "S:64:128:16,L:B:m:L:P,A:192:4,32:0,32",
    rop_latency: 194,
    dram_latency: 96,
    ..QV100
};

const A100: Base = Base {
    name: "SM80_A100",
    n_mem: 40,
    sub_partitions: 4,
    partition_indexing: 0,
    clock_domains: "1410:1410:1512:6048",
    unified_kib: 192,
    shared_option: "0,8,16,32,64,164",
    dl1: "S:4:128:64,L:T:m:L:L,A:512:64,16:0,32",
    l1_latency: 34,
    shared: 167_936,
    shared_latency: 28,
    dl2: "S:128:128:16,L:B:m:L:X,A:192:4,32:0,32",
    rop_latency: 200,
    dram_latency: 190,
    ..QV100
};

const RTX3070: Base = Base {
    name: "SM86_RTX3070",
    n_mem: 16,
    channel_bits: 16,
    data_command_ratio: 4,
    clock_domains: "1132:1132:1132:3500.5",
    threads: 1536,
    unified_kib: 128,
    shared_option: "0,8,16,32,64,100",
    dl1: "S:4:128:256,L:T:m:L:L,A:384:48,16:0,32",
    l1_latency: 39,
    shared: 102_400,
    shared_latency: 29,
    dl2: "S:64:128:16,L:B:m:L:P,A:192:4,32:0,32",
    rop_latency: 187,
    dram_latency: 254,
    ..QV100
};

const H100: Base = Base {
    name: "SM90_H100",
    n_mem: 40,
    partition_indexing: 6,
    clock_domains: "1980:3106:3106:3106",
    unified_kib: 256,
    shared_option: "0,8,16,32,64,228",
    dl1: "S:4:128:64,L:T:m:L:L,A:512:64,16:0,32",
    l1_latency: 41,
    shared: 233_472,
    shared_latency: 29,
    dl2: "S:256:128:20,L:B:m:L:X,A:384:4,32:0,32",
    rop_latency: 237,
    dram_latency: 194,
    ..QV100
};

const H200: Base = Base { name: "SM90_H200", n_mem: 48, ..H100 };

/// What of Hopper's GPUs has more L2 than an H100, in bytes: an H200.
const L2_OF_H100: u64 = 50 << 20;

/// The configuration of the nearest GPU that has one.
pub(super) fn of(device: &DeviceFacts) -> &'static Base {
    match device.compute_capability {
        (0..=2, _) => &GTX480,
        (3, _) => &TITAN,
        (4..=6, _) => &TITANX,
        (7, 0..=2) => &QV100,
        (7, _) => &RTX2060,
        (8, 0) => &A100,
        (8, _) => &RTX3070,
        _ if device.l2_size > L2_OF_H100 => &H200,
        _ => &H100,
    }
}
