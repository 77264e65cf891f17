//! Instruction caches.

use std::collections::BTreeMap;

use serde_json::json;
use strata_model::experiment::{CODE, CODE_GROUP};
use strata_model::topology::ElementName::{InstructionL0, InstructionL1, InstructionL15};
use strata_sim::machine::spec::Sharers;

use super::Truth;
use crate::expect::Expect;

/// What is not seen of a cache that holds nearly all of the code: the rest must be a few groups of blocks.
const SEEN: u64 = CODE.0 - 4 * CODE_GROUP.0;

/// What walks through code must show, from devices on that can be asked.
pub fn instructions(truth: &mut Truth) {
    let spec = &truth.machine.spec;
    if spec.device.compute_capability.0 < 7 {
        return;
    }
    let gpcs = spec.device.gpc_of_sms().unwrap_or_default();
    let sms = spec.device.multiprocessors.get() as usize;
    let groups = |shared_by: Sharers| -> Vec<usize> {
        let group = |sm: usize| match shared_by {
            Sharers::Sm => sm,
            Sharers::Tpc => sm / 2,
            Sharers::Gpc => gpcs[sm] as usize,
            Sharers::Device => 0,
        };
        (0..sms).map(group).collect()
    };
    let shown: Vec<_> = spec
        .instruction
        .iter()
        .filter(|cache| cache.size.0 <= SEEN)
        .map(|cache| (cache.size.0, cache.line.get(), cache.penalty.get(), groups(cache.shared_by)))
        .collect();
    // What a cache before brings in, this one is not asked for again.
    let mut brought = 0;
    for (number, element) in [InstructionL0, InstructionL1, InstructionL15].into_iter().enumerate() {
        let Some((size, line, penalty, groups)) = shown.get(number) else {
            for attribute in ["size", "fetch_granularity", "miss_penalty", "sms_of_an_instance", "instance_of_sms"] {
                truth.row(element, attribute, Expect::Unknown(""));
            }
            continue;
        };
        truth.row(element, "size", Expect::Is(json!(size)));
        brought = brought.max(*line);
        truth.row(element, "fetch_granularity", Expect::Is(json!(brought)));
        truth.row(element, "miss_penalty", Expect::Near(*penalty as f64, 1.0));
        // A cache that two walks cannot overflow says nothing.
        let (sizes, of_sms) = instances(groups);
        truth.row(element, "sms_of_an_instance", Expect::IfStated(Box::new(Expect::Is(json!(sizes)))));
        truth.row(element, "instance_of_sms", Expect::IfStated(Box::new(Expect::Is(json!(of_sms)))));
    }
}

/// How many SMs share each instance, in ascending order, and the number of the instance that each SM uses, counted in the order of their
/// first SMs; of any names of these instances, by SM.
pub fn instances(of_sms: &[usize]) -> (Vec<u64>, Vec<usize>) {
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    let mut sizes: Vec<u64> = Vec::new();
    let numbered: Vec<usize> = of_sms
        .iter()
        .map(|name| {
            let next = numbers.len();
            let number = *numbers.entry(*name).or_insert(next);
            sizes.resize(sizes.len().max(number + 1), 0);
            sizes[number] += 1;
            number
        })
        .collect();
    sizes.sort_unstable();
    (sizes, numbered)
}
