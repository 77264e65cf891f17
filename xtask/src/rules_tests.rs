//! Each rule on machine code of our own kernels, and on that code with one thing changed.

use super::*;
use crate::sass;

/// The timed part of a per-load chase along `ld.global.ca`, as ptxas makes it for sm_90.
const PER_LOAD: &str = "
    /*0000*/ LDC.64 R2, c[0x0][0x210] ;
    /*0010*/ ULDC.64 UR8, c[0x0][0x208] ;
    /*0020*/ ISETP.NE.U32.AND P1, PT, R2, RZ, PT ;
    /*0030*/ @!P1 EXIT ;
    /*0040*/ ISETP.NE.U64.AND P1, PT, UR8, RZ, PT ;
    /*0050*/ CS2R R4, SR_CLOCKLO ;
    /*0060*/ LDG.E.64.STRONG.SM R2, desc[UR8][R2.64] ;
    /*0070*/ ISETP.NE.U32.AND P0, PT, R2, RZ, PT ;
    /*0080*/ ISETP.NE.U32.AND.EX P0, PT, R3, RZ, PT, P0 ;
    /*0090*/ CS2R R6, SR_CLOCKLO ;
    /*00a0*/ SEL R7, R6, RZ, P0 ;
    /*00b0*/ IMAD.IADD R4, R7, 0x1, -R4 ;
    /*00c0*/ STS [UR6], R4 ;
    /*00d0*/ @!P1 BRA 0x50 ;
    /*00e0*/ EXIT ;";

/// The timed part of a whole-lap chase along `ld.const`, as ptxas makes it for sm_90, with half the loads.
const LAP: &str = "
    /*0000*/ CS2R R6, SR_CLOCKLO ;
    /*0010*/ LDC R17, c[0x3][R12] ;
    /*0020*/ VIADD R14, R14, 0xffffffff ;
    /*0030*/ ISETP.NE.U32.AND P0, PT, R14, RZ, PT ;
    /*0040*/ LDC R10, c[0x3][R17] ;
    /*0050*/ LDC R10, c[0x3][R10] ;
    /*0060*/ LDC R12, c[0x3][R10] ;
    /*0070*/ @P0 BRA 0x10 ;
    /*0080*/ ISETP.NE.U32.AND P0, PT, R12, -0x1, PT ;
    /*0090*/ CS2R R10, SR_CLOCKLO ;
    /*00a0*/ SEL R13, R10, R15, P0 ;
    /*00b0*/ EXIT ;";

fn function(listing: &str) -> Function {
    Function { name: "kernel".to_owned(), instructions: sass::parse(listing).unwrap() }
}

/// The rules that a per-load chase with this many loads breaks, each once.
fn broken_per_load(listing: &str, loads: u32) -> Vec<Rule> {
    let violations = violations(&function(listing), 90, Check::PerLoad { path: LoadPath::GlobalCa, loads });
    once(violations.into_iter().map(|violation| violation.rule).collect())
}

/// The rules that a whole-lap chase breaks, each once.
fn broken_lap(listing: &str) -> Vec<Rule> {
    let violations = violations(&function(listing), 90, Check::Lap { path: LoadPath::Constant });
    once(violations.into_iter().map(|violation| violation.rule).collect())
}

fn once(mut rules: Vec<Rule>) -> Vec<Rule> {
    rules.dedup();
    rules
}

/// [`PER_LOAD`] with the instruction at an address replaced. Several instructions are put one byte apart.
fn per_load_with(address: &str, instructions: &[&str]) -> String {
    replaced(PER_LOAD, address, instructions)
}

fn replaced(listing: &str, address: &str, instructions: &[&str]) -> String {
    let start = u64::from_str_radix(address, 16).unwrap();
    let prefix = format!("/*{address}*/");
    assert!(listing.contains(&prefix), "{address}");
    let lines = listing.lines().map(|line| {
        if !line.trim().starts_with(&prefix) {
            return line.to_owned() + "\n";
        }
        instructions.iter().zip(start..).map(|(text, at)| format!("/*{at:04x}*/ {text} ;\n")).collect()
    });
    lines.collect()
}

const LOAD: &str = "LDG.E.64.STRONG.SM R2, desc[UR8][R2.64]";

#[test]
fn good_code_breaks_no_rule() {
    assert_eq!(broken_per_load(PER_LOAD, 1), []);
    assert_eq!(broken_per_load(&per_load_with("0060", &[LOAD, LOAD]), 2), []);
    assert_eq!(broken_lap(LAP), []);
    assert_eq!(violations(&function("/*0000*/ EXIT ;"), 90, Check::None), []);
}

#[test]
fn one_pair_of_clock_reads() {
    assert_eq!(broken_per_load(&per_load_with("0050", &["NOP"]), 1), [Rule::OnePair]);
    assert_eq!(broken_per_load(&per_load_with("00a0", &["CS2R R8, SR_CLOCKLO"]), 1), [Rule::OnePair]);
    assert_eq!(broken_per_load(&per_load_with("0050", &["@P1 CS2R R4, SR_CLOCKLO"]), 1), [Rule::OnePair]);
}

#[test]
fn the_clock_is_read_synchronously() {
    assert_eq!(broken_per_load(&per_load_with("0050", &["CS2UR UR10, SR_CLOCKLO"]), 1), []);
    assert_eq!(broken_per_load(&per_load_with("0050", &["S2UR UR7, SR_CLOCKLO"]), 1), [Rule::SynchronousClock]);
}

#[test]
fn only_the_listed_load() {
    // Another cache operator, an uncached store, a parameter, a parameter as an operand, the uniform path.
    for instructions in [
        [LOAD, "LDG.E.64.STRONG.GPU R8, desc[UR8][R10.64]"],
        [LOAD, "STS [UR6], R2"],
        ["LDC R9, c[0x0][0x220]", LOAD],
        ["IADD3 R9, R9, c[0x0][0x220], RZ", LOAD],
        ["LDCU.64 UR10, c[0x0][0x358]", LOAD],
    ] {
        assert_eq!(broken_per_load(&per_load_with("0060", &instructions), 1), [Rule::ListedLoad], "{instructions:?}");
    }
    let uniform = replaced(LAP, "0050", &["LDC R10, c[0x3][UR10]"]);
    assert!(broken_lap(&uniform).contains(&Rule::ListedLoad));
}

#[test]
fn the_number_of_loads() {
    assert_eq!(broken_per_load(PER_LOAD, 2), [Rule::LoadCount]);
    assert_eq!(broken_per_load(&per_load_with("0060", &[LOAD, LOAD]), 1), [Rule::LoadCount]);
    let few = replaced(&replaced(LAP, "0050", &["NOP"]), "0060", &["LDC R12, c[0x3][R10]"]);
    assert_eq!(broken_lap(&few), [Rule::LoadCount]);
    let outside = replaced(LAP, "0080", &["LDC R12, c[0x3][R12]", "ISETP.NE.U32.AND P0, PT, R12, -0x1, PT"]);
    assert_eq!(broken_lap(&outside), [Rule::LoadCount]);
}

#[test]
fn a_load_is_executed() {
    let guarded = format!("@P1 {LOAD}");
    assert_eq!(broken_per_load(&per_load_with("0060", &[&guarded]), 1), [Rule::UnguardedLoad]);
}

#[test]
fn loads_are_a_chain() {
    let apart = ["LDG.E.64.STRONG.SM R8, desc[UR8][R10.64]", LOAD];
    assert_eq!(broken_per_load(&per_load_with("0060", &apart), 2), [Rule::Chain]);
    let moved = [LOAD, "MOV R8, R2", "LDG.E.64.STRONG.SM R2, desc[UR8][R8.64]"];
    assert_eq!(broken_per_load(&per_load_with("0060", &moved), 2), [Rule::Chain]);
    // The loop's first load does not go on where its last one ended.
    assert_eq!(broken_lap(&replaced(LAP, "0010", &["LDC R17, c[0x3][R9]"])), [Rule::Chain]);
}

#[test]
fn the_second_read_waits_for_the_last_load() {
    let unused = replaced(&per_load_with("0070", &["NOP"]), "0080", &["NOP"]);
    // So it is still under way when the loop comes back to the first read.
    assert_eq!(broken_per_load(&unused, 1), [Rule::Consumer, Rule::Settled]);
    assert_eq!(broken_lap(&replaced(LAP, "0080", &["NOP"])), [Rule::Consumer]);
}

#[test]
fn nothing_is_under_way_at_the_first_read() {
    let earlier = per_load_with("0040", &["ISETP.NE.U64.AND P1, PT, UR8, RZ, PT", LOAD]);
    assert_eq!(broken_per_load(&earlier, 1), [Rule::Settled]);
    let used = per_load_with("0040", &[LOAD, "ISETP.NE.U64.AND P1, PT, R2, UR8, PT"]);
    assert_eq!(broken_per_load(&used, 1), []);
}

#[test]
fn the_way_is_straight() {
    for leaves in ["@P1 BRA 0xe0", "@P1 EXIT", "CALL.REL.NOINC 0xe0"] {
        let listing = per_load_with("0080", &[leaves, "ISETP.NE.U32.AND.EX P0, PT, R3, RZ, PT, P0"]);
        assert_eq!(broken_per_load(&listing, 1), [Rule::StraightLine], "{leaves}");
    }
    // A way into the middle.
    assert_eq!(broken_per_load(&per_load_with("00d0", &["@!P1 BRA 0x60"]), 1), [Rule::StraightLine]);
    // A loop that is not there, one too many, and a jump into it.
    assert_eq!(broken_lap(&replaced(LAP, "0070", &["NOP"])), [Rule::StraightLine]);
    assert_eq!(broken_lap(&replaced(LAP, "0080", &["@P0 BRA 0x10", "MOV R1, R12"])), [Rule::StraightLine]);
    assert_eq!(broken_lap(&replaced(LAP, "00a0", &["@P0 BRA 0x40"])), [Rule::StraightLine]);
}

#[test]
fn no_barrier() {
    for waits in ["BAR.SYNC.DEFER_BLOCKING 0x0", "MEMBAR.SC.GPU", "WARPSYNC.ALL", "DEPBAR.LE SB0, 0x0"] {
        assert_eq!(broken_per_load(&per_load_with("0060", &[waits, LOAD]), 1), [Rule::NoBarrier], "{waits}");
    }
}

#[test]
fn unknown_instructions_are_refused() {
    assert_eq!(broken_per_load(&per_load_with("0060", &["FROB R9, R9", LOAD]), 1), [Rule::KnownInstructions]);
}

#[test]
fn an_emulated_load_is_not_timed() {
    assert!(apply(90, Check::Lap { path: LoadPath::Texture }));
    assert!(!apply(107, Check::Lap { path: LoadPath::Texture }));
    assert!(!apply(90, Check::None));
}

#[test]
fn the_excerpt_marks_what_is_wrong() {
    let function = function(&per_load_with("0060", &["BAR.SYNC 0x0", LOAD]));
    let violations = violations(&function, 90, Check::PerLoad { path: LoadPath::GlobalCa, loads: 1 });
    assert_eq!(violations[0].to_string(), "NoBarrier: BAR.SYNC waits (at 0x0060)");
    let excerpt = excerpt(&function, &violations);
    assert!(excerpt.contains("  > /*0060*/       BAR.SYNC 0x0 ;\n    /*0061*/       LDG.E.64.STRONG.SM"), "{excerpt}");
}

#[test]
fn a_warps_loads_have_the_width_that_is_asked_for() {
    let wide = |opcode: &str| {
        let loads = ["R20, [R4]", "R20, [R20]", "R24, [R20]", "R4, [R24]"];
        let loads: String = (1..).zip(loads).map(|(i, l)| format!("/*00{i}0*/ {opcode} {l} ;\n")).collect();
        format!(
            "/*0000*/ CS2R R6, SR_CLOCKLO ;\n{loads}/*0050*/ @P0 BRA 0x10 ;\n/*0060*/ ISETP.NE.U32.AND P0, PT, R4, -0x1, PT ;\n\
             /*0070*/ CS2R R10, SR_CLOCKLO ;\n/*0080*/ EXIT ;"
        )
    };
    let broken = |opcode, target, bytes| {
        once(violations(&function(&wide(opcode)), target, Check::Warp { bytes }).into_iter().map(|v| v.rule).collect())
    };
    for (opcode, target, bytes) in [("LDS", 90, 4), ("LDS.64", 90, 8), ("LDS.128", 80, 16), ("LDS.U.128", 75, 16)] {
        assert_eq!(broken(opcode, target, bytes), [], "{opcode}");
    }
    // A compiler that loads no more than what is used.
    assert!(broken("LDS", 90, 16).contains(&Rule::ListedLoad));
    assert!(broken("LDS.64", 90, 16).contains(&Rule::ListedLoad));
}

#[test]
fn blocks_of_code_begin_where_the_text_says() {
    let check = Check::Laid { bytes: 64, block: 32 };
    let listing = |second: &str| {
        format!(
            "/*0000*/ CS2R.32 R0, SR_CLOCKLO ;\n/*0010*/ @P0 BRA 0x20 ;\n/*0020*/ PMTRIG 0x1 ;\n/*0030*/ {second} ;\n\
             /*0040*/ PMTRIG 0x1 ;\n/*0050*/ BSYNC B0 ;\n/*0060*/ CS2R.32 R1, SR_CLOCKLO ;"
        )
    };
    assert_eq!(violations(&function(&listing("ISETP.LE.U32.AND P1, PT, R8, 0x1, PT")), 90, check), []);
    // A block that begins elsewhere, and fewer bytes than the blocks have.
    assert_eq!(violations(&function(&listing("PMTRIG 0x1")), 90, check)[0].rule, Rule::Layout);
    assert_eq!(violations(&function("/*0000*/ CS2R.32 R0, SR_CLOCKLO ;"), 90, check)[0].rule, Rule::Layout);
}
