//! What the machine code of a stream must look like: a loop that reads the clock in each pass, and has as many loads and stores of the
//! width as the kernel says, and no other access to memory.

use std::ops::RangeInclusive;

use crate::block_rules::is_parameter;
use crate::opcodes::{Class, class};
use crate::rules::{Rule, Violation};
use crate::sass::{Function, Instruction};

/// Loads and stores of one pass.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Opcodes of its loads.
    pub load: &'static [&'static str],
    /// How many of them.
    pub loads: usize,
    /// Opcodes of its stores.
    pub store: &'static [&'static str],
    /// How many of them.
    pub stores: usize,
    /// Opcodes of the one load beside them that says where the next pass goes; none, where nothing does.
    pub index: &'static [&'static str],
    /// Beginnings of the opcodes by which blocks agree on the last pass, in any number.
    pub last: &'static [&'static str],
}

/// Opcodes of memory of a thread's own: what does not fit into its registers.
const SPILLS: [&str; 2] = ["LDL", "STL"];

/// Checks a function's machine code.
pub fn violations(function: &Function, pass: Pass) -> Vec<Violation> {
    let wanted = format!(
        "{} loads by {} and {} stores by {}, or a multiple of both, and nothing else: loads, stores and others",
        pass.loads,
        pass.load.join(" or "),
        pass.stores,
        pass.store.join(" or ")
    );
    timed_loop(function, &wanted, [pass.loads, pass.stores], |body| pass.counted(body))
}

/// That no register is spilled, and that a loop which reads the clock has `each` of two kinds of instructions, or a multiple of both, and
/// no other access to memory. `counted` says how many of each there are, and of others.
pub fn timed_loop(
    function: &Function,
    wanted: &str,
    each: [usize; 2],
    counted: impl Fn(&[Instruction]) -> [usize; 3],
) -> Vec<Violation> {
    let code = &function.instructions;
    let mut found = spills(code);
    let seen: Vec<[usize; 3]> =
        loops(code).map(|range| &code[range]).filter(|body| is_timed(body)).map(counted).collect();
    // The compiler may make one pass of several.
    let is_all_of = |&[first, second, others]: &[usize; 3]| {
        let times = (first + second) / (each[0] + each[1]).max(1);
        times > 0 && others == 0 && [first, second] == each.map(|of_a_pass| times * of_a_pass)
    };
    if !seen.iter().any(is_all_of) {
        let seen: Vec<String> = seen.iter().map(|counts| format!("{counts:?}")).collect();
        found.push(Violation {
            rule: Rule::LoadCount,
            address: None,
            what: format!("no loop that reads the clock has {wanted} are {}", seen.join(", ")),
        });
    }
    found
}

/// Registers that are spilled anywhere.
pub fn spills(code: &[Instruction]) -> Vec<Violation> {
    code.iter()
        .filter(|instruction| SPILLS.contains(&instruction.base()))
        .map(|spill| Violation {
            rule: Rule::ListedLoad,
            address: Some(spill.address),
            what: format!("{} spills registers beside what is timed", spill.opcode),
        })
        .collect()
}

/// From where each branch leads back, to the branch.
fn loops(code: &[Instruction]) -> impl Iterator<Item = RangeInclusive<usize>> {
    let back = |(at, instruction): (usize, &Instruction)| {
        let begin = code.iter().position(|other| Some(other.address) == instruction.branch)?;
        (begin < at).then_some(begin..=at)
    };
    code.iter().enumerate().filter_map(back)
}

/// What touches no memory: an instruction that is never executed, as driver and ptxas place them before asynchronous copies, and the mark
/// behind such copies.
fn is_idle(instruction: &Instruction) -> bool {
    instruction.guard.as_deref() == Some("!PT") || instruction.opcode == "LDGDEPBAR"
}

fn is_timed(body: &[Instruction]) -> bool {
    body.iter().any(Instruction::reads_clock)
}

impl Pass {
    /// Loads, stores and other accesses to memory.
    fn counted(&self, body: &[Instruction]) -> [usize; 3] {
        let [mut loads, mut stores, mut others, mut indices] = [0; 4];
        for instruction in body {
            let opcode = instruction.opcode.as_str();
            // A parameter may be loaded as constants are.
            let is_of_last = self.last.iter().any(|beginning| opcode.starts_with(beginning));
            if is_parameter(instruction) || is_idle(instruction) || is_of_last {
                continue;
            }
            if self.load.contains(&opcode) && instruction.guard.is_none() {
                loads += 1;
            } else if self.store.contains(&opcode) && instruction.guard.is_none() {
                stores += 1;
            } else if self.index.contains(&opcode) && instruction.guard.is_none() {
                indices += 1;
            } else if class(instruction) == Class::Memory {
                others += 1;
            }
        }
        let passes = (loads + stores) / (self.loads + self.stores).max(1);
        let wanted = if self.index.is_empty() { 0 } else { passes };
        [loads, stores, others + indices.abs_diff(wanted)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sass;

    const TWO_LOADS: Pass =
        Pass { load: &["LDG.E.128.STRONG.GPU"], loads: 2, store: &["STG.E.128"], stores: 0, index: &[], last: &[] };

    fn of(body: &[&str], pass: Pass) -> Vec<Rule> {
        let lines = ["MOV R1, R2", "LDG.E.STRONG.SYS R9, desc[UR4][R2.64]"].iter().chain(body);
        let listing: Vec<String> =
            lines.enumerate().map(|(at, text)| format!("/*{:04x}*/ {text} ;", 16 * at)).collect();
        let function = Function { name: "k".into(), instructions: sass::parse(&listing.join("\n")).unwrap() };
        violations(&function, pass).into_iter().map(|violation| violation.rule).collect()
    }

    const LOAD: &str = "LDG.E.128.STRONG.GPU R4, desc[UR4][R2.64]";
    const CLOCK: &str = "S2UR UR7, SR_CLOCKLO";
    const BACK: &str = "@!P0 BRA 0x20";

    #[test]
    fn copies_are_counted_without_what_never_runs() {
        let copies = Pass { load: &["LDGSTS.E.BYPASS.128"], ..TWO_LOADS };
        let copy = "LDGSTS.E.BYPASS.128 [R12], desc[UR10][R16.64]";
        assert_eq!(of(&["@!PT LDS RZ, [RZ]", copy, copy, "LDGDEPBAR", CLOCK, BACK], copies), []);
        assert_eq!(of(&["@!P1 LDS RZ, [RZ]", copy, copy, CLOCK, BACK], copies), [Rule::LoadCount]);
    }

    #[test]
    fn a_loop_with_its_loads_and_the_clock_is_a_stream() {
        assert_eq!(of(&[LOAD, LOAD, CLOCK, "LDC R4, c[0x0][0x278]", BACK], TWO_LOADS), []);
        // Two passes in one.
        assert_eq!(of(&[LOAD, LOAD, LOAD, LOAD, CLOCK, BACK], TWO_LOADS), []);
        let copy = Pass { stores: 2, ..TWO_LOADS };
        let store = "STG.E.128 desc[UR4][R8.64], R4";
        assert_eq!(of(&[LOAD, LOAD, store, store, CLOCK, BACK], copy), []);
        assert_eq!(of(&[LOAD, LOAD, store, CLOCK, BACK], copy), [Rule::LoadCount]);
    }

    #[test]
    fn where_the_next_pass_goes_is_loaded_once() {
        let pass = Pass { index: &["LDG.E.STRONG.SM"], ..TWO_LOADS };
        let index = "LDG.E.STRONG.SM R8, desc[UR4][R6.64]";
        assert_eq!(of(&[index, LOAD, LOAD, CLOCK, BACK], pass), []);
        assert_eq!(of(&[LOAD, LOAD, CLOCK, BACK], pass), [Rule::LoadCount]);
        assert_eq!(of(&[index, index, LOAD, LOAD, CLOCK, BACK], pass), [Rule::LoadCount]);
        assert_eq!(of(&[index, LOAD, LOAD, CLOCK, BACK], TWO_LOADS), [Rule::LoadCount]);
    }

    #[test]
    fn what_says_that_a_pass_is_the_last_may_stand_beside() {
        let pass =
            Pass { load: &["UBLKCP.S.G.MULTICAST"], loads: 1, index: &["LDS"], last: &["ST.E", "MEMBAR"], ..TWO_LOADS };
        let copy = "UBLKCP.S.G.MULTICAST [UR14], [UR8], UR11";
        let rest = ["@P0 ST.E [R12], R31", "MEMBAR.ALL.GPU", "LDS R30, [R18]", CLOCK, BACK];
        let with = |first: &[&'static str]| [first, &rest].concat();
        assert_eq!(of(&with(&[copy]), pass), []);
        assert_eq!(of(&with(&[copy, copy]), pass), [Rule::LoadCount]);
        assert_eq!(of(&with(&[copy]), Pass { last: &["MEMBAR"], ..pass }), [Rule::LoadCount]);
    }

    #[test]
    fn a_parameter_is_no_load_of_constants() {
        let pass = Pass { load: &["LDC"], store: &["STG.E"], ..TWO_LOADS };
        let [first, second] = ["LDC R4, c[0x3][R0]", "LDC R5, c[0x3][R0+0x4]"];
        assert_eq!(of(&[first, "LDC R6, c[0x0][0x268]", second, CLOCK, BACK], pass), []);
        assert_eq!(of(&[first, CLOCK, BACK], pass), [Rule::LoadCount]);
    }

    #[test]
    fn what_is_no_such_stream_is_refused() {
        let guarded = "@P1 LDG.E.128.STRONG.GPU R4, desc[UR4][R2.64]";
        let narrow = "LDG.E.64.STRONG.GPU R4, desc[UR4][R2.64]";
        for body in [
            [LOAD, CLOCK, BACK].as_slice(),
            &[LOAD, LOAD, BACK],
            &[LOAD, LOAD, CLOCK],
            &[LOAD, guarded, CLOCK, BACK],
            &[LOAD, narrow, CLOCK, BACK],
            &[LOAD, LOAD, narrow, CLOCK, BACK],
        ] {
            assert_eq!(of(body, TWO_LOADS), [Rule::LoadCount], "{body:?}");
        }
        assert_eq!(of(&[LOAD, LOAD, CLOCK, BACK, "LDL R1, [R2]"], TWO_LOADS), [Rule::ListedLoad]);
    }
}
