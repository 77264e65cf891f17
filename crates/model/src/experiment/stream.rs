//! Many threads that move memory as fast as they can.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::persistent::{Blocks, Counted, Persistent};
use super::{AccessWidth, ClusterStream, CopyStream, LoadPath, PartitionStream, Prepare, WARP, WindowStream};
use crate::samples::Samples;
use crate::units::Bytes;

/// What the threads do with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Traffic {
    /// They load from one array.
    Read,
    /// They store to one array.
    Write,
    /// They load from one array and store to another.
    Copy,
    /// They load from two arrays and store to a third.
    Triad,
}

impl Traffic {
    /// Every kind of traffic.
    pub const ALL: [Traffic; 4] = [Traffic::Read, Traffic::Write, Traffic::Copy, Traffic::Triad];

    /// Short name, used for kernels and in exported tables.
    pub const fn name(self) -> &'static str {
        match self {
            Traffic::Read => "read",
            Traffic::Write => "write",
            Traffic::Copy => "copy",
            Traffic::Triad => "triad",
        }
    }

    /// Arrays that are loaded from, and arrays that are stored to.
    pub const fn arrays(self) -> (u64, u64) {
        match self {
            Traffic::Read => (1, 0),
            Traffic::Write => (0, 1),
            Traffic::Copy => (1, 1),
            Traffic::Triad => (2, 1),
        }
    }
}

/// Who goes over which part of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Region {
    /// Each SM has a footprint of its own.
    Own,
    /// All SMs go over one footprint together.
    Together,
}

impl Region {
    /// As it stands behind a footprint.
    pub(super) const fn in_words(self) -> &'static str {
        match self {
            Region::Own => "each",
            Region::Together => "together",
        }
    }
}

/// What the arrays hold that are loaded from, or what is stored. It changes the power that moving it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Nothing but zeros.
    Zeros,
    /// Bits as good as random.
    Random,
}

/// Independent accesses of a thread in one pass of the loop that there are kernels for.
pub const UNROLLS: [u32; 5] = [1, 2, 4, 8, 16];

/// Blocks stay on their SMs and move memory until a time is over. All begin together. The passes of their loops count that end from
/// `warm_cycles` to `timed_cycles` later, by the SM's clock, while all go on for a while: so neither the beginning nor the end of
/// the launch is in the time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// What the threads do.
    pub traffic: Traffic,
    /// By which instruction they load, one of [`Stream::PATHS`]; stores go by the usual one. [`LoadPath::Host`] is pinned host memory for
    /// both, and [`LoadPath::Peer`] another GPU's memory. A load of constants brings the same bytes to all lanes of a warp.
    pub path: LoadPath,
    /// Bytes of one access of a thread.
    pub width: AccessWidth,
    /// Independent accesses of a thread in each pass of its loop: one of [`UNROLLS`].
    pub unroll: u32,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Blocks on each SM.
    pub blocks_per_sm: u32,
    /// SMs at work, counted from 0 in ascending `%smid`; all when empty.
    pub sms: Vec<u32>,
    /// Bytes of each array.
    pub footprint: Bytes,
    /// Who goes over which part of them.
    pub region: Region,
    /// What is in them.
    pub content: Content,
    /// State of the L2 before the launch.
    pub prepare: Prepare,
    /// Cycles before what is moved counts.
    pub warm_cycles: u32,
    /// Cycles for which it counts.
    pub timed_cycles: u32,
    /// Tells repetitions of one experiment apart.
    pub repeat: u32,
}

impl Stream {
    /// The paths that there are kernels for.
    pub const PATHS: [LoadPath; 8] = {
        use LoadPath::{Constant, GlobalCa, GlobalCg, GlobalNc, Host, Peer, Shared, Texture};
        [GlobalCa, GlobalCg, GlobalNc, Host, Shared, Texture, Constant, Peer]
    };

    /// Whether there are kernels for this kind of traffic by this path: what only an SM has is only read.
    pub fn is_possible(traffic: Traffic, path: LoadPath) -> bool {
        use LoadPath::{Constant, Shared, Texture};
        Self::PATHS.contains(&path) && (traffic == Traffic::Read || !matches!(path, Shared | Texture | Constant))
    }

    /// Lanes of a warp that access different bytes.
    pub const fn lanes(path: LoadPath) -> u32 {
        if matches!(path, LoadPath::Constant) { 1 } else { WARP as u32 }
    }

    /// Bytes of each array that a warp touches in one pass of its loop.
    pub fn pass(&self) -> Bytes {
        self.width.bytes() * u64::from(self.unroll) * u64::from(Self::lanes(self.path))
    }

    /// Bytes that the loads of one SM have in flight at most.
    pub fn in_flight(&self) -> Bytes {
        let warps = u64::from(self.threads_per_block.div_ceil(WARP as u32)) * u64::from(self.blocks_per_sm);
        self.pass() * warps * self.traffic.arrays().0.max(1)
    }

    pub(super) fn blocks(&self) -> Blocks<'_> {
        Blocks {
            threads: self.threads_per_block,
            per_sm: self.blocks_per_sm,
            sms: &self.sms,
            warm: self.warm_cycles,
            timed: self.timed_cycles,
        }
    }

    /// SMs that are at work, of so many.
    pub fn workers(&self, sms: usize) -> Vec<u32> {
        self.blocks().workers(sms)
    }

    /// Its shape in words, wherever it reads: `4 x 16 B, 2 blocks of 512 threads`.
    pub fn shape(&self) -> String {
        format!("{} x {}, {}", self.unroll, self.width.bytes(), self.blocks().on_each())
    }

    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        let Stream { traffic, path, .. } = *self;
        if !Stream::is_possible(traffic, path) {
            return Some(format!("there is no stream that does {} by {path}", traffic.name()));
        }
        let is_each_sms = matches!(path, LoadPath::Shared | LoadPath::Constant);
        if is_each_sms && self.region == Region::Together {
            return Some(format!("by {path} each SM reads its own"));
        }
        // Compilers make loads of single words of any others, and the sum of two words is known.
        let are_words = self.width == AccessWidth::B4 && self.unroll > 1 && self.content == Content::Random;
        if path == LoadPath::Constant && !are_words {
            return Some("constants are read by words of 4 B, at least two in a pass, and are random".into());
        }
        if !UNROLLS.contains(&self.unroll) {
            return Some(format!("{} accesses in a pass: there are kernels for {UNROLLS:?}", self.unroll));
        }
        if let Some(defect) = self.blocks().defect("a stream takes") {
            return Some(defect);
        }
        if self.footprint.0 == 0 || !self.footprint.0.is_multiple_of(self.pass().0) {
            return Some(format!("a footprint of {} is no multiple of the {} of a pass", self.footprint, self.pass()));
        }
        if self.footprint / self.pass() > u64::from(u32::MAX) {
            return Some(format!("a footprint of {} has too many pieces of {}", self.footprint, self.pass()));
        }
        matches!(self.prepare, Prepare::Fill { .. }).then(|| "a stream fills the caches itself".to_owned())
    }
}

impl fmt::Display for Stream {
    /// `read by ld.global.cg over 16 MiB together, 4 x 16 B, 2 blocks of 512 threads on all SMs`; a write is by the usual store.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stream { traffic, path, footprint, unroll, width, .. } = self;
        let region = self.region.in_words();
        let path = match (traffic, path) {
            (Traffic::Write, LoadPath::Host) => "st.global of host memory".to_owned(),
            (Traffic::Write, LoadPath::Peer) => "st.global of another GPU's memory".to_owned(),
            (Traffic::Write, _) => "st.global".to_owned(),
            (_, path) => path.to_string(),
        };
        let (traffic, bytes, blocks) = (traffic.name(), width.bytes(), self.blocks().in_words());
        write!(f, "{traffic} by {path} over {footprint} {region}, {unroll} x {bytes}, {blocks}")
    }
}

impl Persistent for Stream {
    /// In bytes.
    fn counted(&self, samples: &Samples) -> Option<Counted> {
        let (loaded, stored) = self.traffic.arrays();
        self.blocks().counted((self.pass() * (loaded + stored)).0 as f64, samples)
    }

    fn timed_cycles(&self) -> u32 {
        self.timed_cycles
    }
}

/// Experiments in which blocks do what their stream says, and count as it does.
macro_rules! as_their_stream {
    ($($experiment:ident),*) => {$(
        impl Persistent for $experiment {
            /// In bytes.
            fn counted(&self, samples: &Samples) -> Option<Counted> {
                self.stream.counted(samples)
            }

            fn timed_cycles(&self) -> u32 {
                self.stream.timed_cycles
            }
        }
    )*};
}

as_their_stream!(PartitionStream, ClusterStream, CopyStream, WindowStream);

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::samples::{ClockSpan, Lap};
    use crate::units::KIB;

    /// A stream that is possible.
    pub fn stream() -> Stream {
        Stream {
            traffic: Traffic::Copy,
            path: LoadPath::GlobalCg,
            width: AccessWidth::B16,
            unroll: 4,
            threads_per_block: 64,
            blocks_per_sm: 2,
            sms: vec![1, 3],
            footprint: Bytes(64 * KIB),
            region: Region::Together,
            content: Content::Random,
            prepare: Prepare::Nothing,
            warm_cycles: 100,
            timed_cycles: 1000,
            repeat: 0,
        }
    }

    /// Why an experiment is impossible once it is changed.
    pub fn refused<T>(mut experiment: T, change: fn(&mut T), defect: fn(&T) -> Option<String>) -> String {
        change(&mut experiment);
        defect(&experiment).unwrap()
    }

    #[test]
    fn what_counts_is_divided_by_its_time() {
        // 2 KiB a pass and array, two arrays: 10 passes in 1024 cycles are 40 bytes a cycle.
        let lap = Lap { loads: 10, cycles: 1024 };
        let clocks = vec![ClockSpan { cycles: 3000, nanoseconds: 1500 }; 4];
        let samples = Samples { laps: vec![lap; 4], clocks, ..Samples::default() };
        let streamed = stream().counted(&samples).unwrap();
        assert_eq!((streamed.per_clk, streamed.clock_ghz), (vec![80.0, 80.0], Some(2.0)));
        assert_eq!(stream().counted(&Samples::default()), None);
        assert_eq!(stream().in_flight(), Bytes::kib(8));
        // All lanes have the same constants.
        assert_eq!(Stream { path: LoadPath::Constant, ..stream() }.pass(), Bytes(64));
    }

    #[test]
    fn what_no_kernel_can_do_is_refused() {
        assert_eq!(stream().defect(), None);
        for (wrong, words) in [
            (Stream { unroll: 3, ..stream() }, "3 accesses"),
            (Stream { threads_per_block: 48, ..stream() }, "whole warps"),
            (Stream { path: LoadPath::Local, ..stream() }, "no stream that does copy by ld.local"),
            (Stream { path: LoadPath::Texture, ..stream() }, "no stream that does copy by tex"),
            (Stream { traffic: Traffic::Read, path: LoadPath::Shared, ..stream() }, "each SM reads its own"),
            (
                Stream { traffic: Traffic::Read, path: LoadPath::Constant, region: Region::Own, ..stream() },
                "words of 4 B",
            ),
            (Stream { footprint: Bytes(100), ..stream() }, "no multiple"),
            (Stream { timed_cycles: 0, ..stream() }, "at least one"),
            (Stream { sms: vec![3, 1], ..stream() }, "ascending"),
            (Stream { blocks_per_sm: 0, ..stream() }, "0 blocks"),
        ] {
            let defect = wrong.defect().unwrap();
            assert!(defect.contains(words), "{defect}");
        }
    }
}
