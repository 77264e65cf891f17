//! The L1 by launch: what the simulated driver sets aside, and what is left of the cache.

use std::collections::BTreeSet;

use strata_model::attribute::LaunchRow;
use strata_model::experiment::Experiment;
use strata_model::topology::ElementName::L1;
use strata_sim::machine::spec::Index;

use super::capacity::{handful, usable};
use super::{Seen, Truth, first};
use crate::expect::Expect;

/// What is true of all launches on a machine. Sizes in bytes.
#[derive(Clone, Debug)]
pub struct Launches {
    /// Shared memory that can be set aside, with the least and the most that the cache then holds, by where a chain lies.
    pub divisions: Vec<(u64, u64, u64)>,
    /// Shared memory, threads and blocks of an SM, and shared memory of a block that the system keeps.
    per_sm: (u64, u64, u64, u64),
}

impl Launches {
    /// Blocks that an SM holds, and what is set aside for them.
    fn set_aside(&self, row: &LaunchRow) -> (u64, u64) {
        let (total, threads, most, reserved) = self.per_sm;
        let block = row.shared_per_block.0 + reserved;
        let by_shared = total.checked_div(block).unwrap_or(u64::MAX);
        let blocks = (threads / u64::from(row.threads_per_block)).min(most).min(by_shared).max(1);
        let needed = match row.carveout_percent {
            Some(percent) if self.divisions.len() > 1 => (u64::from(percent) * total / 100).max(block),
            Some(_) => block,
            None => blocks * block,
        };
        (blocks, needed)
    }

    /// What is wrong with a row, if anything is.
    pub fn wrong(&self, row: &LaunchRow) -> Option<String> {
        let (blocks, needed) = self.set_aside(row);
        let &(configured, least, most) =
            self.divisions.iter().find(|(aside, ..)| *aside >= needed).or(self.divisions.last())?;
        let says = |what: String| Some(format!("{}: {what}; found {row:?}", row.launch()));
        if u64::from(row.blocks_per_sm) != blocks {
            return says(format!("{blocks} blocks"));
        }
        if row.high.0 < least || row.low.0 > most {
            return says(format!("{least} to {most} B"));
        }
        if self.divisions.len() > 1 && row.shared_configured.is_some_and(|aside| aside.0 != configured) {
            return says(format!("{configured} B set aside"));
        }
        None
    }
}

/// The row of the truth. Where noise or a hashed index blurs the edge, nothing need be said.
pub(super) fn by_launch(truth: &mut Truth, seen: &Seen) {
    let spec = &truth.machine.spec;
    let Some(l1) = first(truth.machine, Some(&spec.path.global_ca)) else { return };
    let bases: BTreeSet<u64> = seen
        .iter()
        .filter(|(experiment, _)| matches!(experiment, Experiment::Launched(_)))
        .filter_map(|(_, answer)| Some(answer.as_ref().ok()?.base))
        .collect();
    let of = |aside: u64| {
        let least = bases.iter().map(|&base| usable(l1.cache, 1, aside, base)).min().unwrap_or(0);
        let most = bases.iter().map(|&base| handful(l1.cache, aside, base)).max().unwrap_or(0);
        (aside, least, most)
    };
    let asides: Vec<u64> = l1.cache.configuration.iter().map(|one| one.shared.0).collect();
    let divisions = if asides.is_empty() { vec![of(0)] } else { asides.into_iter().map(of).collect() };
    let device = &spec.device;
    let per_sm = (
        spec.shared.per_multiprocessor.0,
        device.max_threads_per_multiprocessor.get(),
        device.max_blocks_per_multiprocessor.get(),
        spec.shared.reserved_per_block.0,
    );
    let expect = Expect::Launches(Launches { divisions, per_sm });
    let noise = &spec.noise;
    let quiet = noise.spikes.0 == 0.0 && noise.jitter.get() + noise.smear.get() == 0;
    let sharp = quiet && matches!(l1.cache.index, Index::Modulo | Index::Bits(_)) && l1.behind > 2 * l1.hit;
    truth.row(L1, "by_launch", if sharp { expect } else { Expect::IfStated(Box::new(expect)) });
}
