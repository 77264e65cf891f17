//! The cost of uncoalesced writes (CS 179, lecture 4).
//!
//! No thread waits for a write before the next, but at the end all wait until every write can be seen. So a write costs what the
//! way to memory takes for it, not how long the way is.

use super::super::Answer;
use super::super::points::{
    PlannedLine, ROUNDS, axis, counted, every_round, figure, finding, longer, measure, percent_more,
};
use crate::probe::{Gap, Notebook};
use strata_model::characterization::Suite;
use strata_model::experiment::{LoadPath, PatternRun};
use strata_model::pattern::Pattern;
use strata_model::units::Bytes;

/// Writes of each thread, to elements of its own: of 1024 threads 4096 B apart they take 256 MiB, which every GPU has.
const WRITES: u32 = 64;

/// Threads that write elements behind each other: in each pass all of them write side by side, `distance` apart.
fn apart(threads: u32, distance: u64) -> PatternRun {
    let step = Bytes(distance * u64::from(threads));
    let pattern = Pattern::Writes { threads, writes: WRITES, distance: Bytes(distance), step };
    PatternRun::new(pattern, LoadPath::GlobalCa, ROUNDS)
}

/// Measures and sums up.
pub(super) fn infer(notebook: &Notebook, suite: &Suite) -> Result<Answer, Gap> {
    let distances: Vec<u32> = suite.distances.iter().map(|&d| d as u32).collect();
    let line = |&threads: &u32| {
        PlannedLine::new(counted(threads, "thread"), distances.iter().copied(), move |d: u32| {
            apart(threads, u64::from(d))
        })
    };
    let plans: Vec<PlannedLine> = suite.threads.iter().map(line).collect();
    let writes = measure(notebook, &plans, every_round)?;
    let mut answer = Answer::default();
    if let Some(line) = writes.iter().rev().find(|line| line.points.len() > 1)
        && let (Some(least), Some(greatest)) = (line.points.first(), line.points.last())
        && let Some(more) = percent_more(greatest, least)
    {
        let method = format!("time of writes with threads {} B apart against {} B", greatest.x, least.x);
        answer.finding("slowdown_of_writes", finding(&more, "%", method).note(format!("with {}", line.label)));
        if let Some(much) = longer(more.value) {
            answer.means(format!(
                "Writes of threads {} B apart instead of {} B take {much}, with {}.",
                greatest.x, least.x, line.label
            ));
        }
    }
    answer.figure(figure(
        "writes",
        format!("{WRITES} writes per thread, to words of its own"),
        axis("distance from thread to thread", "B", true),
        axis("cycles per write", "cycles", false),
        writes,
    ));
    Ok(answer)
}
