//! How many additions a second atomics make: with a word of each thread, on one line, on one word, and on one word for a whole warp.
//!
//! Nobody waits for the old value (`red`), as in a histogram. The launch is searched for as that of a bandwidth is.

use super::OUT_OF_STEP;
use super::halving::{Found, Round, has_room, method, search};
use super::interval::{digits, per_second, promised, thousandths};
use crate::probe::{Gap, Notebook, Unknown};
use strata_model::attribute::{
    ATOMIC_THROUGHPUT, ATOMIC_THROUGHPUT_AGGREGATED, ATOMIC_THROUGHPUT_AGGREGATED_PER_SM,
    ATOMIC_THROUGHPUT_ONE_ADDRESS, ATOMIC_THROUGHPUT_ONE_ADDRESS_PER_SM, ATOMIC_THROUGHPUT_ONE_LINE,
    ATOMIC_THROUGHPUT_ONE_LINE_PER_SM, ATOMIC_THROUGHPUT_PER_SM, Key,
};
use strata_model::experiment::{AtomicMemory, Atomics, COUNTER, Target};
use strata_model::topology::{Entry, Finding};
use strata_model::units::{OperationsPerClock, OperationsPerSecond};

/// A shape of a launch.
#[derive(Clone, Copy)]
struct Shape {
    /// Atomics of a thread in a pass.
    unroll: u32,
    /// Threads of a block.
    threads: u32,
    /// Blocks of an SM.
    blocks: u32,
}

impl Shape {
    const fn new(unroll: u32, threads: u32, blocks: u32) -> Self {
        Shape { unroll, threads, blocks }
    }
}

/// Shapes where warps do not wait for each other, or only for those of their SM: up to all threads that an SM holds.
const MANY: [Shape; 8] = [
    Shape::new(1, 256, 1),
    Shape::new(1, 1024, 1),
    Shape::new(1, 1024, 2),
    Shape::new(4, 128, 1),
    Shape::new(4, 512, 1),
    Shape::new(4, 1024, 1),
    Shape::new(4, 512, 3),
    Shape::new(4, 1024, 2),
];
/// Shapes where all SMs wait for one line: a few requests of each SM fill its queue, and more of them only make the launch longer.
const FEW: [Shape; 4] = [Shape::new(1, 32, 1), Shape::new(1, 128, 1), Shape::new(1, 256, 1), Shape::new(1, 512, 1)];
/// Cycles before a launch counts and for which it does, in the search and at its end: until queues to the L2 are full, and so long that
/// thousands of requests are served.
const APART: [(u32, u32); 2] = [(8_000, 8_000), (20_000, 40_000)];
/// As [`APART`], where all SMs wait for one line, which takes tens of cycles for a request of a warp.
const AT_ONE_LINE: [(u32, u32); 2] = [(20_000, 40_000), (40_000, 200_000)];
/// As [`APART`], where the warps of an SM may wait in turn: all of them end a pass at about the same time, and it must be short beside
/// the time that counts.
const IN_TURN: [(u32, u32); 2] = [(8_000, 40_000), (20_000, 160_000)];
/// Part of the L2 that the counters take up at most: they must stay in it.
const OF_L2: u64 = 2;
/// Thousandths by which the rate of the L2 may differ in another run, because the counters lie elsewhere then. Where each thread has a word of its
/// own, six runs of an H200 made 0.86 or 0.89 Top/s and five of another 0.87 to 0.92, each of them steadily. On one word one run of twelve made
/// 2.2 % less than the others. One line differs as writes do.
const fn other_place(target: Target) -> u32 {
    match target {
        Target::Spread => 40,
        Target::OneLine => 4,
        Target::OneAddress | Target::Aggregated => 20,
    }
}

/// What the L2 does for all SMs together.
pub fn of_l2(notebook: &Notebook) -> [Option<Entry>; 4] {
    let of = |key: Key<OperationsPerSecond>, target| {
        notebook.attribute(key, || {
            let (found, best) = found(notebook, AtomicMemory::Global, target)?;
            let (value, low, high) =
                per_second(&found.best, thousandths(other_place(target))).map_err(Unknown::because)?;
            let cycle = digits(found.best.median() * found.best.sms() as f64);
            Ok(Finding::measured(
                OperationsPerSecond(digits(value)),
                method(&best, found.best.sms(), found.best.cycles),
            )
            .range(digits(low), digits(high))
            .note(format!("{cycle} a cycle of the SM clock")))
        })
    };
    [
        of(ATOMIC_THROUGHPUT, Target::Spread),
        of(ATOMIC_THROUGHPUT_ONE_LINE, Target::OneLine),
        of(ATOMIC_THROUGHPUT_ONE_ADDRESS, Target::OneAddress),
        of(ATOMIC_THROUGHPUT_AGGREGATED, Target::Aggregated),
    ]
}

/// What shared memory does for the warps of its SM.
pub fn of_shared(notebook: &Notebook) -> [Option<Entry>; 4] {
    let of = |key: Key<OperationsPerClock>, target| {
        notebook.attribute(key, || {
            let (found, best) = found(notebook, AtomicMemory::Shared, target)?;
            let (value, low, high) = promised(&found.best.per_sm(), 0.0);
            Ok(Finding::measured(OperationsPerClock(digits(value)), method(&best, found.best.sms(), found.best.cycles))
                .range(digits(low), digits(high)))
        })
    };
    [
        of(ATOMIC_THROUGHPUT_PER_SM, Target::Spread),
        of(ATOMIC_THROUGHPUT_ONE_LINE_PER_SM, Target::OneLine),
        of(ATOMIC_THROUGHPUT_ONE_ADDRESS_PER_SM, Target::OneAddress),
        of(ATOMIC_THROUGHPUT_AGGREGATED_PER_SM, Target::Aggregated),
    ]
}

/// What the search found, and the launch that is stated.
fn found(notebook: &Notebook, memory: AtomicMemory, target: Target) -> Result<(Found<Shape>, Atomics), Gap> {
    let (shapes, times) = match (memory, target) {
        (_, Target::Spread) => (&MANY[..], APART),
        (AtomicMemory::Global, _) => (&FEW[..], AT_ONE_LINE),
        (AtomicMemory::Shared, _) => (&MANY[..], IN_TURN),
    };
    let launch = |shape, round, repeat| launch(memory, target, times, shape, round, repeat);
    let facts = notebook.facts();
    let fits = |&&shape: &&Shape| {
        let atomics = launch(shape, Round::Search, 0);
        let counters = COUNTER * atomics.counters(u64::from(facts.multiprocessors * shape.blocks));
        // All lanes on one word take so long that a pass of several atomics of all warps would be a large part of the time.
        (shape.unroll == 1 || target != Target::OneAddress)
            && has_room(facts, shape.threads, shape.blocks)
            && (memory == AtomicMemory::Shared || counters.0 <= facts.l2_size / OF_L2)
    };
    let shapes: Vec<Shape> = shapes.iter().filter(fits).copied().collect();
    let found = search(notebook, &shapes, true, launch)?;
    let best = launch(found.best.shape, Round::Stated, 0);
    Ok((found, best))
}

fn launch(
    memory: AtomicMemory,
    target: Target,
    [search, stated]: [(u32, u32); 2],
    Shape { unroll, threads: threads_per_block, blocks: blocks_per_sm }: Shape,
    round: Round,
    repeat: u32,
) -> Atomics {
    let (warm, timed_cycles) = round.cycles(search, stated);
    let sms = match (round, memory) {
        // An SM's own memory is the same on all.
        (Round::Search, AtomicMemory::Shared) => vec![0],
        _ => Vec::new(),
    };
    // Passes that go in step would end just before or just behind the ends each time.
    let warm_cycles = warm + repeat * OUT_OF_STEP;
    Atomics { memory, target, unroll, threads_per_block, blocks_per_sm, sms, warm_cycles, timed_cycles, repeat }
}
