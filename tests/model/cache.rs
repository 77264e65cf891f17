//! One cache: sets of tags, each line with the sectors that are there.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Which line of a full set gives way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// The one used longest ago.
    Lru,
    /// The one that came first.
    Fifo,
    /// Any.
    Random,
    /// Any that was never hit; where all were, the newcomer is not kept. So no scan displaces what was hit once.
    Protecting,
}

/// Which set a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Index {
    /// The lowest bits.
    Modulo,
    /// Shifted by one for every full turn through the sets.
    Skewed,
}

/// A cache: `sets * ways` lines, of which each sector is fetched on its own.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub sets: u64,
    pub ways: usize,
    pub line: u64,
    pub sector: u64,
    pub policy: Policy,
    pub index: Index,
    pub latency: u32,
}

impl Shape {
    pub fn size(&self) -> u64 {
        self.sets * self.ways as u64 * self.line
    }
}

struct Line {
    tag: u64,
    sectors: u64,
    /// Some sector was asked for again after it had come.
    hit: bool,
}

/// The content of one cache.
pub struct Cache {
    shape: Shape,
    /// Lines of each set; the next to give way is first, where the policy has an order.
    sets: Vec<Vec<Line>>,
    rng: ChaCha8Rng,
}

impl Cache {
    pub fn new(shape: Shape, seed: u64) -> Self {
        let sets = (0..shape.sets).map(|_| Vec::new()).collect();
        Cache { shape, sets, rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// Loads an address; whether it was there.
    pub fn load(&mut self, address: u64) -> bool {
        let Shape { sets, ways, line, sector, policy, index, .. } = self.shape;
        let tag = address / line;
        let bit = 1 << (address % line / sector);
        let turn = if index == Index::Skewed { tag / sets } else { 0 };
        let set = &mut self.sets[((tag + turn) % sets) as usize];
        if let Some(place) = set.iter().position(|l| l.tag == tag) {
            let hit = set[place].sectors & bit != 0;
            set[place].sectors |= bit;
            set[place].hit |= hit;
            if policy == Policy::Lru {
                let entry = set.remove(place);
                set.push(entry);
            }
            return hit;
        }
        if set.len() == ways {
            let victim = match policy {
                Policy::Lru | Policy::Fifo => 0,
                Policy::Random => self.rng.random_range(0..ways),
                Policy::Protecting => {
                    let open: Vec<usize> = (0..ways).filter(|&i| !set[i].hit).collect();
                    if open.is_empty() {
                        return false;
                    }
                    open[self.rng.random_range(0..open.len())]
                }
            };
            set.remove(victim);
        }
        set.push(Line { tag, sectors: bit, hit: false });
        false
    }
}

/// Loads of the second of two sequential laps from `base` that miss.
pub fn second_lap_misses(shape: &Shape, base: u64, footprint: u64, stride: u64) -> u64 {
    let mut cache = Cache::new(*shape, 0);
    let mut lap = || (0..footprint / stride).filter(|i| !cache.load(base + i * stride)).count() as u64;
    lap();
    lap()
}

/// The usable capacity, by trial: the largest footprint, to a sector, such that none up to it misses in a second lap.
/// Footprints are nested: one that loses a line in its first lap does so as the beginning of a larger one too. So a
/// bisection finds what trying one after another would.
pub fn usable(shape: &Shape, base: u64) -> u64 {
    let (mut fits, mut overflows) = (0, shape.size() / shape.sector + 1);
    while overflows - fits > 1 {
        let middle = fits.midpoint(overflows);
        if second_lap_misses(shape, base, middle * shape.sector, shape.sector) == 0 {
            fits = middle;
        } else {
            overflows = middle;
        }
    }
    fits * shape.sector
}
