//! What the lanes of a warp want of memory, and the requests that this becomes.

use super::launch::{Grid, State};
use super::warp::{LANES, Warp, lanes};
use crate::model::hierarchy::Way;
use crate::ptx::Inst;

/// Granularity in which accesses of a warp are united, in bytes: the smallest sector of any GPU.
pub(super) const COALESCED: u64 = 32;
/// Granularity in which constants are handed out, in bytes: a word.
const CONSTANT: u64 = 4;

/// What the lanes of one access want.
pub(super) struct Access {
    /// Address of each lane that takes part, in their order.
    pub addresses: [u64; LANES as usize],
    /// Bytes of an element, which textures choose lane by lane.
    pub bytes: [u8; LANES as usize],
    /// Lanes that take part.
    pub count: usize,
}

/// What the caches are asked for, in order: an address, and how many cycles after the first.
pub(super) struct Requests {
    list: [(u64, u64); LANES as usize],
    count: usize,
}

impl Requests {
    /// All of them.
    pub fn all(&self) -> &[(u64, u64)] {
        &self.list[..self.count]
    }
}

impl Access {
    /// Of the lanes of a mask, by the addresses in their registers.
    pub fn of(warp: &Warp, inst: &Inst, mask: u32) -> Self {
        let mut access = Access { addresses: [0; LANES as usize], bytes: [inst.kind.bytes; LANES as usize], count: 0 };
        if mask == u32::MAX {
            access.count = LANES as usize;
            let from = warp.all(inst.from[0]);
            access.addresses.iter_mut().zip(from).for_each(|(to, from)| *to = from.wrapping_add(inst.offset as u64));
            return access;
        }
        for lane in lanes(mask) {
            access.addresses[access.count] = warp.get(inst.from[0], lane).wrapping_add(inst.offset as u64);
            access.count += 1;
        }
        access
    }

    /// The addresses.
    pub fn all(&self) -> &[u64] {
        &self.addresses[..self.count]
    }

    /// Whether all lanes of a warp want elements of so many bytes that lie one behind the other.
    pub fn is_row(&self, bytes: u64) -> bool {
        let first = self.addresses[0];
        let follows = |(at, address): (u64, &u64)| *address == first.wrapping_add(at * bytes);
        self.count == LANES as usize && first.is_multiple_of(bytes) && (0..).zip(&self.addresses).all(follows)
    }

    /// One address of each piece of memory that is asked for, in order, and how many there are. The bytes are a power of two.
    fn pieces(&self, bytes: u64) -> ([u64; LANES as usize], usize) {
        let mut pieces = self.addresses;
        let wanted = &mut pieces[..self.count];
        if !wanted.is_sorted() {
            wanted.sort_unstable();
        }
        let (mut kept, shift) = (0, bytes.trailing_zeros());
        for i in 0..self.count {
            if kept == 0 || pieces[kept - 1] >> shift != pieces[i] >> shift {
                pieces[kept] = pieces[i];
                kept += 1;
            }
        }
        (pieces, kept)
    }

    /// What the caches are asked for, in order: an address, and how many cycles after the first. Constants by their own way are
    /// given word by word. Else a request is a number of transactions, each with some sectors: aligned windows of memory, of
    /// the machine's size where a cache of the SM is asked, of one sector where the request goes straight to the device.
    pub fn requests(&self, way: Way, state: &State, grid: &Grid) -> Requests {
        let costs = grid.lanes;
        let words = way == Way::Constant;
        let (pieces, count) = self.pieces(if words { CONSTANT } else { COALESCED });
        let window = if state.hierarchy.begins_in_sm(way) { costs.coalescing } else { COALESCED };
        let mut all = Requests { list: [(0, 0); LANES as usize], count };
        let (mut after, mut last, shift) = (0, pieces[0] >> window.trailing_zeros(), window.trailing_zeros());
        for ((to, address), number) in all.list.iter_mut().zip(&pieces[..count]).zip(0..) {
            if words {
                after = number * costs.constant_word;
            } else if last != address >> shift {
                last = address >> shift;
                after += costs.transaction;
            }
            *to = (*address, after);
        }
        all
    }

    /// Most lanes that want one and the same word, among those whose address passes.
    pub fn most_alike(&self, passes: impl Fn(u64) -> bool) -> u64 {
        let mut sorted = self.addresses;
        let sorted = &mut sorted[..self.count];
        sorted.sort_unstable();
        let words = sorted.chunk_by(|a, b| a == b).filter(|lanes| passes(lanes[0]));
        words.map(<[u64]>::len).max().unwrap_or(1) as u64
    }
}
