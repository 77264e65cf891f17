//! What access patterns cost, for people: parts, each with its question, its sentences and its figures.

mod figure;
mod html;
mod markdown;
mod text;

pub use html::html;
pub use markdown::markdown;
pub use text::text;

use strata_model::characterization::{Characterization, Part};
use strata_model::topology::Finding;

use super::words;

/// The title of a report.
fn title(answer: &Characterization) -> String {
    format!("What access patterns cost on {}", answer.device.name)
}

/// Why a part has no answer.
fn unanswered(part: &Part) -> Option<String> {
    part.unanswered.as_ref().map(words::reason)
}

/// Each finding with the part that it belongs to.
fn findings(answer: &Characterization) -> impl Iterator<Item = (String, &Finding)> {
    let of = |(name, finding), part: &str| (format!("{part} {name}"), finding);
    answer.parts.iter().flat_map(move |(part, content)| content.findings.iter().map(move |f| of(f, part.key())))
}
