//! Several identical GPUs, such as simulated ones, that work in parallel.
//!
//! Each has a thread and a [`Bench`] of its own, and keeps them for the whole run. Which launch goes to which is decided by
//! what the launches cost, not by who is free: so the same batch gives the same samples each time, however many cores
//! there are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use super::{Bench, Compiled, Lab, Timings, groups};
use strata_gpu::{Error, Gpu, Result, Telemetry};
use strata_model::experiment::{
    ClusterStream, CopyStream, Experiment, Launched, LoadPath, LoadedChase, PartitionChase, PartitionStream,
    PatternRun, Place, Prepare, Timing, Walk, WindowStream,
};
use strata_model::samples::{Failure, Samples};
use strata_model::source::Source;

/// Part of the free memory that the first allocation takes, at once and on every member: all that is ever walked, so that
/// it is never moved. Memory of a simulated GPU costs nothing until it is written.
const FIRST_ALLOCATION: (u64, u64) = (7, 8);
/// Part of the free memory that each of the others takes, so that they lie at the same addresses on all members, too: 2 MiB
/// of 1 GiB, which is twice the largest footprint of an SM's cache. All of them together take a third of what is left.
const OTHER_ALLOCATIONS: (u64, u64) = (1, 512);
/// The allocations that a probe of a cache asks for at most, the first one included. Behind them are [`Place::UNMOVED`] and [`Place::PARTITIONED`].
const ALLOCATIONS: u32 = Place::UNMOVED;

type Answers = Vec<std::result::Result<Samples, Failure>>;

/// What a member does on request.
enum Request {
    Run(Vec<Experiment>),
    Telemetry,
}

/// What it answers.
enum Reply {
    Ran(Answers, Vec<Compiled>, Timings),
    Telemetry(Box<Telemetry>),
}

struct Member {
    requests: Option<Sender<Request>>,
    replies: Receiver<Reply>,
    thread: Option<JoinHandle<()>>,
    timings: Timings,
}

/// Several GPUs at work side by side.
pub struct Fleet {
    members: Vec<Member>,
    sms: usize,
    compiled: BTreeMap<String, Compiled>,
    known: Vec<String>,
}

impl Fleet {
    /// As many GPUs as asked for, of which `open` makes one each; it is given their numbers.
    ///
    /// # Errors
    ///
    /// The first that cannot be opened or whose census fails.
    pub fn new<G: Gpu + 'static>(
        count: usize,
        interrupted: &Arc<AtomicBool>,
        open: impl Fn(usize) -> G + Clone + Send + 'static,
    ) -> Result<Self> {
        let mut starting = Vec::new();
        for number in 0..count.max(1) {
            let (requests, inbox) = mpsc::channel();
            let (outbox, replies) = mpsc::channel();
            let (ready, started) = mpsc::channel();
            let (interrupted, open) = (Arc::clone(interrupted), open.clone());
            let thread = thread::spawn(move || {
                let mut gpu = open(number);
                match Bench::new(&mut gpu, interrupted) {
                    Ok(mut bench) => {
                        // A chain must lie at the same addresses on all members. What cannot be had now may never be
                        // needed, and is an error where it is.
                        let _ = bench.reserve(0, FIRST_ALLOCATION);
                        for number in 1..ALLOCATIONS {
                            let _ = bench.reserve(number, OTHER_ALLOCATIONS);
                        }
                        let _ = bench.allocate(Place::UNMOVED, Place::UNMOVED_BYTES);
                        let _ = bench.contended.reserve(&mut *bench.gpu);
                        let partitioned = Place::partitioned_bytes(bench.gpu.facts());
                        if partitioned.0 > 0 {
                            let _ = bench.allocate(Place::PARTITIONED, partitioned);
                        }
                        // Nobody waits any more if the fleet is gone.
                        let _ = ready.send(Ok(bench.sm_count()));
                        work(bench, &inbox, &outbox);
                    }
                    Err(error) => {
                        let _ = ready.send(Err(error));
                    }
                }
            });
            starting.push((
                Member { requests: Some(requests), replies, thread: Some(thread), timings: Timings::default() },
                started,
            ));
        }
        let mut members = Vec::new();
        let mut sms = 0;
        for (member, started) in starting {
            let stopped =
                || Error::Driver("a simulated GPU stopped before it was ready; this is a defect of strata".into());
            sms = started.recv().map_err(|_| stopped())??;
            members.push(member);
        }
        Ok(Fleet { members, sms, compiled: BTreeMap::new(), known: Vec::new() })
    }
}

fn work(mut bench: Bench, inbox: &Receiver<Request>, outbox: &Sender<Reply>) {
    while let Ok(request) = inbox.recv() {
        let reply = match request {
            Request::Run(batch) => Reply::Ran(bench.run(&batch), bench.take_compiled(), bench.timings()),
            Request::Telemetry => Reply::Telemetry(Box::new(bench.telemetry())),
        };
        if outbox.send(reply).is_err() {
            return;
        }
    }
}

/// About how many loads an experiment makes, those of its preparation included.
fn cost(experiment: &Experiment) -> u64 {
    let (lap, before, timed) = match experiment {
        Experiment::Clock(clock) => (1, 1, SPINS_A_MICROSECOND * u64::from(clock.span_us)),
        Experiment::Watch(watch) => (1, 1, SPINS_A_MICROSECOND * u64::from(watch.span_us)),
        Experiment::Chase(chase) | Experiment::Launched(Launched { chase, .. }) => {
            let lap = chase.lap();
            let timed = match chase.timing {
                Timing::Laps { loads, rounds } => 3 * u64::from(loads) * u64::from(rounds),
                Timing::EachLoad { loads: timed, walk: Walk::Straight } | Timing::EachPair { pairs: timed } => {
                    u64::from(timed)
                }
                Timing::EachLoad { loads, walk } => in_windows(chase.path, lap, loads, walk),
            };
            (lap, chase.warm_laps, timed)
        }
        Experiment::Disturb(disturb) => {
            let lap = disturb.chain().lap();
            (lap, disturb.warm_laps, in_windows(disturb.path, lap, disturb.loads, Walk::Resident))
        }
        Experiment::Warp(warp) => (1, warp.warm_loads, WARP_LOADS * 3 * u64::from(warp.loads) * u64::from(warp.rounds)),
        Experiment::Pattern(run) => (u64::from(run.pattern.operations()), 0, pattern_cost(run)),
        Experiment::Stream(stream)
        | Experiment::LoadedChase(LoadedChase { stream, .. })
        | Experiment::WindowStream(WindowStream { stream, .. })
        | Experiment::PartitionStream(PartitionStream { stream, .. })
        | Experiment::ClusterStream(ClusterStream { stream, .. })
        | Experiment::CopyStream(CopyStream { stream, .. })
        | Experiment::PartitionChase(PartitionChase { chase: LoadedChase { stream, .. }, .. }) => {
            (1, 0, u64::from(stream.timed_cycles) * STREAM_LOADS)
        }
        Experiment::Atomics(atomics) => (1, 0, u64::from(atomics.timed_cycles) * STREAM_LOADS),
        Experiment::Transfer(transfer) => (1, 0, transfer.bytes.0 / COPIED_FOR_A_LOAD),
        Experiment::AsyncCopy(copy) => {
            (1, 0, 3 * u64::from(copy.steps) * u64::from(copy.rounds) * copy.bytes.0.div_ceil(COPIED_FOR_A_LOAD))
        }
        Experiment::Clusters(clusters) => {
            (1, 0, SPINS_A_MICROSECOND * u64::from(clusters.span_us) * u64::from(clusters.blocks()))
        }
        Experiment::Distributed(distributed) => {
            let measured = 3 * u64::from(distributed.steps) * u64::from(distributed.rounds);
            (1, 0, measured.saturating_mul(distributed.workers().into()))
        }
        Experiment::CodeWalk(walk) => {
            let walkers = if walk.sm.is_some() { 1 } else { CODE_WALKERS };
            let laps = 2 * u64::from(walk.warm_laps) + u64::from(walk.laps);
            (1, 0, laps.saturating_mul(walkers * u64::from(walk.jumps())))
        }
        Experiment::PageWalk(walk) => {
            let laps = u64::from(walk.laps);
            let visits = (laps + 2) * walk.walkers.len() as u64 + laps * walk.partners.len() as u64;
            (u64::from(walk.pages), 0, visits.saturating_mul(walk.pages.into()))
        }
        Experiment::Residency(residency) => {
            let [before, after] = residency.reads();
            let lines = u64::from(residency.lines);
            (lines, 0, before.saturating_add(after) / READERS + 3 * lines)
        }
        Experiment::Displacement(displacement) => (1, 0, displacement.accesses().iter().sum::<u64>() / READERS),
        Experiment::Contention(contention) => (1, 0, contention.loads().saturating_mul(CONTENDED_LOAD)),
        Experiment::Imported(_) => (0, 0, 0),
    };
    let prepared = match experiment.prepare() {
        Prepare::Nothing => 0,
        Prepare::FlushL2 => FLUSH_LOADS,
        Prepare::Fill { passes } => u64::from(passes) * lap,
    };
    lap.saturating_mul(1 + u64::from(before)).saturating_add(timed).saturating_add(prepared)
}

/// Timed loads of a resident chain, with the laps between the windows that hold their times.
fn in_windows(path: LoadPath, lap: u64, loads: u32, walk: Walk) -> u64 {
    let loads = u64::from(loads);
    // The lap in which the window is timed besides.
    let laps = u64::from(walk.laps_between()) + 1;
    loads.saturating_add((loads.div_ceil(super::window(path)) * laps).saturating_mul(lap))
}

/// About how many instructions the warps of a pattern execute.
fn pattern_cost(run: &PatternRun) -> u64 {
    let pattern = run.pattern;
    let warps = u64::from(pattern.threads().div_ceil(32)) * u64::from(pattern.blocks());
    warps * u64::from(pattern.operations()) * u64::from(run.rounds)
}

/// About how many SMs walk through code, where all do.
const CODE_WALKERS: u64 = 100;
/// What a load counts as that is timed while all other SMs load.
const CONTENDED_LOAD: u64 = 200;
/// Threads at least that read together what displaces lines: those of a warp.
const READERS: u64 = 32;
/// What a microsecond of spinning counts as.
const SPINS_A_MICROSECOND: u64 = 10;
/// What a load by all lanes of a warp counts as.
const WARP_LOADS: u64 = 8;
/// What a cycle of a stream on all SMs costs a simulation, in single loads.
const STREAM_LOADS: u64 = 4;
/// Bytes that a simulation copies in the time of a load.
const COPIED_FOR_A_LOAD: u64 = 128;
/// What a flush counts as.
const FLUSH_LOADS: u64 = 200_000;

impl Source for Fleet {
    fn run(&mut self, batch: &[Experiment]) -> Answers {
        let indexed: Vec<(usize, &Experiment)> = batch.iter().enumerate().collect();
        let mut load = vec![0u64; self.members.len()];
        let mut shares: Vec<Vec<usize>> = vec![Vec::new(); self.members.len()];
        for launch in groups::launches(&indexed, self.sms) {
            // The least loaded so far; of equals the first.
            let least = (0..load.len()).min_by_key(|&m| load[m]).unwrap_or(0);
            load[least] += launch.iter().map(|&i| cost(&batch[i])).sum::<u64>();
            shares[least].extend(launch);
        }
        for (member, share) in self.members.iter().zip(&shares) {
            if let Some(requests) = &member.requests {
                // One that has stopped shows when its reply does not come.
                let _ = requests.send(Request::Run(share.iter().map(|&i| batch[i].clone()).collect()));
            }
        }
        let stopped = || Err(Failure::failed("the simulated GPU stopped; this is a defect of strata"));
        let mut answers: Vec<Option<std::result::Result<Samples, Failure>>> = vec![None; batch.len()];
        for (member, share) in self.members.iter_mut().zip(shares) {
            if let Ok(Reply::Ran(all, compiled, timings)) = member.replies.recv() {
                member.timings = timings;
                for (index, answer) in share.into_iter().zip(all) {
                    answers[index] = Some(answer);
                }
                for one in compiled.into_iter().filter(|c| !self.known.contains(&c.kernel)) {
                    self.compiled.insert(one.kernel.clone(), one);
                }
            }
        }
        answers.into_iter().map(|a| a.unwrap_or_else(stopped)).collect()
    }
}

impl Lab for Fleet {
    fn timings(&self) -> Timings {
        let mut sum = Timings::default();
        for member in &self.members {
            sum.compile += member.timings.compile;
            sum.transfer += member.timings.transfer;
            for (kernel, &(launches, time)) in &member.timings.kernels {
                let entry = sum.kernels.entry(kernel.clone()).or_default();
                entry.0 += launches;
                entry.1 += time;
            }
        }
        sum
    }

    fn take_compiled(&mut self) -> Vec<Compiled> {
        let compiled = std::mem::take(&mut self.compiled);
        self.known.extend(compiled.keys().cloned());
        compiled.into_values().collect()
    }

    fn telemetry(&mut self) -> Telemetry {
        let member = &self.members[0];
        let asked = member.requests.as_ref().is_some_and(|requests| requests.send(Request::Telemetry).is_ok());
        match member.replies.recv() {
            Ok(Reply::Telemetry(telemetry)) if asked => *telemetry,
            _ => Telemetry { note: Some("the simulated GPU stopped".into()), ..Telemetry::default() },
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for member in &mut self.members {
            member.requests = None;
            if let Some(thread) = member.thread.take() {
                // A panic has been reported on standard error and by missing answers.
                let _ = thread.join();
            }
        }
    }
}
