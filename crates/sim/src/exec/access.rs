//! A memory access of a warp: the addresses of its lanes, and how long they wait for data and for each other.

use super::alu;
use super::issue::{extended, illegal};
use super::launch::{Fault, Grid, State};
use super::requests::Access;
use super::warp::{LANES, Warp, lanes};
use crate::model::atomics;
use crate::model::hierarchy::{Requester, Way};
use crate::model::memory::{put_word, word};
use crate::model::texture::Texels;
use crate::ptx::{Inst, NONE, Op, Space};
use strata_model::pattern::Sampling;

/// Cycles for which a request without conflicts occupies shared memory: a row of all banks a cycle.
const SHARED_REQUEST: u64 = 1;
/// Where the local memory of all threads lies.
pub(super) const LOCAL_BASE: u64 = 1 << 46;

/// What an access costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    /// Cycles until its value can be used.
    pub cycles: u64,
    /// Cycles for which the warp issues nothing else: atomics whose lanes wait for each other hold it, whether or not
    /// somebody wants their value.
    pub held: u64,
}

impl State {
    /// Whether `bytes` at an address lie in one allocation and are aligned.
    fn check(&mut self, grid: &Grid, inst: &Inst, address: u64, bytes: u64) -> Result<(), Fault> {
        if !address.is_multiple_of(bytes) {
            return Err(illegal(grid, inst, format!("{bytes}-byte access to {address:#x}, which is not aligned")));
        }
        let inside = |&(start, size): &(u64, u64)| {
            start <= address && address.checked_add(bytes).is_some_and(|end| end <= start + size)
        };
        // Most accesses go where the last one went.
        if self.allocations.get(self.last_allocation).is_some_and(inside) {
            return Ok(());
        }
        let after = self.allocations.partition_point(|&(start, _)| start <= address);
        self.last_allocation = after.saturating_sub(1);
        if self.allocations.get(self.last_allocation).is_some_and(inside) {
            Ok(())
        } else {
            Err(illegal(grid, inst, format!("access to {address:#x}, which is not allocated")))
        }
    }
}

/// What an access to shared memory does in one lane.
pub(super) fn shared_lane(
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
            for (slot, place) in inst.stored().zip(place.chunks_exact_mut(bytes)) {
                put_word(place, warp.get(slot, lane));
            }
        }
    }
    Ok(())
}

/// An access to shared memory, on an SM at a cycle.
pub(super) fn shared(
    warp: &mut Warp,
    inst: &Inst,
    mask: u32,
    shared: &mut [u8],
    state: &mut State,
    grid: &Grid,
    (sm, now): (u32, u64),
) -> Result<Cost, Fault> {
    let access = Access::of(warp, inst, mask);
    for (lane, &address) in lanes(mask).zip(access.all()) {
        shared_lane(warp, inst, lane, address, shared, grid)?;
    }
    let [latency, conflict] = grid.shared_cycles;
    if access.count == 1 {
        return Ok(shared_of_one(inst, sm, state, grid, now));
    }
    let whole = usize::from(inst.kind.bytes) * inst.elements();
    let conflicts = (u64::from(state.passes.by(grid.banks, access.all(), whole as u64)) - 1) * conflict;
    if !matches!(inst.op, Op::Atomic(..)) {
        return Ok(Cost { cycles: latency + conflicts, held: 0 });
    }
    // What a load hands to all lanes at once, atomics do one lane after the other, and one warp after the other.
    let alike = conflicts + (access.most_alike(|_| true) - 1) * grid.lanes.shared_atomic;
    let held = alike + atomics::wait(&mut state.shared_free[sm as usize], now, SHARED_REQUEST + alike);
    Ok(Cost { cycles: latency + held, held })
}

/// Cycles of an access of one lane to shared memory.
pub(super) fn shared_of_one(inst: &Inst, sm: u32, state: &mut State, grid: &Grid, now: u64) -> Cost {
    let held = match inst.op {
        Op::Atomic(..) => atomics::wait(&mut state.shared_free[sm as usize], now, SHARED_REQUEST),
        _ => 0,
    };
    Cost { cycles: grid.shared_cycles[0] + held, held }
}

/// The way of an access to memory behind caches.
fn way_of(op: Op) -> Way {
    match op {
        Op::Texture(_) | Op::Sample => Way::Texture,
        Op::Load(Space::GlobalNc) => Way::GlobalNc,
        Op::Load(Space::Constant) => Way::Constant,
        Op::Load(Space::ConstantUniform) => Way::ConstantUniform,
        Op::Load(Space::Local) | Op::Store(Space::Local) => Way::Local,
        Op::Load(Space::GlobalCg | Space::Volatile) | Op::Atomic(..) => Way::GlobalCg,
        _ => Way::GlobalCa,
    }
}

/// From an address that the kernel sees to that of the device, and the bytes of an element there. Beyond the ends of a texture
/// it is 0, where nothing is.
fn on_device(
    warp: &Warp,
    inst: &Inst,
    lane: u32,
    address: u64,
    thread: u64,
    state: &mut State,
    grid: &Grid,
) -> Result<(u64, u8), Fault> {
    let bytes = inst.kind.bytes;
    let (address, bytes) = match way_of(inst.op) {
        Way::Constant | Way::ConstantUniform => (grid.constants.wrapping_add(address), bytes),
        Way::Local => {
            let local = grid.entry.local;
            if address.checked_add(u64::from(bytes)).is_none_or(|end| end > local) {
                return Err(illegal(grid, inst, format!("access to {address:#x} of {local} B of local memory")));
            }
            // All of it has been checked with this.
            return Ok((LOCAL_BASE + thread * local.next_multiple_of(256) + address, bytes));
        }
        Way::Texture => {
            let handle = warp.get(inst.from[0], lane);
            let texture = state.textures.get(&handle);
            let read = |texels: &&Texels| match inst.op {
                Op::Texture(dimensions) => texels.sampling().is_none() && texels.dimensions() == dimensions,
                _ => texels.sampling().is_some(),
            };
            let Some(texels) = texture.filter(read) else {
                return Err(illegal(grid, inst, format!("{handle:#x} is no texture that is read in this way")));
            };
            let [_, coordinates @ ..] = inst.from.map(|slot| warp.get(slot, lane));
            let texel = match inst.op {
                Op::Texture(_) => texels.at(coordinates),
                _ => texels.sample([alu::float(coordinates[0]), alu::float(coordinates[1])]).map_err(|between| {
                    let [x, y] = between;
                    illegal(grid, inst, format!("the simulator filters at the centres of texels only, not at {x}, {y}"))
                })?,
            };
            match texel {
                Some(texel) => texel,
                None => return Ok((0, bytes)),
            }
        }
        _ => (address, bytes),
    };
    state.check(grid, inst, address, u64::from(bytes) * inst.elements() as u64)?;
    Ok((address, bytes))
}

/// Whose access it is.
#[derive(Clone, Copy)]
pub(super) struct Owner {
    /// SM and warp.
    pub by: Requester,
    /// Number of the block in the grid.
    pub block: u32,
}

impl Owner {
    /// Number of the first thread of the warp in the grid.
    fn first_thread(self, grid: &Grid) -> u64 {
        u64::from(self.block) * u64::from(grid.threads) + u64::from(self.by.warp * LANES)
    }
}

/// When an access is made.
#[derive(Clone, Copy)]
pub(super) struct When {
    /// Cycle.
    pub now: u64,
    /// Cycle after which the SM may not touch what SMs share.
    pub horizon: u64,
}

/// What an access to memory behind caches does in one lane.
#[inline]
fn memory_lane(warp: &mut Warp, inst: &Inst, lane: u32, at: (u64, u8), state: &mut State) -> Result<(), Fault> {
    let ((address, bytes), kind) = (at, inst.kind);
    match inst.op {
        Op::Store(_) => {
            for (number, slot) in inst.stored().enumerate() {
                let at = address + number as u64 * u64::from(bytes);
                state.memory.store(at, bytes, kind.wrap(warp.get(slot, lane))).map_err(|_| Fault::Memory)?;
            }
        }
        Op::Atomic(op, _) => {
            let old = state.memory.load(address, bytes);
            let (b, c) = (warp.get(inst.from[1], lane), warp.get(inst.from[2], lane));
            let new = alu::atomic(op, kind, old, b, c);
            state.memory.store(address, bytes, new).map_err(|_| Fault::Memory)?;
            warp.set(inst.to, lane, old);
        }
        _ if inst.further == 0 => {
            let value = if address == 0 { 0 } else { state.memory.load(address, bytes) };
            warp.set(inst.to, lane, extended(kind, value));
        }
        _ => {
            for (number, slot) in inst.results().enumerate() {
                let at = address + number as u64 * u64::from(bytes);
                let value = if address == 0 { 0 } else { state.memory.load(at, bytes) };
                warp.set(slot, lane, extended(kind, value));
            }
        }
    }
    Ok(())
}

/// Cycles that the caches take for one of the requests of an access, which is made at `now`.
#[inline]
fn request(inst: &Inst, way: Way, by: Requester, address: u64, state: &mut State, grid: &Grid, now: u64) -> u64 {
    match inst.op {
        _ if address >= grid.host.1 && address < LOCAL_BASE => grid.host.0,
        Op::Store(_) => {
            state.hierarchy.store(way, by, address, now);
            1
        }
        Op::Atomic(..) => state.hierarchy.atomic(by, address, now),
        _ => state.hierarchy.load(way, by, address, now),
    }
}

/// Cycles that the line of an address keeps a request with atomics waiting at `now`, and then itself, for the lanes that are `alike`
/// in their word. What the host has is in no line.
fn turn(inst: &Inst, address: u64, alike: u64, state: &mut State, grid: &Grid, now: u64) -> (u64, u64) {
    if !matches!(inst.op, Op::Atomic(..)) || (grid.host.1..LOCAL_BASE).contains(&address) {
        return (0, 0);
    }
    let further = (alike - 1) * grid.lanes.atomic;
    (state.atomics.wait(address, now, grid.lanes.atomic_line + further), further)
}

fn is_load(inst: &Inst) -> bool {
    matches!(inst.op, Op::Load(_) | Op::Texture(_) | Op::Sample)
}

/// An access of one lane to memory behind caches: as [`memory`] does it for several; `None` if it must wait for its
/// turn.
#[inline]
pub(super) fn memory_of_one(
    warp: &mut Warp,
    inst: &Inst,
    lane: u32,
    owner: Owner,
    state: &mut State,
    grid: &Grid,
    when: When,
) -> Result<Option<Cost>, Fault> {
    let way = way_of(inst.op);
    if !state.hierarchy.has(way) {
        return Err(illegal(grid, inst, "this machine has no such load".into()));
    }
    let address = warp.get(inst.from[0], lane).wrapping_add(inst.offset as u64);
    let thread = owner.first_thread(grid) + u64::from(lane);
    let at = on_device(warp, inst, lane, address, thread, state, grid)?;
    let filtered = filtering(warp, inst, lane, state, grid);
    if when.now > when.horizon {
        let private = |state: &mut State| state.hierarchy.load_private(way, owner.by, at.0, when.now);
        let cycles = if is_load(inst) { private(state).map(|cycles| filtered + cycles) } else { None };
        if cycles.is_some() {
            memory_lane(warp, inst, lane, at, state)?;
        }
        return Ok(cycles.map(|cycles| Cost { cycles, held: 0 }));
    }
    memory_lane(warp, inst, lane, at, state)?;
    let cost = one_request(inst, way, owner.by, at.0, state, grid, when.now);
    Ok(Some(Cost { cycles: filtered + cost.cycles, ..cost }))
}

/// Cycles that a texture's mean of texels takes beside the load.
fn filtering(warp: &Warp, inst: &Inst, lane: u32, state: &State, grid: &Grid) -> u64 {
    let filters = || {
        let texels = state.textures.get(&warp.get(inst.from[0], lane));
        texels.and_then(|texels| texels.sampling()) == Some(Sampling::Linear)
    };
    if inst.op == Op::Sample && filters() { grid.lanes.filtering } else { 0 }
}

/// What an access costs that is one request.
#[inline]
fn one_request(inst: &Inst, way: Way, by: Requester, address: u64, state: &mut State, grid: &Grid, now: u64) -> Cost {
    let (held, _) = turn(inst, address, 1, state, grid, now);
    Cost { cycles: held + request(inst, way, by, address, state, grid, now + held), held }
}

/// An access to memory behind caches; `None` if it must wait for its turn.
pub(super) fn memory(
    warp: &mut Warp,
    inst: &Inst,
    mask: u32,
    owner: Owner,
    state: &mut State,
    grid: &Grid,
    when: When,
) -> Result<Option<Cost>, Fault> {
    let mut access = Access::of(warp, inst, mask);
    let way = way_of(inst.op);
    if !state.hierarchy.has(way) {
        return Err(illegal(grid, inst, "this machine has no such load".into()));
    }
    let first = owner.first_thread(grid);
    for (i, lane) in lanes(mask).enumerate() {
        let thread = first + u64::from(lane);
        (access.addresses[i], access.bytes[i]) = on_device(warp, inst, lane, access.addresses[i], thread, state, grid)?;
    }
    if when.now > when.horizon && !(is_load(inst) && state.hierarchy.is_private(way, owner.by, access.all())) {
        return Ok(None);
    }
    for (i, lane) in lanes(mask).enumerate() {
        memory_lane(warp, inst, lane, (access.addresses[i], access.bytes[i]), state)?;
    }
    let is_atomic = matches!(inst.op, Op::Atomic(..));
    // A store and what the host has take as long whenever they are made.
    let answered = |address: u64| matches!(inst.op, Op::Store(_)) || (grid.host.1..LOCAL_BASE).contains(&address);
    let one = |state: &mut State, address: u64, after: u64| {
        let cycles = request(inst, way, owner.by, address, state, grid, when.now + after);
        if answered(address) { cycles } else { after + cycles }
    };
    let filtered = filtering(warp, inst, mask.trailing_zeros(), state, grid);
    if access.count == 1 {
        let cost = one_request(inst, way, owner.by, access.addresses[0], state, grid, when.now);
        return Ok(Some(Cost { cycles: filtered + cost.cycles, ..cost }));
    }
    let (mut cycles, mut held) = (0, 0);
    let mut at_line: Option<(u64, u64, u64)> = None;
    for (address, after) in access.requests(way, state, grid) {
        let line = state.atomics.line_of(address);
        // The requests of one line wait for it together.
        let (_, wait, further) = match at_line {
            Some(known) if known.0 == line => known,
            _ if !is_atomic => (line, 0, 0),
            _ => {
                let alike = access.most_alike(|other| state.atomics.line_of(other) == line);
                let (wait, further) = turn(inst, address, alike, state, grid, when.now + after);
                *at_line.insert((line, wait, further))
            }
        };
        cycles = cycles.max(one(state, address, after + wait) + further);
        held = held.max(after + wait + further);
    }
    cycles += filtered;
    // Loads of a warp overlap; its stores and atomics go one after the other.
    Ok(Some(Cost { cycles: if inst.to == NONE { 1 } else { cycles }, held: if is_load(inst) { 0 } else { held } }))
}
