//! The slices of the L2: how many there are, and which bits of an address choose one.
//!
//! All SMs but one load one line over and over, and the last one times loads of other lines ([`Contention`]). A load of a line of the same
//! slice waits for theirs. So lines fall into groups, each of which contends with none of the others: the slices. Each line of a page is tried
//! against one line of each group until its own is found. Then another line of each group, loaded while another SM times, must show the same
//! group, and none of the others.
//!
//! Assumes that a slice cannot serve so many loads without a queue, and that everything else on the way can. Fails where no load waits (the
//! memory of a slice is as fast as the way to it), and where all wait: then they share something else.
//!
//! A parity of address bits that is the same for all lines of a slice is part of the hash. As many slices as such parities tell apart must
//! have been found, and in the next page, which no parity comes from, the lines that contend must be those that they predict.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{Binomial, DiscreteCDF};

use super::{Gap, Measurement, Notebook, Settle, l2};
use crate::analysis::overflow::{Index, parities, separating_parities};
use crate::analysis::robust;
use strata_model::attribute::IndexFunction;
use strata_model::experiment::{CHAINS, Contention, LARGE_PAGE, MOST_LOADED, PLACE, WARP};
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// Random lines of a page that are grouped.
const LINES: usize = 768;
/// Lines for each slice at least, in the mean. That one of 64 slices has none then has a chance of one in two thousand, or of one in eight hundred where a
/// tenth of the lines is left out.
const LINES_A_SLICE: usize = 12;
/// As many of them as are grouped first: enough for few slices.
const FEWER: usize = 192;
/// Most slices of which [`LINES`] tell.
const MOST: usize = LINES / LINES_A_SLICE;
/// Lines that the other SMs have under way together: about three times as many as a slice of an H200 serves in the time of a load.
const UNDER_WAY: u32 = 1024;
/// Places of a list that are the contended line itself: half of them before all others and half behind, so that a queue that ends while they are
/// timed is seen.
const OWN: usize = 4;
/// Part of a group's lines that must be confirmed.
const MOSTLY: f64 = 0.5;
/// Lines that are tried against all lines without a group at a time.
const TRIED: usize = 8;
/// Lines with which it is tried whether loads wait at all.
const FIRST: usize = 16;
/// Loads of each place. What delays a load only ever adds to it, so the fastest counts; the first may come from memory.
const PASSES: u32 = 2;
/// A load of the contended line itself takes longer by at least this part of what it takes while nobody else loads.
const SEEN: f64 = 0.25;
/// A load of a line of the same slice is later by at least this part of what one of the contended line itself is.
const SAME: f64 = 0.5;
/// A load of a line of another slice is later by at most this part.
const OTHER: f64 = 0.25;
/// Share of loads that may be neither, and of lines that may not be confirmed.
const FEW: f64 = 0.01;
/// A group is too small for a slice if a hash that gives all slices the same number of lines leaves any of them with so few by a smaller chance than this.
/// Its lines are of another slice, whose queue they should have waited in.
const RARE: f64 = 1e-3;
/// Share of the lines that must stay in the L2 from one pass to the next.
const KEPT: f64 = 0.9;
/// Lines whose neighbours at distances of one address bit are asked for.
const ASKED: usize = 8;
/// Lines of the next page that the parities must predict.
const FRESH: usize = 128;
/// How slices are found.
const METHOD: &str = "loads of random lines of a page of 2 MiB by one SM, while all others load one of them";

/// What is known of the slices.
#[derive(Clone, Debug)]
pub(super) struct Slices {
    /// The places of each slice, in the page.
    groups: Vec<Vec<u32>>,
    /// Address bits within a page by which alone a line's slice does not change, in any line asked for.
    kept: u64,
    /// SMs that load.
    others: usize,
    /// Least by which a load is later that waits, and most by which one is that does not, in cycles.
    later: (f64, f64),
    /// Loads of the check, and how many of them confirm the groups.
    confirmed: (usize, usize),
}

/// How late the loads of places were, in cycles.
struct Late {
    /// Of each place; not a number where the L2 has not kept it.
    of: Vec<f64>,
    /// Of the contended line.
    own: f64,
}

impl Late {
    /// Whether a place is in the slice of the contended line; nothing, where that is not clear.
    fn is_in(&self, number: usize) -> Option<bool> {
        let late = self.of[number];
        match late {
            _ if late >= SAME * self.own => Some(true),
            _ if late <= OTHER * self.own => Some(false),
            _ => None,
        }
    }
}

/// The fastest load of each place.
fn fastest(measurement: &Measurement<Contention>) -> Vec<f64> {
    let places = measurement.experiment.places.len();
    let mut fastest = vec![f64::MAX; places];
    for (number, &cycles) in measurement.latencies().iter().enumerate() {
        fastest[number % places] = fastest[number % places].min(cycles.into());
    }
    fastest
}

/// How lines contend.
#[derive(Clone, Copy)]
struct Bench<'n> {
    notebook: &'n Notebook,
    sms: u32,
    /// What others load: a line, as far as a warp can load one. What is behind it may be in another slice.
    line: Bytes,
    /// Loads that take longer are answered by memory; infinite, where hits and misses do not separate, as with far hits between them.
    threshold: f64,
}

impl<'n> Bench<'n> {
    /// Where the line of the L2 is unknown, others load the least that may be one.
    fn of(notebook: &'n Notebook, sms: u32) -> Result<Self, Gap> {
        let line = l2::line_size(notebook).settled()?.unwrap_or(PLACE);
        if line < PLACE {
            return Gap::unknown(format!(
                "a place of {PLACE} has several lines of {line}, which may be in several slices"
            ));
        }
        let threshold = l2::levels(notebook).settled()?.map_or(f64::INFINITY, |levels| levels.threshold.into());
        Ok(Bench { notebook, sms, line: line.min(MOST_LOADED), threshold })
    }

    /// Random places of a page, each the beginning of a line, in random order. Those that the L2 does not keep until the next pass are left
    /// out: SMs that load them contend for memory.
    fn draw(&self, page: u32, lines: usize, purpose: u64) -> Result<Vec<u32>, Gap> {
        let each = (self.line / PLACE) as u32;
        let mut all: Vec<u32> = (0..PAGE / each).map(|line| page * PAGE + line * each).collect();
        all.shuffle(&mut ChaCha8Rng::seed_from_u64(self.notebook.seed(purpose)));
        all.truncate(lines);
        let quiet = fastest(&self.notebook.read(&[self.quiet(0, &all)])?[0]);
        let kept: Vec<u32> =
            all.iter().zip(quiet).filter(|(_, cycles)| *cycles <= self.threshold).map(|(place, _)| *place).collect();
        if (kept.len() as f64) < KEPT * lines as f64 {
            return Gap::unknown(format!(
                "{} of {lines} lines do not stay in the L2 from one pass to the next",
                lines - kept.len()
            ));
        }
        Ok(kept)
    }

    /// The experiment in which one SM times these places while nobody else loads.
    fn quiet(&self, sm: u32, places: &[u32]) -> Contention {
        Contention { warps: 0, contended: 0, passes: PASSES + 1, ..self.contention(sm, 0, places) }
    }

    /// The experiment in which all SMs but one load the line of a place, and that one times these places.
    fn contention(&self, sm: u32, contended: u32, places: &[u32]) -> Contention {
        let most = (self.notebook.facts().max_threads_per_block / WARP as u32).clamp(1, MOST_WARPS);
        let warps = UNDER_WAY.div_ceil(CHAINS * (self.sms - 1)).min(most);
        Contention { sm, warps, contended, loaded: self.line, places: places.to_vec(), passes: PASSES, repeat: 0 }
    }

    /// How late loads of places are while others load a line: for each line the places. It is compared with what a load of the place takes while
    /// nobody else loads. The line itself is loaded several times, so that no rare delay passes for its queue.
    fn late(&self, sm: u32, asked: &[(u32, Vec<u32>)]) -> Result<Vec<Late>, Gap> {
        let mut all: Vec<u32> =
            asked.iter().flat_map(|(line, places)| [line].into_iter().chain(places)).copied().collect();
        all.sort_unstable();
        all.dedup();
        let quiet = self.quiet(sm, &all);
        let with_own = |line: u32, places: &[u32]| [&[line; OWN / 2], places, &[line; OWN / 2]].concat();
        let loaded = asked.iter().map(|(line, places)| self.contention(sm, *line, &with_own(*line, places)));
        let experiments: Vec<Contention> = std::iter::once(quiet).chain(loaded).collect();
        let measurements = self.notebook.read(&experiments)?;
        let base = measurements[0].samples().base;
        if measurements.iter().any(|measurement| measurement.samples().base != base) {
            return Gap::unknown("the memory that the lines are in was moved during the run");
        }
        let quiet = fastest(&measurements[0]);
        let usual = robust::median(&quiet).unwrap_or_default();
        let of = |((line, places), measurement): (&(u32, Vec<u32>), &Measurement<Contention>)| {
            let loaded = fastest(measurement);
            let quiet = |place: &u32| all.binary_search(place).map_or(usual, |number| quiet[number]);
            let late = |(place, loaded): (&u32, f64)| {
                if quiet(place) <= self.threshold { loaded - quiet(place) } else { f64::NAN }
            };
            let (before, rest) = loaded.split_at(OWN / 2);
            let (of, behind) = rest.split_at(places.len());
            let own = before.iter().chain(behind).map(|own| late((line, *own))).fold(f64::NAN, f64::min);
            let of: Vec<f64> = places.iter().zip(of).map(|(place, loaded)| late((place, *loaded))).collect();
            if own.is_nan() {
                return Gap::unknown("a line did not stay in the L2 while nobody else loaded any");
            }
            if own < SEEN * usual {
                return Gap::unknown(format!(
                    "a load of a line takes {usual:.0} cycles while nobody else loads, and {:.0} more while {} SMs load the same line: no \
                     queue shows what serves it",
                    own.max(0.0),
                    self.sms - 1
                ));
            }
            Ok(Late { of, own })
        };
        asked.iter().zip(&measurements[1..]).map(of).collect()
    }
}

/// Most warps of an SM that load.
const MOST_WARPS: u32 = 32;

/// Places of a page.
const PAGE: u32 = (LARGE_PAGE.0 / PLACE.0) as u32;

/// The address of a place, within its page.
fn in_page(place: u32) -> u64 {
    u64::from(place % PAGE) * PLACE.0
}

/// The slices.
///
/// # Errors
///
/// An unknown where no load waits for those of others, where all do, or where the groups of lines contradict each other.
pub(super) fn slices(notebook: &Notebook) -> Result<Slices, Gap> {
    notebook.once(&notebook.memo.slices, (), || {
        let sms = notebook.facts().multiprocessors;
        if sms < 2 {
            return Gap::unknown("one SM alone cannot keep the loads of another waiting");
        }
        let bench = Bench::of(notebook, sms)?;
        let lines = bench.draw(0, LINES, 41)?;
        // Where no load waits, or all do, that is soon known.
        let all_wait = || {
            Gap::unknown(format!(
                "loads of all lines take longer while {} SMs load one of them: whether they share a slice or the way to it does not show",
                sms - 1
            ))
        };
        let first = &bench.late(0, &[(lines[0], lines[..FIRST].to_vec())])?[0];
        if (0..FIRST).all(|number| first.is_in(number) != Some(false)) {
            return all_wait();
        }
        let mut sorting = Sorting::new(&bench);
        let (fewer, more) = lines.split_at(FEWER);
        sorting.sort(fewer)?;
        if sorting.groups.len() * LINES_A_SLICE > FEWER {
            sorting.sort(more)?;
        }
        let Sorting { mut groups, unclear, waits, waits_not, loads: tried, .. } = sorting;
        if unclear as f64 > FEW * tried as f64 {
            return Gap::unknown(format!("{unclear} of {tried} loads wait for those of others neither clearly nor clearly not"));
        }
        if groups.len() < 2 {
            return all_wait();
        }
        if let Some(few) = too_few(&groups) {
            return Gap::unknown(few);
        }
        let (confirmed, kept) = confirm(&bench, &mut groups)?;
        if confirmed.1 as f64 > (1.0 - FEW) * confirmed.0 as f64 {
            let others = sms as usize - 1;
            return Ok(Slices { groups, kept, others, later: (waits, waits_not), confirmed });
        }
        Gap::unknown(format!(
            "another line of each of {} groups, and another SM, confirm {} of {} loads",
            groups.len(),
            confirmed.1,
            confirmed.0
        ))
    })
}

/// Lines on their way into groups.
struct Sorting<'b> {
    bench: &'b Bench<'b>,
    groups: Vec<Vec<u32>>,
    /// Loads that were compared, and those of them that waited neither clearly nor clearly not.
    loads: usize,
    unclear: usize,
    /// Least by which a load was later that waited, and most by which one was that did not.
    waits: f64,
    waits_not: f64,
}

impl<'b> Sorting<'b> {
    fn new(bench: &'b Bench<'b>) -> Self {
        Sorting { bench, groups: Vec::new(), loads: 0, unclear: 0, waits: f64::MAX, waits_not: 0.0 }
    }

    /// Gives each of these lines its group: one that there is, or a new one.
    fn sort(&mut self, lines: &[u32]) -> Result<(), Gap> {
        let mut open = lines.to_vec();
        let known: Vec<u32> = self.groups.iter().map(|group| group[0]).collect();
        for (round, tried) in known.chunks(TRIED).enumerate() {
            let asked: Vec<(u32, Vec<u32>)> = tried.iter().map(|line| (*line, open.clone())).collect();
            for (number, (late, (_, places))) in (round * TRIED..).zip(self.bench.late(0, &asked)?.iter().zip(&asked)) {
                let found = taken(&mut open, &self.waiting(late, places));
                self.groups[number].extend(found);
            }
        }
        while !open.is_empty() {
            let asked: Vec<(u32, Vec<u32>)> = open.iter().take(TRIED).map(|line| (*line, open.clone())).collect();
            for (late, (line, places)) in self.bench.late(0, &asked)?.iter().zip(&asked) {
                // Another line of this round may have shown its group.
                if open.contains(line) {
                    let mut found = self.waiting(late, places);
                    found.push(*line);
                    let found = taken(&mut open, &found);
                    self.groups.push(found);
                }
            }
            if self.groups.len() > MOST {
                return Gap::unknown(format!(
                    "{} groups of lines contend with none of the others, and {} of {} lines have no group yet: there may be more slices than \
                     {LINES} lines tell",
                    self.groups.len(),
                    open.len(),
                    lines.len()
                ));
            }
        }
        Ok(())
    }

    /// The places that wait for the contended line.
    fn waiting(&mut self, late: &Late, places: &[u32]) -> Vec<u32> {
        self.loads += places.len();
        let mut found = Vec::new();
        for (number, place) in places.iter().enumerate() {
            match late.is_in(number) {
                Some(true) => {
                    self.waits = self.waits.min(late.of[number]);
                    found.push(*place);
                }
                Some(false) => self.waits_not = self.waits_not.max(late.of[number]),
                None => self.unclear += 1,
            }
        }
        found
    }
}

/// Those of the places that have no group yet, which then have one.
fn taken(open: &mut Vec<u32>, places: &[u32]) -> Vec<u32> {
    open.extract_if(.., |place| places.contains(place)).collect()
}

/// Why the smallest of the groups is no slice, if it has too few lines for one.
fn too_few(groups: &[Vec<u32>]) -> Option<String> {
    let (of, lines) = (groups.len(), groups.iter().map(Vec::len).sum::<usize>());
    let fewest = groups.iter().map(Vec::len).min()?;
    let chance = Binomial::new(1.0 / of as f64, lines as u64).map_or(1.0, |lines| lines.cdf(fewest as u64));
    (chance * (of as f64) < RARE).then(|| {
        format!(
            "of {of} groups of {lines} lines that contend with none of the others, one has {fewest}, too few for a slice: a load that should have \
             waited did not"
        )
    })
}

/// Loads of a check and how many of them confirm the groups: another line of each group is loaded, and another SM times the group and a line of
/// each of the others. Lines that are not confirmed leave their group. And the address bits by which alone the slice of a line does not change.
fn confirm(bench: &Bench<'_>, groups: &mut [Vec<u32>]) -> Result<((usize, usize), u64), Gap> {
    let sm = bench.sms / 2;
    let last = |group: &Vec<u32>| group[group.len() - 1];
    let mut asked: Vec<(u32, Vec<u32>)> = groups
        .iter()
        .enumerate()
        .map(|(number, group)| {
            let others = groups.iter().enumerate().filter(|(other, _)| *other != number);
            (last(group), group.iter().copied().chain(others.map(|(_, other)| other[0])).collect())
        })
        .collect();
    // The neighbours of a few lines at distances of one bit.
    let bits = PLACE.0.ilog2()..LARGE_PAGE.0.ilog2();
    let beside = |line: u32| bits.clone().map(move |bit| line ^ (1 << (bit - PLACE.0.ilog2())));
    // Of as many slices as there are.
    let longest = groups.iter().map(Vec::len).max().unwrap_or_default();
    let in_turn = (0..longest).flat_map(|number| groups.iter().filter_map(move |group| group.get(number)));
    asked.extend(in_turn.take(ASKED).map(|line| (*line, beside(*line).collect())));
    let late = bench.late(sm, &asked)?;
    let (own, neighbours) = late.split_at(groups.len());
    let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
    // Behind its own lines, each has those of the others in their order. Groups are two slices only if one of them clearly does not keep the
    // other waiting.
    let apart = |one: usize, other: usize| own[one].is_in(sizes[one] + other - usize::from(other > one)) == Some(false);
    let pairs = || (0..sizes.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
    if let Some((one, other)) = pairs().find(|&(one, other)| !apart(one, other) && !apart(other, one)) {
        return Gap::unknown(format!(
            "lines of groups {other} and {one} of {} may contend with each other: a load that should have waited did not",
            sizes.len()
        ));
    }
    let (mut loads, mut right) = (0, 0);
    for (late, group) in own.iter().zip(&mut *groups) {
        loads += late.of.len();
        let is_right = |number: usize| late.is_in(number) == Some(number < group.len());
        let confirmed: Vec<bool> = (0..late.of.len()).map(is_right).collect();
        right += confirmed.iter().filter(|is_right| **is_right).count();
        let of = group.len();
        let mut confirmed = confirmed.into_iter();
        group.retain(|_| confirmed.next() == Some(true));
        if (group.len() as f64) < MOSTLY * of as f64 {
            return Gap::unknown(format!(
                "another line of a group of {of} lines, and another SM, confirm {} of them",
                group.len()
            ));
        }
    }
    let is_kept = |number: usize| {
        let mut found = neighbours.iter().filter_map(|late| late.is_in(number)).peekable();
        found.peek().is_some() && found.all(|is_in| is_in)
    };
    let kept = bits.clone().zip(0..).filter(|(_, number)| is_kept(*number)).fold(0, |kept, (bit, _)| kept | 1 << bit);
    Ok(((loads, right), kept))
}

impl Slices {
    /// Memory goes to the slices in pieces of this size.
    fn piece(&self) -> Bytes {
        Bytes(PLACE.0 << (self.kept >> PLACE.0.ilog2()).trailing_ones())
    }

    /// As the finding `slices`.
    pub fn count(&self) -> Finding<u64> {
        let count = self.groups.len();
        let sizes = self.groups.iter().map(Vec::len);
        let (fewest, most) = (sizes.clone().min().unwrap_or_default(), sizes.max().unwrap_or_default());
        Finding::measured(count as u64, METHOD).range(count as f64, count as f64).note(format!(
            "lines go to them in pieces of {}; while {} SMs load a line, loads of the lines of its slice take at least {:.0} cycles longer, those of \
             others at most {:.0}; a slice has {fewest} to {most} of the lines; another line of each slice and another SM confirm {} of {} loads; \
             where each partition keeps copies of lines, these are the slices of one partition",
            self.piece(),
            self.others,
            self.later.0,
            self.later.1.max(0.0),
            self.confirmed.1,
            self.confirmed.0
        ))
    }
}

/// The hash as the finding `slice_hash`.
///
/// # Errors
///
/// As for the slices; and an unknown, where no parities of address bits tell them apart.
pub(super) fn hash(notebook: &Notebook) -> Result<Finding<IndexFunction>, Gap> {
    let slices = slices(notebook)?;
    let count = slices.groups.len();
    let addresses = |group: &Vec<u32>| group.iter().map(|place| in_page(*place)).collect();
    let masks = separating_parities(&slices.groups.iter().map(addresses).collect::<Vec<Vec<u64>>>());
    if 1usize.checked_shl(masks.len() as u32) != Some(count) {
        let why = if count.is_power_of_two() {
            "a line whose slice was misjudged would hide them, too"
        } else {
            "parities tell a power of two apart"
        };
        return Gap::unknown(format!(
            "no parities of the address bits below {LARGE_PAGE} tell the {count} slices apart: {why}. Lines go to the slices in pieces of {}",
            slices.piece()
        ));
    }
    let bench = Bench::of(notebook, notebook.facts().multiprocessors)?;
    let fresh = bench.draw(1, FRESH, 42)?;
    let asked: Vec<(u32, Vec<u32>)> = fresh.iter().take(ASKED).map(|line| (*line, fresh.clone())).collect();
    let slice = |place: u32| parities(&masks, in_page(place));
    // Only where a load waits or was to wait something is said: most lines are of other slices.
    let (mut said, mut right) = (0, 0);
    for (late, (line, places)) in bench.late(0, &asked)?.iter().zip(&asked) {
        for (number, place) in places.iter().enumerate() {
            let predicted = slice(*place) == slice(*line);
            let found = late.is_in(number);
            said += usize::from(predicted || found != Some(false));
            right += usize::from(predicted && found == Some(true));
        }
    }
    if (right as f64) < (1.0 - FEW) * said as f64 {
        return Gap::unknown(format!(
            "the parities that were found predict {right} of {said} loads of another page that wait or should wait"
        ));
    }
    Ok(Finding::measured((&Index::of_masks(masks)).into(), METHOD).note(format!(
        "lines go to the slices in pieces of {}; this is of the address bits below {LARGE_PAGE}, all others add the same to the lines of a page; in a \
         page that was not used for it, {right} of {said} loads that wait or should wait are predicted",
        slices.piece()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_few_lines_is_no_slice() {
        let of = |sizes: &[usize]| sizes.iter().map(|size| vec![0; *size]).collect::<Vec<_>>();
        assert_eq!(too_few(&of(&[21, 28, 25, 22, 26, 29, 16, 24])), None);
        assert!(
            too_few(&of(&[21, 28, 25, 22, 26, 29, 16, 24, 1]))
                .is_some_and(|why| why.contains("of 9 groups of 192 lines"))
        );
        assert!(too_few(&of(&[&[16; 47][..], &[1]].concat())).is_some());
        // The 47 slices of an H200 have 10 to 26 of 768 lines.
        assert_eq!(too_few(&of(&[&[10][..], &[16; 45], &[26]].concat())), None);
        assert_eq!(too_few(&of(&[16])), None);
    }
}
