//! Pure statistics: functions over slices that know nothing of GPUs, experiments or recordings.
//!
//! The order in which a capacity is found: [`search`] plans the footprints, [`reduction`] makes one number of each latency
//! vector, [`change_point`] estimates where the numbers change and [`ks`] tests it (Größler 2022, chapter 3). What is
//! reported is finer: [`cluster`] tells hits from misses and [`growth`] where misses begin to grow with the footprint.
//! [`robust`] gives every figure its centre, [`mean`] and [`bootstrap`] its interval, and [`band`] that of a curve.
//!
//! Contract of all of them: no value is NaN or infinite. Nothing here prints, fails or keeps state, and what draws
//! random numbers takes a seed.

pub mod band;
pub mod bank_map;
pub mod bootstrap;
pub mod change_point;
pub mod cluster;
pub mod graph;
pub mod growth;
mod histogram;
pub mod hundredths;
pub mod ks;
pub mod mean;
pub mod overflow;
pub mod plateau;
pub mod reduction;
pub mod replacement;
pub mod robust;
pub mod search;
mod split;
pub mod turns;
