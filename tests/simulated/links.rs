//! Links between simulated GPUs, as `strata links` measures them: latencies, rates and what is kept are what the machine files say.

use std::path::{Path, PathBuf};

use gpu_strata::{Answer, Effort, LinkOptions, Recording, discover_links};
use strata_model::attribute::{
    ATOMIC_LATENCY, BOTH_WAYS_BANDWIDTH, FROM_PEER_BANDWIDTH, KEPT_BY, Key, LATENCY_CYCLES, READ_BANDWIDTH,
    TO_PEER_BANDWIDTH, Typed, WRITE_BANDWIDTH,
};
use strata_model::links::Links;
use strata_model::topology::{Element, ElementName};

use crate::sim;

/// The smallest machine, whose SMs keep no global loads, and its clock in hertz.
const UNCACHED: (&str, f64) = (include_str!("../../machines/840m.toml"), 1.124e9);
/// The smallest one whose SMs do.
const CACHED: &str = include_str!("../../machines/quadro2000.toml");

/// A machine file with a link.
fn linked(machine: &str, link: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    assert!(machine.contains("\n[memory]\n"));
    std::fs::write(file.path(), machine.replacen("\n[memory]\n", &format!("\n[link]\n{link}\n\n[memory]\n"), 1))
        .unwrap();
    file
}

/// What is found of the links between two such machines.
fn measured(machine: &str, link: &str, only: &str, seed: u64, record: Option<&Path>) -> Links {
    let file = linked(machine, link);
    let device = format!("sim:{}", file.path().display());
    let mut options = LinkOptions::default();
    options.only = only.split(',').map(|name| name.parse().unwrap()).collect();
    (options.effort, options.seed) = (Effort::Quick, seed);
    options.record = record.map(Into::into);
    discover_links(&[device.clone(), device], options).unwrap().links
}

/// Holds a value against the interval of a finding.
fn holds(element: &Element, key: Key<impl Typed>, is: f64, seed: u64) {
    let finding = element.finding(key).unwrap();
    let inside = finding.low.zip(finding.high).is_some_and(|(low, high)| low <= is && is <= high);
    assert!(inside, "seed {seed}: {}: {finding:?} for {is}", key.key());
}

#[test]
fn a_link_carries_what_the_machine_file_says() {
    let only = "peer_dram.read_bandwidth,peer_dram.write_bandwidth,peer_dram.from_peer_bandwidth,\
                peer_dram.to_peer_bandwidth,peer_dram.both_ways_bandwidth";
    let (machine, clock) = UNCACHED;
    for &seed in sim::sample(1, &[1, 2, 3]) {
        let width = 12.0 + seed as f64;
        let link = format!("cycles = 900\nmemory_cycles = 1300\nbandwidth = {width}");
        let links = measured(machine, &link, only, seed, None);
        assert_eq!(links.measured().count(), 2);
        for (_, topology) in links.measured() {
            let element = &topology.elements[&ElementName::PeerDram];
            for (key, ways) in [
                (READ_BANDWIDTH, 1.0),
                (WRITE_BANDWIDTH, 1.0),
                (FROM_PEER_BANDWIDTH, 1.0),
                (TO_PEER_BANDWIDTH, 1.0),
                (BOTH_WAYS_BANDWIDTH, 2.0),
            ] {
                holds(element, key, ways * width * clock, seed);
            }
        }
    }
}

#[test]
fn latencies_of_a_link_and_what_keeps_its_lines_are_those_of_the_machine_file() {
    let only = "peer_l2.latency,peer_l2.atomic_latency,peer_l2.kept_by,peer_dram.latency";
    for (number, &seed) in sim::sample(2, &[1, 2, 3, 4]).iter().enumerate() {
        let cached = number.is_multiple_of(2);
        let (l2, memory) = (900.0 + 10.0 * seed as f64, 1300.0 + 20.0 * seed as f64);
        let atomic = 40 * seed;
        let link = format!("cycles = {l2}\nmemory_cycles = {memory}\natomic = {atomic}\ncached = {cached}");
        let folder = tempfile::tempdir().unwrap();
        let links = measured(CACHED, &link, only, seed, Some(folder.path()));
        for (_, topology) in links.measured() {
            let [near, far] = [ElementName::PeerL2, ElementName::PeerDram].map(|name| &topology.elements[&name]);
            holds(near, LATENCY_CYCLES, l2, seed);
            holds(near, ATOMIC_LATENCY, l2 + atomic as f64, seed);
            holds(far, LATENCY_CYCLES, memory, seed);
            let kept: &[ElementName] = if cached { &[ElementName::L1] } else { &[] };
            assert_eq!(near.get(KEPT_BY).unwrap().names, kept, "seed {seed}");
        }
        // A recording of a link gives the same again, and knows the other GPU.
        let recordings = files(folder.path());
        assert_eq!(recordings.len(), 2, "{recordings:?}");
        let Answer::Discovery(again) = Recording::open(&recordings[0]).unwrap().replay().unwrap() else {
            panic!("a link is a discovery")
        };
        let first = links.links[0].topology.as_ref().unwrap();
        assert_eq!(again.topology.elements, first.elements);
        assert!(first.device.peer.is_some());
        assert_eq!(again.topology.device.peer, first.device.peer);
    }
}

/// The files in a folder, at any depth, in the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect();
    found.sort();
    found
}

#[test]
fn what_a_link_lacks_has_a_reason() {
    let only = "peer_dram.from_peer_bandwidth";
    let links = measured(UNCACHED.0, "cycles = 900\nmemory_cycles = 1300", only, 1, None);
    let (_, topology) = links.measured().next().unwrap();
    let finding = topology.elements[&ElementName::PeerDram].finding(FROM_PEER_BANDWIDTH).unwrap();
    let reason = finding.reason.as_deref().unwrap();
    assert!(reason.contains("does not state its `link.bandwidth`"), "{reason}");

    let refused = |devices: &[&str], only: &[&str]| {
        let mut options = LinkOptions::default();
        options.only = only.iter().map(|name| name.parse().unwrap()).collect();
        let devices: Vec<String> = devices.iter().map(|name| (*name).to_owned()).collect();
        discover_links(&devices, options).unwrap_err().to_string()
    };
    for (devices, only, why) in [
        (&["sim:840m", "sim:840m"][..], &[][..], "describes no link"),
        (&["sim:840m"], &[], "name two GPUs"),
        (&["sim:h200", "sim:h200"], &["l2.size"], "`l2.size` is nothing of a link"),
        (&["sim:h200", "cuda:0"], &[], ""),
    ] {
        let said = refused(devices, only);
        assert!(said.contains(why), "{said}");
    }
}
