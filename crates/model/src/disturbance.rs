//! What else used the device while it was measured, as a result tells it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One time at which something else used the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disturbance {
    /// Begin of the time in which it happened, in seconds since the start of the run.
    pub from_s: f64,
    /// End of that time: when it was noticed.
    pub to_s: f64,
    /// How it was noticed.
    pub sign: Sign,
    /// The longest time for which a kernel was stopped, in microseconds; null if none was seen to be.
    pub stopped_us: Option<f64>,
    /// Other processes on the device; null where they cannot be seen.
    pub processes: Option<u32>,
    /// Experiments that were measured in that time.
    pub experiments: u32,
    /// What was done about it.
    pub consequence: Consequence,
}

/// How a disturbance was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// A kernel that only reads the clock was stopped for a while.
    Stopped,
    /// A single load took longer than any memory takes.
    LongLoad,
    /// Another process came to the device.
    Process,
    /// Data crossed the bus of the device while this process moved none.
    Copies,
}

/// What was done about a disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Consequence {
    /// Nothing had been measured yet.
    Noted,
    /// The experiments were measured again.
    Repeated,
    /// The experiments were given up: what depends on them is unknown.
    GivenUp,
}

/// What can be seen quickly of the device's state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// Other processes on the device, where they can be seen.
    pub processes: Option<u32>,
    /// Reasons for which the clock is held down, in NVML's words.
    pub throttle_reasons: Vec<String>,
    /// Memory errors that could not be corrected, since the driver was loaded.
    pub memory_errors: Option<u64>,
}

/// The disturbances of a run as a sentence for its reader, if there were any.
pub fn in_words(disturbances: &[Disturbance]) -> Option<String> {
    let (first, last) = (disturbances.first()?, disturbances.last()?);
    let stopped = disturbances.iter().filter_map(|d| d.stopped_us).fold(0.0, f64::max);
    let processes = disturbances.iter().filter_map(|d| d.processes).max().unwrap_or(0);
    let count = |consequence| -> u32 {
        disturbances.iter().filter(|d| d.consequence == consequence).map(|d| d.experiments).sum()
    };
    let mut words = if first.from_s == last.from_s {
        format!("another process used the GPU {:.2} s after the start", last.to_s)
    } else {
        format!("another process used the GPU between {:.2} s and {:.2} s after the start", first.from_s, last.to_s)
    };
    if stopped > 0.0 {
        words += &format!("; kernels were stopped for up to {:.1} ms", stopped / 1e3);
    }
    if processes > 0 {
        words += &format!("; up to {} on it", counted(processes, "other process was", "other processes were"));
    }
    if disturbances.iter().any(|d| d.sign == Sign::Copies) {
        words += "; data was copied between the host and the GPU";
    }
    let (repeated, given_up) = (count(Consequence::Repeated), count(Consequence::GivenUp));
    if repeated > 0 {
        words += &format!("; {} measured again", counted(repeated, "experiment was", "experiments were"));
    }
    if given_up > 0 {
        words += &format!("; {} given up, and what depends on that is unknown", counted(given_up, "was", "were"));
    }
    if repeated + given_up == 0 {
        words += "; nothing had been measured by then";
    }
    Some(words)
}

/// A number with the words for one and for several.
fn counted(number: u32, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(from_s: f64, sign: Sign, consequence: Consequence) -> Disturbance {
        let stopped_us = (sign != Sign::Process).then_some(2100.0);
        let processes = (sign == Sign::Process).then_some(1);
        Disturbance { from_s, to_s: from_s + 0.5, sign, stopped_us, processes, experiments: 10, consequence }
    }

    #[test]
    fn one_sentence_says_when_what_and_what_came_of_it() {
        assert_eq!(in_words(&[]), None);
        assert_eq!(
            in_words(&[seen(0.25, Sign::Process, Consequence::Repeated)]).unwrap(),
            "another process used the GPU 0.75 s after the start; up to 1 other process was on it; 10 experiments were \
             measured again"
        );
        let two = [seen(0.25, Sign::Stopped, Consequence::Repeated), seen(1.0, Sign::LongLoad, Consequence::GivenUp)];
        assert_eq!(
            in_words(&two).unwrap(),
            "another process used the GPU between 0.25 s and 1.50 s after the start; kernels were stopped for up to 2.1 ms; \
             10 experiments were measured again; 10 were given up, and what depends on that is unknown"
        );
    }
}
