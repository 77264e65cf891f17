//! Instruction caches: what walks through code say of machines whose caches are known.

use strata_model::attribute::{Counts, Value};
use strata_model::topology::ElementName::{InstructionL0, InstructionL1, InstructionL15};
use strata_model::topology::{ElementName, Topology};
use strata_sim::machine::Machine;

use crate::sim;
use gpu_strata::Effort;

const ALL: [ElementName; 3] = [InstructionL0, InstructionL1, InstructionL15];

/// A cache of a machine: KiB, ways, line, what a miss adds, which SMs share it.
type Cache = (u64, u64, u64, u64, &'static str);

/// The K20c with twelve SMs in three GPCs, as if it had these instruction caches.
fn machine(caches: &[Cache], replacement: &str) -> Machine {
    let text = Machine::named("k20c").expect("it comes with strata").text;
    let text = text.replace("multiprocessors = 13\n", "multiprocessors = 12\ngpcs = \"001122001100\"\n");
    let text = text.replace("compute_capability = \"3.5\"", "compute_capability = \"9.0\"");
    let tables: String = caches
        .iter()
        .enumerate()
        .map(|(number, (kib, ways, line, penalty, shared_by))| {
            format!(
                "[[instruction]]\nname = \"{number}\"\nshared_by = \"{shared_by}\"\nsize = \"{kib} KiB\"\nline = {line}\n\
                 ways = {ways}\nreplacement = \"{replacement}\"\npenalty = {penalty}\n"
            )
        })
        .collect();
    let text = text.replacen("[shared]\n", &format!("{tables}[shared]\n"), 1);
    Machine::parse("with instruction caches", &text).unwrap_or_else(|defect| panic!("{defect}\n{text}"))
}

fn found(machine: &Machine, seed: u64) -> Topology {
    sim::discovery(machine, Effort::Quick, seed, &ALL).topology
}

/// The SMs of its instances, in ascending order.
fn sharers(shared_by: &str) -> Value {
    Value::Counts(Counts(match shared_by {
        "sm" => vec![1; 12],
        "tpc" => vec![2; 6],
        "gpc" => vec![2, 4, 6],
        _ => vec![12],
    }))
}

/// Holds what is found against the caches, each of which must show.
fn check(caches: &[Cache], replacement: &str) {
    let machine = machine(caches, replacement);
    for seed in 1..=3 {
        let topology = found(&machine, seed);
        for (&(kib, _, _, penalty, shared_by), element) in caches.iter().zip(ALL) {
            let what = format!("{element} of {caches:?}, {replacement}, seed {seed}");
            let size = sim::finding(&topology, element, "size");
            let within = size.low.unwrap_or(f64::MAX)..=size.high.unwrap_or(0.0);
            assert!(size.is_known() && within.contains(&((kib << 10) as f64)), "{what}: {size:?}");
            assert!(within.end() - within.start() <= 5120.0, "{what}: {size:?}");
            let cost = sim::finding(&topology, element, "miss_penalty");
            // Of the first one some of the cost is hidden, so it has no upper end.
            let is_first = element == InstructionL0;
            assert_eq!(cost.high.is_none(), is_first, "{what}: {cost:?}");
            let within = cost.low.unwrap_or(f64::MAX)..=cost.high.unwrap_or(f64::MAX);
            assert!(cost.is_known() && within.contains(&(penalty as f64)), "{what}: {cost:?}");
            let groups = sim::finding(&topology, element, "sms_of_an_instance");
            // Where no SM misses, nothing shows that code is displaced at all.
            assert_eq!(groups.is_known(), shared_by != "sm", "{what}: {groups:?}");
            if groups.is_known() {
                assert_eq!(groups.value, Some(sharers(shared_by)), "{what}");
            }
        }
        for element in ALL.into_iter().skip(caches.len()) {
            let size = sim::finding(&topology, element, "size");
            assert!(!size.is_known() && size.reason.is_some(), "{element}: {size:?}");
        }
    }
}

#[test]
fn sizes_costs_and_sharers_of_instruction_caches_are_found() {
    check(&[(16, 4, 128, 6, "sm"), (32, 4, 128, 54, "tpc"), (128, 4, 128, 190, "gpc")], "lru");
    check(&[(32, 8, 64, 20, "tpc"), (64, 4, 128, 100, "device")], "lru");
    check(&[(64, 2, 256, 33, "gpc")], "fifo");
    check(&[(24, 6, 128, 40, "sm"), (96, 12, 128, 150, "tpc")], "lru");
}

#[test]
fn who_shares_a_cache_is_told_where_two_walks_overflow_it() {
    let topology = found(&machine(&[(32, 4, 128, 54, "tpc"), (128, 4, 128, 190, "gpc")], "lru"), 1);
    for (element, shared_by) in [(InstructionL0, "tpc"), (InstructionL1, "gpc")] {
        let groups = sim::finding(&topology, element, "sms_of_an_instance");
        assert_eq!(groups.value, Some(sharers(shared_by)), "{groups:?}");
    }
}

#[test]
fn what_hits_in_the_cache_before_or_is_not_displaced_says_nothing_of_who_shares() {
    // 24 KiB of code stay in the first cache, whatever others do to the second one.
    let close = found(&machine(&[(28, 7, 128, 20, "sm"), (32, 4, 128, 54, "tpc")], "lru"), 1);
    // Lines that were hit are not displaced.
    let kept = found(&machine(&[(32, 4, 128, 54, "tpc")], "unhit"), 1);
    for (topology, element) in [(close, InstructionL1), (kept, InstructionL0)] {
        let groups = sim::finding(&topology, element, "sms_of_an_instance");
        assert!(!groups.is_known() && groups.reason.is_some(), "{element}: {groups:?}");
    }
}

#[test]
fn with_random_victims_no_cost_is_stated() {
    let topology = found(&machine(&[(128, 4, 128, 54, "tpc")], "random"), 1);
    let cost = sim::finding(&topology, InstructionL0, "miss_penalty");
    assert!(cost.low.is_none_or(|low| low <= 54.0), "{cost:?}");
}

#[test]
fn a_machine_without_instruction_caches_has_none() {
    check(&[], "lru");
}
