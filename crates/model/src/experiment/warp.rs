//! All lanes of a warp load from shared memory at once.

use serde::{Deserialize, Serialize};

use super::Place;
use crate::units::Bytes;

/// Lanes of a warp: 32 on every NVIDIA GPU so far.
pub const WARP: usize = 32;

/// All lanes of a warp load from shared memory, each its own element again and again: the time of `loads` and of twice as
/// many loads, `rounds` times (Mei et al., section 3.1).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warp {
    /// Byte offset of each lane's element, lane 0 first; lanes of one element share it.
    pub offsets: Box<[u64; WARP]>,
    /// Width of one lane's access.
    pub width: AccessWidth,
    /// Width of a bank that is asked for, where a device can be asked; its own choice when absent.
    pub bank_width: Option<BankWidth>,
    /// Shared memory of the block, in which all elements lie.
    pub footprint: Bytes,
    /// Loads before the first that is timed.
    pub warm_loads: u32,
    /// Loads of the shorter measurement.
    pub loads: u32,
    /// Measurements of each length inside one launch.
    pub rounds: u32,
    /// Where it runs; the allocation does not matter.
    pub place: Place,
    /// Tells repetitions of one experiment apart.
    pub repeat: u32,
}

impl Warp {
    /// Loads of these elements: one that is not timed, then one measurement of `loads`, on any SM, with the driver's choice
    /// of banks and of the carveout.
    pub fn new(width: AccessWidth, offsets: [u64; WARP], footprint: Bytes, loads: u32) -> Self {
        Warp {
            offsets: Box::new(offsets),
            width,
            bank_width: None,
            footprint,
            warm_loads: 1,
            loads,
            rounds: 1,
            place: Place { carveout_percent: None, ..Place::default() },
            repeat: 0,
        }
    }

    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        let width = self.width.bytes();
        let outside = |o: &&u64| **o > self.footprint.0.saturating_sub(width.0) || !o.is_multiple_of(width.0);
        self.offsets
            .iter()
            .find(outside)
            .map(|offset| format!("offset {offset} is no {width} element of a footprint of {}", self.footprint))
    }
}

/// Width of one lane's access that PTX has: one, two and four words (`ld.shared.u32`, `.v2.u32`, `.v4.u32`). In a file it is
/// the number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Bytes", into = "Bytes")]
pub enum AccessWidth {
    /// 4 bytes.
    B4,
    /// 8 bytes.
    B8,
    /// 16 bytes.
    B16,
}

impl AccessWidth {
    /// All of them, ascending.
    pub const ALL: [AccessWidth; 3] = [AccessWidth::B4, AccessWidth::B8, AccessWidth::B16];

    /// In bytes.
    pub const fn bytes(self) -> Bytes {
        match self {
            AccessWidth::B4 => Bytes(4),
            AccessWidth::B8 => Bytes(8),
            AccessWidth::B16 => Bytes(16),
        }
    }
}

impl From<AccessWidth> for Bytes {
    fn from(width: AccessWidth) -> Self {
        width.bytes()
    }
}

impl TryFrom<Bytes> for AccessWidth {
    type Error = String;

    fn try_from(bytes: Bytes) -> Result<Self, String> {
        let found = AccessWidth::ALL.into_iter().find(|width| width.bytes() == bytes);
        found.ok_or_else(|| format!("a lane loads 4, 8 or 16 B at once, not {bytes}"))
    }
}

/// Width of a bank of shared memory that a driver can be asked for (`CUsharedconfig` in `cuda.h`). In a file it is the number
/// of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Bytes", into = "Bytes")]
pub enum BankWidth {
    /// 4 bytes.
    B4,
    /// 8 bytes.
    B8,
}

impl BankWidth {
    /// In bytes.
    pub const fn bytes(self) -> Bytes {
        match self {
            BankWidth::B4 => Bytes(4),
            BankWidth::B8 => Bytes(8),
        }
    }
}

impl From<BankWidth> for Bytes {
    fn from(width: BankWidth) -> Self {
        width.bytes()
    }
}

impl TryFrom<Bytes> for BankWidth {
    type Error = String;

    fn try_from(bytes: Bytes) -> Result<Self, String> {
        match bytes {
            Bytes(4) => Ok(BankWidth::B4),
            Bytes(8) => Ok(BankWidth::B8),
            other => Err(format!("a bank that can be asked for is 4 or 8 B wide, not {other}")),
        }
    }
}
