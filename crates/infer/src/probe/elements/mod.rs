//! The table that connects the attributes of each element with their probes. The data caches of an SM are here; the L1 on the
//! path of global loads, the constant caches and the memories have their own files.

mod constant;
mod l1;
mod memory;
mod peer;

use super::async_copy;
use super::capacity::{self, Capacity, Search};
use super::die;
use super::distributed;
use super::disturb::{self, Seen};
use super::instructions;
use super::latency::{self, Setting};
use super::levels::HitMiss;
use super::throughput::{self, Level, Peak};
use super::{Gap, Measurement, Notebook, Settle, Unknown, ask_each, fetch, replacement, spectrum, structure, tlb};
use crate::analysis::robust;
use strata_model::attribute::{
    ATOMIC_LATENCY, BULK_COPY_BANDWIDTH, BULK_COPY_DRAM_BANDWIDTH, BULK_COPY_LATENCY, BULK_STORE_LATENCY,
    CLUSTER_BARRIER, CONFLICTS, CP_ASYNC_BANDWIDTH, CP_ASYNC_DRAM_BANDWIDTH, CP_ASYNC_LATENCY, Elements,
    FETCH_GRANULARITY, FINGERPRINT, GPCS, INDEX, INSTANCE_OF_SMS, INSTANCES_PER_SM, LARGEST_CLUSTER, LATENCY_CYCLES,
    LINE_SIZE, MAP, MAPPING_GRANULARITY, MBARRIER_CYCLES, MISS_PENALTY, OWN_LATENCY, RELAXED_CLUSTER_BARRIER,
    REPLACEMENT, SETS, SHARED_WITH, SIZE, SMS_OF_AN_INSTANCE, SPECTRUM, STAIRCASE, THRASH_SIZE, WAYS,
};
use strata_model::experiment::{Chase, ClusterWork, CopyWork, LoadPath, Order, Timing, Traffic};
use strata_model::samples::Failure;
use strata_model::topology::{DISTURBANCE, Element, ElementName, Entry, Finding};
use strata_model::units::{Bytes, BytesPerSecond, Cycles, MIB};

/// Largest footprint tried of a cache that an SM has to itself: four times the largest unified L1 known, 256 KiB.
const PRIVATE_LIMIT: Bytes = Bytes(MIB);
/// Footprint small enough for every first-level cache known (the smallest holds 2 KiB).
const SMALL: Bytes = Bytes(1024);
/// Latencies that spread by no more than this share are those of one level.
const TIGHT: f64 = 0.05;
/// Medians of equal latencies differ by this share at most, or by so many cycles.
const EQUAL: f64 = 0.01;
/// Share of the loads by ld.global.cg that lie beyond the hits of a path that is cached before the L2.
const MOSTLY: f64 = 0.5;
/// As [`EQUAL`], in cycles.
const RESOLUTION: f64 = 2.0;
/// Distance of elements in a latency chase of a data cache: the largest line known.
const APART: Bytes = Bytes(128);

/// What is asked of one element: attributes for which nobody asks ([`Notebook::ask`]) are not measured and do not stand in it.
pub fn element(name: ElementName, notebook: &Notebook) -> Element {
    match name {
        ElementName::L1 => l1::l1(notebook),
        ElementName::Texture => data_cache(notebook, LoadPath::Texture),
        ElementName::ReadOnly => data_cache(notebook, LoadPath::GlobalNc),
        ElementName::ConstantL1 => constant::l1(notebook),
        ElementName::ConstantL15 => constant::l15(notebook),
        ElementName::ConstantUniform => constant::uniform(notebook),
        ElementName::Shared => memory::shared(notebook),
        ElementName::Local => memory::local(notebook),
        ElementName::L2 => memory::l2(notebook),
        ElementName::Dram => memory::dram(notebook),
        ElementName::Host => memory::host(notebook),
        ElementName::TlbL1 => {
            let own = [
                notebook.attribute(SPECTRUM, || spectrum::spectrum(notebook, l1::for_spectrum(notebook).settled()?)),
                notebook.attribute(MAPPING_GRANULARITY, || mapping_granularity(notebook)),
            ];
            tlb::element(notebook, 0).and(own)
        }
        ElementName::TlbL2 => tlb::element(notebook, 1),
        ElementName::TlbL3 => tlb::element(notebook, 2),
        // Before, there are no clusters.
        ElementName::Die | ElementName::DistributedShared if notebook.facts().compute_capability < die::FIRST => {
            Element::default()
        }
        ElementName::Die => Element::from([
            notebook.attribute(GPCS, || die::die(notebook)?.counts()),
            notebook.attribute(MAP, || die::die(notebook)?.map(notebook)),
            notebook.attribute(FINGERPRINT, || die::die(notebook)?.fingerprint(notebook)),
        ]),
        ElementName::DistributedShared => Element::from([
            notebook.attribute(LATENCY_CYCLES, || distributed::latency(notebook)),
            notebook.attribute(OWN_LATENCY, || distributed::own(notebook)),
            notebook.attribute(ATOMIC_LATENCY, || distributed::atomic(notebook)),
            notebook.attribute(CLUSTER_BARRIER, || distributed::barrier(notebook, ClusterWork::Barrier)),
            notebook.attribute(RELAXED_CLUSTER_BARRIER, || distributed::barrier(notebook, ClusterWork::RelaxedBarrier)),
            notebook.attribute(LARGEST_CLUSTER, || distributed::largest(notebook)),
        ])
        .and(throughput::clustered::entries(notebook)),
        // Before, there are no such copies.
        ElementName::AsyncCopy if notebook.facts().compute_capability < async_copy::FIRST => Element::default(),
        ElementName::AsyncCopy => Element::from([
            notebook.attribute(BULK_COPY_LATENCY, || async_copy::latency(notebook, CopyWork::Bulk)),
            notebook.attribute(BULK_STORE_LATENCY, || async_copy::latency(notebook, CopyWork::BulkStore)),
            notebook.attribute(CP_ASYNC_LATENCY, || async_copy::latency(notebook, CopyWork::CpAsync)),
            notebook.attribute(MBARRIER_CYCLES, || async_copy::latency(notebook, CopyWork::Mbarrier)),
            notebook.attribute(BULK_COPY_BANDWIDTH, || copied(notebook, CopyWork::Bulk, memory::in_l2)),
            notebook.attribute(BULK_COPY_DRAM_BANDWIDTH, || copied(notebook, CopyWork::Bulk, memory::in_dram)),
            notebook.attribute(CP_ASYNC_BANDWIDTH, || copied(notebook, CopyWork::CpAsync, memory::in_l2)),
            notebook.attribute(CP_ASYNC_DRAM_BANDWIDTH, || copied(notebook, CopyWork::CpAsync, memory::in_dram)),
        ])
        .and(throughput::clustered::multicast(notebook, || memory::in_l2(notebook, Traffic::Read))),
        // Before, instructions take other bytes.
        ElementName::InstructionL0 | ElementName::InstructionL1 | ElementName::InstructionL15
            if notebook.facts().compute_capability < instructions::FIRST =>
        {
            Element::default()
        }
        ElementName::InstructionL0 => instruction_cache(notebook, 0),
        ElementName::InstructionL1 => instruction_cache(notebook, 1),
        ElementName::InstructionL15 => instruction_cache(notebook, 2),
        ElementName::PeerL2 | ElementName::PeerDram => match &notebook.facts().peer {
            Some(other) if name == ElementName::PeerL2 => peer::l2(notebook, other),
            Some(other) => peer::memory(notebook, other),
            None => Element::default(),
        },
        // No kernel here reaches it.
        ElementName::ScalarL1 => Element::default(),
    }
}

/// The instruction cache of this level, the first one 0.
fn instruction_cache(notebook: &Notebook, level: usize) -> Element {
    Element::from([
        notebook.attribute(SIZE, || instructions::size(notebook, level)),
        notebook.attribute(FETCH_GRANULARITY, || instructions::fetch_granularity(notebook, level)),
        notebook.attribute(MISS_PENALTY, || instructions::miss_penalty(notebook, level)),
        notebook.attribute(SMS_OF_AN_INSTANCE, || instructions::sms_of_an_instance(notebook, level)),
        notebook.attribute(INSTANCE_OF_SMS, || instructions::instance_of_sms(notebook, level)),
    ])
}

/// What asynchronous copies bring from a memory, by how that is streamed through.
fn copied(
    notebook: &Notebook,
    by: CopyWork,
    level: impl Fn(&Notebook, Traffic) -> Result<Level, Gap>,
) -> Result<Finding<BytesPerSecond>, Gap> {
    throughput::copied::bandwidth(notebook, by, &level(notebook, Traffic::Read)?)
}

/// Hits of a small footprint, by any path.
fn small(path: LoadPath) -> Chase {
    Chase {
        order: Order::Random,
        warm_laps: 2,
        timing: Timing::straight(256),
        ..Chase::each_load(path, SMALL, Bytes(64))
    }
}

/// Whether loads by `path` are answered before the L2: by the distribution of their latencies against `.cg`.
fn cached_before_l2(notebook: &Notebook, path: LoadPath) -> Result<Option<HitMiss>, Gap> {
    let measurements = notebook.read(&[small(path), small(LoadPath::GlobalCg)])?;
    Ok(nearer(&measurements[0], &measurements[1]))
}

/// How loads that are answered before the L2 differ from loads of the L2. All loads by `.cg` pass the SM's caches by: a smaller
/// part that is slower is spikes, which may be more frequent in one of the two by chance.
fn nearer(own: &Measurement<Chase>, past: &Measurement<Chase>) -> Option<HitMiss> {
    let levels = HitMiss::learn(own.latencies(), &[past.latencies()]).ok();
    levels.filter(|levels| levels.miss_share(past.latencies()) > MOSTLY)
}

fn cached(notebook: &Notebook, path: LoadPath) -> Result<Finding<bool>, Gap> {
    let levels = cached_before_l2(notebook, path)?;
    let method = format!("latency of a small footprint by {path} compared with ld.global.cg");
    Ok(match levels {
        Some(l) => Finding::measured(true, method)
            .note(format!("median {:.0} and {:.0} cycles per load, including the timing overhead", l.hit, l.miss)),
        None if is_l2(notebook, path)? => Finding::measured(false, method).note("the two are equal"),
        None => return blurred(path),
    })
}

/// The levels of a path that is cached before the L2; an unknown for one that is not.
fn before_l2(notebook: &Notebook, path: LoadPath) -> Result<HitMiss, Gap> {
    let not = || Unknown::because(format!("on this device the SM does not cache {path}"));
    Ok(cached_before_l2(notebook, path)?.ok_or_else(not)?)
}

/// What one miss by a path fetches: a sector, or several, where neighbours come along.
///
/// # Errors
///
/// An unknown, if the path has no cache of which it could be seen, or the distances between misses disagree.
pub fn fetch_of(notebook: &Notebook, path: LoadPath) -> Result<Bytes, Gap> {
    let fetch = match path {
        LoadPath::Constant => constant::sector(notebook)?,
        LoadPath::GlobalCg => super::l2::fetch_granularity(notebook)?,
        _ => sector(notebook, path)?,
    };
    Ok(fetch.granularity)
}

/// Raw latencies of the first cache on a path and of what lies next behind it. The first cold walk may find its data in memory, and
/// the later ones find it in a cache: the nearest level counts.
fn nearest_level(notebook: &Notebook, path: LoadPath) -> Result<HitMiss, Gap> {
    let mut wanted = vec![small(path)];
    wanted.extend(fetch::walks(path, path.element(), false));
    let measurements = notebook.read(&wanted)?;
    let cold: Vec<&[u32]> = measurements[1..].iter().map(Measurement::latencies).collect();
    Ok(HitMiss::learn_from_walks(measurements[0].latencies(), &cold)?)
}

/// The sector of a first-level cache: what a cold load that misses it brings in.
fn sector(notebook: &Notebook, path: LoadPath) -> Result<fetch::Fetch, Gap> {
    notebook.once(&notebook.memo.sector, path, || {
        let l2 = before_l2(notebook, path)?;
        // A cache between this one and the L2 may hold what was fetched beside the sector.
        let nearest = nearest_level(notebook, path).settled()?;
        let threshold = nearest.map_or(l2.threshold, |nearest| nearest.threshold.min(l2.threshold));
        fetch::granularity(notebook, path, path.element(), false, threshold, Bytes(fetch::FOOTPRINT.0 / 2))
    })
}

fn search_of(notebook: &Notebook, path: LoadPath) -> Result<Search, Gap> {
    let allocations = match path {
        LoadPath::GlobalCa => notebook.effort().choose(2, 10, 20),
        _ => notebook.effort().choose(2, 3, 10),
    };
    Ok(Search::first_level(path, sector(notebook, path)?.granularity, PRIVATE_LIMIT, allocations))
}

fn capacity_of(notebook: &Notebook, path: LoadPath) -> Result<Capacity, Gap> {
    capacity::capacity(notebook, &search_of(notebook, path)?)
}

/// A cache as its path sees it, for disturbance.
fn seen(notebook: &Notebook, path: LoadPath) -> Result<Seen, Gap> {
    let capacity = match path {
        LoadPath::Constant => constant::l1_capacity(notebook)?,
        _ => capacity_of(notebook, path)?,
    };
    let sector = match path {
        LoadPath::Constant => constant::sector(notebook)?.granularity,
        _ => sector(notebook, path)?.granularity,
    };
    Ok(Seen { path, usable: capacity.usable, stride: capacity.line.unwrap_or(sector), levels: capacity.levels })
}

fn data_cache(notebook: &Notebook, path: LoadPath) -> Element {
    let capacity = || capacity_of(notebook, path);
    let size = notebook.size(SIZE, || Ok(capacity()?.size(&search_of(notebook, path)?)));
    let launch = || if path == LoadPath::GlobalCa { l1::launch_note(notebook).ok().flatten() } else { None };
    Element::from([
        size.map(|size| size.noted(launch())),
        notebook.attribute(THRASH_SIZE, || Ok(capacity()?.stairs.thrash_size())),
        notebook.attribute(CONFLICTS, || Ok(capacity()?.conflicts())),
        notebook.attribute(STAIRCASE, || Ok(capacity()?.stairs.staircase())),
        notebook.attribute(LINE_SIZE, || line_finding(capacity()?.line?)),
        notebook.attribute(FETCH_GRANULARITY, || fetch_finding(sector(notebook, path)?)),
    ])
    .and([first_level_latency(notebook, path)])
    .and([
        notebook.attribute(MISS_PENALTY, || Ok(miss_penalty(&capacity()?))),
        notebook.attribute(SHARED_WITH, || shared_with(notebook, path)),
        instances(notebook, path),
    ])
    .and(inside(notebook, &|| Ok((search_of(notebook, path)?, capacity()?))))
    .and(own_bandwidth(notebook, path))
}

/// How fast the SM reads its own cache: over half of what it holds.
fn own_bandwidth(notebook: &Notebook, path: LoadPath) -> Vec<Entry> {
    throughput::entries(notebook, &[Traffic::Read], None, |_| own(notebook, path))
}

/// How a cache of the SM is streamed through.
fn own(notebook: &Notebook, path: LoadPath) -> Result<Level, Gap> {
    Ok(Level::own(path, capacity_of(notebook, path)?.lowest / 2))
}

/// How fast all SMs read a memory: the L1, shared memory, the L2 or DRAM.
///
/// # Errors
///
/// Missing measurements, or why it is not known; always of another element.
pub fn read_peak(notebook: &Notebook, name: ElementName) -> Result<Peak, Gap> {
    let level = match name {
        ElementName::L1 => {
            before_l2(notebook, LoadPath::GlobalCa)?;
            own(notebook, LoadPath::GlobalCa)?
        }
        ElementName::Shared => memory::in_shared(),
        ElementName::L2 => memory::in_l2(notebook, Traffic::Read)?,
        ElementName::Dram => memory::in_dram(notebook, Traffic::Read)?,
        _ => return Gap::unknown("no kernel streams through it"),
    };
    throughput::peak(notebook, &level)
}

fn miss_penalty(capacity: &Capacity) -> Finding<Cycles> {
    capacity.stairs.miss_penalty(&capacity.levels)
}

fn mapping_granularity(notebook: &Notebook) -> Result<Finding<Bytes>, Gap> {
    match notebook.facts().mapping_granularity {
        Some(bytes) => Ok(Finding::from_driver(Bytes(bytes), "cuMemGetAllocationGranularity, the minimum")),
        None => Gap::unknown("this driver has no virtual-memory calls, so it does not report it"),
    }
}

/// What is inside a cache: sets, ways, index, replacement.
fn inside(notebook: &Notebook, cache: &dyn Fn() -> Result<(Search, Capacity), Gap>) -> [Option<Entry>; 4] {
    let structure = || {
        let (search, capacity) = cache()?;
        structure::structure(notebook, &search, &capacity)
    };
    [
        notebook.attribute(SETS, || Ok(structure()?.sets())),
        notebook.attribute(WAYS, || Ok(structure()?.ways())),
        notebook.attribute(INDEX, || Ok(structure()?.index())),
        notebook.attribute(REPLACEMENT, || {
            let (search, capacity) = cache()?;
            replacement::replacement(notebook, &search, &capacity)
        }),
    ]
}

fn line_finding(line: Bytes) -> Result<Finding<Bytes>, Gap> {
    Ok(Finding::measured(line, "miss rate over 1.5 times the capacity, one random element per chunk, by chunk size")
        .range(line.0 as f64, line.0 as f64))
}

fn fetch_finding(fetch: fetch::Fetch) -> Result<Finding<Bytes>, Gap> {
    let size = fetch.granularity.0 as f64;
    Ok(Finding::measured(fetch.granularity, "distance between consecutive misses of a cold walk, element by element")
        .range(size, size)
        .note(format!("{:.1} % of the distances agree", fetch.agreement * 100.0)))
}

/// Capacities of allocations that differ by this factor are first conflicts of a hashed index with few ways. Of a chain of half the least
/// of them two lines in 30 conflicted in the next allocation (a direct-mapped cache of 727 sets); of a chain of this part of that, none.
const SCATTERED: f64 = 1.5;
const FEWER: u64 = 4;

fn first_level_latency(notebook: &Notebook, path: LoadPath) -> Option<Entry> {
    let infer = || {
        before_l2(notebook, path)?;
        let usual = Setting { allocations: notebook.effort().choose(1, 3, 5), sms: u32::MAX, ..Setting::small(path) };
        let setting = match capacity_of(notebook, path).settled()? {
            Ok(capacity) => {
                let [least, most] = [capacity.by_allocation.iter().min(), capacity.by_allocation.iter().max()]
                    .map(|end| end.copied().unwrap_or(capacity.usable));
                // In a further allocation the first conflict may come earlier still.
                let scattered = most.0 as f64 > SCATTERED * least.0 as f64;
                usual.within(if scattered { least / FEWER } else { least })
            }
            // The cache may be smaller than the usual chain.
            Err(Unknown::Because(_)) => usual.within(usual.footprint / 2),
            // It is known to be larger, or a recording holds the usual chain only.
            Err(_) => usual,
        };
        latency::measure(notebook, &setting)
    };
    latency::finding(
        notebook,
        infer,
        &format!("whole-lap chase by {path}, difference of 2n and n loads, on all SMs at once"),
    )
}

/// Paths whose caches may be one, with their elements.
const DATA_PATHS: [(LoadPath, ElementName); 3] = [
    (LoadPath::GlobalCa, ElementName::L1),
    (LoadPath::Texture, ElementName::Texture),
    (LoadPath::GlobalNc, ElementName::ReadOnly),
];

/// Whether there is no such path, or certainly no cache on it before the L2: then there is nothing to share.
fn is_absent(notebook: &Notebook, path: LoadPath) -> Result<bool, Gap> {
    let answers = notebook.read_each(&[small(path)])?;
    if let Some(Err(Failure::Unsupported { .. })) = answers.first() {
        return Ok(true);
    }
    Ok(cached_before_l2(notebook, path)?.is_none() && is_l2(notebook, path)?)
}

/// Whether loads by `path` certainly take what the L2 takes. Only of plain loads is that known to be the same whichever way
/// they go; where noise blurs the groups nothing is said.
fn is_l2(notebook: &Notebook, path: LoadPath) -> Result<bool, Gap> {
    let measurements = notebook.read(&[small(path), small(LoadPath::GlobalCg)])?;
    Ok(path == LoadPath::GlobalCa && alike(&measurements[0], &measurements[1]))
}

/// Whether two groups of latencies are tight and in the same place: one level.
fn alike(one: &Measurement<Chase>, other: &Measurement<Chase>) -> bool {
    let quantile =
        |measurement: &Measurement<Chase>, q| robust::quantile_u32(measurement.latencies(), q).unwrap_or_default();
    let tight = |measurement: &Measurement<Chase>| {
        quantile(measurement, 0.9) - quantile(measurement, 0.1) <= TIGHT * quantile(measurement, 0.5)
    };
    let apart = (quantile(one, 0.5) - quantile(other, 0.5)).abs();
    tight(one) && tight(other) && apart <= RESOLUTION.max(EQUAL * quantile(other, 0.5))
}

/// What is said of a path whose loads cannot be told from the L2's, and are not alike either.
fn blurred<T>(path: LoadPath) -> Result<T, Gap> {
    Gap::unknown(format!("loads by {path} and by ld.global.cg differ so much that no cache level can be identified"))
}

fn shared_with(notebook: &Notebook, path: LoadPath) -> Result<Finding<Elements>, Gap> {
    let own = seen(notebook, path)?;
    let mut names: Vec<ElementName> = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    let others: Vec<_> = DATA_PATHS.into_iter().filter(|(other, _)| *other != path).collect();
    // A constant cache is small, so it is always the one whose content is watched.
    let shares = |other| -> Result<bool, Gap> {
        Ok(!is_absent(notebook, other)? && disturb::one_cache(notebook, &own, &seen(notebook, other)?)?)
    };
    let verdicts = ask_each(others.iter().map(|(other, _)| shares(*other)))?;
    for ((_, name), verdict) in others.iter().zip(verdicts) {
        match verdict {
            Ok(true) => names.push(*name),
            Ok(false) => {}
            Err(unknown) => notes.push(format!("{name}: {}", unknown.reason())),
        }
    }
    if names.is_empty() && !notes.is_empty() {
        return Gap::unknown(notes.join("; "));
    }
    let finding = Finding::measured(
        names.into_iter().collect(),
        "disturbance: loads by one path displace what the other has cached",
    );
    Ok(notes.into_iter().fold(finding, Finding::note))
}

fn instances(notebook: &Notebook, path: LoadPath) -> Option<Entry> {
    let count = || {
        let found = disturb::instances(notebook, &seen(notebook, path)?)?;
        let count = f64::from(found.count);
        let finding =
            Finding::measured(found.count.into(), "disturbance: thread 0 against every other thread of a full block");
        // Where each warp of the block has an instance of its own, a larger block might show more.
        let all = found.sharing <= notebook.facts().warp_size && found.count > 1;
        Ok(if all { finding.at_least(count) } else { finding.range(count, count) }
            .note(format!("{} of {} threads use the same cache as thread 0", found.sharing, found.block)))
    };
    // Also where the count is unclear, and the more so.
    let flow = || disturb::flow(notebook, &seen(notebook, path)?);
    notebook.attribute(INSTANCES_PER_SM, count).map(|entry| entry.series(DISTURBANCE, flow().ok()))
}
