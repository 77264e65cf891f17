//! The cost of address translation over the footprint, and where it steps up.
//!
//! One line a page is visited, and two of its elements in a row: the first load needs the page's translation, the second
//! finds it done and the line where the first found it, so that their difference is what translating took ([`Order::Pages`]).
//! The L2, with its near and far halves and its physical addresses, is so out of the picture, and no page need be mapped
//! twice. Lines are few enough to stay in the L2, at changing offsets, loaded by `.cg` so that no L1 answers (Mei et al.,
//! section 4.2, who visit pages at one stride and let the data cache overflow as well). Whether they do stay is checked at every
//! step: a second line of each page finds the translation done, so what its visit takes longer is not translation.

use std::collections::BTreeSet;
use std::iter;

use super::pages::{self, Pages};
use super::rise::Rise;
use super::visits::{self, FEW, Visits, as_latencies, mean_and_error, miss_share, of_lines, typical};
use crate::analysis::plateau::{self, Point};
use crate::analysis::robust;
use crate::probe::latency;
use crate::probe::levels::HitMiss;
use crate::probe::{Gap, Measurement, Notebook, Settle};
use strata_model::experiment::{Chase, LARGE_PAGE, LoadPath, Order, Place, Timing, Walk};
use strata_model::units::{Bytes, KIB};

/// Distance of the pages visited where large pages, at which levels are looked for first, turn out to be more than one entry:
/// the smallest page of GPUs since Pascal but for 4 KiB.
const SMALL_PAGE: Bytes = Bytes(64 * KIB);
/// Cycles of error of the mean over [`FEW`] pages from which on more laps are walked: a step of six times as many is sure to be seen.
const NOISY: f64 = 0.3;
/// Laps of those walks, and the loads of one from which on it has fewer.
const MANY_LAPS: u32 = 100;
const LONG_WALK: u32 = 1 << 14;
/// Visited lines are so far apart: the largest line of an L2 known.
const LINE: Bytes = Bytes(128);
/// Laps of which the median counts, so that a slow load now and then, of the two of a visit, is neither miss nor hit.
const LAPS: u32 = 5;
/// The same of walks longer than this, which take long and average over many pages.
pub(super) const FEW_LAPS: (u64, u32) = (512, 2);
/// Of walks longer than this one lap is enough: only their means are used.
const ONE_LAP: u64 = 4096;
/// Pages of which two laps fit the window of a chase by `.cg`.
const ONE_WINDOW: u64 = 2048;
/// Most pages of one walk: their lines, of 128 B, must stay in the L2 with room to spare.
const MOST_PAGES: u64 = 1 << 16;
/// Part of the free memory that may be walked.
const FREE_SHARE: (u64, u64) = (7, 8);
/// A visit that differs from what is usual of its page by more cycles than this was disturbed: more than a miss of a first
/// level costs. Where more than that share of the visits to few pages were, medians of a few laps are not to be relied on.
const DISTURBED: (f64, f64) = (100.0, 0.05);
/// Footprints, from the smallest on, by which that is told.
const CALM: usize = 4;
/// Of what visits take longer beyond a step, the share at least that a second line of the page must not: translation.
const TRANSLATION: f64 = 0.5;
/// Of what visits take longer in the mean where a level is overflowed, the share at least that one miss costs; medians and means
/// of few visits differ.
const LEAST_COST: f64 = 0.5;
/// Of what visits take longer beyond a step, the share at most that a second line of the page does: data stays in the L2.
const DATA: f64 = 0.2;
/// Share that misses of one and a half times as many pages as fit: twice as far from none as from all.
const SMALLER_PAGES: f64 = 0.33;
/// Share of the visits to some footprint that a level's misses are at least. Fewer may be misses of which the second load, which
/// is taken off, was slow by chance. See [`Visits::chances`].
const FREQUENT: f64 = 0.1;
/// The last footprints of a plateau in which misses may be fewer than that and yet too many to be taken for hits.
const UNNOTICED: usize = 3;
/// Times what a miss of the next level costs that a miss costs at most, where it was taken for a hit.
const MUCH_LESS: f64 = 0.5;
/// Cycles that a second line of a page may take longer although it stays in the L2: slices of the L2 differ.
const LITTLE: f64 = 4.0;
/// Parts into which the footprints are divided between which a level may hide.
const FINER: u64 = 16;
/// All visits are those from the first to the second of these hundredths.
const EDGES: (f64, f64) = (0.05, 0.95);
/// Share of what visits take longer in the mean that the least of them does where all take longer.
const EVENLY: f64 = 0.5;
/// The largest of so many of the smallest footprints has a few pages.
const SMALLEST: usize = 4;
/// Standard errors by which second loads may take longer over more pages.
const UNEXPLAINED: f64 = 6.0;
/// Standard errors by which the mean of second lines may be above its limit by chance: few pages were visited.
const BY_CHANCE: f64 = 2.0;

pub(super) fn walk(notebook: &Notebook, distance: Bytes, pages: u64, shuffled: bool) -> Chase {
    walk_lines(notebook, distance, pages, 1, shuffled)
}

/// As [`walk`] of pages in ascending order, from page `first` on.
pub(super) fn walk_from(notebook: &Notebook, distance: Bytes, first: u64, pages: u64) -> Chase {
    let whole = walk(notebook, distance, pages, false);
    Chase { order: Order::Window { granule: LINE, first }, footprint: distance * (first + pages), ..whole }
}

/// Laps of a walk of so many pages that are timed.
pub(super) fn laps(pages: u64) -> u32 {
    match pages {
        n if n > ONE_LAP => 1,
        n if n > FEW_LAPS.0 => FEW_LAPS.1,
        _ => LAPS,
    }
}

fn walk_lines(notebook: &Notebook, distance: Bytes, pages: u64, lines: u32, shuffled: bool) -> Chase {
    let laps = laps(pages);
    let order = Order::Pages { granule: LINE, lines, shuffled };
    let chase = Chase { order, ..Chase::each_load(LoadPath::GlobalCg, distance * pages, distance) };
    let lap = chase.lap() as u32;
    // Writing out the window of a long walk touches a page or two of thousands.
    let walk = if pages > ONE_WINDOW { Walk::Straight } else { Walk::Resident };
    Chase {
        warm_laps: 2,
        timing: Timing::EachLoad { loads: laps * lap, walk },
        place: Place::alone_on(0),
        seed: notebook.seed(20),
        ..chase
    }
}

/// The curve over footprints.
#[derive(Clone, Debug)]
pub(in crate::probe) struct Curve {
    pub(super) rises: Vec<Rise>,
    /// Largest footprint of which the lines stay in the L2 and up to which a further level would show.
    pub(super) reached: Bytes,
    /// Whether larger ones were walked, of which the lines do not stay.
    pub(super) leaves_l2: bool,
    /// Whether visits to larger ones take one and a half times as long as a miss of the last level costs.
    pub(super) costs_more: bool,
    /// Between these footprints a further level overflows together with the last of the rises. What comes after is left out, for
    /// it is unknown which level it is.
    pub(super) hides: Option<(Bytes, Bytes)>,
    /// Whether nothing was left out.
    is_whole: bool,
}

/// The steps of the curve over footprints.
pub(super) fn curve(notebook: &Notebook) -> Result<Curve, Gap> {
    notebook.once(&notebook.memo.tlb_curve, (), || {
        let large = curve_by(notebook, LARGE_PAGE)?;
        let Some(first) = large.rises.first() else { return Ok(large) };
        // Half as far apart, three quarters of the reach fit, unless an entry maps less than a large page.
        let half = LARGE_PAGE / 2;
        let pages = (first.flat * 3 / 4 / half.0).max(1);
        let measurements = notebook.read(&[walk(notebook, half, pages, true)])?;
        let smaller = first.share(&measurements[0]) > SMALLER_PAGES
            || pages::own_entries(notebook, first, half)?.unwrap_or(false);
        if smaller {
            return curve_by(notebook, SMALL_PAGE);
        }
        if large.rises.len() > 1 && large.rises.iter().skip(1).all(Rise::has_cost) {
            return Ok(large);
        }
        // Of several visits to what one entry maps some hit by chance, so that the step never quite ends and may hide the next
        // one, or its misses among hits. An older recording has no walk by whole entries.
        let mut by_entry = by_entry(notebook, first).settled()?.ok().flatten();
        if let Some(same) = by_entry.as_mut().and_then(|by_entry| by_entry.rises.first_mut()) {
            // Few pages are entries, and the hits of few pages may be alike by chance.
            same.classes = same.classes.filter(|_| first.classes.is_some());
        }
        // The same level's misses cost the same. If its victims are random, the hits among few entries may be misses, so that those of the next
        // level pass for its own.
        let cost = |curve: &Curve| curve.rises.first()?.classes.map(|classes| classes.miss - classes.hit);
        let agrees = |by_entry: &Curve| match (cost(&large), cost(by_entry)) {
            (Some(cost), Some(by_entry)) => cost >= MUCH_LESS * by_entry,
            _ => true,
        };
        let is_better = |by_entry: &Curve| by_entry.rises.len() >= large.rises.len() && agrees(by_entry);
        Ok(by_entry.filter(is_better).unwrap_or(large))
    })
}

/// The curve over pages as far apart as what an entry of the first level maps, if that is more than they are anyway.
fn by_entry(notebook: &Notebook, first: &Rise) -> Result<Option<Curve>, Gap> {
    let pages = Pages::of(notebook, first)?;
    let mut distance = pages.distance(pages.checked_entry(notebook, first)?);
    while distance > first.distance {
        let curve = curve_by(notebook, distance)?;
        // The step that never quite ends may have given too large a page. Now the step is sharp.
        let half = distance / 2;
        let smaller = curve.rises.first().map(|rise| pages::own_entries(notebook, rise, half));
        if smaller.transpose()?.flatten() != Some(true) {
            return Ok(Some(curve));
        }
        distance = half;
    }
    Ok(None)
}

/// Largest footprint walked.
pub(super) fn limit(notebook: &Notebook) -> Bytes {
    Bytes(notebook.facts().free_memory / FREE_SHARE.1 * FREE_SHARE.0)
}

/// The steps of the curve over pages that are so far apart.
fn curve_by(notebook: &Notebook, distance: Bytes) -> Result<Curve, Gap> {
    notebook.once(&notebook.memo.tlb_curve_by, distance, || walked(notebook, distance))
}

fn walked(notebook: &Notebook, distance: Bytes) -> Result<Curve, Gap> {
    let most = (limit(notebook) / distance).min(MOST_PAGES);
    if most < 4 {
        let free = Bytes(notebook.facts().free_memory);
        return Gap::unknown(format!(
            "a walk page by page needs {} of memory at least, and {free} were free",
            distance * 5
        ));
    }
    // The largest first, so that one allocation serves all.
    let mut counts: Vec<u64> = vec![most];
    let mut power = 4;
    while power < most {
        counts.extend([power, power + power / 2].into_iter().filter(|&n| n < most));
        power *= 2;
    }
    let curve = over(notebook, distance, &counts)?;
    let Some((first, last)) = curve.hides else { return Ok(curve) };
    let (first, last) = (first / distance, last / distance);
    let finer = (1..FINER).map(|i| first + (last - first) * i / FINER);
    counts.extend(finer.collect::<BTreeSet<u64>>().into_iter().filter(|n| !counts.contains(n)).collect::<Vec<_>>());
    // An older recording has no finer walks.
    let mut finer = over(notebook, distance, &counts).settled()?.unwrap_or(curve);
    finer.rises = whole(finer.rises);
    // Nothing comes after the last step, and page tables that leave the caches make it higher as well.
    if finer.is_whole {
        finer.hides = None;
    }
    Ok(finer)
}

/// Without rises that begin where only part of the visits miss the level before: between footprints as close as these, misses of
/// one level may pause. A rise to more than one miss costs is the next level's, which begins before the one before it ends.
fn whole(rises: Vec<Rise>) -> Vec<Rise> {
    let mut all: Vec<Rise> = Vec::new();
    for rise in rises {
        let joined = all.last().filter(|before| before.is_partial()).map(|before| before.up_to(&rise));
        match (joined.filter(|joined| joined.hides().is_none()), all.last_mut()) {
            (Some(joined), Some(before)) => *before = joined,
            _ => all.push(rise),
        }
    }
    all
}

/// The curve over so many pages, the most of them first.
fn over(notebook: &Notebook, distance: Bytes, counts: &[u64]) -> Result<Curve, Gap> {
    let chases: Vec<Chase> = counts.iter().map(|&n| walk(notebook, distance, n, true)).collect();
    let mut measurements = notebook.read(&chases)?;
    measurements.sort_by_key(|s| s.experiment.footprint);
    let few: Vec<Visits> = measurements.iter().take(CALM).map(Visits::of).collect();
    let disturbed: usize = few.iter().map(|visits| visits.odd(DISTURBED.0)).sum();
    let visits: usize = few.iter().map(|visits| visits.extras.len()).sum();
    if disturbed as f64 > DISTURBED.1 * visits as f64 {
        return Gap::unknown(format!(
            "{disturbed} of {visits} visits to a few pages differ by over {:.0} cycles from the usual: single loads are slow at \
             random",
            DISTURBED.0
        ));
    }
    let mut points = visits::points(&measurements);
    let mut steps = plateau::steps(&points);
    let flat = steps.first().map_or(points.len(), |first| first.flat + 1);
    let several = |point: &&Point| point.at / distance.0 >= FEW as u64;
    let is_noisy = points[..flat].iter().find(several).is_some_and(|point| point.error > NOISY);
    // An older recording has no more laps.
    let again = if is_noisy { more_laps(notebook, &measurements[..flat])? } else { None };
    let is_noisy = again.is_some();
    if let Some(mut again) = again {
        again.extend_from_slice(&measurements[flat..]);
        points = visits::points(&again);
        steps = plateau::steps(&points);
    }
    if let Some(first) = steps.first() {
        unseen_before(&measurements[..=first.flat], points[first.flat].at)?;
    }
    let tops: Vec<usize> = steps.iter().map(|s| s.settled.unwrap_or(points.len() - 1)).collect();
    let ends = translated(notebook, distance, &points, &steps, &tops)?;
    let kept = ends.len();
    // Larger footprints leave the L2: those of a step that is none of translation, and those beyond where the last one is.
    let is_cut = kept > 0 && ends[kept - 1] < tops[kept - 1];
    let leaves_l2 = kept < steps.len() || is_cut;
    let last = match (is_cut, steps.get(kept)) {
        (true, _) => ends[kept - 1],
        (false, Some(step)) => step.flat,
        (false, None) => points.len() - 1,
    };
    steps.truncate(kept);
    if let Some(cut) = steps.last_mut().filter(|_| is_cut) {
        (cut.settled, cut.above) = (None, None);
    }
    let next: Vec<usize> = steps.iter().skip(1).map(|next| next.flat).chain([last]).collect();
    // Each begins where the one before has ended.
    let starts: Vec<usize> = iter::once(0).chain(steps.iter().map(|step| step.settled.unwrap_or(step.grown))).collect();
    let mut rises: Vec<Rise> = steps
        .into_iter()
        .zip(next)
        .zip(starts)
        .map(|((step, next), start)| {
            // In the last footprints of the plateau a page or two of a few may miss already.
            let visits = |i: usize| as_latencies(&typical(&measurements[i]));
            let frequent = |i: usize| FREQUENT * Visits::of(&measurements[i]).chances();
            let hits_up_to = |last: usize| -> Vec<u32> { (start..=last).flat_map(visits).collect() };
            let misses =
                |&last: &usize| HitMiss::learn_from(&hits_up_to(last - 1), &[(&visits(last), frequent(last))]).is_ok();
            // Hits of fewer pages may be alike by chance, so that other hits are apart from them.
            let mut visited = 0;
            let known = (start..step.flat).find(|&i| {
                visited += visits(i).len();
                visited >= FEW
            });
            let least = known.unwrap_or(step.flat);
            let last = (least + 1..=step.flat).find(misses).map_or(step.flat, |first| first - 1);
            // Beyond the next step its misses, which cost more, would pass for those of a level whose own hide among its hits.
            let end = next.max(step.grown);
            let learn = |last: usize| {
                let larger: Vec<(Vec<u32>, f64)> = (last + 1..=end).map(|i| (visits(i), frequent(i))).collect();
                let larger: Vec<(&[u32], f64)> = larger.iter().map(|(visits, share)| (&visits[..], *share)).collect();
                HitMiss::learn_from(&hits_up_to(last), &larger).ok()
            };
            let (last, classes) = without_misses(least, last, learn);
            // A miss costs no less than visits take longer in the mean; what costs less is another thing, such as data that leaves the
            // L2.
            let extra = points[step.grown].mean - step.below;
            let is_cheap = |classes: &HitMiss| classes.miss - classes.hit < LEAST_COST * extra;
            let cheap = classes.as_ref().is_some_and(is_cheap);
            let classes = classes.filter(|classes| !is_cheap(classes));
            let fitting: Vec<f64> = measurements[..=last].iter().flat_map(|s| Visits::of(s).extras).collect();
            Rise {
                distance,
                flat: points[step.flat].at,
                grown: points[step.grown].at,
                below: step.below,
                above: step.above.filter(|_| step.settled.is_some()),
                settled: step.settled.map(|settled| points[settled].at),
                error: points[step.flat].error.hypot(points[step.grown].error),
                is_noisy,
                strays: classes.map_or(0.0, |classes| miss_share(&classes, &fitting)),
                classes,
                two_costs: cheap
                    || is_even(
                        &measurements[step.flat],
                        &measurements[step.grown],
                        step.above.map(|above| above - step.below),
                    ),
            }
        })
        .collect();
    let hiding = rises.iter().position(|rise| rise.hides().is_some());
    let hides = hiding.and_then(|at| rises[at].hides());
    let all = rises.len();
    rises.truncate(hiding.map_or(all, |at| at + 1));
    let dearer = rises.last().and_then(|rise| points[..=last].iter().position(|point| rise.costs_more(point)));
    let reached = Bytes(points[dearer.map_or(last, |first| first.saturating_sub(1))].at);
    Ok(Curve { is_whole: rises.len() == all, rises, reached, leaves_l2, costs_more: dearer.is_some(), hides })
}

/// The same walks with more laps of those that have few pages: single loads are slow by chance, and misses of a first level that cost a few
/// cycles show in the mean alone. What a single visit tells is learned from the usual laps, which all other walks have.
fn more_laps(notebook: &Notebook, walks: &[Measurement<Chase>]) -> Result<Option<Vec<Measurement<Chase>>>, Gap> {
    let longer = |of: &Measurement<Chase>| {
        let chase = of.experiment.clone();
        let Timing::EachLoad { loads, walk } = chase.timing else { return chase };
        let lap = chase.lap() as u32;
        let laps = (LONG_WALK / lap.max(1)).clamp(1, MANY_LAPS);
        Chase { timing: Timing::EachLoad { loads: loads.max(laps * lap), walk }, ..chase }
    };
    Ok(notebook.read(&walks.iter().map(longer).collect::<Vec<_>>()).settled()?.ok())
}

/// For each step, up to the first at which something else takes longer: the last footprint of which it is shown that translation does.
/// That is where the step is complete, or as far as it goes. If lines have left the L2 there, it is an earlier footprint of its rise.
fn translated(
    notebook: &Notebook,
    distance: Bytes,
    points: &[Point],
    steps: &[plateau::Step],
    tops: &[usize],
) -> Result<Vec<usize>, Gap> {
    let control = |&at: &usize| walk_lines(notebook, distance, points[at].at / distance.0, 2, true);
    let is_translation = |step: &plateau::Step, at: usize, control: &Measurement<Chase>, little: f64| {
        let extra = points[at].mean - step.below;
        let [(first, _), (second, error)] = of_lines(control);
        // Where data leaves the L2, a walk of the page tables may leave it, too: that is no level of its own. If another cache is
        // close behind, only a few cycles tell.
        let tolerated = (DATA * extra + BY_CHANCE * error).min(little + UNEXPLAINED * error);
        first - second - step.below >= TRANSLATION * extra && second <= tolerated
    };
    let controls = notebook.read(&tops.iter().map(control).collect::<Vec<_>>())?;
    let mut ends = Vec::new();
    for ((step, &top), at_top) in steps.iter().zip(tops).zip(&controls) {
        if is_translation(step, top, at_top, LITTLE) {
            ends.push(top);
            continue;
        }
        let earlier: Vec<usize> = (step.grown..top).collect();
        // Some lines have begun to leave the L2 at the larger footprint, so that here they may take longer by chance only. An older recording has
        // no controls of the footprints before.
        let controls = notebook.read(&earlier.iter().map(control).collect::<Vec<_>>()).settled()?.unwrap_or_default();
        ends.extend(
            earlier.iter().zip(&controls).rev().find(|(at, s)| is_translation(step, **at, s, 0.0)).map(|(&at, _)| at),
        );
        break;
    }
    Ok(ends)
}

/// The last footprint of a plateau before any of its visits miss, and what is learned from it. Among random victims a few percent miss at
/// first. Taken for hits, these make hits so different from each other that only misses of the next level are apart from them: then
/// misses learned from fewer footprints cost much less.
fn without_misses(least: usize, last: usize, learn: impl Fn(usize) -> Option<HitMiss>) -> (usize, Option<HitMiss>) {
    let classes = learn(last);
    let cost = |classes: &Option<HitMiss>| classes.map_or(f64::MAX, |classes| classes.miss - classes.hit);
    (last.saturating_sub(UNNOTICED).max(least)..last)
        .rev()
        .map(|fewer| (fewer, learn(fewer)))
        .find(|(_, fewer)| cost(fewer) < MUCH_LESS * cost(&classes))
        .unwrap_or((last, classes))
}

/// Whether all visits to more pages take longer by about the same, and none by `most`: a level whose misses cost much less.
fn is_even(few: &Measurement<Chase>, more: &Measurement<Chase>, most: Option<f64>) -> bool {
    let (few, more) = (typical(few), typical(more));
    let longer = |share| Some(robust::quantile(&more, share)? - robust::quantile(&few, share)?);
    let extra = robust::mean(&more) - robust::mean(&few);
    let [least, greatest] = [longer(EDGES.0), longer(EDGES.1)];
    least.is_some_and(|least| least > EVENLY * extra)
        && greatest.zip(most).is_some_and(|(greatest, most)| greatest < LEAST_COST * most)
}

/// Refuses a first step before which second loads take longer than in the smallest footprints: a level that lets no page in for
/// the ones that it has hit makes both loads of a visit miss, so that their difference shows nothing.
fn unseen_before(flat: &[Measurement<Chase>], footprint: u64) -> Result<(), Gap> {
    let Some((last, smaller)) = flat.split_last() else { return Ok(()) };
    let seconds = |measurement: &Measurement<Chase>| -> Vec<f64> {
        let visits: Vec<u32> = measurement.latencies().chunks_exact(2).map(|pair| pair[1]).collect();
        latency::medians_by_place(&visits, (measurement.experiment.lap() / 2) as usize)
    };
    // One footprint, for all of these have the same few pages: visited more often, they are no more pages.
    let few: Vec<f64> = smaller.iter().take(SMALLEST).next_back().map(seconds).unwrap_or_default();
    let all = seconds(last);
    if few.is_empty() || all.len() <= few.len() {
        return Ok(());
    }
    let ((before, its_error), (after, error)) = (mean_and_error(&few), mean_and_error(&all));
    if after - before > UNEXPLAINED * its_error.hypot(error) {
        return Gap::unknown(format!(
            "second loads of a page take {:.0} cycles longer over {} than over a few pages: pages miss a level that the \
             difference of first and second loads does not show",
            after - before,
            Bytes(footprint)
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::effort::Effort;
    use strata_model::experiment::Experiment;
    use strata_model::facts::DeviceFacts;
    use strata_model::samples::Samples;

    /// The curve of a device where the first load of a page, by its number, in a walk of so many takes so much longer than the
    /// second one.
    fn curve_of(extra: impl Fn(u64, u64) -> u32) -> Result<Curve, Gap> {
        curve_of_loads(|page, pages| [300 + extra(page, pages), 300, 300])
    }

    /// The curve of a device where the loads of a page, by its number, in a walk of so many take so many cycles: the first and
    /// the second of its first line, and the first of its second line.
    fn curve_of_loads(cycles: impl Fn(u64, u64) -> [u32; 3]) -> Result<Curve, Gap> {
        let memory = 140 << 30;
        let facts = DeviceFacts { free_memory: memory, total_memory: memory, ..DeviceFacts::default() };
        let mut notebook = Notebook::new(facts, Effort::Standard, 0);
        for _ in 0..64 {
            let curve = curve_by(&notebook, LARGE_PAGE);
            let missing = notebook.take_missing();
            if missing.is_empty() {
                return curve;
            }
            for (number, experiment) in missing.into_iter().enumerate() {
                let Experiment::Chase(chase) = &experiment else { unreachable!("only chases are asked for") };
                let Timing::EachLoad { loads, .. } = chase.timing else { unreachable!("of which each load is timed") };
                let Order::Pages { lines, .. } = chase.order else { unreachable!("and pages are walked") };
                let pages = chase.footprint / LARGE_PAGE;
                let latency = |i: u32| {
                    let (line, load) = (u64::from(i / 2) % (pages * u64::from(lines)), i as usize % 2);
                    let [first, second, other] = cycles(line / u64::from(lines), pages);
                    // A second line of the page finds the translation done.
                    if line.is_multiple_of(u64::from(lines)) { [first, second][load] } else { [other, second][load] }
                };
                let latencies = (0..loads).map(latency).collect();
                notebook.add(number as u32, experiment, Ok(Samples { latencies, ..Samples::default() }));
            }
        }
        unreachable!("a curve takes a few rounds")
    }

    #[test]
    fn misses_of_the_next_level_do_not_pass_for_those_that_hide_among_hits() {
        // As on an H200: hits differ by 15 cycles from page to page, misses of the first level cost 10, and those of the
        // second 150.
        let noise = |page: u64| (page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as u32 % 15;
        let first = |pages: u64| u32::from(pages > 128) * 10;
        let second = |pages: u64| u32::from(pages > 32768) * 150;
        let curve = curve_of(|page, pages| 20 + noise(page) + first(pages) + second(pages)).unwrap();
        let costs: Vec<Option<f64>> =
            curve.rises.iter().map(|rise| rise.classes.map(|classes| classes.miss - classes.hit)).collect();
        assert!(matches!(costs[..], [None, Some(150.0..165.0)]), "{costs:?}");
    }

    #[test]
    fn a_few_pages_that_are_alike_by_chance_are_no_step() {
        // As on an H200: first loads differ by 7 cycles either way from page to page, and those of the first four pages do not.
        let noise = |page: u64, pages: u64| if pages == 4 { 0 } else { [7, 0, 14, 7][page as usize % 4] };
        let curve = curve_of(|page, pages| noise(page, pages) + u32::from(pages > 128) * 10).unwrap();
        let rises: Vec<Bytes> = curve.rises.iter().map(|rise| Bytes(rise.flat)).collect();
        assert_eq!(rises, [LARGE_PAGE * 128]);
        // Nor are the others misses because they take longer than those four.
        assert_eq!(curve.rises[0].classes, None);
    }

    #[test]
    fn second_loads_that_differ_from_page_to_page_hide_no_level() {
        // As on an H200: those of the first pages, which are in all walks, take 15 cycles less than others do in the mean.
        let second = |page: u64| [266, 286][page as usize % 2] + if page < 12 { 0 } else { 15 };
        let curve =
            curve_of_loads(|page, pages| [second(page) + u32::from(pages > 128) * 10, second(page), second(page)]);
        assert_eq!(curve.unwrap().rises.len(), 1);
    }

    #[test]
    fn second_lines_of_few_pages_that_take_longer_by_chance_are_no_data_that_leaves_the_l2() {
        // As on an H200: the first step is complete over 24 pages. Their second lines take 2 cycles longer in the mean, which is
        // above a fifth of 9.7 cycles, and differ from page to page by more than that.
        let other = |page: u64, pages: u64| 300 + if pages == 24 { [0, 4, 0, 4][page as usize % 4] } else { 0 };
        let first = |pages: u64| 300 + u32::from(pages > 16) * 10 + u32::from(pages > 2048) * 60;
        let curve = curve_of_loads(|page, pages| [first(pages), 300, other(page, pages)]).unwrap();
        let rises: Vec<Bytes> = curve.rises.iter().map(|rise| Bytes(rise.flat)).collect();
        assert_eq!(rises, [LARGE_PAGE * 16, LARGE_PAGE * 2048]);
    }

    #[test]
    fn second_lines_that_take_longer_over_many_pages_are_data_that_leaves_the_l2() {
        let other = |pages: u64| 300 + u32::from(pages > 16) * 6;
        let first = |pages: u64| 300 + u32::from(pages > 16) * 20;
        let curve = curve_of_loads(|_, pages| [first(pages), 300, other(pages)]).unwrap();
        assert!(curve.rises.is_empty());
    }
}
