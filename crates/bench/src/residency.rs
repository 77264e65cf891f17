//! Residency: which lines a cache still has. Lines are laid out, and the steps are launched.

use super::persistent::words;
use super::prepared::Outcome;
use super::{Bench, Scratch};
use strata_gpu::{DevicePtr, Error, Gpu, Launch, Result, Window};
use strata_kernels::{Program, residency as kernel};
use strata_model::experiment::{Displacement, LoadPath, Residency, Reuse, WARP};
use strata_model::order;
use strata_model::samples::{Failure, Samples};
use strata_model::units::Bytes;

/// Where the lines and what is read begin: at a multiple of a large page. Of a part of such a page every set of a cache gets as many lines
/// as every other, also where the index mixes address bits. Across the end of one they may get two and none, and then what stays says where the
/// memory lies.
const ALIGNMENT: Bytes = Bytes::mib(2);
/// Bytes of an address.
const ADDRESS: u64 = 8;
/// Blocks for each SM, and the most threads of each, of a launch in which all SMs read.
pub(super) const BLOCKS: u32 = 2;
pub(super) const THREADS: u32 = 1024;

/// The memory of one cache's experiments. Each cache has its own, so that what one needs does not move the memory of the other between
/// two experiments that are compared: a cache of few ways loses lines by where they lie.
#[derive(Default)]
pub(super) struct Room {
    /// The lines that are timed.
    lines: Scratch,
    /// What is read besides.
    read: Scratch,
}

impl Room {
    /// Where so much of its lines, and so much of what is read besides, begins.
    fn begins(&mut self, gpu: &mut dyn Gpu, lines: Bytes, read: Bytes) -> Result<[DevicePtr; 2]> {
        let mut aligned = |scratch: &mut Scratch, bytes: Bytes| -> Result<DevicePtr> {
            let at = scratch.at_least(gpu, bytes + ALIGNMENT)?;
            Ok(DevicePtr(at.0.next_multiple_of(ALIGNMENT.0)))
        };
        Ok([aligned(&mut self.lines, lines)?, aligned(&mut self.read, read)?])
    }

    /// Where what is displaced begins, what is read before, and what is read afterwards.
    pub(super) fn places(&mut self, gpu: &mut dyn Gpu, of: &Displacement) -> Result<[DevicePtr; 3]> {
        let [first, before] = self.begins(gpu, of.first, of.before + of.after)?;
        Ok([first, before, before.offset(of.before.0)])
    }

    /// All of its memory.
    pub(super) fn buffers(&mut self) -> [&mut Scratch; 2] {
        [&mut self.lines, &mut self.read]
    }
}

impl Bench<'_> {
    /// Lays out the lines, makes the steps, and reads what the loads took.
    pub(super) fn run_residency(&mut self, residency: &Residency) -> Result<Outcome> {
        let loaded = self.programs.get(self.gpu, Program::Residency(residency.access, residency.path))?;
        if residency.path == LoadPath::GlobalCa {
            // Before anything is written: it has the same buffer for its results.
            self.renew_carveout(0)?;
        }
        let room = &mut self.rooms[usize::from(residency.path != LoadPath::GlobalCa)];
        let [base, read] = room.begins(self.gpu, residency.span(), residency.before + residency.after)?;
        let order = order::offsets(residency.chain());
        let timed = |number: usize| base.0 + order[number % order.len()] + residency.beside.0;
        let mut content = vec![0; residency.span().0 as usize];
        for number in 0..order.len() {
            let at = (timed(number) - base.0) as usize;
            content[at..at + ADDRESS as usize].copy_from_slice(&timed(number + 1).to_le_bytes());
        }
        self.gpu.write(base, &content)?;
        // The first once more: what is stored to the last line is its address.
        let listed: Vec<u8> = (0..=order.len()).flat_map(|number| timed(number).to_le_bytes()).collect();
        let mut raw = vec![0; 4 * (kernel::HEAD + order.len())];
        let list_at = (raw.len() as u64).next_multiple_of(ADDRESS);
        let out = self.outputs.at_least(self.gpu, Bytes(list_at + listed.len() as u64))?;
        let list = out.offset(list_at);
        self.gpu.write(out, &raw)?;
        self.gpu.write(list, &listed)?;
        let after = read.offset(residency.before.0);
        let [reads_before, reads_after] = residency.reads();
        let parameters = |before: u64, later: u64, phases: u32| {
            let step = residency.step.0;
            let lines = u64::from(residency.lines);
            [out.0, list.0, lines, read.0, before, after.0, later, step, residency.beside.0, phases.into()]
        };
        // The times of the loads wait in shared memory.
        let alone = Launch::new(1, WARP as u32).shared(Bytes(4 * u64::from(residency.lines)));
        let window = residency.access.window().map(|reuse| Window { base, bytes: residency.span(), reuse });
        let own = [(
            alone.carveout(0).window(window),
            parameters(reads_before, reads_after, kernel::ACCESSES | kernel::TIMES),
        )];
        let threads = THREADS.min(self.gpu.facts().max_threads_per_block);
        let all = Launch::new(BLOCKS * self.sms.len() as u32, threads);
        let shared = [
            (all, parameters(reads_before, 0, 0)),
            (alone.window(window), parameters(0, 0, kernel::ACCESSES)),
            (all, parameters(0, reads_after, 0)),
            (alone, parameters(0, 0, kernel::TIMES)),
        ];
        let launches: &[(Launch, [u64; 10])] = if residency.path == LoadPath::GlobalCa { &own } else { &shared };
        let persists = window.is_some_and(|window| window.reuse == Reuse::Persisting);
        if persists {
            self.gpu.set_aside_l2(true)?;
        }
        self.gpu.mark()?;
        let launched =
            launches.iter().try_for_each(|(launch, parameters)| self.gpu.launch(loaded.function, launch, parameters));
        self.device_us += self.gpu.mark()?;
        if persists {
            // Also where a launch was refused: experiments after this one have all of the L2.
            self.gpu.set_aside_l2(false)?;
        }
        if residency.access.persists() {
            // The kernel has taken that back where it loads: a copy in another partition may still have it.
            match self.gpu.set_aside_l2(false) {
                Ok(()) | Err(Error::Unsupported { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        launched?;
        self.gpu.read(out, &mut raw)?;
        let all = words(&raw);
        let (head, times) = all.split_at(kernel::HEAD);
        Ok(match (head[kernel::ENDED], head[kernel::ASTRAY]) {
            (1, 0) => {
                let sm = head[kernel::ON_SM];
                Ok(Samples { latencies: times.to_vec(), sm, base: base.0, ..Samples::default() })
            }
            (1, _) => Err(Failure::failed("wrong checksum: the loads of the lines did not end where they began")),
            _ => Err(Failure::failed("the kernel did not come to its end")),
        })
    }
}
