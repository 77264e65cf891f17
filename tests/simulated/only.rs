//! A discovery of attributes that are named: what stands in its result, what is measured for it, and what a recording says of it.

use std::path::Path;

use gpu_strata::{Answer, Device, Effort, Options, Recording};
use strata_model::attribute::{BANKS, HOST_TO_DEVICE_BANDWIDTH, INSTANCES_PER_SM, LATENCY_NS, SIZE};
use strata_model::experiment::{Experiment, LoadPath};
use strata_model::topology::{ElementName, Topology, Wanted};

/// A Kepler GPU, whose shared memory has two modes.
const KEPLER: &str = "sim:k20c";
/// A GPU whose machine file states the width of the bus to the host.
const WITH_A_BUS: &str = "sim:840m";

fn wanted(names: &[&str]) -> Vec<Wanted> {
    names.iter().map(|name| name.parse().unwrap_or_else(|error| panic!("{error}"))).collect()
}

fn options() -> Options<'static> {
    Options::effort(Effort::Quick)
}

fn discovered(device: &str, only: &[&str], options: Options<'_>) -> Topology {
    let mut device = Device::open(device).unwrap();
    device.discover_only(&wanted(only), options).unwrap().topology
}

/// What a result states: `element.attribute`, in its order.
fn stated(topology: &Topology) -> Vec<String> {
    let mut stated = Vec::new();
    for (name, element) in &topology.elements {
        stated.extend(element.findings().map(|(attribute, _)| format!("{name}.{attribute}")));
    }
    stated
}

/// The result of a replay.
fn replayed(path: &Path, only: &[&str]) -> Topology {
    match Recording::open(path).unwrap().replay_only(only).unwrap() {
        Answer::Discovery(found) => found.topology,
        Answer::Characterized(_) => panic!("not a discovery"),
    }
}

#[test]
fn an_attribute_that_is_named_stands_there_alone() {
    let of = |only: &[&str]| stated(&discovered(KEPLER, only, options()));
    assert_eq!(of(&["constant_l1.size"]), ["constant_l1.size"]);
    assert_eq!(of(&["constant_l1.latency"]), ["constant_l1.latency.cycles", "constant_l1.latency.ns"]);
    // Cycles are measured for the nanoseconds, and DRAM for the penalty.
    assert_eq!(of(&["local.latency.ns"]), ["local.latency.ns"]);
    assert_eq!(of(&["l2.miss_penalty"]), ["l2.miss_penalty"]);
}

#[test]
fn elements_and_attributes_can_be_mixed() {
    let found = discovered(KEPLER, &["shared.banks", "local", "dram.size", "shared.latency.cycles"], options());
    let expected = [
        "shared.latency.cycles",
        "shared.banks",
        "local.cached",
        "local.latency.cycles",
        "local.latency.ns",
        "dram.size",
    ];
    assert_eq!(stated(&found), expected);
    assert_eq!(found.element(ElementName::Shared).get(BANKS), Some(&32));
    assert_eq!(found.run.only, wanted(&["shared.banks", "local", "dram.size", "shared.latency.cycles"]));
    assert_eq!(found.run.warnings, Vec::<String>::new());
}

/// What is not asked for is not measured.
#[test]
fn an_attribute_takes_fewer_experiments_than_its_element() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.strata");
    let measured = |only: &str| {
        discovered(KEPLER, &[only], options().record(&path));
        let recording = Recording::open(&path).unwrap();
        recording.experiments().map(|(_, experiment, _)| experiment.clone()).collect::<Vec<Experiment>>()
    };
    let (attribute, element) = (measured("constant_l1.latency"), measured("constant_l1"));
    assert!(2 * attribute.len() < element.len(), "{} and {}", attribute.len(), element.len());
    assert!(attribute.iter().all(|experiment| element.contains(experiment)));
    // The latency of the L1 needs its capacity, and nothing of sharers, instances, TLBs or bandwidth.
    let plain = |experiment: &Experiment| match experiment {
        Experiment::Clock(_) => true,
        Experiment::Chase(chase) => matches!(chase.path, LoadPath::GlobalCa | LoadPath::GlobalCg),
        _ => false,
    };
    let latency = measured("l1.latency");
    assert!(latency.iter().all(plain), "{:?}", latency.iter().find(|experiment| !plain(experiment)));
}

#[test]
fn an_attribute_says_by_itself_what_it_says_among_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.strata");
    let whole = discovered(KEPLER, &["constant_l1", "shared", "local", "l2.miss_penalty"], options().record(&path));
    for (name, element) in &whole.elements {
        for (attribute, finding) in element.findings() {
            let alone = replayed(&path, &[&format!("{name}.{attribute}")]);
            assert_eq!(alone.element(*name).finding(attribute), Some(finding), "{name}.{attribute}");
            assert_eq!(stated(&alone), [format!("{name}.{attribute}")]);
        }
    }
}

#[test]
fn a_replay_asks_what_the_run_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.strata");
    let found = discovered(KEPLER, &["constant_l1.size", "dram"], options().record(&path));
    let again = replayed(&path, &[]);
    assert_eq!((&again.elements, &again.run.only), (&found.elements, &found.run.only));

    let less = replayed(&path, &["dram.latency"]);
    assert_eq!(stated(&less), ["dram.latency.cycles", "dram.latency.ns"]);
    assert_eq!(less.run.only, wanted(&["dram.latency"]));

    // What was not measured is unknown.
    let more = replayed(&path, &["constant_l1.size", "constant_l1.instances_per_sm"]);
    let constant = more.element(ElementName::ConstantL1);
    assert_eq!(constant.finding(SIZE), found.element(ElementName::ConstantL1).finding(SIZE));
    let reason = constant.finding(INSTANCES_PER_SM).unwrap().reason.as_deref();
    assert!(reason.unwrap().contains("does not contain this experiment"), "{reason:?}");
}

/// Without a word of bandwidth: the one that is named is measured, those of the whole element are not, and a replay knows.
#[test]
fn a_bandwidth_that_is_named_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.strata");
    let only = ["host", "host.host_to_device_bandwidth"];
    let found = discovered(WITH_A_BUS, &only, options().record(&path));
    let expected = ["host.latency.cycles", "host.latency.ns", "host.host_to_device_bandwidth"];
    assert_eq!(stated(&found), expected);
    assert!(found.element(ElementName::Host).get(HOST_TO_DEVICE_BANDWIDTH).is_some());
    assert_eq!(replayed(&path, &[]).elements, found.elements);

    let alone = discovered(WITH_A_BUS, &only[1..], options());
    assert_eq!(stated(&alone), expected[2..]);
    let stream = replayed(&path, &["host.read_bandwidth"]);
    assert!(stream.element(ElementName::Host).findings().all(|(_, finding)| !finding.is_known()));
}

#[test]
fn what_a_device_does_not_have_is_said() {
    let found = discovered(WITH_A_BUS, &["shared.bank_modes", "shared.size"], options());
    assert_eq!(stated(&found), ["shared.size"]);
    let [warning] = found.run.warnings.as_slice() else { panic!("{:?}", found.run.warnings) };
    assert!(warning.starts_with("shared.bank_modes was asked for, and is not there: "), "{warning}");
    // An element that may be without an attribute is no reason to warn.
    assert_eq!(discovered(WITH_A_BUS, &["shared"], options()).run.warnings, Vec::<String>::new());
}

#[test]
fn an_attribute_can_be_named_by_its_key() {
    let only = [Wanted::attribute(ElementName::Local, LATENCY_NS), ElementName::Dram.into()];
    let found = Device::open(KEPLER).unwrap().discover_only(&only, options()).unwrap();
    let of_dram = ["dram.size", "dram.latency.cycles", "dram.latency.ns", "dram.near_latency", "dram.far_latency"];
    assert_eq!(stated(&found.topology), [&["local.latency.ns"], &of_dram[..]].concat());
    assert!(found.topology.element(ElementName::Local).known(LATENCY_NS).is_some());
}
