//! The cost of uncoalesced accesses (Fuchs et al., section 3.4.3).
//!
//! Threads that begin some distance apart read 1024 words one after the other: the paper's kernel, from memory in the first round
//! and from what the caches kept in the later ones. The window is looked at apart: one warp reads the same words again and
//! again, so that nothing but the number of pieces that a request falls into changes with the distance.

mod structures;
mod window;
mod writes;

use super::points::{
    PlannedLine, ROUNDS, axis, counted, difference, figure, finding, first_round, later_rounds, longer, measure,
    percent_more, said,
};
use super::{Answer, plateau};
use crate::analysis::hundredths::{down, up};
use crate::analysis::robust;
use crate::probe::{Gap, Notebook, Settle};
use strata_model::characterization::{Line, Suite};
use strata_model::experiment::{LoadPath, PatternRun, Prepare, WARP};
use strata_model::pattern::{ELEMENT, Pattern};
use strata_model::units::Bytes;

/// What is asked.
pub(super) const QUESTION: &str = "What does it cost when the threads of a warp access addresses that are far apart?";

/// Reads of each thread: the paper's.
const READS: u32 = 1024;
/// Reads of each thread where one word is read again and again: enough that a cycle of the clock is 0.4 % of a cycle a read.
const AGAIN: u32 = 256;
/// Widths of an access.
const WIDTHS: [u64; 3] = [4, 8, 16];
/// Strides of an access, in its widths.
const STRIDES: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Where the first of 32 neighbouring words begins, from a boundary on. The last three lie before the next boundary of 256 B,
/// 512 B and 1 KiB, for pieces as large as that.
const STARTS: [u32; 12] = [0, 4, 8, 16, 32, 64, 96, 112, 124, 252, 508, 1020];
/// Of as many starts as there are, the worst is by chance so many standard deviations above the others, and one more piece meets
/// noise once more.
const DEVIATIONS: f64 = 4.0;
/// Mean range of two values from a normal distribution, in standard deviations.
const RANGE_OF_TWO: f64 = 1.128;
/// Less than this, in cycles a read, is no cost.
const CYCLE: f64 = 0.5;

fn reads(threads: u32, distance: u64) -> PatternRun {
    let pattern = Pattern::Reads {
        threads,
        reads: READS,
        distance: Bytes(distance),
        step: Bytes(4),
        width: Bytes(4),
        start: Bytes(0),
    };
    PatternRun { prepare: Prepare::FlushL2, ..PatternRun::new(pattern, LoadPath::GlobalCa, ROUNDS) }
}

/// A warp that reads the same elements again and again.
fn again(path: LoadPath, distance: u64, width: u64, start: u64) -> PatternRun {
    let pattern = Pattern::Reads {
        threads: WARP as u32,
        reads: AGAIN,
        distance: Bytes(distance),
        step: Bytes(0),
        width: Bytes(width),
        start: Bytes(start),
    };
    PatternRun::new(pattern, path, ROUNDS)
}

/// Measures and sums up.
pub(super) fn infer(notebook: &Notebook, suite: &Suite) -> Result<Answer, Gap> {
    // All are asked before any answer is looked at, so that they are measured together.
    let reads = reads_of(notebook, suite);
    let further = [
        ("slowdown_of_writes", writes::infer(notebook, suite)),
        ("field_of_64_b_structure", structures::infer(notebook, suite)),
    ];
    let mut answer = reads?;
    for (name, found) in further {
        match found.settled()? {
            Ok(found) => answer.join(found),
            Err(unknown) => answer.finding(name, unknown.finding()),
        }
    }
    Ok(answer)
}

/// What is found of reads.
fn reads_of(notebook: &Notebook, suite: &Suite) -> Result<Answer, Gap> {
    let distances: Vec<u32> = suite.distances.iter().map(|&d| d as u32).collect();
    let threads = |threads: u32| {
        PlannedLine::new(counted(threads, "thread"), distances.iter().copied(), move |d: u32| {
            reads(threads, u64::from(d))
        })
    };
    let plans: Vec<PlannedLine> = suite.threads.iter().map(|&t| threads(t)).collect();
    let paths = [LoadPath::GlobalCa, LoadPath::GlobalCg];
    let windows = paths.map(|path| {
        PlannedLine::new(path.instruction(), distances.iter().copied(), move |d: u32| again(path, u64::from(d), 4, 0))
    });
    // A word further, where that is an odd number of words: in as many lines, but no two lanes in the same bank.
    let odd: Vec<u32> = distances.iter().filter(|d| (*d / 4).is_multiple_of(2)).map(|d| d + 4).collect();
    let padded = paths.map(|path| {
        PlannedLine::new(path.instruction(), odd.iter().copied(), move |d: u32| again(path, u64::from(d), 4, 0))
    });
    let starts =
        paths.map(|path| PlannedLine::new(path.instruction(), STARTS, move |s: u32| again(path, 4, 4, u64::from(s))));
    let widths = WIDTHS.map(|width| {
        PlannedLine::new(format!("{width} B"), STRIDES, move |stride: u32| {
            again(LoadPath::GlobalCa, u64::from(stride) * width, width, 0)
        })
    });
    let cold = measure(notebook, &plans, first_round);
    let warm = measure(notebook, &plans, later_rounds);
    let again = [
        measure(notebook, &windows, later_rounds),
        measure(notebook, &padded, later_rounds),
        measure(notebook, &starts, later_rounds),
        measure(notebook, &widths, later_rounds),
    ];
    let (cold, warm) = (cold?, warm?);
    let [windows, padded, starts, widths] = again;
    let (windows, padded, starts, widths) = (windows?, padded?, starts?, widths?);

    let mut answer = Answer::default();
    if suite.threads.iter().any(|&threads| threads > 1) {
        slowdown(&mut answer, &cold, &warm);
        plateau::infer(&mut answer, &suite.threads, &warm, ELEMENT.0 * u64::from(READS));
    }
    let mut lines = window::moved(&padded);
    for (path, line) in ["ca", "cg"].into_iter().zip(&padded) {
        window::window(&mut answer, path, line, &mut lines);
    }
    if let (Some(plain), Some(padded)) = (windows.first(), padded.first()) {
        window::banks(&mut answer, plain, padded);
    }
    if let Some(line) = starts.first() {
        misaligned(&mut answer, line);
    }
    let x = || axis("distance from thread to thread", "B", true);
    let y = || axis("cycles per read", "cycles", false);
    answer.figure(figure("cold", "1024 reads per thread, from memory", x(), y(), cold));
    answer.figure(figure("warm", "The same, from the caches", x(), y(), warm));
    answer.figure(figure("window", "A warp reads the same words repeatedly", x(), y(), windows));
    answer.figure(figure(
        "window_padded",
        "The same at distances one word longer: no two words in the same bank",
        x(),
        y(),
        padded,
    ));
    answer.figure(figure(
        "moved",
        "Number of blocks that a request of a warp touches",
        x(),
        axis("blocks per request", "", true),
        lines,
    ));
    answer.figure(figure("starts", "32 neighbouring words, by their start", axis("start", "B", false), y(), starts));
    answer.figure(figure(
        "widths",
        "A warp's accesses of 4, 8 and 16 B by ld.global.ca",
        axis("stride", "accesses", true),
        y(),
        widths,
    ));
    Ok(answer)
}

/// What the greatest distance costs against the least, with as many threads as it costs most.
fn slowdown(answer: &mut Answer, cold: &[Line], warm: &[Line]) {
    for (name, lines, from) in [("slowdown_from_memory", cold, "memory"), ("slowdown_from_caches", warm, "the caches")]
    {
        let worst = lines
            .iter()
            .filter(|line| line.points.len() > 1)
            .filter_map(|line| Some((line, percent_more(line.points.last()?, line.points.first()?)?)))
            .max_by(|a, b| a.1.value.total_cmp(&b.1.value));
        let Some((line, most)) = worst else { continue };
        let (least, greatest) = (line.points.first().map_or(0.0, |p| p.x), most.x);
        answer.finding(
            name,
            finding(&most, "%", format!("time of reads from {from} with threads {greatest} B apart against {least} B"))
                .note(format!("with {}, which is the most", line.label)),
        );
        if let Some(much) = longer(most.value) {
            answer.means(format!(
                "Threads {greatest} B apart instead of {least} B take {much} to read from {from}, with {}.",
                line.label
            ));
        }
    }
}

/// Standard deviation of a point of a line, by the ranges of all of them.
fn deviation(line: &Line) -> f64 {
    let ranges: Vec<f64> = line.points.iter().map(|point| point.high - point.low).collect();
    robust::mean(&ranges) / RANGE_OF_TWO
}

/// What a start off a boundary costs.
fn misaligned(answer: &mut Answer, line: &Line) {
    let (Some(aligned), Some(worst)) = (line.at(0.0), line.points.iter().max_by(|a, b| a.value.total_cmp(&b.value)))
    else {
        return;
    };
    let mut more = difference(worst, aligned, 1.0);
    let chance = DEVIATIONS * deviation(line);
    (more.low, more.high) = (more.low.min(down(more.value - chance)), more.high.max(up(more.value + chance)));
    answer.finding(
        "misaligned_start",
        finding(&more, "cycles", "extra cycles of 32 neighbouring words with the worst misalignment")
            .note(format!("starting {} B after a boundary", worst.x)),
    );
    answer.means(if more.value < CYCLE {
        format!("32 neighbouring words take {} cycles, whether they are aligned or not.", said(aligned.value))
    } else {
        format!(
            "32 neighbouring words take {} cycles if they are aligned, and up to {} more if they are not.",
            said(aligned.value),
            said(more.value)
        )
    });
}
