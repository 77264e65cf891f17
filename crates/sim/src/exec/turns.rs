//! What the warps of an SM have in turn: issue, shared memory, and the way to the caches.

use std::collections::VecDeque;

use super::launch::State;
use super::sm::Sm;
use crate::machine::Spec;
use crate::model::ports::Width;

/// A warp of an SM: number of its block, and its own number in that.
pub(super) type Who = (u32, u32);

/// The turns of an SM.
pub(crate) struct Turns {
    /// Instructions issued in a cycle; 0 for any number.
    width: u64,
    /// The cycle of the last issue, and how many there were in it.
    issued: (u64, u64),
    /// What shared memory gives and takes.
    pub(super) shared: Width,
    /// What it gives to blocks of other SMs and takes from them.
    pub(super) remote: Width,
    /// What it gets by copies that are for several blocks.
    pub(super) multicast: Width,
    /// Warps whose requests wait for one that blocks the way to the caches. The first of them will go on when it has gone.
    waiting: VecDeque<Who>,
    /// When the first one goes on that somebody before it has made the first.
    woken: u64,
}

impl Turns {
    /// Of an SM of this machine.
    pub fn new(spec: &Spec) -> Self {
        Turns {
            width: spec.pipeline.issue_width.map_or(0, |width| width.get()),
            issued: (0, 0),
            shared: Width::new(spec.shared.bandwidth),
            remote: Width::new(spec.shared.remote_bandwidth),
            multicast: Width::new(spec.shared.multicast_bandwidth),
            waiting: VecDeque::new(),
            woken: 0,
        }
    }

    /// The cycle from `now` on in which the SM can issue one more instruction, which it does.
    #[inline]
    pub(super) fn issue(&mut self, now: u64) -> u64 {
        if self.width == 0 {
            return now;
        }
        let (cycle, count) = self.issued;
        self.issued = match () {
            () if now > cycle => (now, 1),
            () if count < self.width => (cycle, count + 1),
            () => (cycle + 1, 1),
        };
        self.issued.0
    }

    /// The state of issue, to be put back if an instruction is not issued after all.
    pub(super) fn issued(&self) -> (u64, u64) {
        self.issued
    }

    /// Puts it back.
    pub(super) fn take_back(&mut self, issued: (u64, u64)) {
        self.issued = issued;
    }

    /// Whether no warp waits.
    pub(super) fn is_free(&self) -> bool {
        self.waiting.is_empty()
    }
}

impl State {
    /// Whether the way to the caches is free for a warp at `now`; if not, the cycle from which it may be.
    #[inline]
    pub(super) fn way_is_blocked(&self, sm: u32, who: Who, now: u64) -> Option<u64> {
        match self.turns[sm as usize].waiting.front() {
            Some(first) => (*first != who).then_some(now),
            None => Some(self.hierarchy.blocked(sm)).filter(|free| *free > now),
        }
    }

    /// A warp has gone the way to the caches at `now`: whether another one goes on because of that.
    #[inline]
    pub(super) fn has_gone(&mut self, sm: u32, now: u64) -> bool {
        let turns = &mut self.turns[sm as usize];
        // Only the first of those that wait may have gone, if there are any.
        turns.waiting.pop_front();
        turns.woken = now.max(self.hierarchy.blocked(sm));
        !turns.waiting.is_empty()
    }
}

impl Sm {
    /// A warp must wait until the way to the caches is free.
    pub(super) fn park(&mut self, who: Who, until: u64, state: &mut State) {
        let waiting = &mut state.turns[self.number as usize].waiting;
        let is_first = waiting.is_empty();
        waiting.push_back(who);
        self.set_time(who, if is_first { until } else { u64::MAX });
    }

    /// The first of those that wait goes on.
    pub(super) fn wake(&mut self, state: &State) {
        let turns = &state.turns[self.number as usize];
        if let Some(&who) = turns.waiting.front() {
            self.set_time(who, turns.woken);
        }
    }
}
