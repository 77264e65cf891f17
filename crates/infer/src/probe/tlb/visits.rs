//! What visits to pages took: of each the first load less the second, which is the cost of its translation.

use crate::analysis::plateau::Point;
use crate::analysis::robust;
use crate::probe::Measurement;
use crate::probe::levels::HitMiss;
use strata_model::experiment::Chase;

/// What stands for no extra cycles in [`as_latency`]: second loads may take a little longer than first ones.
const ZERO: f64 = 64.0;
/// So many pages show how pages differ.
pub(super) const FEW: usize = 16;

/// The visits of a walk, lap by lap.
pub(super) struct Visits {
    /// What the first load of each took longer than the second, in cycles.
    pub extras: Vec<f64>,
    /// Visits of a lap.
    pub lap: usize,
}

impl Visits {
    /// Of the whole laps of a walk.
    pub fn of(measurement: &Measurement<Chase>) -> Self {
        let lap = measurement.experiment.lap() as usize / 2;
        let pairs = measurement.latencies().chunks_exact(2);
        let mut extras: Vec<f64> = pairs.map(|pair| f64::from(pair[0]) - f64::from(pair[1])).collect();
        extras.truncate(extras.len() / lap.max(1) * lap);
        Visits { extras, lap }
    }

    /// The laps one by one.
    pub fn laps(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.extras.chunks_exact(self.lap.max(1))
    }

    /// The median over laps of each page.
    pub fn typical(&self) -> Vec<f64> {
        let mut of_page = Vec::with_capacity(self.laps().len());
        (0..self.lap.min(self.extras.len()))
            .map(|page| {
                of_page.clear();
                of_page.extend(self.extras.iter().skip(page).step_by(self.lap));
                of_page.sort_unstable_by(f64::total_cmp);
                // Of an even number the lower: a spike must not count by half.
                of_page[(of_page.len() - 1) / 2]
            })
            .collect()
    }

    /// How many laps can make a page look quick by chance alone, where one of them is enough. Of two laps [`Visits::typical`] takes
    /// the lower, so that a slow second load in either lap shows: twice as often as in a single lap.
    pub fn chances(&self) -> f64 {
        if self.laps().len() == 2 { 2.0 } else { 1.0 }
    }

    /// How many differ from the median of their page by more cycles than this.
    pub fn odd(&self, cycles: f64) -> usize {
        let usual = self.typical();
        let odd = |lap: &[f64]| lap.iter().zip(&usual).filter(|(x, usual)| (*x - *usual).abs() > cycles).count();
        self.laps().map(odd).sum()
    }
}

/// The median over laps of what each page's translation took.
pub(super) fn typical(measurement: &Measurement<Chase>) -> Vec<f64> {
    Visits::of(measurement).typical()
}

/// As a whole number of cycles that cannot be negative, for what classifies latencies.
pub(super) fn as_latency(extra: f64) -> u32 {
    (extra + ZERO).max(0.0).round() as u32
}

/// [`as_latency`] of each.
pub(super) fn as_latencies(extras: &[f64]) -> Vec<u32> {
    extras.iter().copied().map(as_latency).collect()
}

/// The share of visits that miss; 0 of none.
pub(super) fn miss_share(classes: &HitMiss, extras: &[f64]) -> f64 {
    let missed = extras.iter().filter(|&&extra| classes.is_miss(as_latency(extra))).count();
    missed as f64 / extras.len().max(1) as f64
}

/// The mean over the pages of a walk, as a point of the curve over footprints.
pub(super) fn point(measurement: &Measurement<Chase>) -> Point {
    let (mean, error) = mean_and_error(&typical(measurement));
    Point { at: measurement.experiment.footprint.0, mean, error }
}

/// [`point`] of each of these walks. A few pages may be alike by chance: they differ by no less than the pages of some longer walk do.
pub(super) fn points(measurements: &[Measurement<Chase>]) -> Vec<Point> {
    let pages = |measurement: &Measurement<Chase>| measurement.experiment.lap() as usize / 2;
    let mut points: Vec<Point> = measurements.iter().map(point).collect();
    let walks = measurements.iter().map(pages).zip(&points);
    let deviations = walks.filter(|&(pages, _)| pages >= FEW).map(|(pages, point)| point.error * (pages as f64).sqrt());
    let least = deviations.min_by(f64::total_cmp).unwrap_or_default();
    for (point, pages) in points.iter_mut().zip(measurements.iter().map(pages)) {
        if pages < FEW {
            point.error = point.error.max(least / (pages.max(1) as f64).sqrt());
        }
    }
    points
}

/// The mean of what was seen page by page, and its standard error.
pub(super) fn mean_and_error(pages: &[f64]) -> (f64, f64) {
    let mean = robust::mean(pages);
    let count = pages.len().max(1) as f64;
    let variance = pages.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    // A difference of two clock readings is known to a cycle at best.
    (mean, variance.sqrt().max(1.0) / count.sqrt())
}

/// Means of what the first load of a line takes longer than the second, and their standard errors, for the first and the second
/// line of the pages.
pub(super) fn of_lines(measurement: &Measurement<Chase>) -> [(f64, f64); 2] {
    let lines = typical(measurement);
    [0, 1].map(|line| mean_and_error(&lines.iter().skip(line).step_by(2).copied().collect::<Vec<_>>()))
}
