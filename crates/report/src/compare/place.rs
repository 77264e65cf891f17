//! What is compared: an attribute of an element, a finding of a part, or a line of a figure.

use std::fmt;
use std::str::FromStr;

use strata_model::attribute::Path;
use strata_model::characterization::PartName;
use strata_model::topology::ElementName;

/// What an attribute belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A memory or cache of a topology.
    Element(ElementName),
    /// A part of a characterization.
    Part(PartName),
}

impl Subject {
    /// Its key in JSON and on the command line.
    pub fn key(self) -> &'static str {
        match self {
            Subject::Element(element) => element.key(),
            Subject::Part(part) => part.key(),
        }
    }

    /// Every subject of this key: `read_only` is an element and a part.
    pub fn named(key: &str) -> Vec<Subject> {
        let element = ElementName::from_str(key).ok().map(Subject::Element);
        let part = PartName::from_str(key).ok().map(Subject::Part);
        element.into_iter().chain(part).collect()
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
    /// Whether a place is chosen.
    pub fn has(&self, place: &Place) -> bool {
        let begins = |attribute: &String| {
            place
                .name
                .strip_prefix(attribute.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':']))
        };
        self.subjects.contains(&place.subject) && self.attribute.as_ref().is_none_or(begins)
    }
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
            let known: Vec<&str> = elements.chain(PartName::ALL.iter().map(|p| p.key())).collect();
            return Err(format!("no element or part `{key}`; there are {}", known.join(", ")));
        }
        Ok(Choice { subjects, attribute })
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
        assert!(!chosen("l1") && !chosen("l2.lat") && !chosen("l2.size"));
        let line = Place::of_part(PartName::Coalescing, "cold: 32 threads");
        assert!("coalescing.cold".parse::<Choice>().unwrap().has(&line));
        assert!("l9".parse::<Choice>().unwrap_err().contains("l1, texture"));
    }

    /// The read-only path is an element of one result and a part of the other.
    #[test]
    fn a_key_of_both_results_chooses_both() {
        assert_eq!(Subject::named("read_only").len(), 2);
    }
}
