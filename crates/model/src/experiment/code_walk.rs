//! Walks through machine code: how long jumps take by how much code they go through.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Chain, LoadPath, Order};
use crate::order;
use crate::samples::Samples;
use crate::units::{Bytes, KIB};

/// The code that is walked through: blocks, each of a jump that is executed and of instructions that are not. It is cut into groups of
/// [`CODE_GROUP`]; a walk goes through whole groups, and through the blocks of a group in an order of its own, so that what is
/// fetched ahead helps little.
pub const CODE: Bytes = Bytes(256 * KIB);
/// Bytes of a group: footprints are multiples of it.
pub const CODE_GROUP: Bytes = Bytes(4 * KIB);
/// Bytes of a block, if an experiment does not say another number. On an H200 a miss brings about as many along: jumps over 2 KiB cost hardly
/// more.
pub const CODE_BLOCK: Bytes = Bytes(KIB);
/// Fewest bytes of a block: a cache line of instructions has as many on GPUs of which it is known (Jia et al. 2018).
pub const LEAST_CODE_BLOCK: Bytes = Bytes(128);
/// Bytes of an instruction, on every GPU from Volta on.
pub const INSTRUCTION: Bytes = Bytes(16);
/// Where a partner begins: in the middle, so that it shares no code with the others.
pub const PARTNER_CODE: Bytes = Bytes(CODE.0 / 2);
/// Most laps of anybody: a launch then takes some milliseconds.
const MOST_LAPS: u32 = 64;

/// A thread on one SM, or one on each, walks through the first bytes of the code in several laps and times the last of them. `laps` has
/// these times, one walker after the other, and `sms` the walkers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeWalk {
    /// Bytes of code that are walked through.
    pub footprint: Bytes,
    /// Bytes of a block, of which a walk executes the first instructions: a power of two from [`LEAST_CODE_BLOCK`] to [`CODE_BLOCK`].
    #[serde(default = "whole_block")]
    pub block: Bytes,
    /// The SM that walks, counted from 0 in ascending `%smid`; all but the partner when absent.
    pub sm: Option<u32>,
    /// An SM that walks through as many bytes of other code after all others have made their first laps, and before they time.
    pub partner: Option<u32>,
    /// Laps before the first that is timed, and laps of the partner.
    pub warm_laps: u32,
    /// Laps that are timed.
    pub laps: u32,
    /// Tells repetitions of one experiment apart.
    pub repeat: u32,
}

fn whole_block() -> Bytes {
    CODE_BLOCK
}

impl CodeWalk {
    /// In which order the blocks of a group are visited, by their bytes and the number of the group: the first one first, since others jump to it.
    pub fn order(block: Bytes, group: u32) -> Vec<u32> {
        // All orders of the three others, in turn: no two groups in a row have the same distances.
        const OF_FOUR: [[u32; 4]; 6] =
            [[0, 2, 1, 3], [0, 3, 1, 2], [0, 1, 3, 2], [0, 3, 2, 1], [0, 2, 3, 1], [0, 1, 2, 3]];
        if block == CODE_BLOCK {
            return OF_FOUR[(group % 6) as usize].to_vec();
        }
        let chain = Chain {
            path: LoadPath::GlobalCg,
            footprint: CODE_GROUP,
            stride: block,
            order: &Order::Random,
            seed: group.into(),
        };
        let mut order: Vec<u32> = order::offsets(chain).into_iter().map(|offset| (offset / block.0) as u32).collect();
        let first = order.iter().position(|&number| number == 0).unwrap_or(0);
        order.rotate_left(first);
        order
    }

    /// Jumps of a lap.
    pub const fn jumps(&self) -> u32 {
        (self.footprint.0 / self.block.0) as u32
    }

    /// What makes it impossible, if anything does.
    pub fn defect(&self) -> Option<String> {
        let granule = CODE_GROUP;
        if !self.block.0.is_power_of_two() || !(LEAST_CODE_BLOCK..=CODE_BLOCK).contains(&self.block) {
            let allowed = format!("a power of two from {LEAST_CODE_BLOCK} to {CODE_BLOCK}");
            return Some(format!("blocks of {}: they have {allowed}", self.block));
        }
        let most = if self.partner.is_some() { PARTNER_CODE } else { CODE };
        if self.footprint.0 == 0 || !self.footprint.0.is_multiple_of(granule.0) || self.footprint > most {
            return Some(format!("{} of code: it is a multiple of {granule}, at most {most}", self.footprint));
        }
        if self.sm.is_some() && self.sm == self.partner {
            return Some("an SM cannot be its own partner".into());
        }
        let laps = 1..=MOST_LAPS;
        (!laps.contains(&self.warm_laps) || !laps.contains(&self.laps))
            .then(|| format!("{} and {} laps: there are 1 to {MOST_LAPS} of each", self.warm_laps, self.laps))
    }

    /// Cycles of a jump, by SM: the median over its laps. Nothing, if the samples are not of this.
    pub fn jumps_taken(&self, samples: &Samples) -> Option<Vec<(u32, f64)>> {
        let laps = self.laps as usize;
        if self.defect().is_some() || samples.sms.is_empty() || samples.laps.len() != laps * samples.sms.len() {
            return None;
        }
        let of_sm = samples.sms.iter().zip(samples.laps.chunks_exact(laps));
        let taken = of_sm.map(|(&sm, laps)| {
            let mut cycles: Vec<u64> = laps.iter().map(|lap| lap.cycles).collect();
            cycles.sort_unstable();
            (sm, cycles[cycles.len() / 2] as f64 / f64::from(self.jumps()))
        });
        Some(taken.collect())
    }
}

impl fmt::Display for CodeWalk {
    /// `24 KiB of code, all SMs, after SM 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of code, ", self.footprint)?;
        if self.block != CODE_BLOCK {
            write!(f, "blocks of {}, ", self.block)?;
        }
        match self.sm {
            Some(sm) => write!(f, "SM {sm}")?,
            None => f.write_str("all SMs")?,
        }
        self.partner.map_or(Ok(()), |sm| write!(f, ", after SM {sm}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Lap;

    const WALK: CodeWalk = CodeWalk {
        footprint: Bytes::kib(24),
        block: CODE_BLOCK,
        sm: None,
        partner: Some(3),
        warm_laps: 2,
        laps: 3,
        repeat: 0,
    };

    #[test]
    fn a_group_is_visited_once_and_from_its_first_block_on() {
        for (block, group) in [128, 256, 1024].into_iter().flat_map(|block| (0..64).map(move |group| (block, group))) {
            let mut order = CodeWalk::order(Bytes(block), group);
            assert_eq!(order[0], 0);
            order.sort_unstable();
            assert_eq!(order, Vec::from_iter(0..4096 / block as u32));
        }
    }

    #[test]
    fn a_jump_is_the_median_lap_of_its_sm() {
        let lap = |cycles| Lap { loads: 24, cycles };
        let laps = [240, 2400, 241, 480, 480, 479].map(lap).to_vec();
        let samples = Samples { laps, sms: vec![0, 7], ..Samples::default() };
        assert_eq!(WALK.jumps_taken(&samples).unwrap(), [(0, 241.0 / 24.0), (7, 20.0)]);
        assert_eq!(WALK.jumps_taken(&Samples { sms: vec![0], ..samples }), None);
    }

    #[test]
    fn it_needs_whole_groups_and_another_partner() {
        assert_eq!(WALK.defect(), None);
        assert!(CodeWalk { footprint: Bytes(1024), ..WALK }.defect().unwrap().contains("multiple of 4 KiB"));
        assert!(CodeWalk { footprint: Bytes::kib(132), ..WALK }.defect().unwrap().contains("at most 128 KiB"));
        assert_eq!(CodeWalk { footprint: Bytes::kib(132), partner: None, ..WALK }.defect(), None);
        assert!(CodeWalk { sm: Some(3), ..WALK }.defect().unwrap().contains("own partner"));
        assert_eq!(CodeWalk { block: Bytes(128), ..WALK }.jumps(), 192);
        for block in [0, 96, 64, 2048] {
            assert!(CodeWalk { block: Bytes(block), ..WALK }.defect().unwrap().contains("a power of two"));
        }
        assert!(CodeWalk { laps: 0, ..WALK }.defect().unwrap().contains("1 to 64"));
    }
}
