//! Blocks that stay on their SMs: the places that they take, and what each of them reports.

use std::time::Instant;

use super::Bench;
use super::prepared::Outcome;
use strata_gpu::{DevicePtr, Function, Launch, Result};
use strata_kernels::CHASES;
use strata_model::experiment::Stream;
use strata_model::samples::{ClockSpan, Failure, Lap, Samples};
use strata_model::units::Bytes;

/// Bytes of what a block reports.
pub(super) const RECORD: usize = 64;
/// Where the places of the SMs are counted, behind the count of blocks that have begun.
const PLACES_AT: usize = 16;
/// Each byte of the role of an SM that has none.
const NO_ROLE: u8 = 0xff;
/// So many times the blocks that take part are launched. An SM that got fewer than others at first gets more of the rest. A block that
/// finds no place leaves.
const OVERSUPPLY: u32 = 2;
/// Part of the timed cycles for which blocks go on behind the end of what counts.
const GOING_ON: u32 = 16;
/// Least of that, in cycles: more than the longest latency under load.
const LEAST_GOING_ON: u32 = 2000;

/// What blocks do, in numbers.
#[derive(Clone, Copy)]
pub(super) struct Times {
    /// Blocks of each SM at work.
    pub blocks_per_sm: u32,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Cycles before passes count.
    pub warm: u32,
    /// Cycles for which they do.
    pub timed: u32,
}

impl Times {
    /// Those of a stream.
    pub fn of(stream: &Stream) -> Self {
        let Stream { blocks_per_sm, threads_per_block, warm_cycles: warm, timed_cycles: timed, .. } = *stream;
        Times { blocks_per_sm, threads_per_block, warm, timed }
    }

    /// Cycles before passes count, until which they do, and until which blocks go on.
    pub fn parameters(&self) -> [u64; 3] {
        let until = self.warm + self.timed;
        [self.warm, until, until + (self.timed / GOING_ON).max(LEAST_GOING_ON)].map(u64::from)
    }
}

/// What lies in memory for the blocks of a launch: a record for each of those that take part, which it fills in; the count of blocks
/// that have begun, and behind it the places that are taken on each SM; the role of each SM.
pub(super) struct Control {
    /// Blocks that take part.
    pub participants: u32,
    at: DevicePtr,
    claims_at: usize,
    roles_at: usize,
}

impl Control {
    /// Addresses of the records, the roles and the counts, as kernels take them.
    pub fn parameters(&self) -> [u64; 3] {
        [self.at.0, self.at.0 + self.roles_at as u64, self.at.0 + self.claims_at as u64]
    }
}

impl Bench<'_> {
    /// Prepares places for blocks on these SMs, and for the one block of an SM that chases. SMs are counted from 0.
    pub(super) fn places(&mut self, workers: &[u32], blocks_per_sm: u32, chases: Option<u32>) -> Result<Control> {
        let transfer = Instant::now();
        let participants = workers.len() as u32 * blocks_per_sm + u32::from(chases.is_some());
        // By `%smid`, in words.
        let each_sm = 4 * (*self.sms.last().unwrap_or(&0) as usize + 1);
        let claims_at = RECORD * participants as usize;
        let roles_at = claims_at + PLACES_AT + each_sm;
        let mut bytes = vec![0u8; roles_at];
        bytes.resize(roles_at + each_sm, NO_ROLE);
        let roles = workers.iter().zip(0u32..);
        for (&sm, role) in roles.chain(chases.iter().map(|sm| (sm, CHASES))) {
            let at = roles_at + 4 * self.sms[sm as usize] as usize;
            bytes[at..at + 4].copy_from_slice(&role.to_le_bytes());
        }
        let at = self.outputs.at_least(self.gpu, Bytes(bytes.len() as u64))?;
        self.gpu.write(at, &bytes)?;
        self.timings.transfer += transfer.elapsed();
        Ok(Control { participants, at, claims_at, roles_at })
    }

    /// How enough blocks are launched for all places. An SM that chases is soon free again and again, and takes more than its part.
    pub(super) fn crowd(&self, times: Times, is_chased: bool) -> Launch {
        let oversupply = if is_chased { 2 * OVERSUPPLY } else { OVERSUPPLY };
        Launch::new(self.sms.len() as u32 * times.blocks_per_sm * oversupply, times.threads_per_block)
    }

    /// Launches the blocks, and reads what they report.
    pub(super) fn run_blocks(
        &mut self,
        function: Function,
        launch: &Launch,
        parameters: &[u64],
        control: &Control,
    ) -> Result<Vec<u8>> {
        self.gpu.mark()?;
        self.gpu.launch(function, launch, parameters)?;
        self.device_us += self.gpu.mark()?;
        let transfer = Instant::now();
        let mut records = vec![0; control.claims_at];
        self.gpu.read(control.at, &mut records)?;
        self.timings.transfer += transfer.elapsed();
        Ok(records)
    }
}

/// All words.
pub(super) fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|four| word(four, 0)).collect()
}

/// Word at a place of a record.
pub(super) fn word(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes"))
}

/// Makes samples of what every block reports, if all were at work at the same time. `wrong` says what is wrong with a block's sum after
/// so many passes, if anything is.
pub(super) fn samples(
    times: Times,
    participants: u32,
    records: &[u8],
    mut wrong: impl FnMut(u32, u32) -> Option<Failure>,
) -> Outcome {
    let mut samples = Samples::default();
    for record in records.chunks_exact(RECORD) {
        let long = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"));
        let [counted, sum, passes, seen, was_there] = [0, 8, 12, 32, 36].map(|at| word(record, at));
        if was_there == 0 || seen < participants {
            return Err(Failure::unsupported(format!(
                "{} blocks of {} threads were not on each SM at the same time",
                times.blocks_per_sm, times.threads_per_block
            )));
        }
        if let Some(failure) = wrong(sum, passes) {
            return Err(failure);
        }
        samples.laps.push(Lap { loads: counted, cycles: u64::from(times.timed) });
        samples.clocks.push(ClockSpan { cycles: long(16), nanoseconds: long(24) });
    }
    Ok(samples)
}
