//! A fast path for a single active lane, without the work that only a full warp needs.
//!
//! Most kernels that measure are one thread that walks. A lane that is alone at its instruction goes on here for as long as the
//! warp would choose it again, and the inner loop of a chase ([`Walk`]) is one step of native code. Everything is as
//! [`Block::issue`] has it: the same cycles, the same requests to the caches at the same time, the same draws of noise, and the
//! same instruction at which the SM waits for its turn. What is rare is left to it: barriers, shuffles, the end of a thread.

use super::access::{self, Cost, Owner, When};
use super::alu;
use super::issue::{Step, TIMER_CYCLES, parameter, value_of};
use super::launch::{Block, Fault, Grid, State};
use super::plain::Plain;
use super::shared;
use super::warp::Warp;
use crate::model::hierarchy::{Requester, Wishes};
use crate::ptx::{Inst, NONE, Op, Space, Special, Walk};

/// How long a warp may go on.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// Cycle from which on another warp of the SM issues first.
    pub others: u64,
    /// Cycle after which the SM may not touch what SMs share.
    pub horizon: u64,
}

/// What became of an instruction.
enum Done {
    /// The next instruction is this one.
    Next(u32),
    /// Nothing was done: the SM must wait for its turn at this cycle.
    Wait(u64),
    /// Nothing was done: it is left to the interpreter.
    Left,
    /// Nothing was done: the warp or the SM goes on in another way.
    Not(Step),
    /// The next instruction is this one, but a warp whose requests waited goes on before.
    Gone(u32),
}

/// One lane of a warp.
struct Lane<'a> {
    warp: &'a mut Warp,
    lane: u32,
    owner: Owner,
    shared: &'a mut [u8],
}

impl Block {
    /// Issues instructions of a warp, none or more, while one of its lanes goes on alone and nobody else has the turn.
    pub fn walk(
        &mut self,
        warp: usize,
        sm: u32,
        state: &mut State,
        grid: &Grid,
        bounds: Bounds,
        left: &mut u64,
    ) -> Result<Step, Fault> {
        let warps = self.warps.len() as u32;
        let Block { number, shared, warps: all, .. } = self;
        let warp = &mut all[warp];
        let index = warp.next_group();
        let group = warp.groups[index];
        if !group.lanes.is_power_of_two() {
            return Ok(Step::Issued);
        }
        // Where other lanes of the warp stand, this one meets them; until then it is furthest behind.
        let meets = warp.groups.iter().map(|other| other.at).filter(|at| *at != group.at).min().unwrap_or(u32::MAX);
        let owner = Owner { by: Requester { sm, warp: warp.number, warps, wishes: Wishes::default() }, block: *number };
        let mut lane = Lane { warp, lane: group.lanes.trailing_zeros(), owner, shared };
        let mut at = group.at;
        let step = loop {
            if at >= meets || lane.warp.time >= bounds.others || *left == 0 {
                break Step::Issued;
            }
            if let Some(walk) = &grid.entry.walks[at as usize]
                && bounds.others == u64::MAX
                && state.turns[sm as usize].is_free()
                && *left >= u64::from(walk.instructions())
            {
                let (next, waits) = lane.chase(walk, at, state, grid, bounds.horizon, left)?;
                at = next;
                match waits {
                    Some(time) => break Step::Wait(time),
                    None => continue,
                }
            }
            match lane.issue(&grid.entry.code[at as usize], at, state, grid, bounds)? {
                Done::Next(next) => {
                    at = next;
                    *left -= 1;
                }
                Done::Wait(time) => break Step::Wait(time),
                Done::Left => break Step::Issued,
                Done::Not(step) => break step,
                Done::Gone(next) => {
                    at = next;
                    *left -= 1;
                    break Step::Gone;
                }
            }
        };
        let warp = lane.warp;
        warp.groups[index].at = at;
        warp.unite();
        Ok(step)
    }
}

impl Lane<'_> {
    /// Issues one instruction.
    fn issue(&mut self, inst: &Inst, at: u32, state: &mut State, grid: &Grid, bounds: Bounds) -> Result<Done, Fault> {
        let (warp, lane, horizon) = (&mut *self.warp, self.lane, bounds.horizon);
        let [arithmetic, issue] = grid.pipeline;
        let [a, b, c, _] = inst.from;
        let mut now = warp.time.max(warp.ready(inst.guard)).max(warp.ready(inst.to));
        now = now.max(warp.ready(a)).max(warp.ready(b)).max(warp.ready(c));
        if inst.further > 0 {
            now = inst.more.into_iter().fold(now, |now, slot| now.max(warp.ready(slot)));
        }
        let passes = inst.guard == NONE || (warp.get(inst.guard, lane) != 0) != inst.negated;
        let is_rare =
            matches!(inst.op, Op::Return | Op::Barrier | Op::Shuffle(_) | Op::ClusterArrive | Op::ClusterWait);
        if passes && (is_rare || inst.op.is_of_cluster() || inst.op.is_of_copies()) {
            return Ok(Done::Left);
        }
        let sm = self.owner.by.sm as usize;
        let issued = state.turns[sm].issued();
        if grid.queued {
            if now >= bounds.others {
                warp.time = now;
                return Ok(Done::Not(Step::Later));
            }
            now = state.turns[sm].issue(now);
        }
        let mut has_gone = false;
        let (mut done, mut held) = (now + arithmetic, 0);
        if passes {
            match inst.op {
                Op::Branch(to) => {
                    warp.time = now + issue;
                    return Ok(Done::Next(to));
                }
                Op::WarpBarrier | Op::Fence => {}
                Op::Special(special) => {
                    let Owner { by, block } = self.owner;
                    let value = value_of(special, state, grid, block, by.sm, by.warp, lane, now);
                    warp.set(inst.to, lane, inst.kind.wrap(value));
                    if special == Special::Timer {
                        done = now + TIMER_CYCLES;
                    }
                }
                Op::Load(Space::Parameter) => {
                    let value = parameter(grid, inst, warp.get(a, lane).wrapping_add(inst.offset as u64))?;
                    warp.set(inst.to, lane, value);
                }
                Op::Load(_) | Op::Store(_) | Op::Atomic(..) | Op::Texture(_) | Op::Sample => {
                    let goes = grid.queued && !inst.op.is_shared();
                    let who = (self.owner.block, warp.number);
                    if goes && let Some(until) = state.way_is_blocked(sm as u32, who, now) {
                        state.turns[sm].take_back(issued);
                        return Ok(Done::Not(Step::Blocked(until)));
                    }
                    match self.access(inst, state, grid, When { now, horizon })? {
                        Some(cost) => (done, held) = (now + cost.cycles, cost.held),
                        None => {
                            state.turns[sm].take_back(issued);
                            return Ok(Done::Wait(now));
                        }
                    }
                    has_gone = goes && state.has_gone(sm as u32, now);
                }
                op => {
                    let value = alu::compute(op, inst.kind, warp.get(a, lane), warp.get(b, lane), warp.get(c, lane));
                    warp.set(inst.to, lane, value);
                }
            }
        }
        let warp = &mut *self.warp;
        warp.set_ready(inst.to, done);
        for slot in inst.results().skip(1) {
            warp.set_ready(slot, done);
        }
        warp.time = now + issue + held;
        Ok(if has_gone { Done::Gone(at + 1) } else { Done::Next(at + 1) })
    }

    /// An access to memory; `None` if it must wait for its turn.
    #[inline]
    fn access(&mut self, inst: &Inst, state: &mut State, grid: &Grid, when: When) -> Result<Option<Cost>, Fault> {
        if inst.op.is_shared() {
            let address = self.warp.get(inst.from[0], self.lane).wrapping_add(inst.offset as u64);
            shared::lane(self.warp, inst, self.lane, address, self.shared, grid)?;
            return Ok(Some(shared::access_of_one(inst, self.owner.by.sm, state, grid, when.now)));
        }
        access::memory_of_one(self.warp, inst, self.lane, self.owner, state, grid, when)
    }

    /// Walks: passes of the inner loop of a chase that begins `at`, at least one instruction of them. The next instruction, and
    /// the cycle at which the SM must wait for its turn, if it must.
    fn chase(
        &mut self,
        walk: &Walk,
        at: u32,
        state: &mut State,
        grid: &Grid,
        horizon: u64,
        left: &mut u64,
    ) -> Result<(u32, Option<u64>), Fault> {
        let [arithmetic, issue] = grid.pipeline;
        let load = &grid.entry.code[at as usize];
        let mut count = self.warp.get(walk.count, self.lane);
        let (mut time, mut more) = (self.warp.time, true);
        // The handle of a texture may still be under way; whatever else a load needs is the place.
        let others = load.from.into_iter().filter(|slot| *slot != walk.place);
        time = others.fold(time, |time, slot| time.max(self.warp.ready(slot)));
        let plain = Plain::of(load, state);
        let mut placed = self.warp.ready(walk.place);
        let mut counted = self.warp.ready(walk.count);
        let mut compared = self.warp.ready(walk.more);
        let mut stopped = None;
        'passes: while more && *left >= u64::from(walk.instructions()) {
            for number in 0..=walk.loads {
                if number == walk.counts_after {
                    let now = time.max(counted);
                    count = walk.kind.wrap(count.wrapping_add(walk.step));
                    (counted, time) = (now + arithmetic, now + issue);
                }
                if number == walk.compares_after {
                    let now = time.max(counted).max(compared);
                    more = count != walk.end;
                    (compared, time) = (now + arithmetic, now + issue);
                }
                if number == walk.loads {
                    break;
                }
                let now = time.max(placed);
                let when = When { now, horizon };
                let cost = match &plain {
                    Some(plain) => plain.load(self.warp, self.lane, self.owner.by, state, grid, when)?,
                    None => self.access(load, state, grid, when)?,
                };
                match cost {
                    Some(cost) => (placed, time) = (now + cost.cycles, now + issue + cost.held),
                    None => {
                        *left -= u64::from(walk.before(number));
                        stopped = Some((walk.before(number), now));
                        break 'passes;
                    }
                }
            }
            time = time.max(compared) + issue;
            *left -= u64::from(walk.instructions());
        }
        let warp = &mut *self.warp;
        warp.time = time;
        warp.set(walk.count, self.lane, count);
        warp.set(walk.more, self.lane, u64::from(more));
        warp.set_ready(walk.place, placed);
        warp.set_ready(walk.count, counted);
        warp.set_ready(walk.more, compared);
        Ok(match stopped {
            Some((done, now)) => (at + done, Some(now)),
            None if more => (at, None),
            None => (at + walk.instructions(), None),
        })
    }
}
