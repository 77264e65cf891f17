//! The route of each load path, and its latency.

use super::caches::Caches;
use super::found::{Found, Sourced, assumed, named};
use super::l2::Partitions;
use super::table::Table;
use strata_model::attribute::{Attribute, CACHED, Data, Translation};
use strata_model::experiment::LoadPath;
use strata_model::topology::ElementName::{
    self, ConstantL1, ConstantL15, Dram, L1, L2, Local, ReadOnly, Texture, TlbL1,
};

/// What sources call a latency, whatever its unit.
const LATENCY: &str = "latency";
/// Cycles of a hit in a first cache, in the L2 and in memory, where nothing was found: the orders of all GPUs measured so far.
const FIRST_CYCLES: u64 = 30;
const L2_CYCLES: u64 = 250;
const DRAM_CYCLES: u64 = 500;

/// The tables of all paths.
pub(super) fn render(found: &Found, caches: &Caches) -> String {
    let partitions = Partitions::of(found);
    let beyond = Beyond {
        l2: nearest(found, partitions.as_ref()),
        memory: memory(found, partitions.as_ref()),
        mixed: partitions.as_ref().is_some_and(|parts| !parts.has_copies()),
    };
    let mut text = String::new();
    for (name, element) in [("global_ca", L1), ("global_nc", ReadOnly), ("texture", Texture), ("local", Local)] {
        let first = caches.name(element).map(|cache| level(found, element, cache));
        // A path of which nothing is known is not there; these two are on every GPU.
        if first.is_some() || [L1, Local].contains(&element) {
            let mut path = one(found, name, first.into_iter().collect(), element, &beyond);
            if element == Texture {
                put_rate(found, &mut path, element);
            }
            text.push_str(&path.render());
        }
    }
    text.push_str(&one(found, "global_cg", Vec::new(), L2, &beyond).render());
    let constant: Vec<Level> =
        [ConstantL1, ConstantL15].into_iter().filter_map(|e| Some(level(found, e, caches.name(e)?))).collect();
    let last = if caches.name(ConstantL15).is_some() { ConstantL15 } else { ConstantL1 };
    let mut path = one(found, "constant", constant, last, &beyond);
    put_rate(found, &mut path, ConstantL1);
    text + &path.render()
}

/// What an SM hands out on a path on which it is not the cache that limits, as far as one can see.
fn put_rate(found: &Found, path: &mut Table, element: ElementName) {
    if let Some(rate) = found.rate(element, Attribute::ReadBandwidthPerSm, 1.0) {
        path.put("bandwidth", rate);
    }
}

/// What is behind the caches of an SM.
struct Beyond {
    /// Latency of a hit in the L2, past the L1.
    l2: Sourced<u64>,
    /// Latency of memory, past the L1.
    memory: Sourced<u64>,
    /// Whether hits in the L2 are near or far, by where a line is at home.
    mixed: bool,
}

/// A cache on a path, with the latency of a hit in it.
struct Level {
    cache: &'static str,
    cycles: Sourced<u64>,
}

fn level(found: &Found, element: ElementName, cache: &'static str) -> Level {
    Level { cache, cycles: found.cycles(element, Attribute::LatencyCycles, FIRST_CYCLES) }
}

/// Latency of a hit in the SM's own partition of the L2.
fn nearest(found: &Found, partitions: Option<&Partitions>) -> Sourced<u64> {
    match partitions.filter(|parts| !parts.has_copies()) {
        Some(parts) => {
            less_far(found, L2, parts).unwrap_or_else(|| found.cycles(L2, Attribute::LatencyCycles, L2_CYCLES))
        }
        None => found.cycles(L2, Attribute::LatencyCycles, L2_CYCLES),
    }
}

/// Latency of memory behind the SM's own partition of the L2, past the L1.
fn memory(found: &Found, partitions: Option<&Partitions>) -> Sourced<u64> {
    let measured = partitions.and_then(|_| found.whole(Dram, Attribute::NearLatency));
    let near = measured.or_else(|| less_far(found, Dram, partitions?));
    near.unwrap_or_else(|| found.cycles(Dram, Attribute::LatencyCycles, DRAM_CYCLES))
}

/// Latency of an element on the SM's own side, of which the mean was found.
fn less_far(found: &Found, element: ElementName, parts: &Partitions) -> Option<Sourced<u64>> {
    let far = parts.far_in_mean();
    let cycles = found.number(element, Attribute::LatencyCycles).filter(|_| far > 0.0)?;
    let how = format!("{element}.{LATENCY} minus what lines of the other partitions add to its mean");
    Some(Sourced::new((cycles - far).max(1.0).round() as u64, found.derived(&how)))
}

/// One path. `last` is the element whose miss shows how far the L2 is on it.
fn one(found: &Found, name: &str, first: Vec<Level>, last: ElementName, beyond: &Beyond) -> Table {
    let Beyond { l2, memory, .. } = beyond;
    let mut table = Table::new(&format!("path.{name}"), "");
    let mut levels: Vec<&str> = first.iter().map(|level| level.cache).collect();
    levels.push("l2");
    let source = match (first.is_empty(), last) {
        (false, _) => found.derived("a cache of the SM and the L2 behind it"),
        (true, L2) => found.derived("no cache of the SM answers it"),
        (true, element) => match found.get(element, CACHED) {
            Some(false) => found.derived("no cache of the SM answers it"),
            _ => assumed(&format!("whether a cache of the SM answers {element} was not found: none")),
        },
    };
    table.put("levels", Sourced::new(levels.iter().map(|l| (*l).to_owned()).collect::<Vec<_>>(), source));
    let behind = behind(found, first.last(), last, beyond);
    let mut cycles: Vec<Sourced<u64>> = first.into_iter().map(|level| level.cycles).collect();
    // By a path on which the L2 is farther away, memory is so, too.
    let beyond = memory.value.saturating_sub(l2.value).max(1);
    let far = match behind.value.cmp(&l2.value) {
        std::cmp::Ordering::Equal => memory.clone(),
        _ => Sourced::new(0, found.derived("the L2 by this path, and what memory takes more than the L2 past the L1")),
    };
    cycles.push(behind);
    rising(&mut cycles);
    let at_l2 = cycles.last().map_or(1, |l2| l2.value);
    let sources: Vec<&str> = cycles.iter().map(|c| c.source.as_str()).collect();
    let source = sources.join("; ");
    table.put("cycles", Sourced::new(cycles.iter().map(|c| c.value).collect::<Vec<_>>(), source));
    // Through the L1 it was measured, too.
    let through = found
        .spectrum(LoadPath::GlobalCa, Data::Memory, Translation::Hit)
        .filter(|cycles| last == L1 && *cycles > at_l2 as f64);
    let memory = match through {
        Some(cycles) => Sourced::new(
            cycles.round() as u64,
            found.derived(&format!("{}, memory through the L1", named(TlbL1, Attribute::Spectrum))),
        ),
        None => Sourced::new((at_l2 + beyond).max(far.value), far.source),
    };
    table.put("memory", memory);
    let why = "caches of an SM are asked by virtual address, so that their hits need no translation";
    table.put("translated", Sourced::new("l2", assumed(why)));
    table
}

/// Latency of a hit in the L2 by a path: that of the last cache before it, and what its miss adds.
fn behind(found: &Found, before: Option<&Level>, last: ElementName, beyond: &Beyond) -> Sourced<u64> {
    let l2 = &beyond.l2;
    let Some(before) = before else { return l2.clone() };
    // Where a miss may be near or far, what it adds is no latency of either.
    if let Some(more) = found.number(last, Attribute::MissOverhead).filter(|_| beyond.mixed) {
        let how = format!("the near L2 past the L1, and {}", named(last, Attribute::MissOverhead));
        return Sourced::new(l2.value + more.max(0.0).round() as u64, found.derived(&how));
    }
    let penalty = found.number(last, Attribute::MissPenalty).filter(|penalty| *penalty >= 1.0);
    // Past the L1 the L2 is measured over all of its lines; a miss of the L1 meets those of one footprint.
    match penalty {
        Some(penalty) => {
            let how = format!("{last}.{LATENCY} and {}", named(last, Attribute::MissPenalty));
            Sourced::new(before.cycles.value + penalty.round() as u64, found.derived(&how))
        }
        None => Sourced::new(
            l2.value,
            assumed(&format!("as past the L1: {} was not found", named(last, Attribute::MissPenalty))),
        ),
    }
}

/// Latencies must rise from level to level.
fn rising(cycles: &mut [Sourced<u64>]) {
    for i in 1..cycles.len() {
        if cycles[i].value <= cycles[i - 1].value {
            let found = cycles[i].value;
            cycles[i].value = cycles[i - 1].value + 1;
            cycles[i].source = format!("assumed: one more than the level before; {found} by {}", cycles[i].source);
        }
    }
}
