//! GPCs, and what blocks of a cluster pay for each other's shared memory.

use super::found::{Found, Sourced};
use super::table::Table;

use strata_model::attribute::{Attribute, MAP};
use strata_model::topology::ElementName::{AsyncCopy, Die, DistributedShared};

/// GPCs are named by a digit or a small letter.
const GPC_RADIX: u32 = 36;

/// The GPC of each SM, if all are known, and the blocks of the largest cluster. Which SMs take no large clusters is not written: it stands
/// in a note only.
pub(super) fn device(found: &Found, table: &mut Table) {
    let gpcs =
        found.get(Die, MAP).and_then(|map| map.0.iter().map(|place| char::from_digit(place.gpc?, GPC_RADIX)).collect());
    if let (Some(gpcs), Some(finding)) = (gpcs, found.known(Die, MAP)) {
        let gpcs: String = gpcs;
        table.put("gpcs", Sourced::new(gpcs, found.source(Die, &[Attribute::Map], finding)));
    }
    if let Some(most) = found.whole(DistributedShared, Attribute::LargestCluster) {
        table.put("largest_cluster", most);
    }
}

/// What a load of another block's shared memory takes, the same for all pairs of SMs, what an atomic takes longer, how many bytes an SM
/// gives to others, and how many it gets by multicast copies.
pub(super) fn shared(found: &Found, table: &mut Table) {
    if let Some(cycles) = found.whole(DistributedShared, Attribute::LatencyCycles) {
        table.put("remote_cycles", cycles);
    }
    if let Some(cycles) = found.longer(DistributedShared, Attribute::AtomicLatency, Attribute::LatencyCycles) {
        table.put("remote_atomic", cycles);
    }
    if let Some(bandwidth) = found.rate(DistributedShared, Attribute::ReadBandwidthPerSm, 1.0) {
        table.put("remote_bandwidth", bandwidth);
    }
    if let Some(bandwidth) = found.rate(AsyncCopy, Attribute::MulticastBandwidthPerSm, 1.0) {
        table.put("multicast_bandwidth", bandwidth);
    }
}

/// The barrier of a cluster. Its fence costs nothing in a simulation.
pub(super) fn pipeline(found: &Found, table: &mut Table) {
    if let Some(cycles) = found.whole(DistributedShared, Attribute::RelaxedClusterBarrier) {
        table.put("cluster_barrier", cycles);
    }
}
