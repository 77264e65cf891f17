//! What the copy engines move between the device's memory and the host's or another GPU's.

use super::BUS;
use super::interval::{OTHER_BOTH, OTHER_LINK, OTHER_PAGES, digits, promised, thousandths};
use crate::probe::{Gap, Notebook, Unknown};
use strata_model::attribute::{
    BOTH_WAYS_BANDWIDTH, DEVICE_TO_HOST_BANDWIDTH, FROM_PEER_BANDWIDTH, HOST_TO_DEVICE_BANDWIDTH, TO_PEER_BANDWIDTH,
};
use strata_model::experiment::{Direction, Transfer};
use strata_model::topology::{Entry, Finding};
use strata_model::units::{Bytes, BytesPerSecond};

/// A short copy and a long one: what starts a copy takes is in both, and drops out of their difference.
const LENGTHS: [Bytes; 2] = [Bytes::mib(8), Bytes::mib(32)];
/// The same over a link between GPUs, which is several times as fast as the bus. Longer ones would be better: engines begin at times that
/// differ by some ten microseconds. The simulator has no room for them.
const LINK_LENGTHS: [Bytes; 2] = [Bytes::mib(32), Bytes::mib(96)];

/// Whose memory is at the other end.
fn whose(direction: Direction) -> &'static str {
    match direction {
        Direction::ToDevice | Direction::ToHost | Direction::Both => "of pinned memory",
        Direction::FromPeer | Direction::ToPeer | Direction::BothPeer => "of memory of two GPUs",
    }
}

/// Rates of copies from and to the host and both ways.
pub fn entries(notebook: &Notebook) -> [Option<Entry>; 3] {
    let of = |direction, other| move || Ok(rate(notebook, direction, LENGTHS, thousandths(other))?.note(BUS));
    [
        notebook.attribute(HOST_TO_DEVICE_BANDWIDTH, of(Direction::ToDevice, OTHER_PAGES)),
        notebook.attribute(DEVICE_TO_HOST_BANDWIDTH, of(Direction::ToHost, OTHER_PAGES)),
        notebook.attribute(BOTH_WAYS_BANDWIDTH, of(Direction::Both, OTHER_BOTH)),
    ]
}

/// Rates of copies from and to the GPU at the other end of a link and both ways.
pub fn of_link(notebook: &Notebook) -> [Option<Entry>; 3] {
    let of = |direction| move || rate(notebook, direction, LINK_LENGTHS, thousandths(OTHER_LINK));
    [
        notebook.attribute(FROM_PEER_BANDWIDTH, of(Direction::FromPeer)),
        notebook.attribute(TO_PEER_BANDWIDTH, of(Direction::ToPeer)),
        notebook.attribute(BOTH_WAYS_BANDWIDTH, of(Direction::BothPeer)),
    ]
}

fn rate(
    notebook: &Notebook,
    direction: Direction,
    lengths: [Bytes; 2],
    other: f64,
) -> Result<Finding<BytesPerSecond>, Gap> {
    let repeats = notebook.effort().choose(3, 5, 9);
    let wanted: Vec<Transfer> =
        (0..repeats).flat_map(|repeat| lengths.map(|bytes| Transfer { direction, bytes, repeat })).collect();
    let times: Vec<Option<u64>> =
        notebook.read(&wanted)?.iter().map(|measured| Transfer::nanoseconds(measured.samples())).collect();
    let more = ((lengths[1].0 - lengths[0].0) * direction.copies()) as f64;
    let rates: Option<Vec<f64>> = times
        .chunks_exact(lengths.len())
        .map(|times| Some(more * 1e9 / times[1]?.checked_sub(times[0]?).filter(|&longer| longer > 0)? as f64))
        .collect();
    let Some(rates) = rates else {
        return Err(Unknown::because("a long copy took no longer than a short one").into());
    };
    let (value, low, high) = promised(&rates, other);
    let [short, long] = lengths;
    let method = format!(
        "copies of {short} and {long} {} by copy engines, timed by events; their difference, median of {repeats}",
        whose(direction)
    );
    Ok(Finding::measured(BytesPerSecond(digits(value)), method).range(digits(low), digits(high)))
}
