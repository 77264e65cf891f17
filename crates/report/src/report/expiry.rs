//! How long what a result says is valid.

use std::str::FromStr;
use std::time::{Duration, SystemTime};

use strata_model::topology::Topology;

/// The word for what has no end.
const NEVER: &str = "never";
/// The last time that RFC 3339 can write.
const LAST: &str = "9999-12-31T23:59:59Z";

/// How long after its measurement something is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry(Option<Duration>);

impl Expiry {
    /// Always valid.
    pub const NEVER: Expiry = Expiry(None);

    /// When it ends for a result: so long after the run began, or after now where nobody knows when that was. `None`: never.
    pub fn end(self, topology: &Topology) -> Option<SystemTime> {
        let measured = humantime::parse_rfc3339(&topology.run.started).unwrap_or_else(|_| SystemTime::now());
        let end = measured.checked_add(self.0?)?;
        humantime::parse_rfc3339(LAST).is_ok_and(|last| end <= last).then_some(end)
    }
}

impl FromStr for Expiry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == NEVER {
            return Ok(Expiry::NEVER);
        }
        let duration = humantime::parse_duration(text.trim()).ok().filter(|duration| !duration.is_zero());
        let wrong = || format!("`{text}` is not a duration: give one such as 12h or 30d, or {NEVER}");
        duration.map(|duration| Expiry(Some(duration))).ok_or_else(wrong)
    }
}
