//! The machines: what a GPU is here, and the named ones.

use strata_gpu::DeviceFacts;
use strata_model::units::{KIB, MIB};

use super::cache::{Index, Policy, Shape};

/// The far half of an L2 of two partitions, each with half the lines. A line's home follows from a hash of its address;
/// one whose home is far is copied into the near half when it is loaded.
#[derive(Clone, Copy, Debug)]
pub struct Far {
    /// Latency of a hit in the far half.
    pub hit: u32,
    /// Latency of DRAM behind the far half.
    pub dram: u32,
}

/// What makes a machine's timings hostile to inference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Chaos {
    /// Nothing.
    Calm,
    /// Every load takes any time between 20 and 1020 cycles.
    NoPlateau,
    /// In one experiment of three, up to this share of the hits take as long as a load from DRAM.
    Flicker(f64),
}

/// The machine.
#[derive(Clone, Debug)]
pub struct Machine {
    pub l1: Shape,
    /// Separate texture and read-only cache, if not the L1.
    pub texture: Option<Shape>,
    /// Global loads by `.ca` are cached in the L1.
    pub l1_caches_global: bool,
    /// Instances of the texture cache (or of the L1, if there is no other).
    pub instances: u32,
    /// Shared memory is taken from the L1: of its ways, the share that the carveout asks for is gone.
    pub carveout: bool,
    pub constant_l1: Shape,
    pub constant_l15: Shape,
    /// Both halves together, where there are two.
    pub l2: Shape,
    pub far: Option<Far>,
    pub shared_latency: u32,
    pub dram_latency: u32,
    pub host_latency: u32,
    /// Cycles that timing a single load adds.
    pub overhead: u32,
    /// Latencies vary by up to this many cycles, upwards.
    pub jitter: u32,
    /// One load in so many, at random, takes [`SPIKE`] cycles more; none if 0.
    pub spike_every: u32,
    pub chaos: Chaos,
}

/// What a spike adds.
pub const SPIKE: u32 = 500;

impl Machine {
    /// A machine like those of today: one unified cache, sectored, with random replacement.
    pub fn unified() -> Self {
        let shape = |sets, ways, line, sector, policy, latency| Shape {
            sets,
            ways,
            line,
            sector,
            policy,
            latency,
            index: Index::Modulo,
        };
        Machine {
            l1: shape(4, 448, 128, 32, Policy::Random, 33),
            texture: None,
            l1_caches_global: true,
            instances: 1,
            carveout: true,
            constant_l1: shape(8, 4, 64, 64, Policy::Lru, 26),
            constant_l15: shape(32, 16, 256, 256, Policy::Lru, 90),
            l2: shape(2048, 16, 128, 32, Policy::Lru, 220),
            far: None,
            shared_latency: 24,
            dram_latency: 560,
            host_latency: 1200,
            overhead: 9,
            jitter: 0,
            spike_every: 0,
            chaos: Chaos::Calm,
        }
    }

    /// A machine like Kepler: an L1 of its own, four texture caches, a small second constant cache.
    pub fn split() -> Self {
        let one = Machine::unified();
        Machine {
            l1: Shape { sets: 64, ways: 2, sector: 128, policy: Policy::Lru, latency: 64, ..one.l1 },
            texture: Some(Shape {
                sets: 4,
                ways: 96,
                line: 32,
                sector: 32,
                policy: Policy::Lru,
                latency: 110,
                ..one.l1
            }),
            instances: 4,
            carveout: false,
            constant_l15: Shape { sets: 8, ways: 16, ..one.constant_l15 },
            l2: Shape { sets: 4096, ways: 12, line: 32, sector: 32, policy: Policy::Lru, latency: 223, ..one.l2 },
            ..one
        }
    }

    /// A machine like Maxwell: the texture cache is the L1, in two instances that serve different warps.
    pub fn two_instances() -> Self {
        let one = Machine::unified();
        let l1 = Shape { sets: 8, ways: 24, policy: Policy::Lru, latency: 82, ..one.l1 };
        Machine { l1, instances: 2, carveout: false, ..one }
    }

    /// A machine that takes global loads straight from the L2, with a texture cache beside.
    pub fn uncached() -> Self {
        Machine { l1_caches_global: false, ..Machine::split() }
    }

    /// A machine whose levels are a few cycles apart.
    pub fn close_levels() -> Self {
        let one = Machine::unified();
        Machine {
            l1: Shape { sets: 16, ways: 8, policy: Policy::Lru, latency: 30, ..one.l1 },
            constant_l1: Shape { latency: 20, ..one.constant_l1 },
            constant_l15: Shape { sets: 8, latency: 25, ..one.constant_l15 },
            l2: Shape { latency: 35, ..one.l2 },
            dram_latency: 40,
            ..one
        }
    }

    /// A machine whose L1 keeps what was hit once, as Hopper's does.
    pub fn protecting() -> Self {
        let one = Machine::unified();
        Machine { l1: Shape { sets: 64, ways: 16, policy: Policy::Protecting, ..one.l1 }, ..one }
    }

    /// A machine whose L2 has two partitions.
    pub fn partitioned() -> Self {
        let one = Machine::unified();
        Machine {
            l2: Shape { sets: 4096, latency: 280, ..one.l2 },
            dram_latency: 530,
            far: Some(Far { hit: 450, dram: 710 }),
            ..one
        }
    }

    pub fn facts(&self) -> DeviceFacts {
        DeviceFacts {
            name: "model".into(),
            compute_capability: (8, 0),
            multiprocessors: 4,
            warp_size: 32,
            max_threads_per_block: 128,
            shared_per_block: 48 * KIB,
            shared_per_multiprocessor: 64 * KIB,
            l2_size: self.l2.size(),
            total_memory: 4096 * MIB,
            free_memory: 4000 * MIB,
            ..DeviceFacts::default()
        }
    }
}
