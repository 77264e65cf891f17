//! The way of a load through the caches: which level answers, and when.

use std::collections::BTreeMap;

use super::cache::{Cache, Shape};
use super::mix;
use super::noise::Noise;
use crate::machine::Machine;
use crate::machine::spec::{self, Scope, Spec, Threads, Write};

/// The ways that loads may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `ld.global.ca`.
    GlobalCa,
    /// `ld.global.cg`.
    GlobalCg,
    /// `ld.global.nc`.
    GlobalNc,
    /// `tex`.
    Texture,
    /// `ld.const`, indexed.
    Constant,
    /// `ld.const`, uniform.
    ConstantUniform,
    /// `ld.local`.
    Local,
}

/// Who loads.
#[derive(Clone, Copy, Debug)]
pub struct Requester {
    /// SM.
    pub sm: u32,
    /// Warp of its block.
    pub warp: u32,
    /// Warps of that block.
    pub warps: u32,
}

/// A level of a way.
#[derive(Clone, Debug)]
struct Level {
    cache: usize,
    cycles: u64,
}

/// A way with everything looked up.
#[derive(Clone, Debug)]
struct Route {
    levels: Vec<Level>,
    memory: u64,
    /// Levels before this one are asked by virtual address.
    translated: usize,
}

/// What is known of a cache besides its content.
struct Kind {
    name: String,
    scope: Scope,
    spec: spec::Cache,
    instances: u32,
}

/// Ports of a cache or channels of memory: when each is free again.
struct Ports {
    busy: u64,
    free: Vec<u64>,
}

impl Ports {
    fn new(busy: u64, count: u64) -> Self {
        Ports { busy, free: vec![0; if busy == 0 { 0 } else { count as usize }] }
    }

    /// Cycles that an access at `now` waits.
    fn wait(&mut self, now: u64, address: u64) -> u64 {
        if self.busy == 0 {
            return 0;
        }
        let count = self.free.len() as u64;
        let port = &mut self.free[if count == 1 { 0 } else { (mix(address >> 7) % count) as usize }];
        let start = now.max(*port);
        *port = start + self.busy;
        start - now
    }
}

/// One instance of a cache, with its ports.
struct Instance {
    cache: Cache,
    ports: Ports,
}

/// Caches of one SM: made when it first loads, emptied when a launch begins.
struct Private {
    epoch: u64,
    /// Of each kind of cache, its instances.
    caches: Vec<Vec<Instance>>,
    tlbs: Vec<Option<Cache>>,
}

/// Cycles that translating an address adds.
#[derive(Clone, Copy, Default)]
struct Translation {
    /// Whatever the data does.
    cycles: u64,
    /// Besides, if the data is not in the caches of the device.
    uncached: u64,
}

/// All caches of a machine.
pub struct Hierarchy {
    kinds: Vec<Kind>,
    routes: [Option<Route>; 7],
    sms: Vec<Option<Box<Private>>>,
    /// Of each kind, its partitions, if it is the device's.
    device: Vec<Vec<Instance>>,
    tlbs: Vec<spec::Tlb>,
    device_tlbs: Vec<Option<Cache>>,
    channels: Ports,
    noise: Noise,
    seed: u64,
    epoch: u64,
    /// Shared memory that each SM has set aside.
    carveout: u64,
    /// Partition of each SM, of every kind that has partitions.
    sm_partitions: Vec<u32>,
}

/// Seed of a part of the machine.
fn part(seed: u64, what: u64, number: u64) -> u64 {
    mix(seed ^ mix(what << 32 ^ number))
}

impl Hierarchy {
    /// The caches of a machine, all empty.
    pub fn new(machine: &Machine, seed: u64) -> Self {
        let spec = &machine.spec;
        let kinds: Vec<Kind> = spec
            .cache
            .iter()
            .map(|(name, cache)| Kind {
                name: name.clone(),
                scope: cache.scope,
                spec: cache.clone(),
                instances: cache.instances.get() as u32,
            })
            .collect();
        let by_name: BTreeMap<&str, usize> = kinds.iter().enumerate().map(|(i, k)| (k.name.as_str(), i)).collect();
        let route = |path: &spec::Path| Route {
            levels: path
                .levels
                .iter()
                .zip(&path.cycles)
                .map(|(name, cycles)| Level { cache: by_name[name.as_str()], cycles: cycles.get() })
                .collect(),
            memory: path.memory.get(),
            translated: path.translated.as_ref().map_or(0, |t| path.levels.iter().position(|l| l == t).unwrap_or(0)),
        };
        let routes = Self::routes(spec).map(|path| path.map(route));
        let device = kinds
            .iter()
            .enumerate()
            .map(|(number, kind)| match kind.scope {
                Scope::Sm => Vec::new(),
                Scope::Device => {
                    let count = kind.spec.partitions.as_ref().map_or(1, |p| p.count.get());
                    (0..count).map(|p| kind.instance(count, 0, part(seed, number as u64, p))).collect()
                }
            })
            .collect();
        let digits: Vec<u32> = kinds
            .iter()
            .find_map(|k| k.spec.partitions.as_ref())
            .map_or(vec![0], |p| p.sms.chars().filter_map(|c| c.to_digit(10)).collect());
        let sms = spec.device.multiprocessors.get() as usize;
        Hierarchy {
            routes,
            sms: (0..sms).map(|_| None).collect(),
            device,
            tlbs: spec.tlb.clone(),
            device_tlbs: spec
                .tlb
                .iter()
                .enumerate()
                .map(|(i, tlb)| (tlb.scope == Scope::Device).then(|| translation(tlb, part(seed, 90, i as u64))))
                .collect(),
            channels: Ports::new(spec.memory.port.get(), spec.memory.channels.get()),
            noise: Noise::new(&spec.noise, part(seed, 91, 0)),
            seed,
            epoch: 0,
            carveout: 0,
            sm_partitions: (0..sms).map(|sm| digits[sm % digits.len()]).collect(),
            kinds,
        }
    }

    fn routes(spec: &Spec) -> [Option<&spec::Path>; 7] {
        let path = &spec.path;
        [
            Some(&path.global_ca),
            Some(&path.global_cg),
            path.global_nc.as_ref(),
            path.texture.as_ref(),
            Some(&path.constant),
            path.constant_uniform.as_ref().or(Some(&path.constant)),
            Some(&path.local),
        ]
    }

    /// Whether the machine has this way at all.
    pub fn has(&self, way: Way) -> bool {
        self.routes[way as usize].is_some()
    }

    /// Whether a cache of the SM is the first that is asked on this way.
    pub fn begins_in_sm(&self, way: Way) -> bool {
        let first = self.routes[way as usize].as_ref().and_then(|route| route.levels.first());
        first.is_some_and(|level| self.kinds[level.cache].scope == Scope::Sm)
    }

    /// A launch begins: SMs begin with empty caches, of the shape that leaves `shared` bytes to shared memory.
    pub fn begin(&mut self, shared: u64) {
        self.epoch += 1;
        if shared != self.carveout {
            self.carveout = shared;
            self.sms.iter_mut().for_each(|sm| *sm = None);
        }
    }

    fn private(&mut self, sm: u32) -> &mut Private {
        let place = &mut self.sms[sm as usize];
        if place.is_none() {
            // Made anew when shared memory takes another share: draws go on, they do not begin again.
            let seed = part(part(self.seed, 92, u64::from(sm)), 94, self.epoch);
            let carveout = self.carveout;
            *place = Some(Box::new(Private {
                epoch: self.epoch,
                caches: self
                    .kinds
                    .iter()
                    .enumerate()
                    .map(|(number, kind)| match kind.scope {
                        Scope::Device => Vec::new(),
                        Scope::Sm => (0..kind.instances)
                            .map(|i| kind.instance(1, carveout, part(seed, number as u64, u64::from(i))))
                            .collect(),
                    })
                    .collect(),
                tlbs: self
                    .tlbs
                    .iter()
                    .enumerate()
                    .map(|(i, tlb)| (tlb.scope == Scope::Sm).then(|| translation(tlb, part(seed, 93, i as u64))))
                    .collect(),
            }));
        }
        let private = place.as_mut().expect("just made");
        if private.epoch != self.epoch {
            private.epoch = self.epoch;
            private.caches.iter_mut().flatten().for_each(|instance| instance.cache.clear());
            // Translations outlive a launch, unless shared memory takes another share; ports do not wait for one that is over.
        }
        private
    }

    /// Whether all of these addresses are in the SM's own caches, so that nothing that SMs share takes part. Changes
    /// nothing but what a launch empties.
    pub fn is_private(&mut self, way: Way, by: Requester, addresses: &[u64]) -> bool {
        let Some(route) = self.routes[way as usize].take() else { return false };
        let first = route.levels.first().map(|l| (l.cache, self.kinds[l.cache].scope));
        let answer = match first {
            Some((kind, Scope::Sm)) => {
                let instance = self.kinds[kind].instance_of(by);
                let untranslated = route.translated > 0 || self.tlbs.is_empty();
                let private = self.private(by.sm);
                let cache = &private.caches[kind][instance].cache;
                let translated = |address| private.tlbs[0].as_ref().is_some_and(|tlb| tlb.holds(address));
                addresses.iter().all(|&address| cache.holds(address) && (untranslated || translated(address)))
            }
            _ => false,
        };
        self.routes[way as usize] = Some(route);
        answer
    }

    /// A load of one sector at `now`: cycles until its value can be used.
    pub fn load(&mut self, way: Way, by: Requester, address: u64, now: u64) -> u64 {
        let Some(route) = self.routes[way as usize].take() else { return 1 };
        let cycles = self.walk(&route, by, address, now, false);
        self.routes[way as usize] = Some(route);
        cycles + self.noise.draw()
    }

    /// An atomic operation on one sector at `now`: as a load past the SM's own caches, but carried out where the line is at
    /// home, since copies of it could not be kept equal.
    pub fn atomic(&mut self, by: Requester, address: u64, now: u64) -> u64 {
        let Some(route) = self.routes[Way::GlobalCg as usize].take() else { return 1 };
        let cycles = self.walk(&route, by, address, now, true);
        self.routes[Way::GlobalCg as usize] = Some(route);
        cycles + self.noise.draw()
    }

    fn walk(&mut self, route: &Route, by: Requester, address: u64, now: u64, at_home: bool) -> u64 {
        let (mut waited, mut uncached) = (0, 0);
        for (i, level) in route.levels.iter().enumerate() {
            if i == route.translated {
                let translation = self.translate(by.sm, address);
                waited += translation.cycles;
                uncached = translation.uncached;
            }
            let (hit, wait, far) = self.ask(level.cache, by, address, now + waited, at_home);
            waited += wait;
            if hit {
                return level.cycles + far + waited;
            }
        }
        let far = self.far_memory(by.sm, address);
        let waited = waited + uncached;
        route.memory + far + waited + self.channels.wait(now + waited, address)
    }

    /// Asks one cache: whether it has the sector, how long its port kept the load waiting, and what a far partition adds.
    fn ask(&mut self, kind: usize, by: Requester, address: u64, now: u64, at_home: bool) -> (bool, u64, u64) {
        if self.kinds[kind].scope == Scope::Sm {
            let instance = self.kinds[kind].instance_of(by);
            let own = &mut self.private(by.sm).caches[kind][instance];
            return (own.cache.load(address), own.ports.wait(now, address), 0);
        }
        let Some(parts) = &self.kinds[kind].spec.partitions else {
            let shared = &mut self.device[kind][0];
            return (shared.cache.load(address), shared.ports.wait(now, address), 0);
        };
        let near = self.sm_partitions[by.sm as usize] as usize;
        let home = home(parts, address);
        let (copies, far_hit) = (parts.copies && !at_home, parts.far_hit.get());
        if near == home || copies {
            let own = &mut self.device[kind][near];
            let wait = own.ports.wait(now, address);
            if own.cache.load(address) {
                return (true, wait, 0);
            }
            if near == home {
                return (false, wait, 0);
            }
        }
        let other = &mut self.device[kind][home];
        (other.cache.load(address), other.ports.wait(now, address), far_hit)
    }

    /// What memory behind another partition adds.
    fn far_memory(&self, sm: u32, address: u64) -> u64 {
        let parts = self.kinds.iter().find_map(|k| k.spec.partitions.as_ref());
        match parts {
            Some(parts) if home(parts, address) != self.sm_partitions[sm as usize] as usize => parts.far_memory.get(),
            _ => 0,
        }
    }

    /// What translating an address adds.
    fn translate(&mut self, sm: u32, address: u64) -> Translation {
        let mut added = Translation::default();
        for i in 0..self.tlbs.len() {
            let (penalty, uncached) = (self.tlbs[i].penalty.get(), self.tlbs[i].uncached.get());
            let hit = match &mut self.device_tlbs[i] {
                Some(tlb) => tlb.load(address),
                None => self.private(sm).tlbs[i].as_mut().is_none_or(|tlb| tlb.load(address)),
            };
            if hit {
                break;
            }
            added.cycles += penalty;
            added.uncached += uncached;
        }
        added
    }

    /// A store of one sector at `now`. Nobody waits for it, but ports are busy with it.
    pub fn store(&mut self, way: Way, by: Requester, address: u64, now: u64) {
        let Some(route) = self.routes[way as usize].take() else { return };
        let mut waited = 0;
        for (i, level) in route.levels.iter().enumerate() {
            if i == route.translated {
                waited += self.translate(by.sm, address).cycles;
            }
            let kind = &self.kinds[level.cache];
            if kind.scope == Scope::Device {
                self.ask(level.cache, by, address, now + waited, false);
                continue;
            }
            let (instance, write) = (kind.instance_of(by), kind.spec.write);
            let own = &mut self.private(by.sm).caches[level.cache][instance];
            match write {
                Write::Through => {}
                Write::Allocate => {
                    own.cache.load(address);
                }
                Write::Evict => own.cache.evict(address),
            }
        }
        self.routes[way as usize] = Some(route);
    }

    /// The device overwrites memory by itself (a memory set): its lines are brought into the caches of the device.
    pub fn overwrite(&mut self, address: u64, bytes: u64) {
        for kind in 0..self.kinds.len() {
            if self.device[kind].is_empty() {
                continue;
            }
            let line = self.device[kind][0].cache.line();
            let mut at = address / line * line;
            while at < address + bytes {
                let place = self.kinds[kind].spec.partitions.as_ref().map_or(0, |parts| home(parts, at));
                self.device[kind][place].cache.fill_line(at);
                at += line;
            }
        }
    }
}

/// The partition that a line belongs to.
fn home(parts: &spec::Partitions, address: u64) -> usize {
    (mix(address / parts.granule.0) % parts.count.get()) as usize
}

/// A level of translation is a cache of pages.
fn translation(tlb: &spec::Tlb, seed: u64) -> Cache {
    let shape = Shape {
        line: tlb.page.0,
        sector: tlb.page.0,
        ways: tlb.sets().unwrap_or_default(),
        index: spec::Index::Dealt,
        replacement: tlb.replacement.clone(),
    };
    Cache::new(shape, seed)
}

impl Kind {
    /// One instance, with its share of the sets, of the shape that leaves `shared` bytes to shared memory.
    fn instance(&self, partitions: u64, shared: u64, seed: u64) -> Instance {
        Instance {
            cache: Cache::new(shape(&self.spec, partitions, shared), seed),
            ports: Ports::new(self.spec.port.get(), self.spec.slices.get()),
        }
    }

    /// The instance that a warp uses.
    fn instance_of(&self, by: Requester) -> usize {
        let instance = match self.spec.threads {
            Threads::Interleaved => by.warp % self.instances,
            Threads::Contiguous => by.warp * self.instances / by.warps.max(1),
        };
        instance as usize
    }
}

/// The shape of one partition of a cache (of the whole, if it has none) that leaves `shared` bytes to shared memory.
pub fn shape(cache: &spec::Cache, partitions: u64, shared: u64) -> Shape {
    let mut ways = cache.sets().unwrap_or_default();
    let (mut index, mut replacement) = (cache.index.clone(), cache.replacement.clone());
    if let Some(one) = cache.configuration.iter().find(|c| c.shared.0 >= shared) {
        ways = vec![one.ways.get() as u32; one.sets.get() as usize];
        index = one.index.clone().unwrap_or(index);
        replacement = one.replacement.clone().unwrap_or(replacement);
    }
    ways.truncate(ways.len() / partitions as usize);
    Shape { line: cache.line.get(), sector: cache.sector_bytes(), ways, index, replacement }
}
