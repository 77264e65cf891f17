//! A burst of loads of host memory: what it loads, and how long each round takes.

use super::plan::LaunchPlan;
use super::{Bench, Outcome};
use strata_gpu::{DevicePtr, Function, Launch, Result};
use strata_kernels::content;
use strata_model::experiment::{Content, PatternRun, Side, WARP};
use strata_model::pattern::{BURST_OPTIONAL, MOST_BURST, Pattern, burst_at, burst_optional};
use strata_model::samples::{Failure, Lap};
use strata_model::units::Bytes;

/// Bytes of a warp's clock reads in a round: before its loads, behind them, when they were answered, and the number of
/// the round.
const TIMES: usize = 16;

impl Bench<'_> {
    /// Runs a burst.
    pub(super) fn burst(&mut self, run: &PatternRun, function: Function) -> Result<Outcome> {
        // Words that the host knows: as many as the longest burst wants, so that memory is pinned once.
        let longest = Pattern::Burst { loads: MOST_BURST, each: MOST_BURST, warps: 1 };
        let words = self.filled_source(Side::Host, longest.footprint(), Content::Random)?;
        self.launch_pattern(run, run.pattern, function, &plan(run, words))
    }
}

/// What to launch for a burst over these words.
fn plan(run: &PatternRun, words: DevicePtr) -> LaunchPlan {
    let Pattern::Burst { loads, each, warps } = run.pattern else { unreachable!("only bursts are launched here") };
    let (all, further) = burst_optional(loads, each, warps);
    LaunchPlan {
        launch: Launch::new(1, run.pattern.threads()),
        count: loads,
        buffer: words.0,
        parameters: [u64::from(all), u64::from(further), 0],
        check: Some((0..warps).map(|warp| WARP as u64 * u64::from(sum((loads, each, warps), warp, run.rounds))).sum()),
    }
}

/// The sum of the words that each lane of a warp loads in all rounds of a burst.
fn sum((loads, each, warps): (u32, u32, u32), warp: u32, rounds: u32) -> u32 {
    let (all, further) = burst_optional(loads, each, warps);
    let optional = all + u32::from(warp < further);
    let made = (0..each).filter(|&load| load < optional || load >= BURST_OPTIONAL);
    let word = |load: u32, round: u32| content((burst_at(load, warp, round) / Bytes(16)) as u32)[0];
    made.flat_map(|load| (0..rounds).map(move |round| word(load, round))).fold(0, u32::wrapping_add)
}

/// Bytes of the times of so many rounds.
pub(super) fn times(warps: u32, rounds: u32) -> usize {
    TIMES * warps as usize * rounds as usize
}

/// The time of each round: from the first warp's first load to the last warp's last answer.
pub(super) fn laps(loads: u32, warps: u32, times: &[u8]) -> std::result::Result<Vec<Lap>, Failure> {
    let reads =
        |warp: &[u8]| [0, 4, 8].map(|at| u32::from_le_bytes([warp[at], warp[at + 1], warp[at + 2], warp[at + 3]]));
    let rounds = times.chunks_exact(TIMES * warps as usize).zip(0..).map(|(round, number): (_, u32)| {
        if round.chunks_exact(TIMES).any(|warp| warp[12..] != number.to_le_bytes()) {
            return None;
        }
        let reads: Vec<[u32; 3]> = round.chunks_exact(TIMES).map(reads).collect();
        // Clocks of 32 bits go round, and a burst is short.
        let since = |clock: u32| i64::from(clock.wrapping_sub(reads[0][0]) as i32);
        let is_in_order = |[from, issued, to]: [u32; 3]| since(from) <= since(issued) && since(issued) < since(to);
        let first = reads.iter().map(|[from, ..]| since(*from)).min()?;
        let last = reads.iter().map(|[.., to]| since(*to)).max()?;
        reads.iter().copied().all(is_in_order).then_some(Lap { loads, cycles: (last - first) as u64 })
    });
    let laps: Option<Vec<Lap>> = rounds.collect();
    laps.ok_or_else(|| {
        Failure::failed("a warp read the clock in another order than it was asked to, or left out a round")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_lasts_from_the_first_load_to_the_last_answer() {
        let warp = |from: u32, issued: u32, to: u32| [from, issued, to, 0].map(u32::to_le_bytes).concat();
        // The clock goes round between the two warps.
        let round = [warp(5, 20, 900), warp(u32::MAX - 4, 10, 800)].concat();
        assert_eq!(laps(7, 2, &round).unwrap(), [Lap { loads: 7, cycles: 905 }]);
        let wrong = [warp(5, 20, 900), warp(5, 10, 0)].concat();
        assert!(laps(7, 2, &wrong).unwrap_err().to_string().contains("another order"));
        // Two rounds, both of which say that they are the first.
        assert!(laps(7, 2, &round.repeat(2)).unwrap_err().to_string().contains("left out a round"));
    }

    #[test]
    fn a_warp_that_leaves_out_a_load_has_another_sum() {
        let sum = |loads, warp| sum((loads, 8, 2), warp, 1);
        let first = |load: u32| content((burst_at(load, 0, 0) / Bytes(16)) as u32)[0];
        assert_eq!(sum(9, 0), [0, 4, 5, 6, 7].map(first).into_iter().fold(0, u32::wrapping_add));
        assert_eq!(sum(9, 1), sum(8, 1));
        assert_ne!(sum(10, 1), sum(8, 1));
    }
}
