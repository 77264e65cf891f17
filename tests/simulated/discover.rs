//! What discovery makes of sources that fail, and of a request for a part of the GPU. What it finds when nothing fails is
//! for `recovery` and `random_machines`.

use gpu_strata::Effort;
use serde_json::Value;
use strata_model::experiment::{Experiment, LoadPath};
use strata_model::samples::Failure;
use strata_model::topology::ElementName;
use strata_sim::machine::Machine;

use crate::sim::{self, Outcome};

/// Discovery of a Kepler GPU with all that `refuse` does not refuse.
fn discovered(only: &[ElementName], refuse: impl FnMut(&Experiment) -> Option<Failure>) -> Outcome {
    let machine = Machine::named("k20c").expect("it comes with strata");
    sim::refusing(&machine, only, refuse)
}

#[test]
fn a_source_that_fails_gives_failed_findings() {
    let topology = discovered(&[], |_| Some(Failure::failed("the bus is on fire"))).topology;
    assert!(topology.is_partial());
    let size = sim::finding(&topology, ElementName::ConstantL1, "size");
    assert!(size.failed && size.reason.as_deref() == Some("the bus is on fire"), "{size:?}");
    // What the driver says is still said.
    assert!(sim::finding(&topology, ElementName::Shared, "size").is_known());
}

#[test]
fn what_was_not_recorded_is_unknown_and_no_failure() {
    let topology = discovered(&[], |_| Some(Failure::NotRecorded)).topology;
    assert!(!topology.is_partial());
    let size = sim::finding(&topology, ElementName::L2, "size");
    assert!(size.reason.as_deref().unwrap().contains("does not contain this experiment"), "{size:?}");
}

#[test]
fn one_kernel_that_fails_leaves_the_others() {
    let broken = |e: &Experiment| (e.path() == Some(LoadPath::Texture)).then(|| Failure::failed("rejected"));
    let topology = discovered(&[ElementName::Texture, ElementName::ConstantL1], broken).topology;
    assert!(topology.is_partial());
    assert!(sim::finding(&topology, ElementName::Texture, "size").failed);
    assert_eq!(sim::finding(&topology, ElementName::ConstantL1, "size").number(), Some(2048.0));
}

#[test]
fn only_what_is_asked_for_is_measured() {
    let outcome = discovered(&[ElementName::Shared], |_| None);
    assert_eq!(outcome.topology.elements.len(), 1);
    // The clock has no path. Other elements would compare themselves with another path.
    let measured: Vec<LoadPath> = outcome.seen.iter().filter_map(|(e, _)| e.path()).collect();
    assert!(!measured.is_empty() && measured.iter().all(|path| *path == LoadPath::Shared), "{measured:?}");
}

#[test]
fn far_partitions_do_not_pass_for_misses_of_translation() {
    let text = Machine::named("a100").expect("it comes with strata").text;
    let all = [(3, 40, 30), (4, 280, 90), (1, 149, 30), (2, 149, 30), (5, 90, 17)];
    for &(seed, far, penalty) in sim::sample(2, &all) {
        let text = text.replace("far_memory = 149", &format!("far_memory = {far}"));
        let machine = Machine::parse("a100", &text.replacen("penalty = 30", &format!("penalty = {penalty}"), 1));
        let only = [ElementName::TlbL1];
        let found = sim::discovery(&machine.expect("it is valid"), Effort::Quick, seed, &only).topology;
        let spectrum = sim::json(sim::finding(&found, ElementName::TlbL1, "spectrum"));
        let rows = spectrum.as_array().unwrap_or_else(|| panic!("seed {seed}: {spectrum}"));
        // Of data that the memory of the SM's own partition has, and of data in the L2.
        for (data, cycles) in [("memory", 492), ("l2", 223)] {
            let of = |translation: &str| {
                let is = |row: &&Value| row["path"] == "cg" && row["data"] == data && row["translation"] == translation;
                rows.iter().find(is).and_then(|row| row["cycles"].as_f64())
            };
            let found = (of("hit"), of("l1 miss"));
            let expected = (Some(f64::from(cycles)), Some(f64::from(cycles + penalty)));
            assert_eq!(found, expected, "seed {seed}, far memory {far} cycles: {data}; {spectrum}");
        }
    }
}
