//! Blocks that stay on their SMs for a set time: what streams and atomics have in common.

use super::WARP;
use crate::samples::{Lap, Samples};

/// Longest time that they may stay, in cycles: a few milliseconds, far below a display's watchdog.
pub(super) const MOST_CYCLES: u32 = 1 << 24;
/// Threads of a block that a launch can state.
const MOST_THREADS: u32 = 1024;
/// Most blocks that an SM can hold.
const MOST_BLOCKS: u32 = 64;

/// Which blocks are at work, and when what they do counts.
pub(super) struct Blocks<'e> {
    /// Threads of a block.
    pub threads: u32,
    /// Blocks on each SM.
    pub per_sm: u32,
    /// SMs at work; all when empty.
    pub sms: &'e [u32],
    /// Cycles before it counts.
    pub warm: u32,
    /// Cycles for which it counts.
    pub timed: u32,
}

impl Blocks<'_> {
    /// SMs that are at work, of so many.
    pub fn workers(&self, sms: usize) -> Vec<u32> {
        if self.sms.is_empty() { (0..sms as u32).collect() } else { self.sms.to_vec() }
    }

    /// What makes them impossible, if anything does. `they_take` are the words for whose cycles are too many or none.
    pub fn defect(&self, they_take: &str) -> Option<String> {
        let threads = self.threads;
        if !(1..=MOST_THREADS).contains(&threads) || !threads.is_multiple_of(WARP as u32) {
            return Some(format!("{threads} threads: a block has whole warps and {MOST_THREADS} threads at most"));
        }
        if !(1..=MOST_BLOCKS).contains(&self.per_sm) {
            return Some(format!("{} blocks: an SM holds 1 to {MOST_BLOCKS}", self.per_sm));
        }
        if self.timed == 0 || self.warm.saturating_add(self.timed) > MOST_CYCLES {
            return Some(format!(
                "{} cycles after {}: {they_take} at least one and {MOST_CYCLES} at most",
                self.timed, self.warm
            ));
        }
        (!self.sms.is_sorted_by(|a, b| a < b)).then(|| "its SMs must be in ascending order, each once".to_owned())
    }

    /// `2 blocks of 512 threads on all SMs`.
    pub fn in_words(&self) -> String {
        let sms = match self.sms.len() {
            0 => "all SMs".to_owned(),
            1 => "one SM".to_owned(),
            some => format!("{some} SMs"),
        };
        format!("{} on {sms}", self.on_each())
    }

    /// Those of an SM: `2 blocks of 512 threads`.
    pub fn on_each(&self) -> String {
        let blocks = if self.per_sm == 1 { "block" } else { "blocks" };
        format!("{} {blocks} of {} threads", self.per_sm, self.threads)
    }

    /// What their samples say, if a pass of a warp is worth `each`.
    pub fn counted(&self, each: f64, samples: &Samples) -> Option<Counted> {
        let blocks = self.per_sm as usize;
        if samples.laps.is_empty() || !samples.laps.len().is_multiple_of(blocks) {
            return None;
        }
        let rate = |lap: &Lap| f64::from(lap.loads) * each / lap.cycles.max(1) as f64;
        let per_clk = samples.laps.chunks(blocks).map(|own| own.iter().map(rate).sum()).collect();
        let (cycles, nanoseconds) =
            samples.clocks.iter().fold((0, 0), |(c, n), span| (c + span.cycles, n + span.nanoseconds));
        Some(Counted { per_clk, clock_ghz: (nanoseconds > 0).then(|| cycles as f64 / nanoseconds as f64) })
    }
}

/// Blocks that stay on their SMs, of which the passes count that end within a set time. Samples hold, for each block, SM after SM, the
/// passes of all its warps that count and the cycles for which they did (`laps`), and the life of the block by both clocks (`clocks`).
pub trait Persistent {
    /// What the samples of this experiment say; nothing if they are not of it.
    fn counted(&self, samples: &Samples) -> Option<Counted>;

    /// Cycles for which it counts.
    fn timed_cycles(&self) -> u32;
}

/// What blocks did that stay on their SMs: bytes that a [`Stream`](super::Stream) moved, or additions that
/// [`Atomics`](super::Atomics) made.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// In a cycle, by each SM at work, in their order.
    pub per_clk: Vec<f64>,
    /// The SM clock while it ran, in cycles a nanosecond, the mean over all blocks; none if the timer stood still.
    pub clock_ghz: Option<f64>,
}

impl Counted {
    /// In a cycle, by all SMs at work together.
    pub fn total(&self) -> f64 {
        self.per_clk.iter().sum()
    }

    /// In a cycle, by one SM, the mean of those at work.
    pub fn per_sm(&self) -> f64 {
        self.total() / self.per_clk.len() as f64
    }
}
