//! Rows of footprints: how many loads of each are slow, and where they begin to grow in number.

use super::super::{Measurement, Unknown};
use super::{Hits, footprint};
use crate::analysis::growth::{self, Growth, PLATEAU_POINTS};
use crate::analysis::robust;
use strata_model::experiment::Imported;
use strata_model::units::Bytes;

/// So few loads of a row may be slow at every footprint for reasons of their own, as a share of the row and at least one load.
const FEW: f64 = 0.01;
/// Rows of fewer loads are counted in full: one value may stand for a whole lap.
const FEW_OF: usize = 8;
/// Loads that noise slows are more than so many standard deviations above their mean in one row of a thousand.
const DEVIATIONS: f64 = 3.0;

/// Slow loads of a footprint.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Count {
    pub footprint: u64,
    /// Which loads of the row are slow.
    pub slow: Vec<usize>,
    pub loads: usize,
    /// Median of its loads, in cycles.
    median: f64,
}

impl Count {
    pub fn of(measurement: &Measurement<Imported>, hits: &Hits) -> Self {
        let loads = measurement.latencies();
        let slow = (0..loads.len()).filter(|&i| hits.is_slow(loads[i])).collect();
        let median = robust::median_u32(loads).unwrap_or(0.0);
        Count { footprint: footprint(&measurement.experiment).0, slow, loads: loads.len(), median }
    }

    /// Whether no more loads are slow than are for reasons of their own: `base` loads at every footprint, and this share of
    /// all loads or a few.
    fn is_noise(&self, base: f64, noise: f64) -> bool {
        let few = if self.loads < FEW_OF { 0.0 } else { (FEW * self.loads as f64).max(1.0) };
        self.slow.len() as f64 <= base + few.max(noise * self.loads as f64 + self.unseen(noise))
    }

    /// Misses that so much noise hides.
    pub fn unseen(&self, noise: f64) -> f64 {
        DEVIATIONS * (noise * self.loads as f64).sqrt()
    }
}

/// Where slow loads begin to grow in number.
pub(super) struct Knee {
    pub growth: Growth,
    /// Largest footprint up to which no load says otherwise, in bytes.
    pub sure: u64,
    /// Share of the loads of footprints that fit which are slow now and then.
    pub noise: f64,
    /// About the few loads that are slow between the two.
    pub remark: Option<String>,
}

/// The rows without those that hold fewer loads than a smaller footprint: they were cut off. Also says which.
pub(super) fn whole(measurements: Vec<Measurement<Imported>>) -> (Vec<Measurement<Imported>>, Option<String>) {
    let mut most = 0;
    let (kept, cut): (Vec<_>, Vec<_>) = measurements.into_iter().partition(|measurement| {
        let whole = measurement.latencies().len() >= most;
        most = most.max(measurement.latencies().len());
        whole
    });
    let cut: Vec<String> = cut.iter().map(|row| footprint(&row.experiment).to_string()).collect();
    let said = (!cut.is_empty())
        .then(|| format!("rows left out because they hold fewer loads than a smaller footprint: {}", cut.join(", ")));
    (kept, said)
}

/// Whether more loads are slow at larger footprints, however few.
pub(super) fn is_growing(counts: &[Count]) -> bool {
    let points: Vec<(u64, f64)> = counts.iter().map(|c| (c.footprint, c.slow.len() as f64)).collect();
    growth::growth(&points).is_some()
}

/// Where slow loads begin to grow in number. A few loads that are slow at all larger footprints are no growth yet.
pub(super) fn knee(counts: &[Count]) -> Option<Knee> {
    let laps: Vec<u64> = counts.iter().map(|c| c.loads as u64).collect();
    let grown = |slow: &dyn Fn(&Count) -> f64| {
        let points: Vec<(u64, f64)> = counts.iter().map(|c| (c.footprint, slow(c))).collect();
        growth::growth_of_laps(&points, &laps)
    };
    let any = grown(&|c| c.slow.len() as f64)?;
    let fitting = &counts[..any.flat_points];
    let more: f64 = fitting.iter().map(|c| (c.slow.len() as f64 - any.base).max(0.0)).sum();
    let noise = more / fitting.iter().map(|c| c.loads).sum::<usize>().max(1) as f64;
    let many = grown(&|c| if c.is_noise(any.base, noise) { any.base } else { c.slow.len() as f64 })?;
    if many.last_flat <= any.last_flat {
        return Some(Knee { growth: any, sure: any.last_flat, noise, remark: None });
    }
    let between: Vec<&Count> =
        counts.iter().filter(|c| c.footprint >= any.first_grown && c.footprint <= many.last_flat).collect();
    // Lines that miss because more are there than fit become more with the footprint. These are the same.
    let same = between.len() >= PLATEAU_POINTS && between.windows(2).all(|pair| pair[0].slow == pair[1].slow);
    let few = between.iter().map(|c| c.slow.len()).min().unwrap_or(0);
    let words = if same { "always the same, so they are no misses" } else { "too few to tell from noise" };
    let (from, to) = (Bytes(any.first_grown), Bytes(many.last_flat));
    let remark = format!("at least {few} of the loads are slow at each footprint from {from} to {to}: {words}");
    let sure = if same { many.last_flat } else { any.last_flat };
    Some(Knee { growth: many, sure, noise, remark: Some(remark) })
}

/// Whether the footprints below the knee take as long as the smallest one: hits do. Only where loads take anything between a
/// hit and a miss can slower hits be taken for some misses.
pub(super) fn is_plateau(counts: &[Count], growth: &Growth, hits: &Hits) -> Result<(), Unknown> {
    if !hits.averaged {
        return Ok(());
    }
    let mut flat = counts.iter().take_while(|count| count.footprint <= growth.last_flat);
    let Some(slower) = flat.find(|count| count.median > hits.median + hits.spread) else { return Ok(()) };
    Err(Unknown::because(format!(
        "loads take longer with the footprint already where few are slow: {} cycles at {} and {} at {}, so there is no \
         latency of a hit to compare with",
        hits.median,
        Bytes(counts[0].footprint),
        slower.median,
        Bytes(slower.footprint)
    )))
}
