//! What a hierarchy is made of: kinds of caches with their ports, routes of loads through them, and levels of translation.

use std::collections::BTreeMap;

use super::cache::{Cache, Shape};
use super::hierarchy::{Requester, Way};
use super::ports::{Outstanding, Ports, Width};
use super::{mix, parities};
use crate::machine::Machine;
use crate::machine::spec::{self, Scope, Spec, Threads};
use crate::machine::value::Rate;

/// Ways that loads may go.
const WAYS: usize = 7;
/// Bytes that a request straight to the caches of the device is answered with: the smallest sector of any GPU.
const SECTOR: u64 = 32;

/// A level of a route.
#[derive(Clone, Debug)]
pub(super) struct Level {
    /// Number of its kind of cache.
    pub cache: usize,
    /// Latency of a hit.
    pub cycles: u64,
    /// Bytes that a request asks it for: what the caches before it fetch.
    pub bytes: u64,
}

/// A way with everything looked up.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub levels: Vec<Level>,
    /// Latency if all levels miss.
    pub memory: u64,
    /// Bytes that memory is asked for if all miss.
    pub fetched: u64,
    /// Levels before this one are asked by virtual address.
    pub translated: usize,
    /// Bytes that the caches of the device deliver at a time: what a miss of the SM's last cache on this way fetches.
    pub delivered: u64,
    /// Number of the way.
    way: usize,
    /// Bytes a cycle that an SM hands out on it.
    pub handed: Option<Rate>,
}

/// What is known of a cache besides its content.
pub(super) struct Kind {
    name: String,
    pub scope: Scope,
    pub spec: spec::Cache,
    pub instances: u32,
    /// Place of the first instance among the caches of an SM.
    first: usize,
}

/// One instance of a cache, with its ports.
pub(super) struct Instance {
    pub cache: Cache,
    pub ports: Ports,
    /// What it gives to loads.
    reads: Width,
    /// What it takes from stores, where that is apart.
    writes: Option<Width>,
}

impl Instance {
    /// Cycles that a load waits for bytes that others want, too.
    #[inline]
    pub fn read(&mut self, now: u64, bytes: u64) -> u64 {
        self.reads.wait(now, bytes)
    }

    /// Cycles that a store waits until its bytes are taken.
    #[inline]
    pub fn written(&mut self, now: u64, bytes: u64) -> u64 {
        self.writes.as_mut().unwrap_or(&mut self.reads).wait(now, bytes)
    }
}

/// Caches of one SM: made when it first loads, emptied when a launch begins.
pub(super) struct Private {
    pub epoch: u64,
    /// Instances of each kind of cache, kind by kind.
    pub caches: Vec<Instance>,
    pub tlbs: Vec<Option<Cache>>,
    /// What the caches of the device deliver to the SM.
    pub delivery: Width,
    /// What the SM has asked them for.
    pub outstanding: Outstanding,
    /// What the SM hands to its warps, by way.
    handed: [Width; WAYS],
}

impl Private {
    /// Cycles that a load of so many bytes by a route waits for what the SM hands out on it.
    #[inline]
    pub fn hand_out(&mut self, route: &Route, now: u64, bytes: u64) -> u64 {
        if route.handed.is_none() { 0 } else { self.handed[route.way].wait(now, bytes) }
    }
}

/// Cycles that translating an address adds.
#[derive(Clone, Copy, Default)]
pub(super) struct Translation {
    /// Whatever the data does.
    pub cycles: u64,
    /// Besides, if the data is not in the caches of the device.
    pub uncached: u64,
}

/// What of a machine's caches never changes.
pub(super) struct Blueprint {
    pub kinds: Vec<Kind>,
    pub routes: [Option<Route>; WAYS],
    pub tlbs: Vec<spec::Tlb>,
    /// Of each of them, the instance that each SM uses, where the device has several.
    tlb_of_sms: Vec<Option<Vec<u32>>>,
    /// Partitions of the device's cache, if it has any.
    pub partitions: Option<spec::Partitions>,
    /// Partition of each SM, of every kind that has partitions.
    pub sm_partitions: Vec<u32>,
    /// Bytes a cycle that an SM gets from the device's caches.
    delivery: Option<Rate>,
    /// GPC of each SM, where those of one wait for each other.
    gpcs: Vec<u32>,
    /// Requests that an SM may have outstanding; 0 for any number.
    outstanding: u64,
    /// Whether requests wait in queues, all of which they enter when they leave the SM.
    pub queued: bool,
    pub seed: u64,
}

/// Seed of a part of the machine.
pub(super) fn part(seed: u64, what: u64, number: u64) -> u64 {
    mix(seed ^ mix(what << 32 ^ number))
}

impl Blueprint {
    pub fn new(machine: &Machine, seed: u64) -> Self {
        let spec = &machine.spec;
        let mut first = 0;
        let kinds: Vec<Kind> = spec
            .cache
            .iter()
            .map(|(name, cache)| {
                let instances = cache.instances.get() as u32;
                let kind = Kind { name: name.clone(), scope: cache.scope, spec: cache.clone(), instances, first };
                if cache.scope == Scope::Sm {
                    first += instances as usize;
                }
                kind
            })
            .collect();
        let by_name: BTreeMap<&str, usize> = kinds.iter().enumerate().map(|(i, k)| (k.name.as_str(), i)).collect();
        let own = |path: &spec::Path| {
            path.levels.iter().rev().find(|name| spec.cache[name.as_str()].scope == Scope::Sm).cloned()
        };
        let route = |(way, path): (usize, &spec::Path)| Route {
            way,
            handed: path.bandwidth,
            levels: (0..)
                .zip(path.levels.iter().zip(&path.cycles))
                .map(|(number, (name, cycles))| Level {
                    cache: by_name[name.as_str()],
                    cycles: cycles.get(),
                    bytes: fetched(spec, &path.levels[..number]),
                })
                .collect(),
            memory: path.memory.get(),
            fetched: fetched(spec, &path.levels),
            delivered: own(path).map_or(SECTOR, |last| spec.cache[&last].sector_bytes()),
            translated: path.translated.as_ref().map_or(0, |t| path.levels.iter().position(|l| l == t).unwrap_or(0)),
        };
        let mut routes = routes(spec).into_iter().enumerate().map(|(way, path)| Some(route((way, path?))));
        let routes = std::array::from_fn(|_| routes.next().flatten());
        let partitions = kinds.iter().find_map(|k| k.spec.partitions.clone());
        let digits: Vec<u32> =
            partitions.as_ref().map_or(vec![0], |p| p.sms.chars().filter_map(|c| c.to_digit(10)).collect());
        let sms = spec.device.multiprocessors.get() as usize;
        Blueprint {
            routes,
            tlbs: spec.tlb.clone(),
            tlb_of_sms: spec.tlb.iter().map(spec::Tlb::instance_of_sms).collect(),
            partitions,
            sm_partitions: (0..sms).map(|sm| digits[sm % digits.len()]).collect(),
            delivery: spec.pipeline.delivery,
            gpcs: spec.pipeline.gpc_delivery.and_then(|_| spec.device.gpc_of_sms()).unwrap_or_default(),
            outstanding: spec.pipeline.outstanding.map_or(0, |most| most.get()),
            queued: spec.has_queues(),
            kinds,
            seed,
        }
    }

    /// A way with its first cache, if that is the SM's own.
    #[inline]
    pub fn first_in_sm(&self, way: Way) -> Option<(&Route, &Level, &Kind)> {
        let route = self.routes[way as usize].as_ref()?;
        let level = route.levels.first()?;
        let kind = &self.kinds[level.cache];
        (kind.scope == Scope::Sm).then_some((route, level, kind))
    }

    /// GPCs whose SMs wait for each other.
    pub fn gpcs(&self) -> usize {
        self.gpcs.iter().max().map_or(0, |most| *most as usize + 1)
    }

    /// The one of an SM.
    #[inline]
    pub fn gpc(&self, sm: u32) -> Option<usize> {
        self.gpcs.get(sm as usize).map(|gpc| *gpc as usize)
    }

    /// Caches that all SMs share: of each kind, its partitions, if it is the device's.
    pub fn device(&self) -> Vec<Vec<Instance>> {
        let instances = |(number, kind): (usize, &Kind)| match kind.scope {
            Scope::Sm => Vec::new(),
            Scope::Device => {
                let count = kind.spec.partitions.as_ref().map_or(1, |p| p.count.get());
                (0..count).map(|p| kind.instance(count, 0, part(self.seed, number as u64, p))).collect()
            }
        };
        self.kinds.iter().enumerate().map(instances).collect()
    }

    /// Levels of translation of an SM; `None` for those of the device.
    fn translations(&self, seed: u64, what: u64) -> Vec<Option<Cache>> {
        let one = |(i, tlb): (u64, &spec::Tlb)| (tlb.scope == Scope::Sm).then(|| translation(tlb, part(seed, what, i)));
        (0..).zip(&self.tlbs).map(one).collect()
    }

    /// Levels of translation of the device, each with its instances; none for those of an SM.
    pub fn shared_translations(&self, seed: u64, what: u64) -> Vec<Vec<Cache>> {
        let instances = |((i, tlb), of_sms): ((u64, &spec::Tlb), &Option<Vec<u32>>)| {
            let several = of_sms.as_ref().and_then(|of_sms| of_sms.iter().max()).map_or(1, |most| u64::from(*most) + 1);
            let count = if tlb.scope == Scope::Device { several } else { 0 };
            // The first one is seeded as where there is no other.
            let seed_of = |instance| match instance {
                0 => part(seed, what, i),
                _ => part(part(seed, what, i), what, instance),
            };
            (0..count).map(|instance| translation(tlb, seed_of(instance))).collect()
        };
        (0..).zip(&self.tlbs).zip(&self.tlb_of_sms).map(instances).collect()
    }

    /// The instance of a level of translation of the device that an SM uses.
    #[inline]
    pub fn tlb_instance(&self, level: usize, sm: u32) -> usize {
        self.tlb_of_sms[level].as_ref().map_or(0, |of_sms| of_sms[sm as usize] as usize)
    }

    /// Caches of an SM of which shared memory takes `shared` bytes, all empty.
    pub fn private(&self, sm: u32, shared: u64, epoch: u64) -> Private {
        // Made anew when shared memory takes another share: draws go on, they do not begin again.
        let seed = part(part(self.seed, 92, u64::from(sm)), 94, epoch);
        let own = (0..).zip(&self.kinds).filter(|(_, kind)| kind.scope == Scope::Sm);
        let caches = own.flat_map(|(number, kind)| {
            (0..u64::from(kind.instances)).map(move |i| kind.instance(1, shared, part(seed, number, i)))
        });
        Private {
            epoch,
            caches: caches.collect(),
            tlbs: self.translations(seed, 93),
            delivery: Width::new(self.delivery),
            outstanding: Outstanding::new(self.outstanding),
            handed: self.routes.each_ref().map(|route| Width::new(route.as_ref().and_then(|route| route.handed))),
        }
    }
}

fn routes(spec: &Spec) -> [Option<&spec::Path>; WAYS] {
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

/// Bytes that these caches ask the next one for, where all of them miss.
fn fetched(spec: &Spec, levels: &[String]) -> u64 {
    levels.iter().map(|name| spec.cache[name].sector_bytes()).fold(SECTOR, u64::max)
}

/// The partition that a line belongs to.
pub fn home(parts: &spec::Partitions, address: u64) -> usize {
    let number = match &parts.parity {
        Some(masks) => parities(masks, address),
        None => mix(address / parts.granule.map_or(1, |granule| granule.0)) % parts.count.get(),
    };
    number as usize
}

/// A level of translation is a cache of pages.
fn translation(tlb: &spec::Tlb, seed: u64) -> Cache {
    let shape = Shape {
        line: tlb.page.0,
        sector: tlb.page.0,
        ways: tlb.sets().unwrap_or_default(),
        index: spec::Index::Dealt,
        replacement: tlb.replacement.clone(),
        hints: Vec::new(),
        prefetch: Vec::new(),
    };
    Cache::new(shape, seed)
}

impl Kind {
    /// One instance, with its share of the sets, of the shape that leaves `shared` bytes to shared memory.
    fn instance(&self, partitions: u64, shared: u64, seed: u64) -> Instance {
        Instance {
            cache: Cache::new(shape(&self.spec, partitions, shared), seed),
            ports: Ports::by(self.spec.port, self.spec.slices.get(), self.spec.slice_parity.clone()),
            reads: Width::shared(self.spec.bandwidth, partitions),
            writes: self.spec.write_bandwidth.map(|rate| Width::shared(Some(rate), partitions)),
        }
    }

    /// The instance that a warp uses, among the caches of an SM.
    #[inline]
    pub fn place(&self, by: Requester) -> usize {
        if self.instances == 1 {
            return self.first;
        }
        let instance = match self.spec.threads {
            Threads::Interleaved => by.warp % self.instances,
            Threads::Contiguous => by.warp * self.instances / by.warps.max(1),
        };
        self.first + instance as usize
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
    Shape {
        line: cache.line.get(),
        sector: cache.sector_bytes(),
        ways,
        index,
        replacement,
        hints: cache.hints.clone(),
        prefetch: cache.prefetch.clone(),
    }
}
