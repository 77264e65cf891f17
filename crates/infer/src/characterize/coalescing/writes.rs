//! The cost of uncoalesced writes (CS 179, lecture 4).
//!
//! No thread waits for a write before the next, but at the end all wait until every write can be seen. So a write costs what the
//! way to memory takes for it, not how long the way is.

use super::super::Answer;
use super::super::points::{
    PlannedLine, ROUNDS, axis, counted, every_round, figure, finding, later_rounds, longer, measure, percent_more,
};
use super::window;
use crate::probe::{Gap, Notebook};
use strata_model::characterization::Suite;
use strata_model::experiment::{LoadPath, PatternRun, WARP};
use strata_model::pattern::Pattern;
use strata_model::units::Bytes;

/// Writes of each thread, to elements of its own: of 1024 threads 4096 B apart they take 256 MiB, which every GPU has.
const WRITES: u32 = 64;
/// Writes of each thread to one element: so many that the wait at the end is a few cycles a write.
const AGAIN: u32 = 1024;

/// Threads that write elements behind each other: in each pass all of them write side by side, `distance` apart.
fn apart(threads: u32, distance: u64) -> PatternRun {
    let step = Bytes(distance * u64::from(threads));
    let pattern = Pattern::Writes { threads, writes: WRITES, distance: Bytes(distance), step };
    PatternRun::new(pattern, LoadPath::GlobalCa, ROUNDS)
}

/// A warp that writes the same elements again and again.
fn again(distance: u64) -> PatternRun {
    let pattern = Pattern::Writes { threads: WARP as u32, writes: AGAIN, distance: Bytes(distance), step: Bytes(0) };
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
    let repeated = PlannedLine::new("st.global", distances.iter().copied(), |d: u32| again(u64::from(d)));
    let (writes, repeated) = (measure(notebook, &plans, every_round), measure(notebook, &[repeated], later_rounds));
    let (writes, repeated) = (writes?, repeated?);
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
    let mut moved = Vec::new();
    for line in &repeated {
        window::window(&mut answer, "write", line, &mut moved);
    }
    let x = || axis("distance from thread to thread", "B", true);
    let y = || axis("cycles per write", "cycles", false);
    answer.figure(figure("writes", format!("{WRITES} writes per thread, to words of its own"), x(), y(), writes));
    answer.figure(figure("writes_window", "A warp writes the same words repeatedly", x(), y(), repeated));
    Ok(answer)
}
