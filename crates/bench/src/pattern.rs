//! One pattern: its memory, its launch, and the check of its results.
//!
//! All kernels of patterns have the same parameters and the same output (`ptx/idiom/pattern.ptx` of the kernels), so what differs
//! is what lies in memory before the launch, three parameters, and what the host knows must come out.

mod burst;
mod grid;
mod plan;

use std::time::Instant;

use super::Bench;
use super::prepared::Outcome;
use grid::{Grid, Naming};
use plan::{LaunchPlan, bytes_to_count, plan, samples};
use strata_gpu::{Array, DevicePtr, Function, Launch, Module, Result, Texture};
use strata_kernels::sizes::{CONSTANT_BYTES, CONSTANT_SYMBOL};
use strata_kernels::{PatternProgram, Program, dialect_for};
use strata_model::experiment::{LoadPath, PatternRun, Prepare, Side, WARP};
use strata_model::pattern::{Layout, OPERANDS, Pattern, Sampling};
use strata_model::samples::{Failure, ProgramFacts, Samples};
use strata_model::units::Bytes;

/// Bytes of the counters of a histogram.
const COUNTERS: u64 = 256 * 4;
/// Where the input lies, behind what kernels write: in pages of its own.
const INPUT_AT: u64 = 4096;

/// Memory as a pattern finds it.
struct Filled {
    base: DevicePtr,
    texture: Option<Texture>,
    /// How often each byte of a histogram's input occurs.
    counts: Option<Box<[u32; 256]>>,
}

/// What a chase by a texture goes over.
enum Over {
    /// A CUDA array, of so many layers where it has three dimensions.
    Array { depth: Option<u32>, sampling: Option<Sampling>, naming: Naming },
    /// Linear memory.
    Linear,
}

impl Bench<'_> {
    /// Runs a pattern.
    pub(super) fn run_pattern(&mut self, run: &PatternRun) -> Result<Outcome> {
        let (pattern, program) = (run.pattern, PatternProgram::of(run));
        let loaded = self.programs.get(self.gpu, Program::Pattern(program))?;
        let facts = match program {
            PatternProgram::Sums { .. } => Some(self.program_facts(program, loaded.function, loaded.module)?),
            _ => None,
        };
        let outcome = match (pattern, run.path) {
            (Pattern::Pairs { .. }, LoadPath::Constant) => self.constant_pairs(run, pattern, loaded.module, program),
            (Pattern::Square { walk, layout, side, loads }, _) => {
                let grid = Grid::square(walk, side, loads, run.seed);
                let over = match layout {
                    Layout::Array => Over::Array { depth: None, sampling: None, naming: Naming::Square },
                    Layout::Linear => Over::Linear,
                };
                self.chase(run, pattern, loaded.function, over, &grid)
            }
            (Pattern::Cube { walk, layout, side, loads }, _) => {
                let grid = Grid::cube(walk, side, loads, run.seed);
                let over = match layout {
                    Layout::Array => Over::Array { depth: Some(side), sampling: None, naming: Naming::Cube },
                    Layout::Linear => Over::Linear,
                };
                self.chase(run, pattern, loaded.function, over, &grid)
            }
            (Pattern::Sampled { walk, sampling, side, loads }, _) => {
                let grid = Grid::square(walk, side, loads, run.seed);
                let over = Over::Array { depth: None, sampling: Some(sampling), naming: Naming::Float };
                self.chase(run, pattern, loaded.function, over, &grid)
            }
            (Pattern::Burst { .. }, _) => self.burst(run, loaded.function),
            _ => self.plain(run, pattern, loaded.function),
        };
        outcome.map(|outcome| outcome.map(|samples| Samples { program: facts, ..samples }))
    }

    /// A pattern whose memory is a buffer.
    fn plain(&mut self, run: &PatternRun, pattern: Pattern, function: Function) -> Result<Outcome> {
        let ring = match (pattern, run.path) {
            (Pattern::Pairs { .. }, LoadPath::Shared) => {
                let Some(ring) = pattern.shared_ring(self.gpu.facts().most_shared_per_block()) else {
                    let why = "a block has too little shared memory for a pair of loads and their times";
                    return Ok(Err(Failure::unsupported(why)));
                };
                Some(ring)
            }
            _ => None,
        };
        let transfer = Instant::now();
        let Filled { base, texture, counts } = self.fill_buffer(run, pattern)?;
        let plan = plan(pattern, ring, base, texture);
        self.timings.transfer += transfer.elapsed();
        let outcome = self.launch_pattern(run, pattern, function, &plan);
        if let Some(texture) = texture {
            // A texture that cannot be destroyed is a lost context, which the outcome says.
            let _ = self.gpu.destroy_texture(texture);
        }
        match (outcome?, counts) {
            (Ok(samples), Some(counts)) => Ok(self.checked_counts(run, base, &counts)?.map(|()| samples)),
            (outcome, _) => Ok(outcome),
        }
    }

    /// Puts into memory what the pattern finds there: zeros, but for variables and for bytes to be counted.
    fn fill_buffer(&mut self, run: &PatternRun, pattern: Pattern) -> Result<Filled> {
        let bytes = Bytes(INPUT_AT + pattern.footprint().0.next_multiple_of(4));
        let base = self.pattern_memory.at_least(self.gpu, bytes)?;
        self.gpu.clear(base, Bytes(INPUT_AT))?;
        let input = base.offset(INPUT_AT);
        let mut counts = None;
        match pattern {
            Pattern::Sums { variables, .. } => {
                let values: Vec<u8> = (1..=u64::from(variables)).flat_map(u64::to_le_bytes).collect();
                self.gpu.write(input, &values)?;
            }
            Pattern::Histogram { .. } => {
                let bytes = bytes_to_count(pattern, run.seed);
                let mut all = Box::new([0; 256]);
                bytes.iter().for_each(|&byte| all[usize::from(byte)] += 1);
                counts = Some(all);
                self.gpu.write(input, &bytes)?;
            }
            Pattern::Sourced { .. } => {
                let ones: Vec<u8> =
                    std::iter::repeat_n(1f32.to_le_bytes(), WARP * OPERANDS as usize).flatten().collect();
                self.gpu.write(input, &ones)?;
            }
            _ => self.gpu.clear(input, Bytes(bytes.0 - INPUT_AT))?,
        }
        let texture = match (pattern, run.path) {
            (Pattern::Pairs { .. }, LoadPath::Texture) => {
                Some(self.gpu.texture(input, Bytes(bytes.0 - INPUT_AT), Bytes(1))?)
            }
            _ => None,
        };
        Ok(Filled { base, texture, counts })
    }

    /// Pairs of loads from constant memory: as many as a module holds, from one fresh instance of the module after the other,
    /// so that nothing has been read before.
    fn constant_pairs(
        &mut self,
        run: &PatternRun,
        pattern: Pattern,
        module: Module,
        program: PatternProgram,
    ) -> Result<Outcome> {
        let Pattern::Pairs { pairs, small, large } = pattern else {
            return Ok(Err(Failure::failed("only pairs of loads go from module to module")));
        };
        let held = (CONSTANT_BYTES / large.0.max(1)).min(u64::from(pairs)) as u32;
        let mut samples = Samples::default();
        let mut left = pairs;
        while left > 0 {
            let some = Pattern::Pairs { pairs: held.min(left), small, large };
            let fresh = self.gpu.load_again(module)?;
            let outcome = self.pairs_of_module(run, some, fresh, program);
            self.gpu.unload(fresh)?;
            match outcome? {
                Ok(one) => {
                    samples.latencies.extend(one.latencies);
                    samples.sm = one.sm;
                }
                failed => return Ok(failed),
            }
            left -= held.min(left);
        }
        Ok(Ok(samples))
    }

    fn pairs_of_module(
        &mut self,
        run: &PatternRun,
        some: Pattern,
        fresh: Module,
        program: PatternProgram,
    ) -> Result<Outcome> {
        let entry = dialect_for(self.gpu.facts()).entry(Program::Pattern(program));
        let function = self.gpu.function(fresh, &entry)?;
        // Found at all: the module has constants of its own.
        self.gpu.symbol(fresh, CONSTANT_SYMBOL)?;
        let plan = plan(some, None, DevicePtr(0), None);
        self.launch_pattern(run, some, function, &plan)
    }

    /// A chase over a grid, by a texture.
    fn chase(
        &mut self,
        run: &PatternRun,
        pattern: Pattern,
        function: Function,
        over: Over,
        grid: &Grid,
    ) -> Result<Outcome> {
        let transfer = Instant::now();
        let side = grid.side;
        let (texture, naming) = match over {
            Over::Array { depth, sampling, naming } => {
                let texels = grid.texels(naming);
                let array = Array { width: side, height: side, depth, texels: &texels, sampling };
                (self.gpu.array(&array)?, naming)
            }
            Over::Linear => {
                let bytes = pattern.footprint();
                let base = self.pattern_memory.at_least(self.gpu, Bytes(INPUT_AT + bytes.0))?.offset(INPUT_AT);
                let raw: Vec<u8> = grid.texels(Naming::Number).iter().flat_map(|texel| texel.to_le_bytes()).collect();
                self.gpu.write(base, &raw)?;
                (self.gpu.texture(base, bytes, Bytes(4))?, Naming::Number)
            }
        };
        self.timings.transfer += transfer.elapsed();
        let [start, end] = grid.ends(naming);
        let scale = match pattern {
            Pattern::Sampled { sampling: Sampling::Normalized, .. } => 1.0 / side as f32,
            _ => 1.0,
        };
        let plan = LaunchPlan {
            launch: Launch::new(1, 1),
            count: pattern.operations(),
            buffer: texture.0,
            parameters: [u64::from(start), u64::from(side.ilog2()), u64::from(scale.to_bits())],
            check: Some(u64::from(end)),
        };
        let outcome = self.launch_pattern(run, pattern, function, &plan);
        // As above.
        let _ = self.gpu.destroy_texture(texture);
        outcome
    }

    /// Launches, and reads times and checks. What must be in the L2 or out of it is brought there before.
    fn launch_pattern(
        &mut self,
        run: &PatternRun,
        pattern: Pattern,
        function: Function,
        plan: &LaunchPlan,
    ) -> Result<Outcome> {
        let blocks = plan.launch.blocks as usize;
        let times = match pattern {
            Pattern::Pairs { .. } => 4 * pattern.operations() as usize,
            Pattern::Burst { warps, .. } => burst::times(warps, run.rounds),
            _ => 8 * blocks * run.rounds as usize,
        };
        let bytes = times + 16 * blocks;
        let out = self.outputs.at_least(self.gpu, Bytes(bytes as u64))?;
        // A program whose share of shared memory matters is always launched with a request for one, which is renewed.
        let launch = plan.launch.carveout(run.carveout_percent);
        self.gpu.configure(function, &launch)?;
        if let Some(percent) = run.carveout_percent {
            self.renew_carveout(percent)?;
        }
        let [a, b, c] = plan.parameters;
        let parameters = [out.0, plan.buffer, u64::from(run.rounds), u64::from(plan.count), a, b, c];
        let mut raw = vec![0u8; bytes];
        for _ in 0..launches(run) {
            // Checks are sums that begin at zero, and so is the counter of a grid's barriers.
            self.gpu.clear(out, Bytes(bytes as u64))?;
            if launch.cooperative {
                self.gpu.clear(DevicePtr(plan.parameters[2]), Bytes(4))?;
            }
            if run.prepare == Prepare::FlushL2 {
                self.flush_l2(Side::Device)?;
            }
            self.gpu.mark()?;
            self.gpu.launch(function, &launch, &parameters)?;
            self.device_us += self.gpu.mark()?;
        }
        let transfer = Instant::now();
        self.gpu.read(out, &mut raw)?;
        self.timings.transfer += transfer.elapsed();
        Ok(samples(pattern, plan, &raw[..times], &raw[times..]))
    }

    /// Compares the counters with the input, whose bytes were counted once a round.
    fn checked_counts(
        &mut self,
        run: &PatternRun,
        counters: DevicePtr,
        counts: &[u32; 256],
    ) -> Result<std::result::Result<(), Failure>> {
        let mut raw = vec![0; COUNTERS as usize];
        self.gpu.read(counters, &mut raw)?;
        let counted = raw.chunks_exact(4).map(|c| u32::from_le_bytes(c.try_into().expect("four bytes")));
        let times = run.rounds * launches(run);
        // Counters of 32 bits go round, there and here.
        let wrong = counted.zip(counts).position(|(counted, once)| counted != once.wrapping_mul(times));
        Ok(match wrong {
            Some(byte) => Err(Failure::failed(format!(
                "wrong count of byte {byte}: these are not the atomics that were asked for"
            ))),
            None => Ok(()),
        })
    }

    /// What the compiler made of a program.
    fn program_facts(&mut self, program: PatternProgram, function: Function, module: Module) -> Result<ProgramFacts> {
        let resources = self.gpu.resources(function)?;
        let (dialect, own) = (dialect_for(self.gpu.facts()), Program::Pattern(program));
        let code = self.gpu.machine_code(module).and_then(|code| dialect.between_clock_reads(own, code));
        Ok(ProgramFacts {
            registers: resources.registers,
            local_bytes: resources.local.0 as u32,
            compile_us: self.gpu.load_time(module).map_or(0, |took| took.as_micros() as u64),
            code,
        })
    }
}

/// Launches of an experiment: to fill the L2 is to do it once before, untimed.
fn launches(run: &PatternRun) -> u32 {
    if let Prepare::Fill { passes } = run.prepare { 1 + passes } else { 1 }
}
