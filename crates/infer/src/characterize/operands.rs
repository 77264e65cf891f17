//! The same arithmetic with operands in registers, in shared memory and in the L1 (CS 179, lecture 4: registers).

use super::Answer;
use super::points::{PlannedLine, ROUNDS, axis, counted, figure, finding, later_rounds, measure, said, times};
use crate::probe::{Gap, Notebook};
use strata_model::characterization::{Line, Suite};
use strata_model::experiment::{LoadPath, PatternRun};
use strata_model::pattern::{OPERANDS, OperandsIn, Pattern};

/// What is asked.
pub(super) const QUESTION: &str = "How much longer does arithmetic take when its operands come from shared memory or from the L1 instead of registers?";

/// Operations of each thread.
const OPERATIONS: u32 = 64 * OPERANDS;
/// Where the operands are: name of the line, and of the finding that compares it with the first.
const PLACES: [(&str, OperandsIn, &str); 3] = [
    ("registers", OperandsIn::Registers, ""),
    ("shared memory", OperandsIn::Shared, "shared_against_registers"),
    ("L1", OperandsIn::L1, "l1_against_registers"),
];

fn experiment(operands: OperandsIn, threads: u32) -> PatternRun {
    let pattern = Pattern::Sourced { operands, operations: OPERATIONS, threads };
    // The least shared memory, so that the L1 is as large as it can be.
    PatternRun { carveout_percent: Some(0), ..PatternRun::new(pattern, LoadPath::GlobalCa, ROUNDS) }
}

/// Measures and sums up.
pub(super) fn infer(notebook: &Notebook, suite: &Suite) -> Result<Answer, Gap> {
    let plans = PLACES.map(|(label, operands, _)| {
        PlannedLine::new(label, suite.threads.iter().copied(), move |t| experiment(operands, t))
    });
    let lines = measure(notebook, &plans, later_rounds)?;
    let mut answer = Answer::default();
    let mut told = Vec::new();
    let ratio = |line: &Line| {
        let most = line.points.last()?;
        Some((most.x, times(most, lines[0].at(most.x)?)?))
    };
    for ((label, _, name), line) in PLACES.iter().zip(&lines).skip(1) {
        let Some((threads, more)) = ratio(line) else { continue };
        let with = counted(threads as u32, "thread");
        let method =
            format!("time of multiply-adds with operands in {label} over the time with operands in registers, {with}");
        answer.finding(name, finding(&more, "", method));
        told.push(format!("{} times as long with operands from {label}", said(more.value)));
    }
    if let Some(threads) = lines[0].points.last().map(|point| point.x as u32)
        && !told.is_empty()
    {
        answer.means(format!(
            "Multiply-adds of {} take {}, compared with operands in registers.",
            counted(threads, "thread"),
            told.join(", and ")
        ));
    }
    answer.figure(figure(
        "operands",
        format!("Multiply-adds with {OPERANDS} operands in turn"),
        axis("threads", "", true),
        axis("cycles per operation of a thread", "cycles", false),
        lines,
    ));
    Ok(answer)
}
