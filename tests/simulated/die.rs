//! Which SMs form a GPC, on dies of any layout.

use std::fmt::Write as _;

use gpu_strata::{Effort, Options};
use proptest::prelude::*;
use serde_json::json;
use strata_model::attribute::{
    MULTICAST_BANDWIDTH, MULTICAST_BANDWIDTH_PER_SM, READ_BANDWIDTH, READ_BANDWIDTH_PER_SM, WRITE_BANDWIDTH,
};
use strata_model::topology::{BANDWIDTH_BY_CLUSTER_SIZE, ElementName, Finding, Topology, Wanted};
use strata_sim::machine::Machine;

use crate::sim;

/// Bytes a cycle that an SM of these machines gets, and a GPC: two SMs do not reach the limit of their GPC, four do.
const DELIVERY: [u32; 2] = [120, 300];
/// Cycles of a load of another block's shared memory, for each place of an SM in its GPC, at both ends, and how many more an atomic takes.
const REMOTE: [u32; 3] = [140, 3, 11];
/// Bytes a cycle that an SM gives to blocks on others.
const GIVEN: u32 = 20;
/// Bytes a cycle that an SM gets by copies for several blocks.
const RECEIVED: u32 = 24;
/// Cycles of a cluster's barrier.
const BARRIER: u32 = 210;

/// The K20c as if it had clusters, with these TPCs of two SMs by GPC, and so many of the last ones that take no large clusters. What a
/// GPC gets is limited, or not.
fn machine(tpcs: &[usize], pairs_only: usize, is_limited: bool) -> Machine {
    let gpcs: String = tpcs.iter().map(|gpc| format!("{gpc}{gpc}")).collect();
    let mut device =
        format!("multiprocessors = {}\ngpcs = \"{gpcs}\"\nlargest_cluster = 16\npairs_only = [", gpcs.len());
    for sm in gpcs.len() - 2 * pairs_only..gpcs.len() {
        let _ = write!(device, "{sm}, ");
    }
    device.push(']');
    let text = Machine::named("k20c").expect("it comes with strata").text;
    let text = text.replace("multiprocessors = 13\n", &format!("{device}\n"));
    let text = text.replace("compute_capability = \"3.5\"", "compute_capability = \"9.0\"");
    let [of_sm, of_gpc] = DELIVERY;
    let limit = if is_limited { format!("gpc_delivery = {of_gpc}\n") } else { String::new() };
    let text =
        text.replace("[pipeline]\n", &format!("[pipeline]\ndelivery = {of_sm}\n{limit}cluster_barrier = {BARRIER}\n"));
    let [remote, step, atomic] = REMOTE;
    let shared = format!("[shared]\nremote_cycles = {remote}\nremote_step = {step}\nremote_atomic = {atomic}\n");
    let text =
        text.replace("[shared]\n", &format!("{shared}remote_bandwidth = {GIVEN}\nmulticast_bandwidth = {RECEIVED}\n"));
    // Else the loads in flight and the L2 are the limit.
    let text =
        text.replace("outstanding = 512\n", "outstanding = 2560\n").replace("bandwidth = 640\n", "bandwidth = 4000\n");
    Machine::parse("k20c in GPCs", &text).unwrap_or_else(|defect| panic!("{defect}\n{text}"))
}

/// What is asked for.
const ASKED: [ElementName; 3] = [ElementName::Die, ElementName::DistributedShared, ElementName::AsyncCopy];

fn found(machine: &Machine, seed: u64) -> Topology {
    sim::discovery(machine, Effort::Quick, seed, &ASKED).topology
}

fn of<'t>(topology: &'t Topology, attribute: &str) -> &'t Finding {
    sim::finding(topology, ElementName::Die, attribute)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: sim::sample(2, &[(); 6]).len() as u32, failure_persistence: None, ..ProptestConfig::default() })]

    /// GPCs of two to five TPCs in any order, of which the last ones may be left out of large clusters.
    #[test]
    fn gpcs_of_any_size_are_found(
        more in proptest::collection::vec(0usize..4, 2..5),
        order in any::<u64>(),
        left_over in 0usize..3,
        seed in 1u64..1000,
    ) {
        // Three TPCs of each at least are no left-over ones.
        let mut all: Vec<usize> = (0..3).flat_map(|_| 0..more.len()).collect();
        let mut rest: Vec<usize> = more.iter().enumerate().flat_map(|(gpc, more)| vec![gpc; *more]).collect();
        rest.sort_by_key(|gpc| order.wrapping_mul(2 * *gpc as u64 + 1) >> 32);
        let left_over = left_over.min(rest.len());
        all.extend(rest);
        let machine = machine(&all, left_over, true);
        let outcome = sim::discovery(&machine, Effort::Quick, seed, &ASKED);
        // All that is said of these, by what is true of the machine: latencies, barriers, the largest cluster, the fingerprint.
        let rows: Vec<_> =
            sim::truth::rows(&machine, &outcome.seen).into_iter().filter(|row| ASKED.contains(&row.element)).collect();
        prop_assert_eq!(rows.len(), 13);
        for (row, verdict) in sim::expect::judge(&outcome.topology, &rows) {
            let finding = sim::finding(&outcome.topology, row.element, row.attribute);
            use sim::expect::Verdict::{Covered, Right};
            prop_assert!(matches!(verdict, Right | Covered), "{}.{}: {verdict:?} {:?}", row.element, row.attribute, finding);
        }
        let found = outcome.topology;
        let mut sizes: Vec<usize> = more.iter().map(|more| 2 * (more + 3)).collect();
        sizes.sort_unstable();
        prop_assert_eq!(sim::json(of(&found, "gpcs")), json!(sizes), "{:?}", of(&found, "gpcs"));
        let map = sim::json(of(&found, "map"));
        for (sm, place) in map.as_array().expect("a list").iter().enumerate() {
            prop_assert_eq!(place["gpc"].clone(), json!(all[sm / 2]), "SM {}: {}", sm, place);
            prop_assert_eq!(place["tpc"].clone(), json!(sm / 2), "SM {}: {}", sm, place);
        }
    }
}

#[test]
fn a_written_machine_keeps_its_gpcs_and_what_clusters_cost() {
    let first = found(&machine(&[0, 1, 2, 0, 1, 2, 0, 1, 2, 0], 0, true), 1);
    let text = strata_report::report::machine(&first);
    let written = Machine::parse("written", &text).unwrap_or_else(|defect| panic!("{defect}\n{text}"));
    assert_eq!(written.spec.device.gpcs.as_deref(), Some("00112200112200112200"));
    assert_eq!(written.spec.device.largest_cluster.get(), 8);
    assert!((210..=212).contains(&written.spec.pipeline.cluster_barrier.get()), "{text}");
    let cycles = sim::finding(&first, ElementName::DistributedShared, "latency.cycles").number();
    assert_eq!(Some(written.spec.shared.remote_cycles.get() as f64), cycles.map(f64::round));
    // All pairs take as long there.
    let second = sim::discovery(&written, Effort::Quick, 1, &[ElementName::DistributedShared]).topology;
    let again = sim::finding(&second, ElementName::DistributedShared, "latency.cycles");
    assert!((again.number().unwrap_or_default() - cycles.unwrap_or_default()).abs() <= 0.6, "{again:?}");
}

#[test]
fn blocks_of_a_cluster_get_what_an_sm_gives() {
    // GPCs of six SMs have no room for eight blocks.
    let machine = machine(&[0, 1, 0, 1, 0, 1], 0, true);
    let only = [
        "distributed_shared.read_bandwidth",
        "distributed_shared.write_bandwidth.bytes_per_s",
        "async_copy.multicast_bandwidth",
    ]
    .map(|key| key.parse::<Wanted>().expect("an attribute"));
    let found = sim::device(&machine).discover_only(&only, Options::effort(Effort::Quick));
    let topology = found.expect("a simulated machine is discovered").topology;
    let of = |element| &topology.elements[&element];
    let (shared, copies) = (of(ElementName::DistributedShared), of(ElementName::AsyncCopy));
    for (element, key, rate, tried) in [
        (shared, READ_BANDWIDTH_PER_SM, GIVEN, &[2.0, 4.0][..]),
        (copies, MULTICAST_BANDWIDTH_PER_SM, RECEIVED, &[1.0, 2.0, 4.0]),
    ] {
        let finding = element.finding(key).expect("it was asked for");
        let (value, low, high) = (finding.number().unwrap(), finding.low.unwrap(), finding.high.unwrap());
        let rate = f64::from(rate);
        assert!((value / rate - 1.0).abs() < 0.01 && low <= rate && rate <= high, "{finding:?}");
        let sizes: Vec<f64> = finding.series[BANDWIDTH_BY_CLUSTER_SIZE].iter().map(|point| point.x).collect();
        assert_eq!(sizes, tried, "{finding:?}");
    }
    for (element, key, rate) in
        [(shared, READ_BANDWIDTH, GIVEN), (shared, WRITE_BANDWIDTH, GIVEN), (copies, MULTICAST_BANDWIDTH, RECEIVED)]
    {
        // All SMs are in a cluster of two, at 0.706 GHz.
        let expected = f64::from(rate) * 12.0 * 0.706e9;
        let finding = element.finding(key).expect("it was asked for");
        assert!((finding.number().unwrap() / expected - 1.0).abs() < 0.01, "{finding:?}");
    }
}

#[test]
fn clusters_alone_are_not_believed() {
    let found = found(&machine(&[0, 1, 2, 0, 1, 2, 0, 1, 2, 0], 0, false), 1);
    for attribute in ["gpcs", "map"] {
        let reason = of(&found, attribute).reason.as_deref().unwrap_or_default();
        let says = "clusters show groups of 8, 6, 6 SMs, and what these read from the L2 does not agree";
        assert!(reason.starts_with(says), "{attribute}: {reason}");
    }
}

#[test]
fn a_gpu_without_clusters_has_no_such_element() {
    let k20c = Machine::named("k20c").expect("it comes with strata");
    assert!(!found(&k20c, 1).elements.contains_key(&ElementName::Die));
    // It could have clusters, and its file says nothing of them.
    let text = k20c.text.replace("compute_capability = \"3.5\"", "compute_capability = \"9.0\"");
    let unsaid = Machine::parse("k20c of another age", &text).unwrap_or_else(|defect| panic!("{defect}"));
    let found = found(&unsaid, 1);
    let reason = of(&found, "gpcs").reason.as_deref().unwrap_or_default();
    assert!(reason.contains("launches no clusters: its machine file has no `gpcs`"), "{reason}");
}
