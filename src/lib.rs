//! Finds out, by measuring, what memory a GPU has and how it behaves.

pub mod analysis;
pub mod experiment;
pub mod gpu;
pub mod kernels;
pub mod order;
pub mod recording;
pub mod samples;
pub mod source;
pub mod topology;
pub mod units;
