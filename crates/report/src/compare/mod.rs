//! Compares two results, or a result and published values, place by place.
//!
//! Each side becomes a [`Statement`]: what it says of every attribute, finding and curve, with its interval and its source. Two
//! numbers differ if their intervals do not overlap; a number without an interval is its own. Nothing here knows where a
//! statement is from: a result, a recording that was replayed, a summary of MT4G ([`mt4g`]) and published values
//! ([`published`]) are compared alike.

mod age;
mod chance;
mod comparison;
mod content;
mod curve;
mod die;
mod input;
pub mod mt4g;
pub mod nvbandwidth;
mod place;
mod published;
mod require;
pub mod several;
mod statement;

pub use age::MaxAge;
pub use comparison::{Citation, Comparison, Kind, Row, SCHEMA, Side, Single, Stated, Surety, Unmet};
pub use input::{Document, Error, LONGEST, of_nvbandwidth, parse, parse_all};
pub use place::{Choice, Place, Subject};
pub use published::{Asked, NoReference, published};
pub use require::{Requirement, check_names};
pub use several::{Several, several};
pub use statement::{Claim, Statement};

use std::collections::BTreeSet;

pub(crate) use chance::Chance;
pub(crate) use content::Range;
use content::{Content, Verdict};
use strata_model::attribute::Value;

/// How to compare.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Distances of up to this many per cent of the larger value count as none.
    pub tolerance_percent: f64,
    /// What alone is compared; all when empty.
    pub only: Vec<Choice>,
    /// What must be known on both sides. It is compared even if `only` does not name it.
    pub required: Vec<Requirement>,
    /// How old the side that is judged may be: B, or A if B is published values.
    pub max_age: Option<MaxAge>,
}

/// Compares two sides.
///
/// Of a place that one side has several values for (sources that contradict each other), every pair is compared. The place
/// differs if every pair that decides does, agrees if all agree, and is contested otherwise, which is no difference: nothing
/// could agree with sources that contradict each other.
pub fn compare(a: &Statement, b: &Statement, options: &Options) -> Comparison {
    let (a, b) = (&*a.beside(b), &*b.beside(a));
    let mut answer = Comparison {
        schema: SCHEMA.into(),
        a: a.side.clone(),
        b: b.side.clone(),
        tolerance_percent: options.tolerance_percent,
        intervals_compared: 0,
        only: options.only.iter().map(Choice::to_string).collect(),
        required: options.required.iter().map(Requirement::to_string).collect(),
        remarks: remarks(&a.side, &b.side).into_iter().chain(die::sentence(a, b)).chain(empty(a, b, options)).collect(),
        same: true,
        unmet: Vec::new(),
        differs: Vec::new(),
        contested: Vec::new(),
        incomparable: Vec::new(),
        context: Vec::new(),
        only_a: Vec::new(),
        only_b: Vec::new(),
        agrees: Vec::new(),
        unknown: Vec::new(),
    };
    let chosen = |place: &&Place| {
        options.only.is_empty()
            || options.only.iter().any(|choice| choice.has(place))
            || options.required.iter().any(|required| required.has(place))
    };
    let places: BTreeSet<&Place> = a.claims.keys().chain(b.claims.keys()).filter(chosen).collect();
    // All that has an interval at a level shares one chance of a false difference.
    let at_level = |side: &Statement, place| side.known(place).iter().any(|(content, ..)| content.has_level());
    let both = |place: &&&Place| !a.known(place).is_empty() && !b.known(place).is_empty();
    answer.intervals_compared =
        places.iter().filter(both).filter(|place| at_level(a, place) || at_level(b, place)).count();
    for place in places {
        let (here, there) = (a.known(place), b.known(place));
        match (here.is_empty(), there.is_empty()) {
            (true, true) => answer.unknown.push(place.to_string()),
            (false, true) => answer.only_a.extend(singles(place, &here, b)),
            (true, false) => answer.only_b.extend(singles(place, &there, a)),
            (false, false) => judge(&mut answer, place, &here, &there),
        }
    }
    answer.sort();
    answer.unmet = require::unmet(&options.required, a, b, &answer);
    answer.same = answer.differs.is_empty() && answer.unmet.is_empty();
    answer
}

/// What a side knows of a place: to compare, to show, and whether it is for another product.
type Known<'s> = (&'s Content, &'s Stated, bool);

fn singles(place: &Place, known: &[Known<'_>], other: &Statement) -> Vec<Single> {
    let single = |(_, stated, _): &Known<'_>| Single {
        place: place.to_string(),
        stated: (*stated).clone(),
        reason: other.silence(place).to_owned(),
    };
    known.iter().map(single).collect()
}

fn judge(answer: &mut Comparison, place: &Place, here: &[Known<'_>], there: &[Known<'_>]) {
    let mut deciding = Vec::new();
    for a in here {
        for b in there.iter().filter(|b| is_pair(a.1, b.1, here, there)) {
            let row = row(place, *a, *b, answer.tolerance_percent, Chance::of_one_among(answer.intervals_compared));
            match (a.2 || b.2, row.agrees) {
                (_, None) => answer.incomparable.push(row),
                (true, _) => answer.context.push(row),
                (false, _) => deciding.push(row),
            }
        }
    }
    let agreeing = deciding.iter().filter(|row| row.agrees == Some(true)).count();
    match agreeing {
        0 => answer.differs.extend(deciding),
        all if all == deciding.len() => answer.agrees.extend(deciding),
        _ => answer.contested.extend(deciding),
    }
}

/// Whether two statements are to be compared: where both sides quote one source, or give one statistic, it is compared with
/// itself and not with others.
fn is_pair(a: &Stated, b: &Stated, here: &[Known<'_>], there: &[Known<'_>]) -> bool {
    let origin = |stated: &Stated| (stated.citation.clone(), stated.statistic.clone());
    let (from_a, from_b) = (origin(a), origin(b));
    from_a == from_b
        || !there.iter().any(|(_, stated, _)| origin(stated) == from_a)
            && !here.iter().any(|(_, stated, _)| origin(stated) == from_b)
}

fn row(
    place: &Place,
    (content_a, a, _): Known<'_>,
    (content_b, b, _): Known<'_>,
    tolerance: f64,
    chance: Chance,
) -> Row {
    let mut row = Row {
        place: place.to_string(),
        a: a.clone(),
        b: b.clone(),
        agrees: Some(false),
        apart_percent: None,
        points_differ: None,
        points_compared: None,
        because: None,
    };
    let empty = |stated: &Stated| matches!(&stated.value, Some(Value::Sizes(sizes)) if sizes.0.is_empty());
    // A list of nothing has no unit.
    if a.unit != b.unit && !empty(a) && !empty(b) {
        let unit = |stated: &Stated| stated.unit.clone().unwrap_or_else(|| "no unit".into());
        row.because = Some(format!("different units: {} and {}", unit(a), unit(b)));
        return row;
    }
    match content_a.against(content_b, tolerance, chance) {
        Verdict::Agree { points } => {
            row.agrees = Some(true);
            row.points_differ = points.map(|_| 0);
            row.points_compared = points;
        }
        Verdict::Apart { percent } => row.apart_percent = Some(percent),
        Verdict::Unequal => row.because = Some("not equal".into()),
        Verdict::Points { differ, of, percent } => {
            (row.points_differ, row.points_compared) = (Some(differ), Some(of));
            row.apart_percent = percent;
        }
        Verdict::Nothing => {
            row.agrees = None;
            row.because = Some("no point in common".into());
        }
    }
    row
}

/// What was chosen and is on neither side.
fn empty<'o>(a: &'o Statement, b: &'o Statement, options: &'o Options) -> impl Iterator<Item = String> + 'o {
    let places = || a.claims.keys().chain(b.claims.keys());
    let chosen = options.only.iter().filter(move |choice| !places().any(|place| choice.has(place)));
    chosen.map(|choice| format!("Neither side has anything of {choice}"))
}

/// What is different about the two sides themselves.
fn remarks(a: &Side, b: &Side) -> Vec<String> {
    let mut remarks = Vec::new();
    if [a, b].iter().all(|side| side.kind != Kind::Reference) {
        match (&a.uuid, &b.uuid) {
            _ if [a, b].iter().any(|side| side.kind == Kind::Nvbandwidth) => {}
            _ if a.device != b.device => remarks.push(format!("Different GPUs: {} and {}", a.device, b.device)),
            (Some(x), Some(y)) if x != y => remarks.push(format!("Two GPUs of the same product: {x} and {y}")),
            _ => {}
        }
        if a.simulated != b.simulated {
            remarks.push(format!(
                "{} is simulated, {} is not",
                if a.simulated { "A" } else { "B" },
                if a.simulated { "B" } else { "A" }
            ));
        }
        if let (Some(x), Some(y)) = (&a.driver, &b.driver)
            && x != y
        {
            remarks.push(format!("Different drivers: {x} and {y}"));
        }
        if let (Some(x), Some(y)) = (&a.host, &b.host)
            && x != y
        {
            remarks.push(format!("Different hosts, which is no difference of the GPUs: {x}; and {y}"));
        }
    }
    remarks
}

#[cfg(test)]
mod published_tests;
#[cfg(test)]
mod tests;
