//! One run of a pattern kernel.

use serde::{Deserialize, Serialize};

use super::{LoadPath, Prepare};
use crate::pattern::{BURST_ROUNDS, CONSTANT_MEMORY, Pattern};

/// Most rounds of a pattern in one launch.
const MOST_ROUNDS: u32 = 64;
/// Most operations of a thread in one launch, all rounds together: at a microsecond each, which only a barrier of the grid takes,
/// they stay under a display's watchdog.
const MOST_WORK: u64 = 1 << 20;

/// A pattern in a launch of its own, with nothing else on the device: the time of the whole, `rounds` times, of which the first
/// finds the caches of the SM empty. For pairs of loads, the time of each load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatternRun {
    /// What the threads do.
    pub pattern: Pattern,
    /// By which instruction they load.
    pub path: LoadPath,
    /// Repetitions inside one launch.
    pub rounds: u32,
    /// State of the L2 before the launch.
    pub prepare: Prepare,
    /// Share of the unified memory asked for as shared memory, in per cent; the driver's choice when absent.
    pub carveout_percent: Option<u8>,
    /// Seed of what the pattern draws at random.
    pub seed: u64,
    /// Tells repetitions of one experiment apart.
    pub repeat: u32,
}

impl PatternRun {
    /// A pattern by this path, with the driver's choice of the carveout.
    pub fn new(pattern: Pattern, path: LoadPath, rounds: u32) -> Self {
        PatternRun { pattern, path, rounds, prepare: Prepare::Nothing, carveout_percent: None, seed: 0, repeat: 0 }
    }

    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        use LoadPath::{Constant, GlobalCa, GlobalCg, GlobalNc, Host, Shared, Texture};
        let pattern = self.pattern;
        let paths: &[LoadPath] = match pattern {
            Pattern::Pairs { .. } => &[Shared, Texture, Constant, GlobalCa, GlobalCg],
            Pattern::Reads { .. } => &[GlobalCa, GlobalCg, GlobalNc],
            Pattern::Constants { .. } | Pattern::Operands { .. } => &[Constant],
            Pattern::Square { .. } | Pattern::Sampled { .. } | Pattern::Cube { .. } => &[Texture],
            Pattern::Burst { .. } => &[Host],
            Pattern::Barriers { .. }
            | Pattern::Sums { .. }
            | Pattern::Histogram { .. }
            | Pattern::Intensity { .. }
            | Pattern::Writes { .. }
            | Pattern::Sourced { .. } => &[GlobalCa],
        };
        if !paths.contains(&self.path) {
            return Some(format!("this pattern has no loads by {}", self.path));
        }
        if !(1..=MOST_ROUNDS).contains(&self.rounds) {
            return Some(format!("{} rounds: a launch has 1 to {MOST_ROUNDS}", self.rounds));
        }
        if let Pattern::Burst { .. } = pattern
            && self.rounds > BURST_ROUNDS
        {
            return Some(format!("{} rounds of a burst: there are lines for {BURST_ROUNDS}", self.rounds));
        }
        if let Prepare::Fill { passes: passes @ (0 | MOST_ROUNDS..) } = self.prepare {
            return Some(format!("{passes} passes before the launch that counts: there are 1 to {}", MOST_ROUNDS - 1));
        }
        if u64::from(pattern.operations()) * u64::from(self.rounds) > MOST_WORK {
            return Some(format!(
                "{} operations in each of {} rounds: a launch has {MOST_WORK} at most",
                pattern.operations(),
                self.rounds
            ));
        }
        if let Pattern::Pairs { large, .. } = pattern
            && self.path == Constant
            && large > CONSTANT_MEMORY
        {
            return Some(format!("pairs {large} apart: a module has {CONSTANT_MEMORY} of constant memory"));
        }
        pattern.defect()
    }
}
