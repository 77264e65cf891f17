//! Inference from the timings of another tool. These probes plan no experiments: they only infer, with the same statistics as
//! our own probes ([`growth`](crate::analysis::growth), the thesis' test, [`cluster`](crate::analysis::cluster)).
//!
//! No calibration came with the timings. What tells a hit from a miss is taken from each series by itself, since the kernels of
//! two series may take different times about a load; latencies are upper bounds; differences within a series are what they are.

mod capacity;
mod fetch;
mod latency;
mod line;

use super::{Measurement, Notebook, Unknown};
use crate::analysis::robust;
use strata_model::attribute::{
    CONFLICTS, FETCH_GRANULARITY, LINE_SIZE, MISS_PENALTY, NOMINAL_SIZE, SIZE, STAIRCASE, THRASH_SIZE,
};
use strata_model::experiment::Imported;
use strata_model::import::{Level, MOST_ROWS, Question, Series};
use strata_model::topology::{Element, ElementName, Entry, Finding};
use strata_model::units::Bytes;

/// Share of the loads of a footprint that fits which may be slow for reasons of their own.
const STRAY: f64 = 0.05;

/// The elements that the notebook has series of, each with what they show.
pub fn elements(notebook: &Notebook) -> Vec<(ElementName, Element)> {
    let has = |level: &Level| {
        Question::ALL.into_iter().any(|question| !notebook.imported(Series { level: *level, question }).is_empty())
    };
    // No attribute is asked for here, so that what only checks for existence is not cited.
    let levels: Vec<Level> = Level::ALL.into_iter().filter(has).collect();
    levels.into_iter().map(|level| (name(level), element(notebook, level))).collect()
}

const fn name(level: Level) -> ElementName {
    match level {
        Level::L1 => ElementName::L1,
        Level::Texture => ElementName::Texture,
        Level::ReadOnly => ElementName::ReadOnly,
        Level::ConstantL1 => ElementName::ConstantL1,
        Level::ConstantL15 => ElementName::ConstantL15,
        Level::ScalarL1 => ElementName::ScalarL1,
        Level::Shared => ElementName::Shared,
        Level::L2 => ElementName::L2,
        Level::Dram => ElementName::Dram,
    }
}

fn element(notebook: &Notebook, level: Level) -> Element {
    let facts = notebook.facts();
    let stated = match level {
        Level::L2 => facts.l2_size,
        Level::Dram => facts.total_memory,
        Level::Shared => facts.shared_per_multiprocessor,
        _ => 0,
    };
    let nominal_size = |key| {
        (stated > 0)
            .then(|| Entry::new(key, Finding::from_driver(Bytes(stated), "the summary that came with the timings")))
    };
    let latency = latency::latency(notebook, level);
    if matches!(level, Level::Shared | Level::Dram) {
        return Element::from(latency).and(nominal_size(SIZE));
    }
    let granularity = notebook.finding(|| Ok(fetch::granularity(notebook, level)?));
    let step = granularity.value.map(|bytes| bytes.0 as f64);
    let capacity = || capacity::capacity(notebook, level, step);
    Element::from([
        notebook.size(SIZE, || Ok(capacity()?.size())),
        notebook.attribute(THRASH_SIZE, || Ok(capacity()?.thrash_size()?)),
        notebook.attribute(CONFLICTS, || Ok(capacity()?.conflicts())),
        notebook.attribute(STAIRCASE, || Ok(capacity()?.staircase())),
        notebook.attribute(MISS_PENALTY, || Ok(capacity()?.miss_penalty()?)),
        notebook.attribute(LINE_SIZE, || Ok(line::line_size(notebook, level, step)?)),
        Entry::new(FETCH_GRANULARITY, granularity),
    ])
    .and(nominal_size(NOMINAL_SIZE))
    .and(latency)
}

/// A series, which must be there.
fn series(notebook: &Notebook, level: Level, question: Question) -> Result<Vec<Measurement<Imported>>, Unknown> {
    let measurements = notebook.imported(Series { level, question });
    if measurements.is_empty() {
        return Err(Unknown::because(format!(
            "the timings have no series for the {} of the {}",
            question.name(),
            level.name()
        )));
    }
    if measurements.len() > MOST_ROWS {
        return Err(Unknown::because(format!("the series has more than {MOST_ROWS} rows, which is the limit")));
    }
    Ok(measurements)
}

/// The footprint of a row; 0 where its file does not say, which is so of no row that asks for a size or a line.
fn footprint(row: &Imported) -> Bytes {
    row.footprint.unwrap_or_default()
}

/// The stride of a row; 0 where its file does not say, which is so of no row that asks for a line or for what is fetched.
fn stride(row: &Imported) -> Bytes {
    row.stride.unwrap_or_default()
}

/// The clock's step: what all latencies are multiples of (4 cycles on the AMD GPU seen). A step up or down is no difference.
fn tick(measurements: &[Measurement<Imported>]) -> u32 {
    let gcd = |mut a: u32, mut b: u32| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    measurements.iter().flat_map(Measurement::latencies).copied().fold(0, gcd).max(1)
}

/// How long hits take in one series, and from when on a load is slow.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Hits {
    /// Median, in cycles.
    median: f64,
    /// From the lower quartile to the bulk's end, at least one step of the clock.
    spread: f64,
    /// Above this a load is slow.
    slow: f64,
}

impl Hits {
    /// Of loads nearly all of which hit; `tick` is the clock's step.
    fn of(reference: &[u32], tick: u32) -> Result<Self, Unknown> {
        let quantile = |q| robust::quantile_u32(reference, q);
        let (Some(median), Some(bulk), Some(low)) = (quantile(0.5), quantile(1.0 - STRAY), quantile(0.25)) else {
            return Err(Unknown::because("a series without loads"));
        };
        let spread = (bulk - low).max(f64::from(tick));
        Ok(Hits { median, spread, slow: bulk + spread })
    }

    fn count_slow(&self, latencies: &[u32]) -> usize {
        latencies.iter().filter(|&&l| f64::from(l) > self.slow).count()
    }

    fn share_slow(&self, latencies: &[u32]) -> f64 {
        self.count_slow(latencies) as f64 / latencies.len().max(1) as f64
    }
}
