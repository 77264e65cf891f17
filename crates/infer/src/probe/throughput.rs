//! How many bytes a second a memory gives, and what it takes to get them.
//!
//! Nobody knows beforehand which launch gets the most. So a grid of launches is measured once, the best of them again, and the best
//! of those several times more and longer (successive halving). The last measurements are new ones, so that the best is not stated
//! by the luck for which it was chosen.
//!
//! A stream counts what is done in the middle of a launch ([`Stream`]). Bytes a cycle become bytes a second by the clock of the same
//! launches: under such a load it is lower than at other times.

use super::{Gap, Measurement, Notebook, Unknown};
use crate::analysis::robust;
use strata_model::attribute::{
    BYTES_IN_FLIGHT, COPY_BANDWIDTH, COPY_BANDWIDTH_PER_SM, Key, READ_BANDWIDTH, READ_BANDWIDTH_PER_SM,
    TRIAD_BANDWIDTH, TRIAD_BANDWIDTH_PER_SM, WRITE_BANDWIDTH, WRITE_BANDWIDTH_PER_SM,
};
use strata_model::experiment::{AccessWidth, Content, LoadPath, Prepare, Region, Stream, Streamed, Traffic, WARP};
use strata_model::topology::{BANDWIDTH_BY_BYTES_IN_FLIGHT, Entry, Finding, SeriesPoint};
use strata_model::units::{Bytes, BytesPerClock, BytesPerSecond};

/// Shapes of a launch: bytes of an access, accesses of a thread in a pass, threads of a block, blocks of an SM. Of a device that
/// cannot hold them the blocks are left out.
const SHAPES: [(AccessWidth, u32, u32, u32); 18] = {
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
        (B8, 4, 512, 3),
        (B4, 8, 512, 3),
    ]
};
/// Cycles before a launch of the search counts, and for which it does: for memory of each SM, and for memory of all.
const SEARCH_OWN: (u32, u32) = (2_000, 6_000);
/// As [`SEARCH_OWN`].
const SEARCH_TOGETHER: (u32, u32) = (8_000, 8_000);
/// Cycles by which the beginning of what counts differs from one repetition to the next.
const OUT_OF_STEP: u32 = 137;
/// Of the shapes one in so many is measured again, and how often.
const AGAIN: (usize, u32) = (3, 2);
/// Of the shapes so many are measured to the end, and how often each.
const LAST: (usize, u32) = (3, 7);
/// The last measurements may differ by this share; else there are as many again, each so many times as long.
const STEADY: (f64, u32) = (0.004, 6);
/// Share of the peak that [`BYTES_IN_FLIGHT`] is for.
const NEARLY: f64 = 0.9;
/// Share of the peak by which a launch of the first round may be off.
const UNSURE: f64 = 0.03;
/// Share by which a rate may be off however well its measurements agree: where the driver put the memory, and the warmth of the die.
const RESOLUTION: f64 = 0.002;
/// Share by which the clock under the load of memory in the SM may differ in another run: by 1.8 % in six runs of an H200, from first
/// to last.
const OTHER_CLOCK: f64 = 0.01;
/// Part of the range of the measurements that is added to it on each side, for what another run may find.
const BEYOND: f64 = 0.5;

/// What is streamed through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Level {
    /// What is done.
    pub traffic: Traffic,
    /// By which loads.
    pub path: LoadPath,
    /// Bytes of an array: of each SM's own, or of all SMs together.
    pub footprint: Bytes,
    /// Whose it is.
    pub region: Region,
    /// Cycles before it counts, at the end of the search.
    pub warm: u32,
    /// Cycles for which it counts then.
    pub timed: u32,
}

/// How a launch is measured.
#[derive(Clone, Copy)]
enum Round {
    /// To choose: with all else that is alike a short time will do.
    Search,
    /// To be stated.
    Stated,
    /// To be stated, where that was not steady.
    Longer,
}

impl Level {
    /// Reads of a memory that each SM has to itself.
    pub const fn own(path: LoadPath, footprint: Bytes) -> Self {
        Level { traffic: Traffic::Read, path, footprint, region: Region::Own, warm: 4_000, timed: 24_000 }
    }

    /// Of a cache that all SMs share, whose content is there after some passes.
    pub const fn shared(traffic: Traffic, footprint: Bytes) -> Self {
        let path = LoadPath::GlobalCg;
        Level { traffic, path, footprint, region: Region::Together, warm: 20_000, timed: 40_000 }
    }

    /// Of memory beyond all caches. What is left of earlier writes must leave the L2 before it counts.
    pub const fn beyond(traffic: Traffic, footprint: Bytes) -> Self {
        Level { warm: 80_000, timed: 100_000, ..Level::shared(traffic, footprint) }
    }

    fn stream(&self, multiprocessors: u32, shape: Shape, round: Round, repeat: u32) -> Stream {
        let (warm, timed) = match (round, self.region) {
            (Round::Search, Region::Own) => SEARCH_OWN,
            (Round::Search, Region::Together) => SEARCH_TOGETHER,
            (Round::Stated, _) => (self.warm, self.timed),
            (Round::Longer, _) => (self.warm, self.timed * STEADY.1),
        };
        let sms = match (round, self.region) {
            // An SM's own memory is the same on all.
            (Round::Search, Region::Own) => vec![0],
            _ => Vec::new(),
        };
        let stream = Stream {
            traffic: self.traffic,
            path: self.path,
            width: shape.width,
            unroll: shape.unroll,
            threads_per_block: shape.threads,
            blocks_per_sm: shape.blocks,
            sms,
            footprint: self.footprint,
            region: self.region,
            content: Content::Random,
            prepare: Prepare::Nothing,
            // Passes that go in step would end just before or just behind the ends each time.
            warm_cycles: warm + repeat * OUT_OF_STEP,
            timed_cycles: timed,
            repeat,
        };
        // In memory that all share each warp keeps to lines of its own, lap after lap: a request may be answered together with
        // that of another SM for the same line, and what a fast SM needs next, a slow one may have just brought into a cache.
        let warps = u64::from(multiprocessors * shape.blocks * shape.threads.div_ceil(WARP as u32));
        let lap = match self.region {
            Region::Own => stream.pass(),
            Region::Together => stream.pass() * warps,
        };
        Stream { footprint: self.footprint.round_down(lap), ..stream }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    width: AccessWidth,
    unroll: u32,
    threads: u32,
    blocks: u32,
}

/// The best that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Peak {
    /// Bytes a cycle of an SM, the mean over them: the median, and what another run may find.
    per_sm: (f64, f64, f64),
    /// Bytes a second of all SMs, in the same way; or why not.
    per_second: Result<(f64, f64, f64), String>,
    /// The launch.
    best: Stream,
    /// SMs at work.
    sms: usize,
    /// Bytes in flight of an SM and bytes a cycle of each launch of the search, ascending.
    tried: Vec<(u64, f64)>,
}

/// The peak of a level.
fn peak(notebook: &Notebook, level: &Level) -> Result<Peak, Gap> {
    notebook.once(&notebook.memo.peak, *level, || {
        let first = rates(notebook, level, &shapes(notebook, level), Round::Search, 0..1)?;
        let kept = best(&first, first.len().div_ceil(AGAIN.0));
        // Numbers of repetitions tell these launches from those that are stated.
        let again = rates(notebook, level, &kept, Round::Stated, LAST.1..LAST.1 + AGAIN.1)?;
        let chosen = best(&again, LAST.0);
        let mut last = rates(notebook, level, &chosen, Round::Stated, 0..LAST.1)?;
        if last.iter().any(|of| of.spread() > STEADY.0) {
            last = rates(notebook, level, &chosen, Round::Longer, 0..LAST.1)?;
        }
        let Some(of) = last.iter().max_by(|a, b| a.median().total_cmp(&b.median())) else {
            return Gap::unknown("no launch that could be tried gave a rate");
        };
        let sms = notebook.facts().multiprocessors;
        let in_flight = |shape| level.stream(sms, shape, Round::Search, 0).in_flight().0;
        let mut tried: Vec<(u64, f64)> = first.iter().map(|of| (in_flight(of.shape), of.median())).collect();
        tried.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        Ok(Peak {
            per_sm: promised(&of.per_sm(), 0.0),
            per_second: per_second(of, if level.region == Region::Own { OTHER_CLOCK } else { 0.0 }),
            best: level.stream(sms, of.shape, Round::Stated, 0),
            sms: of.each.first().map_or(0, |seen| seen.bytes_per_clk.len()),
            tried,
        })
    })
}

/// What one shape of launch gave.
struct Rates {
    shape: Shape,
    each: Vec<Streamed>,
    /// Shortest life of a block, in nanoseconds.
    shortest: u64,
    /// Nanoseconds of which all lives are multiples: the step of the timer.
    step: u64,
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
fn shapes(notebook: &Notebook, level: &Level) -> Vec<Shape> {
    let facts = notebook.facts();
    let sms = facts.multiprocessors;
    let fits = |shape: &Shape| {
        shape.threads <= facts.max_threads_per_block
            && shape.threads * shape.blocks <= facts.max_threads_per_multiprocessor.max(shape.threads)
            && level.stream(sms, *shape, Round::Search, 0).footprint.0 > 0
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
        found.push(Rates { shape, each, shortest: lives().min().unwrap_or(0), step: lives().fold(0, gcd) });
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

/// The median of these, the least and the most.
fn range(values: &[f64]) -> (f64, f64, f64) {
    let middle = robust::median(values).unwrap_or(0.0);
    let end = |of: fn(f64, f64) -> f64| values.iter().copied().fold(middle, of);
    (middle, end(f64::min), end(f64::max))
}

/// The median of these, and what another run may find: their range and a part of it on each side, and a share of the median besides.
fn promised(values: &[f64], besides: f64) -> (f64, f64, f64) {
    let (middle, low, high) = range(values);
    let more = BEYOND * (high - low) + (RESOLUTION + besides) * middle;
    (middle, low - more, high + more)
}

/// Bytes a second: each launch's bytes a cycle by its own clock, which is as exact as the steps of the timer are small.
fn per_second(of: &Rates, besides: f64) -> Result<(f64, f64, f64), String> {
    let rates: Option<Vec<f64>> = of.each.iter().map(|seen| Some(seen.total() * seen.clock_ghz? * 1e9)).collect();
    let Some(rates) = rates else { return Err("the device's timer stood still".into()) };
    Ok(promised(&rates, besides + of.step as f64 / of.shortest.max(1) as f64))
}

/// Four digits of a number.
fn digits(number: f64) -> f64 {
    format!("{number:.3e}").parse().expect("a number in digits")
}

/// Keys of one kind of traffic.
fn keys(traffic: Traffic) -> (Key<BytesPerSecond>, Key<BytesPerClock>) {
    match traffic {
        Traffic::Read => (READ_BANDWIDTH, READ_BANDWIDTH_PER_SM),
        Traffic::Write => (WRITE_BANDWIDTH, WRITE_BANDWIDTH_PER_SM),
        Traffic::Copy => (COPY_BANDWIDTH, COPY_BANDWIDTH_PER_SM),
        Traffic::Triad => (TRIAD_BANDWIDTH, TRIAD_BANDWIDTH_PER_SM),
    }
}

/// Bandwidth by each kind of traffic; of the memory for which `level` says how it is streamed through. Nothing where nobody asked.
pub fn entries(
    notebook: &Notebook,
    kinds: &[Traffic],
    limit: Option<(f64, &str)>,
    level: impl Fn(Traffic) -> Result<Level, Gap>,
) -> Vec<Entry> {
    if !notebook.asks_bandwidth() {
        return Vec::new();
    }
    let mut entries = Vec::new();
    for &traffic in kinds {
        let (all, each) = keys(traffic);
        let of = || peak(notebook, &level(traffic)?);
        entries.push(notebook.attribute(all, || {
            let peak = of()?;
            let (value, low, high) = peak.per_second.clone().map_err(Unknown::because)?;
            let finding =
                Finding::measured(BytesPerSecond(digits(value)), method(&peak)).range(digits(low), digits(high));
            Ok(match limit {
                Some((limit, what)) => {
                    finding.note(format!("{:.1} % of {what}, {}", 100.0 * value / limit, BytesPerSecond(limit)))
                }
                None => finding,
            })
        }));
        entries.push(notebook.attribute(each, || {
            let peak = of()?;
            let (value, low, high) = peak.per_sm;
            Ok(Finding::measured(BytesPerClock(digits(value)), method(&peak)).range(digits(low), digits(high)))
        }));
    }
    if kinds.contains(&Traffic::Read) {
        let found = || peak(notebook, &level(Traffic::Read)?);
        entries.push(notebook.attribute(BYTES_IN_FLIGHT, || found().and_then(|peak| in_flight(&peak))));
    }
    entries
}

fn method(peak: &Peak) -> String {
    format!("best launch of a search: {}; {} SMs, counted in the middle of the launch", peak.best, peak.sms)
}

/// The fewest bytes in flight that reach nearly the best of the first round. Its short launches differ by a little, so the interval
/// goes from the most bytes that are clearly not enough to the fewest that clearly are.
fn in_flight(peak: &Peak) -> Result<Finding<Bytes>, Gap> {
    let best = peak.tried.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let fewest = |share: f64| peak.tried.iter().find(|(_, rate)| *rate >= share * best).map(|(bytes, _)| *bytes);
    let (Some(early), Some(bytes), Some(late)) = (fewest(NEARLY - UNSURE), fewest(NEARLY), fewest(NEARLY + UNSURE))
    else {
        return Gap::unknown("no launch of the search gave a rate");
    };
    let below = peak.tried.iter().map(|(tried, _)| *tried).rfind(|tried| *tried < early);
    let points =
        peak.tried.iter().map(|&(bytes, rate)| SeriesPoint { x: bytes as f64, value: digits(rate), band: None });
    let finding =
        Finding::measured(Bytes(bytes), "fewest bytes in flight of an SM with nine tenths of the read bandwidth")
            .series(BANDWIDTH_BY_BYTES_IN_FLIGHT, points.collect());
    Ok(match below {
        Some(below) => finding.range(below as f64, late as f64),
        None => finding.at_most(late as f64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_wider_than_what_was_seen() {
        let (middle, low, high) = promised(&[100.0, 101.0, 102.0], 0.0);
        assert_eq!(middle, 101.0);
        assert!(low < 99.0 && high > 103.0, "{low} {high}");
        let (_, low, high) = promised(&[100.0; 3], 0.01);
        assert!((low, high) == (98.8, 101.2), "{low} {high}");
    }

    #[test]
    fn four_digits_are_stated() {
        assert_eq!((digits(127.4567), digits(9.563_412e12), digits(0.0)), (127.5, 9.563e12, 0.0));
    }
}
