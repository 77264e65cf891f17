//! How many bytes a second a memory gives, and what it takes to get them.
//!
//! Nobody knows beforehand which launch gets the most. So a grid of launches is searched ([`halving`]). The last measurements are new
//! ones, so that the best is not stated by the luck for which it was chosen. Atomics are searched in the same way ([`atomics`]).
//!
//! A stream counts what is done in the middle of a launch ([`Stream`]). Bytes a cycle become bytes a second by the clock of the same
//! launches: under such a load it is lower than at other times.

pub mod at_random;
pub mod atomics;
pub mod clustered;
pub mod copied;
mod curves;
mod halving;
mod interval;
mod loaded;
pub mod of_a_warp;
pub mod outstanding;
mod search;
pub mod sides;
pub mod transfer;

use super::{Gap, Notebook, Unknown};
use curves::{effective_size, saturating_sms};
use halving::Round;
use interval::{OTHER_LINK, OTHER_PAGES, digits};
pub use search::{Peak, peak};
use search::{Shape, tried};
pub use sides::Rate;
use strata_model::attribute::{
    BYTES_IN_FLIGHT, COPY_BANDWIDTH, COPY_BANDWIDTH_PER_SM, EFFECTIVE_SIZE, Key, LATENCY_DOUBLES_AT, LOADED_LATENCY,
    LOADED_LATENCY_NS, READ_BANDWIDTH, READ_BANDWIDTH_PER_SM, SATURATING_SMS, TRIAD_BANDWIDTH, TRIAD_BANDWIDTH_PER_SM,
    Typed, WRITE_BANDWIDTH, WRITE_BANDWIDTH_PER_SM,
};
use strata_model::experiment::{Content, LoadPath, Prepare, Region, Side, Stream, Traffic, WARP};
use strata_model::topology::{BANDWIDTH_BY_BYTES_IN_FLIGHT, Entry, Finding, SeriesPoint};
use strata_model::units::{Bytes, BytesPerClock, BytesPerSecond};

/// Cycles by which the beginning of what counts differs from one repetition to the next.
const OUT_OF_STEP: u32 = 137;
/// Share of the peak that [`BYTES_IN_FLIGHT`] is for.
const NEARLY: f64 = 0.9;
/// Cycles before what is stated of memory beyond all caches counted, before 26 November 2026.
const WARM_BEFORE: u32 = 80_000;
/// Cycles of a pass that waits for DRAM while many others do.
const SLOWEST: u32 = 1_500;
/// Share of the peak by which a launch of the first round may be off.
const UNSURE: f64 = 0.03;

/// What is streamed through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Level {
    /// What is done.
    pub traffic: Traffic,
    /// By which loads.
    pub path: LoadPath,
    /// Bytes of an array: of each SM's own, or of all SMs together.
    pub footprint: Bytes,
    /// Bytes that an array would have if more memory were free.
    pub wanted: Option<Bytes>,
    /// Whose it is.
    pub region: Region,
    /// Cycles before a launch of the search counts, and for which it does.
    pub search: (u32, u32),
    /// Cycles before it counts, at the end of the search.
    pub warm: u32,
    /// Cycles for which it counts then.
    pub timed: u32,
    /// It counts for as long where the best are chosen, and never for longer: the rate depends on how long.
    pub is_fixed: bool,
    /// Thousandths by which the rate may differ in another run, because the memory lies elsewhere then.
    pub other_place: u32,
}

impl Level {
    /// Reads of a memory that each SM has to itself.
    pub const fn own(path: LoadPath, footprint: Bytes) -> Self {
        Level {
            traffic: Traffic::Read,
            path,
            footprint,
            wanted: None,
            region: Region::Own,
            search: (2_000, 6_000),
            warm: 4_000,
            timed: 24_000,
            is_fixed: false,
            other_place: 0,
        }
    }

    /// Reads of constants, which begin some thousand cycles after all else. Six runs of an H200 read at 1.732 to 1.741 B a cycle from the
    /// second cache.
    pub const fn constants(footprint: Bytes) -> Self {
        let level = Level::own(LoadPath::Constant, footprint);
        Level { search: (8_000, 12_000), warm: 12_000, timed: 48_000, other_place: 2, ..level }
    }

    /// Of a cache that all SMs share, whose content is there after some passes. Five runs of an H200 wrote to the L2 at rates up to
    /// 1.3 % apart, each of them steadily; reads differed by 0.2 %.
    pub const fn shared(traffic: Traffic, footprint: Bytes) -> Self {
        Level {
            traffic,
            path: LoadPath::GlobalCg,
            footprint,
            wanted: None,
            region: Region::Together,
            search: (8_000, 8_000),
            warm: 20_000,
            timed: 40_000,
            is_fixed: false,
            other_place: match traffic {
                Traffic::Read => 0,
                _ => 4,
            },
        }
    }

    /// Of memory beyond all caches, over an array of `wanted` bytes, or of fewer if no more are free. Before it counts, what the launch before
    /// has left in the L2 must have gone: `emptied` are the
    /// cycles in which that is certainly so. In a quarter of the time for which it counts then, repeated launches on an H200 differ by up
    /// to 4 %, in this time by less than 1 %. In six times as long they are slower by 0.6 to 2 %.
    ///
    /// Runs differ more than the launches of one run: by up to 1.3 % in reads and 2.6 % in copies on H100s, by 3.8 % in triads on an H200.
    pub fn beyond(traffic: Traffic, wanted: Bytes, most: Bytes, emptied: u32) -> Self {
        let other_place = match traffic {
            Traffic::Read | Traffic::Write => 4,
            Traffic::Copy => 8,
            Traffic::Triad => 15,
        };
        Level {
            wanted: (most < wanted).then_some(wanted),
            search: (emptied, 100_000),
            warm: emptied,
            timed: 400_000,
            is_fixed: true,
            other_place,
            ..Level::shared(traffic, wanted.min(most))
        }
    }

    /// The same, as a recording has it that was made before the search waited for the L2 to be emptied.
    ///
    /// # Errors
    ///
    /// Missing measurements.
    pub fn as_recorded(self, notebook: &Notebook) -> Result<Self, Gap> {
        let Some(&shape) = search::shapes(notebook, &self).first() else { return Ok(self) };
        let first = self.stream(notebook.facts().multiprocessors, shape, Round::Search, 0);
        let is_recorded = !notebook.is_not_recorded(&first)?;
        let search = Level::shared(self.traffic, self.footprint).search;
        Ok(if is_recorded { self } else { Level { search, warm: WARM_BEFORE, is_fixed: false, ..self } })
    }

    /// Of pinned host memory. A pass of all SMs takes up to 50,000 cycles on an H200.
    pub const fn host(traffic: Traffic, footprint: Bytes) -> Self {
        let (path, search) = (LoadPath::Host, (100_000, 200_000));
        Level {
            path,
            search,
            warm: 200_000,
            timed: 400_000,
            other_place: OTHER_PAGES,
            ..Level::shared(traffic, footprint)
        }
    }

    /// Of another GPU's memory or L2, over a link. A pass of all SMs takes about as long as one of host memory.
    pub const fn peer(traffic: Traffic, footprint: Bytes) -> Self {
        let level = Level::host(traffic, footprint);
        Level { path: LoadPath::Peer, other_place: OTHER_LINK, ..level }
    }

    /// The stream, which goes over its footprint once before it counts, so that a cache that all SMs share has all of it: a launch before
    /// may have left other memory there, and few bytes in flight take long.
    fn filled(&self, stream: Stream, multiprocessors: u32) -> Stream {
        if self.is_fixed || self.region == Region::Own || self.path.side() != Side::Device {
            return stream;
        }
        let turns = stream.footprint.0.div_ceil(stream.in_flight().0 * u64::from(multiprocessors));
        Stream { warm_cycles: stream.warm_cycles.saturating_add(turns as u32 * SLOWEST), ..stream }
    }

    /// What is to be said if an array of so many bytes is smaller than it should be.
    fn shortage(&self, footprint: Bytes) -> Option<String> {
        let wanted = self.wanted?;
        Some(format!(
            "too little memory is free: an array has {footprint} instead of {wanted}, and the L2 may answer part of the accesses"
        ))
    }

    fn stream(&self, multiprocessors: u32, shape: Shape, round: Round, repeat: u32) -> Stream {
        let round = if let (Round::Again, true) = (round, self.is_fixed) { Round::Stated } else { round };
        let (warm, timed) = round.cycles(self.search, (self.warm, self.timed));
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
        let lap = match self.region {
            Region::Own => stream.pass(),
            Region::Together => lap(&stream, multiprocessors),
        };
        Stream { footprint: self.footprint.round_down(lap), ..stream }
    }
}

/// Bytes of an array that so many SMs touch while each warp goes through its loop once.
fn lap(stream: &Stream, multiprocessors: u32) -> Bytes {
    let warps = stream.blocks_per_sm * stream.threads_per_block.div_ceil(WARP as u32);
    stream.pass() * u64::from(multiprocessors * warps)
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

/// What a bandwidth cannot exceed, by what is known of the memory, and what that is in words.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// Of all SMs.
    Together(BytesPerSecond, &'static str),
    /// Of an SM.
    EachSm(BytesPerClock, String),
}

/// Bandwidth by each kind of traffic; of the memory for which `level` says how it is streamed through.
pub fn entries(
    notebook: &Notebook,
    kinds: &[Traffic],
    limit: Option<Limit>,
    level: impl Fn(Traffic) -> Result<Level, Gap>,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    for &traffic in kinds {
        let (all, each) = keys(traffic);
        let of = || {
            let level = level(traffic)?;
            Ok::<_, Gap>((level, peak(notebook, &level)?))
        };
        entries.extend(notebook.attribute(all, || {
            let (level, peak) = of()?;
            let rate = peak.per_second.clone().map_err(Unknown::because)?;
            let (value, finding) = (rate.0, stated(&level, &peak, rate, BytesPerSecond));
            Ok(match &limit {
                Some(Limit::Together(limit, what)) => finding.note(share(value, limit.0, what, limit)),
                _ => finding,
            })
        }));
        entries.extend(notebook.attribute(each, || {
            let (level, peak) = of()?;
            let (value, finding) = (peak.per_sm.0, stated(&level, &peak, peak.per_sm, BytesPerClock));
            Ok(match &limit {
                Some(Limit::EachSm(limit, what)) => finding.note(share(value, limit.0, what, limit)),
                _ => finding,
            })
        }));
    }
    if kinds.contains(&Traffic::Read) {
        entries.extend(notebook.attribute(BYTES_IN_FLIGHT, || in_flight(notebook, &level(Traffic::Read)?)));
    }
    entries
}

/// What an interval of a rate across the bus to the host leaves out, as a note: thirteen runs beside an H100 read 29 to 51 GB/s, each
/// of them steadily.
pub(super) const BUS: &str =
    "the interval holds while the host is as busy as in this run: its bus and memory serve others, too";

/// A rate of a peak and what another run may find, as a finding.
fn stated<T: Typed>(
    level: &Level,
    peak: &Peak,
    (value, low, high): (f64, f64, f64),
    unit: impl Fn(f64) -> T,
) -> Finding<T> {
    let mut finding = Finding::measured(unit(digits(value)), peak.method()).range(digits(low), digits(high));
    if level.path == LoadPath::Host {
        finding = finding.note(BUS);
    }
    match level.shortage(peak.best.footprint) {
        Some(shortage) => finding.note(shortage),
        None => finding,
    }
}

/// What share of its limit a rate is, in words.
fn share(rate: f64, limit: f64, what: &str, shown: &impl std::fmt::Display) -> String {
    format!("{:.1} % of {what}, {shown}", 100.0 * rate / limit)
}

/// How many SMs it takes to read nearly as much as all do, of a memory that all share; and of a cache, how much all of them together
/// read from it.
pub fn of_many(notebook: &Notebook, is_cache: bool, level: impl Fn() -> Result<Level, Gap>) -> [Option<Entry>; 2] {
    let effective = || notebook.attribute(EFFECTIVE_SIZE, || effective_size(notebook, &level()?));
    [notebook.attribute(SATURATING_SMS, || saturating_sms(notebook, &level()?)), is_cache.then(effective).flatten()]
}

/// What a load takes under load, of a memory that all share.
pub fn under_load(
    notebook: &Notebook,
    is_cache: bool,
    kinds: &[Traffic],
    level: impl Fn(Traffic) -> Result<Level, Gap>,
) -> [Option<Entry>; 3] {
    let read = || level(Traffic::Read);
    [
        notebook.attribute(LOADED_LATENCY, || loaded::latency(notebook, is_cache, kinds, &level)),
        notebook.attribute(LOADED_LATENCY_NS, || loaded::nanoseconds(notebook, is_cache, &read()?)),
        notebook.attribute(LATENCY_DOUBLES_AT, || loaded::doubles_at(notebook, is_cache, &read()?)),
    ]
}

/// The fewest bytes in flight that reach nearly the best rate. The rates differ by a little from run to run, so the interval goes from
/// the most bytes that are clearly not enough to the fewest that clearly are.
fn in_flight(notebook: &Notebook, level: &Level) -> Result<Finding<Bytes>, Gap> {
    let tried = tried(notebook, level)?;
    let best = tried.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let fewest = |share: f64| tried.iter().find(|(_, rate)| *rate >= share * best).map(|(bytes, _)| *bytes);
    let (Some(early), Some(bytes), Some(late)) = (fewest(NEARLY - UNSURE), fewest(NEARLY), fewest(NEARLY + UNSURE))
    else {
        return Gap::unknown("no launch of the search gave a rate");
    };
    let below = tried.iter().map(|(tried, _)| *tried).rfind(|tried| *tried < early);
    let points = tried.iter().map(|&(bytes, rate)| SeriesPoint { x: bytes as f64, value: digits(rate), band: None });
    // Little's law: what is under way at a time is the rate times how long each load is.
    let under_way = tried.iter().find(|(tried, _)| *tried == bytes).map_or(0.0, |(_, rate)| bytes as f64 / rate);
    let finding =
        Finding::measured(Bytes(bytes), "fewest bytes in flight of an SM with nine tenths of the read bandwidth")
            .series(BANDWIDTH_BY_BYTES_IN_FLIGHT, points.collect())
            .note(format!(
                "by Little's law a pass of that launch takes {under_way:.0} cycles: longer than a load, because it waits for all of its loads \
                 before the next one begins"
            ));
    Ok(match below {
        Some(below) => finding.range(below as f64, late as f64),
        None => finding.at_most(late as f64),
    })
}
