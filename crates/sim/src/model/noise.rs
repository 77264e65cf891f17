//! Noise in the latency of loads.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::machine::spec;

/// Draws what a load takes beyond its latency.
pub(super) struct Noise {
    jitter: u32,
    spikes: f64,
    spike: u32,
    smear: u32,
    rng: ChaCha8Rng,
}

impl Noise {
    pub fn new(noise: &spec::Noise, seed: u64) -> Self {
        Noise {
            jitter: noise.jitter.get() as u32,
            spikes: noise.spikes.0,
            spike: noise.spike.get() as u32,
            smear: noise.smear.get() as u32,
            rng: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// Cycles that one load takes more.
    pub fn draw(&mut self) -> u64 {
        let mut more = 0;
        if self.jitter > 0 {
            more += self.rng.random_range(0..=self.jitter);
        }
        if self.spikes > 0.0 && self.rng.random_bool(self.spikes) {
            more += self.spike;
        }
        if self.smear > 0 {
            more += self.rng.random_range(0..=self.smear);
        }
        u64::from(more)
    }
}
