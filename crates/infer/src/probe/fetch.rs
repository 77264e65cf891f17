//! Fetch granularity: the number of bytes that one miss fetches.
//!
//! A cold chain is walked element by element. The first load in each sector misses and the others hit, so the distance
//! from one miss to the next is the sector (Größler, section 4.3, with a cold chain in place of an overfull one: there a
//! replacement other than LRU leaves some sectors resident). Fails if the next sector is fetched along unasked: then the
//! distance is that of the fetch, which is what is reported.
//!
//! Misses that a cache close behind answers may lie below the threshold, for example where spikes are about as slow. Then
//! only the misses of a farther cache are counted, with its granularity. Spikes come anywhere, but misses come in the same
//! places of every walk: where the sectors begin. So the loads at finer distances are compared with their neighbours.

use std::collections::BTreeMap;

use super::{Gap, Notebook};
use crate::analysis::ks;
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

/// Where finer sectors begin, loads are as slow as this distance (D) of the two distributions: all of them miss, and their
/// neighbours hit but for spikes.
const BEGINS: f64 = 0.8;
/// They are like their neighbours up to this distance, or where the test does not tell the two apart.
const ALIKE: f64 = 0.3;
/// Level of that test. Each path is tested at a few distances, and a false alarm costs an answer.
const ALPHA: f64 = 0.001;

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
    let most = (within / step) as usize;
    let measurements = notebook.read(&walks(path, step, flushed))?;
    let walks: Vec<&[u32]> = measurements
        .iter()
        .map(|measurement| &measurement.latencies()[..measurement.latencies().len().min(most)])
        .collect();
    let found = distance(path, step, &walks, threshold)?;
    let elements = (found.granularity / step) as usize;
    // Constants may begin within a sector.
    let aligned: Vec<&[u32]> = walks.iter().map(|walk| &walk[first_of(walk, elements, threshold)..]).collect();
    match finest(&aligned, elements) {
        Finest::This => Ok(found),
        Finest::Finer { elements, threshold } => {
            let finer = distance(path, step, &walks, threshold)?;
            if finer.granularity == step * elements as u64 {
                return Ok(finer);
            }
            Gap::unknown(format!(
                "misses come at distances of {}, and loads every {} are slow as well",
                finer.granularity,
                step * elements as u64
            ))
        }
        Finest::Unclear { elements } => Gap::unknown(format!(
            "misses come at distances of {}, but some loads every {} are slower than their neighbours: a nearer cache may \
             fetch less at once",
            found.granularity,
            step * elements as u64
        )),
    }
}

/// The distance between loads of cold walks that take longer than `threshold`.
fn distance(path: LoadPath, step: Bytes, walks: &[&[u32]], threshold: u32) -> Result<Fetch, Gap> {
    let mut distances: BTreeMap<u64, usize> = BTreeMap::new();
    let (mut slow, mut loads) = (0, 0);
    for latencies in walks {
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

/// The first element of a walk that begins a sector of so many elements: where most of the misses are, modulo that number.
fn first_of(walk: &[u32], elements: usize, threshold: u32) -> usize {
    let mut misses: BTreeMap<usize, usize> = BTreeMap::new();
    for (i, _) in walk.iter().enumerate().filter(|&(_, &latency)| latency > threshold) {
        *misses.entry(i % elements).or_default() += 1;
    }
    misses.into_iter().max_by_key(|&(_, count)| count).map_or(0, |(first, _)| first).min(walk.len())
}

/// Whether sectors begin between the misses of a walk, too.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Finest {
    /// They do not.
    This,
    /// They begin at every so many elements, where loads take longer than the threshold.
    Finer { elements: usize, threshold: u32 },
    /// At every so many elements some loads are slower than their neighbours.
    Unclear { elements: usize },
}

/// Looks for sectors that begin at half of so many elements, a quarter of them, and so on, down to two.
fn finest(walks: &[&[u32]], elements: usize) -> Finest {
    let (mut found, mut each) = (Finest::This, elements);
    while each.is_multiple_of(2) && each >= 4 {
        let half = each / 2;
        let at = |is: &dyn Fn(usize) -> bool| -> Vec<f64> {
            let loads = walks.iter().flat_map(|walk| walk.iter().enumerate());
            loads.filter(|&(i, _)| is(i)).map(|(_, &latency)| f64::from(latency)).collect()
        };
        let (begins, inside) = (at(&|i| i % each == half), at(&|i| i % half != 0));
        let slower = ks::slower(&begins, &inside, ALPHA);
        found = match slower {
            Some((by, threshold)) if by >= BEGINS => Finest::Finer { elements: half, threshold: threshold as u32 },
            Some((by, _)) if by > ALIKE => Finest::Unclear { elements: half },
            _ => return found,
        };
        if let Finest::Unclear { .. } = found {
            return found;
        }
        each = half;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hits of 40 cycles among which one load in `spikes` takes 20 more; the first element of every `near` misses by 35, of every
    /// `far` by 200.
    fn walk(near: usize, far: usize, spikes: usize) -> Vec<u32> {
        let cycles = |i: usize| match i {
            i if i % far == 0 => 240,
            i if i % near == 0 => 75,
            i if i * 7 % spikes == 3 => 60,
            _ => 40 + (i * 5 % 4) as u32,
        };
        (0..512).map(cycles).collect()
    }

    #[test]
    fn misses_that_a_near_cache_answers_are_not_spikes() {
        let sectored = walk(16, 32, 23);
        let found = finest(&[&sectored, &sectored], 32);
        assert!(
            matches!(found, Finest::Finer { elements: 16, threshold } if (60..75).contains(&threshold)),
            "{found:?}"
        );
        // Two levels between.
        let found = finest(&[&walk(8, 32, 23)], 32);
        assert!(matches!(found, Finest::Finer { elements: 8, .. }), "{found:?}");
    }

    #[test]
    fn sectors_need_not_begin_with_the_walk() {
        let sectored = walk(16, 32, 23);
        assert_eq!(first_of(&sectored[7..], 32, 100), 25);
        assert!(matches!(finest(&[&sectored[7 + 25..]], 32), Finest::Finer { elements: 16, .. }));
    }

    #[test]
    fn spikes_are_no_sectors() {
        assert_eq!(finest(&[&walk(32, 32, 23), &walk(32, 32, 11)], 32), Finest::This);
    }

    #[test]
    fn sectors_of_which_only_half_are_slow_leave_it_open() {
        let walk: Vec<u32> = (0..512).map(|i| if i % 64 == 16 || i % 32 == 0 { 240 } else { 40 }).collect();
        assert_eq!(finest(&[&walk], 32), Finest::Unclear { elements: 16 });
    }
}
