//! What blocks of a cluster do with each other: accesses to each other's shared memory and mbarriers, copies for several of them, and
//! barriers for all of them.

use super::access::Owner;
use super::copies::{Asks, moved};
use super::issue::illegal;
use super::launch::{Block, Fault, Grid, State};
use super::shared;
use super::sm::Sm;
use super::warp::{Warp, lanes};
use crate::ptx::{Copying, Inst, Op, Space, cluster_address, cluster_window};

/// An access to the shared memory of blocks of the same cluster, which only the launch as a whole can carry out.
pub(crate) struct Remote {
    /// Who accesses.
    owner: Owner,
    /// Cycle of the issue.
    now: u64,
    /// The instruction.
    at: u32,
    /// Lane, block, and place in that block's shared memory.
    places: Vec<(u32, u32, u64)>,
}

impl Remote {
    /// The access that an instruction makes in the lanes of a mask.
    pub(super) fn of(
        warp: &Warp,
        (at, inst): (u32, &Inst),
        mask: u32,
        grid: &Grid,
        owner: Owner,
        now: u64,
    ) -> Result<Self, Fault> {
        let Some(clustered) = &grid.clustered else {
            let what = "an access to the shared memory of a cluster in a launch without clusters";
            return Err(illegal(grid, inst, what.into()));
        };
        let first = owner.block / clustered.size * clustered.size;
        if inst.op == Op::Copy(Copying::Multicast) {
            if let Some(lane) = lanes(mask).find(|&lane| warp.get(inst.more[0], lane) >> clustered.size != 0) {
                let wanted = warp.get(inst.more[0], lane);
                let what = format!("a copy for the blocks {wanted:#x} of a cluster of {}", clustered.size);
                return Err(illegal(grid, inst, what));
            }
            let receivers = |lane: u32| {
                let (at, wanted) = (warp.get(inst.from[0], lane), warp.get(inst.more[0], lane));
                (0..clustered.size)
                    .filter(move |rank| wanted >> rank & 1 == 1)
                    .map(move |rank| (lane, first + rank, at))
            };
            return Ok(Remote { owner, now, at, places: lanes(mask).flat_map(receivers).collect() });
        }
        let is_generic = matches!(inst.op, Op::Load(Space::Generic) | Op::Store(Space::Generic));
        let place = |lane: u32| {
            let address = warp.get(inst.from[0], lane).wrapping_add(inst.offset as u64);
            match cluster_window(if is_generic { address } else { cluster_address(address) }) {
                Some((rank, at)) if rank < clustered.size => Ok((lane, first + rank, at)),
                _ => Err(illegal(
                    grid,
                    inst,
                    format!("an access to the address {address:#x}, which is not in the cluster's shared memory"),
                )),
            }
        };
        let places = lanes(mask).map(place).collect::<Result<_, _>>()?;
        Ok(Remote { owner, now, at, places })
    }

    /// Carries it out; `by` is the SM of the block that accesses, and `placed` has the SM of each block.
    pub(super) fn carry_out(
        self,
        sms: &mut [Sm],
        by: u32,
        placed: &[u32],
        state: &mut State,
        grid: &Grid,
    ) -> Result<(), Fault> {
        let inst = &grid.entry.code[self.at as usize];
        match inst.op {
            Op::Copy(_) => return self.multicast(inst, sms, placed, state, grid),
            Op::RemoteArrive => return self.arrive(inst, sms, placed, grid),
            _ => {}
        }
        let bytes = u64::from(inst.kind.bytes) * inst.elements() as u64;
        let (mut ready, mut held) = (self.now, 0);
        for of_block in self.places.chunk_by(|(_, one, _), (_, other, _)| one == other) {
            let block = of_block[0].1;
            let sm = placed.get(block as usize).copied().unwrap_or(by);
            let Some(owner) = sms[sm as usize].block_mut(block) else {
                return Err(self.has_ended(inst, block, grid));
            };
            // The owner may be the block itself.
            let mut memory = std::mem::take(&mut owner.shared);
            let done = self.on(&mut memory, of_block, sms[by as usize].block_mut(self.owner.block), inst, grid);
            if let Some(owner) = sms[sm as usize].block_mut(block) {
                owner.shared = memory;
            }
            done?;
            let waited = match sm == by {
                true => 0,
                false => state.turns[sm as usize].remote.wait(self.now, bytes * of_block.len() as u64),
            };
            let longer = if sm != by && matches!(inst.op, Op::Atomic(..)) { grid.remote_atomic } else { 0 };
            ready = ready.max(self.now + waited + grid.remote_cycles(by, sm) + longer);
            held = held.max(waited);
        }
        let accessing = &mut sms[by as usize];
        let Some(block) = accessing.block_mut(self.owner.block) else { return Ok(()) };
        let warp = &mut block.warps[self.owner.by.warp as usize];
        inst.results().for_each(|slot| warp.set_ready(slot, ready));
        // Nobody waits for a store but the next one.
        if matches!(inst.op, Op::Store(_)) {
            let time = warp.time + held;
            accessing.set_time((self.owner.block, self.owner.by.warp), time);
        }
        Ok(())
    }

    fn has_ended(&self, inst: &Inst, block: u32, grid: &Grid) -> Fault {
        let what = format!("block {} accesses the shared memory of block {block}, which has ended", self.owner.block);
        illegal(grid, inst, what)
    }

    /// Arrives at mbarriers of other blocks.
    fn arrive(self, inst: &Inst, sms: &mut [Sm], placed: &[u32], grid: &Grid) -> Result<(), Fault> {
        let by = self.owner.by.sm;
        for &(_, block, at) in &self.places {
            let sm = placed.get(block as usize).copied().unwrap_or(by);
            let Some(receiver) = sms[sm as usize].block_mut(block) else {
                return Err(self.has_ended(inst, block, grid));
            };
            let unknown = || illegal(grid, inst, format!("there is no mbarrier at {at:#x} of block {block}"));
            let there = self.now + grid.remote_cycles(by, sm);
            receiver.mbarriers.get_mut(&at).ok_or_else(unknown)?.arrive(0, there);
        }
        Ok(())
    }

    /// Copies from global memory into the shared memory of several blocks, and says so to the mbarrier of each. It is loaded once, as by a bulk
    /// copy for the block that asks.
    fn multicast(
        self,
        inst: &Inst,
        sms: &mut [Sm],
        placed: &[u32],
        state: &mut State,
        grid: &Grid,
    ) -> Result<(), Fault> {
        let by = self.owner.by.sm;
        for of_lane in self.places.chunk_by(|(one, ..), (other, ..)| one == other) {
            let (lane, _, at) = of_lane[0];
            let Some(block) = sms[by as usize].block_mut(self.owner.block) else { return Ok(()) };
            let warp = &block.warps[self.owner.by.warp as usize];
            let [_, from, bytes, mbarrier] = inst.from.map(|slot| warp.get(slot, lane));
            // It goes to the same place in all of them, and lies there for a moment in the block that asks, which may be none of them.
            let range = at as usize..at.saturating_add(bytes) as usize;
            let before = block.shared.get(range.clone()).unwrap_or_default().to_vec();
            let begin = self.now + grid.copies.bulk;
            let own = &mut block.shared;
            let loaded = moved(inst, (from, at, bytes), Asks::Load, own, self.owner, (state, grid), begin)?;
            let part = own[range.clone()].to_vec();
            own[range.clone()].copy_from_slice(&before);
            for &(_, block, _) in of_lane {
                let sm = placed.get(block as usize).copied().unwrap_or(by);
                let Some(receiver) = sms[sm as usize].block_mut(block) else {
                    return Err(self.has_ended(inst, block, grid));
                };
                receiver.shared[range.clone()].copy_from_slice(&part);
                let done = loaded + state.turns[sm as usize].multicast.wait(loaded, bytes);
                let unknown = || illegal(grid, inst, format!("there is no mbarrier at {mbarrier:#x} of block {block}"));
                receiver.mbarriers.get_mut(&mbarrier).ok_or_else(unknown)?.bring(bytes, done);
            }
        }
        Ok(())
    }

    /// Does in the memory of one block what these lanes of the block that accesses do.
    fn on(
        &self,
        memory: &mut [u8],
        places: &[(u32, u32, u64)],
        accessing: Option<&mut Block>,
        inst: &Inst,
        grid: &Grid,
    ) -> Result<(), Fault> {
        let Some(warp) = accessing.and_then(|block| block.warps.get_mut(self.owner.by.warp as usize)) else {
            return Ok(());
        };
        places.iter().try_for_each(|&(lane, _, at)| shared::lane(warp, inst, lane, at, memory, grid))
    }
}

/// The barrier of a cluster.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClusterBarrier {
    /// Threads that have not ended.
    live: u32,
    /// Those of them that have arrived, and the latest arrival.
    arrived: u32,
    latest: u64,
    /// Its phase, counted from 0, and the cycle at which the last one ended: that of the last arrival.
    pub phase: u64,
    pub at: u64,
}

impl ClusterBarrier {
    /// Of so many threads.
    pub fn of(threads: u32) -> Self {
        ClusterBarrier { live: threads, ..ClusterBarrier::default() }
    }

    /// Lets threads arrive; whether all have.
    pub fn arrive(&mut self, threads: u32, now: u64) -> bool {
        self.arrived += threads;
        self.latest = self.latest.max(now);
        self.complete()
    }

    /// Lets threads end, of which so many have arrived before; whether all that are left have.
    pub fn end(&mut self, threads: u32, arrived: u32, now: u64) -> bool {
        self.live -= threads;
        self.arrived -= arrived;
        if self.arrived == 0 {
            return false;
        }
        self.latest = self.latest.max(now);
        self.complete()
    }

    fn complete(&mut self) -> bool {
        let is_complete = self.arrived == self.live;
        if is_complete {
            (self.arrived, self.at) = (0, self.latest);
            self.phase += 1;
        }
        is_complete
    }
}

impl Block {
    /// Lets warps go on that wait for the end of a phase that has ended.
    fn resume(&mut self, barrier: &ClusterBarrier, cycles: u64) {
        for warp in
            self.warps.iter_mut().filter(|warp| !warp.at_cluster_barrier.is_empty() && warp.phase < barrier.phase)
        {
            warp.time = warp.time.max(barrier.at + cycles);
            let waiting = std::mem::take(&mut warp.at_cluster_barrier);
            warp.groups.extend(waiting);
            warp.unite();
        }
    }
}

impl Sm {
    /// The same for all of its blocks.
    pub fn resume(&mut self, cluster_barriers: &[ClusterBarrier], grid: &Grid) {
        let Some(clustered) = &grid.clustered else { return };
        for block in self.blocks_mut() {
            block.resume(&cluster_barriers[(block.number / clustered.size) as usize], grid.cluster_barrier);
        }
    }

    /// Whether any of its warps waits for a cluster.
    pub fn waits_for_cluster(&self) -> bool {
        self.blocks().iter().flat_map(|block| &block.warps).any(|warp| !warp.at_cluster_barrier.is_empty())
    }
}
