//! Copies that go on by themselves, and the mbarriers that count them.
//!
//! What a copy moves is there at once, and nobody may look before it is said to be done: the kernels of the measurements wait. When it is
//! done follows from the loads or stores that it makes, one sector after the other.

use std::collections::BTreeMap;

use super::access::Owner;
use super::issue::illegal;
use super::launch::{Fault, Grid, State};
use super::requests::COALESCED;
use super::warp::{Asked, Warp};
use crate::model::hierarchy::Way;
use crate::ptx::{Copying, Inst, NONE, Op};

/// What copies take beside the loads or stores that they make, in cycles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyCosts {
    /// A bulk copy.
    pub bulk: u64,
    /// `cp.async`.
    pub word: u64,
    /// From one sector of a bulk copy to the next.
    pub sector: u64,
    /// A look at an mbarrier.
    pub mbarrier: u64,
}

/// A barrier in shared memory at which threads arrive, and bytes that copies bring.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mbarrier {
    /// Threads that arrive in a phase.
    count: u64,
    /// Those that have not yet.
    pending: u64,
    /// Bytes that are expected and have not come.
    bytes: i64,
    /// The latest arrival, of threads and bytes.
    latest: u64,
    /// Its phase, counted from 0, and the cycle at which the last one ended.
    phase: u64,
    at: u64,
}

impl Mbarrier {
    fn of(count: u64) -> Self {
        Mbarrier { count, pending: count, ..Mbarrier::default() }
    }

    pub(super) fn arrive(&mut self, expected: i64, now: u64) {
        self.pending = self.pending.saturating_sub(1);
        self.bytes += expected;
        self.complete(now);
    }

    pub(super) fn bring(&mut self, bytes: u64, at: u64) {
        self.bytes -= bytes as i64;
        self.complete(at);
    }

    fn complete(&mut self, now: u64) {
        self.latest = self.latest.max(now);
        if self.pending == 0 && self.bytes == 0 {
            (self.pending, self.at) = (self.count, self.latest);
            self.phase += 1;
        }
    }
}

/// The mbarriers of a block, by their place in its shared memory.
pub(super) type Mbarriers = BTreeMap<u64, Mbarrier>;

/// What an instruction of a copy or an mbarrier does in one lane at `now`: the cycle from which its result can be used, and until which the warp waits.
pub(super) fn lane(
    warp: &mut Warp,
    inst: &Inst,
    lane: u32,
    (shared, mbarriers): (&mut [u8], &mut Mbarriers),
    owner: Owner,
    (state, grid): (&mut State, &Grid),
    now: u64,
) -> Result<(u64, u64), Fault> {
    let [a, b, c, d] = inst.from.map(|slot| warp.get(slot, lane));
    let a = a.wrapping_add(inst.offset as u64);
    let costs = grid.copies;
    let unknown = || illegal(grid, inst, format!("there is no mbarrier at {a:#x}"));
    match inst.op {
        Op::MbarrierInit => {
            mbarriers.insert(a, Mbarrier::of(b));
        }
        Op::MbarrierArrive => {
            let expected = if inst.from[1] == NONE { 0 } else { b as i64 };
            mbarriers.get_mut(&a).ok_or_else(unknown)?.arrive(expected, now);
        }
        Op::MbarrierTry => {
            let barrier = mbarriers.get(&a).ok_or_else(unknown)?;
            // A phase of that parity has ended, if the one that goes on has the other.
            let has_ended = barrier.phase & 1 != b & 1;
            warp.set(inst.to, lane, u64::from(has_ended));
            let at = if has_ended { barrier.at } else { now };
            return Ok((at.max(now + costs.mbarrier), now));
        }
        Op::CopyWait => return Ok((now, warp.copied.max(now))),
        Op::Copy(Copying::Word) => {
            let (sector, begin) = (b / COALESCED, now + costs.word);
            let known = (warp.asked.sector == sector && warp.asked.at == begin).then_some(warp.asked.done);
            let asks = if known.is_some() { Asks::Nothing } else { Asks::Load };
            let done = moved(inst, (b, a, COPIED_WORD), asks, shared, owner, (state, grid), begin)?;
            let done = known.unwrap_or(done);
            warp.asked = Asked { sector, at: begin, done };
            warp.copied = warp.copied.max(done);
        }
        Op::Copy(Copying::Bulk) => {
            let done = moved(inst, (b, a, c), Asks::Load, shared, owner, (state, grid), now + costs.bulk)?;
            let unknown = || illegal(grid, inst, format!("there is no mbarrier at {d:#x}"));
            mbarriers.get_mut(&d).ok_or_else(unknown)?.bring(c, done);
        }
        Op::Copy(Copying::BulkStore) => {
            let done = moved(inst, (a, b, c), Asks::Store, shared, owner, (state, grid), now + costs.bulk)?;
            warp.copied = warp.copied.max(done);
        }
        _ => return Err(illegal(grid, inst, "no copy and no mbarrier".into())),
    }
    Ok((now, now))
}

/// Bytes of `cp.async`, and of what every bulk copy is a multiple.
const COPIED_WORD: u64 = 16;

/// What a copy asks the caches for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// To load, for shared memory.
    Load,
    /// Likewise, but another lane has just asked for the same.
    Nothing,
    /// To store what is in shared memory.
    Store,
}

/// Moves so many bytes between a place in global memory and one in shared memory; when it is done.
pub(super) fn moved(
    inst: &Inst,
    (global, place, bytes): (u64, u64, u64),
    asks: Asks,
    shared: &mut [u8],
    owner: Owner,
    (state, grid): (&mut State, &Grid),
    begin: u64,
) -> Result<u64, Fault> {
    let whole =
        place.checked_add(bytes).filter(|_| place.is_multiple_of(COPIED_WORD) && bytes.is_multiple_of(COPIED_WORD));
    let Some(part) = whole.and_then(|end| shared.get_mut(place as usize..end as usize)) else {
        return Err(illegal(
            grid,
            inst,
            format!("a copy of {bytes} B at {place:#x} of {} B of shared memory", grid.shared),
        ));
    };
    let mut done = begin;
    for (number, word) in (0..).zip(part.chunks_exact_mut(COPIED_WORD as usize)) {
        let address = global + COPIED_WORD * number;
        state.check(grid, inst, address, COPIED_WORD)?;
        for (at, half) in (0..).step_by(8).zip(word.chunks_exact_mut(8)) {
            if asks != Asks::Store {
                half.copy_from_slice(&state.memory.load(address + at, 8).to_le_bytes());
            } else {
                let value = u64::from_le_bytes(half.try_into().expect("eight bytes"));
                state.memory.store(address + at, 8, value).map_err(|_| Fault::Memory)?;
            }
        }
        if number == 0 || address.is_multiple_of(COALESCED) {
            let now = begin + number * COPIED_WORD / COALESCED * grid.copies.sector;
            let taken = match asks {
                Asks::Load => state.hierarchy.load(Way::GlobalCg, owner.by, address, COALESCED, now),
                Asks::Nothing => 0,
                Asks::Store => {
                    state.hierarchy.store(Way::GlobalCg, owner.by, address, now);
                    1
                }
            };
            done = done.max(now + taken);
        }
    }
    Ok(done)
}
