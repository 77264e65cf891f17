//! Copies that go on by themselves: their launch, and the proof that the last one arrived.

use std::time::Instant;

use super::Bench;
use super::persistent::words;
use super::prepared::{Outcome, in_turn};
use strata_gpu::{Launch, Result};
use strata_kernels::{Program, content};
use strata_model::experiment::{AsyncCopy, COPY_UNIT, Content, CopyWork, Side};
use strata_model::samples::{Failure, Samples};
use strata_model::units::Bytes;

/// Words before the times: how many blocks came to the SM, and what the words of shared memory sum up to.
const HEAD: usize = 2;
/// Blocks for each SM: those of other SMs end at once, so that some SMs may get several.
const OVERSUPPLY: u32 = 4;
/// Static shared memory of the kernel is a few bytes; the window begins at the next multiple of this.
const WINDOW_AT: Bytes = Bytes(128);

impl Bench<'_> {
    /// Launches the copies, and reads what they took.
    pub(super) fn run_async_copy(&mut self, copy: &AsyncCopy) -> Result<Outcome> {
        // Two places, of which the thread copies in turn.
        let span = copy.place + copy.bytes * 2;
        let memory = match copy.work {
            CopyWork::BulkStore => self.target(Side::Device, span)?,
            _ => self.filled_source(Side::Device, span, Content::Random)?,
        };
        let function = self.programs.get(self.gpu, Program::Asynchronous(copy.work))?.function;
        let launch = Launch::new(self.sms.len() as u32 * OVERSUPPLY, 1).shared(copy.bytes + WINDOW_AT).carveout(100);
        self.gpu.configure(function, &launch)?;
        if copy.work == CopyWork::BulkStore {
            self.gpu.clear(memory, span)?;
        }
        let mut raw = vec![0; 4 * (HEAD + 2 * copy.rounds as usize)];
        let out = self.outputs.at_least(self.gpu, Bytes(raw.len() as u64))?;
        self.gpu.write(out, &raw)?;
        let sm = u64::from(self.sms[copy.sm as usize]);
        let parameters =
            [out.0, memory.offset(copy.place.0).0, copy.bytes.0, u64::from(copy.steps), u64::from(copy.rounds), sm];
        self.gpu.mark()?;
        self.gpu.launch(function, &launch, &parameters)?;
        self.device_us += self.gpu.mark()?;
        let transfer = Instant::now();
        self.gpu.read(out, &mut raw)?;
        let mut stored = vec![0; if copy.work == CopyWork::BulkStore { 2 * copy.bytes.0 as usize } else { 0 }];
        self.gpu.read(memory.offset(copy.place.0), &mut stored)?;
        self.timings.transfer += transfer.elapsed();
        Ok(samples(copy, &words(&raw), &words(&stored)))
    }
}

/// The times, if what lies in shared memory in the end, and in memory, is what must be there.
fn samples(copy: &AsyncCopy, raw: &[u32], stored: &[u32]) -> Outcome {
    let (head, times) = raw.split_at(HEAD);
    if head[0] == 0 {
        return Err(Failure::failed("no block came to the SM"));
    }
    let [fours, before] = [copy.bytes, copy.place].map(|bytes| (bytes / COPY_UNIT) as u32);
    let sum = |from: u32| (from..from + fours).flat_map(content).fold(0, u32::wrapping_add);
    // All copies together are an even number, so the last one is of the second place.
    let expected = match copy.work {
        CopyWork::Bulk | CopyWork::CpAsync => sum(before + fours),
        CopyWork::BulkStore => sum(0),
        CopyWork::Mbarrier => 0,
    };
    if head[1] != expected {
        return Err(Failure::failed(format!(
            "wrong checksum: the words of shared memory have the sum {:#x} in the end instead of {expected:#x}, so the kernel did \
             not do the requested copies",
            head[1]
        )));
    }
    let wanted = (0..fours).flat_map(content).cycle();
    if let Some((number, _)) = stored.iter().zip(wanted).enumerate().find(|(_, (found, wanted))| *found != wanted) {
        return Err(Failure::failed(format!(
            "word {number} of what was copied to memory is wrong, so the kernel did not do the requested copies"
        )));
    }
    let laps = in_turn(times.iter().copied().map(u64::from), copy.steps).collect();
    Ok(Samples { laps, ..Samples::default() })
}
