//! Which SMs the blocks of a cluster are put on.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::samples::Samples;
use crate::units::Bytes;

/// Largest cluster that any architecture has (Hopper, where a kernel asks for more than the portable 8).
const LARGEST: u32 = 16;
/// Most blocks of a launch.
const MOST_BLOCKS: u32 = 1 << 16;
/// Longest time that a block stays, in microseconds: all of them together take less than a display's watchdog allows.
const LONGEST_US: u32 = 1000;

/// Blocks of one thread, launched in clusters, of which each says on which SM it is and stays there for a while. The blocks of a cluster
/// are on SMs that can reach each other's shared memory, which are those of one GPC. Its samples are [`Samples::sms`], by the number of
/// the block: neighbours make a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clusters {
    /// Blocks of a cluster.
    pub size: u32,
    /// Clusters of the launch.
    pub count: u32,
    /// Dynamic shared memory of a block: with more than half of an SM's, no two blocks are on one SM.
    pub shared_per_block: Bytes,
    /// How long each block stays, in microseconds.
    pub span_us: u32,
    /// Tells repetitions of one experiment apart.
    pub repeat: u32,
}

impl Clusters {
    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        if !(1..=LARGEST).contains(&self.size) {
            return Some(format!("clusters of {}: they have 1 to {LARGEST} blocks", self.size));
        }
        if self.count == 0 || self.count.saturating_mul(self.size) > MOST_BLOCKS {
            return Some(format!("{} clusters of {}: at most {MOST_BLOCKS} blocks", self.count, self.size));
        }
        (self.span_us > LONGEST_US).then(|| format!("blocks that stay for {} us: at most {LONGEST_US}", self.span_us))
    }

    /// Blocks of the launch.
    pub const fn blocks(&self) -> u32 {
        self.size.saturating_mul(self.count)
    }

    /// The SMs of each cluster, counted from 0 in ascending `%smid`; none if the samples are not of this.
    pub fn of<'s>(&self, samples: &'s Samples) -> impl Iterator<Item = &'s [u32]> {
        samples.sms.chunks_exact(self.size.max(1) as usize)
    }
}

impl fmt::Display for Clusters {
    /// `33 clusters of 4 blocks`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} clusters of {} blocks", self.count, self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_has_clusters_and_an_end() {
        let of = |size, count, span_us| Clusters { size, count, shared_per_block: Bytes(0), span_us, repeat: 0 };
        assert_eq!(of(16, 8, 20).defect(), None);
        assert!(of(17, 8, 20).defect().unwrap().contains("1 to 16"));
        assert!(of(0, 8, 20).defect().unwrap().contains("1 to 16"));
        assert!(of(2, 1 << 20, 20).defect().unwrap().contains("at most 65536 blocks"));
        assert!(of(2, 2, 2000).defect().unwrap().contains("2000 us"));
    }
}
