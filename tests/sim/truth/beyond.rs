//! What lies beyond one SM: translation, and the partitions of the L2.

use gpu_strata::topology::ElementName::{self, L2, TlbL1, TlbL2, TlbL3};
use serde_json::json;

use super::super::expect::Expect;
use super::Truth;

/// Part of the memory that is walked.
const WALKED: (u64, u64) = (7, 8);
/// Levels whose reaches are this many times apart show for certain, and footprints up to as many times the last reach.
const CERTAIN: u64 = 3;
/// Sets up to this number show whatever the memory.
const FEW_SETS: usize = 16;

/// Translation, level by level.
pub fn translation(truth: &mut Truth) {
    let device = &truth.machine.spec.device;
    let limit = device.memory.0 / WALKED.1 * WALKED.0;
    let quiet = is_quiet(truth);
    let mut before = 1;
    let levels: Vec<_> = truth.machine.spec.tlb.iter().collect();
    let elements: [ElementName; 3] = [TlbL1, TlbL2, TlbL3];
    for (number, element) in elements.into_iter().enumerate() {
        let Some(tlb) = levels.get(number) else {
            truth.row(element, "reach", Expect::Unknown(""));
            continue;
        };
        let mut ways = tlb.sets().expect("the machine was checked");
        ways.sort_unstable_by(|a, b| b.cmp(a));
        let entries: u64 = ways.iter().map(|&w| u64::from(w)).sum();
        let (page, reach) = (tlb.page.0, tlb.page.0 * entries);
        let shows = quiet && reach >= CERTAIN * before && reach * CERTAIN <= limit;
        let equal = ways[0] == ways[ways.len() - 1];
        let listed = if equal { json!(ways[0]) } else { json!(ways) };
        let penalty = Expect::Near(tlb.penalty.get() as f64, truth.noise().1);
        let few = ways.len() <= FEW_SETS;
        for (attribute, expect, shows) in [
            ("reach", Expect::Is(json!(reach)), shows),
            ("entries", Expect::Is(json!(entries)), shows),
            ("page_size", Expect::Is(json!(page)), shows),
            ("miss_penalty", penalty, shows),
            ("sets", Expect::Is(json!(ways.len())), shows && few),
            ("ways", Expect::Is(listed), shows && few),
        ] {
            truth.row(element, attribute, if shows { expect } else { Expect::IfStated(Box::new(expect)) });
        }
        before = reach;
    }
}

/// Which SM is on which side of the L2.
pub fn partitions(truth: &mut Truth) {
    let spec = &truth.machine.spec;
    let cache = &spec.cache[&spec.path.global_cg.levels[0]];
    let (count, digits) = match &cache.partitions {
        Some(parts) => (parts.count.get(), parts.sms.chars().filter_map(|c| c.to_digit(10)).collect()),
        None => (1, vec![0]),
    };
    let sms = spec.device.multiprocessors.get() as usize;
    // Partitions are numbered by their first SMs.
    let mut order: Vec<u32> = Vec::new();
    let map: Vec<serde_json::Value> = (0..sms)
        .map(|sm| {
            let digit = digits[sm % digits.len()];
            if !order.contains(&digit) {
                order.push(digit);
            }
            let partition = order.iter().position(|&d| d == digit).unwrap_or_default();
            json!({ "sm": sm, "partition": partition, "group": 0 })
        })
        .collect();
    // A partition without an SM of its own shows as no more than far lines.
    let shows = is_quiet(truth) && order.len() as u64 == count;
    for (attribute, expect) in [("partitions", Expect::Is(json!(count))), ("sm_map", Expect::Is(json!(map)))] {
        truth.row(L2, attribute, if shows { expect } else { Expect::IfStated(Box::new(expect)) });
    }
}

/// Whether a single load can be told from another by its time.
fn is_quiet(truth: &Truth) -> bool {
    let noise = &truth.machine.spec.noise;
    noise.jitter.get() + noise.smear.get() == 0 && noise.spikes.0 == 0.0
}
