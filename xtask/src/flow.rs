//! What may have happened when an instruction is reached: which registers still wait for memory.

use std::collections::BTreeSet;

use crate::opcodes::may_return_later;
use crate::sass::{Instruction, Register};

/// Registers whose load may not have come back when the instruction with this index is reached.
///
/// Instructions issue in order, and one that touches a register waits for a load into it. So a load's destination is in
/// flight until an instruction reads or overwrites it.
pub fn in_flight_at(code: &[Instruction], index: usize) -> BTreeSet<Register> {
    let mut before: Vec<Option<BTreeSet<Register>>> = vec![None; code.len()];
    let mut open = vec![(0, BTreeSet::new())];
    while let Some((at, incoming)) = open.pop() {
        let Some(known) = before.get_mut(at) else { continue };
        let merged: BTreeSet<Register> = known.iter().flatten().copied().chain(incoming).collect();
        if known.as_ref() == Some(&merged) {
            continue;
        }
        *known = Some(merged.clone());
        let after = step(&code[at], merged);
        open.extend(successors(code, at).into_iter().map(|next| (next, after.clone())));
    }
    before[index].clone().unwrap_or_default()
}

fn step(instruction: &Instruction, mut in_flight: BTreeSet<Register>) -> BTreeSet<Register> {
    let written = instruction.written();
    for register in instruction.read().iter().chain(&written).chain(&instruction.guard_register()) {
        in_flight.remove(register);
        // Of a pair, only the first register is named; both came with one load.
        in_flight.remove(&Register { number: register.number + 1, ..*register });
    }
    if may_return_later(instruction) {
        in_flight.extend(written);
    }
    in_flight
}

/// Indices of the instructions that may follow.
fn successors(code: &[Instruction], at: usize) -> Vec<usize> {
    let instruction = &code[at];
    let index_of = |address: u64| code.iter().position(|other| other.address == address);
    match instruction.base() {
        "BRA" => {
            let on = instruction.is_conditional().then_some(at + 1);
            instruction.branch.and_then(index_of).into_iter().chain(on).collect()
        }
        "EXIT" | "RET" if !instruction.is_conditional() => Vec::new(),
        // Goes to where the BSSY of the same barrier said that paths meet again: mostly here.
        "BSYNC" => {
            let same =
                code.iter().filter(|other| other.base() == "BSSY" && other.operands[0] == instruction.operands[0]);
            let meetings: Vec<usize> = same.filter_map(|other| other.branch).filter_map(index_of).collect();
            if meetings.iter().any(|meeting| [at, at + 1].contains(meeting)) { vec![at + 1] } else { meetings }
        }
        _ => vec![at + 1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sass;

    fn in_flight(listing: &str, index: usize) -> Vec<String> {
        let code = sass::parse(listing).unwrap();
        in_flight_at(&code, index).iter().map(|register| format!("{:?}{}", register.file, register.number)).collect()
    }

    #[test]
    fn a_load_is_in_flight_until_its_result_is_touched() {
        let listing = "
            /*0000*/ LDG.E.64.STRONG.SM R2, [R4.64] ;
            /*0010*/ IADD3 R8, R8, 0x1, RZ ;
            /*0020*/ MOV R9, R2 ;
            /*0030*/ EXIT ;";
        assert_eq!(in_flight(listing, 2), ["Vector2", "Vector3"]);
        assert_eq!(in_flight(listing, 3), [""; 0]);
    }

    #[test]
    fn both_ways_to_an_instruction_count() {
        let listing = "
            /*0000*/ @P0 BRA 0x30 ;
            /*0010*/ LDS R2, [R4] ;
            /*0020*/ LDS R5, [R2] ;
            /*0030*/ MOV R6, RZ ;
            /*0040*/ EXIT ;";
        assert_eq!(in_flight(listing, 3), ["Vector5"]);
    }

    #[test]
    fn loops_end() {
        let listing = "
            /*0000*/ MOV R6, RZ ;
            /*0010*/ LDS R2, [R2] ;
            /*0020*/ @P0 BRA 0x0 ;
            /*0030*/ BRA 0x30 ;";
        assert_eq!(in_flight(listing, 0), ["Vector2"]);
    }
}
