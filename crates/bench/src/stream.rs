//! One stream: its memory, its launch, and the check of its results.

use std::time::Instant;

use super::Bench;
use super::chain::PlannedChain;
use super::persistent::{RECORD, Times, samples, word};
use super::prepared::Outcome;
use super::programs::Loaded;
use strata_gpu::{DevicePtr, Function, Gpu, Launch, Result, Texture};
use strata_kernels::{COMPLEMENT, Program, SCALE, StreamProgram, constants, content, stored, stream_sum};
use strata_model::experiment::{
    Content, CopyStream, LoadPath, LoadedChase, PartitionChase, PartitionStream, Place, Prepare, Region, Side, Stream,
    Traffic, WARP, WindowStream,
};
use strata_model::samples::{Failure, Samples};
use strata_model::units::{Bytes, MIB};

/// Threads of a block of the kernel that fills memory, and blocks of it for each SM.
const FILL: (u32, u32) = (256, 8);
/// Arrays begin at multiples of this: a large page.
const ARRAY: Bytes = Bytes(2 * MIB);
/// Bytes of what was stored that are read back.
const READ_BACK: u64 = 4096;
/// Cycles that a load of a chase takes at least: the latency of the nearest L2 is far above.
const LEAST_LATENCY: u32 = 32;
/// Static shared memory of a kernel that copies: sums, and the mbarriers of all warps. What it copies to begins at a multiple of [`WINDOW_AT`].
const OWN_SHARED: Bytes = Bytes(288);
const WINDOW_AT: Bytes = Bytes(128);
/// What stores of random bits begin with.
const SEED: u32 = COMPLEMENT;

/// Memory that streams read, and how much of it has the content.
pub(super) struct Source {
    memory: super::Scratch,
    filled: Option<(DevicePtr, Content, Bytes)>,
}

/// Memory of streams and copies on one side: the device's, the host's or another GPU's.
pub(super) struct Memories {
    source: Source,
    target: super::Scratch,
}

impl Memories {
    /// Of this side, none of it allocated yet.
    pub fn new(side: Side) -> Self {
        let scratch = || super::Scratch::of(side);
        Memories { source: Source { memory: scratch(), filled: None }, target: scratch() }
    }

    /// Gives its memory back; it is allocated and filled again when it is needed.
    pub fn free(&mut self, gpu: &mut dyn Gpu) -> Result<()> {
        self.source.filled = None;
        self.source.memory.free(gpu)?;
        self.target.free(gpu)
    }
}

/// What a stream goes over, and by which kernel.
struct Arrays {
    function: Function,
    /// The SMs that do.
    workers: Vec<u32>,
    /// The first array that is read, and the one that is written; the next that is read is behind the first.
    from: DevicePtr,
    to: DevicePtr,
    /// Bytes of each.
    array: Bytes,
    /// What the kernel reads `from` by, if it does not by addresses.
    texture: Option<Texture>,
    /// The parts of the SMs in a list of pieces, and the list, if the pieces are listed.
    listed: Option<[DevicePtr; 2]>,
    /// Where the first piece is that is written, from the beginning of `to`.
    first_piece: u64,
    /// Shared memory of a block.
    shared: Bytes,
    /// Passes whose words a block sums up; `None`: all.
    summed: Option<u32>,
}

/// The chain that one SM follows while the others stream.
struct Followed {
    base: DevicePtr,
    /// Where its elements lie, in the order of the visit.
    offsets: Vec<u64>,
    /// Where the time of each load goes, and how many there is room for.
    times: DevicePtr,
    most: u32,
}

impl Bench<'_> {
    /// Runs a stream, which must be possible on this device.
    pub(super) fn run_stream(&mut self, stream: &Stream) -> Result<Outcome> {
        self.stream(stream, None)
    }

    /// Runs a chase while others stream, which must be possible on this device.
    pub(super) fn run_loaded(&mut self, chase: &LoadedChase) -> Result<Outcome> {
        self.stream(&chase.stream, Some((chase, PlannedChain::beside(chase.chain()))))
    }

    /// Runs a chase through listed lines while others stream, which must be possible on this device.
    pub(super) fn run_partition_chase(&mut self, listed: &PartitionChase) -> Result<Outcome> {
        let plan = PlannedChain::in_allocation(listed.chain(), Place::PARTITIONED);
        self.stream(&listed.chase.stream, Some((&listed.chase, plan)))
    }

    /// Runs a stream by partition, which must be possible on this device.
    pub(super) fn run_partition_stream(&mut self, of: &PartitionStream) -> Result<Outcome> {
        let stream = &of.stream;
        if of.sms.len() != self.sms.len() {
            return Ok(Err(Failure::unsupported(format!(
                "the partitions of {} SMs are known, and there are {}",
                of.sms.len(),
                self.sms.len()
            ))));
        }
        let workers = stream.workers(self.sms.len());
        let warps = stream.blocks_per_sm * stream.threads_per_block.div_ceil(WARP as u32);
        let Some(pieces) = Pieces::of(of, &workers, warps) else {
            return Ok(Err(Failure::unsupported(format!(
                "{} have too few pieces of a partition for all warps of its SMs",
                stream.footprint
            ))));
        };
        let program = Program::Stream(StreamProgram::of_partition(of));
        let function = self.programs.get(self.gpu, program)?.function;
        let memory = self.allocation(Place::PARTITIONED, of.homes.bytes())?;
        // A chain that was there is overwritten.
        self.laid_out.retain(|key, _| key.arena() != (Place::PARTITIONED, Side::Device));
        let wanted = (memory, stream.content, stream.footprint);
        if stream.traffic == Traffic::Write {
            self.partitioned_content = None;
        } else if self.partitioned_content != Some(wanted) {
            self.fill(memory, stream.footprint, stream.content)?;
            self.partitioned_content = Some(wanted);
        }
        let arrays = self.listed(stream, function, workers, memory, &pieces)?;
        self.stream_over(stream, None, arrays)
    }

    /// Runs a stream by window, which must be possible on this device.
    pub(super) fn run_window_stream(&mut self, of: &WindowStream) -> Result<Outcome> {
        let stream = &of.stream;
        let workers = stream.workers(self.sms.len());
        let warps = stream.blocks_per_sm * stream.threads_per_block.div_ceil(WARP as u32);
        let Some(pieces) = Pieces::drawn(of, &workers, warps) else {
            return Ok(Err(Failure::unsupported(format!("{} pieces are too few for all warps", of.pieces))));
        };
        let function = self.programs.get(self.gpu, Program::Stream(StreamProgram::of_windows(of)))?.function;
        // As large as what the device has free, which there is once only: where chains lie, too.
        let memory = self.allocation(Place::default().allocation, stream.footprint)?;
        self.laid_out.retain(|key, _| key.arena() != (Place::default().allocation, Side::Device));
        // What is there already may be a hundred gigabytes.
        let there = self.window_content.filter(|&(at, content, _)| (at, content) == (memory, stream.content));
        let there = there.map_or(Bytes(0), |(.., bytes)| bytes);
        if there < stream.footprint {
            self.window_content = None;
            self.fill(memory.offset(there.0), stream.footprint - there, stream.content)?;
            self.window_content = Some((memory, stream.content, stream.footprint));
        }
        let arrays = self.listed(stream, function, workers, memory, &pieces)?;
        self.stream_over(stream, None, arrays)
    }

    /// What a stream goes over whose pieces are listed.
    fn listed(
        &mut self,
        stream: &Stream,
        function: Function,
        workers: Vec<u32>,
        memory: DevicePtr,
        pieces: &Pieces,
    ) -> Result<Arrays> {
        let transfer = Instant::now();
        let parts = self.pieces.at_least(self.gpu, Bytes(4 * pieces.words.len() as u64))?;
        self.gpu.write(parts, &pieces.words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())?;
        self.timings.transfer += transfer.elapsed();
        Ok(Arrays {
            function,
            workers,
            from: memory,
            to: memory,
            array: stream.footprint,
            texture: None,
            listed: Some([parts, parts.offset(4 * pieces.list_at as u64)]),
            first_piece: u64::from(pieces.first) * stream.pass().0,
            shared: Bytes(0),
            summed: None,
        })
    }

    /// Runs a stream of copies, which must be possible on this device.
    pub(super) fn run_copy_stream(&mut self, of: &CopyStream) -> Result<Outcome> {
        let stream = &of.stream;
        let (shared, most) = (of.window() + WINDOW_AT, self.gpu.facts().most_shared_per_block());
        if shared + OWN_SHARED > most {
            return Ok(Err(Failure::unsupported(format!("copies into {shared} of shared memory: a block has {most}"))));
        }
        let function = self.programs.get(self.gpu, Program::Stream(StreamProgram::of_copies(of)))?.function;
        let workers = stream.workers(self.sms.len());
        let array = array(stream, workers.len());
        let from = self.filled_source(Side::Device, array, stream.content)?;
        let (to, texture, listed, first_piece) = (DevicePtr(0), None, None, 0);
        let summed = Some(stream.threads_per_block.div_ceil(WARP as u32));
        let arrays = Arrays { function, workers, from, to, array, texture, listed, first_piece, shared, summed };
        self.stream_over(stream, None, arrays)
    }

    fn stream(&mut self, stream: &Stream, chase: Option<(&LoadedChase, PlannedChain)>) -> Result<Outcome> {
        let sms = self.sms.len();
        let workers = chase.as_ref().map_or_else(|| stream.workers(sms), |(chase, _)| chase.workers(sms));
        let is_shared = stream.path == LoadPath::Shared;
        let program =
            chase.as_ref().map_or_else(|| StreamProgram::of(stream), |(chase, _)| StreamProgram::of_chase(chase));
        let program = Program::Stream(program);
        let Loaded { function, constants: bank, .. } = self.programs.get(self.gpu, program)?;
        let (loads, stores) = stream.traffic.arrays();
        let array = array(stream, workers.len());
        let side = stream.path.side();
        let (from, to) = match bank {
            _ if is_shared => (DevicePtr(0), DevicePtr(0)),
            Some(bank) => {
                self.write_constant_stream(bank, stream)?;
                (bank, DevicePtr(0))
            }
            None => {
                let from =
                    if loads > 0 { self.filled_source(side, array * loads, stream.content)? } else { DevicePtr(0) };
                let to = if stores > 0 { self.target(side, array)? } else { DevicePtr(0) };
                (from, to)
            }
        };
        let texture = match stream.path {
            LoadPath::Texture => Some(self.gpu.texture(from, array, stream.width.bytes())?),
            _ => None,
        };
        let shared = if is_shared { stream.footprint } else { Bytes(0) };
        let (listed, first_piece, summed) = (None, 0, None);
        let arrays = Arrays { function, workers, from, to, array, texture, listed, first_piece, shared, summed };
        let result = self.stream_over(stream, chase, arrays);
        if let Some(texture) = texture {
            // A texture that cannot be destroyed is a lost context, which the result says.
            let _ = self.gpu.destroy_texture(texture);
        }
        result
    }

    /// Runs a stream over memory that is ready.
    fn stream_over(
        &mut self,
        stream: &Stream,
        chase: Option<(&LoadedChase, PlannedChain)>,
        arrays: Arrays,
    ) -> Result<Outcome> {
        let Arrays { function, workers, from, to, array, texture, listed, first_piece, shared, summed } = arrays;
        let (loads, stores) = stream.traffic.arrays();
        // Where a texture is read, places are counted from its beginning.
        let (first, other) = match texture {
            Some(texture) => (0, texture.0),
            None => (from.0, if loads > 1 { from.0 + array.0 } else { from.0 }),
        };

        let (chase, plan) = chase.unzip();
        let followed = plan.map(|plan| self.followed(stream, plan)).transpose()?;
        let control = self.places(&workers, stream.blocks_per_sm, chase.map(|chase| chase.sm))?;
        let participants = control.participants;

        let carveout = if shared.0 > 0 { 100 } else { 0 };
        let times = Times::of(stream);
        let launch = self.crowd(times, followed.is_some()).shared(shared).carveout(carveout);
        self.gpu.configure(function, &launch)?;
        if stream.prepare == Prepare::FlushL2 {
            self.flush_l2(stream.path.side())?;
        }
        let seed = seed_of(stream.content);
        let mut parameters = control.parameters().to_vec();
        parameters.extend([
            to.0,
            first,
            other,
            stream.footprint / stream.pass(),
            u64::from(stream.region == Region::Own),
            u64::from(stream.blocks_per_sm),
            u64::from(participants),
            u64::from(seed),
        ]);
        parameters.extend(times.parameters());
        if let (Some(chase), Some(Followed { base, offsets, times, most })) = (chase, &followed) {
            parameters.extend([base.offset(offsets[0]).0, times.0, u64::from(*most), u64::from(chase.pause)]);
        }
        parameters.extend(listed.into_iter().flatten().map(|part| part.0));
        let mut records = self.run_blocks(function, &launch, &parameters, &control)?;
        let transfer = Instant::now();
        let mut taken = vec![0; followed.as_ref().map_or(0, |followed| 4 * followed.most as usize)];
        if let Some(followed) = &followed {
            self.gpu.read(followed.times, &mut taken)?;
        }
        let mut stored = vec![0; if stores > 0 { stream.pass().0.min(READ_BACK) as usize } else { 0 }];
        if stores > 0 {
            self.gpu.read(to.offset(first_piece), &mut stored)?;
        }
        self.timings.transfer += transfer.elapsed();
        let second = (array.0 / 16) as u32;
        let base = followed.as_ref().map_or(from.0, |followed| followed.base.0);
        let chased = followed.as_ref().map(|followed| (followed, records.split_off(records.len() - RECORD)));
        let wrong = |sum, passes| wrong_sum(stream, sum, summed.unwrap_or(passes));
        Ok(samples(times, participants, &records, wrong).and_then(|mut samples| {
            if let Some((followed, record)) = chased {
                samples.latencies = followed.latencies(participants, &record, &taken)?;
            }
            check_stored(stream, seed, second, &stored)?;
            Ok(Samples { base, ..samples })
        }))
    }

    /// Writes what a stream of constants reads.
    fn write_constant_stream(&mut self, bank: DevicePtr, stream: &Stream) -> Result<()> {
        let transfer = Instant::now();
        let words = constants(stream.pass().0 as usize / 4).take(stream.footprint.0 as usize / 4);
        let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        self.gpu.write(bank, &bytes)?;
        self.timings.transfer += transfer.elapsed();
        Ok(())
    }

    /// Lays the chain out that one SM follows.
    fn followed(&mut self, stream: &Stream, plan: PlannedChain) -> Result<Followed> {
        self.lay_out(&[&plan])?;
        let base = self.laid_out[&plan.key].base;
        // Behind the warm cycles and before the end there are a few loads more than count.
        let most = (stream.warm_cycles + stream.timed_cycles) / LEAST_LATENCY;
        let times = self.chase_times.at_least(self.gpu, Bytes(4 * u64::from(most)))?;
        Ok(Followed { base, offsets: plan.offsets, times, most })
    }

    /// Memory to write to, of at least so many bytes.
    pub(super) fn target(&mut self, side: Side, bytes: Bytes) -> Result<DevicePtr> {
        self.sides[side as usize].target.at_least(self.gpu, bytes)
    }

    /// Memory to read from, of at least so many bytes, with this content.
    pub(super) fn filled_source(&mut self, side: Side, bytes: Bytes, content: Content) -> Result<DevicePtr> {
        let source = &mut self.sides[side as usize].source;
        let memory = source.memory.at_least(self.gpu, bytes)?;
        let is_filled =
            |&(at, held, filled): &(DevicePtr, Content, Bytes)| at == memory && held == content && filled >= bytes;
        if source.filled.as_ref().is_some_and(is_filled) {
            return Ok(memory);
        }
        source.filled = None;
        self.fill(memory, bytes, content)?;
        self.sides[side as usize].source.filled = Some((memory, content, bytes));
        Ok(memory)
    }

    /// Fills memory with this content.
    fn fill(&mut self, memory: DevicePtr, bytes: Bytes, content: Content) -> Result<()> {
        match content {
            Content::Zeros => self.gpu.clear(memory, bytes),
            Content::Random => {
                let fill = self.programs.get(self.gpu, Program::Content)?.function;
                let threads = FILL.0.min(self.gpu.facts().max_threads_per_block);
                let launch = Launch::new(self.sms.len() as u32 * FILL.1, threads);
                self.gpu.launch(fill, &launch, &[memory.0, bytes.0 / 16])
            }
        }
    }
}

impl Followed {
    /// What each load took that counts, if the chain was followed to where so many loads lead.
    fn latencies(&self, participants: u32, record: &[u8], times: &[u8]) -> std::result::Result<Vec<u32>, Failure> {
        let [counted, before, end, loads, seen, done] = [0, 4, 8, 12, 32, 36].map(|at| word(record, at));
        if done == 0 || seen < participants {
            return Err(Failure::unsupported("the block that chases was not at work at the same time as all others"));
        }
        let at = self.offsets[loads as usize % self.offsets.len()];
        let expected = self.base.offset(at).0 as u32;
        if end != expected {
            return Err(Failure::failed(format!(
                "wrong checksum: the chain ended at {end:#x} instead of {expected:#x} after {loads} loads, so the kernel did not do \
                 the requested loads"
            )));
        }
        let times = times.chunks_exact(4).map(|bytes| word(bytes, 0));
        Ok(times.skip(before as usize).take(counted as usize).collect())
    }
}

/// The pieces that the SMs at work go over, as the kernel takes them.
struct Pieces {
    /// Four words for each SM: where its part of the list begins, how many pieces that has, the SM's number among those that go over it, and
    /// how many these are. Behind them the list.
    words: Vec<u32>,
    /// Where the list begins.
    list_at: usize,
    /// A piece that some SM goes over.
    first: u32,
}

impl Pieces {
    /// The pieces for SMs of so many warps each; none where a partition has too few. Each warp keeps to pieces of its own.
    fn of(stream: &PartitionStream, workers: &[u32], warps: u32) -> Option<Self> {
        Pieces::by(workers, warps, 2, |sm| stream.sms[sm as usize], |partition| stream.pieces(partition).collect())
    }

    /// The pieces that are drawn of the windows, likewise.
    fn drawn(stream: &WindowStream, workers: &[u32], warps: u32) -> Option<Self> {
        Pieces::by(workers, warps, stream.windows, |sm| stream.window(sm), |window| stream.drawn(window))
    }

    /// The pieces of as many parts of the memory, of which each SM goes over one.
    fn by(
        workers: &[u32],
        warps: u32,
        parts: u32,
        part: impl Fn(u32) -> u8,
        pieces: impl Fn(u8) -> Vec<u32>,
    ) -> Option<Self> {
        let part = |sm: &u32| part(*sm);
        let (mut words, mut list) = (vec![0; 4 * workers.len()], Vec::new());
        let mut begins = vec![(0, 0, 0); parts as usize];
        for of in (0..=u8::MAX).take(parts as usize) {
            let sms = workers.iter().filter(|sm| part(sm) == of).count() as u32;
            let begin = list.len() as u32;
            if sms > 0 {
                list.extend(pieces(of));
            }
            let all = list.len() as u32 - begin;
            let count = all - all % (sms * warps).max(1);
            if sms > 0 && count == 0 {
                return None;
            }
            list.truncate((begin + count) as usize);
            begins[usize::from(of)] = (begin, count, sms);
        }
        let mut seen = vec![0; parts as usize];
        for (sm, words) in workers.iter().zip(words.chunks_exact_mut(4)) {
            let of = usize::from(part(sm));
            let (begin, count, sms) = begins[of];
            words.copy_from_slice(&[begin, count, seen[of], sms]);
            seen[of] += 1;
        }
        let (list_at, first) = (words.len(), *list.first()?);
        words.extend(list);
        Some(Pieces { words, list_at, first })
    }
}

/// Bytes of each array of a stream by so many SMs.
fn array(stream: &Stream, workers: usize) -> Bytes {
    let span = match stream.region {
        Region::Own => stream.footprint * workers as u64,
        Region::Together => stream.footprint,
    };
    span.round_up(ARRAY)
}

/// What stores of such content begin with; that of zeros is none.
pub(super) fn seed_of(content: Content) -> u32 {
    match content {
        Content::Zeros => 0,
        Content::Random => SEED,
    }
}

/// What is wrong with the sum of the words that a block loaded in so many passes, if anything is.
pub(super) fn wrong_sum(stream: &Stream, sum: u32, passes: u32) -> Option<Failure> {
    let expected = stream_sum(stream, passes);
    (sum != expected).then(|| {
        Failure::failed(format!(
            "wrong checksum: {passes} passes of a block loaded words with the sum {sum:#x} instead of {expected:#x}, so the kernel \
             did not do the requested loads"
        ))
    })
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
