//! Which constant loads take the uniform path.
//!
//! A compiler moves a load of constant memory to the uniform data path if it can see that all threads of a warp load from
//! one address. So does the simulator, by the same kind of argument, along the flow of the program:
//!
//! - A register differs between threads from where a value that differs is put into it, until another value replaces it.
//!   What a load from memory gives differs.
//! - Between a branch on a predicate that differs and the place where all its ways meet again, the threads of a warp may be in
//!   different places. What is computed there differs, and a load there is no load of the whole warp. Threads that a branch
//!   ends do not count: those that go on are together.

use super::code::{Inst, NONE, Op, Space, Special};

/// A set of numbers: slots, or places in the program.
#[derive(Clone, PartialEq)]
struct Set(Vec<u64>);

impl Set {
    fn new(most: usize) -> Self {
        Set(vec![0; most.div_ceil(64)])
    }

    fn full(most: usize) -> Self {
        Set(vec![u64::MAX; most.div_ceil(64)])
    }

    fn has(&self, one: usize) -> bool {
        self.0[one / 64] >> (one % 64) & 1 == 1
    }

    fn put(&mut self, one: usize, is_in: bool) {
        let bit = 1 << (one % 64);
        if is_in {
            self.0[one / 64] |= bit;
        } else {
            self.0[one / 64] &= !bit;
        }
    }

    /// Adds another set; whether that changed anything.
    fn join(&mut self, other: &Set) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            changed |= *theirs & !*mine != 0;
            *mine |= theirs;
        }
        changed
    }

    fn meet(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine &= theirs);
    }
}

/// Instructions that are carried out one after the other, if the first of them is.
struct Block {
    from: usize,
    to: usize,
    /// Blocks that may follow.
    next: Vec<usize>,
}

/// Turns constant loads by uniform addresses into [`Space::ConstantUniform`].
pub(super) fn mark(code: &mut [Inst], slots: usize) {
    // Most programs have none.
    if !code.iter().any(is_constant_load) {
        return;
    }
    let blocks = blocks(code);
    let meet_again = meeting_places(&blocks);
    // Blocks in which the threads of a warp may be in different places.
    let mut apart = Set::new(blocks.len());
    let differs = loop {
        let differs = differing(code, &blocks, &apart, slots);
        let mut more = Set::new(blocks.len());
        for (number, block) in blocks.iter().enumerate() {
            if block.next.len() > 1 && leaves_apart(code, block, &apart, number, &differs[number]) {
                more.join(&between(&blocks, number, meet_again[number]));
            }
        }
        if !apart.join(&more) {
            break differs;
        }
    };
    for (number, block) in blocks.iter().enumerate() {
        let mut differs = differs[number].clone();
        for inst in &mut code[block.from..block.to] {
            if is_constant_load(inst) && !apart.has(number) && !differs.has(inst.from[0].into()) {
                inst.op = Op::Load(Space::ConstantUniform);
            }
            step(inst, apart.has(number), &mut differs);
        }
    }
}

fn is_constant_load(inst: &Inst) -> bool {
    inst.op == Op::Load(Space::Constant)
}

/// The blocks of a program, in order. A branch that ends threads, and a return under a predicate, lead on only: what is asked is
/// asked of the threads that go on.
fn blocks(code: &[Inst]) -> Vec<Block> {
    let goes_on = |inst: &Inst| !matches!(inst.op, Op::Return) || inst.guard != NONE;
    let target = |inst: &Inst| match inst.op {
        Op::Branch(to) if inst.guard == NONE || goes_on(&code[to as usize]) => Some(to as usize),
        _ => None,
    };
    let mut begins = vec![false; code.len() + 1];
    begins[0] = true;
    for (at, inst) in code.iter().enumerate() {
        if matches!(inst.op, Op::Branch(_) | Op::Return) {
            begins[at + 1] = true;
        }
        if let Some(to) = target(inst) {
            begins[to] = true;
        }
    }
    let starts: Vec<usize> = (0..code.len()).filter(|&at| begins[at]).collect();
    let block_of = |at: usize| starts.partition_point(|&start| start <= at) - 1;
    let one = |(number, &from): (usize, &usize)| {
        let to = starts.get(number + 1).copied().unwrap_or(code.len());
        let last = &code[to - 1];
        let falls = goes_on(last) && (!matches!(last.op, Op::Branch(_)) || last.guard != NONE);
        let mut next: Vec<usize> = target(last).map(block_of).into_iter().collect();
        if falls && to < code.len() && !next.contains(&(number + 1)) {
            next.push(number + 1);
        }
        Block { from, to, next }
    };
    starts.iter().enumerate().map(one).collect()
}

/// Of each block, the first one that every way from it to the end goes through; none, if there is none.
fn meeting_places(blocks: &[Block]) -> Vec<Option<usize>> {
    // Of each block, those that every way from it to the end goes through, itself among them.
    let mut through: Vec<Set> = vec![Set::full(blocks.len()); blocks.len()];
    loop {
        let mut changed = false;
        for (number, block) in blocks.iter().enumerate().rev() {
            let mut all = match block.next.as_slice() {
                [] => Set::new(blocks.len()),
                [first, others @ ..] => {
                    let mut all = through[*first].clone();
                    others.iter().for_each(|&other| all.meet(&through[other]));
                    all
                }
            };
            all.put(number, true);
            changed |= all != through[number];
            through[number] = all;
        }
        if !changed {
            break;
        }
    }
    let count = |of: &Set| (0..blocks.len()).filter(|&block| of.has(block)).count();
    let counts: Vec<usize> = through.iter().map(count).collect();
    // The nearest of them has all the others before it.
    let nearest = |number: usize| {
        let others = (0..blocks.len()).filter(|&other| other != number && through[number].has(other));
        others.max_by_key(|&other| counts[other])
    };
    (0..blocks.len()).map(nearest).collect()
}

/// The blocks on the ways from one to another, without these two, but with the first where a way leads back to it.
fn between(blocks: &[Block], from: usize, to: Option<usize>) -> Set {
    let mut found = Set::new(blocks.len());
    let mut open = blocks[from].next.clone();
    while let Some(block) = open.pop() {
        if Some(block) != to && !found.has(block) {
            found.put(block, true);
            open.extend(&blocks[block].next);
        }
    }
    found
}

/// The slots that may differ between threads where each block begins.
fn differing(code: &[Inst], blocks: &[Block], apart: &Set, slots: usize) -> Vec<Set> {
    let mut begin = vec![Set::new(slots); blocks.len()];
    let mut open: Vec<usize> = (0..blocks.len()).rev().collect();
    while let Some(number) = open.pop() {
        let mut differs = begin[number].clone();
        code[blocks[number].from..blocks[number].to]
            .iter()
            .for_each(|inst| step(inst, apart.has(number), &mut differs));
        for &next in &blocks[number].next {
            if begin[next].join(&differs) {
                open.push(next);
            }
        }
    }
    begin
}

/// What an instruction changes.
fn step(inst: &Inst, is_apart: bool, differs: &mut Set) {
    let read = |slot: &u16| *slot != NONE && differs.has((*slot).into());
    let result = is_apart || source_differs(inst.op) || inst.from.iter().chain([&inst.guard]).any(read);
    for slot in inst.results().filter(|&slot| slot != NONE) {
        // Under a predicate the old value may be left.
        let kept = inst.guard != NONE && differs.has(slot.into());
        differs.put(slot.into(), result || kept);
    }
}

/// Whether the threads of a warp may go different ways at the end of a block; `differs` is what differs where it begins.
fn leaves_apart(code: &[Inst], block: &Block, apart: &Set, number: usize, differs: &Set) -> bool {
    let mut differs = differs.clone();
    code[block.from..block.to].iter().for_each(|inst| step(inst, apart.has(number), &mut differs));
    differs.has(code[block.to - 1].guard.into())
}

/// Whether an operation gives different values to the threads of a warp whatever its sources.
fn source_differs(op: Op) -> bool {
    match op {
        Op::Special(Special::Thread(_) | Special::Lane | Special::Clock | Special::Clock64 | Special::Timer) => true,
        Op::Load(Space::Constant | Space::ConstantUniform | Space::Parameter) => false,
        Op::Load(_) | Op::Atomic(..) | Op::Texture(_) | Op::Sample | Op::Shuffle(_) => true,
        _ => false,
    }
}
