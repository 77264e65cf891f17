//! Many threads that add to counters by atomics as fast as they can.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::persistent::{Blocks, Counted, Persistent};
use super::{LoadPath, WARP};
use crate::samples::Samples;
use crate::units::Bytes;

/// Where the counters are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtomicMemory {
    /// In global memory, of all SMs together: the L2 carries the atomics out.
    Global,
    /// In shared memory, of each block for itself.
    Shared,
}

/// To which counters the threads add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// Each thread has words of its own.
    Spread,
    /// Each lane has a word of 32 that all warps share: one line of 128 bytes.
    OneLine,
    /// All threads share one word.
    OneAddress,
    /// All threads share one word. A warp sums up first, and one of its lanes adds for all of them.
    Aggregated,
}

impl Target {
    /// Every one.
    pub const ALL: [Target; 4] = [Target::Spread, Target::OneLine, Target::OneAddress, Target::Aggregated];

    /// Whether warps sum up before the atomic.
    pub const fn is_aggregated(self) -> bool {
        matches!(self, Target::Aggregated)
    }

    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Target::Spread => "to words of each thread",
            Target::OneLine => "to the words of one line",
            Target::OneAddress => "to one word",
            Target::Aggregated => "summed up by warps, to one word",
        }
    }
}

/// Independent atomics of a thread in one pass of the loop that there are kernels for.
pub const ATOMIC_UNROLLS: [u32; 2] = [1, 4];
/// Bytes of a counter.
pub const COUNTER: Bytes = Bytes(4);

/// Blocks stay on their SMs and add 1 to counters until a time is over. Nobody waits for the old value, as in a histogram. Begin, end
/// and what counts are those of a [`Stream`](super::Stream).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Atomics {
    /// Where the counters are.
    pub memory: AtomicMemory,
    /// To which of them the threads add.
    pub target: Target,
    /// Independent atomics of a thread in each pass of its loop: one of [`ATOMIC_UNROLLS`].
    pub unroll: u32,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Blocks on each SM.
    pub blocks_per_sm: u32,
    /// SMs at work, counted from 0 in ascending `%smid`; all when empty.
    pub sms: Vec<u32>,
    /// Cycles before additions count.
    pub warm_cycles: u32,
    /// Cycles for which they count.
    pub timed_cycles: u32,
    /// Tells repetitions of one experiment apart.
    pub repeat: u32,
}

impl Atomics {
    /// By which path the counters are reached.
    pub const fn path(&self) -> LoadPath {
        match self.memory {
            AtomicMemory::Global => LoadPath::Atomic,
            AtomicMemory::Shared => LoadPath::Shared,
        }
    }

    /// Additions of a warp in one pass of its loop, as the program counts them: those of all lanes, also where one lane adds for all.
    pub const fn additions(&self) -> u32 {
        WARP as u32 * self.unroll
    }

    /// Counters that the warps of so many blocks add to.
    pub fn counters(&self, blocks: u64) -> u64 {
        match self.target {
            Target::Spread => blocks * u64::from(self.threads_per_block * self.unroll),
            Target::OneLine => WARP as u64,
            Target::OneAddress | Target::Aggregated => 1,
        }
    }

    /// Bytes of the counters of one block.
    pub fn footprint(&self) -> Bytes {
        COUNTER * self.counters(1)
    }

    fn blocks(&self) -> Blocks<'_> {
        Blocks {
            threads: self.threads_per_block,
            per_sm: self.blocks_per_sm,
            sms: &self.sms,
            warm: self.warm_cycles,
            timed: self.timed_cycles,
        }
    }

    /// SMs that are at work, of so many.
    pub fn workers(&self, sms: usize) -> Vec<u32> {
        self.blocks().workers(sms)
    }

    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        if !ATOMIC_UNROLLS.contains(&self.unroll) {
            return Some(format!("{} atomics in a pass: there are kernels for {ATOMIC_UNROLLS:?}", self.unroll));
        }
        self.blocks().defect("atomics take")
    }
}

impl fmt::Display for Atomics {
    /// `red.global.add to one word, 4 a pass, 2 blocks of 512 threads on all SMs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let space = match self.memory {
            AtomicMemory::Global => "global",
            AtomicMemory::Shared => "shared",
        };
        let (target, unroll, blocks) = (self.target.name(), self.unroll, self.blocks().in_words());
        write!(f, "red.{space}.add {target}, {unroll} a pass, {blocks}")
    }
}

impl Persistent for Atomics {
    /// In additions.
    fn counted(&self, samples: &Samples) -> Option<Counted> {
        self.blocks().counted(f64::from(self.additions()), samples)
    }

    fn timed_cycles(&self) -> u32 {
        self.timed_cycles
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{ClockSpan, Lap};

    fn atomics() -> Atomics {
        Atomics {
            memory: AtomicMemory::Global,
            target: Target::Spread,
            unroll: 4,
            threads_per_block: 64,
            blocks_per_sm: 2,
            sms: Vec::new(),
            warm_cycles: 100,
            timed_cycles: 1000,
            repeat: 0,
        }
    }

    #[test]
    fn additions_are_counted_as_the_program_counts_them() {
        // 128 additions a pass: 10 passes in 1280 cycles are one a cycle and block.
        let clocks = vec![ClockSpan { cycles: 3000, nanoseconds: 1500 }; 4];
        let samples = Samples { laps: vec![Lap { loads: 10, cycles: 1280 }; 4], clocks, ..Samples::default() };
        for target in Target::ALL {
            let added = Atomics { target, ..atomics() }.counted(&samples).unwrap();
            assert_eq!((added.total(), added.per_sm(), added.clock_ghz), (4.0, 2.0, Some(2.0)));
        }
        assert_eq!(atomics().counted(&Samples::default()), None);
    }

    #[test]
    fn each_target_has_its_counters() {
        let counters = |target| Atomics { target, ..atomics() }.counters(6);
        assert_eq!(Target::ALL.map(counters), [6 * 64 * 4, 32, 1, 1]);
        assert_eq!(atomics().footprint(), Bytes::kib(1));
    }

    #[test]
    fn what_no_kernel_can_do_is_refused() {
        assert_eq!(atomics().defect(), None);
        for (wrong, words) in [
            (Atomics { unroll: 3, ..atomics() }, "3 atomics"),
            (Atomics { threads_per_block: 48, ..atomics() }, "whole warps"),
            (Atomics { blocks_per_sm: 0, ..atomics() }, "0 blocks"),
            (Atomics { timed_cycles: 0, ..atomics() }, "at least one"),
            (Atomics { sms: vec![3, 1], ..atomics() }, "ascending"),
        ] {
            let defect = wrong.defect().unwrap();
            assert!(defect.contains(words), "{defect}");
        }
    }
}
