//! One launch: the kernel, its jobs, and the state of the caches before it.

use std::time::Instant;

use super::prepared::{Outcome, Prepared};
use super::{ATTEMPTS, Bench, WINDOW};
use strata_gpu::{Function, Launch, Result};
use strata_kernels::Program;
use strata_kernels::job::{Done, JOB_BYTES, Job};
use strata_kernels::sizes::{BANK_ROW, CONSTANT_BYTES, LOCAL_BYTES};
use strata_model::experiment::{BankWidth, Experiment, LoadPath, Order, Prepare, Side};
use strata_model::samples::Failure;
use strata_model::units::{Bytes, MIB};

/// A flush writes this many times the L2's size.
const FLUSH_FACTOR: u64 = 3;
/// Threads of the block that fills the L2: the most that every device allows.
const FILL_THREADS: u32 = 1024;

impl Bench<'_> {
    /// Why this device cannot run the experiment, if it cannot.
    pub(super) fn impossible(&self, experiment: &Experiment) -> Option<Failure> {
        let facts = self.gpu.facts();
        let listed = match experiment {
            Experiment::Atomics(atomics) => atomics.sms.to_vec(),
            Experiment::PageWalk(walk) => walk.sms(),
            other => other.stream().map_or(Vec::new(), |stream| stream.sms.to_vec()),
        };
        if let Some(sm) = experiment.sm().into_iter().chain(listed).find(|sm| *sm as usize >= self.sms.len()) {
            return Some(Failure::failed(format!("there is no SM {sm}; the device has {}", self.sms.len())));
        }
        let threads = match experiment {
            Experiment::Pattern(run) => Some(run.pattern.threads()),
            Experiment::Atomics(atomics) => Some(atomics.threads_per_block),
            Experiment::Contention(contention) => Some(contention.threads()),
            other => other.stream().map(|stream| stream.threads_per_block),
        };
        let most = facts.max_threads_per_block;
        if let Some(threads) = threads.filter(|threads| *threads > most) {
            let why = format!("{threads} threads: a block of this device has {most} at most");
            return Some(Failure::unsupported(why));
        }
        // What a pattern asks for besides, its launch says.
        if matches!(experiment, Experiment::Pattern(_)) {
            return None;
        }
        let (path, Bytes(own)) = (experiment.path()?, experiment.footprint()?);
        let partner_constants = match experiment.partner() {
            Some(p) if p.path == LoadPath::Constant => p.footprint.0,
            _ => 0,
        };
        let too_large = |space: &str, limit: u64| {
            Some(Failure::unsupported(format!(
                "{} of {space} is beyond the {} a kernel may use",
                Bytes(own),
                Bytes(limit)
            )))
        };
        match path {
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
    pub(super) fn launch_together(&mut self, program: Program, experiments: &[&Experiment]) -> Result<Vec<Outcome>> {
        let first = experiments[0];
        let loaded = self.programs.get(self.gpu, program)?;
        let block = super::groups::block(first);
        let shared = match (first, first.path()) {
            // No times are kept there; what comes before the first row of banks is left out.
            (Experiment::Warp(warp), _) => warp.footprint + Bytes(BANK_ROW),
            (Experiment::Launched(launched), _) => launched.shared_per_block,
            (_, Some(path @ LoadPath::Shared)) => {
                Bytes(4 * super::window(path)) + first.footprint().unwrap_or_default()
            }
            (_, Some(path)) => Bytes(4 * super::window(path)),
            (_, None) => Bytes(0),
        };
        let bank_width = match first {
            Experiment::Warp(warp) => warp.bank_width.map(BankWidth::bytes),
            _ => None,
        };
        let launch = Launch::new(self.one_each(), block)
            .shared(shared)
            .carveout(first.carveout_percent())
            .bank_width(bank_width);
        self.gpu.configure(loaded.function, &launch)?;

        let transfer = Instant::now();
        let mut prepared = self.prepare(experiments)?;
        if let Some(bank) = loaded.constants {
            self.write_constants(bank, &prepared[0])?;
        }
        self.timings.transfer += transfer.elapsed();
        for one in &prepared {
            self.prepare_l2(one)?;
        }
        if let Some(carveout) = first.carveout_percent()
            && first.path().is_some_and(uses_l1)
        {
            self.renew_carveout(carveout)?;
        }
        let result = self.run_jobs(loaded.function, &launch, &prepared);
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

    /// Overwrites so much memory of this side that nothing else is left in the L2 before it.
    pub(super) fn flush_l2(&mut self, side: Side) -> Result<()> {
        let facts = self.gpu.facts();
        let (buffer, l2_size) = match (side, &facts.peer) {
            (Side::Peer, Some(peer)) => (&mut self.peer_flush, peer.l2_size),
            _ => (&mut self.flush, facts.l2_size),
        };
        let bytes = Bytes(FLUSH_FACTOR * l2_size.max(MIB));
        let buffer = buffer.at_least(self.gpu, bytes)?;
        self.gpu.clear(buffer, bytes)
    }

    fn prepare_l2(&mut self, prepared: &Prepared) -> Result<()> {
        match prepared.experiment.prepare() {
            Prepare::Nothing => Ok(()),
            Prepare::FlushL2 => self.flush_l2(prepared.experiment.path().map_or(Side::Device, LoadPath::side)),
            Prepare::Fill { passes } => {
                let (Some(placed), Some(chain)) = (prepared.chain, prepared.experiment.chain()) else { return Ok(()) };
                let fill = self.programs.get(self.gpu, Program::Fill)?;
                // A paged chain visits a sample of its footprint, but the whole footprint is what must be filled.
                let listed = matches!(chain.order, Order::Scattered { .. });
                let elements = if listed { chain.lap() } else { chain.footprint / chain.stride };
                let job = Job {
                    armed: 1,
                    start: placed.base.0,
                    lap: elements,
                    warm_laps: u64::from(passes.max(1)),
                    order: placed.list.0,
                    stride_or_rounds: if listed { 0 } else { chain.stride.0 / 4 },
                    ..Job::default()
                };
                let threads = FILL_THREADS.min(self.gpu.facts().max_threads_per_block);
                let launch = Launch::new(self.one_each(), threads);
                self.take_jobs(fill.function, &launch, &[(prepared.sm, job)]).map(drop)
            }
        }
    }

    fn run_jobs(&mut self, function: Function, launch: &Launch, prepared: &[Prepared]) -> Result<Vec<Outcome>> {
        let jobs: Vec<(u32, Job)> = prepared.iter().map(|p| (p.sm, p.job())).collect();
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

    /// Blocks of a launch whose jobs are taken by SM. Never more than there are SMs: with a small carveout hint an SM that has to
    /// hold two at a time enlarges its shared memory at the L1's cost.
    fn one_each(&self) -> u32 {
        self.sms.len() as u32
    }

    /// Lays jobs out, one to an SM, and launches until every one has been taken.
    fn take_jobs(&mut self, function: Function, launch: &Launch, jobs: &[(u32, Job)]) -> Result<Vec<Done>> {
        let highest = *self.sms.last().unwrap_or(&0) as usize;
        let mut table = vec![0u8; (highest + 1) * JOB_BYTES as usize];
        for (sm, job) in jobs {
            let at = *sm as usize * JOB_BYTES as usize;
            table[at..at + JOB_BYTES as usize].copy_from_slice(&job.to_bytes());
        }
        self.gpu.write(self.jobs, &table)?;
        let mut done = Vec::new();
        for _ in 0..ATTEMPTS {
            self.gpu.mark()?;
            self.gpu.launch(function, launch, &[self.jobs.0])?;
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
    /// memory, and the driver, which sees no change of the hint, leaves it so: on an H200 some SMs missed nearly all of
    /// 193 KiB while others held 230, launch after launch. A kernel with the opposite hint in between is a change.
    pub(super) fn renew_carveout(&mut self, carveout: u8) -> Result<()> {
        let opposite = if carveout < 50 { 100 } else { 0 };
        let census = self.programs.get(self.gpu, Program::Census)?;
        let blocks = self.one_each();
        let out = self.outputs.at_least(self.gpu, Bytes(4 * u64::from(blocks)))?;
        self.gpu.launch(census.function, &Launch::new(blocks, 1).carveout(opposite), &[out.0, 0])
    }
}

/// Whether loads by this path go through what may be one memory with shared memory.
fn uses_l1(path: LoadPath) -> bool {
    use LoadPath::{GlobalCa, GlobalNc, Local, Texture};
    matches!(path.kernel(), GlobalCa | GlobalNc | Texture | Local)
}
