//! The structure of a cache: its sets, their ways, and the set of each address.
//!
//! Footprints grow line by line beyond the usable capacity, each walked in several laps; which lines begin to miss together
//! is one set ([`crate::analysis::overflow`]). Who gives way is [`super::replacement`].
//!
//! Fails where loads are slow at random (a single line cannot be told), and where lines that were hit never give way: both
//! are said.

use std::collections::BTreeSet;

use super::capacity::{Capacity, Search};
use super::{Gap, Measurement, Notebook};
use crate::analysis::overflow::{Footprint, Index, Sets, Unclear};
use crate::analysis::turns::Turns;
use strata_model::attribute::{IndexFunction, Mask, Ways};
use strata_model::experiment::{Chase, Place, Timing};
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// Most footprints beyond the capacity: enough for 128 sets and as many lines as unequal ones differ by.
const MOST_STEPS: u64 = 136;
/// Footprints of which the first show whether sets show at all: with a hashed index lines recover within a few.
const FIRST_STEPS: u64 = 8;
/// Loads that revealing the sets of one cache may time by effort, so that a large cache with many sets is not walked for
/// minutes and a recording stays small: the second is enough for 64 sets of 6 ways (Fermi's L1 of 48 KiB) in [`MORE_LAPS`].
const MOST_LOADS: (u64, u64, u64) = (250_000, 1_000_000, 4_000_000);
/// Fewer footprints than this in [`MORE_LAPS`] are not worth the time: the laps that there are must do.
const FEWEST_STEPS: u64 = 32;
/// Laps watched of each footprint: policies that draw or take turns do not miss on every line in each.
const LAPS: u32 = 3;
/// Laps watched where those differ.
const MORE_LAPS: u32 = 36;
/// Lines beyond the capacity of which all laps are watched where sets do not show: several blocks of any size known.
const EXCESS: u64 = 16;
/// Laps before the first that is watched.
const WARM_LAPS: u32 = 2;
/// What was revealed.
#[derive(Clone, Debug)]
pub struct Structure {
    pub(super) sets: Sets,
    pub(super) index: Option<Index>,
    /// Address of the first line.
    pub(super) base: u64,
    pub(super) line: Bytes,
    /// Largest footprint walked.
    pub(super) footprint: Bytes,
}

/// Footprints of about so many lines that may be walked in so many laps.
fn affordable(notebook: &Notebook, lines: u64, laps: u32) -> u64 {
    let (quick, standard, thorough) = MOST_LOADS;
    notebook.effort().choose(quick, standard, thorough) / (lines.max(1) * u64::from(laps))
}

/// A walk over so many lines, of which so many laps are watched.
fn watch(search: &Search, line: Bytes, lines: u64, warm_laps: u32, laps: u32) -> Chase {
    Chase {
        warm_laps,
        timing: Timing::resident(laps * lines as u32),
        place: Place::carveout(search.carveout),
        ..Chase::each_load(search.path, line * lines, line)
    }
}

/// The lines of each footprint from the capacity on that missed in some of `laps`, where they began, and whether the laps
/// differ.
fn overflow(
    notebook: &Notebook,
    search: &Search,
    capacity: &Capacity,
    line: Bytes,
    laps: u32,
    most: u64,
) -> Result<(Vec<Footprint>, u64, bool), Gap> {
    let fits = capacity.by_allocation.first().copied().unwrap_or(capacity.usable) / line;
    let thrash = capacity.stairs.thrash().map_or(fits + MOST_STEPS, |from| from / line);
    let affordable = affordable(notebook, fits, laps);
    let steps =
        (thrash.saturating_sub(fits) + 1).min(most).min(affordable).min((search.limit / line).saturating_sub(fits));
    // A few laps in a row by an experiment each; many by one. Of a footprint beyond the window that holds the times a lap is put
    // together from windows of several laps, with laps between them that are not watched.
    let each = if laps > LAPS { 1 } else { laps };
    let watched = |lines: u64| (0..each).map(move |lap| watch(search, line, lines, WARM_LAPS + lap, laps / each));
    let wanted: Vec<Chase> = (fits..=fits + steps).flat_map(watched).collect();
    let measurements = notebook.read(&wanted)?;
    let base = measurements[0].samples().base;
    if measurements.iter().any(|s| s.samples().base != base) {
        return Gap::unknown("footprints began at different addresses, so their lines cannot be compared");
    }
    let mut varies = false;
    let footprints = measurements
        .chunks(each as usize)
        .map(|measurements| {
            let lines = measurements[0].experiment.lap() as usize;
            let each: Vec<BTreeSet<usize>> =
                measurements.iter().flat_map(|measurement| missed(capacity, measurement)).collect();
            varies |= each.iter().any(|lap| *lap != each[0]);
            Footprint { lines, missed: each.into_iter().flatten().collect() }
        })
        .collect();
    Ok((footprints, base, varies))
}

/// The lines that missed in each lap.
fn missed(capacity: &Capacity, measurement: &Measurement<Chase>) -> Vec<BTreeSet<usize>> {
    let of_lap = |lap: &[u32]| -> BTreeSet<usize> {
        lap.iter().enumerate().filter(|&(_, &l)| capacity.levels.is_miss(l)).map(|(i, _)| i).collect()
    };
    measurement.latencies().chunks_exact(measurement.experiment.lap() as usize).map(of_lap).collect()
}

/// What gives way beyond the capacity where no fixed sets show, in words.
fn turns(notebook: &Notebook, search: &Search, capacity: &Capacity, line: Bytes, fits: u64) -> Result<String, Gap> {
    let lines = fits + EXCESS;
    let laps = affordable(notebook, lines, 1).min(u64::from(MORE_LAPS)) as u32;
    let measurements = notebook.read(&[watch(search, line, lines, WARM_LAPS, laps)])?;
    let found = Turns::of(&missed(capacity, &measurements[0]), lines as usize, measurements[0].samples().base / line.0);
    Ok(found.map_or(String::new(), |turns| format!("; of {lines} lines, {turns}")))
}

/// The sets of a cache.
///
/// # Errors
///
/// An unknown, if the lines that miss beyond the capacity do not show them.
pub fn structure(notebook: &Notebook, search: &Search, capacity: &Capacity) -> Result<Structure, Gap> {
    notebook.once(&notebook.memo.structure, *search, || {
        let line = capacity.line.clone()?;
        let (mut footprints, mut base, mut varies) = overflow(notebook, search, capacity, line, LAPS, FIRST_STEPS)?;
        if !varies && Sets::reveal(&footprints).is_ok() {
            (footprints, base, varies) = overflow(notebook, search, capacity, line, LAPS, MOST_STEPS)?;
        }
        let mut laps = LAPS;
        if varies && affordable(notebook, footprints[0].lines as u64, MORE_LAPS) >= FEWEST_STEPS {
            laps = MORE_LAPS;
            (footprints, base, _) = overflow(notebook, search, capacity, line, MORE_LAPS, MOST_STEPS)?;
        }
        let fits = footprints[0].lines;
        let sets = match Sets::reveal(&footprints) {
            Ok(sets) => sets,
            Err(unclear) => {
                let more = match unclear {
                    Unclear::Recovers { .. } => turns(notebook, search, capacity, line, fits as u64)?,
                    _ => String::new(),
                };
                return Gap::unknown(why_unclear(&unclear, fits) + &more);
            }
        };
        let index = sets.index(base, line.0);
        if varies && index.is_none() {
            return Gap::unknown(format!(
                "victims change from lap to lap, and the lines that missed in {laps} laps follow no index function: \
                 they may be only part of a set"
            ));
        }
        let footprint = line * footprints.last().map_or(0, |f| f.lines as u64);
        Ok(Structure { sets, index, base, line, footprint })
    })
}

/// Why there are no sets, in words, if `fits` lines fit.
pub fn why_unclear(unclear: &Unclear, fits: usize) -> String {
    match unclear {
        Unclear::Unsteady => format!(
            "lines miss although all {fits} fit: single loads are slow at random, so they cannot be distinguished from misses"
        ),
        Unclear::Recovers { lines, hit } => format!(
            "at {lines} lines, {hit} lines hit that missed at a smaller footprint: an extra line does not make the \
             lines of one fixed set miss, so the sets cannot be identified"
        ),
        Unclear::Alone { lines } => format!(
            "at {lines} lines, a single line that hit before starts to miss, which no extra line in a set explains"
        ),
        Unclear::Single => {
            "a single line starts to miss by itself where others do in groups: single loads are slow at \
            random, so the sets cannot be identified"
                .to_owned()
        }
        Unclear::OnlyNew => format!(
            "beyond {fits} lines only the new lines miss: lines that were hit are not replaced, so the sets cannot be \
             identified"
        ),
    }
}

/// As the finding `sets`, up to a footprint.
pub fn sets_finding(sets: &Sets, footprint: Bytes, method: &str) -> Finding<u64> {
    let seen = sets.members.len();
    if sets.complete {
        return Finding::measured(seen as u64, method).unit("sets").range(seen as f64, seen as f64);
    }
    Finding::unknown(format!(
        "at least {seen}: these overflow up to a footprint of {footprint}, and lines of other sets still hit there"
    ))
    .unit("sets")
    .at_least(seen as f64)
}

/// As the finding `ways`: a number, or a list where sets differ.
pub fn ways_finding(sets: &Sets, method: &str) -> Finding<Ways> {
    let mut ways = sets.ways();
    ways.sort_unstable_by(|a, b| b.cmp(a));
    let (most, least) = (ways[0], ways[ways.len() - 1]);
    let seen = if sets.complete { "all sets".to_owned() } else { format!("the {} sets seen", ways.len()) };
    // Where not all were seen, what nearly all of them have; a set may have been taken for two by a line that missed late. A set that
    // was not seen may hold more than any of these.
    let middle = ways[ways.len() / 2];
    let others = ways.iter().filter(|&&w| w != middle).count();
    if !sets.complete && others > 0 && others * RARE <= ways.len() {
        return Finding::measured(Ways::Equal(middle as u64), method)
            .unit("lines")
            .at_least(least as f64)
            .note(format!("of {seen}; {others} of them seem to differ, from {least} to {most}"));
    }
    if !sets.complete && most > least {
        return Finding::unknown(format!(
            "sets differ, and not all were seen: {} have {} lines",
            ways.len(),
            ways.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
        ))
        .unit("lines")
        .at_least(least as f64);
    }
    let each = || Ways::Each(ways.iter().map(|&ways| ways as u64).collect());
    let value = if most == least { Ways::Equal(most as u64) } else { each() };
    let finding = Finding::measured(value, method).unit("lines").at_least(least as f64).note(format!("of {seen}"));
    // A set that was not seen is one that holds more.
    if sets.complete { finding.at_most(most as f64) } else { finding }
}

/// Of so many sets one may seem to differ from the others.
const RARE: usize = 20;

const METHOD: &str = "lines that start to miss together while the footprint grows line by line";

impl From<&Index> for IndexFunction {
    fn from(index: &Index) -> Self {
        match index {
            Index::Bits(bits) => IndexFunction::Bits { bits: bits.clone() },
            Index::Parity(masks) => IndexFunction::Parity { masks: masks.iter().map(|mask| Mask(*mask)).collect() },
            Index::Modulo(sets) => IndexFunction::Modulo { sets: *sets },
        }
    }
}

impl Structure {
    /// As the finding `sets`.
    pub fn sets(&self) -> Finding<u64> {
        sets_finding(&self.sets, self.footprint, METHOD)
    }

    /// As the finding `ways`: a number, or a list where sets differ.
    pub fn ways(&self) -> Finding<Ways> {
        ways_finding(&self.sets, METHOD)
    }

    /// As the finding `index`.
    pub fn index(&self) -> Finding<IndexFunction> {
        match &self.index {
            Some(index) => {
                let note = match index {
                    Index::Bits(_) => format!(
                        "address bits that all lines of a set share, among the bits that vary within {}",
                        self.footprint
                    ),
                    Index::Parity(_) => {
                        "the parity of the address under each mask is a bit of the set's number".to_owned()
                    }
                    Index::Modulo(_) => "the number of the line modulo the number of sets".to_owned(),
                };
                Finding::measured(index.into(), METHOD).note(note)
            }
            None if self.sets.members.len() < 2 => Finding::unknown("there is one set, or only one was seen"),
            None if !self.sets.complete => Finding::unknown("not all sets were seen"),
            None => Finding::unknown(format!(
                "hashed: neither address bits, nor parities of bits, nor the line number modulo the number of sets \
                 explain these sets over {}",
                self.footprint
            )),
        }
    }
}
