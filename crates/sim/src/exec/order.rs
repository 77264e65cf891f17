//! Which warp of an SM issues next: the one with the earliest time, and of equals the first.
//!
//! A tree of winners over the warps of an SM. Each of its nodes has the lesser of the two below it, so that a warp that has issued
//! costs the height of the tree, not a look at every warp.

/// Bits of a key that number the warp; the others are its time. So many warps are more than any SM holds.
const SLOT_BITS: u32 = 16;
/// The key of a warp that does not issue by itself: it waits at a barrier, for the way to the caches, or has ended.
const NEVER: u64 = u64::MAX;

/// The warp that issues next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    /// Place of its block among those of the SM.
    pub block: usize,
    /// Its number in the block.
    pub warp: usize,
    /// The cycle before which no other warp issues.
    pub others: u64,
}

/// The warps of an SM by the times of their next issues.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Keys: the root at 1, those below node `n` at `2 n` and `2 n + 1`, the warps from [`Order::leaves`] on.
    keys: Vec<u64>,
    /// Leaves of the tree, a power of two.
    leaves: usize,
    /// Warps of a block.
    warps: usize,
}

fn key(time: u64, slot: usize) -> u64 {
    match time >> (u64::BITS - SLOT_BITS) {
        0 => time << SLOT_BITS | slot as u64,
        _ => NEVER,
    }
}

/// The cycle of a key; it is never reached where there is no warp.
fn time(key: u64) -> u64 {
    if key == NEVER { u64::MAX } else { key >> SLOT_BITS }
}

impl Order {
    /// Of so many blocks of so many warps each, that issue next at these cycles.
    pub fn rebuild(&mut self, blocks: usize, warps: usize, times: impl Iterator<Item = u64>) {
        self.warps = warps.max(1);
        self.leaves = (blocks * self.warps).next_power_of_two();
        self.keys.clear();
        self.keys.resize(self.leaves, NEVER);
        self.keys.extend(times.enumerate().map(|(slot, time)| key(time, slot)));
        self.keys.resize(2 * self.leaves, NEVER);
        for node in (1..self.leaves).rev() {
            self.keys[node] = self.keys[2 * node].min(self.keys[2 * node + 1]);
        }
    }

    /// A warp of a block issues next at this cycle.
    pub fn set(&mut self, block: usize, warp: usize, time: u64) {
        let slot = block * self.warps + warp;
        let mut node = self.leaves + slot;
        let mut least = key(time, slot);
        self.keys[node] = least;
        while node > 1 {
            least = least.min(self.keys[node ^ 1]);
            node /= 2;
            self.keys[node] = least;
        }
    }

    /// The cycle of the next issue; it is never reached if nobody issues.
    pub fn next_time(&self) -> u64 {
        self.keys.get(1).map_or(u64::MAX, |&root| time(root))
    }

    /// Who issues next, if anybody does.
    pub fn next(&self) -> Option<Next> {
        let first = *self.keys.get(1).filter(|&&root| root != NEVER)?;
        let slot = (first & ((1 << SLOT_BITS) - 1)) as usize;
        let mut node = self.leaves + slot;
        let mut second = NEVER;
        while node > 1 {
            second = second.min(self.keys[node ^ 1]);
            node /= 2;
        }
        // At the time of the other one this one goes on if it is the first of the two.
        let is_first = second & ((1 << SLOT_BITS) - 1) > slot as u64;
        let others = time(second).saturating_add(u64::from(is_first));
        Some(Next { block: slot / self.warps, warp: slot % self.warps, others })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// By a look at every warp: the first of those with the earliest time, and when another one comes before it.
    fn looked_up(times: &[u64], warps: usize) -> Option<Next> {
        let (slot, &earliest) =
            times.iter().enumerate().filter(|(_, time)| **time < u64::MAX).min_by_key(|(_, t)| **t)?;
        let after = |(other, time): (usize, &u64)| time.saturating_add(u64::from(other > slot));
        let others = times.iter().enumerate().filter(|(other, _)| *other != slot).map(after).min();
        assert!(others.is_none_or(|others| others > earliest));
        Some(Next { block: slot / warps, warp: slot % warps, others: others.unwrap_or(u64::MAX) })
    }

    /// Times of which many are equal, and some are never.
    fn a_time() -> impl Strategy<Value = u64> {
        prop_oneof![4 => 0u64..6, 2 => 1u64 << 40..(1 << 40) + 3, 1 => Just(u64::MAX)]
    }

    proptest! {
        #[test]
        fn the_order_is_that_of_a_look_at_every_warp(
            (blocks, warps) in (0usize..5, 1usize..9),
            first in prop::collection::vec(a_time(), 40),
            later in prop::collection::vec((any::<prop::sample::Index>(), a_time()), 0..40),
        ) {
            let mut times = first[..blocks * warps].to_vec();
            let mut order = Order::default();
            order.rebuild(blocks, warps, times.iter().copied());
            prop_assert_eq!(order.next(), looked_up(&times, warps));
            for (slot, time) in later.iter().filter(|_| blocks > 0) {
                let slot = slot.index(times.len());
                times[slot] = *time;
                order.set(slot / warps, slot % warps, *time);
                prop_assert_eq!(order.next(), looked_up(&times, warps), "{:?}", times);
                prop_assert_eq!(order.next_time(), times.iter().copied().min().unwrap_or(u64::MAX));
            }
        }
    }
}
