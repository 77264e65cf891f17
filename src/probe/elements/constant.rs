//! The constant caches: the first by its own path, the second as far as the 64 KiB of a module reach, the uniform path not.

use super::super::capacity::{self, Capacity, Search};
use super::super::latency::{self, Setting};
use super::super::levels::HitMiss;
use super::super::{Gap, Notebook, fetch};
use super::{SMALL, fetch_finding, instances, line_finding, shared_with, small};
use crate::experiment::{Experiment, Kernel, LoadPath};
use crate::topology::{Element, Finding, Latency};
use crate::units::Bytes;

/// Constants that a module may declare.
const CONSTANT_LIMIT: Bytes = Bytes::kib(64);

/// Raw latencies of the first constant cache and of what lies behind it.
fn levels(notebook: &Notebook) -> Result<HitMiss, Gap> {
    let cold = fetch::walks(LoadPath::Constant, LoadPath::Constant.element(), false).remove(0);
    let sheets = notebook.read(&[small(LoadPath::Constant), cold])?;
    HitMiss::learn(sheets[0].latencies(), &[sheets[1].latencies()])
}

pub(super) fn sector(notebook: &Notebook) -> Result<fetch::Fetch, Gap> {
    let threshold = levels(notebook)?.threshold;
    fetch::granularity(notebook, LoadPath::Constant, LoadPath::Constant.element(), false, threshold)
}

/// Largest footprint for the first constant cache: four times the largest known (Fermi's 4 KiB).
const CONSTANT_L1_LIMIT: Bytes = Bytes::kib(16);

fn l1_search(notebook: &Notebook) -> Result<Search, Gap> {
    let sector = sector(notebook)?.granularity;
    Ok(Search { start: Bytes(256), ..Search::first_level(LoadPath::Constant, sector, CONSTANT_L1_LIMIT, 1) })
}

pub(super) fn l1_capacity(notebook: &Notebook) -> Result<Capacity, Gap> {
    capacity::capacity(notebook, &l1_search(notebook)?)
}

pub(super) fn l1(notebook: &Notebook) -> Element {
    let capacity = || l1_capacity(notebook);
    let setting = Setting {
        path: LoadPath::Constant,
        footprint: SMALL,
        stride: Bytes(64),
        shared: false,
        allocations: 1,
        sms: u32::MAX,
    };
    Element {
        size: notebook.attribute(|| Ok(capacity()?.size(&l1_search(notebook)?))),
        thrash_size: notebook.attribute(|| Ok(capacity()?.thrash_size())),
        conflicts: notebook.attribute(|| Ok(capacity()?.conflicts())),
        staircase: notebook.attribute(|| Ok(capacity()?.staircase())),
        line_size: notebook.attribute(|| line_finding(capacity()?.line?)),
        fetch_granularity: notebook.attribute(|| fetch_finding(sector(notebook)?)),
        latency: latency::findings(
            notebook,
            || latency::measure(notebook, &setting),
            "whole-lap chase by ld.const, indexed path, 2n against n loads, every SM at once",
        ),
        miss_penalty: notebook.attribute(|| Ok(capacity()?.miss_penalty())),
        shared_with: notebook.attribute(|| shared_with(notebook, LoadPath::Constant)),
        instances_per_sm: notebook.attribute(|| instances(notebook, LoadPath::Constant)),
        ..Element::default()
    }
}

/// The second constant cache begins well beyond the first: eight times its capacity, where hardly a line is left there.
fn l15_start(notebook: &Notebook) -> Result<Bytes, Gap> {
    let first = l1_capacity(notebook)?;
    Ok(Bytes((first.usable.0 * 4).next_power_of_two().min(CONSTANT_LIMIT.0 / 4)))
}

fn l15_search(notebook: &Notebook) -> Result<Search, Gap> {
    let sector = sector(notebook)?.granularity;
    Ok(Search { start: l15_start(notebook)?, ..Search::first_level(LoadPath::Constant, sector, CONSTANT_LIMIT, 1) })
}

/// Fetch granularity of the second constant cache: distance of the slowest loads of a cold walk.
fn l15_fetch(notebook: &Notebook) -> Result<fetch::Fetch, Gap> {
    let start = l15_start(notebook)?;
    let search = l15_search(notebook)?;
    let resident =
        Experiment { warm_laps: 2, ..Experiment::chase(Kernel::PerLoad, LoadPath::Constant, start, search.sector) };
    let mut wanted = vec![resident];
    // In steps of what the first constant cache fetches: every load misses there.
    wanted.extend(fetch::walks(LoadPath::Constant, search.sector, false));
    let sheets = notebook.read(&wanted)?;
    let cold: Vec<u32> = sheets[1..].iter().flat_map(|s| s.latencies().iter().copied()).collect();
    let levels = HitMiss::learn(sheets[0].latencies(), &[&cold])?;
    fetch::granularity(notebook, LoadPath::Constant, search.sector, false, levels.threshold)
}

pub(super) fn l15(notebook: &Notebook) -> Element {
    let rough = || capacity::capacity(notebook, &l15_search(notebook)?);
    let beyond = |gap: Gap| match gap {
        Gap::Beyond { bound, reason } => Gap::Beyond {
            bound,
            reason: format!("{reason}, and a module may declare no more than {CONSTANT_LIMIT} of constants"),
        },
        other => other,
    };
    // What follows from a capacity that was not found is unknown too, but bounded by nothing.
    let unbounded = |gap: Gap| match beyond(gap) {
        Gap::Beyond { .. } => Gap::Unknown("the capacity is beyond what a module may declare".into()),
        other => other,
    };
    let latency = || {
        let start = l15_start(notebook)?;
        let setting = Setting {
            path: LoadPath::Constant,
            footprint: start * 2,
            stride: sector(notebook)?.granularity,
            shared: true,
            allocations: 1,
            sms: notebook.effort().choose(4, 33, u32::MAX),
        };
        latency::measure(notebook, &setting)
    };
    Element {
        size: notebook.attribute(|| Ok(rough().map_err(beyond)?.size(&l15_search(notebook)?))),
        fetch_granularity: notebook.attribute(|| fetch_finding(l15_fetch(notebook)?)),
        line_size: notebook.attribute(|| line_finding(rough().map_err(unbounded)?.line?)),
        latency: latency::findings(
            notebook,
            latency,
            "whole-lap chase by ld.const over several times the first constant cache, one SM at a time",
        ),
        miss_penalty: notebook.attribute(|| Ok(rough().map_err(unbounded)?.miss_penalty())),
        ..Element::default()
    }
}

pub(super) fn uniform(notebook: &Notebook) -> Element {
    let (major, minor) = notebook.facts().compute_capability;
    let reason = if (major, minor) < (7, 5) {
        "devices before compute capability 7.5 have no uniform data path"
    } else {
        "compilers keep a chase's address in a vector register (LDC), so a chain of loads by the uniform path (ULDC) \
         cannot be had from PTX"
    };
    let unknown = || Some(Finding::unknown(reason));
    Element {
        size: unknown(),
        latency: Some(Latency { cycles: Finding::unknown(reason), ns: Finding::unknown(reason) }),
        ..Element::default()
    }
}
