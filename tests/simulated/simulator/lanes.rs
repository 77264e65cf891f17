//! What lanes of a warp cost each other that want different things, or that want one thing each for itself.

use strata_gpu::Error;
use strata_sim::machine::Machine;

use super::{machine, parsed, run, text};

const REGISTERS: &str = ".reg .u64 %m, %t0, %t1, %a, %w;\n.reg .u32 %i, %v;\n.reg .pred %p;\nld.param.u64 %m, [memory];\n\
                         mov.u32 %i, %tid.x;\n";

/// Cycles of one access of `threads` lanes: `address` leaves lane `%i`'s in `%a`, `access` is made twice, once to warm the
/// caches, and leaves something in `%v`.
fn cycles(machine: Machine, address: &str, access: &str, threads: u32) -> u64 {
    let body = format!(
        "{REGISTERS}{address}\n{access}\nsetp.ne.u32 %p, %v, 77;\n@%p mov.u64 %t0, %clock64;\n{access}\n\
         setp.ne.u32 %p, %v, 77;\n@%p mov.u64 %t1, %clock64;\nsub.u64 %t1, %t1, %t0;\nst.global.u64 [%m], %t1;\nret;"
    );
    run(machine, &body, threads, 0, 1).unwrap_or_else(|error| panic!("{error}"))[0]
}

#[test]
fn different_words_of_constant_memory_are_served_one_after_the_other() {
    let load = |extra: &str, words: u32, stride: u32, kind: &str| {
        let address = format!(
            "mov.u64 %a, bank;\nrem.u32 %i, %i, {words};\nmul.lo.u32 %i, %i, {stride};\ncvt.u64.u32 %w, %i;\nadd.u64 %a, %a, %w;"
        );
        cycles(machine(extra), &address, &format!("ld.const.{kind} %v, [%a];"), 32)
    };
    for (extra, each) in [("", 4), ("[pipeline]\nconstant_word = 9\n", 9), ("[pipeline]\nconstant_word = 0\n", 0)] {
        let one = load(extra, 1, 4, "u32");
        for words in [2, 5, 16, 32] {
            for stride in [4, 64] {
                assert_eq!(
                    load(extra, words, stride, "u32") - one,
                    each * (u64::from(words) - 1),
                    "{words} words of {stride} B"
                );
            }
        }
        // Bytes of one word are had at once.
        assert_eq!(load(extra, 4, 1, "u8"), one);
    }
}

#[test]
fn a_uniform_constant_is_had_at_once_whatever_a_word_costs() {
    let load = |extra: &str| cycles(machine(extra), "mov.u64 %a, bank;", "ld.const.u32 %v, [%a+64];", 32);
    assert_eq!(load("[pipeline]\nconstant_word = 50\n"), load(""));
}

/// A path of uniform constants that is quicker than that of the others.
const UNIFORM: &str = "[path.constant_uniform]\nlevels = [\"l1\", \"l2\"]\ncycles = [25, 200]\nmemory = 500\n";

#[test]
fn what_is_uniform_follows_the_flow_of_the_program() {
    let load = |address: &str| cycles(machine(UNIFORM), address, "ld.const.u32 %v, [%a+64];", 32);
    let (base, by_lane) = ("mov.u64 %a, bank;", "setp.eq.u32 %p, %i, 0;");
    let nothing_by_lane = "cvt.u64.u32 %w, %i;\nmul.lo.u64 %w, %w, 0;";
    let uniform = load(base);
    assert_eq!(load(&format!("{base}\n{nothing_by_lane}\nadd.u64 %a, %a, %w;")) - uniform, 5);
    let by_parameter = "ld.param.u64 %w, [number];\nsetp.eq.u64 %p, %w, 0;";
    let two_ways = "@%p bra other;\nmov.u64 %a, bank;\nbra join;\nother:\nmov.u64 %a, bank;\njoin:";
    let sum =
        "again:\nadd.u64 %a, %a, 4;\nsub.u64 %a, %a, 4;\nadd.u32 %i, %i, -1;\nsetp.gt.s32 %p, %i, 0;\n@%p bra again;";
    // At run time all lanes have one address in all of these: what a compiler can prove is the question.
    for (what, address, is_uniform) in [
        ("a register that held the clock before", format!("mov.u64 %a, %clock64;\n{base}"), true),
        ("a value that some lanes replace", format!("{by_lane}\n{base}\n@%p mov.u64 %a, bank;"), false),
        ("one of two values, by the lane", format!("{by_lane}\n{two_ways}"), false),
        ("one of two values, by a parameter", format!("{by_parameter}\n{two_ways}"), true),
        ("a value from before lanes parted", format!("{base}\n{by_lane}\n@%p bra on;\nmov.u64 %w, 0;\non:"), true),
        (
            "lanes from which others were ended",
            format!("{base}\nsetp.gt.u32 %p, %i, 9;\n@%p bra gone;\nbra on;\ngone:\nret;\non:"),
            true,
        ),
        ("a loop that all lanes leave together", format!("{base}\nmov.u32 %i, 2;\n{sum}"), true),
        ("a loop that lanes leave one by one", format!("{base}\nrem.u32 %i, %i, 3;\n{sum}"), false),
        ("a lane alone", format!("{base}\n{by_lane}\n@%p bra on;\nst.global.u64 [%m+64], %a;\nret;\non:"), false),
    ] {
        assert_eq!(load(&address) - uniform, if is_uniform { 0 } else { 5 }, "{what}");
    }
}

/// A load of one word by each of 32 lanes, `stride` bytes apart from `start` bytes on.
fn strided(extra: &str, path: &str, stride: u64, start: u64) -> u64 {
    let address = format!("mul.wide.u32 %a, %i, {stride};\nadd.u64 %a, %a, %m;\nadd.u64 %a, %a, {};", 65536 + start);
    cycles(machine(extra), &address, &format!("ld.global.{path}.u32 %v, [%a];"), 32)
}

/// Windows of `bytes` that such a load touches.
fn windows(bytes: u64, stride: u64, start: u64) -> u64 {
    let mut touched: Vec<u64> = (0..32).map(|lane| (start + lane * stride) / bytes).collect();
    touched.dedup();
    touched.len() as u64
}

#[test]
fn a_request_is_divided_into_transactions() {
    for (window, transaction) in [(32, 1), (128, 1), (128, 6), (64, 3)] {
        let extra = format!("[pipeline]\ncoalescing = {window}\ntransaction = {transaction}\n");
        let one = strided(&extra, "ca", 0, 0);
        for stride in [4, 8, 12, 16, 32, 64, 128] {
            for start in [0, 4, 64] {
                let further = windows(window, stride, start) - 1;
                assert_eq!(
                    strided(&extra, "ca", stride, start) - one,
                    further * transaction,
                    "{stride} B from {start} on"
                );
            }
        }
    }
    // A file that says nothing means sectors of 32 B, one a cycle.
    assert_eq!(strided("", "ca", 128, 0) - strided("", "ca", 0, 0), 31);
    assert_eq!(strided("", "ca", 8, 0) - strided("", "ca", 0, 0), 7);
}

#[test]
fn what_goes_straight_to_the_l2_is_divided_into_sectors() {
    let extra = "[pipeline]\ncoalescing = 128\n";
    let one = strided(extra, "cg", 0, 0);
    for stride in [4, 8, 32, 128] {
        assert_eq!(strided(extra, "cg", stride, 0) - one, windows(32, stride, 0) - 1, "{stride} B");
    }
}

#[test]
fn one_lane_costs_the_same_whatever_lanes_cost_each_other() {
    let dear = "[pipeline]\ncoalescing = 1024\ntransaction = 90\nconstant_word = 90\natomic = 90\n";
    for access in [
        "ld.global.ca.u32 %v, [%m+4096];",
        "ld.global.cg.u32 %v, [%m+4096];",
        "atom.global.add.u32 %v, [%m+4096], 1;",
        "mov.u64 %a, bank;\ncvt.u64.u32 %w, %i;\nadd.u64 %a, %a, %w;\nld.const.u32 %v, [%a];",
        "atom.shared.add.u32 %v, [buffer], 1;",
    ] {
        assert_eq!(cycles(machine(dear), "", access, 1), cycles(machine(""), "", access, 1), "{access}");
    }
}

/// An operation of 32 lanes on one of `words` words each, in shared or global memory, by a result or without one.
fn counted(machine: Machine, space: &str, operation: &str, words: u32) -> u64 {
    let base = if space == "shared" { "mov.u64 %w, buffer;" } else { "add.u64 %w, %m, 4096;" };
    let address = format!("rem.u32 %i, %i, {words};\nmul.wide.u32 %a, %i, 4;\n{base}\nadd.u64 %a, %a, %w;");
    let access = match operation {
        "atom" => format!("atom.{space}.add.u32 %v, [%a], 1;"),
        // The clock is read as soon as the warp can go on.
        _ => format!("red.{space}.add.u32 [%a], 1;\nmov.u32 %v, 0;"),
    };
    cycles(machine, &address, &access, 32)
}

#[test]
fn atomics_of_lanes_on_one_word_wait_for_each_other() {
    let shared = |atomic: &str| parsed(&text("").replace("conflict = 2", &format!("conflict = 2\n{atomic}")));
    let global = |atomic: &str| machine(&format!("[pipeline]\n{atomic}\n"));
    for operation in ["atom", "red"] {
        for words in [1, 2, 4, 8, 16, 32] {
            let alike = u64::from(32 / words) - 1;
            for (key, each) in [("", 2), ("atomic = 5", 5)] {
                let free = counted(shared(key), "shared", operation, 32);
                let taken = counted(shared(key), "shared", operation, words);
                assert_eq!(taken - free, each * alike, "shared, {operation}, {words} words");
            }
            // Eight words are a sector, and each further sector costs a cycle.
            let sectors = u64::from(words.div_ceil(8)) - 1;
            for (key, each) in [("", 1), ("atomic = 9", 9), ("atomic = 0", 0)] {
                let one = counted(global("atomic = 0"), "global", operation, 1);
                let taken = counted(global(key), "global", operation, words);
                assert_eq!(taken - one, each * alike + sectors, "global, {operation}, {words} words");
            }
        }
    }
}

#[test]
fn atomics_of_lanes_add_up_in_shared_memory_and_in_global_memory() {
    let body = format!(
        "{REGISTERS}rem.u32 %i, %i, 3;\nmul.lo.u32 %i, %i, 4;\natom.shared.add.u32 %v, [%i], 1;\nbar.sync 0;\n\
         red.global.add.u32 [%m+8], 1;\nld.shared.u32 %v, [buffer];\nst.global.u32 [%m], %v;\nret;"
    );
    let words = run(machine(""), &body, 96, 0, 2).unwrap();
    assert_eq!((words[0], words[1]), (32, 96));
}

#[test]
fn vectors_of_global_memory_are_loaded_whole() {
    let read_only = "[path.global_nc]\nlevels = [\"l1\", \"l2\"]\ncycles = [30, 200]\nmemory = 500\n";
    for path in ["ca", "cg", "nc"] {
        for (kind, elements, bytes) in [("u64", 2, 8), ("u32", 4, 4), ("u32", 2, 4), ("u8", 4, 1)] {
            let list: Vec<String> = (0..elements).map(|i| format!("%x{i}")).collect();
            let register = if kind == "u64" { "u64" } else { "u32" };
            let mut body = format!(".reg .u64 %m;\n.reg .{register} %x<4>;\nld.param.u64 %m, [memory];\n");
            for i in 0..elements {
                body +=
                    &format!("mov.{register} %x{i}, {};\nst.global.{kind} [%m+{}], %x{i};\n", 7 + i, 4096 + i * bytes);
            }
            body += &format!("ld.global.{path}.v{elements}.{kind} {{{}}}, [%m+4096];\n", list.join(", "));
            for i in 0..elements {
                body += &format!("st.global.{register} [%m+{}], %x{i};\n", i * 8);
            }
            let values = run(machine(read_only), &(body + "ret;"), 1, 0, elements).unwrap();
            assert!(values.iter().zip(7..).all(|(&value, expected)| value == expected), "{path} {kind}: {values:?}");
        }
    }
    let misaligned = ".reg .u64 %m, %x<2>;\nld.param.u64 %m, [memory];\nld.global.ca.v2.u64 {%x0, %x1}, [%m+8];\nret;";
    let error = run(machine(""), misaligned, 1, 0, 1).unwrap_err().to_string();
    assert!(error.contains("16-byte access") && error.contains("not aligned"), "{error}");
    let large =
        ".reg .u64 %m, %x<4>;\nld.param.u64 %m, [memory];\nld.global.ca.v4.u64 {%x0, %x1, %x2, %x3}, [%m];\nret;";
    assert!(matches!(run(machine(""), large, 1, 0, 1), Err(Error::Compile { .. })));
}

#[test]
fn bytes_are_loaded_from_every_space() {
    let body = ".reg .u64 %m, %a;\n.reg .u32 %v, %sum;\nld.param.u64 %m, [memory];\nmov.u32 %v, 0x1234;\n\
                st.global.u32 [%m+64], %v;\nld.global.ca.u8 %v, [%m+65];\nmov.u32 %sum, %v;\nmov.u32 %v, 0x5678;\n\
                st.shared.u32 [buffer+8], %v;\nld.shared.u8 %v, [buffer+9];\nmad.lo.u32 %sum, %v, 0x100, %sum;\n\
                mov.u64 %a, bank;\nld.const.u8 %v, [%a+3];\nadd.u32 %sum, %sum, %v;\nld.global.cg.u8 %v, [%m+64];\n\
                mad.lo.u32 %sum, %v, 0x10000, %sum;\nst.global.u32 [%m], %sum;\nret;";
    assert_eq!(run(machine(""), body, 1, 0, 1).unwrap()[0], 0x34_5612);
}

#[test]
fn arithmetic_that_has_no_cost_here_is_refused_for_what_it_is() {
    for body in [
        ".reg .f32 %f<3>;\nmov.f32 %f0, 0f3F800001;\nfma.rn.f32 %f1, %f0, 0f40000000, %f0;\nst.global.f32 [0], %f1;\nret;",
        ".reg .b32 %a;\nmov.b32 %a, 1;\nfma.rn.f32 %a, %a, %a, %a;\nret;",
    ] {
        match run(machine(""), body, 1, 0, 1) {
            Err(Error::Unsupported { reason }) => {
                assert!(reason.starts_with("a simulated machine has no limit on arithmetic throughput: "), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
    // What only moves the bits can be run.
    let moved = ".reg .u64 %m;\n.reg .f32 %f;\nld.param.u64 %m, [memory];\nmov.f32 %f, 0f3F800001;\nst.global.f32 [%m], %f;\nret;";
    assert_eq!(run(machine(""), moved, 1, 0, 1).unwrap()[0], 0x3F80_0001);
}

#[test]
fn costs_out_of_range_are_refused() {
    for (line, key) in [
        ("coalescing = 96", "pipeline.coalescing"),
        ("coalescing = 16", "coalescing"),
        ("atomic = -1", "atomic"),
        ("delivery = 0", "delivery"),
        ("barrier_warps = 1001", "barrier_warps"),
        ("atomic_line = 1001", "atomic_line"),
    ] {
        let defect = Machine::parse("small", &text(&format!("[pipeline]\n{line}\n"))).expect_err(line).to_string();
        assert!(defect.contains(key) && defect.contains("allowed"), "{defect}");
    }
}
