//! One launch: the blocks on SMs, and the order of their execution.
//!
//! SMs run ahead of each other as long as they touch nothing that they share. What they share is touched in the order of
//! time: before such an access an SM that is ahead waits for its turn. So a launch gives the same result each time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::cluster::{ClusterBarrier, Remote};
use super::copies::{CopyCosts, Mbarriers};
use super::passes::Passes;
use super::place::{Clustered, Pending};
use super::sm::{Sm, Turn};
use super::turns::Turns;
use super::warp::{LANES, Warp};
use crate::model::atomics::Lines;
use crate::model::banks::Banks;
use crate::model::clock::{Clock, Slices};
use crate::model::hierarchy::Hierarchy;
use crate::model::instructions::Instructions;
use crate::model::link::Link;
use crate::model::memory::Memory;
use crate::model::ports::Width;
use crate::model::texture::Texels;
use crate::ptx::{Entry, Fault as TextFault};

/// Between two launches, in cycles: about what a driver takes.
const BETWEEN: u64 = 5000;

/// What a machine has and kernels change.
pub(crate) struct State {
    /// Device memory.
    pub memory: Memory,
    /// Caches.
    pub hierarchy: Hierarchy,
    /// Instruction caches.
    pub instructions: Instructions,
    /// Clock.
    pub clock: Clock,
    /// Allocations: first address and bytes, ascending.
    pub allocations: Vec<(u64, u64)>,
    /// Place of the allocation that was accessed last; it may be gone.
    pub last_allocation: usize,
    /// Textures, by handle.
    pub textures: FxHashMap<u64, Texels>,
    /// Lines of the device's cache, by the atomics on them.
    pub atomics: Lines,
    /// Of each SM, the cycle from which its shared memory takes the next request with atomics.
    pub shared_free: Vec<u64>,
    /// Of each SM, what its warps have in turn.
    pub turns: Vec<Turns>,
    /// Bank conflicts of the access to shared memory that was reckoned last.
    pub passes: Passes,
    /// The bus to the host: what comes from there, and what goes there.
    pub bus: [Width; 2],
    /// The link to another GPU, if its memory can be reached.
    pub link: Option<Link>,
    /// The barriers of clusters, and whether a phase of one has just ended.
    pub cluster_barriers: Vec<ClusterBarrier>,
    pub phase_ended: bool,
    /// An access to another block's shared memory that is to be carried out.
    pub remote: Option<Remote>,
    /// Cycles since the machine was switched on.
    pub now: u64,
    /// Another process that has the device in turn with this one.
    pub slices: Slices,
}

/// What lanes of a warp cost each other that do not want the same, or that want it for themselves. In cycles, but for the first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneCosts {
    /// Bytes of a transaction of a request to a cache of the SM.
    pub coalescing: u64,
    /// For each further transaction.
    pub transaction: u64,
    /// For each further word of constant memory.
    pub constant_word: u64,
    /// For the mean of texels that a texture load gives, beside the load.
    pub filtering: u64,
    /// For each further lane whose atomic is on a word of global memory that another lane's is on.
    pub atomic: u64,
    /// For which a request with atomics occupies its line of the device's cache.
    pub atomic_line: u64,
    /// For each further lane whose atomic is on a word of shared memory that another lane's is on.
    pub shared_atomic: u64,
    /// For which a request with atomics and without conflicts occupies shared memory.
    pub shared_request: u64,
}

/// What a launch is made of.
pub(crate) struct Grid<'a> {
    /// The kernel.
    pub entry: &'a Entry,
    /// Slots that hold addresses of module variables.
    pub symbols: Vec<(u16, u64)>,
    /// Device address of the module's constants.
    pub constants: u64,
    /// Parameters, one word each.
    pub parameters: &'a [u64],
    /// Blocks.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Shared memory of a block, in bytes.
    pub shared: u64,
    /// How its blocks come in clusters, if they do.
    pub clustered: Option<Clustered>,
    /// SMs.
    pub sms: u32,
    /// Blocks that an SM may hold at a time.
    pub resident: u32,
    /// Cycles of the pipeline: result of arithmetic, distance of issues.
    pub pipeline: [u64; 2],
    /// Cycles of a barrier after the last arrival, for the warps of a block.
    pub barrier: u64,
    /// Cycles of a barrier of a cluster after the last arrival.
    pub cluster_barrier: u64,
    /// Latency of another block's shared memory, and what each place of an SM in its GPC adds, at both ends.
    pub remote: [u64; 2],
    /// What an atomic there takes longer than a load.
    pub remote_atomic: u64,
    /// What copies take that go on by themselves.
    pub copies: CopyCosts,
    /// Latency of shared memory, and cycles for each further row of a bank.
    pub shared_cycles: [u64; 2],
    /// Banks of shared memory.
    pub banks: Banks,
    /// What lanes cost each other.
    pub lanes: LaneCosts,
    /// Latency of pinned host memory.
    pub host: u64,
    /// Instructions after which the kernel is stopped.
    pub budget: u64,
    /// Where its code lies, and how many bytes of it are fetched at a time; none where fetching takes no time.
    pub fetched: Option<(u64, u64)>,
    /// Warps wait for what an SM has once, so that they must issue in the order of time.
    pub queued: bool,
    /// Lanes that go on alone, and the loops of chases that they are in, are carried out as a whole.
    pub walks: bool,
}

/// Why a launch failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The kernel did something that cannot be done, at a line of its text.
    Illegal(TextFault),
    /// The kernel did not end.
    Endless(u64),
    /// The simulation would need too much memory.
    Memory,
}

/// A block on an SM.
pub(super) struct Block {
    pub number: u32,
    pub shared: Vec<u8>,
    pub warps: Vec<Warp>,
    /// Threads that have not ended.
    pub live: u32,
    /// Threads that wait at the barrier, and the latest arrival.
    pub arrived: (u32, u64),
    /// Its mbarriers.
    pub mbarriers: Mbarriers,
}

/// Runs a launch to its end.
pub(crate) fn run(state: &mut State, grid: &Grid) -> Result<(), Fault> {
    let begin = state.now + BETWEEN;
    state.atomics.begin();
    let mut pending = Pending::new(grid);
    let mut sms: Vec<Sm> = (0..grid.sms).map(Sm::new).collect();
    pending.begin(&mut sms, begin);
    let mut queue: BinaryHeap<Reverse<(u64, u32)>> =
        sms.iter().filter(|sm| !sm.blocks().is_empty()).map(|sm| Reverse((begin, sm.number))).collect();
    let clusters = grid.clustered.as_ref().map_or(0, |clustered| grid.blocks / clustered.size);
    let threads = grid.clustered.as_ref().map_or(0, |clustered| clustered.size * grid.threads);
    state.cluster_barriers = vec![ClusterBarrier::of(threads); clusters as usize];
    (state.phase_ended, state.remote) = (false, None);
    let mut asleep = vec![false; grid.sms as usize];
    let mut end = begin;
    let mut left = grid.budget;
    let mut turn = queue.pop();
    while let Some(Reverse((_, number))) = turn {
        let horizon = queue.peek().map_or(u64::MAX, |Reverse((time, _))| *time);
        let sm = &mut sms[number as usize];
        turn = match sm.run(state, grid, horizon, &mut left)? {
            Turn::Wait(time) => Some(exchanged(&mut queue, Reverse((time, number)))),
            Turn::Paused => {
                if let Some(remote) = state.remote.take() {
                    remote.carry_out(&mut sms, number, pending.placed(), state, grid)?;
                }
                if std::mem::take(&mut state.phase_ended) {
                    resume(state, grid, &mut sms, &mut asleep, &mut queue);
                }
                let next = sms[number as usize].next_time();
                asleep[number as usize] = next == u64::MAX;
                if next < u64::MAX {
                    queue.push(Reverse((next, number)));
                }
                queue.pop()
            }
            Turn::BlockEnded(time) => {
                end = end.max(time);
                let woken = pending.refill(&mut sms, number, time);
                queue.extend(woken.into_iter().map(|sm| Reverse((time, sm))));
                // An end may be what others wait for, and those that were asleep may have a new block.
                state.phase_ended = false;
                if grid.clustered.is_some() {
                    resume(state, grid, &mut sms, &mut asleep, &mut queue);
                }
                let sm = &mut sms[number as usize];
                if !sm.blocks().is_empty() {
                    let next = sm.next_time();
                    asleep[number as usize] = next == u64::MAX;
                    if next < u64::MAX || !sm.waits_for_cluster() {
                        queue.push(Reverse((next, number)));
                    }
                }
                queue.pop()
            }
        };
    }
    if sms.iter().any(Sm::waits_for_cluster) {
        return Err(stuck(grid, "waits at the barrier of a cluster that not all blocks reach"));
    }
    state.now = end;
    Ok(())
}

/// Lets those go on whose cluster's barrier has ended a phase, and wakes the SMs that had nothing to do.
fn resume(
    state: &State,
    grid: &Grid,
    sms: &mut [Sm],
    asleep: &mut [bool],
    queue: &mut BinaryHeap<Reverse<(u64, u32)>>,
) {
    for sm in sms {
        sm.resume(&state.cluster_barriers, grid);
        let next = sm.next_time();
        if asleep[sm.number as usize] && next < u64::MAX {
            asleep[sm.number as usize] = false;
            queue.push(Reverse((next, sm.number)));
        }
    }
}

/// A kernel that cannot go on.
pub(super) fn stuck(grid: &Grid, what: &str) -> Fault {
    let line = grid.entry.code.first().map_or(0, |i| i.line);
    Fault::Illegal(TextFault { line, what: format!("kernel `{}` {what}", grid.entry.name) })
}

impl Grid<'_> {
    /// The number of a block's cluster, in a launch of clusters.
    pub fn cluster_of(&self, block: u32) -> Option<usize> {
        self.clustered.as_ref().map(|clustered| (block / clustered.size) as usize)
    }

    /// Cycles of an access by one SM to the shared memory of a block on another.
    pub fn remote_cycles(&self, by: u32, of: u32) -> u64 {
        let Some(clustered) = self.clustered.as_ref().filter(|_| by != of) else { return self.shared_cycles[0] };
        let [base, step] = self.remote;
        base + step * u64::from(clustered.places[by as usize] + clustered.places[of as usize])
    }
}

/// Puts somebody into a queue and takes the first out, in one step.
fn exchanged<T: Ord>(queue: &mut BinaryHeap<T>, mut one: T) -> T {
    if let Some(mut first) = queue.peek_mut()
        && *first > one
    {
        std::mem::swap(&mut *first, &mut one);
    }
    one
}

impl Block {
    pub fn new(grid: &Grid, number: u32, time: u64) -> Self {
        let warps = (0..grid.threads.div_ceil(LANES))
            .map(|w| Warp::new(grid.entry, &grid.symbols, w, LANES.min(grid.threads - w * LANES), time))
            .collect();
        Block {
            number,
            shared: vec![0; grid.shared as usize],
            warps,
            live: grid.threads,
            arrived: (0, 0),
            mbarriers: Mbarriers::new(),
        }
    }

    /// Lets everybody go on if everybody has arrived; whether they have.
    pub fn release(&mut self, barrier: u64) -> bool {
        let (count, latest) = self.arrived;
        if count == 0 || count < self.live {
            return false;
        }
        self.arrived = (0, 0);
        for warp in &mut self.warps {
            if !warp.waiting.is_empty() {
                warp.time = warp.time.max(latest + barrier);
                let waiting = std::mem::take(&mut warp.waiting);
                warp.groups.extend(waiting);
                warp.unite();
            }
        }
        true
    }
}
