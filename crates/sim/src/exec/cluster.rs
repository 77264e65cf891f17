//! What blocks of a cluster do with each other: loads of each other's shared memory, and barriers for all of them.

use super::issue::illegal;
use super::launch::{Block, Fault, Grid, Sm};
use super::warp::{Warp, lanes};
use crate::ptx::{Fault as TextFault, Inst, Type, cluster_window};

/// A load of the shared memory of blocks of the same cluster, which only the launch as a whole can carry out.
#[derive(Debug)]
pub(crate) struct Remote {
    /// Number of the block that loads, in the whole launch.
    block: u32,
    /// Its warp.
    warp: u32,
    /// Cycle of the issue.
    now: u64,
    /// Slot of what is loaded.
    to: u16,
    kind: Type,
    line: u32,
    /// Lane, block, and place in that block's shared memory.
    from: Vec<(u32, u32, usize)>,
}

impl Remote {
    /// The load that an instruction makes in the lanes of a mask.
    pub(super) fn of(warp: &Warp, inst: &Inst, mask: u32, grid: &Grid, block: u32, now: u64) -> Result<Self, Fault> {
        let Some(clustered) = &grid.clustered else {
            return Err(illegal(grid, inst, "a load by a generic address in a launch without clusters".into()));
        };
        let first = block / clustered.size * clustered.size;
        let place = |lane: u32| {
            let address = warp.get(inst.from[0], lane).wrapping_add(inst.offset as u64);
            match cluster_window(address) {
                Some((rank, at)) if rank < clustered.size => Ok((lane, first + rank, at as usize)),
                _ => Err(illegal(
                    grid,
                    inst,
                    format!("a load by the generic address {address:#x}, which is not in the cluster's shared memory"),
                )),
            }
        };
        let from = lanes(mask).map(place).collect::<Result<_, _>>()?;
        Ok(Remote { block, warp: warp.number, now, to: inst.to, kind: inst.kind, line: inst.line, from })
    }

    /// Carries it out; `by` is the SM of the block that loads, and `placed` has the SM of each block.
    pub(super) fn carry_out(self, sms: &mut [Sm], by: u32, placed: &[u32], grid: &Grid) -> Result<(), Fault> {
        let fault = |what: String| {
            Fault::Illegal(TextFault { line: self.line, what: format!("kernel `{}`: {what}", grid.entry.name) })
        };
        let bytes = usize::from(self.kind.bytes);
        let mut ready = self.now;
        let mut values = Vec::with_capacity(self.from.len());
        for &(lane, block, at) in &self.from {
            let sm = placed.get(block as usize).copied().unwrap_or(by);
            let found = sms[sm as usize].blocks.iter().find(|one| one.number == block);
            let Some(owner) = found else {
                return Err(fault(format!(
                    "block {} reads the shared memory of block {block}, which has ended",
                    self.block
                )));
            };
            let aligned = at.is_multiple_of(bytes);
            let Some(word) = owner.shared.get(at..at + bytes).filter(|_| aligned) else {
                return Err(fault(format!("{bytes}-byte access to {at:#x} of {} B of shared memory", grid.shared)));
            };
            values.push((lane, crate::model::memory::word(word)));
            ready = ready.max(self.now + grid.remote_cycles(by, sm));
        }
        let reader = sms[by as usize].blocks.iter_mut().find(|one| one.number == self.block);
        if let Some(warp) = reader.and_then(|block| block.warps.get_mut(self.warp as usize)) {
            for (lane, value) in values {
                warp.set(self.to, lane, self.kind.wrap(value));
            }
            warp.set_ready(self.to, ready);
        }
        Ok(())
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
        for block in &mut self.blocks {
            block.resume(&cluster_barriers[(block.number / clustered.size) as usize], grid.cluster_barrier);
        }
    }

    /// Whether any of its warps waits for a cluster.
    pub fn waits_for_cluster(&self) -> bool {
        self.blocks.iter().flat_map(|block| &block.warps).any(|warp| !warp.at_cluster_barrier.is_empty())
    }
}
