//! What stores and cache hints leave in the caches.

use std::collections::BTreeMap;

use serde_json::json;
use strata_model::attribute::Effect;
use strata_model::experiment::Access;
use strata_model::topology::ElementName::{L1, L2};
use strata_sim::machine::spec::{Cache, Hint, Partitions, Prefetch, Replacement, Scope, Write};

use super::Truth;
use crate::expect::Expect;

/// First compute capability whose loads name a prefetch size.
const PREFETCH_SIZES: (u32, u32) = (8, 0);

/// What becomes of the lines of each access, where anything is said of it: caches that hold few lines, or of which plain loads are not
/// displaced, do not tell.
pub fn residency(truth: &mut Truth) {
    let spec = &truth.machine.spec;
    let cache = |name: Option<&String>| name.and_then(|name| spec.cache.get(name));
    let of_cg = spec.path.global_cg.levels.first();
    let first = cache(spec.path.global_ca.levels.first()).filter(|cache| cache.scope == Scope::Sm);
    let second = cache(of_cg).filter(|cache| cache.scope == Scope::Device);
    let mut rows = Vec::new();
    if let Some(l1) = first {
        let write = l1.write.unwrap_or_default();
        let policy = match write {
            Write::Through => "updates",
            Write::Allocate => "allocates",
            Write::Evict => "evicts",
        };
        let by_cg = if of_cg == spec.path.global_ca.levels.first() { Effect::AsPlain } else { Effect::NotKept };
        rows.push((L1, policy, of_l1(l1, write, by_cg)));
    }
    if let Some(l2) = second {
        rows.push((L2, "allocates", of_l2(l2)));
        let capability = spec.device.compute_capability;
        if (capability.0, capability.1) >= PREFETCH_SIZES {
            truth.row(L2, "fetch_by_hint", Expect::IfStated(Box::new(Expect::Fetched(fetched(l2)))));
        }
    }
    if first.is_some() {
        truth.row(L1, "write_back", Expect::IfStated(Box::new(Expect::Is(json!(false)))));
    }
    if let Some(l2) = second {
        // Of an L2 that does not write back it is unknown, never `false`.
        truth.row(L2, "write_back", Expect::IfStated(Box::new(Expect::Is(json!(l2.write_back)))));
    }
    for (element, policy, effects) in rows {
        truth.row(element, "write_policy", Expect::IfStated(Box::new(Expect::Is(json!(policy)))));
        truth.row(element, "hints", Expect::IfStated(Box::new(Expect::Effects(effects))));
    }
}

/// What a hint does to a line that comes.
fn hinted(cache: &Cache, hint: Hint) -> Effect {
    match hint {
        _ if !cache.hints.contains(&hint) => Effect::AsPlain,
        // A set of one line has no choice.
        Hint::EvictFirst | Hint::EvictLast if is_direct_mapped(cache) => Effect::AsPlain,
        Hint::EvictFirst => Effect::EvictedFirst,
        Hint::EvictLast => Effect::EvictedLast,
        Hint::NoAllocate | Hint::Discard => Effect::NotKept,
    }
}

fn is_direct_mapped(cache: &Cache) -> bool {
    cache.sets().expect("the machine was checked").iter().all(|ways| *ways == 1)
}

/// What becomes of a line that is accessed twice.
fn again(cache: &Cache) -> Effect {
    if cache.replacement == Replacement::Unhit { Effect::EvictedLast } else { Effect::AsPlain }
}

/// Bytes that come with a load that misses, by the prefetch size that it names. They are looked for in steps of 32.
fn fetched(l2: &Cache) -> BTreeMap<Access, u64> {
    let plain = l2.sector.unwrap_or(l2.line).get().next_multiple_of(32);
    // A partition fetches what is its own.
    let most = l2.partitions.as_ref().map_or(u64::MAX, piece);
    let named = |size: Prefetch| if l2.prefetch.contains(&size) { plain.max(most.min(size as u64)) } else { plain };
    BTreeMap::from([
        (Access::Cg, plain),
        (Access::L2Fetch64, named(Prefetch::B64)),
        (Access::L2Fetch128, named(Prefetch::B128)),
        (Access::L2Fetch256, named(Prefetch::B256)),
    ])
}

/// Bytes that are surely of one partition.
fn piece(parts: &Partitions) -> u64 {
    let lowest = parts.parity.iter().flatten().map(|mask| 1u64 << mask.trailing_zeros()).min();
    parts.granule.map(|granule| granule.0).or(lowest).unwrap_or(u64::MAX)
}

fn of_l1(l1: &Cache, write: Write, by_cg: Effect) -> BTreeMap<Access, Effect> {
    let stored = |effect: Effect| if write == Write::Allocate { effect } else { Effect::NotKept };
    let held = match write {
        Write::Through => Effect::AsPlain,
        Write::Allocate => again(l1),
        Write::Evict => Effect::NotKept,
    };
    BTreeMap::from([
        (Access::Cg, by_cg),
        (Access::Lu, by_cg),
        (Access::Cv, by_cg),
        (Access::Cs, hinted(l1, Hint::EvictFirst)),
        (Access::L1EvictFirst, hinted(l1, Hint::EvictFirst)),
        (Access::L1EvictUnchanged, Effect::AsPlain),
        (Access::L1EvictLast, hinted(l1, Hint::EvictLast)),
        (Access::L1NoAllocate, hinted(l1, Hint::NoAllocate)),
        (Access::Store, stored(Effect::AsPlain)),
        (Access::StoreCs, stored(hinted(l1, Hint::EvictFirst))),
        (Access::StoreL1NoAllocate, stored(hinted(l1, Hint::NoAllocate))),
        (Access::StoreHeld, held),
        (Access::AtomicHeld, Effect::NotKept),
    ])
}

fn of_l2(l2: &Cache) -> BTreeMap<Access, Effect> {
    // A whole sector is stored by two instructions.
    let stored = |hint: Option<Hint>| match hint.map_or(Effect::AsPlain, |hint| hinted(l2, hint)) {
        Effect::AsPlain => again(l2),
        effect => effect,
    };
    BTreeMap::from([
        (Access::Cs, hinted(l2, Hint::EvictFirst)),
        (Access::L1NoAllocate, hinted(l2, Hint::EvictFirst)),
        (Access::L2EvictFirst, hinted(l2, Hint::EvictFirst)),
        (Access::L2EvictUnchanged, Effect::AsPlain),
        (Access::L2EvictLast, hinted(l2, Hint::EvictLast)),
        (Access::Store, stored(None)),
        (Access::StoreCs, stored(Some(Hint::EvictFirst))),
        (Access::StoreL1NoAllocate, stored(Some(Hint::EvictFirst))),
        (Access::StoreL2EvictFirst, stored(Some(Hint::EvictFirst))),
        (Access::StoreL2EvictLast, stored(Some(Hint::EvictLast))),
        (Access::WindowStreaming, hinted(l2, Hint::EvictFirst)),
        (Access::WindowPersisting, hinted(l2, Hint::EvictLast)),
        (Access::Discard, stored(Some(Hint::Discard))),
    ])
}
