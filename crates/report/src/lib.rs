//! What people and other programs read of a result: [`report`] has the formats, [`compare`] holds one result against another or
//! against published values ([`mod@reference`]), [`export`] writes samples as CSV, [`import`] reads timings of other tools.

pub mod compare;
pub mod export;
pub mod import;
pub mod reference;
pub mod report;
