//! Which SMs form a GPC, on dies of any layout.

use std::fmt::Write as _;

use gpu_strata::Effort;
use proptest::prelude::*;
use serde_json::json;
use strata_model::topology::{ElementName, Finding, Topology};
use strata_sim::machine::Machine;

use crate::sim;

/// Bytes a cycle that an SM of these machines gets, and a GPC: two SMs do not reach the limit of their GPC, four do.
const DELIVERY: [u32; 2] = [120, 300];
/// Cycles of a load of another block's shared memory, and for each place of an SM in its GPC, at both ends.
const REMOTE: [u32; 2] = [140, 3];
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
    let [remote, step] = REMOTE;
    let text = text.replace("[shared]\n", &format!("[shared]\nremote_cycles = {remote}\nremote_step = {step}\n"));
    // Else the loads in flight and the L2 are the limit.
    let text =
        text.replace("outstanding = 512\n", "outstanding = 2560\n").replace("bandwidth = 640\n", "bandwidth = 4000\n");
    Machine::parse("k20c in GPCs", &text).unwrap_or_else(|defect| panic!("{defect}\n{text}"))
}

fn found(machine: &Machine, seed: u64) -> Topology {
    sim::discovery(machine, Effort::Quick, seed, &[ElementName::Die, ElementName::DistributedShared]).topology
}

fn of<'t>(topology: &'t Topology, attribute: &str) -> &'t Finding {
    sim::finding(topology, ElementName::Die, attribute)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

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
        let found = found(&machine(&all, left_over, true), seed);
        let mut sizes: Vec<usize> = more.iter().map(|more| 2 * (more + 3)).collect();
        sizes.sort_unstable();
        prop_assert_eq!(sim::json(of(&found, "gpcs")), json!(sizes), "{:?}", of(&found, "gpcs"));
        let map = sim::json(of(&found, "map"));
        for (sm, place) in map.as_array().expect("a list").iter().enumerate() {
            prop_assert_eq!(place["gpc"].clone(), json!(all[sm / 2]), "SM {}: {}", sm, place);
            prop_assert_eq!(place["tpc"].clone(), json!(sm / 2), "SM {}: {}", sm, place);
        }
        let clusters = |attribute| sim::finding(&found, ElementName::DistributedShared, attribute);
        let number = |attribute| clusters(attribute).number().unwrap_or_else(|| panic!("{:?}", clusters(attribute)));
        let [remote, step] = REMOTE.map(f64::from);
        let latency = number("latency.cycles");
        let furthest = remote + 2.0 * step * (sizes[sizes.len() - 1] - 1) as f64;
        prop_assert!((remote..=furthest).contains(&latency), "{} of {} to {}", latency, remote, furthest);
        // Whatever pairs were seen, each is at least as far as the nearest two SMs of a GPC.
        prop_assert!(clusters("latency.cycles").low.is_some_and(|low| low > remote - 2.0), "{:?}", clusters("latency.cycles"));
        prop_assert!((0.0..=2.0).contains(&(number("cluster_barrier") - f64::from(BARRIER))));
        prop_assert_eq!(number("largest_cluster"), sizes[sizes.len() - 1] as f64);
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
