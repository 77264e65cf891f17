//! Which line of a full set gives way.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::machine::spec::Replacement;

/// The state of a replacement policy over all sets of a cache. Lines are known by their place in the cache; a set's lines
/// are neighbours.
pub(super) struct Policy {
    kind: Replacement,
    /// Of each line, when it was last used (LRU) or when it came (FIFO).
    stamps: Vec<u64>,
    /// Of each line, whether it was hit.
    hit: Vec<bool>,
    /// Of each set of a tree, its bits from the root on, at the places of its lines.
    tree: Vec<bool>,
    now: u64,
}

impl Policy {
    pub fn new(kind: Replacement, lines: usize) -> Self {
        let wants = |wanted: bool| if wanted { lines } else { 0 };
        Policy {
            stamps: vec![0; wants(matches!(kind, Replacement::Lru | Replacement::Fifo))],
            hit: vec![false; wants(kind == Replacement::Unhit)],
            tree: vec![false; wants(kind == Replacement::Plru)],
            kind,
            now: 0,
        }
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        self.stamps.fill(0);
        self.hit.fill(false);
        self.tree.fill(false);
        self.now = 0;
    }

    /// A line of the set that begins at `start` was used; `came` if it has just been brought in.
    pub fn used(&mut self, start: usize, ways: usize, line: usize, came: bool) {
        match self.kind {
            Replacement::Lru => {
                self.now += 1;
                self.stamps[line] = self.now;
            }
            Replacement::Fifo if came => {
                self.now += 1;
                self.stamps[line] = self.now;
            }
            Replacement::Plru => self.point_away(start, ways, line - start),
            Replacement::Unhit => self.hit[line] = !came,
            _ => {}
        }
    }

    /// The line of a full set that gives way; `None` if the newcomer does.
    pub fn victim(&self, start: usize, ways: usize, rng: &mut ChaCha8Rng) -> Option<usize> {
        let set = start..start + ways;
        match &self.kind {
            Replacement::Lru | Replacement::Fifo => {
                let oldest = self.stamps[set].iter().enumerate().min_by_key(|(_, stamp)| **stamp);
                oldest.map(|(way, _)| start + way)
            }
            Replacement::Random => Some(start + rng.random_range(0..ways)),
            Replacement::Plru => Some(start + self.pointed_at(start, ways)),
            Replacement::Unhit => {
                let candidates = set.clone().filter(|&line| !self.hit[line]).count();
                if candidates == 0 {
                    return None;
                }
                set.filter(|&line| !self.hit[line]).nth(rng.random_range(0..candidates))
            }
            Replacement::Weighted(odds) => {
                let total: u64 = odds.iter().map(|&o| u64::from(o)).sum();
                let mut left = rng.random_range(0..total);
                let way = odds.iter().position(|&o| {
                    let here = left < u64::from(o);
                    left = left.saturating_sub(u64::from(o));
                    here
                });
                way.map(|way| start + way)
            }
        }
    }

    /// Makes every bit on the way to a leaf point to the other side.
    fn point_away(&mut self, start: usize, ways: usize, way: usize) {
        let mut node = 1;
        let mut half = ways / 2;
        let mut rest = way;
        while half > 0 {
            let right = rest >= half;
            self.tree[start + node] = !right;
            node = 2 * node + usize::from(right);
            rest -= if right { half } else { 0 };
            half /= 2;
        }
    }

    /// The leaf that the bits point to; a bit that is set points to the right.
    fn pointed_at(&self, start: usize, ways: usize) -> usize {
        let mut node = 1;
        while node < ways {
            node = 2 * node + usize::from(self.tree[start + node]);
        }
        node - ways
    }
}
