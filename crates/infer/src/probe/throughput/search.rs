//! The search for the launch that gets the most: a grid of shapes, of which the best are measured again and longer.

use super::interval::{OTHER_CLOCK, per_second, promised, range, thousandths};
use super::{Level, NEARLY, Round, lap};
use crate::analysis::robust;
use crate::probe::{Gap, Measurement, Notebook};
use strata_model::experiment::{AccessWidth, LoadPath, Region, Stream, Streamed};
use strata_model::units::Bytes;

/// Shapes of a launch: bytes of an access, accesses of a thread in a pass, threads of a block, blocks of an SM. Of a device that
/// cannot hold them the blocks are left out.
const SHAPES: [(AccessWidth, u32, u32, u32); 20] = {
    use AccessWidth::{B4, B8, B16};
    [
        (B16, 1, 64, 1),
        (B16, 1, 128, 1),
        (B16, 1, 256, 1),
        (B16, 1, 512, 1),
        (B16, 1, 1024, 1),
        (B16, 1, 512, 3),
        (B16, 1, 1024, 2),
        (B16, 4, 256, 1),
        (B16, 4, 512, 1),
        (B16, 4, 1024, 1),
        (B16, 4, 512, 3),
        (B16, 4, 512, 4),
        (B16, 4, 1024, 2),
        (B16, 8, 256, 1),
        (B16, 8, 512, 2),
        (B16, 8, 512, 3),
        (B8, 1, 512, 1),
        (B8, 2, 128, 3),
        (B8, 4, 512, 3),
        (B4, 8, 512, 3),
    ]
};
/// Most bytes that an SM has in flight across the bus to the host. More only wait longer: an H200 reads as much with 1 KiB.
const MOST_TO_HOST: Bytes = Bytes::kib(8);
/// Of the shapes one in so many is measured again, and how often.
const AGAIN: (usize, u32) = (3, 2);
/// Of the shapes so many are measured to the end, and how often each.
const LAST: (usize, u32) = (2, 7);
/// The last measurements may differ by this share; else there are as many again, each so many times as long.
pub(super) const STEADY: (f64, u32) = (0.004, 6);

/// One shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub width: AccessWidth,
    pub unroll: u32,
    pub threads: u32,
    pub blocks: u32,
}

/// The best that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Peak {
    /// Bytes a cycle of an SM, the mean over them: the median, and what another run may find.
    pub(super) per_sm: (f64, f64, f64),
    /// Bytes a second of all SMs, in the same way; or why not.
    pub(super) per_second: Result<(f64, f64, f64), String>,
    /// The launch.
    pub(super) best: Stream,
    /// Its shape.
    pub(super) shape: Shape,
    /// Of the shapes that are nearly as good, the one of which all warps together touch the fewest bytes at once.
    pub(super) fine: Shape,
    /// SMs at work.
    pub(super) sms: usize,
    /// Numbers of the launches that gave it.
    pub(super) experiments: Vec<u32>,
}

impl Peak {
    /// Bytes a cycle of an SM while all of them do the same: the median, and what another run may find.
    pub fn per_sm(&self) -> (f64, f64, f64) {
        self.per_sm
    }

    /// Bytes a second of all SMs, likewise; or why not.
    pub fn per_second(&self) -> Result<(f64, f64, f64), &str> {
        self.per_second.as_ref().copied().map_err(String::as_str)
    }

    /// How it was found.
    pub fn method(&self) -> String {
        format!("best launch of a search: {}; {} SMs, counted in the middle of the launch", self.best, self.sms)
    }

    /// Numbers of the launches that gave it.
    pub fn experiments(&self) -> &[u32] {
        &self.experiments
    }
}

/// The peak of a level.
///
/// # Errors
///
/// Missing measurements, or that no launch gave a rate.
pub fn peak(notebook: &Notebook, level: &Level) -> Result<Peak, Gap> {
    notebook.once(&notebook.memo.peak, *level, || {
        let first = rates(notebook, level, &shapes(notebook, level), Round::Search, 0..1)?;
        let kept = best(&first, first.len().div_ceil(AGAIN.0));
        // Numbers of repetitions tell these launches from those that are stated.
        let again = rates(notebook, level, &kept, Round::Again, LAST.1..LAST.1 + AGAIN.1)?;
        let chosen = best(&again, LAST.0);
        let mut last = rates(notebook, level, &chosen, Round::Stated, 0..LAST.1)?;
        if last.iter().any(|of| of.spread() > STEADY.0) {
            last = rates(notebook, level, &chosen, Round::Longer, 0..LAST.1)?;
        }
        let Some(of) = last.iter().max_by(|a, b| a.median().total_cmp(&b.median())) else {
            return Gap::unknown("no launch that could be tried gave a rate");
        };
        // Memory in the SM goes by the SM's clock, all other by one of its own.
        let other_clock = |of| if level.region == of { OTHER_CLOCK } else { 0.0 };
        let other_place = thousandths(level.other_place);
        let sms = notebook.facts().multiprocessors;
        let most = first.iter().map(Rates::median).fold(0.0, f64::max);
        let fine = first
            .iter()
            .filter(|of| of.median() >= NEARLY * most)
            .min_by_key(|of| lap(&level.stream(sms, of.shape, Round::Search, 0), sms))
            .map_or(of.shape, |of| of.shape);
        Ok(Peak {
            per_sm: promised(&of.per_sm(), other_clock(Region::Together) + other_place),
            per_second: per_second(of, other_clock(Region::Own) + other_place),
            best: level.stream(sms, of.shape, Round::Stated, 0),
            sms: of.each.first().map_or(0, |seen| seen.bytes_per_clk.len()),
            shape: of.shape,
            fine,
            experiments: of.experiments.clone(),
        })
    })
}

/// Bytes in flight of an SM and bytes a cycle of it, by each shape, ascending: longer than in the search, whose short time makes passes
/// at its ends count for several bytes a cycle.
pub(super) fn tried(notebook: &Notebook, level: &Level) -> Result<Vec<(u64, f64)>, Gap> {
    let repeats = LAST.1 + AGAIN.1..LAST.1 + 2 * AGAIN.1;
    let sms = notebook.facts().multiprocessors;
    let in_flight = |shape| level.stream(sms, shape, Round::Search, 0).in_flight().0;
    let rates = rates(notebook, level, &shapes(notebook, level), Round::Again, repeats)?;
    let mut tried: Vec<(u64, f64)> = rates.iter().map(|of| (in_flight(of.shape), of.median())).collect();
    tried.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    Ok(tried)
}

/// What one shape of launch gave.
pub(super) struct Rates {
    pub shape: Shape,
    pub each: Vec<Streamed>,
    /// Numbers of its launches.
    pub experiments: Vec<u32>,
    /// Shortest life of a block, in nanoseconds.
    pub shortest: u64,
    /// Nanoseconds of which all lives are multiples: the step of the timer.
    pub step: u64,
}

impl Rates {
    /// Bytes a cycle of an SM, launch by launch.
    fn per_sm(&self) -> Vec<f64> {
        self.each.iter().map(Streamed::per_sm).collect()
    }

    fn median(&self) -> f64 {
        robust::median(&self.per_sm()).unwrap_or(0.0)
    }

    /// The share of their median by which the launches differ.
    fn spread(&self) -> f64 {
        let (middle, low, high) = range(&self.per_sm());
        (high - low) / middle.max(f64::MIN_POSITIVE)
    }
}

/// The shapes that the device may have room for.
pub(super) fn shapes(notebook: &Notebook, level: &Level) -> Vec<Shape> {
    let facts = notebook.facts();
    let sms = facts.multiprocessors;
    let fits = |shape: &Shape| {
        shape.threads <= facts.max_threads_per_block
            && shape.threads * shape.blocks <= facts.max_threads_per_multiprocessor.max(shape.threads)
            && level.stream(sms, *shape, Round::Search, 0).footprint.0 > 0
            && (level.path != LoadPath::Host || level.stream(sms, *shape, Round::Search, 0).in_flight() <= MOST_TO_HOST)
    };
    let all = SHAPES.map(|(width, unroll, threads, blocks)| Shape { width, unroll, threads, blocks });
    all.into_iter().filter(fits).collect()
}

/// What these shapes give, those left out that the device cannot hold.
fn rates(
    notebook: &Notebook,
    level: &Level,
    shapes: &[Shape],
    round: Round,
    repeats: std::ops::Range<u32>,
) -> Result<Vec<Rates>, Gap> {
    let sms = notebook.facts().multiprocessors;
    let of = |&shape: &Shape| repeats.clone().map(move |repeat| level.stream(sms, shape, round, repeat));
    let wanted: Vec<Stream> = shapes.iter().flat_map(of).collect();
    let answers = notebook.read_each(&wanted)?;
    let mut failure = None;
    let mut found = Vec::new();
    for (&shape, answers) in shapes.iter().zip(answers.chunks(repeats.len())) {
        let measured: Result<Vec<&Measurement<Stream>>, _> = answers.iter().map(Result::as_ref).collect();
        let measured = match measured {
            Ok(measured) => measured,
            Err(why) => {
                failure.get_or_insert(why.clone());
                continue;
            }
        };
        let each = measured.iter().filter_map(|m| Streamed::of(&m.experiment, m.samples())).collect();
        let lives = || measured.iter().flat_map(|m| m.samples().clocks.iter().map(|clock| clock.nanoseconds));
        let experiments = measured.iter().filter_map(|m| notebook.number_of(m.experiment.clone())).collect();
        found.push(Rates {
            shape,
            each,
            experiments,
            shortest: lives().min().unwrap_or(0),
            step: lives().fold(0, gcd),
        });
    }
    match (found.is_empty(), failure) {
        (true, Some(failure)) => Err(failure.into()),
        (true, None) => Gap::unknown("no launch of the search fits on this device"),
        _ => Ok(found),
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The shapes with the highest rates, so many of them.
fn best(all: &[Rates], count: usize) -> Vec<Shape> {
    let mut order: Vec<&Rates> = all.iter().collect();
    order.sort_by(|a, b| b.median().total_cmp(&a.median()));
    order.into_iter().take(count).map(|of| of.shape).collect()
}
