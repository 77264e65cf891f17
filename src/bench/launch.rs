//! One launch: chains, jobs, the kernel, and the check of what came back.

use std::time::Instant;

use super::chain::{self, Arena, Placed, Plan};
use super::{ATTEMPTS, Bench, WINDOW};
use crate::experiment::{Experiment, Kernel, LoadPath, Order, Partner, Prepare, Walk};
use crate::gpu::{DevicePtr, Function, Launch, Result, Texture};
use crate::kernels::Program;
use crate::kernels::idiom::{CONSTANT_BYTES, LOCAL_BYTES, UNROLL_SHIFT};
use crate::kernels::job::{Done, JOB_BYTES, Job};
use crate::samples::{ClockSpan, Failure, Lap, Samples};
use crate::units::{Bytes, MIB};

type Outcome = std::result::Result<Samples, Failure>;

/// A flush writes this many times the L2's size.
const FLUSH_FACTOR: u64 = 3;
/// Threads of the block that fills the L2: the most that every device allows.
const FILL_THREADS: u32 = 1024;
/// Threads of the block that writes chains.
const LINK_THREADS: u32 = 256;

/// An experiment with all that its job needs.
struct Prepared<'e> {
    experiment: &'e Experiment,
    sm: u32,
    offsets: Vec<u64>,
    chain: Option<Placed>,
    partner: Option<PreparedPartner>,
    texture: Option<Texture>,
    list: DevicePtr,
    out: DevicePtr,
    out_bytes: usize,
}

struct PreparedPartner {
    offsets: Vec<u64>,
    origin: u64,
    texture: Option<Texture>,
    partner: Partner,
}

impl Bench<'_> {
    /// Why this device cannot run the experiment, if it cannot.
    pub(super) fn impossible(&self, experiment: &Experiment) -> Option<Failure> {
        let facts = self.gpu.facts();
        if let Some(sm) = experiment.sm
            && sm as usize >= self.sms.len()
        {
            return Some(Failure::failed(format!("there is no SM {sm}; the device has {}", self.sms.len())));
        }
        if experiment.kernel == Kernel::Clock {
            return None;
        }
        let partner_constants = match &experiment.partner {
            Some(p) if p.path == LoadPath::Constant => p.footprint.0,
            _ => 0,
        };
        let own = experiment.footprint.0;
        let too_large = |space: &str, limit: u64| {
            Some(Failure::unsupported(format!(
                "{} of {space} is beyond the {} a kernel may use",
                Bytes(own),
                Bytes(limit)
            )))
        };
        match experiment.path {
            LoadPath::Constant if own + partner_constants > CONSTANT_BYTES => {
                too_large("constant memory", CONSTANT_BYTES)
            }
            LoadPath::Local if own > LOCAL_BYTES => too_large("local memory", LOCAL_BYTES),
            LoadPath::Shared => {
                let limit = facts.shared_per_block_optin.unwrap_or(facts.shared_per_block).max(facts.shared_per_block);
                if own + 4 * WINDOW > limit { too_large("shared memory", limit - 4 * WINDOW) } else { None }
            }
            _ if partner_constants > CONSTANT_BYTES => too_large("constant memory", CONSTANT_BYTES),
            _ => None,
        }
    }

    /// Runs experiments that may share a launch; they have the same kernel, block and carveout.
    pub(super) fn launch_together(&mut self, experiments: &[&Experiment]) -> Result<Vec<Outcome>> {
        let program = Program::of(experiments[0]);
        let loaded = self.programs.get(self.gpu, program)?;
        let block = experiments[0].partner.as_ref().map_or(1, |p| p.block);
        let shared_chain = if experiments[0].path == LoadPath::Shared { experiments[0].footprint } else { Bytes(0) };
        let shared = if program == Program::Clock { Bytes(0) } else { Bytes(4 * WINDOW) + shared_chain };
        self.programs.configure(self.gpu, program, loaded.function, experiments[0].carveout, shared)?;

        let transfer = Instant::now();
        let mut prepared = self.prepare(experiments)?;
        if let Some(bank) = loaded.constants {
            self.write_constants(bank, &prepared[0])?;
        }
        self.timings.transfer += transfer.elapsed();
        for one in &prepared {
            self.prepare_l2(one)?;
        }
        if let Some(carveout) = experiments[0].carveout
            && uses_l1(experiments[0])
        {
            self.renew_carveout(carveout)?;
        }
        let result = self.run_jobs(program, loaded.function, Launch { blocks: 0, threads: block, shared }, &prepared);
        for one in &mut prepared {
            for texture in
                one.texture.take().into_iter().chain(one.partner.as_mut().and_then(|partner| partner.texture.take()))
            {
                // A texture that cannot be destroyed is a lost context, which the result says.
                let _ = self.gpu.destroy_texture(texture);
            }
        }
        result
    }

    /// Assigns SMs, lays chains out, and finds room for the samples.
    fn prepare<'e>(&mut self, experiments: &[&'e Experiment]) -> Result<Vec<Prepared<'e>>> {
        let named: Vec<u32> = experiments.iter().filter_map(|e| e.sm).collect();
        let mut free = (0..self.sms.len() as u32).filter(|sm| !named.contains(sm)).collect::<Vec<_>>().into_iter();
        let out_bytes: Vec<usize> = experiments.iter().map(|e| output_bytes(e)).collect();
        let mut out = self.outputs.at_least(self.gpu, Bytes(out_bytes.iter().sum::<usize>() as u64))?;

        let plans: Vec<Plan> = experiments.iter().map(|e| Plan::of(e)).collect();
        let partner_plans: Vec<Option<Plan>> =
            experiments.iter().map(|e| e.partner.as_ref().map(|p| Plan::of_partner(e, p))).collect();
        let in_memory = |path: LoadPath, kernel: Kernel| chain::needs_memory(path) && kernel != Kernel::Clock;
        let wanted: Vec<&Plan> = experiments
            .iter()
            .zip(&plans)
            .filter(|(e, _)| in_memory(e.path, e.kernel))
            .map(|(_, plan)| plan)
            .chain(experiments.iter().zip(&partner_plans).filter_map(|(e, plan)| {
                let partner = e.partner.as_ref()?;
                if chain::needs_memory(partner.path) { plan.as_ref() } else { None }
            }))
            .collect();
        self.lay_out(&wanted)?;
        let own_lists = self.own_lists(experiments, &plans)?;

        let mut prepared = Vec::with_capacity(experiments.len());
        for (i, &experiment) in experiments.iter().enumerate() {
            let sm = match experiment.sm {
                Some(sm) => sm,
                None => free.next().unwrap_or(0),
            };
            let placed =
                self.laid_out.get(&plans[i].key).copied().filter(|_| in_memory(experiment.path, experiment.kernel));
            let texture = match (experiment.path, placed) {
                (LoadPath::Texture, Some(p)) => Some(self.gpu.texture(p.base, p.span)?),
                _ => None,
            };
            let partner = match (&experiment.partner, &partner_plans[i]) {
                (Some(partner), Some(plan)) => {
                    let placed = self.laid_out.get(&plan.key).copied();
                    let (origin, texture) = match (partner.path, placed) {
                        (LoadPath::Texture, Some(p)) => (0, Some(self.gpu.texture(p.base, p.span)?)),
                        (LoadPath::Constant, _) if experiment.path == LoadPath::Constant => {
                            (experiment.footprint.round_up(PARTNER_CONSTANTS).0, None)
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
                offsets: plans[i].offsets.clone(),
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

    /// Lists of offsets for chains that the kernel builds itself; empty where there are none.
    fn own_lists(&mut self, experiments: &[&Experiment], plans: &[Plan]) -> Result<Vec<DevicePtr>> {
        if !matches!(experiments[0].path, LoadPath::Shared | LoadPath::Local) {
            return Ok(Vec::new());
        }
        let words: Vec<u8> =
            plans.iter().flat_map(|p| &p.offsets).flat_map(|o| ((o / 4) as u32).to_le_bytes()).collect();
        let mut at = self.lists.at_least(self.gpu, Bytes(words.len() as u64))?;
        self.gpu.write(at, &words)?;
        Ok(plans
            .iter()
            .map(|plan| {
                let here = at;
                at = at.offset(4 * plan.offsets.len() as u64);
                here
            })
            .collect())
    }

    /// Writes the chains that this launch needs. Chains of the last launch are overwritten, unless all of these are there
    /// already.
    fn lay_out(&mut self, plans: &[&Plan]) -> Result<()> {
        let mut needed: Vec<&Plan> = Vec::new();
        for plan in plans {
            match needed.iter_mut().find(|p| p.key == plan.key) {
                Some(other) if other.offsets.len() < plan.offsets.len() => *other = plan,
                Some(_) => {}
                None => needed.push(plan),
            }
        }
        let there =
            |plan: &&Plan| self.laid_out.get(&plan.key).is_some_and(|placed| placed.ring >= plan.offsets.len() as u64);
        if needed.iter().all(there) {
            return Ok(());
        }
        self.laid_out.clear();
        self.slots.clear();
        // Where each chain goes, before anything is allocated.
        let mut places = Vec::with_capacity(needed.len());
        for plan in &needed {
            let arena = plan.key.arena();
            let next = self.slots.entry(arena).or_default();
            let at = next.next_multiple_of(chain::slot_alignment(plan.span));
            *next = at + plan.span.0;
            places.push((arena, at));
        }
        for (&(number, host), &size) in &self.slots {
            let size = Bytes(size);
            if self.arenas.get(&(number, host)).is_some_and(|a| a.holds(size)) {
                continue;
            }
            if let Some(old) = self.arenas.remove(&(number, host)) {
                old.free(self.gpu)?;
            }
            let arena = Arena::allocate(self.gpu, number, host, size)?;
            self.arenas.insert((number, host), arena);
        }
        let words: Vec<u8> =
            needed.iter().flat_map(|p| &p.offsets).flat_map(|o| ((o / 4) as u32).to_le_bytes()).collect();
        let mut list = self.lists.at_least(self.gpu, Bytes(words.len() as u64))?;
        self.gpu.write(list, &words)?;
        let link = self.programs.get(self.gpu, Program::Link)?;
        for (plan, (arena, at)) in needed.iter().zip(places) {
            let count = plan.offsets.len() as u64;
            let base = self.arenas[&arena].at(at);
            let wide = u64::from(!plan.key.texels());
            let blocks = count.div_ceil(u64::from(LINK_THREADS)).clamp(1, 1024) as u32;
            let launch = Launch { blocks, threads: LINK_THREADS, shared: Bytes(0) };
            self.gpu.launch(link.function, launch, &[base.0, list.0, count, wide])?;
            self.laid_out.insert(plan.key.clone(), Placed { base, span: plan.span, ring: count, list });
            list = list.offset(4 * count);
        }
        self.gpu.synchronize()
    }

    /// Writes the constant bank: the chain at its start, a partner's behind it.
    fn write_constants(&mut self, bank: DevicePtr, prepared: &Prepared) -> Result<()> {
        let mut image = vec![0u8; CONSTANT_BYTES as usize];
        let mut link = |offsets: &[u64], origin: u64| {
            for (i, &offset) in offsets.iter().enumerate() {
                let next = (origin + offsets[(i + 1) % offsets.len()]) as u32;
                let at = (origin + offset) as usize;
                image[at..at + 4].copy_from_slice(&next.to_le_bytes());
            }
        };
        if prepared.experiment.path == LoadPath::Constant {
            link(&prepared.offsets, 0);
        }
        if let Some(partner) = &prepared.partner
            && partner.partner.path == LoadPath::Constant
        {
            link(&partner.offsets, partner.origin);
        }
        self.gpu.write(bank, &image)
    }

    fn prepare_l2(&mut self, prepared: &Prepared) -> Result<()> {
        match prepared.experiment.prepare {
            Prepare::Nothing => Ok(()),
            Prepare::FlushL2 => {
                let l2 = self.gpu.facts().l2_size.max(MIB);
                let bytes = Bytes(FLUSH_FACTOR * l2);
                let buffer = self.flush.at_least(self.gpu, bytes)?;
                self.gpu.clear(buffer, bytes)
            }
            Prepare::Fill { passes } => {
                let Some(chain) = prepared.chain else { return Ok(()) };
                let fill = self.programs.get(self.gpu, Program::Fill)?;
                // A paged chain visits a sample of its footprint, but the whole footprint is what must be filled.
                let listed = matches!(prepared.experiment.order, Order::Scattered { .. });
                let experiment = prepared.experiment;
                let elements = if listed { experiment.lap() } else { experiment.footprint / experiment.stride };
                let job = Job {
                    armed: 1,
                    start: chain.base.0,
                    lap: elements,
                    warm_laps: u64::from(passes.max(1)),
                    order: chain.list.0,
                    stride_or_rounds: if listed { 0 } else { experiment.stride.0 / 4 },
                    ..Job::default()
                };
                let threads = FILL_THREADS.min(self.gpu.facts().max_threads_per_block);
                let launch = Launch { blocks: 0, threads, shared: Bytes(0) };
                self.take_jobs(fill.function, launch, &[(prepared.sm, job)]).map(drop)
            }
        }
    }

    fn run_jobs(
        &mut self,
        program: Program,
        function: Function,
        launch: Launch,
        prepared: &[Prepared],
    ) -> Result<Vec<Outcome>> {
        let jobs: Vec<(u32, Job)> = prepared.iter().map(|p| (p.sm, p.job(program))).collect();
        let done = self.take_jobs(function, launch, &jobs)?;
        let transfer = Instant::now();
        let mut raw = vec![0u8; prepared.iter().map(|p| p.out_bytes).sum()];
        self.gpu.read(prepared[0].out, &mut raw)?;
        self.timings.transfer += transfer.elapsed();
        let mut at = 0;
        Ok(prepared
            .iter()
            .zip(done)
            .map(|(one, done)| {
                let bytes = &raw[at..at + one.out_bytes];
                at += one.out_bytes;
                one.samples(done, bytes)
            })
            .collect())
    }

    /// Lays jobs out, one to an SM, and launches until every one has been taken.
    fn take_jobs(&mut self, function: Function, launch: Launch, jobs: &[(u32, Job)]) -> Result<Vec<Done>> {
        let highest = *self.sms.last().unwrap_or(&0) as usize;
        let mut table = vec![0u8; (highest + 1) * JOB_BYTES as usize];
        for (sm, job) in jobs {
            let at = *sm as usize * JOB_BYTES as usize;
            table[at..at + JOB_BYTES as usize].copy_from_slice(&job.to_bytes());
        }
        self.gpu.write(self.jobs, &table)?;
        // Never more blocks than SMs: an SM that has to hold two at a time enlarges its shared memory at the L1's cost.
        let blocks = self.sms.len() as u32;
        let mut done = Vec::new();
        for _ in 0..ATTEMPTS {
            self.gpu.mark()?;
            self.gpu.launch(function, Launch { blocks, ..launch }, &[self.jobs.0])?;
            self.device_us += self.gpu.mark()?;
            self.gpu.read(self.jobs, &mut table)?;
            done = jobs
                .iter()
                .map(|(sm, _)| {
                    let at = *sm as usize * JOB_BYTES as usize;
                    let mut raw = [0; JOB_BYTES as usize];
                    raw.copy_from_slice(&table[at..at + JOB_BYTES as usize]);
                    Done::from_bytes(&raw)
                })
                .collect();
            if done.iter().all(|d: &Done| d.taken) {
                break;
            }
        }
        Ok(done)
    }

    /// Makes the driver set the carveout anew. An SM that once ran several blocks at a time keeps a larger share of shared
    /// memory, and the driver, which sees no change of the hint, leaves it so (seen on an H200: L1s of 150 to 250 KiB side
    /// by side). A kernel with the opposite hint in between is a change.
    fn renew_carveout(&mut self, carveout: u8) -> Result<()> {
        let opposite = if carveout < 50 { 100 } else { 0 };
        let census = self.programs.get(self.gpu, Program::Census)?;
        self.programs.configure(self.gpu, Program::Census, census.function, Some(opposite), Bytes(0))?;
        let blocks = self.sms.len() as u32;
        let out = self.outputs.at_least(self.gpu, Bytes(4 * u64::from(blocks)))?;
        self.gpu.launch(census.function, Launch { blocks, threads: 1, shared: Bytes(0) }, &[out.0, 0])
    }
}

/// Whether the loads of an experiment go through what may be one memory with shared memory.
fn uses_l1(experiment: &Experiment) -> bool {
    use LoadPath::{GlobalCa, GlobalNc, Local, Texture};
    matches!(experiment.path, GlobalCa | GlobalNc | Texture | Local)
}

/// A partner's constants start at a multiple of this: the largest fetch granularity known of a constant cache.
const PARTNER_CONSTANTS: Bytes = Bytes(256);

fn rounded_lap_loads(experiment: &Experiment) -> u32 {
    experiment.timed_loads.next_multiple_of(1 << UNROLL_SHIFT)
}

fn output_bytes(experiment: &Experiment) -> usize {
    match experiment.kernel {
        Kernel::Clock => 16,
        Kernel::Lap => 16 * experiment.rounds as usize,
        _ => 4 * (experiment.timed_loads as usize).next_multiple_of(2),
    }
}

impl Prepared<'_> {
    fn origin(&self) -> u64 {
        self.chain.map_or(0, |c| c.base.0)
    }

    fn job(&self, program: Program) -> Job {
        let e = self.experiment;
        let partner = self.partner.as_ref();
        Job {
            armed: 1,
            start: chain::value(e.path, self.origin(), self.offsets.first().copied().unwrap_or(0)),
            texture: self.texture.map_or(0, |t| t.0),
            lap: e.lap(),
            warm_laps: u64::from(e.warm_laps),
            timed_loads: u64::from(if e.kernel == Kernel::Lap { rounded_lap_loads(e) } else { e.timed_loads }),
            window: WINDOW,
            resident: u64::from(e.walk == Walk::Resident),
            out: self.out.0,
            order: self.list.0,
            stride_or_rounds: if matches!(program, Program::Lap(_)) { u64::from(e.rounds) } else { 0 },
            partner_start: partner.map_or(0, |p| chain::value(p.partner.path, p.origin, 0)),
            partner_texture: partner.and_then(|p| p.texture).map_or(0, |t| t.0),
            partner_loads: partner.map_or(0, |p| u64::from(p.partner.laps) * p.offsets.len() as u64),
            partner_thread: partner.map_or(0, |p| u64::from(p.partner.thread)),
            end: u64::MAX,
        }
    }

    /// Checks the walk's end and reads the samples.
    fn samples(&self, done: Done, bytes: &[u8]) -> Outcome {
        let e = self.experiment;
        if !done.taken {
            return Err(Failure::failed(format!("no block was scheduled on SM {}", self.sm)));
        }
        let mut samples = Samples { sm: self.sm, base: self.origin(), ..Samples::default() };
        let words = bytes.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("eight bytes")));
        if e.kernel == Kernel::Clock {
            let words: Vec<u64> = words.collect();
            samples.clocks.push(ClockSpan { cycles: words[0], nanoseconds: words[1] });
            return Ok(samples);
        }
        let rounded = Experiment { timed_loads: rounded_lap_loads(e), ..e.clone() };
        let walked = if e.kernel == Kernel::Lap { &rounded } else { e };
        let origin = if matches!(e.path, LoadPath::Shared | LoadPath::Local) { done.origin } else { self.origin() };
        let ring = self.chain.map_or(e.lap(), |c| c.ring);
        let end = chain::value(e.path, origin, chain::expected_end(walked, &self.offsets, ring));
        if done.end != end {
            return Err(Failure::failed(format!(
                "wrong checksum: the chain ended at {:#x} instead of {end:#x}, so these are not the loads that were asked for",
                done.end
            )));
        }
        if let Some(p) = &self.partner {
            let end = chain::value(p.partner.path, p.origin, 0);
            if done.partner_end != end {
                return Err(Failure::failed(format!(
                    "wrong checksum: the partner's chain ended at {:#x} instead of {end:#x}",
                    done.partner_end
                )));
            }
        }
        if e.kernel == Kernel::Lap {
            samples.laps =
                words.enumerate().map(|(i, cycles)| Lap { loads: walked.timed_loads << (i & 1), cycles }).collect();
        } else {
            samples.latencies = bytes
                .chunks_exact(4)
                .take(e.timed_loads as usize)
                .map(|c| u32::from_le_bytes(c.try_into().expect("four bytes")))
                .collect();
        }
        Ok(samples)
    }
}
