//! Names that must exist, and values that must be known.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use strata_model::attribute::{Attribute, Path};
use strata_model::names::advice;

use super::comparison::{Comparison, Unmet};
use super::place::{Choice, Place, Subject};
use super::statement::{Claim, Statement};

/// What must be known on both sides: an attribute of an element (`l1.size`, or `l2.latency` for both units), or a finding or
/// figure of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement(Choice);

impl Requirement {
    /// Whether a place is one of those that must be known.
    pub fn has(&self, place: &Place) -> bool {
        self.0.has(place)
    }

    /// Each attribute, finding or line that it stands for, as a choice of its own.
    fn each(&self, sides: &[&Statement]) -> Vec<Choice> {
        let mut each = Vec::new();
        for subject in self.0.subjects() {
            let mut names: BTreeSet<String> = BTreeSet::new();
            match subject {
                Subject::Element(element) => {
                    let chosen = |path: &Path| self.0.has(&Place::of_element(*element, *path));
                    names
                        .extend(Attribute::ALL.iter().filter(|a| chosen(&Path::from(**a))).map(|a| a.key().to_owned()));
                    if names.is_empty() {
                        let parts = Attribute::ALL.iter().flat_map(|attribute| Path::parts(*attribute));
                        names.extend(parts.map(|(path, _)| path).filter(chosen).map(|path| path.to_string()));
                    }
                }
                Subject::Part(_) | Subject::Device => {
                    let places = sides.iter().flat_map(|side| side.claims.keys());
                    let of_part = places.filter(|place| place.subject == *subject && self.0.has(place));
                    names.extend(of_part.map(|place| place.name.clone()));
                }
            }
            each.extend(names.into_iter().map(|name| Choice::one(*subject, name)));
        }
        each
    }
}

impl FromStr for Requirement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let choice: Choice = text.parse()?;
        match choice.attribute() {
            Some(_) => Ok(Requirement(choice)),
            None => Err(format!("`{text}` names no attribute; give one that must be known, such as `{text}.size`")),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Refuses names that neither the registry of attributes nor one of the sides has. Those of elements were checked when they
/// were read; what parts of a characterization find is in no registry.
///
/// # Errors
///
/// The first name that does not exist, with those that do.
pub fn check_names(only: &[Choice], required: &[Requirement], sides: &[&Statement]) -> Result<(), String> {
    for choice in only.iter().chain(required.iter().map(|requirement| &requirement.0)) {
        let Some(name) = choice.attribute().filter(|_| !choice.is_registered()) else { continue };
        let places = || sides.iter().flat_map(|side| side.claims.keys());
        if places().any(|place| choice.has(place)) {
            continue;
        }
        let of_subject = places().filter(|place| choice.subjects().contains(&place.subject));
        // Of the lines of a figure, the figure.
        let names: BTreeSet<&str> =
            of_subject.map(|place| place.name.split(": ").next().unwrap_or(&place.name)).collect();
        let subject = choice.subjects().first().map_or("", |subject| subject.key());
        let advice = match names.is_empty() {
            true => format!("neither side has anything of `{subject}`"),
            false => advice(name, names),
        };
        return Err(format!("nothing of `{subject}` is called `{name}`; {advice}"));
    }
    Ok(())
}

/// What is required and not met.
pub(super) fn unmet(required: &[Requirement], a: &Statement, b: &Statement, answer: &Comparison) -> Vec<Unmet> {
    let decided: BTreeSet<&str> =
        [&answer.differs, &answer.agrees, &answer.contested].into_iter().flatten().map(|row| &*row.place).collect();
    let mut unmet: Vec<Unmet> = Vec::new();
    for choice in required.iter().flat_map(|requirement| requirement.each(&[a, b])) {
        let (in_a, in_b) = (missing(&choice, a), missing(&choice, b));
        let mut places = a.claims.keys().filter(|place| choice.has(place));
        let because = if in_a.is_some() || in_b.is_some() || places.any(|place| decided.contains(&*place.to_string())) {
            None
        } else {
            let row = answer.incomparable.iter().find(|row| choice.is_named(&row.place));
            Some(row.and_then(|row| row.because.clone()).unwrap_or_else(|| "nothing could be compared".into()))
        };
        let place = choice.named();
        if (in_a.is_some() || in_b.is_some() || because.is_some()) && unmet.iter().all(|other| other.place != place) {
            unmet.push(Unmet { place, a: in_a, b: in_b, because });
        }
    }
    unmet
}

/// What is required and not known in all of these.
pub(super) fn unknown_somewhere(required: &[Requirement], sides: &[&Statement]) -> Vec<Choice> {
    let each = required.iter().flat_map(|requirement| requirement.each(sides));
    each.filter(|choice| sides.iter().any(|side| missing(choice, side).is_some())).collect()
}

/// Why a side does not know what is required; `None` if it does. A bound alone is no value.
fn missing(choice: &Choice, side: &Statement) -> Option<String> {
    let claims = || side.claims.iter().filter(|(place, _)| choice.has(place)).flat_map(|(_, claims)| claims);
    let mut why = None;
    for claim in claims() {
        match claim {
            Claim::Known { context: true, .. } => {
                why.get_or_insert_with(|| "published for another product only".to_owned());
            }
            Claim::Known { stated, .. } if !stated.is_whole() => {
                why.get_or_insert_with(|| "only a bound of it is known".to_owned());
            }
            Claim::Known { .. } => return None,
            Claim::Unknown(reason) => why = Some(reason.clone()),
        }
    }
    why.or_else(|| choice.places().next().map(|place| side.silence(&place).to_owned()))
}
