//! Pure statistics: slices in, numbers out. Nothing here knows what a latency or a cache is.
//!
//! Everything is n log n or better; `benches/analysis.rs` states what it costs.

pub mod bootstrap;
pub mod change_point;
pub mod cluster;
pub mod growth;
pub mod ks;
pub mod reduction;
pub mod robust;
pub mod search;
