//! A machine model that answers experiments directly: caches as sets of tags, no kernels. It stands in for a GPU where the
//! inference is under test; that the kernels do what the experiments say is for other tests.

#![allow(dead_code)]

use std::collections::HashMap;

use gpu_strata::experiment::{Experiment, Kernel, LoadPath, Order, Prepare, Walk};
use gpu_strata::gpu::DeviceFacts;
use gpu_strata::order;
use gpu_strata::samples::{ClockSpan, Failure, Lap, Samples};
use gpu_strata::source::Source;
use gpu_strata::units::{Bytes, KIB, MIB};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Which line of a full set gives way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    Lru,
    Random,
}

/// A cache: `sets * ways` lines, of which each sector is fetched on its own.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub sets: u64,
    pub ways: usize,
    pub line: u64,
    pub sector: u64,
    pub policy: Policy,
    pub latency: u32,
}

impl Shape {
    pub fn size(&self) -> u64 {
        self.sets * self.ways as u64 * self.line
    }
}

/// The content of one cache.
struct Cache {
    shape: Shape,
    /// Lines of each set, most recently used last, with the sectors that are there.
    sets: Vec<Vec<(u64, u64)>>,
    rng: ChaCha8Rng,
}

impl Cache {
    fn new(shape: Shape, seed: u64) -> Self {
        Cache { shape, sets: vec![Vec::new(); shape.sets as usize], rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// Loads an address; whether it was there.
    fn load(&mut self, address: u64) -> bool {
        let Shape { sets, ways, line, sector, policy, .. } = self.shape;
        let tag = address / line;
        let bit = 1 << (address % line / sector);
        let set = &mut self.sets[(tag % sets) as usize];
        if let Some(place) = set.iter().position(|&(t, _)| t == tag) {
            let hit = set[place].1 & bit != 0;
            set[place].1 |= bit;
            if policy == Policy::Lru {
                let entry = set.remove(place);
                set.push(entry);
            }
            return hit;
        }
        if set.len() == ways {
            let victim = if policy == Policy::Lru { 0 } else { self.rng.random_range(0..ways) };
            set.remove(victim);
        }
        set.push((tag, bit));
        false
    }
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
    pub constant_l1: Shape,
    pub constant_l15: Shape,
    pub l2: Shape,
    pub shared_latency: u32,
    pub dram_latency: u32,
    pub host_latency: u32,
    /// Cycles that timing a single load adds.
    pub overhead: u32,
    /// Latencies vary by up to this many cycles, upwards.
    pub jitter: u32,
    /// One load in so many takes 500 cycles more.
    pub spike_every: u32,
}

impl Machine {
    /// A machine like those of today: one unified cache, sectored, with random replacement.
    pub fn unified() -> Self {
        let shape = |sets, ways, line, sector, policy, latency| Shape { sets, ways, line, sector, policy, latency };
        Machine {
            l1: shape(4, 448, 128, 32, Policy::Random, 33),
            texture: None,
            l1_caches_global: true,
            instances: 1,
            constant_l1: shape(8, 4, 64, 64, Policy::Lru, 26),
            constant_l15: shape(32, 16, 256, 256, Policy::Lru, 90),
            l2: shape(2048, 16, 128, 32, Policy::Lru, 220),
            shared_latency: 24,
            dram_latency: 560,
            host_latency: 1200,
            overhead: 9,
            jitter: 0,
            spike_every: 0,
        }
    }

    /// A machine like Kepler: an L1 of its own, four texture caches, a small second constant cache.
    pub fn split() -> Self {
        Machine {
            l1: Shape { sets: 64, ways: 2, sector: 128, policy: Policy::Lru, latency: 64, ..Machine::unified().l1 },
            texture: Some(Shape { sets: 4, ways: 96, line: 32, sector: 32, policy: Policy::Lru, latency: 110 }),
            instances: 4,
            constant_l15: Shape { sets: 8, ways: 16, ..Machine::unified().constant_l15 },
            l2: Shape { sets: 4096, ways: 12, line: 32, sector: 32, policy: Policy::Lru, latency: 223 },
            ..Machine::unified()
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

    fn shape(&self, path: LoadPath) -> Option<Shape> {
        match path {
            LoadPath::GlobalCa => self.l1_caches_global.then_some(self.l1),
            LoadPath::GlobalNc | LoadPath::Texture => Some(self.texture.unwrap_or(self.l1)),
            LoadPath::Local => Some(self.l1),
            _ => None,
        }
    }

    /// Which physical cache a path's loads go through, by thread.
    fn identity(&self, path: LoadPath, thread: u32) -> u32 {
        let instance = thread / 32 % self.instances;
        match path {
            LoadPath::Constant => 1000,
            LoadPath::GlobalCa if self.texture.is_some() => 2000,
            _ => 3000 + instance,
        }
    }
}

/// Caches of one launch.
struct State<'m> {
    machine: &'m Machine,
    private: HashMap<u32, Cache>,
    constant_l15: Cache,
    l2: Cache,
    rng: ChaCha8Rng,
    count: u32,
}

impl<'m> State<'m> {
    fn new(machine: &'m Machine, seed: u64) -> Self {
        State {
            machine,
            private: HashMap::new(),
            constant_l15: Cache::new(machine.constant_l15, seed),
            l2: Cache::new(machine.l2, seed ^ 1),
            rng: ChaCha8Rng::seed_from_u64(seed ^ 2),
            count: 0,
        }
    }

    fn l2(&mut self, address: u64) -> u32 {
        if self.l2.load(address) { self.machine.l2.latency } else { self.machine.dram_latency }
    }

    /// The latency of a load.
    fn load(&mut self, path: LoadPath, thread: u32, address: u64) -> u32 {
        let machine = self.machine;
        let clean = match path {
            LoadPath::Shared => machine.shared_latency,
            LoadPath::Host => machine.host_latency,
            LoadPath::Constant => {
                let id = machine.identity(path, thread);
                let first = self.private.entry(id).or_insert_with(|| Cache::new(machine.constant_l1, u64::from(id)));
                if first.load(address) {
                    machine.constant_l1.latency
                } else if self.constant_l15.load(address) {
                    machine.constant_l15.latency
                } else {
                    machine.l2.latency
                }
            }
            _ => match machine.shape(path) {
                None => self.l2(address),
                Some(shape) => {
                    let id = machine.identity(path, thread);
                    let cache = self.private.entry(id).or_insert_with(|| Cache::new(shape, u64::from(id)));
                    if cache.load(address) { shape.latency } else { self.l2(address) }
                }
            },
        };
        self.count += 1;
        let spiked = machine.spike_every > 0 && self.count.is_multiple_of(machine.spike_every);
        clean + self.rng.random_range(0..=machine.jitter) + if spiked { 500 } else { 0 }
    }
}

/// Where a chain begins: allocations lie apart, and differ in their lowest bits above a line.
fn base(experiment: &Experiment) -> u64 {
    (u64::from(experiment.allocation) + 1) * (1 << 32) + u64::from(experiment.allocation) * 4096
}

fn answer(machine: &Machine, experiment: &Experiment) -> Result<Samples, Failure> {
    let mut samples = Samples { base: base(experiment), ..Samples::default() };
    if experiment.kernel == Kernel::Clock {
        samples.clocks.push(ClockSpan { cycles: 15_000_000, nanoseconds: 10_000_000 });
        return Ok(samples);
    }
    if experiment.path == LoadPath::Constant && experiment.footprint > Bytes::kib(64) {
        return Err(Failure::unsupported("beyond constant memory"));
    }
    if experiment.path == LoadPath::Local && experiment.footprint > Bytes::kib(1) {
        return Err(Failure::unsupported("beyond local memory"));
    }
    let offsets = order::offsets(experiment);
    let lap = offsets.len();
    let at = |i: usize| samples.base + offsets[i % lap];
    let mut state = State::new(machine, experiment.seed ^ u64::from(experiment.repeat));
    // The chain has just been written, so it is in the L2.
    match experiment.prepare {
        Prepare::FlushL2 => {}
        Prepare::Nothing => (0..lap).for_each(|i| {
            state.l2.load(at(i));
        }),
        Prepare::Fill { passes } => {
            for _ in 0..passes {
                if matches!(experiment.order, Order::Scattered { .. }) {
                    let mut sorted = offsets.clone();
                    sorted.sort_unstable();
                    sorted.iter().for_each(|o| {
                        state.l2.load(samples.base + o);
                    });
                } else {
                    let whole = (0..experiment.footprint.0).step_by(experiment.stride.0 as usize);
                    whole.for_each(|o| {
                        state.l2.load(samples.base + o);
                    });
                }
            }
        }
    }
    let path = experiment.path;
    let warm = lap * experiment.warm_laps as usize;
    for i in 0..warm {
        state.load(path, 0, at(i));
    }
    let timed = experiment.timed_loads as usize;
    match experiment.kernel {
        Kernel::Lap => {
            let mut next = warm;
            for round in 0..2 * experiment.rounds {
                let loads = experiment.timed_loads << (round & 1);
                let cycles = (0..loads as usize).map(|k| u64::from(state.load(path, 0, at(next + k)))).sum::<u64>();
                next += loads as usize;
                samples.laps.push(Lap { loads, cycles: cycles + 40 });
            }
        }
        Kernel::PerTwoLoads => {
            samples.latencies = (0..timed)
                .map(|k| {
                    state.load(path, 0, at(warm + 2 * k)) + state.load(path, 0, at(warm + 2 * k + 1)) + machine.overhead
                })
                .collect();
        }
        Kernel::Disturb => {
            let partner = experiment.partner.expect("a disturbance has a partner");
            let elements = partner.footprint / partner.stride;
            for k in 0..u64::from(partner.laps) * elements {
                state.load(partner.path, partner.thread, (1 << 50) + k % elements * partner.stride.0);
            }
            samples.latencies = (0..timed).map(|k| state.load(path, 0, at(k)) + machine.overhead).collect();
        }
        _ => {
            let first = if experiment.walk == Walk::Resident { 0 } else { warm };
            samples.latencies = (0..timed).map(|k| state.load(path, 0, at(first + k)) + machine.overhead).collect();
        }
    }
    Ok(samples)
}

/// Answers from the model.
pub struct Model(pub Machine);

impl Source for Model {
    fn run(&mut self, batch: &[Experiment]) -> Vec<Result<Samples, Failure>> {
        batch
            .iter()
            .map(|e| match e.defect() {
                Some(defect) => Err(Failure::failed(defect)),
                None => answer(&self.0, e),
            })
            .collect()
    }
}
