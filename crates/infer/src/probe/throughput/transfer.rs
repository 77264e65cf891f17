//! What the copy engines move between host memory and the device.

use super::BUS;
use super::interval::{OTHER_PAGES, digits, promised, thousandths};
use crate::probe::{Gap, Notebook, Unknown};
use strata_model::attribute::{BOTH_WAYS_BANDWIDTH, DEVICE_TO_HOST_BANDWIDTH, HOST_TO_DEVICE_BANDWIDTH};
use strata_model::experiment::{Direction, Transfer};
use strata_model::topology::{Entry, Finding};
use strata_model::units::{Bytes, BytesPerSecond};

/// A short copy and a long one: what starts a copy takes is in both, and drops out of their difference.
const LENGTHS: [Bytes; 2] = [Bytes::mib(8), Bytes::mib(32)];

/// Rates of copies each way and both ways.
pub fn entries(notebook: &Notebook) -> [Option<Entry>; 3] {
    let of = |direction| move || rate(notebook, direction);
    [
        notebook.attribute(HOST_TO_DEVICE_BANDWIDTH, of(Direction::ToDevice)),
        notebook.attribute(DEVICE_TO_HOST_BANDWIDTH, of(Direction::ToHost)),
        notebook.attribute(BOTH_WAYS_BANDWIDTH, of(Direction::Both)),
    ]
}

fn rate(notebook: &Notebook, direction: Direction) -> Result<Finding<BytesPerSecond>, Gap> {
    let repeats = notebook.effort().choose(3, 5, 9);
    let wanted: Vec<Transfer> =
        (0..repeats).flat_map(|repeat| LENGTHS.map(|bytes| Transfer { direction, bytes, repeat })).collect();
    let times: Vec<Option<u64>> =
        notebook.read(&wanted)?.iter().map(|measured| Transfer::nanoseconds(measured.samples())).collect();
    let more = ((LENGTHS[1].0 - LENGTHS[0].0) * direction.copies()) as f64;
    let rates: Option<Vec<f64>> = times
        .chunks_exact(LENGTHS.len())
        .map(|times| Some(more * 1e9 / times[1]?.checked_sub(times[0]?).filter(|&longer| longer > 0)? as f64))
        .collect();
    let Some(rates) = rates else {
        return Err(Unknown::because("a long copy took no longer than a short one").into());
    };
    let (value, low, high) = promised(&rates, thousandths(OTHER_PAGES));
    let method = format!(
        "copies of {} and {} of pinned memory by copy engines, timed by events; their difference, median of {repeats}",
        LENGTHS[0], LENGTHS[1]
    );
    Ok(Finding::measured(BytesPerSecond(digits(value)), method).range(digits(low), digits(high)).note(BUS))
}
