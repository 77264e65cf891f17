//! What is true of a machine, attribute by attribute, for the addresses that a run used. Nothing here is copied from the
//! machine file where it can be counted: a usable capacity is the number of consecutive lines that its sets can hold.

mod beyond;
pub mod launches;

use std::collections::BTreeMap;

use serde_json::json;
use strata_model::experiment::{Experiment, LoadPath, Order, Prepare, Timing};
use strata_model::samples::{Failure, Samples};
use strata_model::topology::ElementName::{self, *};
use strata_sim::machine::Machine;
use strata_sim::machine::spec::{Cache, Index, Path, Replacement, Scope};
use strata_sim::model::banks::Banks;
use strata_sim::model::cache;
use strata_sim::model::hierarchy::shape;

use super::expect::{Expect, Row};

/// Constants that a module may declare.
const CONSTANT_LIMIT: u64 = 65536;
/// Shared memory that a timing kernel takes.
const WINDOW_BYTES: u64 = 6144;

type Seen = [(Experiment, Result<Samples, Failure>)];

/// Bytes from `base` on that all sets can hold: those of consecutive lines before the first that finds its set full.
pub fn usable(cache: &Cache, partitions: u64, shared: u64, base: u64) -> u64 {
    let shape = shape(cache, partitions, shared);
    let line = shape.line;
    let ways = shape.ways.clone();
    let index = cache::Cache::new(shape, 0);
    let mut held = vec![0u32; ways.len()];
    let first = base / line;
    let mut lines = 0;
    loop {
        let set = index.set_of((first + lines) * line);
        if held[set] == ways[set] {
            // The first line may begin before the base.
            return (first + lines) * line - base;
        }
        held[set] += 1;
        lines += 1;
    }
}

/// Bytes up to which the misses of a cache with a hashed index may pass for a conflict: a set or two overflow long before
/// the others. Where more than a handful of lines find no place, misses grow.
fn handful(cache: &Cache, shared: u64, base: u64) -> u64 {
    if !matches!(cache.index, Index::Hash(_)) {
        return usable(cache, 1, shared, base);
    }
    let shape = shape(cache, 1, shared);
    let (line, ways) = (shape.line, shape.ways.clone());
    let index = cache::Cache::new(shape, 0);
    let mut held = vec![0u32; ways.len()];
    let mut homeless = 0u64;
    for lines in 0.. {
        let set = index.set_of((base / line + lines) * line);
        held[set] += 1;
        homeless += u64::from(held[set] > ways[set]);
        if homeless as f64 > HANDFUL * (lines + 1) as f64 {
            return (base / line + lines) * line - base;
        }
    }
    unreachable!("every cache overflows")
}

/// Share of the lines that may find no place before their misses are more than a conflict.
const HANDFUL: f64 = 0.02;

/// The bases of the footprints by which a path's capacity is searched, by allocation.
fn bases(seen: &Seen, path: LoadPath, prepared: bool) -> BTreeMap<u32, Vec<u64>> {
    let mut bases: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for (e, answer) in seen {
        let Experiment::Chase(e) = e else { continue };
        let searched = matches!(e.timing, Timing::EachLoad { .. })
            && e.path == path
            && if prepared {
                matches!(e.prepare, Prepare::Fill { .. })
            } else {
                e.order == Order::Sequential && e.warm_laps == 2
            };
        if let (true, Ok(samples)) = (searched, answer) {
            let all = bases.entry(e.place.allocation).or_default();
            if !all.contains(&samples.base) {
                all.push(samples.base);
            }
        }
    }
    bases
}

fn median(mut values: Vec<u64>) -> f64 {
    values.sort_unstable();
    let n = values.len();
    if n == 0 { 0.0 } else { (values[(n - 1) / 2] + values[n / 2]) as f64 / 2.0 }
}

/// The truth of a capacity: the median over the allocations, which may lie at several places in the course of a search.
fn capacity(cache: &Cache, shared: u64, seen: &Seen, path: LoadPath, granule: u64) -> Expect {
    let by_allocation = bases(seen, path, false);
    let of = |base: &u64| usable(cache, 1, shared, *base);
    let low = median(by_allocation.values().map(|b| b.iter().map(of).min().unwrap_or(0)).collect());
    let most = |base: &u64| handful(cache, shared, *base);
    let high = median(by_allocation.values().map(|b| b.iter().map(most).max().unwrap_or(0)).collect());
    let granule = granule as f64;
    Expect::Within((low / granule).floor() * granule, (high / granule).floor() * granule)
}

/// A first-level cache on a path, with what is behind it.
struct First<'m> {
    cache: &'m Cache,
    name: &'m str,
    hit: u64,
    behind: u64,
}

fn first<'m>(machine: &'m Machine, path: Option<&'m Path>) -> Option<First<'m>> {
    let path = path?;
    let name = path.levels.first()?;
    let cache = &machine.spec.cache[name];
    (cache.scope == Scope::Sm).then(|| First {
        cache,
        name,
        hit: path.cycles[0].get(),
        behind: path.cycles.get(1).copied().unwrap_or(path.memory).get(),
    })
}

struct Truth<'m> {
    machine: &'m Machine,
    rows: Vec<Row>,
}

impl Truth<'_> {
    fn row(&mut self, element: ElementName, attribute: &'static str, expect: Expect) {
        self.rows.push(Row { element, attribute, expect });
    }

    /// Mean of the jitter and how far off a latency may be: a cycle, and what noise adds.
    fn noise(&self) -> (f64, f64) {
        let noise = &self.machine.spec.noise;
        let jitter = (noise.jitter.get() + noise.smear.get()) as f64;
        (jitter / 2.0, 1.0 + jitter / 4.0 + 4.0 * noise.spikes.0 * noise.spike.get() as f64)
    }

    fn latency(&mut self, element: ElementName, clean: u64, relative: f64) {
        let (mean, off) = self.noise();
        let spikes = self.machine.spec.noise.spikes.0 * self.machine.spec.noise.spike.get() as f64;
        self.latency_of(element, clean as f64 + mean + spikes, off, relative);
    }

    fn clean_latency(&mut self, element: ElementName, cycles: u64, relative: f64) {
        self.latency_of(element, cycles as f64, 1.0, relative);
    }

    fn latency_of(&mut self, element: ElementName, cycles: f64, off: f64, relative: f64) {
        let off = off.max(relative * cycles);
        self.row(element, "latency.cycles", Expect::Near(cycles, off));
        let ghz = self.machine.spec.clock.mhz.get() as f64 / 1e3;
        self.row(element, "latency.ns", Expect::Near(cycles / ghz, off / ghz + 0.002 * cycles / ghz + 0.01));
    }
}

/// Latency of an L2 hit and of memory may be off by this share.
const SHARED_LEVELS: f64 = 0.02;

/// What discovery should say of a machine, of everything that it could find out.
pub fn rows(machine: &Machine, seen: &Seen) -> Vec<Row> {
    let spec = &machine.spec;
    let mut truth = Truth { machine, rows: Vec::new() };
    let paths = [
        (L1, LoadPath::GlobalCa, Some(&spec.path.global_ca)),
        (Texture, LoadPath::Texture, spec.path.texture.as_ref()),
        (ReadOnly, LoadPath::GlobalNc, spec.path.global_nc.as_ref()),
        (ConstantL1, LoadPath::Constant, Some(&spec.path.constant)),
    ];
    let shared = WINDOW_BYTES + spec.shared.reserved_per_block.0;
    for (element, path, described) in paths {
        let Some(described) = described else {
            truth.row(element, "size", Expect::Unknown(""));
            continue;
        };
        let Some(cache) = first(machine, Some(described)) else {
            if element == L1 {
                truth.row(element, "cached", Expect::Is(json!(false)));
            }
            truth.row(element, "size", Expect::Unknown("the SM does not cache"));
            continue;
        };
        if element == L1 {
            truth.row(element, "cached", Expect::Is(json!(true)));
        }
        let expected = if element == ConstantL1 {
            // Where the constant bank lies is not known here: its index must not depend on it.
            assert!(matches!(cache.cache.index, Index::Modulo | Index::Bits(_)), "constant caches are indexed plainly");
            let size = usable(cache.cache, 1, shared, 0) as f64;
            Expect::Within(size, size)
        } else {
            capacity(cache.cache, shared, seen, path, cache.cache.sector_bytes())
        };
        truth.row(element, "size", expected);
        truth.row(element, "line_size", Expect::Is(json!(cache.cache.line.get())));
        truth.row(element, "fetch_granularity", Expect::Is(json!(cache.cache.sector_bytes())));
        let (_, off) = truth.noise();
        truth.row(element, "miss_penalty", Expect::Near((cache.behind - cache.hit) as f64, off));
        let others = paths.iter().filter(|(other, _, described)| {
            *other != element && first(machine, *described).is_some_and(|o| o.name == cache.name)
        });
        truth.row(element, "shared_with", Expect::Names(others.map(|(other, ..)| other.key()).collect()));
        truth.row(element, "instances_per_sm", Expect::Is(json!(cache.cache.instances.get())));
        truth.latency(element, cache.hit, 0.0);
        structure(&mut truth, element, cache.cache, shared);
    }
    constant_l15(&mut truth, shared);
    let local = first(machine, Some(&spec.path.local));
    truth.row(Local, "cached", Expect::Is(json!(local.is_some())));
    truth.latency(Local, spec.path.local.cycles[0].get(), if local.is_some() { 0.0 } else { SHARED_LEVELS });
    // Noise is in the caches and the memory behind them.
    truth.clean_latency(Shared, spec.shared.cycles.get(), 0.0);
    truth.clean_latency(Host, spec.memory.host_cycles.get(), SHARED_LEVELS);
    shared_banks(&mut truth);
    l2(&mut truth, seen);
    beyond::partitions(&mut truth);
    beyond::translation(&mut truth);
    beyond::spectrum(&mut truth);
    least_configuration(&mut truth);
    launches::by_launch(&mut truth, seen);
    truth.rows
}

/// Banks of shared memory, and what follows from them.
fn shared_banks(truth: &mut Truth) {
    let shared = &truth.machine.spec.shared;
    truth.row(Shared, "banks", Expect::Is(json!(shared.banks.get())));
    truth.row(Shared, "bank_width", Expect::Is(json!(shared.bank_width.get())));
    // Nothing disturbs shared memory: a way costs what it costs.
    truth.row(Shared, "conflict_cycles", Expect::Near(shared.conflict.get() as f64, 0.02));
    truth.row(Shared, "broadcast", Expect::Is(json!(true)));
    let chooses = truth.machine.spec.device.compute_capability.0 == 3 && !shared.modes.is_empty();
    if chooses {
        truth.row(Shared, "bank_modes", Expect::Is(json!([4, 8])));
    }
    let own = shared.modes.first().unwrap_or(&shared.bank_width).get();
    let mut all = vec![(4, own), (8, own), (16, own)];
    if chooses {
        all.push((4, 12 - own));
    }
    let padded: Vec<serde_json::Value> = all
        .into_iter()
        .map(|(bytes, mode)| {
            let banks = Banks { count: shared.banks.get(), width: shared.bank_width.get(), word: mode };
            let passes = |stride: u64| {
                let addresses: Vec<u64> = (0..32).map(|lane| lane * stride * bytes).collect();
                banks.passes(&addresses, bytes)
            };
            let free = (1..=64).map(passes).min().unwrap_or(1);
            let elements = (0..=32).find(|padding| passes(32 + padding) == free);
            let mut row = json!({ "width": bytes, "words": elements.map(|e| e * bytes / 4) });
            if chooses {
                row["mode"] = json!(mode);
            }
            row
        })
        .collect();
    truth.row(Shared, "padding", Expect::Is(json!(padded)));
}

/// The second constant cache, behind the first.
fn constant_l15(truth: &mut Truth, shared: u64) {
    let spec = &truth.machine.spec;
    let path = &spec.path.constant;
    let (Some(first), Some(second)) = (path.levels.first(), path.levels.get(1)) else { return };
    let (first, second) = (&spec.cache[first], &spec.cache[second]);
    if second.scope != Scope::Sm {
        return;
    }
    let size = usable(second, 1, shared, 0);
    // A search begins beyond the first cache, and a footprint of one and a half times the second must fit the bank.
    if size >= CONSTANT_LIMIT {
        // Among spikes the search may end before it comes so far.
        let quiet = spec.noise.spikes.0 == 0.0;
        truth.row(ConstantL15, "size", Expect::Unknown(if quiet { "a module may declare" } else { "" }));
    } else {
        let granule = first.sector_bytes();
        let size = (size / granule * granule) as f64;
        truth.row(ConstantL15, "size", Expect::Within(size, size));
        // Chains of one element in two lines must be well beyond what the first cache may keep.
        let first_lines = first.size.0 / first.line.get();
        let elements = size as u64 * 3 / 2 / (2 * second.line.get());
        if size * 1.5 <= CONSTANT_LIMIT as f64 && elements >= 2 * first_lines {
            truth.row(ConstantL15, "line_size", Expect::Is(json!(second.line.get())));
        }
        let (_, off) = truth.noise();
        let penalty = path.cycles.get(2).copied().unwrap_or(path.memory).get() - path.cycles[1].get();
        truth.row(ConstantL15, "miss_penalty", Expect::Near(penalty as f64, off));
    }
    // What the first cache fetches at once, the second is asked for at once.
    let fetch = second.sector_bytes().max(first.sector_bytes());
    truth.row(ConstantL15, "fetch_granularity", Expect::Is(json!(fetch)));
    truth.latency(ConstantL15, path.cycles[1].get(), 0.0);
}

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
fn structure(truth: &mut Truth, element: ElementName, cache: &Cache, shared: u64) {
    let shape = shape(cache, 1, shared);
    if shape.replacement == Replacement::Unhit {
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
        (_, Some(odds)) => Expect::Like(json!({ "policy": "weighted", "probabilities": odds }), odds_off(sets)),
        (Replacement::Lru, _) => Expect::Is(json!("lru")),
        (Replacement::Fifo, _) => Expect::Is(json!("fifo")),
        (Replacement::Plru, _) => Expect::Is(json!("plru")),
        _ => Expect::Is(json!("random")),
    };
    let shows = plain && !drawn && sets <= MANY_SETS && truth.machine.spec.noise.spikes.0 == 0.0;
    let mut row = |attribute, expect, shows: bool| {
        truth.row(element, attribute, if shows { expect } else { Expect::IfStated(Box::new(expect)) });
    };
    row("sets", Expect::Is(json!(sets)), shows && equal);
    row("ways", if equal { Expect::Is(json!(ways[0])) } else { Expect::Like(json!(ways), 0.0) }, shows && equal);
    if !matches!(index, Expect::Unknown(_)) {
        row("index", index, shows && equal && sets > 1);
    }
    row("replacement", policy, false);
}

/// What a miss of the L1 adds, and the L1 beside all the shared memory that there is.
fn least_configuration(truth: &mut Truth) {
    let spec = &truth.machine.spec;
    let Some(l1) = first(truth.machine, Some(&spec.path.global_ca)) else { return };
    let past = &spec.path.global_cg;
    let (_, off) = truth.noise();
    let (behind, most, cache) =
        (l1.behind as f64 - past.cycles[0].get() as f64, spec.shared.per_multiprocessor.0, l1.cache);
    truth.row(L1, "miss_overhead", Expect::IfStated(Box::new(Expect::Near(behind, off))));
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

fn l2(truth: &mut Truth, seen: &Seen) {
    let machine = truth.machine;
    let path = &machine.spec.path.global_cg;
    let name = &path.levels[0];
    let cache = &machine.spec.cache[name];
    let partitions = cache.partitions.as_ref().map_or(1, |p| p.count.get());
    let by_allocation = bases(seen, LoadPath::GlobalCg, true);
    let sizes =
        by_allocation.values().map(|b| b.iter().map(|&base| usable(cache, partitions, 0, base)).min().unwrap_or(0));
    let size = median(sizes.collect());
    truth.row(L2, "size", Expect::Within(size, size));
    truth.row(L2, "nominal_size", Expect::Is(json!(machine.spec.device.l2.0)));
    truth.row(L2, "line_size", Expect::Is(json!(cache.line.get())));
    truth.row(L2, "fetch_granularity", Expect::Is(json!(cache.sector_bytes())));
    truth.latency(L2, path.cycles[0].get(), SHARED_LEVELS);
    // Lines are at home in one partition or another, at random.
    let far = cache
        .partitions
        .as_ref()
        .map_or(0.0, |p| p.far_memory.get() as f64 * (p.count.get() - 1) as f64 / p.count.get() as f64);
    truth.latency(Dram, path.memory.get() + far as u64, SHARED_LEVELS);
}
