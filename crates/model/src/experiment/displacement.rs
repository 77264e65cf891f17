//! Displacement: how long it takes to read memory that displaces what a cache holds, by how that came to be there.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Traffic;
use crate::units::Bytes;

/// Most memory of each kind.
const MOST: Bytes = Bytes::mib(4096);
/// Bytes that a store writes: the smallest sector of any GPU, so that nothing must be fetched to complete it.
pub const STORED: Bytes = Bytes(32);
/// Longest pause, in cycles: a few milliseconds.
pub const LONGEST_PAUSE: u32 = 1 << 23;

/// Memory is read that fills the L2, other memory is read or written, and third memory is read and timed, by all SMs each time.
///
/// Each step is a launch. `latencies` has the cycles that each block needed for the timed reading, and `sms` the `%smid` of each. What was
/// written and is still in the L2 only must go to memory before the timed reading can take its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Displacement {
    /// What is done to the memory that is displaced later: [`Traffic::Read`] or [`Traffic::Write`].
    pub traffic: Traffic,
    /// That memory.
    pub first: Bytes,
    /// Memory that is read before, so that the L2 is full of lines that were only read.
    pub before: Bytes,
    /// Memory whose reading is timed.
    pub after: Bytes,
    /// In each piece of this size there is one load of 8 bytes, or one store of [`STORED`]: a cache line.
    pub step: Bytes,
    /// Cycles that pass before the timed reading begins, so that stores that go to memory at once are there.
    pub pause: u32,
    /// Tells repetitions of one experiment apart.
    pub repeat: u32,
}

impl Displacement {
    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        let Displacement { traffic, first, before, after, step, pause, .. } = *self;
        if !matches!(traffic, Traffic::Read | Traffic::Write) {
            return Some(format!("{}: memory is read or written before it is displaced", traffic.name()));
        }
        if step < STORED || !step.0.is_multiple_of(STORED.0) || step > MOST {
            return Some(format!("an access for each {step}: a multiple of {STORED}, {MOST} at most"));
        }
        if [first, before, after].iter().any(|bytes| *bytes > MOST || !bytes.0.is_multiple_of(step.0)) {
            return Some(format!("{first}, {before} and {after}: multiples of {step}, {MOST} at most"));
        }
        if after.0 == 0 {
            return Some("nothing is read that could be timed".into());
        }
        (pause > LONGEST_PAUSE).then(|| format!("a pause of {pause} cycles: {LONGEST_PAUSE} at most"))
    }

    /// Accesses of the memory that is displaced, of what is read before, and of what is read and timed.
    pub fn accesses(&self) -> [u64; 3] {
        [self.first, self.before, self.after].map(|bytes| bytes.0 / self.step.0.max(1))
    }
}

impl fmt::Display for Displacement {
    /// `read 60 MiB after a write of 15 MiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "read {} after a {} of {}", self.after, self.traffic.name(), self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::MIB;

    #[test]
    fn what_is_displaced_is_read_or_written_line_by_line() {
        let one = Displacement {
            traffic: Traffic::Write,
            first: Bytes(15 * MIB),
            before: Bytes(60 * MIB),
            after: Bytes(60 * MIB),
            step: Bytes(128),
            pause: 20_000,
            repeat: 0,
        };
        assert_eq!(one.defect(), None);
        assert_eq!(one.accesses(), [122_880, 491_520, 491_520]);
        assert_eq!(one.to_string(), "read 60 MiB after a write of 15 MiB");
        // Nothing need be displaced, or be read before.
        assert_eq!(Displacement { first: Bytes(0), before: Bytes(0), ..one }.defect(), None);
        for (wrong, why) in [
            (Displacement { traffic: Traffic::Copy, ..one }, "read or written"),
            (Displacement { step: Bytes(16), ..one }, "a multiple of 32 B"),
            (Displacement { step: Bytes(0), ..one }, "a multiple of 32 B"),
            (Displacement { first: Bytes(100), ..one }, "multiples of 128 B"),
            (Displacement { after: Bytes(8192 * MIB), ..one }, "at most"),
            (Displacement { after: Bytes(0), ..one }, "nothing is read"),
            (Displacement { pause: u32::MAX, ..one }, "a pause of"),
        ] {
            assert!(wrong.defect().is_some_and(|defect| defect.contains(why)), "{wrong:?}: {:?}", wrong.defect());
        }
    }
}
