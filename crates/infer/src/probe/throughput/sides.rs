//! Bandwidth and latency under load of near and far memory: of lines that are at home in the SM's own partition of the L2, and of those
//! that are in the other.

use super::Level;
use super::halving::{Round, search};
use super::interval::{digits, per_second, thousandths};
use super::loaded::{self, CACHED, Loaded};
use super::search::{Shape, shapes};
use crate::probe::home_map::{Placed, home_map};
use crate::probe::{Gap, Notebook, Unknown, homes};
use strata_model::attribute::{
    FAR_LOADED_LATENCY, FAR_READ_BANDWIDTH, FAR_WRITE_BANDWIDTH, Key, NEAR_LOADED_LATENCY, NEAR_READ_BANDWIDTH,
    NEAR_WRITE_BANDWIDTH,
};
use strata_model::experiment::{LoadedChase, Order, PartitionChase, PartitionStream, Stream, Traffic};
use strata_model::topology::{Entry, Finding, LATENCY_BY_READ_BANDWIDTH};
use strata_model::units::{Bytes, BytesPerSecond, Cycles};

/// Distance of the lines of a chase in the L2, and where they lie.
const IN_CACHE: (Bytes, Bytes) = (Bytes(256), Bytes::mib(2));
/// The same of a chase in memory: within the reach of all first-level TLBs known, and more lines of each side than a launch visits.
const IN_MEMORY: (Bytes, Bytes) = (Bytes::kib(4), Bytes::mib(16));
/// Least distance of the lines of a chase: of two sectors of a line, the second may come with the first.
const LEAST_STRIDE: Bytes = Bytes(256);
/// Most lines of a chase in memory.
const MOST_LINES: usize = 2048;
/// An element of a chain.
const ELEMENT: Bytes = Bytes(32);

/// Share by which the rate may differ in another run, because the search chooses another of nearly equal launches: ten runs of an H200 differ by
/// 1.2 % in reads of near lines in the L2 and by 2.4 % in writes to far memory, six of an H100 by 3.1 %.
const OTHER_LAUNCH: f64 = 0.01;

/// A rate that a search found.
#[derive(Clone, Debug)]
pub struct Rate {
    /// Bytes a second of all SMs: the median, and what another run may find.
    per_second: Result<(f64, f64, f64), String>,
    /// Bytes a cycle of an SM, the mean over them.
    per_sm: f64,
    /// How it was found.
    method: String,
}

/// Keys of one kind of traffic, near and far.
const fn keys(traffic: Traffic) -> Option<[(Key<BytesPerSecond>, bool); 2]> {
    match traffic {
        Traffic::Read => Some([(NEAR_READ_BANDWIDTH, false), (FAR_READ_BANDWIDTH, true)]),
        Traffic::Write => Some([(NEAR_WRITE_BANDWIDTH, false), (FAR_WRITE_BANDWIDTH, true)]),
        Traffic::Copy | Traffic::Triad => None,
    }
}

/// Bandwidth of near and far lines by reads and writes, and latency under load; of the memory for which `level` says how it is streamed
/// through.
pub fn entries(notebook: &Notebook, is_cache: bool, level: impl Fn(Traffic) -> Result<Level, Gap>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for traffic in Traffic::ALL {
        for (key, is_far) in keys(traffic).into_iter().flatten() {
            entries.extend(notebook.attribute(key, || bandwidth(notebook, &level(traffic)?, is_far)));
        }
    }
    for (key, is_far) in [(NEAR_LOADED_LATENCY, false), (FAR_LOADED_LATENCY, true)] {
        entries.extend(notebook.attribute(key, || latency(notebook, is_cache, &level(Traffic::Read)?, is_far)));
    }
    entries
}

/// The launch of a shape. It may go through more in a pass than what follows each other in a partition: its defect says so.
fn launch(placed: &Placed, level: &Level, shape: Shape, round: Round, repeat: u32, is_far: bool) -> PartitionStream {
    // Launches that write to memory differ by 3 % over the whole time, and not in a quarter of it: the best of the search are measured again for
    // as long as what is stated.
    let round = if let Round::Again = round { Round::Stated } else { round };
    // As many SMs as there are: the footprint is cut to whole laps of each partition's warps when its pieces are listed.
    let stream = level.stream(1, shape, round, repeat);
    let footprint = level.footprint.min(placed.homes.bytes()).round_down(stream.pass());
    let stream = Stream { sms: Vec::new(), footprint, ..stream };
    PartitionStream { stream, homes: placed.homes.clone(), sms: placed.sms.clone(), is_far }
}

fn bandwidth(notebook: &Notebook, level: &Level, is_far: bool) -> Result<Finding<BytesPerSecond>, Gap> {
    let rate = notebook.once(&notebook.memo.by_side, (*level, is_far), || {
        let placed = home_map(notebook)?;
        let of = |shape, round, repeat| launch(&placed, level, shape, round, repeat, is_far);
        let mut shapes = shapes(notebook, level);
        shapes.retain(|shape| of(*shape, Round::Search, 0).defect().is_none());
        if shapes.is_empty() {
            return Gap::unknown(format!(
                "every launch that fits goes through more in a pass than the {} that follow each other in a partition",
                placed.homes.finest()
            ));
        }
        let best = search(notebook, &shapes, !level.is_fixed, of)?.best;
        if best.bases.iter().any(|base| *base != placed.base) {
            return Gap::unknown(homes::MOVED);
        }
        let method = super::halving::method(&of(best.shape, Round::Stated, 0), best.sms(), best.cycles);
        Ok(Rate {
            per_second: per_second(&best, thousandths(level.other_place) + OTHER_LAUNCH),
            per_sm: best.median(),
            method,
        })
    })?;
    let (value, low, high) = rate.per_second.map_err(Unknown::because)?;
    let side = if is_far { "the other partition" } else { "its own partition" };
    let finding = Finding::measured(BytesPerSecond(digits(value)), rate.method).range(digits(low), digits(high));
    Ok(finding.note(format!(
        "{} B/clk of an SM, which goes only through lines at home in {side} of the L2; a copy that the L2 keeps in the SM's own partition \
         answers instead, if there is one",
        digits(rate.per_sm)
    )))
}

/// What a load of a near or far line takes while the other SMs read half of what they can, from all lines.
fn latency(notebook: &Notebook, is_cache: bool, level: &Level, is_far: bool) -> Result<Finding<Cycles>, Gap> {
    let placed = home_map(notebook)?;
    let ((stride, span), most) =
        if is_cache { (IN_CACHE, (CACHED.0 / CACHED.1) as usize) } else { (IN_MEMORY, MOST_LINES) };
    // In a small memory the lines are closer to each other.
    let stride = Bytes((stride.0 * placed.homes.bytes().0.min(span.0) / span.0).max(LEAST_STRIDE.0));
    let seed = notebook.seed(33);
    let lines = [0, 1].map(|partition| placed.some_of(partition, stride.0, span.0, most, seed));
    if lines.iter().any(Vec::is_empty) {
        return Gap::unknown(format!("no lines {stride} apart are at home in one of the partitions"));
    }
    let chase = |chase: LoadedChase| {
        let partition = placed.sms.get(chase.sm as usize).copied().unwrap_or(0) ^ u8::from(is_far);
        let offsets = lines[usize::from(partition)].clone();
        let chase = LoadedChase { footprint: placed.homes.bytes(), stride: ELEMENT, ..chase };
        PartitionChase { chase, order: Order::Listed { offsets } }
    };
    let reads: Loaded = loaded::by(
        notebook,
        level,
        is_cache,
        chase,
        |chase: &PartitionChase| &chase.chase.stream,
        |m| m.samples().base == placed.base,
    )?;
    let of_half = |finding: Finding<Cycles>| finding.series(LATENCY_BY_READ_BANDWIDTH, reads.series());
    let side = if is_far { "at home in the other partition" } else { "at home in the SM's own partition" };
    Ok(of_half(reads.at_half(&format!("{}, over lines {side} of the L2; {}", loaded::METHOD, homes::METHOD))?))
}
