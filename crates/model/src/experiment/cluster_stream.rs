//! Many threads that move the shared memory of other blocks of their cluster.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Clusters, LoadPath, Region, Stream, Traffic};
use crate::units::Bytes;

/// A [`Stream`] in which each block goes over the shared memory of another block of its cluster. Its footprint is what each block
/// has of that. The samples have one block on each SM that got one, in the order of the blocks, and their SMs
/// ([`sms`](crate::samples::Samples::sms),
/// as of [`Clusters`]).
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
    /// addresses.
    pub distance: u32,
}

impl ClusterStream {
    /// Whether there are kernels for this kind of traffic.
    pub const fn is_possible(traffic: Traffic) -> bool {
        matches!(traffic, Traffic::Read | Traffic::Write)
    }

    /// The launch without what it does.
    pub const fn clusters(&self) -> Clusters {
        let ClusterStream { size, count, shared_per_block, .. } = *self;
        Clusters { size, count, shared_per_block, span_us: 0, repeat: self.stream.repeat }
    }

    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        let ClusterStream { stream, size, distance, shared_per_block, .. } = self;
        let is_of_each = stream.path == LoadPath::Shared && stream.region == Region::Own;
        if !Self::is_possible(stream.traffic) || !is_of_each {
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
        (*shared_per_block < stream.footprint).then(|| {
            format!(
                "{shared_per_block} of shared memory of a block, of which {} are streamed through",
                stream.footprint
            )
        })
    }
}

impl fmt::Display for ClusterStream {
    /// `read of 64 KiB of shared memory, 33 clusters of 4 blocks, rank + 1, 4 x 16 B, 1 block of 512 threads`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ClusterStream { stream, distance, .. } = self;
        let (traffic, footprint, clusters) = (stream.traffic.name(), stream.footprint, self.clusters());
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
            (with(|of| of.stream.path = LoadPath::GlobalCg), "shared memory of each block"),
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

    #[test]
    fn it_says_what_it_does() {
        let words =
            "write of 64 KiB of shared memory, 33 clusters of 4 blocks, rank + 1, 4 x 16 B, 1 block of 64 threads";
        assert_eq!(stream().to_string(), words);
    }
}
