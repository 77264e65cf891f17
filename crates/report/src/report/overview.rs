//! One plot of everything: latency over footprint, a curve for each path of loads, with the levels and knees that were found.
//!
//! Points are samples of experiments that findings cite, or the points that a finding keeps; nothing is drawn between paths, and
//! a path without points is named and left out.

use std::collections::{BTreeMap, BTreeSet};

use super::plot::{Axis, Curves, Draw, Level, Mark, Measure, Series};
use super::words;
use strata_infer::analysis::robust;
use strata_model::attribute::{Attribute, LATENCY_CYCLES, SIZE};
use strata_model::evidence::Evidence;
use strata_model::experiment::{Chase, Experiment, LoadPath, Order, Prepare, Timing};
use strata_model::topology::{AVERAGE_LOAD, Element, ElementName, Topology};
use strata_model::units::Bytes;

/// Fewest footprints of a curve.
const CURVE: usize = 4;
/// Levels that differ by no more than this part of the lower one share a line and a name.
const SAME_LEVEL: f64 = 0.05;
/// Findings that cite walks over footprints.
const CITING: [Attribute; 6] = [
    Attribute::Size,
    Attribute::Staircase,
    Attribute::ThrashSize,
    Attribute::Reach,
    Attribute::LatencyCycles,
    Attribute::Spectrum,
];

/// How memory is walked: curves of different walks are not comparable point by point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Walk {
    /// Again and again, so that what fits into a cache of the SM hits.
    Warm(LoadPath),
    /// Once, after the L2 was filled with it.
    FromL2(LoadPath),
    /// A line in each page.
    ByPage(LoadPath),
}

impl Walk {
    /// The walk of a chase; `None` for those that show something else.
    fn of(chase: &Chase) -> Option<Self> {
        if !matches!(chase.timing, Timing::EachLoad { .. }) || matches!(chase.place.carveout_percent, Some(1..)) {
            return None;
        }
        match (&chase.order, chase.prepare, chase.warm_laps) {
            (Order::Pages { lines: 1, .. }, Prepare::Nothing, 1..) => Some(Walk::ByPage(chase.path)),
            (Order::Sequential | Order::Random, Prepare::Nothing, 1..) => Some(Walk::Warm(chase.path)),
            (Order::Paged { .. }, Prepare::Fill { .. }, _) => Some(Walk::FromL2(chase.path)),
            _ => None,
        }
    }

    fn name(self) -> String {
        match self {
            Walk::Warm(path) => path.instruction().to_owned(),
            Walk::FromL2(path) => format!("{}, from the L2", path.instruction()),
            Walk::ByPage(path) => format!("{}, a line a page", path.instruction()),
        }
    }

    /// The elements that a curve of this walk shows.
    const fn shows(self) -> &'static [ElementName] {
        use ElementName::{
            ConstantL1, ConstantL15, Dram, Host, L1, L2, Local, ReadOnly, Shared, Texture, TlbL1, TlbL2, TlbL3,
        };
        match self {
            Walk::Warm(LoadPath::GlobalCa) => &[L1],
            Walk::Warm(LoadPath::Texture) => &[Texture],
            Walk::Warm(LoadPath::GlobalNc) => &[ReadOnly],
            Walk::Warm(LoadPath::Constant) => &[ConstantL1, ConstantL15],
            Walk::Warm(LoadPath::Shared) => &[Shared],
            Walk::Warm(LoadPath::Local) => &[Local],
            Walk::Warm(LoadPath::Host) => &[Host],
            Walk::Warm(LoadPath::GlobalCg) | Walk::FromL2(_) => &[L2, Dram],
            Walk::ByPage(_) => &[TlbL1, TlbL2, TlbL3],
            // What lies in another GPU is no footprint of this one's caches.
            Walk::Warm(LoadPath::Atomic | LoadPath::Peer | LoadPath::PeerCa | LoadPath::PeerAtomic) => &[],
        }
    }
}

/// The plot, and which elements it leaves out.
pub(super) struct Overview {
    /// The plot.
    pub plot: Curves,
    /// Elements of which no footprints were walked, in words; empty if there are none.
    pub left_out: String,
}

/// The overview; `None` where no path has a curve.
pub(super) fn of(topology: &Topology, evidence: &Evidence) -> Option<Overview> {
    let mut curves = walked(topology, evidence);
    for (name, element) in &topology.elements {
        let Some(walk) = own_walk(*name) else { continue };
        if let (false, Some(points)) = (curves.contains_key(&walk), kept(element)) {
            curves.insert(walk, points);
        }
    }
    if curves.is_empty() {
        return None;
    }
    let shown: BTreeSet<ElementName> = curves.keys().flat_map(|walk| walk.shows()).copied().collect();
    let left_out = topology.elements.keys().filter(|name| !shown.contains(name)).map(|name| name.title());
    let left_out = left_out.collect::<Vec<_>>().join(", ");
    let (levels, marks) = (levels(topology, &shown), knees(topology, &shown));
    let names = |labels: Vec<&str>| if labels.is_empty() { "none".to_owned() } else { labels.join("; ") };
    let description = format!(
        "{} paths of loads. Levels in cycles: {}. Knees: {}.",
        curves.len(),
        names(levels.iter().map(|l| l.label.as_str()).collect()),
        names(marks.iter().map(|m| m.label.as_str()).collect())
    );
    let plot = Curves {
        title: "Latency over footprint".into(),
        description,
        x: Axis::bytes("footprint", true),
        y: Axis { label: "cycles per load".into(), measure: Measure::Number, log2: true },
        series: curves.into_iter().map(|(walk, points)| Series::new(walk.name(), Draw::Line, points)).collect(),
        marks,
        levels,
        ..Curves::default()
    };
    Some(Overview { plot, left_out })
}

/// The walk whose points the size of an element keeps.
const fn own_walk(name: ElementName) -> Option<Walk> {
    match name {
        ElementName::L1 => Some(Walk::Warm(LoadPath::GlobalCa)),
        ElementName::Texture => Some(Walk::Warm(LoadPath::Texture)),
        ElementName::ReadOnly => Some(Walk::Warm(LoadPath::GlobalNc)),
        ElementName::ConstantL1 => Some(Walk::Warm(LoadPath::Constant)),
        _ => None,
    }
}

/// The points that the size of an element keeps.
fn kept(element: &Element) -> Option<Vec<(f64, f64)>> {
    let points = element.finding(SIZE)?.series.get(AVERAGE_LOAD)?;
    (points.len() >= CURVE).then(|| points.iter().map(|point| (point.x, point.value)).collect())
}

/// Mean latency by footprint, of the chases that findings cite.
fn walked(topology: &Topology, evidence: &Evidence) -> BTreeMap<Walk, Vec<(f64, f64)>> {
    let citing = |element: &Element| {
        let findings = CITING.iter().filter_map(|attribute| element.finding(*attribute));
        findings.flat_map(|finding| finding.experiments.clone()).collect::<Vec<u32>>()
    };
    let numbers: BTreeSet<u32> = topology.elements.values().flat_map(citing).collect();
    let mut walks: BTreeMap<Walk, BTreeMap<Bytes, BTreeMap<Bytes, Vec<f64>>>> = BTreeMap::new();
    for (experiment, samples) in numbers.into_iter().filter_map(|number| evidence.get(number)) {
        let Experiment::Chase(chase) = experiment else { continue };
        let Some(walk) = Walk::of(chase) else { continue };
        // Of two loads of a line, the first is the one that may need a translation.
        let every = if matches!(walk, Walk::ByPage(_)) { 2 } else { 1 };
        let loads = samples.latencies.iter().step_by(every);
        let sum: f64 = loads.clone().map(|&load| f64::from(load)).sum();
        if loads.len() > 0 {
            let mean = sum / loads.len() as f64;
            let of_walk = walks.entry(walk).or_default();
            of_walk.entry(chase.stride).or_default().entry(chase.footprint).or_default().push(mean);
        }
    }
    let curves = walks.into_iter().map(|(walk, strides)| (walk, curve(strides)));
    curves.filter(|(_, points)| points.len() >= CURVE).collect()
}

/// The curve of the stride with the most footprints; others continue it where it was not walked.
fn curve(strides: BTreeMap<Bytes, BTreeMap<Bytes, Vec<f64>>>) -> Vec<(f64, f64)> {
    let mut strides: Vec<BTreeMap<Bytes, Vec<f64>>> = strides.into_values().collect();
    strides.sort_by_key(|footprints| std::cmp::Reverse(footprints.len()));
    let mut points: Vec<(f64, f64)> = Vec::new();
    for footprints in strides {
        let (low, high) = points.iter().fold((f64::MAX, f64::MIN), |(low, high), (x, _)| (low.min(*x), high.max(*x)));
        let of_footprint = |(footprint, means): (&Bytes, &Vec<f64>)| Some((footprint.0 as f64, robust::median(means)?));
        points.extend(footprints.iter().filter_map(of_footprint).filter(|(x, _)| *x < low || *x > high));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// Latencies of hits, ascending; near ones share a line.
fn levels(topology: &Topology, shown: &BTreeSet<ElementName>) -> Vec<Level> {
    let known = topology.elements.iter().filter(|(name, _)| shown.contains(name));
    let known = known.filter_map(|(name, element)| Some((element.finding(LATENCY_CYCLES)?.number()?, name.title())));
    let mut known: Vec<(f64, &str)> = known.collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let same = |a: &(f64, &str), b: &(f64, &str)| b.0 <= a.0 * (1.0 + SAME_LEVEL);
    known.chunk_by(same).map(|all| Level { at: all[0].0, label: named(all, &format!("{:.0}", all[0].0)) }).collect()
}

/// Usable capacities and reaches; equal ones share a line.
fn knees(topology: &Topology, shown: &BTreeSet<ElementName>) -> Vec<Mark> {
    // The memory behind the caches has a size, but no knee.
    let caches = topology.elements.iter().filter(|(name, _)| shown.contains(name) && **name != ElementName::Dram);
    let known = caches.filter_map(|(name, element)| Some((words::capacity(element)?.number()?, name.title())));
    let mut known: Vec<(f64, &str)> = known.collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Intervals stand with the findings: several bands over each other would hide what they are of.
    let mark = |all: &[(f64, &str)]| Mark::new(all[0].0, named(all, &Bytes(all[0].0 as u64).to_string()));
    known.chunk_by(|a, b| a.0 == b.0).map(mark).collect()
}

/// Names, then their common value; many names are too wide for a label.
fn named(all: &[(f64, &str)], value: &str) -> String {
    match all {
        [(_, one)] => format!("{one} {value}"),
        [(_, one), (_, two)] => format!("{one}, {two} {value}"),
        [(_, one), rest @ ..] => format!("{one} and {} more {value}", rest.len()),
        [] => value.to_owned(),
    }
}

#[cfg(test)]
mod tests;
