//! Streams and chases through lines whose partition of the L2 is known.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Chain, LARGE_PAGE, LoadPath, LoadedChase, Order, Region, Stream, Traffic};
use crate::units::Bytes;

/// Most large pages of the memory, which are 32 GiB, most pieces that are listed, and most SMs: a damaged recording asks for nothing
/// absurd.
const MOST_PAGES: usize = 1 << 14;
const MOST_PIECES: u64 = 1 << 26;
const MOST_SMS: usize = 1 << 16;

/// In which of two partitions the lines of the allocation [`Place::PARTITIONED`](super::Place::PARTITIONED) are at home: it depends on the
/// page, and on the parity of some bits of the address below it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HomeMap {
    /// The bits whose parity counts, all below [`LARGE_PAGE`].
    pub mask: u64,
    /// Of each large page the partition, 0 or 1, of its lines of even parity.
    pub pages: Vec<u8>,
}

impl HomeMap {
    /// Bytes of the allocation.
    pub fn bytes(&self) -> Bytes {
        LARGE_PAGE * self.pages.len() as u64
    }

    /// The partition of the line at this place in the allocation, which must be inside of it.
    pub fn home(&self, offset: u64) -> u8 {
        let parity = (offset & self.mask).count_ones() as u8 & 1;
        self.pages[(offset / LARGE_PAGE.0) as usize] ^ parity
    }

    /// Bytes that follow each other in one partition at least.
    pub fn finest(&self) -> Bytes {
        Bytes(1 << self.mask.trailing_zeros().min(LARGE_PAGE.0.ilog2()))
    }

    fn defect(&self) -> Option<String> {
        if self.pages.is_empty() || self.pages.len() > MOST_PAGES || self.pages.iter().any(|home| *home > 1) {
            return Some(format!(
                "{} pages: at least one, at most {MOST_PAGES}, each in partition 0 or 1",
                self.pages.len()
            ));
        }
        (self.mask == 0 || self.mask >= LARGE_PAGE.0)
            .then(|| format!("a mask {:#x} has no bits, or some above those of a large page", self.mask))
    }
}

/// A [`Stream`] in which each SM goes only through lines that are at home in its own partition of the L2, or only through those that
/// are at home in the other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionStream {
    /// What all do, over the first bytes of the allocation.
    pub stream: Stream,
    /// Where its lines are at home. In another process the memory has other pages, whose lines are at home elsewhere.
    pub homes: HomeMap,
    /// The partition, 0 or 1, of each SM, in ascending `%smid`.
    pub sms: Vec<u8>,
    /// Whether the SMs go through lines of the other partition.
    pub is_far: bool,
}

impl PartitionStream {
    /// Whether there are kernels for this kind of traffic by this path.
    pub fn is_possible(traffic: Traffic, path: LoadPath) -> bool {
        path == LoadPath::GlobalCg && matches!(traffic, Traffic::Read | Traffic::Write)
    }

    /// The pieces, each of one pass of a warp, that SMs of a partition go through, by their numbers.
    pub fn pieces(&self, partition: u8) -> impl Iterator<Item = u32> {
        let pass = self.stream.pass().0;
        let home = partition ^ u8::from(self.is_far);
        (0..(self.stream.footprint.0 / pass) as u32)
            .filter(move |piece| self.homes.home(u64::from(*piece) * pass) == home)
    }

    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        let PartitionStream { stream, homes, sms, .. } = self;
        if !Self::is_possible(stream.traffic, stream.path) || stream.region != Region::Together {
            return Some("streams by partition are reads or writes by ld.global.cg of all SMs together".into());
        }
        if let Some(defect) = homes.defect().or_else(|| stream.defect()) {
            return Some(defect);
        }
        if sms.len() > MOST_SMS || sms.iter().any(|partition| *partition > 1) {
            return Some(format!("{} SMs: at most {MOST_SMS}, each in partition 0 or 1", sms.len()));
        }
        if stream.footprint > homes.bytes() {
            return Some(format!(
                "the homes of {} are known, and {} are streamed through",
                homes.bytes(),
                stream.footprint
            ));
        }
        if stream.footprint / stream.pass() > MOST_PIECES {
            return Some(format!("more than {MOST_PIECES} pieces of {}", stream.pass()));
        }
        (stream.pass() > homes.finest()).then(|| {
            format!("a pass of {} is in more than one piece of {} of a partition", stream.pass(), homes.finest())
        })
    }
}

impl fmt::Display for PartitionStream {
    /// `near read by ld.global.cg over 16 MiB together, 4 x 16 B, 2 blocks of 512 threads on all SMs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.is_far { "far" } else { "near" }, self.stream)
    }
}

/// A [`LoadedChase`] over lines that are listed, in the allocation [`Place::PARTITIONED`](super::Place::PARTITIONED), whose size is
/// the footprint of the chase.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionChase {
    /// Who chases, and what the others do.
    pub chase: LoadedChase,
    /// The lines, in the order of the visit.
    pub order: Order,
}

impl PartitionChase {
    /// The chain.
    pub fn chain(&self) -> Chain<'_> {
        Chain { order: &self.order, ..self.chase.chain() }
    }

    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        if !matches!(self.order, Order::Listed { .. }) {
            return Some("the lines of a chase by partition are listed".into());
        }
        self.chain().defect().or_else(|| self.chase.defect_beside())
    }
}

impl fmt::Display for PartitionChase {
    /// As a [`LoadedChase`], with how many lines are listed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} listed lines: {}", self.chain().lap(), self.chase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::stream::tests as plain;

    fn stream() -> PartitionStream {
        PartitionStream {
            stream: Stream { traffic: Traffic::Read, sms: Vec::new(), footprint: Bytes::mib(4), ..plain::stream() },
            homes: HomeMap { mask: 0x3000, pages: vec![0, 1] },
            sms: vec![0, 1, 1, 0],
            is_far: false,
        }
    }

    #[test]
    fn each_piece_is_near_to_one_partition_and_far_from_the_other() {
        let near = stream();
        assert_eq!(near.defect(), None);
        assert_eq!(near.homes.finest(), Bytes::kib(4));
        // Even parity: the first and the last 4 KiB of each 16, in the second page the two between.
        let of_four_kib: Vec<u8> = (0..4).map(|at| near.homes.home(at * 4096)).collect();
        assert_eq!((of_four_kib, near.homes.home(LARGE_PAGE.0)), (vec![0, 1, 1, 0], 1));
        let [own, other] = [0, 1].map(|partition| near.pieces(partition).collect::<Vec<u32>>());
        assert_eq!((own.len(), own[..3].to_vec(), other[..3].to_vec()), (1024, vec![0, 1, 6], vec![2, 3, 4]));
        let far = PartitionStream { is_far: true, ..near };
        assert!(far.pieces(0).eq(other) && far.to_string().starts_with("far read by ld.global.cg over 4 MiB"));
    }

    #[test]
    fn what_no_kernel_can_do_is_refused() {
        let with = |change| plain::refused(stream(), change, PartitionStream::defect);
        for (defect, words) in [
            (with(|of| of.stream.traffic = Traffic::Copy), "reads or writes"),
            (with(|of| of.stream.region = Region::Own), "all SMs together"),
            (with(|of| of.homes.pages.clear()), "at least one"),
            (with(|of| of.homes.pages[0] = 2), "partition 0 or 1"),
            (with(|of| of.homes.mask = 1 << 21), "above those of a large page"),
            (with(|of| of.sms[1] = 2), "partition 0 or 1"),
            (with(|of| of.stream.footprint = Bytes::mib(6)), "homes of 4 MiB are known"),
            (with(|of| of.homes.mask = 0x400), "a pass of 2 KiB"),
            (with(|of| of.stream.unroll = 3), "3 accesses"),
        ] {
            assert!(defect.contains(words), "{defect}");
        }
    }

    #[test]
    fn the_lines_of_a_chase_are_listed() {
        let PartitionStream { stream, .. } = stream();
        let footprint = Bytes::mib(4);
        let chase = LoadedChase { stream, sm: 2, footprint, stride: Bytes(128), seed: 0, pause: 0 };
        let listed = PartitionChase { chase: chase.clone(), order: Order::Listed { offsets: vec![0, 8192] } };
        assert_eq!((listed.defect(), listed.chain().lap()), (None, 2));
        assert!(listed.to_string().starts_with("2 listed lines: a chase over 4 MiB on SM 2"), "{listed}");
        assert!(PartitionChase { chase, order: Order::Random }.defect().unwrap().contains("listed"));
    }
}
