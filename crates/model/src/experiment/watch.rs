//! Whether something else takes the device away for a while.

use serde::{Deserialize, Serialize};

use crate::samples::{ClockSpan, Samples};

/// One thread on one SM spins and reads `%clock64` and `%globaltimer` all the time, with nothing else of this process on the
/// device. Its samples are three clock readings: the whole span, the longest time between two reads, and the shortest; of the
/// timer, which has a coarse step on some devices, the longest and the shortest step that is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// How long it spins, in microseconds.
    pub span_us: u32,
    /// On which SM, counted from 0 in ascending `%smid`.
    pub sm: u32,
    /// Tells repetitions apart.
    pub repeat: u32,
}

/// What a [`Watch`] saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watched {
    /// The longest time between two reads, in microseconds, by either clock.
    pub longest_us: f64,
    /// The SM clock, in cycles a microsecond.
    pub clock_mhz: f64,
}

impl Watched {
    /// A step of the timer that is longer than so many of its shortest steps is no coarseness of the timer.
    const STEPS: u64 = 4;

    /// What the samples of a [`Watch`] say; nothing if they are not of one, or if the timer stood still.
    pub fn of(samples: &Samples) -> Option<Self> {
        let &[ClockSpan { cycles, nanoseconds }, longest, shortest] = samples.clocks.as_slice() else { return None };
        if cycles == 0 || nanoseconds == 0 {
            return None;
        }
        let clock_mhz = cycles as f64 / nanoseconds as f64 * 1e3;
        let by_clock = longest.cycles as f64 / clock_mhz;
        let is_coarse = longest.nanoseconds <= Watched::STEPS.saturating_mul(shortest.nanoseconds);
        let by_timer = if is_coarse { 0.0 } else { longest.nanoseconds as f64 / 1e3 };
        // A kernel that goes on elsewhere reads another SM's clock, which says that it was stopped, but not for how long.
        let span_us = nanoseconds as f64 / 1e3;
        Some(Watched { longest_us: by_clock.max(by_timer).min(span_us), clock_mhz })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(span: (u64, u64), longest: (u64, u64), shortest: (u64, u64)) -> Option<Watched> {
        let clocks = [span, longest, shortest].map(|(cycles, nanoseconds)| ClockSpan { cycles, nanoseconds });
        Watched::of(&Samples { clocks: clocks.to_vec(), ..Samples::default() })
    }

    #[test]
    fn a_gap_shows_in_either_clock() {
        let quiet = watched((4_000_000, 2_000_000), (300, 1000), (40, 32)).unwrap();
        assert_eq!((quiet.longest_us, quiet.clock_mhz), (1.0, 2000.0));
        // Both go on while the kernel is stopped.
        let stopped = watched((8_000_000, 4_000_000), (4_000_000, 2_000_000), (40, 32)).unwrap();
        assert_eq!(stopped.longest_us, 2000.0);
        // The SM's clock is stopped as well.
        assert_eq!(watched((4_000_000, 4_000_000), (300, 2_000_000), (40, 32)).unwrap().longest_us, 2000.0);
        // It is another SM's.
        assert_eq!(watched((4_000_000, 4_000_000), (u64::MAX - 7, 300), (40, 32)).unwrap().longest_us, 4000.0);
    }

    #[test]
    fn a_coarse_timer_is_no_gap() {
        let coarse = watched((4_000_000, 2_048_000), (300, 1_024_000), (40, 1_024_000)).unwrap();
        assert!(coarse.longest_us < 1.0, "{coarse:?}");
        assert_eq!(watched((4_000_000, 0), (300, 0), (40, 0)), None);
    }
}
