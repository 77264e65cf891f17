//! What access patterns cost, for people: parts, each with its question, its sentences and its figures.

mod advice;
pub(super) mod figure;
mod html;
mod markdown;
mod text;

pub use html::html;
pub use markdown::markdown;
pub use text::text;

use strata_model::characterization::{Characterization, Part, PartName};
use strata_model::topology::Finding;

use super::words::{self, Detail};

/// The title of a report.
fn title(answer: &Characterization) -> String {
    format!("What access patterns cost on {}", answer.device.name)
}

/// Why a part has no answer.
pub(super) fn unanswered(part: &Part) -> Option<String> {
    part.unanswered.as_ref().map(words::reason)
}

/// A finding in words, with its time beside its cycles.
fn detail(part: &Part, name: &str, finding: &Finding) -> Detail {
    let detail = Detail::of(finding);
    match part.times.get(name).filter(|time| time.is_known()) {
        Some(time) => Detail { value: format!("{}, {}", detail.value, Detail::of(time).value), ..detail },
        None => detail,
    }
}

/// Each finding with its part and its name.
fn findings(answer: &Characterization) -> impl Iterator<Item = (PartName, &Part, &str, &Finding)> {
    answer.parts.iter().flat_map(|(part, content)| {
        content.findings.iter().map(move |(name, finding)| (*part, content, name.as_str(), finding))
    })
}
