//! Inference from the timings of another tool. These probes plan no experiments: they only infer, with the same statistics as
//! our own probes ([`growth`](crate::analysis::growth), the thesis' test, [`cluster`](crate::analysis::cluster)).
//!
//! No calibration came with the timings. What tells a hit from a miss is taken from each series by itself, since the kernels of
//! two series may take different times about a load; latencies are upper bounds; differences within a series are what they are.

mod capacity;
mod fetch;
mod footprints;
mod hits;
mod latency;
mod line;

use super::{Measurement, Notebook, Unknown};
use hits::Hits;
use strata_model::attribute::{
    CONFLICTS, FETCH_GRANULARITY, LINE_SIZE, MISS_PENALTY, NOMINAL_SIZE, SIZE, STAIRCASE, THRASH_SIZE,
};
use strata_model::experiment::Imported;
use strata_model::import::{Level, MOST_ROWS, Question, Series, is_sum};
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
        // Recordings exist that were made from a summary with the sum of all.
        Level::Shared if is_sum(facts.shared_per_multiprocessor, facts.shared_per_block, facts.multiprocessors) => 0,
        Level::Shared => facts.shared_per_multiprocessor,
        _ => 0,
    };
    let nominal_size = |key| {
        (stated > 0)
            .then(|| Entry::new(key, Finding::from_driver(Bytes(stated), "the summary that came with the timings")))
    };
    let latency = latency::latency(notebook, level);
    if matches!(level, Level::Shared | Level::Dram) {
        let size = nominal_size(SIZE).unwrap_or_else(|| {
            Entry::new(SIZE, Finding::unknown("no series times it, and no summary with the timings states it"))
        });
        return Element::from(latency).and(Some(size));
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
        Some(Entry::new(FETCH_GRANULARITY, granularity)),
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

/// The only power of two in a range of bytes: caches cut lines and sectors out of the bits of an address. `None` if there is none
/// or several.
fn only_power_of_two(low: u64, high: u64) -> Option<u64> {
    let first = low.max(1).checked_next_power_of_two()?;
    (first <= high && first.checked_mul(2).is_none_or(|next| next > high)).then_some(first)
}

/// Without rows that say the same as one before them: of these the one with the fewest of what `count` counts is kept, because
/// whatever disturbs a load makes it slower.
fn distinct<K: PartialEq>(
    mut rows: Vec<Measurement<Imported>>,
    key: impl Fn(&Imported) -> K,
    count: impl Fn(&[u32]) -> usize,
) -> Vec<Measurement<Imported>> {
    rows.dedup_by(|next, kept| {
        let same = key(&next.experiment) == key(&kept.experiment);
        if same && count(next.latencies()) < count(kept.latencies()) {
            std::mem::swap(next, kept);
        }
        same
    });
    rows
}
