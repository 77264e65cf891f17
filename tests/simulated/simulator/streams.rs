//! Bandwidth, and latency under load, against closed formulas: what many independent requests get is what is in flight over
//! the latency, up to what the narrowest part of their way gives.

use proptest::prelude::*;
use strata_gpu::{DevicePtr, Gpu, Launch};
use strata_model::units::Bytes;
use strata_sim::Sim;
use strata_sim::machine::Machine;
use strata_sim::machine::value::Rate;

use super::{HEADER, text};

/// Passes of the shorter of two runs; the longer one has twice as many, and only the difference counts.
const PASSES: u64 = 20;
/// Bytes that a warp asks for by one load, 16 a lane.
const LOAD: u64 = 512;
/// Latencies of the machine of these tests.
const L1: u64 = 30;
const L2: u64 = 200;
const MEMORY: u64 = 500;
const SHARED: u64 = 20;
/// What a pass takes besides: its instructions, and what sums up behind the last load.
const LOOP: u64 = 60;

/// A machine of so many SMs with sectors of 32 B whose lanes cost each other nothing. Further keys go to the tables named.
fn machine(sms: u32, keys: &[(&str, &str)]) -> Machine {
    let mut text = text("[pipeline]\ntransaction = 0\n")
        .replace("multiprocessors = 1", &format!("multiprocessors = {sms}"))
        .replace("conflict = 2", "conflict = 1")
        .replace("line = 128\n", "line = 128\nsector = 32\n")
        .replace("size = \"64 KiB\"\nline", "size = \"512 KiB\"\nline")
        .replace("sets = 32\nways = 16", "sets = 256\nways = 16");
    for (table, line) in keys {
        text = text.replace(&format!("[{table}]\n"), &format!("[{table}]\n{line}\n"));
    }
    Machine::parse("small", &text).unwrap_or_else(|defect| panic!("{defect}"))
}

/// What all warps of a launch do.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// Instruction, without its result and address.
    instruction: &'static str,
    /// Bytes from one pass to the next.
    step: u64,
    blocks: u32,
    warps: u32,
    unrolled: u32,
}

impl Stream {
    /// Bytes of a pass of one block.
    fn bytes(self) -> u64 {
        u64::from(self.warps * self.unrolled) * LOAD
    }

    /// Bytes of a pass on so many SMs, and of one warp on each.
    fn all(self, sms: u32) -> [f64; 2] {
        [self.bytes(), self.bytes() / u64::from(self.warps)].map(|bytes| bytes as f64 * f64::from(sms))
    }

    fn kernel(self) -> String {
        let Stream { instruction, unrolled, .. } = self;
        let stores = instruction.starts_with("st");
        let (space, base) = if instruction.contains("shared") { ("shared", "%w") } else { ("global", "%p") };
        let at = |i: u32| format!("[{base}+{}]", u64::from(i * self.warps) * LOAD);
        let access = |i: u32| match stores {
            // Four stores of 4 bytes a lane are as many bytes as a load of 16.
            true => (0..4)
                .map(|k| {
                    format!(
                        "{instruction} [{base}+{}], %s;\n",
                        (u64::from(i * self.warps) * 4 + k * u64::from(self.warps)) * 128
                    )
                })
                .collect(),
            false => format!("{instruction} {{%a{i}, %b{i}, %c{i}, %d{i}}}, {};\n", at(i)),
        };
        let accesses: String = (0..unrolled).map(access).collect();
        let sums: String = (0..unrolled).filter(|_| !stores).map(|i| format!("add.u32 %s, %s, %a{i};\n")).collect();
        let lane = if stores { 4 } else { 16 };
        assert!(["shared", "global"].contains(&space));
        format!(
            "{HEADER}.visible .entry k(.param .u64 memory, .param .u64 passes, .param .u64 step, .param .u64 piece)\n{{\n\
             .shared .align 16 .b8 buffer[32768];\n.reg .u64 %m, %p, %w, %x, %step, %t0, %t1, %big;\n\
             .reg .u32 %n, %t, %s, %a<{unrolled}>, %b<{unrolled}>, %c<{unrolled}>, %d<{unrolled}>;\n.reg .pred %z;\n\
             ld.param.u64 %m, [memory];\nld.param.u32 %n, [passes];\nld.param.u64 %step, [step];\nld.param.u64 %x, [piece];\n\
             mov.u32 %t, %ctaid.x;\ncvt.u64.u32 %p, %t;\nmul.lo.u64 %p, %p, %x;\nadd.u64 %p, %p, %m;\nadd.u64 %p, %p, 256;\n\
             mov.u32 %t, %tid.x;\nmul.wide.u32 %w, %t, {lane};\nadd.u64 %p, %p, %w;\nmov.u32 %s, 0;\nmov.u64 %t0, %clock64;\n\
             again:\n{accesses}{sums}add.u64 %p, %p, %step;\nadd.u32 %n, %n, -1;\nsetp.ne.u32 %z, %n, 0;\n@%z bra again;\n\
             mov.u64 %t1, %clock64;\nmov.u64 %big, 1099511627776;\nsub.u64 %t0, %big, %t0;\ncvt.u64.u32 %w, %s;\n\
             add.u64 %t1, %t1, %w;\natom.global.max.u64 %x, [%m], %t0;\natom.global.max.u64 %x, [%m+8], %t1;\nret;\n}}\n"
        )
    }

    /// Cycles from the first warp's start to the last one's end, of so many passes.
    fn takes(self, machine: Machine, passes: u64) -> u64 {
        let mut gpu = Sim::new(machine, 1);
        let module = gpu.load(&self.kernel()).unwrap();
        let function = gpu.function(module, "k").unwrap();
        let piece = self.bytes() + 2 * PASSES * self.step;
        let memory: DevicePtr = gpu.allocate(Bytes(u64::from(self.blocks) * piece + (64 << 10))).unwrap();
        let launch = Launch::new(self.blocks, 32 * self.warps);
        gpu.launch(function, &launch, &[memory.0, passes, self.step, piece]).unwrap();
        let mut raw = [0; 16];
        gpu.read(memory, &mut raw).unwrap();
        let [start, end] = [0, 8].map(|at| u64::from_le_bytes(raw[at..at + 8].try_into().unwrap()));
        end - ((1 << 40) - start)
    }

    /// Cycles of a pass, without the first ones.
    fn pass(self, machine: &Machine) -> f64 {
        let [short, long] = [PASSES, 2 * PASSES].map(|passes| self.takes(machine.clone(), passes));
        (long - short) as f64 / PASSES as f64
    }
}

/// A pass takes the latency, or as long as the narrowest part of the way needs for all bytes. A warp that waits for nobody still
/// waits for its own bytes, and for those that warps of other SMs ask for in the same cycle: `burst`.
#[track_caller]
fn holds(found: f64, latency: u64, [bytes, burst]: [f64; 2], width: f64) {
    let (least, by_itself) = ((latency as f64).max(bytes / width), (latency + LOOP) as f64 + burst / width);
    let range = least * 0.98 - 1.0..=by_itself.max(bytes / width * 1.02 + 2.0);
    assert!(range.contains(&found), "{found} cycles for {range:?}: {bytes} B at {width} B a cycle");
}

fn stream(instruction: &'static str, blocks: u32, warps: u32, unrolled: u32) -> Stream {
    Stream { instruction, step: 0, blocks, warps, unrolled }
}

const CA: &str = "ld.global.ca.v4.u32";
const CG: &str = "ld.global.cg.v4.u32";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// An L1 gives what is in flight over its latency, up to its width.
    #[test]
    fn an_l1_gives_its_width(warps in 1u32..9, unrolled in 1u32..3, width in 16.0f64..200.0) {
        let stream = stream(CA, 1, warps, unrolled);
        let machine = machine(1, &[("cache.l1", &format!("bandwidth = {width}"))]);
        holds(stream.pass(&machine), L1, stream.all(1), width);
    }

    /// So does shared memory, whose rows of all banks are served in turn.
    #[test]
    fn shared_memory_gives_its_width(warps in 1u32..17, unrolled in 1u32..4, width in 32.0f64..128.0) {
        let stream = stream("ld.shared.v4.u32", 1, warps, unrolled);
        let machine = machine(1, &[("shared", &format!("bandwidth = {width}"))]);
        // 16 bytes a lane are four passes, of which three are further ones.
        holds(stream.pass(&machine), SHARED + 3, stream.all(1), width);
    }

    /// What SMs get of the L2 is its width among them.
    #[test]
    fn an_l2_gives_its_width_to_all_sms(sms in 1u32..5, warps in 1u32..9, unrolled in 1u32..5, width in 30.0f64..400.0) {
        let stream = stream(CG, sms, warps, unrolled);
        let machine = machine(sms, &[("cache.l2", &format!("bandwidth = {width}"))]);
        holds(stream.pass(&machine), L2, stream.all(sms), width);
    }

    /// One SM gets no more than is delivered to it, whatever the L2 has.
    #[test]
    fn an_sm_gets_what_is_delivered(warps in 1u32..9, delivery in 20.0f64..100.0) {
        let stream = stream(CG, 2, warps, 4);
        let machine = machine(2, &[("cache.l2", "bandwidth = 256"), ("pipeline", &format!("delivery = {delivery}"))]);
        holds(stream.pass(&machine), L2, stream.all(1), delivery.min(128.0));
    }

    /// Memory gives its width, whichever SM asks.
    #[test]
    fn memory_gives_its_width(sms in 1u32..5, warps in 1u32..9, unrolled in 1u32..4, width in 10.0f64..300.0) {
        let stream = stream(CG, sms, warps, unrolled);
        let stream = Stream { step: stream.bytes(), ..stream };
        let machine = machine(sms, &[("memory", &format!("bandwidth = {width}"))]);
        holds(stream.pass(&machine), MEMORY, stream.all(sms), width);
    }

    /// Little's law: as many requests as may be outstanding, over the latency.
    #[test]
    fn an_sm_has_only_so_much_outstanding(warps in 1u32..33, most in 16u64..400) {
        let stream = stream(CG, 2, warps, 1);
        let machine = machine(2, &[("pipeline", &format!("outstanding = {most}"))]);
        let [short, long] = [PASSES, 2 * PASSES].map(|passes| stream.takes(machine.clone(), passes));
        // The law holds for a whole run. The difference of two may be less: at the end of one, some warps may be behind and alone.
        let requests = stream.bytes() / 32;
        let least = (2 * PASSES * requests).div_ceil(most) * L2;
        prop_assert!(long >= least.max(2 * PASSES * L2), "{long} cycles for {least} at least");
        // All may be answered at once; then there is room that nobody uses until the warps ask again.
        let longest = ((requests * (L2 + LOOP)) as f64 / most as f64).max((L2 + LOOP) as f64);
        let pass = (long - short) as f64 / PASSES as f64;
        prop_assert!(pass <= longest, "{pass} cycles for {longest} at most");
    }

    /// Stores wait for what the L2 takes, once no more of them may be outstanding.
    #[test]
    fn stores_are_taken_at_the_width_of_writes(sms in 1u32..4, warps in 2u32..9, width in 20.0f64..100.0) {
        let stream = stream("st.global.u32", sms, warps, 4);
        let keys = format!("write_bandwidth = {width}");
        let machine = machine(sms, &[("cache.l2", &keys), ("pipeline", "outstanding = 4096")]);
        // The runs are short for so many: what is on its way at the end is not waited for.
        let pass = Stream { unrolled: 64, ..stream }.pass(&machine);
        let bytes = f64::from(sms) * Stream { unrolled: 64, ..stream }.bytes() as f64;
        prop_assert!((bytes / width / pass - 1.0).abs() < 0.02, "{pass} cycles for {bytes} B at {width}");
    }
}

#[test]
fn an_sm_issues_no_more_than_its_width() {
    let takes = |warps: u32, width: &str| {
        // As many results as an addition takes cycles, and more: none waits for another.
        let adds: String = (0..200).map(|i| format!("add.u32 %a{}, %i, {i};\n", i % 8)).collect();
        let body = format!(
            ".reg .u64 %m, %t0, %t1, %w;\n.reg .u32 %i, %a<8>;\nld.param.u64 %m, [memory];\nmov.u32 %i, %laneid;\nbar.sync 0;\n\
             mov.u64 %t0, %clock64;\n{adds}bar.sync 0;\nmov.u64 %t1, %clock64;\nsub.u64 %t1, %t1, %t0;\n\
             atom.global.max.u64 %w, [%m], %t1;\nret;"
        );
        super::run(machine(1, &[("pipeline", width)]), &body, 32 * warps, 0, 1).unwrap()[0]
    };
    // 200 instructions of a warp, one a cycle, and then a barrier.
    for (warps, width) in [(1, 1), (4, 4), (8, 4), (32, 4), (32, 2), (6, 1)] {
        let found = takes(warps, &format!("issue_width = {width}"));
        let expected = (200 * u64::from(warps)).div_ceil(width).max(200);
        // And the instructions around the barrier.
        let others = 40 + 4 * u64::from(warps).div_ceil(width);
        assert!((expected..=expected + others).contains(&found), "{warps} warps, {width} a cycle: {found}");
    }
}

/// Two loads of a warp, of 16 sectors each, right behind one another: each sector waits for those before it.
#[test]
fn a_queue_with_known_arrivals() {
    let body = ".reg .u64 %m, %t0, %t1, %t2, %w;\n.reg .u32 %i, %a<4>, %b<4>;\n.reg .pred %p;\nld.param.u64 %m, [memory];\n\
         mov.u32 %i, %laneid;\nmul.wide.u32 %w, %i, 16;\nadd.u64 %w, %w, %m;\nld.global.cg.u32 %a0, [%w+4096];\n\
         ld.global.cg.u32 %b0, [%w+8192];\nadd.u32 %a0, %a0, %b0;\nbar.sync 0;\nmov.u64 %t0, %clock64;\n\
         ld.global.cg.v4.u32 {%a0, %a1, %a2, %a3}, [%w+4096];\nld.global.cg.v4.u32 {%b0, %b1, %b2, %b3}, [%w+8192];\n\
         setp.ne.u32 %p, %a0, 77;\n@%p mov.u64 %t1, %clock64;\nsetp.ne.u32 %p, %b0, 77;\n@%p mov.u64 %t2, %clock64;\n\
         sub.u64 %t1, %t1, %t0;\nsub.u64 %t2, %t2, %t0;\nst.global.u64 [%m], %t1;\nst.global.u64 [%m+8], %t2;\nret;";
    let times = |keys: &[(&str, &str)]| {
        let times = super::run(machine(1, keys), body, 32, 0, 2).unwrap();
        [times[0], times[1]]
    };
    let unlimited = times(&[]);
    // 4 cycles a sector: the last of the first load waits for 15, the last of the second for 31, less the cycle between them.
    for (table, line) in [("cache.l2", "bandwidth = 8"), ("pipeline", "delivery = 8.0\nissue_width = 4")] {
        let [first, second] = times(&[(table, line)]);
        assert_eq!(first - unlimited[0], 60, "{line}");
        assert_eq!(second - first, 64, "{line}");
    }
    // Room for 16: the second load leaves as the first is answered, which holds the warp.
    let [first, second] = times(&[("pipeline", "outstanding = 16")]);
    assert!(first.abs_diff(unlimited[0] + 1) <= 10, "{first}");
    assert!(second.abs_diff(2 * L2) <= 20, "{second}");
}

/// One lane chases while the other SMs load as fast as they can: below the width of memory it waits for nobody, above for all that
/// is in flight.
#[test]
fn latency_under_load_grows_as_the_queue_does() {
    let width = 64.0;
    let chased = |warps: u32| {
        let load = "ld.global.cg.v4.u32 {%s, %s, %s, %s}, [%p];\nadd.u64 %p, %p, %step;\n";
        let body = format!(
            "{HEADER}.visible .entry k(.param .u64 memory, .param .u64 step, .param .u64 piece)\n{{\n\
             .reg .u64 %m, %p, %w, %x, %step, %t0, %t1;\n.reg .u32 %n, %t, %s;\n.reg .pred %z, %first;\n\
             ld.param.u64 %m, [memory];\nld.param.u64 %step, [step];\nld.param.u64 %x, [piece];\nmov.u32 %n, 200;\n\
             mov.u32 %t, %ctaid.x;\nsetp.eq.u32 %first, %t, 0;\ncvt.u64.u32 %p, %t;\nmul.lo.u64 %p, %p, %x;\nadd.u64 %p, %p, %m;\n\
             mov.u32 %t, %tid.x;\n@%first bra chase;\nmul.wide.u32 %w, %t, 16;\nadd.u64 %p, %p, %w;\n\
             again:\n{load}cvt.u64.u32 %w, %s;\nadd.u64 %p, %p, %w;\nadd.u32 %n, %n, -1;\nsetp.ne.u32 %z, %n, 0;\n@%z bra again;\nret;\n\
             chase:\nsetp.ne.u32 %z, %t, 0;\n@%z bra done;\nadd.u64 %p, %p, 1024;\nmov.u32 %n, 20;\n\
             warm:\nadd.u32 %n, %n, -1;\nsetp.ne.u32 %z, %n, 0;\n@%z bra warm;\nmov.u32 %n, 64;\nmov.u64 %t0, %clock64;\n\
             each:\nld.global.cg.u64 %w, [%p];\nadd.u64 %p, %p, %w;\nadd.u64 %p, %p, 128;\nadd.u32 %n, %n, -1;\nsetp.ne.u32 %z, %n, 0;\n\
             @%z bra each;\nmov.u64 %t1, %clock64;\nsub.u64 %t1, %t1, %t0;\nst.global.u64 [%m], %t1;\ndone:\nret;\n}}\n"
        );
        let mut gpu = Sim::new(machine(4, &[("memory", &format!("bandwidth = {width}"))]), 1);
        let module = gpu.load(&body).unwrap();
        let function = gpu.function(module, "k").unwrap();
        let (step, piece) = (u64::from(warps) * LOAD, 200 * u64::from(warps) * LOAD + (64 << 10));
        let memory = gpu.allocate(Bytes(4 * piece + (64 << 10))).unwrap();
        gpu.launch(function, &Launch::new(4, 32 * warps), &[memory.0, step, piece]).unwrap();
        let mut raw = [0; 8];
        gpu.read(memory, &mut raw).unwrap();
        u64::from_le_bytes(raw) as f64 / 64.0
    };
    let alone = MEMORY as f64 + 20.0;
    let mut before = 0.0;
    for warps in [1, 2, 8, 16, 24, 32] {
        let in_flight = f64::from(3 * warps) * LOAD as f64;
        // What all wait for together: the latency, or everything in flight by the width.
        let expected = (in_flight / width).max(MEMORY as f64);
        let found = chased(warps);
        // A burst of all warps at once is a queue for a moment even where there is room in the mean.
        let burst = if in_flight / width < MEMORY as f64 { in_flight / width } else { 0.02 * expected };
        let range = expected * 0.98..=expected + burst + alone - MEMORY as f64;
        assert!(range.contains(&found), "{warps} warps: {found} cycles for {range:?}");
        assert!(found >= before, "{warps} warps: {found} after {before}");
        before = found;
    }
}

/// The widths of a machine that comes with strata are what its streams get.
#[test]
fn a_real_machine_gives_its_widths() {
    let h200 = Machine::named("h200").expect("it comes with strata");
    let sms = h200.spec.device.multiprocessors.get() as u32;
    let width = |rate: Option<Rate>| rate.expect("it has one").bytes();
    let all = |stream: Stream, passes: u64| {
        let [short, long] = [passes, 2 * passes].map(|passes| stream.takes(h200.clone(), passes));
        f64::from(stream.blocks) * (stream.bytes() * passes) as f64 / (long - short) as f64
    };
    let memory = stream(CG, sms, 16, 4);
    let memory = Stream { step: memory.bytes(), ..memory };
    for (what, found, expected) in [
        ("l1", all(stream(CA, 1, 16, 4), PASSES), width(h200.spec.cache["l1"].bandwidth)),
        ("l2", all(stream(CG, sms, 16, 4), PASSES), width(h200.spec.cache["l2"].bandwidth)),
    ] {
        assert!((found / expected - 1.0).abs() < 0.05, "{what}: {found} of {expected} B a cycle");
    }
    // All warps of all SMs ask at once, and for the next pass when the last of their loads is answered: at worst they wait for the
    // latency and then for each other.
    let (found, most) = (all(memory, PASSES / 2), width(h200.spec.memory.bandwidth));
    let partitions = h200.spec.cache["l2"].partitions.as_ref().expect("it has two");
    let latency = h200.spec.path.global_cg.memory.get() + partitions.far_memory.get() + LOOP;
    let [bytes, _] = memory.all(sms);
    let least = bytes / (latency as f64 + bytes / most);
    assert!((least * 0.95..=most * 1.02).contains(&found), "{found} of {least} to {most} B a cycle");
}

/// A store of a vector leaves all of its elements, in global and in shared memory.
#[test]
fn stores_of_vectors() {
    let body = ".reg .u64 %m, %w, %x, %y;\n.reg .u32 %i, %a<4>, %s;\nld.param.u64 %m, [memory];\nmov.u32 %i, %tid.x;\n\
         mul.wide.u32 %w, %i, 16;\nadd.u64 %w, %w, %m;\nmul.lo.u32 %s, %i, 16;\nadd.u32 %a0, %i, 100;\nadd.u32 %a1, %i, 200;\n\
         add.u32 %a2, %i, 300;\nst.shared.v4.u32 [%s], {%a0, %a1, %a2, 7};\nld.shared.v2.u64 {%x, %y}, [%s];\n\
         st.global.v2.u64 [%w], {%y, %x};\nst.global.v2.u32 [%w+2048], {%a0, %a1};\nret;";
    let words = super::run(machine(1, &[]), body, 70, 0, 400).unwrap();
    for lane in 0..70 {
        let [low, high] = [(lane + 200) << 32 | (lane + 100), 7 << 32 | (lane + 300)];
        let at = lane as usize;
        assert_eq!(words[2 * at..2 * at + 2], [high, low], "lane {lane}");
        assert_eq!(words[256 + 2 * at], low, "lane {lane}");
    }
    super::refused(".reg .u32 %a;\n.reg .u64 %m;\nst.global.v2.u32 [%m], {%a};\nret;", &["line 10", "2 values"]);
}

#[test]
fn widths_out_of_range_are_refused() {
    let with = |table: &str, line: &str| {
        let text = machine(1, &[]).text.replace(&format!("[{table}]\n"), &format!("[{table}]\n{line}\n"));
        Machine::parse("small", &text)
    };
    for (table, line, key) in [
        ("cache.l1", "bandwidth = 0", "bandwidth"),
        ("cache.l1", "write_bandwidth = 64", "cache.l1.write_bandwidth"),
        ("cache.l2", "bandwidth = -5.5", "bandwidth"),
        ("cache.l2", "write_bandwidth = 1e9", "write_bandwidth"),
        ("cache.l2", "hints = [\"no_allocate\"]", "cache.l2.hints"),
        ("cache.l1", "hints = [\"discard\"]", "cache.l1.hints"),
        ("cache.l1", "prefetch = [\"64 B\"]", "cache.l1.prefetch"),
        ("memory", "bandwidth = 65537", "bandwidth"),
        ("memory", "bandwidth = nan", "bandwidth"),
        ("memory", "bandwidth = \"fast\"", "bandwidth"),
        ("shared", "bandwidth = 129", "shared.bandwidth"),
        ("pipeline", "issue_width = 0", "issue_width"),
        ("pipeline", "outstanding = 0", "outstanding"),
        ("pipeline", "delivery = 0.5", "delivery"),
    ] {
        let defect = with(table, line).expect_err(line).to_string();
        assert!(defect.contains(key) && (defect.contains("allowed") || defect.contains("expected")), "{defect}");
    }
    for (table, line) in
        [("shared", "bandwidth = 128"), ("memory", "bandwidth = 12.25"), ("pipeline", "delivery = 37.5")]
    {
        assert!(with(table, line).is_ok(), "{line}");
    }
}
