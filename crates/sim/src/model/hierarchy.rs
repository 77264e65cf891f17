//! The path of a load through the caches: which level answers, and when.

use std::ops::Range;

use super::cache::{Cache, Wish};
use super::noise::Noise;
use super::parts::{Blueprint, Instance, Level, Private, Route, Translation};
pub use super::parts::{home, shape};
use super::ports::{Ports, Queues, Width};
use crate::machine::Machine;
use crate::machine::spec::{Hint, Scope, Write};

/// Of what a memory set overwrites, so many times a cache's size at the end are brought in. What came before them has left every
/// cache again, so that the time of a memory set does not grow with its bytes.
const OVERWRITTEN: u64 = 16;

/// Bytes of a store that a cache of the device takes at a time: the smallest sector of any GPU.
const STORED: u64 = 32;

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
    /// What it asks of the caches of the SM and of those of the device.
    pub wishes: Wishes,
}

/// What an access asks of the caches of the SM and of those of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Of the SM.
    pub sm: Wish,
    /// Of the device.
    pub device: Wish,
}

/// All caches of a machine.
pub struct Hierarchy {
    pub(super) plan: Blueprint,
    pub(super) content: Content,
    pub(super) noise: Noise,
}

/// What the caches hold, and when their ports are free.
pub(super) struct Content {
    sms: Vec<Option<Box<Private>>>,
    /// Of each kind, its partitions, if it is the device's.
    device: Vec<Vec<Instance>>,
    /// Levels of translation of the device, each with its instances.
    device_tlbs: Vec<Vec<Cache>>,
    channels: Ports,
    /// What all channels give together.
    memory: Width,
    /// What the SMs of each GPC get together.
    gpcs: Vec<Width>,
    /// What goes from each partition of a cache to each other: all that leave the first one, then those of the second.
    crossings: Vec<Width>,
    epoch: u64,
    /// Shared memory that each SM has set aside.
    carveout: u64,
    /// Memory of which the launch asks something of the device's caches.
    window: Option<Window>,
}

/// Memory of which a launch, and no instruction, says how its lines are used again.
#[derive(Clone, Debug)]
pub struct Window {
    /// Its addresses.
    pub of: Range<u64>,
    /// What the device's caches do with its lines.
    pub hint: Hint,
}

/// An access: who, where, and when.
#[derive(Clone, Copy)]
struct Access {
    by: Requester,
    address: u64,
    now: u64,
    /// It is carried out where the line is at home, not on a copy.
    at_home: bool,
    kind: Kind,
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Load,
    Store,
}

/// What a cache says to an access.
struct Found {
    hit: bool,
    /// Cycles that its port kept the access waiting.
    waited: u64,
    /// What a far partition adds.
    far: u64,
    /// Bytes that were stored before and go to memory now.
    displaced: u64,
}

impl Hierarchy {
    /// The caches of a machine, all empty.
    pub fn new(machine: &Machine, seed: u64) -> Self {
        let (spec, plan) = (&machine.spec, Blueprint::new(machine, seed));
        let content = Content {
            sms: plan.sm_partitions.iter().map(|_| None).collect(),
            device: plan.device(),
            device_tlbs: plan.shared_translations(seed, 90),
            channels: Ports::new(spec.memory.port, spec.memory.channels.get()),
            memory: Width::new(spec.memory.bandwidth),
            gpcs: vec![Width::new(spec.pipeline.gpc_delivery); plan.gpcs()],
            crossings: plan.partitions.as_ref().map_or(Vec::new(), |parts| {
                let count = parts.count.get() as usize;
                vec![Width::new(parts.crossing); count * count]
            }),
            epoch: 0,
            carveout: 0,
            window: None,
        };
        Hierarchy { plan, content, noise: Noise::new(&spec.noise, super::parts::part(seed, 91, 0)) }
    }

    /// Whether the machine has this way at all.
    #[inline]
    pub fn has(&self, way: Way) -> bool {
        self.plan.routes[way as usize].is_some()
    }

    /// Whether a cache of the SM is the first that is asked on this way.
    pub fn begins_in_sm(&self, way: Way) -> bool {
        self.plan.first_in_sm(way).is_some()
    }

    /// Bytes of a line of the cache in which atomics are carried out: the first of the device.
    pub fn device_line(&self) -> u64 {
        let first = self.plan.routes[Way::GlobalCg as usize].as_ref().and_then(|route| route.levels.first());
        first.map_or(1, |level| self.plan.kinds[level.cache].spec.line.get())
    }

    /// A launch begins, with a window or without: SMs begin with empty caches, of the shape that leaves `shared` bytes to shared memory.
    pub fn begin(&mut self, shared: u64, window: Option<Window>) {
        let content = &mut self.content;
        content.epoch += 1;
        content.window = window;
        if shared != content.carveout {
            content.carveout = shared;
            content.sms.iter_mut().for_each(|sm| *sm = None);
        }
    }

    /// No line of the device's caches has a priority any longer over those that come.
    pub fn release(&mut self) {
        self.content.device.iter_mut().flatten().for_each(|one| one.cache.release());
    }

    /// A load of so many bytes of one sector at `now`: cycles until its value can be used.
    #[inline]
    pub fn load(&mut self, way: Way, by: Requester, address: u64, bytes: u64, now: u64) -> u64 {
        let Some(route) = &self.plan.routes[way as usize] else { return 1 };
        let access = Access { by, address, now, at_home: false, kind: Kind::Load };
        let mut cycles = self.content.answer(&self.plan, route, access);
        if route.handed.is_some() {
            cycles += self.content.private(&self.plan, by.sm).hand_out(route, now, bytes);
        }
        cycles + self.noise.draw()
    }

    /// An atomic operation on one sector at `now`: as a load past the SM's own caches, but carried out where the line is at
    /// home, since copies of it could not be kept equal.
    pub fn atomic(&mut self, by: Requester, address: u64, now: u64) -> u64 {
        // The SM must not read what it had before: its own caches do not know the new value.
        let own = self.plan.routes[Way::GlobalCa as usize].iter().flat_map(|route| &route.levels);
        for kind in own.map(|level| &self.plan.kinds[level.cache]).filter(|kind| kind.scope == Scope::Sm) {
            self.content.private(&self.plan, by.sm).caches[kind.place(by)].cache.evict(address);
        }
        let Some(route) = &self.plan.routes[Way::GlobalCg as usize] else { return 1 };
        let cycles =
            self.content.answer(&self.plan, route, Access { by, address, now, at_home: true, kind: Kind::Load });
        cycles + self.noise.draw()
    }

    /// A store of one sector at `now`. Nobody waits for it, but ports are busy with it.
    pub fn store(&mut self, way: Way, by: Requester, address: u64, now: u64) {
        let Hierarchy { plan, content, .. } = self;
        let Some(route) = &plan.routes[way as usize] else { return };
        let (mut waited, mut queues) = (0, Queues::of(now));
        // Latency of the cache that takes it, and whether it is in none.
        let (mut taken, mut missed) = (None, true);
        let (mut displaced, mut is_kept) = (0, false);
        for (i, level) in route.levels.iter().enumerate() {
            if i == route.translated {
                waited += content.translate(plan, by.sm, address).cycles;
            }
            let kind = &plan.kinds[level.cache];
            if kind.scope == Scope::Device {
                if plan.queued && taken.is_none() {
                    queues.leave(content.private(plan, by.sm).outstanding.leave(now));
                }
                // What is written to a far line crosses to its home, whether or not there is a copy: an H200 writes as many bytes to
                // far lines as it reads from far memory.
                let access = Access { by, address, now: now + waited, at_home: true, kind: Kind::Store };
                let found = content.ask::<true>(plan, level, access, &mut queues);
                missed &= !found.hit;
                displaced += found.displaced;
                is_kept |= kind.spec.write_back;
                taken = taken.or(Some(level.cycles + found.far));
                continue;
            }
            let own = &mut content.private(plan, by.sm).caches[kind.place(by)];
            match kind.spec.write.unwrap_or_default() {
                Write::Through => {}
                Write::Allocate => {
                    own.cache.load_as(address, by.wishes.sm);
                }
                Write::Evict => own.cache.evict(address),
            }
        }
        if plan.queued {
            // Where no cache keeps what is stored, a store that misses goes to memory at once; one that hits costs memory nothing.
            let to_memory = if missed && !is_kept { STORED } else { displaced };
            if to_memory > 0 {
                queues.wait(content.memory.wait(queues.left, to_memory));
            }
            let at = now + taken.unwrap_or(0) + waited + queues.late;
            content.private(plan, by.sm).outstanding.answered(at);
        }
    }

    /// Nobody needs the content of a line any longer: caches of the device that obey give it up, and nothing goes to memory.
    pub fn discard(&mut self, address: u64) {
        let obeying = self.plan.kinds.iter().zip(&mut self.content.device);
        for (_, parts) in obeying.filter(|(kind, _)| kind.spec.hints.contains(&Hint::Discard)) {
            parts.iter_mut().for_each(|part| part.cache.evict(address));
        }
    }

    /// A load at `now` of what lies behind no cache of the device: it takes `cycles` from when it leaves the SM, and is outstanding until
    /// then.
    #[inline]
    pub fn past_caches(&mut self, by: Requester, now: u64, cycles: impl FnOnce(u64) -> u64) -> u64 {
        let outstanding = &mut self.content.private(&self.plan, by.sm).outstanding;
        let left = outstanding.leave(now);
        let answered = left + cycles(left);
        outstanding.answered(answered);
        answered - now
    }

    /// Whether a cache of the device has a line where it is at home. It has it afterwards.
    pub fn has_at_home(&mut self, address: u64) -> bool {
        let Hierarchy { plan, content, .. } = self;
        let Some(route) = &plan.routes[Way::GlobalCg as usize] else { return false };
        let of_device = route.levels.iter().filter(|level| plan.kinds[level.cache].scope == Scope::Device);
        let mut has = false;
        for level in of_device {
            let place = plan.kinds[level.cache].spec.partitions.as_ref().map_or(0, |parts| home(parts, address));
            has |= content.device[level.cache][place].cache.load_as(address, Wish::Plain);
        }
        has
    }

    /// The cycle until which the SM asks its caches for nothing: it has a request that waits until another is answered.
    #[inline]
    pub fn blocked(&self, sm: u32) -> u64 {
        self.content.sms[sm as usize].as_ref().map_or(0, |private| private.outstanding.left)
    }

    /// The device overwrites memory by itself (a memory set): its lines are brought into the caches of the device.
    pub fn overwrite(&mut self, address: u64, bytes: u64) {
        let end = address + bytes;
        for (kind, parts) in self.plan.kinds.iter().zip(&mut self.content.device) {
            let Some(line) = parts.first().map(|part| part.cache.line()) else { continue };
            let lines: u64 = parts.iter().map(|part| part.cache.lines()).sum();
            let mut at = address.max(end.saturating_sub(OVERWRITTEN * lines * line)) / line * line;
            while at < end {
                let place = kind.spec.partitions.as_ref().map_or(0, |parts| home(parts, at));
                parts[place].cache.fill_line(at);
                at += line;
            }
        }
    }
}

impl Content {
    #[inline]
    pub(super) fn private(&mut self, plan: &Blueprint, sm: u32) -> &mut Private {
        let (carveout, epoch) = (self.carveout, self.epoch);
        let private = self.sms[sm as usize].get_or_insert_with(|| Box::new(plan.private(sm, carveout, epoch)));
        if private.epoch != epoch {
            private.epoch = epoch;
            private.caches.iter_mut().for_each(|instance| instance.cache.clear());
            // Translations outlive a launch, unless shared memory takes another share; ports do not wait for one that is over.
        }
        private
    }

    /// The way of a load through the caches: cycles until it is answered.
    #[inline]
    fn answer(&mut self, plan: &Blueprint, route: &Route, access: Access) -> u64 {
        // Twice the same, so that machines without queues are simulated as fast as if there were none.
        if plan.queued { self.walk::<true>(plan, route, access) } else { self.walk::<false>(plan, route, access) }
    }

    fn walk<const QUEUED: bool>(&mut self, plan: &Blueprint, route: &Route, access: Access) -> u64 {
        let Access { by, address, now, .. } = access;
        let (mut waited, mut uncached, mut left_sm) = (0, 0, false);
        let mut queues = Queues::of(now);
        for (i, level) in route.levels.iter().enumerate() {
            if plan.kinds[level.cache].scope == Scope::Device && !left_sm {
                left_sm = true;
                let private = self.private(plan, by.sm);
                if QUEUED {
                    queues.leave(private.outstanding.leave(now));
                    queues.wait(private.delivery.wait_whole(queues.left, route.delivered));
                    if let Some(gpc) = plan.gpc(by.sm) {
                        queues.wait(self.gpcs[gpc].wait(queues.left, route.delivered));
                    }
                } else {
                    waited += private.delivery.wait_whole(now + waited, route.delivered);
                }
            }
            if i == route.translated {
                let translation = self.translate(plan, by.sm, address);
                waited += translation.cycles;
                uncached = translation.uncached;
            }
            let found = self.ask::<QUEUED>(plan, level, Access { now: now + waited, ..access }, &mut queues);
            waited += found.waited;
            if QUEUED && found.displaced > 0 {
                self.memory.wait(queues.left, found.displaced);
            }
            if found.hit {
                let cycles = level.cycles + found.far + waited + queues.late;
                if QUEUED && left_sm {
                    self.private(plan, by.sm).outstanding.answered(now + cycles);
                }
                return cycles;
            }
        }
        let far = far_memory(plan, by.sm, address);
        let waited = waited + uncached;
        let waited = waited + self.channels.wait(now + waited, address);
        if QUEUED {
            queues.wait(self.memory.wait(queues.left, route.fetched));
        }
        let cycles = route.memory + far + waited + queues.late;
        if QUEUED {
            self.private(plan, by.sm).outstanding.answered(now + cycles);
        }
        cycles
    }

    /// Asks one cache.
    #[inline]
    fn ask<const QUEUED: bool>(
        &mut self,
        plan: &Blueprint,
        level: &Level,
        access: Access,
        queues: &mut Queues,
    ) -> Found {
        let Access { by, address, now, at_home, kind } = access;
        let known = &plan.kinds[level.cache];
        let told = self.window.as_ref().filter(|window| window.of.contains(&address));
        let wish = match (known.scope, by.wishes.device, told) {
            (Scope::Sm, ..) => by.wishes.sm,
            // An instruction that asks for something goes before.
            (Scope::Device, Wish::Plain, Some(window)) => Wish::Hinted(window.hint),
            (Scope::Device, asked, _) => asked,
        };
        let mut of = |one: &mut Instance, far: u64| {
            if QUEUED {
                queues.wait(match kind {
                    Kind::Load => one.read(queues.left, level.bytes),
                    Kind::Store => one.written(queues.left, STORED),
                });
            }
            let hit = one.cache.load_as(address, wish);
            let mut displaced = 0;
            if QUEUED && known.spec.write_back {
                if kind == Kind::Store {
                    one.cache.store(address);
                }
                displaced = one.cache.take_displaced();
            }
            Found { hit, waited: one.ports.wait(now, address), far, displaced }
        };
        if known.scope == Scope::Sm {
            return of(&mut self.private(plan, by.sm).caches[known.place(by)], 0);
        }
        let Some(parts) = &known.spec.partitions else {
            return of(&mut self.device[level.cache][0], 0);
        };
        let near = plan.sm_partitions[by.sm as usize] as usize;
        let home = home(parts, address);
        let mut of_copy = 0;
        if near == home || (parts.copies && !at_home) {
            let found = of(&mut self.device[level.cache][near], 0);
            if found.hit || near == home {
                return found;
            }
            of_copy = found.displaced;
        }
        let mut found = of(&mut self.device[level.cache][home], parts.far_hit.get());
        found.displaced += of_copy;
        if QUEUED {
            // What is loaded comes from the line's home, and what is stored goes there.
            let (from, to, bytes) = match kind {
                Kind::Load => (home, near, level.bytes),
                Kind::Store => (near, home, STORED),
            };
            let count = parts.count.get() as usize;
            queues.wait(self.crossings[from * count + to].wait(queues.left, bytes));
        }
        found
    }

    /// What translating an address adds.
    fn translate(&mut self, plan: &Blueprint, sm: u32, address: u64) -> Translation {
        let mut added = Translation::default();
        for (i, level) in plan.tlbs.iter().enumerate() {
            let hit = match self.device_tlbs[i].get_mut(plan.tlb_instance(i, sm)) {
                Some(tlb) => tlb.load(address),
                None => self.private(plan, sm).tlbs[i].as_mut().is_none_or(|tlb| tlb.load(address)),
            };
            if hit {
                break;
            }
            added.cycles += level.penalty.get();
            added.uncached += level.uncached.get();
        }
        added
    }
}

/// What memory behind another partition adds.
fn far_memory(plan: &Blueprint, sm: u32, address: u64) -> u64 {
    match &plan.partitions {
        Some(parts) if home(parts, address) != plan.sm_partitions[sm as usize] as usize => parts.far_memory.get(),
        _ => 0,
    }
}
