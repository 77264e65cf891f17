//! What the machine code of atomics must look like: a loop that reads the clock in each pass, and has as many atomics as the kernel
//! says, the shuffles by which a warp sums up, and no other access to memory.

use crate::block_rules::is_parameter;
use crate::opcodes::{Class, class};
use crate::rules::Violation;
use crate::sass::{Function, Instruction};
use crate::stream_rules::timed_loop;

/// Atomics and shuffles of one pass.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Opcodes of its atomics.
    pub atomic: &'static [&'static str],
    /// How many of them.
    pub atomics: usize,
    /// How many shuffles. Where there are some, one lane makes the atomics, so they may depend on a predicate.
    pub shuffles: usize,
}

/// Opcode of a shuffle by which two lanes exchange a value.
const SHUFFLE: &str = "SHFL.BFLY";

/// Checks a function's machine code.
pub fn violations(function: &Function, pass: Pass) -> Vec<Violation> {
    let wanted = format!(
        "{} atomics by {} and {} shuffles, or a multiple of both, and nothing else: atomics, shuffles and others",
        pass.atomics,
        pass.atomic.join(" or "),
        pass.shuffles
    );
    timed_loop(function, &wanted, [pass.atomics, pass.shuffles], |body| pass.counted(body))
}

impl Pass {
    /// Atomics, shuffles and other accesses to memory.
    fn counted(&self, body: &[Instruction]) -> [usize; 3] {
        let [mut atomics, mut shuffles, mut others] = [0; 3];
        for instruction in body {
            let opcode = instruction.opcode.as_str();
            if self.atomic.contains(&opcode) && (self.shuffles > 0 || instruction.guard.is_none()) {
                atomics += 1;
            } else if opcode == SHUFFLE {
                shuffles += 1;
            } else if class(instruction) == Class::Memory && !is_parameter(instruction) {
                others += 1;
            }
        }
        [atomics, shuffles, others]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rule;
    use crate::sass;

    const TWO: Pass = Pass { atomic: &["REDG.E.ADD.STRONG.GPU"], atomics: 2, shuffles: 0 };
    const SUMMED: Pass = Pass { atomics: 1, shuffles: 2, ..TWO };
    const ADD: &str = "REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R5";
    const BY_ONE_LANE: &str = "@!P1 REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R5";
    const SHUFFLED: &str = "SHFL.BFLY PT, R6, R5, 0x10, 0x1f";
    const CLOCK: &str = "S2UR UR7, SR_CLOCKLO";
    const BACK: &str = "@!P0 BRA 0x0";

    fn of(body: &[&str], pass: Pass) -> Vec<Rule> {
        let listing: Vec<String> =
            body.iter().enumerate().map(|(at, text)| format!("/*{:04x}*/ {text} ;", 16 * at)).collect();
        let function = Function { name: "k".into(), instructions: sass::parse(&listing.join("\n")).unwrap() };
        violations(&function, pass).into_iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn a_loop_with_its_atomics_and_the_clock_is_what_is_asked_for() {
        assert_eq!(of(&[ADD, ADD, CLOCK, BACK], TWO), []);
        assert_eq!(of(&[ADD, ADD, ADD, ADD, CLOCK, BACK], TWO), []);
        assert_eq!(of(&[SHUFFLED, SHUFFLED, BY_ONE_LANE, CLOCK, BACK], SUMMED), []);
    }

    #[test]
    fn what_does_something_else_is_refused() {
        for body in [
            [ADD, CLOCK, BACK].as_slice(),
            &[ADD, ADD, BACK],
            &[ADD, BY_ONE_LANE, CLOCK, BACK],
            &[ADD, ADD, "STG.E desc[UR4][R8.64], R4", CLOCK, BACK],
            &[ADD, "REDG.E.ADD.64.STRONG.GPU desc[UR4][R2.64], R4", CLOCK, BACK],
            // The compiler has summed up.
            &[SHUFFLED, ADD, ADD, CLOCK, BACK],
        ] {
            assert_eq!(of(body, TWO), [Rule::LoadCount], "{body:?}");
        }
        assert_eq!(of(&[SHUFFLED, BY_ONE_LANE, CLOCK, BACK], SUMMED), [Rule::LoadCount]);
        assert_eq!(of(&[ADD, ADD, CLOCK, BACK, "STL [R2], R1"], TWO), [Rule::ListedLoad]);
    }
}
