//! Finds out, by measuring, what memory a GPU has and how it behaves, and says so with an interval and a source for every
//! number.
//!
//! ```text
//!              Experiment  (what to do: kernel, load path, footprint, stride, order or pattern, seed, SM)
//!                  │
//! Gpu  ◄───────  bench  ───────►  Samples  (what came back: latencies or totals, clocks)
//! ├ cuda                             │
//! └ sim                              │
//!                                    ▼
//!                                Recording  (device facts + every Experiment with its Samples)
//!                                    │        ▲ a replay answers from here
//!                                    ▼
//!                 probe (one file a question) + analysis (pure statistics)
//!                     ┌──────────────┴──────────────┐
//!                     │                        characterize (one file a part)
//!                     ▼                             ▼
//!                 Topology                   Characterization
//!       (elements; each attribute      (parts; each with figures, Findings
//!        a Finding)                     and sentences)
//!                     └──────────────┬──────────────┘
//!                                    ▼
//!                                 report
//! ```
//!
//! Reading order: [`experiment`] and [`samples`] (the two halves of every exchange), [`probe::elements`] (what is asked of
//! which memory), [`probe::capacity`] (one question in full), [`kernels`] (what runs on the device), [`mod@bench`] (how it is
//! made to run), [`asking`] (the loop that ties them), [`discover`] (what is asked). To add an attribute, see [`probe`].
//!
//! What access patterns cost goes the same way: [`pattern`] (what threads do), [`characterize`] (the parts),
//! [`characterization`] (their answer).
//!
//! Two seams: [`gpu::Gpu`] below the bench and [`source::Source`] above it. Nothing above a seam asks what is below.
//! Each box is a crate, so an import against the picture does not compile. The library never prints.

pub mod simulated;

pub use strata_bench as bench;
pub use strata_bench::session;
pub use strata_infer::{analysis, asking, characterize, discover, probe};
pub use strata_kernels as kernels;
pub use strata_model::{
    characterization, effort, evidence, experiment, imported, order, pattern, samples, source, topology, units,
};
pub use strata_recording as recording;
pub use strata_report::{compare, export, import, reference, report};

/// The lower seam and its two implementations.
pub mod gpu {
    pub use strata_cuda as cuda;
    pub use strata_gpu::*;
    pub use strata_sim as sim;
}
