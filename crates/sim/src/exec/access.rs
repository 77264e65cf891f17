//! A memory access of a warp: the addresses of its lanes, and how long they wait for data and for each other.

use super::alu;
use super::issue::{extended, illegal};
use super::launch::{Fault, Grid, State};
use super::requests::{Access, COALESCED};
use super::warp::{LANES, Warp, lanes};
use crate::machine::spec::Hint;
use crate::model::cache::Wish;
use crate::model::hierarchy::{Requester, Way, Wishes};
use crate::model::memory::word;
use crate::model::texture::Texels;
use crate::ptx::{CachePolicy, Hinted, Inst, NONE, Op, Space};
use crate::{HOST_BASE, PEER_BASE};
use strata_model::pattern::Sampling;

/// Where the local memory of all threads lies.
pub(super) const LOCAL_BASE: u64 = 1 << 46;

/// Bytes that a discard is for, and to which its address is aligned (PTX ISA, discard).
const DISCARDED: u64 = 128;

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
    /// Whether so many bytes lie in the allocation that was accessed last.
    fn has(&self, address: u64, bytes: u64) -> bool {
        let last = self.allocations.get(self.last_allocation);
        last.is_some_and(|&(start, size)| start <= address && address.saturating_add(bytes) <= start + size)
    }

    /// Whether `bytes` at an address lie in one allocation and are aligned.
    pub(super) fn check(&mut self, grid: &Grid, inst: &Inst, address: u64, bytes: u64) -> Result<(), Fault> {
        // A power of two.
        if address & (bytes - 1) != 0 {
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

/// The values of a load of all lanes whose elements lie one behind the other, if they are in one page of memory.
fn row(warp: &mut Warp, inst: &Inst, address: u64, state: &mut State) -> bool {
    let whole = usize::from(inst.kind.bytes) * inst.elements();
    let Some(row) = state.memory.row(address, whole * LANES as usize) else { return false };
    loaded(warp, inst, row);
    true
}

/// Gives all lanes the values of their elements, which lie one behind the other.
pub(super) fn loaded(warp: &mut Warp, inst: &Inst, row: &[u8]) {
    let bytes = usize::from(inst.kind.bytes);
    for (number, slot) in inst.results().enumerate().filter(|(_, slot)| *slot != NONE) {
        let elements = row.chunks_exact(bytes * inst.elements()).map(|all| &all[number * bytes..(number + 1) * bytes]);
        let values = warp.slot_mut(slot).iter_mut().zip(elements);
        if bytes == 4 {
            // By far the most frequent.
            values
                .for_each(|(value, four)| *value = u64::from(u32::from_le_bytes([four[0], four[1], four[2], four[3]])));
        } else {
            values.for_each(|(value, element)| *value = extended(inst.kind, word(element)));
        }
    }
}

/// The way of an access to memory behind caches.
pub(super) fn way_of(op: Op) -> Way {
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
            let Some((address, bytes)) = texel else { return Ok((0, bytes)) };
            state.check(grid, inst, address, u64::from(bytes))?;
            return Ok((address, bytes));
        }
        _ => (address, bytes),
    };
    let accessed = match inst.op {
        Op::Store(Space::Discarded) => DISCARDED,
        _ => u64::from(bytes) * inst.elements() as u64,
    };
    state.check(grid, inst, address, accessed)?;
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
    /// The same, with what its access asks of the caches.
    fn with(self, wishes: Wishes) -> Self {
        Owner { by: Requester { wishes, ..self.by }, ..self }
    }

    /// Number of the first thread of the warp in the grid.
    fn first_thread(self, grid: &Grid) -> u64 {
        u64::from(self.block) * u64::from(grid.threads) + u64::from(self.by.warp * LANES)
    }
}

/// What an access of a lane asks of the caches.
#[inline]
fn wishes(inst: &Inst, warp: &Warp, lane: u32) -> Wishes {
    const FIRST: Wish = Wish::Hinted(Hint::EvictFirst);
    match inst.hinted {
        Hinted::No | Hinted::Sm(None) => Wishes::default(),
        Hinted::Streaming => Wishes { sm: FIRST, device: FIRST },
        // What the L1 is not to keep the L2 gives up first: so an H200 does (`docs/evidence/h200.md`).
        Hinted::Sm(Some(Hint::NoAllocate)) => Wishes { sm: Wish::Hinted(Hint::NoAllocate), device: FIRST },
        Hinted::Sm(Some(hint)) => Wishes { sm: Wish::Hinted(hint), device: Wish::Plain },
        Hinted::Block(size) => Wishes { sm: Wish::Plain, device: Wish::Block(size) },
        Hinted::Policy => {
            let policy = warp.get(inst.from[3], lane);
            let is = |one: CachePolicy| policy == one as u64;
            let device = match () {
                () if is(CachePolicy::First) => FIRST,
                () if is(CachePolicy::Last) => Wish::Hinted(Hint::EvictLast),
                () if is(CachePolicy::Normal) => Wish::Normal,
                () => Wish::Plain,
            };
            Wishes { sm: Wish::Plain, device }
        }
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
            for (slot, number) in inst.stored().zip(0..) {
                let (at, value) = (address + number * u64::from(bytes), warp.get(slot, lane));
                state.memory.store(at, bytes, kind.wrap(value)).map_err(|_| Fault::Memory)?;
            }
        }
        Op::Atomic(op, _) => {
            let old = state.memory.load(address, bytes);
            let (b, c) = (warp.get(inst.from[1], lane), warp.get(inst.from[2], lane));
            let new = alu::atomic(op, kind, old, b, c);
            state.memory.store(address, bytes, new).map_err(|_| Fault::Memory)?;
            warp.set(inst.to, lane, old);
        }
        Op::Texture(_) | Op::Sample => {
            // The channels that a texel has, and zeros.
            let channel = bytes.min(kind.bytes);
            for (slot, number) in inst.results().zip(0..) {
                let at = number * u64::from(channel);
                let has = address != 0 && at < u64::from(bytes);
                warp.set(slot, lane, if has { state.memory.load(address + at, channel) } else { 0 });
            }
        }
        _ if inst.further == 0 => warp.set(inst.to, lane, extended(kind, state.memory.load(address, bytes))),
        _ => {
            for (number, slot) in inst.results().enumerate() {
                let at = address + number as u64 * u64::from(bytes);
                warp.set(slot, lane, extended(kind, state.memory.load(at, bytes)));
            }
        }
    }
    Ok(())
}

/// Cycles that the caches take for one of the requests of an access, which is made at `now`.
#[inline]
fn request(inst: &Inst, way: Way, by: Requester, address: u64, state: &mut State, grid: &Grid, now: u64) -> u64 {
    match inst.op {
        _ if is_outside(address) => outside(inst, (way, by), address, state, grid, now),
        Op::Store(Space::Discarded) => {
            state.hierarchy.discard(address);
            1
        }
        Op::Store(_) => {
            state.hierarchy.store(way, by, address, now);
            1
        }
        Op::Atomic(..) => state.hierarchy.atomic(by, address, now),
        _ => state.hierarchy.load(way, by, address, handed(inst, way), now),
    }
}

/// Bytes of one of the requests of a load, as far as an SM hands out so many a cycle.
#[inline]
pub(super) fn handed(inst: &Inst, way: Way) -> u64 {
    match way {
        Way::Constant | Way::ConstantUniform => u64::from(inst.kind.bytes) * inst.elements() as u64,
        _ => COALESCED,
    }
}

/// Whether an address is not in the device's own memory: in pinned memory of the host, or in another GPU's.
pub(super) fn is_outside(address: u64) -> bool {
    (PEER_BASE..LOCAL_BASE).contains(&address)
}

/// Whether an access is a store that the bus to the host, or a link, must take before its warp goes on.
fn is_sent(inst: &Inst, address: u64) -> bool {
    matches!(inst.op, Op::Store(_)) && is_outside(address)
}

/// Cycles of a request that crosses the bus to the host, or a link to another GPU. A store is done once that has taken it. Anything else is
/// outstanding until it is answered, as a request to the caches of the device is.
pub(super) fn outside(
    inst: &Inst,
    (way, by): (Way, Requester),
    address: u64,
    state: &mut State,
    grid: &Grid,
    now: u64,
) -> u64 {
    let State { hierarchy, bus, link, .. } = state;
    let (Some(link), true) = (link, address < HOST_BASE) else {
        return match inst.op {
            Op::Store(_) => 1 + bus[1].wait(now, COALESCED),
            _ => hierarchy.past_caches(by, now, |left| grid.host + bus[0].wait(left, COALESCED)),
        };
    };
    match inst.op {
        Op::Store(_) => link.store(address, now),
        Op::Atomic(..) => hierarchy.past_caches(by, now, |left| link.atomic(address, left)),
        Op::Load(_) if link.is_cached => match hierarchy.load_private(way, by, address, handed(inst, way), now) {
            Some(cycles) => cycles,
            None => {
                hierarchy.keep_private(way, by, address);
                hierarchy.past_caches(by, now, |left| link.load(address, left))
            }
        },
        _ => hierarchy.past_caches(by, now, |left| link.load(address, left)),
    }
}

/// Cycles that a request with atomics of so many lanes on the line of an address waits at `now`, and for which it then keeps the line for
/// the lanes that are `alike` in their word. What the host or another GPU has is in no line.
fn turn(inst: &Inst, address: u64, (lanes, alike): (u64, u64), state: &mut State, grid: &Grid, now: u64) -> (u64, u64) {
    if !matches!(inst.op, Op::Atomic(..)) || is_outside(address) {
        return (0, 0);
    }
    let further = (alike - 1) * grid.lanes.atomic;
    (state.atomics.wait(address, now, lanes, grid.lanes.atomic_line + further), further)
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
    let owner = owner.with(wishes(inst, warp, lane));
    let address = warp.get(inst.from[0], lane).wrapping_add(inst.offset as u64);
    let thread = owner.first_thread(grid) + u64::from(lane);
    let at = on_device(warp, inst, lane, address, thread, state, grid)?;
    let filtered = filtering(warp, inst, lane, state, grid);
    if when.now > when.horizon {
        let private =
            |state: &mut State| state.hierarchy.load_private(way, owner.by, at.0, handed(inst, way), when.now);
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

/// Cycles for which the last request of an SM waits until there is room for it, and the warp with it.
#[inline]
pub(super) fn blocked(by: Requester, state: &State, grid: &Grid, now: u64) -> u64 {
    if !grid.queued {
        return 0;
    }
    state.hierarchy.blocked(by.sm).saturating_sub(now)
}

/// What an access costs that is one request.
#[inline]
fn one_request(inst: &Inst, way: Way, by: Requester, address: u64, state: &mut State, grid: &Grid, now: u64) -> Cost {
    let (held, _) = turn(inst, address, (1, 1), state, grid, now);
    let cycles = held + request(inst, way, by, address, state, grid, now + held);
    let held = if is_sent(inst, address) { cycles } else { held };
    Cost { cycles, held: held.max(blocked(by, state, grid, now)) }
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
    let owner = owner.with(wishes(inst, warp, mask.trailing_zeros()));
    let whole = u64::from(inst.kind.bytes) * inst.elements() as u64;
    let is_plain = matches!(way, Way::GlobalCa | Way::GlobalCg | Way::GlobalNc) && !matches!(inst.op, Op::Atomic(..));
    let is_row = is_plain && access.is_row(whole) && state.has(access.addresses[0], whole * u64::from(LANES));
    if !is_row {
        let first = owner.first_thread(grid);
        for (i, lane) in lanes(mask).enumerate() {
            let (thread, at) = (first + u64::from(lane), access.addresses[i]);
            (access.addresses[i], access.bytes[i]) = on_device(warp, inst, lane, at, thread, state, grid)?;
        }
    }
    let requests = access.requests(way, state, grid);
    let in_turn = when.now <= when.horizon;
    // What the SM's own cache has it answers at once, whoever's turn it is.
    let hits = |state: &mut State| match requests.all() {
        [_, _, ..] if is_load(inst) => {
            state.hierarchy.load_row(way, owner.by, requests.all(), handed(inst, way), when.now)
        }
        _ => None,
    };
    let hits = hits(state);
    let is_private = |state: &mut State| is_load(inst) && state.hierarchy.is_private(way, owner.by, access.all());
    if hits.is_none() && !in_turn && !is_private(state) {
        return Ok(None);
    }
    if !(is_row && is_load(inst) && row(warp, inst, access.addresses[0], state)) {
        for (i, lane) in lanes(mask).enumerate() {
            memory_lane(warp, inst, lane, (access.addresses[i], access.bytes[i]), state)?;
        }
    }
    if let Some(cycles) = hits {
        let cycles = filtering(warp, inst, mask.trailing_zeros(), state, grid) + cycles;
        return Ok(Some(Cost { cycles, held: 0 }));
    }
    let is_atomic = matches!(inst.op, Op::Atomic(..));
    // A store of the device's memory takes as long whenever it is made.
    let answered = |address: u64| matches!(inst.op, Op::Store(_)) && !is_outside(address);
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
    for &(address, after) in requests.all() {
        if !is_atomic {
            cycles = cycles.max(one(state, address, after));
            held = if is_sent(inst, address) { cycles } else { after };
            continue;
        }
        let line = state.atomics.line_of(address);
        // The requests of one line wait for it together.
        let (_, wait, further) = match at_line {
            Some(known) if known.0 == line => known,
            _ => {
                let is_there = |other: u64| state.atomics.line_of(other) == line;
                let lanes = access.all().iter().filter(|other| is_there(**other)).count() as u64;
                let alike = access.most_alike(is_there);
                let (wait, further) = turn(inst, address, (lanes, alike), state, grid, when.now + after);
                *at_line.insert((line, wait, further))
            }
        };
        cycles = cycles.max(one(state, address, after + wait) + further);
        held = held.max(after + wait + further);
    }
    cycles += filtered;
    // Loads of a warp overlap; its stores and atomics go one after the other.
    let held = if is_load(inst) { 0 } else { held };
    let held = held.max(blocked(owner.by, state, grid, when.now));
    Ok(Some(Cost { cycles: if inst.to == NONE { 1 } else { cycles }, held }))
}
