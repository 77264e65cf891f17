//! What to do on the device: an experiment is data.
//!
//! A probe writes experiments, the bench runs them, a recording keeps them. Two experiments that are equal ask for the
//! same thing, so a sample is found again by the content of its experiment. Nothing here knows how a device is driven.

mod defect;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::imported::Series;
use crate::pattern::Pattern;
use crate::units::Bytes;

/// How a load reaches memory: the instruction, and so the caches on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadPath {
    /// `ld.global.ca`: cached at every level that caches global loads.
    GlobalCa,
    /// `ld.global.cg`: cached in the L2 only.
    GlobalCg,
    /// `ld.global.nc`: the read-only path (compute capability 3.5 and later).
    GlobalNc,
    /// `tex.1d` on a linear texture object.
    Texture,
    /// `ld.const` with an address in a vector register (the indexed path).
    Constant,
    /// `ld.shared`.
    Shared,
    /// `ld.local`.
    Local,
    /// `ld.volatile.global` on a page of pinned host memory.
    Host,
    /// `atom.global.add` of zero: carried out where the line is at home, whatever copies there are.
    Atomic,
}

impl LoadPath {
    /// Every path, in the order of the documentation.
    pub const ALL: [LoadPath; 9] = [
        LoadPath::GlobalCa,
        LoadPath::GlobalCg,
        LoadPath::GlobalNc,
        LoadPath::Texture,
        LoadPath::Constant,
        LoadPath::Shared,
        LoadPath::Local,
        LoadPath::Host,
        LoadPath::Atomic,
    ];

    /// Short name, used for kernels and in exported tables.
    pub const fn name(self) -> &'static str {
        match self {
            LoadPath::GlobalCa => "ca",
            LoadPath::GlobalCg => "cg",
            LoadPath::GlobalNc => "nc",
            LoadPath::Texture => "tex",
            LoadPath::Constant => "const",
            LoadPath::Shared => "shared",
            LoadPath::Local => "local",
            LoadPath::Host => "host",
            LoadPath::Atomic => "atomic",
        }
    }

    /// The instruction as PTX spells it.
    pub const fn instruction(self) -> &'static str {
        match self {
            LoadPath::GlobalCa => "ld.global.ca",
            LoadPath::GlobalCg => "ld.global.cg",
            LoadPath::GlobalNc => "ld.global.nc",
            LoadPath::Texture => "tex.1d",
            LoadPath::Constant => "ld.const",
            LoadPath::Shared => "ld.shared",
            LoadPath::Local => "ld.local",
            LoadPath::Host => "ld.volatile.global (pinned host memory)",
            LoadPath::Atomic => "atom.global.add",
        }
    }

    /// Size of one chain element: a raw 64-bit address, or a 32-bit offset or texel index.
    pub const fn element(self) -> Bytes {
        match self {
            LoadPath::Texture | LoadPath::Constant | LoadPath::Shared | LoadPath::Local => Bytes(4),
            _ => Bytes(8),
        }
    }
}

impl fmt::Display for LoadPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.instruction())
    }
}

/// What the kernel measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kernel {
    /// Spin and read `%clock64` and `%globaltimer` at both ends. Only `timed_loads` is used: the span in microseconds.
    Clock,
    /// Whole-lap chase: the time of `timed_loads` and of twice as many loads, `rounds` times.
    Lap,
    /// Per-load chase: the time of each of `timed_loads` loads (Mei et al., section 3, the fine-grained pointer chase).
    PerLoad,
    /// As [`Kernel::PerLoad`] with two dependent loads between the clock reads: with it the overhead is calibrated.
    PerTwoLoads,
    /// Warm a chain, let `partner` walk another, time the first again (Größler, sections 4.5 and 4.6).
    Disturb,
    /// All lanes of a warp load, each its own element again and again ([`Order::Lanes`]): the time of `timed_loads` and of
    /// twice as many loads, `rounds` times (Mei et al., section 3.1). `stride` is the width of one lane's access.
    Warp,
    /// Threads at work by [`Order::Pattern`]: the time of the whole, `rounds` times in a launch, of which the first finds the
    /// caches of the SM empty. For pairs of loads, the time of each load.
    Pattern,
    /// Loads that another tool timed ([`Order::Imported`]): it can be analysed and not be run. A footprint or stride of 0 is one that
    /// its files do not say.
    Imported,
}

impl Kernel {
    /// Short name, used for entry points and in exported tables.
    pub const fn name(self) -> &'static str {
        match self {
            Kernel::Clock => "clock",
            Kernel::Lap => "lap",
            Kernel::PerLoad => "per_load",
            Kernel::PerTwoLoads => "per_two_loads",
            Kernel::Disturb => "disturb",
            Kernel::Warp => "warp",
            Kernel::Pattern => "pattern",
            Kernel::Imported => "imported",
        }
    }

    /// Raised when the kernel's text changes so that its samples mean something else.
    pub const fn version(self) -> u16 {
        1
    }
}

/// The order in which the elements of a chain are visited.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// One element every `stride`, ascending. Chains of one allocation are nested: a smaller footprint is a prefix of a
    /// larger one, at the same addresses.
    Sequential,
    /// One element every `stride`, in a random cycle.
    Random,
    /// One element every `stride`, displaced within its stride by a random multiple of `granule`, in a random cycle.
    Scattered {
        /// Displacements are multiples of this; it must divide the stride.
        granule: Bytes,
    },
    /// `lines` random elements of a page, then the next page: address translation misses once a page.
    Paged {
        /// Size of a page; the footprint is cut to whole pages.
        page: Bytes,
        /// Elements visited in each page.
        lines: u32,
    },
    /// These elements, in this order: to visit a line several times in a lap, several of its elements are named.
    Listed {
        /// Byte offsets, all different.
        offsets: Vec<u64>,
    },
    /// `lines` lines in every `stride`, a page, and two elements of each in a row: the first load meets the translation, the
    /// second finds it done, at the same place of the same cache, so that their difference is what translating took. Of
    /// further lines of the page the first load finds it done too: what it takes longer than the second is the data's.
    /// Lines are displaced by random multiples of `granule`, the same for every footprint, by less than the largest power of
    /// two that divides the stride.
    Pages {
        /// Displacements are multiples of this, a line; it must divide the stride.
        granule: Bytes,
        /// Lines of each page.
        lines: u32,
        /// In a random cycle, not in ascending order.
        shuffled: bool,
    },
    /// Every lane of a warp has one element, which it loads again and again ([`Kernel::Warp`] only).
    Lanes {
        /// Byte offset of each lane's element, lane 0 first; lanes of one element share it.
        offsets: Vec<u64>,
        /// Width of a bank that is asked for, where a device can be asked; its own choice when absent.
        bank_width: Option<Bytes>,
    },
    /// What each thread does is not a walk along a chain ([`Kernel::Pattern`] only).
    Pattern(Pattern),
    /// As another tool had it ([`Kernel::Imported`] only). `path` is the nearest that there is here.
    Imported(Series),
}

/// How the timed loads continue when the window that holds their times is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Walk {
    /// Walk whole laps between windows, so that writing the window out cannot disturb what is resident.
    Resident,
    /// Go straight on: for caches that are much larger than the window, and for cold chains.
    Straight,
}

/// What is done to the L2 before the kernel starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prepare {
    /// Nothing: the chain has just been written, so it is in the L2 as far as it fits.
    Nothing,
    /// Overwrite a buffer of several times the L2's size, so that the chain is in DRAM.
    FlushL2,
    /// Let a full block on the same SM load the footprint, one element every `stride`, this many times.
    Fill {
        /// Passes over the footprint.
        passes: u32,
    },
}

/// The second agent of a disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Partner {
    /// The path it loads by.
    pub path: LoadPath,
    /// Bytes it walks.
    pub footprint: Bytes,
    /// Distance of its loads.
    pub stride: Bytes,
    /// Laps that it walks.
    pub laps: u32,
    /// Which thread of the block it is; the first agent is thread 0.
    pub thread: u32,
    /// Threads in the block.
    pub block: u32,
}

/// One experiment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Experiment {
    /// What is measured.
    pub kernel: Kernel,
    /// By which instruction.
    pub path: LoadPath,
    /// Bytes walked.
    pub footprint: Bytes,
    /// Distance of neighbouring elements.
    pub stride: Bytes,
    /// Order of the visit.
    pub order: Order,
    /// Whole laps before the first timed load; 0 is a cold chain.
    pub warm_laps: u32,
    /// Loads that are timed (for [`Kernel::Lap`], loads of the shorter measurement).
    pub timed_loads: u32,
    /// Repetitions of the measurement inside one launch ([`Kernel::Lap`] only).
    pub rounds: u32,
    /// How windows follow one another.
    pub walk: Walk,
    /// State of the L2 before the launch.
    pub prepare: Prepare,
    /// Nothing else may run on the device: for levels that SMs share.
    pub alone: bool,
    /// On which SM, counted from 0 in ascending `%smid`; any when absent.
    pub sm: Option<u32>,
    /// Which of the run's device allocations holds the chain.
    pub allocation: u32,
    /// Share of the unified memory asked for as shared memory, in per cent; the driver's choice when absent.
    pub carveout: Option<u8>,
    /// The second agent ([`Kernel::Disturb`] only).
    pub partner: Option<Partner>,
    /// Seed of the order.
    pub seed: u64,
    /// Tells repetitions of one experiment apart.
    pub repeat: u32,
}

impl Experiment {
    /// A chase by `path` over `footprint` at `stride`: sequential, one warm lap, every load of one lap timed, on any SM,
    /// with the smallest possible share of shared memory.
    pub fn chase(kernel: Kernel, path: LoadPath, footprint: Bytes, stride: Bytes) -> Self {
        Experiment {
            kernel,
            path,
            footprint,
            stride,
            order: Order::Sequential,
            warm_laps: 1,
            timed_loads: (footprint / stride) as u32,
            rounds: 1,
            walk: Walk::Resident,
            prepare: Prepare::Nothing,
            alone: false,
            sm: None,
            allocation: 0,
            carveout: Some(0),
            partner: None,
            seed: 0,
            repeat: 0,
        }
    }

    /// A measurement of the SM clock over `span_us` microseconds on the `sm`-th SM.
    pub fn clock(span_us: u32, sm: u32, repeat: u32) -> Self {
        Experiment {
            timed_loads: span_us,
            sm: Some(sm),
            alone: true,
            repeat,
            carveout: None,
            ..Experiment::chase(Kernel::Clock, LoadPath::GlobalCg, Bytes(8), Bytes(8))
        }
    }

    /// Threads at work by a pattern, whose loads take this path, with nothing else on the device.
    pub fn pattern(pattern: Pattern, path: LoadPath, rounds: u32) -> Self {
        Experiment {
            order: Order::Pattern(pattern),
            warm_laps: 0,
            timed_loads: pattern.operations(),
            rounds,
            alone: true,
            carveout: None,
            ..Experiment::chase(Kernel::Pattern, path, pattern.footprint(), Bytes(1))
        }
    }

    /// `loads` loads of a series that another tool timed, over a footprint at a stride as far as its files say; `repeat` tells
    /// rows apart that say the same.
    pub fn imported(
        series: Series,
        path: LoadPath,
        (footprint, stride): (Bytes, Bytes),
        loads: u32,
        repeat: u32,
    ) -> Self {
        Experiment {
            kernel: Kernel::Imported,
            path,
            footprint,
            stride,
            order: Order::Imported(series),
            warm_laps: 0,
            timed_loads: loads,
            rounds: 1,
            walk: Walk::Straight,
            prepare: Prepare::Nothing,
            alone: false,
            sm: None,
            allocation: 0,
            carveout: None,
            partner: None,
            seed: 0,
            repeat,
        }
    }

    /// Elements in one lap.
    pub fn lap(&self) -> u64 {
        match &self.order {
            Order::Paged { page, lines } => (self.footprint.0 / page.0.max(1)).saturating_mul(u64::from(*lines)),
            Order::Listed { offsets } => offsets.len() as u64,
            Order::Pages { lines, .. } => (self.footprint / self.stride).saturating_mul(2 * u64::from(*lines)),
            Order::Lanes { .. } => 1,
            Order::Pattern(pattern) => u64::from(pattern.operations()),
            Order::Imported(_) => u64::from(self.timed_loads),
            _ => self.footprint / self.stride,
        }
    }
}

/// Bytes of each stride in which [`Order::Pages`] places its lines. They cross no boundary of a page, whose size is a power of
/// two: at one and a half pages they stay within half of one.
pub fn pages_span(stride: Bytes) -> u64 {
    (1u64 << stride.0.trailing_zeros()).min(LARGE_PAGE.0)
}

/// The driver's large page: long chains begin at a multiple of it.
pub const LARGE_PAGE: Bytes = Bytes::mib(2);

/// Lanes of a warp: 32 on every NVIDIA GPU so far.
pub const WARP: usize = 32;
/// Widths of one lane's access that PTX has: one, two and four words (`ld.shared.u32`, `.v2.u32`, `.v4.u32`).
pub const WARP_ACCESSES: [Bytes; 3] = [Bytes(4), Bytes(8), Bytes(16)];
/// Widths of a bank that a driver can be asked for (`CUsharedconfig` in `cuda.h`).
pub const BANK_WIDTHS: [Bytes; 2] = [Bytes(4), Bytes(8)];
