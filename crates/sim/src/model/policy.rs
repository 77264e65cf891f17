//! The replacement policies: which line of a full set is replaced.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::machine::spec::Replacement;

/// The state of a replacement policy over all sets of a cache. Lines are known by their place in the cache; a set's lines
/// are neighbours.
pub(super) struct Policy {
    kind: Replacement,
    /// Lines of each set by when they were last used (LRU) or when they came (FIFO).
    ages: Ages,
    /// Of each line, whether it was hit.
    hit: Vec<bool>,
    /// Of each set of a tree, its bits from the root on, at the places of its lines.
    tree: Vec<bool>,
}

/// Lines of each set in a ring, the oldest first; the one before it is the youngest. Who uses the lines of a set in turn, as most
/// chases do, uses the oldest each time, for which the ring only turns.
struct Ages {
    /// Of each line, the next younger one, and the next older one.
    ring: Vec<[u32; 2]>,
    /// The oldest line of each set, at the place of its first line.
    oldest: Vec<u32>,
}

impl Ages {
    /// Rings of sets of which each has so many lines.
    fn new(sets: impl Iterator<Item = u32>) -> Self {
        let mut ages = Ages { ring: Vec::new(), oldest: Vec::new() };
        for ways in sets {
            let start = ages.ring.len() as u32;
            ages.oldest.resize(ages.oldest.len() + ways as usize, start);
            ages.ring.extend((0..ways).map(|way| [start + (way + 1) % ways, start + (way + ways - 1) % ways]));
        }
        ages
    }

    /// Makes a line the youngest of the set that begins at `start`.
    #[inline]
    fn renew(&mut self, start: usize, line: usize) {
        let oldest = self.oldest[start] as usize;
        let [younger, older] = self.ring[line];
        if line == oldest {
            self.oldest[start] = younger;
            return;
        }
        let youngest = self.ring[oldest][1] as usize;
        if line == youngest {
            return;
        }
        self.ring[older as usize][0] = younger;
        self.ring[younger as usize][1] = older;
        self.ring[line] = [oldest as u32, youngest as u32];
        self.ring[youngest][0] = line as u32;
        self.ring[oldest][1] = line as u32;
    }
}

impl Policy {
    /// Of a cache whose sets have so many ways each.
    pub fn new(kind: Replacement, ways: &[u32]) -> Self {
        let lines = ways.iter().sum::<u32>() as usize;
        let wants = |wanted: bool| if wanted { lines } else { 0 };
        let aged = matches!(kind, Replacement::Lru | Replacement::Fifo);
        Policy {
            ages: Ages::new(ways.iter().copied().filter(|_| aged)),
            hit: vec![false; wants(kind == Replacement::Unhit)],
            tree: vec![false; wants(kind == Replacement::Plru)],
            kind,
        }
    }

    /// Forgets everything. (A set gives way once it is full, and every line of it has come since: the ages of before do not
    /// matter.)
    pub fn reset(&mut self) {
        self.hit.fill(false);
        self.tree.fill(false);
    }

    /// A line of the set that begins at `start` was used; `came` if it has just been brought in.
    pub fn used(&mut self, start: usize, ways: usize, line: usize, came: bool) {
        match self.kind {
            Replacement::Lru => self.ages.renew(start, line),
            Replacement::Fifo if came => self.ages.renew(start, line),
            Replacement::Plru => self.point_away(start, ways, line - start),
            Replacement::Unhit => self.hit[line] = !came,
            _ => {}
        }
    }

    /// The line of a full set that gives way; `None` if the newcomer does.
    pub fn victim(&self, start: usize, ways: usize, rng: &mut ChaCha8Rng) -> Option<usize> {
        let set = start..start + ways;
        match &self.kind {
            Replacement::Lru | Replacement::Fifo => Some(self.ages.oldest[start] as usize),
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

    /// Which of these lines of a full set gives way, that others do not: the oldest, where ages are kept, else any.
    pub fn victim_of(&self, start: usize, candidates: &[usize], rng: &mut ChaCha8Rng) -> Option<usize> {
        if matches!(self.kind, Replacement::Lru | Replacement::Fifo) {
            let mut line = self.ages.oldest[start] as usize;
            while !candidates.contains(&line) {
                line = self.ages.ring[line][0] as usize;
            }
            return Some(line);
        }
        (!candidates.is_empty()).then(|| candidates[rng.random_range(0..candidates.len())])
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The ring gives the line that was renewed longest ago.
        #[test]
        fn the_oldest_is_the_one_renewed_longest_ago(
            ways in prop::collection::vec(1u32..9, 1..4),
            uses in prop::collection::vec(any::<prop::sample::Index>(), 0..200),
        ) {
            let lines: usize = ways.iter().sum::<u32>() as usize;
            let mut ages = Ages::new(ways.iter().copied());
            let mut renewed = vec![0; lines];
            let set_of = |line: usize| {
                let mut start = 0;
                for &ways in &ways {
                    if line < start + ways as usize {
                        return start..start + ways as usize;
                    }
                    start += ways as usize;
                }
                unreachable!("a line is in a set")
            };
            // Every line comes once.
            let uses = (0..lines).chain(uses.iter().map(|line| line.index(lines)));
            for (now, line) in (1..).zip(uses) {
                let set = set_of(line);
                ages.renew(set.start, line);
                renewed[line] = now;
                if renewed[set.clone()].iter().all(|&time| time > 0) {
                    let oldest = set.clone().min_by_key(|&line| renewed[line]);
                    prop_assert_eq!(Some(ages.oldest[set.start] as usize), oldest);
                }
            }
        }
    }
}
