//! The roofline of a GPU (Williams, Waterman and Patterson, 2009): the greatest rate of arithmetic, and what each memory allows of
//! it to a kernel that does so many operations for each byte that it reads from there.
//!
//! Arithmetic is 32-bit multiply-adds, of which each counts as two operations. Bandwidth is that of reads by all SMs. Both are in
//! cycles of the SM, so that a ratio of them does not depend on the clock.

use super::Answer;
use super::intensity;
use super::points::{axis, figure, finding, said};
use crate::analysis::hundredths::{down, nearest, up};
use crate::probe::{Gap, Notebook, Peak, Settle, Unknown, read_peak};
use strata_model::characterization::{Line, Point, Suite};
use strata_model::topology::{ElementName, Finding};
use strata_model::units::BytesPerClock;

/// What is asked.
pub(super) const QUESTION: &str = "How many operations must a kernel do for each byte that it reads from a memory?";

/// Memories, nearest first, each with the ending of its findings and its name in a sentence.
const MEMORIES: [(ElementName, &str, &str); 4] = [
    (ElementName::Shared, "shared", "shared memory"),
    (ElementName::L1, "l1", "the L1"),
    (ElementName::L2, "l2", "the L2"),
    (ElementName::Dram, "dram", "DRAM"),
];
/// Unit of the rate of arithmetic of an SM.
const OPERATIONS: &str = "FLOP/clk";
/// Share by which the rate of arithmetic may differ in another run: by 0.03 % in five runs of an H200.
const OTHER_RUN: f64 = 0.001;
/// Operations of a multiply-add.
const OF_A_MULTIPLY_ADD: f64 = 2.0;
/// Operations a byte in the figure: powers of two up to this one.
const MOST_DOUBLINGS: u32 = 10;

/// A memory whose bandwidth is known.
struct Memory {
    name: ElementName,
    ending: &'static str,
    said: &'static str,
    peak: Peak,
    /// Bytes a cycle of an SM.
    rate: Point,
}

/// Measures and sums up.
pub(super) fn infer(notebook: &Notebook, _: &Suite) -> Result<Answer, Gap> {
    // All are asked before any is missed, so that they are measured side by side.
    let arithmetic = intensity::peak(notebook).settled();
    let memories = MEMORIES.map(|(name, ending, said)| (name, ending, said, read_peak(notebook, name).settled()));
    let mut answer = Answer::default();
    let operations = match arithmetic? {
        Ok(multiply_adds) => {
            let operations = widened(&times(&multiply_adds, OF_A_MULTIPLY_ADD));
            let method = "greatest number of 32-bit operations per cycle and SM: two per multiply-add";
            answer.finding("operations", finding(&operations, OPERATIONS, method));
            operations
        }
        Err(unknown) => by_cores(notebook, &unknown, &mut answer)?,
    };
    let mut known = Vec::new();
    for (name, ending, said, peak) in memories {
        match peak? {
            Ok(peak) => {
                let (value, low, high) = peak.per_sm();
                let experiments = peak.experiments().to_vec();
                let rate =
                    Point { x: 0.0, value: nearest(value), low: down(low), high: up(high), ns: None, experiments };
                known.push(Memory { name, ending, said, peak, rate });
            }
            Err(unknown) => unanswered(&mut answer, ending, &unknown),
        }
    }
    for memory in &known {
        memory.answer(&mut answer, &operations);
    }
    if let Some(first) = known.first() {
        per_second(&mut answer, &operations, &first.peak);
        answer.means(sentence(&known, &operations));
    }
    let lines = known.iter().map(|memory| memory.line(&operations)).collect();
    answer.figure(figure(
        "roofline",
        "Operations of an SM, by what a kernel does with each byte",
        axis("operations per byte", "", true),
        axis("operations per cycle", "", true),
        lines,
    ));
    Ok(answer)
}

/// Without a measurement: what the driver's cores would do.
fn by_cores(notebook: &Notebook, unknown: &Unknown, answer: &mut Answer) -> Result<Point, Gap> {
    let Some(cores) = notebook.facts().cores_per_multiprocessor else { return Gap::unknown(unknown.reason()) };
    let value = f64::from(cores) * OF_A_MULTIPLY_ADD;
    let method = "a multiply-add, which is two operations, by each FP32 core in each cycle; cores from a table by compute capability";
    let finding = Finding::derived(value, method).range(value, value).unit(OPERATIONS).note(unknown.reason());
    answer.finding("operations", finding.any());
    Ok(Point { x: 0.0, value, low: value, high: value, ns: None, experiments: Vec::new() })
}

/// A point so many times.
fn times(point: &Point, times: f64) -> Point {
    Point { value: point.value * times, low: point.low * times, high: point.high * times, ..point.clone() }
}

/// How many operations it takes, memory by memory, the farthest first.
fn sentence(known: &[Memory], operations: &Point) -> String {
    let balances = known.iter().rev().map(|memory| (said(memory.balance(operations).value), memory.said));
    let each: Vec<String> =
        balances.map(|(balance, name)| format!("{balance} operations for each byte from {name}")).collect();
    let list = match each.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{}, and {last}", before.join(", ")),
        _ => each.concat(),
    };
    format!("A kernel reaches the peak of arithmetic only if it does at least {list}.")
}

/// A point with what another run may find.
fn widened(point: &Point) -> Point {
    Point { low: down(point.low * (1.0 - OTHER_RUN)), high: up(point.high * (1.0 + OTHER_RUN)), ..point.clone() }
}

/// What is said of a memory whose bandwidth is unknown.
fn unanswered(answer: &mut Answer, ending: &str, unknown: &Unknown) {
    for name in ["read", "balance"] {
        answer.finding(&format!("{name}_{ending}"), Finding::unknown(unknown.reason()));
    }
}

/// The same by the second, at the clock that the SMs had while they read.
fn per_second(answer: &mut Answer, operations: &Point, peak: &Peak) {
    let finding = match peak.per_second() {
        Ok((rate, low, high)) => {
            // Cycles of all SMs in 10^12 of a second.
            let per_sm = peak.per_sm().0;
            let cycles = |rate: f64| rate / per_sm / 1e12;
            Finding::derived(
                nearest(operations.value * cycles(rate)),
                "the operations per cycle of all SMs, at the clock that they have while they read",
            )
            .range(down(operations.low * cycles(low)), up(operations.high * cycles(high)))
            .unit("TFLOP/s")
            .any()
        }
        Err(reason) => Finding::unknown(reason),
    };
    answer.finding("peak", finding.from_experiments(operations.experiments.iter().copied()));
}

impl Memory {
    /// Operations a byte with which a kernel needs as much time for them as for the byte.
    fn balance(&self, operations: &Point) -> Point {
        Point {
            x: 0.0,
            value: nearest(operations.value / self.rate.value),
            low: down(operations.low / self.rate.high),
            high: up(operations.high / self.rate.low),
            ns: None,
            experiments: operations.experiments.iter().chain(&self.rate.experiments).copied().collect(),
        }
    }

    fn answer(&self, answer: &mut Answer, operations: &Point) {
        let (rate, balance) = (&self.rate, self.balance(operations));
        let read = Finding::measured(BytesPerClock(rate.value), self.peak.method())
            .range(rate.low, rate.high)
            .from_experiments(rate.experiments.iter().copied());
        answer.finding(&format!("read_{}", self.ending), read.any());
        answer.finding(
            &format!("balance_{}", self.ending),
            finding(
                &balance,
                "FLOP/B",
                "operations per cycle over bytes read per cycle, of an SM while all SMs do the same",
            ),
        );
    }

    /// What the memory allows, by operations a byte.
    fn line(&self, operations: &Point) -> Line {
        let at = |doubling: u32| {
            let x = f64::from(doubling).exp2();
            let of = |bytes: f64, most: f64| (bytes * x).min(most);
            let (rate, experiments) = (&self.rate, self.balance(operations).experiments);
            Point {
                x,
                value: nearest(of(rate.value, operations.value)),
                low: down(of(rate.low, operations.low)),
                high: up(of(rate.high, operations.high)),
                ns: None,
                experiments,
            }
        };
        let points = (0..=MOST_DOUBLINGS).map(at).collect();
        Line { label: self.name.title().to_owned(), points, reason: None, failed: false }
    }
}
