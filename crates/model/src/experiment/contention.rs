//! Contention: how long loads of lines take while other SMs load one line over and over.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{LARGE_PAGE, WARP};
use crate::units::Bytes;

/// The memory in which all lines are: two large pages, so that what holds in one can be tried in the other.
pub const CONTENDED: Bytes = Bytes(2 * LARGE_PAGE.0);
/// A place in it is a multiple of this: the smallest sector of any GPU.
pub const PLACE: Bytes = Bytes(32);
/// Most bytes that a warp of the other SMs loads: 16 lanes load 8 bytes each.
pub const MOST_LOADED: Bytes = Bytes(128);
/// Loads that a warp of the other SMs has under way.
pub const CHAINS: u32 = 4;
/// Most loads that are timed: their times wait in shared memory.
const MOST_LOADS: u32 = 8192;
/// Most warps of each of the other SMs.
const MOST_WARPS: u32 = 32;

/// A thread of one SM times a load of each line of a list, several times in turn, while warps on all other SMs load one line over and over.
///
/// Whatever serves both lines keeps the timed load waiting: a slice of the L2. All loads bypass the L1. `latencies` has the time of each load,
/// with the overhead of timing, pass by pass in the order of the list; `base` is where the memory of all lines begins, which is a multiple of a
/// large page.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contention {
    /// The SM whose loads are timed, counted from 0 in ascending `%smid`.
    pub sm: u32,
    /// Warps on each of the other SMs; none of them loads anything if 0.
    pub warps: u32,
    /// The line that they load, counted in [`PLACE`] from the beginning of the memory.
    pub contended: u32,
    /// How much of it: a power of two, from [`PLACE`] to [`MOST_LOADED`]. The line is a multiple of it.
    pub loaded: Bytes,
    /// The places whose loads are timed, counted in [`PLACE`] from the beginning of the memory.
    pub places: Vec<u32>,
    /// How often each of them is loaded; the first time brings it into the L2.
    pub passes: u32,
    /// Tells repetitions of one experiment apart.
    pub repeat: u32,
}

impl Contention {
    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        if self.warps > MOST_WARPS {
            return Some(format!("{} warps on each of the other SMs: {MOST_WARPS} at most", self.warps));
        }
        if !self.loaded.0.is_power_of_two() || !(PLACE..=MOST_LOADED).contains(&self.loaded) {
            return Some(format!("{} of a line: a power of two, from {PLACE} to {MOST_LOADED}", self.loaded));
        }
        let all = CONTENDED / PLACE;
        if let Some(place) = self.places.iter().chain([&self.contended]).find(|place| u64::from(**place) >= all) {
            return Some(format!("place {place}: there are {all}"));
        }
        if !(u64::from(self.contended) * PLACE.0).is_multiple_of(self.loaded.0) {
            return Some(format!("place {} is no multiple of {}", self.contended, self.loaded));
        }
        let loads = self.loads();
        (!(1..=u64::from(MOST_LOADS)).contains(&loads)).then(|| format!("{loads} timed loads: 1 to {MOST_LOADS}"))
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        WARP as u32 * self.warps.max(1)
    }

    /// Loads that are timed.
    pub fn loads(&self) -> u64 {
        self.places.len() as u64 * u64::from(self.passes)
    }
}

impl fmt::Display for Contention {
    /// `1024 places while 2 warps of each other SM load 128 B at place 68`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Contention { warps, contended, loaded, places, .. } = self;
        match warps {
            0 => write!(f, "{} places while nobody else loads", places.len()),
            _ => write!(
                f,
                "{} places while {warps} warps of each other SM load {loaded} at place {contended}",
                places.len()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lines_are_in_the_memory() {
        let one = Contention {
            sm: 5,
            warps: 2,
            contended: 68,
            loaded: Bytes(128),
            places: vec![0, 131_071, 68],
            passes: 4,
            repeat: 0,
        };
        assert_eq!(one.defect(), None);
        assert_eq!(one.loads(), 12);
        assert_eq!(one.to_string(), "3 places while 2 warps of each other SM load 128 B at place 68");
        assert_eq!(Contention { warps: 0, ..one.clone() }.to_string(), "3 places while nobody else loads");
        for (wrong, why) in [
            (Contention { warps: 33, ..one.clone() }, "32 at most"),
            (Contention { contended: 131_072, ..one.clone() }, "there are 131072"),
            (Contention { contended: 69, ..one.clone() }, "no multiple"),
            (Contention { loaded: Bytes(96), ..one.clone() }, "a power of two"),
            (Contention { loaded: Bytes(256), ..one.clone() }, "a power of two"),
            (Contention { places: vec![131_072], ..one.clone() }, "there are 131072"),
            (Contention { places: Vec::new(), ..one.clone() }, "0 timed loads"),
            (Contention { passes: u32::MAX, ..one }, "timed loads"),
        ] {
            assert!(wrong.defect().is_some_and(|defect| defect.contains(why)), "{wrong:?}: {:?}", wrong.defect());
        }
    }
}
