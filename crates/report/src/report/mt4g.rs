//! A discovery under the keys of MT4G's result, for tools that read that: sys-sage, for one.
//!
//! What is not known is left out, as MT4G does it, and so is what means something else there: its `confidence` is 1 - p of a
//! test for any change along a curve, which an interval is not. What sys-sage reads without asking whether it is there comes
//! whole or not at all; what has no place for that reason stands under `strata`, a key of ours that other readers pass over.

use std::collections::BTreeMap;

use serde::Serialize;

use strata_model::attribute::{
    Attribute, CACHED, FETCH_GRANULARITY, INSTANCES_PER_SM, Key, LATENCY_CYCLES, LINE_SIZE, MISS_PENALTY,
    READ_BANDWIDTH, SHARED_WITH, SIZE, WRITE_BANDWIDTH,
};
use strata_model::topology::{Element, ElementName, Topology};
use strata_model::units::{Bytes as InBytes, BytesPerSecond, Cycles, GIB};

/// What MT4G calls the way in which all of this is measured: a chain of loads, each of which gives the next one's address.
const METHOD: &str = "p-chase";

/// A number with its unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Quantity {
    unit: &'static str,
    value: f64,
}

/// A number of something from the driver.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Count {
    unit: &'static str,
    value: u64,
}

/// A measured size.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Size {
    /// 0 where no change was seen up to the largest footprint; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    method: &'static str,
    size: u64,
    unit: &'static str,
}

/// A measured latency.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Latency {
    mean: f64,
    method: &'static str,
    unit: &'static str,
}

/// What a memory that all SMs share gives and takes. Readers take all of it or nothing.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Rates {
    latency: Latency,
    read_bandwidth: Quantity,
    write_bandwidth: Quantity,
}

/// A cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Cache {
    #[serde(skip_serializing_if = "Option::is_none")]
    amount_per_multiprocessor: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fetch_granularity: Option<Size>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency: Option<Latency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_size: Option<Size>,
    #[serde(skip_serializing_if = "Option::is_none")]
    miss_penalty: Option<Quantity>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shared_with: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<Size>,
}

impl Cache {
    /// Whether all is there that readers take to be there.
    fn is_whole(&self) -> bool {
        self.size.is_some() && self.fetch_granularity.is_some() && self.latency.is_some()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct L1 {
    #[serde(flatten)]
    cache: Cache,
    #[serde(rename = "globalL1CacheSupported", skip_serializing_if = "Option::is_none")]
    global: Option<bool>,
    #[serde(rename = "localL1CacheSupported", skip_serializing_if = "Option::is_none")]
    local: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct L2 {
    #[serde(skip_serializing_if = "Option::is_none")]
    fetch_granularity: Option<Size>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_size: Option<Size>,
    #[serde(skip_serializing_if = "Option::is_none")]
    miss_penalty: Option<Quantity>,
    /// What one SM's loads can use.
    #[serde(skip_serializing_if = "Option::is_none")]
    segment_size: Option<Size>,
    /// What the driver states.
    size: Count,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    rates: Option<Rates>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Constant {
    #[serde(skip_serializing_if = "Option::is_none")]
    l1: Option<Cache>,
    #[serde(rename = "l1.5", skip_serializing_if = "Option::is_none")]
    l15: Option<Cache>,
    total_const_mem: Count,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Main {
    memory_bus_width: Count,
    memory_clock_rate: Count,
    total_global_mem: Count,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    rates: Option<Rates>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shared {
    #[serde(skip_serializing_if = "Option::is_none")]
    latency: Option<Latency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reserved_shared_mem_per_block: Option<Count>,
    shared_mem_per_block: Count,
    shared_mem_per_multi_processor: Count,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Memory {
    constant: Constant,
    l1: L1,
    l2: L2,
    main: Main,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_only: Option<Cache>,
    shared: Shared,
    #[serde(skip_serializing_if = "Option::is_none")]
    texture: Option<Cache>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Compute {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_blocks_per_multi_processor: Option<u32>,
    max_threads_per_block: u32,
    max_threads_per_multi_processor: u32,
    multi_processor_count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    number_of_cores_per_multi_processor: Option<u32>,
    regs_per_block: u32,
    regs_per_multi_processor: u32,
    warp_size: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Capability {
    major: u32,
    minor: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct General {
    clock_rate: Count,
    compute_capability: Capability,
    name: String,
    vendor: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Meta {
    /// As CUDA numbers it: 13.0 is 13000.
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<u32>,
    #[serde(skip_serializing_if = "String::is_empty")]
    timestamp: String,
}

/// What has no place elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Ours {
    /// Who wrote this.
    version: &'static str,
    simulated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    replayed_from: Option<String>,
    /// Latencies of the L2 and of memory without bandwidths: readers take both or none.
    latency: BTreeMap<&'static str, Latency>,
    /// What was found and left out, or not found, and why.
    left_out: BTreeMap<String, String>,
}

/// The whole document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mt4g {
    compute: Compute,
    general: General,
    memory: Memory,
    meta: Meta,
    strata: Ours,
}

/// The result under the keys of MT4G.
pub fn mt4g(topology: &Topology) -> Mt4g {
    let facts = &topology.device;
    let element = |name: ElementName| topology.elements.get(&name);
    let mut left_out = BTreeMap::new();
    let mut whole = |key: &'static str, name: ElementName| {
        let found = element(name).map(cache).unwrap_or_default();
        if found.is_whole() {
            return Some(found);
        }
        left_out.insert(key.to_owned(), missing(element(name)));
        None
    };
    let (texture, read_only) =
        (whole("memory.texture", ElementName::Texture), whole("memory.readOnly", ElementName::ReadOnly));
    // Readers take both constant caches or none.
    let both = whole("memory.constant.l1", ElementName::ConstantL1)
        .and_then(|l1| Some((l1, whole("memory.constant.l1.5", ElementName::ConstantL15)?)));
    let (constant_l1, constant_l15) = both.unzip();
    let l1 = element(ElementName::L1).map(cache).unwrap_or_default();
    let l2 = element(ElementName::L2).map(cache).unwrap_or_default();
    let rates_of = |name: ElementName| element(name).and_then(rates);
    let (l2_rates, main_rates) = (rates_of(ElementName::L2), rates_of(ElementName::Dram));
    let mut latency = BTreeMap::new();
    for (key, name, rates) in [("l2", ElementName::L2, &l2_rates), ("main", ElementName::Dram, &main_rates)] {
        let alone = if rates.is_none() { element(name).and_then(latency_of) } else { None };
        if let Some(alone) = alone {
            latency.insert(key, alone);
            let why = format!(
                "{}, and readers expect a latency here only together with the bandwidths: see strata.latency",
                element(name).map_or_else(String::new, without_rates)
            );
            left_out.insert(format!("memory.{key}.latency"), why);
        }
    }
    let caches = [
        ("memory.l1", ElementName::L1),
        ("memory.l2", ElementName::L2),
        ("memory.texture", ElementName::Texture),
        ("memory.readOnly", ElementName::ReadOnly),
        ("memory.constant.l1", ElementName::ConstantL1),
        ("memory.constant.l1.5", ElementName::ConstantL15),
    ];
    for (key, name) in caches {
        // Of a cache that is left out as a whole, one reason is there already.
        if !left_out.contains_key(key) {
            left_out.extend(gaps(key, name, element(name)));
        }
    }
    Mt4g {
        compute: Compute {
            max_blocks_per_multi_processor: facts.max_blocks_per_multiprocessor,
            max_threads_per_block: facts.max_threads_per_block,
            max_threads_per_multi_processor: facts.max_threads_per_multiprocessor,
            multi_processor_count: facts.multiprocessors,
            number_of_cores_per_multi_processor: facts.cores_per_multiprocessor,
            regs_per_block: facts.registers_per_block,
            regs_per_multi_processor: facts.registers_per_multiprocessor,
            warp_size: facts.warp_size,
        },
        general: General {
            clock_rate: Count { unit: "kHz", value: facts.clock_khz.into() },
            compute_capability: Capability { major: facts.compute_capability.0, minor: facts.compute_capability.1 },
            name: facts.name.clone(),
            vendor: "NVIDIA",
        },
        memory: Memory {
            constant: Constant { l1: constant_l1, l15: constant_l15, total_const_mem: bytes(facts.constant_memory) },
            l1: L1 { cache: l1, global: facts.global_l1_cache, local: facts.local_l1_cache },
            l2: L2 {
                fetch_granularity: l2.fetch_granularity,
                line_size: l2.line_size,
                miss_penalty: l2.miss_penalty,
                segment_size: l2.size,
                size: bytes(facts.l2_size),
                rates: l2_rates,
            },
            main: Main {
                memory_bus_width: Count { unit: "bit", value: facts.memory_bus_bits.into() },
                memory_clock_rate: Count { unit: "kHz", value: facts.memory_clock_khz.into() },
                total_global_mem: bytes(facts.total_memory),
                rates: main_rates,
            },
            read_only,
            shared: Shared {
                latency: element(ElementName::Shared).and_then(latency_of),
                reserved_shared_mem_per_block: facts.shared_reserved_per_block.map(bytes),
                shared_mem_per_block: bytes(facts.shared_per_block),
                shared_mem_per_multi_processor: bytes(facts.shared_per_multiprocessor),
            },
            texture,
        },
        meta: Meta { driver: driver(&facts.driver_api), timestamp: topology.run.started.clone() },
        strata: Ours {
            version: env!("CARGO_PKG_VERSION"),
            simulated: topology.run.simulated,
            replayed_from: topology.replayed_from.clone(),
            latency,
            left_out,
        },
    }
}

fn bytes(value: u64) -> Count {
    Count { unit: "bytes", value }
}

/// CUDA's number of a version such as `13.0`.
fn driver(version: &str) -> Option<u32> {
    let (major, minor) = version.split_once('.')?;
    major.parse::<u32>().ok()?.checked_mul(1000)?.checked_add(minor.parse::<u32>().ok()?.checked_mul(10)?)
}

fn size(element: &Element, key: Key<InBytes>) -> Option<Size> {
    let of = |size: u64, confidence| Size { confidence, method: METHOD, size, unit: "bytes" };
    if let Some(InBytes(size)) = element.get(key) {
        return Some(of(*size, None));
    }
    // One byte more than the largest that was tried, and no confidence: MT4G's word for "more than that".
    Some(of((element.finding(key)?.low? + 1.0) as u64, Some(0.0)))
}

fn latency_of(element: &Element) -> Option<Latency> {
    let Cycles(mean) = *element.get(LATENCY_CYCLES)?;
    Some(Latency { mean, method: METHOD, unit: "cycles" })
}

/// Latency and bandwidths, if all of them are known.
fn rates(element: &Element) -> Option<Rates> {
    let of = |key: Key<BytesPerSecond>| {
        let BytesPerSecond(rate) = *element.get(key)?;
        Some(Quantity { unit: "GiB/s", value: rate / GIB as f64 })
    };
    Some(Rates {
        latency: latency_of(element)?,
        read_bandwidth: of(READ_BANDWIDTH)?,
        write_bandwidth: of(WRITE_BANDWIDTH)?,
    })
}

/// Why there is not every bandwidth that readers need.
fn without_rates(element: &Element) -> String {
    let missing = [READ_BANDWIDTH, WRITE_BANDWIDTH].into_iter().find(|key| element.get(*key).is_none());
    let what = missing.map_or("bandwidth", |key| Attribute::from(key).title());
    match missing.and_then(|key| element.finding(key)).and_then(|finding| finding.reason.as_deref()) {
        Some(reason) => format!("{what} is not known: {reason}"),
        None => "bandwidth was not asked for".into(),
    }
}

fn cache(element: &Element) -> Cache {
    let others = element.get(SHARED_WITH).map_or(&[][..], |elements| &elements.names);
    Cache {
        amount_per_multiprocessor: element.get(INSTANCES_PER_SM).copied(),
        fetch_granularity: size(element, FETCH_GRANULARITY),
        latency: latency_of(element),
        line_size: size(element, LINE_SIZE),
        miss_penalty: element.get(MISS_PENALTY).map(|penalty| Quantity { unit: "cycles", value: penalty.0 }),
        shared_with: others.iter().filter_map(|element| name(*element)).collect(),
        size: size(element, SIZE),
    }
}

/// MT4G's name of a cache.
fn name(element: ElementName) -> Option<&'static str> {
    Some(match element {
        ElementName::L1 => "L1",
        ElementName::Texture => "Texture",
        ElementName::ReadOnly => "Read Only",
        ElementName::ConstantL1 => "Constant L1",
        _ => return None,
    })
}

/// The keys of a cache that are not there, each with its reason.
fn gaps(key: &str, name: ElementName, element: Option<&Element>) -> Vec<(String, String)> {
    let there = element.map(cache).unwrap_or_default();
    let is_l2 = name == ElementName::L2;
    let keys: [(&str, bool, Attribute); 6] = [
        (if is_l2 { "segmentSize" } else { "size" }, there.size.is_some(), SIZE.into()),
        ("fetchGranularity", there.fetch_granularity.is_some(), FETCH_GRANULARITY.into()),
        ("lineSize", there.line_size.is_some(), LINE_SIZE.into()),
        ("missPenalty", there.miss_penalty.is_some(), MISS_PENALTY.into()),
        // The device has one L2, and its latency has a reason of its own.
        ("latency", is_l2 || there.latency.is_some(), LATENCY_CYCLES.into()),
        ("amountPerMultiprocessor", is_l2 || there.amount_per_multiprocessor.is_some(), INSTANCES_PER_SM.into()),
    ];
    let reason = |attribute: Attribute| match element.map(|element| (element, element.finding(attribute))) {
        None => "not asked for".to_owned(),
        Some((element, None)) => absent(element).to_owned(),
        Some((_, Some(finding))) => finding.reason.clone().unwrap_or_else(|| "its kind has no key".to_owned()),
    };
    let missing = keys.into_iter().filter(|(_, is_there, _)| !is_there);
    missing.map(|(word, _, attribute)| (format!("{key}.{word}"), reason(attribute))).collect()
}

/// Why an attribute is not there at all.
fn absent(element: &Element) -> &'static str {
    match element.get(CACHED) {
        Some(false) => "loads by this path are not cached before the L2",
        _ => "it does not apply to this element, or was not asked for",
    }
}

/// Why an element is not there: the reason of the first attribute that readers need and that has none.
fn missing(element: Option<&Element>) -> String {
    let Some(element) = element else { return "not asked for".into() };
    let needed = [SIZE.into(), FETCH_GRANULARITY.into(), LATENCY_CYCLES.into()];
    let unknown = needed.into_iter().find(|attribute: &Attribute| element.known(*attribute).is_none());
    // The key in words; of a latency, its unit goes without saying.
    let what = unknown.map_or("it".to_owned(), |attribute| attribute.path().0.replace('_', " "));
    let finding = unknown.and_then(|attribute| element.finding(attribute));
    let reason = finding.and_then(|finding| finding.reason.as_deref()).unwrap_or("not asked for");
    format!("{what} is not known: {reason}")
}
