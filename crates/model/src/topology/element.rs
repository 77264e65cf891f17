//! One element: its findings by attribute.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value as Json, json};

use super::finding::{Finding, Interval, Quantity};
use super::series::SeriesPoint;
use crate::attribute::{self, Attribute, Key, Typed};
use crate::units::Bytes;

/// One memory or cache. An attribute that does not apply to the element is absent; one that is unknown has its reason.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Element {
    findings: BTreeMap<Attribute, Finding>,
}

/// A finding with its attribute, of the attribute's type.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    attribute: Attribute,
    finding: Finding,
}

impl Entry {
    /// What was found of an attribute.
    pub fn new<T: Typed>(key: Key<T>, finding: Finding<T>) -> Self {
        Entry { attribute: key.attribute(), finding: finding.any() }
    }

    /// What was found.
    pub fn finding(&self) -> &Finding {
        &self.finding
    }

    /// With the points of a series, if there are any: also of a finding that is unknown.
    pub fn series(mut self, name: &str, points: Option<Vec<SeriesPoint>>) -> Self {
        if let Some(points) = points {
            self.finding = self.finding.series(name, points);
        }
        self
    }

    /// With a note, if there is a value to note it of.
    pub fn noted(mut self, note: Option<impl AsRef<str>>) -> Self {
        if let Some(note) = note
            && self.finding.is_known()
        {
            self.finding = self.finding.note(note);
        }
        self
    }
}

impl Element {
    /// An element of which nothing was found.
    pub(super) const NOTHING: Element = Element { findings: BTreeMap::new() };

    /// Sets what was found of an attribute.
    pub fn set<T: Typed>(&mut self, key: Key<T>, finding: Finding<T>) {
        self.extend([Entry::new(key, finding)]);
    }

    /// With what was found of an attribute.
    pub fn with<T: Typed>(mut self, key: Key<T>, finding: Finding<T>) -> Self {
        self.set(key, finding);
        self
    }

    /// With more findings; `None` stands for what nobody asked for.
    pub fn and<E: Into<Option<Entry>>>(mut self, more: impl IntoIterator<Item = E>) -> Self {
        self.extend(more);
        self
    }

    /// Makes what was found of an attribute unknown for this reason; `false` if it is not known. The experiments stay.
    pub fn retract(&mut self, attribute: impl Into<Attribute>, reason: impl Into<String>) -> bool {
        match self.findings.get_mut(&attribute.into()).filter(|finding| finding.is_known()) {
            None => false,
            Some(finding) => {
                *finding = Finding::unknown(reason).from_experiments(finding.experiments.iter().copied());
                true
            }
        }
    }

    /// Keeps these attributes alone.
    pub fn retain(&mut self, keep: impl Fn(Attribute) -> bool) {
        self.findings.retain(|attribute, _| keep(*attribute));
    }

    /// Takes an attribute away.
    pub fn remove(&mut self, attribute: impl Into<Attribute>) -> Option<Finding> {
        self.findings.remove(&attribute.into())
    }

    /// What was found of an attribute; `None` where it does not apply.
    pub fn finding(&self, attribute: impl Into<Attribute>) -> Option<&Finding> {
        self.findings.get(&attribute.into())
    }

    /// What was found of an attribute, if it has a value.
    pub fn known(&self, attribute: impl Into<Attribute>) -> Option<&Finding> {
        self.finding(attribute).filter(|finding| finding.is_known())
    }

    /// The value of an attribute, if it is known.
    pub fn get<T: Typed>(&self, key: Key<T>) -> Option<&T> {
        self.finding(key)?.get()
    }

    /// The value of an attribute with its interval, if it is known.
    pub fn interval<T: Typed + Quantity>(&self, key: Key<T>) -> Option<Interval<T>> {
        self.finding(key)?.within()
    }

    /// Usable capacity, with its interval in bytes, if it is known.
    pub fn size(&self) -> Option<Interval<Bytes>> {
        self.interval(attribute::SIZE)
    }

    /// The value of an attribute as a number, if it is one.
    pub fn number(&self, attribute: impl Into<Attribute>) -> Option<f64> {
        self.finding(attribute)?.number()
    }

    /// All findings, in the order of the JSON format.
    pub fn findings(&self) -> impl Iterator<Item = (Attribute, &Finding)> {
        self.findings.iter().map(|(attribute, finding)| (*attribute, finding))
    }

    /// All findings, in the order of a report.
    pub fn reported(&self) -> impl Iterator<Item = (Attribute, &Finding)> {
        let found = |attribute| Some((attribute, self.finding(attribute)?));
        Attribute::in_report_order().into_iter().filter_map(found)
    }
}

impl<E: Into<Option<Entry>>> Extend<E> for Element {
    fn extend<I: IntoIterator<Item = E>>(&mut self, entries: I) {
        let entries = entries.into_iter().filter_map(Into::into);
        self.findings.extend(entries.map(|entry| (entry.attribute, entry.finding)));
    }
}

impl<E: Into<Option<Entry>>> FromIterator<E> for Element {
    fn from_iter<I: IntoIterator<Item = E>>(entries: I) -> Self {
        Element::default().and(entries)
    }
}

impl<E: Into<Option<Entry>>, const N: usize> From<[E; N]> for Element {
    fn from(entries: [E; N]) -> Self {
        entries.into_iter().collect()
    }
}

impl IntoIterator for Element {
    type Item = Entry;
    type IntoIter =
        std::iter::Map<std::collections::btree_map::IntoIter<Attribute, Finding>, fn((Attribute, Finding)) -> Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.findings.into_iter().map(|(attribute, finding)| Entry { attribute, finding })
    }
}

/// Fields of one object within the element, such as `cycles` and `ns` of `latency`.
struct Within<'e>(Vec<(&'static str, &'e Finding)>);

impl Serialize for Within<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

impl Serialize for Element {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut open: Option<(&'static str, Within<'_>)> = None;
        for (attribute, finding) in self.findings() {
            let (field, within) = attribute.path();
            if let Some((before, fields)) = open.take_if(|(before, _)| within.is_none() || *before != field) {
                map.serialize_entry(before, &fields)?;
            }
            match within {
                None => map.serialize_entry(field, finding)?,
                Some(within) => open.get_or_insert((field, Within(Vec::new()))).1.0.push((within, finding)),
            }
        }
        if let Some((field, fields)) = open {
            map.serialize_entry(field, &fields)?;
        }
        map.end()
    }
}

/// Reads the finding of an attribute; null stands for one that does not apply.
struct Read(Attribute);

impl<'de> DeserializeSeed<'de> for Read {
    type Value = Option<Finding>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let Some(finding) = Option::<Finding<Json>>::deserialize(deserializer)? else { return Ok(None) };
        let typed = finding.typed(self.0.kind());
        typed.map(Some).map_err(|error| de::Error::custom(format_args!("{}: {error}", self.0)))
    }
}

/// Reads the fields of an element, or of an object within it, into the findings.
struct Fields<'f> {
    within: Option<&'f str>,
    findings: &'f mut BTreeMap<Attribute, Finding>,
}

impl<'de> DeserializeSeed<'de> for Fields<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("findings by attribute")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            let path = self.within.map_or(key.to_string(), |field| format!("{field}.{key}"));
            let has_fields =
                |attribute: &Attribute| self.within.is_none() && attribute.path() == (&*key, attribute.path().1);
            match path.parse::<Attribute>() {
                Ok(attribute) => {
                    if let Some(finding) = map.next_value_seed(Read(attribute))?
                        && self.findings.insert(attribute, finding).is_some()
                    {
                        return Err(de::Error::custom(format_args!("{attribute} stands there twice")));
                    }
                }
                Err(_) if Attribute::ALL.iter().any(has_fields) => {
                    map.next_value_seed(Fields { within: Some(&key), findings: &mut *self.findings })?;
                }
                // Newer versions may have more attributes.
                Err(_) => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut element = Element::default();
        deserializer.deserialize_map(Fields { within: None, findings: &mut element.findings })?;
        Ok(element)
    }
}

impl JsonSchema for Element {
    fn schema_name() -> Cow<'static, str> {
        "Element".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = Map::new();
        for attribute in Attribute::ALL {
            let mut finding = generator.subschema_for::<Finding<Json>>();
            let value = attribute.kind().schema(generator);
            let mut own = json!({ "value": { "anyOf": [value, { "type": "null" }] } });
            // Some attributes have no unit, or one of several.
            if let Some(unit) = Some(attribute.unit()).filter(|unit| !unit.is_empty() && !unit.contains(' ')) {
                own["unit"] = json!({ "enum": [unit, null] });
            }
            finding.insert("properties".into(), own);
            let property = json!({ "description": attribute.about(), "anyOf": [finding, { "type": "null" }] });
            match attribute.path() {
                (field, None) => {
                    properties.insert(field.into(), property);
                }
                (field, Some(within)) => {
                    let object =
                        properties.entry(field).or_insert_with(|| json!({ "type": "object", "properties": {} }));
                    object["properties"][within] = property;
                }
            }
        }
        json_schema!({
            "description": "One memory or cache. An attribute that does not apply to the element is absent; one that is unknown has its reason.",
            "type": "object",
            "properties": properties,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::{LATENCY_CYCLES, LATENCY_NS, SIZE, WAYS, Ways};
    use crate::units::{Bytes, Cycles};

    #[test]
    fn an_element_is_read_as_it_was_written() {
        let element = Element::from([
            Entry::new(WAYS, Finding::measured(Ways::Each(vec![17, 8]), "x").unit("lines")),
            Entry::new(SIZE, Finding::measured(Bytes(2048), "x")),
            Entry::new(LATENCY_NS, Finding::unknown("no clock")),
            Entry::new(LATENCY_CYCLES, Finding::measured(Cycles(40.0), "x")),
        ]);
        let text = serde_json::to_string(&element).unwrap();
        assert!(text.starts_with(r#"{"size":{"value":2048,"unit":"B""#), "{text}");
        assert!(
            text.contains(r#""latency":{"cycles":{"value":40.0,"#) && text.contains(r#""ns":{"value":null,"#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Element>(&text).unwrap(), element);
        assert_eq!(element.get(SIZE), Some(&Bytes(2048)));
    }

    #[test]
    fn keys_of_newer_versions_are_skipped_and_wrong_values_named() {
        let read = |text: &str| serde_json::from_str::<Element>(text);
        let newer =
            r#"{"volume": [1], "latency": {"volume": 2, "cycles": {"value": null, "reason": "x"}}, "size": null}"#;
        let element = read(newer).unwrap();
        assert_eq!(element.findings().map(|(attribute, _)| attribute).collect::<Vec<_>>(), [Attribute::LatencyCycles]);
        assert_eq!(read(r#"{"latency": null}"#).unwrap(), Element::default());
        for (wrong, words) in [
            (r#"{"size": {"value": "2 KiB"}}"#, "size: not a number of bytes"),
            (r#"{"size": {"unit": "B"}}"#, "missing field `value`"),
            (r#"{"size": 7}"#, "invalid type"),
            (r#"{"latency": 7}"#, "findings by attribute"),
            (r#"{"size": {"value": 1}, "size": {"value": 2}}"#, "twice"),
        ] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("line 1 column"), "{error}");
        }
    }
}
