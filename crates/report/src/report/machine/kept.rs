//! Which lines caches keep: what stores do, and which cache hints they obey.

use super::found::{Found, Sourced};
use super::table::{IntoToml, Table};
use strata_model::attribute::{Attribute, Effect, FETCH_BY_HINT, Fetches, HINTS, Hints, WRITE_BACK, WRITE_POLICY};
use strata_model::experiment::Access;
use strata_model::topology::ElementName::{self, L1, L2};

/// Prefetch sizes by the load that names them, as a machine file has them.
const SIZES: [(Access, &str, u64); 3] =
    [(Access::L2Fetch64, "64 B", 64), (Access::L2Fetch128, "128 B", 128), (Access::L2Fetch256, "256 B", 256)];

/// Effects of a hint that is obeyed. A cache of partitions may obey it in one of them, and a machine file knows no such part.
const FIRST: [Effect; 2] = [Effect::EvictedFirst, Effect::SomeEvictedFirst];
const LAST: [Effect; 2] = [Effect::EvictedLast, Effect::SomeEvictedLast];

/// Keys of the cache that global loads ask in the SM.
pub(super) fn of_l1(found: &Found, table: &mut Table) {
    let write = found.get(L1, WRITE_POLICY).and_then(|policy| match policy.as_str() {
        "updates" => Some("through"),
        "allocates" => Some("allocate"),
        "evicts" => Some("evict"),
        _ => None,
    });
    put(found, L1, Attribute::WritePolicy, "write", write, table);
    let hints = found.get(L1, HINTS).and_then(|hints| {
        obeyed([
            ("evict_first", does(hints, Access::L1EvictFirst, &FIRST)),
            ("evict_last", does(hints, Access::L1EvictLast, &LAST)),
            ("no_allocate", does(hints, Access::L1NoAllocate, &[Effect::NotKept])),
        ])
    });
    put(found, L1, Attribute::Hints, "hints", hints, table);
}

/// Keys of the L2.
pub(super) fn of_l2(found: &Found, table: &mut Table) {
    put(found, L2, Attribute::WriteBack, "write_back", found.get(L2, WRITE_BACK).copied(), table);
    let hints = found.get(L2, HINTS).and_then(|hints| {
        obeyed([
            ("evict_first", does(hints, Access::L2EvictFirst, &FIRST)),
            ("evict_last", does(hints, Access::L2EvictLast, &LAST)),
            ("discard", discards(hints).or(Some(false))),
        ])
    });
    if hints.is_some() && found.get(L2, HINTS).is_some_and(|hints| discards(hints).is_none()) {
        table.remark("Whether the L2 obeys `discard` was not found.");
    }
    put(found, L2, Attribute::Hints, "hints", hints, table);
    let sizes = found.get(L2, FETCH_BY_HINT).and_then(|Fetches(rows)| {
        let most = |access: Access| rows.iter().find(|row| row.access == access).map(|row| row.most.0);
        let plain = most(Access::Cg)?;
        // A size that is no more than what comes anyway does not show.
        obeyed(SIZES.map(|(access, name, size)| (name, most(access).map(|most| most >= size && most > plain))))
    });
    put(found, L2, Attribute::FetchByHint, "prefetch", sizes, table);
}

/// Whether `discard.L2` throws a line out of the L2, if that is known.
fn discards(hints: &Hints) -> Option<bool> {
    does(hints, Access::Discard, &[Effect::NotKept])
}

/// Whether an access has one of these effects, if its effect is known.
fn does(Hints(rows): &Hints, access: Access, effects: &[Effect]) -> Option<bool> {
    rows.iter().find(|row| row.access == access).map(|row| effects.contains(&row.effect))
}

/// The names of those that hold; nothing if that is unknown of any.
fn obeyed<'n>(all: impl IntoIterator<Item = (&'n str, Option<bool>)>) -> Option<Vec<&'n str>> {
    let known: Option<Vec<(&str, bool)>> = all.into_iter().map(|(name, is_obeyed)| Some((name, is_obeyed?))).collect();
    Some(known?.into_iter().filter_map(|(name, is_obeyed)| is_obeyed.then_some(name)).collect())
}

/// Puts a value that follows from an attribute, if that was found.
fn put(
    found: &Found,
    element: ElementName,
    attribute: Attribute,
    key: &str,
    value: Option<impl IntoToml>,
    table: &mut Table,
) {
    if let (Some(value), Some(finding)) = (value, found.known(element, attribute)) {
        table.put(key, Sourced::new(value, found.source(element, &[attribute], finding)));
    }
}
