//! What is inside a cache: sets, ways, index and replacement, also beside all the shared memory that there is.

use serde_json::json;
use strata_model::topology::ElementName::{self, L1};
use strata_sim::machine::spec::{Cache, Index, Replacement};
use strata_sim::model::hierarchy::shape;

use super::{Truth, first};
use crate::expect::Expect;

/// Sets beyond which a search does not go to the end.
const MANY_SETS: usize = 100;
/// A probability of a victim may be off by this at least.
const ODDS: f64 = 0.02;
/// Launches in which victims are counted, one of each set.
const LAUNCHES: f64 = 400.0;
/// Standard deviations that chance may explain among the thousands of probabilities that a run of the tests judges.
const CHANCE: f64 = 4.0;

/// How far off a probability may be of a cache with so many sets: few sets give few victims.
fn odds_off(sets: usize) -> f64 {
    ODDS.max(CHANCE * (0.25 / (LAUNCHES * sets as f64)).sqrt())
}

/// What is inside a cache. Where the index is hashed, chance decides or sets are many, it need not show.
pub(super) fn structure(truth: &mut Truth, element: ElementName, cache: &Cache, shared: u64) {
    let shape = shape(cache, 1, shared);
    // The one line of a set always gives way.
    let keeps = shape.replacement == Replacement::Unhit && shape.ways.iter().any(|&ways| ways > 1);
    if keeps {
        for attribute in ["sets", "ways", "index", "replacement"] {
            truth.row(element, attribute, Expect::Unknown(""));
        }
        return;
    }
    let mut ways = shape.ways.clone();
    ways.sort_unstable_by(|a, b| b.cmp(a));
    let sets = ways.len();
    let equal = ways[0] == ways[sets - 1];
    let low = shape.line.trailing_zeros();
    let index = match &shape.index {
        Index::Modulo if sets.is_power_of_two() => {
            Expect::Like(json!({ "kind": "bits", "bits": (low..low + sets.ilog2()).collect::<Vec<u32>>() }), 0.0)
        }
        Index::Modulo => Expect::Like(json!({ "kind": "modulo", "sets": sets }), 0.0),
        Index::Dealt => Expect::Unknown("only translation is dealt"),
        Index::Bits(bits) => {
            let mut bits: Vec<u32> = bits.iter().map(|b| b.get() as u32).collect();
            bits.sort_unstable();
            Expect::Like(json!({ "kind": "bits", "bits": bits }), 0.0)
        }
        // Other masks say the same, and within a small footprint fewer bits do.
        Index::Parity(_) | Index::Hash(_) => Expect::Unknown(""),
    };
    let plain = matches!(shape.index, Index::Modulo | Index::Bits(_));
    let odds = match &shape.replacement {
        Replacement::Weighted(odds) => {
            let total: f64 = odds.iter().map(|&o| f64::from(o)).sum();
            Some(odds.iter().map(|&o| f64::from(o) / total).collect::<Vec<f64>>())
        }
        _ => None,
    };
    let drawn = odds.is_some() || shape.replacement == Replacement::Random;
    let policy = match (&shape.replacement, odds) {
        // Equal odds are no odds.
        (_, Some(odds)) if odds.iter().all(|one| *one == odds[0]) => Expect::Is(json!("random")),
        (_, Some(odds)) => Expect::Like(json!({ "policy": "weighted", "probabilities": odds }), odds_off(sets)),
        (Replacement::Lru, _) => Expect::Is(json!("lru")),
        (Replacement::Fifo, _) => Expect::Is(json!("fifo")),
        (Replacement::Plru, _) => Expect::Is(json!("plru")),
        (Replacement::Unhit, _) => Expect::Unknown(""),
        _ => Expect::Is(json!("random")),
    };
    let shows = plain && !drawn && sets <= MANY_SETS && truth.machine.spec.noise.spikes.0 == 0.0;
    let mut row = |attribute, expect, shows: bool| {
        truth.row(element, attribute, if shows { expect } else { Expect::IfStated(Box::new(expect)) });
    };
    row("sets", Expect::Is(json!(sets)), shows && equal);
    row("ways", Expect::Is(if equal { json!(ways[0]) } else { json!(ways) }), shows && equal);
    if !matches!(index, Expect::Unknown(_)) {
        row("index", index, shows && equal && sets > 1);
    }
    row("replacement", policy, false);
}

/// What a miss of the L1 adds, and the L1 beside all the shared memory that there is.
pub(super) fn least_configuration(truth: &mut Truth) {
    let spec = &truth.machine.spec;
    let Some(l1) = first(truth.machine, Some(&spec.path.global_ca)) else { return };
    let (through, past) = (&spec.path.global_ca, &spec.path.global_cg);
    let (_, off) = truth.noise();
    let (most, cache) = (spec.shared.per_multiprocessor.0, l1.cache);
    // Where the two paths meet: a chain larger than the caches of the SM is found in the L2 by both.
    if let Some(meet) = through.levels.iter().position(|level| *level == past.levels[0]) {
        let behind = through.cycles[meet].get() as f64 - past.cycles[0].get() as f64;
        truth.row(L1, "miss_overhead", Expect::IfStated(Box::new(Expect::Near(behind, off))));
    }
    let shape = shape(cache, 1, most);
    let ways = shape.ways[0];
    let mut parts = json!({ "sets": shape.ways.len(), "ways": ways, "size": cache.line.get() * shape.ways.len() as u64 * u64::from(ways) });
    if let Replacement::Weighted(odds) = &shape.replacement {
        let total: f64 = odds.iter().map(|&o| f64::from(o)).sum();
        let odds: Vec<f64> = odds.iter().map(|&o| f64::from(o) / total).collect();
        parts["replacement"] = json!({ "policy": "weighted", "probabilities": odds });
    }
    let plain = shape.ways.iter().all(|&w| w == ways) && matches!(shape.index, Index::Modulo | Index::Bits(_));
    if !plain || truth.machine.spec.noise.spikes.0 > 0.0 || shape.replacement == Replacement::Unhit {
        return;
    }
    truth.row(L1, "least_configuration", Expect::IfStated(Box::new(Expect::Parts(parts, odds_off(shape.ways.len())))));
}
