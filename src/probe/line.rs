//! Line size: the unit in which a cache allocates, found apart from the unit in which it fetches.
//!
//! A footprint of one and a half times the capacity is cut into chunks of g bytes, of which one element each is visited,
//! at a random place in the chunk, in random order. While g is at most a line, every line of the footprint is touched and
//! the cache overflows. Once g is two lines, only half of them are, they fit, and the misses drop. The random place keeps
//! the sets evenly filled whatever the index function. (The thesis takes the distance between misses of an overfull
//! sequential lap, section 4.3, which gives the sector of a sectored cache, not its line.)
//!
//! Fails for caches so unevenly filled that three quarters of the capacity overflows them; then the drop is not seen and
//! the answer is unknown.

use super::capacity::{Rough, Search};
use super::{Gap, Notebook};
use crate::experiment::{Experiment, Kernel, Order, Walk};
use crate::units::Bytes;

/// Chunks are up to this many sectors.
const LARGEST: u64 = 32;
/// Largest line that is tried.
const LARGEST_LINE: Bytes = Bytes(1024);
/// Footprint in terms of the capacity: three halves.
const FOOTPRINT: (u64, u64) = (3, 2);
/// The misses have dropped if they are below this share of what they are at the smallest chunk.
const DROPPED: f64 = 0.5;
/// Fewer misses than this at the smallest chunk mean that nothing overflows.
const OVERFULL: f64 = 0.1;
/// Loads timed of each chunk size.
const LOADS: u32 = 4096;

/// The line, from the drop in misses.
///
/// # Errors
///
/// An unknown, if the cache does not overflow or the misses never drop.
pub fn line_size(notebook: &Notebook, search: &Search, rough: &Rough) -> Result<Bytes, Gap> {
    let footprint = Bytes(rough.low.0 * FOOTPRINT.0 / FOOTPRINT.1);
    if footprint > search.limit {
        return Gap::unknown(format!(
            "one and a half times the capacity, {footprint}, is beyond the {} that can be walked",
            search.limit
        ));
    }
    let chunks: Vec<Bytes> = std::iter::successors(Some(search.sector), |c| Some(*c * 2))
        .take_while(|&c| c <= search.sector * LARGEST && c <= LARGEST_LINE)
        .collect();
    let chases: Vec<Experiment> = chunks
        .iter()
        .map(|&chunk| Experiment {
            order: Order::Scattered { granule: search.path.element() },
            seed: notebook.seed(3),
            warm_laps: 2,
            walk: Walk::Resident,
            timed_loads: ((footprint / chunk) as u32).min(LOADS),
            carveout: Some(search.carveout),
            ..Experiment::chase(Kernel::PerLoad, search.path, footprint.round_down(chunk), chunk)
        })
        .collect();
    let shares: Vec<f64> = notebook.read(&chases)?.iter().map(|s| rough.levels.miss_share(s.latencies())).collect();
    decide(&chunks, &shares)
}

/// The largest chunk before the misses drop and stay down.
pub(super) fn decide(chunks: &[Bytes], shares: &[f64]) -> Result<Bytes, Gap> {
    let full = shares.first().copied().unwrap_or(0.0);
    if full < OVERFULL {
        return Gap::unknown(format!(
            "only {:.0} % of the loads of one and a half times the capacity miss",
            full * 100.0
        ));
    }
    match shares.iter().rposition(|&share| share >= DROPPED * full) {
        Some(last) if last + 1 < chunks.len() => Ok(chunks[last]),
        _ => Gap::unknown(format!("misses do not drop up to chunks of {}", chunks[chunks.len() - 1])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_the_last_chunk_that_still_overflows() {
        let chunks = [32, 64, 128, 256, 512].map(Bytes);
        assert_eq!(decide(&chunks, &[0.62, 0.61, 0.60, 0.05, 0.0]), Ok(Bytes(128)));
        assert_eq!(decide(&chunks, &[1.0, 0.3, 0.1, 0.0, 0.0]), Ok(Bytes(32)));
        assert!(decide(&chunks, &[0.9, 0.9, 0.9, 0.9, 0.9]).is_err());
        assert!(decide(&chunks, &[0.01, 0.0, 0.0, 0.0, 0.0]).is_err());
    }
}
