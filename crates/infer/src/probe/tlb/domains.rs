//! Which SMs share a level of the TLB: its domains.
//!
//! An SM walks the pages of one window of memory, which fit. Then another SM walks as many pages of another window. If the two share the level,
//! the translations of the first are displaced, and its visits take longer by the cost of a miss ([`PageWalk`]).
//!
//! An SM that walks the other window itself shows what a displaced visit takes longer. That is the control, too: if not even that displaces
//! anything, it says nothing that others displace nothing. A walk after which nobody walks the other window shows what visits vary by.
//!
//! One SM of each domain that is known walks at a time, and one more SM displaces. It belongs to the domain whose walker is slower, or to a
//! new one. So one launch for each SM is enough. Eight SMs are asked about in one batch. In the launch for one of them, those before it in the
//! batch walk as well, because their groups are not known yet. At the end other members of the groups walk, too.
//!
//! Assumes that SMs share a level wholly or not at all.

use std::collections::BTreeSet;

use super::{Level, level, limit};
use crate::analysis::robust::median;
use crate::probe::instances::Instances;
use crate::probe::{Gap, Measurement, Notebook, ask_all};
use strata_model::attribute::Counts;
use strata_model::experiment::PageWalk;
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// Part of the entries of a level that a window takes: two of them are half as many entries again as there are, and one still fits where
/// pages do not spread evenly over the sets.
const WINDOW: (u64, u64) = (3, 4);
/// Two windows are at least so many times the entries, or little is displaced.
const OVERFLOW: f64 = 1.05;
/// The windows have so many times the bytes that the level before translates, at least. Otherwise that level may keep what this one loses.
const BEYOND_BEFORE: u64 = 2;
/// Part of the L2 that the lines of both windows take at most, or partners displace data, not translations.
const OF_L2: u64 = 4;
/// A line of the L2, at most.
const LINE: u64 = 128;
/// Visits of all SMs together that may be made so that each SM walks alone once.
const ALONE: u64 = 4_000_000;
/// Laps before the first that is timed, and laps of who displaces: the second finds what the first has left in place of another entry.
const LAPS: u32 = 2;
/// Parts of a lap, each of so many pages at least.
const PARTS: (u32, u32) = (16, 4);
/// Visits that say what one takes, at least, and most launches in which they are made: the first TLB of an H200 has 16 entries.
const VISITS: (u32, u32) = (200, 16);
/// Times that it is asked what a displaced visit takes longer, and what visits vary by.
const CONTROLS: u32 = 3;
/// A displaced visit takes longer by so many times what others vary by. On an H200 visits to pages of 32 MiB take 89 cycles longer, and vary
/// by 0.1.
const CLEAR: f64 = 8.0;
/// Part of that cost from which a walker is displaced, and up to which it is not. In between it is asked again. On an H200 others took up to
/// 15 % of it longer, where two dozen SMs walked at a time.
const DISPLACED: (f64, f64) = (0.6, 0.3);
/// The same of an SM that walks alone, of which no other one can bring anything back. On an H200 some SMs take up to 36 % of the cost of the
/// first level longer in each launch, and one that is displaced 90 % or more.
const DISPLACED_ALONE: f64 = 0.5;
/// Times that a walk is repeated whose answer is in between.
const TRIES: u32 = 3;
/// If no walker of a group takes longer by more than this part of the cost, the group is surely not displaced. Of several walkers of one group
/// each takes less than the whole cost longer, since the others find what the first of them brings back. There are [`CHUNK`] at most.
const LITTLE: f64 = 0.1;
/// SMs that are asked about in one batch.
const CHUNK: usize = 8;

/// A question to the walkers: whether partners displace their translations.
struct Question<'n> {
    notebook: &'n Notebook,
    walk: PageWalk,
    /// Cycles by which the second lap differs where nobody displaces anything: walkers wait before it, and not before the first.
    still: f64,
    /// Cycles that a displaced visit takes longer than that.
    cost: f64,
}

impl Question<'_> {
    /// The launches that ask once.
    fn walks(&self, walkers: &[u32], partners: &[u32], time: u32) -> Vec<PageWalk> {
        let launches = VISITS.0.div_ceil(self.walk.pages).clamp(1, VISITS.1);
        let walk = PageWalk { walkers: walkers.to_vec(), partners: partners.to_vec(), ..self.walk.clone() };
        (0..launches).map(|launch| PageWalk { repeat: time * launches + launch, ..walk.clone() }).collect()
    }

    /// What visits of these walkers take longer, as part of what they do where all are displaced: the median over the launches.
    fn rises(&self, walks: &[PageWalk]) -> Result<Vec<f64>, Gap> {
        let rises = |measurement: &Measurement<PageWalk>| measurement.experiment.rises(measurement.samples());
        let Some(of_launches) = self.notebook.read(walks)?.iter().map(rises).collect::<Option<Vec<_>>>() else {
            return Gap::unknown("walks over pages reported no times, or not those of the SMs that were asked");
        };
        let of_walker = |walker: usize| {
            let rises: Vec<f64> = of_launches.iter().map(|rises| rises[walker].1).collect();
            (median(&rises).unwrap_or(0.0) - self.still) / self.cost
        };
        Ok((0..walks[0].walkers.len()).map(of_walker).collect())
    }

    /// Which of the walkers are displaced by these partners.
    fn displaced(&self, walkers: &[u32], partners: &[u32]) -> Result<Vec<u32>, Gap> {
        for time in 0..TRIES {
            let rises = self.rises(&self.walks(walkers, partners, time))?;
            if let Some(verdicts) = rises.iter().map(|&rise| verdict(rise)).collect::<Option<Vec<bool>>>() {
                let of_all = walkers.iter().zip(verdicts);
                return Ok(of_all.filter(|(_, is_displaced)| *is_displaced).map(|(&sm, _)| sm).collect());
            }
        }
        Gap::unknown(format!(
            "visits took longer than undisturbed ones, but by less than they do where all pages are displaced ({:.1} cycles)",
            self.cost
        ))
    }
}

/// Whether a walker is displaced whose visits take this part of the cost longer; nothing in between.
fn verdict(rise: f64) -> Option<bool> {
    (!(DISPLACED.1..DISPLACED.0).contains(&rise)).then_some(rise >= DISPLACED.0)
}

/// The question for a level, with the cost of a displaced visit.
fn question<'n>(notebook: &'n Notebook, level: &Level, before: Option<&Level>) -> Result<Question<'n>, Gap> {
    level.page.clone()?;
    let fit = (level.entries * WINDOW.0 / WINDOW.1).min(limit(notebook) / (level.distance * 2)) as u32;
    let parts = PARTS.0.min(fit / PARTS.1).max(1);
    let pages = fit / parts * parts;
    if f64::from(pages) * 2.0 < OVERFLOW * level.entries as f64 {
        return Gap::unknown(format!(
            "two windows that overflow {} entries together do not exist in {}",
            level.entries,
            limit(notebook)
        ));
    }
    let window = level.distance * u64::from(pages);
    if let Some(before) = before.map(|before| before.distance * before.entries)
        && window < before * BEYOND_BEFORE
    {
        return Gap::unknown(format!(
            "the level before translates {before}, and may keep much of the {window} that are visited"
        ));
    }
    let (lines, l2) = (Bytes(2 * u64::from(pages) * LINE), Bytes(notebook.facts().l2_size));
    if lines > l2 / OF_L2 {
        return Gap::unknown(format!("{lines} of lines are visited, which may displace each other in an L2 of {l2}"));
    }
    let walk = PageWalk {
        pages,
        distance: level.distance,
        walkers: vec![0],
        partners: Vec::new(),
        laps: LAPS,
        parts,
        seed: notebook.seed(24),
        repeat: 0,
    };
    let question = Question { notebook, walk, still: 0.0, cost: 1.0 };
    let controls =
        |partners: &[u32]| ask_all((0..CONTROLS).map(|time| question.rises(&question.walks(&[0], partners, time))));
    let [own, undisturbed] = [controls(&[0]), controls(&[])];
    let (own, undisturbed) = (own?.concat(), undisturbed?.concat());
    let still = median(&undisturbed).unwrap_or(0.0);
    let varies = undisturbed.iter().fold(0.0, |most: f64, rise| most.max((rise - still).abs()));
    let cost = median(&own).unwrap_or(0.0) - still;
    if cost <= 0.0 || own.iter().any(|&rise| rise - still < (CLEAR * varies).max(DISPLACED.0 * cost)) {
        return Gap::unknown(format!(
            "an SM that walks over twice as many pages does not show that it displaces its own: visits take {cost:.1} cycles longer, \
             and vary by {varies:.1} anyway"
        ));
    }
    Ok(Question { still, cost, ..question })
}

/// Whether no SM shares the level with any other.
///
/// Each SM walks alone once, while all others displace, and once while it displaces itself. Where that would take too long, three SMs do, and
/// all of them walk in halves.
fn nobody_shares(question: &Question, sms: u32) -> Result<bool, Gap> {
    let beside_others = |sm: &u32| {
        let others: Vec<u32> = (0..sms).filter(|other| other != sm).collect();
        question.rises(&question.walks(&[*sm], &others, 0))
    };
    let nobody = |rises: Vec<Vec<f64>>, least: f64| rises.concat().iter().all(|&rise| rise < least);
    if !nobody(vec![beside_others(&0)?], DISPLACED_ALONE) {
        return Ok(false);
    }
    let all: Vec<u32> = (0..sms).collect();
    let is_quick = u64::from(question.walk.pages) * u64::from(sms).pow(2) <= ALONE;
    let alone = if is_quick { all.clone() } else { BTreeSet::from([0, sms / 2, sms - 1]).into_iter().collect() };
    if !nobody(ask_all(alone.iter().map(beside_others))?, DISPLACED_ALONE) {
        return Ok(false);
    }
    if !is_quick {
        let halves = halves(&all).map(|(walkers, partners)| question.rises(&question.walks(&walkers, &partners, 0)));
        if !nobody(ask_all(halves)?, DISPLACED.1) {
            return Ok(false);
        }
    }
    let own = ask_all(alone.iter().map(|&sm| question.displaced(&[sm], &[sm])))?;
    match alone.iter().zip(own).find(|(_, displaced)| displaced.is_empty()) {
        Some((sm, _)) => Gap::unknown(format!("SM {sm} does not even displace what it translated itself")),
        None => Ok(true),
    }
}

/// Halves of some SMs, so that any two of them are in different ones at some time: the numbers of their places differ in some bit.
fn halves(sms: &[u32]) -> impl Iterator<Item = (Vec<u32>, Vec<u32>)> {
    let bits = usize::BITS - (sms.len() - 1).leading_zeros();
    (0..bits).flat_map(move |bit| {
        let half = |wanted: usize| (0..sms.len()).filter(|at| at >> bit & 1 == wanted).map(|at| sms[at]).collect();
        let (clear, set): (Vec<u32>, Vec<u32>) = (half(0), half(1));
        [(set.clone(), clear.clone()), (clear, set)]
    })
}

/// The domains of a level, from 0.
///
/// # Errors
///
/// An unknown, if what is displaced does not show, or if groups overlap.
pub(in crate::probe) fn domains(notebook: &Notebook, number: usize) -> Result<Instances, Gap> {
    notebook.once(&notebook.memo.tlb_domains, number, || {
        let sms = notebook.facts().multiprocessors;
        let level = self::level(notebook, number)?;
        if sms < 2 {
            return Gap::unknown("there is one SM");
        }
        let before = number.checked_sub(1).map(|before| super::level(notebook, before)).transpose()?;
        let question = question(notebook, &level, before.as_ref())?;
        let groups = match nobody_shares(&question, sms)? {
            true => (0..sms).map(|sm| vec![sm]).collect(),
            false => {
                let groups = groups(&question, sms)?;
                confirm(&question, &groups)?;
                groups
            }
        };
        Ok(Instances::new(groups.iter().map(Vec::as_slice), sms).expect("each SM is put into one group"))
    })
}

/// The SMs by the domain that they share.
fn groups(question: &Question, sms: u32) -> Result<Vec<Vec<u32>>, Gap> {
    let mut groups: Vec<Vec<u32>> = vec![vec![0]];
    let all: Vec<u32> = (1..sms).collect();
    for chunk in all.chunks(CHUNK) {
        let first = first_of(&groups);
        // Those before it in the chunk walk, too: there is no answer yet that says whose group they are of.
        let walkers = |before: usize| [&first[..], &chunk[..before]].concat();
        let asked = (0..chunk.len()).map(|at| question.rises(&question.walks(&walkers(at), &chunk[at..=at], 0)));
        let mut unsure = Vec::new();
        for (at, rises) in ask_all(asked)?.into_iter().enumerate() {
            match joined(&groups, &walkers(at), &rises) {
                Some(Some(of)) => groups[of].push(chunk[at]),
                Some(None) => groups.push(vec![chunk[at]]),
                None => unsure.push(chunk[at]),
            }
        }
        // They are asked about beside one SM of each group.
        while !unsure.is_empty() {
            let first = first_of(&groups);
            let displaced = ask_all(unsure.iter().map(|&sm| question.displaced(&first, &[sm])))?;
            let mut apart = Vec::new();
            for (sm, displaced) in unsure.into_iter().zip(displaced) {
                match displaced[..] {
                    [] => apart.push(sm),
                    [of] => groups.iter_mut().filter(|group| group[0] == of).for_each(|group| group.push(sm)),
                    [one, other, ..] => {
                        return Gap::unknown(format!(
                            "SM {sm} displaces what SM {one} and SM {other} translated, which do not displace each other's"
                        ));
                    }
                }
            }
            groups.extend(apart.first().map(|&sm| vec![sm]));
            unsure = apart.split_off(apart.len().min(1));
        }
    }
    Ok(groups)
}

fn first_of(groups: &[Vec<u32>]) -> Vec<u32> {
    let mut first: Vec<u32> = groups.iter().map(|group| group[0]).collect();
    first.sort_unstable();
    first
}

/// The group of an SM that displaced walkers, by their rises as parts of the cost: `Some(None)`, if it is in none of these groups, and nothing
/// if that is not sure.
fn joined(groups: &[Vec<u32>], walkers: &[u32], rises: &[f64]) -> Option<Option<usize>> {
    let of = |sm: &u32| groups.iter().position(|group| group.contains(sm));
    // What is in no group yet may be of the same one as any other.
    let unsure = walkers.iter().zip(rises).any(|(sm, &rise)| of(sm).is_none() && rise >= LITTLE);
    let mut joined = None;
    for (number, _) in groups.iter().enumerate() {
        let rises = walkers.iter().zip(rises).filter(|(sm, _)| of(sm) == Some(number)).map(|(_, &rise)| rise);
        let rises: Vec<f64> = rises.collect();
        let most = rises.iter().copied().fold(0.0, f64::max);
        let little = most < LITTLE && rises.iter().sum::<f64>() < DISPLACED.1;
        let is_displaced = match rises.len() {
            0 | 1 => verdict(most),
            _ if most >= DISPLACED.0 => Some(true),
            _ => little.then_some(false),
        };
        if is_displaced? && joined.replace(number).is_some() {
            return None;
        }
    }
    (!unsure).then_some(joined)
}

/// Other members of the domains must say the same, and each of them displaces its own.
fn confirm(question: &Question, groups: &[Vec<u32>]) -> Result<(), Gap> {
    let mut last: Vec<u32> = groups.iter().map(|group| group[group.len() - 1]).collect();
    last.sort_unstable();
    let displaced = question.displaced(&last, &last)?;
    if let Some(sm) = last.iter().find(|sm| !displaced.contains(sm)) {
        return Gap::unknown(format!("SM {sm} does not even displace what it translated itself"));
    }
    // No two groups are one.
    let first = first_of(groups);
    let apart = halves(&first).map(|(walkers, partners)| question.displaced(&walkers, &partners));
    if let Some(sm) = ask_all(apart)?.concat().first() {
        return Gap::unknown(format!(
            "SM {sm} seemed to share the level with none of the groups found before, and does"
        ));
    }
    let several: Vec<&Vec<u32>> = groups.iter().filter(|group| group.len() > 1).collect();
    let displaced = ask_all(several.iter().map(|group| question.displaced(&last, &group[..1])))?;
    for (group, displaced) in several.into_iter().zip(displaced) {
        let own = group[group.len() - 1];
        if displaced != [own] {
            return Gap::unknown(format!(
                "SM {own} seems to share the level with SM {}, and other SMs of the same groups say something else",
                group[0]
            ));
        }
    }
    Ok(())
}

const METHOD: &str =
    "pages that an SM visits again after another SM has visited as many others: what a visit takes longer";

/// As the finding `sms_of_an_instance`.
///
/// # Errors
///
/// As [`domains`].
pub(super) fn sizes(notebook: &Notebook, number: usize) -> Result<Finding<Counts>, Gap> {
    let sizes = domains(notebook, number)?.sizes();
    let level = level(notebook, number)?;
    let reach = level.distance * level.entries;
    let finding = Finding::measured(sizes, METHOD).unit("SMs");
    Ok(match finding.value.as_ref().is_some_and(|Counts(sizes)| sizes.iter().all(|&size| size == 1)) {
        true => finding,
        false => finding.note(format!("one instance covers {reach} for all its SMs together")),
    })
}

/// As the finding `instance_of_sms`.
///
/// # Errors
///
/// As [`sizes`].
pub(super) fn of_sms(notebook: &Notebook, number: usize) -> Result<Finding<Counts>, Gap> {
    Ok(Finding::measured(domains(notebook, number)?.of_sms(), METHOD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sm_joins_the_group_whose_walkers_it_displaces() {
        let groups = [vec![0, 1], vec![2, 3], vec![4]];
        assert_eq!(joined(&groups, &[0, 2, 4], &[0.01, 0.9, -0.02]), Some(Some(1)));
        assert_eq!(joined(&groups, &[0, 2, 4], &[0.01, 0.05, -0.02]), Some(None));
        // In between, or two groups.
        assert_eq!(joined(&groups, &[0, 2, 4], &[0.01, 0.4, 0.0]), None);
        assert_eq!(joined(&groups, &[0, 2, 4], &[0.8, 0.9, 0.0]), None);
    }

    #[test]
    fn any_two_sms_are_in_different_halves_at_some_time() {
        let sms = [2, 3, 5, 7, 11];
        let halves: Vec<(Vec<u32>, Vec<u32>)> = halves(&sms).collect();
        for walker in sms {
            for partner in sms.into_iter().filter(|partner| *partner != walker) {
                assert!(halves.iter().any(|(walk, displace)| walk.contains(&walker) && displace.contains(&partner)));
            }
        }
        assert!(halves.iter().all(|(walk, displace)| walk.len() + displace.len() == 5));
        assert_eq!(super::halves(&[4]).count(), 0);
    }

    #[test]
    fn walkers_of_one_group_share_what_they_bring_back() {
        let groups = [vec![0, 1], vec![2, 3], vec![4]];
        // One of the two has taken nearly all of the misses, or both have taken some.
        assert_eq!(joined(&groups, &[0, 2, 3], &[0.0, 0.9, 0.2]), Some(Some(1)));
        assert_eq!(joined(&groups, &[0, 2, 3], &[0.0, 0.25, 0.25]), None);
        assert_eq!(joined(&groups, &[0, 2, 3], &[0.0, 0.05, 0.02]), Some(None));
        // SM 7 is in no group yet.
        assert_eq!(joined(&groups, &[0, 2, 7], &[0.0, 0.9, 0.5]), None);
        assert_eq!(joined(&groups, &[0, 2, 7], &[0.0, 0.9, 0.05]), Some(Some(1)));
    }
}
