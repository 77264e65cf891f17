//! The size of the blocks of memory that a request of a warp falls into, from how its time depends on the distance of its lanes.

use super::super::Answer;
use super::super::points::said;
use super::CYCLE;
use crate::analysis::hundredths::nearest;
use crate::analysis::robust;
use strata_model::characterization::{Line, Point};
use strata_model::experiment::WARP;
use strata_model::topology::Finding;
use strata_model::units::{Bytes, Cycles};

/// The unit in which memory is fetched on every GPU so far, and that in which caches keep it: computed with, not measured.
const SECTOR: u64 = 32;
/// See [`SECTOR`].
const LINE: u64 = 128;
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

/// Pieces of so many bytes that a warp's elements of four bytes touch, `distance` apart.
fn pieces(distance: u64, of: u64) -> u64 {
    let mut touched: Vec<u64> = (0..WARP as u64).map(|lane| lane * distance / of).collect();
    touched.dedup();
    touched.len() as u64
}

/// The pieces that a request falls into: sectors and lines as computed.
pub(super) fn moved(windows: &[Line]) -> Vec<Line> {
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
pub(super) fn window(answer: &mut Answer, level: &str, line: &Line, moved: &mut Vec<Line>) {
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
pub(super) fn banks(answer: &mut Answer, plain: &Line, lines: &Line) {
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
