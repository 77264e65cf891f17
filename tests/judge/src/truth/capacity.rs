//! What a cache holds of consecutive lines, wherever they begin.

use std::collections::BTreeMap;

use strata_model::experiment::{Experiment, LoadPath, Order, Prepare, Timing};
use strata_sim::machine::spec::{Cache, Index};
use strata_sim::model::cache;
use strata_sim::model::hierarchy::{home, shape};

use super::Seen;
use crate::expect::Expect;

/// Bytes from `base` on that all sets can hold: those of consecutive lines before the first that finds its set full.
pub(super) fn usable(cache: &Cache, partitions: u64, shared: u64, base: u64) -> u64 {
    let shape = shape(cache, partitions, shared);
    let line = shape.line;
    let ways = shape.ways.clone();
    let index = cache::Cache::new(shape, 0);
    let mut held = vec![0u32; ways.len()];
    let first = base / line;
    let mut lines = 0;
    loop {
        let set = index.set_of((first + lines) * line);
        if held[set] == ways[set] {
            // The first line may begin before the base.
            return (first + lines) * line - base;
        }
        held[set] += 1;
        lines += 1;
    }
}

/// As [`usable`] of the device's cache. Without copies a line has its place where it is at home; copies of lines and lines at home
/// are both in the partition that an SM asks.
pub(super) fn usable_of_device(cache: &Cache, base: u64) -> u64 {
    let Some(parts) = cache.partitions.as_ref().filter(|parts| !parts.copies) else {
        return usable(cache, cache.partitions.as_ref().map_or(1, |parts| parts.count.get()), 0, base);
    };
    let shape = shape(cache, parts.count.get(), 0);
    let (line, ways) = (shape.line, shape.ways.clone());
    let index = cache::Cache::new(shape, 0);
    let mut held = vec![vec![0u32; ways.len()]; parts.count.get() as usize];
    let first = base / line;
    for lines in 0.. {
        let address = (first + lines) * line;
        let (part, set) = (home(parts, address), index.set_of(address));
        held[part][set] += 1;
        if held[part][set] > ways[set] {
            return address - base;
        }
    }
    unreachable!("every cache overflows")
}

/// Bytes up to which the misses of a cache with a hashed index may pass for a conflict: a set or two overflow long before
/// the others. Where more than a handful of lines find no place, misses grow.
pub(super) fn handful(cache: &Cache, shared: u64, base: u64) -> u64 {
    let shape = shape(cache, 1, shared);
    if !matches!(shape.index, Index::Hash(_)) {
        return usable(cache, 1, shared, base);
    }
    let (line, ways) = (shape.line, shape.ways.clone());
    let index = cache::Cache::new(shape, 0);
    let mut held = vec![0u32; ways.len()];
    let mut homeless = 0u64;
    for lines in 0.. {
        let set = index.set_of((base / line + lines) * line);
        held[set] += 1;
        homeless += u64::from(held[set] > ways[set]);
        if homeless as f64 > HANDFUL * (lines + 1) as f64 {
            return (base / line + lines) * line - base;
        }
    }
    unreachable!("every cache overflows")
}

/// Share of the lines that may find no place before their misses are more than a conflict.
const HANDFUL: f64 = 0.02;

/// The bases of the footprints by which a path's capacity is searched, by allocation.
pub(super) fn bases(seen: &Seen, path: LoadPath, prepared: bool) -> BTreeMap<u32, Vec<u64>> {
    let mut bases: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for (e, answer) in seen {
        let Experiment::Chase(e) = e else { continue };
        let searched = matches!(e.timing, Timing::EachLoad { .. })
            && e.path == path
            && if prepared {
                matches!(e.prepare, Prepare::Fill { .. })
            } else {
                e.order == Order::Sequential && e.warm_laps == 2
            };
        if let (true, Ok(samples)) = (searched, answer) {
            let all = bases.entry(e.place.allocation).or_default();
            if !all.contains(&samples.base) {
                all.push(samples.base);
            }
        }
    }
    bases
}

pub(super) fn median(mut values: Vec<u64>) -> f64 {
    values.sort_unstable();
    let n = values.len();
    if n == 0 { 0.0 } else { (values[(n - 1) / 2] + values[n / 2]) as f64 / 2.0 }
}

/// The truth of a capacity: the median over the allocations, which may lie at several places in the course of a search.
pub(super) fn capacity(cache: &Cache, shared: u64, seen: &Seen, path: LoadPath, granule: u64) -> Expect {
    let by_allocation = bases(seen, path, false);
    let of = |base: &u64| usable(cache, 1, shared, *base);
    let low = median(by_allocation.values().map(|b| b.iter().map(of).min().unwrap_or(0)).collect());
    let most = |base: &u64| handful(cache, shared, *base);
    let high = median(by_allocation.values().map(|b| b.iter().map(most).max().unwrap_or(0)).collect());
    let granule = granule as f64;
    Expect::Within((low / granule).floor() * granule, (high / granule).floor() * granule)
}

/// Places, a line apart, at which the constant bank may lie: where it does is not known here.
const PLACES: u64 = 256;

/// The least and the most that a cache holds of consecutive lines, wherever they begin.
pub(super) fn range(cache: &Cache, shared: u64) -> (u64, u64) {
    let unequal = shape(cache, 1, shared).ways.windows(2).any(|two| two[0] != two[1]);
    let places = if unequal || matches!(cache.index, Index::Hash(_) | Index::Parity(_)) { PLACES } else { 1 };
    let bases = || (0..places).map(|place| place * cache.line.get());
    let low = bases().map(|base| usable(cache, 1, shared, base)).min().unwrap_or(0);
    (low, bases().map(|base| handful(cache, shared, base)).fold(low, u64::max))
}

/// The truth of a capacity wherever the chain begins.
pub(super) fn anywhere(cache: &Cache, shared: u64) -> Expect {
    let (low, high) = range(cache, shared);
    // The bank may begin within a line.
    let partial = cache.line.get() - cache.sector_bytes();
    Expect::Within(low.saturating_sub(partial) as f64, high as f64)
}
