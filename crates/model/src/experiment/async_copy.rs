//! Copies that go on by themselves, and how long one takes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::distributed::median_step;
use crate::samples::Samples;
use crate::units::{Bytes, KIB, MIB};

/// Steps between two looks at the counter of the timed loop.
pub const COPY_UNROLL: u32 = 4;
/// Bytes of which every copy is a multiple.
pub const COPY_UNIT: Bytes = Bytes(16);
/// Most bytes of a copy: what fits into the shared memory of a Hopper's block beside the rest.
const MOST_BYTES: Bytes = Bytes(128 * KIB);
/// The last place in memory: an L2 holds what lies before it.
const MOST_PLACE: Bytes = Bytes(MIB);
/// Most steps of a short measurement times rounds: of the largest copies they take about a hundred milliseconds.
const MOST_STEPS: u32 = 1 << 14;

/// What a thread does, step by step. Each step waits for its own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyWork {
    /// `cp.async.bulk` from global to shared memory; an mbarrier says when it is done.
    Bulk,
    /// `cp.async.bulk` from shared to global memory; `cp.async.bulk.wait_group` says when it is done.
    BulkStore,
    /// `cp.async` of 16 bytes from global to shared memory; `cp.async.wait_all` says when it is done.
    CpAsync,
    /// No copy: the thread arrives at an mbarrier, and waits for it.
    Mbarrier,
}

impl CopyWork {
    /// All of them.
    pub const ALL: [CopyWork; 4] = [CopyWork::Bulk, CopyWork::BulkStore, CopyWork::CpAsync, CopyWork::Mbarrier];

    /// As a kernel and a report name it.
    pub const fn name(self) -> &'static str {
        match self {
            CopyWork::Bulk => "bulk",
            CopyWork::BulkStore => "bulk_store",
            CopyWork::CpAsync => "cp_async",
            CopyWork::Mbarrier => "mbarrier",
        }
    }
}

/// One thread copies between memory that the L2 has and the shared memory of its block, two places in turn, while nothing else runs.
/// `laps` has the times of its rounds, a short and a long one each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AsyncCopy {
    /// What it does.
    pub work: CopyWork,
    /// Bytes of a copy, a multiple of [`COPY_UNIT`].
    pub bytes: Bytes,
    /// Where the first place begins in memory, a multiple of [`COPY_UNIT`]; the second one lies behind it.
    pub place: Bytes,
    /// The SM, counted from 0 in ascending `%smid`.
    pub sm: u32,
    /// Steps of a short measurement; a long one has twice as many.
    pub steps: u32,
    /// Measurements of both kinds.
    pub rounds: u32,
    /// Tells repetitions of one experiment apart.
    pub repeat: u32,
}

impl AsyncCopy {
    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        let AsyncCopy { work, bytes, place, steps, rounds, .. } = *self;
        if bytes.0 == 0 || !bytes.0.is_multiple_of(COPY_UNIT.0) || bytes > MOST_BYTES {
            return Some(format!("copies of {bytes}: they have a multiple of {COPY_UNIT}, at most {MOST_BYTES}"));
        }
        if !place.0.is_multiple_of(COPY_UNIT.0) || place > MOST_PLACE {
            return Some(format!("a place at {place}: it is a multiple of {COPY_UNIT}, at most {MOST_PLACE}"));
        }
        if matches!(work, CopyWork::CpAsync | CopyWork::Mbarrier) && bytes != COPY_UNIT {
            return Some(format!("{} is of {COPY_UNIT}", work.name()));
        }
        (!(1..=MOST_STEPS).contains(&steps.saturating_mul(rounds)) || !steps.is_multiple_of(COPY_UNROLL)).then(|| {
            format!(
                "{rounds} rounds of {steps} steps: steps are a multiple of {COPY_UNROLL}, and of all rounds together at most {MOST_STEPS}"
            )
        })
    }

    /// Cycles of a step, the median over the rounds of the difference of both kinds of measurements. Nothing, if the samples are not of
    /// this.
    pub fn step(&self, samples: &Samples) -> Option<f64> {
        if self.defect().is_some() || samples.laps.len() != 2 * self.rounds as usize {
            return None;
        }
        Some(median_step(&samples.laps, self.steps))
    }
}

impl fmt::Display for AsyncCopy {
    /// `bulk copies of 4 KiB at 8 KiB on SM 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, bytes) = match self.work {
            CopyWork::Bulk => ("bulk copies", Some(self.bytes)),
            CopyWork::BulkStore => ("bulk copies to memory", Some(self.bytes)),
            CopyWork::CpAsync => ("copies by cp.async", Some(self.bytes)),
            CopyWork::Mbarrier => ("an mbarrier", None),
        };
        let of = bytes.map_or(String::new(), |bytes| format!(" of {bytes} at {}", self.place));
        write!(f, "{what}{of} on SM {}", self.sm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Lap;

    const COPY: AsyncCopy =
        AsyncCopy { work: CopyWork::Bulk, bytes: Bytes(4096), place: Bytes(0), sm: 3, steps: 8, rounds: 3, repeat: 0 };

    #[test]
    fn a_step_is_the_median_difference_of_long_and_short() {
        let lap = |loads, cycles| Lap { loads, cycles };
        let round = |cycles: u64| [lap(8, 100), lap(16, 100 + 8 * cycles)];
        let samples = Samples { laps: [700, 9000, 710].into_iter().flat_map(round).collect(), ..Samples::default() };
        assert_eq!((COPY.step(&samples), COPY.step(&Samples::default())), (Some(710.0), None));
        assert_eq!(COPY.to_string(), "bulk copies of 4 KiB at 0 B on SM 3");
    }

    #[test]
    fn what_no_kernel_can_do_is_refused() {
        assert_eq!(COPY.defect(), None);
        for (wrong, words) in [
            (AsyncCopy { bytes: Bytes(24), ..COPY }, "a multiple of 16 B"),
            (AsyncCopy { bytes: Bytes::mib(1), ..COPY }, "at most 128 KiB"),
            (AsyncCopy { work: CopyWork::CpAsync, ..COPY }, "cp_async is of 16 B"),
            (AsyncCopy { steps: 6, ..COPY }, "a multiple of 4"),
            (AsyncCopy { place: Bytes(8), ..COPY }, "a place at 8 B"),
            (AsyncCopy { rounds: 0, ..COPY }, "0 rounds"),
        ] {
            let defect = wrong.defect().unwrap();
            assert!(defect.contains(words), "{defect}");
        }
    }
}
