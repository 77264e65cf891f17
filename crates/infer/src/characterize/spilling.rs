//! What register spilling costs (Fuchs et al., section 3.4.4).
//!
//! A thread has X variables of 64 bits and 4096 statements that add one drawn at random to a sum, and the sum to another. The
//! loop's body has a fixed number of statements, so that straight-line code does not measure the instruction cache; a control
//! of as many instructions on eight variables shows that it does not. What was spilled is read from the machine code that the
//! driver's compiler made, not concluded from times.

use std::collections::BTreeMap;

use super::Answer;
use super::points::{
    PlannedLine, axis, counted, difference, figure, finding, later_rounds, longer, measure, percent_more, said,
};
use crate::analysis::hundredths::nearest;
use crate::probe::{Effort, Gap, Notebook, Settle, Unknown, ask_each};
use strata_model::characterization::{Line, Point, Suite};
use strata_model::experiment::{LoadPath, PatternRun};
use strata_model::pattern::{MOST_THREADS, Pattern, STATEMENTS_A_PASS, block_bound};
use strata_model::samples::ProgramFacts;
use strata_model::topology::Finding;

/// What is asked.
pub(super) const QUESTION: &str =
    "With how many variables does the compiler start to spill registers, and what does that cost?";

/// Statements: the paper's.
const STATEMENTS: u32 = 4096;
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

fn experiment(threads: u32, variables: u32, padding: u32) -> PatternRun {
    let pattern = Pattern::Sums { threads, variables, statements: STATEMENTS, padding };
    // The least shared memory, so that the L1 is as large as it can be; and always a request, as the other one is made, too.
    PatternRun { carveout_percent: Some(0), ..PatternRun::new(pattern, LoadPath::GlobalCa, ROUNDS) }
}

/// 2, 4, 8 and so on; more than 512 take the compiler long.
fn variables(effort: Effort) -> Vec<u32> {
    let most = effort.choose(256, 512, 2048);
    (1..).map(|power| 1u32 << power).take_while(|&x| x <= most).collect()
}

/// What the compiler made of the program for blocks of so many threads.
fn program(notebook: &Notebook, threads: u32, variables: u32) -> Result<ProgramFacts, Gap> {
    let measurements = notebook.read(&[experiment(threads, variables, 0)])?;
    let unsaid = || Unknown::Failed("the samples have no facts about the compiled program".into());
    Ok(measurements[0].samples().program.ok_or_else(unsaid)?)
}

/// Fewest variables with which the compiler spills, by bisection; none if the most are too few.
fn first_spilled(notebook: &Notebook, threads: u32) -> Result<Option<(u32, ProgramFacts)>, Gap> {
    let mut fits = 0;
    let mut spills = None;
    for x in variables(notebook.effort()) {
        let facts = program(notebook, threads, x)?;
        if facts.local_bytes > 0 {
            spills = Some((x, facts));
            break;
        }
        fits = x;
    }
    let Some(mut found) = spills else { return Ok(None) };
    while found.0 - fits > 1 {
        let middle = fits + (found.0 - fits) / 2;
        let facts = program(notebook, threads, middle)?;
        if facts.local_bytes > 0 {
            found = (middle, facts);
        } else {
            fits = middle;
        }
    }
    Ok(Some(found))
}

/// Measures and sums up.
pub(super) fn infer(notebook: &Notebook, suite: &Suite) -> Result<Answer, Gap> {
    let variables = variables(notebook.effort());
    let plans: Vec<PlannedLine> = suite
        .threads
        .iter()
        .map(|&threads| {
            PlannedLine::new(counted(threads, "thread"), variables.iter().copied(), move |x: u32| {
                experiment(threads, x, 0)
            })
        })
        .collect();
    let lines = measure(notebook, &plans, later_rounds)?;
    let mut answer = Answer::default();
    compiled(notebook, suite, &variables, &mut answer)?;
    let spilled = beginning(notebook, &mut answer)?;
    cost(&lines, &mut answer);
    if let Some(spilled) = spilled {
        let most = *variables.last().unwrap_or(&spilled);
        if let Err(unknown) = control(notebook, suite, &lines, most, &mut answer).settled()? {
            answer.finding("control", unknown.finding());
        }
        cached(notebook, suite, most, &mut answer)?;
    }
    answer.figures.insert(
        0,
        figure(
            "latency",
            "4096 statements",
            axis("variables of 64 bits", "", true),
            axis("cycles per statement", "cycles", false),
            lines,
        ),
    );
    Ok(answer)
}

/// The block sizes for which programs differ, with the threads of the suite that stand for each.
fn bounds(suite: &Suite) -> BTreeMap<u32, u32> {
    suite.threads.iter().map(|&threads| (block_bound(threads), threads)).collect()
}

/// Registers, local memory and accesses of every program, as figures.
fn compiled(notebook: &Notebook, suite: &Suite, variables: &[u32], answer: &mut Answer) -> Result<(), Gap> {
    let (mut registers, mut local, mut accesses) = (Vec::new(), Vec::new(), Vec::new());
    let mut slowest: Option<(u64, u32, u32)> = None;
    for (bound, threads) in bounds(suite) {
        let mut programs = Vec::new();
        for &x in variables {
            // What cannot be launched was compiled nevertheless, but its samples are not there.
            if let Ok(facts) = program(notebook, threads, x).settled()? {
                let number = notebook.number_of(experiment(threads, x, 0));
                programs.push((x, facts, number));
                slowest = slowest.max(Some((facts.compile_us, x, bound)));
            }
        }
        let line = |of: &dyn Fn(&ProgramFacts) -> Option<f64>| Line {
            label: format!("blocks of up to {bound}"),
            points: programs
                .iter()
                .filter_map(|(x, facts, number)| {
                    let value = of(facts)?;
                    let experiments = number.iter().copied().collect();
                    Some(Point { x: f64::from(*x), value, low: value, high: value, ns: None, experiments })
                })
                .collect(),
            reason: None,
            failed: false,
        };
        registers.push(line(&|facts| Some(f64::from(facts.registers))));
        local.push(line(&|facts| Some(f64::from(facts.local_bytes))));
        let each = f64::from(STATEMENTS_A_PASS);
        accesses.push(line(&|facts| {
            facts.code.map(|code| nearest(f64::from(code.local_loads + code.local_stores) / each))
        }));
    }
    if let Some((us, x, bound)) = slowest {
        answer.finding(
            "compile_time",
            Finding::measured(us as f64 / 1e3, "by the driver, the longest of all programs")
                .unit("ms")
                .note(format!("{x} variables, blocks of up to {bound} threads"))
                .any(),
        );
    }
    for (name, title, y, lines) in [
        ("registers", "Registers of a thread", axis("registers", "", false), registers),
        ("local", "Local memory of a thread", axis("local memory", "B", false), local),
        (
            "accesses",
            "Loads and stores of local memory in the compiled loop",
            axis("accesses per statement", "", false),
            accesses,
        ),
    ] {
        answer.figure(figure(name, title, axis("variables of 64 bits", "", true), y, lines));
    }
    Ok(())
}

/// From which number of variables on the compiler spills, for small blocks and for the largest.
fn beginning(notebook: &Notebook, answer: &mut Answer) -> Result<Option<u32>, Gap> {
    let mut first = None;
    let mut told = Vec::new();
    let threads = [1, MOST_THREADS.min(notebook.facts().max_threads_per_block)];
    // Both bisections go on at once.
    let found = ask_each(threads.map(|threads| first_spilled(notebook, threads)))?;
    for (threads, found) in threads.into_iter().zip(found) {
        let name = format!("first_spilled_{}_threads", threads.max(FEW_THREADS));
        match found {
            Ok(Some((x, facts))) => {
                if threads == 1 {
                    first = Some(x);
                }
                told.push(format!(
                    "{} variables of 64 bits in blocks of up to {} threads",
                    x - 1,
                    threads.max(FEW_THREADS)
                ));
                let number = notebook.number_of(experiment(threads, x, 0));
                answer.finding(
                    &name,
                    Finding::measured(
                        u64::from(x),
                        "smallest number of 64-bit variables for which the compiled program uses local memory (bisection)",
                    )
                    .range(f64::from(x), f64::from(x))
                    .note(format!("{} registers and {} B of local memory per thread", facts.registers, facts.local_bytes))
                    .from_experiments(number)
                    .any(),
                );
            }
            Ok(None) => {
                answer.finding(&name, Finding::unknown("the compiler spills nothing, whatever the number of variables"))
            }
            Err(unknown) => answer.finding(&name, unknown.finding()),
        }
    }
    if !told.is_empty() {
        answer.means(format!("Up to {} fit in registers; with one more the compiler spills.", told.join(" and ")));
    }
    Ok(first)
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
fn control(notebook: &Notebook, suite: &Suite, lines: &[Line], most: u32, answer: &mut Answer) -> Result<(), Gap> {
    let Some(code) = program(notebook, 1, most)?.code else {
        answer.finding(
            "control",
            Finding::unknown(
                "the machine code of this device cannot be read, so no control of the same length can be made",
            ),
        );
        return Ok(());
    };
    let threads: Vec<u32> = suite.threads.iter().copied().filter(|&t| t <= FEW_THREADS).collect();
    if threads.is_empty() {
        let reason = format!(
            "the control is for blocks of up to {FEW_THREADS} threads, and no such number of threads was given"
        );
        answer.finding("control", Finding::unknown(reason));
        return Ok(());
    }
    let Some(plain) = program(notebook, 1, CONTROL)?.code else { return Ok(()) };
    let padding = code.bytes.saturating_sub(plain.bytes) / 16;
    let plan = PlannedLine::new("control, no spilling", threads, |t: u32| experiment(t, CONTROL, padding));
    let control = measure(notebook, &[plan], later_rounds)?.remove(0);
    let long = notebook.read(&[experiment(suite.threads.first().copied().unwrap_or(1), CONTROL, padding)])?;
    let long = long[0].samples().program.and_then(|p| p.code).map_or(0, |c| c.bytes);
    let as_long = (f64::from(long) - f64::from(code.bytes)).abs() <= EQUAL * f64::from(code.bytes);
    let spilling = Line {
        label: format!("{most} variables"),
        points: suite
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
fn cached(notebook: &Notebook, suite: &Suite, most: u32, answer: &mut Answer) -> Result<(), Gap> {
    let threads: Vec<u32> = suite.threads.iter().copied().filter(|&t| t >= FEW_THREADS / 8).collect();
    let with = |percent: u8| {
        move |threads: u32| PatternRun { carveout_percent: Some(percent), ..experiment(threads, most, 0) }
    };
    let plans = [
        PlannedLine::new("least shared memory", threads.iter().copied(), with(0)),
        PlannedLine::new("most shared memory", threads.iter().copied(), with(100)),
    ];
    let lines = measure(notebook, &plans, later_rounds)?;
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
    let local = program(notebook, 1, most)?.local_bytes;
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
