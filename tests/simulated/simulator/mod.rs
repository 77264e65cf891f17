//! The simulator against closed formulas, against kernels written badly, and against kernels that do what they must not.

mod arrays;
mod atomics;
mod clusters;
mod copies;
mod lanes;
mod modules;
mod queues;
mod streams;

use proptest::prelude::*;
use strata_gpu::{DevicePtr, Error, Gpu, Launch};
use strata_model::units::Bytes;
use strata_sim::Sim;
use strata_sim::machine::Machine;
use strata_sim::machine::spec::{Index, Replacement};
use strata_sim::model::cache::{Cache, Shape};

fn cache(sets: usize, ways: u32, replacement: Replacement) -> Cache {
    Cache::new(
        Shape {
            line: 64,
            sector: 32,
            ways: vec![ways; sets],
            index: Index::Modulo,
            replacement,
            hints: Vec::new(),
            prefetch: Vec::new(),
        },
        7,
    )
}

/// Misses of one lap over `lines` lines, after `warm` laps.
fn misses(cache: &mut Cache, lines: u64, warm: u64) -> u64 {
    let mut lap = || (0..lines).filter(|line| !cache.load(line * 64)).count() as u64;
    (0..warm).for_each(|_| {
        lap();
    });
    lap()
}

proptest! {
    /// A cyclic walk over N lines hits always if they fit, and never in a set of C < N lines by LRU or FIFO.
    #[test]
    fn cyclic_walks_by_lru_and_fifo(sets in 1usize..40, ways in 1u32..40, lines in 1u64..2000, fifo: bool) {
        let policy = if fifo { Replacement::Fifo } else { Replacement::Lru };
        let (sets64, ways64) = (sets as u64, u64::from(ways));
        let in_set = |set: u64| lines / sets64 + u64::from(set < lines % sets64);
        let expected: u64 = (0..sets64).map(in_set).filter(|&n| n > ways64).sum();
        prop_assert_eq!(misses(&mut cache(sets, ways, policy), lines, 2), expected);
    }

    /// Any policy keeps everything that fits.
    #[test]
    fn what_fits_stays(ways_log in 0u32..6, kind in 0..5) {
        let ways = 1 << ways_log;
        let policy = match kind {
            0 => Replacement::Lru,
            1 => Replacement::Fifo,
            2 => Replacement::Plru,
            3 => Replacement::Random,
            _ => Replacement::Weighted((1..=ways).collect()),
        };
        prop_assert_eq!(misses(&mut cache(8, ways, policy), 8 * u64::from(ways), 1), 0);
    }

    /// A cold walk misses once a sector, at every stride.
    #[test]
    fn sector_misses_by_stride(stride_log in 2u32..9, loads in 1u64..200) {
        let mut cache = cache(64, 64, Replacement::Lru);
        let stride = 1u64 << stride_log;
        let missed = (0..loads).filter(|i| !cache.load(i * stride)).count() as u64;
        prop_assert_eq!(missed, if stride >= 32 { loads } else { (loads * stride).div_ceil(32) });
    }
}

/// With random replacement a cyclic walk over N lines in C ways has the miss rate m that solves
/// 1 = (1 - m) / exp(-m N / C): a line survives a lap with that probability, since N m lines displace one of C each.
#[test]
fn cyclic_walks_by_random_replacement() {
    for (ways, lines) in [(64u64, 80u64), (64, 128), (256, 300), (256, 1024)] {
        let mut cache = cache(1, ways as u32, Replacement::Random);
        let laps = 400;
        let missed: u64 = (0..laps).map(|_| misses(&mut cache, lines, 0)).sum();
        let rate = missed as f64 / (laps * lines) as f64;
        let survives = |m: f64| (1.0 - 1.0 / ways as f64).powf(m * (lines - 1) as f64);
        // The hit rate is the chance to survive the misses of a lap.
        let (mut low, mut high) = (1e-6, 1.0);
        for _ in 0..60 {
            let m: f64 = (low + high) / 2.0;
            if 1.0 - m < survives(m) { high = m } else { low = m }
        }
        assert!((rate - low).abs() < 0.03, "{lines} lines in {ways} ways: {rate}, by the formula {low}");
    }
}

/// Fermi's L1: the odds by which a way is displaced (Mei et al., section 4.2) come out of a long walk.
#[test]
fn weighted_ways_are_displaced_by_their_odds() {
    let mut cache = cache(1, 4, Replacement::Weighted(vec![1, 3, 1, 1]));
    // Ways fill in order; afterwards, who of the four oldest is gone tells which way gave way.
    let mut gone = [0u32; 4];
    let rounds = 20_000;
    for _ in 0..rounds {
        cache.clear();
        (0..4u64).for_each(|line| {
            cache.load(line * 64);
        });
        cache.load(4 * 64);
        let way = (0..4u64).position(|line| !cache.holds(line * 64)).expect("one gave way");
        gone[way] += 1;
    }
    for (way, odds) in [1.0, 3.0, 1.0, 1.0].into_iter().enumerate() {
        let share = f64::from(gone[way]) / f64::from(rounds);
        assert!((share - odds / 6.0).abs() < 0.02, "way {way}: {share}");
    }
}

const HEADER: &str = ".version 6.0\n.target sm_50\n.address_size 64\n";

/// A machine of one SM with an L1 of 30 cycles and an L2 of 200.
fn machine(extra: &str) -> Machine {
    parsed(&text(extra))
}

fn parsed(text: &str) -> Machine {
    Machine::parse("small", text).unwrap_or_else(|defect| panic!("{defect}"))
}

/// The text of that machine, with further tables.
fn text(extra: &str) -> String {
    format!(
        r#"
schema = "strata/machine/1"
[device]
name = "small"
chip = "none"
compute_capability = "8.0"
multiprocessors = 1
max_threads_per_multiprocessor = 1024
max_blocks_per_multiprocessor = 4
registers_per_multiprocessor = 65536
memory = "1 GiB"
l2 = "64 KiB"
memory_clock_mhz = 1000
memory_bus_bits = 256
[clock]
mhz = 1000
timer_step_ns = 32
[cache.l1]
scope = "sm"
size = "8 KiB"
line = 128
sets = 8
ways = 8
index = "modulo"
replacement = "lru"
[cache.l2]
scope = "device"
size = "64 KiB"
line = 128
sets = 32
ways = 16
index = "modulo"
replacement = "lru"
{extra}
[shared]
per_block = "48 KiB"
per_multiprocessor = "64 KiB"
cycles = 20
banks = 32
bank_width = 4
conflict = 2
[memory]
port = 0
channels = 1
host_cycles = 1000
[path.global_ca]
levels = ["l1", "l2"]
cycles = [30, 200]
memory = 500
translated = "l2"
[path.global_cg]
levels = ["l2"]
cycles = [200]
memory = 500
[path.constant]
levels = ["l1", "l2"]
cycles = [30, 200]
memory = 500
[path.local]
levels = ["l1", "l2"]
cycles = [30, 200]
memory = 500
"#
    )
}

/// Runs a kernel of two parameters, memory and a number, with this many threads; what it left in the memory.
fn run(machine: Machine, body: &str, threads: u32, number: u64, words: usize) -> Result<Vec<u64>, Error> {
    let mut gpu = Sim::new(machine, 1).with_budget(2_000_000);
    let text = format!(
        "{HEADER}.const .align 256 .b8 bank[65536];\n.visible .entry k(.param .u64 memory, .param .u64 number)\n{{\n.shared .align 16 .b8 buffer[32768];\n{body}\n}}\n"
    );
    let module = gpu.load(&text)?;
    let function = gpu.function(module, "k")?;
    let memory: DevicePtr = gpu.allocate(Bytes(1 << 20))?;
    gpu.launch(function, &Launch::new(1, threads), &[memory.0, number])?;
    let mut raw = vec![0; 8 * words];
    gpu.read(memory, &mut raw)?;
    Ok(raw.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("eight"))).collect())
}

/// Registers, the memory's address, and a load timed by two clock reads with `between` after the load.
fn timed(between: &str) -> String {
    format!(
        ".reg .u64 %m, %t0, %t1, %v, %d, %one;\n.reg .pred %p;\nld.param.u64 %m, [memory];\nmov.u64 %v, 0;\n\
         ld.global.ca.u64 %d, [%m+4096];\nadd.u64 %one, %d, 1;\n\
         mov.u64 %t0, %clock64;\nld.global.ca.u64 %v, [%m+4096];\n{between}\nsub.u64 %d, %t1, %t0;\nst.global.u64 [%m], %d;\nret;"
    )
}

#[test]
fn a_clock_read_that_waits_for_the_load_times_it() {
    let waits = timed("setp.ne.u64 %p, %v, 77;\n@%p mov.u64 %t1, %clock64;");
    let cycles = run(machine(""), &waits, 1, 0, 1).unwrap()[0];
    // The load and the comparison that waits for it.
    assert!((30..45).contains(&cycles), "{cycles} cycles");
}

#[test]
fn a_clock_read_that_does_not_wait_times_nothing() {
    // The badly written kernel: the second read depends on nothing, so it is over before the load is back.
    let cycles = run(machine(""), &timed("mov.u64 %t1, %clock64;"), 1, 0, 1).unwrap()[0];
    assert!(cycles < 5, "{cycles} cycles for a load that takes 30");
}

#[test]
fn bank_conflicts_cost_by_stride() {
    let body = |stride: u32| {
        format!(
            ".reg .u64 %m, %t0, %t1;\n.reg .u32 %i, %a, %v;\n.reg .pred %p;\nld.param.u64 %m, [memory];\nmov.u32 %i, %tid.x;\n\
             mul.lo.u32 %a, %i, {};\nmov.u64 %t0, %clock64;\nld.shared.u32 %v, [%a];\nsetp.ne.u32 %p, %v, 77;\n\
             @%p mov.u64 %t1, %clock64;\nsub.u64 %t1, %t1, %t0;\nst.global.u64 [%m], %t1;\nret;",
            4 * stride
        )
    };
    let cycles = |stride| run(machine(""), &body(stride), 32, 0, 1).unwrap()[0];
    let free = cycles(1);
    for stride in [0u32, 2, 3, 4, 8, 16, 32] {
        let ways = if stride == 0 { 1 } else { 1 << stride.trailing_zeros().min(5) };
        assert_eq!(cycles(stride) - free, 2 * (ways - 1), "stride {stride}");
    }
}

#[test]
fn translation_reaches_as_far_as_its_entries() {
    let tlb = "[[tlb]]\nname = \"l1\"\nscope = \"sm\"\npage = \"4 KiB\"\nsets = 1\nways = 8\nreplacement = \"lru\"\npenalty = 70\n";
    // Walks `number` pages twice by ld.cg and times the second lap.
    let body = ".reg .u64 %m, %t0, %t1, %a, %v, %n, %i, %lap;\n.reg .pred %p;\nld.param.u64 %m, [memory];\nld.param.u64 %n, [number];\n\
        mov.u64 %lap, 0;\nlap:\nmov.u64 %i, 0;\nmov.u64 %t0, %clock64;\neach:\nmul.lo.u64 %a, %i, 4224;\nadd.u64 %a, %a, %m;\n\
        ld.global.cg.u64 %v, [%a];\nadd.u64 %i, %i, 1;\nadd.u64 %i, %i, %v;\nsetp.lt.u64 %p, %i, %n;\n@%p bra each;\n\
        mov.u64 %t1, %clock64;\nadd.u64 %lap, %lap, 1;\nsetp.lt.u64 %p, %lap, 2;\n@%p bra lap;\nsub.u64 %t1, %t1, %t0;\n\
        st.global.u64 [%m], %t1;\nret;";
    let lap = |pages: u64| run(machine(tlb), body, 1, pages, 1).unwrap()[0] as f64 / pages as f64;
    assert!((lap(8) - lap(4)).abs() < 10.0, "8 pages are reached: {} against {}", lap(8), lap(4));
    assert!((lap(9) - lap(8) - 70.0).abs() < 10.0, "a cyclic walk over 9 always misses: {} against {}", lap(9), lap(8));
}

#[test]
fn lanes_diverge_and_meet_again() {
    // Even lanes add 1, odd ones 100, all then add 1000 and wait at a barrier.
    let body = ".reg .u64 %m, %a, %v;\n.reg .u32 %i, %odd;\n.reg .pred %p;\nld.param.u64 %m, [memory];\nmov.u32 %i, %tid.x;\n\
        and.b32 %odd, %i, 1;\nsetp.eq.u32 %p, %odd, 1;\nmov.u64 %v, 0;\n@%p bra odd;\nadd.u64 %v, %v, 1;\nbra join;\n\
        odd:\nadd.u64 %v, %v, 100;\njoin:\nadd.u64 %v, %v, 1000;\nbar.sync 0;\nmad.wide.u32 %a, %i, 8, %m;\n\
        st.global.u64 [%a], %v;\nret;";
    let values = run(machine(""), body, 70, 0, 70).unwrap();
    assert!(values.iter().enumerate().all(|(i, &v)| v == if i % 2 == 0 { 1001 } else { 1100 }), "{values:?}");
}

#[test]
fn shuffles_and_atomics() {
    let body = ".reg .u64 %m, %a, %v;\n.reg .u32 %i, %x, %y, %old;\nld.param.u64 %m, [memory];\nmov.u32 %i, %tid.x;\n\
        shfl.sync.bfly.b32 %x, %i, 1, 31, 0xffffffff;\natom.global.add.u32 %old, [%m+2048], 3;\ncvt.u64.u32 %v, %x;\n\
        mad.wide.u32 %a, %i, 8, %m;\nst.global.u64 [%a], %v;\nret;";
    let values = run(machine(""), body, 32, 0, 257).unwrap();
    assert!((0..32u64).all(|i| values[i as usize] == i ^ 1), "{values:?}");
    assert_eq!(values[256], 96, "32 lanes add 3 each");
}

#[track_caller]
fn refused(body: &str, parts: &[&str]) {
    let error = run(machine(""), body, 1, 0, 1).unwrap_err().to_string();
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
}

#[test]
fn what_cannot_be_run_is_refused_with_its_line() {
    refused(".reg .f16 %f;\nret;", &["line 8", ".f16"]);
    refused(".reg .u32 %a;\nadd.u32 %a, %a, 1;\nex2.approx.f32 %a, %a;\nret;", &["line 10", "ex2.approx.f32"]);
    refused("bra nowhere;", &["line 8", "nowhere"]);
    refused(".reg .u64 %a;\nmov.u64 %a, 64;\nld.global.u64 %a, [%a];\nret;", &["line 10", "not allocated"]);
    refused(".reg .u64 %a;\nld.param.u64 %a, [memory];\nld.global.u64 %a, [%a+3];\nret;", &["line 10", "not aligned"]);
}

#[test]
fn a_kernel_that_does_not_end_is_stopped() {
    refused("again:\nbra again;", &["did not end after 2000000 instructions"]);
}

#[test]
fn a_fault_is_the_end_of_the_device() {
    let mut gpu = Sim::new(machine(""), 1);
    let module = gpu
        .load(&format!(
            "{HEADER}.visible .entry k()\n{{\n.reg .u64 %a;\nmov.u64 %a, 8;\nst.global.u64 [%a], %a;\nret;\n}}"
        ))
        .unwrap();
    let function = gpu.function(module, "k").unwrap();
    assert!(gpu.launch(function, &Launch::new(1, 1), &[]).unwrap_err().is_lost());
    assert!(gpu.allocate(Bytes(4)).unwrap_err().is_lost());
}
