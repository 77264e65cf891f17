//! A policy from results that are known to be good.

use std::collections::BTreeMap;

use strata_model::attribute::{Compared, Kind as ValueKind, Path, Value};
use strata_model::topology::RunInfo;

use super::limits::{Seen, limits};
use super::{Entry, Error, Limit, Origin, Policy, subject};
use crate::compare::{Document, Kind, Place, Stated, Statement, Subject};

impl Policy {
    /// Of good results, each with its name. `name` is the policy's.
    ///
    /// # Errors
    ///
    /// If there are fewer than two, if two are the same run, or if they are not all of one product and of one kind.
    pub fn of_good(name: &str, good: &[(Document, String)]) -> Result<Policy, Error> {
        let unfit = |what: String| Err(Error::Unfit(what));
        let ((first, first_name), others) = match good {
            [] | [_] => {
                return unfit(
                    "one result shows no spread, so no limits can be made of it; give two or more good results of different \
                     runs"
                        .into(),
                );
            }
            [first, others @ ..] => (first, others),
        };
        let mut made_from = Vec::new();
        for (document, name) in good {
            let Some(run) = document.run() else {
                return unfit(format!(
                    "`{name}` is no result of strata; give results of `strata discover` or `strata characterize`, or recordings"
                ));
            };
            let origin = origin(run, document, name);
            let same = |other: &&Origin| {
                let of = |one: &Origin| (one.uuid.clone(), one.peer.clone(), one.date.clone(), one.seed);
                of(other) == of(&origin) && !are_of_one_node(&other.file, &origin.file)
            };
            if let Some(other) = made_from.iter().find(same) {
                return unfit(format!(
                    "`{name}` and `{}` are the same run ({}), which shows no spread; give results of different runs",
                    other.file, origin.date
                ));
            }
            made_from.push(origin);
        }
        let product = first.device().0;
        for (document, name) in others {
            let (one, other) = (subject_of(first), subject_of(document));
            if other != one {
                return unfit(format!(
                    "`{first_name}` is of {one} and `{name}` of {other}; a policy is for one product or its links, so make one of each"
                ));
            }
            if document.kind() != first.kind() || is_simulated(document) != is_simulated(first) {
                return unfit(format!(
                    "`{first_name}` and `{name}` are results of different kinds; give discoveries alone or characterizations \
                     alone, and do not mix simulated and real GPUs"
                ));
            }
        }
        let statements: Vec<Statement> = good.iter().map(|(document, name)| document.statement(name)).collect();
        let mut policy = Policy {
            name: name.to_owned(),
            product: product.to_owned(),
            linked_to: first.peer().map(|peer| peer.name.clone()),
            kind: first.kind(),
            simulated: is_simulated(first),
            made_from,
            entries: BTreeMap::new(),
            left_out: Vec::new(),
        };
        policy.fill(&statements);
        if policy.entries.is_empty() {
            return unfit(
                "no value is known in all of these results, so there is nothing to limit; give others".into(),
            );
        }
        Ok(policy)
    }

    /// Adds a limit for each place of which all statements know a value; the others are left out.
    fn fill(&mut self, statements: &[Statement]) {
        let mut places: Vec<&Place> = statements.iter().flat_map(|statement| statement.claims.keys()).collect();
        places.sort();
        places.dedup();
        for place in places {
            let known: Vec<&Stated> = statements.iter().filter_map(|statement| known(statement, place)).collect();
            if known.is_empty() {
                continue;
            }
            let entry = match known.len() {
                all if all == statements.len() => entry(place, &known),
                some => Err(format!("known in {some} of {} results", statements.len())),
            };
            match entry {
                Ok(entry) => drop(self.entries.insert(place.clone(), entry)),
                Err(reason) => self.left_out.push((reason, place.clone())),
            }
        }
    }
}

pub(super) fn is_simulated(document: &Document) -> bool {
    document.run().is_some_and(|run| run.simulated)
}

/// Whether these are the names of two GPUs or links in one file. Simulated ones have no UUIDs.
fn are_of_one_node(a: &str, b: &str) -> bool {
    let file = |name: &str| name.rsplit_once(", ").map(|(file, _)| file.to_owned());
    a != b && file(a).is_some() && file(a) == file(b)
}

/// The GPU or link that a result is of, in words.
pub(super) fn subject_of(document: &Document) -> String {
    subject(document.device().0, document.peer().map(|peer| peer.name.as_str()))
}

fn origin(run: &RunInfo, document: &Document, name: &str) -> Origin {
    let uuid = match document {
        Document::Topology(topology) => topology.device.uuid.clone(),
        Document::Characterization(answer) => answer.device.uuid.clone(),
        Document::Mt4g(_) => None,
    };
    Origin {
        file: name.to_owned(),
        uuid,
        peer: document.peer().and_then(|peer| peer.uuid.clone()),
        date: run.started.clone(),
        seed: run.seed,
        effort: run.effort.clone(),
        strata: run.tool_version.clone(),
    }
}

/// What a result says of a place, if it is more than a bound.
fn known<'s>(statement: &'s Statement, place: &Place) -> Option<&'s Stated> {
    let (_, stated, _) = statement.known(place).into_iter().next()?;
    (stated.value.is_some() || stated.points.is_some()).then_some(stated)
}

/// Whether a value is counted or built, so that all good results have the same. Widths and windows that a part finds are. How many SMs or loads
/// it takes to reach a bandwidth is measured.
fn is_discrete(place: &Place, kind: ValueKind) -> bool {
    match place.subject {
        Subject::Element(_) => place
            .name
            .parse::<Path>()
            .map_or(kind.is_discrete(), |path| path.is_discrete() && !path.is_measured_count()),
        Subject::Part(_) | Subject::Device => kind.is_discrete() || kind == ValueKind::Bytes,
    }
}

/// The limit by what all results say; or why there is none.
fn entry(place: &Place, known: &[&Stated]) -> Result<Entry, String> {
    let values: Vec<&Value> = known.iter().filter_map(|stated| stated.value.as_ref()).collect();
    let curves = "a curve or map, for which a policy has no limits";
    let [first, ..] = values[..] else { return Err(curves.into()) };
    if values.len() < known.len() || matches!(first.kind().compared(), Compared::Points | Compared::Parts) {
        return Err(curves.into());
    }
    if known.iter().any(|stated| stated.unit != known[0].unit) {
        return Err("not in the same unit in all results".into());
    }
    let unit = known[0].unit.clone();
    let numbers: Vec<Seen> = known.iter().filter_map(|stated| seen(stated)).collect();
    if is_discrete(place, first.kind()) || numbers.len() < known.len() {
        if let Some(other) = values.iter().find(|value| !is_same(first, value)) {
            return Err(format!("not equal in all results, such as {} and {}", short(first), short(other)));
        }
        let comment = Some(format!("Equal in {} results.", values.len()));
        return Ok(Entry { limit: Limit::Equals(first.clone()), unit, required: true, comment });
    }
    let (low, high) = limits(&numbers);
    let end = |end: f64| end.is_finite().then_some(end);
    let comment = Some(spread(&numbers, unit.as_deref().unwrap_or_default()));
    Ok(Entry { limit: Limit::Range { low: end(low), high: end(high) }, unit, required: true, comment })
}

/// A number with its interval, which is open where it has one end only.
fn seen(stated: &Stated) -> Option<Seen> {
    let value = stated.value.as_ref()?.number().filter(|value| value.is_finite())?;
    let open = |end: f64| if stated.low.is_some() || stated.high.is_some() { end } else { value };
    let low = stated.low.unwrap_or(open(f64::NEG_INFINITY));
    let high = stated.high.unwrap_or(open(f64::INFINITY));
    Some(Seen { value, low, high })
}

/// What the results showed, for the reader of the file.
fn spread(seen: &[Seen], unit: &str) -> String {
    let least = |of: fn(&Seen) -> f64| seen.iter().map(of).fold(f64::INFINITY, f64::min);
    let greatest = |of: fn(&Seen) -> f64| seen.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = (least(|one| one.value), greatest(|one| one.value));
    let percent = match low.abs().max(high.abs()) {
        0.0 => 0.0,
        most => (high - low) / most * 100.0,
    };
    let number = |x: f64| if x.is_finite() { format!("{}", (x * 1000.0).round() / 1000.0) } else { "no end".into() };
    let values = match low == high {
        true => format!("{} in {} results", number(low), seen.len()),
        false => format!("{} to {} in {} results, spread {percent:.2} %", number(low), number(high), seen.len()),
    };
    let (from, to) = (least(|one| one.low), greatest(|one| one.high));
    let intervals = match (from, to) == (low, high) {
        true => String::new(),
        false => format!("; intervals {} to {}", number(from), number(to)),
    };
    let unit = if unit.is_empty() { String::new() } else { format!(" (in {unit})") };
    format!("{values}{intervals}{unit}.")
}

/// A value on part of a line.
fn short(value: &Value) -> String {
    let text = value.to_string();
    text.char_indices().nth(60).map_or(text.clone(), |(at, _)| format!("{}…", &text[..at]))
}

/// Whether two values are equal; the order of a set of elements says nothing.
pub(super) fn is_same(a: &Value, b: &Value) -> bool {
    let sorted = |elements: &strata_model::attribute::Elements| {
        let mut keys: Vec<String> = elements.keys().map(str::to_owned).collect();
        keys.sort();
        keys
    };
    match (a, b) {
        (Value::Elements(a), Value::Elements(b)) => sorted(a) == sorted(b),
        _ => match (a.number(), b.number()) {
            (Some(a), Some(b)) => a == b,
            _ => a == b,
        },
    }
}

/// The kind of a result in words.
pub(super) fn kind_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Topology => "a discovery",
        Kind::Characterization => "a characterization",
        Kind::Mt4g => "a summary of MT4G",
        Kind::Nvbandwidth => "a result of nvbandwidth",
        Kind::Reference => "published values",
    }
}
