//! Contention: loads of lines are timed while other SMs load one line.

use super::persistent::words;
use super::prepared::Outcome;
use super::{Bench, Scratch};
use strata_gpu::{DevicePtr, Gpu, Launch, Result};
use strata_kernels::{Program, contention as kernel};
use strata_model::experiment::{CONTENDED, Contention, LARGE_PAGE, PLACE};
use strata_model::samples::{Failure, Samples};
use strata_model::units::Bytes;

/// Launches until all SMs have taken part. A block may come to an SM that has one, so that another SM has none.
const ATTEMPTS: u32 = 3;
/// So many times the blocks that are needed are launched: one that finds its SM taken leaves.
const OVERSUPPLY: u32 = 2;
/// Bytes of an address.
const ADDRESS: u64 = 8;

/// The memory in which lines contend. It stays where it is, since the slice of a line follows from its address.
#[derive(Default)]
pub(super) struct Lines {
    memory: Scratch,
    /// Where its words hold their own addresses.
    written: Option<DevicePtr>,
}

impl Lines {
    /// Where it begins, with its content.
    fn begin(&mut self, gpu: &mut dyn Gpu) -> Result<DevicePtr> {
        let base = self.reserve(gpu)?;
        if self.written != Some(base) {
            let content: Vec<u8> =
                (base.0..base.0 + CONTENDED.0).step_by(ADDRESS as usize).flat_map(u64::to_le_bytes).collect();
            gpu.write(base, &content)?;
            self.written = Some(base);
        }
        Ok(base)
    }

    /// Where it begins.
    pub fn reserve(&mut self, gpu: &mut dyn Gpu) -> Result<DevicePtr> {
        let memory = self.memory.at_least(gpu, CONTENDED + LARGE_PAGE)?;
        Ok(DevicePtr(memory.0.next_multiple_of(LARGE_PAGE.0)))
    }

    /// All of its memory, of which nothing is said any more.
    pub fn buffer(&mut self) -> &mut Scratch {
        self.written = None;
        &mut self.memory
    }
}

impl Bench<'_> {
    /// Launches the blocks, and reads what the timed loads took.
    pub(super) fn run_contention(&mut self, contention: &Contention) -> Result<Outcome> {
        let loaded = self.programs.get(self.gpu, Program::Contention)?;
        let base = self.contended.begin(self.gpu)?;
        let list: Vec<u8> = (0..contention.passes)
            .flat_map(|_| &contention.places)
            .flat_map(|&place| (base.0 + u64::from(place) * PLACE.0).to_le_bytes())
            .collect();
        let loads = contention.loads();
        let slots = *self.sms.last().unwrap_or(&0) as usize + 1;
        let others = if contention.warps > 0 { self.sms.len() as u64 - 1 } else { 0 };
        let mut state = vec![0u32; kernel::STATE + slots];
        for (number, &smid) in self.sms.iter().enumerate() {
            let times = number == contention.sm as usize;
            let role = if times { kernel::TIMES } else { kernel::LOADS };
            state[kernel::STATE + smid as usize] = if times || others > 0 { role } else { 0 };
        }
        let state: Vec<u8> = state.into_iter().flat_map(u32::to_le_bytes).collect();
        let mut raw = vec![0; 4 * (kernel::HEAD + loads as usize)];
        let list_at = (raw.len() as u64).next_multiple_of(ADDRESS);
        let state_at = list_at + list.len() as u64;
        let out = self.outputs.at_least(self.gpu, Bytes(state_at + state.len() as u64))?;
        let times_wait = Bytes(4 * loads);
        let launch = Launch::new(OVERSUPPLY * self.sms.len() as u32, contention.threads()).shared(times_wait);
        let line = base.offset(u64::from(contention.contended) * PLACE.0);
        let lanes = contention.loaded.0 / ADDRESS;
        let [state_begins, list_begins] = [state_at, list_at].map(|at| out.offset(at));
        let parameters = [out.0, state_begins.0, line.0, lanes, list_begins.0, loads, others, slots as u64];
        self.gpu.write(list_begins, &list)?;
        for _ in 0..ATTEMPTS {
            raw.fill(0);
            self.gpu.write(out, &raw)?;
            self.gpu.write(state_begins, &state)?;
            self.gpu.mark()?;
            self.gpu.launch(loaded.function, &launch, &parameters)?;
            self.device_us += self.gpu.mark()?;
            self.gpu.read(out, &mut raw)?;
            let all = words(&raw);
            let (head, times) = all.split_at(kernel::HEAD);
            if head[kernel::ASTRAY] != 0 {
                let why = "wrong checksum: a load did not bring what its line holds";
                return Ok(Err(Failure::failed(why)));
            }
            if head[kernel::ENDED] != 0 && u64::from(head[kernel::LOADING]) >= others {
                let sm = self.sms[contention.sm as usize];
                return Ok(Ok(Samples { latencies: times.to_vec(), sm, base: base.0, ..Samples::default() }));
            }
        }
        Ok(Err(Failure::failed("blocks came to some SMs only: not all of them loaded the line")))
    }
}
