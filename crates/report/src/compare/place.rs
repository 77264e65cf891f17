//! What is compared: an attribute of an element, a finding of a part, a line of a figure, or a fact of the device.

use std::fmt;
use std::str::FromStr;

use strata_model::attribute::{Attribute, Path};
use strata_model::characterization::PartName;
use strata_model::names::advice;
use strata_model::topology::ElementName;

use crate::reference::{DEVICE, Fact};

/// What an attribute belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A memory or cache of a topology.
    Element(ElementName),
    /// A part of a characterization.
    Part(PartName),
    /// The device itself.
    Device,
}

impl Subject {
    /// Its key in JSON and on the command line.
    pub fn key(self) -> &'static str {
        match self {
            Subject::Element(element) => element.key(),
            Subject::Part(part) => part.key(),
            Subject::Device => DEVICE,
        }
    }

    /// Every subject of this key: `read_only` is an element and a part.
    pub fn named(key: &str) -> Vec<Subject> {
        let element = ElementName::from_str(key).ok().map(Subject::Element);
        let part = PartName::from_str(key).ok().map(Subject::Part);
        let device = (key == DEVICE).then_some(Subject::Device);
        element.into_iter().chain(part).chain(device).collect()
    }
}

/// One thing that both sides may know. The order is that of a comparison: by subject, then by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// What it belongs to.
    pub subject: Subject,
    /// The attribute (`size`, `latency.cycles`), the finding, or figure and line (`cold: 32 threads`).
    pub name: String,
}

impl Place {
    /// An attribute of an element.
    pub fn of_element(element: ElementName, attribute: impl Into<Path>) -> Self {
        Place { subject: Subject::Element(element), name: attribute.into().to_string() }
    }

    /// A finding or line of a part.
    pub fn of_part(part: PartName, name: impl Into<String>) -> Self {
        Place { subject: Subject::Part(part), name: name.into() }
    }

    /// A fact of the device.
    pub fn of_device(fact: Fact) -> Self {
        Place { subject: Subject::Device, name: fact.key().to_owned() }
    }

    /// As `--only` and a policy name it: `l2.latency.cycles`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.subject.key(), self.name)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.subject.key(), self.name)
    }
}

/// A choice of places: `l2`, or `l2.latency` for what begins so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    subjects: Vec<Subject>,
    attribute: Option<String>,
}

impl Choice {
    /// This name of this subject alone.
    pub(super) fn one(subject: Subject, name: String) -> Self {
        Choice { subjects: vec![subject], attribute: Some(name) }
    }

    /// Whether a place is chosen.
    pub fn has(&self, place: &Place) -> bool {
        self.subjects.contains(&place.subject)
            && self.attribute.as_ref().is_none_or(|chosen| begins(&place.name, chosen))
    }

    /// The subjects: two where an element and a part have the same key.
    pub(super) fn subjects(&self) -> &[Subject] {
        &self.subjects
    }

    /// What is chosen of the subject; `None` for all of it.
    pub(super) fn attribute(&self) -> Option<&str> {
        self.attribute.as_deref()
    }

    /// The place of this name, once for each subject.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        let name = self.attribute.clone().unwrap_or_default();
        self.subjects.iter().map(move |subject| Place { subject: *subject, name: name.clone() })
    }

    /// The name of its first place, as comparisons have it.
    pub(super) fn named(&self) -> String {
        self.places().next().map_or_else(String::new, |place| place.to_string())
    }

    /// Whether a comparison calls one of its places so.
    pub(super) fn is_named(&self, place: &str) -> bool {
        begins(place, &self.named())
    }

    /// Whether it names attributes of elements, or facts of a device, that there are.
    pub(super) fn is_registered(&self) -> bool {
        if self.subjects == [Subject::Device] {
            return self.attribute.as_ref().is_none_or(|chosen| Fact::from_str(chosen).is_ok());
        }
        let is_element = self.subjects.iter().any(|subject| matches!(subject, Subject::Element(_)));
        let Some(chosen) = &self.attribute else { return is_element };
        is_element && attributes().any(|path| begins(&path.to_string(), chosen))
    }
}

/// Whether a name is the chosen one, or one within it: `latency.cycles` in `latency`, a line in its figure.
fn begins(name: &str, chosen: &str) -> bool {
    name.strip_prefix(chosen).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':']))
}

/// All attributes of elements, and their parts.
fn attributes() -> impl Iterator<Item = Path> {
    let of = |attribute: &'static Attribute| {
        std::iter::once(Path::from(*attribute)).chain(Path::parts(*attribute).map(|(path, _)| path))
    };
    Attribute::ALL.iter().flat_map(of)
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (key, attribute) = match text.split_once('.') {
            Some((key, attribute)) => (key, Some(attribute.to_owned())),
            None => (text, None),
        };
        let subjects = Subject::named(key);
        if subjects.is_empty() {
            let elements = ElementName::ALL.iter().map(|e| e.key());
            let known: Vec<&str> = elements.chain(PartName::ALL.iter().map(|p| p.key())).chain([DEVICE]).collect();
            return Err(format!("no element or part `{key}`; there are {}", known.join(", ")));
        }
        let choice = Choice { subjects, attribute };
        // What parts of a characterization find is in no registry: the results say which names there are.
        let may_be_of_part = choice.subjects.iter().any(|subject| matches!(subject, Subject::Part(_)));
        match &choice.attribute {
            Some(fact) if choice.subjects == [Subject::Device] => fact.parse::<Fact>().map(|_| choice),
            Some(attribute) if !may_be_of_part && !choice.is_registered() => {
                let all: Vec<String> = attributes().map(|path| path.to_string()).collect();
                let advice = advice(attribute, all.iter().map(String::as_str));
                Err(format!("no attribute `{attribute}` of an element; {advice}"))
            }
            _ => Ok(choice),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.subjects.first().map_or("", |subject| subject.key()))?;
        self.attribute.iter().try_for_each(|attribute| write!(f, ".{attribute}"))
    }
}

#[cfg(test)]
mod tests {
    use strata_model::attribute::LATENCY_CYCLES;

    use super::*;

    #[test]
    fn a_choice_is_of_a_subject_or_of_an_attribute() {
        let latency = Place::of_element(ElementName::L2, LATENCY_CYCLES);
        let chosen = |text: &str| text.parse::<Choice>().unwrap().has(&latency);
        assert!(chosen("l2") && chosen("l2.latency") && chosen("l2.latency.cycles"));
        assert!(!chosen("l1") && !chosen("l2.size"));
        let line = Place::of_part(PartName::Coalescing, "cold: 32 threads");
        assert!("coalescing.cold".parse::<Choice>().unwrap().has(&line));
        assert!("l9".parse::<Choice>().unwrap_err().contains("l1, texture"));
    }

    #[test]
    fn a_name_that_no_element_can_have_is_refused() {
        for (text, words) in [
            ("l1.siz", "did you mean `size`"),
            ("l2.lat", "did you mean `latency.ns`"),
            ("l2.", "there are cached"),
            ("l1.least_configuration.sizes", "`least_configuration.size`"),
        ] {
            let error = text.parse::<Choice>().unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        // It is a part, too, of which only a result knows the findings.
        assert!("read_only.siz".parse::<Choice>().is_ok_and(|choice| !choice.is_registered()));
        assert!("l1.least_configuration.size".parse::<Choice>().is_ok());
    }

    /// The read-only path is an element of one result and a part of the other.
    #[test]
    fn a_key_of_both_results_chooses_both() {
        assert_eq!(Subject::named("read_only").len(), 2);
    }
}
