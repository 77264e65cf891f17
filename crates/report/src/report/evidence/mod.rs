//! From the experiments that a finding cites to the figures that show its evidence. Pure: the same samples give the same
//! figures.
//!
//! The experiments are put into groups of one kind (kernel, path, order, what was done before). What varies within a group says
//! how it is drawn: latency over footprint or stride, by SM, by the partner's thread. Groups in which nothing varies are shown
//! load by load.

mod chains;
mod fixed;
mod flat;
mod loads;

use std::collections::{BTreeMap, HashMap};

use crate::report::plot::{Mark, Plot, Store};
use crate::report::words;
use strata_infer::analysis::robust;
use strata_model::attribute::{Attribute, Configuration};
use strata_model::evidence::Evidence;
use strata_model::experiment::{
    ClusterStream, CopyStream, CopyWork, Experiment, Launched, LoadPath, LoadedChase, Order, PartitionStream, Prepare,
    Timing, Traffic,
};
use strata_model::import::Question;
use strata_model::samples::Samples;
use strata_model::topology::{Element, Finding};
use strata_model::units::Bytes;

/// Most panels of one finding: what is left out are the smallest groups.
const MOST_PANELS: usize = 4;

/// An experiment with its samples and its number.
#[derive(Clone, Copy)]
struct Measurement<'e> {
    number: u32,
    experiment: &'e Experiment,
    samples: &'e Samples,
}

impl Measurement<'_> {
    /// Bytes walked; 0 where there is nothing to say.
    fn footprint(&self) -> Bytes {
        self.experiment.footprint().unwrap_or_default()
    }

    /// Distance of neighbouring elements; 0 where there is nothing to say.
    fn stride(&self) -> Bytes {
        self.experiment.stride().unwrap_or_default()
    }

    /// Number of the SM that it ran on.
    fn sm(&self) -> u32 {
        self.experiment.sm().unwrap_or(self.samples.sm)
    }
}

/// What is measured, in the order of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Clock,
    Laps,
    EachLoad,
    EachPair,
    Disturb,
    Warp,
    Pattern,
    Stream,
    Transfer,
    Atomics,
    Clusters,
    Distributed,
    AsyncCopy,
    CodeWalk,
    PageWalk,
    Residency,
    Displacement,
    Contention,
    Imported,
}

/// What experiments have in common that are drawn together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    what: What,
    path: Option<LoadPath>,
    order: &'static str,
    prepare: Prepare,
    cold: bool,
    carveout: Option<u8>,
}

impl Kind {
    fn of(experiment: &Experiment) -> Self {
        let (what, order, cold) = match experiment {
            Experiment::Clock(_) | Experiment::Watch(_) => (What::Clock, "", false),
            Experiment::Chase(chase) | Experiment::Launched(Launched { chase, .. }) => {
                let what = match chase.timing {
                    Timing::Laps { .. } => What::Laps,
                    Timing::EachLoad { .. } => What::EachLoad,
                    Timing::EachPair { .. } => What::EachPair,
                };
                (what, in_words(&chase.order), chase.warm_laps == 0)
            }
            Experiment::Disturb(disturb) => (What::Disturb, in_words(&disturb.order), disturb.warm_laps == 0),
            Experiment::Warp(warp) => (What::Warp, "by lane", warp.warm_loads == 0),
            Experiment::Pattern(_) => (What::Pattern, "by pattern", false),
            Experiment::Stream(stream) | Experiment::LoadedChase(LoadedChase { stream, .. }) => {
                (What::Stream, stream.traffic.name(), false)
            }
            Experiment::PartitionStream(PartitionStream { stream, is_far, .. }) => {
                let order = match (stream.traffic, is_far) {
                    (Traffic::Write, false) => "write near",
                    (Traffic::Write, true) => "write far",
                    (_, false) => "read near",
                    (_, true) => "read far",
                };
                (What::Stream, order, false)
            }
            Experiment::WindowStream(_) => (What::Stream, "read at random", false),
            Experiment::PartitionChase(_) => (What::Stream, "listed", false),
            Experiment::ClusterStream(of @ ClusterStream { stream, .. }) => {
                let order = match stream.traffic {
                    _ if of.is_multicast() => "multicast copies",
                    Traffic::Write => "write in clusters",
                    _ => "read in clusters",
                };
                (What::Stream, order, false)
            }
            Experiment::Transfer(_) => (What::Transfer, "copy", false),
            Experiment::Atomics(_) => (What::Atomics, "additions", false),
            Experiment::Clusters(_) => (What::Clusters, "clusters", false),
            Experiment::Distributed(distributed) => (What::Distributed, distributed.work.name(), false),
            Experiment::AsyncCopy(copy) => (What::AsyncCopy, copy.work.name(), false),
            Experiment::CodeWalk(_) => (What::CodeWalk, "code", false),
            Experiment::PageWalk(_) => (What::PageWalk, "pages", false),
            Experiment::Residency(_) => (What::Residency, "residency", false),
            Experiment::Displacement(_) => (What::Displacement, "displacement", false),
            Experiment::Contention(_) => (What::Contention, "contention", false),
            Experiment::CopyStream(CopyStream { by, .. }) => {
                let order = if *by == CopyWork::Bulk { "bulk copies" } else { "cp.async" };
                (What::Stream, order, false)
            }
            Experiment::Imported(imported) => {
                let order = match imported.series.question {
                    Question::Size => "imported, over footprints",
                    Question::LineSize => "imported, over strides",
                    Question::FetchGranularity => "imported, over strides of a cold chase",
                    Question::Latency => "imported, hits",
                };
                (What::Imported, order, false)
            }
        };
        let (path, prepare, carveout) = (experiment.path(), experiment.prepare(), experiment.carveout_percent());
        Kind { what, path, order, prepare, cold, carveout }
    }

    /// In words, for the title of a figure.
    fn words(&self) -> String {
        let timed = match self.what {
            What::EachPair => ", two loads timed as one",
            _ => "",
        };
        let before = match self.prepare {
            Prepare::Nothing if self.cold => ", cold",
            Prepare::Nothing => "",
            Prepare::FlushL2 => ", from DRAM",
            Prepare::Fill { .. } => ", from the L2",
        };
        let shared = match self.carveout {
            Some(share @ 1..) => format!(", {share} % as shared memory"),
            _ => String::new(),
        };
        let path = self.path.map_or("", LoadPath::instruction);
        format!("{path}, {}{timed}{before}{shared}", self.order)
    }
}

fn in_words(order: &Order) -> &'static str {
    match order {
        Order::Sequential => "in order",
        Order::Random => "at random",
        Order::Scattered { .. } => "scattered",
        Order::Paged { .. } => "page by page",
        Order::Listed { .. } => "listed",
        Order::Pages { .. } | Order::Window { .. } => "two of a line in each page",
    }
}

/// What the x axis of a panel is, and so which marks belong there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Footprint,
    Stride,
    Else,
}

/// A figure before it is kept: plots to choose from, of which the first is shown at first.
struct Drawn {
    over: Over,
    /// How much it says: lower is more.
    rank: u8,
    /// Experiments that it shows.
    experiments: usize,
    plots: Vec<Plot>,
}

/// Plots at one place of the page, of which a reader chooses one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Panel {
    /// Their numbers in the [`Store`].
    pub plots: Vec<usize>,
    /// What the finding adds to them.
    pub marks: Vec<Mark>,
}

/// What a finding rests on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shown {
    /// Which experiments, in words.
    pub experiments: String,
    /// The figures; none where there are no samples.
    pub panels: Vec<Panel>,
}

/// Makes the figures of the findings of a page.
pub(super) struct Exhibits<'e> {
    evidence: &'e Evidence,
    /// The plots so far.
    pub store: Store,
    shown: HashMap<(Vec<u32>, Vec<String>), Vec<Panel>>,
    spreads: loads::Spreads,
}

impl<'e> Exhibits<'e> {
    /// None so far.
    pub fn new(evidence: &'e Evidence) -> Self {
        Exhibits { evidence, store: Store::default(), shown: HashMap::new(), spreads: loads::Spreads::default() }
    }

    /// What an attribute of an element rests on; `None` where it cites nothing.
    pub fn of(&mut self, attribute: Attribute, finding: &Finding, element: &Element) -> Option<Shown> {
        if finding.experiments.is_empty() {
            return None;
        }
        let marks = Marks::of(attribute, finding, element);
        let key = (finding.experiments.clone(), marks.key());
        let panels = match self.shown.get(&key) {
            Some(panels) => panels.clone(),
            None => {
                let panels = self.panels(&finding.experiments, &marks);
                self.shown.insert(key, panels.clone());
                panels
            }
        };
        Some(Shown { experiments: cited(&finding.experiments), panels })
    }

    fn panels(&mut self, experiments: &[u32], marks: &Marks) -> Vec<Panel> {
        let measurements = experiments.iter().filter_map(|&number| {
            let (experiment, samples) = self.evidence.get(number)?;
            Some(Measurement { number, experiment, samples })
        });
        let mut groups: BTreeMap<Kind, Vec<Measurement<'_>>> = BTreeMap::new();
        for measurement in measurements {
            groups.entry(Kind::of(measurement.experiment)).or_default().push(measurement);
        }
        let mut all: Vec<(Vec<Mark>, Drawn)> = Vec::new();
        for (kind, measurements) in &groups {
            let at = marks.on(kind);
            let drawn = match kind.what {
                What::Clock => fixed::clock(measurements),
                What::Laps => fixed::laps(kind, measurements),
                What::Warp => fixed::warps(measurements),
                What::Disturb => fixed::disturbed(kind, measurements, &groups),
                What::Pattern
                | What::Stream
                | What::Transfer
                | What::Atomics
                | What::Clusters
                | What::Distributed
                | What::AsyncCopy
                | What::CodeWalk
                | What::PageWalk
                | What::Residency
                | What::Displacement
                | What::Contention => Vec::new(),
                What::EachLoad | What::EachPair | What::Imported => {
                    chains::draw(kind, measurements, at.footprint.as_ref().map(|m| m.at), &mut self.spreads)
                }
            };
            all.extend(drawn.into_iter().map(|drawn| (at.over(drawn.over), drawn)));
        }
        all.retain(|(_, drawn)| drawn.plots.iter().any(|plot| !plot.is_empty()));
        all.sort_by_key(|(_, drawn)| (drawn.rank, std::cmp::Reverse(drawn.experiments)));
        all.truncate(MOST_PANELS);
        let keep = |(marks, drawn): (Vec<Mark>, Drawn)| {
            let plots: Vec<usize> = drawn.plots.iter().filter_map(|plot| self.store.keep(plot)).collect();
            (!plots.is_empty()).then_some(Panel { plots, marks })
        };
        all.into_iter().filter_map(keep).collect()
    }
}

/// Which experiments: their number, the first and the last.
fn cited(experiments: &[u32]) -> String {
    match experiments {
        [] => "no experiment".into(),
        [one] => format!("experiment {one}"),
        [first, .., last] if (last - first) as usize + 1 == experiments.len() => {
            format!("experiments {first} to {last}")
        }
        [first, .., last] => format!("{} experiments, {first} to {last}", experiments.len()),
    }
}

/// What a finding has to say on an axis of footprints or strides.
#[derive(Clone, Debug, Default, PartialEq)]
struct Marks {
    footprint: Option<Mark>,
    /// Only where the largest share is shared memory.
    least: Option<Mark>,
    stride: Option<Mark>,
}

impl Marks {
    fn of(attribute: Attribute, finding: &Finding, element: &Element) -> Self {
        let capacity = words::capacity(element);
        let usable = capacity.and_then(|f| mark("usable", f));
        match attribute {
            Attribute::ThrashSize => Marks { footprint: mark("all misses from", finding), ..Marks::default() },
            Attribute::LineSize => Marks { footprint: usable, stride: mark("line", finding), least: None },
            Attribute::FetchGranularity => Marks { footprint: None, stride: mark("fetch", finding), least: None },
            Attribute::LeastConfiguration => {
                let size = finding.get::<Configuration>().map(|least| least.size);
                let least = size.and_then(|size| mark("usable", &Finding::measured(size, "").any()));
                Marks { footprint: usable, least, stride: None }
            }
            _ => Marks { footprint: usable, ..Marks::default() },
        }
    }

    /// Those for a group: a mark of one split of the memory says nothing of another.
    fn on(&self, kind: &Kind) -> Marks {
        let other = matches!(kind.carveout, Some(1..));
        Marks { footprint: if other { self.least.clone() } else { self.footprint.clone() }, ..self.clone() }
    }

    fn over(&self, over: Over) -> Vec<Mark> {
        let mark = match over {
            Over::Footprint => &self.footprint,
            Over::Stride => &self.stride,
            Over::Else => &None,
        };
        mark.iter().cloned().collect()
    }

    fn key(&self) -> Vec<String> {
        [&self.footprint, &self.least, &self.stride].map(|m| format!("{m:?}")).into()
    }
}

/// The mark of a finding in bytes, or of its lower bound.
fn mark(what: &str, finding: &Finding) -> Option<Mark> {
    let (at, label) = match (finding.number(), finding.low) {
        (Some(at), _) => (at, format!("{what} {}", Bytes(at as u64))),
        (None, Some(low)) => (low, format!("more than {}", Bytes(low as u64))),
        (None, None) => return None,
    };
    let (low, high) = (finding.low.unwrap_or(at), finding.high.unwrap_or(at));
    Some(Mark { at, label, low, high })
}

/// Median, least and greatest; `None` without numbers.
fn spread(numbers: &[f64]) -> Option<[f64; 3]> {
    let median = robust::median(numbers)?;
    Some([median, numbers.iter().copied().fold(f64::MAX, f64::min), numbers.iter().copied().fold(f64::MIN, f64::max)])
}

#[cfg(test)]
mod tests;
