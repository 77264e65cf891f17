//! The data types of strata: what to do ([`experiment`], [`pattern`]), the results ([`samples`]), who provides them
//! ([`source`]), the documents made of them ([`topology`], [`characterization`]) and what their values mean ([`attribute`]).
//!
//! Everything here is plain data. Nothing knows how a device is driven, how a value is inferred, or how it is shown.

mod apart;
pub mod attribute;
pub mod characterization;
pub mod disturbance;
pub mod effort;
pub mod evidence;
pub mod experiment;
pub mod facts;
pub mod glossary;
pub mod import;
pub mod links;
pub mod locate;
mod moment;
pub mod names;
pub mod node;
pub mod order;
pub mod pattern;
pub mod samples;
pub mod source;
pub mod topology;
pub mod units;
