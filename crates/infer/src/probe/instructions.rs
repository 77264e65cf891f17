//! Instruction caches: how much code they hold, what a miss costs, and which SMs share one.
//!
//! A thread jumps from block to block of code that it walks through again and again ([`CodeWalk`]). What a jump takes is a curve over the
//! bytes of code, with a step where a cache overflows. Which SMs share a cache shows when all of them have brought one piece of code in,
//! and then one SM walks through another piece: those that share its cache miss.
//!
//! Code lies as the text says, since the compiler does not optimise it. Such code has some 15 cycles between instructions. A miss that takes
//! less than that is not seen. So a miss of the first cache costs more than is measured, and a small cache may not show at all.
//!
//! The loop around the blocks has code of its own, which displaces some blocks when the cache is nearly full. Those misses do not grow
//! with the blocks. So what counts is what a further block takes: as much as the ones before while the cache holds it, whatever else
//! misses.
//!
//! Blocks of 1 KiB may fall into a part of the sets only, or share them unevenly, so that more code seems to fit, or less. Other code says
//! whether they do: walks through blocks of 128 bytes must overflow each cache at the same size. So a size that one of the two does not show is
//! unknown. A prefetcher that follows the order of the blocks would leave no step at all.
//!
//! Blocks of 128 bytes miss more often, unless a miss brings others along. How much more their lap takes says how much a miss brings in.

use std::collections::BTreeSet;

use super::instances::Instances;
use super::{Gap, Measurement, Notebook};
use crate::analysis::robust::{median, spread, tenths};
use strata_model::attribute::Counts;
use strata_model::experiment::{CODE, CODE_BLOCK, CODE_GROUP, CodeWalk, LEAST_CODE_BLOCK, PARTNER_CODE};
use strata_model::topology::Finding;
use strata_model::units::{Bytes, Cycles, KIB};

/// Compute capability from which every instruction takes 16 bytes.
pub const FIRST: (u32, u32) = (7, 0);
/// Laps before those that are timed, and timed laps, of the walks that give the curve.
const CURVE_LAPS: (u32, u32) = (2, 5);
/// The same of walks beside a partner, which displaces what the first lap would bring back.
const SHARED_LAPS: (u32, u32) = (2, 1);
/// Code of the loop around the blocks, at most: it must fit, too.
const AROUND: Bytes = Bytes(KIB);
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
/// Cycles by which the cost of a miss may be off, and part of it: on an H200 misses that the L2 answers took 189 to 210 cycles in forty
/// processes, since code lies elsewhere in each.
const UNEVEN: (f64, f64) = (1.0, 0.12);
/// Part of what walks through blocks of 1 KiB say that misses take, which walks through others must show, too. A miss that is waited for
/// while another one is under way costs less.
const CONFIRMED: f64 = 0.5;
/// Share of all pairs of a piece of code that fits and one that does not in which the latter takes longer. On an H200 single groups of small
/// blocks take a third longer than others.
const LONGER: f64 = 0.9;
/// Most misses of a group of small blocks, and a quarter more.
const MOST_MISSES: f64 = 1.25 * (CODE_GROUP.0 / LEAST_CODE_BLOCK.0) as f64;
/// Factor by which the bytes of a fetch may be off: misses that wait for each other cost less.
const ROUGHLY: f64 = 2.0;
/// Part of the cost of a miss by which a jump takes longer where others have displaced the code.
const DISPLACED: f64 = 0.25;
/// How it is measured which SMs share a cache.
const SHARED: &str = "code that all SMs have brought in, and one SM displaces";
/// Groups of SMs as small as this are looked for on all SMs at once, larger ones one after the other.
const SMALL_GROUP: usize = 4;

/// A level of the instruction caches.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Level<Cost> {
    /// The most bytes of code before further ones miss.
    fits: Bytes,
    /// What a jump takes longer beyond it. None where the curve still rises in the end.
    penalty: Option<Cost>,
}

/// What both kinds of blocks show of a level.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Confirmed {
    /// As [`Level::fits`].
    fits: Bytes,
    /// The median, the least and the most cycles that a jump takes longer beyond it, of the SMs.
    penalty: (f64, f64, f64),
    /// By how many such costs a walk through [`CODE_GROUP`] in blocks of [`LEAST_CODE_BLOCK`] takes longer.
    misses: f64,
}

/// The walks that give the curve, by SM.
fn walks(notebook: &Notebook) -> Vec<Vec<CodeWalk>> {
    let sms = notebook.facts().multiprocessors;
    let some = BTreeSet::from([0, sms / 2]);
    let (warm_laps, laps) = CURVE_LAPS;
    let walk = |sm, groups| CodeWalk {
        footprint: CODE_GROUP * groups,
        block: CODE_BLOCK,
        sm: Some(sm),
        partner: None,
        warm_laps,
        laps,
        repeat: 0,
    };
    some.into_iter().map(|sm| (1..=CODE / CODE_GROUP).map(|groups| walk(sm, groups)).collect()).collect()
}

/// Cycles of a lap by bytes of code, on one SM.
fn curve(measurements: &[Measurement<CodeWalk>]) -> Option<Vec<f64>> {
    let lap = |m: &Measurement<CodeWalk>| {
        let taken = m.experiment.jumps_taken(m.samples())?;
        Some(taken.first()?.1 * f64::from(m.experiment.jumps()))
    };
    measurements.iter().map(lap).collect()
}

/// The levels that a curve shows, by the cycles of laps of one group of blocks, of two, and so on. None where the smallest walks
/// differ already.
fn levels(laps: &[f64]) -> Option<Vec<Level<f64>>> {
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
            // Until all sets overflow, a further block makes all others of its set miss, too.
            let is_long = to + 2 >= self::settled(last + 2) + FEWEST;
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

/// What each group of small blocks takes, on the first SM. With the first comes the code around.
fn small_blocks(notebook: &Notebook) -> Result<Vec<f64>, Gap> {
    let walks = walks(notebook).swap_remove(0);
    let walks: Vec<CodeWalk> = walks.into_iter().map(|walk| CodeWalk { block: LEAST_CODE_BLOCK, ..walk }).collect();
    match curve(&notebook.read(&walks)?) {
        Some(laps) => {
            let further = laps.windows(2).map(|two| two[1] - two[0]);
            Ok(laps.first().copied().into_iter().chain(further).collect())
        }
        None => Gap::unknown("walks through code reported no times"),
    }
}

/// For each of these levels, what a miss costs of which is known: by how many such costs a group of small blocks takes longer where its code does
/// not fit. None of a level that walks through small blocks do not overflow at the same size.
fn confirm(groups: &[f64], levels: &[(Bytes, f64)]) -> Vec<Option<f64>> {
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
        let (below, beyond) = (groups.get(from..end)?, groups.get(settled..next.min(2 * settled))?);
        let of_blocks = penalty * (CODE_GROUP / CODE_BLOCK) as f64;
        let (fitting, missing) = (median(below)?, median(beyond)?);
        let longer: usize = beyond.iter().map(|one| below.iter().filter(|&other| one > other).count()).sum();
        let is_longer = longer as f64 >= LONGER * (below.len() * beyond.len()).max(1) as f64;
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

/// What blocks of 1 KiB show of each level, by SM.
fn shown(notebook: &Notebook) -> Result<Vec<Vec<Level<f64>>>, Gap> {
    if notebook.facts().multiprocessors < 2 {
        return Gap::unknown("there is one SM, and no other one to confirm what it shows");
    }
    let walks = walks(notebook);
    let measurements = notebook.read(&walks.concat())?;
    let of_sms = measurements.chunks(walks[0].len());
    let Some(curves) = of_sms.map(curve).collect::<Option<Vec<_>>>() else {
        return Gap::unknown("walks through code reported no times");
    };
    match curves.iter().map(|curve| levels(curve)).collect::<Option<Vec<_>>>() {
        Some(all) => Ok(all),
        None => Gap::unknown("jumps through the smallest pieces of code differ already"),
    }
}

/// A level as all SMs and both kinds of blocks show it.
fn level(notebook: &Notebook, number: usize) -> Result<Confirmed, Gap> {
    let all = shown(notebook)?;
    let Some(found) = all.iter().map(|levels| levels.get(number)).collect::<Option<Vec<_>>>() else {
        let seen = all.iter().map(Vec::len).min().unwrap_or(0);
        return Gap::unknown(match seen {
            0 => format!("jumps through up to {CODE} of code take no longer than through a little"),
            1 => format!("jumps through up to {CODE} of code take longer from one size on only"),
            sizes => format!("jumps through up to {CODE} of code take longer from {sizes} sizes on only"),
        });
    };
    let sizes: BTreeSet<Bytes> = found.iter().map(|level| level.fits).collect();
    let [fits] = Vec::from_iter(sizes)[..] else {
        return Gap::unknown("two SMs show caches of different sizes");
    };
    let costs: Option<Vec<f64>> = found.iter().map(|level| level.penalty).collect();
    let Some(penalty) = costs.and_then(|costs| spread(&costs)) else {
        return Gap::unknown(format!(
            "{fits} of code fit, but the cycles of a jump still rise with the last bytes of code, so what a miss costs is not known"
        ));
    };
    // Whatever the other SM shows of levels that are not asked for.
    let levels: Vec<(Bytes, f64)> = all[0].iter().map_while(|level| Some((level.fits, level.penalty?))).collect();
    match confirm(&small_blocks(notebook)?, &levels).get(number).copied().flatten() {
        Some(misses) => Ok(Confirmed { fits, penalty, misses }),
        None => Gap::unknown(format!(
            "blocks of {LEAST_CODE_BLOCK} do not confirm the {fits} of code that fit in blocks of {CODE_BLOCK}"
        )),
    }
}

/// As the finding `size`.
///
/// # Errors
///
/// An unknown, if there is no such level up to [`CODE`].
pub fn size(notebook: &Notebook, number: usize) -> Result<Finding<Bytes>, Gap> {
    let level = level(notebook, number)?;
    let overflows = level.fits + CODE_GROUP + AROUND;
    let method = "jumps through code in blocks of 1 KiB: what a further block takes, over the bytes of code";
    Ok(Finding::measured(level.fits, method)
        .range(level.fits.0 as f64, overflows.0 as f64)
        .note(
            "walks through blocks of 128 B overflow it at the same size. The code around the blocks displaces some of them before; those misses \
             do not grow with the code",
        ))
}

/// As the finding `miss_penalty`.
///
/// # Errors
///
/// As [`size`], and if the curve still rises in the end.
pub fn miss_penalty(notebook: &Notebook, number: usize) -> Result<Finding<Cycles>, Gap> {
    let (middle, least, most) = level(notebook, number)?.penalty;
    let (low, high) = (least - UNEVEN.0.max(UNEVEN.1 * least), most + UNEVEN.0.max(UNEVEN.1 * most));
    let method = "jumps through code in blocks of 1 KiB: what a jump takes longer where its code does not fit";
    let finding = Finding::measured(Cycles(tenths(middle)), method).at_least(tenths(low)).note(
        "on two SMs, of a jump over 1 KiB of code that is not executed; a jump that is not as far may find its code brought along by another miss",
    );
    // Behind the first cache hits and misses hide the same cycles, so the difference is whole.
    Ok(match number {
        0 => finding.note("some 15 cycles of a miss are hidden behind the instruction before, so it costs more"),
        _ => finding.at_most(tenths(high)),
    })
}

/// As the finding `fetch_granularity`: a power of two from [`LEAST_CODE_BLOCK`] to [`CODE_BLOCK`], whose ends are bounds.
///
/// # Errors
///
/// As [`miss_penalty`].
pub fn fetch_granularity(notebook: &Notebook, number: usize) -> Result<Finding<Bytes>, Gap> {
    let misses = level(notebook, number)?.misses;
    let brought = CODE_GROUP.0 as f64 / misses;
    let [least, most] = [LEAST_CODE_BLOCK, CODE_BLOCK].map(|bytes| bytes.0 as f64);
    let nearest = 2f64.powf(brought.clamp(least, most).log2().round());
    let method = "jumps through code in blocks of 128 B and of 1 KiB: how many misses the smaller ones cost more";
    let finding = Finding::measured(Bytes(nearest as u64), method).note(format!(
        "where its code does not fit, a walk through {CODE_GROUP} in blocks of {LEAST_CODE_BLOCK} takes as much longer as {} misses; neighbours may be \
         brought along by a prefetcher",
        tenths(misses)
    ));
    let finding = if nearest > least { finding.at_least(nearest / ROUGHLY) } else { finding };
    Ok(if nearest < most { finding.at_most(nearest * ROUGHLY) } else { finding })
}

/// As the finding `sms_of_an_instance`.
///
/// # Errors
///
/// As [`miss_penalty`], and if groups overlap, or no SM shares its cache: then nothing shows that the other code displaces the first.
pub fn sms_of_an_instance(notebook: &Notebook, number: usize) -> Result<Finding<Counts>, Gap> {
    let (instances, footprint) = instances(notebook, number)?;
    Ok(Finding::measured(instances.sizes(), SHARED).unit("SMs").note(format!("by {footprint} of code each")))
}

/// As the finding `instance_of_sms`.
///
/// # Errors
///
/// As [`sms_of_an_instance`].
pub fn instance_of_sms(notebook: &Notebook, number: usize) -> Result<Finding<Counts>, Gap> {
    Ok(Finding::measured(instances(notebook, number)?.0.of_sms(), SHARED))
}

/// Which SMs share the cache of this level, and how much code showed it.
fn instances(notebook: &Notebook, number: usize) -> Result<(Instances, Bytes), Gap> {
    let level = level(notebook, number)?;
    let (penalty, ..) = level.penalty;
    let granule = CODE_GROUP;
    let overflows = |footprint: Bytes| footprint + footprint > level.fits + granule;
    let part = granule * (3 * level.fits.0 / 4 / granule.0);
    let footprint = if overflows(part) { part } else { level.fits };
    if footprint > PARTNER_CODE || !overflows(footprint) {
        return Gap::unknown(format!(
            "two pieces of code that each fit and overflow {} together do not exist",
            level.fits
        ));
    }
    if let Some(before) = number.checked_sub(1) {
        // Whatever holds these blocks of 1 KiB, and be it no cache of so many bytes.
        let before = shown(notebook)?.iter().filter_map(|levels| Some(levels.get(before)?.fits)).max();
        let before = before.unwrap_or_default() + granule + AROUND;
        if footprint <= before {
            return Gap::unknown(format!(
                "{footprint} of code may fit into the cache before, which holds up to {before}"
            ));
        }
    }
    let (warm_laps, laps) = SHARED_LAPS;
    let walk = |partner| CodeWalk { footprint, block: CODE_BLOCK, sm: None, partner, warm_laps, laps, repeat: 0 };
    let sms = notebook.facts().multiprocessors;
    let undisturbed = taken(&notebook.read(&[walk(None)])?[0], sms)?;
    // What all SMs walk through at the same time must hit as what one walks through alone.
    for alone in walks(notebook).concat().into_iter().filter(|alone| alone.footprint == footprint) {
        let alone = taken(&notebook.read(&[alone])?[0], sms)?;
        if !missing(&alone, &undisturbed, DISPLACED * penalty).is_empty() {
            return Gap::unknown("code that fits misses where all SMs walk through it at the same time");
        }
    }
    // Who misses after an SM has walked through other code.
    let displaced = |partners: &[u32]| -> Result<Vec<BTreeSet<u32>>, Gap> {
        let walks: Vec<CodeWalk> = partners.iter().map(|&partner| walk(Some(partner))).collect();
        notebook
            .read(&walks)?
            .iter()
            .map(|one| Ok(missing(&undisturbed, &taken(one, sms)?, DISPLACED * penalty)))
            .collect()
    };
    let mut groups: Vec<BTreeSet<u32>> = Vec::new();
    let first = displaced(&[0])?.remove(0);
    if first.len() < SMALL_GROUP {
        let all: Vec<u32> = (0..sms).collect();
        for (sm, mut group) in (0..).zip(displaced(&all)?) {
            group.insert(sm);
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
    } else {
        while let Some(sm) = (0..sms).find(|sm| groups.iter().all(|group| !group.contains(sm))) {
            let mut group = displaced(&[sm])?.remove(0);
            group.insert(sm);
            groups.push(group);
        }
    }
    let members: usize = groups.iter().map(BTreeSet::len).sum();
    if members != sms as usize {
        return Gap::unknown(format!(
            "the groups of SMs that miss after one of them has walked through other code have {members} SMs in all, and the device has {sms}"
        ));
    }
    if members == groups.len() {
        return Gap::unknown(
            "no SM misses after another one has walked through other code: each may have its own cache, or what was hit is not displaced",
        );
    }
    let groups: Vec<Vec<u32>> = groups.into_iter().map(Vec::from_iter).collect();
    match Instances::new(groups.iter().map(Vec::as_slice), sms) {
        Some(instances) => Ok((instances, footprint)),
        None => Gap::unknown("an SM is in two of the groups of SMs that miss together"),
    }
}

/// What jumps take, by SM, of a device with so many SMs.
fn taken(measurement: &Measurement<CodeWalk>, sms: u32) -> Result<Vec<(u32, f64)>, Gap> {
    let walk = &measurement.experiment;
    let walkers = (0..sms).filter(|&sm| walk.sm.is_none_or(|own| own == sm) && walk.partner != Some(sm));
    match walk.jumps_taken(measurement.samples()) {
        Some(taken) if taken.iter().map(|&(sm, _)| sm).eq(walkers) => Ok(taken),
        _ => Gap::unknown("walks through code reported no times, or not those of the SMs that were asked"),
    }
}

/// The SMs whose jumps take more cycles longer than that.
fn missing(undisturbed: &[(u32, f64)], taken: &[(u32, f64)], longer: f64) -> BTreeSet<u32> {
    let before = |sm: u32| undisturbed.iter().find(|(of, _)| *of == sm).map_or(f64::MAX, |(_, cycles)| *cycles);
    taken.iter().filter(|&&(sm, cycles)| cycles - before(sm) > longer).map(|&(sm, _)| sm).collect()
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
        assert_eq!(found.iter().map(|level| level.fits.0 / KIB).collect::<Vec<_>>(), [12, 32, 128], "{found:?}");
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

    #[test]
    fn who_misses_is_told_from_who_does_not() {
        let before = [(0, 35.0), (1, 35.0), (2, 36.0)];
        assert_eq!(missing(&before, &[(0, 70.0), (2, 38.0)], 10.0), BTreeSet::from([0]));
        // An SM that was not measured before cannot be told.
        assert!(missing(&before[..1], &[(5, 70.0)], 10.0).is_empty());
    }
}
