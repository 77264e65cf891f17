//! The load of a chase, without what only other accesses need.

use super::access::{Cost, When, blocked, handed, is_outside, outside, way_of};
use super::launch::{Fault, Grid, State};
use super::warp::Warp;
use crate::model::hierarchy::{Requester, Way};
use crate::ptx::{Hinted, Inst, Op, Space};

/// A load of one word of global memory by one lane: what of
/// [`memory_of_one`](super::access::memory_of_one) is the same for all loads of a chase.
pub(super) struct Plain<'a> {
    inst: &'a Inst,
    way: Way,
    bytes: u8,
}

impl<'a> Plain<'a> {
    /// Of an instruction; `None` if it does more than that.
    pub fn of(inst: &'a Inst, state: &State) -> Option<Self> {
        let way = way_of(inst.op);
        let is_global =
            matches!(inst.op, Op::Load(Space::GlobalCa | Space::GlobalCg | Space::GlobalNc | Space::Volatile));
        let is_word = inst.further == 0 && inst.kind.bytes >= 4 && inst.hinted == Hinted::No;
        (is_global && is_word && state.hierarchy.has(way)).then_some(Plain { inst, way, bytes: inst.kind.bytes })
    }

    /// The access; `None` if it must wait for its turn.
    #[inline]
    pub fn load(
        &self,
        warp: &mut Warp,
        lane: u32,
        by: Requester,
        state: &mut State,
        grid: &Grid,
        When { now, horizon }: When,
    ) -> Result<Option<Cost>, Fault> {
        let address = warp.get(self.inst.from[0], lane).wrapping_add(self.inst.offset as u64);
        state.check(grid, self.inst, address, u64::from(self.bytes))?;
        let (cycles, held) = if now > horizon {
            let Some(cycles) = state.hierarchy.load_private(self.way, by, address, handed(self.inst, self.way), now)
            else {
                return Ok(None);
            };
            (cycles, 0)
        } else {
            let cycles = match is_outside(address) {
                true => outside(self.inst, (self.way, by), address, state, grid, now),
                false => state.hierarchy.load(self.way, by, address, handed(self.inst, self.way), now),
            };
            (cycles, blocked(by, state, grid, now))
        };
        warp.set(self.inst.to, lane, state.memory.load(address, self.bytes));
        Ok(Some(Cost { cycles, held }))
    }
}
