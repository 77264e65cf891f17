//! Many threads that move the shared memory of other blocks of their cluster, or copy memory for all blocks of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{AccessWidth, Clusters, LoadPath, Region, Stream, Traffic};
use crate::units::Bytes;

/// A [`Stream`] of blocks in clusters. The path says what they do:
///
/// - [`LoadPath::Shared`]: each block goes over the shared memory of another block of its cluster. The footprint is what each block
///   has of that.
/// - [`LoadPath::GlobalCg`], multicast: the warps of the same number in all blocks of a cluster go over the same pieces of global
///   memory. Each copies its part of a piece, by one bulk copy, into the shared memory of all of these blocks. Before the next piece they wait
///   until all of them have all of this one. The stream reads, 16 bytes of each lane, and a pass of a warp is a whole piece.
///
/// The samples have one block on each SM that got one, in the order of the blocks, and their SMs
/// ([`sms`](crate::samples::Samples::sms), as of [`Clusters`]).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterStream {
    /// What each block does.
    pub stream: Stream,
    /// Blocks of a cluster.
    pub size: u32,
    /// Clusters of the launch. All of them must find room at once.
    pub count: u32,
    /// Dynamic shared memory of a block: with more than half of an SM's, no two blocks are on one SM.
    pub shared_per_block: Bytes,
    /// From a block's own rank to that of the block whose memory it goes over, around the cluster. 0 is its own memory, by the same
    /// addresses. 0 for multicast.
    pub distance: u32,
}

impl ClusterStream {
    /// Whether there are kernels for this kind of traffic.
    pub const fn is_possible(traffic: Traffic) -> bool {
        matches!(traffic, Traffic::Read | Traffic::Write)
    }

    /// Whether it copies global memory for all blocks of a cluster.
    pub fn is_multicast(&self) -> bool {
        self.stream.path != LoadPath::Shared
    }

    /// Dynamic shared memory of a block that its warps use: what is gone over, or one piece of each warp.
    pub fn window(&self) -> Bytes {
        match self.is_multicast() {
            // One block is on an SM, and each of its warps waits for one piece.
            true => self.stream.in_flight(),
            false => self.stream.footprint,
        }
    }

    /// The launch without what it does.
    pub const fn clusters(&self) -> Clusters {
        let ClusterStream { size, count, shared_per_block, .. } = *self;
        Clusters { size, count, shared_per_block, span_us: 0, repeat: self.stream.repeat }
    }

    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        let ClusterStream { stream, size, distance, shared_per_block, .. } = self;
        if self.is_multicast() {
            let Stream { traffic, path, width, region, .. } = stream;
            let wanted = (Traffic::Read, LoadPath::GlobalCg, AccessWidth::B16, Region::Together);
            if (*traffic, *path, *width, *region) != wanted {
                return Some("multicast copies read global memory of all SMs past the L1, 16 B of each lane".into());
            }
            if *distance > 0 {
                return Some(format!("a distance of {distance}: multicast copies are for all blocks of a cluster"));
            }
            if !size.is_power_of_two() {
                return Some(format!("clusters of {size}: each block copies the same part of a piece"));
            }
        } else if !Self::is_possible(stream.traffic) || stream.region != Region::Own {
            return Some("streams in a cluster are reads or writes of the shared memory of each block".into());
        }
        if stream.blocks_per_sm != 1 || !stream.sms.is_empty() {
            return Some("streams in a cluster have one block on each SM, and all SMs".into());
        }
        // To the stream's own kernels shared memory is for reading only.
        if let Some(defect) = (Stream { traffic: Traffic::Read, ..stream.clone() }).defect() {
            return Some(defect);
        }
        if let Some(defect) = self.clusters().defect() {
            return Some(defect);
        }
        if distance >= size {
            return Some(format!("a distance of {distance} in clusters of {size}"));
        }
        let window = self.window();
        (*shared_per_block < window)
            .then(|| format!("{shared_per_block} of shared memory of a block, of which {window} are streamed through"))
    }
}

impl fmt::Display for ClusterStream {
    /// `read of 64 KiB of shared memory, 33 clusters of 4 blocks, rank + 1, 4 x 16 B, 1 block of 512 threads`, or
    /// `multicast copies of 2 KiB by each warp over 16 MiB, 33 clusters of 4 blocks, 1 block of 512 threads on all SMs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ClusterStream { stream, distance, .. } = self;
        let (traffic, footprint, clusters) = (stream.traffic.name(), stream.footprint, self.clusters());
        if self.is_multicast() {
            let (piece, blocks) = (stream.pass(), stream.blocks().in_words());
            return write!(f, "multicast copies of {piece} by each warp over {footprint}, {clusters}, {blocks}");
        }
        write!(f, "{traffic} of {footprint} of shared memory, {clusters}, rank + {distance}, {}", stream.shape())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::stream::tests as plain;

    fn stream() -> ClusterStream {
        let own = Stream {
            traffic: Traffic::Write,
            path: LoadPath::Shared,
            region: Region::Own,
            blocks_per_sm: 1,
            sms: Vec::new(),
            ..plain::stream()
        };
        ClusterStream { stream: own, size: 4, count: 33, shared_per_block: Bytes::kib(128), distance: 1 }
    }

    #[test]
    fn what_no_kernel_can_do_is_refused() {
        assert_eq!(stream().defect(), None);
        let with = |change| plain::refused(stream(), change, ClusterStream::defect);
        for (defect, words) in [
            (with(|of| of.stream.traffic = Traffic::Copy), "reads or writes"),
            (with(|of| of.stream.path = LoadPath::GlobalCg), "multicast copies read"),
            (with(|of| of.stream.blocks_per_sm = 2), "one block on each SM"),
            (with(|of| of.stream.sms = vec![1]), "all SMs"),
            (with(|of| of.stream.unroll = 3), "3 accesses"),
            (with(|of| of.size = 17), "1 to 16 blocks"),
            (with(|of| of.distance = 4), "a distance of 4 in clusters of 4"),
            (with(|of| of.shared_per_block = Bytes::kib(32)), "of which 64 KiB are streamed through"),
        ] {
            assert!(defect.contains(words), "{defect}");
        }
    }

    fn multicast() -> ClusterStream {
        let plain = Stream { sms: Vec::new(), blocks_per_sm: 1, ..plain::stream() };
        let read = Stream { path: LoadPath::GlobalCg, width: AccessWidth::B16, region: Region::Together, ..plain };
        ClusterStream { stream: Stream { traffic: Traffic::Read, ..read }, distance: 0, ..stream() }
    }

    #[test]
    fn multicast_copies_are_reads_for_all_blocks() {
        assert_eq!(multicast().defect(), None);
        assert_eq!(multicast().window(), multicast().stream.pass() * 2);
        let with = |change| plain::refused(multicast(), change, ClusterStream::defect);
        for (defect, words) in [
            (with(|of| of.stream.traffic = Traffic::Write), "multicast copies read"),
            (with(|of| of.stream.region = Region::Own), "multicast copies read"),
            (with(|of| of.stream.width = AccessWidth::B8), "16 B of each lane"),
            (with(|of| of.distance = 1), "for all blocks of a cluster"),
            (with(|of| of.size = 3), "the same part of a piece"),
            (with(|of| of.shared_per_block = Bytes(2048)), "of which 4 KiB are streamed through"),
        ] {
            assert!(defect.contains(words), "{defect}");
        }
        let words = "multicast copies of 2 KiB by each warp over 64 KiB, 33 clusters of 4 blocks, 1 block of 64 threads on all SMs";
        assert_eq!(multicast().to_string(), words);
    }

    #[test]
    fn it_says_what_it_does() {
        let words =
            "write of 64 KiB of shared memory, 33 clusters of 4 blocks, rank + 1, 4 x 16 B, 1 block of 64 threads";
        assert_eq!(stream().to_string(), words);
    }
}
