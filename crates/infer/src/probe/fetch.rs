//! Fetch granularity: the number of bytes that one miss fetches.
//!
//! A cold chain is walked element by element. The first load in each sector misses and the others hit, so the distance
//! from one miss to the next is the sector (Größler, section 4.3, with a cold chain in place of an overfull one: there a
//! replacement other than LRU leaves some sectors resident). Fails if the next sector is fetched along unasked: then the
//! distance is that of the fetch, which is what is reported.

use std::collections::BTreeMap;

use super::{Gap, Notebook};
use strata_model::experiment::{Chase, LoadPath, Place, Prepare, Timing};
use strata_model::units::Bytes;

/// Footprint of the cold walk: holds sixteen of the largest known fetches, 256 B.
pub const FOOTPRINT: Bytes = Bytes::kib(8);
/// Cold walks, each with a chain written anew or a fresh launch.
const WALKS: u32 = 4;
/// A distance counts as the granularity if this share of all distances has it.
const AGREEMENT: f64 = 0.8;

/// Slow loads are no misses if more than this share of a walk element by element is slow: no cache fetches single words.
const ALL_SLOW: f64 = 0.75;

/// A granularity, and how many of the distances between misses agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fetch {
    /// The granularity.
    pub granularity: Bytes,
    /// Share of distances that are this.
    pub agreement: f64,
}

/// The cold walks of a path, one element every `step`. With `flushed`, the L2 is flushed before, so that its own misses
/// show.
pub fn walks(path: LoadPath, step: Bytes, flushed: bool) -> Vec<Chase> {
    (0..WALKS)
        .map(|repeat| Chase {
            timing: Timing::straight((FOOTPRINT / step) as u32),
            warm_laps: 0,
            prepare: if flushed { Prepare::FlushL2 } else { Prepare::Nothing },
            place: Place { alone: true, ..Place::default() },
            repeat,
            ..Chase::each_load(path, FOOTPRINT, step)
        })
        .collect()
}

/// The distance between loads that take longer than `threshold`, to one `step`, in the first `within` bytes of the walks: a
/// cache that keeps what was hit once takes nothing in any more when it is full.
///
/// # Errors
///
/// An unknown, if the walks cannot be made, nothing misses, or the distances disagree.
pub fn granularity(
    notebook: &Notebook,
    path: LoadPath,
    step: Bytes,
    flushed: bool,
    threshold: u32,
    within: Bytes,
) -> Result<Fetch, Gap> {
    let mut distances: BTreeMap<u64, usize> = BTreeMap::new();
    let (mut slow, mut loads) = (0, 0);
    for measurement in notebook.read(&walks(path, step, flushed))? {
        let latencies = &measurement.latencies()[..measurement.latencies().len().min((within / step) as usize)];
        let missing = latencies.iter().enumerate().filter(|&(_, &l)| l > threshold).map(|(i, _)| i as u64);
        let places: Vec<u64> = missing.map(|i| i * step.0).collect();
        slow += places.len();
        loads += latencies.len();
        for pair in places.windows(2) {
            *distances.entry(pair[1] - pair[0]).or_default() += 1;
        }
    }
    if step == path.element() && slow as f64 > ALL_SLOW * loads as f64 {
        return Gap::unknown("every load of a cold walk misses: no miss fetched a neighbouring element");
    }
    let total: usize = distances.values().sum();
    let Some((&distance, &count)) = distances.iter().max_by_key(|&(_, &count)| count) else {
        return Gap::unknown("no load of a cold walk takes longer than a hit");
    };
    let agreement = count as f64 / total as f64;
    if agreement < AGREEMENT {
        return Gap::unknown(format!(
            "distances between the misses of a cold walk disagree: {distance} B is the most frequent with {:.0} %",
            agreement * 100.0
        ));
    }
    Ok(Fetch { granularity: Bytes(distance), agreement })
}
