//! Which bits of an address choose the partition of the L2, and what near and far memory costs.

use std::sync::Arc;

use gpu_strata::Effort;
use proptest::prelude::*;
use serde_json::json;
use strata_bench::Bench;
use strata_gpu::Gpu;
use strata_infer::discover::{Request, discover};
use strata_model::experiment::{Experiment, LoadPath, Place};
use strata_model::samples::{Failure, Samples};
use strata_model::source::Source;
use strata_model::topology::{ElementName, Finding, RunInfo, Selection, Topology};
use strata_sim::Sim;
use strata_sim::machine::Machine;

use crate::sim;

/// The K20c with partitions of its L2: the keys of that table but for the costs of crossing.
fn machine(table: &str, far: u64) -> Machine {
    let text = Machine::named("k20c").expect("it comes with strata").text;
    let table = format!(
        "[cache.l2.partitions]\n{table}\ncopies = false\nfar_hit = {far}\nfar_memory = {}\n\n[shared]\n",
        far + 30
    );
    let text = text.replacen("[shared]\n", &table, 1);
    Machine::parse("k20c in partitions", &text).unwrap_or_else(|defect| panic!("{defect}\n{text}"))
}

/// A source whose memory is elsewhere each time when it is loaded from, if `moves`.
struct Moving<S> {
    source: S,
    moves: bool,
}

impl<S: Source> Source for Moving<S> {
    fn run(&mut self, batch: &[Experiment]) -> Vec<Result<Samples, Failure>> {
        let mut answers = self.source.run(batch);
        for (experiment, answer) in batch.iter().zip(&mut answers) {
            let is_there = experiment.place().is_some_and(|place| place.allocation == Place::UNMOVED);
            if let Ok(samples) = answer
                && self.moves
                && is_there
                && experiment.path() == Some(LoadPath::GlobalCg)
            {
                samples.base += 2 << 20;
            }
        }
        answers
    }
}

fn found(machine: &Machine, seed: u64, moves: bool) -> Topology {
    let mut gpu = Sim::new(machine.clone(), seed);
    let facts = gpu.facts().clone();
    let source = Bench::new(&mut gpu, Arc::default()).expect("a simulated machine takes the census");
    let wanted = ["l2.partition_hash", "dram.near_latency", "dram.far_latency"].map(|name| name.parse().unwrap());
    let question = Request { selection: Selection::of(wanted), effort: Effort::Quick, seed };
    let found = discover(&mut Moving { source, moves }, &facts, &question, &mut |_| {});
    found.into_topology(facts, RunInfo { simulated: true, ..RunInfo::default() }, None)
}

fn hash(found: &Topology) -> &Finding {
    sim::finding(found, ElementName::L2, "partition_hash")
}

fn reason(finding: &Finding) -> &str {
    assert!(!finding.is_known(), "{finding:?}");
    finding.reason.as_deref().unwrap_or_default()
}

/// Whether a latency's interval holds what the machine has.
fn holds(found: &Topology, side: &str, cycles: u64) {
    let finding = sim::finding(found, ElementName::Dram, side);
    let (low, high) = (finding.low.unwrap_or(f64::NAN), finding.high.unwrap_or(f64::NAN));
    assert!((low..=high).contains(&(cycles as f64)) && high - low < 1.0, "{side}: {cycles}, {finding:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// Masks of one bit or many, with bits above a page and without, of the lowest bits that a line leaves and of high ones.
    #[test]
    fn a_parity_of_address_bits_is_found(
        bits in 1u64..(1 << 14),
        above in 0u64..(1 << 13),
        far in 12u64..200,
        seed in 1u64..1000,
    ) {
        let low = bits << 7;
        let machine = machine(&format!("count = 2\nsms = \"01101\"\nparity = [{}]", low | above << 21), far);
        let found = found(&machine, seed, false);
        let expected = if low.is_power_of_two() {
            json!({ "kind": "bits", "bits": [low.trailing_zeros()] })
        } else {
            json!({ "kind": "parity", "masks": [format!("{low:#x}")] })
        };
        prop_assert_eq!(sim::json(hash(&found)), expected);
        let memory = machine.spec.path.global_cg.memory.get();
        holds(&found, "near_latency", memory);
        holds(&found, "far_latency", memory + far + 30);
    }
}

#[test]
fn four_partitions_take_two_parities() {
    // The masks are the same for whatever two of the three that tell the partitions apart a file has.
    for parity in ["[0x4b000, 0x2000]", "[0x49000, 0x2000]", "[0x4b000, 0x49000]"] {
        let machine = machine(&format!("count = 4\nsms = \"0012233110\"\nparity = {parity}"), 60);
        let expected = json!({ "kind": "parity", "masks": ["0x49000", "0x2000"] });
        assert_eq!(sim::json(hash(&found(&machine, 3, false))), expected, "{parity}");
    }
}

#[test]
fn what_is_no_parity_is_unknown() {
    for seed in 1..=3 {
        let machine = machine("count = 2\nsms = \"01\"\ngranule = \"4 KiB\"", 60);
        let found = found(&machine, seed, false);
        assert!(reason(hash(&found)).contains("no parities"), "{:?}", hash(&found));
        // Where a line is at home shows all the same.
        holds(&found, "far_latency", machine.spec.path.global_cg.memory.get() + 90);
    }
    // One partition; and two to which whole pages belong, which look like one.
    let one = Machine::named("k20c").expect("it comes with strata");
    for machine in [one, machine("count = 2\nsms = \"01\"\nparity = [0x600000]", 60)] {
        let found = found(&machine, 1, false);
        let of_dram = |side| sim::finding(&found, ElementName::Dram, side);
        for finding in [hash(&found), of_dram("near_latency"), of_dram("far_latency")] {
            assert!(reason(finding).contains("the same time"), "{finding:?}");
        }
    }
}

/// An H200's pages had other homes once an allocation was enlarged: near and far were mixed up.
#[test]
fn memory_that_was_moved_has_no_near_side() {
    let machine = machine("count = 2\nsms = \"01\"\nparity = [0x4b000]", 60);
    let found = found(&machine, 1, true);
    assert!(hash(&found).is_known());
    for side in ["near_latency", "far_latency"] {
        assert!(reason(sim::finding(&found, ElementName::Dram, side)).contains("was moved during the run"));
    }
}
