//! Acceptance of nodes: a policy is a file of limits for one GPU product, made of results that are known to be good.
//!
//! [`Policy::of_good`] makes one, [`Policy::toml`] writes it, [`Policy::parse`] reads it and [`Policy::check`] holds a result
//! against it. `docs/methods/acceptance.md` says where the limits lie and why.

mod check;
mod file;
mod limits;
mod make;
mod save;
mod write;

pub use check::{ACCEPTANCE, Acceptance, Checked, Judged, PolicyFacts, Unanswered};
pub use save::{check_target, replace};

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use strata_model::attribute::Value;
use strata_model::locate::Defect;
use strata_model::topology::Wanted;

use crate::compare::{Kind, Place, Subject};

/// Name and version of the file.
pub const SCHEMA: &str = "strata/policy/1";

/// Fewest results whose spread says much: with fewer, the limits are wide.
pub const ENOUGH: usize = 5;

/// Limits for the results of one GPU product.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The file, or a name for it; shown in reports.
    pub name: String,
    /// The product that it is for, as its driver names it.
    pub product: String,
    /// Of a policy for links, the product whose memory it is; none of one for GPUs.
    pub linked_to: Option<String>,
    /// Which results it is for: discoveries or characterizations.
    pub kind: Kind,
    /// It is for a simulated machine.
    pub simulated: bool,
    /// The results that it was made from.
    pub made_from: Vec<Origin>,
    /// The limits.
    entries: BTreeMap<Place, Entry>,
    /// What has no limit, each with the reason; known only of a policy that was made just now.
    left_out: Vec<(String, Place)>,
}

/// A result that a policy was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The file.
    pub file: String,
    /// UUID of the GPU, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Of a link, UUID of the GPU whose memory it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// When the run started.
    pub date: String,
    /// Seed of the run.
    pub seed: u64,
    /// Effort of the run.
    pub effort: String,
    /// Version of strata that measured.
    pub strata: String,
}

/// What is allowed.
#[derive(Clone, Debug, PartialEq)]
enum Limit {
    /// A number from here to there.
    Range { low: Option<f64>, high: Option<f64> },
    /// This value alone.
    Equals(Value),
    /// A number that is at most this many per cent from another.
    Near { value: f64, percent: f64 },
}

/// The limit of one place.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    limit: Limit,
    unit: Option<String>,
    /// An unknown value fails.
    required: bool,
    /// What the good results showed.
    comment: Option<String>,
}

impl Policy {
    /// How many limits it has.
    pub fn limits(&self) -> usize {
        self.entries.len()
    }

    /// What a discovery must measure so that each limit can be judged. It is empty, which asks for all, if a limit is of no attribute
    /// that a GPU can be asked for.
    pub fn wanted(&self) -> Vec<Wanted> {
        let asked = self.entries.keys().filter(|place| place.subject != Subject::Device);
        asked.map(|place| Wanted::of_a_gpu(&place.path())).collect::<Result<_, _>>().unwrap_or_default()
    }

    /// Whether it is for links from GPUs of its product, and not for the GPUs.
    pub fn is_of_links(&self) -> bool {
        self.linked_to.is_some()
    }

    /// What it is for, in words.
    pub(crate) fn subject(&self) -> String {
        subject(&self.product, self.linked_to.as_deref())
    }

    /// How many values of the good results have no limit.
    pub fn left_out(&self) -> usize {
        self.left_out.len()
    }
}

/// A GPU, or a link from it to another one, in words.
pub(crate) fn subject(product: &str, linked_to: Option<&str>) -> String {
    linked_to.map_or_else(|| product.to_owned(), |to| format!("links from {product} to {to}"))
}

/// Why a policy cannot be read, made, written or used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A defect of the file, with its line.
    #[error(transparent)]
    File(#[from] Defect),
    /// Results that do not belong together, or not to the policy.
    #[error("{0}")]
    Unfit(String),
    /// A file that must not be replaced.
    #[error("`{}` {why}; name another file with --write-policy", path.display())]
    Target {
        /// The file.
        path: PathBuf,
        /// What is there.
        why: &'static str,
    },
    /// A file that cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
}
