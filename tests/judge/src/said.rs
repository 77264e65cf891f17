//! All that a discovery says of a machine, each with its verdict.

use gpu_strata::Effort;
use strata_model::topology::{ElementName, Finding, Topology};
use strata_sim::machine::Machine;

use crate::expect::{Verdict, judge};
use crate::{discovery, finding, json, truth};

/// One attribute of one element, and how it was judged.
#[derive(Clone, Debug)]
pub struct Said {
    /// The element.
    pub element: ElementName,
    /// The attribute's key.
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
    let outcome = discovery(machine, effort, seed, &[]);
    let rows = truth::rows(machine, &outcome.seen);
    let judged = judge(&outcome.topology, &rows).into_iter().map(|(row, verdict)| {
        let finding = finding(&outcome.topology, row.element, row.attribute);
        let interval = format!("[{:?} to {:?}]", finding.low, finding.high);
        let mut value = json(finding).to_string();
        value.truncate(value.char_indices().nth(MOST_SHOWN).map_or(value.len(), |(end, _)| end));
        Said {
            element: row.element,
            attribute: row.attribute.to_owned(),
            interval: finding.is_known() && finding.low.is_some(),
            shown: format!("{value} {interval}, truth {}", row.expect.shown()),
            verdict,
        }
    });
    judged.chain(unsound(&outcome.topology)).collect()
}

/// Characters of a value that are shown.
const MOST_SHOWN: usize = 200;

/// What no finding may be, whatever is true: outside of its own interval, or unknown without a reason.
fn unsound(topology: &Topology) -> Vec<Said> {
    let findings = topology.elements.iter().flat_map(|(&name, element)| element.findings().map(move |f| (name, f)));
    findings
        .filter_map(|(element, (attribute, finding))| {
            let verdict = Verdict::Wrong(unsound_because(finding)?);
            Some(Said { element, attribute: attribute.to_string(), interval: false, shown: String::new(), verdict })
        })
        .collect()
}

fn unsound_because(finding: &Finding) -> Option<String> {
    if !finding.is_known() {
        return finding.reason.as_deref().unwrap_or_default().is_empty().then(|| "unknown without a reason".into());
    }
    let value = finding.number()?;
    let inside = finding.low.is_none_or(|low| low <= value) && finding.high.is_none_or(|high| value <= high);
    (!inside).then(|| format!("{value} is outside of its own interval [{:?} to {:?}]", finding.low, finding.high))
}
