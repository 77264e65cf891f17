//! The access patterns whose cost `strata characterize` measures.
//!
//! A pattern is data, like the chases of [`crate::experiment`]: it says what every thread does, not how it is launched or what
//! is inferred from it. `limits` says which ones there may be.

mod kinds;
mod limits;

pub use kinds::{Counters, Layout, LoadedFrom, Operand, OperandsIn, Sampling, Scope, TILE, TILE_3D, Walk2d, Walk3d};
pub use limits::{MOST_BURST, MOST_VARIABLES};

use serde::{Deserialize, Serialize};

use crate::experiment::WARP;
use crate::units::Bytes;

/// What the threads do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// One thread makes pairs of loads of a byte, each waiting for the one before: `large` from pair to pair, `small` within
    /// it (Fuchs et al., section 3.4.1). By the experiment's path; each load is timed.
    Pairs {
        /// Pairs of loads.
        pairs: u32,
        /// From the first load of a pair to the second.
        small: Bytes,
        /// From pair to pair.
        large: Bytes,
    },
    /// All threads write the same elements of four bytes, one after the other, and wait after every few (Fuchs et al.,
    /// section 3.4.2).
    Barriers {
        /// Threads of a block.
        threads: u32,
        /// Blocks.
        blocks: u32,
        /// Elements that each writes.
        writes: u32,
        /// Writes before each barrier; divides `writes`.
        between: u32,
        /// Who waits.
        scope: Scope,
    },
    /// Each thread of a block reads elements, each load waiting for the one before (Fuchs et al., section 3.4.3). By the
    /// experiment's path.
    Reads {
        /// Threads of the block.
        threads: u32,
        /// Elements that each reads.
        reads: u32,
        /// From one thread's first element to the next thread's.
        distance: Bytes,
        /// From one element to the next; 0 reads one element again and again.
        step: Bytes,
        /// Width of an element: 4, 8 or 16 bytes.
        width: Bytes,
        /// Where the first thread's first element begins, from a boundary of a line on.
        start: Bytes,
    },
    /// Each thread adds up variables of 64 bits that it draws at random, and adds the sum to others (Fuchs et al., section
    /// 3.4.4): what does not fit in registers is spilled by the compiler.
    Sums {
        /// Threads of the block.
        threads: u32,
        /// Variables of each.
        variables: u32,
        /// Statements of two additions each.
        statements: u32,
        /// Further instructions in each pass of the loop, on registers, so that a program that does not spill is as long as
        /// one that does.
        padding: u32,
    },
    /// A warp loads words of constant memory, each load waiting for the one before.
    Constants {
        /// Different words that the lanes want.
        distinct: u32,
        /// From one of them to the next.
        stride: Bytes,
        /// Loads of each lane.
        loads: u32,
        /// By an address that a compiler can see to be the same for all lanes; `distinct` is 1.
        uniform: bool,
    },
    /// A warp multiplies and adds, each operation waiting for the one before.
    Operands {
        /// What two of the three operands are.
        operand: Operand,
        /// Operations.
        operations: u32,
    },
    /// A chase of one thread over a square of elements of four bytes.
    Square {
        /// Order of the visit.
        walk: Walk2d,
        /// Where the elements lie.
        layout: Layout,
        /// Side of the square, in elements: a power of two.
        side: u32,
        /// Loads.
        loads: u32,
    },
    /// How often each byte occurs (CS 179, lecture 4).
    Histogram {
        /// Who counts.
        counters: Counters,
        /// Share of the input that is one and the same byte, in per cent; the rest is uniform.
        skew: u32,
        /// Input of each block, in bytes.
        bytes: u32,
        /// Threads of a block.
        threads: u32,
        /// Blocks.
        blocks: u32,
    },
    /// Every thread loads a word and does arithmetic with it, again and again (CS 179, lecture 4).
    Intensity {
        /// Multiplications with addition to each load.
        operations: u32,
        /// Where the words are.
        from: LoadedFrom,
        /// Loads of each thread.
        loads: u32,
        /// Threads of a block.
        threads: u32,
        /// Blocks.
        blocks: u32,
    },
    /// Each thread of a block writes elements of four bytes, without waiting for one before the next (CS 179, lecture 4:
    /// uncoalesced writes). At the end it waits until all of them can be seen.
    Writes {
        /// Threads of the block.
        threads: u32,
        /// Elements that each writes.
        writes: u32,
        /// From one thread's first element to the next thread's.
        distance: Bytes,
        /// From one element of a thread to the next; 0 writes one element again and again.
        step: Bytes,
    },
    /// A chase of one thread over a square CUDA array of floating-point texels of four bytes, at their centres.
    Sampled {
        /// Order of the visit.
        walk: Walk2d,
        /// What the texture does with the coordinates.
        sampling: Sampling,
        /// Side of the square, in texels: a power of two.
        side: u32,
        /// Loads.
        loads: u32,
    },
    /// A chase of one thread over a cube of elements of four bytes.
    Cube {
        /// Order of the visit.
        walk: Walk3d,
        /// Where the elements lie.
        layout: Layout,
        /// Side of the cube, in elements: a power of two.
        side: u32,
        /// Loads.
        loads: u32,
    },
    /// Every thread multiplies and adds with [`OPERANDS`] operands in turn, which are in registers or loaded for each operation
    /// (CS 179, lecture 4: registers against shared memory).
    Sourced {
        /// Where the operands are.
        operands: OperandsIn,
        /// Operations of each thread.
        operations: u32,
        /// Threads of the block.
        threads: u32,
    },
    /// The warps of a block load words of host memory, each word from a line of its own and for all lanes at once, and use none
    /// before the last load is issued. The time is that from the first issue to the last answer.
    Burst {
        /// Loads of all warps together.
        loads: u32,
        /// Most loads of a warp: as many are in the text. A warp leaves out up to [`BURST_OPTIONAL`] of them.
        each: u32,
        /// Warps of the block.
        warps: u32,
    },
}

/// Most threads of a block on any GPU.
pub const MOST_THREADS: u32 = 1024;
/// Width of an element, where a pattern leaves no choice: one word.
pub const ELEMENT: Bytes = Bytes(4);
/// Statements in one pass of the loop of [`Pattern::Sums`]: ptxas 13.5 makes at most 41 KiB
/// of machine code of them for sm_90, and 64 KiB are the most that keep instruction caches out of the measurement.
pub const STATEMENTS_A_PASS: u32 = 256;
/// Loads in the body of a loop with arithmetic: several are under way at once, as in any kernel that hides their latency.
pub const LOADS_A_PASS: u32 = 4;
/// Operations in the body of a loop of arithmetic alone.
pub const OPERATIONS_A_PASS: u32 = 64;
/// Writes in the body of a loop of [`Pattern::Writes`].
pub const WRITES_A_PASS: u32 = 8;
/// Operands of each lane in [`Pattern::Sourced`], each used once in a pass of the loop: they fit in registers, in shared memory and in
/// any L1.
pub const OPERANDS: u32 = 16;
/// Most loads of a warp in the bursts that are asked for: a compiler keeps so many apart by what the hardware has for it (54 on sm_90), and
/// with two of these programs nearly every number of loads can be shared out in two ways.
pub const BURST_EACH: [u32; 3] = [MOST_BURST, 20, 8];
/// Loads of [`Pattern::Burst`] that a warp may leave out, so that their number needs not be a multiple of that of the warps: a
/// predicate each, of which a thread has seven.
pub const BURST_OPTIONAL: u32 = 4;
/// Most rounds of [`Pattern::Burst`] in a launch: each has lines of its own.
pub const BURST_ROUNDS: u32 = 16;
/// From one line of [`Pattern::Burst`] to the next: the largest line known.
pub const BURST_LINE: Bytes = Bytes(128);
/// Lines of one load of [`Pattern::Burst`]: of all warps that a block may have, and of all rounds.
pub const BURST_LINES: u32 = MOST_WARPS * BURST_ROUNDS;
/// By this many of these lines the warps lie apart, round after round, and begin again where they end: an odd number, so that no line
/// comes twice.
pub const BURST_STEP: u32 = BURST_LINES - 29;
/// Lines by which those of one load may begin later than without.
const BURST_SHIFTS: u32 = 128;
/// Most warps of a block on any GPU.
pub const MOST_WARPS: u32 = MOST_THREADS / WARP as u32;
/// Loads in the body of a loop of constant loads.
pub const CONSTANTS_A_PASS: u32 = 8;
/// Block sizes for which [`Pattern::Sums`] is compiled: 65536 registers are 255 (the most that a thread may have), 128 or 64 for
/// each thread.
const BOUNDS: [u32; 3] = [256, 512, MOST_THREADS];
/// Constant memory of a module.
pub const CONSTANT_MEMORY: Bytes = Bytes::kib(64);

/// The least block size, among those for which [`Pattern::Sums`] is compiled, that so many threads fit in.
pub fn block_bound(threads: u32) -> u32 {
    BOUNDS.into_iter().find(|&bound| threads <= bound).unwrap_or(MOST_THREADS)
}

/// Shared memory that pairs of loads walk round in: Fuchs et al., section 3.4.1.
const SHARED_RING: Bytes = Bytes::kib(48);

impl Pattern {
    /// The ring of shared memory that [`Pattern::Pairs`] walks, in a block that may have `most`: 48 KiB, or what is left beside the
    /// times of the loads, in whole jumps from pair to pair. None, if not even one fits, and for other patterns.
    pub fn shared_ring(self, most: Bytes) -> Option<Bytes> {
        let Pattern::Pairs { large, .. } = self else { return None };
        let left = SHARED_RING.0.min(most.0.saturating_sub(self.shared_times().0));
        let pairs = left.checked_div(large.0).filter(|&pairs| pairs > 0)?;
        Some(Bytes(pairs * large.0))
    }

    /// Shared memory for the times of [`Pattern::Pairs`].
    pub fn shared_times(self) -> Bytes {
        ELEMENT * u64::from(self.operations())
    }

    /// Threads of a block.
    pub const fn threads(self) -> u32 {
        match self {
            Pattern::Pairs { .. } | Pattern::Square { .. } | Pattern::Sampled { .. } | Pattern::Cube { .. } => 1,
            Pattern::Constants { .. } | Pattern::Operands { .. } => 32,
            Pattern::Barriers { threads, .. }
            | Pattern::Reads { threads, .. }
            | Pattern::Writes { threads, .. }
            | Pattern::Sourced { threads, .. }
            | Pattern::Sums { threads, .. }
            | Pattern::Histogram { threads, .. }
            | Pattern::Intensity { threads, .. } => threads,
            Pattern::Burst { warps, .. } => warps.saturating_mul(WARP as u32),
        }
    }

    /// Blocks.
    pub const fn blocks(self) -> u32 {
        match self {
            Pattern::Barriers { blocks, .. }
            | Pattern::Histogram { blocks, .. }
            | Pattern::Intensity { blocks, .. } => blocks,
            _ => 1,
        }
    }

    /// What each thread does so many times between the clock reads: loads, writes, statements, operations or bytes. Of a burst, the
    /// loads of all warps.
    pub const fn operations(self) -> u32 {
        match self {
            Pattern::Pairs { pairs, .. } => pairs.saturating_mul(2),
            Pattern::Barriers { writes, .. } | Pattern::Writes { writes, .. } => writes,
            Pattern::Reads { reads, .. } => reads,
            Pattern::Sums { statements, .. } => statements,
            Pattern::Constants { loads, .. }
            | Pattern::Square { loads, .. }
            | Pattern::Sampled { loads, .. }
            | Pattern::Cube { loads, .. }
            | Pattern::Intensity { loads, .. }
            | Pattern::Burst { loads, .. } => loads,
            Pattern::Operands { operations, .. } | Pattern::Sourced { operations, .. } => operations,
            Pattern::Histogram { bytes, threads, .. } => bytes / if threads == 0 { 1 } else { threads },
        }
    }

    /// Memory from the first element to the end of the last.
    pub fn footprint(self) -> Bytes {
        let last = |count: u32| u64::from(count.saturating_sub(1));
        let between = |threads: u32, distance: Bytes, count: u32, step: Bytes| {
            let (threads, steps) = (distance.0.saturating_mul(last(threads)), step.0.saturating_mul(last(count)));
            threads.saturating_add(steps)
        };
        match self {
            Pattern::Pairs { pairs, large, .. } => Bytes(large.0.saturating_mul(u64::from(pairs))),
            Pattern::Barriers { writes, .. } => ELEMENT * u64::from(writes),
            Pattern::Reads { threads, reads, distance, step, width, start } => {
                Bytes(between(threads, distance, reads, step).saturating_add(start.0).saturating_add(width.0))
            }
            Pattern::Writes { threads, writes, distance, step } => {
                Bytes(between(threads, distance, writes, step).saturating_add(ELEMENT.0))
            }
            Pattern::Sums { variables, .. } => Bytes(8) * u64::from(variables),
            Pattern::Constants { distinct, stride, .. } => {
                Bytes(stride.0.saturating_mul(last(distinct)).saturating_add(4))
            }
            Pattern::Operands { .. } => Bytes(0),
            Pattern::Square { side, .. } | Pattern::Sampled { side, .. } => {
                Bytes((u64::from(side) * u64::from(side)).saturating_mul(ELEMENT.0))
            }
            Pattern::Cube { side, .. } => Bytes(u64::from(side).saturating_pow(3).saturating_mul(ELEMENT.0)),
            Pattern::Sourced { .. } => ELEMENT * u64::from(OPERANDS) * WARP as u64,
            Pattern::Histogram { bytes, blocks, .. } => Bytes(u64::from(bytes) * u64::from(blocks)),
            Pattern::Intensity { from: LoadedFrom::Shared, .. } => Bytes(0),
            Pattern::Burst { each, .. } => BURST_LINE * (u64::from(each) * u64::from(BURST_LINES + BURST_SHIFTS)),
            Pattern::Intensity { loads, threads, blocks, .. } => {
                Bytes((ELEMENT.0 * u64::from(loads)).saturating_mul(u64::from(threads) * u64::from(blocks)))
            }
        }
    }
}

/// Of the loads of a burst that a warp may leave out: how many each warp makes, and how many warps make one more.
pub const fn burst_optional(loads: u32, each: u32, warps: u32) -> (u32, u32) {
    let left = loads.saturating_sub(each.saturating_sub(BURST_OPTIONAL).saturating_mul(warps));
    match (left.checked_div(warps), left.checked_rem(warps)) {
        (Some(all), Some(further)) => (all, further),
        _ => (0, 0),
    }
}

/// Where the lines of one load of a burst begin: no regular distance apart, so that they are spread over what the host has.
pub const fn burst_begin(load: u32) -> Bytes {
    let shift = load.wrapping_mul(0x9e37_79b9) >> 25;
    Bytes(BURST_LINE.0 * (load as u64 * (BURST_LINES + BURST_SHIFTS) as u64 + shift as u64))
}

/// Where the word is that a warp loads in a round of a burst.
pub const fn burst_at(load: u32, warp: u32, round: u32) -> Bytes {
    let line = (round * MOST_WARPS + warp).wrapping_mul(BURST_STEP) % BURST_LINES;
    Bytes(burst_begin(load).0 + BURST_LINE.0 * line as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const READS: Pattern =
        Pattern::Reads { threads: 3, reads: 5, distance: Bytes(64), step: Bytes(8), width: Bytes(4), start: Bytes(0) };

    #[test]
    fn a_footprint_reaches_from_the_first_element_to_the_last() {
        assert_eq!(READS.footprint(), Bytes(2 * 64 + 4 * 8 + 4));
        let writes = Pattern::Barriers { threads: 7, blocks: 1, writes: 16, between: 4, scope: Scope::Warp };
        assert_eq!(writes.footprint(), Bytes(64));
    }

    #[test]
    fn no_two_loads_of_a_burst_share_a_line() {
        let all = Pattern::Burst { loads: 1280, each: 40, warps: 32 };
        let mut seen = std::collections::HashSet::new();
        for (load, warp, round) in
            (0..40).flat_map(|l| (0..32).flat_map(move |w| (0..BURST_ROUNDS).map(move |r| (l, w, r))))
        {
            let at = burst_at(load, warp, round);
            assert!(at + BURST_LINE <= all.footprint() && seen.insert(at.0 / BURST_LINE.0), "{load} {warp} {round}");
        }
    }

    #[test]
    fn the_loads_of_a_burst_are_shared_out() {
        for (loads, each, warps) in [(508, 40, 13), (508, 20, 26), (64, 20, 4), (512, 16, 32), (36, 16, 3)] {
            let (all, further) = burst_optional(loads, each, warps);
            assert!(all + u32::from(further > 0) <= BURST_OPTIONAL, "{loads} of {warps} warps");
            assert_eq!(warps * (each - BURST_OPTIONAL + all) + further, loads);
        }
    }
}
