//! A histogram of bytes (CS 179, lecture 4: a shared memory application): global or shared atomics.

use super::Answer;
use super::points::{
    PlannedLine, ROUNDS, axis, every_round, figure, finding, measure, over, percent_more, said, times,
};
use crate::probe::{Gap, Notebook};
use strata_model::characterization::Suite;
use strata_model::experiment::{LoadPath, PatternRun};
use strata_model::pattern::{Counters, Pattern};

/// What is asked.
pub(super) const QUESTION: &str = "Is a histogram faster if each block counts in shared memory and merges the result?";

/// Input of each block, in bytes: its counters' zeroing and merging are a small part of the work, as in any real input.
const BYTES: u32 = 64 << 10;
/// Threads of a block.
const THREADS: u32 = 1024;
/// Shares of the input that are one byte, in per cent.
const SKEWS: [u32; 5] = [0, 25, 50, 75, 100];

/// Measures and sums up.
pub(super) fn infer(notebook: &Notebook, _: &Suite) -> Result<Answer, Gap> {
    let facts = notebook.facts();
    // A power of two, so that each thread has as many whole words of the input.
    let most = THREADS.min(facts.max_threads_per_block).max(1);
    let (blocks, threads) = (facts.multiprocessors.max(1), 1 << most.ilog2());
    let seed = notebook.seed(52);
    let plan = |label: &str, counters| {
        PlannedLine::new(label, SKEWS, move |skew: u32| {
            let pattern = Pattern::Histogram { counters, skew, bytes: BYTES, threads, blocks };
            PatternRun { seed, ..PatternRun::new(pattern, LoadPath::GlobalCa, ROUNDS) }
        })
    };
    let plans = [plan("global atomics", Counters::Global), plan("shared atomics, merged", Counters::Shared)];
    let mut lines = measure(notebook, &plans, every_round)?;
    // A thread's operations are its bytes; what users count is bytes of the SM.
    for point in lines.iter_mut().flat_map(|line| &mut line.points) {
        *point = over(point, f64::from(threads));
    }
    let mut answer = Answer::default();
    if let [global, shared] = lines.as_slice() {
        for skew in [SKEWS[0], SKEWS[SKEWS.len() - 1]] {
            let x = f64::from(skew);
            let (Some(slow), Some(fast)) = (global.at(x), shared.at(x)) else { continue };
            let Some(more) = times(slow, fast) else { continue };
            answer.finding(
                &format!("global_against_shared_{skew}"),
                finding(&more, "", format!("time of global atomics divided by that of shared atomics with a merge, {skew} % of the input the same byte")),
            );
            answer.means(format!(
                "If {skew} % of the input is the same byte, global atomics take {} times as long as shared atomics \
                 ({:.3} and {:.3} cycles per byte on each of {blocks} SMs).",
                said(slow.value / fast.value),
                slow.value,
                fast.value
            ));
        }
        for (name, line, sms, whose) in
            [("global", global, blocks, "all SMs together"), ("shared", shared, 1, "the warps of one SM together")]
        {
            let Some(one) = line.at(f64::from(SKEWS[SKEWS.len() - 1])) else { continue };
            let each = over(one, f64::from(sms));
            answer.finding(
                &format!("{name}_one_counter"),
                finding(
                    &each,
                    "cycles",
                    format!(
                        "time between two atomics on one counter, to which {whose} add, with all that counting takes"
                    ),
                ),
            );
            if sms > 1 {
                answer.means(format!(
                    "{sms} SMs that add to the same counter in global memory wait for each other: one addition every {} cycles.",
                    said(each.value)
                ));
            }
        }
        for (name, line) in [("global", global), ("shared", shared)] {
            let (Some(even), Some(skewed)) = (line.at(0.0), line.at(100.0)) else { continue };
            let Some(more) = percent_more(skewed, even) else { continue };
            answer.finding(
                &format!("{name}_skew"),
                finding(
                    &more,
                    "%",
                    format!("extra time of {} on one byte compared with uniformly random bytes", line.label),
                ),
            );
        }
    }
    answer.figure(figure(
        "bytes",
        "Counting bytes on all SMs",
        axis("share of one byte", "%", false),
        axis("cycles per byte of an SM", "cycles", false),
        lines,
    ));
    Ok(answer)
}
