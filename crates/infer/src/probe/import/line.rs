//! Line size: the largest stride at which a footprint just beyond the capacity still overflows the cache.
//!
//! Up to a line, every stride touches every line of the footprint. Beyond it lines are left out, the rest fits, and slow loads
//! vanish, but for strides whose lines crowd few sets (powers of two).

use std::collections::BTreeMap;

use super::super::{Notebook, Unknown};
use super::{Hits, capacity, footprint, series, stride, tick};
use crate::analysis::robust;
use strata_model::import::{Level, Question};
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// A footprint overflows if at some stride this share of its loads is slow.
const OVERFLOWS: f64 = 0.1;
/// Beyond the line no more is left than this share of the excess at smaller strides, at all strides up to twice as large. Some
/// sets stay overfull; before the line, a stride that is no power of two may drop as low, but not all that follow it.
const VANISHED: f64 = 0.5;

/// A footprint at one stride.
struct Row {
    stride: u64,
    /// Share of the loads that are slow.
    slow: f64,
    /// Cycles that a load takes longer than a hit, on the average.
    excess: f64,
}

/// The line; `fetch` is the granularity of fetching, if it is known: no line is smaller.
pub(super) fn line_size(notebook: &Notebook, level: Level, fetch: Option<f64>) -> Result<Finding<Bytes>, Unknown> {
    let measurements = series(notebook, level, Question::LineSize)?;
    // The smallest footprint at the smallest stride is the first.
    let first = &measurements[0];
    let hits = Hits::of(first.latencies(), tick(&measurements))?;
    if let Ok(capacity) = capacity::capacity(notebook, level, None)
        && footprint(&first.experiment) >= capacity.first_beyond()
    {
        return Err(Unknown::because(format!(
            "even the smallest footprint of these timings, {}, overflows the cache",
            footprint(&first.experiment)
        )));
    }
    // How much longer loads take than hits, on the average: a series that averages over several loads by itself shows it too.
    let mut rows_of: BTreeMap<Bytes, Vec<Row>> = BTreeMap::new();
    for measurement in &measurements {
        let (stride, loads) = (stride(&measurement.experiment).0, measurement.latencies());
        let excess = (robust::trimmed_mean_u32(loads) - hits.median).max(0.0);
        let row = Row { stride, slow: hits.share_slow(loads), excess };
        rows_of.entry(footprint(&measurement.experiment)).or_default().push(row);
    }
    let overflows = |rows: &[Row]| rows.iter().any(|row| row.slow >= OVERFLOWS);
    let Some((footprint, rows)) = rows_of.iter().find(|(_, rows)| overflows(rows)) else {
        return Err(Unknown::because("no footprint of these timings overflows the cache"));
    };
    let (mut most, mut overflown) = (0.0_f64, false);
    for (i, row) in rows.iter().enumerate() {
        most = most.max(row.excess);
        overflown |= row.slow >= OVERFLOWS;
        let Some(next) = rows.get(i + 1) else { break };
        if !overflown || fetch.is_some_and(|fetch| (row.stride as f64) < fetch) {
            continue;
        }
        // Twice the line and its multiples touch every other set, or fewer, and may crowd them.
        let crowding = |stride: u64| stride.is_multiple_of(2 * row.stride);
        let near: Vec<&Row> =
            rows[i + 1..].iter().filter(|r| r.stride < 2 * next.stride && !crowding(r.stride)).collect();
        if !near.is_empty() && near.iter().all(|r| r.excess <= VANISHED * most) {
            let method = "the largest stride at which a footprint just beyond the capacity overflows";
            return Ok(Finding::measured(Bytes(row.stride), method)
                .range(row.stride as f64, near[0].stride as f64 - 1.0)
                .note(format!(
                    "at {footprint} a load takes up to {most:.0} cycles more than a hit at strides up to {} B and {:.0} at {} B",
                    row.stride, near[0].excess, near[0].stride
                )));
        }
    }
    Err(Unknown::because(format!(
        "at {footprint} there are slow loads at every stride up to {} B",
        rows.last().map_or(0, |row| row.stride)
    )))
}
