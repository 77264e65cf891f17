//! The issue of one instruction.

use super::access::{self, Cost, Owner, When};
use super::alu;
use super::cluster::{ClusterBarrier, Remote};
use super::copies;
use super::launch::{Block, Fault, Grid, State};
use super::shared;
use super::walk::Bounds;
use super::warp::{Group, LANES, Warp, lanes};
use crate::model::hierarchy::{Requester, Wishes};
use crate::model::instructions::INSTRUCTION;
use crate::ptx::{Fault as TextFault, Inst, Op, Shuffle, Space, Special, Type};

/// Cycles until the value of the global timer can be used; it lies outside of the SM.
pub(super) const TIMER_CYCLES: u64 = 64;

/// What became of an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Done; the warp goes on.
    Issued,
    /// Nothing was done: the SM must wait for its turn at this cycle.
    Wait(u64),
    /// Nothing was done: another warp of the SM issues before this one can.
    Later,
    /// Nothing was done: requests of the SM wait until this cycle or longer.
    Blocked(u64),
    /// Done, and a warp whose requests waited goes on.
    Gone,
    /// Some lanes wait at a barrier.
    Barrier,
    /// Some lanes have ended.
    Ended,
    /// Done but for a load of another block's shared memory, or a phase of a cluster's barrier has ended: the launch goes on from there.
    Shared,
}

pub(super) fn illegal(grid: &Grid, inst: &Inst, what: String) -> Fault {
    Fault::Illegal(TextFault { line: inst.line, what: format!("kernel `{}`: {what}", grid.entry.name) })
}

impl Block {
    /// Issues the next instruction of a warp, unless it would touch what SMs share after the horizon.
    pub fn issue(
        &mut self,
        warp: usize,
        sm: u32,
        state: &mut State,
        grid: &Grid,
        bounds: Bounds,
    ) -> Result<Step, Fault> {
        let horizon = bounds.horizon;
        let warps = self.warps.len() as u32;
        let Block { number, shared: buffer, warps: all, live, arrived, mbarriers } = self;
        let warp = &mut all[warp];
        let index = warp.next_group();
        let group = warp.groups[index];
        let inst = &grid.entry.code[group.at as usize];
        if let Some((base, bytes)) = grid.fetched {
            let address = base + INSTRUCTION * u64::from(group.at);
            if warp.fetched != address / bytes {
                if warp.time > horizon {
                    return Ok(Step::Wait(warp.time));
                }
                warp.fetched = address / bytes;
                warp.time = state.instructions.fetch(sm, address, warp.time);
            }
        }

        let mut now = warp.time.max(warp.ready(inst.guard)).max(warp.ready(inst.to));
        now = inst.from.into_iter().fold(now, |now, slot| now.max(warp.ready(slot)));
        if inst.further > 0 {
            now = inst.more.into_iter().fold(now, |now, slot| now.max(warp.ready(slot)));
        }
        let issued = state.turns[sm as usize].issued();
        if grid.queued {
            if now >= bounds.others {
                warp.time = now;
                return Ok(Step::Later);
            }
            now = state.turns[sm as usize].issue(now);
        }
        let mut step = Step::Issued;
        let mask = warp.passing(group, inst.guard, inst.negated);
        let owner = Owner { by: Requester { sm, warp: warp.number, warps, wishes: Wishes::default() }, block: *number };
        let mut done = now + grid.pipeline[0];
        let mut held = 0;
        if mask != 0 {
            let is_in_turn = match inst.op {
                Op::ClusterArrive | Op::ClusterWait => true,
                // The barrier of the cluster does not wait for who has ended.
                Op::Return => grid.clustered.is_some(),
                op => op.is_of_cluster() || op.is_of_copies(),
            };
            if is_in_turn && now > horizon {
                state.turns[sm as usize].take_back(issued);
                return Ok(Step::Wait(now));
            }
            match inst.op {
                Op::Branch(to) => {
                    warp.time = now + grid.pipeline[1];
                    branch(warp, index, group, mask, to);
                    return Ok(Step::Issued);
                }
                Op::Return => {
                    warp.time = now + grid.pipeline[1];
                    *live -= mask.count_ones();
                    advance(warp, index, group.lanes & !mask);
                    if let Some(barrier) = grid.cluster_of(*number).map(|cluster| &mut state.cluster_barriers[cluster])
                    {
                        let arrived = if warp.phase == barrier.phase { warp.arrived & mask } else { 0 };
                        state.phase_ended |= barrier.end(mask.count_ones(), arrived.count_ones(), now);
                    }
                    return Ok(Step::Ended);
                }
                Op::Barrier => {
                    warp.time = now + grid.pipeline[1];
                    *arrived = (arrived.0 + mask.count_ones(), arrived.1.max(now));
                    warp.waiting.push(Group { at: group.at + 1, lanes: mask });
                    advance(warp, index, group.lanes & !mask);
                    return Ok(Step::Barrier);
                }
                Op::ClusterArrive => {
                    let barrier = cluster_barrier(grid, inst, *number, &mut state.cluster_barriers)?;
                    if warp.phase != barrier.phase {
                        (warp.phase, warp.arrived) = (barrier.phase, 0);
                    }
                    warp.arrived |= mask;
                    if barrier.arrive(mask.count_ones(), now) {
                        state.phase_ended = true;
                        step = Step::Shared;
                    }
                }
                Op::ClusterWait => {
                    let barrier = *cluster_barrier(grid, inst, *number, &mut state.cluster_barriers)?;
                    if barrier.phase <= warp.phase {
                        warp.time = now + grid.pipeline[1];
                        warp.at_cluster_barrier.push(Group { at: group.at + 1, lanes: mask });
                        advance(warp, index, group.lanes & !mask);
                        return Ok(Step::Barrier);
                    }
                    held = (barrier.at + grid.cluster_barrier).saturating_sub(now);
                }
                op if op.is_of_copies() => {
                    let mut until = now;
                    for lane in lanes(mask) {
                        let memory = (buffer.as_mut_slice(), &mut *mbarriers);
                        let (ready, waits) = copies::lane(warp, inst, lane, memory, owner, (state, grid), now)?;
                        (done, until) = (done.max(ready), until.max(waits));
                    }
                    held = until - now;
                }
                op if op.is_of_cluster() => {
                    state.remote = Some(Remote::of(warp, (group.at, inst), mask, grid, owner, now)?);
                    step = Step::Shared;
                }
                Op::WarpBarrier | Op::Fence => {}
                Op::Special(special) => {
                    let (block, own) = (*number, warp.number);
                    let of = |lane| inst.kind.wrap(value_of(special, state, grid, block, sm, own, lane, now));
                    if matches!(special, Special::Thread(_) | Special::Lane) {
                        lanes(mask).for_each(|lane| warp.set(inst.to, lane, of(lane)));
                    } else {
                        let value = of(0);
                        lanes(mask).for_each(|lane| warp.set(inst.to, lane, value));
                    }
                    if special == Special::Timer {
                        done = now + TIMER_CYCLES;
                    }
                }
                Op::Shuffle(how) => shuffle(warp, inst, mask, how),
                Op::Load(Space::Parameter) => {
                    // Mostly all lanes want the same one.
                    let (mut known, mut value) = (None, 0);
                    for lane in lanes(mask) {
                        let at = warp.get(inst.from[0], lane).wrapping_add(inst.offset as u64);
                        if known != Some(at) {
                            (known, value) = (Some(at), parameter(grid, inst, at)?);
                        }
                        warp.set(inst.to, lane, value);
                    }
                }
                op if op.is_shared() => {
                    let cost = shared::access(warp, inst, mask, buffer, state, grid, (sm, now))?;
                    (done, held) = (now + cost.cycles, cost.held);
                }
                Op::Load(_) | Op::Store(_) | Op::Atomic(..) | Op::Texture(_) | Op::Sample => {
                    let who = (*number, warp.number);
                    if grid.queued
                        && let Some(until) = state.way_is_blocked(sm, who, now)
                    {
                        state.turns[sm as usize].take_back(issued);
                        return Ok(Step::Blocked(until));
                    }
                    match access::memory(warp, inst, mask, owner, state, grid, When { now, horizon })? {
                        Some(Cost { cycles, held: holds }) => (done, held) = (now + cycles, holds),
                        None => {
                            state.turns[sm as usize].take_back(issued);
                            return Ok(Step::Wait(now));
                        }
                    }
                    if grid.queued && state.has_gone(sm, now) {
                        step = Step::Gone;
                    }
                }
                op => {
                    let [a, b, c, _] = inst.from;
                    warp.compute(inst.to, mask, [a, b, c], |values| alu::compute_all(op, inst.kind, values));
                }
            }
        }
        for slot in inst.results() {
            warp.set_ready(slot, done);
        }
        warp.time = now + grid.pipeline[1] + held;
        advance(warp, index, group.lanes);
        Ok(step)
    }
}

/// The barrier of a block's cluster.
fn cluster_barrier<'m>(
    grid: &Grid,
    inst: &Inst,
    block: u32,
    all: &'m mut [ClusterBarrier],
) -> Result<&'m mut ClusterBarrier, Fault> {
    let cluster = grid.cluster_of(block);
    cluster
        .and_then(|cluster| all.get_mut(cluster))
        .ok_or_else(|| illegal(grid, inst, "the barrier of a cluster in a launch without clusters".into()))
}

/// Moves what is left of a group to the next instruction.
fn advance(warp: &mut Warp, index: usize, left: u32) {
    if left == 0 {
        warp.groups.swap_remove(index);
    } else {
        warp.groups[index].at += 1;
        warp.groups[index].lanes = left;
    }
    warp.unite();
}

fn branch(warp: &mut Warp, index: usize, group: Group, taken: u32, to: u32) {
    let stay = group.lanes & !taken;
    warp.groups[index] = Group { at: to, lanes: taken };
    if stay != 0 {
        warp.groups.push(Group { at: group.at + 1, lanes: stay });
    }
    warp.unite();
}

#[expect(clippy::too_many_arguments, reason = "each is one coordinate of the reading thread")]
pub(super) fn value_of(
    special: Special,
    state: &State,
    grid: &Grid,
    block: u32,
    sm: u32,
    warp: u32,
    lane: u32,
    now: u64,
) -> u64 {
    // Grids and blocks have one dimension.
    let first = |axis: u8, value: u32, other: u64| if axis == 0 { u64::from(value) } else { other };
    match special {
        Special::Thread(axis) => first(axis, warp * LANES + lane, 0),
        Special::Threads(axis) => first(axis, grid.threads, 1),
        Special::Block(axis) => first(axis, block, 0),
        Special::Blocks(axis) => first(axis, grid.blocks, 1),
        Special::Lane => u64::from(lane),
        Special::Warp => u64::from(warp),
        Special::Sm => u64::from(sm),
        Special::Sms => u64::from(grid.sms),
        Special::ClusterRank => u64::from(grid.clustered.as_ref().map_or(0, |clustered| block % clustered.size)),
        Special::ClusterSize => u64::from(grid.clustered.as_ref().map_or(1, |clustered| clustered.size)),
        Special::Clock | Special::Clock64 => state.slices.shown(now),
        Special::Timer => state.clock.timer(state.slices.shown(now)),
    }
}

pub(super) fn parameter(grid: &Grid, inst: &Inst, at: u64) -> Result<u64, Fault> {
    let mut offset = 0u64;
    for (&bytes, &value) in grid.entry.parameters.iter().zip(grid.parameters) {
        offset = offset.next_multiple_of(bytes.max(1));
        if (offset..offset + bytes).contains(&at) {
            return Ok(inst.kind.wrap(value >> (8 * (at - offset))));
        }
        offset += bytes;
    }
    Err(illegal(grid, inst, format!("no parameter at offset {at}")))
}

fn shuffle(warp: &mut Warp, inst: &Inst, mask: u32, how: Shuffle) {
    let mut before = [0; LANES as usize];
    before[..warp.width as usize].copy_from_slice(warp.all(inst.from[0]));
    for lane in lanes(mask) {
        let by = warp.get(inst.from[1], lane) as u32 & 31;
        let source = match how {
            Shuffle::Index => by,
            Shuffle::Up => lane.wrapping_sub(by),
            Shuffle::Down => lane + by,
            Shuffle::Butterfly => lane ^ by,
        };
        // A lane that is not there, or does not take part, leaves the lane its own value.
        let there = source < warp.width && mask >> source & 1 == 1;
        warp.set(inst.to, lane, before[if there { source } else { lane } as usize]);
    }
}

/// A register of 32 bits holds a loaded byte: signs are extended into it, and nothing above it is set.
pub(super) fn extended(kind: Type, value: u64) -> u64 {
    if kind.signed && kind.bytes < 4 { kind.signed(value) as u32 as u64 } else { value }
}
