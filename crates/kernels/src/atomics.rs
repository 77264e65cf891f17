//! The kernels of atomics: one for each memory, with or without a sum in the warp, and unrolling.

use strata_model::experiment::{ATOMIC_UNROLLS, AtomicMemory, Atomics, LoadPath};

/// A kernel that adds to counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AtomicProgram {
    /// Whether the counters are in shared memory.
    pub shared: bool,
    /// Whether a warp sums up first, and one of its lanes adds for all.
    pub aggregated: bool,
    /// Atomics of a thread in one pass.
    pub unroll: u32,
}

impl AtomicProgram {
    /// The text for an experiment.
    pub fn of(atomics: &Atomics) -> Self {
        let Atomics { memory, target, unroll, .. } = *atomics;
        AtomicProgram { shared: memory == AtomicMemory::Shared, aggregated: target.is_aggregated(), unroll }
    }

    /// Every one that an experiment may need.
    pub fn all() -> Vec<Self> {
        let kinds = [(false, false), (false, true), (true, false), (true, true)];
        let of = |(shared, aggregated)| ATOMIC_UNROLLS.map(|unroll| AtomicProgram { shared, aggregated, unroll });
        kinds.into_iter().flat_map(of).collect()
    }

    /// The entry point.
    pub fn name(self) -> String {
        let memory = if self.shared { "shared" } else { "global" };
        format!("atomics_{memory}_{}{}", self.unroll, if self.aggregated { "_aggregated" } else { "" })
    }

    /// The path to the counters.
    pub(crate) fn path(self) -> LoadPath {
        if self.shared { LoadPath::Shared } else { LoadPath::Atomic }
    }
}
