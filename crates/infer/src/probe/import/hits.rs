//! What tells a hit from a miss within one series: no calibration came with the timings, and every kernel adds an overhead of
//! its own.

use super::super::{Measurement, Unknown};
use super::STRAY;
use crate::analysis::robust;
use strata_model::experiment::Imported;

/// What most loads of the rows that overflow take longer than a hit says what a miss costs, if it is so many times the spread of
/// the hits.
const APART: f64 = 3.0;
/// A load is a miss if it takes this part of a miss longer than a hit.
const HALF: f64 = 0.5;
/// The values of a series are averages over several loads if this share of what is not a hit lies between a quarter and three
/// quarters of a miss: single loads either hit or miss.
const AVERAGED: f64 = 0.03;
/// Most loads that one value averages over, on the GPUs seen 13: one miss among so many still counts as slow.
const MOST_AVERAGED: f64 = 16.0;

/// A clock's step is at most this part of a hit; a twelfth on the AMD GPU seen.
const COARSEST: f64 = 0.1;

/// How long hits take in one series, and from when on a load is slow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hits {
    /// Median, in cycles.
    pub median: f64,
    /// From the lower quartile to the bulk's end, at least one step of the clock.
    pub spread: f64,
    /// Above this a load is slow.
    pub slow: f64,
    /// What a miss takes longer, in cycles, if it shows.
    pub miss: Option<f64>,
    /// Whether loads take anything between a hit and a miss.
    pub averaged: bool,
}

impl Hits {
    /// Of a series whose first row fits: more than half of its loads hit.
    pub fn of(series: &[Measurement<Imported>]) -> Result<Self, Unknown> {
        let loads = Unknown::because("a series without loads");
        let Some(first) = series.first().map(Measurement::latencies) else { return Err(loads) };
        let quantile = |q| robust::quantile_u32(first, q);
        let (Some(median), Some(low)) = (quantile(0.5), quantile(0.25)) else { return Err(loads) };
        let tick = tick(series, median);
        let miss = miss(series, median).filter(|miss| HALF * miss > APART * (median - low).max(tick));
        // Loads of the first row that are as slow as a miss are not hits, however many there are.
        let limit = miss.map_or(f64::INFINITY, |miss| median + HALF * miss);
        let hits: Vec<u32> = first.iter().copied().filter(|&l| f64::from(l) <= limit).collect();
        let bulk = robust::quantile_u32(&hits, 1.0 - STRAY).unwrap_or(median);
        let spread = (bulk - low).max(tick);
        let averaged = miss.is_some_and(|miss| is_averaged(series, median, miss));
        let slow = match miss {
            None => bulk + spread,
            Some(miss) if averaged => (bulk + spread).max(median + miss / MOST_AVERAGED).min(limit),
            Some(_) => limit,
        };
        Ok(Hits { median, spread, slow, miss, averaged })
    }

    pub fn is_slow(&self, latency: u32) -> bool {
        f64::from(latency) > self.slow
    }

    pub fn count_slow(&self, latencies: &[u32]) -> usize {
        latencies.iter().filter(|&&l| self.is_slow(l)).count()
    }

    pub fn share_slow(&self, latencies: &[u32]) -> f64 {
        self.count_slow(latencies) as f64 / latencies.len().max(1) as f64
    }
}

/// What a miss costs, in cycles: what the slow loads of the slowest row take longer than a hit. Slow is what lies above the latency
/// that parts this row from the first one best (where their distributions are furthest apart, as in the Kolmogorov-Smirnov test),
/// so that what disturbs both rows alike does not count.
fn miss(series: &[Measurement<Imported>], hit: f64) -> Option<f64> {
    let mean = |row: &&Measurement<Imported>| robust::trimmed_mean_u32(row.latencies());
    let slowest = series.iter().max_by(|a, b| mean(a).total_cmp(&mean(b)))?.latencies();
    let first = series.first()?.latencies();
    let sorted = |row: &[u32]| {
        let mut row = row.to_vec();
        row.sort_unstable();
        row
    };
    let (first, slowest) = (sorted(first), sorted(slowest));
    let up_to = |row: &[u32], at: u32| row.partition_point(|&l| l <= at) as f64 / row.len().max(1) as f64;
    let apart = |at: u32| up_to(&first, at) - up_to(&slowest, at);
    let best = first.iter().chain(&slowest).copied().max_by(|&a, &b| apart(a).total_cmp(&apart(b)))?;
    let slow = &slowest[slowest.partition_point(|&l| l <= best)..];
    (apart(best) >= STRAY).then(|| robust::median_u32(slow).map(|slow| slow - hit)).flatten()
}

/// Whether a value is the average of several loads, some of which miss.
fn is_averaged(series: &[Measurement<Imported>], hit: f64, miss: f64) -> bool {
    let (mut between, mut beyond) = (0_usize, 0_usize);
    for &latency in series.iter().flat_map(Measurement::latencies) {
        let part = (f64::from(latency) - hit) / miss;
        between += usize::from(part > 0.25 && part < 0.75);
        beyond += usize::from(part >= 0.75);
    }
    between as f64 >= AVERAGED * (between + beyond) as f64
}

/// The clock's step: what all latencies are multiples of (4 cycles on the AMD GPU seen). A step up or down is no difference.
/// 1 where the common divisor of few latencies is an accident: no clock is so coarse.
fn tick(series: &[Measurement<Imported>], hit: f64) -> f64 {
    let gcd = |mut a: u32, mut b: u32| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let divisor = f64::from(series.iter().flat_map(Measurement::latencies).copied().fold(0, gcd));
    if divisor > COARSEST * hit { 1.0 } else { divisor.max(1.0) }
}
