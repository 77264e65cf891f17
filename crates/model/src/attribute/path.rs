//! Attributes and their parts.

use std::fmt;
use std::str::FromStr;

use super::{Attribute, Compared, Configuration, Key, Kind, Topic, Value};

/// The parts of a [`Configuration`], by their keys, and what each is in the whole element.
const CONFIGURATION_PARTS: [(&str, Attribute); 6] = [
    ("size", Attribute::Size),
    ("sets", Attribute::Sets),
    ("ways", Attribute::Ways),
    ("index", Attribute::Index),
    ("replacement", Attribute::Replacement),
    ("misses", Attribute::Staircase),
];

impl Configuration {
    /// One of its parts, by what it is in the whole element; `None` where it is unknown, and for what is none of its parts.
    pub fn part(&self, attribute: Attribute) -> Option<Value> {
        match attribute {
            Attribute::Size => Some(self.size.into()),
            Attribute::Sets => self.sets.map(Value::from),
            Attribute::Ways => self.ways.clone().map(Value::from),
            Attribute::Index => self.index.clone().map(Value::from),
            Attribute::Replacement => self.replacement.clone().map(Value::from),
            Attribute::Staircase => self.misses.clone().map(Value::from),
            _ => None,
        }
    }
}

impl Attribute {
    /// Whether this is its name: its key, or the field that the key begins with, such as `latency` of `latency.cycles`.
    pub fn is_called(self, name: &str) -> bool {
        self.key() == name || self.path().0 == name
    }
}

/// An attribute, or a part of one that has parts: `size`, `least_configuration.size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    attribute: Attribute,
    part: Option<(&'static str, Attribute)>,
}

impl Path {
    /// The parts of an attribute, each with what it is in the whole element; none of one without parts.
    pub fn parts(attribute: Attribute) -> impl Iterator<Item = (Path, Attribute)> {
        let parts = match attribute.compared() {
            Compared::Parts => &CONFIGURATION_PARTS[..],
            _ => &[],
        };
        parts.iter().map(move |part| (Path { attribute, part: Some(*part) }, part.1))
    }

    /// The kind of its values.
    pub fn kind(self) -> Kind {
        self.meaning().kind()
    }

    /// As [`Attribute::is_discrete`].
    pub fn is_discrete(self) -> bool {
        self.meaning().is_discrete()
    }

    /// Whether it is a count that is measured: how many SMs or loads it takes to reach a bandwidth.
    pub fn is_measured_count(self) -> bool {
        self.attribute.topic() == Topic::Bandwidth && self.kind() == Kind::Count
    }

    /// What it is in the whole element.
    fn meaning(self) -> Attribute {
        self.part.map_or(self.attribute, |(_, attribute)| attribute)
    }
}

impl From<Attribute> for Path {
    fn from(attribute: Attribute) -> Self {
        Path { attribute, part: None }
    }
}

impl<T> From<Key<T>> for Path {
    fn from(key: Key<T>) -> Self {
        key.attribute().into()
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.attribute.key())?;
        self.part.iter().try_for_each(|(part, _)| write!(f, ".{part}"))
    }
}

impl FromStr for Path {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(attribute) = text.parse::<Attribute>() {
            return Ok(attribute.into());
        }
        let all = Attribute::ALL.iter().flat_map(|attribute| Path::parts(*attribute));
        let found = all.map(|(path, _)| path).find(|path| path.to_string() == text);
        found.ok_or_else(|| format!("no attribute `{text}`"))
    }
}
