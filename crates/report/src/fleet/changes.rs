//! What changed of a GPU from one result to a later one.

use super::Options;
use super::document::{Change, Changed, Moment};
use super::places::{Rule, TABLE};
use super::product::{ByGpu, gpu, time};
use super::read::{All, Cell, Found, Short, Words};
use super::spread::{number, off_percent, there};
use crate::compare::{Chance, Range, Subject};
use strata_model::attribute::Value;

/// Least change of a measured number, in per cent. Runs that are equal in several results do not show that all are, as in
/// `policy::limits`.
const LEAST_CHANGE: f64 = 1.0;

/// All GPUs with changes, in the order of products and files.
///
/// Each result is held against the next one of its GPU, and the first against the last: what creeps shows there alone. All of these
/// comparisons share one chance of a false difference.
pub fn changes(by_gpu: &ByGpu, all: &All, chosen: &[bool], options: &Options) -> Vec<Changed> {
    let dated: Vec<(String, Vec<&Found>)> = by_gpu
        .iter()
        .flat_map(|(key, gpus)| {
            gpus.iter().map(|results| {
                let results = results.iter().map(|at| &all.results[*at]);
                (key.title(), results.filter(|found| time(found).is_some()).collect::<Vec<_>>())
            })
        })
        .filter(|(_, results)| results.len() > 1)
        .collect();
    let compared = dated.iter().flat_map(|(_, results)| pairs(results.len()).map(|(a, b)| (results[a], results[b])));
    let at_level = |(a, b): (&Cell, &Cell)| [a, b].into_iter().any(|cell| range(cell).is_some_and(|r| r.has_level()));
    let count = compared.map(|(a, b)| common(a, b, chosen).filter(|two| at_level(*two)).count()).sum();
    let chance = Chance::of_one_among(count);
    let of_gpu = |(product, results): (String, Vec<&Found>)| {
        let mut changes: Vec<Change> = Vec::new();
        for (a, b) in pairs(results.len()) {
            for (before, after) in common(results[a], results[b], chosen) {
                let Some(moved) = moved(before, after, chance, options) else { continue };
                let place = TABLE.entry(before.id).place.to_string();
                // From the first to the last counts where no step between them does.
                if b - a == 1 || changes.iter().all(|change| change.place != place) {
                    changes.push(Change {
                        place,
                        unit: all.words.unit(before.unit).map(str::to_owned),
                        before: moment(results[a], before, &all.words),
                        after: moment(results[b], after, &all.words),
                        moved_percent: moved,
                    });
                }
            }
        }
        let gpu = gpu(results.last()?, options);
        (!changes.is_empty()).then_some(Changed { gpu, product, results: results.len(), changes })
    };
    dated.into_iter().filter_map(of_gpu).collect()
}

/// Which of so many results are held against each other: neighbours first.
fn pairs(results: usize) -> impl Iterator<Item = (usize, usize)> {
    let ends = (results > 2).then(|| (0, results - 1));
    (1..results).map(|later| (later - 1, later)).chain(ends)
}

/// The cells of places that both results know in the same unit.
fn common<'f>(a: &'f Found, b: &'f Found, chosen: &'f [bool]) -> impl Iterator<Item = (&'f Cell, &'f Cell)> {
    let mut there = b.cells.iter().peekable();
    a.cells.iter().filter_map(move |here| {
        while there.peek().is_some_and(|cell| cell.id < here.id) {
            there.next();
        }
        let same = |cell: &&&Cell| cell.id == here.id && cell.unit == here.unit && chosen[usize::from(here.id)];
        there.peek().filter(same).map(|cell| (here, *cell))
    })
}

fn range(cell: &Cell) -> Option<Range> {
    let Short::Number { value, low, high, level } = cell.said else { return None };
    let level = there(f64::from(level));
    Some(Range::new(Some(value), there(low), there(high))?.at_level(Some(value), level))
}

/// By how many per cent a value moved (`None` within, of what is no number); `None` if it did not change.
fn moved(before: &Cell, after: &Cell, chance: Chance, options: &Options) -> Option<Option<f64>> {
    let entry = TABLE.entry(before.id);
    match (before.said, after.said) {
        (Short::Unknown, _) | (_, Short::Unknown) => None,
        (Short::Number { value: from, .. }, Short::Number { value: to, .. }) => {
            let percent = off_percent(to, from);
            let least = match (entry.rule, entry.place.subject) {
                (Rule::Built | Rule::OfTheDie, _) => 0.0,
                // A clock and the driver's share of the memory are not the memory hierarchy.
                (Rule::Measured, Subject::Device) => options.least_percent,
                (Rule::Measured, _) => LEAST_CHANGE,
            };
            let is_apart = range(before)?.apart_among(&range(after)?, chance) > 0.0;
            (is_apart && percent.is_none_or(|percent| percent.abs() >= least)).then_some(percent)
        }
        (a, b) => (a != b).then_some(None),
    }
}

fn moment(found: &Found, cell: &Cell, words: &Words) -> Moment {
    let kind = TABLE.entry(cell.id).kind;
    let (value, low, high) = match cell.said {
        Short::Number { value, low, high, .. } => (number(kind, value), there(low), there(high)),
        Short::Word(word) => (words.value(word).clone(), None, None),
        // Nobody asks for the moment of an unknown.
        Short::Unknown => (Value::Text("unknown".into()), None, None),
    };
    let started = found.run.started.clone().unwrap_or_default();
    Moment { file: found.file.display().to_string(), started, value, low, high }
}
