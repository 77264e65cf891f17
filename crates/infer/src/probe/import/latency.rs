//! Load latency: an upper bound, because it includes an unknown timing overhead.
//!
//! Of one cache, several series time hits by kernels of their own. All include what their timing took, so the least is the
//! closest; how much further the others are is the least that theirs took.

use super::super::{Gap, Notebook, Unknown};
use super::series;
use crate::analysis::{cluster, robust};
use strata_model::attribute::{LATENCY_CYCLES, LATENCY_NS};
use strata_model::import::{Level, Question, Series};
use strata_model::topology::{Entry, Finding};
use strata_model::units::Cycles;

/// The median hit of one series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hit {
    /// In cycles, what timing took included.
    pub cycles: f64,
    /// The series.
    pub question: Question,
}

/// The median of the latency series.
pub(super) fn stated(notebook: &Notebook, level: Level) -> Option<f64> {
    let measurements = notebook.imported(Series { level, question: Question::Latency });
    robust::median_u32(measurements.first()?.latencies())
}

/// The median hit of each series that has hits of the level.
fn hits(notebook: &Notebook, level: Level) -> Vec<Hit> {
    let measurements = |question| notebook.imported(Series { level, question });
    let mut found = Vec::new();
    if let Some(cycles) = stated(notebook, level) {
        found.push(Hit { cycles, question: Question::Latency });
    }
    if matches!(level, Level::L2 | Level::Dram | Level::ConstantL15) {
        // A cold chase of these is answered by the level before them wherever it can, and their rows of sizes may be, too.
        return found;
    }
    // The first row is the smallest stride, of which most loads find what the one before them fetched.
    let cold = measurements(Question::FetchGranularity).first().and_then(|s| robust::median_u32(s.latencies()));
    let warm = measurements(Question::Size).first().and_then(|s| robust::median_u32(s.latencies()));
    found.extend(cold.map(|cycles| Hit { cycles, question: Question::FetchGranularity }));
    found.extend(warm.map(|cycles| Hit { cycles, question: Question::Size }));
    found
}

/// The least of them.
pub(super) fn least(notebook: &Notebook, level: Level) -> Option<Hit> {
    hits(notebook, level).into_iter().min_by(|a, b| a.cycles.total_cmp(&b.cycles))
}

/// As findings.
pub(super) fn latency(notebook: &Notebook, level: Level) -> [Option<Entry>; 2] {
    let no_clock = "the clock frequency of these timings is unknown";
    [
        notebook.attribute(LATENCY_CYCLES, || Ok(cycles(notebook, level)?)),
        notebook.attribute(LATENCY_NS, || Gap::unknown(no_clock)),
    ]
}

fn cycles(notebook: &Notebook, level: Level) -> Result<Finding<Cycles>, Unknown> {
    let own = series(notebook, level, Question::Latency);
    let Some(least) = least(notebook, level) else {
        return Err(own.err().unwrap_or_else(|| Unknown::because("a series without loads")));
    };
    let finding =
        Finding::measured(Cycles(least.cycles), format!("median hit of the {} series", least.question.name()));
    let mut finding = finding.at_most(least.cycles).note("it includes the timing overhead");
    let others: Vec<Hit> = hits(notebook, level).into_iter().filter(|hit| hit.question != least.question).collect();
    for hit in &others {
        finding = finding.note(format!("{} in the {} series", hit.cycles, hit.question.name()));
    }
    let most = others.iter().map(|hit| hit.cycles).fold(least.cycles, f64::max);
    if most > least.cycles {
        finding = finding.note(format!("so its kernel added at least {} cycles there", most - least.cycles));
    }
    if let Some(groups) = own.ok().and_then(|measurements| groups(measurements.first()?.latencies())) {
        finding = finding.note(groups);
    }
    Ok(finding)
}

/// The groups that the latencies fall into, if they are several: near and far, hit and miss.
fn groups(latencies: &[u32]) -> Option<String> {
    let levels = cluster::levels(latencies);
    let share = |count: usize| 100.0 * count as f64 / latencies.len() as f64;
    let words: Vec<String> =
        levels.iter().map(|l| format!("{:.0} % about {:.0} cycles", share(l.count), l.centre)).collect();
    (levels.len() > 1).then(|| format!("groups of the latency series: {}", words.join(", ")))
}
