//! The dice of one machine, and what is unusual about it.

use std::ops::RangeInclusive;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Bytes of a KiB.
pub const KIB: u64 = 1 << 10;
/// Bytes of a MiB.
pub const MIB: u64 = 1 << 20;
/// Of so many machines with something unusual in a part, one has a second unusual thing there.
const ONE_IN_WITH_TWO: u32 = 4;

/// Random draws of one machine. Whole numbers only, so that a seed gives the same machine on every platform.
pub struct Dice {
    rng: ChaCha8Rng,
    traits: Vec<&'static str>,
}

impl Dice {
    /// The dice of a seed.
    pub fn new(seed: u64) -> Self {
        Dice { rng: ChaCha8Rng::seed_from_u64(seed), traits: Vec::new() }
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: u32) -> bool {
        self.rng.random_ratio(1, times)
    }

    /// A number of a range, with equal chances.
    pub fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        self.rng.random_range(range)
    }

    /// A number from `low` to `high`, with equal chances for each doubling.
    pub fn spread(&mut self, low: u64, high: u64) -> u64 {
        let from = low << self.within(0..=u64::from((high / low).ilog2()));
        self.within(from..=high.min(2 * from))
    }

    /// One of several; what stands there twice is twice as likely.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.rng.random_range(0..choices.len())]
    }

    /// One of several, sometimes two.
    pub fn few<T: Copy>(&mut self, choices: &[T]) -> Vec<T> {
        let count = if self.one_in(ONE_IN_WITH_TWO) { 2 } else { 1 };
        (0..count).map(|_| self.pick(choices)).collect()
    }

    /// Remembers what is unusual.
    pub fn note(&mut self, what: &'static str) {
        if !self.traits.contains(&what) {
            self.traits.push(what);
        }
    }

    /// Remembers what is unusual if it is so.
    pub fn note_if(&mut self, is_so: bool, what: &'static str) {
        if is_so {
            self.note(what);
        }
    }

    /// What was unusual.
    pub fn into_traits(self) -> Vec<&'static str> {
        self.traits
    }
}
