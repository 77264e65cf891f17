//! Displacement: memory is read or written, and other memory that displaces it is read and timed.

use super::persistent::words;
use super::prepared::Outcome;
use super::{Bench, residency};
use strata_gpu::{Launch, Result};
use strata_kernels::Program;
use strata_model::experiment::{Displacement, Traffic, WARP};
use strata_model::samples::{Failure, Samples};
use strata_model::units::Bytes;

/// Bytes that a block writes: its cycles, and the number of its SM plus one.
const RECORD: u64 = 8;

impl Bench<'_> {
    /// Reads what fills the L2, reads or writes what is displaced, and times what displaces it.
    pub(super) fn run_displacement(&mut self, displacement: &Displacement) -> Result<Outcome> {
        let reads = self.programs.get(self.gpu, Program::Displacement(Traffic::Read))?.function;
        let accesses = self.programs.get(self.gpu, Program::Displacement(displacement.traffic))?.function;
        let [first, before, after] = self.rooms[2].places(self.gpu, displacement)?;
        let blocks = residency::BLOCKS * self.sms.len() as u32;
        // All blocks are there at the same time: those that came later would begin their reading later.
        let facts = self.gpu.facts();
        let together = facts.max_threads_per_multiprocessor / residency::BLOCKS / WARP as u32 * WARP as u32;
        let threads = residency::THREADS.min(facts.max_threads_per_block).min(together);
        let mut raw = vec![0; (RECORD * u64::from(blocks)) as usize];
        let out = self.outputs.at_least(self.gpu, Bytes(raw.len() as u64))?;
        let [of_first, of_before, of_after] = displacement.accesses();
        let (step, pause) = (displacement.step.0, displacement.pause.into());
        self.gpu.mark()?;
        for (function, parameters) in [
            (reads, [out.0, before.0, of_before, step, 0]),
            (accesses, [out.0, first.0, of_first, step, 0]),
            (reads, [out.0, after.0, of_after, step, pause]),
        ] {
            // The records of the step before must not pass for those of this step.
            self.gpu.write(out, &raw)?;
            self.gpu.launch(function, &Launch::new(blocks, threads), &parameters)?;
        }
        self.device_us += self.gpu.mark()?;
        self.gpu.read(out, &mut raw)?;
        let records = words(&raw);
        let (latencies, ended): (Vec<u32>, Vec<u32>) = records.chunks_exact(2).map(|one| (one[0], one[1])).unzip();
        if ended.contains(&0) {
            return Ok(Err(Failure::failed("a block of the kernel did not come to its end")));
        }
        if displacement.traffic == Traffic::Write && of_first > 0 {
            // Of the last line that was stored to.
            let last = first.offset((of_first - 1) * step);
            let mut stored = [0; 32];
            self.gpu.read(last, &mut stored)?;
            if stored.chunks_exact(8).any(|word| word != last.0.to_le_bytes()) {
                return Ok(Err(Failure::failed("wrong checksum: the last line does not hold what was stored to it")));
            }
        }
        let sms = ended.iter().map(|number| number - 1).collect();
        Ok(Ok(Samples { latencies, sms, base: first.0, ..Samples::default() }))
    }
}
