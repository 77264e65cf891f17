//! The raw results of an experiment, before any inference.

use serde::{Deserialize, Serialize};

/// The time of a number of loads in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lap {
    /// Dependent loads between the clock reads; of a pattern, what each thread does so many times.
    pub loads: u32,
    /// Cycles between the clock reads.
    pub cycles: u64,
}

/// The clock read at two moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSpan {
    /// Cycles of `%clock64` between them.
    pub cycles: u64,
    /// Nanoseconds of `%globaltimer` between them.
    pub nanoseconds: u64,
}

/// What a compiler made of a kernel whose program is the experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramFacts {
    /// 32-bit registers of a thread, as the driver says.
    pub registers: u32,
    /// Local memory of a thread in bytes, as the driver says.
    pub local_bytes: u32,
    /// Microseconds that the compiler took; the first time, where the text is compiled once.
    pub compile_us: u64,
    /// What the machine code between the clock reads holds, where its format can be read.
    pub code: Option<CodeFacts>,
}

/// What the machine code between the clock reads of a kernel holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeFacts {
    /// Bytes of machine code.
    pub bytes: u32,
    /// Loads from local memory.
    pub local_loads: u32,
    /// Stores to local memory.
    pub local_stores: u32,
}

/// The samples of one experiment. Which of the lists is filled follows from its kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Samples {
    /// Cycles of each timed load, overhead included; the `i`-th belongs to element `i` of the lap (modulo the lap).
    pub latencies: Vec<u32>,
    /// Whole-lap times.
    pub laps: Vec<Lap>,
    /// Clock readings.
    pub clocks: Vec<ClockSpan>,
    /// `%smid` of the SM that ran it.
    pub sm: u32,
    /// Device address of the chain's first byte (0 for memory that has none).
    pub base: u64,
    /// What the compiler made of the kernel, where that is part of the question.
    pub program: Option<ProgramFacts>,
    /// The SM of each block, where that is the question, counted from 0 in ascending `%smid`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sms: Vec<u32>,
}

/// Why an experiment has no samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Failure {
    /// The device or its driver cannot do it; a property of the machine, not a fault.
    #[error("{reason}")]
    Unsupported {
        /// Why.
        reason: String,
    },
    /// It was tried and failed.
    #[error("{reason}")]
    Failed {
        /// What the driver said, or which check failed.
        reason: String,
    },
    /// The recording that answers has no such experiment.
    #[error("the recording does not contain this experiment")]
    NotRecorded,
    /// The user stopped the run before it was done.
    #[error("interrupted before it was measured")]
    Interrupted,
}

impl Failure {
    /// A [`Failure::Failed`] with this reason.
    pub fn failed(reason: impl Into<String>) -> Self {
        Failure::Failed { reason: reason.into() }
    }

    /// A [`Failure::Unsupported`] with this reason.
    pub fn unsupported(reason: impl Into<String>) -> Self {
        Failure::Unsupported { reason: reason.into() }
    }
}
