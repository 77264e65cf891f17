//! The launch that moves the most: the shapes that are tried, and what is stated of the best.

use super::halving::{Rates, Round, further_repeats, has_room, method, rates, search};
use super::interval::{OTHER_CLOCK, per_second, promised, thousandths};
use super::{Level, NEARLY, lap};
use crate::probe::{Gap, Notebook};
use strata_model::experiment::{AccessWidth, LoadPath, Region, Side, Stream};
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
/// As [`SHAPES`], for constants, which are loaded by words: words of a pass, threads of a block, blocks of an SM.
const SHAPES_OF_CONSTANTS: [(u32, u32, u32); 12] = [
    (2, 64, 1),
    (2, 128, 1),
    (2, 512, 1),
    (4, 128, 1),
    (4, 512, 1),
    (4, 1024, 2),
    (8, 128, 1),
    (8, 512, 1),
    (8, 1024, 1),
    (16, 256, 1),
    (16, 512, 1),
    (16, 512, 2),
];
/// Part of the L2 that all warps of a launch touch at once at most, so that its footprints can be told apart.
const FINE: u64 = 8;
/// Most bytes that an SM has in flight across the bus to the host. More only wait longer: an H200 reads as much with 1 KiB.
const MOST_TO_HOST: Bytes = Bytes::kib(8);
/// The same across a link to another GPU. An H200 reads as much with 4 KiB, and where passes take as long as a launch counts, their number says
/// little.
const MOST_OVER_LINK: Bytes = Bytes::kib(16);

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
    /// Of the shapes with which all warps together touch at most a part of the L2 at once ([`FINE`]), the best.
    pub(super) best_of_fine: Shape,
    /// Of the shapes that are nearly as good, the one with the most bytes in flight: it fills the queues.
    pub(super) deep: Shape,
    /// SMs at work.
    pub(super) sms: usize,
    /// Cycles for which it counted.
    pub(super) cycles: Option<u32>,
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
        method(&self.best, self.sms, self.cycles)
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
        let sms = notebook.facts().multiprocessors;
        let launch = |shape, round, repeat| level.stream(sms, shape, round, repeat);
        let found = search(notebook, &shapes(notebook, level), !level.is_fixed, launch)?;
        let of = &found.best;
        // Memory in the SM goes by the SM's clock, all other by one of its own.
        let other_clock = |of| if level.region == of { OTHER_CLOCK } else { 0.0 };
        let other_place = thousandths(level.other_place);
        let most = found.first.iter().map(Rates::median).fold(0.0, f64::max);
        let nearly = || found.first.iter().filter(|of| of.median() >= NEARLY * most).map(|of| of.shape);
        let stream = |shape: &Shape| level.stream(sms, *shape, Round::Search, 0);
        let fine = nearly().min_by_key(|shape| lap(&stream(shape), sms)).unwrap_or(of.shape);
        let touches = |shape: &Shape| lap(&stream(shape), sms).0;
        let best_of_fine = found.first.iter().filter(|of| touches(&of.shape) <= notebook.facts().l2_size / FINE);
        let best_of_fine = best_of_fine.max_by(|a, b| a.median().total_cmp(&b.median())).map_or(fine, |of| of.shape);
        let deep = nearly().max_by_key(|shape| stream(shape).in_flight()).unwrap_or(of.shape);
        Ok(Peak {
            per_sm: promised(&of.per_sm(), other_clock(Region::Together) + other_place),
            per_second: per_second(of, other_clock(Region::Own) + other_place),
            best: level.stream(sms, of.shape, Round::Stated, 0),
            sms: of.sms(),
            cycles: of.cycles,
            shape: of.shape,
            fine,
            best_of_fine,
            deep,
            experiments: of.experiments.clone(),
        })
    })
}

/// Bytes in flight of an SM and bytes a cycle of it, by each shape, ascending: longer than in the search, whose short time makes passes
/// at its ends count for several bytes a cycle. In a recording made before 27 November 2026 the launches did not fill a cache first.
pub(super) fn tried(notebook: &Notebook, level: &Level) -> Result<Vec<(u64, f64)>, Gap> {
    let sms = notebook.facts().multiprocessors;
    let in_flight = |shape| level.stream(sms, shape, Round::Search, 0).in_flight().0;
    let stream = |shape, round, repeat| level.stream(sms, shape, round, repeat);
    let filled = |shape, round, repeat| level.filled(stream(shape, round, repeat), sms);
    let shapes = shapes(notebook, level);
    let repeats = further_repeats();
    let rates = match shapes.first().map(|&shape| filled(shape, Round::Again, repeats.start)) {
        Some(first) if notebook.is_not_recorded(&first)? => rates(notebook, &shapes, stream, Round::Again, repeats)?,
        _ => rates(notebook, &shapes, filled, Round::Again, repeats)?,
    };
    let mut tried: Vec<(u64, f64)> = rates.iter().map(|of| (in_flight(of.shape), of.median())).collect();
    tried.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    Ok(tried)
}

/// Most bytes that an SM has in flight by this path, if there is a limit.
fn most_in_flight(path: LoadPath) -> Option<Bytes> {
    match path.side() {
        Side::Device => None,
        Side::Host => Some(MOST_TO_HOST),
        Side::Peer => Some(MOST_OVER_LINK),
    }
}

/// The shapes that the device may have room for.
pub(super) fn shapes(notebook: &Notebook, level: &Level) -> Vec<Shape> {
    let facts = notebook.facts();
    let sms = facts.multiprocessors;
    let fits = |shape: &Shape| {
        has_room(facts, shape.threads, shape.blocks)
            && level.stream(sms, *shape, Round::Search, 0).footprint.0 > 0
            && most_in_flight(level.path)
                .is_none_or(|most| level.stream(sms, *shape, Round::Search, 0).in_flight() <= most)
    };
    let words = |(unroll, threads, blocks)| Shape { width: AccessWidth::B4, unroll, threads, blocks };
    let all: Vec<Shape> = match level.path {
        LoadPath::Constant => SHAPES_OF_CONSTANTS.map(words).to_vec(),
        _ => SHAPES.map(|(width, unroll, threads, blocks)| Shape { width, unroll, threads, blocks }).to_vec(),
    };
    all.into_iter().filter(fits).collect()
}
