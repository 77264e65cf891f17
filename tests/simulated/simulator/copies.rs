//! Copies that go on by themselves: what they bring, and when an mbarrier or a wait says that it is there.

use strata_gpu::{Error, Gpu, Launch};
use strata_model::units::Bytes;
use strata_sim::Sim;

use super::{HEADER, parsed, text};

/// Bytes of memory of the kernels: the first half is copied, the rest is for what they leave.
const MEMORY: usize = 1024;

/// The words of the second half of memory after a kernel of so many threads with this body. The first half has its own places as words.
fn run(body: &str, threads: u32) -> Result<Vec<u32>, Error> {
    let machine = text("").replace("compute_capability = \"8.0\"", "compute_capability = \"9.0\"").replace(
        "[shared]\n",
        "[pipeline]\nbulk_copy = 200\nbulk_sector = 2\ncp_async = 40\nmbarrier = 25\n[shared]\n",
    );
    let mut gpu = Sim::new(parsed(&machine), 1);
    let kernel = format!(
        "{HEADER}.extern .shared .align 16 .b8 window[];\n.shared .align 8 .b64 done;\n.visible .entry k(.param .u64 memory)\n{{\n\
         .reg .u64 %m, %out, %s, %t0, %t1;\n.reg .u32 %to, %b, %v, %n, %phase;\n.reg .pred %p;\nld.param.u64 %m, [memory];\n\
         add.u64 %out, %m, {};\nmov.u32 %to, window;\nmov.u32 %b, done;\n{body}\nret;\n}}\n",
        MEMORY / 2
    );
    let module = gpu.load(&kernel)?;
    let function = gpu.function(module, "k")?;
    let memory = gpu.allocate(Bytes(MEMORY as u64))?;
    let words: Vec<u8> = (0..MEMORY as u32 / 4).flat_map(u32::to_le_bytes).collect();
    gpu.write(memory, &words)?;
    gpu.launch(function, &Launch::new(1, threads).shared(Bytes(1024)), &[memory.0])?;
    let mut raw = vec![0; MEMORY / 2];
    gpu.read(memory.offset(MEMORY as u64 / 2), &mut raw)?;
    Ok(raw.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect())
}

/// A bulk copy of so many bytes, and the wait for it.
fn bulk(bytes: u32) -> String {
    format!(
        "mbarrier.arrive.expect_tx.shared::cta.b64 %s, [%b], {bytes};\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%to], [%m], {bytes}, [%b];\n{WAIT}"
    )
}

const WAIT: &str = "wait:\nmbarrier.try_wait.parity.shared::cta.b64 %p, [%b], %phase;\n@!%p bra wait;\n";
const INIT: &str = "mov.u32 %phase, 0;\nmbarrier.init.shared::cta.b64 [%b], 1;\nfence.proxy.async.shared::cta;\n";
const FROM: &str = "mov.u64 %t0, %clock64;\n";
const TO: &str = "mov.u64 %t1, %clock64;\nsub.u64 %t1, %t1, %t0;\ncvt.u32.u64 %n, %t1;\nst.global.u32 [%out+4], %n;\n";

#[test]
fn a_bulk_copy_is_there_when_its_mbarrier_says_so() {
    // The second time memory is in the L2, and sectors of 32 B follow each other by two cycles.
    let taken = |bytes: u32| {
        let twice = format!("{}{}xor.b32 %phase, %phase, 1;\n", INIT, bulk(bytes))
            .replace("wait:", "first:")
            .replace("bra wait", "bra first");
        let body = format!(
            "{twice}{FROM}{}{TO}ld.shared.u32 %v, [%to+{}];\nst.global.u32 [%out], %v;\n",
            bulk(bytes),
            bytes - 4
        );
        let words = run(&body, 1).unwrap();
        assert_eq!(words[0], bytes / 4 - 1);
        words[1]
    };
    let [one, many] = [16, 512].map(taken);
    assert_eq!(many - one, 2 * (512 / 32 - 1));
    assert!((200..500).contains(&one), "{one}");
}

#[test]
fn what_is_copied_to_memory_can_be_read_after_the_wait() {
    let body = format!(
        "mov.u32 %v, 77;\nst.shared.u32 [%to+12], %v;\nfence.proxy.async.shared::cta;\n{FROM}\
         cp.async.bulk.global.shared::cta.bulk_group [%m], [%to], 16;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n{TO}\
         ld.global.cg.u32 %v, [%m+12];\nst.global.u32 [%out], %v;\n"
    );
    let words = run(&body, 1).unwrap();
    assert!(words[0] == 77 && (200..210).contains(&words[1]), "{words:?}");
}

#[test]
fn a_word_is_there_when_all_copies_of_the_thread_are() {
    let body = format!(
        "{FROM}cp.async.cg.shared.global [%to], [%m], 16;\ncp.async.wait_all;\n{TO}ld.shared.u32 %v, [%to+8];\nst.global.u32 [%out], %v;\n"
    );
    let words = run(&body, 1).unwrap();
    assert!(words[0] == 2 && words[1] >= 40 + 100, "{words:?}");
}

#[test]
fn an_mbarrier_waits_for_all_its_threads() {
    // The second warp comes a thousand cycles late.
    let body = format!(
        "mov.u32 %phase, 0;\nmov.u32 %n, %tid.x;\nsetp.ne.u32 %p, %n, 0;\n@%p bra made;\nmbarrier.init.shared::cta.b64 [%b], 64;\nmade:\n\
         bar.sync 0;\n{FROM}setp.lt.u32 %p, %n, 32;\n@%p bra there;\nmov.u32 %v, 200;\nspin:\nadd.u32 %v, %v, -1;\nsetp.ne.u32 %p, %v, 0;\n\
         @%p bra spin;\nthere:\nmbarrier.arrive.shared::cta.b64 %s, [%b];\n{WAIT}setp.ne.u32 %p, %n, 0;\n@%p bra end;\n{TO}end:\n"
    );
    let words = run(&body, 64).unwrap();
    assert!(words[1] > 1000, "{words:?}");
}

#[test]
fn what_copies_cannot_do_is_a_fault_with_its_reason() {
    let faulty = |body: &str, says: &str| match run(body, 1) {
        Err(Error::Call { meaning, .. }) if meaning.contains(says) => {}
        other => panic!("{says}: {other:?}"),
    };
    faulty("mbarrier.arrive.shared::cta.b64 %s, [%b];", "there is no mbarrier");
    faulty(&format!("{INIT}{}", bulk(2048)), "a copy of 2048 B");
    faulty(&format!("{INIT}{}", bulk(24)), "a copy of 24 B");
    faulty("mov.u64 %m, 4096;\ncp.async.cg.shared.global [%to], [%m], 16;", "not allocated");
}
