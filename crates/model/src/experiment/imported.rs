//! Loads that another tool timed.

use serde::{Deserialize, Serialize};

use super::LoadPath;
use crate::import::Series;
use crate::units::Bytes;

/// Loads of a series that another tool timed, by a kernel of its own: it can be analysed and not be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Imported {
    /// The series.
    pub series: Series,
    /// The nearest load path that there is here.
    pub path: LoadPath,
    /// Bytes walked, where the tool's files say.
    pub footprint: Option<Bytes>,
    /// Distance of neighbouring elements, where the tool's files say.
    pub stride: Option<Bytes>,
    /// Loads that were timed.
    pub loads: u32,
    /// Tells rows apart that say the same.
    pub repeat: u32,
}
