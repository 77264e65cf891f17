//! The L1 on the path of global loads: the cost of a miss, and its size beside shared memory.

use std::collections::BTreeMap;

use super::super::capacity::{self, Search};
use super::super::latency::{self, Setting};
use super::super::throughput::{of_a_warp, outstanding};
use super::super::{
    Gap, Missing, Notebook, Settle, Unknown, launches, replacement, residency, spectrum, structure, write_through,
};
use super::{before_l2, cached, cached_before_l2, capacity_of, data_cache, search_of};
use crate::analysis::robust;
use strata_model::attribute::{
    BY_LAUNCH, CACHED, Configuration, HINTS, INDEX, Key, LEAST_CONFIGURATION, Launches, MISS_OVERHEAD,
    OUTSTANDING_LOADS, OUTSTANDING_LOADS_OF_A_WARP, REPLACEMENT, SETS, WAYS, WRITE_BACK, WRITE_POLICY,
};
use strata_model::experiment::{Chase, LoadPath, Order, Place, Timing};
use strata_model::topology::{Element, Finding};
use strata_model::units::{Bytes, Cycles};

/// Loads by which what a miss costs is compared.
const MISSES: u32 = 4096;
/// Cycles by which the median of a difference may be off: two clocks are read for each of two loads.
const RESOLUTION: f64 = 1.0;
/// Share of the unified memory asked for as shared memory that leaves the least to the L1, in per cent.
const MOST_SHARED: u8 = 100;

pub(super) fn l1(notebook: &Notebook) -> Element {
    Element::from([
        notebook.attribute(CACHED, || cached(notebook, LoadPath::GlobalCa)),
        notebook.attribute(MISS_OVERHEAD, || miss_overhead(notebook)),
        notebook.attribute(WRITE_POLICY, || residency::write_policy(notebook, &for_residency(notebook)?)),
        notebook.attribute(WRITE_BACK, || write_through::keeps_stores(notebook, &for_residency(notebook)?)),
        notebook.attribute(HINTS, || residency::hints(notebook, &for_residency(notebook)?)),
        notebook.attribute(LEAST_CONFIGURATION, || least_configuration(notebook)),
        notebook.attribute(BY_LAUNCH, || by_launch(notebook)),
    ])
    .and(data_cache(notebook, LoadPath::GlobalCa))
    .and([
        notebook.attribute(OUTSTANDING_LOADS, || outstanding::loads(notebook)),
        notebook.attribute(OUTSTANDING_LOADS_OF_A_WARP, || of_a_warp::loads(notebook)),
    ])
}

/// What residency needs of the L1.
fn for_residency(notebook: &Notebook) -> Result<residency::Asked, Gap> {
    before_l2(notebook, LoadPath::GlobalCa)?;
    let capacity = capacity_of(notebook, LoadPath::GlobalCa)?;
    let (path, line) = (LoadPath::GlobalCa, capacity.line?);
    Ok(residency::Asked { path, capacity: capacity.usable, line, all: capacity.highest })
}

/// What the spectrum needs of the L1, if global loads are cached there.
pub(super) fn for_spectrum(notebook: &Notebook) -> Result<Option<spectrum::L1>, Gap> {
    if cached_before_l2(notebook, LoadPath::GlobalCa)?.is_none() {
        return Ok(None);
    }
    let capacity = capacity_of(notebook, LoadPath::GlobalCa)?;
    let line = capacity.line.clone()?;
    Ok(Some(spectrum::L1 { size: capacity.usable, lines: capacity.usable / line, levels: capacity.levels }))
}

/// What a load that misses the L1 takes longer than one that passes it by: the same chain in the same order by both paths.
/// Mei et al., section 4.2, find 6 to 16 cycles on Fermi.
fn miss_overhead(notebook: &Notebook) -> Result<Finding<Cycles>, Gap> {
    before_l2(notebook, LoadPath::GlobalCa)?;
    let capacity = capacity_of(notebook, LoadPath::GlobalCa)?;
    let stride = capacity.line?;
    // In one large page, so that translation costs neither, and well inside the L2.
    let footprint = Bytes::mib(2).min(Bytes(notebook.facts().l2_size / 2).round_down(stride));
    if footprint.0 < 2 * capacity.highest.0 {
        return Gap::unknown(format!(
            "a chain of {footprint} is too small to evict itself from an L1 of {}",
            capacity.highest
        ));
    }
    let chase = |path| Chase {
        order: Order::Random,
        seed: notebook.seed(23),
        timing: Timing::straight(MISSES),
        place: Place::alone_on(0),
        ..Chase::each_load(path, footprint, stride)
    };
    let overhead = |path| latency::overhead(notebook, &Setting::small(path).within(capacity.usable));
    let measurements = notebook.read(&[chase(LoadPath::GlobalCa), chase(LoadPath::GlobalCg)])?;
    if measurements[0].samples().base != measurements[1].samples().base {
        return Gap::unknown("the two chains are at different addresses, so their loads cannot be compared");
    }
    let timing = overhead(LoadPath::GlobalCa)? - overhead(LoadPath::GlobalCg)?;
    let pairs = measurements[0].latencies().iter().zip(measurements[1].latencies());
    let longer: Vec<f64> = pairs.map(|(&ca, &cg)| f64::from(ca) - f64::from(cg) - timing).collect();
    let at = |q| robust::tenths(robust::quantile(&longer, q).unwrap_or_default());
    if at(0.75) < -RESOLUTION {
        return Gap::unknown(format!(
            "loads of the chain by ld.global.ca take {:.0} cycles less than by ld.global.cg: another cache than the L1 holds part of \
             it",
            -at(0.5)
        ));
    }
    Ok(Finding::measured(
        Cycles(at(0.5)),
        "one chain larger than the L1, timed load by load by ld.global.ca and by ld.global.cg",
    )
    .range(at(0.25).min(at(0.5) - RESOLUTION), at(0.75).max(at(0.5) + RESOLUTION)))
}

/// The L1 where a kernel asks for all the shared memory there is. On Fermi the two configurations differ in sets and ways
/// (Mei et al., section 4.2).
fn least_configuration(notebook: &Notebook) -> Result<Finding<Configuration>, Gap> {
    let most = search_of(notebook, LoadPath::GlobalCa)?;
    let least = Search { carveout: MOST_SHARED, allocations: notebook.effort().choose(2, 3, 10), ..most };
    if capacity::rough(notebook, &least)?.low >= capacity::rough(notebook, &most)?.low {
        return Gap::unknown("the L1 has the same size when a kernel requests all shared memory");
    }
    let capacity = capacity::capacity(notebook, &least)?;
    let structure = structure::structure(notebook, &least, &capacity);
    let replacement = replacement::replacement(notebook, &least, &capacity);
    let mut reasons = Reasons::new();
    let structure = structure.settled()?;
    let of_structure = || structure.clone();
    let parts = Configuration {
        size: capacity.usable,
        sets: value(SETS, of_structure().map(|s| s.sets()), &mut reasons),
        ways: value(WAYS, of_structure().map(|s| s.ways()), &mut reasons),
        index: value(INDEX, of_structure().map(|s| s.index()), &mut reasons),
        replacement: value(REPLACEMENT, replacement.settled()?, &mut reasons),
        misses: capacity.stairs.staircase().value,
    };
    let method = format!("size and structure, measured again with a shared-memory carveout of {MOST_SHARED} %");
    // The interval is that of the size.
    let finding = Finding::measured(parts, method).range(capacity.lowest.0 as f64, capacity.highest.0 as f64);
    let of = |(reason, names): (String, Vec<&str>)| format!("no {}: {reason}", names.join(", "));
    Ok(reasons.into_iter().map(of).fold(finding, Finding::note))
}

/// The L1 of each launch shape.
fn by_launch(notebook: &Notebook) -> Result<Finding<Launches>, Gap> {
    notebook.once(&notebook.memo.launches, (), || {
        let capacity = capacity_of(notebook, LoadPath::GlobalCa)?;
        let stride = capacity.line.clone()?;
        let spikes = capacity::rough(notebook, &search_of(notebook, LoadPath::GlobalCa)?)?.below.share() > 0.0;
        let cache = launches::Cache { path: LoadPath::GlobalCa, capacity: &capacity, stride, spikes };
        launches::by_launch(notebook, &cache)
    })
}

/// Why attributes are unknown: each reason with the attributes that it is of.
type Reasons = BTreeMap<String, Vec<&'static str>>;

/// The value of a finding; why there is none goes to the reasons.
fn value<T>(key: Key<T>, finding: Result<Finding<T>, Unknown>, reasons: &mut Reasons) -> Option<T> {
    let finding = finding.unwrap_or_else(Unknown::finding);
    if let Some(reason) = finding.reason {
        reasons.entry(reason).or_default().push(key.key());
    }
    finding.value
}

/// Of which launch the size is, where the sizes of launches are asked for.
///
/// # Errors
///
/// [`Missing`], if samples are.
pub(super) fn launch_note(notebook: &Notebook) -> Result<Option<String>, Missing> {
    if !notebook.asks(BY_LAUNCH) {
        return Ok(None);
    }
    let Ok(Some(launches)) = by_launch(notebook).settled()?.map(|finding| finding.value) else { return Ok(None) };
    Ok(launches.extremes().map(|(most, least)| {
        format!(
            "of a launch that sets little shared memory aside, for example {}; other launches have as little as {}, see `by_launch`",
            most.launch(),
            least.size
        )
    }))
}
