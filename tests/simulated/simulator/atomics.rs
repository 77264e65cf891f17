//! Atomics that wait for each other, against closed formulas: all SMs share the lines of the L2, the warps of an SM its shared memory.

use proptest::prelude::*;
use strata_gpu::{Gpu, Launch};
use strata_sim::Sim;
use strata_sim::machine::Machine;

use super::{HEADER, parsed, text};

/// Operations of each warp.
const OPERATIONS: u64 = 20;
/// Cycles of the instructions around an operation, at the most.
const LOOP: u64 = 16;
/// What a loop of them takes besides, in cycles: the issue of its first and last instructions.
const AROUND: u64 = 40;

/// A loop of operations of all lanes on one word; that of block b lies b times `apart` bytes behind the first.
fn kernel(space: &str, apart: u64) -> String {
    let at = match space {
        "shared" => "mov.u64 %a, buffer;".to_owned(),
        _ => {
            format!("mov.u32 %v, %ctaid.x;\nmul.wide.u32 %a, %v, {apart};\nadd.u64 %a, %a, %m;\nadd.u64 %a, %a, 65536;")
        }
    };
    format!(
        "{HEADER}.visible .entry k(.param .u64 memory)\n{{\n.shared .align 16 .b8 buffer[128];\n\
         .reg .u64 %m, %a, %t0, %t1, %w;\n.reg .u32 %v, %n;\n.reg .pred %p;\nld.param.u64 %m, [memory];\n{at}\n\
         mov.u32 %n, {OPERATIONS};\nmov.u64 %t0, %clock64;\nagain:\nred.{space}.add.u32 [%a], 1;\nadd.u32 %n, %n, -1;\n\
         setp.ne.u32 %p, %n, 0;\n@%p bra again;\nmov.u64 %t1, %clock64;\nsub.u64 %t1, %t1, %t0;\n\
         mov.u32 %v, %ctaid.x;\nmul.wide.u32 %w, %v, 8;\nadd.u64 %m, %m, %w;\natom.global.max.u64 %t0, [%m], %t1;\nret;\n}}\n"
    )
}

/// Cycles of the slowest warp, of all blocks; one block on each SM.
fn slowest(machine: Machine, kernel: &str, sms: u32, warps: u32) -> u64 {
    let mut gpu = Sim::new(machine, 1);
    let module = gpu.load(kernel).unwrap();
    let function = gpu.function(module, "k").unwrap();
    let memory = gpu.allocate(strata_model::units::Bytes(1 << 20)).unwrap();
    gpu.launch(function, &Launch::new(sms, 32 * warps), &[memory.0]).unwrap();
    let mut raw = vec![0; 8 * sms as usize];
    gpu.read(memory, &mut raw).unwrap();
    raw.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("eight"))).max().unwrap()
}

fn machine(pipeline: &str, sms: u32, shared: &str) -> Machine {
    let text = text(&format!("[pipeline]\n{pipeline}\n")).replace("conflict = 2", &format!("conflict = 2\n{shared}"));
    parsed(&text.replace("multiprocessors = 1\n", &format!("multiprocessors = {sms}\n")))
}

/// Whether a time is that of so many requests of `busy` cycles each, one after the other, or of a warp by itself if that takes longer.
fn is_queue(found: u64, requests: u64, busy: u64) -> Result<(), TestCaseError> {
    let queue = (requests - 1) * busy;
    let most = queue.max(OPERATIONS * (busy + LOOP)) + busy + AROUND;
    prop_assert!((queue..=most).contains(&found), "{found} cycles, {requests} times {busy}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// All SMs wait for one line, for as long as the file says; SMs with a line each wait for themselves alone.
    #[test]
    fn atomics_on_one_line_wait_for_all_sms(sms in 1u32..6, warps in 1u32..9, atomic in 1u64..10, line in prop::option::of(5u64..40)) {
        let keys = format!("atomic = {atomic}\n{}", line.map_or(String::new(), |line| format!("atomic_line = {line}\n")));
        let busy = line.unwrap_or(atomic) + 31 * atomic;
        let each = OPERATIONS * u64::from(warps);
        let of_one_line = slowest(machine(&keys, sms, ""), &kernel("global", 4), sms, warps);
        is_queue(of_one_line, u64::from(sms) * each, busy)?;
        let of_own_lines = slowest(machine(&keys, sms, ""), &kernel("global", 128), sms, warps);
        is_queue(of_own_lines, each, busy)?;
    }

    /// The warps of an SM wait for its shared memory, those of several SMs not for each other.
    #[test]
    fn atomics_on_shared_memory_wait_for_the_sm(sms in 1u32..4, warps in 1u32..9, atomic in 1u64..40) {
        let found = slowest(machine("", sms, &format!("atomic = {atomic}")), &kernel("shared", 0), sms, warps);
        is_queue(found, OPERATIONS * u64::from(warps), 1 + 31 * atomic)?;
    }
}

#[test]
fn a_line_that_atomics_do_not_occupy_keeps_nobody_waiting() {
    let free = |sms, warps| slowest(machine("atomic = 0", sms, ""), &kernel("global", 4), sms, warps);
    assert_eq!(free(1, 1), free(5, 8));
}
