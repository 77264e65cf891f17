//! One prepared experiment: its job, and the check of its results.

use std::fmt::Display;

use super::chain::{self, Placed};
use strata_gpu::{DevicePtr, Texture};
use strata_kernels::job::{Done, Job};
use strata_model::experiment::{Chain, Experiment, Launched, LoadPath, Partner, Timing, WARP};
use strata_model::samples::{ClockSpan, Failure, Lap, Samples};

pub(super) type Outcome = std::result::Result<Samples, Failure>;

/// An experiment with all that its job needs.
pub(super) struct Prepared<'e> {
    pub experiment: &'e Experiment,
    pub sm: u32,
    pub offsets: Vec<u64>,
    pub chain: Option<Placed>,
    pub partner: Option<PreparedPartner>,
    pub texture: Option<Texture>,
    pub list: DevicePtr,
    pub out: DevicePtr,
    pub out_bytes: usize,
}

pub(super) struct PreparedPartner {
    pub offsets: Vec<u64>,
    pub origin: u64,
    pub texture: Option<Texture>,
    pub partner: Partner,
}

/// Bytes that the samples of an experiment take on the device.
pub(super) fn output_bytes(experiment: &Experiment) -> usize {
    /// A number of 64 bits for the shorter measurement of a round, another for the longer.
    const ROUND: usize = 16;
    let each = |loads: u32| 4 * (loads as usize).next_multiple_of(2);
    match experiment {
        // Cycles and nanoseconds.
        Experiment::Clock(_) => 16,
        // The same for the whole, the longest and the shortest.
        Experiment::Watch(_) => 48,
        Experiment::Chase(chase) | Experiment::Launched(Launched { chase, .. }) => match chase.timing {
            Timing::EachLoad { loads, .. } => each(loads),
            Timing::EachPair { pairs } => each(pairs),
            Timing::Laps { rounds, .. } => ROUND * rounds as usize,
        },
        Experiment::Disturb(disturb) => each(disturb.loads),
        Experiment::Warp(warp) => ROUND * warp.rounds as usize,
        // Patterns, streams, atomics and clusters have launches and outputs of their own; copies have no launch, and what another tool measured is not
        // run.
        Experiment::Pattern(_)
        | Experiment::Stream(_)
        | Experiment::LoadedChase(_)
        | Experiment::Transfer(_)
        | Experiment::Atomics(_)
        | Experiment::Clusters(_)
        | Experiment::Distributed(_)
        | Experiment::PartitionStream(_)
        | Experiment::PartitionChase(_)
        | Experiment::ClusterStream(_)
        | Experiment::AsyncCopy(_)
        | Experiment::CodeWalk(_)
        | Experiment::PageWalk(_)
        | Experiment::WindowStream(_)
        | Experiment::Residency(_)
        | Experiment::Displacement(_)
        | Experiment::Contention(_)
        | Experiment::CopyStream(_)
        | Experiment::Imported(_) => 0,
    }
}

/// Times of so many loads and of twice as many, in turn.
pub(super) fn in_turn(times: impl IntoIterator<Item = u64>, loads: u32) -> impl Iterator<Item = Lap> {
    times.into_iter().enumerate().map(move |(i, cycles)| Lap { loads: loads << (i & 1), cycles })
}

/// The same, of what a job has written.
fn laps(bytes: &[u8], loads: u32) -> Vec<Lap> {
    in_turn(words(bytes), loads).collect()
}

fn latencies(bytes: &[u8], loads: u32) -> Vec<u32> {
    let times = bytes.chunks_exact(4).take(loads as usize);
    times.map(|c| u32::from_le_bytes(c.try_into().expect("four bytes"))).collect()
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("eight bytes")))
}

fn wrong_checksum<T>(what: impl Display) -> Result<T, Failure> {
    Err(Failure::failed(format!("wrong checksum: {what}, so the kernel did not do the requested loads")))
}

impl Prepared<'_> {
    /// Address of the chain's first byte, 0 where the kernel provides the memory.
    pub fn origin(&self) -> u64 {
        self.chain.map_or(0, |c| c.base.0)
    }

    /// What the kernel is told.
    pub fn job(&self) -> Job {
        let common = Job { armed: 1, out: self.out.0, order: self.list.0, end: u64::MAX, ..Job::default() };
        match self.experiment {
            Experiment::Clock(clock) => Job { timed_loads: u64::from(clock.span_us), ..common },
            Experiment::Watch(watch) => Job { timed_loads: u64::from(watch.span_us), ..common },
            Experiment::Chase(chase) | Experiment::Launched(Launched { chase, .. }) => {
                let (timed_loads, laps_between, rounds) = match chase.timing {
                    Timing::EachLoad { loads, walk } => (loads, walk.laps_between(), 0),
                    Timing::EachPair { pairs } => (pairs, 0, 0),
                    Timing::Laps { loads, rounds } => (chain::unrolled(loads), 0, rounds),
                };
                Job {
                    warm_laps: u64::from(chase.warm_laps),
                    timed_loads: u64::from(timed_loads),
                    laps_between: u64::from(laps_between),
                    stride_or_rounds: u64::from(rounds),
                    ..self.chain_job(chase.chain(), common)
                }
            }
            Experiment::Disturb(disturb) => {
                let job = Job {
                    warm_laps: u64::from(disturb.warm_laps),
                    timed_loads: u64::from(disturb.loads),
                    ..self.chain_job(disturb.chain(), common)
                };
                match &self.partner {
                    Some(PreparedPartner { offsets, origin, texture, partner }) => Job {
                        partner_start: chain::value(partner.path, *origin, 0),
                        partner_texture: texture.map_or(0, |t| t.0),
                        partner_loads: u64::from(partner.laps) * offsets.len() as u64,
                        partner_thread: u64::from(partner.thread),
                        ..job
                    },
                    None => job,
                }
            }
            Experiment::Warp(warp) => Job {
                start: warp.offsets[0],
                lap: 1,
                warm_laps: u64::from(warp.warm_loads),
                timed_loads: u64::from(chain::unrolled(warp.loads)),
                stride_or_rounds: u64::from(warp.rounds),
                ..common
            },
            // As above.
            Experiment::Pattern(_)
            | Experiment::Stream(_)
            | Experiment::LoadedChase(_)
            | Experiment::Transfer(_)
            | Experiment::Atomics(_)
            | Experiment::Clusters(_)
            | Experiment::Distributed(_)
            | Experiment::PartitionStream(_)
            | Experiment::PartitionChase(_)
            | Experiment::ClusterStream(_)
            | Experiment::AsyncCopy(_)
            | Experiment::CodeWalk(_)
            | Experiment::PageWalk(_)
            | Experiment::WindowStream(_)
            | Experiment::Residency(_)
            | Experiment::Displacement(_)
            | Experiment::Contention(_)
            | Experiment::CopyStream(_)
            | Experiment::Imported(_) => common,
        }
    }

    fn chain_job(&self, chain: Chain<'_>, common: Job) -> Job {
        Job {
            start: chain::value(chain.path, self.origin(), self.offsets.first().copied().unwrap_or(0)),
            texture: self.texture.map_or(0, |t| t.0),
            lap: chain.lap(),
            window: super::window(chain.path),
            ..common
        }
    }

    /// Checks the walk's end and reads the samples.
    pub fn samples(&self, done: Done, bytes: &[u8]) -> Outcome {
        if !done.taken {
            return Err(Failure::failed(format!("no block was scheduled on SM {}", self.sm)));
        }
        let mut samples = Samples { sm: self.sm, base: self.origin(), ..Samples::default() };
        match self.experiment {
            Experiment::Clock(_) | Experiment::Watch(_) => {
                let words: Vec<u64> = words(bytes).collect();
                let spans = words.chunks_exact(2).map(|pair| ClockSpan { cycles: pair[0], nanoseconds: pair[1] });
                samples.clocks.extend(spans);
            }
            Experiment::Chase(chase) | Experiment::Launched(Launched { chase, .. }) => {
                let ring = self.chain.map_or(chase.lap(), |c| c.ring);
                self.check_end(chase.path, chain::expected_end(chase, &self.offsets, ring), done)?;
                match chase.timing {
                    Timing::EachLoad { loads, .. } => samples.latencies = latencies(bytes, loads),
                    Timing::EachPair { pairs } => samples.latencies = latencies(bytes, pairs),
                    Timing::Laps { loads, .. } => samples.laps = laps(bytes, chain::unrolled(loads)),
                }
            }
            Experiment::Disturb(disturb) => {
                self.check_end(disturb.path, self.offsets[0], done)?;
                if let Some(p) = &self.partner {
                    let end = chain::value(p.partner.path, p.origin, 0);
                    if done.partner_end != end {
                        return Err(Failure::failed(format!(
                            "wrong checksum: the partner's chain ended at {:#x} instead of {end:#x}",
                            done.partner_end
                        )));
                    }
                }
                samples.latencies = latencies(bytes, disturb.loads);
            }
            Experiment::Warp(warp) => {
                self.check_end(LoadPath::Shared, warp.offsets[0], done)?;
                if done.partner_end != WARP as u64 {
                    return wrong_checksum(format_args!(
                        "{} of {WARP} lanes ended at their own element",
                        done.partner_end
                    ));
                }
                samples.laps = laps(bytes, chain::unrolled(warp.loads));
            }
            Experiment::Pattern(_)
            | Experiment::Stream(_)
            | Experiment::LoadedChase(_)
            | Experiment::Transfer(_)
            | Experiment::Atomics(_)
            | Experiment::Clusters(_)
            | Experiment::Distributed(_)
            | Experiment::PartitionStream(_)
            | Experiment::PartitionChase(_)
            | Experiment::ClusterStream(_)
            | Experiment::AsyncCopy(_)
            | Experiment::CodeWalk(_)
            | Experiment::PageWalk(_)
            | Experiment::WindowStream(_)
            | Experiment::Residency(_)
            | Experiment::Displacement(_)
            | Experiment::Contention(_)
            | Experiment::CopyStream(_)
            | Experiment::Imported(_) => {
                return Err(Failure::failed("this experiment is no job of an SM; this is a defect of strata"));
            }
        }
        Ok(samples)
    }

    /// Whether the walk ended at this offset.
    fn check_end(&self, path: LoadPath, offset: u64, done: Done) -> Result<(), Failure> {
        let origin = if matches!(path, LoadPath::Shared | LoadPath::Local) { done.origin } else { self.origin() };
        let end = chain::value(path, origin, offset);
        if done.end == end {
            return Ok(());
        }
        wrong_checksum(format_args!("the chain ended at {:#x} instead of {end:#x}", done.end))
    }
}
