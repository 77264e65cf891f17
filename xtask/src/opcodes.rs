//! Opcodes: which load a path must become on each architecture, and what may stand between clock reads.
//!
//! The loads are those that ptxas 12.9.86 and 13.5.37 emit, exactly. A load that differs in a modifier takes another way
//! through the caches, and so measures something else.

use strata_model::experiment::LoadPath;

use crate::sass::Instruction;

/// The loads that a path may be compiled to for a target, with all modifiers.
///
/// A global load that must be cached is "strong" at the scope that its cache serves: the block up to Turing, the SM
/// after it. `.cg` is strong for the whole GPU, a volatile load for the system. `.nc` is weak and `CONSTANT`.
pub fn loads(target: u32, path: LoadPath) -> &'static [&'static str] {
    let turing = target < 80;
    match path.kernel() {
        LoadPath::GlobalCa if turing => &["LDG.E.64.STRONG.CTA"],
        LoadPath::GlobalCa => &["LDG.E.64.STRONG.SM"],
        LoadPath::GlobalCg => &["LDG.E.64.STRONG.GPU"],
        LoadPath::GlobalNc if turing => &["LDG.E.64.CONSTANT.SYS"],
        LoadPath::GlobalNc => &["LDG.E.64.CONSTANT"],
        LoadPath::Host => &["LDG.E.64.STRONG.SYS"],
        LoadPath::Texture if target < 90 => &["TLD.SCR.B.LZ", "TLD.SCR.LZ"],
        LoadPath::Texture => &["TLD.LZ"],
        LoadPath::Constant => &["LDC"],
        LoadPath::Shared if turing => &["LDS.U"],
        LoadPath::Shared => &["LDS"],
        LoadPath::Local => &["LDL"],
        // Their kernels are those of the GPU's own memory.
        LoadPath::Peer | LoadPath::PeerCa | LoadPath::PeerAtomic => &[],
        LoadPath::Atomic => &["ATOMG.E.ADD.64.STRONG.GPU"],
    }
}

/// The loads of shared memory by all lanes of a warp, so many bytes each.
pub fn warp_loads(target: u32, bytes: u32) -> &'static [&'static str] {
    match (target < 80, bytes) {
        (true, 16) => &["LDS.U.128"],
        (true, 8) => &["LDS.U.64"],
        (true, _) => &["LDS.U"],
        (false, 16) => &["LDS.128"],
        (false, 8) => &["LDS.64"],
        (false, _) => &["LDS"],
    }
}

/// Whether the instruction is a load of this path. A constant load must take its address in bank 3, the module's
/// constants, from a vector register.
pub fn is_load_of(instruction: &Instruction, target: u32, path: LoadPath) -> bool {
    loads(target, path).contains(&instruction.opcode.as_str())
        && (path != LoadPath::Constant
            || instruction.operands.get(1).is_some_and(|operand| operand.starts_with("c[0x3][R")))
}

/// Whether a path has no load in this hardware as far as ptxas is concerned, so that it calls a function instead, which
/// nobody should time.
pub fn is_emulated(target: u32, path: LoadPath) -> bool {
    target == 107 && path == LoadPath::Texture
}

/// Whether ptxas calls a routine for a bulk copy that these opcodes are for.
pub fn is_routine(target: u32, accesses: &[&str]) -> bool {
    matches!(target, 120 | 121) && accesses.iter().any(|opcode| opcode.starts_with("UBLKCP.S.G"))
}

/// Whether the instruction fetches the descriptor that a global load of this target names implicitly.
///
/// From sm_80 to sm_89 it is in bank 0 at 0x118. Where threads of a warp part around a texture load, ptxas fetches it
/// again before each global load, in the timed loop too. It is always the same word, so it adds a constant.
pub fn is_descriptor(instruction: &Instruction, target: u32, path: LoadPath) -> bool {
    use LoadPath::{Atomic, GlobalCa, GlobalCg, GlobalNc, Host};
    let global = matches!(path, GlobalCa | GlobalCg | GlobalNc | Host | Atomic);
    global
        && (80..90).contains(&target)
        && instruction.opcode == "ULDC.64"
        && instruction.operands.get(1).is_some_and(|operand| operand == "c[0x0][0x118]")
}

/// What an instruction does to a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Computes in registers.
    Arithmetic,
    /// Reads or writes memory, constants among them.
    Memory,
    /// Goes elsewhere.
    Branch,
    /// Waits for other threads or for memory.
    Barrier,
    /// Unknown here, so not allowed.
    Unlisted,
}

/// Beginnings of opcodes that access memory: loads and stores, atomics, textures, surfaces, cache control, bulk copies.
const MEMORY: [&str; 19] = [
    "LD", "ULD", "ST", "UST", "ATOM", "RED", "TEX", "TLD", "TXQ", "TXD", "TMML", "SULD", "SUST", "SUATOM", "SURED",
    "CCTL", "UCCTL", "UBLK", "UTMA",
];
/// Beginnings of opcodes that wait.
const BARRIER: [&str; 12] = [
    "BAR",
    "MEMBAR",
    "UCGABAR",
    "SYNCS",
    "DEPBAR",
    "FENCE",
    "BSSY",
    "BSYNC",
    "WARPSYNC",
    "YIELD",
    "NANOSLEEP",
    "ERRBAR",
];
/// Opcodes that go elsewhere.
const BRANCH: [&str; 12] = ["BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "CALL", "RET", "EXIT", "BREAK", "KILL", "BPT"];
/// Opcodes that compute in registers, in a fixed time that is short beside a load's.
const ARITHMETIC: [&str; 34] = [
    "MOV",
    "UMOV",
    "R2UR",
    "SEL",
    "USEL",
    "PRMT",
    "UPRMT",
    "NOP",
    "IMAD",
    "UIMAD",
    "IADD",
    "UIADD",
    "IADD3",
    "UIADD3",
    "VIADD",
    "LEA",
    "ULEA",
    "ISETP",
    "UISETP",
    "PLOP3",
    "UPLOP3",
    "LOP3",
    "ULOP3",
    "SHF",
    "USHF",
    "IMNMX",
    "VIMNMX",
    "UVIMNMX",
    "VIADDMNMX",
    "SGXT",
    "BMSK",
    "P2R",
    "R2P",
    "HFMA2",
];

/// The class of an instruction.
pub fn class(instruction: &Instruction) -> Class {
    // An operand such as c[0x0][0x160] or cx[UR4][0x10] is a load through the constant cache, whatever the opcode.
    let is_constant = |operand: &String| operand.contains("c[") || operand.contains("cx[");
    if instruction.operands.iter().any(|operand| !operand.starts_with("desc[") && is_constant(operand)) {
        return Class::Memory;
    }
    let base = instruction.base();
    let begins = |list: &[&str]| list.iter().any(|beginning| base.starts_with(beginning));
    // `CS2R R2, SRZ` clears a pair of registers.
    let clears = base == "CS2R" && instruction.operands.get(1).is_some_and(|operand| operand == "SRZ");
    if clears || ARITHMETIC.contains(&base) {
        Class::Arithmetic
    } else if BRANCH.contains(&base) {
        Class::Branch
    } else if begins(&BARRIER) {
        Class::Barrier
    } else if may_return_later(instruction) {
        Class::Memory
    } else {
        Class::Unlisted
    }
}

/// Whether its result comes when memory has answered, while instructions after it go on. (An operand that is a constant
/// does not do that.)
pub fn may_return_later(instruction: &Instruction) -> bool {
    MEMORY.iter().any(|beginning| instruction.base().starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sass;

    fn instruction(text: &str) -> Instruction {
        sass::parse(&format!("/*0000*/ {text} ;")).unwrap().remove(0)
    }

    #[test]
    fn a_load_is_told_by_its_cache_modifier() {
        let strong_sm = instruction("LDG.E.64.STRONG.SM R2, desc[UR8][R2.64]");
        assert!(is_load_of(&strong_sm, 90, LoadPath::GlobalCa));
        assert!(!is_load_of(&strong_sm, 75, LoadPath::GlobalCa));
        assert!(!is_load_of(&strong_sm, 90, LoadPath::GlobalCg));
        assert!(!is_load_of(&instruction("LDG.E.64 R2, desc[UR8][R2.64]"), 90, LoadPath::GlobalCa));
    }

    #[test]
    fn a_constant_load_is_indexed_by_a_vector_register() {
        assert!(is_load_of(&instruction("LDC R7, c[0x3][R7]"), 90, LoadPath::Constant));
        assert!(!is_load_of(&instruction("LDC R7, c[0x3][UR7]"), 90, LoadPath::Constant));
        assert!(!is_load_of(&instruction("LDC R7, c[0x0][R7]"), 90, LoadPath::Constant));
        assert!(!is_load_of(&instruction("ULDC UR7, c[0x3][UR7]"), 90, LoadPath::Constant));
    }

    #[test]
    fn a_descriptor_is_no_parameter() {
        let descriptor = instruction("ULDC.64 UR4, c[0x0][0x118]");
        assert!(is_descriptor(&descriptor, 86, LoadPath::GlobalCa));
        assert!(!is_descriptor(&descriptor, 90, LoadPath::GlobalCa));
        assert!(!is_descriptor(&descriptor, 86, LoadPath::Constant));
        assert!(!is_descriptor(&instruction("ULDC.64 UR4, c[0x0][0x160]"), 86, LoadPath::GlobalCa));
    }

    #[test]
    fn classes() {
        let of = |text: &str| class(&instruction(text));
        assert_eq!(of("IADD3 R1, R1, -0x1, RZ"), Class::Arithmetic);
        assert_eq!(of("CS2R R2, SRZ"), Class::Arithmetic);
        assert_eq!(of("IADD3 R1, R1, c[0x0][0x160], RZ"), Class::Memory);
        assert_eq!(of("MOV R1, cx[UR4][0x10]"), Class::Memory);
        assert_eq!(of("LDCU.64 UR4, c[0x0][0x358]"), Class::Memory);
        assert_eq!(of("STS [R1], R2"), Class::Memory);
        assert_eq!(of("ATOMG.E.EXCH R1, [R2], R3"), Class::Memory);
        assert_eq!(of("BRA.U !UP0, 0x10"), Class::Branch);
        assert_eq!(of("BAR.SYNC.DEFER_BLOCKING 0x0"), Class::Barrier);
        assert_eq!(of("DEPBAR.LE SB0, 0x0"), Class::Barrier);
        assert_eq!(of("HMMA.16816.F32 R0, R2, R4, R6"), Class::Unlisted);
    }
}
