//! What the lanes of a warp want of memory, and the requests that this becomes.

use super::launch::{Grid, State};
use super::warp::{LANES, Warp, lanes};
use crate::model::hierarchy::Way;
use crate::ptx::Inst;

/// Granularity in which accesses of a warp are united, in bytes: the smallest sector of any GPU.
const COALESCED: u64 = 32;
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

impl Access {
    /// Of the lanes of a mask, by the addresses in their registers.
    pub fn of(warp: &Warp, inst: &Inst, mask: u32) -> Self {
        let mut access = Access { addresses: [0; LANES as usize], bytes: [inst.kind.bytes; LANES as usize], count: 0 };
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

    /// One address of each piece of memory that is asked for, in order, and how many there are.
    fn pieces(&self, bytes: u64) -> ([u64; LANES as usize], usize) {
        let mut pieces = self.addresses;
        let wanted = &mut pieces[..self.count];
        if !wanted.is_sorted() {
            wanted.sort_unstable();
        }
        let mut kept = 0;
        for i in 0..self.count {
            if kept == 0 || pieces[kept - 1] / bytes != pieces[i] / bytes {
                pieces[kept] = pieces[i];
                kept += 1;
            }
        }
        (pieces, kept)
    }

    /// What the caches are asked for, in order: an address, and how many cycles after the first. Constants by their own way are
    /// given word by word. Else a request is a number of transactions, each with some sectors: aligned windows of memory, of
    /// the machine's size where a cache of the SM is asked, of one sector where the request goes straight to the device.
    pub fn requests(&self, way: Way, state: &State, grid: &Grid) -> impl Iterator<Item = (u64, u64)> + use<> {
        let costs = grid.lanes;
        let words = way == Way::Constant;
        let (pieces, count) = self.pieces(if words { CONSTANT } else { COALESCED });
        let window = if state.hierarchy.begins_in_sm(way) { costs.coalescing } else { COALESCED };
        let (mut number, mut last) = (0, None);
        pieces.into_iter().take(count).zip(0..).map(move |(address, i)| {
            if words {
                return (address, i * costs.constant_word);
            }
            number += u64::from(last.is_some_and(|last| last != address / window));
            last = Some(address / window);
            (address, number * costs.transaction)
        })
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
