//! What the machine code of a kernel must look like between its two clock reads.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use strata_kernels::Check;
use strata_model::experiment::LoadPath;

use crate::atomic_rules;
use crate::block_rules;
use crate::burst_rules::{self, Burst};
use crate::flow::in_flight_at;
use crate::opcodes::{Class, class, is_descriptor, is_emulated, is_load_of, is_routine, loads, warp_loads};
use crate::sass::{Function, Instruction, Register};
use crate::stream_rules::{self, Pass};

/// Fewest loads in the body of a whole-lap loop: fewer, and the loop itself would be measured.
const FEWEST_UNROLLED: usize = 4;

/// What a kernel can do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// There is one pair of clock reads.
    OnePair,
    /// The clock is read by `CS2R` or `CS2UR`, which take a fixed time. `S2R` and `S2UR` come back whenever they do.
    SynchronousClock,
    /// Between the reads, memory is accessed only by the listed load.
    ListedLoad,
    /// The number of loads is what the kernel says.
    LoadCount,
    /// The loads are executed, not predicated away.
    UnguardedLoad,
    /// Each load's address is what the load before it returned.
    Chain,
    /// No load's result is used before the last load is issued.
    UsedLate,
    /// The last load's result is used before the second read, which so waits for it.
    Consumer,
    /// What the first load needs is there before the first read, which otherwise times an earlier load too.
    Settled,
    /// No branch between the reads, and none to there; a whole-lap kernel has its one loop.
    StraightLine,
    /// No barrier between the reads.
    NoBarrier,
    /// Between the reads stand only instructions known to compute in registers.
    KnownInstructions,
    /// Code lies where the text says.
    Layout,
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// Address of the instruction that breaks it, if it is one.
    pub address: Option<u64>,
    /// What is wrong, in words.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.what)?;
        self.address.map_or(Ok(()), |address| write!(f, " (at {address:#06x})"))
    }
}

/// A function under examination.
struct Examination<'a> {
    code: &'a [Instruction],
    target: u32,
    path: LoadPath,
    /// Bytes that a lane loads at once, where that is not the path's element.
    wide: Option<u32>,
    violations: Vec<Violation>,
}

/// Whether rules apply to a kernel's code for a target: it times something, by a load that is an instruction there.
pub fn apply(target: u32, check: Check) -> bool {
    match check {
        Check::None => false,
        Check::Warp { .. } | Check::Burst { .. } | Check::Atomics { .. } | Check::Laid { .. } => true,
        Check::Block { accesses, path } => !is_emulated(target, path) && !is_routine(target, accesses),
        Check::PerLoad { path, .. } | Check::Lap { path } => !is_emulated(target, path),
        Check::Stream { path, load, .. } => !is_emulated(target, path) && !is_routine(target, load),
    }
}

/// Checks a function's machine code for a target such as 90.
pub fn violations(function: &Function, target: u32, check: Check) -> Vec<Violation> {
    let (path, loads, wide) = match check {
        Check::None => return Vec::new(),
        Check::PerLoad { path, loads } => (path, Some(loads as usize), None),
        Check::Lap { path } => (path, None, None),
        Check::Warp { bytes } => (LoadPath::Shared, None, Some(bytes)),
        Check::Block { accesses, .. } => return block_rules::violations(function, accesses),
        Check::Laid { bytes, block } => return laid(function, bytes, block),
        Check::Burst { load, loads, optional } => {
            let burst = Burst { load, loads: loads as usize, optional: optional as usize };
            return burst_rules::violations(function, burst);
        }
        Check::Stream { load, loads, store, stores, index, last, .. } => {
            let pass = Pass { load, loads: loads as usize, store, stores: stores as usize, index, last };
            return stream_rules::violations(function, pass);
        }
        Check::Atomics { atomic, atomics, shuffles } => {
            let pass = atomic_rules::Pass { atomic, atomics: atomics as usize, shuffles: shuffles as usize };
            return atomic_rules::violations(function, pass);
        }
    };
    let mut examination = Examination { code: &function.instructions, target, path, wide, violations: Vec::new() };
    examination.examine(loads);
    examination.violations
}

/// Instructions between the last block and the last clock read, at most: what lets threads that have diverged meet again.
const BEHIND_BLOCKS: u64 = 4;
/// Bytes of an instruction.
const INSTRUCTION: u64 = 16;

/// Where a block of so many bytes does not begin with a jump or a comparison. The last block ends shortly before the last clock read.
fn laid(function: &Function, bytes: u64, block: u64) -> Vec<Violation> {
    let code = &function.instructions;
    let violation = |at: Option<u64>, what: &str| Violation { rule: Rule::Layout, address: at, what: what.to_owned() };
    let Some(end) = code.iter().rev().find(|i| i.reads_clock()).map(|i| i.address) else {
        return vec![violation(None, "no clock read")];
    };
    let begins = |address: u64| {
        let at = code.binary_search_by_key(&address, |instruction| instruction.address).ok()?;
        Some(["BRA", "ISETP"].contains(&code[at].opcode.split('.').next()?))
    };
    let wrong = |behind: u64| -> Option<Vec<Violation>> {
        let end = end.checked_sub(behind * INSTRUCTION)?;
        let addresses = (end.checked_sub(bytes)?..end).step_by(block as usize);
        let wrong = addresses.filter(|&address| begins(address) != Some(true));
        Some(wrong.map(|address| violation(Some(address), "a block does not begin with a jump")).collect())
    };
    (0..=BEHIND_BLOCKS)
        .filter_map(wrong)
        .min_by_key(Vec::len)
        .unwrap_or_else(|| vec![violation(Some(end), "fewer bytes before the last clock read than all blocks have")])
}

/// The part of the listing around the clock reads, with the offending instructions marked.
pub fn excerpt(function: &Function, violations: &[Violation]) -> String {
    const AROUND: usize = 3;
    let code = &function.instructions;
    let marked = |instruction: &Instruction| violations.iter().any(|v| v.address == Some(instruction.address));
    let interesting: Vec<usize> =
        (0..code.len()).filter(|index| code[*index].reads_clock() || marked(&code[*index])).collect();
    let (Some(first), Some(last)) = (interesting.first(), interesting.last()) else {
        return format!("    ({} instructions, none of which reads the clock)\n", code.len());
    };
    let shown = first.saturating_sub(AROUND)..(last + AROUND + 1).min(code.len());
    code[shown].iter().map(|i| format!("  {} {i}\n", if marked(i) { '>' } else { ' ' })).collect()
}

impl Examination<'_> {
    fn report(&mut self, rule: Rule, at: Option<usize>, what: impl Into<String>) {
        let address = at.map(|index| self.code[index].address);
        self.violations.push(Violation { rule, address, what: what.into() });
    }

    /// `loads` is the number of loads in a straight line, or `None` for a loop around whole laps.
    fn examine(&mut self, loads: Option<usize>) {
        let clocks: Vec<usize> = (0..self.code.len()).filter(|index| self.code[*index].reads_clock()).collect();
        let &[first, second] = clocks.as_slice() else {
            let what = format!("the clock is read {} times, not in one pair", clocks.len());
            return self.report(Rule::OnePair, clocks.last().copied(), what);
        };
        for clock in [first, second] {
            if !matches!(self.code[clock].base(), "CS2R" | "CS2UR") {
                let what = format!("{} reads the clock at a time of its own", self.code[clock].opcode);
                self.report(Rule::SynchronousClock, Some(clock), what);
            }
        }
        if self.code[first].guard.is_some() {
            self.report(Rule::OnePair, Some(first), "the first clock read may not be executed");
        }
        let window = first + 1..second;
        self.instructions(window.clone(), loads.is_none());
        let repeated = self.control_flow(window.clone(), loads.is_none());
        self.load_count(window.clone(), loads, repeated.as_ref());
        // The loop is followed twice: its first load must depend on its last.
        let order: Vec<usize> = match &repeated {
            Some(body) => (window.start..body.end).chain(body.clone()).chain(body.end..window.end).collect(),
            None => window.clone().collect(),
        };
        self.dependences(&order);
        self.settled(first, window);
    }

    fn is_load(&self, index: usize) -> bool {
        let instruction = &self.code[index];
        match self.wide {
            Some(bytes) => warp_loads(self.target, bytes).contains(&instruction.opcode.as_str()),
            None => is_load_of(instruction, self.target, self.path),
        }
    }

    /// The loads that there may be.
    fn listed(&self) -> &'static [&'static str] {
        self.wide.map_or_else(|| loads(self.target, self.path), |bytes| warp_loads(self.target, bytes))
    }

    /// What each instruction between the reads does, branches apart.
    fn instructions(&mut self, window: Range<usize>, may_loop: bool) {
        for index in window {
            let instruction = &self.code[index];
            let opcode = &instruction.opcode;
            if self.is_load(index) {
                if instruction.guard.is_some() {
                    self.report(Rule::UnguardedLoad, Some(index), "the load may not be executed");
                }
                continue;
            }
            match class(instruction) {
                Class::Arithmetic => {}
                Class::Branch if may_loop && instruction.branch.is_some() => {}
                Class::Branch => self.report(Rule::StraightLine, Some(index), format!("{opcode} leaves the line")),
                Class::Barrier => self.report(Rule::NoBarrier, Some(index), format!("{opcode} waits")),
                Class::Memory if is_descriptor(instruction, self.target, self.path) => {}
                Class::Memory => {
                    let listed = self.listed().join("` or `");
                    let what = format!("not the load of `{}` on sm_{}, which is `{listed}`", self.path, self.target);
                    self.report(Rule::ListedLoad, Some(index), what);
                }
                Class::Unlisted => {
                    let what = format!("{opcode} is not listed as computing in registers");
                    self.report(Rule::KnownInstructions, Some(index), what);
                }
            }
        }
    }

    /// Branches from and to the window. Returns the body of the loop, its branch included.
    fn control_flow(&mut self, window: Range<usize>, may_loop: bool) -> Option<Range<usize>> {
        let index_of = |address: u64| self.code.iter().position(|instruction| instruction.address == address);
        let inside: Vec<usize> = window.clone().filter(|index| self.code[*index].branch.is_some()).collect();
        let body = match *inside.as_slice() {
            [branch] if may_loop => {
                let start = self.code[branch].branch.and_then(index_of);
                start.filter(|start| window.contains(start) && *start <= branch).map(|start| start..branch + 1)
            }
            _ => None,
        };
        if may_loop && body.is_none() {
            let what = format!("{} branches between the clock reads, not one that goes back to there", inside.len());
            self.report(Rule::StraightLine, inside.last().copied(), what);
        }
        // The second read is entered only from the window too.
        let entered = window.start..window.end + 1;
        let strangers: Vec<usize> = (0..self.code.len())
            .filter(|index| self.code[*index].branch.and_then(index_of).is_some_and(|to| entered.contains(&to)))
            .filter(|index| body.as_ref().is_none_or(|body| body.end != index + 1))
            .collect();
        for index in strangers {
            self.report(Rule::StraightLine, Some(index), "goes to between the clock reads");
        }
        body
    }

    fn load_count(&mut self, window: Range<usize>, expected: Option<usize>, body: Option<&Range<usize>>) {
        let found = window.clone().filter(|index| self.is_load(*index)).count();
        match (expected, body) {
            (Some(expected), _) if found != expected => {
                self.report(Rule::LoadCount, None, format!("{found} loads between the clock reads, not {expected}"));
            }
            (None, Some(body)) => {
                let unrolled = body.clone().filter(|index| self.is_load(*index)).count();
                if unrolled < FEWEST_UNROLLED {
                    let what = format!("{unrolled} loads in the loop, not at least {FEWEST_UNROLLED}");
                    self.report(Rule::LoadCount, None, what);
                }
                if unrolled != found {
                    self.report(Rule::LoadCount, None, format!("{} loads outside the loop", found - unrolled));
                }
            }
            _ => {}
        }
    }

    /// Follows the loaded values, in the order of execution. A value must be the next address as it came: an instruction
    /// in between, even a move, would be timed with each lap.
    fn dependences(&mut self, order: &[usize]) {
        // The load that each register was last written by.
        let mut origin: BTreeMap<Register, usize> = BTreeMap::new();
        let mut count = 0;
        let mut consumed = true;
        for &index in order {
            let instruction = &self.code[index];
            let read: Vec<Register> = instruction.read().into_iter().chain(instruction.guard_register()).collect();
            let uses_last = count > 0 && read.iter().any(|register| origin.get(register) == Some(&count));
            consumed |= uses_last;
            let is_load = self.is_load(index);
            if is_load {
                if count > 0 && !uses_last {
                    self.report(Rule::Chain, Some(index), "its address is not what the load before it returned");
                }
                count += 1;
                consumed = false;
            }
            for register in instruction.written() {
                if is_load {
                    origin.insert(register, count)
                } else {
                    origin.remove(&register)
                };
            }
        }
        if !consumed {
            self.report(Rule::Consumer, None, "nothing uses the last load's result before the second clock read");
        }
    }

    /// Whether something read between the clock reads may still be on its way at the first.
    fn settled(&mut self, first: usize, window: Range<usize>) {
        let mut in_flight = in_flight_at(self.code, first);
        for index in window {
            let instruction = &self.code[index];
            let reads: Vec<Register> = instruction.read().into_iter().chain(instruction.guard_register()).collect();
            if let Some(register) = reads.iter().find(|register| in_flight.contains(register)) {
                let what = format!("{register} may still wait for a load from before the first clock read");
                self.report(Rule::Settled, Some(index), what);
                return;
            }
            for register in instruction.written() {
                in_flight.remove(&register);
            }
        }
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
