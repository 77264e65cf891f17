//! Checks across the tables of a machine file.

mod caches;

use std::collections::BTreeMap;

use super::spec::{Cache, Device, Path, RADIX, Scope, Shared, Spec, Tlb};
use super::value::Whole;

/// The path of the key that is to blame, and what is wrong with it.
type Wrong = (String, String);

/// Most lines of all caches of a machine together: memory and time of a simulation grow with them.
const MOST_LINES: u64 = 1 << 25;
/// Smallest page.
const SMALLEST_PAGE: u64 = 4096;
/// Shared memory of a block that the kernels need to time loads.
const LEAST_SHARED: u64 = 16 << 10;
/// Device memory that the kernels need for their own data.
const LEAST_MEMORY: u64 = 16 << 20;

/// Ways of each set.
///
/// # Errors
///
/// If neither or both ways to say it are used.
pub fn sets_of(
    sets: Option<Whole<1, 16_777_216>>,
    ways: Option<Whole<1, 65536>>,
    set_ways: Option<&[Whole<1, 65536>]>,
) -> Result<Vec<u32>, String> {
    match (sets, ways, set_ways) {
        (Some(sets), Some(ways), None) => {
            let lines = sets.get() * ways.get();
            if lines > MOST_LINES {
                return Err(format!("found {} x {} entries, allowed are {MOST_LINES} in all", sets.get(), ways.get()));
            }
            Ok(vec![ways.get() as u32; sets.get() as usize])
        }
        (None, None, Some(ways)) if !ways.is_empty() => Ok(ways.iter().map(|w| w.get() as u32).collect()),
        _ => Err("found something else, allowed are either `sets` and `ways`, or `set_ways`".into()),
    }
}

impl Cache {
    /// Ways of each set, as [`sets_of`].
    pub fn sets(&self) -> Result<Vec<u32>, String> {
        sets_of(self.sets, self.ways, self.set_ways.as_deref())
    }

    /// Bytes of a sector.
    pub fn sector_bytes(&self) -> u64 {
        self.sector.unwrap_or(self.line).get()
    }
}

impl Tlb {
    /// Ways of each set, as [`sets_of`].
    pub fn sets(&self) -> Result<Vec<u32>, String> {
        sets_of(self.sets.and_then(|s| Whole::new(s.get())), self.ways, self.set_ways.as_deref())
    }
}

/// Checks what the types alone do not.
pub(super) fn check(spec: &Spec) -> Result<(), Wrong> {
    let mut lines = 0u64;
    for (name, cache) in &spec.cache {
        lines += caches::geometry(&format!("cache.{name}"), cache)?
            * match cache.scope {
                Scope::Sm => cache.instances.get() * spec.device.multiprocessors.get(),
                Scope::Device => 1,
            };
    }
    for (number, tlb) in spec.tlb.iter().enumerate() {
        let table = format!("tlb.{number}");
        power_of_two(&table, "page", tlb.page.0, SMALLEST_PAGE)?;
        let sets = tlb.sets().map_err(|what| (format!("{table}.sets"), what))?;
        caches::policy(&format!("{table}.replacement"), &tlb.replacement, &sets)?;
        let entries: u64 = sets.iter().map(|&ways| u64::from(ways)).sum();
        let sms = spec.device.multiprocessors.get();
        lines += entries
            * match &tlb.sms {
                Some(text) if tlb.scope == Scope::Device => {
                    of_sms(&format!("{table}.sms"), text, sms)?;
                    u64::from(RADIX)
                }
                Some(_) => {
                    let what = "found a list, allowed is none where each SM has one of its own";
                    return Err((format!("{table}.sms"), what.into()));
                }
                None if tlb.scope == Scope::Sm => sms,
                None => 1,
            };
    }
    for (number, cache) in spec.instruction.iter().enumerate() {
        let table = format!("instruction.{number}");
        lines += caches::instructions(&table, cache, &spec.device)? * spec.device.multiprocessors.get();
    }
    if lines > MOST_LINES {
        return Err((
            "device.multiprocessors".into(),
            format!("found {lines} lines in all caches of all SMs, allowed are {MOST_LINES}"),
        ));
    }
    power_of_two("pipeline", "coalescing", spec.pipeline.coalescing.get(), 32)?;
    caches::one_of_a_kind(spec)?;
    paths(spec)?;
    if spec.device.memory.0 < LEAST_MEMORY {
        return Err((
            "device.memory".into(),
            format!("found {} B, allowed are {LEAST_MEMORY} B and more", spec.device.memory.0),
        ));
    }
    if spec.shared.per_block.0 < LEAST_SHARED {
        return Err((
            "shared.per_block".into(),
            format!("found {} B, allowed are {LEAST_SHARED} B and more", spec.shared.per_block.0),
        ));
    }
    if spec.shared.per_multiprocessor < spec.shared.per_block {
        return Err((
            "shared.per_multiprocessor".into(),
            "found less than a block may have, allowed is that and more".into(),
        ));
    }
    gpcs(&spec.device)?;
    banks(&spec.shared)
}

/// Something of each SM, by a digit or a small letter.
fn of_sms(field: &str, text: &str, sms: u64) -> Result<(), Wrong> {
    if text.len() as u64 == sms && text.chars().all(|one| one.is_digit(RADIX) && !one.is_uppercase()) {
        return Ok(());
    }
    Err((field.into(), format!("found \"{text}\", allowed is a digit or a small letter for each of the {sms} SMs")))
}

fn gpcs(device: &Device) -> Result<(), Wrong> {
    let sms = device.multiprocessors.get();
    if let Some(gpcs) = &device.gpcs {
        of_sms("device.gpcs", gpcs, sms)?;
    }
    match device.pairs_only.iter().find(|&&sm| u64::from(sm) >= sms) {
        Some(sm) => Err(("device.pairs_only".into(), format!("found SM {sm}, allowed are SMs below {sms}"))),
        None => Ok(()),
    }
}

fn banks(shared: &Shared) -> Result<(), Wrong> {
    let width = shared.bank_width.get();
    let all = shared.banks.get() * width;
    if let Some(bandwidth) = shared.bandwidth.filter(|bandwidth| bandwidth.bytes() > all as f64) {
        let (found, banks) = (bandwidth.bytes(), shared.banks.get());
        return Err((
            "shared.bandwidth".into(),
            format!(
                "found {found} B a cycle, allowed are at most {all}, which {banks} banks of {width} B give at once"
            ),
        ));
    }
    power_of_two("shared", "banks", shared.banks.get(), 1)?;
    if !width.is_power_of_two() {
        return Err(("shared.bank_width".into(), format!("found {width}, allowed are 4 and 8")));
    }
    let fits = |mode: &Whole<4, 8>| mode.get().is_power_of_two() && mode.get() <= width;
    let twice = shared.modes.iter().enumerate().any(|(i, mode)| shared.modes[..i].contains(mode));
    if twice || !shared.modes.iter().all(fits) {
        let found: Vec<u64> = shared.modes.iter().map(|mode| mode.get()).collect();
        return Err((
            "shared.modes".into(),
            format!("found {found:?}, allowed are 4 and 8, each once, none above the bank's width of {width}"),
        ));
    }
    Ok(())
}

fn power_of_two(table: &str, key: &str, value: u64, least: u64) -> Result<(), Wrong> {
    if value.is_power_of_two() && value >= least {
        Ok(())
    } else {
        Err((format!("{table}.{key}"), format!("found {value}, allowed are powers of two from {least} on")))
    }
}

fn paths(spec: &Spec) -> Result<(), Wrong> {
    let mut after: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, path) in spec.path.all() {
        one_path(spec, name, path)?;
        for pair in path.levels.windows(2) {
            after.entry(&pair[0]).or_default().push(&pair[1]);
        }
    }
    for name in spec.cache.keys() {
        if !spec.path.all().any(|(_, path)| path.levels.contains(name)) {
            return Err((
                format!("cache.{name}.scope"),
                "found a cache that no path leads to, allowed are caches in the levels of a path".into(),
            ));
        }
    }
    // Each path takes every cache once, and the paths together have no circle.
    for start in after.keys() {
        let mut stack = after[start].clone();
        let mut seen = Vec::new();
        while let Some(next) = stack.pop() {
            if next == *start {
                return Err((
                    "path.global_ca.levels".into(),
                    format!(
                        "found a cycle: one path reaches `{start}` before another cache and another path after it; use \
                         one order"
                    ),
                ));
            }
            if !seen.contains(&next) {
                seen.push(next);
                stack.extend(after.get(next).into_iter().flatten());
            }
        }
    }
    let device_only = spec.path.global_cg.levels.iter().all(|l| spec.cache[l].scope == Scope::Device);
    if !device_only || spec.path.global_cg.levels.is_empty() {
        return Err((
            "path.global_cg.levels".into(),
            "found none or a cache of an SM, allowed are caches of the device, at least one".into(),
        ));
    }
    Ok(())
}

fn one_path(spec: &Spec, name: &str, path: &Path) -> Result<(), Wrong> {
    let key = |key: &str| format!("path.{name}.{key}");
    let known: Vec<&str> = spec.cache.keys().map(String::as_str).collect();
    let mut device = false;
    for (i, level) in path.levels.iter().enumerate() {
        let Some(cache) = spec.cache.get(level) else {
            return Err((key("levels"), format!("found `{level}`, allowed are {}", known.join(", "))));
        };
        if path.levels[..i].contains(level) {
            return Err((
                key("levels"),
                format!("found `{level}` twice, allowed is once: a cache behind itself is a circle"),
            ));
        }
        if device && cache.scope == Scope::Sm {
            return Err((
                key("levels"),
                format!("found `{level}`, a cache of an SM, behind one of the device, allowed is the reverse"),
            ));
        }
        device |= cache.scope == Scope::Device;
    }
    if !device {
        return Err((key("levels"), "found no cache of the device, allowed are levels that end in one".into()));
    }
    if path.cycles.len() != path.levels.len() {
        return Err((
            key("cycles"),
            format!(
                "found {} latencies, allowed is one for each of the {} levels",
                path.cycles.len(),
                path.levels.len()
            ),
        ));
    }
    let mut all = path.cycles.clone();
    all.push(path.memory);
    if !all.is_sorted_by(|a, b| a < b) {
        return Err((
            key("cycles"),
            "found latencies that do not rise, allowed are ones that rise from level to level up to `memory`".into(),
        ));
    }
    match &path.translated {
        Some(level) if !path.levels.contains(level) => {
            Err((key("translated"), format!("found `{level}`, allowed are {}", path.levels.join(", "))))
        }
        _ => Ok(()),
    }
}
