//! What is asked of each element: the table that ties attributes to probes.

use super::capacity::{self, Capacity, Search};
use super::disturb::{self, Seen};
use super::latency::{self, Setting};
use super::levels::HitMiss;
use super::{Gap, Notebook, fetch, l2};
use crate::experiment::{Experiment, Kernel, LoadPath, Order, Walk};
use crate::topology::{Element, ElementName, Finding, Latency};
use crate::units::{Bytes, MIB};

/// Largest footprint tried of a cache that an SM has to itself: four times the largest unified L1 known, 256 KiB.
const PRIVATE_LIMIT: Bytes = Bytes(MIB);
/// Constants that a module may declare.
const CONSTANT_LIMIT: Bytes = Bytes::kib(64);
/// Footprint small enough for every first-level cache known (the smallest holds 2 KiB).
const SMALL: Bytes = Bytes(1024);
/// Distance of elements in a latency chase of a data cache: the largest line known.
const APART: Bytes = Bytes(128);

/// Everything that is asked of one element.
pub fn element(name: ElementName, notebook: &Notebook) -> Element {
    match name {
        ElementName::L1 => l1(notebook),
        ElementName::Texture => data_cache(notebook, LoadPath::Texture),
        ElementName::ReadOnly => data_cache(notebook, LoadPath::GlobalNc),
        ElementName::ConstantL1 => constant_l1(notebook),
        ElementName::ConstantL15 => constant_l15(notebook),
        ElementName::ConstantUniform => constant_uniform(notebook),
        ElementName::Shared => shared(notebook),
        ElementName::Local => local(notebook),
        ElementName::L2 => level_two(notebook),
        ElementName::Dram => dram(notebook),
        ElementName::Host => host(notebook),
    }
}

// ---- data caches of an SM: L1, texture, read-only

/// Hits of a small footprint, by any path.
fn small(path: LoadPath) -> Experiment {
    Experiment {
        order: Order::Random,
        warm_laps: 2,
        walk: Walk::Straight,
        timed_loads: 256,
        ..Experiment::chase(Kernel::PerLoad, path, SMALL, Bytes(64))
    }
}

/// Whether loads by `path` are answered before the L2: by the distribution of their latencies against `.cg`.
fn cached_before_l2(notebook: &Notebook, path: LoadPath) -> Result<Option<HitMiss>, Gap> {
    let sheets = notebook.read(&[small(path), small(LoadPath::GlobalCg)])?;
    match HitMiss::learn(sheets[0].latencies(), &[sheets[1].latencies()]) {
        Ok(levels) => Ok(Some(levels)),
        Err(Gap::Unknown(_)) => Ok(None),
        Err(other) => Err(other),
    }
}

fn cached(notebook: &Notebook, path: LoadPath) -> Result<Finding, Gap> {
    let levels = cached_before_l2(notebook, path)?;
    let method = format!("latency of a small footprint by {path} against ld.global.cg");
    Ok(match levels {
        Some(l) => Finding::measured(true, method)
            .note(format!("median {:.0} against {:.0} cycles a load, timing overhead included", l.hit, l.miss)),
        None => Finding::measured(false, method).note("the two are alike"),
    })
}

/// The sector of a first-level cache: what a cold load that misses it brings in.
fn sector(notebook: &Notebook, path: LoadPath) -> Result<fetch::Fetch, Gap> {
    notebook.once(&format!("sector {}", path.name()), || {
        let Some(levels) = cached_before_l2(notebook, path)? else {
            return Gap::unknown(format!("{path} is not cached before the L2 on this device"));
        };
        fetch::granularity(notebook, path, path.element(), false, levels.threshold)
    })
}

fn search_of(notebook: &Notebook, path: LoadPath) -> Result<Search, Gap> {
    let allocations = match path {
        LoadPath::GlobalCa => notebook.effort().choose(1, 10, 20),
        _ => notebook.effort().choose(1, 3, 10),
    };
    Ok(Search::first_level(path, sector(notebook, path)?.granularity, PRIVATE_LIMIT, allocations))
}

fn capacity_of(notebook: &Notebook, path: LoadPath) -> Result<Capacity, Gap> {
    capacity::capacity(notebook, &search_of(notebook, path)?)
}

/// A cache as its path sees it, for disturbance.
fn seen(notebook: &Notebook, path: LoadPath) -> Result<Seen, Gap> {
    let capacity = match path {
        LoadPath::Constant => constant_l1_capacity(notebook)?,
        _ => capacity_of(notebook, path)?,
    };
    let sector = match path {
        LoadPath::Constant => constant_sector(notebook)?.granularity,
        _ => sector(notebook, path)?.granularity,
    };
    Ok(Seen { path, usable: capacity.usable, stride: capacity.line.unwrap_or(sector), levels: capacity.levels })
}

fn l1(notebook: &Notebook) -> Element {
    let cached = notebook.attribute(|| cached(notebook, LoadPath::GlobalCa));
    Element { cached, ..data_cache(notebook, LoadPath::GlobalCa) }
}

fn data_cache(notebook: &Notebook, path: LoadPath) -> Element {
    let capacity = || capacity_of(notebook, path);
    let mut size = notebook.attribute(|| Ok(capacity()?.size(&search_of(notebook, path)?)));
    if path == LoadPath::GlobalCa
        && let Some(note) = carveout_note(notebook)
    {
        size = size.map(|f| if f.is_known() { f.note(note) } else { f });
    }
    Element {
        size,
        thrash_size: notebook.attribute(|| Ok(capacity()?.thrash_size())),
        conflicts: notebook.attribute(|| Ok(capacity()?.conflicts())),
        staircase: notebook.attribute(|| Ok(capacity()?.staircase())),
        line_size: notebook.attribute(|| line_finding(capacity()?.line?)),
        fetch_granularity: notebook.attribute(|| fetch_finding(sector(notebook, path)?)),
        latency: first_level_latency(notebook, path),
        miss_penalty: notebook.attribute(|| Ok(capacity()?.miss_penalty())),
        shared_with: notebook.attribute(|| shared_with(notebook, path)),
        instances_per_sm: notebook.attribute(|| instances(notebook, path)),
        ..Element::default()
    }
}

fn line_finding(line: Bytes) -> Result<Finding, Gap> {
    Ok(Finding::measured(
        line.0,
        "misses of one and a half times the capacity, one element a chunk, by size of the chunk",
    )
    .unit("B")
    .range(line.0 as f64, line.0 as f64))
}

fn fetch_finding(fetch: fetch::Fetch) -> Result<Finding, Gap> {
    let size = fetch.granularity.0;
    Ok(Finding::measured(size, "distance between the misses of a cold walk, element by element")
        .unit("B")
        .range(size as f64, size as f64)
        .note(format!("{:.1} % of the distances agree", fetch.agreement * 100.0)))
}

fn first_level_latency(notebook: &Notebook, path: LoadPath) -> Option<Latency> {
    let setting = Setting {
        path,
        footprint: Bytes::kib(4),
        stride: APART,
        shared: false,
        allocations: notebook.effort().choose(1, 3, 5),
        sms: u32::MAX,
    };
    let infer = || {
        if cached_before_l2(notebook, path)?.is_none() {
            return Gap::unknown(format!("{path} is not cached before the L2 on this device"));
        }
        latency::measure(notebook, &setting)
    };
    latency::findings(notebook, infer, &format!("whole-lap chase by {path}, 2n against n loads, every SM at once"))
}

/// Two carveouts must move the knee; otherwise the hint is ignored and the size is that of the driver's choice.
fn carveout_note(notebook: &Notebook) -> Option<String> {
    let least = search_of(notebook, LoadPath::GlobalCa).ok()?;
    let more = Search { carveout: 50, allocations: 1, ..least };
    match (capacity::rough(notebook, &least), capacity::rough(notebook, &more)) {
        (Ok(a), Ok(b)) if b.low < a.low => {
            Some(format!("with the least shared memory; asking for 50 % shared memory moves the knee to {}", b.low))
        }
        (Ok(_), Ok(b)) => Some(format!(
            "asking for 50 % shared memory leaves the knee at {}: the carveout is fixed or the hint ignored",
            b.low
        )),
        _ => None,
    }
}

/// Paths whose caches may be one, with their elements.
const DATA_PATHS: [(LoadPath, ElementName); 3] = [
    (LoadPath::GlobalCa, ElementName::L1),
    (LoadPath::Texture, ElementName::Texture),
    (LoadPath::GlobalNc, ElementName::ReadOnly),
];

fn shared_with(notebook: &Notebook, path: LoadPath) -> Result<Finding, Gap> {
    let own = seen(notebook, path)?;
    let mut names: Vec<&str> = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    let mut missing = false;
    let others = DATA_PATHS.iter().filter(|(other, _)| *other != path);
    for (other, name) in others {
        // A constant cache is small, so it is always the one whose content is watched.
        let verdict = seen(notebook, *other).and_then(|other| disturb::one_cache(notebook, &own, &other));
        match verdict {
            Ok(true) => names.push(name.key()),
            Ok(false) => {}
            Err(Gap::Missing) => missing = true,
            Err(gap) => notes.push(format!("{}: {}", name.key(), gap.finding().reason.unwrap_or_default())),
        }
    }
    if missing {
        return Err(Gap::Missing);
    }
    if names.is_empty() && !notes.is_empty() {
        return Gap::unknown(notes.join("; "));
    }
    let finding = Finding::measured(
        names.into_iter().map(serde_json::Value::from).collect::<Vec<_>>(),
        "disturbance: what one path has cached is displaced by the other",
    );
    Ok(notes.into_iter().fold(finding, Finding::note))
}

fn instances(notebook: &Notebook, path: LoadPath) -> Result<Finding, Gap> {
    let found = disturb::instances(notebook, &seen(notebook, path)?)?;
    Ok(Finding::measured(found.count, "disturbance of thread 0 by every other thread of a full block")
        .range(f64::from(found.count), f64::from(found.count))
        .note(format!("{} of {} threads share thread 0's", found.sharing, found.block)))
}

// ---- constant caches

/// Raw latencies of the first constant cache and of what lies behind it.
fn constant_levels(notebook: &Notebook) -> Result<HitMiss, Gap> {
    let cold = fetch::walks(LoadPath::Constant, LoadPath::Constant.element(), false).remove(0);
    let sheets = notebook.read(&[small(LoadPath::Constant), cold])?;
    HitMiss::learn(sheets[0].latencies(), &[sheets[1].latencies()])
}

fn constant_sector(notebook: &Notebook) -> Result<fetch::Fetch, Gap> {
    let threshold = constant_levels(notebook)?.threshold;
    fetch::granularity(notebook, LoadPath::Constant, LoadPath::Constant.element(), false, threshold)
}

/// Largest footprint for the first constant cache: four times the largest known (Fermi's 4 KiB).
const CONSTANT_L1_LIMIT: Bytes = Bytes::kib(16);

fn constant_l1_search(notebook: &Notebook) -> Result<Search, Gap> {
    let sector = constant_sector(notebook)?.granularity;
    Ok(Search { start: Bytes(256), ..Search::first_level(LoadPath::Constant, sector, CONSTANT_L1_LIMIT, 1) })
}

fn constant_l1_capacity(notebook: &Notebook) -> Result<Capacity, Gap> {
    capacity::capacity(notebook, &constant_l1_search(notebook)?)
}

fn constant_l1(notebook: &Notebook) -> Element {
    let capacity = || constant_l1_capacity(notebook);
    let setting = Setting {
        path: LoadPath::Constant,
        footprint: SMALL,
        stride: Bytes(64),
        shared: false,
        allocations: 1,
        sms: u32::MAX,
    };
    Element {
        size: notebook.attribute(|| Ok(capacity()?.size(&constant_l1_search(notebook)?))),
        thrash_size: notebook.attribute(|| Ok(capacity()?.thrash_size())),
        conflicts: notebook.attribute(|| Ok(capacity()?.conflicts())),
        staircase: notebook.attribute(|| Ok(capacity()?.staircase())),
        line_size: notebook.attribute(|| line_finding(capacity()?.line?)),
        fetch_granularity: notebook.attribute(|| fetch_finding(constant_sector(notebook)?)),
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
fn constant_l15_start(notebook: &Notebook) -> Result<Bytes, Gap> {
    let first = constant_l1_capacity(notebook)?;
    Ok(Bytes((first.usable.0 * 4).next_power_of_two().min(CONSTANT_LIMIT.0 / 4)))
}

fn constant_l15_search(notebook: &Notebook) -> Result<Search, Gap> {
    let sector = constant_sector(notebook)?.granularity;
    Ok(Search {
        start: constant_l15_start(notebook)?,
        ..Search::first_level(LoadPath::Constant, sector, CONSTANT_LIMIT, 1)
    })
}

/// Fetch granularity of the second constant cache: distance of the slowest loads of a cold walk.
fn constant_l15_fetch(notebook: &Notebook) -> Result<fetch::Fetch, Gap> {
    let start = constant_l15_start(notebook)?;
    let search = constant_l15_search(notebook)?;
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

fn constant_l15(notebook: &Notebook) -> Element {
    let rough = || capacity::capacity(notebook, &constant_l15_search(notebook)?);
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
        let start = constant_l15_start(notebook)?;
        let setting = Setting {
            path: LoadPath::Constant,
            footprint: start * 2,
            stride: constant_sector(notebook)?.granularity,
            shared: true,
            allocations: 1,
            sms: notebook.effort().choose(4, 33, u32::MAX),
        };
        latency::measure(notebook, &setting)
    };
    Element {
        size: notebook.attribute(|| Ok(rough().map_err(beyond)?.size(&constant_l15_search(notebook)?))),
        fetch_granularity: notebook.attribute(|| fetch_finding(constant_l15_fetch(notebook)?)),
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

fn constant_uniform(notebook: &Notebook) -> Element {
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

// ---- shared, local

fn shared(notebook: &Notebook) -> Element {
    let facts = notebook.facts();
    let setting = Setting {
        path: LoadPath::Shared,
        footprint: Bytes::kib(4),
        stride: APART,
        shared: false,
        allocations: 1,
        sms: u32::MAX,
    };
    let block = facts.shared_per_block_optin.unwrap_or(facts.shared_per_block);
    Element {
        size: notebook.attribute(|| {
            Ok(Finding::from_driver(facts.shared_per_multiprocessor, "shared memory of a multiprocessor")
                .unit("B")
                .note(format!("of which a block may have {}", Bytes(block))))
        }),
        latency: latency::findings(
            notebook,
            || latency::measure(notebook, &setting),
            "whole-lap chase by ld.shared, 2n against n loads, every SM at once",
        ),
        ..Element::default()
    }
}

fn local(notebook: &Notebook) -> Element {
    let setting = Setting {
        path: LoadPath::Local,
        footprint: Bytes(512),
        stride: Bytes(8),
        shared: false,
        allocations: 1,
        sms: u32::MAX,
    };
    Element {
        cached: notebook.attribute(|| {
            let local = Experiment {
                order: Order::Random,
                warm_laps: 2,
                walk: Walk::Straight,
                timed_loads: 256,
                ..Experiment::chase(Kernel::PerLoad, LoadPath::Local, Bytes(512), Bytes(8))
            };
            let sheets = notebook.read(&[local, small(LoadPath::GlobalCg)])?;
            let method = "latency of a small footprint by ld.local against ld.global.cg";
            match HitMiss::learn(sheets[0].latencies(), &[sheets[1].latencies()]) {
                Ok(l) => Ok(Finding::measured(true, method).note(format!(
                    "median {:.0} against {:.0} cycles a load, timing overhead included",
                    l.hit, l.miss
                ))),
                Err(Gap::Unknown(_)) => Ok(Finding::measured(false, method).note("the two are alike")),
                Err(gap) => Err(gap),
            }
        }),
        latency: latency::findings(
            notebook,
            || latency::measure(notebook, &setting),
            "whole-lap chase by ld.local, 2n against n loads, every SM at once",
        ),
        ..Element::default()
    }
}

// ---- L2, DRAM, host

fn level_two(notebook: &Notebook) -> Element {
    let facts = notebook.facts();
    Element {
        size: notebook.attribute(|| l2::size(notebook)),
        nominal_size: notebook.attribute(|| Ok(Finding::from_driver(facts.l2_size, "L2 size").unit("B"))),
        conflicts: notebook.attribute(|| {
            let found = l2::capacity(notebook)?;
            let share = found.conflicts.iter().copied().fold(0.0, f64::max);
            Ok(Finding::measured(
                (share * 1e4).round() / 1e4,
                "largest share of a sample that misses below the usable capacity, over allocations",
            ))
        }),
        staircase: notebook.attribute(|| Ok(l2::capacity(notebook)?.staircase())),
        line_size: notebook.attribute(|| line_finding(l2::line_size(notebook)?)),
        fetch_granularity: notebook.attribute(|| fetch_finding(l2::fetch_granularity(notebook)?)),
        latency: latency::findings(
            notebook,
            || latency::measure(notebook, &l2::setting(notebook)),
            "whole-lap chase by ld.global.cg, 2n against n loads, one SM at a time",
        ),
        miss_penalty: notebook.attribute(|| {
            let dram = l2::dram(notebook)?;
            let hit = latency::measure(notebook, &l2::setting(notebook))?;
            let penalty = dram.measured.cycles - hit.cycles;
            Ok(Finding::derived((penalty.0 * 10.0).round() / 10.0, "DRAM latency less L2 latency").unit("cycles"))
        }),
        ..Element::default()
    }
}

fn dram(notebook: &Notebook) -> Element {
    let facts = notebook.facts();
    let footprint = l2::dram(notebook).map(|d| d.footprint);
    let method = match footprint {
        Ok(bytes) => format!(
            "per-load chase by ld.global.cg over {bytes} after a flush of the L2, random in a 2 MiB page, pages in turn; \
             first load of a page left out, timing overhead taken off"
        ),
        Err(_) => "per-load chase by ld.global.cg after a flush of the L2".to_owned(),
    };
    Element {
        size: notebook.attribute(|| {
            Ok(Finding::from_driver(facts.total_memory, "device memory")
                .unit("B")
                .note(format!("{} were free at the start", Bytes(facts.free_memory))))
        }),
        latency: latency::findings(notebook, || Ok(l2::dram(notebook)?.measured), &method),
        ..Element::default()
    }
}

fn host(notebook: &Notebook) -> Element {
    let setting = Setting {
        path: LoadPath::Host,
        footprint: Bytes::kib(4),
        stride: APART,
        shared: true,
        allocations: 1,
        sms: notebook.effort().choose(1, 4, 8),
    };
    Element {
        latency: latency::findings(
            notebook,
            || latency::measure(notebook, &setting),
            "whole-lap chase by ld.volatile.global over one pinned page of host memory, one SM at a time",
        ),
        ..Element::default()
    }
}
