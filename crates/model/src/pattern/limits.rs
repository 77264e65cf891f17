//! Limits of patterns: an experiment may come from an untrusted file, so its kernel must end, fit, and stay within its memory.

use super::{
    BURST_OPTIONAL, CONSTANT_MEMORY, CONSTANTS_A_PASS, ELEMENT, LOADS_A_PASS, MOST_THREADS, OPERANDS,
    OPERATIONS_A_PASS, Pattern, STATEMENTS_A_PASS, Scope, TILE, TILE_3D, WRITES_A_PASS,
};
use crate::units::Bytes;

/// Most blocks of a pattern: more than any GPU has SMs.
const MOST_BLOCKS: u32 = 1024;
/// Most that a pattern may touch, with a page beside it: more than any of the suite does, less than any GPU has.
const MOST_MEMORY: Bytes = Bytes(Bytes::mib(512).0 - 4096);
/// Most bytes from thread to thread and from element to element: a page of any GPU.
const MOST_APART: Bytes = Bytes::mib(2);
/// Most pairs of loads: their times and the bytes that they walk over share what every device gives a block.
const MOST_PAIRS: u32 = 1024;
/// Most loads, writes or operations of a thread: a launch must stay well under a display's watchdog.
const MOST_OPERATIONS: u32 = 1 << 20;
/// Most variables of a thread: their program is text.
pub const MOST_VARIABLES: u32 = 2048;
/// Largest side of a square of floating-point texels: the number of each is exact in 24 bits.
const MOST_SAMPLED: u32 = 1 << 12;
/// Most loads of a warp in a burst: from compute capability 3.0 on a block of any size has so many registers for their values beside others.
pub const MOST_BURST: u32 = 40;
/// Largest side of a cube: its coordinates share a word, and it is 64 MiB.
const MOST_CUBE: u32 = 1 << 8;
/// Most operations to a load, and most instructions of padding: they are text, too.
const MOST_TEXT: u32 = 4096;

impl Pattern {
    /// What makes it impossible, if anything does.
    pub fn defect(self) -> Option<String> {
        if !(1..=MOST_THREADS).contains(&self.threads()) {
            return Some(format!("{} threads: a block has 1 to {MOST_THREADS}", self.threads()));
        }
        if !(1..=MOST_BLOCKS).contains(&self.blocks()) {
            return Some(format!("{} blocks: a pattern has 1 to {MOST_BLOCKS}", self.blocks()));
        }
        if !(1..=MOST_OPERATIONS).contains(&self.operations()) {
            return Some(format!("{} operations of a thread: it does 1 to {MOST_OPERATIONS}", self.operations()));
        }
        if self.footprint() > MOST_MEMORY {
            return Some(format!("{} are more than the {MOST_MEMORY} that a pattern may touch", self.footprint()));
        }
        match self {
            Pattern::Pairs { pairs, .. } if pairs > MOST_PAIRS => {
                Some(format!("{pairs} pairs: there may be {MOST_PAIRS}, whose times fit in shared memory"))
            }
            Pattern::Constants { loads: many, .. } if !many.is_multiple_of(CONSTANTS_A_PASS) => {
                Some(format!("{many} loads: the loop has {CONSTANTS_A_PASS} a pass"))
            }
            Pattern::Operands { operations: many, .. } if !many.is_multiple_of(OPERATIONS_A_PASS) => {
                Some(format!("{many} operations: the loop has {OPERATIONS_A_PASS} a pass"))
            }
            Pattern::Intensity { loads: many, .. } if !many.is_multiple_of(LOADS_A_PASS) => {
                Some(format!("{many} loads: the loop has {LOADS_A_PASS} a pass"))
            }
            Pattern::Reads { distance, step, .. } if distance.max(step) > MOST_APART => {
                Some(format!("{} apart: there may be {MOST_APART}", distance.max(step)))
            }
            Pattern::Pairs { small, large, .. } if small == Bytes(0) || small >= large => {
                Some(format!("a jump of {small} between pairs {large} apart: it must be at least a byte, and shorter"))
            }
            Pattern::Barriers { writes, between, .. } if between == 0 || !writes.is_multiple_of(between) => {
                Some(format!("a barrier after every {between} of {writes} writes: it must divide them"))
            }
            Pattern::Barriers { blocks, scope, .. } if blocks > 1 && scope != Scope::Grid => {
                Some(format!("{blocks} blocks that do not wait for each other: measure one"))
            }
            Pattern::Reads { width, .. } if ![4, 8, 16].contains(&width.0) => {
                Some(format!("elements of {width}: a thread reads 4, 8 or 16 B at once"))
            }
            Pattern::Reads { distance, step, width, start, .. }
                if [distance, step, start].iter().any(|d| !d.0.is_multiple_of(width.0)) =>
            {
                Some(format!(
                    "threads {distance} apart in steps of {step} from {start} on: all must be multiples of the {width} access"
                ))
            }
            Pattern::Writes { distance, step, .. }
                if [distance, step].iter().any(|d| !d.0.is_multiple_of(ELEMENT.0)) =>
            {
                Some(format!("threads {distance} apart in steps of {step}: both must be multiples of {ELEMENT}"))
            }
            Pattern::Writes { writes: many, .. } if !many.is_multiple_of(WRITES_A_PASS) => {
                Some(format!("{many} writes: the loop has {WRITES_A_PASS} a pass"))
            }
            Pattern::Writes { distance, .. } if distance < ELEMENT => {
                Some(format!("threads {distance} apart: each writes elements of its own"))
            }
            Pattern::Sums { variables, .. } if !(2..=MOST_VARIABLES).contains(&variables) => {
                Some(format!("{variables} variables: there may be 2 to {MOST_VARIABLES}"))
            }
            Pattern::Sums { statements, .. } if !statements.is_multiple_of(STATEMENTS_A_PASS) => {
                Some(format!("{statements} statements: the loop has {STATEMENTS_A_PASS} a pass"))
            }
            Pattern::Sums { padding, .. } if padding > MOST_TEXT => {
                Some(format!("{padding} instructions of padding: there may be {MOST_TEXT}"))
            }
            Pattern::Intensity { operations, .. } if operations > MOST_TEXT => {
                Some(format!("{operations} operations to a load: there may be {MOST_TEXT}"))
            }
            Pattern::Constants { distinct, .. } if !(1..=32).contains(&distinct) => {
                Some(format!("{distinct} different words: a warp has 32 lanes"))
            }
            Pattern::Constants { stride, .. } if !stride.0.is_multiple_of(ELEMENT.0) => {
                Some(format!("words {stride} apart: it must be a multiple of {ELEMENT}"))
            }
            Pattern::Constants { distinct, uniform: true, .. } if distinct > 1 => {
                Some("one address for all lanes, and different words".into())
            }
            Pattern::Constants { .. } if self.footprint() > CONSTANT_MEMORY => {
                Some(format!("{} are beyond the {CONSTANT_MEMORY} a module may address", self.footprint()))
            }
            Pattern::Square { side, loads, .. }
                if !side.is_power_of_two() || !(TILE..=1 << 14).contains(&side) || loads > side * side =>
            {
                Some(format!(
                    "{loads} loads in a square of {side} elements: its side is a power of two, and each is visited once"
                ))
            }
            Pattern::Sampled { side, loads, .. }
                if !side.is_power_of_two() || !(TILE..=MOST_SAMPLED).contains(&side) || loads > side * side =>
            {
                Some(format!(
                    "{loads} loads in a square of {side} texels: its side is a power of two up to {MOST_SAMPLED}, and each is \
                     visited once"
                ))
            }
            Pattern::Cube { side, loads, .. }
                if !side.is_power_of_two() || !(TILE_3D..=MOST_CUBE).contains(&side) || loads > side.pow(3) =>
            {
                Some(format!(
                    "{loads} loads in a cube of {side} elements: its side is a power of two up to {MOST_CUBE}, and each is \
                     visited once"
                ))
            }
            Pattern::Burst { each, .. } if !(BURST_OPTIONAL + 1..=MOST_BURST).contains(&each) => Some(format!(
                "{each} loads of a warp without waiting: there may be {} to {MOST_BURST}, whose values fit in registers",
                BURST_OPTIONAL + 1
            )),
            Pattern::Burst { loads, each, warps }
                if !((each - BURST_OPTIONAL) * warps..=each * warps).contains(&loads) =>
            {
                Some(format!("{loads} loads of {warps} warps: each makes {} to {each}", each - BURST_OPTIONAL))
            }
            Pattern::Sourced { operations: many, .. } if !many.is_multiple_of(OPERANDS) => {
                Some(format!("{many} operations: the loop has {OPERANDS} a pass"))
            }
            Pattern::Histogram { skew, bytes, threads, .. } if skew > 100 || !bytes.is_multiple_of(4 * threads) => {
                Some(format!(
                    "{bytes} B for {threads} threads with {skew} % of one byte: whole words for each, 100 % at most"
                ))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Layout, Operand, Walk2d};
    use super::*;

    #[test]
    fn nonsense_is_refused_with_what_is_allowed() {
        let reads = |threads, distance| Pattern::Reads {
            threads,
            reads: 5,
            distance: Bytes(distance),
            step: Bytes(4),
            width: Bytes(4),
            start: Bytes(0),
        };
        let barriers = |between| Pattern::Barriers { threads: 1, blocks: 1, writes: 16, between, scope: Scope::Block };
        for (pattern, what) in [
            (reads(0, 4), "1 to 1024"),
            (reads(2000, 4), "1 to 1024"),
            (reads(32, 6), "multiples of the 4 B access"),
            (reads(1024, u64::MAX - 3), "more than"),
            (reads(1, Bytes::mib(4).0), "2 MiB"),
            (Pattern::Constants { distinct: 1, stride: Bytes(4), loads: 10, uniform: false }, "8 a pass"),
            (Pattern::Operands { operand: Operand::Immediate, operations: 65 }, "64 a pass"),
            (Pattern::Pairs { pairs: u32::MAX, small: Bytes(1), large: Bytes(2) }, "1048576"),
            (barriers(0), "must divide"),
            (barriers(3), "must divide"),
            (Pattern::Sums { threads: 1, variables: 1, statements: 4096, padding: 0 }, "2 to 2048"),
            (Pattern::Square { walk: Walk2d::Rows, layout: Layout::Array, side: 12, loads: 8 }, "power of two"),
            (Pattern::Constants { distinct: 33, stride: Bytes(4), loads: 8, uniform: false }, "32 lanes"),
            (Pattern::Burst { loads: 64, each: 41, warps: 2 }, "5 to 40"),
            (Pattern::Burst { loads: 64, each: 4, warps: 16 }, "5 to 40"),
            (Pattern::Burst { loads: 81, each: 40, warps: 2 }, "36 to 40"),
            (Pattern::Burst { loads: 71, each: 40, warps: 2 }, "36 to 40"),
            (Pattern::Burst { loads: 40 * 33, each: 40, warps: 33 }, "1 to 1024"),
            (Pattern::Burst { loads: 40, each: 40, warps: u32::MAX }, "1 to 1024"),
        ] {
            let defect = pattern.defect().unwrap_or_else(|| panic!("{pattern:?} is refused"));
            assert!(defect.contains(what), "{defect}");
        }
        assert_eq!((reads(32, 64).defect(), barriers(4).defect()), (None, None));
        assert_eq!(Pattern::Burst { loads: 508, each: 40, warps: 13 }.defect(), None);
    }
}
