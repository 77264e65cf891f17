//! What blocks of a cluster do with each other's shared memory, and how long it takes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Clusters;
use crate::samples::{Lap, Samples};
use crate::units::Bytes;

/// Steps between two looks at the counter of the timed loop.
pub const UNROLL: u32 = 8;
/// Elements of a block's chain, and bytes from one to the next: all banks are used in turn.
pub const CHAIN: (u32, Bytes) = (64, Bytes(136));
/// Most steps of a short measurement times rounds, and most blocks: a block of a Hopper then takes some 20 ms, and all of them together, one after
/// the other, less than a display's watchdog allows.
const MOST_STEPS: u32 = 1 << 16;
const MOST_BLOCKS: u32 = 1 << 12;

/// What one thread of each block does, step by step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClusterWork {
    /// It follows a chain in the shared memory of a block of its cluster.
    Load,
    /// It waits for all blocks of its cluster at a barrier.
    Barrier,
    /// The same, at a barrier that does not order the memory accesses before it.
    RelaxedBarrier,
    /// It follows a chain as [`ClusterWork::Load`] does, by atomics that add nothing.
    Atomic,
}

impl ClusterWork {
    /// All of them.
    pub const ALL: [ClusterWork; 4] =
        [ClusterWork::Load, ClusterWork::Barrier, ClusterWork::RelaxedBarrier, ClusterWork::Atomic];

    /// As a kernel and a report name it.
    pub const fn name(self) -> &'static str {
        match self {
            ClusterWork::Load => "load",
            ClusterWork::Barrier => "barrier",
            ClusterWork::RelaxedBarrier => "relaxed_barrier",
            ClusterWork::Atomic => "atomic",
        }
    }

    /// Whether a block follows a chain in the memory of another.
    pub const fn is_walk(self) -> bool {
        matches!(self, ClusterWork::Load | ClusterWork::Atomic)
    }
}

/// Blocks of one thread in clusters. Each says on which SM it is ([`Samples::sms`], as of [`Clusters`]), and times what it does: `laps` has the
/// times of its rounds, a short and a long one each, block after block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Distributed {
    /// Blocks of a cluster.
    pub size: u32,
    /// Clusters of the launch.
    pub count: u32,
    /// Dynamic shared memory of a block: with more than half of an SM's, no two blocks are on one SM.
    pub shared_per_block: Bytes,
    /// What each block does.
    pub work: ClusterWork,
    /// From a block's own rank to that of the block whose memory it reads, around the cluster. 0 is its own memory, by the same addresses.
    pub distance: u32,
    /// Steps of a short measurement; a long one has twice as many.
    pub steps: u32,
    /// Measurements of both kinds.
    pub rounds: u32,
    /// Only the first block of the launch does anything; the others wait until it is done.
    pub alone: bool,
    /// Tells repetitions of one experiment apart.
    pub repeat: u32,
}

impl Distributed {
    /// The launch without what it does.
    pub const fn clusters(&self) -> Clusters {
        let Distributed { size, count, shared_per_block, repeat, .. } = *self;
        Clusters { size, count, shared_per_block, span_us: 0, repeat }
    }

    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        let chain = CHAIN.1 * u64::from(CHAIN.0);
        if let Some(defect) = self.clusters().defect() {
            return Some(defect);
        }
        if self.distance >= self.size {
            return Some(format!("a distance of {} in clusters of {}", self.distance, self.size));
        }
        if self.shared_per_block < chain {
            return Some(format!("{} of shared memory: the chain of a block takes {chain}", self.shared_per_block));
        }
        if self.clusters().blocks() > MOST_BLOCKS {
            return Some(format!("{}: at most {MOST_BLOCKS} blocks", self.clusters()));
        }
        let steps = self.steps.saturating_mul(self.rounds);
        if !(1..=MOST_STEPS).contains(&steps) || !self.steps.is_multiple_of(UNROLL) {
            return Some(format!(
                "{} rounds of {} steps: steps are a multiple of {UNROLL}, and of all rounds together at most {MOST_STEPS}",
                self.rounds, self.steps
            ));
        }
        (self.alone && !self.work.is_walk()).then(|| "a barrier is for all blocks of a cluster".into())
    }

    /// Blocks that time what they do.
    pub const fn workers(&self) -> u32 {
        if self.alone { 1 } else { self.clusters().blocks() }
    }

    /// Times that there must be.
    pub const fn times(&self) -> usize {
        (self.workers() as usize).saturating_mul(2 * self.rounds as usize)
    }

    /// What a step takes in cycles, by worker: its own SM, the SM whose memory it reads, and the median over the rounds of the difference of
    /// both kinds of measurements. Nothing, if the samples are not of this.
    pub fn steps_taken(&self, samples: &Samples) -> Option<Vec<(u32, u32, f64)>> {
        if self.defect().is_some()
            || samples.laps.len() != self.times()
            || samples.sms.len() != self.clusters().blocks() as usize
        {
            return None;
        }
        let of_block = samples.laps.chunks_exact(2 * self.rounds as usize).enumerate();
        let taken = of_block.map(|(block, laps)| {
            let (block, size) = (block as u32, self.size);
            let other = block / size * size + (block % size + self.distance) % size;
            (samples.sms[block as usize], samples.sms[other as usize], median_step(laps, self.steps))
        });
        Some(taken.collect())
    }
}

/// Cycles of a step: the median over rounds, of which there is one at least, of the difference of a long measurement and a short one, which has so
/// many steps.
pub(super) fn median_step(laps: &[Lap], steps: u32) -> f64 {
    let step = |pair: &[Lap]| (pair[1].cycles as f64 - pair[0].cycles as f64) / f64::from(steps);
    let mut taken: Vec<f64> = laps.chunks_exact(2).map(step).collect();
    taken.sort_by(f64::total_cmp);
    taken[taken.len() / 2]
}

impl fmt::Display for Distributed {
    /// `load, 33 clusters of 4 blocks, rank + 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.work.name(), self.clusters())?;
        if self.work.is_walk() {
            write!(f, ", rank + {}", self.distance)?;
        }
        f.write_str(if self.alone { ", one block alone" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOADS: Distributed = Distributed {
        size: 4,
        count: 2,
        shared_per_block: Bytes::kib(16),
        work: ClusterWork::Load,
        distance: 3,
        steps: 64,
        rounds: 3,
        alone: false,
        repeat: 0,
    };

    #[test]
    fn a_step_is_the_median_difference_of_long_and_short() {
        let lap = |loads, cycles| Lap { loads, cycles };
        let of_block = |block: u64| {
            let round = move |late: u64| [lap(64, 500 + late), lap(128, 500 + 64 * (100 + block) + late)];
            [round(0), round(7), [lap(64, 500), lap(128, 100_000)]].into_iter().flatten()
        };
        let samples =
            Samples { laps: (0..8).flat_map(of_block).collect(), sms: (10..18).collect(), ..Samples::default() };
        let taken = LOADS.steps_taken(&samples).unwrap();
        assert_eq!((taken[0], taken[1], taken[6]), ((10, 13, 100.0), (11, 10, 101.0), (16, 15, 106.0)));
        assert_eq!(LOADS.steps_taken(&Samples { sms: vec![1], ..samples }), None);
    }

    #[test]
    fn it_needs_a_cluster_memory_and_steps() {
        assert_eq!(LOADS.defect(), None);
        assert!(Distributed { distance: 4, ..LOADS }.defect().unwrap().contains("a distance of 4 in clusters of 4"));
        assert!(Distributed { size: 17, ..LOADS }.defect().unwrap().contains("1 to 16"));
        assert!(Distributed { shared_per_block: Bytes(100), ..LOADS }.defect().unwrap().contains("chain"));
        assert!(Distributed { steps: 7, ..LOADS }.defect().unwrap().contains("multiple of 8"));
        let barrier = Distributed { work: ClusterWork::Barrier, alone: true, ..LOADS };
        assert!(barrier.defect().unwrap().contains("all blocks"));
    }
}
