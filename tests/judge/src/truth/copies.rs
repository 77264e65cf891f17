//! Copies that go on by themselves.

use strata_model::topology::ElementName::AsyncCopy;

use super::{Truth, keeps_what_was_hit};
use crate::expect::Expect;

/// Instructions of a pass of the loop beside the copy, at most: the wait, the swap of the places, the count.
const OTHERS: u64 = 10;
/// A smaller L2 may not keep both places.
const SMALL: u64 = 16 * 1024;

/// What they take, from devices on that have them.
pub fn copies(truth: &mut Truth) {
    let spec = &truth.machine.spec;
    let major = spec.device.compute_capability.0;
    if major < 8 {
        return;
    }
    let path = &spec.path.global_cg;
    let l2 = &spec.cache[&path.levels[0]];
    let partitions = l2.partitions.as_ref();
    let [far_hit, far_memory] =
        [partitions.map_or(0, |parts| parts.far_hit.get()), partitions.map_or(0, |parts| parts.far_memory.get())];
    let near = path.cycles[0].get();
    let misses = keeps_what_was_hit(l2) || l2.size.0 < SMALL;
    let far = if misses { path.memory.get() + far_memory } else { near + far_hit };
    let (_, off) = truth.noise();
    let pipeline = &spec.pipeline;
    let others = OTHERS * (pipeline.issue.get() + pipeline.arithmetic.get());
    let within = |least: u64, most: u64| {
        let expect = Expect::Within(least as f64, (most + others) as f64 + 4.0 * off);
        // What is noisy or slow may not be seen.
        Expect::IfStated(Box::new(expect))
    };
    let sectors = 2 * pipeline.bulk_sector.get();
    let [word, bulk, mbarrier] = [pipeline.cp_async.get(), pipeline.bulk_copy.get(), pipeline.mbarrier.get()];
    let rows = [
        ("cp_async_latency", within(near + word, far + word), 8),
        ("bulk_copy_latency", within(near + bulk, far + bulk + sectors + mbarrier), 9),
        ("bulk_store_latency", within(bulk, bulk + sectors + 1), 9),
        ("mbarrier", within(mbarrier, mbarrier), 9),
    ];
    for (attribute, expect, from) in rows {
        truth.row(AsyncCopy, attribute, if major < from { Expect::Unknown("") } else { expect });
    }
}
