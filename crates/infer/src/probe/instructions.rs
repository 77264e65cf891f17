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
//! Assumes that blocks spread evenly over the sets of a cache, and that a miss of one block brings no other one along. Both are said in the
//! finding. What would refute it: a prefetcher that follows the order of the blocks. Then there would be no step where one is known.

use std::collections::BTreeSet;

use super::instances::Instances;
use super::{Gap, Measurement, Notebook};
use crate::analysis::robust::{median, spread, tenths};
use strata_model::attribute::Counts;
use strata_model::experiment::{CODE, CodeWalk, PARTNER_CODE};
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

/// The walks that give the curve, by SM.
fn walks(notebook: &Notebook) -> Vec<Vec<CodeWalk>> {
    let sms = notebook.facts().multiprocessors;
    let some = BTreeSet::from([0, sms / 2]);
    let (warm_laps, laps) = CURVE_LAPS;
    let walk = |sm, groups| CodeWalk {
        footprint: CodeWalk::granule() * groups,
        sm: Some(sm),
        partner: None,
        warm_laps,
        laps,
        repeat: 0,
    };
    some.into_iter().map(|sm| (1..=CODE / CodeWalk::granule()).map(|groups| walk(sm, groups)).collect()).collect()
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
    let further: Vec<f64> = laps.windows(2).map(|two| (two[1] - two[0]) / f64::from(CodeWalk::GROUP)).collect();
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
            (are_most && is_soon).then_some(above)
        });
        let penalty = above.map(|above| above - below);
        let fits = CodeWalk::granule() * (last as u64 + 2);
        found.push(Level { fits, penalty });
        let Some(above) = above else { break };
        below = above;
    }
    Some(found)
}

/// A level as all SMs show it, with the median, the least and the most that a jump takes longer on them.
fn level(notebook: &Notebook, number: usize) -> Result<Level<(f64, f64, f64)>, Gap> {
    if notebook.facts().multiprocessors < 2 {
        return Gap::unknown("there is one SM, and no other one to confirm what it shows");
    }
    let walks = walks(notebook);
    let measurements = notebook.read(&walks.concat())?;
    let of_sms = measurements.chunks(walks[0].len());
    let Some(curves) = of_sms.map(curve).collect::<Option<Vec<_>>>() else {
        return Gap::unknown("walks through code reported no times");
    };
    let Some(all) = curves.iter().map(|curve| levels(curve)).collect::<Option<Vec<_>>>() else {
        return Gap::unknown("jumps through the smallest pieces of code differ already");
    };
    let Some(found) = all.iter().map(|levels| levels.get(number)).collect::<Option<Vec<_>>>() else {
        let seen = all.iter().map(Vec::len).min().unwrap_or(0);
        return Gap::unknown(match seen {
            0 => format!("jumps through up to {CODE} of code take no longer than through a little"),
            1 => format!("jumps through up to {CODE} of code take longer from one size on only"),
            sizes => format!("jumps through up to {CODE} of code take longer from {sizes} sizes on only"),
        });
    };
    let penalties: Option<Vec<f64>> = found.iter().map(|level| level.penalty).collect();
    let sizes: BTreeSet<Bytes> = found.iter().map(|level| level.fits).collect();
    match Vec::from_iter(sizes)[..] {
        [fits] => Ok(Level { fits, penalty: penalties.and_then(|penalties| spread(&penalties)) }),
        _ => Gap::unknown("two SMs show caches of different sizes"),
    }
}

/// As the finding `size`.
///
/// # Errors
///
/// An unknown, if there is no such level up to [`CODE`].
pub fn size(notebook: &Notebook, number: usize) -> Result<Finding<Bytes>, Gap> {
    let level = level(notebook, number)?;
    let overflows = level.fits + CodeWalk::granule() + AROUND;
    let method = "jumps through code in blocks of 1 KiB: what a further block takes, over the bytes of code";
    Ok(Finding::measured(level.fits, method)
        .range(level.fits.0 as f64, overflows.0 as f64)
        .note(
            "the code around the blocks displaces some of them before; those misses do not grow with the code. Assumes that blocks spread evenly \
             over the sets, and that the miss of one brings no other one along",
        ))
}

/// As the finding `miss_penalty`.
///
/// # Errors
///
/// As [`size`], and if the curve still rises in the end.
pub fn miss_penalty(notebook: &Notebook, number: usize) -> Result<Finding<Cycles>, Gap> {
    let Some((middle, least, most)) = level(notebook, number)?.penalty else {
        return Gap::unknown("the cycles of a jump still rise with the last bytes of code");
    };
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
    let Some((penalty, ..)) = level.penalty else {
        return Gap::unknown("what a miss costs is not known");
    };
    let granule = CodeWalk::granule();
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
        let before = self::level(notebook, before)?.fits + granule + AROUND;
        if footprint <= before {
            return Gap::unknown(format!(
                "{footprint} of code may fit into the cache before, which holds up to {before}"
            ));
        }
    }
    let (warm_laps, laps) = SHARED_LAPS;
    let walk = |partner| CodeWalk { footprint, sm: None, partner, warm_laps, laps, repeat: 0 };
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

    /// Laps of an H200 (GPU-58907a13, SM 0) from 4 KiB on, in steps of 4 KiB; some in the middle of a plateau are left out.
    const H200: [f64; 30] = [
        180.0, 270.0, 360.0, 546.0, 660.0, 774.0, 1335.0, 1450.0, 2222.0, 3443.0, 3778.0, 4112.0, 4447.0, 4782.0,
        5117.0, // Here the code around the blocks begins to displace some.
        8711.0, 9037.0, 9366.0, 9692.0, 14_304.0, 22_300.0, 31_500.0, 41_300.0, 42_490.0, 43_670.0, 44_880.0, 46_070.0,
        47_260.0, 48_450.0, 49_640.0,
    ];

    #[test]
    fn levels_end_where_further_blocks_take_longer() {
        let found = levels(&H200).unwrap();
        assert_eq!(found.iter().map(|level| level.fits.0 / KIB).collect::<Vec<_>>(), [12, 32, 76], "{found:?}");
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
