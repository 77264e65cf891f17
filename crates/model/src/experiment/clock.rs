//! The SM clock against the global timer.

use serde::{Deserialize, Serialize};

/// One block on one SM spins and reads `%clock64` and `%globaltimer` at both ends, with nothing else on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// How long it spins, in microseconds.
    pub span_us: u32,
    /// On which SM, counted from 0 in ascending `%smid`.
    pub sm: u32,
    /// Tells repetitions apart.
    pub repeat: u32,
}
