//! Bandwidth in clusters: what SMs read from the shared memory of other blocks of their cluster, or write to it; and what multicast copies
//! bring from the L2 into the shared memory of all blocks of a cluster.
//!
//! One block is on each SM. Through shared memory all of them go over that of the block one rank further on, so that each SM gives as
//! much as it gets. By multicast each block copies its part of a piece for all blocks. Clusters of two are what is stated; others stand in
//! a series. The launches of [`die`](crate::probe::die) say how many clusters find room at once.

use std::collections::BTreeSet;

use super::halving::{Round, has_room, method, search};
use super::interval::{OTHER_CLOCK, digits, per_second, promised};
use super::search::{Shape, shapes};
use super::{Level, keys};
use crate::probe::die::{PAIR, cluster_launches};
use crate::probe::{Gap, Notebook, Unknown};
use strata_model::attribute::{Key, MULTICAST_BANDWIDTH, MULTICAST_BANDWIDTH_PER_SM};
use strata_model::experiment::{AccessWidth, ClusterStream, Clusters, LoadPath, Stream, Traffic};
use strata_model::samples::Samples;
use strata_model::topology::{BANDWIDTH_BY_CLUSTER_SIZE, Entry, Finding, SeriesPoint};
use strata_model::units::{Bytes, BytesPerClock, BytesPerSecond};

/// Blocks of the clusters that are tried.
const SIZES: [u32; 4] = [PAIR, 4, 8, 16];
/// A cluster of one block, whose multicast copies are for that block: as they are without other receivers.
const ALONE: u32 = 1;
/// Shapes of a launch of multicast copies: pieces of 512 bytes that the warps of a cluster share in a pass, threads of a block.
const MULTICAST_SHAPES: [(u32, u32); 9] =
    [(2, 1024), (4, 1024), (8, 512), (8, 1024), (16, 128), (16, 256), (16, 416), (16, 640), (16, 832)];
/// Memory of a block that is gone over: a few warps go over all of it while the launch of a search counts.
const WINDOW: Bytes = Bytes::kib(16);
/// Least shared memory of a block that is left for what the kernel has of its own.
const LEFT: Bytes = Bytes::kib(1);
/// The same where it copies: two mbarriers of each warp are the kernel's own, too, and copies go to the next multiple of 128 bytes.
const LEFT_OF_COPIES: Bytes = Bytes::kib(2);
/// Cycles before a launch of the search counts and for which it does, and those of what is stated. With a quarter of the latter a pass at the
/// ends counts for 3 % on an H200.
const SEARCH: (u32, u32) = (2_000, 24_000);
const STATED: (u32, u32) = (8_000, 96_000);
/// The same of a search of multicast copies: a pass of all warps takes up to 5,000 cycles on an H200.
const SEARCH_OF_COPIES: (u32, u32) = (8_000, 24_000);
/// Share by which multicast copies may be faster or slower in another process. The medians of eight processes of an H200 (GPU-fc69d319) lay from
/// 53.0 to 54.1 B/clk.
const OTHER_COPIES: f64 = 0.01;
/// From a block to the one whose memory it goes over.
const NEXT: u32 = 1;

/// What is done in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// Blocks go over the shared memory of others.
    Shared(Traffic),
    /// Each block copies a part of each piece of this memory, for all blocks of the cluster.
    Multicast(Level),
}

/// What clusters of one size get.
#[derive(Clone, Debug)]
pub struct Rate {
    /// Bytes a cycle of an SM: the median, and what another run may find.
    per_sm: (f64, f64, f64),
    /// Bytes a second of all SMs at work.
    per_second: Result<(f64, f64, f64), String>,
    /// SMs at work.
    sms: usize,
    /// How it was found.
    method: String,
}

/// Bandwidth of shared memory by reads and writes.
pub fn entries(notebook: &Notebook) -> Vec<Entry> {
    [Traffic::Read, Traffic::Write]
        .into_iter()
        .flat_map(|traffic| stated(notebook, keys(traffic), || Ok(Work::Shared(traffic))))
        .collect()
}

/// Bandwidth by multicast copies of the memory for which `level` says how it is streamed through.
pub fn multicast(notebook: &Notebook, level: impl Fn() -> Result<Level, Gap>) -> Vec<Entry> {
    stated(notebook, (MULTICAST_BANDWIDTH, MULTICAST_BANDWIDTH_PER_SM), || Ok(Work::Multicast(level()?)))
}

fn stated(
    notebook: &Notebook,
    (all, each): (Key<BytesPerSecond>, Key<BytesPerClock>),
    work: impl Fn() -> Result<Work, Gap>,
) -> Vec<Entry> {
    let together = || {
        let rate = rate(notebook, work()?, PAIR)?;
        let (value, low, high) = rate.per_second.map_err(Unknown::because)?;
        let finding = Finding::measured(BytesPerSecond(digits(value)), rate.method);
        Ok(finding.range(digits(low), digits(high)).note(format!("of {} SMs in clusters of {PAIR} blocks", rate.sms)))
    };
    let entries = [notebook.attribute(all, together), notebook.attribute(each, || per_sm(notebook, work()?))];
    entries.into_iter().flatten().collect()
}

/// What an SM gets in clusters of two, and beside it in others.
fn per_sm(notebook: &Notebook, work: Work) -> Result<Finding<BytesPerClock>, Gap> {
    let of_pairs = rate(notebook, work, PAIR)?;
    let alone = matches!(work, Work::Multicast(_)).then_some(ALONE);
    let (mut points, mut others) = (Vec::new(), Vec::new());
    for size in alone.into_iter().chain(SIZES) {
        match rate(notebook, work, size) {
            Ok(Rate { per_sm: (value, low, high), sms, .. }) => {
                let band = Some((digits(low), digits(high)));
                points.push(SeriesPoint { x: f64::from(size), value: digits(value), band });
                if size != PAIR {
                    others.push(format!("{} B/clk in clusters of {size} ({sms} SMs)", digits(value)));
                }
            }
            Err(Gap::Missing) => return Err(Gap::Missing),
            // Larger ones need more room.
            Err(Gap::Unknown(_)) => {}
        }
    }
    let (value, low, high) = of_pairs.per_sm;
    let finding = Finding::measured(BytesPerClock(digits(value)), of_pairs.method).range(digits(low), digits(high));
    let finding = finding.series(BANDWIDTH_BY_CLUSTER_SIZE, points);
    Ok(if others.is_empty() {
        finding.note("no larger clusters ran")
    } else {
        finding.note(format!("of clusters of {PAIR} blocks; {}", others.join(", ")))
    })
}

/// How the launches of a search are made.
struct Plan {
    /// What is streamed through.
    level: Level,
    shapes: Vec<Shape>,
    /// How many go over one footprint: SMs, or clusters.
    sharers: u32,
    /// Shared memory of a block that is left for what the kernel has of its own.
    left: Bytes,
    /// From a block to the one whose memory it goes over.
    distance: u32,
    /// Share by which another process may find more or less.
    besides: f64,
}

impl Plan {
    fn of(notebook: &Notebook, work: Work, count: u32) -> Self {
        match work {
            Work::Shared(traffic) => {
                let (warm, timed) = STATED;
                let level = Level { traffic, search: SEARCH, warm, timed, ..Level::own(LoadPath::Shared, WINDOW) };
                let (shapes, sharers) = (shapes(notebook, &level), notebook.facts().multiprocessors);
                Plan { level, shapes, sharers, left: LEFT, distance: NEXT, besides: 0.0 }
            }
            Work::Multicast(level) => {
                let of = |(unroll, threads)| Shape { width: AccessWidth::B16, unroll, threads, blocks: 1 };
                Plan {
                    level: Level { search: SEARCH_OF_COPIES, ..level },
                    shapes: MULTICAST_SHAPES.map(of).to_vec(),
                    sharers: count,
                    left: LEFT_OF_COPIES,
                    distance: 0,
                    besides: OTHER_COPIES,
                }
            }
        }
    }
}

fn rate(notebook: &Notebook, work: Work, size: u32) -> Result<Rate, Gap> {
    notebook.once(&notebook.memo.by_cluster, (work, size), || {
        let count = room(notebook, size)?;
        let facts = notebook.facts();
        let Plan { level, shapes, sharers, left, distance, besides } = Plan::of(notebook, work, count);
        let shared_per_block = Bytes(facts.most_shared_per_block().0.saturating_sub(left.0));
        let launch = |shape: Shape, round, repeat| {
            let stream = level.filled(level.stream(sharers, shape, round, repeat), sharers);
            ClusterStream { stream: Stream { sms: Vec::new(), ..stream }, size, count, shared_per_block, distance }
        };
        let is_possible = |shape: &Shape| {
            has_room(facts, shape.threads, shape.blocks) && launch(*shape, Round::Search, 0).defect().is_none()
        };
        let shapes: Vec<Shape> = shapes.into_iter().filter(is_possible).collect();
        let best = search(notebook, &shapes, true, launch)?.best;
        let stated = launch(best.shape, Round::Stated, 0);
        Ok(Rate {
            per_sm: promised(&best.per_sm(), besides),
            per_second: per_second(&best, OTHER_CLOCK + besides),
            sms: best.sms(),
            method: method(&stated, best.sms(), best.cycles),
        })
    })
}

/// How many clusters of this size find room at once: as many as had SMs that no earlier cluster of the launch had. Each of their blocks
/// stays for longer than a launch takes to spread.
fn room(notebook: &Notebook, size: u32) -> Result<u32, Gap> {
    if size == ALONE {
        return Ok(notebook.facts().multiprocessors);
    }
    let launches: Vec<Clusters> =
        cluster_launches(notebook).into_iter().filter(|clusters| clusters.size == size).collect();
    let measured = notebook.read(&launches)?;
    match measured.iter().map(|m| at_once(&m.experiment, m.samples())).min() {
        Some(count) if count > 0 => Ok(count),
        _ => Gap::unknown(format!("no cluster of {size} blocks ran")),
    }
}

fn at_once(clusters: &Clusters, samples: &Samples) -> u32 {
    let mut seen: BTreeSet<u32> = BTreeSet::new();
    let mut count = 0;
    for sms in clusters.of(samples) {
        let is_new = sms.iter().all(|sm| !seen.contains(sm));
        seen.extend(sms);
        count += u32::from(is_new);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_whose_sms_were_taken_before_came_later() {
        let clusters = Clusters { size: 2, count: 4, shared_per_block: Bytes(0), span_us: 20, repeat: 0 };
        let samples = Samples { sms: vec![0, 1, 4, 5, 1, 0, 2, 3], ..Samples::default() };
        assert_eq!(at_once(&clusters, &samples), 3);
        assert_eq!(at_once(&clusters, &Samples::default()), 0);
    }
}
