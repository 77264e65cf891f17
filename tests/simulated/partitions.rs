//! Which bits of an address choose the partition of the L2, and what near and far memory costs.

use std::sync::Arc;

use gpu_strata::Effort;
use proptest::prelude::*;
use serde_json::json;
use strata_bench::Bench;
use strata_gpu::Gpu;
use strata_infer::discover::{Request, discover};
use strata_model::attribute::{SM_MAP, Value};
use strata_model::experiment::{Experiment, LoadPath, Place};
use strata_model::samples::{Failure, Samples};
use strata_model::source::Source;
use strata_model::topology::{ElementName, Finding, RunInfo, Selection, Topology, Wanted};
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

/// What becomes of the answers to chases over the memory whose homes are asked for.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    Nothing,
    /// What is loaded has another address than what the atomics were on.
    LoadsMove,
    /// The atomics of one SM are elsewhere.
    AtomicsMove,
    /// The L2 answers the loads in spite of the flush.
    LoadsHit,
    /// Every third atomic in the last quarter of the lines takes what it would on the other side.
    HomesSwap,
    /// All lines are as near to one partition as to the other.
    HomesBlur,
}

/// A source that changes answers.
struct Changing<S> {
    source: S,
    change: Change,
    /// Atomics that are near, and that are far, in cycles.
    atomics: [u32; 2],
}

impl<S> Changing<S> {
    fn change(&self, is_atomic: bool, sm: u32, samples: &mut Samples) {
        let [near, far] = self.atomics;
        let lap = samples.latencies.len() / 4;
        match self.change {
            Change::LoadsMove if !is_atomic => samples.base += 2 << 20,
            Change::AtomicsMove if is_atomic && sm == 0 => samples.base += 2 << 20,
            Change::LoadsHit if !is_atomic => samples.latencies.fill(near),
            Change::HomesSwap if is_atomic => {
                let last = samples
                    .latencies
                    .iter_mut()
                    .enumerate()
                    .filter(|(at, _)| at % lap >= lap * 3 / 4 && (at % lap).is_multiple_of(3));
                last.for_each(|(_, latency)| *latency = near + far - *latency);
            }
            Change::HomesBlur if is_atomic => samples.latencies.fill(near),
            _ => {}
        }
    }
}

impl<S: Source> Source for Changing<S> {
    fn run(&mut self, batch: &[Experiment]) -> Vec<Result<Samples, Failure>> {
        let mut answers = self.source.run(batch);
        for (experiment, answer) in batch.iter().zip(&mut answers) {
            let place = experiment.place().filter(|place| place.allocation == Place::UNMOVED);
            if let (Ok(samples), Some(place)) = (answer, place) {
                self.change(experiment.path() == Some(LoadPath::Atomic), place.sm.unwrap_or_default(), samples);
            }
        }
        answers
    }
}

fn found(machine: &Machine, seed: u64) -> Topology {
    changed(machine, seed, Change::Nothing)
}

fn changed(machine: &Machine, seed: u64, change: Change) -> Topology {
    let mut gpu = Sim::new(machine.clone(), seed);
    let facts = gpu.facts().clone();
    let source = Bench::new(&mut gpu, Arc::default()).expect("a simulated machine takes the census");
    let names = ["l2.partition_hash", "l2.near_latency", "l2.far_latency", "dram.near_latency", "dram.far_latency"];
    let wanted = names.map(|name| name.parse().unwrap());
    let question = Request { selection: Selection::of(wanted), effort: Effort::Quick, seed };
    let mut source = Changing { source, change, atomics: ATOMICS };
    let found = discover(&mut source, &facts, &question, &mut |_| {});
    let found = found.into_topology(facts, RunInfo { simulated: true, ..RunInfo::default() }, None);
    if change != Change::Nothing {
        let latency = |side| sim::finding(&found, ElementName::L2, side).number();
        assert_eq!([latency("near_latency"), latency("far_latency")], ATOMICS.map(|cycles| Some(f64::from(cycles))));
    }
    found
}

/// Atomics on near and far lines of the machine whose answers are changed, with the overhead of timing.
const ATOMICS: [u32; 2] = [230, 290];

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
    #![proptest_config(ProptestConfig { cases: sim::sample(4, &[(); 12]).len() as u32, failure_persistence: None, ..ProptestConfig::default() })]

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
        let found = found(&machine, seed);
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

/// Every SM is as far from the lines of each partition as the machine has it, whatever the seed.
#[test]
fn each_sm_has_its_latency_to_each_partition() {
    const FAR: u64 = 60;
    let machine = machine("count = 2\nsms = \"01101\"\nparity = [0x4b000]", FAR);
    for seed in 1..=3 {
        let found =
            sim::discovery(&machine, Effort::Quick, seed, &[Wanted::attribute(ElementName::L2, SM_MAP)]).topology;
        let finding = sim::finding(&found, ElementName::L2, "sm_map");
        let Some(Value::SmMap(map)) = &finding.value else { panic!("seed {seed}: {finding:?}") };
        for place in &map.0 {
            let own = place.partition.expect("the K20c has no noise");
            let [near, far] = [own, 1 - own].map(|to| place.latency[to as usize]);
            assert_eq!((near.partition, far.partition), (own, 1 - own), "{place:?}");
            assert!((far.cycles.0 - near.cycles.0 - FAR as f64).abs() <= 1.0, "seed {seed}: {place:?}");
            for to in [near, far] {
                assert!(to.low.0 <= to.cycles.0 && to.cycles.0 <= to.high.0, "seed {seed}: {place:?}");
            }
        }
    }
}

#[test]
fn four_partitions_take_two_parities() {
    // The masks are the same for whatever two of the three that tell the partitions apart a file has.
    for parity in ["[0x4b000, 0x2000]", "[0x49000, 0x2000]", "[0x4b000, 0x49000]"] {
        let machine = machine(&format!("count = 4\nsms = \"0012233110\"\nparity = {parity}"), 60);
        let expected = json!({ "kind": "parity", "masks": ["0x49000", "0x2000"] });
        assert_eq!(sim::json(hash(&found(&machine, 3))), expected, "{parity}");
    }
}

#[test]
fn what_is_no_parity_is_unknown() {
    for seed in 1..=3 {
        let machine = machine("count = 2\nsms = \"01\"\ngranule = \"4 KiB\"", 60);
        let found = found(&machine, seed);
        assert!(reason(hash(&found)).contains("no parities"), "{:?}", hash(&found));
        // Where a line is at home shows all the same.
        holds(&found, "far_latency", machine.spec.path.global_cg.memory.get() + 90);
    }
    // One partition; and two to which whole pages belong, which look like one.
    let one = Machine::named("k20c").expect("it comes with strata");
    for machine in [one, machine("count = 2\nsms = \"01\"\nparity = [0x600000]", 60)] {
        let found = found(&machine, 1);
        let of_dram = |side| sim::finding(&found, ElementName::Dram, side);
        for finding in [hash(&found), of_dram("near_latency"), of_dram("far_latency")] {
            assert!(reason(finding).contains("the same time"), "{finding:?}");
        }
    }
}

/// An H200's pages had other homes once an allocation was enlarged: near and far were mixed up.
#[test]
fn what_does_not_fit_is_unknown() {
    let machine = machine("count = 2\nsms = \"01\"\nparity = [0x4b000]", 60);
    // What becomes of the answers, why the hash is unknown if it is, and why near and far memory are.
    let cases = [
        (Change::LoadsMove, None, "was moved during the run"),
        (Change::AtomicsMove, Some("was moved during the run"), "was moved during the run"),
        (Change::LoadsHit, None, "only 0 of"),
        (Change::HomesSwap, Some("lines of other pages"), ""),
        (Change::HomesBlur, Some("near no partition clearly"), "near no partition clearly"),
    ];
    for (change, of_hash, of_memory) in cases {
        let found = changed(&machine, 1, change);
        match of_hash {
            Some(why) => assert!(reason(hash(&found)).contains(why), "{:?}", hash(&found)),
            None => assert!(hash(&found).is_known(), "{:?}", hash(&found)),
        }
        for side in ["near_latency", "far_latency"] {
            let finding = sim::finding(&found, ElementName::Dram, side);
            assert!(of_memory.is_empty() || reason(finding).contains(of_memory), "{side}: {finding:?}");
        }
    }
}
