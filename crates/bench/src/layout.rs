//! Laying out what a launch needs: SMs, chains in device memory and in the constant bank, room for the samples.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use super::Bench;
use super::chain::{self, Arena, Placed, PlannedChain};
use super::prepared::{Prepared, PreparedPartner, output_bytes};
use strata_gpu::{DevicePtr, Launch, Result};
use strata_kernels::Program;
use strata_kernels::sizes::CONSTANT_BYTES;
use strata_model::experiment::{Experiment, LoadPath, Place, Side};
use strata_model::units::Bytes;

/// Threads of a block that writes chains, where a block may have so many.
const LINK_THREADS: u32 = 256;
/// A partner's constants start at a multiple of this: the largest fetch granularity known of a constant cache.
const PARTNER_CONSTANTS: Bytes = Bytes(256);

/// Whether offsets, in units of four bytes, take more than 32 bits.
fn is_long(plan: &PlannedChain) -> bool {
    plan.span.0 / 4 > u64::from(u32::MAX)
}

impl Bench<'_> {
    /// Assigns SMs, lays chains out, and finds room for the samples.
    pub(super) fn prepare<'e>(&mut self, experiments: &[&'e Experiment]) -> Result<Vec<Prepared<'e>>> {
        let named: Vec<u32> = experiments.iter().filter_map(|e| e.sm()).collect();
        let mut free = (0..self.sms.len() as u32).filter(|sm| !named.contains(sm)).collect::<Vec<_>>().into_iter();
        let out_bytes: Vec<usize> = experiments.iter().map(|e| output_bytes(e)).collect();
        let all = Bytes(out_bytes.iter().sum::<usize>() as u64);
        let mut out = self.outputs.at_least(self.gpu, all)?;
        if let Experiment::Warp(_) = experiments[0] {
            // A measurement waits for the time before it to be written. Where that is the first write to its sector since it left
            // the L2, an H200 takes some 230 cycles longer, and three rounds of five were off (recorded).
            self.gpu.clear(out, all)?;
        }

        let plans: Vec<Option<PlannedChain>> = experiments.iter().map(|e| PlannedChain::of(e)).collect();
        let partner_plans: Vec<Option<PlannedChain>> =
            experiments.iter().map(|e| PlannedChain::of_partner(e)).collect();
        let own = experiments.iter().zip(&plans).filter(|(e, _)| e.path().is_some_and(chain::needs_memory));
        let partners = experiments.iter().zip(&partner_plans);
        let partners = partners.filter(|(e, _)| e.partner().is_some_and(|p| chain::needs_memory(p.path)));
        let wanted: Vec<&PlannedChain> = own.chain(partners).filter_map(|(_, plan)| plan.as_ref()).collect();
        self.lay_out(&wanted)?;
        let offsets: Vec<Vec<u64>> = experiments
            .iter()
            .zip(&plans)
            .map(|(experiment, plan)| match experiment {
                Experiment::Warp(warp) => warp.offsets.to_vec(),
                _ => plan.as_ref().map_or(Vec::new(), |plan| plan.offsets.clone()),
            })
            .collect();
        let own_lists = self.own_lists(experiments, &offsets)?;

        let mut prepared = Vec::with_capacity(experiments.len());
        for (i, (&experiment, offsets)) in experiments.iter().zip(offsets).enumerate() {
            let sm = match experiment.sm() {
                Some(sm) => sm,
                None => free.next().unwrap_or(0),
            };
            let path = experiment.path();
            let placed = plans[i].as_ref().filter(|_| path.is_some_and(chain::needs_memory));
            let placed = placed.and_then(|plan| self.laid_out.get(&plan.key)).copied();
            let texture = match (path, placed) {
                (Some(LoadPath::Texture), Some(p)) => {
                    Some(self.gpu.texture(p.base, p.span, LoadPath::Texture.element())?)
                }
                _ => None,
            };
            let partner = match (experiment.partner(), &partner_plans[i]) {
                (Some(partner), Some(plan)) => {
                    let placed = self.laid_out.get(&plan.key).copied();
                    let (origin, texture) = match (partner.path, placed) {
                        (LoadPath::Texture, Some(p)) => {
                            (0, Some(self.gpu.texture(p.base, p.span, LoadPath::Texture.element())?))
                        }
                        (LoadPath::Constant, _) if path == Some(LoadPath::Constant) => {
                            (experiment.footprint().unwrap_or_default().round_up(PARTNER_CONSTANTS).0, None)
                        }
                        (LoadPath::Constant, _) => (0, None),
                        (_, Some(p)) => (p.base.0, None),
                        (_, None) => (0, None),
                    };
                    Some(PreparedPartner { offsets: plan.offsets.clone(), origin, texture, partner: *partner })
                }
                _ => None,
            };
            prepared.push(Prepared {
                experiment,
                sm: self.sms[sm as usize],
                offsets,
                chain: placed,
                partner,
                texture,
                list: own_lists.get(i).copied().or(placed.map(|p| p.list)).unwrap_or(DevicePtr(0)),
                out,
                out_bytes: out_bytes[i],
            });
            out = out.offset(out_bytes[i] as u64);
        }
        Ok(prepared)
    }

    /// Makes the allocation of this number now, of this part of the free memory, so that its address does not depend on what
    /// is asked first.
    pub(super) fn reserve(&mut self, number: u32, (part, of): (u64, u64)) -> Result<()> {
        self.allocate(number, Bytes(self.gpu.facts().free_memory / of * part))
    }

    /// Makes the allocation of this number now. Whenever a chain is walked, it lies where it lies now.
    pub(super) fn allocate(&mut self, number: u32, size: Bytes) -> Result<()> {
        let arena = Arena::allocate(self.gpu, number, Side::Device, size)?;
        self.reserved.push((number, size, arena.at(0)));
        self.arenas.insert((number, Side::Device), arena);
        Ok(())
    }

    /// Makes the reserved allocations again after launches that took their place. If buffers of streams, patterns or results lie there now, these
    /// give way. What cannot be had even then may never be needed, and is an error where it is.
    pub(super) fn restore(&mut self) -> Result<()> {
        if !self.displaced || self.reserved.is_empty() {
            return Ok(());
        }
        if !self.reserve_again()? {
            self.free_buffers()?;
            self.reserve_again()?;
        }
        self.displaced = false;
        Ok(())
    }

    /// Whether all reserved allocations are where they were, after this attempt to bring them there.
    fn reserve_again(&mut self) -> Result<bool> {
        self.free_arenas()?;
        for &(number, size, _) in &self.reserved {
            if let Entry::Vacant(place) = self.arenas.entry((number, Side::Device))
                && let Ok(arena) = Arena::allocate(self.gpu, number, Side::Device, size)
            {
                place.insert(arena);
            }
        }
        let lies = |(number, _, address): &(u32, Bytes, DevicePtr)| {
            self.arenas.get(&(*number, Side::Device)).is_some_and(|arena| arena.at(0) == *address)
        };
        Ok(self.reserved.iter().all(lies))
    }

    /// Gives back what launches other than walks, and results, keep from one to the next.
    fn free_buffers(&mut self) -> Result<()> {
        self.sides[Side::Device as usize].free(self.gpu)?;
        let buffers = [
            &mut self.lists,
            &mut self.outputs,
            &mut self.flush,
            &mut self.peer_flush,
            &mut self.pattern_memory,
            &mut self.chase_times,
            &mut self.pieces,
            self.contended.buffer(),
        ];
        let rooms = self.rooms.iter_mut().flat_map(super::residency::Room::buffers);
        buffers.into_iter().chain(rooms).try_for_each(|buffer| buffer.free(self.gpu))
    }

    /// Lists of offsets for chains that the kernel builds itself; empty where there are none.
    fn own_lists(&mut self, experiments: &[&Experiment], offsets: &[Vec<u64>]) -> Result<Vec<DevicePtr>> {
        if !matches!(experiments[0].path(), Some(LoadPath::Shared | LoadPath::Local)) {
            return Ok(Vec::new());
        }
        let words: Vec<u8> = offsets.iter().flatten().flat_map(|o| ((o / 4) as u32).to_le_bytes()).collect();
        let mut at = self.lists.at_least(self.gpu, Bytes(words.len() as u64))?;
        self.gpu.write(at, &words)?;
        Ok(offsets
            .iter()
            .map(|offsets| {
                let here = at;
                at = at.offset(4 * offsets.len() as u64);
                here
            })
            .collect())
    }

    /// Writes the chains that this launch needs. Chains of the last launch are overwritten, unless all of these are there
    /// already.
    pub(super) fn lay_out(&mut self, plans: &[&PlannedChain]) -> Result<()> {
        let mut needed: Vec<&PlannedChain> = Vec::new();
        for plan in plans {
            match needed.iter_mut().find(|p| p.key == plan.key) {
                Some(other) if other.offsets.len() < plan.offsets.len() => *other = plan,
                Some(_) => {}
                None => needed.push(plan),
            }
        }
        let there = |plan: &&PlannedChain| {
            self.laid_out.get(&plan.key).is_some_and(|placed| placed.ring >= plan.offsets.len() as u64)
        };
        // A chain that has its arena to itself lies at the arena's start, so that footprints of several launches compare.
        let displaced = |plan: &&PlannedChain| {
            let arena = plan.key.arena();
            let alone = needed.iter().filter(|p| p.key.arena() == arena).count() == 1;
            let start = self.arenas.get(&arena).map(|a| a.at(0));
            alone && self.laid_out.get(&plan.key).map(|placed| placed.base) != start
        };
        if needed.iter().all(there) && !needed.iter().any(displaced) {
            return Ok(());
        }
        self.laid_out.clear();
        // Where each chain goes, before anything is allocated. Arenas in the order of their numbers: allocated in another, they
        // lie at other addresses, and a simulated run is no longer the same each time.
        let mut sizes: BTreeMap<(u32, Side), u64> = BTreeMap::new();
        let mut places = Vec::with_capacity(needed.len());
        for plan in &needed {
            let arena = plan.key.arena();
            let next = sizes.entry(arena).or_default();
            let at = next.next_multiple_of(chain::slot_alignment(plan.span));
            *next = at + plan.span.0;
            places.push((arena, at));
        }
        self.make_room(&sizes)?;
        if sizes.contains_key(&(Place::PARTITIONED, Side::Device)) {
            self.partitioned_content = None;
        }
        self.window_content = None;
        let mut words: Vec<u8> = Vec::new();
        for plan in &needed {
            // The next list starts aligned for either kind.
            words.resize(words.len().next_multiple_of(8), 0);
            if is_long(plan) {
                words.extend(plan.offsets.iter().flat_map(|o| (o / 4).to_le_bytes()));
            } else {
                words.extend(plan.offsets.iter().flat_map(|o| ((o / 4) as u32).to_le_bytes()));
            }
        }
        let mut list = self.lists.at_least(self.gpu, Bytes(words.len() as u64))?;
        self.gpu.write(list, &words)?;
        let link = self.programs.get(self.gpu, Program::Link)?;
        for (plan, (arena, at)) in needed.iter().zip(places) {
            let count = plan.offsets.len() as u64;
            let base = self.arenas[&arena].at(at);
            let wide = u64::from(!plan.key.texels());
            let threads = LINK_THREADS.min(self.gpu.facts().max_threads_per_block);
            let blocks = count.div_ceil(u64::from(threads)).clamp(1, 1024) as u32;
            let launch = Launch::new(blocks, threads);
            self.gpu.launch(link.function, &launch, &[base.0, list.0, count, wide, u64::from(is_long(plan))])?;
            self.laid_out.insert(plan.key.clone(), Placed { base, span: plan.span, ring: count, list });
            list = list.offset((if is_long(plan) { 8 } else { 4 } * count).next_multiple_of(8));
        }
        self.gpu.synchronize()
    }

    /// The memory of an allocation of this size.
    pub(super) fn allocation(&mut self, number: u32, size: Bytes) -> Result<DevicePtr> {
        self.make_room(&BTreeMap::from([((number, Side::Device), size.0)]))?;
        Ok(self.arenas[&(number, Side::Device)].at(0))
    }

    /// Frees all arenas but those that must stay where they are; whether there were any.
    pub(super) fn free_arenas(&mut self) -> Result<bool> {
        self.laid_out.clear();
        self.window_content = None;
        self.displaced = true;
        let others = self.arenas.extract_if(|(number, _), _| ![Place::UNMOVED, Place::PARTITIONED].contains(number));
        let all: Vec<Arena> = others.map(|(_, arena)| arena).collect();
        let any = !all.is_empty();
        all.into_iter().try_for_each(|arena| arena.free(self.gpu))?;
        Ok(any)
    }

    /// Allocates the arenas of these sizes that are not there, or are too small.
    fn make_room(&mut self, sizes: &BTreeMap<(u32, Side), u64>) -> Result<()> {
        for (&(number, side), &size) in sizes {
            let size = Bytes(size);
            if self.arenas.get(&(number, side)).is_some_and(|a| a.holds(size)) {
                continue;
            }
            if let Some(old) = self.arenas.remove(&(number, side)) {
                self.displaced = true;
                self.window_content = None;
                if number == Place::PARTITIONED {
                    self.partitioned_content = None;
                }
                old.free(self.gpu)?;
            }
            let arena = Arena::allocate(self.gpu, number, side, size)?;
            self.arenas.insert((number, side), arena);
        }
        Ok(())
    }

    /// Writes the constant bank: the chain at its start, a partner's behind it.
    pub(super) fn write_constants(&mut self, bank: DevicePtr, prepared: &Prepared) -> Result<()> {
        let mut image = vec![0u8; CONSTANT_BYTES as usize];
        let mut link = |offsets: &[u64], origin: u64| {
            for (i, &offset) in offsets.iter().enumerate() {
                let next = (origin + offsets[(i + 1) % offsets.len()]) as u32;
                let at = (origin + offset) as usize;
                image[at..at + 4].copy_from_slice(&next.to_le_bytes());
            }
        };
        if prepared.experiment.path() == Some(LoadPath::Constant) {
            link(&prepared.offsets, 0);
        }
        if let Some(partner) = &prepared.partner
            && partner.partner.path == LoadPath::Constant
        {
            link(&partner.offsets, partner.origin);
        }
        self.gpu.write(bank, &image)
    }
}
