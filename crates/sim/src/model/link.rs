//! A link to another GPU: what the L2 there holds, and what crosses the link each way.

use super::hierarchy::Hierarchy;
use super::ports::Width;
use crate::machine::Machine;
use crate::machine::spec;

/// Bytes of a request that crosses the link: the smallest sector of any GPU.
const CROSSING: u64 = 32;

/// The link, and the other GPU's side of it.
pub(crate) struct Link {
    other: Hierarchy,
    /// Latency of a load that the other L2 answers, and of one that memory there answers.
    cycles: [u64; 2],
    /// What an atomic takes more than a load.
    atomic: u64,
    /// What comes from there, and what goes there.
    ways: [Width; 2],
    /// The first cache of this GPU's SMs keeps lines from there.
    pub is_cached: bool,
}

impl Link {
    /// A link as `spec` describes it to a GPU of the other machine.
    pub fn new(spec: &spec::Link, other: &Machine, seed: u64) -> Self {
        Link {
            other: Hierarchy::new(other, seed),
            cycles: [spec.cycles.get(), spec.memory_cycles.get()],
            atomic: spec.atomic.get(),
            ways: [Width::new(spec.bandwidth), Width::new(spec.bandwidth)],
            is_cached: spec.cached,
        }
    }

    /// Cycles of a load that leaves the SM at `now`.
    pub fn load(&mut self, address: u64, now: u64) -> u64 {
        let hit = self.other.has_at_home(address);
        self.cycles[usize::from(!hit)] + self.ways[0].wait(now, CROSSING)
    }

    /// Cycles of an atomic that leaves the SM at `now`.
    pub fn atomic(&mut self, address: u64, now: u64) -> u64 {
        self.load(address, now) + self.atomic
    }

    /// Cycles until the link has taken a store that is made at `now`.
    pub fn store(&mut self, address: u64, now: u64) -> u64 {
        self.other.has_at_home(address);
        1 + self.ways[1].wait(now, CROSSING)
    }

    /// Memory there is overwritten by a memory set.
    pub fn overwrite(&mut self, address: u64, bytes: u64) {
        self.other.overwrite(address, bytes);
    }
}
