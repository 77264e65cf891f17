//! What the machine code of a pattern must look like between its two clock reads: whatever a block does, but no memory is
//! touched in another way than asked for, and nothing stands there that nobody has thought of.

use crate::opcodes::{Class, class};
use crate::rules::{Rule, Violation};
use crate::sass::{Function, Instruction};

/// Opcodes that chases do not have and patterns do: arithmetic, special registers, and what goes with a barrier.
const ARITHMETIC: [&str; 19] = [
    "FFMA",
    "FADD",
    "FMUL",
    "I2F",
    "F2I",
    "MUFU",
    "VOTE",
    "VOTEU",
    "POPC",
    "IABS",
    "LEA",
    "S2R",
    "S2UR",
    "I2FP",
    "UPOPC",
    "UFLO",
    "BMOV",
    "CGAERRBAR",
    "ELECT",
];
/// The constant bank of parameters and descriptors.
const PARAMETERS: &str = "c[0x0]";

/// Checks a function's machine code: one pair of clock reads that take a fixed time, and between them only the listed accesses.
pub fn violations(function: &Function, accesses: &[&str]) -> Vec<Violation> {
    let code = &function.instructions;
    let mut found = Vec::new();
    let mut report = |rule, at: Option<usize>, what: String| {
        found.push(Violation { rule, address: at.map(|index: usize| code[index].address), what });
    };
    let clocks: Vec<usize> = (0..code.len()).filter(|index| code[*index].reads_clock()).collect();
    let &[first, second] = clocks.as_slice() else {
        report(Rule::OnePair, None, format!("the clock is read {} times, not in one pair", clocks.len()));
        return found;
    };
    for clock in [first, second] {
        if !matches!(code[clock].base(), "CS2R" | "CS2UR") {
            report(
                Rule::SynchronousClock,
                Some(clock),
                format!("{} reads the clock at a time of its own", code[clock].opcode),
            );
        }
    }
    let mut listed = 0;
    for (index, instruction) in code.iter().enumerate().take(second).skip(first + 1) {
        let opcode = instruction.opcode.as_str();
        if accesses.iter().any(|access| opcode.starts_with(access)) {
            listed += 1;
            continue;
        }
        match class(instruction) {
            Class::Memory if is_parameter(instruction) => {}
            Class::Memory => {
                report(Rule::ListedLoad, Some(index), format!("{opcode} is none of `{}`", accesses.join("`, `")));
            }
            Class::Unlisted if !ARITHMETIC.contains(&instruction.base()) => {
                report(
                    Rule::KnownInstructions,
                    Some(index),
                    format!("{opcode} is not listed as computing in registers"),
                );
            }
            _ => {}
        }
    }
    // Spilling may or may not happen; everything else does what it is for.
    let may_be_absent = accesses.is_empty() || accesses.contains(&"LDL");
    if listed == 0 && !may_be_absent {
        report(Rule::LoadCount, None, format!("nothing between the clock reads is one of `{}`", accesses.join("`, `")));
    }
    found
}

/// Whether it takes a parameter of the kernel or a descriptor from constant bank 0, which is no access of the pattern's.
pub fn is_parameter(instruction: &Instruction) -> bool {
    let constants: Vec<&String> =
        instruction.operands.iter().filter(|o| o.contains("c[") && !o.starts_with("desc[")).collect();
    !constants.is_empty() && constants.iter().all(|operand| operand.contains(PARAMETERS))
}
