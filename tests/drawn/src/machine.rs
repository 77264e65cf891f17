//! Machines drawn at random, as the text of their files: sizes that are no powers of two, lines of 32 to 256 bytes with and
//! without sectors, 1 to 64 ways, equal and unequal sets, plain and hashed indices, every policy, every pattern of sharing,
//! one to four instances, quiet, noisy and hostile.

use std::fmt::Write;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use strata_sim::machine::Machine;

/// How much a machine disturbs the timing of loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Every load takes its latency.
    Quiet,
    /// Jitter of a few cycles.
    Jitter,
    /// Jitter, and one load in 20 to 2,000 takes 5 to 5,000 cycles longer.
    Spikes,
    /// Nearly as bad as it can be.
    Hostile(Hostility),
}

/// In which way a machine is hostile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hostility {
    /// Any load takes any time.
    NoPlateau,
    /// Two levels are three cycles apart.
    CloseLevels,
    /// One load in ten takes long.
    ManySpikes,
}

/// A machine and what it does to timing.
pub struct Drawn {
    /// The machine.
    pub machine: Machine,
    /// What it does to the timing of loads.
    pub noise: Noise,
}

/// One machine in eight is hostile.
const HOSTILE: u32 = 8;

fn pick<T: Copy>(rng: &mut ChaCha8Rng, from: &[T]) -> T {
    from[rng.random_range(0..from.len())]
}

/// A cache as a table of a machine file.
struct Shape {
    /// Rough size and most ways.
    bytes: std::ops::RangeInclusive<u64>,
    ways: std::ops::RangeInclusive<u64>,
    lines: &'static [u64],
    sectored: bool,
    plain: bool,
    /// All sets have the same ways.
    equal: bool,
    scope: &'static str,
    instances: u64,
    /// Share of the memory that shared memory can take, in whole quarters; none if 0.
    carveout: bool,
}

/// Writes a cache; its size in bytes.
fn cache(out: &mut String, rng: &mut ChaCha8Rng, name: &str, shape: &Shape) -> u64 {
    let line = pick(rng, shape.lines);
    let ways = rng.random_range(shape.ways.clone());
    let wanted = rng.random_range(shape.bytes.clone());
    let mut sets = (wanted / (line * ways)).max(1);
    let sector = if shape.sectored { (line >> rng.random_range(0..3u32)).max(32) } else { line };
    let kind = rng.random_range(0..10);
    let mut index = "\"modulo\"".to_owned();
    if !shape.plain && kind < 3 {
        index = format!("{{ hash = {} }}", rng.random_range(1..1000));
    } else if !shape.plain && kind < 5 {
        // Bits above the line, with others mixed in.
        sets = 1 << sets.ilog2();
        let low = line.trailing_zeros();
        let masks: Vec<String> = (0..sets.ilog2())
            .map(|b| format!("{:#x}", 1u64 << (low + b) | 1 << (low + b + sets.ilog2() + 3)))
            .collect();
        index = format!("{{ parity = [{}] }}", masks.join(", "));
    } else if kind == 5 {
        sets = 1 << sets.ilog2();
        let bits: Vec<String> = (0..sets.ilog2()).map(|b| (line.trailing_zeros() + b).to_string()).collect();
        index = format!("{{ bits = [{}] }}", bits.join(", "));
    }
    let unequal = !shape.carveout
        && !shape.equal
        && index == "\"modulo\""
        && (2..=64).contains(&sets)
        && rng.random_range(0..4) == 0;
    let policies: &[&str] = if unequal || !ways.is_power_of_two() {
        &["\"lru\"", "\"fifo\"", "\"random\"", "\"unhit\""]
    } else {
        &["\"lru\"", "\"fifo\"", "\"random\"", "\"unhit\"", "\"plru\""]
    };
    let mut policy = pick(rng, policies).to_owned();
    if policy == "\"unhit\"" && shape.plain {
        // Known of an L1 only; an L2 of this kind could not even be flushed.
        policy = "\"lru\"".to_owned();
    }
    if !unequal && ways <= 8 && rng.random_range(0..5) == 0 {
        let odds: Vec<String> = (0..ways).map(|_| rng.random_range(1..4).to_string()).collect();
        policy = format!("{{ weighted = [{}] }}", odds.join(", "));
    }
    if shape.scope == "device"
        && (policy.contains("random") || policy.contains("weighted"))
        && rng.random_range(0..4) != 0
    {
        // Of such an L2 the size cannot be had (filling it never settles): a few are enough to see that it is said.
        policy = "\"fifo\"".to_owned();
    }
    let _ = writeln!(out, "[cache.{name}]\nscope = \"{}\"\nline = {line}\nsector = {sector}", shape.scope);
    let mut size = sets * ways * line;
    if unequal {
        let each: Vec<u64> = (0..sets).map(|_| ways + rng.random_range(0..=ways)).collect();
        size = each.iter().sum::<u64>() * line;
        let _ = writeln!(out, "set_ways = {each:?}");
    } else {
        let _ = writeln!(out, "sets = {sets}\nways = {ways}");
    }
    let _ = writeln!(out, "size = {size}\nindex = {index}\nreplacement = {policy}\ninstances = {}", shape.instances);
    if shape.instances > 1 {
        let _ = writeln!(out, "threads = \"{}\"", pick(rng, &["interleaved", "contiguous"]));
    }
    if shape.carveout {
        // Half of the ways can become shared memory.
        let half = (ways / 2).max(1);
        let _ = writeln!(
            out,
            "configuration = [\n  {{ shared = \"16 KiB\", sets = {sets}, ways = {ways} }},\n  {{ shared = \"64 KiB\", sets = {sets}, \
             ways = {half}{} }},\n]",
            if policy.contains("weighted") { ", replacement = \"random\"" } else { "" }
        );
    }
    // Drawn for every cache, so that a seed stays one machine; only an SM's cache has it.
    let write = pick(rng, &["through", "allocate", "evict"]);
    if shape.scope == "sm" {
        let _ = writeln!(out, "write = \"{write}\"");
    }
    out.push('\n');
    size
}

/// The machine of a seed.
pub fn machine(seed: u64) -> Drawn {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (text, noise) = text(&mut rng);
    let text = with_banks(text, &mut ChaCha8Rng::seed_from_u64(!seed));
    let text = with_spikes(text, noise, &mut ChaCha8Rng::seed_from_u64(seed.rotate_left(32)));
    let text = with_queues(text, &mut ChaCha8Rng::seed_from_u64(!seed.rotate_left(32)));
    let machine = Machine::parse(&format!("machine {seed}"), &text);
    Drawn { machine: machine.unwrap_or_else(|defect| panic!("{defect}\n{text}")), noise }
}

/// Other banks, drawn apart so that nothing else of a machine changes: 16 to 64 of 4 or 8 bytes, a way of 1 to 40 cycles, and
/// on half of those with wide banks a choice of two modes, which is asked for on compute capability 3.x.
fn with_banks(text: String, rng: &mut ChaCha8Rng) -> String {
    let (banks, width) = (pick(rng, &[16, 32, 32, 64]), pick(rng, &[4, 4, 8]));
    let any = rng.random_range(1..40);
    let conflict = pick(rng, &[1, 2, 14, 37, any]);
    let modes = if width == 8 && rng.random_range(0..2) == 0 { pick(rng, &["[4, 8]", "[8, 4]"]) } else { "[]" };
    let plain = "banks = 32\nbank_width = 4\nconflict = 2\n";
    assert!(text.contains(plain), "the banks of a drawn machine are written otherwise");
    let other = format!("banks = {banks}\nbank_width = {width}\nmodes = {modes}\nconflict = {conflict}\n");
    let text = text.replace(plain, &other);
    if modes == "[]" { text } else { text.replace("compute_capability = \"8.0\"", "compute_capability = \"3.5\"") }
}

/// What keeps lanes, warps and SMs waiting for each other, drawn apart so that nothing else of a machine changes.
fn with_queues(text: String, rng: &mut ChaCha8Rng) -> String {
    let atomic = format!("atomic = {}\natomic_line = {}\n", rng.random_range(0..=9), rng.random_range(0..=40));
    let (delivery, warps) = (rng.random_range(8..=128), rng.random_range(0..=120));
    format!("{text}\n[pipeline]\n{atomic}delivery = {delivery}\nbarrier_warps = {warps}\n")
}

/// Other spikes on two of three machines that have them, drawn apart so that nothing else changes: 5 to 5,000 cycles on 0.05 to 5 %
/// of the loads, small ones as often as large ones.
fn with_spikes(text: String, noise: Noise, rng: &mut ChaCha8Rng) -> String {
    if noise != Noise::Spikes || rng.random_range(0..3) == 0 {
        return text;
    }
    let mut spread = |from: f64, to: f64| (rng.random_range(from.ln()..to.ln())).exp();
    let (share, cycles) = (spread(0.0005, 0.05), spread(5.0, 5000.0).round());
    let other = |line: &str| match line.split_once(" = ") {
        Some(("spikes", _)) => format!("spikes = {share:.5}\n"),
        Some(("spike", _)) => format!("spike = {cycles}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(other).collect()
}

const DATA_LINES: &[u64] = &[32, 64, 128, 256];

fn text(rng: &mut ChaCha8Rng) -> (String, Noise) {
    let noise = match rng.random_range(0..HOSTILE) {
        0 => Noise::Hostile(pick(rng, &[Hostility::NoPlateau, Hostility::CloseLevels, Hostility::ManySpikes])),
        1..=3 => Noise::Quiet,
        4..=5 => Noise::Jitter,
        _ => Noise::Spikes,
    };
    let close = noise == Noise::Hostile(Hostility::CloseLevels);
    let mut out = String::from("schema = \"strata/machine/1\"\n\n");
    let sms = rng.random_range(2..=4);
    let carveout = rng.random_bool(0.5);
    let (mhz, step) = (rng.random_range(700..2000), pick(rng, &[32, 1000]));
    let mut caches = String::new();
    let l1 = Shape {
        bytes: 8 << 10..=128 << 10,
        ways: 1..=64,
        lines: DATA_LINES,
        sectored: true,
        plain: false,
        equal: false,
        scope: "sm",
        instances: pick(rng, &[1, 1, 2, 4]),
        carveout,
    };
    cache(&mut caches, rng, "l1", &l1);
    // Who shares what: everything in one, texture and read-only in another, or each in its own.
    let pattern = rng.random_range(0..4);
    let other = Shape { carveout: false, bytes: 8 << 10..=64 << 10, instances: pick(rng, &[1, 2, 4]), ..l1 };
    let (texture, read_only) = match pattern {
        0 => ("l1", "l1"),
        1 => ("tex", "tex"),
        2 => ("tex", "l1"),
        _ => ("tex", "ro"),
    };
    if texture == "tex" {
        cache(&mut caches, rng, "tex", &other);
    }
    if read_only == "ro" {
        let own = Shape { instances: pick(rng, &[1, 2]), bytes: 8 << 10..=48 << 10, ..other };
        cache(&mut caches, rng, "ro", &own);
    }
    let constant = Shape {
        bytes: 1536..=4 << 10,
        ways: 1..=8,
        lines: &[32, 64],
        sectored: false,
        plain: true,
        equal: true,
        scope: "sm",
        instances: 1,
        carveout: false,
    };
    cache(&mut caches, rng, "c1", &constant);
    let second = if rng.random_range(0..4) == 0 { 96 << 10..=128 << 10 } else { 12 << 10..=32 << 10 };
    cache(&mut caches, rng, "c15", &Shape { bytes: second, ways: 1..=16, lines: &[64, 128, 256], ..constant });
    let l2 = Shape {
        bytes: 512 << 10..=2 << 20,
        ways: 4..=32,
        lines: DATA_LINES,
        sectored: true,
        plain: true,
        equal: false,
        scope: "device",
        instances: 1,
        carveout: false,
    };
    let l2_size = cache(&mut caches, rng, "l2", &l2);
    let _ = writeln!(
        out,
        "[device]\nname = \"drawn\"\nchip = \"drawn\"\ncompute_capability = \"8.0\"\nmultiprocessors = {sms}\n\
         max_threads_per_block = 256\nmax_threads_per_multiprocessor = 2048\nmax_blocks_per_multiprocessor = 16\n\
         registers_per_multiprocessor = 65536\nmemory = \"4 GiB\"\nl2 = {l2_size}\nmemory_clock_mhz = 1000\nmemory_bus_bits = 256\n\n\
         [clock]\nmhz = {mhz}\ntimer_step_ns = {step}"
    );
    if rng.random_bool(0.5) {
        let _ = writeln!(out, "ramp_from_mhz = {}\nramp_us = {}", mhz / 3, rng.random_range(100..2000));
    }
    match noise {
        Noise::Quiet | Noise::Hostile(Hostility::CloseLevels) => {}
        Noise::Jitter => {
            let _ = writeln!(out, "\n[noise]\njitter = {}", rng.random_range(1..=3));
        }
        Noise::Spikes => {
            let share = 1.0 / f64::from(rng.random_range(100..=1000u32));
            let _ = writeln!(out, "\n[noise]\njitter = {}\nspikes = {share:.5}\nspike = 500", rng.random_range(0..=3));
        }
        Noise::Hostile(Hostility::NoPlateau) => {
            let _ = writeln!(out, "\n[noise]\nsmear = 1000");
        }
        Noise::Hostile(Hostility::ManySpikes) => {
            let _ = writeln!(out, "\n[noise]\nspikes = 0.1\nspike = 500");
        }
    }
    out.push('\n');
    out.push_str(&caches);
    paths(&mut out, rng, texture, read_only, close);
    (out, noise)
}

/// Latencies, translation and paths.
fn paths(out: &mut String, rng: &mut ChaCha8Rng, texture: &str, read_only: &str, close: bool) {
    if rng.random_bool(0.5) {
        let _ = writeln!(
            out,
            "[[tlb]]\nname = \"l1\"\nscope = \"sm\"\npage = \"2 MiB\"\nsets = 1\nways = {}\nreplacement = \"lru\"\npenalty = {}\n",
            pick(rng, &[16, 32]),
            rng.random_range(20..60)
        );
    }
    let (shared, host) = (rng.random_range(20..50), rng.random_range(800..2500));
    let _ = writeln!(
        out,
        "[shared]\nper_block = \"48 KiB\"\nper_multiprocessor = \"64 KiB\"\ncycles = {shared}\nbanks = 32\nbank_width = 4\n\
         conflict = 2\n\n[memory]\nport = 1\nchannels = 8\nhost_cycles = {host}\n"
    );
    let first = rng.random_range(20..60);
    let l2 = if close { first + 3 } else { first + rng.random_range(100..250) };
    let memory = l2 + if close { 3 } else { rng.random_range(150..400) };
    let extra = rng.random_range(0..60);
    let constant = rng.random_range(15..40);
    let second = constant + if close { 3 } else { rng.random_range(30..60) };
    let behind = second + if close { 3 } else { rng.random_range(60..200) };
    let cached = rng.random_range(0..6) != 0;
    let mut path = |name: &str, levels: &[&str], cycles: &[u32], memory: u32| {
        let _ = writeln!(
            out,
            "[path.{name}]\nlevels = {levels:?}\ncycles = {cycles:?}\nmemory = {memory}\ntranslated = \"l2\"\n"
        );
    };
    if cached {
        path("global_ca", &["l1", "l2"], &[first, l2], memory);
        path("local", &["l1", "l2"], &[first, l2], memory);
    } else {
        // Then only local memory is cached there.
        path("global_ca", &["l2"], &[l2], memory);
        path("local", &["l1", "l2"], &[first, l2], memory);
    }
    path("global_cg", &["l2"], &[l2], memory);
    path("global_nc", &[read_only, "l2"], &[first, l2], memory);
    path("texture", &[texture, "l2"], &[first + extra, l2 + extra], memory + extra);
    path("constant", &["c1", "c15", "l2"], &[constant, second, behind], behind + 200);
    let _ = rng.next_u32();
}
