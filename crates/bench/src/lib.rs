//! Runs experiments on a [`Gpu`]: builds the chains, launches the kernels and checks the results.
//!
//! Experiments on caches that are private to an SM share a launch, one per SM. Experiments on the L2 and DRAM run alone. The
//! device context lives as long as the bench: nothing is ever reset between experiments. Every kernel returns where its chain
//! ended; a wrong end fails the experiment.

mod async_copy;
mod atomics;
mod chain;
mod cluster_stream;
mod clusters;
mod code_walk;
mod contention;
mod displacement;
mod distributed;
mod fleet;
mod groups;
mod launch;
mod layout;
mod page_walk;
mod pattern;
mod persistent;
mod prepared;
mod programs;
mod residency;
pub mod session;
mod stream;
mod transfer;
mod watch;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chain::{Arena, ChainKey, Placed};
pub use fleet::Fleet;
pub use programs::Compiled;
use programs::Programs;
use strata_gpu::{BoardFacts, DevicePtr, Error, Glance, Gpu, Launch, Result, Telemetry};
use strata_kernels::Program;
use strata_kernels::job::JOB_BYTES;
use strata_model::experiment::{Content, Experiment, LoadPath, Side};
use strata_model::samples::{Failure, Samples};
use strata_model::source::Source;
use strata_model::units::Bytes;

/// Loads whose times shared memory holds before they are written out. 6 KiB: with the 1 KiB that the system keeps for a
/// block this fits the smallest carveout of a unified L1 (8 KiB on compute capability 7.0 to 9.0), so that the L1 under
/// test is as large as it can be.
const WINDOW: u64 = 1536;
/// As [`WINDOW`], for loads that pass the L1 by: 32 KiB, which every device gives a block without being asked.
const LARGE_WINDOW: u64 = 8192;

/// Loads whose times shared memory holds for a chase by this path.
fn window(path: LoadPath) -> u64 {
    if matches!(path.kernel(), LoadPath::GlobalCg | LoadPath::Atomic) { LARGE_WINDOW } else { WINDOW }
}

/// How long a block of the census stays, so that the next ones go elsewhere: longer than a launch takes to spread.
const CENSUS_NS: u64 = 50_000;
/// Launches after which an SM that took no job counts as unreachable.
const ATTEMPTS: u32 = 5;

/// Where the time of a run went.
#[derive(Clone, Debug, Default)]
pub struct Timings {
    /// Compiling and loading kernels.
    pub compile: Duration,
    /// Building chains and copying jobs and samples.
    pub transfer: Duration,
    /// Kernels at work, by kernel: how many launches, and the device's time by its own events (filling the L2 included).
    pub kernels: BTreeMap<String, (u32, Duration)>,
}

/// What runs experiments on devices, with what else it can tell of a run.
pub trait Lab: Source {
    /// Where the time went so far.
    fn timings(&self) -> Timings;

    /// Kernels compiled since the last call.
    fn take_compiled(&mut self) -> Vec<Compiled>;

    /// State of the GPU now.
    fn telemetry(&mut self) -> Telemetry;

    /// What can be seen quickly of it, while a run goes on.
    fn glance(&mut self) -> Glance {
        Glance::default()
    }

    /// Bytes a second that cross its bus now.
    fn bus_traffic(&mut self) -> Option<u64> {
        None
    }

    /// What its management library says of the board.
    fn board(&mut self) -> Option<BoardFacts> {
        None
    }
}

/// Runs experiments on a GPU.
pub struct Bench<'g> {
    gpu: &'g mut dyn Gpu,
    programs: Programs,
    /// `%smid` of every SM that takes blocks, ascending.
    sms: Vec<u32>,
    jobs: DevicePtr,
    arenas: HashMap<(u32, Side), Arena>,
    /// Allocations that lie at the same addresses whenever a chain is walked, with these addresses, and whether a launch has moved one.
    reserved: Vec<(u32, Bytes, DevicePtr)>,
    displaced: bool,
    /// Chains as they lie in their arenas now.
    laid_out: HashMap<ChainKey, Placed>,
    lists: Scratch,
    outputs: Scratch,
    flush: Scratch,
    /// As that, to empty the L2 of another GPU.
    peer_flush: Scratch,
    /// Of the L1, of the L2, and of what the L2 displaces.
    rooms: [residency::Room; 3],
    pattern_memory: Scratch,
    /// Of the device, the host and another GPU.
    sides: [stream::Memories; 3],
    chase_times: Scratch,
    /// Lines that SMs load while others do.
    contended: contention::Lines,
    /// Which pieces streams go over, where these are listed.
    pieces: Scratch,
    /// What the allocation [`Place::PARTITIONED`] holds for streams: where it was then, and how much of it.
    partitioned_content: Option<(DevicePtr, Content, Bytes)>,
    /// The same of the allocation in which chains lie.
    window_content: Option<(DevicePtr, Content, Bytes)>,
    interrupted: Arc<AtomicBool>,
    lost: Option<String>,
    /// Device time of the launch under way, in microseconds.
    device_us: f64,
    timings: Timings,
}

/// A buffer that grows.
struct Scratch {
    memory: Option<DevicePtr>,
    size: Bytes,
    /// Whose memory.
    side: Side,
}

/// Allocates memory of one of the sides.
fn allocate(gpu: &mut dyn Gpu, side: Side, bytes: Bytes) -> Result<DevicePtr> {
    match side {
        Side::Device => gpu.allocate(bytes),
        Side::Host => gpu.allocate_pinned(bytes),
        Side::Peer => gpu.allocate_on_peer(bytes),
    }
}

impl Default for Scratch {
    /// Of the device.
    fn default() -> Self {
        Scratch::of(Side::Device)
    }
}

impl Scratch {
    /// Of this side.
    fn of(side: Side) -> Self {
        Scratch { memory: None, size: Bytes(0), side }
    }

    /// Gives the memory back; it is allocated again when it is needed.
    fn free(&mut self, gpu: &mut dyn Gpu) -> Result<()> {
        self.size = Bytes(0);
        self.memory.take().map_or(Ok(()), |memory| gpu.free(memory))
    }

    fn at_least(&mut self, gpu: &mut dyn Gpu, size: Bytes) -> Result<DevicePtr> {
        if let Some(memory) = self.memory
            && self.size >= size
        {
            return Ok(memory);
        }
        if let Some(old) = self.memory.take() {
            gpu.free(old)?;
        }
        let grown = Bytes(size.0.next_power_of_two());
        let memory = allocate(gpu, self.side, grown)?;
        (self.memory, self.size) = (Some(memory), grown);
        Ok(memory)
    }
}

impl<'g> Bench<'g> {
    /// A bench on this GPU. Takes a census of its SMs. Once `interrupted` is set, nothing further is launched.
    ///
    /// # Errors
    ///
    /// If the census kernel cannot be loaded or launched: then nothing else can.
    pub fn new(gpu: &'g mut dyn Gpu, interrupted: Arc<AtomicBool>) -> Result<Self> {
        let mut bench = Bench {
            gpu,
            programs: Programs::default(),
            sms: Vec::new(),
            jobs: DevicePtr(0),
            arenas: HashMap::new(),
            reserved: Vec::new(),
            displaced: false,
            laid_out: HashMap::new(),
            lists: Scratch::default(),
            outputs: Scratch::default(),
            flush: Scratch::default(),
            peer_flush: Scratch::of(Side::Peer),
            rooms: Default::default(),
            pattern_memory: Scratch::default(),
            sides: [Side::Device, Side::Host, Side::Peer].map(stream::Memories::new),
            chase_times: Scratch::default(),
            contended: contention::Lines::default(),
            pieces: Scratch::default(),
            partitioned_content: None,
            window_content: None,
            interrupted,
            lost: None,
            device_us: 0.0,
            timings: Timings::default(),
        };
        bench.sms = bench.census()?;
        let highest = u64::from(*bench.sms.last().unwrap_or(&0));
        bench.jobs = bench.gpu.allocate(Bytes((highest + 1) * JOB_BYTES))?;
        Ok(bench)
    }

    /// Which SMs take blocks: numbers need not be contiguous, nor as many as the driver says.
    fn census(&mut self) -> Result<Vec<u32>> {
        let expected = self.gpu.facts().multiprocessors.max(1);
        let mut sms = self.smids(&Launch::new(expected * 4, 1), CENSUS_NS)?;
        sms.sort_unstable();
        sms.dedup();
        // No GPU has anywhere near this many SMs; a larger number was never written by the kernel.
        const IMPOSSIBLE_SM: u32 = 1 << 16;
        sms.retain(|&sm| sm < IMPOSSIBLE_SM);
        if sms.is_empty() {
            return Err(Error::Unsupported {
                reason: "the first kernel wrote nothing: this driver does not execute kernels".into(),
            });
        }
        Ok(sms)
    }

    /// The `%smid` of each block of a launch, each of which stays there for so many nanoseconds; a number that no SM has, of a block that
    /// did not run.
    fn smids(&mut self, launch: &Launch, stays_ns: u64) -> Result<Vec<u32>> {
        let loaded = self.programs.get(self.gpu, Program::Census)?;
        let mut raw = vec![0xff; 4 * launch.blocks as usize];
        let out = self.outputs.at_least(self.gpu, Bytes(raw.len() as u64))?;
        // A block that did not run must not count as SM 0.
        self.gpu.write(out, &raw)?;
        self.gpu.launch(loaded.function, launch, &[out.0, stays_ns])?;
        self.gpu.read(out, &mut raw)?;
        Ok(persistent::words(&raw))
    }

    /// How many SMs take blocks.
    pub fn sm_count(&self) -> usize {
        self.sms.len()
    }

    /// Compiles what a batch needs, together.
    fn compile<'e>(&mut self, batch: impl Iterator<Item = &'e Experiment>) {
        let needed: BTreeSet<Program> = batch.filter_map(Program::of).collect();
        if !self.interrupted.load(Ordering::Relaxed) && self.lost.is_none() {
            self.programs.compile(self.gpu, needed.into_iter().flat_map(Program::family));
        }
    }

    /// Launches these experiments once.
    fn attempt(&mut self, experiments: &[&Experiment]) -> Result<Vec<std::result::Result<Samples, Failure>>> {
        match experiments[0] {
            Experiment::Transfer(transfer) => self.run_transfer(transfer).map(|outcome| vec![outcome]),
            Experiment::Pattern(run) => self.run_pattern(run).map(|outcome| vec![outcome]),
            Experiment::Stream(stream) => self.run_stream(stream).map(|outcome| vec![outcome]),
            Experiment::Atomics(atomics) => self.run_atomics(atomics).map(|outcome| vec![outcome]),
            Experiment::Clusters(clusters) => self.run_clusters(clusters).map(|outcome| vec![outcome]),
            Experiment::Distributed(distributed) => self.run_distributed(distributed).map(|outcome| vec![outcome]),
            Experiment::LoadedChase(chase) => self.run_loaded(chase).map(|outcome| vec![outcome]),
            Experiment::PartitionStream(stream) => self.run_partition_stream(stream).map(|outcome| vec![outcome]),
            Experiment::WindowStream(stream) => self.run_window_stream(stream).map(|outcome| vec![outcome]),
            Experiment::PartitionChase(chase) => self.run_partition_chase(chase).map(|outcome| vec![outcome]),
            Experiment::ClusterStream(stream) => self.run_cluster_stream(stream).map(|outcome| vec![outcome]),
            Experiment::CopyStream(stream) => self.run_copy_stream(stream).map(|outcome| vec![outcome]),
            Experiment::AsyncCopy(copy) => self.run_async_copy(copy).map(|outcome| vec![outcome]),
            Experiment::CodeWalk(walk) => self.run_code_walk(walk).map(|outcome| vec![outcome]),
            Experiment::PageWalk(walk) => self.run_page_walk(walk).map(|outcome| vec![outcome]),
            Experiment::Residency(residency) => self.run_residency(residency).map(|outcome| vec![outcome]),
            Experiment::Displacement(of) => self.run_displacement(of).map(|outcome| vec![outcome]),
            Experiment::Contention(of) => self.run_contention(of).map(|outcome| vec![outcome]),
            other => match Program::of(other) {
                Some(program) => self.launch_together(program, experiments),
                None => Ok(vec![Err(Failure::failed("no kernel runs it")); experiments.len()]),
            },
        }
    }

    /// Runs one launch's worth of experiments.
    fn run_together(&mut self, experiments: &[&Experiment]) -> Vec<std::result::Result<Samples, Failure>> {
        if self.interrupted.load(Ordering::Relaxed) {
            return vec![Err(Failure::Interrupted); experiments.len()];
        }
        if let Some(reason) = &self.lost {
            return vec![Err(Failure::failed(reason)); experiments.len()];
        }
        self.device_us = 0.0;
        // Where chains lie must not depend on what was launched before.
        let walks = matches!(
            experiments[0],
            Experiment::Chase(_)
                | Experiment::Launched(_)
                | Experiment::Disturb(_)
                | Experiment::PageWalk(_)
                | Experiment::WindowStream(_)
        );
        let restored = if walks { self.restore() } else { Ok(()) };
        let mut outcome = restored.and_then(|()| self.attempt(experiments));
        // Arenas of earlier launches may have taken up what is missing, or be larger than is needed now.
        if matches!(outcome, Err(Error::OutOfMemory { .. })) && matches!(self.free_arenas(), Ok(true)) {
            outcome = self.attempt(experiments);
        }
        let name = Program::of(experiments[0]).map_or_else(|| experiments[0].name().to_owned(), Program::name);
        let entry = self.timings.kernels.entry(name).or_default();
        entry.0 += 1;
        entry.1 += Duration::from_secs_f64(self.device_us / 1e6);
        outcome.unwrap_or_else(|error| {
            if error.is_lost() {
                self.lost = Some(format!("an earlier fault ended the device context: {error}"));
            }
            let failure = match &error {
                Error::Unsupported { reason } => Failure::unsupported(reason),
                other => Failure::failed(other.to_string()),
            };
            vec![Err(failure); experiments.len()]
        })
    }
}

impl Lab for Bench<'_> {
    fn timings(&self) -> Timings {
        Timings { compile: self.programs.compile_time, ..self.timings.clone() }
    }

    fn take_compiled(&mut self) -> Vec<Compiled> {
        std::mem::take(&mut self.programs.compiled)
    }

    fn telemetry(&mut self) -> Telemetry {
        self.gpu.telemetry()
    }

    fn glance(&mut self) -> Glance {
        self.gpu.glance()
    }

    fn bus_traffic(&mut self) -> Option<u64> {
        self.gpu.bus_traffic()
    }

    fn board(&mut self) -> Option<BoardFacts> {
        self.gpu.board()
    }
}

impl Source for Bench<'_> {
    fn run(&mut self, batch: &[Experiment]) -> Vec<std::result::Result<Samples, Failure>> {
        let mut answers: Vec<Option<std::result::Result<Samples, Failure>>> = vec![None; batch.len()];
        let mut possible = Vec::new();
        for (index, experiment) in batch.iter().enumerate() {
            match experiment.defect().map(Failure::failed).or_else(|| self.impossible(experiment)) {
                Some(failure) => answers[index] = Some(Err(failure)),
                None => possible.push((index, experiment)),
            }
        }
        self.compile(possible.iter().map(|&(_, experiment)| experiment));
        for members in groups::launches(&possible, self.sms.len()) {
            let experiments: Vec<&Experiment> = members.iter().map(|&i| &batch[i]).collect();
            for (index, answer) in members.into_iter().zip(self.run_together(&experiments)) {
                answers[index] = Some(answer);
            }
        }
        let missing = || Err(Failure::failed("the experiment was not scheduled"));
        answers.into_iter().map(|a| a.unwrap_or_else(missing)).collect()
    }
}
