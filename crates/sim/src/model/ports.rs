//! Queues: what is busy for some time with each request, so that others wait.

use super::{mix, parities};
use crate::machine::value::{Busy, Rate};

/// Ports of a cache or channels of memory: when each is free again, in parts of a cycle.
pub(super) struct Ports {
    busy: u64,
    free: Vec<u64>,
    /// Masks under which the parities of an address are the number of its port; a mixing hash, if there are none.
    masks: Option<Vec<u64>>,
}

impl Ports {
    /// So many, each busy for so many cycles with an access. A hash mixes the address.
    pub fn new(busy: Busy, count: u64) -> Self {
        Ports::by(busy, count, None)
    }

    /// As [`Ports::new`], but parities of the address under these masks choose the port, where there are any.
    pub fn by(busy: Busy, count: u64, masks: Option<Vec<u64>>) -> Self {
        let busy = busy.parts();
        Ports { busy, free: vec![0; if busy == 0 { 0 } else { count as usize }], masks }
    }

    /// The port of an address.
    #[inline]
    fn of(&self, address: u64) -> usize {
        let count = self.free.len() as u64;
        match &self.masks {
            _ if count == 1 => 0,
            Some(masks) => parities(masks, address) as usize,
            None => (mix(address >> 7) % count) as usize,
        }
    }

    /// Cycles that an access at `now` waits, until the one in which it can begin.
    #[inline]
    pub fn wait(&mut self, now: u64, address: u64) -> u64 {
        if self.busy == 0 {
            return 0;
        }
        let port = self.of(address);
        let port = &mut self.free[port];
        let start = (now * Busy::PARTS).max(*port);
        *port = start + self.busy;
        start / Busy::PARTS - now
    }
}

/// Something that gives or takes so many bytes a cycle, one request after the other. It counts in parts of bytes, so that after
/// any number of requests no cycle is lost or won.
#[derive(Clone, Debug)]
pub(crate) struct Width {
    /// Parts of bytes a cycle; 0 for any number.
    rate: u64,
    /// The cycle in which it can begin with the next request.
    cycle: u64,
    /// Parts of bytes of that cycle that are taken.
    taken: u64,
}

impl Width {
    /// Of so many bytes a cycle; any number, if there is none.
    pub fn new(rate: Option<Rate>) -> Self {
        Self::shared(rate, 1)
    }

    /// One of several that have so many bytes a cycle together.
    pub fn shared(rate: Option<Rate>, among: u64) -> Self {
        Width { rate: rate.map_or(0, |rate| (rate.parts() / among).max(1)), cycle: 0, taken: 0 }
    }

    /// Cycles that a request for so many bytes waits at `now`, until the cycle in which its first byte can come.
    #[inline]
    pub fn wait(&mut self, now: u64, bytes: u64) -> u64 {
        self.take(now, bytes).0
    }

    /// As [`Width::wait`], but until a cycle of which nothing is taken yet.
    #[inline]
    pub fn wait_whole(&mut self, now: u64, bytes: u64) -> u64 {
        let (cycles, taken) = self.take(now, bytes);
        cycles + u64::from(taken)
    }

    /// Cycles until the first byte can come, and whether something of that cycle was taken before.
    #[inline]
    fn take(&mut self, now: u64, bytes: u64) -> (u64, bool) {
        if self.rate == 0 {
            return (0, false);
        }
        if now > self.cycle {
            (self.cycle, self.taken) = (now, 0);
        }
        let found = (self.cycle - now, self.taken > 0);
        self.taken += bytes * Rate::PARTS;
        if self.taken >= self.rate {
            self.cycle += self.taken / self.rate;
            self.taken %= self.rate;
        }
        found
    }
}

/// Requests of an SM that are on their way, in the order in which they left: no more than there is room for.
pub(super) struct Outstanding {
    /// When the last requests are answered, as many as there is room for; none, if there is any amount of it.
    answers: Vec<u64>,
    /// The oldest of them.
    oldest: usize,
    /// When the last request left that had to wait.
    pub left: u64,
}

impl Outstanding {
    pub fn new(most: u64) -> Self {
        Outstanding { answers: vec![0; most as usize], oldest: 0, left: 0 }
    }

    /// When a request can leave that is made at `now`: once there is room.
    #[inline]
    pub fn leave(&mut self, now: u64) -> u64 {
        match self.answers.get(self.oldest) {
            Some(&answered) if answered > now => {
                self.left = self.left.max(answered);
                answered
            }
            _ => now,
        }
    }

    /// The request that left last is answered at this cycle.
    #[inline]
    pub fn answered(&mut self, at: u64) {
        if let Some(place) = self.answers.get_mut(self.oldest) {
            *place = at;
            self.oldest += 1;
            if self.oldest == self.answers.len() {
                self.oldest = 0;
            }
        }
    }
}

/// The queues that one request is in. It enters all of them when it leaves the SM, and the slowest decides: where one gives requests
/// on to the next, that is when the last of them is done. So a queue that SMs share knows nothing of what waits in those before it,
/// and requests enter it in the order of time.
#[derive(Clone, Copy)]
pub(super) struct Queues {
    /// When the request was made.
    made: u64,
    /// When it left the SM.
    pub left: u64,
    /// By how much its answer is late.
    pub late: u64,
}

impl Queues {
    /// Of a request that is made now.
    pub fn of(now: u64) -> Self {
        Queues { made: now, left: now, late: 0 }
    }

    /// The request leaves the SM.
    #[inline]
    pub fn leave(&mut self, at: u64) {
        self.left = at;
        self.wait(0);
    }

    /// One of the queues keeps it for so many cycles after it left.
    #[inline]
    pub fn wait(&mut self, cycles: u64) {
        self.late = self.late.max(self.left - self.made + cycles);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A queue with one server of a fixed pace: each request begins when it has come and the one before is done.
        #[test]
        fn requests_are_served_in_turn(
            rate in 1.0f64..600.0,
            requests in prop::collection::vec((0u64..40, prop::sample::select(vec![4u64, 32, 64, 128])), 1..200),
        ) {
            let rate = Rate::new(rate).expect("in range");
            let mut width = Width::new(Some(rate));
            // Exact: in parts of bytes that could have come since the beginning.
            let (mut now, mut free) = (0, 0);
            for (later, bytes) in requests {
                now += later;
                let start = free.max(now * rate.parts());
                prop_assert_eq!(width.clone().wait(now, bytes), start / rate.parts() - now);
                prop_assert_eq!(width.wait_whole(now, bytes), start.div_ceil(rate.parts()) - now);
                free = start + bytes * Rate::PARTS;
            }
        }

        /// A port takes as many requests as its time has room for, also where each takes a part of a cycle.
        #[test]
        fn a_port_is_busy_with_each_request(
            busy in 0.01f64..9.0,
            requests in prop::collection::vec(0u64..4, 1..200),
        ) {
            let busy = Busy::new(busy).expect("in range");
            let mut ports = Ports::new(busy, 1);
            let (mut now, mut free) = (0, 0);
            for later in requests {
                now += later;
                let start = free.max(now * Busy::PARTS);
                prop_assert_eq!(ports.wait(now, 0), start / Busy::PARTS - now);
                free = start + busy.parts();
            }
        }

        /// Never more than there is room for are on their way, and nobody waits who has room.
        #[test]
        fn no_more_than_there_is_room_for(most in 1usize..20, requests in prop::collection::vec((0u64..10, 1u64..100), 1..100)) {
            let mut outstanding = Outstanding::new(most as u64);
            let mut answers: Vec<u64> = Vec::new();
            let mut now = 0;
            for (later, takes) in requests {
                now += later;
                let left = outstanding.leave(now);
                let before = answers.len().checked_sub(most).map_or(0, |oldest| answers[oldest]);
                prop_assert_eq!(left, now.max(before));
                now = left;
                answers.push(left + takes);
                outstanding.answered(left + takes);
            }
        }
    }
}
