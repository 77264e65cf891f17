//! Bandwidth of distributed shared memory: what SMs read from the shared memory of other blocks of their cluster, or write to it.
//!
//! One block is on each SM. All of them go over the memory of the block one rank further on, so that each SM gives as much as it
//! gets. Clusters of two are what is stated; larger ones stand in a series. The launches of [`die`](crate::probe::die) say how many clusters
//! find room at once.

use std::collections::BTreeSet;

use super::halving::{Round, method, search};
use super::interval::{OTHER_CLOCK, digits, per_second, promised};
use super::search::{Shape, shapes};
use super::{Level, keys};
use crate::probe::die::{PAIR, cluster_launches};
use crate::probe::{Gap, Notebook, Unknown};
use strata_model::experiment::{ClusterStream, Clusters, LoadPath, Stream, Traffic};
use strata_model::samples::Samples;
use strata_model::topology::{BANDWIDTH_BY_CLUSTER_SIZE, Entry, Finding, SeriesPoint};
use strata_model::units::{Bytes, BytesPerClock, BytesPerSecond};

/// Blocks of the clusters that are tried.
const SIZES: [u32; 4] = [PAIR, 4, 8, 16];
/// Memory of a block that is gone over: a few warps go over all of it while the launch of a search counts.
const WINDOW: Bytes = Bytes::kib(16);
/// Least shared memory of a block that is left for what the kernel has of its own.
const LEFT: Bytes = Bytes::kib(1);
/// Cycles before a launch of the search counts and for which it does, and those of what is stated. With a quarter of the latter a pass at the
/// ends counts for 3 % on an H200.
const SEARCH: (u32, u32) = (2_000, 24_000);
const STATED: (u32, u32) = (8_000, 96_000);
/// From a block to the one whose memory it goes over.
const DISTANCE: u32 = 1;

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

/// Bandwidth by reads and writes.
pub fn entries(notebook: &Notebook) -> Vec<Entry> {
    let mut entries = Vec::new();
    for traffic in [Traffic::Read, Traffic::Write] {
        let (all, each) = keys(traffic);
        entries.extend(notebook.attribute(all, || {
            let rate = rate(notebook, traffic, PAIR)?;
            let (value, low, high) = rate.per_second.map_err(Unknown::because)?;
            let finding = Finding::measured(BytesPerSecond(digits(value)), rate.method);
            Ok(finding
                .range(digits(low), digits(high))
                .note(format!("of {} SMs in clusters of {PAIR} blocks", rate.sms)))
        }));
        entries.extend(notebook.attribute(each, || per_sm(notebook, traffic)));
    }
    entries
}

/// What an SM gets in clusters of two, and beside it in larger ones.
fn per_sm(notebook: &Notebook, traffic: Traffic) -> Result<Finding<BytesPerClock>, Gap> {
    let of_pairs = rate(notebook, traffic, PAIR)?;
    let (mut points, mut larger) = (Vec::new(), Vec::new());
    for size in SIZES {
        match rate(notebook, traffic, size) {
            Ok(Rate { per_sm: (value, low, high), sms, .. }) => {
                let band = Some((digits(low), digits(high)));
                points.push(SeriesPoint { x: f64::from(size), value: digits(value), band });
                if size > PAIR {
                    larger.push(format!("{} B/clk in clusters of {size} ({sms} SMs)", digits(value)));
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
    Ok(if larger.is_empty() {
        finding.note("no larger clusters ran")
    } else {
        finding.note(format!("of clusters of {PAIR} blocks; {}", larger.join(", ")))
    })
}

fn rate(notebook: &Notebook, traffic: Traffic, size: u32) -> Result<Rate, Gap> {
    notebook.once(&notebook.memo.by_cluster, (traffic, size), || {
        let count = room(notebook, size)?;
        let (warm, timed) = STATED;
        let level = Level { traffic, search: SEARCH, warm, timed, ..Level::own(LoadPath::Shared, WINDOW) };
        let sms = notebook.facts().multiprocessors;
        let most = notebook.facts().most_shared_per_block();
        let shared_per_block = Bytes(most.0.saturating_sub(LEFT.0));
        let launch = |shape: Shape, round, repeat| {
            let stream = Stream { sms: Vec::new(), ..level.stream(sms, shape, round, repeat) };
            ClusterStream { stream, size, count, shared_per_block, distance: DISTANCE }
        };
        let mut shapes = shapes(notebook, &level);
        shapes.retain(|shape| launch(*shape, Round::Search, 0).defect().is_none());
        let best = search(notebook, &shapes, true, launch)?.best;
        let stated = launch(best.shape, Round::Stated, 0);
        Ok(Rate {
            per_sm: promised(&best.per_sm(), 0.0),
            per_second: per_second(&best, OTHER_CLOCK),
            sms: best.sms(),
            method: method(&stated, best.sms(), best.cycles),
        })
    })
}

/// How many clusters of this size find room at once: as many as had SMs that no earlier cluster of the launch had. Each of their blocks
/// stays for longer than a launch takes to spread.
fn room(notebook: &Notebook, size: u32) -> Result<u32, Gap> {
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
