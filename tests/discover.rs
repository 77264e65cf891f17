//! What discovery makes of named machines, of hostile ones, and of sources that fail.

mod model;

use model::expect::compare;
use model::machine::{Chaos, Machine};
use model::{Model, element, finding, topology};
use strata_model::attribute::{CACHED, SIZE};
use strata_model::experiment::{Kernel, LoadPath};
use strata_model::samples::Failure;
use strata_model::topology::{ElementName, Topology};

/// Every attribute is as the machine has it; none that can be known is unknown.
#[track_caller]
fn exact(machine: &Machine) -> Topology {
    let topology = topology(machine);
    let rows = machine.expected();
    let (wrong, unknown) = compare(&topology, &rows);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let unknown: Vec<String> = unknown.iter().map(|(row, why)| format!("{}.{}: {why}", row.0, row.1)).collect();
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    topology
}

#[test]
fn a_unified_cache() {
    let topology = exact(&Machine::unified());
    assert!(!topology.is_partial());
}

#[test]
fn a_cache_of_its_own_for_each_path_and_four_for_textures() {
    exact(&Machine::split());
}

#[test]
fn two_instances_of_one_cache() {
    exact(&Machine::two_instances());
}

#[test]
fn a_cache_that_keeps_what_was_hit() {
    exact(&Machine::protecting());
}

#[test]
fn global_loads_that_no_l1_caches() {
    let topology = topology(&Machine::uncached());
    assert_eq!(element(&topology, ElementName::L1).get(CACHED), Some(&false));
    for attribute in ["size", "line_size", "fetch_granularity", "latency.cycles", "shared_with", "instances_per_sm"] {
        let finding = finding(&topology, ElementName::L1, attribute);
        let reason = finding.reason.as_deref().unwrap_or_default();
        assert!(reason.contains("not cached before the L2"), "{attribute}: {finding:?}");
    }
    assert_eq!(finding(&topology, ElementName::Texture, "size").number(), Some(12.0 * 1024.0));
    assert_eq!(finding(&topology, ElementName::Texture, "instances_per_sm").number(), Some(4.0));
}

#[test]
fn half_an_l2_that_keeps_copies_of_the_other_half() {
    let machine = Machine::partitioned();
    let topology = topology(&machine);
    let size = finding(&topology, ElementName::L2, "size");
    let share = size.number().unwrap() / machine.l2.size() as f64;
    assert!((0.3..=0.7).contains(&share), "{share} of the stated size");
    let note = size.note.as_deref().unwrap_or_default();
    assert!(note.contains("the driver states") && note.contains("far part"), "{note}");
}

/// Whatever a machine does, what is stated of its lines, sectors, sharing and number must be true.
#[track_caller]
fn never_wrong(machine: &Machine) {
    let topology = topology(machine);
    let rows: Vec<_> = machine.expected().into_iter().filter(|row| !NUMBERS.contains(&row.1)).collect();
    let (wrong, _) = compare(&topology, &rows);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!topology.is_partial(), "unknown is no failure");
}

/// Attributes that are measured on a scale, where chaos may shift the value.
const NUMBERS: [&str; 7] =
    ["size", "thrash_size", "conflicts", "miss_penalty", "latency.cycles", "latency.ns", "cached"];

#[test]
fn loads_that_take_any_time_at_all_are_not_made_into_caches() {
    let machine = Machine { chaos: Chaos::NoPlateau, ..Machine::unified() };
    let topology = topology(&machine);
    for name in [ElementName::L1, ElementName::Texture, ElementName::ConstantL1, ElementName::L2] {
        for attribute in ["size", "line_size"] {
            let finding = finding(&topology, name, attribute);
            assert!(!finding.is_known() && finding.reason.is_some(), "{name}.{attribute}: {:?}", finding.value);
        }
    }
}

#[test]
fn spikes_in_a_tenth_of_the_loads_are_no_misses() {
    never_wrong(&Machine { spike_every: 10, ..Machine::unified() });
}

#[test]
fn misses_that_come_and_go_mislead_nobody() {
    never_wrong(&Machine { chaos: Chaos::Flicker(0.05), ..Machine::split() });
}

#[test]
fn a_source_that_fails_gives_failed_findings() {
    let topology = Model::refusing(Machine::unified(), |_| Some(Failure::failed("the bus is on fire"))).discover(&[]);
    assert!(topology.is_partial());
    let size = finding(&topology, ElementName::L1, "size");
    assert!(size.failed && size.reason.as_deref() == Some("the bus is on fire"), "{size:?}");
    // What the driver says is still said.
    assert!(finding(&topology, ElementName::Shared, "size").is_known());
}

#[test]
fn what_was_not_recorded_is_unknown_and_no_failure() {
    let topology = Model::refusing(Machine::unified(), |_| Some(Failure::NotRecorded)).discover(&[]);
    assert!(!topology.is_partial());
    let size = finding(&topology, ElementName::L2, "size");
    assert!(size.reason.as_deref().unwrap().contains("does not hold this experiment"), "{size:?}");
}

#[test]
fn one_kernel_that_fails_leaves_the_others() {
    let broken = |path| {
        move |e: &strata_model::experiment::Experiment| {
            (e.path == path && e.kernel != Kernel::Clock).then(|| Failure::failed("rejected"))
        }
    };
    let topology = Model::refusing(Machine::unified(), broken(LoadPath::Texture)).discover(&[]);
    assert!(topology.is_partial());
    assert!(finding(&topology, ElementName::Texture, "size").failed);
    assert_eq!(finding(&topology, ElementName::L1, "size").number(), Some(224.0 * 1024.0));
    assert_eq!(finding(&topology, ElementName::ConstantL1, "size").number(), Some(2048.0));
}

#[test]
fn only_what_is_asked_for_is_measured() {
    let mut model = Model::refusing(Machine::unified(), |_| None);
    let topology = model.discover(&[ElementName::L2]);
    assert_eq!(topology.elements.len(), 1);
    assert!(element(&topology, ElementName::L2).get(SIZE).is_some());
    let paths = [LoadPath::GlobalCg, LoadPath::Atomic];
    assert!(model.asked.iter().all(|e| paths.contains(&e.path)), "other paths were measured");
}
