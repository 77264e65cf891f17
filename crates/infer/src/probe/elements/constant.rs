//! The constant caches: the constant L1, the constant L1.5 up to the 64 KiB of a module, and why the uniform path is unknown.

use super::super::capacity::{self, Capacity, Search};
use super::super::latency::{self, Setting};
use super::super::levels::HitMiss;
use super::super::throughput::{self, Level};
use super::super::{Gap, Notebook, Settle, Unknown, fetch, stairs};
use super::{SMALL, fetch_finding, inside, instances, line_finding, miss_penalty, nearest_level, shared_with};
use crate::analysis::robust;
use strata_model::attribute::{
    CONFLICTS, FETCH_GRANULARITY, LATENCY_CYCLES, LINE_SIZE, MISS_PENALTY, READ_BANDWIDTH, READ_BANDWIDTH_PER_SM,
    SHARED_WITH, SIZE, STAIRCASE, THRASH_SIZE,
};
use strata_model::experiment::{Chase, LoadPath, Traffic};
use strata_model::topology::{Element, Entry};
use strata_model::units::Bytes;

/// Constants that a module may declare.
const CONSTANT_LIMIT: Bytes = Bytes::kib(64);

pub(super) fn sector(notebook: &Notebook) -> Result<fetch::Fetch, Gap> {
    let threshold = nearest_level(notebook, LoadPath::Constant)?.threshold;
    fetch::granularity(notebook, LoadPath::Constant, LoadPath::Constant.element(), false, threshold, SMALL)
}

/// Smallest footprint: no constant L1 is known that holds less than eight times as much.
const LEAST: Bytes = Bytes(256);
/// Distance of the elements by which latency is measured: the line of the constant L1 on all GPUs known.
const STRIDE: Bytes = Bytes(64);
/// Where the first constant cache never misses altogether: of so many times its capacity it keeps less than 1 %.
const BEYOND_FIRST: u64 = 6;
/// Share of slow loads that are spikes, and no misses.
const FEW: f64 = 0.05;
/// Largest footprint for the first constant cache: four times the largest known (Fermi's 4 KiB).
const CONSTANT_L1_LIMIT: Bytes = Bytes::kib(16);

fn l1_search(notebook: &Notebook) -> Result<Search, Gap> {
    let sector = sector(notebook)?.granularity;
    Ok(Search { start: LEAST, ..Search::first_level(LoadPath::Constant, sector, CONSTANT_L1_LIMIT, 1) })
}

pub(super) fn l1_capacity(notebook: &Notebook) -> Result<Capacity, Gap> {
    capacity::capacity(notebook, &l1_search(notebook)?)
}

pub(super) fn l1(notebook: &Notebook) -> Element {
    let capacity = || l1_capacity(notebook);
    let latency = || {
        // Well inside, if it is known how large the cache is.
        let footprint = match capacity().settled()? {
            Ok(capacity) => SMALL.min(Bytes(capacity.usable.0 / 2).round_down(STRIDE).max(STRIDE)),
            Err(_) => LEAST,
        };
        let setting = Setting {
            path: LoadPath::Constant,
            footprint,
            stride: STRIDE,
            shared: false,
            allocations: 1,
            sms: u32::MAX,
        };
        latency::measure(notebook, &setting)
    };
    Element::from([
        notebook.size(SIZE, || Ok(capacity()?.size(&l1_search(notebook)?))),
        notebook.attribute(THRASH_SIZE, || Ok(capacity()?.stairs.thrash_size())),
        notebook.attribute(CONFLICTS, || Ok(capacity()?.conflicts())),
        notebook.attribute(STAIRCASE, || Ok(capacity()?.stairs.staircase())),
        notebook.attribute(LINE_SIZE, || line_finding(capacity()?.line?)),
        notebook.attribute(FETCH_GRANULARITY, || fetch_finding(sector(notebook)?)),
    ])
    .and([latency::finding(
        notebook,
        latency,
        "whole-lap chase by ld.const, indexed path, difference of 2n and n loads, on all SMs at once",
    )])
    .and([
        notebook.attribute(MISS_PENALTY, || Ok(miss_penalty(&capacity()?))),
        notebook.attribute(SHARED_WITH, || shared_with(notebook, LoadPath::Constant)),
        instances(notebook, LoadPath::Constant),
    ])
    .and(inside(notebook, &|| Ok((l1_search(notebook)?, capacity()?))))
    .and(bandwidth(notebook, || Ok(capacity()?.lowest / 2)))
}

/// How fast an SM reads so much of its constants.
fn bandwidth(notebook: &Notebook, footprint: impl Fn() -> Result<Bytes, Gap>) -> Vec<Entry> {
    let level = |_| Ok(Level::constants(footprint()?));
    let once = "a load brings the same bytes to all lanes of a warp, and they count once";
    throughput::entries(notebook, &[Traffic::Read], None, level)
        .into_iter()
        .map(|entry| entry.noted(Some(once)))
        .collect()
}

/// A chain of so much that stays where it is, in steps of what the first cache fetches, so that every load misses there.
fn l15_chase(notebook: &Notebook, footprint: Bytes) -> Result<Chase, Gap> {
    Ok(Chase { warm_laps: 2, ..Chase::each_load(LoadPath::Constant, footprint, sector(notebook)?.granularity) })
}

/// The second constant cache begins well beyond the first: at four times its capacity, where hardly a line is left there. Where
/// some loads of that much take much longer than a miss of the first does, they miss the second as well: then it begins where
/// everything misses the first.
fn l15_start(notebook: &Notebook) -> Result<Bytes, Gap> {
    let first = l1_capacity(notebook)?;
    let far = (first.usable * 4).round_up(Bytes::kib(1)).min(CONSTANT_LIMIT / 4);
    let Some(near) = first.stairs.thrash().filter(|near| *near < far) else { return Ok(far) };
    let measurements = notebook.read(&[l15_chase(notebook, far)?])?;
    let HitMiss { hit, miss, spread, .. } = first.levels;
    let slow = robust::quantile_u32(measurements[0].latencies(), 1.0 - FEW).unwrap_or(miss);
    Ok(if stairs::is_farther(slow - hit, miss - hit, spread) { near } else { far })
}

/// Hits and misses of the second constant cache: a resident chain beyond the first one, and cold walks.
fn l15_levels(notebook: &Notebook) -> Result<HitMiss, Gap> {
    let (start, sector) = (l15_start(notebook)?, sector(notebook)?.granularity);
    let mut wanted = vec![l15_chase(notebook, start)?];
    wanted.extend(fetch::walks(LoadPath::Constant, sector, false));
    let measurements = notebook.read(&wanted)?;
    let cold: Vec<u32> = measurements[1..].iter().flat_map(|s| s.latencies().iter().copied()).collect();
    let alike = |_| {
        Unknown::because(format!(
            "loads of {start} beyond the constant L1 take as long as cold loads: if a second constant cache holds that much, its \
             hits cannot be told from its misses"
        ))
    };
    Ok(HitMiss::learn_from_walks(measurements[0].latencies(), &[&cold]).map_err(alike)?)
}

fn l15_capacity(notebook: &Notebook) -> Result<Capacity, Gap> {
    // Without hits in the smallest footprint nothing is to be said of larger ones.
    l15_levels(notebook)?;
    capacity::capacity(notebook, &l15_search(notebook)?)
}

fn l15_search(notebook: &Notebook) -> Result<Search, Gap> {
    let sector = sector(notebook)?.granularity;
    let first = l1_capacity(notebook)?;
    let before = first.usable / first.line.unwrap_or(sector);
    let search = Search::first_level(LoadPath::Constant, sector, CONSTANT_LIMIT, 1);
    Ok(Search { start: l15_start(notebook)?, before, ..search })
}

/// Fetch granularity of the second constant cache: distance of the slowest loads of a cold walk.
fn l15_fetch(notebook: &Notebook) -> Result<fetch::Fetch, Gap> {
    let threshold = l15_levels(notebook)?.threshold;
    fetch::granularity(notebook, LoadPath::Constant, sector(notebook)?.granularity, false, threshold, fetch::FOOTPRINT)
}

pub(super) fn l15(notebook: &Notebook) -> Element {
    let capacity = || l15_capacity(notebook);
    let size = || match capacity().settled()? {
        Err(Unknown::Beyond { bound, reason }) => {
            let reason = format!("{reason}, and a module may declare no more than {CONSTANT_LIMIT} of constants");
            Err(Unknown::Beyond { bound, reason }.into())
        }
        capacity => Ok(capacity?.size(&l15_search(notebook)?)),
    };
    // For what follows from the capacity.
    let known = || match capacity().settled()? {
        Err(Unknown::Beyond { .. }) => Gap::unknown("the capacity is larger than a module can declare"),
        capacity => Ok(capacity?),
    };
    // Well beyond the first constant cache, well inside the second.
    let footprint = || {
        let first = l1_capacity(notebook)?;
        let wanted = l15_start(notebook)? * 2;
        let footprint = match capacity().settled()? {
            Err(Unknown::Beyond { .. }) => wanted,
            found => wanted.min((found?.usable * 3) / 4),
        };
        let least = first.stairs.thrash().unwrap_or(first.usable * BEYOND_FIRST);
        if footprint < least {
            return Gap::unknown(format!(
                "the constant L1 may hold part of every chain that fits this cache: up to {least}"
            ));
        }
        Ok(footprint)
    };
    let latency = || {
        let footprint = footprint()?;
        let setting = Setting {
            path: LoadPath::Constant,
            footprint,
            stride: sector(notebook)?.granularity,
            shared: true,
            allocations: 1,
            sms: notebook.effort().choose(4, 33, u32::MAX),
        };
        latency::measure(notebook, &setting)
    };
    Element::from([
        notebook.size(SIZE, size),
        notebook.attribute(FETCH_GRANULARITY, || fetch_finding(l15_fetch(notebook)?)),
        notebook.attribute(LINE_SIZE, || line_finding(known()?.line?)),
    ])
    .and([latency::finding(
        notebook,
        latency,
        "whole-lap chase by ld.const over several times the size of the constant L1, one SM at a time",
    )])
    .and([notebook.attribute(MISS_PENALTY, || Ok(miss_penalty(&known()?)))])
    .and(bandwidth(notebook, footprint))
}

pub(super) fn uniform(notebook: &Notebook) -> Element {
    let (major, minor) = notebook.facts().compute_capability;
    let (chase, stream) = if (major, minor) < (7, 5) {
        let none = "devices before compute capability 7.5 have no uniform data path";
        (none, none)
    } else {
        (
            "compilers keep the address of a chase in a vector register (LDC), so PTX cannot express a chase on the uniform \
             path (ULDC)",
            "compilers load the constants of a loop by indexed loads (LDC) even where all warps load the same words, so PTX cannot \
             express a stream on the uniform path (ULDC)",
        )
    };
    Element::from([
        notebook.attribute(SIZE, || Gap::unknown(chase)),
        notebook.attribute(LATENCY_CYCLES, || Gap::unknown(chase)),
        notebook.attribute(READ_BANDWIDTH, || Gap::unknown(stream)),
        notebook.attribute(READ_BANDWIDTH_PER_SM, || Gap::unknown(stream)),
    ])
}
