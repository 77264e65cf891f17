//! Atomics that wait for each other: a line of the device's cache, or the shared memory of an SM, does one request at a time, and all
//! lines together so many operations a cycle.

use rustc_hash::FxHashMap;

use super::ports::Width;
use crate::machine::value::Rate;

/// When lines of the device's caches are free for the next request with atomics, whichever SM it is from.
pub(crate) struct Lines {
    line: u64,
    free: FxHashMap<u64, u64>,
    rate: Option<Rate>,
    /// What all lines do together, in operations of lanes.
    all: Width,
}

impl Lines {
    /// Lines of so many bytes, all free, which together do so many operations of lanes a cycle.
    pub fn new(line: u64, rate: Option<Rate>) -> Self {
        Lines { line, free: FxHashMap::default(), rate, all: Width::new(rate) }
    }

    /// The number of the line of an address.
    pub fn line_of(&self, address: u64) -> u64 {
        address / self.line
    }

    /// Cycles that a request for the line of an address, with operations of so many lanes, waits at `now`; then it occupies the line for
    /// `busy` cycles.
    pub fn wait(&mut self, address: u64, now: u64, lanes: u64, busy: u64) -> u64 {
        let others = self.all.wait(now, lanes);
        if busy == 0 {
            return others;
        }
        others + wait(self.free.entry(address / self.line).or_default(), now + others, busy)
    }

    /// A launch begins: nobody waits for the one before.
    pub fn begin(&mut self) {
        self.free.clear();
        self.all = Width::new(self.rate);
    }
}

/// Cycles until something is free at `now`, which is then busy for so many cycles.
pub(crate) fn wait(free: &mut u64, now: u64, busy: u64) -> u64 {
    let start = now.max(*free);
    *free = start + busy;
    start - now
}
