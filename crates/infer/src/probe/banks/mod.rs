//! Banks of shared memory: number, width, and the cost of a bank conflict.
//!
//! All lanes of a warp load, each the same element again and again, and the time of a load is taken from n and 2n of them.
//! Pairs of words show the banks: with 31 lanes on word 0, the nearest word that makes the load slower is one row further on.
//! Words of the next row that do the same are in the bank of word 0: as many as a bank is wide. Strides, measured apart from
//! that, must then follow from the banks (Mei et al., section 4.1), or nothing is said of what a conflict costs.

mod findings;

pub(super) use findings::Fit;
pub use findings::{bank_width, banks, broadcast, conflict_cycles, curve, modes, padding};

use super::latency::{cycles_a_load, rounds};
use super::{Effort, Gap, Measurement, Notebook, Unknown};
use crate::analysis::bank_map::BankMap;
use crate::analysis::robust;
use strata_model::experiment::{AccessWidth, BankWidth, WARP, Warp};
use strata_model::units::Bytes;

/// Loads of the shorter measurement: enough that a cycle of the clock is 1.6 % of a cycle a load.
const LOADS: u32 = 64;
/// Measurements of each length; their median drops the odd one that was disturbed.
const ROUNDS: u32 = 5;
/// Shared memory of every experiment, so that all of one kernel share a launch: 32 lanes at a stride of 64 elements of 16 B.
const FOOTPRINT: Bytes = Bytes::kib(32);
/// Widths of an access.
const WORD: AccessWidth = AccessWidth::B4;
/// Largest stride of a curve, in elements: two rows of 32 banks.
const STRIDES: u32 = 64;
/// Distances of a pair, in words, as powers of two: up to 512 words, four rows of Kepler's.
const DISTANCES: u32 = 10;
/// Words that are tried against word 0 at once. No more than half a warp, so that half a warp served alone shows the same.
const AT_ONCE: usize = 15;
/// A load is slower than another if it takes this share of one more way longer. Ways need not all cost the same.
const SLOWER: f64 = 0.25;
/// A conflict must stand out from the noise by this.
const ABOVE_NOISE: f64 = 4.0;

/// A load by all lanes at these elements; `asked` is the width of a bank that is asked for.
fn access(width: AccessWidth, elements: [u64; WARP], asked: Option<BankWidth>) -> Warp {
    let offsets = elements.map(|element| element * width.bytes().0);
    Warp { bank_width: asked, warm_loads: 2, rounds: ROUNDS, ..Warp::new(width, offsets, FOOTPRINT, LOADS) }
}

/// Elements at a stride.
fn strided(stride: u32) -> [u64; WARP] {
    std::array::from_fn(|lane| lane as u64 * u64::from(stride))
}

/// These words in the first lanes but lane 0, which has word 0, as all others have.
fn against_first(words: &[u64]) -> [u64; WARP] {
    let mut all = [0; WARP];
    all[1..=words.len()].copy_from_slice(words);
    all
}

fn cycles(measurement: &Measurement<Warp>) -> Result<f64, Unknown> {
    cycles_a_load(measurement).ok_or_else(|| Unknown::because("no load of a warp was timed"))
}

/// One point of a curve.
#[derive(Clone, Copy, Debug)]
struct Point {
    stride: u32,
    cycles: f64,
    /// Where the rounds are, but for the one that is farthest from the others.
    interval: (f64, f64),
}

/// Latency by stride, at one width and choice of banks.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    width: AccessWidth,
    points: Vec<Point>,
    /// Deviation of a point from round to round, that of nine tenths of the points.
    noise: f64,
}

impl Curve {
    fn at(&self, stride: u32) -> Option<f64> {
        self.points.iter().find(|p| p.stride == stride).map(|p| p.cycles)
    }

    fn least(&self) -> f64 {
        self.points.iter().map(|p| p.cycles).fold(f64::MAX, f64::min)
    }

    fn most(&self) -> f64 {
        self.points.iter().map(|p| p.cycles).fold(f64::MIN, f64::max)
    }

    /// Cycles of an access in which every lane has an element of its own and no two conflict.
    fn free(&self) -> f64 {
        self.points.iter().filter(|p| p.stride > 0).map(|p| p.cycles).fold(f64::MAX, f64::min)
    }
}

/// Which strides are measured: of words all, of wider elements those of the same distances in bytes, and in either case
/// the rows of a square of 32 elements with a few elements of padding. Of a second choice of banks the even ones, which are
/// those that differ.
fn strides(width: AccessWidth, second: bool, effort: Effort) -> Vec<u32> {
    let side = WARP as u32;
    match width {
        _ if effort == Effort::Thorough => (0..=STRIDES).collect(),
        AccessWidth::B4 if second => (0..=STRIDES).filter(|s| s % 2 == 0 || *s == 1 || *s == side + 1).collect(),
        AccessWidth::B4 => (0..=STRIDES).collect(),
        AccessWidth::B8 => (0..=side + 4).collect(),
        AccessWidth::B16 => (0..=side / 2).chain(side..=side + 2).collect(),
    }
}

fn curve_of(notebook: &Notebook, width: AccessWidth, asked: Option<BankWidth>) -> Result<Curve, Gap> {
    notebook.once(&notebook.memo.bank_curve, (width, asked), || {
        let strides = strides(width, asked.is_some(), notebook.effort());
        let wanted: Vec<Warp> = strides.iter().map(|&s| access(width, strided(s), asked)).collect();
        let measurements = notebook.read(&wanted)?;
        let spreads: Vec<f64> =
            measurements.iter().filter_map(|s| robust::median_absolute_deviation(&rounds(s))).collect();
        let points: Result<Vec<Point>, Unknown> = strides
            .iter()
            .zip(&measurements)
            .map(|(&stride, measurement)| {
                let cycles = cycles(measurement)?;
                Ok(Point { stride, cycles, interval: around(cycles, rounds(measurement)) })
            })
            .collect();
        Ok(Curve { width, points: points?, noise: robust::quantile(&spreads, 0.9).unwrap_or(0.0) })
    })
}

/// What the rounds but the farthest say, and what the clock can tell apart: a cycle at both ends of two times.
fn around(cycles: f64, mut rounds: Vec<f64>) -> (f64, f64) {
    rounds.sort_unstable_by(|a, b| (a - cycles).abs().total_cmp(&(b - cycles).abs()));
    rounds.truncate((rounds.len() - 1).max(1));
    let resolution = 4.0 / f64::from(LOADS);
    (rounds.iter().copied().fold(cycles, f64::min) - resolution, rounds.into_iter().fold(cycles, f64::max) + resolution)
}

/// Where a load counts as slower than one without a conflict.
#[derive(Clone, Copy, Debug)]
struct Scale {
    /// Cycles without a conflict.
    base: f64,
    /// Cycles above which it is slower.
    limit: f64,
}

fn scale(curve: &Curve) -> Result<Scale, Unknown> {
    let (base, most) = (curve.least(), curve.most());
    // A warp's lanes conflict with at most all others.
    let one = (most - base) / (WARP - 1) as f64;
    let above = (SLOWER * one).max(ABOVE_NOISE * curve.noise);
    if one <= 0.0 || above > one / 2.0 {
        return Err(Unknown::because(format!(
            "no stride has conflicts above the noise: {base:.1} to {most:.1} cycles per load over strides of 0 to \
             {STRIDES} words, with {:.2} between rounds",
            curve.noise
        )));
    }
    Ok(Scale { base, limit: base + above })
}

/// The banks found with one choice of them.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    map: BankMap,
    scale: Scale,
    /// Cycles with one lane in another row of the bank of all others.
    one_more: f64,
}

/// The banks, with a width that is asked for or the driver's own.
fn geometry(notebook: &Notebook, asked: Option<BankWidth>) -> Result<Geometry, Gap> {
    notebook.once(&notebook.memo.banks, asked, || {
        let distances: Vec<u64> = (0..DISTANCES).map(|k| 1 << k).collect();
        let pairs: Vec<Warp> = distances.iter().map(|&k| access(WORD, against_first(&[k]), asked)).collect();
        // Both at once: what is missing of either is measured in one batch.
        let (curve, pairs) = (curve_of(notebook, WORD, asked), notebook.read(&pairs));
        let (scale, pairs) = (scale(&curve?)?, pairs?);
        let mut one_more = None;
        for (&distance, measurement) in distances.iter().zip(&pairs) {
            let cycles = cycles(measurement)?;
            if cycles > scale.limit {
                one_more = Some((distance, cycles));
                break;
            }
        }
        let Some((row, one_more)) = one_more else {
            return Gap::unknown(format!(
                "strides conflict, but no two words at distances of 1 to {} words do",
                1 << (DISTANCES - 1)
            ));
        };
        let columns = columns(notebook, asked, row, scale)?;
        Ok(Geometry { map: BankMap { row, columns }, scale, one_more })
    })
}

/// For groups of words, whether any of a group conflicts with word 0.
fn conflicts(
    notebook: &Notebook,
    asked: Option<BankWidth>,
    groups: &[Vec<u64>],
    scale: Scale,
) -> Result<Vec<bool>, Gap> {
    let wanted: Vec<Warp> = groups.iter().map(|group| access(WORD, against_first(group), asked)).collect();
    notebook.read(&wanted)?.iter().map(|measurement| Ok(cycles(measurement)? > scale.limit)).collect()
}

/// Words of the row after the first that conflict with word 0, from the row's begin; 0 is one, as `row` is the distance of a
/// conflict.
fn columns(notebook: &Notebook, asked: Option<BankWidth>, row: u64, scale: Scale) -> Result<Vec<u64>, Gap> {
    let groups = |words: Vec<u64>| -> Vec<Vec<u64>> { words.chunks(AT_ONCE).map(<[u64]>::to_vec).collect() };
    let (before, after) = (groups((1..row).collect()), groups((row + 1..2 * row).collect()));
    let all: Vec<Vec<u64>> = before.iter().chain(&after).cloned().collect();
    let seen = conflicts(notebook, asked, &all, scale)?;
    let (nearer, beside) = seen.split_at(before.len());
    if nearer.contains(&true) {
        return Gap::unknown(format!(
            "words at a distance of {row} are in the same bank, but nearer words conflict as well: the banks are not \
             arranged in rows of a power of two words"
        ));
    }
    if !beside.contains(&true) {
        return Ok(vec![0]);
    }
    // Some are: each of a power of two alone, then their sums, and then nothing else may be.
    let steps: Vec<u64> = (0..row.ilog2()).map(|bit| 1 << bit).collect();
    let alone: Vec<Vec<u64>> = steps.iter().map(|step| vec![row + step]).collect();
    let alone = conflicts(notebook, asked, &alone, scale)?;
    let mut columns = vec![0];
    for (step, _) in steps.iter().zip(alone).filter(|(_, conflicts)| *conflicts) {
        columns.extend(columns.clone().iter().map(|column| column ^ step));
    }
    columns.sort_unstable();
    let each: Vec<Vec<u64>> = columns[1..].iter().map(|column| vec![row + column]).collect();
    let others = groups((1..row).filter(|word| !columns.contains(word)).map(|word| row + word).collect());
    let (each, others) = (conflicts(notebook, asked, &each, scale), conflicts(notebook, asked, &others, scale));
    let (each, others) = (each?, others?);
    if columns.len() == 1 || each.contains(&false) || others.contains(&true) {
        return Gap::unknown(format!(
            "words at a distance of {row} are in the same bank, but the words of a row in that bank follow no power of two"
        ));
    }
    Ok(columns)
}

/// The width of a bank that is asked for besides the driver's own choice: on compute capability 3.x, which has the choice
/// (CUDA C Programming Guide), the one that the driver has not chosen.
fn second_choice(notebook: &Notebook) -> Result<Option<BankWidth>, Gap> {
    if notebook.facts().compute_capability.0 != 3 {
        return Ok(None);
    }
    let own = geometry(notebook, None)?.map.piece();
    Ok(Some(if own == 8 { BankWidth::B4 } else { BankWidth::B8 }))
}
