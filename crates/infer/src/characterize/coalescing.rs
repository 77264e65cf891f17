//! The cost of uncoalesced accesses (Fuchs et al., section 3.4.3).
//!
//! Threads that begin some distance apart read 1024 words one after the other: the paper's kernel, from memory in the first round
//! and from what the caches kept in the later ones. The window is looked at apart: one warp reads the same words again and
//! again, so that nothing but the number of pieces that a request falls into changes with the distance.

use super::points::{
    PlannedLine, ROUNDS, axis, counted, difference, figure, finding, first_round, later_rounds, longer, measure,
    percent_more, said,
};
use super::{Answer, plateau};
use crate::analysis::hundredths::{down, nearest, up};
use crate::analysis::robust;
use crate::probe::{Gap, Notebook};
use strata_model::characterization::{Line, Point, Suite};
use strata_model::experiment::{LoadPath, PatternRun, Prepare, WARP};
use strata_model::pattern::{ELEMENT, Pattern};
use strata_model::topology::Finding;
use strata_model::units::{Bytes, Cycles};

/// What is asked.
pub(super) const QUESTION: &str = "What does it cost when the threads of a warp read addresses that are far apart?";

/// Reads of each thread: the paper's.
const READS: u32 = 1024;
/// Reads of each thread where one word is read again and again: enough that a cycle of the clock is 0.4 % of a cycle a read.
const AGAIN: u32 = 256;
/// The unit in which memory is fetched on every GPU so far, and that in which caches keep it: computed with, not measured.
const SECTOR: u64 = 32;
/// See [`SECTOR`].
const LINE: u64 = 128;
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
/// Fewest distances that tell sizes of pieces apart.
const FEWEST: usize = 4;
/// The best size of pieces must be off by so many times less than any other.
const CLEARLY: f64 = 1.5;
/// Pieces explain latencies if none is off by more than this share of what they span, and of a request of one piece: where words
/// miss, misses span more than pieces do.
const EXPLAINED: f64 = 0.1;
/// Banks are what costs if a piece costs at least so many times as much with conflicts as without.
const TWICE: f64 = 2.0;
/// Largest size of pieces that is tried: four lines.
const MOST_WINDOW: u64 = 512;

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

/// Pieces of so many bytes that a warp's elements of four bytes touch, `distance` apart.
fn pieces(distance: u64, of: u64) -> u64 {
    let mut touched: Vec<u64> = (0..WARP as u64).map(|lane| lane * distance / of).collect();
    touched.dedup();
    touched.len() as u64
}

/// Measures and sums up.
pub(super) fn infer(notebook: &Notebook, suite: &Suite) -> Result<Answer, Gap> {
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
    let mut lines = moved(&padded);
    for (path, line) in ["ca", "cg"].into_iter().zip(&padded) {
        window(&mut answer, path, line, &mut lines);
    }
    if let (Some(plain), Some(padded)) = (windows.first(), padded.first()) {
        banks(&mut answer, plain, padded);
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

/// The pieces that a request falls into: sectors and lines as computed.
fn moved(windows: &[Line]) -> Vec<Line> {
    let numbers = |x: f64| {
        let of = windows.iter().filter_map(|line| line.at(x));
        of.flat_map(|point| point.experiments.iter().copied()).collect::<Vec<u32>>()
    };
    let computed = |label: String, of: u64| Line {
        label,
        failed: false,
        points: windows
            .iter()
            .max_by_key(|line| line.points.len())
            .into_iter()
            .flat_map(|line| &line.points)
            .map(|&Point { x, .. }| {
                let value = pieces(x as u64, of) as f64;
                Point { x, value, low: value, high: value, ns: None, experiments: numbers(x) }
            })
            .collect(),
        reason: None,
    };
    vec![
        computed(format!("sectors of {SECTOR} B, computed"), SECTOR),
        computed(format!("lines of {LINE} B, computed"), LINE),
    ]
}

/// Reads of a warp by the distance of its lanes, explained by pieces of one size: `cycles = base + each * (pieces - 1)`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Window {
    /// Bytes of a piece.
    bytes: u64,
    /// Cycles of a request of one piece.
    base: f64,
    /// Cycles of each further piece.
    each: f64,
    /// Greatest deviation of a point, in cycles.
    off: f64,
}

/// The size of pieces that explains the latencies best, among powers of two; none, if none explains them, or several as well.
fn fit(line: &Line) -> Option<Window> {
    let (least, most) = line.points.iter().fold((f64::MAX, f64::MIN), |(l, m), p| (l.min(p.value), m.max(p.value)));
    let candidates = (2..=MOST_WINDOW.ilog2()).map(|power| 1u64 << power);
    let fits = candidates.filter_map(|bytes| {
        let xs: Vec<f64> = line.points.iter().map(|p| pieces(p.x as u64, bytes) as f64 - 1.0).collect();
        let (mean_x, mean_y) =
            (robust::mean(&xs), robust::mean(&line.points.iter().map(|p| p.value).collect::<Vec<_>>()));
        let (mut xx, mut xy) = (0.0, 0.0);
        for (x, point) in xs.iter().zip(&line.points) {
            xx += (x - mean_x) * (x - mean_x);
            xy += (x - mean_x) * (point.value - mean_y);
        }
        let each = (xx > 0.0).then(|| xy / xx)?;
        let base = mean_y - each * mean_x;
        let off = |(x, point): (&f64, &Point)| (base + each * x - point.value).abs();
        let off = xs.iter().zip(&line.points).map(off).fold(0.0, f64::max);
        Some(Window { bytes, base: nearest(base), each: nearest(each), off: nearest(off) })
    });
    let mut fits: Vec<Window> = fits.filter(|fit| fit.each > 0.0).collect();
    fits.sort_by(|a, b| a.off.total_cmp(&b.off));
    let (best, next) = (fits.first()?, fits.get(1).map_or(f64::MAX, |next| next.off));
    let explained = best.off <= EXPLAINED * (most - least).min(best.base) && most - least >= CYCLE;
    (line.points.len() >= FEWEST && explained && next > CLEARLY * best.off).then_some(*best)
}

/// Fits the window, and turns it round: the pieces that the times imply.
fn window(answer: &mut Answer, level: &str, line: &Line, moved: &mut Vec<Line>) {
    let name = format!("{level}_window");
    let Some(found) = fit(line) else {
        let reason = if line.points.len() < FEWEST {
            format!("{} distances are too few to find the block size: it needs {FEWEST}", line.points.len())
        } else {
            format!("no single block size explains how the reads of a warp by {} depend on the distance", line.label)
        };
        answer.finding(&name, Finding::unknown(reason));
        return;
    };
    let experiments: Vec<u32> = line.points.iter().flat_map(|p| p.experiments.iter().copied()).collect();
    let method = format!("block size (a power of two) that best explains the reads by {} at all distances", line.label);
    let finding = Finding::measured(Bytes(found.bytes), method).any().note(format!(
        "{} cycles for one block and {} for each further one, with an error of at most {}",
        said(found.base),
        said(found.each),
        said(found.off)
    ));
    answer.finding(&name, finding.range(found.bytes as f64, found.bytes as f64).from_experiments(experiments));
    if level == "ca" {
        answer.means(format!(
            "By {}, a warp reads all its words within {bytes} B at once: {} cycles. Each further {bytes} B block costs {} more.",
            line.label,
            said(found.base),
            said(found.each),
            bytes = found.bytes
        ));
    }
    let implied = line.map(|point| {
        let of = |value: f64| nearest(1.0 + (value - found.base) / found.each);
        let (value, low, high) = (of(point.value), of(point.low), of(point.high));
        Some(Point { value, low, high, ..point.clone() })
    });
    moved.push(Line { label: format!("implied by {}", line.label), ..implied });
}

/// Tells banks from lines: lanes a word further apart than a power of two are in as many lines, but in banks of their own.
fn banks(answer: &mut Answer, plain: &Line, lines: &Line) {
    let name = "ca_conflict_cycles";
    let (Some(both), Some(alone)) = (fit(plain), fit(lines)) else {
        answer.finding(
            name,
            Finding::unknown("no block size explains the latencies with bank conflicts, or those without"),
        );
        return;
    };
    let at = both.bytes as f64;
    // The nearest distance that was measured both ways.
    let from = plain.points.iter().find(|p| p.x >= at);
    let Some((with, without)) = from.and_then(|with| Some((with, lines.at(with.x + 4.0)?))) else { return };
    let method = "slope over distances that are powers of two, compared with distances one word longer, where no two lanes use the same bank";
    let told = format!(
        "{} cycles at a distance of {} B, {} cycles at {} B",
        said(with.value),
        with.x,
        said(without.value),
        without.x
    );
    let experiments = with.experiments.iter().chain(&without.experiments).copied();
    if both.each < TWICE * alone.each {
        let reason = format!("words in the same bank cost no more than words in different banks: {told}");
        answer.finding(name, Finding::unknown(reason).from_experiments(experiments));
        return;
    }
    let cost = Finding::measured(Cycles(both.each), method).note(&told).from_experiments(experiments);
    answer.finding(name, cost.any());
    answer.means(format!(
        "Bank conflicts of the cache cost more: {} cycles for each further word in the same bank ({told}). Distances of \
         an odd number of words avoid them.",
        said(both.each)
    ));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_from_the_distance() {
        let all: Vec<u64> = [4, 8, 16, 32, 64, 128, 1024].into_iter().map(|d| pieces(d, SECTOR)).collect();
        assert_eq!(all, [4, 8, 16, 32, 32, 32, 32]);
        let all: Vec<u64> = [4, 8, 16, 32, 64, 128, 1024].into_iter().map(|d| pieces(d, LINE)).collect();
        assert_eq!(all, [1, 2, 4, 8, 16, 32, 32]);
    }
}
