//! Which SM takes which block.
//!
//! Blocks go round the SMs, and the next ones to whoever has room first. The blocks of a cluster begin together, all of them in one GPC:
//! in the one with the most room, on its SMs in turn.

use std::collections::{BTreeMap, BTreeSet};

use super::launch::{Block, Grid};
use super::sm::Sm;

/// What a launch with clusters needs to know of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Clustered {
    /// Blocks of a cluster.
    pub size: u32,
    /// GPC of each SM.
    pub gpcs: Vec<u32>,
    /// Place of each SM in its GPC.
    pub places: Vec<u32>,
    /// SMs that take none of the clusters: they are larger than pairs.
    pub closed: Vec<u32>,
}

impl Clustered {
    /// Whether any GPC has room for a cluster, if an SM holds so many of the blocks at a time.
    pub fn fits(&self, resident: u64) -> bool {
        let open = (0..).zip(&self.gpcs).filter(|(sm, _)| !self.closed.contains(sm));
        let mut places: BTreeMap<u32, u64> = BTreeMap::new();
        open.for_each(|(_, gpc)| *places.entry(*gpc).or_default() += resident);
        places.values().any(|&places| places >= u64::from(self.size))
    }
}

/// The blocks that have not begun.
pub(super) struct Pending<'g, 'a> {
    grid: &'g Grid<'a>,
    next: u32,
    /// SM of each block that has begun.
    placed: Vec<u32>,
}

impl<'g, 'a> Pending<'g, 'a> {
    /// All blocks of a launch.
    pub fn new(grid: &'g Grid<'a>) -> Self {
        Pending { grid, next: 0, placed: Vec::new() }
    }

    /// The SM of each block that has begun.
    pub fn placed(&self) -> &[u32] {
        &self.placed
    }

    fn put(&mut self, sm: &mut Sm, time: u64) {
        sm.blocks_mut().push(Block::new(self.grid, self.next, time));
        self.placed.push(sm.number);
        self.next += 1;
    }

    /// Begins as many blocks as there is room for.
    pub fn begin(&mut self, sms: &mut [Sm], time: u64) {
        if let Some(clustered) = &self.grid.clustered {
            while self.cluster(clustered, sms, time).is_some() {}
            return;
        }
        for _ in 0..self.grid.resident {
            for sm in &mut *sms {
                if self.next < self.grid.blocks {
                    self.put(sm, time);
                }
            }
        }
    }

    /// Begins those blocks for which there is room now that one has ended on an SM. Gives the other SMs that had no block and have one
    /// now.
    pub fn refill(&mut self, sms: &mut [Sm], freed: u32, time: u64) -> Vec<u32> {
        let Some(clustered) = &self.grid.clustered else {
            if self.next < self.grid.blocks {
                self.put(&mut sms[freed as usize], time);
            }
            return Vec::new();
        };
        let mut woken = Vec::new();
        while let Some(idle) = self.cluster(clustered, sms, time) {
            woken.extend(idle.into_iter().filter(|&sm| sm != freed));
        }
        woken
    }

    /// Begins the next cluster, if a GPC has room for it. Gives the SMs that had no block.
    fn cluster(&mut self, clustered: &Clustered, sms: &mut [Sm], time: u64) -> Option<Vec<u32>> {
        if self.next >= self.grid.blocks {
            return None;
        }
        let resident = self.grid.resident;
        let gpcs = clustered.gpcs.iter().max().map_or(0, |most| most + 1);
        // The places of each GPC: those on the SMs with the fewest blocks first.
        let places = |gpc: u32| -> Vec<u32> {
            let own = || sms.iter().filter(|sm| clustered.gpcs[sm.number as usize] == gpc);
            let open = || own().filter(|sm| !clustered.closed.contains(&sm.number));
            (0..resident)
                .flat_map(|row| open().filter(move |sm| sm.blocks().len() as u32 <= row))
                .map(|sm| sm.number)
                .collect()
        };
        let roomiest = (0..gpcs).map(places).rev().max_by_key(Vec::len)?;
        let chosen = roomiest.get(..clustered.size as usize)?;
        // Two blocks of a cluster may go to one SM.
        let idle: BTreeSet<u32> = chosen.iter().copied().filter(|&sm| sms[sm as usize].blocks().is_empty()).collect();
        for &number in chosen {
            let sm = &mut sms[number as usize];
            // An SM that is ahead takes it when it gets there; one whose warps all wait takes it now.
            let time = match sm.next_time() {
                u64::MAX => time,
                next => time.max(next),
            };
            self.put(sm, time);
        }
        Some(idle.into_iter().collect())
    }
}
