//! A comparison for people: first the differences, then the values that only one side knows, then the equal values.

mod html;
mod markdown;
pub mod several;
mod text;

pub use html::html;
pub use markdown::markdown;
pub use text::text;

use std::collections::{BTreeSet, HashMap};

use super::words::Detail;
use crate::compare::{Comparison, Kind, Row, Side, Single, Stated, Surety, Unmet};
use strata_model::attribute::Value;
use strata_model::topology::Finding;

/// Longest value that is written out, in characters; a hand-made result may hold a text of any length.
const LONGEST_VALUE: usize = 160;

/// Most values of one reason that are written out; of more their names are.
const MOST_VALUES: usize = 12;

/// A group of rows, with its title.
struct Section<'c> {
    title: &'static str,
    rows: &'c [Row],
    /// Whether the title leaves open which of them agree.
    mixed: bool,
}

/// The groups that are rows, those before and those after what one side alone knows.
fn sections(comparison: &Comparison) -> ([Section<'_>; 4], Section<'_>) {
    let section = |title, rows, mixed| Section { title, rows, mixed };
    (
        [
            section("Different values, largest distance first", &comparison.differs, false),
            section(
                "The sources or statistics contradict each other; at least one agrees, so this is not a difference",
                &comparison.contested,
                true,
            ),
            section("Cannot be compared", &comparison.incomparable, false),
            section("Published for other products of the same architecture: context only", &comparison.context, true),
        ],
        section("The same", &comparison.agrees, false),
    )
}

/// What a reader must know of the results, and what alone was asked for, a line each.
fn restrictions(remarks: &[String], only: &[String], required: &[String]) -> Vec<String> {
    let asked = [("Only", only), ("Required", required)].into_iter().filter(|(_, names)| !names.is_empty());
    remarks.iter().cloned().chain(asked.map(|(word, names)| format!("{word} {}", names.join(", ")))).collect()
}

/// How far apart two numbers must be, beside their intervals, as the end of a sentence.
fn tolerance(percent: f64) -> String {
    if percent == 0.0 {
        return String::new();
    }
    format!(" and the gap is more than {percent} % of the larger value")
}

/// What was compared and how.
fn head(comparison: &Comparison) -> Vec<String> {
    let mut lines = vec![side("A", &comparison.a), side("B", &comparison.b)];
    lines.extend(restrictions(&comparison.remarks, &comparison.only, &comparison.required));
    lines.push(rule(comparison));
    lines.push(summary(comparison));
    lines
}

/// When two numbers differ.
fn rule(comparison: &Comparison) -> String {
    let tolerance = tolerance(comparison.tolerance_percent);
    let shared = match comparison.intervals_compared {
        0 => String::new(),
        1 => " One interval has a 5 % chance of a false difference.".to_owned(),
        count => format!(
            " The {count} intervals share a 5 % chance of a false difference, so each counts a little wider than it is."
        ),
    };
    format!(
        "Two numbers differ if their intervals do not overlap{tolerance}.{shared} A number without an interval counts as \
         an interval of one value."
    )
}

fn summary(comparison: &Comparison) -> String {
    let places = |rows: &[Row]| {
        let mut places: Vec<&str> = rows.iter().map(|row| row.place.as_str()).collect();
        places.dedup();
        places.len()
    };
    let verdict = match (comparison.same, comparison.differs.is_empty()) {
        (true, _) => "Nothing differs",
        (false, true) => "A required value is not known",
        (false, false) => "The sides differ",
    };
    let mut counts =
        vec![format!("{} different", places(&comparison.differs)), format!("{} the same", places(&comparison.agrees))];
    for (count, what) in [
        (comparison.unmet.len(), "required but not known"),
        (places(&comparison.contested), "with contradicting sources"),
        (places(&comparison.incomparable), "with no common value"),
        (places(&comparison.context), "published only for other products"),
        (comparison.only_a.len(), "known to A only"),
        (comparison.only_b.len(), "known to B only"),
    ] {
        if count > 0 {
            counts.push(format!("{count} {what}"));
        }
    }
    format!("{verdict}: {}.", counts.join(", "))
}

/// What a side is, and of which GPU.
fn subject(side: &Side) -> String {
    let kind = match side.kind {
        Kind::Topology => "topology of ",
        Kind::Characterization => "characterization of ",
        Kind::Mt4g => "MT4G's summary of ",
        Kind::Nvbandwidth => "nvbandwidth's result of ",
        Kind::Reference => "",
    };
    let simulated = if side.simulated { " (SIMULATED)" } else { "" };
    format!("{kind}{}{simulated}", side.device)
}

pub(super) fn side(letter: &str, side: &Side) -> String {
    let driver = side.driver.as_ref().map_or(String::new(), |driver| format!("; driver {driver}"));
    let made = side.made.as_ref().map_or(String::new(), |made| format!("; {made}"));
    format!("{letter}: {}: {}{made}{driver}", side.name, subject(side))
}

/// The title of what is required and not known.
const UNMET: &str = "Required, but not known on both sides";

/// What is required and not known, with the reason of each side.
fn unmet(unmet: &Unmet) -> String {
    let side = |letter: &str, reason: &Option<String>| {
        reason.as_ref().map(|reason| format!("required, but unknown in {letter}: {reason}"))
    };
    let because = unmet.because.as_ref().map(|reason| format!("required, but it cannot be compared: {reason}"));
    let all: Vec<String> = side("A", &unmet.a).into_iter().chain(side("B", &unmet.b)).chain(because).collect();
    format!("{}: {}", unmet.place, all.join("; "))
}

/// What one side says, with its interval and unit.
pub(super) fn stated(stated: &Stated) -> String {
    // Whole bytes, and hundredths of anything else: what a mean has beyond that is not what is looked for.
    let digits = if stated.unit.as_deref() == Some("B") { 1.0 } else { 100.0 };
    let rounded = |x: f64| (x * digits).round() / digits;
    let finding = |value: &Value| Finding {
        value: Some(value.number().map_or_else(|| value.clone(), |x| Value::Number(rounded(x)))),
        unit: stated.unit.clone(),
        low: stated.low.map(rounded),
        high: stated.high.map(rounded),
        ..Finding::unknown("")
    };
    let number = |x: f64| Detail::of(&Finding { low: None, high: None, ..finding(&Value::Number(x)) }).value;
    let value = match (stated.points, &stated.value, stated.low, stated.high) {
        (Some(points), ..) => format!("{points} points"),
        (_, None, Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
        (_, None, Some(low), None) => format!("at least {}", number(low)),
        (_, None, None, Some(high)) => format!("at most {}", number(high)),
        (_, None, None, None) => "unknown".to_owned(),
        (_, Some(value), Some(_), None) if value.number().is_some() => {
            format!("{} or more", Detail::of(&finding(value)).value)
        }
        (_, Some(value), ..) => Detail::of(&finding(value)).value,
    };
    let statistic = stated.statistic.as_ref().map_or(String::new(), |statistic| format!(" ({statistic})"));
    let cut = value.char_indices().nth(LONGEST_VALUE).map_or(value.clone(), |(at, _)| format!("{}…", &value[..at]));
    format!("{cut}{statistic}")
}

/// Where a published value is from, and what to know of it.
fn origin(stated: &Stated) -> Option<String> {
    let citation = stated.citation.as_ref()?;
    let surety = match citation.surety {
        Surety::Read => "read",
        Surety::Recalled => "recalled",
    };
    let note = stated.note.as_ref().map_or(String::new(), |note| format!("; {note}"));
    Some(format!("{}: {}, {surety}{note}", citation.product, citation.source))
}

/// Where the published values of a row are from.
fn origins(row: &Row) -> Vec<String> {
    [origin(&row.a), origin(&row.b)].into_iter().flatten().collect()
}

/// What the keys of sources stand for.
fn sources(comparison: &Comparison) -> Vec<String> {
    let Comparison { differs, contested, incomparable, context, agrees, only_a, only_b, .. } = comparison;
    let rows =
        [differs, contested, incomparable, context, agrees].into_iter().flatten().flat_map(|row| [&row.a, &row.b]);
    let stated = rows.chain(only_a.iter().chain(only_b).map(|single| &single.stated));
    let named = stated.filter_map(|stated| {
        let citation = stated.citation.as_ref()?;
        let key = citation.source.split(',').next().unwrap_or_default();
        Some(format!("{key}: {}", citation.title))
    });
    named.collect::<BTreeSet<_>>().into_iter().collect()
}

/// How a row compares, in words; `None` where the section says it.
fn verdict(row: &Row, mixed: bool) -> Option<String> {
    let most = row.apart_percent.map(percent);
    match (row.points_differ, row.points_compared) {
        (Some(0), Some(of)) => Some(format!("{of} points compared")),
        (Some(differ), Some(of)) => {
            let most = most.map_or(String::new(), |most| format!(", at most {most} apart"));
            Some(format!("{differ} of {of} points differ{most}"))
        }
        _ if row.agrees == Some(true) => mixed.then(|| "agrees".to_owned()),
        _ => most.map(|most| format!("{most} apart")).or_else(|| row.because.clone()),
    }
}

/// A distance with about two digits that count.
pub(super) fn percent(value: f64) -> String {
    match value {
        v if v >= 10.0 => format!("{v:.0} %"),
        v if v >= 1.0 => format!("{v:.1} %"),
        v if v >= 0.01 => format!("{v:.2} %"),
        _ => "less than 0.01 %".to_owned(),
    }
}

/// What one side alone knows: by reason, each reason once, in the order in which they occur.
fn by_reason(singles: &[Single]) -> Vec<(&str, Vec<&Single>)> {
    let mut reasons: Vec<(&str, Vec<&Single>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for single in singles {
        let place = *places.entry(&single.reason).or_insert(reasons.len());
        if place == reasons.len() {
            reasons.push((&single.reason, Vec::new()));
        }
        reasons[place].1.push(single);
    }
    reasons
}

/// Names by subject, of more values than can be read in a row: `l1: cached, conflicts; l2: sets`. Of the lines of a figure its name stands once.
fn names(singles: &[&Single]) -> String {
    let mut subjects: Vec<(&str, Vec<&str>)> = Vec::new();
    for single in singles {
        let (subject, name) = single.place.split_once(' ').unwrap_or((&single.place, ""));
        let name = name.split(": ").next().unwrap_or(name);
        match subjects.last_mut().filter(|(last, _)| *last == subject) {
            Some((_, names)) if names.last() == Some(&name) => {}
            Some((_, names)) => names.push(name),
            None => subjects.push((subject, vec![name])),
        }
    }
    let each: Vec<String> =
        subjects.into_iter().map(|(subject, names)| format!("{subject}: {}", names.join(", "))).collect();
    each.join("; ")
}
