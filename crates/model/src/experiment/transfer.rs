//! A copy between the device's memory and the host's or another GPU's, by its copy engines.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::samples::Samples;
use crate::units::Bytes;

/// Which way a copy engine moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From host memory to the device.
    ToDevice,
    /// From the device to host memory.
    ToHost,
    /// Both at the same time, by two engines.
    Both,
    /// From the memory of the GPU at the other end of a link.
    FromPeer,
    /// To that memory.
    ToPeer,
    /// Both at the same time: an engine of each GPU fetches from the other.
    BothPeer,
}

impl Direction {
    /// Every direction.
    pub const ALL: [Direction; 6] = {
        use Direction::{Both, BothPeer, FromPeer, ToDevice, ToHost, ToPeer};
        [ToDevice, ToHost, Both, FromPeer, ToPeer, BothPeer]
    };

    /// Copies that are under way at the same time.
    pub const fn copies(self) -> u64 {
        match self {
            Direction::ToDevice | Direction::ToHost | Direction::FromPeer | Direction::ToPeer => 1,
            Direction::Both | Direction::BothPeer => 2,
        }
    }
}

/// Largest copy: a few milliseconds on the slowest bus that a GPU has.
const MOST: Bytes = Bytes::mib(256);

/// The driver copies by the device's copy engines, to or from pinned host memory or another GPU's memory; no SM has a part in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Which way.
    pub direction: Direction,
    /// Bytes of each copy.
    pub bytes: Bytes,
    /// Tells repetitions of one experiment apart.
    pub repeat: u32,
}

impl Transfer {
    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        let bytes = self.bytes;
        let possible = bytes.0 > 0 && bytes.0.is_multiple_of(128) && bytes <= MOST;
        (!possible).then(|| format!("a copy of {bytes}: whole lines of 128 B are copied, {MOST} at most"))
    }

    /// Nanoseconds that it took, by the device's own events; nothing if the samples are not of it.
    pub fn nanoseconds(samples: &Samples) -> Option<u64> {
        samples.clocks.first().map(|span| span.nanoseconds).filter(|&nanoseconds| nanoseconds > 0)
    }
}

impl fmt::Display for Transfer {
    /// `copy of 16 MiB from host to device`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = match self.direction {
            Direction::ToDevice => "from host to device",
            Direction::ToHost => "from device to host",
            Direction::Both => "each way at the same time",
            Direction::FromPeer => "from another GPU",
            Direction::ToPeer => "to another GPU",
            Direction::BothPeer => "from and to another GPU at the same time",
        };
        write!(f, "copy of {} {way}", self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_whole_lines_and_an_end() {
        let of = |bytes| Transfer { direction: Direction::Both, bytes: Bytes(bytes), repeat: 0 };
        assert_eq!(of(4096).defect(), None);
        for wrong in [0, 100, MOST.0 + 128] {
            assert!(of(wrong).defect().unwrap().contains("whole lines"), "{wrong}");
        }
    }
}
