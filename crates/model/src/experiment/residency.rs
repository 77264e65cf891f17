//! Residency: which lines a cache still has, by how they were accessed and by what was read since.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Chain, LoadPath, Order};
use crate::samples::Samples;
use crate::units::Bytes;

/// Most lines whose loads are timed in one experiment: their times lie in shared memory until the last one is known.
const MOST_LINES: u32 = 1024;
/// Most memory that the lines span, and that is read before or after.
const MOST_SPAN: Bytes = Bytes::mib(16);
const MOST_READ: Bytes = Bytes::mib(4096);
/// Bytes of a load of what is read before and after.
const ELEMENT: u64 = 8;
/// Bytes that one discard is for. It must be aligned to them (PTX ISA, discard).
const DISCARDED: Bytes = Bytes(128);
/// Fewest bytes of a line, so that a store of a whole sector stays in it.
const FEWEST: Bytes = Bytes(32);

macro_rules! accesses {
    ($($(#[$doc:meta])* $name:ident $words:literal $from:literal;)*) => {
        /// An access by which lines come into a cache, or do not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[schemars(inline)]
        pub enum Access {
            $($(#[$doc])* $name,)*
        }

        impl Access {
            /// All of them.
            pub const ALL: &'static [Access] = &[$(Access::$name,)*];

            /// The instruction, as PTX has it.
            pub const fn words(self) -> &'static str {
                match self { $(Access::$name => $words,)* }
            }

            /// First compute capability that has it, as ten times the major and once the minor number.
            pub const fn since(self) -> u32 {
                match self { $(Access::$name => $from,)* }
            }
        }
    };
}

// Name; instruction; compute capability from which on it is tried. Hints of one level need version 7.4 of the PTX ISA, which the texts of these
// kernels have from 8.0 on; those of the L1 exist from 7.0 on, sizes of up to 128 bytes from 7.5 on (PTX ISA 8.0, ld, st, createpolicy).
accesses! {
    /// None at all: what is read before and after is the only traffic.
    Nothing "no access" 20;
    /// A load through all caches.
    Ca "ld.global.ca" 20;
    /// A load past the L1.
    Cg "ld.global.cg" 20;
    /// A load of what is used once.
    Cs "ld.global.cs" 20;
    /// A load of what is used for the last time.
    Lu "ld.global.lu" 20;
    /// A load that fetches anew.
    Cv "ld.global.cv" 20;
    /// A load of what the L1 may evict first.
    L1EvictFirst "ld.global.L1::evict_first" 80;
    /// A load that leaves the priority in the L1 as it is.
    L1EvictUnchanged "ld.global.L1::evict_unchanged" 80;
    /// A load of what the L1 should evict last.
    L1EvictLast "ld.global.L1::evict_last" 80;
    /// A load that brings nothing into the L1.
    L1NoAllocate "ld.global.L1::no_allocate" 80;
    /// A load with a policy: what the L2 may evict first.
    L2EvictFirst "ld.global.L2::evict_first" 80;
    /// A load with a policy that leaves the priority in the L2 as it is.
    L2EvictUnchanged "ld.global.L2::evict_unchanged" 80;
    /// A load with a policy: what the L2 should evict last.
    L2EvictLast "ld.global.L2::evict_last" 80;
    /// A store.
    Store "st.global" 20;
    /// A store of what is used once.
    StoreCs "st.global.cs" 20;
    /// A store that brings nothing into the L1.
    StoreL1NoAllocate "st.global.L1::no_allocate" 80;
    /// A store with a policy: what the L2 may evict first.
    StoreL2EvictFirst "st.global.L2::evict_first" 80;
    /// A store with a policy: what the L2 should evict last.
    StoreL2EvictLast "st.global.L2::evict_last" 80;
    /// A load through all caches, and then a store of the same bytes.
    StoreHeld "ld.global.ca and st.global" 20;
    /// A load through all caches, and then an atomic on the same bytes.
    AtomicHeld "ld.global.ca and red.global" 20;
    /// A load with the wish that the L2 fetches 64 bytes.
    L2Fetch64 "ld.global.L2::64B" 80;
    /// A load with the wish that the L2 fetches 128 bytes.
    L2Fetch128 "ld.global.L2::128B" 80;
    /// A load with the wish that the L2 fetches 256 bytes.
    L2Fetch256 "ld.global.L2::256B" 80;
    /// A load past the L1, by a launch with an access policy window whose lines stream: the L2 may evict them first.
    WindowStreaming "ld.global.cg in a streaming window" 80;
    /// A load past the L1, by a launch with an access policy window whose lines persist in the part of the L2 that is set aside for them.
    WindowPersisting "ld.global.cg in a persisting window" 80;
    /// A store, and then the word that nobody needs what was stored. The line may be left with any content.
    Discard "st.global and discard.global.L2" 80;
}

/// What an access policy window says of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// It is used once: its lines may be evicted first.
    Streaming,
    /// It is used again: its lines stay in the part of the L2 that is set aside.
    Persisting,
}

impl Access {
    /// A name for kernels, such as `l1_evict_first`.
    pub fn name(self) -> String {
        serde_json::to_value(self).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
    }

    /// What its launch says of the lines, if that and no instruction does.
    pub const fn window(self) -> Option<Reuse> {
        match self {
            Access::WindowStreaming => Some(Reuse::Streaming),
            Access::WindowPersisting => Some(Reuse::Persisting),
            _ => None,
        }
    }

    /// Whether the lines may have any content afterwards, so that no load can take an address from them.
    pub const fn discards(self) -> bool {
        matches!(self, Access::Discard)
    }

    /// Whether what its instruction leaves in the L2 outlives whatever is read later, so that the kernel must take that back.
    pub const fn persists(self) -> bool {
        matches!(self, Access::L2EvictLast | Access::StoreL2EvictLast)
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}

/// Some lines are accessed, other memory is read, and each of the lines is loaded once and timed.
///
/// Each timed load takes its address from the one before, except where the lines were discarded. Then it comes from a list.
///
/// Before the lines, other memory is read, so that the cache is full. By the path of the L1, one warp does everything in one launch. By that of the
/// L2, each step is a launch, and all SMs read what is read before and after. `latencies` has the times of the loads, with the overhead of
/// the clock, in a random order of the lines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Residency {
    /// The path of the timed loads: [`LoadPath::GlobalCa`] asks the L1, [`LoadPath::GlobalCg`] the L2.
    pub path: LoadPath,
    /// How the lines are accessed.
    pub access: Access,
    /// How many they are.
    pub lines: u32,
    /// Their distance.
    pub distance: Bytes,
    /// So many bytes behind what is accessed is what is loaded.
    pub beside: Bytes,
    /// Memory that is read before, by plain loads of this path, and after.
    pub before: Bytes,
    /// The same between the accesses and the timed loads.
    pub after: Bytes,
    /// Of that memory one load is made in each piece of this size: a cache line.
    pub step: Bytes,
    /// Seed of the order of the lines.
    pub seed: u64,
    /// Tells repetitions of one experiment apart.
    pub repeat: u32,
}

impl Residency {
    const SCATTERED: Order = Order::Random;

    /// The lines in the order of their loads, as offsets within the memory that they span.
    pub fn chain(&self) -> Chain<'static> {
        Chain {
            path: self.path,
            footprint: Bytes(self.distance.0.saturating_mul(self.lines.into())),
            stride: self.distance,
            order: &Self::SCATTERED,
            seed: self.seed,
        }
    }

    /// Memory that the lines span, with what lies beside the last of them.
    pub fn span(&self) -> Bytes {
        Bytes(self.chain().footprint.0.saturating_add(self.beside.0))
    }

    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        if !matches!(self.path, LoadPath::GlobalCa | LoadPath::GlobalCg) {
            return Some(format!(
                "loads by {}: only those of global memory, through the L1 or past it, can be timed",
                self.path
            ));
        }
        if let Some(defect) = self.chain().defect() {
            return Some(defect);
        }
        if !(1..=MOST_LINES).contains(&self.lines) || self.span() > MOST_SPAN {
            return Some(format!(
                "{} lines in {}: there are 1 to {MOST_LINES}, in {MOST_SPAN} at most",
                self.lines,
                self.span()
            ));
        }
        if self.distance < FEWEST
            || !self.distance.0.is_multiple_of(FEWEST.0)
            || !self.beside.0.is_multiple_of(FEWEST.0)
        {
            return Some(format!(
                "lines at distances of {}, {} beside: multiples of {FEWEST}",
                self.distance, self.beside
            ));
        }
        if self.beside >= self.distance {
            return Some(format!("{} beside a line is not before the next, at {}", self.beside, self.distance));
        }
        if self.access.discards() && (!self.distance.0.is_multiple_of(DISCARDED.0) || self.beside.0 > 0) {
            return Some(format!(
                "lines at distances of {}, {} beside: {DISCARDED} are discarded together, so the distance is a multiple of them, and nothing lies beside",
                self.distance, self.beside
            ));
        }
        let is_aligned = [self.step, self.before].iter().all(|bytes| bytes.0.is_multiple_of(ELEMENT));
        let steps = FEWEST..=Bytes(u32::MAX.into());
        if !steps.contains(&self.step) || !is_aligned || self.before.max(self.after) > MOST_READ {
            return Some(format!(
                "{} read before and {} after, a load for each {}: {MOST_READ} at most, and {FEWEST} or more for a load",
                self.before, self.after, self.step
            ));
        }
        None
    }

    /// Loads of what is read before and after.
    pub fn reads(&self) -> [u64; 2] {
        [self.before, self.after].map(|bytes| bytes.0 / self.step.0.max(1))
    }

    /// Share of the timed loads that took less than so many cycles, if the samples have any.
    pub fn quicker(&self, samples: &Samples, than: f64) -> Option<f64> {
        let quick = samples.latencies.iter().filter(|&&cycles| f64::from(cycles) < than).count();
        (!samples.latencies.is_empty()).then(|| quick as f64 / samples.latencies.len() as f64)
    }
}

impl fmt::Display for Residency {
    /// `512 lines by ld.global.cs, after 24 MiB, loaded by cg`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lines by {}", self.lines, self.access)?;
        if self.beside.0 > 0 {
            write!(f, ", {} beside", self.beside)?;
        }
        write!(f, ", after {}, loaded by {}", self.after, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{KIB, MIB};

    fn residency() -> Residency {
        Residency {
            path: LoadPath::GlobalCg,
            access: Access::Cs,
            lines: 512,
            distance: Bytes(4 * KIB),
            beside: Bytes(0),
            before: Bytes(100 * MIB),
            after: Bytes(24 * MIB),
            step: Bytes(128),
            seed: 1,
            repeat: 0,
        }
    }

    #[test]
    fn lines_lie_apart_and_what_is_read_is_bounded() {
        assert_eq!(residency().defect(), None);
        assert_eq!(residency().reads(), [819_200, 196_608]);
        assert!(Residency { path: LoadPath::Shared, ..residency() }.defect().is_some());
        assert!(Residency { lines: 0, ..residency() }.defect().is_some());
        assert!(Residency { lines: 1025, ..residency() }.defect().unwrap().contains("1 to 1024"));
        assert!(Residency { distance: Bytes(16), ..residency() }.defect().unwrap().contains("multiples of 32"));
        assert!(Residency { beside: Bytes(4 * KIB), ..residency() }.defect().unwrap().contains("not before the next"));
        let discarded = Residency { access: Access::Discard, ..residency() };
        assert_eq!(discarded.defect(), None);
        assert!(Residency { beside: Bytes(32), ..discarded.clone() }.defect().unwrap().contains("discarded together"));
        assert!(Residency { distance: Bytes(4128), ..discarded }.defect().unwrap().contains("discarded together"));
        assert!(Residency { step: Bytes(0), ..residency() }.defect().is_some());
        assert!(Residency { step: Bytes(1 << 32), ..residency() }.defect().is_some());
        assert!(Residency { before: Bytes(33), ..residency() }.defect().is_some());
        assert!(Residency { after: Bytes(u64::MAX), ..residency() }.defect().is_some());
        assert!(Residency { distance: Bytes(u64::MAX / 32 * 32), lines: 2, ..residency() }.defect().is_some());
    }

    #[test]
    fn every_access_has_a_name_of_its_own() {
        let mut names: Vec<String> = Access::ALL.iter().map(|access| access.name()).collect();
        assert_eq!(Access::L1EvictFirst.name(), "l1_evict_first");
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Access::ALL.len());
    }

    #[test]
    fn quick_loads_are_counted() {
        let samples = Samples { latencies: vec![40, 41, 300, 42], ..Samples::default() };
        assert_eq!(residency().quicker(&samples, 100.0), Some(0.75));
        assert_eq!(residency().quicker(&Samples::default(), 100.0), None);
    }
}
