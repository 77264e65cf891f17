//! Line of the L2: as for the other caches, with the L2 filled in the chunks' own places.
//!
//! DRAM misses are those of the last cache before memory. Where another cache lies behind the L2, footprints that fit have hits
//! that take longer than those of small ones: then its misses are of those hits, too, and the footprint is the smallest
//! that overflows the L2, since one that overflows the cache behind it may be many times as large.

use super::super::levels::HitMiss;
use super::super::line::{CROWDED, KEPT_BY_L2, Share, decide};
use super::super::{Gap, Notebook};
use super::search::capacity;
use super::{PASSES, PIECE, SAMPLE, dram_shares, fetch_granularity, near_hits};
use crate::probe::capacity::Capacity;
use strata_model::experiment::{Chase, LoadPath, Order, Place, Prepare, Timing};
use strata_model::units::Bytes;

/// Chunks double so many times.
const CHUNKS: u32 = 5;
/// Footprints that are tried where another cache lies behind the L2, each smaller by the root of two: down to a sixteenth. A
/// step of two could overflow the L2 by so much that chunks of two lines still do.
const SMALLER: u32 = 8;

/// The line.
///
/// # Errors
///
/// As [`capacity`]; and an unknown, if the misses never drop.
pub fn line_size(notebook: &Notebook) -> Result<Bytes, Gap> {
    let found = capacity(notebook)?;
    let sector = fetch_granularity(notebook)?.granularity;
    if let Some(near) = near_hits(notebook, &found)? {
        return of_nearest(notebook, &found, sector, &near.levels);
    }
    // Clearly more than fits.
    let half_more = Bytes(found.usable.0 * 3 / 2);
    let down = half_more.round_down(PIECE);
    let footprint = if down.0 < found.usable.0 * 5 / 4 { half_more.round_up(PIECE) } else { down };
    let chases = scattered(notebook, footprint, sector);
    let shares = dram_shares(notebook, &chases)?.into_iter().map(|share| Share::sampled(share, SAMPLE));
    answer(&chases, &shares.collect::<Vec<_>>())
}

/// Walks of a footprint in chunks from a sector on.
fn scattered(notebook: &Notebook, footprint: Bytes, sector: Bytes) -> Vec<Chase> {
    let chase = |chunk| Chase {
        order: Order::Scattered { granule: LoadPath::GlobalCg.element() },
        seed: notebook.seed(13),
        warm_laps: 0,
        timing: Timing::straight(SAMPLE as u32),
        prepare: Prepare::Fill { passes: PASSES },
        place: Place::alone_on(0),
        ..Chase::each_load(LoadPath::GlobalCg, footprint, chunk)
    };
    (0..CHUNKS).map(|k| chase(sector * (1 << k))).collect()
}

fn answer(chases: &[Chase], shares: &[Share]) -> Result<Bytes, Gap> {
    let chunks: Vec<Bytes> = chases.iter().map(|chase| chase.stride).collect();
    Ok(decide(&chunks, shares, KEPT_BY_L2)?)
}

/// The line by loads that take longer than the hits of a small footprint.
fn of_nearest(notebook: &Notebook, found: &Capacity, sector: Bytes, near: &HitMiss) -> Result<Bytes, Gap> {
    let shares = |chases: &[Chase]| -> Result<Vec<Share>, Gap> {
        let measurements = notebook.read(chases)?;
        Ok(measurements.iter().map(|one| Share::sampled(near.miss_share(one.latencies()), SAMPLE)).collect())
    };
    let largest = sector * (1 << CHUNKS);
    let footprints = (0..=SMALLER).map(|step| {
        let smaller = found.usable.0 as f64 * 1.5 / f64::from(1 << step).sqrt();
        Bytes(smaller as u64).round_down(largest).max(largest)
    });
    let walks: Vec<Vec<Chase>> = footprints.map(|footprint| scattered(notebook, footprint, sector)).collect();
    let densest: Vec<Chase> = walks.iter().map(|walk| walk[0].clone()).collect();
    let overflows = shares(&densest)?.iter().rposition(|share| share.mean() >= CROWDED);
    let Some(at) = overflows else {
        return Gap::unknown(
            "a cache behind the L2 holds more than the L2, and no footprint shows where the L2 overflows",
        );
    };
    answer(&walks[at], &shares(&walks[at])?)
}
