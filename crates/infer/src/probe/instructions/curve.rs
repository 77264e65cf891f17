//! What the times of walks through code say: the sizes behind which further code takes longer, and whether other code confirms them.

use crate::analysis::robust::median;
use strata_model::experiment::{CODE_BLOCK, CODE_GROUP, LEAST_CODE_BLOCK};
use strata_model::units::Bytes;

/// Part of what blocks take by which a further one may take longer, or less, and yet be as the others: on an H200 blocks that the L2
/// answers differ by 4 %, and misses of the first cache cost a quarter.
const EQUAL: f64 = 0.1;
/// Groups of blocks that say what blocks beyond a size take, at least; and part of the groups from the first of them on to the last that
/// must be as they are. The others are those with which the code around begins to displace some.
const FEWEST: usize = 2;
/// See [`FEWEST`].
const MOST_OF_THEM: f64 = 0.5;
/// Part of a size behind which blocks must have come to take as long as they do from there on: with two ways all miss after a half. With
/// random victims each further block makes others miss, too, for much longer: what it takes is no cost of a miss then.
const SOON: f64 = 0.6;
/// Part of what walks through blocks of 1 KiB say that misses take, which walks through others must show, too. A miss that is waited for
/// while another one is under way costs less.
const CONFIRMED: f64 = 0.5;
/// Share of all pairs of a piece of code that fits and one that does not in which the latter takes longer. On an H200 single groups of small
/// blocks take a third longer than others.
const LONGER: f64 = 0.9;
/// Most misses of a group of small blocks, and a quarter more.
const MOST_MISSES: f64 = 1.25 * (CODE_GROUP.0 / LEAST_CODE_BLOCK.0) as f64;

/// A level of the instruction caches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The most bytes of code before further ones miss.
    pub fits: Bytes,
    /// What a jump takes longer beyond it. None where the curve still rises in the end.
    pub penalty: Option<f64>,
}

/// The levels that a curve shows, by the cycles of laps of one group of blocks, of two, and so on. None where the smallest walks
/// differ already.
pub fn levels(laps: &[f64]) -> Option<Vec<Level>> {
    // More code takes no less: a lap that took longer than a longer one was disturbed.
    let mut laps = laps.to_vec();
    for i in 1..laps.len().saturating_sub(1) {
        if laps[i] > laps[i + 1] {
            laps[i] = f64::midpoint(laps[i - 1], laps[i + 1]);
        }
    }
    // What each block of a further group takes.
    let further: Vec<f64> = laps.windows(2).map(|two| (two[1] - two[0]) / (CODE_GROUP / CODE_BLOCK) as f64).collect();
    let is_as = |block: f64, of: f64| (block - of).abs() <= of * EQUAL;
    // The second shortest: one may seem short after one that was disturbed.
    let least = |from: usize| {
        let mut blocks = further[from..].to_vec();
        blocks.sort_unstable_by(f64::total_cmp);
        blocks.get(1).or(blocks.first()).copied().unwrap_or(f64::MAX)
    };
    let mut found = Vec::new();
    // What the first cache holds must be more than two groups, or nothing says what a block takes that is in it.
    let mut below = match further[..] {
        [first, second, ..] if is_as(second, first) => first,
        _ => return None,
    };
    while let Some(last) = further.iter().rposition(|&block| is_as(block, below)) {
        let beyond = &further[last + 1..];
        // One block that takes longer in the end may have been disturbed; one that takes less is none of a next level.
        if beyond.len() < FEWEST || beyond.iter().any(|&block| block < below) {
            break;
        }
        let next = least(last + 1);
        let settled = further.iter().skip(last + 1).position(|&block| is_as(block, next)).map(|at| last + 1 + at);
        let end = further.iter().rposition(|&block| is_as(block, next));
        let groups = (last + 2) as f64;
        let above = settled.zip(end).and_then(|(from, to)| {
            // Up to the next level. `next` is among the shortest of those that differ by chance.
            let all = &further[from..=to];
            let above = median(all)?;
            let alike = all.iter().filter(|&&block| is_as(block, above)).count();
            let are_most = alike >= FEWEST && alike as f64 >= MOST_OF_THEM * all.len() as f64;
            let is_soon = (from - last) as f64 <= (SOON * groups).max(FEWEST as f64);
            // Until all sets overflow, a further block makes all others of its set miss, too. In a set of one line that is one block, up to twice
            // the size, and then what blocks take falls.
            let has_fallen = further[last + 1..from].iter().any(|&block| block > above && !is_as(block, above));
            let far_enough = if has_fallen { self::settled(last + 2) } else { 2 * (last + 2) };
            let is_long = to + 2 >= far_enough + FEWEST;
            (are_most && is_soon && is_long).then_some(above)
        });
        let penalty = above.map(|above| above - below);
        let fits = CODE_GROUP * (last as u64 + 2);
        found.push(Level { fits, penalty });
        let Some(above) = above else { break };
        below = above;
    }
    Some(found)
}

/// For each of these levels, what a miss costs of which is known: by how many such costs a group of small blocks takes longer where its code does
/// not fit. None of a level that walks through small blocks do not overflow at the same size.
pub fn confirm(groups: &[f64], levels: &[(Bytes, f64)]) -> Vec<Option<f64>> {
    let number = |bytes: Bytes| (bytes / CODE_GROUP) as usize;
    // What a group takes that fits into the cache.
    let mut base = groups.first().copied().unwrap_or_default();
    let mut of = |at: usize| {
        let (fits, penalty) = levels[at];
        let end = number(fits);
        let next = levels.get(at + 1).map_or(groups.len(), |&(next, _)| number(next));
        // Where a cache begins to overflow, some groups take longer for once: they make others miss, too.
        let from = at.checked_sub(1).map_or(0, |before| number(levels[before].0) + FEWEST);
        let settled = settled(end);
        let to = next.min(2 * settled);
        // The code around takes room: one group more or less may fit.
        let just_behind = end + 1..to.min(settled + FEWEST);
        let (below, behind, beyond) = (groups.get(from..end)?, groups.get(just_behind)?, groups.get(settled..to)?);
        let of_blocks = penalty * (CODE_GROUP / CODE_BLOCK) as f64;
        let (fitting, missing) = (median(below)?, median(beyond)?);
        let longer: usize = behind.iter().map(|one| below.iter().filter(|&other| one > other).count()).sum();
        let is_longer = longer as f64 >= LONGER * (below.len() * behind.len()).max(1) as f64;
        let has_fitted = fitting <= base + CONFIRMED * of_blocks;
        let misses = (missing - fitting) / penalty;
        let is_alike = misses * penalty >= CONFIRMED * of_blocks && misses <= MOST_MISSES;
        (is_longer && has_fitted && is_alike && beyond.len() >= FEWEST).then(|| {
            base = missing;
            misses
        })
    };
    (0..levels.len()).map(&mut of).collect()
}

/// Where so many groups fit, the number of groups behind which all sets overflow, also of a cache of two ways.
fn settled(groups: usize) -> usize {
    groups + groups.div_ceil(2).max(FEWEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Laps of an H200 (GPU-d254dc1a, SM 0) from 4 KiB on, in steps of 4 KiB, rounded.
    const H200: [f64; 64] = [
        180.0, 270.0, 360.0, 546.0, 660.0, 773.0, 1_336.0, 1_450.0, 2_221.0, 3_440.0, 3_775.0, 4_109.0, 4_446.0,
        4_782.0, 5_118.0, 5_453.0, 5_787.0, 6_120.0, 6_452.0, 6_792.0, 7_123.0, 7_462.0, 7_792.0, 8_131.0, 8_470.0,
        8_798.0, 9_137.0, 9_475.0, 13_433.0, 13_764.0, 14_124.0, 14_438.0, 19_114.0, 27_254.0, 35_294.0, 43_373.0,
        44_578.0, 45_752.0, 47_003.0, 48_192.0, 49_282.0, 50_467.0, 51_583.0, 52_712.0, 53_838.0, 55_034.0, 56_193.0,
        57_389.0, 58_545.0, 59_700.0, 60_914.0, 62_109.0, 63_240.0, 64_476.0, 65_604.0, 66_864.0, 68_104.0, 69_322.0,
        70_493.0, 71_664.0, 72_834.0, 73_978.0, 75_222.0, 76_339.0,
    ];

    #[test]
    fn levels_end_where_further_blocks_take_longer() {
        let found = levels(&H200).unwrap();
        assert_eq!(
            found.iter().map(|level| level.fits / Bytes::kib(1)).collect::<Vec<_>>(),
            [12, 32, 128],
            "{found:?}"
        );
        let costs: Vec<f64> = found.iter().filter_map(|level| level.penalty).collect();
        assert!(
            (costs[0] - 6.0).abs() < 0.2 && (costs[1] - 55.2).abs() < 0.5 && (costs[2] - 214.0).abs() < 5.0,
            "{costs:?}"
        );
        assert_eq!(levels(&[180.0, 270.0, 360.0, 450.0, 540.0]), Some(Vec::new()));
        // What is in the first cache is not known, and a single last block that takes longer is no level.
        assert_eq!(levels(&[180.0, 270.0, 400.0, 540.0, 680.0]), None);
        assert_eq!(levels(&[180.0, 270.0, 360.0, 450.0, 640.0]), Some(Vec::new()));
    }

    #[test]
    fn blocks_that_the_l2_answers_differ_by_chance() {
        // GPU-bfa55b71: what further blocks took on SM 0 from 128 KiB on, after some that hit.
        let behind = [
            1152.0, 2024.0, 2005.0, 2006.0, 292.0, 292.0, 282.0, 298.0, 250.0, 268.0, 302.0, 295.0, 298.0, 298.0,
            292.0, 279.0, 284.0, 300.0, 298.0, 283.0,
        ];
        let mut laps = vec![180.0];
        let further = [84.0; 14].into_iter().chain(behind);
        laps.extend(further.scan(180.0, |lap, block| {
            *lap += 4.0 * block;
            Some(*lap)
        }));
        let found = levels(&laps).unwrap();
        assert_eq!((found.len(), found[0].fits), (1, Bytes::kib(60)), "{found:?}");
        let cost = found[0].penalty.unwrap();
        assert!((cost - 208.0).abs() < 3.0, "{cost}");
    }

    #[test]
    fn a_lap_that_was_disturbed_makes_no_level() {
        let mut laps = H200;
        laps[12] += 3000.0;
        assert_eq!(levels(&laps), levels(&H200));
    }

    #[test]
    fn small_blocks_confirm_what_they_overflow_at_the_same_size() {
        // GPU-d254dc1a, SM 0: groups of blocks of 128 B, from the second on.
        let of_h200 = [
            621.0, 573.0, 560.0, 557.0, 621.0, 768.0, 614.0, 2026.0, 2019.0, 755.0, 1037.0, 813.0, 845.0, 886.0, 835.0,
            883.0, 998.0, 829.0, 694.0, 742.0, 1011.0, 803.0, 797.0, 1030.0, 794.0, 960.0, 1325.0, 1728.0, 922.0,
            822.0, 1226.0, 6630.0, 8282.0, 7696.0, 7946.0, 1910.0, 1802.0, 1558.0, 1424.0, 2067.0, 1683.0, 1821.0,
            1405.0, 1680.0, 1238.0, 1370.0, 1971.0, 1984.0, 1357.0, 1997.0, 1677.0, 1507.0, 1501.0, 1670.0, 1491.0,
            1667.0, 2038.0, 1674.0, 1674.0, 1869.0, 1677.0, 1878.0, 1270.0,
        ];
        let groups: Vec<f64> = [601.6].into_iter().chain(of_h200).collect();
        let levels = |all: &[(u64, f64)]| all.iter().map(|&(kib, cost)| (Bytes::kib(kib), cost)).collect::<Vec<_>>();
        let [l0, l1, l15] = confirm(&groups, &levels(&[(12, 6.0), (32, 55.0), (128, 208.0)]))[..] else { panic!() };
        assert_eq!(l0, None, "they take no longer from 12 KiB on");
        assert!(l1.is_some_and(|misses| (3.0..5.5).contains(&misses)), "{l1:?}");
        assert!(l15.is_some_and(|misses| (3.0..4.5).contains(&misses)), "{l15:?}");
        // Nothing happens at 60 KiB.
        assert_eq!(confirm(&groups, &levels(&[(12, 6.0), (60, 55.0)])), [None, None]);
        // All of it overflows from an eighth of that size on, or from the second group on.
        let from = |first: usize| (1..=64).map(|group| if group > first { 920.0 } else { 600.0 }).collect::<Vec<_>>();
        assert_eq!(confirm(&from(4), &levels(&[(100, 40.0)])), [None]);
        assert_eq!(confirm(&from(4), &levels(&[(16, 40.0)])), [Some(8.0)]);
        // Nor does what overflows a quarter later.
        assert_eq!(confirm(&from(20), &levels(&[(64, 40.0)])), [None]);
        // What takes longer there is another cache, whose misses cost more.
        assert_eq!(confirm(&from(4), &levels(&[(16, 2.0)])), [None]);
        let two: Vec<f64> = from(1).iter().zip(from(11)).map(|(one, other)| one + other).collect();
        assert_eq!(confirm(&two, &levels(&[(44, 40.0)])), [None]);
    }

    #[test]
    fn a_last_rise_has_no_cost() {
        let found = levels(&H200[..10]).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!((found[1].fits, found[1].penalty), (Bytes::kib(32), None));
    }
}
