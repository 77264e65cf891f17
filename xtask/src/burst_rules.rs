//! What the machine code of a burst of loads must look like: the clock is read three times, between the first two reads
//! there are the loads and nothing that waits for one of them, and before the third something uses each of them.

use std::collections::BTreeSet;

use crate::block_rules::is_parameter;
use crate::flow::in_flight_at;
use crate::opcodes::{Class, class};
use crate::rules::{Rule, Violation};
use crate::sass::{Function, Instruction, Register};
use crate::stream_rules::spills;

/// Loads of a burst.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    /// Their opcodes.
    pub load: &'static [&'static str],
    /// How many there are.
    pub loads: usize,
    /// How many of them may be guarded.
    pub optional: usize,
}

/// What is found in a function's machine code.
struct Examination<'a> {
    code: &'a [Instruction],
    violations: Vec<Violation>,
}

/// Checks a function's machine code.
pub fn violations(function: &Function, burst: Burst) -> Vec<Violation> {
    let code = &function.instructions;
    let mut examination = Examination { code, violations: spills(code) };
    examination.examine(burst);
    examination.violations
}

impl Examination<'_> {
    fn report(&mut self, rule: Rule, at: Option<usize>, what: impl Into<String>) {
        let address = at.map(|index| self.code[index].address);
        self.violations.push(Violation { rule, address, what: what.into() });
    }

    fn examine(&mut self, burst: Burst) {
        let clocks: Vec<usize> = (0..self.code.len()).filter(|index| self.code[*index].reads_clock()).collect();
        let &[first, second, third] = clocks.as_slice() else {
            return self.report(Rule::OnePair, None, format!("the clock is read {} times, not three", clocks.len()));
        };
        for clock in clocks {
            if !matches!(self.code[clock].base(), "CS2R" | "CS2UR") {
                let what = format!("{} reads the clock at a time of its own", self.code[clock].opcode);
                self.report(Rule::SynchronousClock, Some(clock), what);
            }
        }
        for clock in [first, second] {
            if self.code[clock].guard.is_some() {
                self.report(Rule::OnePair, Some(clock), "this clock read may not be executed");
            }
        }
        let window = first + 1..second;
        let is_load = |index: &usize| burst.load.contains(&self.code[*index].opcode.as_str());
        let loads: Vec<usize> = window.clone().filter(is_load).collect();
        let guarded = loads.iter().filter(|load| self.code[**load].guard.is_some()).count();
        if loads.len() != burst.loads || guarded > burst.optional {
            let what = format!(
                "{} loads between the clock reads, {guarded} of them guarded, not {} with {} at most",
                loads.len(),
                burst.loads,
                burst.optional
            );
            self.report(Rule::LoadCount, None, what);
        }
        for index in window.clone().chain(second + 1..third).filter(|index| !loads.contains(index)) {
            self.in_registers(index);
        }
        self.used_late(window, second, &loads);
        let used: BTreeSet<Register> = self.code[second + 1..third].iter().flat_map(Instruction::read).collect();
        for &load in &loads {
            if !self.code[load].written().iter().any(|register| used.contains(register)) {
                self.report(Rule::Consumer, Some(load), "nothing waits for this load before the last clock read");
            }
        }
        let in_flight = in_flight_at(self.code, first);
        for &load in &loads {
            if self.code[load].read().iter().any(|register| in_flight.contains(register)) {
                self.report(Rule::Settled, Some(load), "its address may not be there when the clock is read first");
            }
        }
    }

    /// That an instruction beside the loads only computes.
    fn in_registers(&mut self, index: usize) {
        let instruction = &self.code[index];
        let opcode = &instruction.opcode;
        match class(instruction) {
            Class::Arithmetic => {}
            Class::Memory if is_parameter(instruction) => {}
            Class::Memory => self.report(Rule::ListedLoad, Some(index), format!("{opcode} is none of the loads")),
            Class::Branch => self.report(Rule::StraightLine, Some(index), format!("{opcode} leaves the line")),
            Class::Barrier => self.report(Rule::NoBarrier, Some(index), format!("{opcode} waits")),
            Class::Unlisted => {
                let what = format!("{opcode} is not listed as computing in registers");
                self.report(Rule::KnownInstructions, Some(index), what);
            }
        }
    }

    /// That nothing touches what a load brings before the second clock read, and that neither this read nor anything
    /// before it writes to a register that a load may not have read yet.
    fn used_late(&mut self, window: std::ops::Range<usize>, second: usize, loads: &[usize]) {
        let (mut brought, mut wanted) = (BTreeSet::new(), BTreeSet::new());
        for index in window.chain([second]) {
            let instruction = &self.code[index];
            let (read, written) = (instruction.read(), instruction.written());
            let touched = read.iter().chain(&written).chain(&instruction.guard_register()).any(|r| brought.contains(r));
            if touched || written.iter().any(|register| wanted.contains(register)) {
                let what = format!("{} waits for a load before the last one is issued", instruction.opcode);
                self.report(Rule::UsedLate, Some(index), what);
            }
            if loads.contains(&index) {
                brought.extend(written);
                // Of a pair, only the first register is named.
                wanted.extend(read.iter().flat_map(|r| [*r, Register { number: r.number + 1, ..*r }]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sass;

    const TWO: Burst = Burst { load: &["LDG.E.STRONG.SYS"], loads: 5, optional: 1 };
    /// As ptxas makes it for sm_90.
    const GOOD: [&str; 15] = [
        "CS2R.32 R4, SR_CLOCKLO",
        "@P1 LDG.E.STRONG.SYS R11, desc[UR6][R8.64]",
        "LDG.E.STRONG.SYS R12, desc[UR6][R8.64+0x80]",
        "LDG.E.STRONG.SYS R13, desc[UR6][R8.64+0x100]",
        "LDG.E.STRONG.SYS R14, desc[UR6][R8.64+0x180]",
        "LDG.E.STRONG.SYS R15, desc[UR6][R8.64+0x200]",
        "CS2R.32 R5, SR_CLOCKLO",
        "LOP3.LUT R20, R5, R21, RZ, 0xc0, !PT",
        "IMAD.IADD R12, R12, 0x1, R20",
        "IADD3 R12, R12, R11, R20",
        "IADD3 R12, R12, R13, R20",
        "IADD3 R12, R12, R14, R20",
        "IADD3 R12, R12, R15, R20",
        "ISETP.NE.U32.AND P0, PT, R12, 0x12345678, PT",
        "@P0 CS2R.32 R6, SR_CLOCKLO",
    ];

    fn of(body: &[&str]) -> Vec<Rule> {
        let listing: Vec<String> =
            body.iter().enumerate().map(|(at, text)| format!("/*{:04x}*/ {text} ;", 16 * at)).collect();
        let function = Function { name: "k".into(), instructions: sass::parse(&listing.join("\n")).unwrap() };
        violations(&function, TWO).into_iter().map(|violation| violation.rule).collect()
    }

    /// What is said where one instruction is another, or where there is one more before it.
    fn with(at: usize, text: &'static str, more: bool) -> Vec<Rule> {
        let mut body = GOOD.to_vec();
        if more {
            body.insert(at, text)
        } else {
            body[at] = text
        }
        of(&body)
    }

    #[test]
    fn a_burst_as_it_is_asked_for_breaks_no_rule() {
        assert_eq!(of(&GOOD), []);
        // Something that computes from nothing that was loaded.
        assert_eq!(with(3, "IMAD.MOV.U32 R30, RZ, RZ, RZ", true), []);
    }

    #[test]
    fn whoever_waits_for_a_load_before_the_last_is_refused() {
        assert_eq!(with(4, "IADD3 R20, R12, R13, RZ", true), [Rule::UsedLate]);
        // It waits until the load has come, or until the loads have read their address.
        assert_eq!(with(4, "IMAD.MOV.U32 R12, RZ, RZ, RZ", true), [Rule::UsedLate]);
        assert_eq!(with(6, "CS2R.32 R9, SR_CLOCKLO", false), [Rule::UsedLate]);
        assert_eq!(with(5, "LDG.E.STRONG.SYS R15, desc[UR6][R12.64]", false), [Rule::UsedLate]);
    }

    #[test]
    fn a_burst_of_something_else_is_refused() {
        assert_eq!(with(2, "@P2 LDG.E.STRONG.SYS R12, desc[UR6][R8.64+0x80]", false), [Rule::LoadCount]);
        // One more, for which nobody waits.
        assert_eq!(with(2, "LDG.E.STRONG.SYS R30, desc[UR6][R8.64+0x280]", true), [Rule::LoadCount, Rule::Consumer]);
        assert_eq!(with(2, "LDG.E R30, desc[UR6][R8.64]", true), [Rule::ListedLoad]);
        assert_eq!(with(2, "BAR.SYNC 0x0", true), [Rule::NoBarrier]);
        assert_eq!(with(6, "S2R R5, SR_CLOCKLO", false), [Rule::SynchronousClock]);
        assert_eq!(with(15, "STL [R1], R2", true), [Rule::ListedLoad]);
        assert_eq!(with(12, "IADD3 R12, R12, R14, R20", false), [Rule::Consumer]);
        assert_eq!(of(&GOOD[..14]), [Rule::OnePair]);
    }

    #[test]
    fn an_address_that_is_loaded_is_waited_for_before() {
        let mut body = vec!["LDG.E.64 R8, desc[UR6][R2.64]"];
        body.extend(GOOD);
        assert_eq!(of(&body), [Rule::Settled; 5]);
    }
}
