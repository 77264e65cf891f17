//! Additions by atomics: their counters, their launch, and the proof that each of them took place.

use std::time::Instant;

use super::Bench;
use super::persistent::{Times, samples};
use super::prepared::Outcome;
use strata_gpu::{DevicePtr, Result};
use strata_kernels::{AtomicProgram, Program};
use strata_model::experiment::{AtomicMemory, Atomics, COUNTER, Side, Target, WARP};
use strata_model::samples::{Failure, Samples};
use strata_model::units::Bytes;

/// What each thread adds, and how much more each lane adds than the one before it. The kernel is told, so that no compiler knows that
/// all add the same.
const ADDED: [u64; 2] = [1, 0];

/// Where the counters of a thread are: bytes from a warp's to the next one's, from lane to lane, and from one atomic of a pass to the
/// next.
fn steps(atomics: &Atomics) -> [Bytes; 3] {
    let line = COUNTER * WARP as u64;
    match atomics.target {
        Target::Spread => [line * u64::from(atomics.unroll), COUNTER, line],
        Target::OneLine => [Bytes(0), COUNTER, Bytes(0)],
        Target::OneAddress | Target::Aggregated => [Bytes(0); 3],
    }
}

impl Bench<'_> {
    /// Adds to counters, as it must be possible on this device.
    pub(super) fn run_atomics(&mut self, atomics: &Atomics) -> Result<Outcome> {
        let is_shared = atomics.memory == AtomicMemory::Shared;
        let function = self.programs.get(self.gpu, Program::Atomics(AtomicProgram::of(atomics)))?.function;
        let times = Times {
            blocks_per_sm: atomics.blocks_per_sm,
            threads_per_block: atomics.threads_per_block,
            warm: atomics.warm_cycles,
            timed: atomics.timed_cycles,
        };
        let workers = atomics.workers(self.sms.len());
        let control = self.places(&workers, atomics.blocks_per_sm, None)?;
        let bytes = COUNTER * atomics.counters(u64::from(control.participants));
        let counters = if is_shared { DevicePtr(0) } else { self.target(Side::Device, bytes)? };
        let launch = self.crowd(times, false);
        let launch = if is_shared { launch.shared(atomics.footprint()).carveout(100) } else { launch };
        self.gpu.configure(function, &launch)?;
        if !is_shared {
            self.gpu.clear(counters, bytes)?;
        }
        let mut parameters = control.parameters().to_vec();
        parameters.extend([counters.0, atomics.footprint().0]);
        parameters.extend(steps(atomics).map(Bytes::get));
        parameters.extend(ADDED);
        parameters.extend([atomics.blocks_per_sm, control.participants].map(u64::from));
        parameters.extend(times.parameters());
        let records = self.run_blocks(function, &launch, &parameters, &control)?;
        let mut added = 0u32;
        let made = samples(times, control.participants, &records, |sum, passes| {
            let own = passes.wrapping_mul(atomics.additions());
            added = added.wrapping_add(own);
            // A block has summed its shared counters up itself.
            if is_shared { missing(sum, own) } else { None }
        });
        if is_shared {
            return Ok(made);
        }
        let transfer = Instant::now();
        let mut held = vec![0; bytes.0 as usize];
        self.gpu.read(counters, &mut held)?;
        self.timings.transfer += transfer.elapsed();
        Ok(made.and_then(|samples| match missing(total(&held), added) {
            Some(failure) => Err(failure),
            None => Ok(Samples { base: counters.0, ..samples }),
        }))
    }
}

/// What all counters hold together, modulo 2^32.
fn total(counters: &[u8]) -> u32 {
    counters
        .chunks_exact(4)
        .map(|four| u32::from_le_bytes(four.try_into().expect("four bytes")))
        .fold(0, u32::wrapping_add)
}

/// That counters do not hold what was added to them, if they do not.
fn missing(held: u32, added: u32) -> Option<Failure> {
    (held != added).then(|| {
        Failure::failed(format!(
            "wrong checksum: the counters hold {held} after {added} additions (modulo 2^32), so the kernel did not do the requested \
             atomics"
        ))
    })
}
