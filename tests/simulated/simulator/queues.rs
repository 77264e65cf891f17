//! Warps that wait for each other at a barrier or for what the device's caches deliver, against closed formulas.

use proptest::prelude::*;

use super::{machine, run};

/// Passes of each loop.
const PASSES: u64 = 20;
/// Bytes that a warp asks for in a pass: 32 lanes, a sector of 32 B each.
const ASKED: u64 = 32 * 32;
/// A pass of one warp by itself: a hit of the L2, 31 further sectors, and the loop.
const HIT: u64 = 200;
const PASS: u64 = HIT + 31 + 20;
/// What the first pass takes more: its lines come from memory.
const COLD: u64 = 400;

/// Cycles of the slowest of `warps` warps that do something again and again.
fn slowest(pipeline: &str, what: &str, warps: u32) -> u64 {
    let body = format!(
        ".reg .u64 %m, %a, %t0, %t1, %w;\n.reg .u32 %i, %v, %n;\n.reg .pred %p;\nld.param.u64 %m, [memory];\nmov.u32 %i, %laneid;\n\
         mul.wide.u32 %a, %i, 128;\nadd.u64 %a, %a, %m;\nmov.u32 %n, {PASSES};\nbar.sync 0;\nmov.u64 %t0, %clock64;\nagain:\n{what}\n\
         add.u32 %n, %n, -1;\nsetp.ne.u32 %p, %n, 0;\n@%p bra again;\nmov.u64 %t1, %clock64;\nsub.u64 %t1, %t1, %t0;\n\
         atom.global.max.u64 %w, [%m], %t1;\nret;"
    );
    run(machine(&format!("[pipeline]\n{pipeline}\n")), &body, 32 * warps, 0, 1).unwrap()[0]
}

/// Each lane loads a sector of its own, and the next load waits for this one.
const LOADS: &str = "ld.global.cg.u32 %v, [%a+4096];\nmul.wide.u32 %w, %v, 4;\nadd.u64 %a, %a, %w;";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Sectors for all warps arrive one after the other; a warp whose sectors arrive before it asks again waits for nobody.
    #[test]
    fn sectors_of_all_warps_arrive_one_after_the_other(warps in 1u32..9, bytes in 4u64..200) {
        let found = slowest(&format!("delivery = {bytes}"), LOADS, warps);
        let arrive = PASSES * u64::from(warps) * ASKED / bytes;
        // A warp by itself waits for its last sector, and then asks again.
        let by_itself = PASSES * (PASS + ASKED / bytes);
        let (least, most) = (arrive.max(PASSES * HIT), arrive.max(by_itself));
        let ends = 2 * PASS + COLD + arrive / PASSES;
        prop_assert!((least..=most + ends).contains(&found), "{found} cycles for {least} to {most} and {ends}");
        let unlimited = slowest("", LOADS, warps);
        prop_assert!((PASSES * HIT..=PASSES * PASS + COLD + PASS).contains(&unlimited), "{unlimited} cycles");
    }

    /// A barrier of all 32 warps takes as many cycles longer as the file says; one of fewer warps takes their share.
    #[test]
    fn warps_wait_for_each_other_at_a_barrier(warps in 1u32..33, all in 0u64..100, barrier in 5u64..60) {
        let cycles = |more: &str| slowest(&format!("barrier = {barrier}\n{more}"), "bar.sync 0;", warps);
        let longer = (all * u64::from(warps - 1)).div_ceil(31);
        prop_assert_eq!(cycles(&format!("barrier_warps = {all}")) - cycles(""), PASSES * longer);
    }
}
