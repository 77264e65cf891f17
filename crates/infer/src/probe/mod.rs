//! The questions: one file for each, its plan, inference and failure modes together.
//!
//! A probe is a function from a [`Notebook`] to findings. It may use `experiment` and `analysis` and nothing below the
//! upper seam; it cannot know whether a GPU or a recording answers. Where it has no finding, it has a [`Gap`]: samples are
//! missing, and it is asked again, or the answer is unknown. To add an attribute: write its file here, give
//! [`Element`](strata_model::topology::Element) a field for it, and fill the field in [`elements`].

pub mod banks;
pub mod capacity;
pub mod clock;
pub mod disturb;
pub mod dram;
mod edge;
pub mod elements;
pub mod fetch;
mod gap;
pub mod imported;
pub mod l2;
mod l2_exact;
pub mod latency;
pub mod levels;
pub mod line;
mod memo;
mod notebook;
pub mod partitions;
mod replacement;
mod spectrum;
pub mod spikes;
mod structure;
pub mod tlb;

pub use elements::{element, fetch_of};
pub use gap::{Gap, Missing, Settle, Unknown, ask_all, ask_each};
pub use notebook::{Notebook, Sheet};
pub use strata_model::effort::Effort;
