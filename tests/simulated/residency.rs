//! What stores and cache hints leave in a cache, of machines of which that is known.

use strata_model::attribute::{Effect, FETCH_BY_HINT, Fetches, HINTS, Hints, WRITE_BACK, WRITE_POLICY};
use strata_model::experiment::Access;
use strata_model::topology::ElementName::{L1, L2};
use strata_model::topology::{Element, Wanted};
use strata_report::report;
use strata_sim::machine::Machine;

use crate::sim;
use crate::sim::expect::{Verdict, judge};
use gpu_strata::{Effort, Options};

/// The Quadro P6000 with four SMs, as if it were of another age, with these policies
/// and lines for its L1 and its L2, and what disturbs it.
fn machine(l1: (&str, &str), l2: (&str, &str), noise: &str) -> Machine {
    let text = Machine::named("p6000").expect("it comes with strata").text;
    let text = text.replace("compute_capability = \"6.1\"", "compute_capability = \"9.0\"");
    let text = text.replace("multiprocessors = 30\n", "multiprocessors = 4\n");
    let with = |text: String, table: &str, (replacement, lines): (&str, &str)| {
        let (before, after) = text.split_once(table).expect("it has such a cache");
        let after = after.replacen("replacement = \"lru\"", &format!("replacement = \"{replacement}\"\n{lines}"), 1);
        format!("{before}{table}{after}")
    };
    let text = with(with(text, "[cache.l1]\n", l1), "[cache.l2]\n", l2);
    let text = format!("{text}\n[noise]\n{noise}\n");
    Machine::parse("with hints", &text).unwrap_or_else(|defect| panic!("{defect}\n{text}"))
}

const ASKED: [&str; 5] = ["l1.write_policy", "l1.hints", "l2.write_policy", "l2.hints", "l2.fetch_by_hint"];

/// Holds what is found against the machine, of which both caches must tell everything.
fn check(machine: &Machine, seed: u64) {
    let only: Vec<Wanted> = ASKED.iter().chain(&["l1.cached"]).map(|key| key.parse().expect("an attribute")).collect();
    let outcome = sim::discovery(machine, Effort::Quick, seed, &only);
    let rows = sim::truth::rows(machine, &outcome.seen);
    let rows: Vec<_> =
        rows.into_iter().filter(|row| ["write_policy", "hints", "fetch_by_hint"].contains(&row.attribute)).collect();
    assert_eq!(rows.len(), ASKED.len());
    for (row, verdict) in judge(&outcome.topology, &rows) {
        let finding = sim::finding(&outcome.topology, row.element, row.attribute);
        let what = format!("{}.{}, seed {seed}: {finding:?}, not {}", row.element, row.attribute, row.expect.shown());
        assert!(finding.is_known() && matches!(verdict, Verdict::Right), "{verdict:?}: {what}");
    }
    let (l1, l2) = (&outcome.topology.elements[&L1], &outcome.topology.elements[&L2]);
    let rows = |element: &Element| element.get(HINTS).map(|Hints(rows)| rows.len());
    assert_eq!((rows(l1), rows(l2)), (Some(13), Some(13)));
    assert_eq!(l2.get(FETCH_BY_HINT).map(|Fetches(rows)| rows.len()), Some(4));
    assert_eq!(l2.get(WRITE_POLICY).map(String::as_str), Some("allocates"));
    // A machine file that is written of the result has the same.
    let text = report::machine(&outcome.topology);
    let written = Machine::parse("written", &text).unwrap_or_else(|defect| panic!("{defect}\n{text}"));
    let keys = |machine: &Machine, name: &str| {
        let cache = &machine.spec.cache[name];
        (cache.write.unwrap_or_default(), cache.hints.clone(), cache.prefetch.clone())
    };
    for name in ["l1", "l2"] {
        assert_eq!(keys(&written, name), keys(machine, name), "{name}, seed {seed}: {text}");
    }
}

#[test]
fn stores_and_hints_do_what_the_machine_says() {
    let all = "hints = [\"evict_first\", \"evict_last\", \"no_allocate\"]";
    let both = "hints = [\"evict_first\", \"evict_last\", \"discard\"]\nprefetch = [\"64 B\", \"128 B\", \"256 B\"]";
    // The line of an L2 that evicts at random is unknown, and so is what it keeps.
    let cases = [
        (("lru", "write = \"allocate\"", all), ("lru", both), ""),
        (("fifo", "write = \"evict\"", ""), ("fifo", ""), ""),
        (("random", "", "hints = [\"evict_last\"]"), ("plru", "hints = [\"evict_first\"]\nprefetch = [\"128 B\"]"), ""),
        (("lru", "write = \"allocate\"", all), ("plru", both), "jitter = 3\nspikes = 0.02\nspike = 400"),
        (("unhit", "write = \"allocate\"", ""), ("lru", both), ""),
        (("lru", "", all), ("lru", ""), "jitter = 12\nspikes = 0.01\nspike = 60"),
    ];
    for (seed, ((policy, write, hints), l2, noise)) in (1..).zip(sim::sample(4, &cases)) {
        check(&machine((policy, &format!("{write}\n{hints}")), *l2, noise), seed);
    }
}

/// What is stored is seen to go to memory late. Where it goes there at once, or memory takes anything, nothing is said.
#[test]
fn an_l2_that_keeps_what_is_stored_is_told_from_others() {
    let machine = |keys: &str, bandwidth: &str, noise: &str| {
        let text = Machine::named("p6000").expect("it comes with strata").text;
        let text = text.replace("multiprocessors = 30\n", "multiprocessors = 8\n");
        let text = text.replacen("[cache.l2]\n", &format!("[cache.l2]\n{keys}\n"), 1);
        let text = text.replacen("\nbandwidth = 223\n", &format!("\n{bandwidth}\n"), 1);
        let text = format!("{text}\n[noise]\n{noise}\n");
        Machine::parse("with stores", &text).unwrap_or_else(|defect| panic!("{defect}\n{text}"))
    };
    let cases = [
        (("write_back = true", "bandwidth = 40", ""), Some(true)),
        (("write_back = true", "bandwidth = 40", "jitter = 12\nspikes = 0.01\nspike = 400"), Some(true)),
        (("", "bandwidth = 40", ""), None),
        (("write_back = false", "bandwidth = 40", "jitter = 12\nspikes = 0.01\nspike = 4000"), None),
        (("write_back = true", "", ""), None),
    ];
    for (seed, ((keys, bandwidth, noise), expected)) in (1..).zip(cases) {
        let machine = machine(keys, bandwidth, noise);
        let only = ["l2.write_back".parse::<Wanted>().expect("an attribute")];
        let outcome = sim::discovery(&machine, Effort::Quick, seed, &only);
        let finding = outcome.topology.elements[&L2].finding(WRITE_BACK).expect("it was asked for");
        assert_eq!(finding.get::<bool>().copied(), expected, "{keys}, {bandwidth}, {noise}: {finding:?}");
        let reason = format!("{finding:?}");
        assert!(expected.is_some() || reason.contains("stores may go to memory at once"), "{noise}: {reason}");
    }
}

/// That an L1 passes stores on is seen where the stores of all SMs are more than the L2 takes.
#[test]
fn an_l1_that_passes_stores_on_is_seen_by_the_stores_of_others() {
    let cases = [
        ("allocate", "40", Some(false), ""),
        ("evict", "40", Some(false), ""),
        ("allocate", "20000", None, "or the L2 takes all of it"),
        // The lines of these stores are not there.
        ("through", "40", None, "to a line that it has"),
    ];
    for (seed, (write, bandwidth, expected, why)) in (1..).zip(cases) {
        let text = Machine::named("p6000").expect("it comes with strata").text;
        let text = text.replace("multiprocessors = 30\n", "multiprocessors = 8\n");
        let text = text.replacen("\nbandwidth = 768\n", &format!("\nbandwidth = {bandwidth}\n"), 1);
        let text = text.replacen("[cache.l1]\n", &format!("[cache.l1]\nwrite = \"{write}\"\n"), 1);
        let machine = Machine::parse("with stores", &text).unwrap_or_else(|defect| panic!("{defect}\n{text}"));
        let only = ["l1.write_back".parse::<Wanted>().expect("an attribute")];
        let outcome = sim::discovery(&machine, Effort::Quick, seed, &only);
        let finding = outcome.topology.elements[&L1].finding(WRITE_BACK).expect("it was asked for");
        assert_eq!(finding.get::<bool>().copied(), expected, "{bandwidth}: {finding:?}");
        let reason = finding.reason.as_deref().unwrap_or_default();
        assert!(reason.contains(why), "{write}, {bandwidth}: {reason}");
    }
}

#[test]
fn what_a_device_has_no_instruction_for_is_not_asked() {
    let found = sim::device(&Machine::named("p6000").expect("it comes with strata"))
        .discover_only(&["l1.hints".parse::<Wanted>().unwrap()], Options::effort(Effort::Quick));
    let topology = found.expect("a simulated machine is discovered").topology;
    let finding = topology.elements[&L1].finding(HINTS).expect("it was asked for");
    let hints = finding.get::<Hints>().unwrap_or_else(|| panic!("{finding:?}"));
    assert_eq!(hints.of(Access::Cg), Some(Effect::NotKept));
    assert_eq!((hints.of(Access::L1EvictLast), hints.of(Access::Cs)), (None, Some(Effect::AsPlain)));
}
