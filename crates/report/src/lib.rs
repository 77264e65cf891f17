//! Output and input of results: [`report`] has the formats, [`compare`] compares a result with another one or with published
//! values ([`mod@reference`]), [`fleet`] merges many of them, [`launch`] says how much L1 a kernel gets, [`policy`] accepts or rejects results by limits, [`health`] does so for the GPUs of a node, [`export`] writes samples as CSV, [`import`] reads timings of other tools.

pub mod compare;
pub mod export;
pub mod fleet;
pub mod health;
pub mod import;
pub mod launch;
pub mod policy;
pub mod reference;
pub mod report;
