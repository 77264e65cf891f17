//! Operations per load (CS 179, lecture 4: computational intensity): how many until the arithmetic units are the limit.

use super::Answer;
use super::points::{PlannedLine, axis, every_round, figure, finding, measure, over, said};
use crate::analysis::hundredths::nearest;
use crate::probe::{Gap, Notebook};
use strata_model::characterization::{Line, Point, Suite};
use strata_model::experiment::{LoadPath, PatternRun, Prepare};
use strata_model::pattern::{LOADS_A_PASS, LoadedFrom, Pattern};
use strata_model::topology::Finding;

/// What is asked.
pub(super) const QUESTION: &str = "How many operations per loaded word make a kernel limited by arithmetic?";

/// Multiplications with addition to a load.
const OPERATIONS: [u32; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
/// Loads of each thread from shared memory.
const SHARED_LOADS: u32 = 256;
/// Loads of each thread from global memory: enough that where a block begins and ends does not matter.
const GLOBAL_LOADS: u32 = 256;
/// Loads from global memory bring in so many times what the L2 holds, so that nothing is left there from the launch before.
const BEYOND_L2: u64 = 4;
/// Threads of a block.
const THREADS: u32 = 1024;
/// The arithmetic is the limit if it reaches this share of its greatest rate.
const LIMIT: f64 = 0.9;

/// Operations to a load with which arithmetic is the limit on every GPU.
const MANY_OPERATIONS: [u32; 3] = [256, 512, 1024];

/// Loads of a block from shared memory, each with so many operations.
fn from_shared(operations: u32, threads: u32) -> PatternRun {
    let pattern = Pattern::Intensity { operations, from: LoadedFrom::Shared, loads: SHARED_LOADS, threads, blocks: 1 };
    // Once before: lines that were written would have to go back to memory while others are loaded.
    PatternRun { prepare: Prepare::Fill { passes: 1 }, ..PatternRun::new(pattern, LoadPath::GlobalCa, 1) }
}

/// Of cycles of the SM for a load of a warp with so many operations, the operations a cycle: 32 lanes times those.
fn rates(per_warp: &Line) -> Line {
    per_warp.map(|point| {
        let rate = |cycles: f64| nearest(32.0 * point.x / cycles);
        let ends = (rate(point.high), rate(point.low));
        Some(Point { value: rate(point.value), low: ends.0, high: ends.1, ..point.clone() })
    })
}

/// The greatest number of multiply-adds that an SM does in a cycle.
///
/// # Errors
///
/// Missing measurements, or that no launch could be measured.
pub(super) fn peak(notebook: &Notebook) -> Result<Point, Gap> {
    let threads = THREADS.min(notebook.facts().max_threads_per_block);
    let plan = PlannedLine::new("shared memory", MANY_OPERATIONS, |operations| from_shared(operations, threads));
    let lines = measure(notebook, &[plan], every_round)?;
    let per_warp = lines[0].map(|point| Some(over(point, f64::from(threads) / 32.0)));
    let most = rates(&per_warp).points.into_iter().max_by(|a, b| a.value.total_cmp(&b.value));
    most.map_or_else(|| Gap::unknown("no launch gave a time"), Ok)
}

/// Measures and sums up.
pub(super) fn infer(notebook: &Notebook, _: &Suite) -> Result<Answer, Gap> {
    let facts = notebook.facts();
    let threads = THREADS.min(facts.max_threads_per_block);
    let resident = (facts.max_threads_per_multiprocessor / threads).max(1);
    let blocks = resident * facts.multiprocessors.max(1);
    // What all threads load at once, and how often they must to go beyond the L2.
    let at_once = 4 * u64::from(threads) * u64::from(blocks);
    let needed = (BEYOND_L2 * facts.l2_size).div_ceil(at_once).next_multiple_of(u64::from(LOADS_A_PASS));
    let global_loads = GLOBAL_LOADS.max(u32::try_from(needed).unwrap_or(u32::MAX));
    let from_global = |operations: u32| {
        let (from, loads) = (LoadedFrom::Global, global_loads);
        let pattern = Pattern::Intensity { operations, from, loads, threads, blocks };
        PatternRun { pattern, ..from_shared(operations, threads) }
    };
    let plans = [
        PlannedLine::new("shared memory", OPERATIONS, |operations| from_shared(operations, threads)),
        PlannedLine::new("global memory", OPERATIONS, from_global),
    ];
    let lines = measure(notebook, &plans, every_round)?;
    // Cycles a load of a thread, to cycles of the SM for 32 of them: its threads work side by side.
    let warps = [f64::from(threads) / 32.0, f64::from(threads * resident) / 32.0];
    let per_warp: Vec<Line> =
        lines.iter().zip(warps).map(|(line, warps)| line.map(|point| Some(over(point, warps)))).collect();
    let rates: Vec<Line> = per_warp.iter().map(rates).collect();
    let mut answer = Answer::default();
    let peak = rates.iter().flat_map(|line| &line.points).max_by(|a, b| a.value.total_cmp(&b.value)).cloned();
    if let Some(peak) = &peak {
        answer.finding(
            "most_operations",
            finding(peak, "", "highest number of multiply-adds per cycle and SM, over all programs")
                .note(format!("with {} per load", peak.x)),
        );
        for (name, loads, times, rate) in
            [("shared", "shared memory", &per_warp[0], &rates[0]), ("global", "global memory", &per_warp[1], &rates[1])]
        {
            equal(&mut answer, name, times, loads, peak);
            balance(&mut answer, name, rate, loads, peak);
        }
    }
    let x = || axis("operations per load", "", true);
    answer.figure(figure("rate", "Multiply-adds of an SM", x(), axis("operations per cycle", "", false), rates));
    answer.figure(figure(
        "time",
        "The same as time",
        x(),
        axis("cycles of the SM per warp load", "cycles", false),
        per_warp,
    ));
    Ok(answer)
}

/// The operations to a load that take as long as the load, were they alone: the lecture's rule, peak arithmetic over peak loads.
fn equal(answer: &mut Answer, name: &str, times: &Line, loads: &str, peak: &Point) {
    let Some(one) = times.points.first() else { return };
    // Cycles of a warp's load times operations a cycle, over the 32 lanes.
    let of = |cycles: f64, rate: f64| nearest(cycles * rate / 32.0);
    let value = Point {
        x: one.x,
        value: of(one.value, peak.value),
        low: of(one.low, peak.low),
        high: of(one.high, peak.high),
        ns: None,
        experiments: one.experiments.iter().chain(&peak.experiments).copied().collect(),
    };
    answer.finding(
        &format!("equal_{name}"),
        finding(
            &value,
            "",
            format!("number of operations that take as long as a load from {loads} with one operation"),
        )
        .note(format!("a load of a warp takes {} cycles of the SM", said(one.value))),
    );
}

/// The fewest operations to a load with which arithmetic is the limit.
fn balance(answer: &mut Answer, name: &str, rates: &Line, loads: &str, peak: &Point) {
    let key = format!("balance_{name}");
    let Some(first) = rates.points.iter().position(|p| p.value >= LIMIT * peak.value) else {
        answer.finding(
            &key,
            Finding::unknown(format!(
                "with up to {} operations per load from {loads}, an SM does not reach 90 % of its peak",
                OPERATIONS[OPERATIONS.len() - 1]
            )),
        );
        return;
    };
    let found = &rates.points[first];
    let below = first.checked_sub(1).map_or(0.0, |before| rates.points[before].x);
    let one = rates.points.first().map_or(0.0, |p| p.value);
    let experiments = rates.points.iter().flat_map(|p| p.experiments.iter().copied());
    answer.finding(
        &key,
        Finding::measured(
            found.x as u64,
            format!("smallest number of operations per word from {loads} with which an SM reaches 90 % of its peak"),
        )
        .range(below + 1.0, found.x)
        .note(format!("one operation per load gives {} per cycle", said(one)))
        .from_experiments(experiments)
        .any(),
    );
    let equal = answer.number(&format!("equal_{name}")).unwrap_or(0.0);
    answer.means(format!(
        "An SM needs as much time for a word from {loads} as for {} multiply-adds. It reaches 90 % of its peak of {} per \
         cycle with {:.0} multiply-adds per word.",
        said(equal),
        said(peak.value),
        found.x
    ));
}
