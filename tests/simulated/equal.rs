//! What the simulator carries out as a whole gives what the interpreter gives, instruction by instruction.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use strata_bench::Bench;
use strata_gpu::Gpu;
use strata_infer::discover::{Request, discover};
use strata_infer::probe::Effort;
use strata_model::experiment::{
    AccessWidth, BankWidth, Chase, Clock, Disturb, Experiment, LoadPath, Order, Partner, Place, Prepare, Timing, Warp,
    Watch,
};
use strata_model::samples::{Failure, Samples};
use strata_model::source::Source;
use strata_model::topology::Selection;
use strata_model::units::Bytes;
use strata_sim::Sim;
use strata_sim::machine::Machine;

use crate::sim::Watched;

/// Machines that are drawn.
const MACHINES: u64 = 16;
/// Batches that a machine runs, one after the other: what the first leave behind is part of what the later ones find.
const BATCHES: usize = 3;
/// Experiments of a batch, which the bench puts on SMs side by side where they may be.
const BATCH: usize = 16;
/// Most loads of a lap, so that a batch takes a moment.
const LAP: u64 = 600;

/// Machines whose discovery goes through the interpreter as well.
const DISCOVERED: [u64; 2] = [3, 8];

fn pick<T: Clone>(rng: &mut ChaCha8Rng, from: &[T]) -> T {
    from[rng.random_range(0..from.len())].clone()
}

/// Most bytes of a chain by a path.
fn most(path: LoadPath) -> u64 {
    match path {
        LoadPath::Local => 1 << 10,
        LoadPath::Constant | LoadPath::Shared => 16 << 10,
        _ => 4 << 20,
    }
}

/// A path with a footprint and a stride.
fn chain(rng: &mut ChaCha8Rng, path: LoadPath) -> (LoadPath, Bytes, Bytes) {
    let element = path.element().0;
    let stride = pick(rng, &[element, 32, 64, 128, 224, 256, 4096]).min(most(path));
    let lap = rng.random_range(1..=LAP.min(most(path) / stride));
    (path, Bytes(lap * stride), Bytes(stride))
}

fn order(rng: &mut ChaCha8Rng, path: LoadPath, footprint: Bytes, stride: Bytes) -> Order {
    let element = path.element();
    match rng.random_range(0..8) {
        0 | 1 => Order::Sequential,
        2 => Order::Random,
        3 => Order::Scattered { granule: element },
        4 => Order::Paged { page: Bytes(stride.0 * rng.random_range(1..=4)), lines: rng.random_range(1..=2) },
        5 => Order::Pages { granule: element * 2, lines: 1, shuffled: rng.random() },
        6 => Order::Window { granule: element * 2, first: rng.random_range(0..footprint / stride) },
        _ => Order::Listed { offsets: (0..footprint / stride).rev().map(|i| i * stride.0).collect() },
    }
}

/// Paths whose chains the bench lays out: a disturbance has no others.
const LAID_OUT: [LoadPath; 7] = [
    LoadPath::GlobalCa,
    LoadPath::GlobalCg,
    LoadPath::GlobalNc,
    LoadPath::Texture,
    LoadPath::Constant,
    LoadPath::Host,
    LoadPath::Atomic,
];

fn disturbance(rng: &mut ChaCha8Rng, sms: u32) -> Disturb {
    let path = pick(rng, &LAID_OUT);
    let (path, footprint, stride) = chain(rng, path);
    let other = pick(rng, &LAID_OUT);
    let (other, far, apart) = chain(rng, other);
    let block_threads = pick(rng, &[32, 64, 100, 256]);
    let partner = Partner {
        path: other,
        footprint: far,
        stride: apart,
        laps: rng.random_range(1..=2),
        thread: rng.random_range(1..block_threads),
        block_threads,
    };
    Disturb {
        loads: loads(rng),
        warm_laps: rng.random_range(0..3),
        prepare: prepare(rng),
        place: place(rng, sms),
        ..Disturb::new(path, footprint, stride, partner)
    }
}

fn warp(rng: &mut ChaCha8Rng, sms: u32) -> Warp {
    let width = pick(rng, &AccessWidth::ALL);
    let offsets = std::array::from_fn(|_| rng.random_range(0..64u64) * width.bytes().0);
    Warp {
        bank_width: pick(rng, &[None, Some(BankWidth::B4), Some(BankWidth::B8)]),
        warm_loads: rng.random_range(0..3),
        rounds: rng.random_range(1..4),
        place: place(rng, sms),
        ..Warp::new(width, offsets, width.bytes() * 64, loads(rng))
    }
}

/// Loads that are timed: less than a lap up to several.
fn loads(rng: &mut ChaCha8Rng) -> u32 {
    rng.random_range(1..=3 * LAP as u32 / 2)
}

fn prepare(rng: &mut ChaCha8Rng) -> Prepare {
    let nothing = Prepare::Nothing;
    pick(rng, &[nothing, nothing, nothing, Prepare::FlushL2, Prepare::Fill { passes: 2 }])
}

fn place(rng: &mut ChaCha8Rng, sms: u32) -> Place {
    Place {
        sm: rng.random_bool(0.3).then(|| rng.random_range(0..sms)),
        allocation: rng.random_range(0..2),
        carveout_percent: pick(rng, &[None, Some(0), Some(0), Some(50), Some(100)]),
        alone: rng.random_range(0..4) == 0,
    }
}

/// An experiment of any kind but a pattern, on a device of so many SMs.
fn experiment(rng: &mut ChaCha8Rng, sms: u32) -> Experiment {
    let timing = match rng.random_range(0..12) {
        0 if rng.random_bool(0.5) => {
            return Watch { span_us: rng.random_range(1..200), sm: rng.random_range(0..sms), repeat: 0 }.into();
        }
        0 => return Clock { span_us: rng.random_range(1..200), sm: rng.random_range(0..sms), repeat: 0 }.into(),
        1 => return warp(rng, sms).into(),
        2..=4 => return disturbance(rng, sms).into(),
        5 | 6 => Timing::Laps { loads: loads(rng), rounds: rng.random_range(1..4) },
        7 => Timing::EachPair { pairs: loads(rng) },
        8 => Timing::straight(loads(rng)),
        _ => Timing::resident(loads(rng)),
    };
    let path = pick(rng, &LoadPath::ALL);
    let (path, footprint, stride) = chain(rng, path);
    Chase {
        order: order(rng, path, footprint, stride),
        timing,
        warm_laps: rng.random_range(0..3),
        prepare: prepare(rng),
        place: place(rng, sms),
        seed: rng.random_range(0..4),
        ..Chase::each_load(path, footprint, stride)
    }
    .into()
}

fn answers(gpu: &mut dyn Gpu, batches: &[Vec<Experiment>]) -> Vec<Vec<Result<Samples, Failure>>> {
    let mut bench = Bench::new(gpu, Arc::default()).expect("a simulated machine takes the census");
    batches.iter().map(|batch| bench.run(batch)).collect()
}

/// A drawn machine; every other one has queues with little room, in which nearly every request waits.
fn machine(seed: u64) -> Machine {
    let machine = strata_drawn::machine(seed).machine;
    if seed.is_multiple_of(2) {
        return machine;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut lines = Vec::new();
    for line in machine.text.lines() {
        lines.push(line.to_owned());
        let cache = line.strip_prefix("[cache.").and_then(|rest| rest.strip_suffix(']'));
        if cache.is_some_and(|name| !name.contains('.')) || ["[shared]", "[memory]"].contains(&line) {
            lines.push(format!("bandwidth = {:.2}", rng.random_range(1.0..64.0)));
        } else if line == "[pipeline]" {
            let (width, most) = (rng.random_range(1..4), rng.random_range(1..40));
            lines.push(format!("issue_width = {width}\noutstanding = {most}"));
        }
    }
    let machine = Machine::parse("queues", &lines.join("\n")).unwrap_or_else(|defect| panic!("{seed}: {defect}"));
    assert!(machine.spec.pipeline.outstanding.is_some() && machine.spec.memory.bandwidth.is_some(), "{seed}");
    machine
}

#[test]
fn walks_give_the_samples_of_the_interpreter() {
    let mut by_kernel = BTreeMap::<&str, usize>::new();
    for seed in 0..MACHINES {
        let machine = machine(seed);
        let sms = machine.spec.device.multiprocessors.get() as u32;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut possible = || loop {
            let drawn = experiment(&mut rng, sms);
            if drawn.defect().is_none() {
                return drawn;
            }
        };
        let batches: Vec<Vec<Experiment>> = (0..BATCHES).map(|_| (0..BATCH).map(|_| possible()).collect()).collect();
        let walked = answers(&mut Sim::new(machine.clone(), seed), &batches);
        let interpreted = answers(&mut Sim::new(machine, seed).interpreted(), &batches);
        for ((batch, walked), interpreted) in batches.iter().zip(&walked).zip(&interpreted) {
            for ((experiment, walked), interpreted) in batch.iter().zip(walked).zip(interpreted) {
                assert_eq!(walked, interpreted, "machine {seed}: {experiment:?}");
                if interpreted.is_ok() {
                    *by_kernel.entry(experiment.name()).or_default() += 1;
                }
            }
        }
    }
    // What fails on both sides shows nothing: of each kind enough must have samples.
    for kernel in ["clock", "lap", "per_load", "per_two_loads", "disturb", "warp"] {
        let samples = by_kernel.get(kernel).copied().unwrap_or(0);
        assert!(samples >= 10, "{samples} experiments of kind {kernel} have samples: {by_kernel:?}");
    }
}

/// What discovery asks on a machine, and what came back.
fn seen(mut gpu: Sim, seed: u64) -> Vec<(Experiment, Result<Samples, Failure>)> {
    let facts = gpu.facts().clone();
    let source = Bench::new(&mut gpu, Arc::default()).expect("a simulated machine takes the census");
    let mut watched = Watched { source, refuse: |_: &Experiment| None, seen: Vec::new() };
    let question = Request { selection: Selection::of([]), effort: Effort::Quick, seed };
    discover(&mut watched, &facts, &question, &mut |_| {});
    watched.seen
}

#[test]
fn discovery_sees_what_the_interpreter_shows() {
    for seed in DISCOVERED {
        let machine = machine(seed);
        let walked = seen(Sim::new(machine.clone(), seed), seed);
        let interpreted = seen(Sim::new(machine, seed).interpreted(), seed);
        assert_eq!(walked.len(), interpreted.len(), "machine {seed}");
        for (walked, interpreted) in walked.iter().zip(&interpreted) {
            assert_eq!(walked, interpreted, "machine {seed}");
        }
    }
}
