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
//! `tests/flow.rs` fails when an import runs against the picture. The library never prints.

pub mod analysis;
pub mod asking;
pub mod attribute;
pub mod bench;
pub mod characterization;
pub mod characterize;
pub mod compare;
pub mod discover;
pub mod evidence;
pub mod experiment;
pub mod export;
pub mod gpu;
pub mod import;
pub mod imported;
pub mod kernels;
pub mod order;
pub mod pattern;
pub mod probe;
pub mod recording;
pub mod reference;
pub mod report;
pub mod samples;
pub mod session;
pub mod source;
pub mod topology;
pub mod units;
