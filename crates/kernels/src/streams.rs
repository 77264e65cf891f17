//! The kernels of streams: one for each kind of traffic, path, width and unrolling.

use strata_model::experiment::{
    AccessWidth, ClusterStream, Content, CopyStream, CopyWork, LoadPath, LoadedChase, PartitionStream, Stream, Traffic,
    UNROLLS, WARP, WindowStream,
};

/// What is particular to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// Nothing.
    Plain,
    /// One SM chases meanwhile, and the others pause.
    Chased,
    /// The pieces that a warp goes over are listed.
    Listed,
    /// Blocks go over the shared memory of others of their cluster.
    Clustered,
    /// Each warp copies its pieces into shared memory, a piece by one copy.
    Bulk,
    /// Likewise, by copies of 16 bytes of each lane.
    CpAsync,
    /// Each warp copies its part of a piece into the shared memory of all blocks of its cluster.
    Multicast,
}

impl Way {
    const ALL: [Way; 7] =
        [Way::Plain, Way::Chased, Way::Listed, Way::Clustered, Way::Bulk, Way::CpAsync, Way::Multicast];

    /// Whether copies that go on by themselves move the memory, 16 bytes of each lane.
    pub(crate) const fn copies(self) -> bool {
        matches!(self, Way::Bulk | Way::CpAsync | Way::Multicast)
    }

    /// Whether a whole piece, or a part of it, is one copy.
    pub(crate) const fn is_bulk(self) -> bool {
        matches!(self, Way::Bulk | Way::Multicast)
    }

    /// Whether there is such a stream with this traffic by this path.
    fn is_possible(self, traffic: Traffic, path: LoadPath) -> bool {
        match self {
            Way::Plain => Stream::is_possible(traffic, path),
            Way::Chased => path == LoadPath::GlobalCg && traffic != Traffic::Triad,
            Way::Listed => PartitionStream::is_possible(traffic, path),
            Way::Clustered => path == LoadPath::Shared && ClusterStream::is_possible(traffic),
            Way::Bulk | Way::CpAsync | Way::Multicast => path == LoadPath::GlobalCg && traffic == Traffic::Read,
        }
    }

    /// What it adds to the name of a kernel.
    const fn suffix(self) -> &'static str {
        match self {
            Way::Plain => "",
            Way::Chased => "_chased",
            Way::Listed => "_listed",
            Way::Clustered => "_clustered",
            Way::Bulk => "_bulk",
            Way::CpAsync => "_cp_async",
            Way::Multicast => "_multicast",
        }
    }
}

/// A kernel that moves memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamProgram {
    /// What it does with memory.
    pub traffic: Traffic,
    /// By which instruction it loads.
    pub path: LoadPath,
    /// Bytes of one access of a thread.
    pub width: u32,
    /// Accesses of a thread in one pass.
    pub unroll: u32,
    /// What is particular to it.
    pub way: Way,
}

/// Bytes that a lane copies at a time.
const WIDEST: u32 = 16;
/// What a word of the second half of a line and its partner in the first half sum up to.
pub const COMPLEMENT: u32 = 0x9e37_79b1;
/// By what a triad multiplies.
pub const SCALE: u32 = 3;
/// Factor of the hash behind the content, and of what is stored.
pub(crate) const HASH_FACTOR: u32 = 0x85eb_ca77;
/// What tells four words of one hash apart.
pub(crate) const MASKS: [u32; 3] = [0xd168_aaad, 0x27d4_eb2f, 0xb55a_4f09];
/// Where a block of a cluster writes its `%smid`, in bytes from the beginning of its record.
pub const RECORDED_SM: usize = 40;
/// Role of the SM that chases.
pub const CHASES: u32 = u32::MAX - 1;
/// Cycles after which a block begins without the others: half a millisecond.
pub(crate) const PATIENCE: u32 = 1_000_000;
/// Cycles from the beginning to the first load of constants: a few times what blocks of an SM begin apart, which is a load from the L2.
pub(crate) const SETTLING: u32 = 4_000;

impl StreamProgram {
    /// The text for a stream.
    pub fn of(stream: &Stream) -> Self {
        let Stream { traffic, path, width, unroll, .. } = *stream;
        StreamProgram { traffic, path: path.kernel(), width: width.bytes().0 as u32, unroll, way: Way::Plain }
    }

    /// The text for a stream by partition.
    pub fn of_partition(stream: &PartitionStream) -> Self {
        StreamProgram { way: Way::Listed, ..StreamProgram::of(&stream.stream) }
    }

    /// The text for a stream by window.
    pub fn of_windows(stream: &WindowStream) -> Self {
        StreamProgram { way: Way::Listed, ..StreamProgram::of(&stream.stream) }
    }

    /// The text for a chase while others stream.
    pub fn of_chase(chase: &LoadedChase) -> Self {
        StreamProgram { way: Way::Chased, ..StreamProgram::of(&chase.stream) }
    }

    /// The text for a stream in a cluster.
    pub fn of_cluster(stream: &ClusterStream) -> Self {
        let way = if stream.is_multicast() { Way::Multicast } else { Way::Clustered };
        StreamProgram { way, ..StreamProgram::of(&stream.stream) }
    }

    /// The text for a stream of copies, of which the defect is none.
    pub fn of_copies(copies: &CopyStream) -> Self {
        let way = if copies.by == CopyWork::Bulk { Way::Bulk } else { Way::CpAsync };
        StreamProgram { way, ..StreamProgram::of(&copies.stream) }
    }

    /// Every one that an experiment may need.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for traffic in Traffic::ALL {
            for path in Stream::PATHS.into_iter().filter(|path| path.kernel() == *path) {
                for way in Way::ALL.into_iter().filter(|way| way.is_possible(traffic, path)) {
                    for width in AccessWidth::ALL.map(|width| width.bytes().0 as u32) {
                        all.extend(UNROLLS.map(|unroll| StreamProgram { traffic, path, width, unroll, way }));
                    }
                }
            }
        }
        all.retain(|one| one.path != LoadPath::Constant || one.width == 4 && one.unroll > 1);
        all.retain(|one| !one.way.copies() || one.width == WIDEST);
        all
    }

    /// Some of each kind that there is a text for: the shortest, the widest and the longest.
    pub fn samples() -> Vec<Self> {
        let mut all = Vec::new();
        let longest = UNROLLS[UNROLLS.len() - 1];
        for path in Stream::PATHS.into_iter().filter(|path| path.kernel() == *path) {
            let (traffic, way) = (Traffic::Read, Way::Plain);
            let read = |(width, unroll)| StreamProgram { traffic, path, width, unroll, way };
            all.extend(match path {
                LoadPath::Constant => vec![read((4, UNROLLS[1])), read((4, longest))],
                _ => [(4, UNROLLS[0]), (8, 4), (16, longest)].map(read).to_vec(),
            });
        }
        let path = LoadPath::GlobalCg;
        for traffic in [Traffic::Write, Traffic::Copy, Traffic::Triad] {
            let of = |(width, unroll)| StreamProgram { traffic, path, width, unroll, way: Way::Plain };
            all.extend([(4, 1), (16, 4)].map(of));
        }
        let of = |traffic, path, way| StreamProgram { traffic, path, width: 16, unroll: 4, way };
        all.extend([Traffic::Read, Traffic::Write, Traffic::Copy].map(|traffic| of(traffic, path, Way::Chased)));
        for traffic in [Traffic::Read, Traffic::Write] {
            let clustered = of(traffic, LoadPath::Shared, Way::Clustered);
            all.extend([of(traffic, path, Way::Listed), clustered]);
            all.extend([(4, 1), (16, longest)].map(|(width, unroll)| StreamProgram { width, unroll, ..clustered }));
        }
        for way in [Way::Bulk, Way::CpAsync, Way::Multicast] {
            all.extend([1, longest].map(|unroll| StreamProgram { unroll, ..of(Traffic::Read, path, way) }));
        }
        all
    }

    /// The entry point.
    pub fn name(self) -> String {
        let StreamProgram { traffic, path, width, unroll, way } = self;
        format!("stream_{}_{}_{width}_{unroll}{}", traffic.name(), path.name(), way.suffix())
    }

    /// Bytes of each array that a warp touches in one pass.
    pub(crate) fn piece(self) -> u32 {
        self.width * self.unroll * Stream::lanes(self.path)
    }
}

/// Sum of the words that all lanes load in so many passes of a warp over such memory, modulo 2^32. In what a warp or a lane loads in a
/// pass each word has a partner.
pub fn stream_sum(stream: &Stream, passes: u32) -> u32 {
    let words = stream.width.bytes().0 as u32 / 4 * stream.unroll * WARP as u32 * stream.traffic.arrays().0 as u32;
    let pair = match stream.content {
        Content::Zeros => 0,
        Content::Random => COMPLEMENT,
    };
    (words / 2).wrapping_mul(pair).wrapping_mul(passes)
}

/// Sum of the words of a block's shared memory after other blocks have stored to all of it, modulo 2^32.
pub fn written_sum(stream: &Stream, seed: u32) -> u32 {
    let words = stream.width.bytes().0 as u32 / 4;
    let of_access = (0..WARP as u32).map(|lane| stored(lane, seed).wrapping_mul(words)).fold(0, u32::wrapping_add);
    of_access.wrapping_mul((stream.footprint.0 / (stream.width.bytes().0 * WARP as u64)) as u32)
}

/// Words of constants for streams whose lanes load `words` of them in a pass, a power of two: other words in each such piece, and all
/// pieces with the same sum.
pub fn constants(words: usize) -> impl Iterator<Item = u32> {
    let half = words / 2;
    (0..).map(move |number: u32| match number as usize % words < half {
        true => hashed(number),
        false => COMPLEMENT.wrapping_sub(hashed(number - half as u32)),
    })
}

/// Bits as good as random, by a number.
fn hashed(number: u32) -> u32 {
    let key = number.wrapping_mul(HASH_FACTOR);
    (key ^ key >> 15).wrapping_mul(HASH_FACTOR)
}

/// The four words of a number of four, as the kernels make them.
pub fn content(four: u32) -> [u32; 4] {
    let first = hashed(four & !4);
    let words = [first, first ^ MASKS[0], first ^ MASKS[1], first ^ MASKS[2]];
    if four & 4 == 0 { words } else { words.map(|word| COMPLEMENT.wrapping_sub(word)) }
}

/// What a lane stores in a stream that only writes; `seed` is zero for zeros.
pub fn stored(lane: u32, seed: u32) -> u32 {
    if seed == 0 { 0 } else { lane.wrapping_mul(HASH_FACTOR).wrapping_add(seed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_the_same_sum_and_other_words() {
        let line = |number: u32| -> Vec<u32> { (8 * number..8 * number + 8).flat_map(content).collect() };
        let sum = |words: &[u32]| words.iter().copied().fold(0, u32::wrapping_add);
        for number in [0, 1, 77, 1 << 20] {
            assert_eq!(sum(&line(number)), COMPLEMENT.wrapping_mul(16));
        }
        assert_ne!(line(0), line(1));
    }

    #[test]
    fn every_piece_of_constants_has_the_same_sum_and_other_words() {
        for words in [2, 4, 64] {
            let all: Vec<u32> = constants(words).take(4 * words).collect();
            for piece in all.chunks(words) {
                let sum = piece.iter().copied().fold(0, u32::wrapping_add);
                assert_eq!(sum, COMPLEMENT.wrapping_mul(words as u32 / 2));
            }
            assert_ne!(all[..words], all[words..2 * words]);
        }
    }
}
