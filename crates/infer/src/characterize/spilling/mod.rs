//! What register spilling costs (Fuchs et al., section 3.4.4).
//!
//! A thread has X variables of 64 bits and statements that add one drawn at random to a sum, and the sum to another. The
//! loop's body has a fixed number of statements, so that straight-line code does not measure the instruction cache; a control
//! of as many instructions on eight variables shows that it does not. What was spilled is read from the machine code that the
//! driver's compiler made, not concluded from times.

mod compiled;

use super::Answer;
use super::points::{
    PlannedLine, axis, counted, difference, figure, finding, later_rounds, longer, measure, percent_more, said,
};
use crate::probe::{Gap, Notebook, Settle};
use strata_model::characterization::{Line, Point, Suite};
use strata_model::experiment::{LoadPath, PatternRun};
use strata_model::pattern::{MOST_VARIABLES, Pattern, STATEMENTS_A_PASS};
use strata_model::topology::Finding;

/// What is asked.
pub(super) const QUESTION: &str =
    "With how many variables does the compiler start to spill registers, and what does that cost?";

/// Rounds of a launch.
const ROUNDS: u32 = 2;
/// Variables of the control, which fit into registers whatever the block.
const CONTROL: u32 = 8;
/// Blocks of as many threads may give each 255 registers, the most that there are (65536 of an SM).
const FEW_THREADS: u32 = 256;
/// A control counts as equally long if it is within this share.
const EQUAL: f64 = 0.1;
/// Times with most of the memory given to shared memory differ if they are longer by this share.
const LONGER: f64 = 1.05;

/// The programs of a question.
struct Programs<'n> {
    notebook: &'n Notebook,
    /// Thread counts of a block, ascending.
    threads: &'n [u32],
    /// Variables of a thread, ascending.
    variables: Vec<u32>,
    /// Statements of a thread.
    statements: u32,
}

impl<'n> Programs<'n> {
    fn of(notebook: &'n Notebook, suite: &'n Suite) -> Self {
        let variables = if suite.variables.is_empty() { doublings(notebook) } else { suite.variables.clone() };
        Programs { notebook, threads: &suite.threads, variables, statements: suite.statements }
    }

    /// A block of so many threads, each with so many variables, and padded.
    fn run(&self, threads: u32, variables: u32, padding: u32) -> PatternRun {
        let pattern = Pattern::Sums { threads, variables, statements: self.statements, padding };
        // The least shared memory, so that the L1 is as large as it can be; and always a request, as the other one is made, too.
        PatternRun { carveout_percent: Some(0), ..PatternRun::new(pattern, LoadPath::GlobalCa, ROUNDS) }
    }
}

/// 2, 4, 8 and so on: the paper's. A program of 2048 variables takes the compiler five times as long as one of 512.
fn doublings(notebook: &Notebook) -> Vec<u32> {
    let most = notebook.effort().choose(256, MOST_VARIABLES, MOST_VARIABLES);
    (1..).map(|power| 1u32 << power).take_while(|&x| x <= most).collect()
}

/// Measures and sums up.
pub(super) fn infer(notebook: &Notebook, suite: &Suite) -> Result<Answer, Gap> {
    let programs = Programs::of(notebook, suite);
    let all = &programs;
    let plan = |&threads: &u32| {
        PlannedLine::new(counted(threads, "thread"), all.variables.iter().copied(), move |x: u32| {
            all.run(threads, x, 0)
        })
    };
    let plans: Vec<PlannedLine> = programs.threads.iter().map(plan).collect();
    let lines = measure(notebook, &plans, later_rounds)?;
    let mut answer = Answer::default();
    programs.compiled(&mut answer)?;
    let spilled = programs.beginning(&mut answer)?;
    cost(&lines, &mut answer);
    if let (Some(_), Some(most)) = (spilled, most(&lines)) {
        if let Err(unknown) = control(&programs, most, &lines, &mut answer).settled()? {
            answer.finding("control", unknown.finding());
        }
        cached(&programs, most, &mut answer)?;
    }
    answer.figures.insert(
        0,
        figure(
            "latency",
            format!("{} statements", suite.statements),
            axis("variables of 64 bits", "", true),
            axis("cycles per statement", "cycles", false),
            lines,
        ),
    );
    Ok(answer)
}

/// The most variables that were measured: an older recording may have fewer than are asked for now.
fn most(lines: &[Line]) -> Option<u32> {
    lines.iter().filter_map(|line| line.points.last()).map(|point| point.x as u32).max()
}

/// What the most variables cost against the fewest.
fn cost(lines: &[Line], answer: &mut Answer) {
    let ends = [
        ("slowdown_fewest_threads", lines.first()),
        ("slowdown_most_threads", lines.last().filter(|_| lines.len() > 1)),
    ];
    for (name, line) in ends {
        let Some(line) = line else { continue };
        let (Some(few), Some(many)) = (line.points.first(), line.points.last()) else { continue };
        let Some(more) = percent_more(many, few) else { continue };
        answer.finding(
            name,
            finding(&more, "%", format!("time with {} variables against {}", many.x, few.x))
                .note(format!("with {}", line.label)),
        );
        if let Some(much) = longer(more.value) {
            answer.means(format!("With {}, {} variables take {much} than {}.", line.label, many.x, few.x));
        }
    }
}

/// A program that does not spill and is as long as the one that spills most.
fn control(programs: &Programs<'_>, most: u32, lines: &[Line], answer: &mut Answer) -> Result<(), Gap> {
    let Some(code) = programs.program(1, most)?.code else {
        answer.finding(
            "control",
            Finding::unknown(
                "the machine code of this device cannot be read, so no control of the same length can be made",
            ),
        );
        return Ok(());
    };
    let threads: Vec<u32> = programs.threads.iter().copied().filter(|&t| t <= FEW_THREADS).collect();
    if threads.is_empty() {
        let reason = format!(
            "the control is for blocks of up to {FEW_THREADS} threads, and no such number of threads was given"
        );
        answer.finding("control", Finding::unknown(reason));
        return Ok(());
    }
    let Some(plain) = programs.program(1, CONTROL)?.code else { return Ok(()) };
    let padding = code.bytes.saturating_sub(plain.bytes) / 16;
    let plan = PlannedLine::new("control, no spilling", threads, |t: u32| programs.run(t, CONTROL, padding));
    let control = measure(programs.notebook, &[plan], later_rounds)?.remove(0);
    let first = programs.threads.first().copied().unwrap_or(1);
    let long = programs.notebook.read(&[programs.run(first, CONTROL, padding)])?;
    let long = long[0].samples().program.and_then(|p| p.code).map_or(0, |c| c.bytes);
    let as_long = (f64::from(long) - f64::from(code.bytes)).abs() <= EQUAL * f64::from(code.bytes);
    let spilling = Line {
        label: format!("{most} variables"),
        points: programs
            .threads
            .iter()
            .zip(lines)
            .filter(|(t, _)| **t <= FEW_THREADS)
            .filter_map(|(t, line)| Some(Point { x: f64::from(*t), ..line.at(f64::from(most))?.clone() }))
            .collect(),
        reason: None,
        failed: false,
    };
    if let (Some(with), Some(without)) = (spilling.points.first(), control.points.first())
        && let Some(more) = percent_more(with, without)
    {
        let length = if as_long { "as long" } else { "not as long" };
        let found =
            finding(&more, "%", format!("time with {most} variables against a program of {CONTROL} that is {length}"))
                .note(format!("{} against {long} bytes of machine code in the loop", code.bytes));
        answer.finding("slowdown_against_control", found);
        let accesses = f64::from(code.local_loads + code.local_stores) / f64::from(STATEMENTS_A_PASS);
        if accesses > 0.0 {
            let each = difference(with, without, accesses);
            answer.finding(
                "local_access",
                finding(
                    &each,
                    "cycles",
                    format!(
                        "cost of each access to local memory compared with the control, {}",
                        counted(with.x as u32, "thread")
                    ),
                ),
            );
        }
    }
    answer.figure(figure(
        "control",
        "Spilling, and a control program of the same length that does not spill",
        axis("threads", "", true),
        axis("cycles per statement", "cycles", false),
        vec![spilling, control],
    ));
    Ok(())
}

/// Where spilled bytes are cached: whether it matters what the L1 has left beside shared memory.
fn cached(programs: &Programs<'_>, most: u32, answer: &mut Answer) -> Result<(), Gap> {
    let threads: Vec<u32> = programs.threads.iter().copied().filter(|&t| t >= FEW_THREADS / 8).collect();
    let with = |percent: u8| {
        move |threads: u32| PatternRun { carveout_percent: Some(percent), ..programs.run(threads, most, 0) }
    };
    let plans = [
        PlannedLine::new("least shared memory", threads.iter().copied(), with(0)),
        PlannedLine::new("most shared memory", threads.iter().copied(), with(100)),
    ];
    let lines = measure(programs.notebook, &plans, later_rounds)?;
    let [large, small] = lines.as_slice() else { return Ok(()) };
    if large.points.is_empty() || small.points.is_empty() {
        let reason = "only blocks of 32 threads or more spill more than an L1 holds";
        answer.finding("spilled_to", Finding::unknown(reason));
        return Ok(());
    }
    let mut slower = Vec::new();
    for point in &large.points {
        if let Some(other) = small.at(point.x)
            && other.low > point.high
            && other.value > LONGER * point.value
        {
            slower.push((point, other));
        }
    }
    let local = programs.program(1, most)?.local_bytes;
    let name = "spilled_to";
    let method = "the same program with the smallest and with the largest shared-memory carveout";
    let experiments = lines.iter().flat_map(|l| &l.points).flat_map(|p| p.experiments.iter().copied());
    match slower.first() {
        Some((point, other)) => {
            let bytes = f64::from(local) * point.x;
            answer.finding(
                name,
                Finding::measured("l1".to_owned(), method)
                    .note(format!(
                        "with {} threads, which spill {:.0} KiB: {} and {} cycles per statement",
                        point.x,
                        bytes / 1024.0,
                        said(point.value),
                        said(other.value)
                    ))
                    .from_experiments(experiments)
                    .any(),
            );
            answer.means(format!(
                "The L1 caches spilled bytes: with {} threads that spill {:.0} KiB, a statement takes {} cycles with \
                 the smallest L1 instead of {} with the largest.",
                point.x,
                bytes / 1024.0,
                said(other.value),
                said(point.value)
            ));
        }
        None => answer.finding(
            name,
            Finding::unknown(
                "the shared-memory carveout makes no difference: either the L1 does not cache spilled bytes, or the \
                 driver ignores the hint",
            )
            .from_experiments(experiments),
        ),
    }
    answer.figure(figure(
        "carveout",
        format!("{most} variables with little and with much shared memory"),
        axis("threads", "", true),
        axis("cycles per statement", "cycles", false),
        lines,
    ));
    Ok(())
}
