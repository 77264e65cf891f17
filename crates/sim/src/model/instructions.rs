//! Instruction caches: what it takes until an instruction is there.

use super::cache::{Cache, Shape};
use super::parts::part;
use crate::machine::Machine;
use crate::machine::spec::{Index, InstructionCache, Sharers};

/// Bytes of an instruction. A line of text is one.
pub const INSTRUCTION: u64 = 16;
/// What these caches are among the parts of a machine, for their draws.
const PART: u64 = 95;

/// One cache, with the lines that are on their way to it, and when they come.
struct One {
    cache: Cache,
    coming: Vec<(u64, u64)>,
}

impl One {
    /// Whether it has an address, or when what is on its way comes.
    fn load(&mut self, address: u64, now: u64) -> Option<u64> {
        let line = address / self.cache.line();
        if !self.cache.load(address) {
            return None;
        }
        Some(self.coming.iter().find(|(coming, _)| *coming == line).map_or(now, |(_, at)| now.max(*at)))
    }

    /// A line comes at a cycle.
    fn expect(&mut self, address: u64, now: u64, at: u64) {
        self.coming.retain(|(_, coming)| *coming > now);
        self.coming.push((address / self.cache.line(), at));
    }
}

/// A level: one cache for each group of SMs.
struct Level {
    caches: Vec<One>,
    /// The cache of each SM.
    of_sm: Vec<usize>,
    penalty: u64,
}

impl Level {
    fn one(&mut self, sm: u32) -> &mut One {
        &mut self.caches[self.of_sm[sm as usize]]
    }
}

/// The instruction caches of a machine, the first one first.
pub(crate) struct Instructions {
    levels: Vec<Level>,
    /// What fits into the first one, and its line; kernels that fit are taken to be in it.
    first: Option<(u64, u64)>,
}

impl Instructions {
    /// All empty.
    pub fn new(machine: &Machine, seed: u64) -> Self {
        let spec = &machine.spec;
        let sms = spec.device.multiprocessors.get() as usize;
        let gpcs = spec.device.gpc_of_sms().unwrap_or_default();
        let level = |(number, cache): (u64, &InstructionCache)| {
            let of_sm: Vec<usize> = (0..sms)
                .map(|sm| match cache.shared_by {
                    Sharers::Sm => sm,
                    Sharers::Tpc => sm / 2,
                    Sharers::Gpc => gpcs.get(sm).map_or(0, |gpc| *gpc as usize),
                    Sharers::Device => 0,
                })
                .collect();
            let count = of_sm.iter().max().map_or(0, |most| most + 1) as u64;
            let one = |instance| {
                let seed = part(part(seed, PART, number), PART, instance);
                One { cache: Cache::new(shape(cache), seed), coming: Vec::new() }
            };
            Level { caches: (0..count).map(one).collect(), of_sm, penalty: cache.penalty.get() }
        };
        let first = spec.instruction.first().map(|first| (first.size.0, first.line.get()));
        Instructions { levels: (0..).zip(&spec.instruction).map(level).collect(), first }
    }

    /// Bytes that are fetched at a time, of a kernel of so many instructions; none where it takes no time.
    pub fn fetched(&self, instructions: usize) -> Option<u64> {
        self.first.filter(|&(size, _)| INSTRUCTION * instructions as u64 > size).map(|(_, line)| line)
    }

    /// The cycle at which an SM has the instruction at an address. Who asks for what is on its way waits as long as who asked first.
    pub fn fetch(&mut self, sm: u32, address: u64, now: u64) -> u64 {
        let mut at = now;
        let mut missed = 0;
        for level in &mut self.levels {
            if let Some(there) = level.one(sm).load(address, now) {
                at = at.max(there);
                break;
            }
            at += level.penalty;
            missed += 1;
        }
        for level in &mut self.levels[..missed] {
            level.one(sm).expect(address, now, at);
        }
        at
    }
}

fn shape(cache: &InstructionCache) -> Shape {
    let line = cache.line.get();
    let ways = cache.ways.get();
    let sets = (cache.size.0 / (line * ways)).max(1);
    Shape {
        line,
        sector: line,
        ways: vec![ways as u32; sets as usize],
        index: Index::Modulo,
        replacement: cache.replacement.clone(),
        hints: Vec::new(),
        prefetch: Vec::new(),
    }
}
