//! One stream: its memory, its launch, and the check of its results.

use std::time::Instant;

use super::Bench;
use super::prepared::Outcome;
use strata_gpu::{DevicePtr, Launch, Result};
use strata_kernels::{COMPLEMENT, Program, SCALE, StreamProgram, content, stored, stream_sum};
use strata_model::experiment::{Content, LoadPath, Prepare, Region, Stream, Traffic, WARP};
use strata_model::samples::{ClockSpan, Failure, Lap, Samples};
use strata_model::units::{Bytes, MIB};

/// Bytes of what a block reports.
const RECORD: usize = 64;
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
/// Threads of a block of the kernel that fills memory, and blocks of it for each SM.
const FILL: (u32, u32) = (256, 8);
/// Arrays begin at multiples of this: a large page.
const ARRAY: Bytes = Bytes(2 * MIB);
/// Bytes of what was stored that are read back.
const READ_BACK: u64 = 4096;
/// What stores of random bits begin with.
const SEED: u32 = COMPLEMENT;

/// Memory that streams read, and how much of it has the content.
#[derive(Default)]
pub(super) struct Source {
    memory: super::Scratch,
    filled: Option<(DevicePtr, Content, Bytes)>,
}

/// What lies in memory for the blocks of a stream: a record for each of those that take part, which it fills in; the count of blocks
/// that have begun, and behind it the places that are taken on each SM; the role of each SM.
struct Control {
    bytes: Vec<u8>,
    claims_at: usize,
    roles_at: usize,
}

impl Control {
    /// For so many blocks, where these SMs, by their place among all `sms`, have a role.
    fn new(participants: u32, workers: &[u32], sms: &[u32]) -> Self {
        // By `%smid`, in words.
        let each_sm = 4 * (*sms.last().unwrap_or(&0) as usize + 1);
        let claims_at = RECORD * participants as usize;
        let roles_at = claims_at + PLACES_AT + each_sm;
        let mut bytes = vec![0u8; roles_at];
        bytes.resize(roles_at + each_sm, NO_ROLE);
        for (role, &worker) in workers.iter().enumerate() {
            let at = roles_at + 4 * sms[worker as usize] as usize;
            bytes[at..at + 4].copy_from_slice(&(role as u32).to_le_bytes());
        }
        Control { bytes, claims_at, roles_at }
    }
}

impl Bench<'_> {
    /// Runs a stream, which must be possible on this device.
    pub(super) fn run_stream(&mut self, stream: &Stream) -> Result<Outcome> {
        let workers = stream.workers(self.sms.len());
        let is_shared = stream.path == LoadPath::Shared;
        let program = Program::Stream(StreamProgram::of(stream));
        let function = self.programs.get(self.gpu, program)?.function;
        let (loads, stores) = stream.traffic.arrays();
        let span = match stream.region {
            Region::Own => stream.footprint * workers.len() as u64,
            Region::Together => stream.footprint,
        };
        let array = span.round_up(ARRAY);
        let (from, to) = match is_shared {
            true => (DevicePtr(0), DevicePtr(0)),
            false => {
                let from = if loads > 0 { self.filled_source(array * loads, stream.content)? } else { DevicePtr(0) };
                let to = if stores > 0 { self.stream_target.at_least(self.gpu, array)? } else { DevicePtr(0) };
                (from, to)
            }
        };
        let other = if loads > 1 { from.offset(array.0) } else { from };

        let transfer = Instant::now();
        let participants = workers.len() as u32 * stream.blocks_per_sm;
        let Control { bytes, claims_at, roles_at } = Control::new(participants, &workers, &self.sms);
        let out = self.outputs.at_least(self.gpu, Bytes(bytes.len() as u64))?;
        self.gpu.write(out, &bytes)?;
        self.timings.transfer += transfer.elapsed();

        let shared = if is_shared { stream.footprint } else { Bytes(0) };
        let carveout = if is_shared { 100 } else { 0 };
        let blocks = self.sms.len() as u32 * stream.blocks_per_sm * OVERSUPPLY;
        let launch = Launch::new(blocks, stream.threads_per_block).shared(shared).carveout(carveout);
        self.gpu.configure(function, &launch)?;
        if stream.prepare == Prepare::FlushL2 {
            self.flush_l2()?;
        }
        let until = stream.warm_cycles + stream.timed_cycles;
        let seed = match stream.content {
            Content::Zeros => 0,
            Content::Random => SEED,
        };
        let parameters = [
            out.0,
            out.0 + roles_at as u64,
            out.0 + claims_at as u64,
            to.0,
            from.0,
            other.0,
            stream.footprint / stream.pass(),
            u64::from(stream.region == Region::Own),
            u64::from(stream.blocks_per_sm),
            u64::from(participants),
            u64::from(seed),
            u64::from(stream.warm_cycles),
            u64::from(until),
            u64::from(until + (stream.timed_cycles / GOING_ON).max(LEAST_GOING_ON)),
        ];
        self.gpu.mark()?;
        self.gpu.launch(function, &launch, &parameters)?;
        self.device_us += self.gpu.mark()?;
        let transfer = Instant::now();
        let mut records = vec![0; claims_at];
        self.gpu.read(out, &mut records)?;
        let mut stored = vec![0; if stores > 0 { stream.pass().0.min(READ_BACK) as usize } else { 0 }];
        if stores > 0 {
            self.gpu.read(to, &mut stored)?;
        }
        self.timings.transfer += transfer.elapsed();
        let second = (array.0 / 16) as u32;
        Ok(samples(stream, participants, &records).and_then(|samples| {
            check_stored(stream, seed, second, &stored)?;
            Ok(Samples { base: from.0, ..samples })
        }))
    }

    /// Memory to read from, of at least so many bytes, with this content.
    fn filled_source(&mut self, bytes: Bytes, content: Content) -> Result<DevicePtr> {
        let memory = self.stream_source.memory.at_least(self.gpu, bytes)?;
        let is_filled =
            |&(at, held, filled): &(DevicePtr, Content, Bytes)| at == memory && held == content && filled >= bytes;
        if self.stream_source.filled.as_ref().is_some_and(is_filled) {
            return Ok(memory);
        }
        self.stream_source.filled = None;
        match content {
            Content::Zeros => self.gpu.clear(memory, bytes)?,
            Content::Random => {
                let fill = self.programs.get(self.gpu, Program::Content)?.function;
                let threads = FILL.0.min(self.gpu.facts().max_threads_per_block);
                let launch = Launch::new(self.sms.len() as u32 * FILL.1, threads);
                self.gpu.launch(fill, &launch, &[memory.0, bytes.0 / 16])?;
            }
        }
        self.stream_source.filled = Some((memory, content, bytes));
        Ok(memory)
    }
}

/// Checks what every block reports and makes samples of it.
fn samples(stream: &Stream, participants: u32, records: &[u8]) -> Outcome {
    let mut samples = Samples::default();
    for record in records.chunks_exact(RECORD) {
        let word = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"));
        let [counted, sum, passes] = [0, 8, 12].map(word);
        if word(36) == 0 || word(32) < participants {
            return Err(Failure::unsupported(format!(
                "{} blocks of {} threads were not on each SM at the same time",
                stream.blocks_per_sm, stream.threads_per_block
            )));
        }
        let expected = stream_sum(stream, passes);
        if sum != expected {
            return Err(Failure::failed(format!(
                "wrong checksum: {passes} passes of a block loaded words with the sum {sum:#x} instead of {expected:#x}, so the \
                 kernel did not do the requested loads"
            )));
        }
        samples.laps.push(Lap { loads: counted, cycles: u64::from(stream.timed_cycles) });
        samples.clocks.push(ClockSpan { cycles: long(16), nanoseconds: long(24) });
    }
    Ok(samples)
}

/// Compares the first words that were stored with what they must be; the second array begins with this number of four words.
fn check_stored(stream: &Stream, seed: u32, second: u32, bytes: &[u8]) -> std::result::Result<(), Failure> {
    let loaded = |four: usize, part: usize| match stream.content {
        Content::Zeros => 0,
        Content::Random => content(four as u32)[part],
    };
    for (number, word) in bytes.chunks_exact(4).enumerate() {
        let found = u32::from_le_bytes(word.try_into().expect("four bytes"));
        let (four, part) = (number / 4, number % 4);
        let expected = match stream.traffic {
            Traffic::Read => continue,
            Traffic::Write => stored((number as u64 * 4 / stream.width.bytes().0) as u32 % WARP as u32, seed),
            Traffic::Copy => loaded(four, part),
            Traffic::Triad => loaded(four, part).wrapping_add(SCALE.wrapping_mul(loaded(second as usize + four, part))),
        };
        if found != expected {
            return Err(Failure::failed(format!(
                "word {number} holds {found:#x} instead of {expected:#x}, so the kernel did not do the requested stores"
            )));
        }
    }
    Ok(())
}
