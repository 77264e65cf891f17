//! What lies beyond one SM: translation, and the partitions of the L2.

use std::collections::BTreeMap;

use serde_json::json;
use strata_model::topology::ElementName::{self, L2, TlbL1, TlbL2, TlbL3};
use strata_sim::machine::Machine;
use strata_sim::machine::spec::{Partitions, Scope, Spec};
use strata_sim::machine::value::Busy;

use super::Truth;
use super::instructions::instances;
use crate::expect::Expect;

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
    let quiet = is_quiet(&truth.machine.spec);
    let sms = device.multiprocessors.get() as usize;
    let (mut before, mut entries_before) = (1, 0);
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
        // Where no page of a level's entries lies beyond what the level before holds, what one maps does not show.
        let more = entries > 2 * entries_before;
        let shows = quiet && reach >= CERTAIN * before && reach * CERTAIN <= limit;
        let equal = ways[0] == ways[ways.len() - 1];
        let listed = if equal { json!(ways[0]) } else { json!(ways) };
        let penalty = Expect::Near(tlb.penalty.get() as f64, truth.noise().1);
        let few = ways.len() <= FEW_SETS;
        for (attribute, expect, shows) in [
            // Of one entry, what of its part lies behind the first page visited.
            (
                "reach",
                if entries == 1 { Expect::Near(reach as f64, (page / 64) as f64) } else { Expect::Is(json!(reach)) },
                shows,
            ),
            ("entries", Expect::Is(json!(entries)), shows && more),
            ("page_size", Expect::Is(json!(page)), shows && more),
            ("miss_penalty", penalty, shows),
            ("sets", Expect::Is(json!(ways.len())), shows && more && few),
            ("ways", Expect::Is(listed), shows && more && few),
        ] {
            truth.row(element, attribute, if shows { expect } else { Expect::IfStated(Box::new(expect)) });
        }
        // Where little is displaced, nothing is said.
        let of_sms: Vec<usize> = match (tlb.scope, tlb.instance_of_sms()) {
            (Scope::Sm, _) => (0..sms).collect(),
            (Scope::Device, None) => vec![0; sms],
            (Scope::Device, Some(of_sms)) => of_sms.into_iter().map(|instance| instance as usize).collect(),
        };
        let (sizes, of_sms) = instances(&of_sms);
        truth.row(element, "sms_of_an_instance", Expect::IfStated(Box::new(Expect::Is(json!(sizes)))));
        truth.row(element, "instance_of_sms", Expect::IfStated(Box::new(Expect::Is(json!(of_sms)))));
        before = reach;
        entries_before = entries;
    }
}

/// What loads take by what they meet (Mei et al., table 3).
pub fn spectrum(truth: &mut Truth) {
    let spec = &truth.machine.spec;
    let (_, off) = truth.noise();
    let mean = f64::midpoint(0.0, (spec.noise.jitter.get() + spec.noise.smear.get()) as f64);
    let far = spec.cache.values().find_map(|c| c.partitions.as_ref());
    let (far_hit, far_memory) = far.map_or((0, 0), |p| (p.far_hit.get(), p.far_memory.get()));
    let mut patterns = BTreeMap::new();
    for (name, path) in [("cg", &spec.path.global_cg), ("ca", &spec.path.global_ca)] {
        let latencies = path.levels.iter().zip(&path.cycles);
        let mut data: Vec<(&str, f64, u64)> = latencies
            .map(|(level, cycles)| match spec.cache[level].scope {
                Scope::Sm => ("l1", cycles.get() as f64, 0),
                Scope::Device => ("l2", cycles.get() as f64, far_hit),
            })
            .collect();
        // The flush may leave what a cache behind the L2 has, as the finding says.
        let behind = data.iter().filter(|level| level.0 == "l2").nth(1).map(|&(_, cycles, _)| cycles);
        // Of several caches on a side the first is meant.
        data.dedup_by_key(|level| level.0);
        data.push(("memory", path.memory.get() as f64, far_memory));
        for (data, cycles, far) in data {
            let sooner = behind.filter(|_| data == "memory").map_or(0.0, |behind| (cycles - behind).max(0.0));
            for missed in 0..=spec.tlb.len() {
                // Caches before the one that is asked by physical address need no translation.
                let before = |first: &String| path.levels.first().is_some_and(|level| level != first);
                let asked = data != "l1" || !path.translated.as_ref().is_some_and(before);
                let levels = &spec.tlb[..if asked { missed } else { 0 }];
                let penalty: u64 = levels.iter().map(|t| t.penalty.get()).sum();
                let uncached: u64 = levels.iter().map(|t| t.uncached.get()).sum();
                let cycles = cycles + mean + (penalty + if data == "memory" { uncached } else { 0 }) as f64;
                let translation = if missed == 0 { "hit".to_owned() } else { format!("l{missed} miss") };
                patterns.insert(
                    format!("{name}: {data}, {translation}"),
                    (cycles - sooner - off, cycles + far as f64 + off),
                );
            }
        }
    }
    let expect = if spec.tlb.is_empty() { Expect::Unknown("") } else { Expect::Patterns(patterns) };
    let shows = is_quiet(&truth.machine.spec) || truth.machine.spec.tlb.is_empty();
    truth.row(TlbL1, "spectrum", if shows { expect } else { Expect::IfStated(Box::new(expect)) });
}

/// The partitions that have SMs, in the order of their first ones, and the place in it of the partition of each SM.
pub fn sides(spec: &Spec) -> (Vec<u32>, Vec<usize>) {
    let cache = &spec.cache[&spec.path.global_cg.levels[0]];
    let digits: Vec<u32> = match &cache.partitions {
        Some(parts) => parts.sms.chars().filter_map(|c| c.to_digit(10)).collect(),
        None => vec![0],
    };
    let mut order: Vec<u32> = Vec::new();
    let mut place = |sm: usize| {
        let digit = digits[sm % digits.len()];
        order.iter().position(|&d| d == digit).unwrap_or_else(|| {
            order.push(digit);
            order.len() - 1
        })
    };
    let places = (0..spec.device.multiprocessors.get() as usize).map(&mut place).collect();
    (order, places)
}

/// Which SM is on which side of the L2.
pub fn partitions(truth: &mut Truth) {
    let spec = &truth.machine.spec;
    let (order, places) = sides(spec);
    let cache = &spec.cache[&spec.path.global_cg.levels[0]];
    let count = cache.partitions.as_ref().map_or(1, |parts| parts.count.get());
    let with_group = |(sm, partition)| json!({ "sm": sm, "partition": partition, "group": 0 });
    let map: Vec<serde_json::Value> = places.into_iter().enumerate().map(with_group).collect();
    // A partition without an SM of its own shows as no more than far lines. With all SMs on one, as the finding's note says, there
    // seems to be one.
    let shows = is_quiet(&truth.machine.spec) && order.len() as u64 == count;
    let far = cache.partitions.as_ref().map_or(0, |parts| parts.far_hit.get().max(parts.far_memory.get())) as f64;
    let noise = &spec.noise;
    let hidden = far > 0.0 && far <= (noise.jitter.get() + noise.smear.get()) as f64 / 2.0;
    let count = if order.len() == 1 { 1 } else { count };
    if hidden {
        // The note says how far apart partitions must be to show.
        truth.row(L2, "partitions", Expect::Within(1.0, count as f64));
        return;
    }
    let hash = match cache.partitions.as_ref().and_then(|parts| parts.parity.as_deref()) {
        Some(masks) if order.len() as u64 == count => hash(masks),
        _ => Expect::Unknown(""),
    };
    let all = [("partitions", Expect::Is(json!(count))), ("sm_map", Expect::Is(json!(map))), ("partition_hash", hash)];
    for (attribute, expect) in all {
        truth.row(L2, attribute, if shows { expect } else { Expect::IfStated(Box::new(expect)) });
    }
}

/// Least cycles for which a slice is busy with an access, so that those of all SMs together certainly wait for it.
const BUSY: f64 = 2.0;
/// Most slices of which the lines that are asked for tell.
const MOST_SLICES: u64 = 64;

/// The slices of the L2. A load goes to those of one partition where each keeps copies, and otherwise to those of all.
pub fn slices(truth: &mut Truth) {
    let spec = &truth.machine.spec;
    let cache = &spec.cache[&spec.path.global_cg.levels[0]];
    let apart = cache.partitions.as_ref().filter(|parts| !parts.copies);
    let count = cache.slices.get() * apart.map_or(1, |parts| parts.count.get());
    if cache.port == Busy::default() || !(2..=MOST_SLICES).contains(&count) {
        for attribute in ["slices", "slice_hash"] {
            truth.row(L2, attribute, Expect::Unknown(""));
        }
        return;
    }
    let by_partition = apart.map_or(Some(&[][..]), |parts| parts.parity.as_deref());
    let by_slice = if cache.slices.get() == 1 { Some(&[][..]) } else { cache.slice_parity.as_deref() };
    let hash = match by_partition.zip(by_slice) {
        Some((parts, slices)) => match hash(&[parts, slices].concat()) {
            // Not all slices have lines of each page.
            Expect::Unknown(_) => return,
            hash => hash,
        },
        None => Expect::Unknown(""),
    };
    // What else keeps loads waiting, such as the bandwidth of all slices together, may hide them.
    let shows =
        is_quiet(spec) && cache.port.cycles() >= BUSY && cache.bandwidth.is_none() && spec.pipeline.delivery.is_none();
    for (attribute, expect) in [("slices", Expect::Is(json!(count))), ("slice_hash", hash)] {
        truth.row(L2, attribute, if shows { expect } else { Expect::IfStated(Box::new(expect)) });
    }
}

/// The bits that a program controls: those within a page of 2 MiB.
const CONTROLLED: u64 = (2 << 20) - 1;

/// What a hash by these masks shows: its masks without the bits above a page, so that the lowest bit of each is in no other. If
/// fewer are left, not all partitions are in a page.
fn hash(masks: &[u64]) -> Expect {
    let lowest = |mask: u64| 1u64 << mask.trailing_zeros();
    let without = |mask: u64, row: u64| if mask & lowest(row) != 0 { mask ^ row } else { mask };
    let mut reduced: Vec<u64> = Vec::new();
    for mask in masks {
        let rest = reduced.iter().fold(mask & CONTROLLED, |rest, row| without(rest, *row));
        if rest == 0 {
            return Expect::Unknown("");
        }
        reduced.iter_mut().for_each(|row| *row = without(*row, rest));
        reduced.push(rest);
    }
    reduced.sort_unstable_by_key(|mask| mask.trailing_zeros());
    if reduced.iter().all(|mask| mask.is_power_of_two()) {
        return Expect::Is(json!({ "kind": "bits", "bits": reduced.iter().map(|m| m.ilog2()).collect::<Vec<_>>() }));
    }
    let masks: Vec<String> = reduced.iter().map(|mask| format!("{mask:#x}")).collect();
    Expect::Is(json!({ "kind": "parity", "masks": masks }))
}

/// Whether a single load can be told from another by its time.
fn is_quiet(spec: &Spec) -> bool {
    let noise = &spec.noise;
    noise.jitter.get() + noise.smear.get() == 0 && noise.spikes.0 == 0.0
}

/// Cycles of crossing to another partition that certainly show where nothing disturbs.
const SHOWS: u64 = 10;

/// Whether it certainly shows in which partition a line is at home: each partition has several SMs, and crossing costs enough.
pub fn are_clear(machine: &Machine, parts: &Partitions) -> bool {
    let sms = machine.spec.device.multiprocessors.get() as usize;
    let of_sms: Vec<u32> = parts.sms.chars().filter_map(|c| c.to_digit(10)).cycle().take(sms).collect();
    let has_several = |part: u64| of_sms.iter().filter(|of| u64::from(**of) == part).count() > 1;
    is_quiet(&machine.spec) && parts.far_hit.get() >= SHOWS && (0..parts.count.get()).all(has_several)
}
