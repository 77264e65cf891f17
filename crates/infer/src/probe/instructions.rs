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

mod curve;

use self::curve::{Level, confirm, levels};
use super::instances::Instances;
use super::{Gap, Measurement, Notebook};
use crate::analysis::robust::{spread, tenths};
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
/// Cycles by which the cost of a miss may be off, and part of it: on an H200 misses that the L2 answers took 189 to 210 cycles in forty
/// processes, since code lies elsewhere in each.
const UNEVEN: (f64, f64) = (1.0, 0.12);
/// Factor by which the bytes of a fetch may be off: misses that wait for each other cost less.
const ROUGHLY: f64 = 2.0;
/// Part of the cost of a miss by which a jump takes longer where others have displaced the code.
const DISPLACED: f64 = 0.25;
/// How it is measured which SMs share a cache.
const SHARED: &str = "code that all SMs have brought in, and one SM displaces";
/// Groups of SMs as small as this are looked for on all SMs at once, larger ones one after the other.
const SMALL_GROUP: usize = 4;

/// What both kinds of blocks show of a level.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Confirmed {
    /// As [`Level::fits`].
    fits: Bytes,
    /// The median, the least and the most cycles that a jump takes longer beyond it, of the SMs.
    penalty: (f64, f64, f64),
    /// By how many such costs a walk through [`CODE_GROUP`] in blocks of [`LEAST_CODE_BLOCK`] takes longer. None where such blocks may
    /// overflow the next cache as well.
    misses: Option<f64>,
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

/// What blocks of 1 KiB show of each level, by SM.
fn shown(notebook: &Notebook) -> Result<Vec<Vec<Level>>, Gap> {
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
            "{fits} of code fit, but up to {CODE} there is too little code behind it that takes as long as the last, so what a miss costs is not known"
        ));
    };
    // Whatever the other SM shows of levels that are not asked for.
    let levels: Vec<(Bytes, f64)> = all[0].iter().map_while(|level| Some((level.fits, level.penalty?))).collect();
    let confirmed = confirm(&small_blocks(notebook)?, &levels);
    let is_next_confirmed = confirmed.get(number + 1).is_none_or(Option::is_some);
    match confirmed.get(number).copied().flatten() {
        Some(misses) => Ok(Confirmed { fits, penalty, misses: Some(misses).filter(|_| is_next_confirmed) }),
        None => Gap::unknown(format!(
            "blocks of {LEAST_CODE_BLOCK} do not confirm the {fits} of code that fit in blocks of {CODE_BLOCK}"
        )),
    }
}

/// As the finding `size`.
///
/// # Errors
///
/// An unknown, if there is no such level up to [`CODE`], if too little code is behind it to say what a miss costs, or if blocks of
/// [`LEAST_CODE_BLOCK`] do not confirm it.
pub fn size(notebook: &Notebook, number: usize) -> Result<Finding<Bytes>, Gap> {
    let level = level(notebook, number)?;
    let overflows = level.fits + CODE_GROUP + AROUND;
    let method = "jumps through code in blocks of 1 KiB: what a further block takes, over the bytes of code";
    Ok(Finding::measured(level.fits, method)
        .range(level.fits.0 as f64, overflows.0 as f64)
        .note(
            "walks through blocks of 128 B overflow it within a tenth of this size. The code around the blocks displaces some of them before; those misses \
             do not grow with the code",
        ))
}

/// As the finding `miss_penalty`.
///
/// # Errors
///
/// As [`size`].
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

/// As the finding `fetch_granularity`: a power of two from [`LEAST_CODE_BLOCK`] to [`CODE_BLOCK`], whose ends are bounds. A cache before this one
/// may be what brings so many bytes in.
///
/// # Errors
///
/// As [`size`], and if small blocks may overflow the next cache as well.
pub fn fetch_granularity(notebook: &Notebook, number: usize) -> Result<Finding<Bytes>, Gap> {
    let Some(misses) = level(notebook, number)?.misses else {
        return Gap::unknown(format!("blocks of {LEAST_CODE_BLOCK} may overflow the next cache as well"));
    };
    let brought = CODE_GROUP.0 as f64 / misses;
    let [least, most] = [LEAST_CODE_BLOCK, CODE_BLOCK].map(|bytes| bytes.0 as f64);
    let nearest = 2f64.powf(brought.clamp(least, most).log2().round());
    let method = "jumps through code in blocks of 128 B and of 1 KiB: how many misses the smaller ones cost more";
    let finding = Finding::measured(Bytes(nearest as u64), method).note(format!(
        "where its code does not fit, a walk through {CODE_GROUP} in blocks of {LEAST_CODE_BLOCK} takes as much longer as {} misses; a cache \
         before, or a prefetcher, may bring neighbours along",
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
        // Something holds so many blocks of 1 KiB, even if it is no cache of that size.
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

    #[test]
    fn who_misses_is_told_from_who_does_not() {
        let before = [(0, 35.0), (1, 35.0), (2, 36.0)];
        assert_eq!(missing(&before, &[(0, 70.0), (2, 38.0)], 10.0), BTreeSet::from([0]));
        // An SM that was not measured before cannot be told.
        assert!(missing(&before[..1], &[(5, 70.0)], 10.0).is_empty());
    }
}
