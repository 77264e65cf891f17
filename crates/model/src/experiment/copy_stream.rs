//! Many copies that go on by themselves, as fast as they can.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{AccessWidth, CopyWork, LoadPath, Stream, Traffic, WARP};
use crate::units::Bytes;

/// A [`Stream`] of which each warp copies its pieces into shared memory, without a register in between, and waits for each pass.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyStream {
    /// What each warp does: reads of global memory, 16 bytes of each lane.
    pub stream: Stream,
    /// By which copies: with [`CopyWork::Bulk`] one for a whole piece, with [`CopyWork::CpAsync`] one for each lane's 16 bytes.
    pub by: CopyWork,
}

impl CopyStream {
    /// The copies that there are kernels for.
    pub const BY: [CopyWork; 2] = [CopyWork::Bulk, CopyWork::CpAsync];

    /// Shared memory that a block copies to: each warp has room for one piece.
    pub fn window(&self) -> Bytes {
        self.stream.pass() * u64::from(self.stream.threads_per_block.div_ceil(WARP as u32))
    }

    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        let CopyStream { stream, by } = self;
        if !Self::BY.contains(by) {
            return Some(format!("no stream is made by {}", by.name()));
        }
        let Stream { traffic, path, width, .. } = stream;
        if (*traffic, *path, *width) != (Traffic::Read, LoadPath::GlobalCg, AccessWidth::B16) {
            return Some("asynchronous copies read global memory past the L1, 16 B of each lane".into());
        }
        stream.defect()
    }
}

impl fmt::Display for CopyStream {
    /// `bulk copies of 2 KiB by each warp over 16 MiB together, 2 blocks of 512 threads on all SMs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CopyStream { stream, by } = self;
        match by {
            CopyWork::Bulk => write!(f, "bulk copies of {} by each warp", stream.pass())?,
            _ => write!(f, "cp.async of {} x {} by each lane", stream.unroll, stream.width.bytes())?,
        }
        write!(f, " over {} {}, {}", stream.footprint, stream.region.in_words(), stream.blocks().in_words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::stream::tests as plain;

    fn stream() -> CopyStream {
        CopyStream { stream: Stream { traffic: Traffic::Read, ..plain::stream() }, by: CopyWork::Bulk }
    }

    #[test]
    fn what_no_kernel_can_do_is_refused() {
        assert_eq!(stream().defect(), None);
        // Two warps with 2 KiB each.
        assert_eq!(stream().window(), Bytes::kib(4));
        let with = |change| plain::refused(stream(), change, CopyStream::defect);
        for (defect, words) in [
            (with(|of| of.by = CopyWork::Mbarrier), "no stream is made by mbarrier"),
            (with(|of| of.stream.traffic = Traffic::Write), "read global memory"),
            (with(|of| of.stream.path = LoadPath::GlobalCa), "past the L1"),
            (with(|of| of.stream.width = AccessWidth::B8), "16 B of each lane"),
            (with(|of| of.stream.unroll = 3), "3 accesses"),
        ] {
            assert!(defect.contains(words), "{defect}");
        }
    }

    #[test]
    fn it_says_what_it_does() {
        let over = "over 64 KiB together, 2 blocks of 64 threads on 2 SMs";
        assert_eq!(stream().to_string(), format!("bulk copies of 2 KiB by each warp {over}"));
        let by_lanes = CopyStream { by: CopyWork::CpAsync, ..stream() };
        assert_eq!(by_lanes.to_string(), format!("cp.async of 4 x 16 B by each lane {over}"));
    }
}
