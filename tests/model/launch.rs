//! One launch on a machine: its caches while it runs, and what its loads take.

use std::collections::HashMap;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use strata_model::experiment::{Experiment, LoadPath};

use super::cache::{Cache, Shape};
use super::machine::{Chaos, Machine, SPIKE};

/// Which physical cache of an SM a path's loads go through.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Private {
    Constant,
    /// The L1, where textures have their own.
    L1,
    /// The texture cache or the unified one, by instance.
    Texture(u32),
}

/// The caches of one launch.
pub struct Launch<'m> {
    machine: &'m Machine,
    l1: Shape,
    private: HashMap<Private, Cache>,
    constant_l15: Cache,
    /// The L2, or its near half.
    l2: Cache,
    far: Option<Cache>,
    rng: ChaCha8Rng,
    /// Share of the loads that take as long as DRAM whatever was there.
    flicker: f64,
}

impl<'m> Launch<'m> {
    pub fn new(machine: &'m Machine, experiment: &Experiment) -> Self {
        // Noise differs from one experiment to the next, as on a device, but is the same for the same.
        let mut seed = experiment.seed ^ u64::from(experiment.repeat) ^ 0x51ed;
        for part in [experiment.footprint.0, experiment.stride.0, u64::from(experiment.allocation), experiment.lap()] {
            seed = (seed ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
        seed ^= experiment.sm.map_or(0, |sm| u64::from(sm) << 40) ^ experiment.kernel as u64;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let flicker = match machine.chaos {
            Chaos::Flicker(most) if rng.random_range(0..3) == 0 => rng.random_range(0.0..most),
            _ => 0.0,
        };
        let kept = if machine.carveout { 100 - usize::from(experiment.carveout.unwrap_or(0)) } else { 100 };
        let halves = if machine.far.is_some() { 2 } else { 1 };
        let half = Shape { sets: machine.l2.sets / halves, ..machine.l2 };
        Launch {
            machine,
            l1: Shape { ways: (machine.l1.ways * kept / 100).max(1), ..machine.l1 },
            private: HashMap::new(),
            constant_l15: Cache::new(machine.constant_l15, seed),
            l2: Cache::new(half, seed ^ 1),
            far: machine.far.map(|_| Cache::new(half, seed ^ 2)),
            rng,
            flicker,
        }
    }

    /// The cache that a path's loads meet before the L2, if any.
    fn first(&self, path: LoadPath, thread: u32) -> Option<(Private, Shape)> {
        let instance = Private::Texture(thread / 32 % self.machine.instances);
        let l1 = if self.machine.texture.is_some() { Private::L1 } else { instance };
        match path {
            LoadPath::GlobalCa => self.machine.l1_caches_global.then_some((l1, self.l1)),
            LoadPath::Local => Some((l1, self.l1)),
            LoadPath::GlobalNc | LoadPath::Texture => Some((instance, self.machine.texture.unwrap_or(self.l1))),
            LoadPath::Constant => Some((Private::Constant, self.machine.constant_l1)),
            LoadPath::GlobalCg | LoadPath::Shared | LoadPath::Host | LoadPath::Atomic => None,
        }
    }

    /// Brings a line into the L2.
    pub fn touch(&mut self, address: u64) {
        self.l2(address);
    }

    /// Loads from the L2 on; what it takes.
    pub fn l2(&mut self, address: u64) -> u32 {
        let near = self.l2.load(address);
        let (Some(cache), Some(far)) = (self.far.as_mut(), self.machine.far) else {
            return if near { self.machine.l2.latency } else { self.machine.dram_latency };
        };
        let home_is_far = (address / 4096).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1;
        match (near, home_is_far) {
            (true, _) => self.machine.l2.latency,
            (false, false) => self.machine.dram_latency,
            // The far half is asked only when there is no copy here.
            (false, true) if cache.load(address) => far.hit,
            (false, true) => far.dram,
        }
    }

    fn clean(&mut self, path: LoadPath, thread: u32, address: u64) -> u32 {
        match path {
            LoadPath::Shared => return self.machine.shared_latency,
            LoadPath::Host => return self.machine.host_latency,
            _ => {}
        }
        if let Some((which, shape)) = self.first(path, thread) {
            let seed = self.rng.random();
            let cache = self.private.entry(which).or_insert_with(|| Cache::new(shape, seed));
            if cache.load(address) {
                return shape.latency;
            }
        }
        match path {
            LoadPath::Constant if self.constant_l15.load(address) => self.machine.constant_l15.latency,
            // The whole constant bank is in the L2: it is small and has just been written.
            LoadPath::Constant => self.machine.l2.latency,
            _ => self.l2(address),
        }
    }

    /// The latency of a load.
    pub fn load(&mut self, path: LoadPath, thread: u32, address: u64) -> u32 {
        let clean = self.clean(path, thread, address);
        let machine = self.machine;
        if machine.chaos == Chaos::NoPlateau {
            return self.rng.random_range(20..=1020);
        }
        let clean = if self.flicker > 0.0 && self.rng.random_bool(self.flicker) { machine.dram_latency } else { clean };
        let spiked = machine.spike_every > 0 && self.rng.random_ratio(1, machine.spike_every);
        let jitter = if machine.jitter > 0 { self.rng.random_range(0..=machine.jitter) } else { 0 };
        clean + jitter + if spiked { SPIKE } else { 0 }
    }
}
