//! The load of a chase, without what only other accesses need.

use super::access::{Cost, When, blocked, is_on_host, on_host, way_of};
use super::launch::{Fault, Grid, State};
use crate::model::hierarchy::{Requester, Way};
use crate::ptx::{Inst, Op, Space};

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
        let is_word = inst.further == 0 && inst.kind.bytes >= 4;
        (is_global && is_word && state.hierarchy.has(way)).then_some(Plain { inst, way, bytes: inst.kind.bytes })
    }

    /// Loads from what a register holds: the value, and what it costs; `None` if it must wait for its turn.
    #[inline]
    pub fn load(
        &self,
        register: u64,
        by: Requester,
        state: &mut State,
        grid: &Grid,
        When { now, horizon }: When,
    ) -> Result<Option<(u64, Cost)>, Fault> {
        let address = register.wrapping_add(self.inst.offset as u64);
        state.check(grid, self.inst, address, u64::from(self.bytes))?;
        if now > horizon {
            let cycles = state.hierarchy.load_private(self.way, by, address, now);
            let value = |state: &mut State| state.memory.load(address, self.bytes);
            return Ok(cycles.map(|cycles| (value(state), Cost { cycles, held: 0 })));
        }
        let value = state.memory.load(address, self.bytes);
        let cycles = match is_on_host(address, grid) {
            true => on_host(self.inst, state, grid, now),
            false => state.hierarchy.load(self.way, by, address, now),
        };
        Ok(Some((value, Cost { cycles, held: blocked(by, state, grid, now) })))
    }
}
