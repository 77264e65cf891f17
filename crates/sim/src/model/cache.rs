//! One cache: tags in sets, each line with its valid sectors.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rustc_hash::FxHashMap;

use super::policy::Policy;
use super::{mix, parities};
use crate::machine::spec::{Hint, Index, Prefetch, Replacement};

/// Sets of more ways than this are searched by a table, not way by way.
const SEARCHED: usize = 32;
/// A line that is not there.
const EMPTY: u64 = u64::MAX;

/// Shape of a cache.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Bytes of a line, a power of two.
    pub line: u64,
    /// Bytes of a sector, a power of two up to the line.
    pub sector: u64,
    /// Ways of each set.
    pub ways: Vec<u32>,
    /// Index function.
    pub index: Index,
    /// Replacement.
    pub replacement: Replacement,
    /// Hints that it obeys.
    pub hints: Vec<Hint>,
    /// Prefetch sizes that it obeys.
    pub prefetch: Vec<Prefetch>,
}

/// What an access asks of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wish {
    /// Nothing: a line that comes has no priority, and one that is there keeps its own.
    #[default]
    Plain,
    /// That the line has no priority any longer.
    Normal,
    /// That it has this one.
    Hinted(Hint),
    /// That a miss brings in the aligned block of this size.
    Block(Prefetch),
}

/// The content of one cache.
pub struct Cache {
    shape: Shape,
    line_shift: u32,
    sector_shift: u32,
    /// Where each set begins; one more than there are sets.
    starts: Vec<u32>,
    tags: Vec<u64>,
    sectors: Vec<u64>,
    /// Set of each line in turn, of [`Index::Dealt`].
    dealt: Vec<u32>,
    /// Hints by which lines came; empty where none are obeyed.
    hinted: Vec<Option<Hint>>,
    /// Lines that came by one.
    hinted_lines: usize,
    /// Sectors of each line that were stored to and are nowhere else; empty until there are any.
    dirty: Vec<u64>,
    /// Bytes of such sectors that have given way, and were not asked for yet.
    displaced: u64,
    /// Lines in each set.
    filled: Vec<u32>,
    table: Option<FxHashMap<u64, u32>>,
    policy: Policy,
    rng: ChaCha8Rng,
    /// The line that was used last, while it holds this tag: its place, and the bounds of its set. Sectors of a line are mostly asked
    /// for one after the other.
    recent: (u64, [u32; 3]),
}

/// The sets of as many lines as all sets hold: in turn, those that are full left out.
fn dealt(ways: &[u32]) -> Vec<u32> {
    let mut open: Vec<u32> = (0..ways.len() as u32).collect();
    let mut all = Vec::new();
    for round in 0.. {
        // Each round takes as long as it deals lines, however unequal the sets are.
        open.retain(|&set| ways[set as usize] > round);
        if open.is_empty() {
            break;
        }
        all.extend_from_slice(&open);
    }
    all
}

/// `number % sets`. Most numbers of lines are short, and dividing short numbers takes less time.
#[inline]
fn rest(number: u64, sets: u64) -> u64 {
    match (u32::try_from(number), u32::try_from(sets)) {
        (Ok(number), Ok(sets)) => u64::from(number % sets),
        _ => number % sets,
    }
}

impl Cache {
    /// An empty cache; `seed` is for policies that draw.
    pub fn new(shape: Shape, seed: u64) -> Self {
        let mut starts = Vec::with_capacity(shape.ways.len() + 1);
        let mut lines = 0u32;
        for &ways in &shape.ways {
            starts.push(lines);
            lines += ways;
        }
        starts.push(lines);
        let most = shape.ways.iter().copied().max().unwrap_or(0) as usize;
        Cache {
            line_shift: shape.line.trailing_zeros(),
            sector_shift: shape.sector.trailing_zeros(),
            tags: vec![EMPTY; lines as usize],
            sectors: vec![0; lines as usize],
            hinted_lines: 0,
            hinted: vec![None; if shape.hints.is_empty() { 0 } else { lines as usize }],
            dirty: Vec::new(),
            displaced: 0,
            filled: vec![0; shape.ways.len()],
            table: (most > SEARCHED).then(FxHashMap::default),
            policy: Policy::new(shape.replacement.clone(), &shape.ways),
            rng: ChaCha8Rng::seed_from_u64(seed),
            recent: (EMPTY, [0; 3]),
            dealt: if shape.index == Index::Dealt { dealt(&shape.ways) } else { Vec::new() },
            starts,
            shape,
        }
    }

    /// Bytes of a line.
    pub fn line(&self) -> u64 {
        self.shape.line
    }

    /// Lines that it holds.
    pub fn lines(&self) -> u64 {
        self.tags.len() as u64
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.tags.fill(EMPTY);
        self.sectors.fill(0);
        self.filled.fill(0);
        self.hinted.fill(None);
        self.hinted_lines = 0;
        self.dirty.fill(0);
        self.displaced = 0;
        self.policy.reset();
        if let Some(table) = &mut self.table {
            table.clear();
        }
    }

    /// The set that an address belongs to.
    #[inline]
    pub fn set_of(&self, address: u64) -> usize {
        let sets = self.shape.ways.len() as u64;
        let number = address >> self.line_shift;
        let set = match &self.shape.index {
            Index::Modulo if sets.is_power_of_two() => number & (sets - 1),
            Index::Modulo => rest(number, sets),
            Index::Bits(bits) => bits.iter().rev().fold(0, |set, bit| set << 1 | (address >> bit.get() & 1)),
            Index::Parity(masks) => parities(masks, address),
            Index::Dealt => u64::from(self.dealt[rest(number, self.dealt.len() as u64) as usize]),
            Index::Hash(seed) => mix(number ^ seed.rotate_left(32)) % sets,
        };
        set as usize
    }

    #[inline]
    fn find(&self, tag: u64, start: usize, end: usize) -> Option<usize> {
        match &self.table {
            Some(table) => table.get(&tag).map(|&line| line as usize),
            None => self.tags[start..end].iter().position(|&t| t == tag).map(|way| start + way),
        }
    }

    fn bounds(&self, address: u64) -> (usize, usize, usize) {
        let set = self.set_of(address);
        (set, self.starts[set] as usize, self.starts[set + 1] as usize)
    }

    fn sector_bit(&self, address: u64) -> u64 {
        1 << ((address & (self.shape.line - 1)) >> self.sector_shift)
    }

    /// Whether the sector of this address is there. Changes nothing.
    pub fn holds(&self, address: u64) -> bool {
        let (_, start, end) = self.bounds(address);
        let line = self.find(address >> self.line_shift, start, end);
        line.is_some_and(|line| self.sectors[line] & self.sector_bit(address) != 0)
    }

    /// Loads an address whose sector is there; otherwise changes nothing and says so by `false`.
    pub fn load_held(&mut self, address: u64) -> bool {
        let bits = self.sector_bit(address);
        let (_, start, end) = self.bounds(address);
        match self.find(address >> self.line_shift, start, end) {
            Some(line) if self.sectors[line] & bits != 0 => {
                self.policy.used(start, end - start, line, false);
                true
            }
            _ => false,
        }
    }

    /// Loads the addresses of pairs, those of a line one after the other, if all of their sectors are there; otherwise changes nothing
    /// and says so by `false`. To use a line twice in a row does not differ from once.
    pub(super) fn load_all_held(&mut self, addresses: &[(u64, u64)]) -> bool {
        let mut lines = [(0, 0, 0); 32];
        let mut count = 0;
        for one in addresses.chunk_by(|a, b| a.0 >> self.line_shift == b.0 >> self.line_shift) {
            let Some(place) = lines.get_mut(count) else { return false };
            let (_, start, end) = self.bounds(one[0].0);
            let Some(line) = self.find(one[0].0 >> self.line_shift, start, end) else { return false };
            let bits = one.iter().fold(0, |bits, (address, _)| bits | self.sector_bit(*address));
            if self.sectors[line] & bits != bits {
                return false;
            }
            *place = (start, end, line);
            count += 1;
        }
        for &(start, end, line) in &lines[..count] {
            self.policy.used(start, end - start, line, false);
        }
        true
    }

    /// Loads an address: whether its sector was there. It is afterwards, unless the policy does not keep newcomers.
    #[inline]
    pub fn load(&mut self, address: u64) -> bool {
        self.load_as(address, Wish::Plain)
    }

    /// The same with a wish.
    #[inline]
    pub fn load_as(&mut self, address: u64, wish: Wish) -> bool {
        let bits = self.sector_bit(address);
        if let Wish::Block(size) = wish
            && self.shape.prefetch.contains(&size)
        {
            return self.load_block(address, size as u64);
        }
        if self.hinted.is_empty() || wish == Wish::Plain {
            return self.touch(address, bits);
        }
        let hint = match wish {
            Wish::Hinted(hint) if self.shape.hints.contains(&hint) => Some(hint),
            Wish::Normal => None,
            _ => return self.touch(address, bits),
        };
        if hint == Some(Hint::NoAllocate) {
            return self.load_held(address);
        }
        let hit = self.touch(address, bits);
        let (_, start, end) = self.bounds(address);
        if let Some(line) = self.find(address >> self.line_shift, start, end) {
            self.set_hint(line, hint);
        }
        hit
    }

    /// Remembers that the sector of an address was stored to, if it is there: it must go to memory when its line gives way.
    pub fn store(&mut self, address: u64) {
        let bit = self.sector_bit(address);
        let (_, start, end) = self.bounds(address);
        if let Some(line) = self.find(address >> self.line_shift, start, end) {
            if self.dirty.is_empty() {
                self.dirty = vec![0; self.tags.len()];
            }
            self.dirty[line] |= bit;
        }
    }

    /// Bytes that were stored and have given way since this was asked last.
    #[inline]
    pub fn take_displaced(&mut self) -> u64 {
        std::mem::take(&mut self.displaced)
    }

    /// Loads an address; if it misses, the sectors of the aligned block around it come, too.
    fn load_block(&mut self, address: u64, block: u64) -> bool {
        let hit = self.touch(address, self.sector_bit(address));
        if !hit {
            let first = address - address % block;
            for other in (first..first + block).step_by(self.shape.sector as usize) {
                self.touch(other, self.sector_bit(other));
            }
        }
        hit
    }

    fn set_hint(&mut self, line: usize, hint: Option<Hint>) {
        if let Some(known) = self.hinted.get_mut(line) {
            self.hinted_lines = self.hinted_lines + usize::from(hint.is_some()) - usize::from(known.is_some());
            *known = hint;
        }
    }

    /// No line that is there gives way after all others any longer.
    pub fn release(&mut self) {
        let last = self.hinted.iter_mut().filter(|hint| **hint == Some(Hint::EvictLast));
        self.hinted_lines -= last.map(|hint| *hint = None).count();
    }

    /// Brings a whole line in.
    pub fn fill_line(&mut self, address: u64) {
        let sectors = self.shape.line / self.shape.sector;
        self.touch(address, if sectors == 64 { u64::MAX } else { (1 << sectors) - 1 });
    }

    fn touch(&mut self, address: u64, bits: u64) -> bool {
        let tag = address >> self.line_shift;
        let (known, place) = self.recent;
        if known == tag && self.tags[place[0] as usize] == tag {
            let [line, start, end] = place.map(|at| at as usize);
            return self.touch_line(line, start, end, bits);
        }
        let (set, start, end) = self.bounds(address);
        if let Some(line) = self.find(tag, start, end) {
            self.recent = (tag, [line, start, end].map(|at| at as u32));
            return self.touch_line(line, start, end, bits);
        }
        let line = if (self.filled[set] as usize) < end - start {
            // Ways are filled in order; one that was emptied since is found by its tag.
            let next = start + self.filled[set] as usize;
            self.filled[set] += 1;
            if self.tags[next] == EMPTY {
                Some(next)
            } else {
                self.tags[start..end].iter().position(|&t| t == EMPTY).map(|way| start + way)
            }
        } else {
            self.victim(start, end)
        };
        let Some(line) = line else { return false };
        if let Some(table) = &mut self.table {
            if self.tags[line] != EMPTY {
                table.remove(&self.tags[line]);
            }
            table.insert(tag, line as u32);
        }
        self.tags[line] = tag;
        self.sectors[line] = bits;
        if let Some(dirty) = self.dirty.get_mut(line) {
            self.displaced += u64::from(dirty.count_ones()) * self.shape.sector;
            *dirty = 0;
        }
        self.set_hint(line, None);
        self.policy.used(start, end - start, line, true);
        self.recent = (tag, [line, start, end].map(|at| at as u32));
        false
    }

    /// The line of a full set that gives way; `None` if the newcomer does.
    fn victim(&mut self, start: usize, end: usize) -> Option<usize> {
        if self.hinted_lines == 0 {
            return self.policy.victim(start, end - start, &mut self.rng);
        }
        let rank = |line: usize| match self.hinted.get(line).copied().flatten() {
            Some(Hint::EvictFirst) => 0,
            Some(Hint::EvictLast) => 2,
            _ => 1,
        };
        let lowest = (start..end).map(rank).min();
        let candidates: Vec<usize> = (start..end).filter(|&line| Some(rank(line)) == lowest).collect();
        if candidates.len() == end - start {
            return self.policy.victim(start, candidates.len(), &mut self.rng);
        }
        self.policy.victim_of(start, &candidates, &mut self.rng)
    }

    /// Loads sectors of a line that is there: whether they were.
    #[inline]
    fn touch_line(&mut self, line: usize, start: usize, end: usize, bits: u64) -> bool {
        let hit = self.sectors[line] & bits == bits;
        self.sectors[line] |= bits;
        if hit || !matches!(self.shape.replacement, Replacement::Unhit) {
            self.policy.used(start, end - start, line, false);
        }
        hit
    }

    /// Throws the line of an address out, if it is there, and what was stored to it.
    pub fn evict(&mut self, address: u64) {
        let tag = address >> self.line_shift;
        let (set, start, end) = self.bounds(address);
        if let Some(line) = self.find(tag, start, end) {
            self.tags[line] = EMPTY;
            self.sectors[line] = 0;
            if let Some(dirty) = self.dirty.get_mut(line) {
                *dirty = 0;
            }
            self.set_hint(line, None);
            self.filled[set] -= 1;
            if let Some(table) = &mut self.table {
                table.remove(&tag);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Share of the loads that miss of so many lines walked in turn through one set of four.
    fn miss_share(odds: [u32; 4], lines: u64) -> f64 {
        const LAPS: u64 = 20_000;
        let replacement = Replacement::Weighted(odds.to_vec());
        let (index, hints) = (Index::Modulo, Vec::new());
        let shape = Shape { line: 128, sector: 128, ways: vec![4], index, replacement, hints, prefetch: Vec::new() };
        let mut cache = Cache::new(shape, 1);
        let loads = LAPS * lines;
        let misses = (0..loads).filter(|i| !cache.load(i % lines * 128)).count();
        misses as f64 / loads as f64
    }

    /// Mei et al., section 4.2 and figure 9: at most half of the loads of Fermi's L1 miss, up to six lines a set.
    #[test]
    fn independent_draws_miss_on_more_than_half() {
        let fermi = [1, 3, 1, 1];
        assert!((miss_share(fermi, 5) - 0.40).abs() < 0.01);
        assert!((miss_share(fermi, 6) - 0.60).abs() < 0.01);
        // One way alone gives way: three of six lines stay.
        assert!((miss_share([0, 1, 0, 0], 6) - 0.50).abs() < 0.01);
    }

    /// What is hinted gives way before or after all else, whatever the policy, or does not come.
    #[test]
    fn hinted_lines_give_way_first_or_last() {
        use Replacement::{Fifo, Lru, Random, Unhit};
        for replacement in [Lru, Fifo, Random, Unhit] {
            let hints = vec![Hint::EvictFirst, Hint::EvictLast, Hint::NoAllocate];
            let ways = vec![8];
            let shape =
                Shape { line: 1, sector: 1, ways, index: Index::Modulo, replacement, hints, prefetch: Vec::new() };
            let mut cache = Cache::new(shape, 1);
            (0..6).for_each(|line| assert!(!cache.load(line)));
            cache.load_as(6, Wish::Hinted(Hint::EvictFirst));
            cache.load_as(7, Wish::Hinted(Hint::EvictLast));
            assert!(!cache.load_as(8, Wish::Hinted(Hint::NoAllocate)) && !cache.holds(8));
            assert!(cache.load_as(7, Wish::Hinted(Hint::NoAllocate)));
            cache.load(9);
            assert!(!cache.holds(6) && (0..6).all(|line| cache.holds(line)));
            (10..100).for_each(|line| assert!(!cache.load(line)));
            assert!(cache.holds(7));
            cache.release();
            assert_eq!((cache.hinted_lines, cache.hinted.iter().flatten().count()), (0, 0));
            cache.load_as(7, Wish::Hinted(Hint::EvictLast));
            cache.load_as(7, Wish::Normal);
            assert_eq!((cache.hinted_lines, cache.hinted.iter().flatten().count()), (0, 0));
        }
    }

    /// What was stored goes to memory once, when its line gives way.
    #[test]
    fn stored_sectors_are_displaced_with_their_line() {
        let (index, replacement) = (Index::Modulo, Replacement::Lru);
        let (hints, prefetch) = (Vec::new(), Vec::new());
        let shape = Shape { line: 128, sector: 32, ways: vec![2], index, replacement, hints, prefetch };
        let mut cache = Cache::new(shape, 1);
        let mut displaced = |address: u64, is_store: bool| {
            cache.load(address);
            if is_store {
                cache.store(address);
            }
            cache.take_displaced()
        };
        // Two sectors of one line, one of them twice, and a line that is only read.
        assert_eq!([displaced(0, true), displaced(0, true), displaced(64, true), displaced(128, false)], [0; 4]);
        assert_eq!([256, 384, 512].map(|line| displaced(line, false)), [64, 0, 0]);
        // Loaded anew, it is as memory has it.
        assert_eq!([0, 128, 256].map(|line| displaced(line, false)), [0; 3]);
    }

    #[test]
    fn unequal_sets_are_dealt_to_in_turn() {
        let ways = vec![17, 8, 8, 8, 8, 8, 8];
        let (index, replacement) = (Index::Dealt, Replacement::Lru);
        let (hints, prefetch) = (Vec::new(), Vec::new());
        let shape = Shape { line: 1, sector: 1, ways, index, replacement, hints, prefetch };
        let mut cache = Cache::new(shape, 1);
        let mut misses = |lines: u64| {
            cache.clear();
            (0..3 * lines).map(|i| !cache.load(i % lines)).skip(2 * lines as usize).filter(|&missed| missed).count()
        };
        // All of 65 fit; then one set after the other overflows, the largest first.
        assert_eq!([64, 65, 66, 67, 68].map(&mut misses), [0, 0, 18, 27, 36]);
    }

    #[test]
    fn what_was_stored_to_a_line_that_is_thrown_out_goes_nowhere() {
        let (index, replacement) = (Index::Modulo, Replacement::Lru);
        let (hints, prefetch) = (Vec::new(), Vec::new());
        let mut cache =
            Cache::new(Shape { line: 128, sector: 32, ways: vec![2], index, replacement, hints, prefetch }, 1);
        for line in [0, 128] {
            cache.load(line);
            cache.store(line);
        }
        cache.evict(0);
        for line in [256, 384, 512] {
            cache.load(line);
        }
        assert_eq!(cache.take_displaced(), 32, "of the line that was not thrown out");
    }
}
