//! Which constant loads take the uniform path.
//!
//! A compiler moves a load of constant memory to the uniform data path if it can see that all threads of a warp load from
//! one address. So does the simulator, by the same kind of argument: a value is uniform if everything that it is computed
//! from is. What a load from memory gives is not.

use super::code::{Inst, NONE, Op, Space, Special};

/// Turns constant loads by uniform addresses into [`Space::ConstantUniform`].
pub(super) fn mark(code: &mut [Inst], slots: usize) {
    let mut differs = vec![false; slots];
    loop {
        let mut changed = false;
        for inst in code.iter() {
            if inst.results().all(|slot| slot == NONE || differs[slot as usize]) {
                continue;
            }
            let depends = inst.from.iter().chain([&inst.guard]).any(|&slot| slot != NONE && differs[slot as usize]);
            if depends || source_differs(inst.op) {
                for slot in inst.results() {
                    differs[slot as usize] = true;
                }
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    for inst in code {
        if inst.op == Op::Load(Space::Constant) && !differs[inst.from[0] as usize] {
            inst.op = Op::Load(Space::ConstantUniform);
        }
    }
}

/// Whether an operation gives different values to the threads of a warp whatever its sources.
fn source_differs(op: Op) -> bool {
    match op {
        Op::Special(Special::Thread(_) | Special::Lane | Special::Clock | Special::Clock64 | Special::Timer) => true,
        Op::Load(Space::Constant | Space::ConstantUniform | Space::Parameter) => false,
        Op::Load(_) | Op::Atomic(..) | Op::Texture(_) | Op::Shuffle(_) => true,
        _ => false,
    }
}
