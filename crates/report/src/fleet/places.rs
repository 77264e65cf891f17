//! What results of a fleet are compared by: attributes of elements, facts of the device, and the measured clock.

use std::collections::HashMap;
use std::sync::LazyLock;

use strata_model::attribute::{Attribute, Compared, Kind, Path};
use strata_model::topology::ElementName;

use crate::compare::{Place, Subject};
use crate::reference::Fact;

/// The number of a place in the table of all.
pub type Id = u16;

/// How the values of one product are held against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A measured number: its distance from the median counts.
    Measured,
    /// Counted, named or built: what differs from the majority counts.
    Built,
    /// Every die may have its own, so it only counts when it changes.
    OfTheDie,
}

/// One of the places.
#[derive(Debug)]
pub struct Entry {
    /// Where it is.
    pub place: Place,
    /// How it is judged.
    pub rule: Rule,
    /// The kind of its values.
    pub kind: Kind,
}

/// A part of an attribute (`None` is all of it) and its place.
type PartAt = (Option<Attribute>, Id);

/// All places, and how the keys of a result lead to them.
pub struct Table {
    entries: Vec<Entry>,
    /// The attributes of one field: itself, and those within it where it is an object.
    fields: HashMap<&'static str, Field>,
    elements: HashMap<(ElementName, Attribute), Vec<PartAt>>,
    facts: Vec<(Fact, Id)>,
    clock: Id,
}

/// What a key of an element is.
#[derive(Default)]
pub struct Field {
    /// An attribute.
    pub whole: Option<Attribute>,
    /// An object with attributes.
    pub within: HashMap<&'static str, Attribute>,
}

/// What the floor plan of a die decides. Dies of one product differ in it, and none of them is at fault.
const OF_THE_DIE: [Attribute; 4] =
    [Attribute::Gpcs, Attribute::Fingerprint, Attribute::SmsOfAnInstance, Attribute::InstanceOfSms];

/// The name of the SM clock that a run measured, in MHz.
pub const CLOCK: &str = "measured_clock";

/// The table of all places.
pub static TABLE: LazyLock<Table> = LazyLock::new(Table::new);

impl Table {
    fn new() -> Self {
        let mut table = Table {
            entries: Vec::new(),
            fields: HashMap::new(),
            elements: HashMap::new(),
            facts: Vec::new(),
            clock: 0,
        };
        for attribute in Attribute::ALL {
            let (field, within) = attribute.path();
            let known = table.fields.entry(field).or_default();
            match within {
                None => known.whole = Some(*attribute),
                Some(within) => drop(known.within.insert(within, *attribute)),
            }
        }
        for element in ElementName::ALL {
            for attribute in Attribute::ALL {
                let parts = Path::parts(*attribute).filter(|(path, _)| is_short(path.kind()));
                let whole = is_short(attribute.kind()).then_some((Path::from(*attribute), None));
                let paths: Vec<(Path, Option<Attribute>)> =
                    whole.into_iter().chain(parts.map(|(path, part)| (path, Some(part)))).collect();
                for (path, part) in paths {
                    let id = table.add(Place::of_element(element, path), rule(*attribute, path), path.kind());
                    table.elements.entry((element, *attribute)).or_default().push((part, id));
                }
            }
        }
        for fact in Fact::ALL {
            // A count is built in; a clock or a size in bytes may differ by a little with the driver.
            let rule = if fact.unit().is_none() { Rule::Built } else { Rule::Measured };
            let id = table.add(Place::of_device(*fact), rule, Kind::Number);
            table.facts.push((*fact, id));
        }
        let clock = Place { subject: Subject::Device, name: CLOCK.into() };
        table.clock = table.add(clock, Rule::Measured, Kind::Number);
        table
    }

    fn add(&mut self, place: Place, rule: Rule, kind: Kind) -> Id {
        self.entries.push(Entry { place, rule, kind });
        // Elements times attributes are some thousands.
        Id::try_from(self.entries.len() - 1).unwrap_or(Id::MAX)
    }

    /// One of the places.
    pub fn entry(&self, id: Id) -> &Entry {
        &self.entries[usize::from(id)]
    }

    /// What a key of an element is; `None` for one that only a later version knows.
    pub fn field(&self, key: &str) -> Option<&Field> {
        self.fields.get(key)
    }

    /// The places of an attribute: its own, or those of its parts. None for a curve or a map.
    pub fn of(&self, element: ElementName, attribute: Attribute) -> &[PartAt] {
        self.elements.get(&(element, attribute)).map_or(&[], Vec::as_slice)
    }

    /// The facts of a device.
    pub fn facts(&self) -> &[(Fact, Id)] {
        &self.facts
    }

    /// The measured clock.
    pub fn clock(&self) -> Id {
        self.clock
    }

    /// The ids whose places are chosen.
    pub fn chosen(&self, has: impl Fn(&Place) -> bool) -> Vec<bool> {
        self.entries.iter().map(|entry| has(&entry.place)).collect()
    }
}

/// Whether a value is one number, word or short list. Curves and maps are left out: the numbers that are read from them are not.
fn is_short(kind: Kind) -> bool {
    !matches!(kind.compared(), Compared::Points | Compared::Parts)
}

fn rule(attribute: Attribute, path: Path) -> Rule {
    if OF_THE_DIE.contains(&attribute) {
        return Rule::OfTheDie;
    }
    if path.is_discrete() && !path.is_measured_count() { Rule::Built } else { Rule::Measured }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_has_its_place_and_rule() {
        let rule = |element, attribute| {
            let places = TABLE.of(element, attribute);
            places.iter().map(|(_, id)| TABLE.entry(*id).rule).collect::<Vec<_>>()
        };
        assert_eq!(rule(ElementName::L2, Attribute::Size), [Rule::Measured]);
        assert_eq!(rule(ElementName::L2, Attribute::Ways), [Rule::Built]);
        assert_eq!(rule(ElementName::L2, Attribute::SaturatingSms), [Rule::Measured]);
        assert_eq!(rule(ElementName::Die, Attribute::Fingerprint), [Rule::OfTheDie]);
        assert_eq!(rule(ElementName::L1, Attribute::Staircase), []);
        assert_eq!(rule(ElementName::L1, Attribute::LeastConfiguration).len(), 5, "all parts but the curve");
        let latency = TABLE.field("latency").unwrap();
        assert_eq!((latency.whole, latency.within["ns"]), (None, Attribute::LatencyNs));
        let device: Vec<String> = TABLE.facts().iter().map(|(_, id)| TABLE.entry(*id).place.to_string()).collect();
        assert!(device.contains(&"device multiprocessors".to_owned()), "{device:?}");
        assert!(TABLE.entries.len() < usize::from(Id::MAX));
    }
}
