//! One address for the whole warp compared with several, and operands from constant memory (CS 179, lecture 4: constant
//! memory).

use super::Answer;
use super::locality::{experiment, second_loads};
use super::noise::Noise;
use super::points::{
    PlannedLine, ROUNDS, axis, difference, figure, finding, later_rounds, launches, measure, names, said,
};
use crate::analysis::hundredths::down;
use crate::analysis::robust;
use crate::probe::{Gap, Measurement, Notebook, Settle};
use strata_model::characterization::{Line, Point, Suite};
use strata_model::experiment::{LoadPath, PatternRun};
use strata_model::pattern::{Operand, Pattern};
use strata_model::units::Bytes;

/// What is asked.
pub(super) const QUESTION: &str = "What does it cost when the lanes of a warp load different constants?";

/// Loads of each lane, and operations.
const LOADS: u32 = 1024;
/// Different words that a warp may want.
const DISTINCT: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Cycles an operation below which a difference is that of the loop around it, which the compiler made twice.
const NOTHING: f64 = 0.5;
/// From word to word: side by side, and in lines of their own on every GPU so far.
const STRIDES: [u64; 2] = [4, 64];

/// Cycles of the two barriers and the two clock reads around the loads, at most. They are part of what is timed, and they need
/// not take any.
const AROUND: f64 = 128.0;
/// Distances of pairs whose second load hits: less than any cache fetches at once.
const HITS: [u64; 5] = [1, 2, 4, 8, 16];
/// Spikes so rare that no load of those pairs meets one add so many standard deviations of a round to its time, at most: loads of
/// 32 words in a round are 13 times as many as the loads of the pairs, of which a spike may meet 3 without being seen.
const UNSEEN: f64 = 6.2;
/// Mean range of two values from a normal distribution, in standard deviations.
const RANGE_OF_TWO: f64 = 1.128;

/// Latencies of loads of one word that hit, timed one by one.
fn hits(notebook: &Notebook) -> Result<Vec<f64>, Gap> {
    let repeats = launches(notebook.effort());
    let runs = HITS.iter().flat_map(|&jump| (0..repeats).map(move |repeat| (jump, repeat)));
    let wanted: Vec<PatternRun> =
        runs.map(|(jump, repeat)| PatternRun { repeat, ..experiment(LoadPath::Constant, jump) }).collect();
    let measurements: Vec<Measurement<PatternRun>> = notebook.read(&wanted)?;
    Ok(measurements.iter().flat_map(second_loads).collect())
}

/// Standard deviation of a load of 32 words from round to round, by the ranges of all points of a line: noise of as many requests.
fn deviation(line: &Line) -> f64 {
    let of_all = |point: &Point| (point.high - point.low) / RANGE_OF_TWO * (32.0 / point.x).sqrt();
    let squares: Vec<f64> = line.points.iter().map(|point| of_all(point).powi(2)).collect();
    robust::mean(&squares).sqrt()
}

/// The cost of each further word. Noise that each word meets by itself may be part of it.
fn further_word(line: &Line, one: &Point, all: &Point, noise: Option<&Noise>) -> Point {
    let mut each = difference(all, one, 31.0);
    let seen = noise.map_or(0.0, |noise| noise.share(32, all.value - one.value));
    let unseen = UNSEEN * deviation(line) / 31.0;
    each.low = each.low.min(down(each.low - seen)).min(down(each.value - unseen));
    each
}

/// The time of a load, of which the time around all of them may be a part.
fn a_load(point: &Point) -> Point {
    Point { low: down(point.low - AROUND / f64::from(LOADS)), ..point.clone() }
}

fn loads(distinct: u32, stride: u64, uniform: bool) -> PatternRun {
    let pattern = Pattern::Constants { distinct, stride: Bytes(stride), loads: LOADS, uniform };
    PatternRun::new(pattern, LoadPath::Constant, ROUNDS)
}

fn operands(operand: Operand) -> PatternRun {
    PatternRun::new(Pattern::Operands { operand, operations: LOADS }, LoadPath::Constant, ROUNDS)
}

/// Measures and sums up.
pub(super) fn infer(notebook: &Notebook, _: &Suite) -> Result<Answer, Gap> {
    let mut plans: Vec<PlannedLine> = STRIDES
        .iter()
        .map(|&stride| {
            PlannedLine::new(format!("indexed, words {stride} B apart"), DISTINCT, move |n: u32| {
                loads(n, stride, false)
            })
        })
        .collect();
    plans.push(PlannedLine::new("uniform", [1], |n: u32| loads(n, 4, true)));
    let operations = PlannedLine {
        label: "multiplication and addition".into(),
        places: vec![(0.0, operands(Operand::Immediate)), (1.0, operands(Operand::Parameter))],
    };
    let (words, operations) = (measure(notebook, &plans, later_rounds), measure(notebook, &[operations], later_rounds));
    let hits = hits(notebook).settled();
    let (mut words, operations, hits) = (words?, operations?, hits?);
    let noise = hits.ok().and_then(|hits| Noise::of(&hits));
    if let Some(uniform) = words.last_mut() {
        uniform.reason.get_or_insert("one address for all lanes means one word".into());
    }
    let mut answer = Answer::default();
    for (stride, line) in STRIDES.iter().zip(&words) {
        let (Some(one), Some(all)) = (line.at(1.0), line.at(32.0)) else { continue };
        let each = further_word(line, one, all, noise.as_ref());
        answer.finding(
            &format!("further_word_{stride}_b_apart"),
            finding(&each, "cycles", "cost of each further word that the lanes load, from 1 to 32 words"),
        );
        if *stride == STRIDES[0] && each.value >= NOTHING {
            answer.means(format!(
                "Loads of different constants are serialized: {} cycles per load for one word, {} for 32 words, {} for \
                 each further word.",
                said(one.value),
                said(all.value),
                said(each.value)
            ));
        }
    }
    if let (Some(indexed), Some(uniform)) =
        (words.first().and_then(|l| l.at(1.0)), words.last().and_then(|l| l.at(1.0)))
    {
        answer.finding(
            "indexed",
            finding(
                &a_load(indexed),
                "cycles",
                "a load with an index in a vector register, one word for all lanes, including the address addition",
            ),
        );
        answer.finding(
            "uniform",
            finding(
                &a_load(uniform),
                "cycles",
                "a load with an address that the compiler can prove equal for all lanes, including the address addition",
            ),
        );
        answer.means(format!(
            "If the compiler can prove that all lanes use the same index, a load takes {} cycles; otherwise {}.",
            said(uniform.value),
            said(indexed.value)
        ));
    }
    if let [line] = operations.as_slice()
        && let (Some(immediate), Some(parameter)) = (line.at(0.0), line.at(1.0))
    {
        let more = difference(parameter, immediate, 1.0);
        answer.finding("parameter_operand", finding(&more, "cycles", "extra time of an operation with kernel parameters as operands compared with immediates, wherever the compiler puts either"));
        let dearer = if more.value < NOTHING { "no more".into() } else { format!("{} cycles more", said(more.value)) };
        answer.means(format!(
            "Kernel parameters as operands cost {dearer} than immediates ({} and {} cycles per operation).",
            said(parameter.value),
            said(immediate.value)
        ));
    }
    let y = || axis("cycles per load", "cycles", false);
    answer.figure(figure("words", "A warp's loads of constant memory", axis("different words", "", true), y(), words));
    answer.figure(figure(
        "operands",
        "Arithmetic with operands of constant memory",
        names("operand", &["immediate", "parameter"]),
        axis("cycles per operation", "cycles", false),
        operations,
    ));
    Ok(answer)
}
