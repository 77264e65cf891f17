//! Which SMs form a GPC.

use serde_json::json;
use strata_model::topology::ElementName::Die;

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
        return;
    };
    let mut sizes: Vec<usize> =
        (0..=gpcs.iter().copied().max().unwrap_or(0)).map(|gpc| gpcs.iter().filter(|&&of| of == gpc).count()).collect();
    sizes.sort_unstable();
    // Numbers are in the order of the first SMs.
    let mut order: Vec<u32> = Vec::new();
    gpcs.iter().for_each(|gpc| {
        if !order.contains(gpc) {
            order.push(*gpc);
        }
    });
    let (_, partitions) = sides(spec);
    let place = |(sm, gpc): (usize, &u32)| {
        let gpc = order.iter().position(|of| of == gpc).unwrap_or_default();
        json!({ "sm": sm, "partition": partitions[sm], "group": null, "tpc": sm / 2, "gpc": gpc })
    };
    let map: Vec<serde_json::Value> = gpcs.iter().enumerate().map(place).collect();
    truth.row(Die, "gpcs", Expect::Is(json!(sizes)));
    truth.row(Die, "map", Expect::Is(json!(map)));
}
