//! Blocks of clusters: what a load of another block's shared memory gives and takes, and barriers of a cluster.

use strata_gpu::{DevicePtr, Error, Function, Gpu, Launch};
use strata_model::units::Bytes;
use strata_sim::Sim;

use super::{HEADER, parsed, text};

/// The small machine with six SMs in two GPCs, and what clusters cost: 100 cycles and 5 for each place of an SM in its GPC.
fn six() -> Sim {
    let text = text("")
        .replace("multiprocessors = 1\n", "multiprocessors = 6\ngpcs = \"001011\"\n")
        .replace("compute_capability = \"8.0\"", "compute_capability = \"9.0\"")
        .replace(
            "[shared]\n",
            "[pipeline]\ncluster_barrier = 70\n[shared]\nremote_cycles = 100\nremote_step = 5\n\
             remote_atomic = 9\nremote_bandwidth = 16\n",
        );
    Sim::new(parsed(&text), 1)
}

/// What each block of a launch in two clusters of three leaves in its four words.
fn run(body: &str) -> Result<Vec<[u32; 4]>, Error> {
    run_many(body, 2)
}

/// The same of so many clusters.
fn run_many(body: &str, clusters: u32) -> Result<Vec<[u32; 4]>, Error> {
    let mut gpu = six();
    let bytes = 48 * clusters as usize;
    let (function, memory) = prepared(&mut gpu, body, bytes)?;
    gpu.launch(function, &Launch::new(3 * clusters, 1).cluster(3).shared(Bytes(1024)), &[memory.0])?;
    let mut raw = vec![0; bytes];
    gpu.read(memory, &mut raw)?;
    let words: Vec<u32> = raw.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect();
    Ok(words.chunks_exact(4).map(|four| four.try_into().unwrap()).collect())
}

/// A kernel with this body, and so much memory for what its blocks leave.
fn prepared(gpu: &mut Sim, body: &str, bytes: usize) -> Result<(Function, DevicePtr), Error> {
    let text = format!(
        "{HEADER}.extern .shared .align 16 .b8 window[];\n.visible .entry k(.param .u64 memory)\n.explicitcluster\n{{\n\
         .reg .u64 %m, %a, %t0, %t1;\n.reg .u32 %rank, %size, %block, %sm, %v, %at, %other;\n.reg .pred %p;\n\
         ld.param.u64 %m, [memory];\nmov.u32 %block, %ctaid.x;\nmul.wide.u32 %a, %block, 16;\nadd.u64 %m, %m, %a;\n\
         mov.u32 %rank, %cluster_ctarank;\nmov.u32 %size, %cluster_nctarank;\nmov.u32 %sm, %smid;\n{body}\nret;\n}}\n"
    );
    let module = gpu.load(&text)?;
    let function = gpu.function(module, "k")?;
    Ok((function, gpu.allocate(Bytes(bytes as u64))?))
}

const BARRIER: &str = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";

/// The block after this one, around the cluster: the generic address of its shared memory.
const NEXT: &str = "add.u32 %other, %rank, 1;\nrem.u32 %other, %other, %size;\nmov.u32 %at, window;\n\
    mapa.shared::cluster.u32 %at, %at, %other;\ncvt.u64.u32 %a, %at;\ncvta.shared::cluster.u64 %a, %a;\n";

#[test]
fn a_block_reads_what_another_one_of_its_cluster_wrote() {
    let body = format!(
        "add.u32 %v, %block, 40;\nst.shared.u32 [window+8], %v;\n{NEXT}{BARRIER}mov.u64 %t0, %clock64;\nld.u32 %v, [%a+8];\n\
         setp.ne.u32 %p, %v, 0;\n@%p mov.u64 %t1, %clock64;\nsub.u64 %t1, %t1, %t0;\ncvt.u32.u64 %other, %t1;\n\
         st.global.u32 [%m], %v;\nst.global.u32 [%m+4], %sm;\nst.global.u32 [%m+8], %other;\n{BARRIER}"
    );
    let seen = run(&body).unwrap();
    let values: Vec<u32> = seen.iter().map(|words| words[0]).collect();
    assert_eq!(values, [41, 42, 40, 44, 45, 43]);
    // SMs 0, 1 and 3 are one GPC, and 2, 4 and 5 the other.
    let place = |sm: u32| [0, 1, 0, 2, 1, 2][sm as usize];
    for (block, words) in seen.iter().enumerate() {
        let next = seen[block / 3 * 3 + (block + 1) % 3];
        assert_eq!([0, 0, 1, 0, 1, 1][words[1] as usize], [0, 0, 1, 0, 1, 1][next[1] as usize]);
        let load = 100 + 5 * (place(words[1]) + place(next[1]));
        // One cycle for the issue, and the comparison of 6.
        assert_eq!(words[2], load + 1 + 6, "{seen:?}");
    }
}

#[test]
fn a_block_stores_to_another_one_of_its_cluster_and_adds_there() {
    // The address in the shared memory of the cluster, to which all add; of one of them nothing is asked.
    let first = "mov.u32 %at, window;\nmov.u32 %other, 0;\nmapa.shared::cluster.u32 %other, %at, %other;\n";
    let body = format!(
        "mov.u32 %v, 5;\nst.shared.u32 [window+16], %v;\n{NEXT}{BARRIER}add.u32 %v, %block, 40;\nst.v2.u32 [%a+8], {{ %v, %rank}};\n\
         {first}mov.u64 %t0, %clock64;\natom.shared::cluster.add.u32 %v, [%other+16], 2;\nsetp.ne.u32 %p, %v, 0;\n\
         @%p mov.u64 %t1, %clock64;\nsub.u64 %t1, %t1, %t0;\ncvt.u32.u64 %at, %t1;\nred.shared::cluster.add.u32 [%other+16], 10;\n\
         {BARRIER}ld.shared.u32 %v, [window+8];\nst.global.u32 [%m], %v;\nld.shared.u32 %v, [window+12];\nst.global.u32 [%m+4], %v;\n\
         ld.shared.u32 %v, [window+16];\nst.global.u32 [%m+8], %v;\nst.global.u32 [%m+12], %at;"
    );
    let seen = run(&body).unwrap();
    let stored: Vec<[u32; 2]> = seen.iter().map(|words| [words[0], words[1]]).collect();
    assert_eq!(stored, [[42, 2], [40, 0], [41, 1], [45, 2], [43, 0], [44, 1]]);
    let sums: Vec<u32> = seen.iter().map(|words| words[2]).collect();
    assert_eq!(sums, [5 + 3 * 12, 5, 5, 5 + 3 * 12, 5, 5]);
    // Of the block's own memory a load's latency, of another's 100 cycles, 5 for each place at both ends, and 9.
    let [near, far] = [0, 1].map(|rank| seen[rank][3]);
    assert!(far >= near + 9 && far >= 100 + 9, "{seen:?}");
}

/// The first block of each cluster copies for itself and the last one, and arrives at the mbarrier of the one between them.
#[test]
fn a_copy_for_several_blocks_comes_to_all_of_them_and_to_no_other() {
    let body = format!(
        ".shared .align 8 .b64 done;\n.shared .align 8 .b64 told;\n.reg .u32 %done, %told, %zero, %phase, %bytes;\n.reg .u64 %s, %from;\n\
         .reg .b16 %receivers;\nmov.u32 %done, done;\nmov.u32 %told, told;\nmov.u32 %zero, 0;\nmov.u32 %phase, 0;\nmov.u32 %bytes, 32;\n\
         st.shared.u32 [window+4], %zero;\nmbarrier.init.shared::cta.b64 [%done], 1;\nmbarrier.init.shared::cta.b64 [%told], 1;\n\
         ld.param.u64 %from, [memory];\nadd.u64 %from, %from, 96;\nmov.u32 %at, window;\nfence.mbarrier_init.release.cluster;\n{BARRIER}\
         setp.eq.u32 %p, %rank, 1;\n@%p bra between;\nmbarrier.arrive.expect_tx.shared::cta.b64 %s, [%done], %bytes;\nbetween:\n\
         setp.ne.u32 %p, %rank, 0;\n@%p bra asked;\nmov.u32 %v, 5;\ncvt.u16.u32 %receivers, %v;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%at], [%from], %bytes, [%done], %receivers;\n\
         mov.u32 %v, 1;\nmapa.shared::cluster.u32 %other, %told, %v;\nmbarrier.arrive.shared::cluster.b64 _, [%other];\nasked:\n\
         setp.eq.u32 %p, %rank, 1;\n@%p mov.u32 %done, %told;\nwait:\nmbarrier.try_wait.parity.shared::cta.b64 %p, [%done], %phase;\n\
         @!%p bra wait;\nld.shared.u32 %v, [window+4];\nst.global.u32 [%m], %v;\n{BARRIER}"
    );
    let mut gpu = six();
    // Behind what the six blocks leave, 32 bytes are copied.
    let (function, memory) = prepared(&mut gpu, &body, 128).unwrap();
    let words: Vec<u8> = (0..32u32).flat_map(u32::to_le_bytes).collect();
    gpu.write(memory, &words).unwrap();
    gpu.launch(function, &Launch::new(6, 1).cluster(3).shared(Bytes(1024)), &[memory.0]).unwrap();
    let mut raw = [0; 96];
    gpu.read(memory, &mut raw).unwrap();
    let seen: Vec<u32> = raw.chunks_exact(16).map(|four| u32::from_le_bytes(four[..4].try_into().unwrap())).collect();
    assert_eq!(seen, [25, 0, 25, 25, 0, 25]);
}

#[test]
fn an_sm_gives_so_many_bytes_a_cycle_to_others() {
    // 16 accesses of each of 8 warps: 32 lanes of 16 bytes are 32 cycles of 16 bytes.
    let body = |access: &str, used: &str| {
        format!(
            "{NEXT}mov.u32 %at, %tid.x;\nmul.wide.u32 %t1, %at, 16;\n\
             add.u64 %a, %a, %t1;\n{BARRIER}mov.u64 %t0, %clock64;\nmov.u32 %other, 0;\nagain:\n{access}\n\
             add.u32 %other, %other, 1;\nsetp.lt.u32 %p, %other, 16;\n@%p bra again;\n{used}mov.u64 %t1, %clock64;\n\
             sub.u64 %t1, %t1, %t0;\n{BARRIER}cvt.u32.u64 %v, %t1;\nst.global.u32 [%m], %v;"
        )
    };
    for (access, used) in [
        ("ld.v4.u32 {%v, %at, %v, %at}, [%a];", "setp.ne.u32 %p, %at, 1;\n@%p add.u32 %at, %at, 1;\n"),
        ("st.v4.u32 [%a], {%other, %other, %other, %other};", ""),
    ] {
        let mut gpu = six();
        let (function, memory) = prepared(&mut gpu, &body(access, used), 48).unwrap();
        gpu.launch(function, &Launch::new(3, 256).cluster(3).shared(Bytes::kib(4)), &[memory.0]).unwrap();
        let mut raw = [0; 48];
        gpu.read(memory, &mut raw).unwrap();
        for words in raw.chunks_exact(16) {
            let cycles = u32::from_le_bytes(words[..4].try_into().unwrap());
            assert!((15 * 8 * 32..16 * 8 * 32 + 200).contains(&cycles), "{access}: {cycles}");
        }
    }
}

#[test]
fn all_blocks_of_a_cluster_wait_for_the_last_one_at_its_barrier() {
    // Blocks arrive up to two thousand cycles apart.
    let body = format!(
        "mul.lo.u32 %v, %rank, 250;\nsetp.eq.u32 %p, %v, 0;\n@%p bra there;\nspin:\nadd.u32 %v, %v, -1;\nsetp.ne.u32 %p, %v, 0;\n\
         @%p bra spin;\nthere:\nmov.u64 %t0, %clock64;\n{BARRIER}mov.u64 %t1, %clock64;\ncvt.u32.u64 %v, %t0;\n\
         st.global.u32 [%m], %v;\ncvt.u32.u64 %v, %t1;\nst.global.u32 [%m+4], %v;"
    );
    let seen = run(&body).unwrap();
    for cluster in seen.chunks_exact(3) {
        let last = cluster.iter().map(|words| words[0]).max().unwrap();
        assert!(cluster[0][0] + 1000 < last, "{seen:?}");
        // The arrival is issued one cycle after the clock is read, and the read after the wait in the one after it.
        for words in cluster {
            assert!((last + 70..=last + 73).contains(&words[1]), "{seen:?}");
        }
    }
}

/// Waits so many passes of a loop, none of 0.
fn spin(passes: &str) -> String {
    format!(
        "mov.u32 %v, {passes};\nsetp.eq.u32 %p, %v, 0;\n@%p bra there;\nspin:\nadd.u32 %v, %v, -1;\nsetp.ne.u32 %p, %v, 0;\n\
         @%p bra spin;\nthere:\n"
    )
}

/// Notes the clock in the block's first word.
const NOTE: &str = "mov.u64 %t0, %clock64;\ncvt.u32.u64 %v, %t0;\nst.global.u32 [%m], %v;\n";

#[test]
fn a_block_that_arrives_and_ends_is_waited_for_no_longer_and_counts_once() {
    // Rank 0 arrives and ends at once, rank 1 waits, and rank 2 comes late.
    let late = "mul.lo.u32 %other, %rank, 400;\nsetp.lt.u32 %p, %rank, 2;\n@%p mov.u32 %other, 0;\n";
    let body = format!(
        "{late}{}barrier.cluster.arrive.aligned;\nmov.u64 %t1, %clock64;\ncvt.u32.u64 %v, %t1;\nst.global.u32 [%m+4], %v;\n\
         setp.eq.u32 %p, %rank, 0;\n@%p ret;\nbarrier.cluster.wait.aligned;\n{NOTE}",
        spin("%other")
    );
    for cluster in run(&body).unwrap().chunks_exact(3) {
        let [_, waited, came] = cluster else { unreachable!("three blocks") };
        assert!(came[1] > waited[1] + 1000 && waited[0] >= came[1] + 60, "{cluster:?}");
    }
    // Rank 2 ends late and never arrives: the others go on when it has ended.
    let body = format!("{late}{}{NOTE}setp.eq.u32 %p, %rank, 2;\n@%p ret;\n{BARRIER}{NOTE}", spin("%other"));
    for cluster in run(&body).unwrap().chunks_exact(3) {
        assert!(cluster[0][0] >= cluster[2][0] + 60 && cluster[1][0] >= cluster[2][0] + 60, "{cluster:?}");
    }
}

#[test]
fn more_clusters_than_there_is_room_for_run_one_after_the_other() {
    // Four blocks of an SM at a time, of which some wait while others begin.
    let body = format!(
        "and.b32 %other, %block, 7;\nmul.lo.u32 %other, %other, 90;\n{}{BARRIER}{BARRIER}{NOTE}{BARRIER}",
        spin("%other")
    );
    let seen = run_many(&body, 40).unwrap();
    assert_eq!(seen.len(), 120);
    assert!(seen.iter().all(|words| words[0] > 0), "{seen:?}");
    assert!(seen[119][0] > seen[0][0] + 1000, "{seen:?}");
}

#[test]
fn what_clusters_cannot_do_is_a_fault_with_its_reason() {
    let faulty = |body: &str, says: &str| match run(body) {
        Err(Error::Call { meaning, .. }) if meaning.contains(says) => {}
        other => panic!("{says}: {other:?}"),
    };
    // One block leaves without waiting for who reads its memory.
    let leaves = format!(
        "setp.eq.u32 %p, %rank, 1;\n{BARRIER}@%p ret;\n{NEXT}mov.u32 %v, 400;\nspin:\nadd.u32 %v, %v, -1;\nsetp.ne.u32 %p, %v, 0;\n@%p bra spin;\nld.u32 %v, [%a];"
    );
    faulty(&leaves, "which has ended");
    faulty(&format!("{NEXT}ld.u32 %v, [%a+1024];"), "4-byte access to 0x400 of 1024 B of shared memory");
    faulty("mov.u64 %a, 4096;\nld.u32 %v, [%a];", "address 0x1000, which is not in the cluster's shared memory");
    // One of three never arrives, since it waits for nobody and does not end either.
    faulty(
        "setp.eq.u32 %p, %rank, 1;\n@%p bra skip;\nbarrier.cluster.arrive.aligned;\nskip:\nbarrier.cluster.wait.aligned;",
        "waits at the barrier of a cluster that not all blocks reach",
    );
}

#[test]
fn two_blocks_of_a_cluster_may_be_on_one_sm() {
    // Clusters of five on GPCs of three SMs that hold two blocks each: one place of six is free, and the next cluster waits for more.
    let body = format!(
        "and.b32 %other, %block, 3;\nmul.lo.u32 %other, %other, 50;\n{}{BARRIER}{NOTE}{BARRIER}",
        spin("%other")
    );
    let mut gpu = six();
    let (function, memory) = prepared(&mut gpu, &body, 16 * 40).unwrap();
    gpu.launch(function, &Launch::new(40, 1).cluster(5).shared(Bytes::kib(30)), &[memory.0]).unwrap();
    let mut raw = vec![0; 16 * 40];
    gpu.read(memory, &mut raw).unwrap();
    assert!(raw.chunks_exact(16).all(|words| words[..4] != [0; 4]));
}

#[test]
fn a_cluster_that_no_gpc_has_room_for_is_refused() {
    let mut gpu = six();
    let text = format!("{HEADER}.visible .entry k()\n{{\nret;\n}}\n");
    let module = gpu.load(&text).unwrap();
    let function = gpu.function(module, "k").unwrap();
    // 48 KiB of 64 KiB a block, so one block an SM and three a GPC.
    let blocks = |size| Launch::new(size, 1).cluster(size).shared(Bytes::kib(48));
    gpu.launch(function, &blocks(3), &[]).unwrap();
    match gpu.launch(function, &blocks(4), &[]) {
        Err(Error::Unsupported { reason }) => {
            assert!(reason.contains("room for a cluster of 4 such blocks"), "{reason}")
        }
        other => panic!("{other:?}"),
    }
}
