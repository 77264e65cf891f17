//! Line size: the largest stride at which a footprint just beyond the capacity still overflows the cache.
//!
//! Up to a line, every stride touches every line of the footprint. Beyond it lines are left out, the rest fits, and slow loads
//! vanish. Twice the line is an exception: such a stride touches every other set only, and crowds these sets.

use std::collections::BTreeMap;

use super::super::{Measurement, Notebook, Unknown};
use super::{Hits, capacity, footprint, only_power_of_two, series, stride};
use crate::analysis::robust;
use strata_model::experiment::Imported;
use strata_model::import::{Level, Question};
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// A footprint overflows if at some stride this share of its loads is slow.
const OVERFLOWS: f64 = 0.1;
/// Beyond the line no more is left than this share of the excess at smaller strides, at all strides up to twice as large. Some
/// sets stay overfull; before the line, a stride that is no power of two may drop as low, but not all that follow it.
const VANISHED: f64 = 0.5;
/// What loads take longer than hits must be this part of a miss on the average before it can be seen to vanish.
const SHOWS: f64 = 0.2;
/// A footprint of so many times the capacity is just beyond it. A larger one also overflows at strides that leave lines out.
const JUST_BEYOND: f64 = 1.25;

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
    let hits = Hits::of(&measurements)?;
    let capacity = capacity::capacity(notebook, level, fetch).ok();
    if let Some(capacity) = &capacity
        && footprint(&first.experiment) >= capacity.first_beyond()
    {
        return Err(Unknown::because(format!(
            "even the smallest footprint of these timings, {}, overflows the cache",
            footprint(&first.experiment)
        )));
    }
    let rows_of = rows(&measurements, &hits);
    let overflows = |rows: &[Row]| rows.iter().any(|row| row.slow >= OVERFLOWS);
    let fits = rows_of.iter().take_while(|(_, rows)| !overflows(rows)).last().map(|(footprint, _)| *footprint);
    let Some(usable) = capacity.map(|capacity| capacity.usable()).or(fits) else {
        return Err(Unknown::because("even the smallest footprint of these timings overflows the cache"));
    };
    let beyond: Vec<(Bytes, &[Row])> = rows_of
        .iter()
        .filter(|(_, rows)| overflows(rows))
        .map(|(footprint, rows)| (*footprint, rows.as_slice()))
        .collect();
    let Some(&(smallest, _)) = beyond.first() else {
        return Err(Unknown::because("no footprint of these timings overflows the cache"));
    };
    // Where one footprint shows none, a larger one may. All that show one must agree.
    let mut found: Option<Line> = None;
    let mut reason = None;
    for (footprint, rows) in beyond {
        let times = (footprint.0 as f64 / usable.0 as f64).max(1.0);
        if times > JUST_BEYOND {
            break;
        }
        match (line(footprint, rows, (usable, times), fetch, hits.miss), &found) {
            (Ok(next), Some(line)) if next.line != line.line => {
                return Err(Unknown::because(format!(
                    "at {} loads are slow up to a stride of {}, and at {footprint} up to {}",
                    line.footprint, line.line, next.line
                )));
            }
            (Ok(next), None) => found = Some(next),
            (Err(unknown), _) => reason = reason.or(Some(unknown)),
            _ => {}
        }
    }
    match (found, reason) {
        (Some(line), _) => Ok(line.finding()),
        (None, Some(reason)) => Err(reason),
        (None, None) => Err(Unknown::because(format!(
            "the smallest footprint of these timings that overflows the cache, {smallest}, is so far beyond the capacity, \
             {usable}, that strides larger than a line overflow it, too"
        ))),
    }
}

/// What one footprint shows.
struct Line {
    footprint: Bytes,
    line: Bytes,
    range: (f64, f64),
    seen: String,
}

impl Line {
    fn finding(self) -> Finding<Bytes> {
        let method = "the largest stride at which a footprint just beyond the capacity overflows; the power of two in the interval";
        Finding::measured(self.line, method).range(self.range.0, self.range.1).note(self.seen)
    }
}

/// What a footprint of so many times the usable capacity shows; `miss` is what a miss takes longer than a hit, in cycles.
fn line(
    footprint: Bytes,
    rows: &[Row],
    (usable, times): (Bytes, f64),
    fetch: Option<f64>,
    miss: Option<f64>,
) -> Result<Line, Unknown> {
    let (at, most) = last_overflow(footprint, rows, usable, fetch)?;
    let (last, next) = (rows[at].stride, &rows[at + 1]);
    if miss.is_some_and(|miss| most < SHOWS * miss) {
        return Err(Unknown::because(format!(
            "at {footprint} a load takes only {most:.0} cycles more than a hit on the average, too little to see it vanish"
        )));
    }
    // Where half of this stride is the one before it, that may be the line, and this stride crowds every other set.
    let least = at.checked_sub(1).map(|i| rows[i].stride).filter(|before| 2 * before == last).unwrap_or(last);
    // Of a footprint of so many times the capacity, a stride of as many times the line still leaves too many lines.
    let (low, high) = ((least as f64 / times).ceil().max(fetch.unwrap_or(1.0)), next.stride - 1);
    let Some(line) = only_power_of_two(low as u64, high) else {
        return Err(Unknown::because(format!(
            "at {footprint} loads are slow at strides up to {last} B and fewer at {} B: there is not exactly one power \
             of two from {low} to {high} B",
            next.stride
        )));
    };
    let seen = format!(
        "at {footprint} a load takes up to {most:.0} cycles more than a hit at strides up to {last} B and {:.0} at {} B",
        next.excess, next.stride
    );
    Ok(Line { footprint, line: Bytes(line), range: (low, high as f64), seen })
}

/// The rows of each footprint, by stride; rows of one footprint and stride together.
fn rows(measurements: &[Measurement<Imported>], hits: &Hits) -> BTreeMap<Bytes, Vec<Row>> {
    let mut rows_of: BTreeMap<Bytes, Vec<Row>> = BTreeMap::new();
    for rows in measurements
        .chunk_by(|a, b| (a.experiment.footprint, a.experiment.stride) == (b.experiment.footprint, b.experiment.stride))
    {
        let loads: Vec<u32> = rows.iter().flat_map(Measurement::latencies).copied().collect();
        // The mean of all loads, too: a series that averages over several loads by itself shows it.
        let excess = (robust::trimmed_mean_u32(&loads) - hits.median).max(0.0);
        let row = Row { stride: stride(&rows[0].experiment).0, slow: hits.share_slow(&loads), excess };
        rows_of.entry(footprint(&rows[0].experiment)).or_default().push(row);
    }
    rows_of
}

/// Where the last stride is that touches every line, and how many cycles more than a hit loads take up to there.
fn last_overflow(footprint: Bytes, rows: &[Row], usable: Bytes, fetch: Option<f64>) -> Result<(usize, f64), Unknown> {
    let (mut most, mut overflown) = (0.0_f64, false);
    for (i, row) in rows.iter().enumerate() {
        most = most.max(row.excess);
        overflown |= row.slow >= OVERFLOWS;
        let Some(next) = rows.get(i + 1) else { break };
        if !overflown || fetch.is_some_and(|fetch| (row.stride as f64) < fetch) {
            continue;
        }
        let gone = |row: &Row| row.excess <= VANISHED * most;
        let window: Vec<&Row> = rows[i + 1..].iter().filter(|r| r.stride < 2 * next.stride).collect();
        // Twice the line and its multiples touch every other set, or fewer, and may crowd them. A stride between the two tells
        // that from a larger line.
        let crowding = |r: &Row| r.stride.is_multiple_of(2 * row.stride) && next.stride < 2 * row.stride;
        if !window.iter().all(|r| crowding(r) || gone(r)) {
            continue;
        }
        // A lap is a whole number of strides: at this one its last load must still lie beyond the capacity.
        if (footprint.0 / next.stride).saturating_sub(1) * next.stride < usable.0 {
            return Err(Unknown::because(format!(
                "at {footprint} the last load of a lap with a stride of {} B is not beyond the capacity, {usable}",
                next.stride
            )));
        }
        let end = rows.last().map_or(0, |row| row.stride);
        if end < 2 * row.stride {
            return Err(Unknown::because(format!(
                "at {footprint} fewer loads are slow at strides of more than {} B, but the strides end at {end} B, before \
                 twice that: what larger strides show is missing",
                row.stride
            )));
        }
        return Ok((i, most));
    }
    Err(Unknown::because(format!(
        "at {footprint} there are slow loads at every stride up to {} B",
        rows.last().map_or(0, |row| row.stride)
    )))
}
