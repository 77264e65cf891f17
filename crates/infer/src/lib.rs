//! From samples to findings: pure functions, so that the same samples give the same findings.
//!
//! [`analysis`] is statistics that knows nothing of GPUs. [`probe`] has one file for each question about the memory hierarchy,
//! [`characterize`] one for each question about access patterns. [`asking`] is the loop that measures what a question lacks and
//! asks it again; [`discover`] says in which order the questions come, and checks the answers against each other.

pub mod analysis;
pub mod asking;
pub mod characterize;
mod consistent;
pub mod discover;
pub mod probe;
mod time;
