//! Checks of one cache: its lines and sets, its index and policy, its partitions, and what it shares with shared memory.

use super::{Wrong, power_of_two};
use crate::machine::spec::{
    Cache, Configuration, Device, Hint, Index, InstructionCache, Partitions, Replacement, Scope, Sharers, Spec,
};

/// Sectors of a line: one bit each.
const MOST_SECTORS: u64 = 64;
/// Most bits of an index: two to the power of them are more sets than a machine may have lines.
const MOST_BITS: usize = 25;

/// Lines of an instruction cache.
pub(super) fn instructions(table: &str, cache: &InstructionCache, device: &Device) -> Result<u64, Wrong> {
    let (line, ways) = (cache.line.get(), cache.ways.get());
    power_of_two(table, "line", line, 16)?;
    if cache.size.0 == 0 || !cache.size.0.is_multiple_of(line * ways) {
        let what = format!("found {} B, allowed are multiples of {ways} lines of {line} B", cache.size.0);
        return Err((format!("{table}.size"), what));
    }
    let sets = cache.size.0 / (line * ways);
    policy(&format!("{table}.replacement"), &cache.replacement, &vec![ways as u32; sets.min(1 << MOST_BITS) as usize])?;
    if cache.shared_by == Sharers::Gpc && device.gpcs.is_none() {
        let what = "found gpc, allowed is that where `device.gpcs` says which SM is in which";
        return Err((format!("{table}.shared_by"), what.into()));
    }
    Ok(sets * ways)
}

/// Lines of one instance.
pub(super) fn geometry(table: &str, cache: &Cache) -> Result<u64, Wrong> {
    let line = cache.line.get();
    power_of_two(table, "line", line, 4)?;
    let sector = cache.sector_bytes();
    power_of_two(table, "sector", sector, 4)?;
    if sector > line || line / sector > MOST_SECTORS {
        return Err((
            format!("{table}.sector"),
            format!("found {sector}, allowed are {} to {line}", line.div_ceil(MOST_SECTORS)),
        ));
    }
    let sets = cache.sets().map_err(|what| (format!("{table}.sets"), what))?;
    let lines: u64 = sets.iter().map(|&ways| u64::from(ways)).sum();
    if lines.checked_mul(line) != Some(cache.size.0) {
        return Err((
            format!("{table}.size"),
            format!(
                "found {} B, but its {} sets hold {lines} lines of {line} B, which is {} B",
                cache.size.0,
                sets.len(),
                lines * line
            ),
        ));
    }
    if let Some(parts) = &cache.partitions {
        partitions(table, cache, parts, sets.len() as u64)?;
    }
    // Each partition has an index of its own.
    let parts = cache.partitions.as_ref().map_or(1, |parts| parts.count.get());
    index(&format!("{table}.index"), &cache.index, sets.len() as u64 / parts, parts, line)?;
    policy(&format!("{table}.replacement"), &cache.replacement, &sets)?;
    if let Some(masks) = &cache.slice_parity {
        parity(&format!("{table}.slice_parity"), masks, (cache.slices.get(), "slice", ""), line)?;
    }
    if cache.scope == Scope::Device && cache.instances.get() != 1 {
        return Err((format!("{table}.instances"), "found more than 1, allowed is 1 for a cache of the device".into()));
    }
    if cache.scope == Scope::Device && cache.write.is_some() {
        return Err((
            format!("{table}.write"),
            "found in a cache of the device, allowed is in a cache of an SM: a cache of the device always brings a stored \
             line in"
                .into(),
        ));
    }
    if cache.scope == Scope::Sm && cache.write_back {
        return Err((
            format!("{table}.write_back"),
            "found in a cache of an SM, allowed is in a cache of the device: an SM's cache passes stores on".into(),
        ));
    }
    if cache.scope == Scope::Device && cache.hints.contains(&Hint::NoAllocate) {
        return Err((
            format!("{table}.hints"),
            "found no_allocate in a cache of the device, allowed in a cache of an SM: a cache of the device always brings a line in"
                .into(),
        ));
    }
    if cache.scope == Scope::Sm && cache.hints.contains(&Hint::Discard) {
        return Err((
            format!("{table}.hints"),
            "found discard in a cache of an SM, allowed in a cache of the device: `discard.L2` is for it alone".into(),
        ));
    }
    if cache.scope == Scope::Sm && !cache.prefetch.is_empty() {
        return Err((
            format!("{table}.prefetch"),
            "found in a cache of an SM, allowed is in a cache of the device: no load asks an SM's cache for a size"
                .into(),
        ));
    }
    if cache.scope == Scope::Sm && cache.write_bandwidth.is_some() {
        return Err((
            format!("{table}.write_bandwidth"),
            "found in a cache of an SM, allowed is in a cache of the device: stores go on to it and wait for no cache of \
             the SM"
                .into(),
        ));
    }
    if !cache.configuration.is_empty() {
        configurations(table, cache)?;
    }
    Ok(lines)
}

/// An index function of so many sets; `key` is to blame.
fn index(key: &str, index: &Index, sets: u64, parts: u64, line: u64) -> Result<(), Wrong> {
    let whose = if parts > 1 { " of a partition" } else { "" };
    match index {
        Index::Bits(bits) => {
            let bits: Vec<u64> = bits.iter().map(|bit| bit.get()).collect();
            let masks: Vec<u64> = bits.iter().map(|bit| 1 << bit).collect();
            let one = |mask: u64| format!("bit {}", mask.trailing_zeros());
            numbers(key, &masks, (&format!("the bits {bits:?}"), one), (sets, "set", whose), line)
        }
        Index::Parity(masks) => parity(key, masks, (sets, "set", whose), line),
        Index::Modulo | Index::Dealt | Index::Hash(_) => Ok(()),
    }
}

/// Masks whose parities number so many of something, of which each line is in one.
fn parity(key: &str, masks: &[u64], of: (u64, &str, &str), line: u64) -> Result<(), Wrong> {
    let one = |mask: u64| format!("the mask {mask:#x}, which has a bit");
    numbers(key, masks, (&format!("the masks {}", hexadecimal(masks)), one), of, line)
}

/// As [`parity`], with words for all masks and for one.
fn numbers(
    key: &str,
    masks: &[u64],
    (found, one): (&str, impl Fn(u64) -> String),
    (count, what, whose): (u64, &str, &str),
    line: u64,
) -> Result<(), Wrong> {
    let wrong = |what: String| Err((key.to_owned(), what));
    if masks.len() >= MOST_BITS || 1 << masks.len() != count {
        let bits = masks.len();
        return wrong(format!(
            "found {bits} bits for {count} {what}s{whose}, allowed is two to the power of bits {what}s"
        ));
    }
    let shift = line.trailing_zeros();
    if let Some(mask) = masks.iter().find(|mask| **mask & (line - 1) != 0) {
        return wrong(format!(
            "found {} within a line of {line} B, of which all bytes are in one {what}; allowed are bits from {shift} on",
            one(*mask)
        ));
    }
    if !are_independent(masks) {
        return wrong(format!(
            "found {found}, by which some {what}s are never used; allowed are ones of which none is 0 or the sum of others"
        ));
    }
    Ok(())
}

fn hexadecimal(masks: &[u64]) -> String {
    format!("[{}]", masks.iter().map(|mask| format!("{mask:#x}")).collect::<Vec<_>>().join(", "))
}

/// Whether no mask is the sum of others, without carry: then every set has as many lines of memory.
fn are_independent(masks: &[u64]) -> bool {
    let mut basis: Vec<u64> = Vec::new();
    masks.iter().all(|&mask| {
        let left = basis.iter().fold(mask, |left, &one| left.min(left ^ one));
        basis.push(left);
        left != 0
    })
}

/// A policy for sets of so many ways; `key` is to blame.
pub(super) fn policy(key: &str, replacement: &Replacement, sets: &[u32]) -> Result<(), Wrong> {
    let wrong = |what: String| Err((key.to_owned(), what));
    match replacement {
        Replacement::Plru if sets.iter().any(|ways| !ways.is_power_of_two()) => {
            wrong("found plru with ways that are no power of two, allowed are powers of two".into())
        }
        Replacement::Weighted(odds) if sets.iter().any(|&ways| ways as usize != odds.len()) => {
            wrong(format!("found {} odds, allowed is one for each way", odds.len()))
        }
        Replacement::Weighted(odds) if odds.iter().map(|&o| u64::from(o)).sum::<u64>() == 0 => {
            wrong("found probabilities that are all 0; at least one must be above 0".into())
        }
        _ => Ok(()),
    }
}

fn partitions(table: &str, cache: &Cache, parts: &Partitions, sets: u64) -> Result<(), Wrong> {
    let count = parts.count.get();
    let table = format!("{table}.partitions");
    if cache.scope != Scope::Device {
        return Err((
            format!("{table}.count"),
            "found partitions of an SM's cache, allowed are those of the device's".into(),
        ));
    }
    match (&parts.granule, &parts.parity) {
        (Some(granule), None) => power_of_two(&table, "granule", granule.0, cache.line.get())?,
        (None, Some(masks)) => parity(&format!("{table}.parity"), masks, (count, "partition", ""), cache.line.get())?,
        (both, _) => {
            let found = if both.is_some() { "both" } else { "neither" };
            let what = format!("found {found} of `granule` and `parity`, allowed is one of them");
            return Err((format!("{table}.granule"), what));
        }
    }
    if !sets.is_multiple_of(count) || cache.set_ways.is_some() {
        return Err((
            format!("{table}.count"),
            format!("found {count}, allowed are numbers that divide the {sets} sets"),
        ));
    }
    let digits = |c: char| c.to_digit(10).is_some_and(|d| u64::from(d) < count);
    if parts.sms.is_empty() || !parts.sms.chars().all(digits) {
        return Err((format!("{table}.sms"), format!("found \"{}\", allowed are digits below {count}", parts.sms)));
    }
    Ok(())
}

/// What a cache has beside more and more shared memory.
fn configurations(table: &str, cache: &Cache) -> Result<(), Wrong> {
    let key = format!("{table}.configuration");
    let wrong = |what: String| Err((key.clone(), what));
    if cache.scope != Scope::Sm || cache.set_ways.is_some() {
        return wrong("found with `set_ways` or a cache of the device, allowed is neither".into());
    }
    let line = cache.line.get();
    let bytes = |one: &Configuration| one.sets.get() * one.ways.get() * line;
    for pair in cache.configuration.windows(2) {
        let [(before, size_before), (one, size)] = [&pair[0], &pair[1]].map(|c| (c.shared.0, bytes(c)));
        if one <= before {
            return wrong(format!(
                "found {one} B after {before} B of shared memory, allowed are sizes of shared memory that rise"
            ));
        }
        if size > size_before {
            return wrong(format!(
                "found a cache of {size} B beside {one} B of shared memory, but of {size_before} B beside {before} B; \
                 allowed is a cache that does not grow where shared memory does"
            ));
        }
    }
    let first = &cache.configuration[0];
    if Some(first.sets) != cache.sets || Some(first.ways) != cache.ways {
        return wrong("found a first one of other sets and ways than the cache, allowed are the same".into());
    }
    for one in &cache.configuration {
        index(&key, one.index.as_ref().unwrap_or(&cache.index), one.sets.get(), 1, line)?;
        policy(&key, one.replacement.as_ref().unwrap_or(&cache.replacement), &[one.ways.get() as u32])?;
    }
    Ok(())
}

/// What a machine has once at most: a cache in partitions, and one that shares its memory with shared memory.
pub(super) fn one_of_a_kind(spec: &Spec) -> Result<(), Wrong> {
    let second = |of: fn(&Cache) -> bool| {
        let mut all = spec.cache.iter().filter(|(_, cache)| of(cache)).map(|(name, _)| name.as_str());
        all.next().zip(all.next())
    };
    if let Some((first, other)) = second(|cache| cache.partitions.is_some()) {
        return Err((
            format!("cache.{other}.partitions.count"),
            format!(
                "found a second cache in partitions beside `{first}`, allowed is one: an SM belongs to one partition"
            ),
        ));
    }
    if let Some((first, other)) = second(|cache| !cache.configuration.is_empty()) {
        return Err((
            format!("cache.{other}.configuration"),
            format!("found a second cache beside `{first}` that shares its memory with shared memory, allowed is one"),
        ));
    }
    let Some((name, cache)) = spec.cache.iter().find(|(_, cache)| !cache.configuration.is_empty()) else {
        return Ok(());
    };
    let most = cache.configuration.last().map_or(0, |c| c.shared.0);
    let needed = spec.shared.per_block_optin.unwrap_or(spec.shared.per_block).0.max(spec.shared.per_block.0);
    if most < needed {
        return Err((
            format!("cache.{name}.configuration"),
            format!(
                "found at most {most} B of shared memory, allowed are {needed} B, which a block may have, and more"
            ),
        ));
    }
    Ok(())
}
