//! Modules that are loaded again and unloaded, and blocks that wait for each other.

use strata_gpu::{Error, Gpu, Launch};
use strata_model::units::Bytes;
use strata_sim::Sim;
use strata_sim::machine::Machine;

use super::{HEADER, machine, parsed, text};

#[track_caller]
fn unsupported<T>(result: Result<T, Error>, word: &str) {
    match result {
        Err(Error::Unsupported { reason }) if reason.contains(word) => {}
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("nothing failed"),
    }
}

#[test]
fn a_module_that_is_loaded_again_has_variables_of_its_own() {
    let mut gpu = Sim::new(machine(""), 1);
    let (before, _) = gpu.memory().unwrap();
    // Each leaves in memory what its own constant is.
    let text = format!(
        "{HEADER}.const .align 256 .b8 bank[65536];\n.global .b8 other[64];\n.visible .entry k(.param .u64 memory)\n{{\n\
         .reg .u64 %m, %a;\n.reg .u32 %v;\nld.param.u64 %m, [memory];\nmov.u64 %a, bank;\nld.const.u32 %v, [%a];\n\
         st.global.u32 [%m], %v;\nret;\n}}\n"
    );
    let first = gpu.load(&text).unwrap();
    let (bank, bytes) = gpu.symbol(first, "bank").unwrap();
    gpu.write(bank, &77u32.to_le_bytes()).unwrap();
    let again = gpu.load_again(first).unwrap();
    let (own, same) = gpu.symbol(again, "bank").unwrap();
    assert!(own != bank && same == bytes);
    let mut raw = [9; 4];
    gpu.read(own, &mut raw).unwrap();
    assert_eq!(raw, [0; 4]);
    gpu.write(own, &88u32.to_le_bytes()).unwrap();

    let memory = gpu.allocate(Bytes(512)).unwrap();
    let one = &Launch::new(1, 1);
    for (module, expected) in [(first, 77), (again, 88)] {
        let function = gpu.function(module, "k").unwrap();
        gpu.launch(function, one, &[memory.0]).unwrap();
        gpu.read(memory, &mut raw).unwrap();
        assert_eq!(u32::from_le_bytes(raw), expected);
        unsupported(gpu.resources(function), "no compiler gives it registers");
        gpu.unload(module).unwrap();
        unsupported(gpu.launch(function, one, &[memory.0]), "has been unloaded");
        unsupported(gpu.resources(function), "has been unloaded");
        unsupported(gpu.configure(function, one), "has been unloaded");
        unsupported(gpu.symbol(module, "bank"), "has been unloaded");
        unsupported(gpu.function(module, "k"), "has been unloaded");
        unsupported(gpu.load_again(module), "has been unloaded");
        unsupported(gpu.unload(module), "has been unloaded");
    }
    gpu.free(memory).unwrap();
    assert_eq!(gpu.memory().unwrap().0, before);
}

#[test]
fn a_module_without_room_leaves_nothing_behind() {
    let mut gpu = Sim::new(machine(""), 1);
    let (free, _) = gpu.memory().unwrap();
    let most = gpu.allocate(Bytes(free.0 - 65536 - 100)).unwrap();
    let text = format!("{HEADER}.const .b8 bank[65536];\n.global .b8 more[101];\n.visible .entry k()\n{{\nret;\n}}\n");
    assert!(matches!(gpu.load(&text), Err(Error::OutOfMemory { .. })));
    gpu.free(most).unwrap();
    assert_eq!(gpu.memory().unwrap().0, free);
}

/// Each block adds one to a counter, waits until all have, and notes how many it saw; three times.
const MEETING: &str = ".reg .u64 %m, %a, %w;\n.reg .u32 %i, %v, %all, %round, %blocks;\n.reg .pred %p;\n\
    ld.param.u64 %m, [memory];\nmov.u32 %blocks, %nctaid.x;\nmov.u32 %all, 0;\nmov.u32 %round, 0;\nagain:\n\
    add.u32 %all, %all, %blocks;\nbar.sync 0;\nmov.u32 %i, %tid.x;\nsetp.ne.u32 %p, %i, 0;\n@%p bra met;\n\
    membar.gl;\natom.global.add.u32 %v, [%m], 1;\nspin:\nld.volatile.global.u32 %v, [%m];\nsetp.lt.u32 %p, %v, %all;\n@%p bra spin;\n\
    met:\nbar.sync 0;\nadd.u32 %round, %round, 1;\nsetp.lt.u32 %p, %round, 3;\n@%p bra again;\n\
    mov.u32 %i, %ctaid.x;\nmul.wide.u32 %a, %i, 8;\nadd.u64 %a, %a, %m;\nld.volatile.global.u32 %v, [%m];\n\
    st.global.u32 [%a+64], %v;\nret;";

fn with_sms(count: u32) -> Machine {
    parsed(&text("").replace("multiprocessors = 1\n", &format!("multiprocessors = {count}\n")))
}

#[test]
fn blocks_that_wait_for_each_other_make_progress() {
    // The machine holds four blocks on each SM.
    for (sms, blocks, threads) in [(1, 1, 1), (1, 4, 64), (4, 4, 32), (4, 16, 96), (3, 5, 33)] {
        let mut gpu = Sim::new(with_sms(sms), 1).with_budget(2_000_000);
        let module = gpu.load(&format!("{HEADER}.visible .entry k(.param .u64 memory)\n{{\n{MEETING}\n}}\n")).unwrap();
        let function = gpu.function(module, "k").unwrap();
        let memory = gpu.allocate(Bytes(4096)).unwrap();
        let launch = Launch::new(blocks, threads).cooperative();
        gpu.launch(function, &launch, &[memory.0]).unwrap_or_else(|error| panic!("{sms} SMs: {error}"));
        let mut raw = vec![0; 64 + 8 * blocks as usize];
        gpu.read(memory, &mut raw).unwrap();
        let seen = raw[64..].chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("eight")));
        assert!(seen.eq(std::iter::repeat_n(u64::from(3 * blocks), blocks as usize)), "{sms} SMs, {blocks} blocks");
    }
}

#[test]
fn more_blocks_than_can_meet_are_refused() {
    let mut gpu = Sim::new(with_sms(3), 1);
    let module = gpu.load(&format!("{HEADER}.visible .entry k(.param .u64 memory)\n{{\n{MEETING}\n}}\n")).unwrap();
    let function = gpu.function(module, "k").unwrap();
    let memory = gpu.allocate(Bytes(4096)).unwrap();
    let mut launch = |blocks, threads, shared| {
        gpu.launch(function, &Launch::new(blocks, threads).shared(Bytes(shared)).cooperative(), &[memory.0])
    };
    // Four blocks on an SM; two of 512 threads; one of 48 KiB of 64 KiB.
    unsupported(launch(13, 32, 0), "more than the 12 that");
    unsupported(launch(7, 512, 0), "more than the 6 that");
    unsupported(launch(4, 32, 48 << 10), "more than the 3 that");
    assert!(matches!(launch(0, 32, 0), Err(Error::Call { code: 1, .. })));
}

#[test]
fn what_a_machine_does_not_have_is_refused() {
    let mut gpu = Sim::new(machine(""), 1);
    let module = gpu.load(&format!("{HEADER}.visible .entry k()\n{{\nret;\n}}\n")).unwrap();
    let function = gpu.function(module, "k").unwrap();
    let one = Launch::new(1, 1);
    unsupported(gpu.launch(function, &one.cluster(2), &[]), "launches no clusters");
    unsupported(gpu.launch(function, &one.bank_width(Bytes(16)), &[]), "no choice of banks of 16 B");
    unsupported(gpu.configure(function, &one.shared(Bytes::mib(1))), "1 MiB of dynamic shared memory");
    gpu.launch(function, &one, &[]).unwrap();
}
