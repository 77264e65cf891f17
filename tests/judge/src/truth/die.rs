//! Which SMs form a GPC.

use serde_json::json;
use sha2::{Digest, Sha256};
use strata_model::topology::ElementName::{Die, DistributedShared};

use super::Truth;
use super::beyond::sides;
use crate::expect::Expect;

/// The GPCs, where clusters can be launched and the limits of the GPCs can confirm them.
pub fn die(truth: &mut Truth) {
    let spec = &truth.machine.spec;
    if spec.device.compute_capability.0 < 9 {
        return;
    }
    let (Some(gpcs), Some(_)) = (spec.device.gpc_of_sms(), spec.pipeline.gpc_delivery) else {
        truth.row(Die, "gpcs", Expect::Unknown(""));
        truth.row(Die, "map", Expect::Unknown(""));
        truth.row(Die, "fingerprint", Expect::Unknown(""));
        return;
    };
    let mut sizes: Vec<usize> =
        (0..=gpcs.iter().copied().max().unwrap_or(0)).map(|gpc| gpcs.iter().filter(|&&of| of == gpc).count()).collect();
    sizes.sort_unstable();
    let (gpcs, (_, partitions)) = (numbered(&gpcs), sides(spec));
    let place = |(sm, gpc): (usize, &usize)| json!({ "sm": sm, "partition": partitions[sm], "group": null, "tpc": sm / 2, "gpc": gpc });
    let map: Vec<serde_json::Value> = gpcs.iter().enumerate().map(place).collect();
    truth.row(Die, "gpcs", Expect::Is(json!(sizes)));
    truth.row(Die, "map", Expect::Places(map));
    let places = gpcs.iter().zip(&partitions).enumerate();
    let lines: String = places.map(|(sm, (gpc, partition))| format!("{gpc} {} {partition}\n", sm / 2)).collect();
    let hash = Sha256::digest(lines);
    truth.row(
        Die,
        "fingerprint",
        Expect::Is(json!(hash[..8].iter().map(|byte| format!("{byte:02x}")).collect::<String>())),
    );
}

/// What blocks of clusters do with each other's shared memory, where clusters can be launched.
pub fn distributed(truth: &mut Truth) {
    let spec = &truth.machine.spec;
    if spec.device.compute_capability.0 < 9 {
        return;
    }
    let Some(gpcs) = spec.device.gpc_of_sms() else {
        for attribute in [
            "latency.cycles",
            "own_latency",
            "atomic_latency",
            "cluster_barrier",
            "relaxed_cluster_barrier",
            "largest_cluster",
        ] {
            truth.row(DistributedShared, attribute, Expect::Unknown(""));
        }
        return;
    };
    let places = |gpc: u32| gpcs.iter().filter(|&&of| of == gpc).count() as u64;
    let last = gpcs.iter().map(|&gpc| places(gpc)).max().unwrap_or(1) - 1;
    // Only pairs are put on the SMs that are left over.
    let closed = &spec.device.pairs_only;
    let is_open = |sm: usize| !closed.contains(&(sm as u32));
    let open = |gpc: u32| (0..gpcs.len()).filter(|&sm| gpcs[sm] == gpc && is_open(sm)).count() as u64;
    let roomiest = gpcs.iter().map(|&gpc| open(gpc)).max().unwrap_or(1);
    let nearest = spec.shared.remote_cycles.get();
    let furthest = nearest + spec.shared.remote_step.get() * 2 * last;
    let own = spec.shared.cycles.get() as f64;
    let barrier = spec.pipeline.cluster_barrier.get() as f64;
    // The instructions of a barrier are issued one after the other.
    let issued = 2.0 * spec.pipeline.issue.get() as f64;
    let most = spec.device.largest_cluster.get().min(roomiest.max(2));
    truth.row(DistributedShared, "latency.cycles", Expect::Within(nearest as f64, furthest as f64));
    truth.row(DistributedShared, "own_latency", Expect::Near(own, 0.5));
    let longer = spec.shared.remote_atomic.get();
    truth.row(
        DistributedShared,
        "atomic_latency",
        Expect::Within((nearest + longer) as f64, (furthest + longer) as f64),
    );
    truth.row(DistributedShared, "cluster_barrier", Expect::Within(barrier, barrier + issued));
    // Fences cost nothing in simulation.
    truth.row(DistributedShared, "relaxed_cluster_barrier", Expect::Within(barrier, barrier + issued));
    truth.row(DistributedShared, "largest_cluster", Expect::Is(json!(most)));
}

/// Numbers in the order in which they first come.
fn numbered(all: &[u32]) -> Vec<usize> {
    let mut order: Vec<u32> = Vec::new();
    let mut number = |one: u32| {
        order.iter().position(|&other| other == one).unwrap_or_else(|| {
            order.push(one);
            order.len() - 1
        })
    };
    all.iter().map(|&one| number(one)).collect()
}
