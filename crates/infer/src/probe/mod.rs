//! The probes: one file per question, with its plan, its inference and its failure modes.
//!
//! A probe is a function from a [`Notebook`] to findings. It may use `experiment` and `analysis` and nothing below the
//! upper seam; it cannot know whether a GPU or a recording answers. Where it has no finding, it has a [`Gap`]: samples are
//! missing, and it is asked again, or the answer is unknown. To add an attribute: describe it in
//! [`strata_model::attribute`], write its file here, and ask for it in [`elements`]. `docs/first-probe.md` is a tutorial.

mod allocations;
mod async_copy;
pub mod banks;
pub mod capacity;
pub mod clock;
pub mod die;
pub mod distributed;
pub mod disturb;
pub mod dram;
mod edge;
pub mod elements;
pub mod fetch;
mod gap;
mod home_map;
mod homes;
pub mod import;
mod instances;
pub mod instructions;
pub mod l2;
mod lacks;
pub mod latency;
mod launches;
pub mod levels;
pub mod line;
mod memo;
pub mod near_far;
mod notebook;
pub mod partition_hash;
pub mod partitions;
mod repeated;
mod replacement;
mod residency;
mod slices;
mod spectrum;
pub mod spikes;
mod stairs;
mod structure;
mod sweep;
mod throughput;
pub mod tlb;
mod write_back;
mod write_through;

pub use elements::{element, fetch_of, read_peak};
pub use gap::{Gap, Missing, Settle, Unknown, ask_all, ask_each};
pub use notebook::{Measurement, Notebook};
pub use strata_model::effort::Effort;
pub use throughput::Peak;
