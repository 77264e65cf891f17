//! What is true of a machine, attribute by attribute, for the addresses that a run used. Nothing here is copied from the
//! machine file where it can be counted: a usable capacity is the number of consecutive lines that its sets can hold.

mod beyond;
mod capacity;
mod copies;
pub mod costs;
mod die;
mod inside;
mod instructions;
pub mod launches;
mod residency;

use serde_json::json;
use strata_model::experiment::{Experiment, LARGE_PAGE, LoadPath};
use strata_model::samples::{Failure, Samples};
use strata_model::topology::ElementName::{self, *};
use strata_sim::machine::Machine;
use strata_sim::machine::spec::{Cache, Partitions, Path, Replacement, Scope, Spec, Tlb};
use strata_sim::model::banks::Banks;

use self::capacity::{anywhere, bases, capacity, handful, median, usable_of_device};
use self::inside::{least_configuration, structure};
use crate::expect::{Expect, Row};

/// Constants that a module may declare.
const CONSTANT_LIMIT: u64 = 65536;
/// Shared memory that a timing kernel takes.
const WINDOW_BYTES: u64 = 6144;

type Seen = [(Experiment, Result<Samples, Failure>)];

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

/// A cache that is not so many times as large as the one before it may miss, too, where that is measured.
const FEW_TIMES: u64 = 4;

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
            anywhere(cache.cache, shared)
        } else {
            capacity(cache.cache, shared, seen, path, cache.cache.sector_bytes())
        };
        truth.row(element, "size", expected);
        truth.row(element, "line_size", Expect::Is(json!(cache.cache.line.get())));
        truth.row(element, "fetch_granularity", Expect::Is(json!(cache.cache.sector_bytes())));
        let (_, off) = truth.noise();
        let penalty = (cache.behind - cache.hit) as f64;
        let farther = farther(spec, described, cache.cache, cache.behind);
        let miss = Expect::Within(penalty - off, penalty + farther + off);
        truth.row(element, "miss_penalty", if farther > 0.0 { miss } else { Expect::Near(penalty, off) });
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
    beyond::slices(&mut truth);
    die::die(&mut truth);
    die::distributed(&mut truth);
    beyond::translation(&mut truth);
    beyond::spectrum(&mut truth);
    copies::copies(&mut truth);
    instructions::instructions(&mut truth);
    residency::residency(&mut truth);
    least_configuration(&mut truth);
    launches::by_launch(&mut truth, seen);
    truth.rows
}

/// By how many cycles more than `behind` a miss of `cache` may take: it is found on either side of the L2, and in memory where a side
/// is small or keeps what others hit.
fn farther(spec: &Spec, path: &Path, cache: &Cache, behind: u64) -> f64 {
    let l2 = &spec.cache[&spec.path.global_cg.levels[0]];
    let (count, far_hit, far_memory) = l2
        .partitions
        .as_ref()
        .map_or((1, 0, 0), |parts| (parts.count.get(), parts.far_hit.get(), parts.far_memory.get()));
    let small = count > 1 && l2.size.0 / count < FEW_TIMES * cache.size.0;
    let memory = path.memory.get() + far_memory;
    let far = behind + far_hit;
    (if small || keeps_what_was_hit(l2) { memory.max(far) } else { far } - behind) as f64
}

/// Whether a line that was hit once is never replaced, so that a full set of such lines lets no other one in.
fn keeps_what_was_hit(cache: &Cache) -> bool {
    cache.replacement == Replacement::Unhit
}

/// What is true of shared memory's banks.
fn shared_banks_of(machine: &Machine) -> Vec<Row> {
    let mut truth = Truth { machine, rows: Vec::new() };
    shared_banks(&mut truth);
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
    let chooses = truth.machine.spec.device.compute_capability.0 == 3 && shared.modes.len() > 1;
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
    let (least, size) = capacity::range(second, shared);
    // A search begins beyond the first cache, and a footprint of one and a half times the second must fit the bank.
    if size >= CONSTANT_LIMIT {
        // Among noise the search may end before it comes so far.
        let noise = spec.noise.jitter.get() + spec.noise.smear.get();
        let quiet = spec.noise.spikes.0 == 0.0 && noise < UNCLEAR;
        // Hits and misses of the second cache may be too close beside the noise, or too few lines tell them apart.
        let behind = path.cycles.get(2).copied().unwrap_or(path.memory).get();
        let [before, own] = [path.cycles[0].get(), path.cycles[1].get()];
        let apart = (own - before).min(behind - own) > CLOSE * (noise + 1);
        let many = CONSTANT_LIMIT / first.line.get() >= MANY;
        let bound = quiet && apart && many && second.scope == Scope::Sm;
        truth.row(ConstantL15, "size", Expect::Unknown(if bound { "a module may declare" } else { "" }));
    } else {
        let granule = first.sector_bytes();
        let [least, size] = [least, size].map(|size| (size / granule * granule) as f64);
        // The bank may begin within a line.
        let partial = second.line.get().saturating_sub(granule) as f64;
        let within = |most: f64| Expect::Within(least - partial, most);
        // A hashed cache of which a module fills a part has conflicts there, but is not smaller for it.
        let part = second.size.0 >= CONSTANT_LIMIT;
        let expect = if part { Expect::IfStated(Box::new(within(second.size.0 as f64))) } else { within(size) };
        truth.row(ConstantL15, "size", expect);
        // Chains of one element in two lines must be well beyond what the first cache may keep.
        let first_lines = first.size.0 / first.line.get();
        let elements = size as u64 * 3 / 2 / (2 * second.line.get());
        if size * 1.5 <= CONSTANT_LIMIT as f64 && elements >= 2 * first_lines {
            // Of what the first cache fetches at once no part shows.
            let line = second.line.get().max(first.sector_bytes());
            truth.row(ConstantL15, "line_size", Expect::Is(json!(line)));
        }
        let (_, off) = truth.noise();
        let penalty = path.cycles.get(2).copied().unwrap_or(path.memory).get() - path.cycles[1].get();
        let farther = farther(spec, path, second, path.cycles[1].get() + penalty);
        let miss = Expect::Within(penalty as f64 - off, penalty as f64 + farther + off);
        truth.row(ConstantL15, "miss_penalty", if farther > 0.0 { miss } else { Expect::Near(penalty as f64, off) });
    }
    // What the first cache fetches at once, the second is asked for at once.
    let fetch = second.sector_bytes().max(first.sector_bytes());
    truth.row(ConstantL15, "fetch_granularity", Expect::Is(json!(fetch)));
    truth.latency(ConstantL15, path.cycles[1].get(), 0.0);
}

/// Cycles of jitter that may hide that nothing misses.
const UNCLEAR: u64 = 6;
/// Times the noise by which levels of constants lie apart at least, if they are to be told apart.
const CLOSE: u64 = 4;
/// Lines of all constants by which misses are to be seen.
const MANY: u64 = 100;

fn l2(truth: &mut Truth, seen: &Seen) {
    let machine = truth.machine;
    let path = &machine.spec.path.global_cg;
    let name = &path.levels[0];
    let cache = &machine.spec.cache[name];
    let by_allocation = bases(seen, LoadPath::GlobalCg, true);
    // A cache behind the L2 is told from it by nothing but its latency: what is measured is what comes before memory.
    let all: Vec<&Cache> = path.levels.iter().map(|level| &machine.spec.cache[level]).collect();
    let held = |base: u64| all.iter().map(|cache| usable_of_device(cache, base)).max().unwrap_or(0);
    let sizes = by_allocation.values().map(|b| b.iter().map(|&base| held(base)).min().unwrap_or(0));
    let size = median(sizes.collect());
    // A set or two of a hashed index that overflow long before the others are a conflict, as in the caches of the SM.
    let with_conflict =
        |base: u64| all.iter().filter(|cache| cache.partitions.is_none()).map(|cache| handful(cache, 0, base)).max();
    let most = by_allocation.values().map(|b| b.iter().filter_map(|&base| with_conflict(base)).max().unwrap_or(0));
    let most = median(most.collect()).max(size);
    // The flush may leave what a cache behind the L2 has: then its hits look like memory, as the finding of DRAM says.
    let least = if all.len() > 1 { usable_of_device(cache, 0) as f64 } else { size };
    truth.row(L2, "size", Expect::Within(least.min(size), most));
    truth.row(L2, "nominal_size", Expect::Is(json!(machine.spec.device.l2.0)));
    truth.row(L2, "line_size", Expect::Is(json!(cache.line.get())));
    // What a cache behind it fetches shows as its own only where noise hides which of the two answers.
    let own = cache.sector_bytes();
    let noise = &machine.spec.noise;
    let hidden = path
        .cycles
        .get(1)
        .is_some_and(|behind| behind.get() - path.cycles[0].get() <= noise.jitter.get() + noise.smear.get());
    let most = all.iter().map(|cache| cache.sector_bytes()).max().filter(|_| hidden).unwrap_or(own);
    let fetch = if most > own { Expect::Within(own as f64, most as f64) } else { Expect::Is(json!(own)) };
    truth.row(L2, "fetch_granularity", fetch);
    let shared = SHARED_LEVELS * path.cycles[0].get() as f64;
    let (mean, off) = truth.noise();
    // What was hit elsewhere is never replaced, so that there may be no room for a copy.
    match cache.partitions.as_ref().filter(|parts| !parts.copies || keeps_what_was_hit(cache)) {
        None => truth.latency(L2, path.cycles[0].get(), SHARED_LEVELS),
        Some(parts) => {
            // Which lines of a chain are at home on the SM's side is chance.
            let near = path.cycles[0].get() as f64 + mean;
            let far = near + parts.far_hit.get() as f64;
            truth.row(L2, "latency.cycles", Expect::Within(near - shared - off, far + shared + off));
        }
    }
    // Lines are at home in one partition or another, at random.
    let far = cache
        .partitions
        .as_ref()
        .map_or(0.0, |p| p.far_memory.get() as f64 * (p.count.get() - 1) as f64 / p.count.get() as f64);
    let memory = path.memory.get() + far as u64;
    // Small pages make TLB misses part of it, which the note says is possible.
    let misses =
        |tlb: &Tlb| if tlb.page.0 < LARGE_PAGE.0 { (tlb.penalty.get() + tlb.uncached.get()) as f64 } else { 0.0 };
    let translation: f64 = machine.spec.tlb.iter().map(misses).sum();
    for (attribute, is_far) in [("near_latency", false), ("far_latency", true)] {
        let side = |parts: &Partitions| {
            // A cache behind the L2 may answer, before memory does.
            let least = path.cycles.get(1).map_or(path.memory, |behind| *behind).get() as f64;
            let most = (path.memory.get() + if is_far { parts.far_memory.get() } else { 0 }) as f64;
            let least = if path.cycles.len() > 1 { least } else { most };
            let (least, most) = (least * (1.0 - SHARED_LEVELS) - off, most * (1.0 + SHARED_LEVELS) + translation);
            let within = Expect::Within(least, most + 2.0 * mean + off);
            if path.cycles.len() == 1 && translation == 0.0 && beyond::are_clear(machine, parts) {
                within
            } else {
                Expect::IfStated(Box::new(within))
            }
        };
        truth.row(Dram, attribute, cache.partitions.as_ref().map_or(Expect::Unknown(""), side));
    }
    if let Some(behind) = path.cycles.get(1) {
        let (low, high) =
            (behind.get() as f64 * (1.0 - SHARED_LEVELS) - off, memory as f64 * (1.0 + SHARED_LEVELS) + off);
        truth.row(Dram, "latency.cycles", Expect::IfStated(Box::new(Expect::Within(low, high + mean + translation))));
    } else if translation == 0.0 {
        truth.latency(Dram, memory, SHARED_LEVELS);
    } else {
        let (low, most) = (memory as f64 * (1.0 - SHARED_LEVELS), memory as f64 * (1.0 + SHARED_LEVELS) + translation);
        truth.row(Dram, "latency.cycles", Expect::IfStated(Box::new(Expect::Within(low, most + 2.0 * mean + off))));
    }
}
