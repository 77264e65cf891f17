//! A warp: registers of its lanes, the scoreboard, and where each group of lanes stands.

use crate::ptx::{Entry, NONE};

/// Lanes of a warp.
pub(crate) const LANES: u32 = 32;

/// Lanes that stand at the same instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// Next instruction.
    pub at: u32,
    /// One bit a lane.
    pub lanes: u32,
}

/// A sector that a copy asked for at a cycle, and when it comes.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub sector: u64,
    pub at: u64,
    pub done: u64,
}

/// A warp. Lanes that diverge are groups of their own; the group that is furthest behind goes on, so that groups meet
/// again as soon as they can.
pub(super) struct Warp {
    /// Number in its block.
    pub number: u32,
    /// Lanes that it has; less than 32 in the last warp of a block of odd size.
    pub width: u32,
    /// Values by slot, then by lane.
    values: Vec<u64>,
    /// Of each slot, the cycle from which its value can be used.
    ready: Vec<u64>,
    /// Groups that can go on.
    pub groups: Vec<Group>,
    /// Groups that wait at a barrier, with the instruction after it.
    pub waiting: Vec<Group>,
    /// Groups that wait at the barrier of a cluster, with the instruction after it.
    pub at_cluster_barrier: Vec<Group>,
    /// Phase of that barrier in which lanes of this warp last arrived, and which of them did.
    pub phase: u64,
    pub arrived: u32,
    /// When all copies are done that its threads have asked for.
    pub copied: u64,
    /// What `cp.async` of a lane asked for last: other lanes that want it at that cycle have it without a request.
    pub asked: Asked,
    /// Number of the piece of code that was fetched last.
    pub fetched: u64,
    /// Cycle of the next issue.
    pub time: u64,
}

impl Warp {
    pub fn new(entry: &Entry, symbols: &[(u16, u64)], number: u32, width: u32, time: u64) -> Self {
        let mut warp = Warp {
            number,
            width,
            values: vec![0; entry.slots * width as usize],
            ready: vec![0; entry.slots],
            groups: vec![Group { at: 0, lanes: if width == LANES { u32::MAX } else { (1 << width) - 1 } }],
            waiting: Vec::new(),
            at_cluster_barrier: Vec::new(),
            phase: 0,
            arrived: 0,
            copied: 0,
            asked: Asked { sector: u64::MAX, at: 0, done: 0 },
            fetched: u64::MAX,
            time,
        };
        for &(slot, value) in entry.constants.iter().chain(symbols) {
            warp.slot_mut(slot).fill(value);
        }
        warp
    }

    pub fn slot_mut(&mut self, slot: u16) -> &mut [u64] {
        let at = slot as usize * self.width as usize;
        &mut self.values[at..at + self.width as usize]
    }

    /// The value of a slot in one lane.
    pub fn get(&self, slot: u16, lane: u32) -> u64 {
        self.values[slot as usize * self.width as usize + lane as usize]
    }

    /// The values of a slot, of all lanes that the warp has.
    pub fn all(&self, slot: u16) -> &[u64] {
        let at = slot as usize * self.width as usize;
        &self.values[at..at + self.width as usize]
    }

    /// Sets a slot in one lane; nothing, if there is no slot.
    pub fn set(&mut self, slot: u16, lane: u32, value: u64) {
        if slot != NONE {
            self.values[slot as usize * self.width as usize + lane as usize] = value;
        }
    }

    /// Sets a slot in the lanes of a mask to what `all` makes of the values of others, which it gets for all lanes.
    pub fn compute(&mut self, to: u16, mask: u32, from: [u16; 3], all: impl Fn([&[u64]; 3]) -> [u64; LANES as usize]) {
        if to == NONE {
            return;
        }
        let width = self.width as usize;
        let slots = from.map(|slot| slot as usize * width);
        let results = all(slots.map(|at| &self.values[at..at + width]));
        let place = self.slot_mut(to);
        if mask.count_ones() == place.len() as u32 {
            place.copy_from_slice(&results[..width]);
            return;
        }
        for lane in lanes(mask) {
            place[lane as usize] = results[lane as usize];
        }
    }

    /// The cycle from which a slot can be used.
    pub fn ready(&self, slot: u16) -> u64 {
        self.ready[slot as usize]
    }

    /// Says from when on a slot can be used.
    pub fn set_ready(&mut self, slot: u16, cycle: u64) {
        if slot != NONE {
            self.ready[slot as usize] = cycle;
        }
    }

    /// Lanes of `group` whose predicate holds.
    pub fn passing(&self, group: Group, guard: u16, negated: bool) -> u32 {
        if guard == NONE {
            return group.lanes;
        }
        let holds = |(lane, value): (usize, &u64)| u32::from((*value != 0) != negated) << lane;
        self.all(guard).iter().enumerate().map(holds).fold(0, |passing, one| passing | one) & group.lanes
    }

    /// The cycle of the next issue; it is never reached where all lanes wait or have ended.
    pub fn next_time(&self) -> u64 {
        if self.groups.is_empty() { u64::MAX } else { self.time }
    }

    /// The group that is furthest behind.
    pub fn next_group(&self) -> usize {
        if self.groups.len() == 1 {
            return 0;
        }
        self.groups.iter().enumerate().min_by_key(|(_, g)| g.at).map_or(0, |(i, _)| i)
    }

    /// Unites groups that stand at the same instruction.
    pub fn unite(&mut self) {
        if self.groups.len() < 2 {
            return;
        }
        self.groups.sort_unstable_by_key(|g| g.at);
        self.groups.dedup_by(|later, first| {
            let same = later.at == first.at;
            if same {
                first.lanes |= later.lanes;
            }
            same
        });
    }
}

/// The lanes of a mask.
pub(super) fn lanes(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros();
        mask &= mask - 1;
        Some(lane)
    })
}
