//! The inner loop of a chase, found in the instructions: loads that depend on each other, a counter, and the way back.
//!
//! It is known by what its instructions do, not by the name of the kernel that it is in. So whoever carries such a loop out as a
//! whole does what the instructions say, whichever program they are part of.

use super::code::{Atomic, Compare, Entry, Inst, NONE, Op, Space, Type};

/// A loop of so many loads, each of which gives the place of the next, and a counter that ends it:
///
/// ```text
/// again: ld  place, [place];    (so many times, all alike)
///        add count, count, step;
///        setp.ne more, count, end;
///        @more bra again;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Loads of one pass.
    pub loads: u32,
    /// Loads of a pass before the counter changes.
    pub counts_after: u32,
    /// Loads of a pass before the counter is compared.
    pub compares_after: u32,
    /// Slot of the place in the chain.
    pub place: u16,
    /// Slot of the counter.
    pub count: u16,
    /// Type of the counter.
    pub kind: Type,
    /// What each pass adds to the counter.
    pub step: u64,
    /// The counter that ends the loop.
    pub end: u64,
    /// Slot of the predicate that says whether it goes on.
    pub more: u16,
}

impl Walk {
    /// Instructions of the loop besides its loads: the count, the comparison, the branch.
    pub const OTHERS: u32 = 3;

    /// Instructions of one pass.
    pub fn instructions(&self) -> u32 {
        self.loads + Self::OTHERS
    }

    /// Instructions of a pass before its load of this number.
    pub fn before(&self, load: u32) -> u32 {
        load + u32::from(self.counts_after <= load) + u32::from(self.compares_after <= load)
    }
}

/// The walks of an entry: of each instruction, the one that begins there.
pub(super) fn find(entry: &Entry) -> Vec<Option<Walk>> {
    (0..entry.code.len()).map(|at| walk_at(entry, at)).collect()
}

/// The slot that a load takes its place from, if it is a load that a walk may be made of.
fn place_of(inst: &Inst) -> Option<u16> {
    let place = match inst.op {
        Op::Load(Space::Parameter | Space::Generic | Space::Cluster) => return None,
        Op::Load(_) | Op::Atomic(Atomic::Add, Space::GlobalCa) => inst.from[0],
        Op::Texture(1) => inst.from[1],
        _ => return None,
    };
    let chained = place != NONE && place == inst.to && inst.further == 0 && inst.guard == NONE;
    chained.then_some(place)
}

fn walk_at(entry: &Entry, at: usize) -> Option<Walk> {
    let code = &entry.code;
    let first = &code[at];
    let place = place_of(first)?;
    let alike = |inst: &Inst| Inst { line: first.line, ..*inst } == *first;
    let end = code[at..].iter().position(|inst| matches!(inst.op, Op::Branch(_)))?;
    let (body, branch) = (&code[at..at + end], &code[at + end]);
    let others: Vec<usize> = (0..body.len()).filter(|&i| !alike(&body[i])).collect();
    let &[counts_at, compares_at] = others.as_slice() else { return None };
    let (count, compare) = (&body[counts_at], &body[compares_at]);
    let constant = |slot: u16| entry.constants.iter().find(|(s, _)| *s == slot).map(|(_, value)| *value);
    let walk = Walk {
        loads: u32::try_from(body.len() - others.len()).ok()?,
        counts_after: u32::try_from(counts_at).ok()?,
        compares_after: u32::try_from(compares_at - 1).ok()?,
        place,
        count: count.to,
        kind: count.kind,
        step: constant(count.from[1])?,
        end: constant(compare.from[1])?,
        more: compare.to,
    };
    let counts = count.op == Op::Add && count.from[0] == count.to && count.guard == NONE;
    let compares = compare.op == Op::Set(Compare::Ne)
        && compare.kind == count.kind
        && compare.from[0] == count.to
        && compare.guard == NONE;
    let returns = branch.op == Op::Branch(at as u32) && branch.guard == compare.to && !branch.negated;
    // What a load needs besides its place must not change from pass to pass.
    let (read, written) = (first.from, [place, count.to, compare.to]);
    let apart = written[0] != written[1] && written[1] != written[2] && written[0] != written[2];
    let fixed = !written.contains(&NONE) && read.iter().all(|slot| *slot == place || !written.contains(slot));
    (counts && compares && returns && apart && fixed).then_some(walk)
}

#[cfg(test)]
mod tests {
    use super::super::module;

    fn loads_of_walks(body: &str) -> Vec<u32> {
        let text = format!(
            ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n.reg .u64 %p, %o;\n.reg .u32 %n, \
             %m;\n.reg .pred %z, %y;\n{body}\nret;\n}}"
        );
        let entry = &module(&text).unwrap().entries["k"];
        entry.walks.iter().flatten().map(|walk| walk.loads).collect()
    }

    #[test]
    fn a_chase_is_found_with_its_loads() {
        let end = "add.u32 %n, %n, -1;\nsetp.ne.u32 %z, %n, 0;\n@%z bra again;";
        assert_eq!(loads_of_walks(&format!("again:\nld.global.ca.u64 %p, [%p];\n{end}")), [1]);
        let four = "ld.global.cg.u64 %p, [%p];\n".repeat(4);
        assert_eq!(loads_of_walks(&format!("again:\n{four}{end}")), [4]);
        let [count, compare, back] = end.split_inclusive('\n').collect::<Vec<_>>()[..] else { unreachable!() };
        let two = "ld.global.cg.u64 %p, [%p];\n".repeat(2);
        assert_eq!(loads_of_walks(&format!("again:\n{two}{count}{two}{compare}{two}{back}")), [6]);
        assert_eq!(loads_of_walks(&format!("again:\natom.global.add.u64 %p, [%p], 0;\n{end}")), [1]);
    }

    #[test]
    fn what_is_only_like_a_chase_is_not_taken_for_one() {
        let load = "ld.global.ca.u64 %p, [%p];";
        let others = [
            // The loads do not depend on each other, are guarded, or are unlike.
            "again:\nld.global.ca.u64 %o, [%p];\nadd.u32 %n, %n, -1;\nsetp.ne.u32 %z, %n, 0;\n@%z bra again;"
                .to_owned(),
            format!("again:\n@%y {load}\nadd.u32 %n, %n, -1;\nsetp.ne.u32 %z, %n, 0;\n@%z bra again;"),
            format!(
                "again:\n{load}\nld.global.cg.u64 %p, [%p];\nadd.u32 %n, %n, -1;\nsetp.ne.u32 %z, %n, 0;\n@%z bra again;"
            ),
            // The counter is another one, its step is not known, the comparison is of another, the way back goes elsewhere.
            format!("again:\n{load}\nadd.u32 %n, %m, -1;\nsetp.ne.u32 %z, %n, 0;\n@%z bra again;"),
            format!("again:\n{load}\nadd.u32 %n, %n, %m;\nsetp.ne.u32 %z, %n, 0;\n@%z bra again;"),
            format!("again:\n{load}\nadd.u32 %n, %n, -1;\nsetp.ne.u32 %z, %m, 0;\n@%z bra again;"),
            format!("again:\n{load}\nadd.u32 %n, %n, -1;\nsetp.ne.u32 %z, %n, 0;\n@!%z bra again;"),
            format!("again:\n{load}\nadd.u32 %n, %n, -1;\nsetp.ne.u32 %z, %n, 0;\n@%y bra again;"),
            format!(
                "add.u32 %m, %m, 1;\nagain:\nmov.u32 %m, 1;\n{load}\nadd.u32 %n, %n, -1;\nsetp.ne.u32 %z, %n, 0;\n@%z bra again;"
            ),
        ];
        for body in others {
            assert_eq!(loads_of_walks(&body), [0; 0], "{body}");
        }
    }
}
