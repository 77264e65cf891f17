//! Timings of another tool: what each series measured, in the terms of the field.
//!
//! An imported series is an experiment that nothing here can run ([`Imported`](crate::experiment::Imported)): its kernel,
//! its order and its overhead are the other tool's, and only what its files say is known.

use serde::{Deserialize, Serialize};

/// The memory or cache that a series is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The L1 data cache.
    L1,
    /// The texture path.
    Texture,
    /// The read-only path.
    ReadOnly,
    /// The first constant cache.
    ConstantL1,
    /// The second constant cache.
    ConstantL15,
    /// The scalar data cache of an AMD GPU.
    ScalarL1,
    /// Shared memory (local data share).
    Shared,
    /// The L2.
    L2,
    /// Device memory.
    Dram,
}

impl Series {
    /// A short name of what it was taken for.
    pub const fn name(self) -> &'static str {
        match self.question {
            Question::Size => "imported_size",
            Question::LineSize => "imported_line_size",
            Question::FetchGranularity => "imported_fetch_granularity",
            Question::Latency => "imported_latency",
        }
    }
}

impl Level {
    /// All of them.
    pub const ALL: [Level; 9] = [
        Level::L1,
        Level::Texture,
        Level::ReadOnly,
        Level::ConstantL1,
        Level::ConstantL15,
        Level::ScalarL1,
        Level::Shared,
        Level::L2,
        Level::Dram,
    ];

    /// Its name in words.
    pub const fn name(self) -> &'static str {
        match self {
            Level::L1 => "L1",
            Level::Texture => "texture",
            Level::ReadOnly => "read-only",
            Level::ConstantL1 => "constant L1",
            Level::ConstantL15 => "constant L1.5",
            Level::ScalarL1 => "scalar L1",
            Level::Shared => "shared memory",
            Level::L2 => "L2",
            Level::Dram => "device memory",
        }
    }
}

/// What a series was taken for, and so how it was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// The second lap over a footprint, of which the first loads are timed.
    Size,
    /// A warm lap with gaps: a footprint at a stride.
    LineSize,
    /// A cold chase at a stride.
    FetchGranularity,
    /// Hits, one after the other.
    Latency,
}

impl Question {
    /// All of them.
    pub const ALL: [Question; 4] = [Question::Size, Question::LineSize, Question::FetchGranularity, Question::Latency];

    /// Its name in words.
    pub const fn name(self) -> &'static str {
        match self {
            Question::Size => "size",
            Question::LineSize => "line size",
            Question::FetchGranularity => "fetch granularity",
            Question::Latency => "latency",
        }
    }
}

/// What an imported series is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Series {
    /// What it is about.
    pub level: Level,
    /// What it was taken for.
    pub question: Question,
}

/// Most rows of a series: the largest of MT4G has two thousand, and finding where something grows takes the square of them.
pub const MOST_ROWS: usize = 1 << 14;

/// Name of the backend in the [`RunInfo`](crate::topology::RunInfo) of timings that MT4G took.
pub const MT4G: &str = "mt4g";

/// The tool that took the timings of a run with this backend, if it was another one.
pub fn tool(backend: &str) -> Option<&'static str> {
    (backend == MT4G).then_some("MT4G")
}

/// Whether what is stated as the shared memory of one multiprocessor is that of all together, in bytes: MT4G's summaries of AMD
/// GPUs have what a block may use times the number of multiprocessors.
pub const fn is_sum(stated: u64, of_block: u64, multiprocessors: u32) -> bool {
    multiprocessors > 1 && of_block > 0 && stated >= of_block.saturating_mul(multiprocessors as u64)
}
