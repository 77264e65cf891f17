//! The issue of one instruction.

use super::alu;
use super::launch::{Block, Fault, Grid, State};
use super::warp::{Group, LANES, Warp, lanes};
use crate::gpu::sim::model::hierarchy::{Requester, Way};
use crate::gpu::sim::ptx::{Fault as TextFault, Inst, NONE, Op, Shuffle, Space, Special, Type};

/// Cycles until the value of the global timer can be used; it lies outside of the SM.
const TIMER_CYCLES: u64 = 64;
/// Granularity in which accesses of a warp are united, in bytes: the smallest sector of any GPU.
const COALESCED: u64 = 32;

/// What became of an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Done; the warp goes on.
    Issued,
    /// Nothing was done: the SM must wait for its turn at this cycle.
    Wait(u64),
    /// Some lanes wait at a barrier.
    Barrier,
    /// Some lanes have ended.
    Ended,
}

/// What the lanes of one access want.
struct Access {
    addresses: [u64; LANES as usize],
    count: usize,
}

impl Access {
    fn of(warp: &Warp, inst: &Inst, mask: u32) -> Self {
        let mut access = Access { addresses: [0; LANES as usize], count: 0 };
        for lane in lanes(mask) {
            access.addresses[access.count] = warp.get(inst.from[0], lane).wrapping_add(inst.offset as u64);
            access.count += 1;
        }
        access
    }

    fn all(&self) -> &[u64] {
        &self.addresses[..self.count]
    }

    /// One address of each piece of memory that is asked for, in order.
    fn pieces(&self) -> Vec<u64> {
        let mut pieces: Vec<u64> = self.all().to_vec();
        pieces.sort_unstable();
        pieces.dedup_by_key(|address| *address / COALESCED);
        pieces
    }
}

fn illegal(grid: &Grid, inst: &Inst, what: String) -> Fault {
    Fault::Illegal(TextFault { line: inst.line, what: format!("kernel `{}`: {what}", grid.entry.name) })
}

impl State {
    /// Whether all of an access lies in one allocation and is aligned.
    fn check(&self, grid: &Grid, inst: &Inst, address: u64) -> Result<(), Fault> {
        let bytes = u64::from(inst.kind.bytes);
        if !address.is_multiple_of(bytes) {
            return Err(illegal(grid, inst, format!("{bytes}-byte access to {address:#x}, which is not aligned")));
        }
        let after = self.allocations.partition_point(|&(start, _)| start <= address);
        let inside = after.checked_sub(1).is_some_and(|i| {
            let (start, size) = self.allocations[i];
            address + bytes <= start + size
        });
        if inside {
            Ok(())
        } else {
            Err(illegal(grid, inst, format!("access to {address:#x}, which is not allocated")))
        }
    }
}

impl Block {
    /// Issues the next instruction of a warp, unless it would touch what SMs share after `horizon`.
    pub fn issue(&mut self, warp: usize, sm: u32, state: &mut State, grid: &Grid, horizon: u64) -> Result<Step, Fault> {
        let warps = self.warps.len() as u32;
        let Block { number, shared, warps: all, live, arrived } = self;
        let warp = &mut all[warp];
        let index = warp.next_group();
        let group = warp.groups[index];
        let inst = &grid.entry.code[group.at as usize];

        let mut now = warp.time.max(warp.ready(inst.guard));
        for slot in inst.from.into_iter().chain(inst.results()) {
            now = now.max(warp.ready(slot));
        }
        let mask = warp.passing(group, inst.guard, inst.negated);
        let by = Requester { sm, warp: warp.number, warps };
        let mut done = now + grid.pipeline[0];
        if mask != 0 {
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
                    return Ok(Step::Ended);
                }
                Op::Barrier => {
                    warp.time = now + grid.pipeline[1];
                    *arrived = (arrived.0 + mask.count_ones(), arrived.1.max(now));
                    warp.waiting.push(Group { at: group.at + 1, lanes: mask });
                    advance(warp, index, group.lanes & !mask);
                    return Ok(Step::Barrier);
                }
                Op::WarpBarrier | Op::Fence => {}
                Op::Special(special) => {
                    for lane in lanes(mask) {
                        let value = value_of(special, state, grid, *number, sm, warp.number, lane, now);
                        warp.set(inst.to, lane, inst.kind.wrap(value));
                    }
                    if special == Special::Timer {
                        done = now + TIMER_CYCLES;
                    }
                }
                Op::Shuffle(how) => shuffle(warp, inst, mask, how),
                Op::Load(Space::Parameter) => {
                    for lane in lanes(mask) {
                        let at = warp.get(inst.from[0], lane).wrapping_add(inst.offset as u64);
                        warp.set(inst.to, lane, parameter(grid, inst, at)?);
                    }
                }
                Op::Load(Space::Shared) | Op::Store(Space::Shared) | Op::Atomic(_, true) => {
                    done = now + shared_access(warp, inst, mask, shared, grid)?;
                }
                Op::Load(_) | Op::Store(_) | Op::Atomic(_, false) | Op::Texture => {
                    match memory_access(warp, inst, mask, by, *number, state, grid, now, horizon)? {
                        Ok(cycles) => done = now + cycles,
                        Err(Later) => return Ok(Step::Wait(now)),
                    }
                }
                op => {
                    for lane in lanes(mask) {
                        let [a, b, c] = inst.from.map(|slot| warp.get(slot, lane));
                        warp.set(inst.to, lane, alu::compute(op, inst.kind, a, b, c));
                    }
                }
            }
        }
        for slot in inst.results() {
            warp.set_ready(slot, done);
        }
        warp.time = now + grid.pipeline[1];
        advance(warp, index, group.lanes);
        Ok(Step::Issued)
    }
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
fn value_of(special: Special, state: &State, grid: &Grid, block: u32, sm: u32, warp: u32, lane: u32, now: u64) -> u64 {
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
        Special::Clock | Special::Clock64 => now,
        Special::Timer => state.clock.timer(now),
    }
}

fn parameter(grid: &Grid, inst: &Inst, at: u64) -> Result<u64, Fault> {
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
    let before: Vec<u64> = (0..warp.width).map(|lane| warp.get(inst.from[0], lane)).collect();
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

/// An access to shared memory: cycles until its value can be used.
fn shared_access(warp: &mut Warp, inst: &Inst, mask: u32, shared: &mut [u8], grid: &Grid) -> Result<u64, Fault> {
    let access = Access::of(warp, inst, mask);
    let bytes = inst.kind.bytes as usize;
    let whole = bytes * inst.elements();
    for (lane, &address) in lanes(mask).zip(access.all()) {
        let at = usize::try_from(address).unwrap_or(usize::MAX);
        let aligned = at.is_multiple_of(whole);
        let Some(place) = shared.get_mut(at..at.saturating_add(whole)).filter(|_| aligned) else {
            return Err(illegal(
                grid,
                inst,
                format!("{whole}-byte access to {address:#x} of {} B of shared memory", grid.shared),
            ));
        };
        let element = |number: usize| {
            let mut raw = [0; 8];
            raw[..bytes].copy_from_slice(&place[number * bytes..(number + 1) * bytes]);
            u64::from_le_bytes(raw)
        };
        let old = element(0);
        match inst.op {
            Op::Load(_) => {
                for (number, &slot) in inst.more.iter().enumerate().take(inst.elements() - 1) {
                    warp.set(slot, lane, extended(inst.kind, element(number + 1)));
                }
                warp.set(inst.to, lane, extended(inst.kind, old));
            }
            Op::Atomic(op, _) => {
                let (b, c) = (warp.get(inst.from[1], lane), warp.get(inst.from[2], lane));
                place.copy_from_slice(&alu::atomic(op, inst.kind, old, b, c).to_le_bytes()[..bytes]);
                warp.set(inst.to, lane, old);
            }
            _ => place.copy_from_slice(&warp.get(inst.from[1], lane).to_le_bytes()[..bytes]),
        }
    }
    let [latency, conflict] = grid.shared_cycles;
    let passes = if access.count == 1 { 1 } else { grid.banks.passes(access.all(), whole as u64) };
    Ok(latency + u64::from(passes - 1) * conflict)
}

/// A register of 32 bits holds a loaded byte: signs are extended into it, and nothing above it is set.
fn extended(kind: Type, value: u64) -> u64 {
    if kind.signed && kind.bytes < 4 { kind.signed(value) as u32 as u64 } else { value }
}

/// The access must wait for its turn.
struct Later;

/// An access to memory behind caches: cycles until its value can be used.
#[expect(clippy::too_many_arguments, reason = "each is one coordinate of the access")]
fn memory_access(
    warp: &mut Warp,
    inst: &Inst,
    mask: u32,
    by: Requester,
    block: u32,
    state: &mut State,
    grid: &Grid,
    now: u64,
    horizon: u64,
) -> Result<Result<u64, Later>, Fault> {
    let mut access = Access::of(warp, inst, mask);
    let way = match inst.op {
        Op::Texture => Way::Texture,
        Op::Load(Space::GlobalNc) => Way::GlobalNc,
        Op::Load(Space::Constant) => Way::Constant,
        Op::Load(Space::ConstantUniform) => Way::ConstantUniform,
        Op::Load(Space::Local) | Op::Store(Space::Local) => Way::Local,
        Op::Load(Space::GlobalCg | Space::Volatile) | Op::Atomic(..) => Way::GlobalCg,
        _ => Way::GlobalCa,
    };
    if !state.hierarchy.has(way) {
        return Err(illegal(grid, inst, "this machine has no such load".into()));
    }
    // From the addresses that the kernel sees to those of the device.
    for (i, lane) in lanes(mask).enumerate() {
        let address = access.addresses[i];
        access.addresses[i] = match way {
            Way::Constant | Way::ConstantUniform => grid.constants.wrapping_add(address),
            Way::Local => {
                let thread = u64::from(block) * u64::from(grid.threads) + u64::from(by.warp * LANES + lane);
                if address + u64::from(inst.kind.bytes) > grid.entry.local {
                    return Err(illegal(
                        grid,
                        inst,
                        format!("access to {address:#x} of {} B of local memory", grid.entry.local),
                    ));
                }
                LOCAL_BASE + thread * grid.entry.local.next_multiple_of(256) + address
            }
            Way::Texture => {
                let handle = warp.get(inst.from[0], lane);
                let Some(&(base, bytes)) = state.textures.get(&handle) else {
                    return Err(illegal(grid, inst, format!("{handle:#x} is no texture")));
                };
                let texel = warp.get(inst.from[1], lane);
                // Beyond its ends a texture gives zero.
                if 4 * texel + 4 > bytes { 0 } else { base + 4 * texel }
            }
            _ => address,
        };
        // Local memory has been checked, and a texture gives zero beyond its ends.
        let beyond = way == Way::Texture && access.addresses[i] == 0;
        if way != Way::Local && !beyond {
            state.check(grid, inst, access.addresses[i])?;
        }
    }
    let is_load = matches!(inst.op, Op::Load(_) | Op::Texture);
    if now > horizon && !(is_load && state.hierarchy.is_private(way, by, access.all())) {
        return Ok(Err(Later));
    }
    let kind = inst.kind;
    for (i, lane) in lanes(mask).enumerate() {
        let address = access.addresses[i];
        match inst.op {
            Op::Store(_) => {
                let value = warp.get(inst.from[1], lane);
                state.memory.store(address, kind.bytes, kind.wrap(value)).map_err(|_| Fault::Memory)?;
            }
            Op::Atomic(op, _) => {
                let old = state.memory.load(address, kind.bytes);
                let (b, c) = (warp.get(inst.from[1], lane), warp.get(inst.from[2], lane));
                let new = alu::atomic(op, kind, old, b, c);
                state.memory.store(address, kind.bytes, new).map_err(|_| Fault::Memory)?;
                warp.set(inst.to, lane, old);
            }
            _ => {
                let value = if address == 0 { 0 } else { state.memory.load(address, kind.bytes) };
                warp.set(inst.to, lane, extended(kind, value));
            }
        }
    }
    let one = |state: &mut State, address: u64, after: u64| match inst.op {
        _ if address >= grid.host.1 && address < LOCAL_BASE => grid.host.0,
        Op::Store(_) => {
            state.hierarchy.store(way, by, address, now + after);
            1
        }
        Op::Atomic(..) => after + state.hierarchy.atomic(by, address, now + after),
        _ => after + state.hierarchy.load(way, by, address, now + after),
    };
    if access.count == 1 {
        return Ok(Ok(one(state, access.addresses[0], 0)));
    }
    let pieces = access.pieces();
    let mut cycles = 0;
    for (i, address) in pieces.into_iter().enumerate() {
        cycles = cycles.max(one(state, address, i as u64));
    }
    let unused = inst.to == NONE;
    Ok(Ok(if unused { 1 } else { cycles }))
}

/// Where the local memory of all threads lies.
pub(super) const LOCAL_BASE: u64 = 1 << 46;
