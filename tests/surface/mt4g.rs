//! `--format mt4g`: its keys are MT4G's, and what readers of it need is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use strata_model::attribute::{CACHED, Key, READ_BANDWIDTH, SIZE, WRITE_BANDWIDTH};
use strata_model::topology::{Element, ElementName, Finding, Topology};
use strata_model::units::BytesPerSecond;
use strata_report::report;

fn read(name: &str) -> Topology {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings").join(name);
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

fn recorded() -> Topology {
    read("2026-11-21-h200.json")
}

fn with_bandwidth() -> Topology {
    read("2026-11-25-h200-bandwidth.json")
}

fn written(topology: &Topology) -> Value {
    serde_json::from_str(&report::json(&report::mt4g(topology)).unwrap()).unwrap()
}

/// Paths of everything in a document that is no object.
fn keys(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    match value.as_object() {
        Some(object) => object.iter().for_each(|(key, inner)| keys(inner, &format!("{at}/{key}"), into)),
        None => drop(into.insert(at.to_owned())),
    }
}

/// What sys-sage 1.x reads of any result without asking whether it is there.
const READ: [&str; 18] = [
    "/general/name",
    "/general/vendor",
    "/general/computeCapability/major",
    "/general/computeCapability/minor",
    "/general/clockRate/value",
    "/compute/multiProcessorCount",
    "/compute/numberOfCoresPerMultiProcessor",
    "/compute/maxThreadsPerBlock",
    "/compute/warpSize",
    "/compute/maxThreadsPerMultiProcessor",
    "/compute/maxBlocksPerMultiProcessor",
    "/memory/main/totalGlobalMem/value",
    "/memory/main/memoryClockRate/value",
    "/memory/main/memoryBusWidth/value",
    "/memory/l2/size/value",
    "/memory/constant/totalConstMem/value",
    "/memory/shared/sharedMemPerBlock/value",
    "/memory/shared/sharedMemPerMultiProcessor/value",
];
/// What it reads of a cache that is there at all.
const OF_A_CACHE: [&str; 3] = ["size/size", "fetchGranularity/size", "latency/mean"];

/// What sys-sage would miss.
fn missed(document: &Value) -> Vec<String> {
    let mut missed: Vec<String> =
        READ.iter().filter(|path| document.pointer(path).is_none()).map(|path| (*path).to_owned()).collect();
    for cache in ["/memory/texture", "/memory/readOnly", "/memory/constant/l1", "/memory/constant/l1.5"] {
        if document.pointer(cache).is_some() {
            let needed = OF_A_CACHE.iter().map(|key| format!("{cache}/{key}"));
            missed.extend(needed.filter(|path| document.pointer(path).is_none()));
        }
    }
    let constant = &document["memory"]["constant"];
    if constant.get("l1").is_some() != constant.get("l1.5").is_some() {
        missed.push("one of the two constant caches".into());
    }
    // Where there is a latency, there are bandwidths.
    for memory in ["l2", "main"] {
        let memory = &document["memory"][memory];
        let bandwidths = ["readBandwidth", "writeBandwidth"].iter().all(|key| memory.get(*key).is_some());
        if memory.get("latency").is_some() != bandwidths {
            missed.push("a latency or a bandwidth".into());
        }
    }
    missed
}

#[test]
fn what_readers_need_is_there() {
    let whole = recorded();
    assert_eq!(missed(&written(&whole)), Vec::<String>::new());
    // Whatever is not known: nothing half there.
    for name in whole.elements.keys() {
        let mut less = whole.clone();
        less.elements.remove(name);
        assert_eq!(missed(&written(&less)), Vec::<String>::new(), "without {name}");
        let mut less = whole.clone();
        less.elements.get_mut(name).unwrap().set(SIZE, Finding::unknown("nobody looked"));
        assert_eq!(missed(&written(&less)), Vec::<String>::new(), "{name} without a size");
    }
}

#[test]
fn values_are_those_of_the_findings() {
    let document = written(&recorded());
    let is = |path: &str, value: Value| assert_eq!(document.pointer(path), Some(&value), "{path}");
    is("/memory/l1/size/size", 246_784.into());
    is("/memory/l1/size/unit", "bytes".into());
    is("/memory/l1/latency/mean", 32.0.into());
    is("/memory/l1/sharedWith", serde_json::json!(["Texture", "Read Only"]));
    is("/memory/l2/size/value", (60u64 << 20).into());
    is("/memory/l2/segmentSize/size", 29_753_344.into());
    is("/memory/constant/l1.5/size/size", 65_537.into());
    is("/memory/constant/l1.5/size/confidence", 0.0.into());
    is("/meta/driver", 13_000.into());
    is("/strata/latency/l2/mean", 281.53.into());
    // An interval is no confidence, and an empty list is left out as there.
    assert_eq!(document.pointer("/memory/l1/size/confidence"), None);
    assert_eq!(document.pointer("/memory/constant/l1/sharedWith"), None);
    let mut less = recorded();
    less.elements.get_mut(&ElementName::Texture).unwrap().set(SIZE, Finding::unknown("nobody looked"));
    let left_out = &written(&less)["strata"]["leftOut"]["memory.texture"];
    assert_eq!(left_out, "size is not known: nobody looked");
}

#[test]
fn bandwidths_come_with_latencies() {
    let whole = with_bandwidth();
    let document = written(&whole);
    let gib =
        |element: ElementName, key: Key<BytesPerSecond>| whole.elements[&element].get(key).unwrap().0 / 1_073_741_824.0;
    let said = |path: &str| document.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}"));
    assert_eq!(said("/memory/l2/readBandwidth/value"), gib(ElementName::L2, READ_BANDWIDTH));
    assert_eq!(said("/memory/main/writeBandwidth/value"), gib(ElementName::Dram, WRITE_BANDWIDTH));
    assert_eq!(document["memory"]["main"]["readBandwidth"]["unit"], "GiB/s");
    assert!((270.0..300.0).contains(&said("/memory/l2/latency/mean")));
    assert_eq!(document["strata"]["latency"], serde_json::json!({}));
    // Without one of them, neither is there, and the reason is.
    let mut less = whole.clone();
    less.elements.get_mut(&ElementName::L2).unwrap().set(WRITE_BANDWIDTH, Finding::unknown("nobody looked"));
    let document = written(&less);
    assert_eq!(missed(&document), Vec::<String>::new());
    let why = document["strata"]["leftOut"]["memory.l2.latency"].as_str().unwrap();
    assert!(why.starts_with("Write bandwidth is not known: nobody looked, and readers"), "{why}");
    let why = &written(&recorded())["strata"]["leftOut"]["memory.main.latency"];
    assert!(why.as_str().unwrap().starts_with("bandwidth was not asked for, and readers"), "{why}");
}

/// Keys that a cache may have.
const MAY_HAVE: [&str; 6] =
    ["size", "fetchGranularity", "lineSize", "missPenalty", "latency", "amountPerMultiprocessor"];

/// What is missing of a cache that is there.
fn unexplained(document: &Value) -> Vec<String> {
    let mut missing = Vec::new();
    for cache in ["l1", "texture", "readOnly", "constant.l1", "constant.l1.5"] {
        let path = match cache.split_once('.') {
            Some((constant, level)) => format!("/memory/{constant}/{level}"),
            None => format!("/memory/{cache}"),
        };
        let Some(there) = document.pointer(&path) else { continue };
        let keys = MAY_HAVE.iter().filter(|key| there.get(**key).is_none());
        let reason = |key: &str| document["strata"]["leftOut"][format!("memory.{cache}.{key}")].as_str().is_some();
        missing.extend(keys.filter(|key| !reason(key)).map(|key| format!("{cache}.{key}")));
    }
    missing
}

#[test]
fn every_key_that_is_missing_has_a_reason() {
    let whole = recorded();
    assert_eq!(unexplained(&written(&whole)), Vec::<String>::new());
    let line = &written(&whole)["strata"]["leftOut"]["memory.constant.l1.5.lineSize"];
    assert_eq!(line, "the capacity is larger than a module can declare");
    // Loads by the L1 need not be cached: then nothing else is known of it.
    let mut less = whole.clone();
    less.elements.insert(ElementName::L1, Element::default().with(CACHED, Finding::measured(false, "by hand")));
    let document = written(&less);
    assert_eq!(unexplained(&document), Vec::<String>::new());
    assert_eq!(document["strata"]["leftOut"]["memory.l1.size"], "loads by this path are not cached before the L2");
    less.elements.remove(&ElementName::L1);
    assert_eq!(written(&less)["strata"]["leftOut"]["memory.l1.size"], "not asked for");
}

/// The folder of MT4G's results beside the checkout.
fn examples() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/mt4g-results");
    let found = std::env::var_os("STRATA_MT4G_RESULTS").map_or(beside, PathBuf::from);
    found.is_dir().then_some(found)
}

#[test]
fn keys_are_those_of_mt4g() {
    let Some(folder) = examples() else {
        eprintln!("SKIPPED: no results of MT4G beside the checkout (../shared/mt4g-results)");
        return;
    };
    let mut known = BTreeSet::new();
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|path| path.extension().is_some_and(|extension| extension == "json")) {
        let example: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(example.pointer("/general/computeCapability/major").map(Value::is_u64), Some(true));
        keys(&example, "", &mut known);
    }
    let mut ours = BTreeSet::new();
    for result in [recorded(), with_bandwidth()] {
        keys(&written(&result), "", &mut ours);
    }
    let new: Vec<&String> = ours.difference(&known).filter(|key| !key.starts_with("/strata/")).collect();
    assert!(new.is_empty() && ours.len() > 50, "MT4G has no {new:?}");
}
