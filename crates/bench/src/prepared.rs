//! One experiment made ready: its job, and the check of what came back from it.

use super::chain::{self, Placed};
use strata_gpu::{DevicePtr, Texture};
use strata_kernels::Program;
use strata_kernels::job::{Done, Job};
use strata_kernels::sizes::UNROLL_SHIFT;
use strata_model::experiment::{Experiment, Kernel, LoadPath, Partner, WARP, Walk};
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

fn rounded_lap_loads(experiment: &Experiment) -> u32 {
    experiment.timed_loads.next_multiple_of(1 << UNROLL_SHIFT)
}

/// Whether the samples are times of many loads, twice as many every other time.
fn times_laps(experiment: &Experiment) -> bool {
    matches!(experiment.kernel, Kernel::Lap | Kernel::Warp)
}

/// Bytes that the samples of an experiment take on the device.
pub(super) fn output_bytes(experiment: &Experiment) -> usize {
    match experiment.kernel {
        Kernel::Clock => 16,
        Kernel::Lap | Kernel::Warp => 16 * experiment.rounds as usize,
        _ => 4 * (experiment.timed_loads as usize).next_multiple_of(2),
    }
}

impl Prepared<'_> {
    /// Address of the chain's first byte, 0 where the kernel provides the memory.
    pub fn origin(&self) -> u64 {
        self.chain.map_or(0, |c| c.base.0)
    }

    /// What the kernel is told.
    pub fn job(&self, program: Program) -> Job {
        let e = self.experiment;
        let partner = self.partner.as_ref();
        Job {
            armed: 1,
            start: chain::value(e.path, self.origin(), self.offsets.first().copied().unwrap_or(0)),
            texture: self.texture.map_or(0, |t| t.0),
            lap: e.lap(),
            warm_laps: u64::from(e.warm_laps),
            timed_loads: u64::from(if times_laps(e) { rounded_lap_loads(e) } else { e.timed_loads }),
            window: super::window(e.path),
            resident: u64::from(e.walk == Walk::Resident),
            out: self.out.0,
            order: self.list.0,
            stride_or_rounds: if matches!(program, Program::Lap(_) | Program::Warp(_)) {
                u64::from(e.rounds)
            } else {
                0
            },
            partner_start: partner.map_or(0, |p| chain::value(p.partner.path, p.origin, 0)),
            partner_texture: partner.and_then(|p| p.texture).map_or(0, |t| t.0),
            partner_loads: partner.map_or(0, |p| u64::from(p.partner.laps) * p.offsets.len() as u64),
            partner_thread: partner.map_or(0, |p| u64::from(p.partner.thread)),
            end: u64::MAX,
        }
    }

    /// Checks the walk's end and reads the samples.
    pub fn samples(&self, done: Done, bytes: &[u8]) -> Outcome {
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
        let walked = if times_laps(e) { &rounded } else { e };
        let origin = if matches!(e.path, LoadPath::Shared | LoadPath::Local) { done.origin } else { self.origin() };
        let ring = self.chain.map_or(e.lap(), |c| c.ring);
        let end = chain::value(e.path, origin, chain::expected_end(walked, &self.offsets, ring));
        if done.end != end {
            return Err(Failure::failed(format!(
                "wrong checksum: the chain ended at {:#x} instead of {end:#x}, so these are not the loads that were asked for",
                done.end
            )));
        }
        if e.kernel == Kernel::Warp && done.partner_end != WARP as u64 {
            return Err(Failure::failed(format!(
                "wrong checksum: {} of {WARP} lanes ended at their own element, so these are not the loads that were asked for",
                done.partner_end
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
        if times_laps(e) {
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
