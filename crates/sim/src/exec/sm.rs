//! An SM: its blocks, and which of their warps issues next.

use super::issue::Step;
use super::launch::{Block, Fault, Grid, State, stuck};
use super::order::{Next, Order};
use super::walk::Bounds;
use super::warp::Warp;

/// An SM with its blocks.
pub(super) struct Sm {
    /// Its number.
    pub number: u32,
    blocks: Vec<Block>,
    /// Its warps by the times of their next issues; to be made anew unless `is_ordered`.
    order: Order,
    is_ordered: bool,
}

/// How far an SM got.
pub(super) enum Turn {
    /// It must wait for its turn at this cycle.
    Wait(u64),
    /// A block ended, at this cycle.
    BlockEnded(u64),
    /// Something is to be done that concerns other SMs, or there is nothing to do until others arrive at a barrier.
    Paused,
}

impl Sm {
    /// Without blocks.
    pub fn new(number: u32) -> Self {
        Sm { number, blocks: Vec::new(), order: Order::default(), is_ordered: false }
    }

    /// Its blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Its blocks, to be changed.
    pub fn blocks_mut(&mut self) -> &mut Vec<Block> {
        self.is_ordered = false;
        &mut self.blocks
    }

    /// One of its blocks, if it has not ended. The times of its warps are set by [`Sm::set_time`].
    pub fn block_mut(&mut self, number: u32) -> Option<&mut Block> {
        self.blocks.iter_mut().find(|block| block.number == number)
    }

    /// The warps in order.
    fn ordered(&mut self) -> &mut Order {
        if !self.is_ordered {
            let warps = self.blocks.first().map_or(0, |block| block.warps.len());
            let times = self.blocks.iter().flat_map(|block| &block.warps).map(Warp::next_time);
            self.order.rebuild(self.blocks.len(), warps, times);
            self.is_ordered = true;
        }
        &mut self.order
    }

    /// The cycle of the next issue; it is never reached if no warp issues by itself.
    pub fn next_time(&mut self) -> u64 {
        self.ordered().next_time()
    }

    /// Sets the cycle at which a warp of a block goes on, if that is here.
    pub fn set_time(&mut self, (number, warp): (u32, u32), time: u64) {
        let warp = warp as usize;
        let Some(block) = self.blocks.iter().position(|one| one.number == number) else { return };
        self.blocks[block].warps[warp].time = time;
        let next = self.blocks[block].warps[warp].next_time();
        self.ordered().set(block, warp, next);
    }

    /// Runs until it must wait for its turn or a block ends.
    pub fn run(&mut self, state: &mut State, grid: &Grid, horizon: u64, left: &mut u64) -> Result<Turn, Fault> {
        loop {
            let Some(Next { block: b, warp: w, others }) = self.ordered().next() else {
                if self.waits_for_cluster() {
                    return Ok(Turn::Paused);
                }
                // Threads of one block wait at a barrier for others that wait elsewhere.
                return Err(stuck(grid, "waits at a barrier that not all threads can reach"));
            };
            let block = &mut self.blocks[b];
            let bounds = Bounds { others, horizon };
            let step = loop {
                if grid.walks {
                    match block.walk(w, self.number, state, grid, bounds, left)? {
                        Step::Issued if block.warps[w].time < others => {}
                        step => break step,
                    }
                }
                if *left == 0 {
                    return Err(Fault::Endless(grid.budget));
                }
                let step = block.issue(w, self.number, state, grid, bounds)?;
                *left -= u64::from(!matches!(step, Step::Wait(_) | Step::Later | Step::Blocked(_)));
                if step != Step::Issued || block.warps[w].time >= others {
                    break step;
                }
            };
            self.order.set(b, w, block.warps[w].next_time());
            match step {
                Step::Wait(time) => return Ok(Turn::Wait(time)),
                Step::Ended if block.live == 0 => {
                    let time = block.warps.iter().map(|warp| warp.time).max().unwrap_or(0);
                    self.blocks_mut().swap_remove(b);
                    return Ok(Turn::BlockEnded(time));
                }
                Step::Ended | Step::Barrier => self.is_ordered = !block.release(grid.barrier),
                Step::Blocked(until) => {
                    let who = (block.number, w as u32);
                    self.park(who, until, state);
                }
                Step::Gone => self.wake(state),
                Step::Shared => return Ok(Turn::Paused),
                Step::Issued | Step::Later => {}
            }
        }
    }
}
