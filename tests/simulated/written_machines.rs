//! What a machine file makes of a discovery that knows a mechanism only in part: what was found stays, and what was assumed
//! is said. Each machine once became another one.

use crate::sim;
use strata_infer::probe::Effort;
use strata_model::attribute::{Policy, REPLACEMENT};
use strata_model::topology::ElementName::{self, ConstantL1, Dram, L1, L2, Local};
use strata_model::topology::{Finding, Topology};
use strata_report::report;
use strata_sim::machine::Machine;
use strata_sim::machine::spec::{Index, Replacement, Spec};

/// What discovery finds of these elements, and the machine that is written of it, with its text.
fn written(machine: &Machine, only: &[ElementName]) -> (Topology, Machine) {
    written_with(machine, only, 1)
}

/// As [`written`] with another seed, and so with memory that begins elsewhere.
fn written_with(machine: &Machine, only: &[ElementName], seed: u64) -> (Topology, Machine) {
    let first = sim::discovery(machine, Effort::Quick, seed, only).topology;
    let text = report::machine(&first);
    let machine = Machine::parse("written", &text).unwrap_or_else(|defect| panic!("{defect}\n{text}"));
    (first, machine)
}

/// The same attributes are found of the machine that was written, with the same values.
#[track_caller]
fn found_again(first: &Topology, machine: &Machine, element: ElementName, attributes: &[&str]) {
    let second = sim::discovery(machine, Effort::Quick, 1, &[element]).topology;
    for attribute in attributes {
        let [one, other] = [first, &second].map(|topology| sim::finding(topology, element, attribute));
        assert!(one.is_known(), "{element}.{attribute}: {:?}", one.reason);
        let (low, high) = (one.low.or(one.number()), one.high.or(one.number()));
        let same = match other.number().zip(low.zip(high)) {
            Some((value, (low, high))) => (low..=high).contains(&value),
            None => sim::json(one) == sim::json(other),
        };
        assert!(same, "{element}.{attribute}: {one:?} became {other:?}");
    }
}

/// A seed with which memory begins where no seed moves it further on.
const AT_THE_BEGINNING: u64 = 16;

/// The ways that all sets of the L1 have in a file, and its sets.
fn l1_of(spec: &Spec) -> (u64, u64) {
    let l1 = &spec.cache["l1"];
    (l1.sets.expect("equal sets").get(), l1.ways.expect("equal sets").get())
}

#[test]
fn a_hashed_l1_keeps_its_sets_and_ways() {
    // Four sets of 16 ways, of which six allocations can use 41 to 61 lines: 55 in the middle.
    let (first, machine) = written_with(&strata_drawn::second(98).machine, &[L1], AT_THE_BEGINNING);
    assert_eq!(l1_of(&machine.spec), (4, 16));
    assert!(matches!(machine.spec.cache["l1"].index, Index::Hash(_)));
    let why = "assumed: l1.index was not found; l1.size of 55 lines of the 64 that the sets hold";
    assert!(machine.text.contains(why), "{}", machine.text);
    found_again(&first, &machine, L1, &["size", "sets", "ways", "line_size", "fetch_granularity"]);
}

#[test]
fn an_l1_of_which_only_the_ways_are_found_keeps_them() {
    // 256 sets of two ways: more sets than a search of quick effort goes through.
    let (first, machine) = written(&strata_drawn::second(0).machine, &[L1]);
    assert_eq!(l1_of(&machine.spec), (256, 2));
    assert!(machine.text.contains("assumed: l1.sets was not found; as many sets of 2 ways"), "{}", machine.text);
    found_again(&first, &machine, L1, &["size", "ways", "line_size", "fetch_granularity"]);
}

/// The K20c with an L2 in two partitions, to which addresses go in one way.
fn in_partitions(copies: bool, by: &str) -> Machine {
    let text = Machine::named("k20c").expect("it comes with strata").text;
    let partitions = format!(
        "[cache.l2.partitions]\ncount = 2\nsms = \"0110\"\n{by}\ncopies = {copies}\nfar_hit = 60\nfar_memory = \
         90\n\n[shared]\n"
    );
    Machine::parse("k20c in partitions", &text.replacen("[shared]\n", &partitions, 1)).expect("it is valid")
}

#[test]
fn partitions_keep_copies_or_do_not() {
    for (copies, by) in [(true, "granule = \"4 KiB\""), (false, "parity = [0x90d2000]")] {
        let (first, machine) = written(&in_partitions(copies, by), &[L2, Dram]);
        let l2 = machine.spec.cache["l2"].partitions.as_ref().expect("two partitions");
        // Of the bits of an address those within a page of 2 MiB show. A mixing hash has none.
        let (granule, parity) = if copies { (Some(4096), None) } else { (None, Some(vec![0xd2000])) };
        assert_eq!((l2.granule.map(|granule| granule.0), &l2.parity), (granule, &parity), "{}", machine.text);
        assert_eq!(
            (l2.count.get(), l2.copies, l2.far_hit.get(), l2.far_memory.get()),
            (2, copies, 60, 90),
            "{}",
            machine.text
        );
        // The latency of the near side, not of the mean.
        let near = machine.spec.path.global_cg.cycles[0].get();
        assert!(near.abs_diff(223) <= 3, "copies {copies}: {near} cycles");
        found_again(&first, &machine, L2, &["partitions", "near_latency", "far_latency", "sm_map"]);
        if parity.is_some() {
            found_again(&first, &machine, L2, &["partition_hash"]);
            found_again(&first, &machine, Dram, &["near_latency", "far_latency"]);
        }
    }
}

#[test]
fn a_cache_of_which_only_the_latency_is_found_stays() {
    // Constants of this machine share their cache with textures, whose size is all that shows of it.
    let (first, machine) = written(&strata_drawn::second(1).machine, &[ConstantL1, L2]);
    assert!(
        !sim::finding(&first, ConstantL1, "size").is_known()
            && !sim::finding(&first, ConstantL1, "line_size").is_known()
    );
    let path = &machine.spec.path.constant;
    assert_eq!((path.levels[0].as_str(), path.cycles[0].get()), ("constant_l1", 57));
    found_again(&first, &machine, ConstantL1, &["latency.cycles"]);
    // Loads of local memory are faster than those of the L2, and whether a cache answers them was not clear.
    let (first, machine) = written_with(&strata_drawn::second(136).machine, &[L1, Local, L2], AT_THE_BEGINNING);
    assert!(!sim::finding(&first, Local, "cached").is_known());
    assert_eq!(machine.spec.path.local.levels, ["local", "l2"]);
    assert_eq!(machine.spec.path.local.cycles[0].get(), 109);
    assert!(
        machine.text.contains("assumed: whether a cache of the SM answers l1 was not found: none"),
        "{}",
        machine.text
    );
}

#[test]
fn a_policy_that_does_not_fit_the_ways_is_not_written() {
    let machine = Machine::named("k20c").expect("it comes with strata");
    let mut first = sim::discovery(&machine, Effort::Quick, 1, &[ConstantL1]).topology;
    let odds = Policy::Weighted(vec![0.5, 0.25, 0.25].into());
    let constant = first.elements.get_mut(&ConstantL1).expect("it was asked for");
    constant.set(REPLACEMENT, Finding::measured(odds, "three odds of four ways"));
    let text = report::machine(&first);
    let machine = Machine::parse("written", &text).unwrap_or_else(|defect| panic!("{defect}\n{text}"));
    assert_eq!(machine.spec.cache["constant_l1"].replacement, Replacement::Random);
    assert!(text.contains("assumed: found weighted, which a machine file cannot express of these ways"), "{text}");
}
