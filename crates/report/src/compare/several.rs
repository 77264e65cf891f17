//! Compares three or more results beside each other, and says which of them stands apart.
//!
//! Each pair is compared as two sides are: two values differ if their intervals do not meet. A value that differs from more than
//! half of the other known values is an outlier, if there are at least two others. A median and a spread of three numbers would say
//! less: the intervals already hold what varies from run to run, and the rule holds for lists, words and curves as well.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::chance::Chance;
use super::comparison::{Side, Stated};
use super::place::{Choice, Place};
use super::require;
use super::statement::Statement;
use super::{Known, Options, die, is_pair, remarks, row};

/// Name and version of the JSON document.
pub const SCHEMA: &str = "strata/comparison-of-several/1";

/// Fewest results that are compared beside each other.
pub const FEWEST: usize = 3;

/// What one result says of a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// What it says; absent where it does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<Stated>,
    /// Why it does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// It differs from more than half of the other known values, of which there are two or more.
    pub outlier: bool,
}

/// What all results say of a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Subject and name, such as `l2 latency.cycles`.
    pub place: String,
    /// A cell for each result, in their order.
    pub cells: Vec<Cell>,
    /// Pairs of known values that could be compared.
    pub pairs_compared: usize,
    /// Pairs that differ.
    pub pairs_differ: usize,
    /// It must be known in all results, and is not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unmet: bool,
}

/// The whole answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Several {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The results, in their order.
    pub sides: Vec<Side>,
    /// Distances of up to this many per cent of the larger value count as none.
    pub tolerance_percent: f64,
    /// Pairs compared that have an interval at a level. They share one chance of a false difference.
    pub intervals_compared: usize,
    /// What alone was compared; empty for all.
    pub only: Vec<String>,
    /// What must be known in all results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
    /// What is different about the results themselves.
    pub remarks: Vec<String>,
    /// No pair differs and what is required is known: exit status 0.
    pub same: bool,
    /// A row for each place that some result knows: those that differ or are required and not known first.
    pub rows: Vec<Row>,
}

impl Several {
    /// Whether any two values were compared.
    pub fn compared(&self) -> bool {
        self.rows.iter().any(|row| row.pairs_compared > 0)
    }
}

impl Row {
    /// Whether it counts as a difference.
    pub fn differs(&self) -> bool {
        self.pairs_differ > 0 || self.unmet
    }
}

/// Compares each result with each other one, place by place.
pub fn several(sides: &[Statement], options: &Options) -> Several {
    let all: Vec<&Statement> = sides.iter().collect();
    let unmet = require::unknown_somewhere(&options.required, &all);
    let chosen = |place: &&Place| {
        options.only.is_empty()
            || options.only.iter().any(|choice| choice.has(place))
            || options.required.iter().any(|required| required.has(place))
    };
    let places: BTreeSet<&Place> = sides.iter().flat_map(|side| side.claims.keys()).filter(chosen).collect();
    let known = |place: &Place| sides.iter().map(|side| side.known(place)).collect::<Vec<_>>();
    let intervals_compared = places.iter().map(|place| at_level(&known(place))).sum();
    let chance = Chance::of_one_among(intervals_compared);
    let mut rows: Vec<Row> = places
        .into_iter()
        .filter_map(|place| {
            let row = compared(place, sides, &known(place), options.tolerance_percent, chance);
            let unmet = unmet.iter().any(|choice| choice.has(place));
            (unmet || row.cells.iter().any(|cell| cell.stated.is_some())).then_some(Row { unmet, ..row })
        })
        .collect();
    // What no result has a place for.
    let nowhere = unmet.iter().filter(|choice| !sides.iter().any(|s| s.claims.keys().any(|place| choice.has(place))));
    rows.extend(nowhere.map(|choice| absent(choice, sides)));
    rows.sort_by_key(|row| !row.differs());
    let mut about: Vec<String> = Vec::new();
    for other in sides.iter().skip(1) {
        let first = &sides[0].side;
        // Which of two is simulated would be said by the letters of two sides; here each line of the head says it.
        let other = Side { simulated: first.simulated, ..other.side.clone() };
        for remark in remarks(first, &other) {
            if !about.contains(&remark) {
                about.push(remark);
            }
        }
    }
    about.extend(die::layouts(sides));
    Several {
        schema: SCHEMA.into(),
        sides: sides.iter().map(|side| side.side.clone()).collect(),
        tolerance_percent: options.tolerance_percent,
        intervals_compared,
        only: options.only.iter().map(Choice::to_string).collect(),
        required: options.required.iter().map(ToString::to_string).collect(),
        remarks: about,
        same: !rows.iter().any(Row::differs),
        rows,
    }
}

/// Pairs of results.
fn pairs(of: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..of).flat_map(move |i| (i + 1..of).map(move |j| (i, j)))
}

/// Pairs of known values of which one has an interval at a level.
fn at_level(known: &[Vec<Known<'_>>]) -> usize {
    let has = |side: &[Known<'_>]| side.iter().any(|(content, ..)| content.has_level());
    let both = |(i, j): &(usize, usize)| !known[*i].is_empty() && !known[*j].is_empty();
    pairs(known.len()).filter(both).filter(|(i, j)| has(&known[*i]) || has(&known[*j])).count()
}

fn compared(place: &Place, sides: &[Statement], known: &[Vec<Known<'_>>], tolerance: f64, chance: Chance) -> Row {
    let (mut pairs_compared, mut pairs_differ) = (0, 0);
    // With how many others a value was compared, and from how many it differs.
    let mut counts = vec![(0, 0); known.len()];
    for (i, j) in pairs(known.len()) {
        let Some(agrees) = agree(place, &known[i], &known[j], tolerance, chance) else { continue };
        pairs_compared += 1;
        pairs_differ += usize::from(!agrees);
        for side in [i, j] {
            counts[side].0 += 1;
            counts[side].1 += usize::from(!agrees);
        }
    }
    let cells = sides.iter().zip(known).zip(counts).map(|((side, known), (others, apart))| {
        let stated = known.first().map(|(_, stated, _)| (*stated).clone());
        let reason = stated.is_none().then(|| side.silence(place).to_owned());
        // Of two values that differ nobody can say which stands apart.
        Cell { stated, reason, outlier: others > 1 && apart * 2 > others }
    });
    Row { place: place.to_string(), cells: cells.collect(), pairs_compared, pairs_differ, unmet: false }
}

/// Whether two results agree; `None` where nothing can be compared. One of several statistics that agrees is enough.
fn agree(place: &Place, a: &[Known<'_>], b: &[Known<'_>], tolerance: f64, chance: Chance) -> Option<bool> {
    let verdicts = a.iter().flat_map(|here| {
        let there = b.iter().filter(|there| is_pair(here.1, there.1, a, b));
        there.filter_map(|there| row(place, *here, *there, tolerance, chance).agrees)
    });
    verdicts.reduce(|one, other| one || other)
}

fn absent(choice: &Choice, sides: &[Statement]) -> Row {
    let reason = |side: &Statement| choice.places().next().map(|place| side.silence(&place).to_owned());
    let cells = sides.iter().map(|side| Cell { stated: None, reason: reason(side), outlier: false }).collect();
    Row { place: choice.named(), cells, pairs_compared: 0, pairs_differ: 0, unmet: true }
}
