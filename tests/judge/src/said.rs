//! All that a discovery or a characterization says of a machine, each with its verdict.

use gpu_strata::Effort;
use serde::{Deserialize, Serialize};
use strata_model::characterization::{Characterization, PartName, Suite};
use strata_model::topology::{Finding, Topology};
use strata_sim::machine::Machine;

use crate::expect::{Expect, Verdict, judge};
use crate::{characterization, finding, json, truth, whole_discovery};

/// One attribute of one element or one finding of a part, and how it was judged.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Said {
    /// Of what it is said: the element, or the part.
    pub of: String,
    /// The key of the attribute or finding.
    pub attribute: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether an interval was stated with a value.
    pub interval: bool,
    /// What was found and what is true, for people.
    pub shown: String,
}

/// Discovers a machine and judges what is said of it.
///
/// # Panics
///
/// If the machine cannot be discovered.
pub fn said(machine: &Machine, effort: Effort, seed: u64) -> Vec<Said> {
    let outcome = whole_discovery(machine, effort, seed);
    let rows = truth::rows(machine, &outcome.seen);
    let judged = judge(&outcome.topology, &rows).into_iter().map(|(row, verdict)| {
        let finding = finding(&outcome.topology, row.element, row.attribute);
        Said::new(row.element.to_string(), row.attribute, finding, &row.expect, verdict)
    });
    judged.chain(unsound_of(&outcome.topology)).collect()
}

/// The parts of which a machine file says what is true.
const PARTS: [PartName; 6] = [
    PartName::Locality,
    PartName::Synchronization,
    PartName::Coalescing,
    PartName::Banks,
    PartName::Constant,
    PartName::Histogram,
];
/// Threads of a block: one, and two warps that wait for each other.
const THREADS: [u32; 2] = [1, 64];

/// Characterizes a machine and judges what is said of it.
///
/// # Panics
///
/// If the machine cannot be characterized.
pub fn costs(machine: &Machine, effort: Effort, seed: u64) -> Vec<Said> {
    let suite = Suite { parts: PARTS.to_vec(), threads: THREADS.to_vec(), ..Suite::default() };
    let found = characterization(machine, &suite, effort, seed);
    let mut all: Vec<Said> = Vec::new();
    for row in truth::costs::costs(machine) {
        let part = &found.parts[&row.part];
        // A finding that is left out is not said to be unknown: it has no reason.
        let none = Finding::unknown("");
        let finding = part.findings.get(row.finding).or(part.unanswered.as_ref()).unwrap_or(&none);
        let verdict = row.expect.judge(finding);
        all.push(Said::new(row.part.to_string(), row.finding, finding, &row.expect, verdict));
    }
    all.extend(unsound_parts(&found));
    all.extend(mistimed(&found, machine.spec.clock.mhz.get() as f64 / 1e3));
    all
}

impl Said {
    fn new(of: String, attribute: &str, finding: &Finding, expect: &Expect, verdict: Verdict) -> Self {
        let interval = format!("[{:?} to {:?}]", finding.low, finding.high);
        let mut value = json(finding).to_string();
        value.truncate(value.char_indices().nth(MOST_SHOWN).map_or(value.len(), |(end, _)| end));
        Said {
            of,
            attribute: attribute.to_owned(),
            interval: finding.is_known() && finding.low.is_some(),
            shown: format!("{value} {interval}, truth {}", expect.shown()),
            verdict,
        }
    }
}

/// Characters of a value that are shown.
const MOST_SHOWN: usize = 200;

/// What no finding may be, whatever is true: outside of its own interval, or unknown without a reason.
fn unsound(of: String, attribute: String, finding: &Finding) -> Option<Said> {
    let verdict = Verdict::Wrong(unsound_because(finding)?);
    Some(Said { of, attribute, interval: false, shown: String::new(), verdict })
}

fn unsound_of(topology: &Topology) -> Vec<Said> {
    let findings = topology.elements.iter().flat_map(|(&name, element)| element.findings().map(move |f| (name, f)));
    findings
        .filter_map(|(element, (attribute, finding))| unsound(element.to_string(), attribute.to_string(), finding))
        .collect()
}

fn unsound_parts(found: &Characterization) -> Vec<Said> {
    let findings = found
        .parts
        .iter()
        .flat_map(|(name, part)| part.findings.iter().chain(&part.times).map(move |finding| (name, finding)));
    findings.filter_map(|(part, (name, finding))| unsound(part.to_string(), name.clone(), finding)).collect()
}

/// Times whose interval does not hold that of their cycles at the machine's clock, in GHz. Every cost in cycles has a time.
fn mistimed(found: &Characterization, ghz: f64) -> Vec<Said> {
    let parts = found.parts.iter();
    let costs =
        parts.flat_map(|(name, part)| part.findings.iter().map(move |(cost, cycles)| (name, part, cost, cycles)));
    let in_cycles = costs.filter(|(.., cycles)| cycles.unit.as_deref() == Some("cycles") && cycles.number().is_some());
    let wrong = in_cycles.filter_map(|(name, part, cost, cycles)| {
        let holds = |time: &Finding| {
            time.low.zip(cycles.low).is_none_or(|(time, cycles)| time <= cycles / ghz + ROUNDED)
                && time.high.zip(cycles.high).is_none_or(|(time, cycles)| time >= cycles / ghz - ROUNDED)
        };
        let why = match part.times.get(cost) {
            None => "no time beside its cycles".to_owned(),
            Some(time) if !holds(time) => format!("{:?} to {:?} ns at {ghz} GHz", time.low, time.high),
            Some(_) => return None,
        };
        let shown = format!("{:?} to {:?} cycles", cycles.low, cycles.high);
        Some(Said {
            of: name.to_string(),
            attribute: cost.clone(),
            interval: true,
            shown,
            verdict: Verdict::Wrong(why),
        })
    });
    wrong.collect()
}

/// What rounding to hundredths takes off a time, in nanoseconds.
const ROUNDED: f64 = 0.011;

fn unsound_because(finding: &Finding) -> Option<String> {
    if !finding.is_known() {
        return finding.reason.as_deref().unwrap_or_default().is_empty().then(|| "unknown without a reason".into());
    }
    let value = finding.number()?;
    let inside = finding.low.is_none_or(|low| low <= value) && finding.high.is_none_or(|high| value <= high);
    (!inside).then(|| format!("{value} is outside of its own interval [{:?} to {:?}]", finding.low, finding.high))
}
