//! An access of a warp to shared memory: what it does in each lane, and how long banks make lanes and warps wait.

use super::access::{Cost, loaded};
use super::alu;
use super::issue::{extended, illegal};
use super::launch::{Fault, Grid, State};
use super::requests::Access;
use super::warp::{LANES, Warp, lanes};
use crate::model::atomics;
use crate::model::memory::{put_word, word};
use crate::ptx::{Inst, Op};

/// What an access to shared memory does in one lane.
pub(super) fn lane(
    warp: &mut Warp,
    inst: &Inst,
    lane: u32,
    address: u64,
    shared: &mut [u8],
    grid: &Grid,
) -> Result<(), Fault> {
    let bytes = inst.kind.bytes as usize;
    let whole = bytes * inst.elements();
    let at = usize::try_from(address).unwrap_or(usize::MAX);
    let aligned = at.is_multiple_of(whole);
    let Some(place) = shared.get_mut(at..at.saturating_add(whole)).filter(|_| aligned) else {
        return Err(illegal(
            grid,
            inst,
            format!("{whole}-byte access to {address:#x} of {} B of shared memory", grid.shared),
        ));
    };
    let element = |number: usize| word(&place[number * bytes..(number + 1) * bytes]);
    match inst.op {
        Op::Load(_) if inst.further == 0 => warp.set(inst.to, lane, extended(inst.kind, element(0))),
        Op::Load(_) => {
            for (number, slot) in inst.results().enumerate() {
                warp.set(slot, lane, extended(inst.kind, element(number)));
            }
        }
        Op::Atomic(op, _) => {
            let old = element(0);
            let (b, c) = (warp.get(inst.from[1], lane), warp.get(inst.from[2], lane));
            put_word(place, alu::atomic(op, inst.kind, old, b, c));
            warp.set(inst.to, lane, old);
        }
        _ => {
            for (slot, part) in inst.stored().zip(place.chunks_exact_mut(bytes)) {
                put_word(part, warp.get(slot, lane));
            }
        }
    }
    Ok(())
}

/// What all lanes want, if it lies one behind the other.
fn row<'s>(access: &Access, inst: &Inst, shared: &'s mut [u8]) -> Option<&'s mut [u8]> {
    let whole = u64::from(inst.kind.bytes) * inst.elements() as u64;
    let at = usize::try_from(access.addresses[0]).ok().filter(|_| access.is_row(whole))?;
    shared.get_mut(at..at.checked_add(whole as usize * LANES as usize)?)
}

/// Stores the values of all lanes, one behind the other.
fn stored(warp: &Warp, inst: &Inst, row: &mut [u8]) {
    let bytes = usize::from(inst.kind.bytes);
    for (number, slot) in inst.stored().enumerate() {
        let elements = row.chunks_exact_mut(bytes * inst.elements());
        let parts = elements.map(|all| &mut all[number * bytes..(number + 1) * bytes]);
        parts.zip(warp.all(slot)).for_each(|(part, value)| put_word(part, *value));
    }
}

/// An access to shared memory, on an SM at a cycle.
pub(super) fn access(
    warp: &mut Warp,
    inst: &Inst,
    mask: u32,
    shared: &mut [u8],
    state: &mut State,
    grid: &Grid,
    (sm, now): (u32, u64),
) -> Result<Cost, Fault> {
    let access = Access::of(warp, inst, mask);
    match row(&access, inst, shared) {
        Some(row) if matches!(inst.op, Op::Load(_)) => loaded(warp, inst, row),
        Some(row) if matches!(inst.op, Op::Store(_)) => stored(warp, inst, row),
        _ => lanes(mask)
            .zip(access.all())
            .try_for_each(|(lane, &address)| self::lane(warp, inst, lane, address, shared, grid))?,
    }
    let [latency, conflict] = grid.shared_cycles;
    if access.count == 1 {
        return Ok(access_of_one(inst, sm, state, grid, now));
    }
    let whole = usize::from(inst.kind.bytes) * inst.elements();
    let passes = u64::from(state.passes.by(grid.banks, access.all(), whole as u64));
    let conflicts = (passes - 1) * conflict;
    if !matches!(inst.op, Op::Atomic(..)) {
        let waited = state.turns[sm as usize].shared.wait(now, passes * grid.banks.row());
        return Ok(Cost { cycles: latency + conflicts + waited, held: 0 });
    }
    // What a load hands to all lanes at once, atomics do one lane after the other, and one warp after the other.
    let alike = conflicts + (access.most_alike(|_| true) - 1) * grid.lanes.shared_atomic;
    let held = alike + atomics::wait(&mut state.shared_free[sm as usize], now, grid.lanes.shared_request + alike);
    Ok(Cost { cycles: latency + held, held })
}

/// Cycles of an access of one lane to shared memory.
pub(super) fn access_of_one(inst: &Inst, sm: u32, state: &mut State, grid: &Grid, now: u64) -> Cost {
    let latency = grid.shared_cycles[0];
    if !matches!(inst.op, Op::Atomic(..)) {
        let waited = state.turns[sm as usize].shared.wait(now, grid.banks.row());
        return Cost { cycles: latency + waited, held: 0 };
    }
    let held = atomics::wait(&mut state.shared_free[sm as usize], now, grid.lanes.shared_request);
    Cost { cycles: latency + held, held }
}
