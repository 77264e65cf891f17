//! A result of `strata discover` with the values that a fleet is compared by, and nothing else of it.
//!
//! Most of a result are curves and the numbers of experiments. A quick reader passes over them. Whatever is unusual for it, the
//! strict reader of [`compare::parse`](crate::compare::parse) judges, so that a fleet accepts what a comparison accepts.

use std::borrow::Cow;
use std::fmt;

use memchr::{memchr, memmem};
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;
use strata_model::attribute::{Attribute, Configuration, Elements, Policy, SIZE, Value};
use strata_model::facts::DeviceFacts;
use strata_model::topology::{ElementName, Finding, RunInfo, SCHEMA, Topology};

use super::places::{Field, Id, TABLE};

/// Longest value that is no number, in items as [`Value::weight`] counts them: a list of ways has some hundred. What is longer was
/// made by hand and counts as unknown.
const HEAVIEST: usize = 1 << 12;

/// What a result says at a place.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// It gives no value, or only a bound.
    Unknown,
    /// A number with its interval; an end is infinite where the interval has none.
    Number(Number),
    /// Anything else.
    Word(Value),
}

/// A number, the interval around it (equal to it where there is none) and the level of that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// The value.
    pub value: f64,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Level of the interval, where it has one.
    pub level: Option<f64>,
}

/// A place and what is said of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The place.
    pub id: Id,
    /// The unit.
    pub unit: Option<String>,
    /// What is said.
    pub said: Said,
}

/// The run of a result.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Run {
    /// Version of strata.
    pub tool_version: String,
    /// No hardware was measured.
    pub simulated: bool,
    /// Seed of the random choices.
    pub seed: u64,
    /// Start, RFC 3339; none where nobody knows it.
    pub started: Option<String>,
    /// Lowest and highest SM clock in MHz.
    measured_clock_mhz: Option<(f64, f64)>,
    /// What the process could see.
    pub scope: String,
}

/// A result.
#[derive(Clone, Debug, PartialEq)]
pub struct Light {
    /// What the driver says.
    pub device: DeviceFacts,
    /// How it was made.
    pub run: Run,
    /// The values, in the order of their places.
    pub cells: Vec<Cell>,
}

impl Light {
    /// Reads a result quickly; `None` where it is not an ordinary result of `strata discover`. `scratch` keeps its memory from file to
    /// file.
    pub fn quick(bytes: &[u8], scratch: &mut Vec<u8>) -> Option<Self> {
        #[derive(Deserialize)]
        struct Document {
            schema: String,
            device: DeviceFacts,
            run: Run,
            elements: Cells,
        }
        without_experiments(bytes, scratch);
        // As a text, so that the parser is the one of all other documents: another one would make the binary larger.
        let document: Document = serde_json::from_str(str::from_utf8(scratch).ok()?).ok()?;
        if document.schema != SCHEMA || document.device.defect().is_some() {
            return None;
        }
        let light = Light::new(document.device, document.run, document.elements.0);
        // A key that stands there twice is an error of the strict reader.
        let twice = light.cells.windows(2).any(|two| two[0].id == two[1].id);
        (!twice).then_some(light)
    }

    /// Of a result that was read as a whole.
    pub fn of(topology: &Topology) -> Self {
        let RunInfo { tool_version, simulated, seed, started, measured_clock_mhz, scope, .. } = &topology.run;
        let run = Run {
            tool_version: tool_version.clone(),
            simulated: *simulated,
            seed: *seed,
            started: Some(started.clone()).filter(|started| !started.is_empty()),
            measured_clock_mhz: *measured_clock_mhz,
            scope: scope.clone(),
        };
        let mut cells = Vec::new();
        for (element, content) in &topology.elements {
            for (attribute, finding) in content.findings() {
                add(&mut cells, *element, attribute, finding);
            }
        }
        Light::new(topology.device.clone(), run, cells)
    }

    fn new(device: DeviceFacts, run: Run, mut cells: Vec<Cell>) -> Self {
        let number = |value| Said::Number(Number { value, low: None, high: None, level: None });
        for (fact, id) in TABLE.facts() {
            if let Some(value) = fact.of(&device) {
                cells.push(Cell { id: *id, unit: fact.unit().map(str::to_owned), said: number(value) });
            }
        }
        if let Some((low, high)) = run.measured_clock_mhz.filter(|(low, high)| (low + high).is_finite()) {
            let middle = Number { value: f64::midpoint(low, high), low: Some(low), high: Some(high), level: None };
            cells.push(Cell { id: TABLE.clock(), unit: Some("MHz".into()), said: Said::Number(middle) });
        }
        cells.sort_by_key(|cell| cell.id);
        Light { device, run, cells }
    }
}

/// What stands before the numbers of a finding's experiments.
const EXPERIMENTS: &[u8] = b"\"experiments\":";

/// Copies a result without the numbers of experiments, which are four fifths of it. A parser would look at each of their digits.
fn without_experiments(bytes: &[u8], copy: &mut Vec<u8>) {
    copy.clear();
    let mut rest = bytes;
    while let Some(at) = memmem::find(rest, EXPERIMENTS) {
        let (before, list) = rest.split_at(at + EXPERIMENTS.len());
        copy.extend_from_slice(before);
        rest = list;
        // Without a list the parser finds what is wrong.
        let begin = list.iter().position(|byte| !byte.is_ascii_whitespace()).filter(|at| list[*at] == b'[');
        if let Some(end) = begin.and_then(|_| memchr(b']', list)) {
            copy.push(b'[');
            rest = &list[end..];
        }
    }
    copy.extend_from_slice(rest);
}

/// Adds what a finding says, at the places of its attribute.
fn add(cells: &mut Vec<Cell>, element: ElementName, attribute: Attribute, finding: &Finding) {
    for (part, id) in TABLE.of(element, attribute) {
        let Some(part) = part else {
            let said = said(finding.value.as_ref(), (finding.low, finding.high), finding.level);
            cells.push(Cell { id: *id, unit: finding.unit.clone(), said });
            continue;
        };
        let whole: Option<&Configuration> = finding.get();
        let value = whole.and_then(|whole| whole.part(*part));
        // The interval of a configuration is that of its size.
        let ends = if *part == SIZE.attribute() { (finding.low, finding.high) } else { (None, None) };
        let unit = part.kind().unit().map(str::to_owned);
        cells.push(Cell { id: *id, unit, said: said(value.as_ref(), ends, finding.level) });
    }
}

fn said(value: Option<&Value>, (low, high): (Option<f64>, Option<f64>), level: Option<f64>) -> Said {
    let Some(value) = value else { return Said::Unknown };
    if let Some(number) = value.number() {
        let finite = |end: &f64| end.is_finite();
        return match number.is_finite() {
            true => Said::Number(Number { value: number, low: low.filter(finite), high: high.filter(finite), level }),
            false => Said::Unknown,
        };
    }
    match value {
        heavy if heavy.weight() > HEAVIEST => Said::Unknown,
        // The order of a set says nothing.
        Value::Elements(elements) => {
            let mut keys: Vec<&str> = elements.keys().collect();
            keys.sort_unstable();
            Said::Word(keys.into_iter().collect::<Elements>().into())
        }
        // The probabilities are counted in each run anew, so they are never quite equal.
        Value::Policy(Policy::Weighted(odds)) => {
            Said::Word(format!("random, with {} probabilities", odds.probabilities.len()).into())
        }
        value => Said::Word(value.clone()),
    }
}

/// The elements of a result.
struct Cells(Vec<Cell>);

impl<'de> Deserialize<'de> for Cells {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut cells = Vec::new();
        deserializer.deserialize_map(AllElements(&mut cells))?;
        Ok(Cells(cells))
    }
}

struct AllElements<'c>(&'c mut Vec<Cell>);

impl<'de> Visitor<'de> for AllElements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("elements")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            // An element that this version does not know is an error of the strict reader, which says so.
            let element: ElementName = key.parse().map_err(A::Error::custom)?;
            map.next_value_seed(OneElement { element, within: None, cells: &mut *self.0 })?;
        }
        Ok(())
    }
}

/// An element, or an object within it.
struct OneElement<'c> {
    element: ElementName,
    within: Option<&'static Field>,
    cells: &'c mut Vec<Cell>,
}

impl<'de> DeserializeSeed<'de> for OneElement<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneElement<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("findings by attribute")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            let field = if self.within.is_none() { TABLE.field(&key) } else { None };
            let attribute = match self.within {
                Some(object) => object.within.get(&*key).copied(),
                None => field.and_then(|field| field.whole),
            };
            match (attribute, field) {
                (Some(attribute), _) if TABLE.of(self.element, attribute).is_empty() => {
                    map.next_value::<IgnoredAny>()?;
                }
                (Some(attribute), _) => {
                    if let Some(written) = map.next_value::<Option<Written>>()? {
                        let finding = written.finding(attribute).map_err(A::Error::custom)?;
                        add(self.cells, self.element, attribute, &finding);
                    }
                }
                (None, Some(field)) => {
                    let seed = OneElement { element: self.element, within: Some(field), cells: &mut *self.cells };
                    map.next_value_seed(seed)?;
                }
                (None, None) => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// A finding without its experiments, its words and its series.
#[derive(Deserialize)]
struct Written {
    #[serde(deserialize_with = "required")]
    value: Option<Json>,
    unit: Option<String>,
    low: Option<f64>,
    high: Option<f64>,
    level: Option<f64>,
    source: Option<IgnoredAny>,
    method: Option<IgnoredAny>,
    reason: Option<IgnoredAny>,
}

/// A value that must be written, if only as null.
fn required<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Option::deserialize(deserializer)
}

impl Written {
    /// With its value in its type, and a place for each word that a sound finding has.
    fn finding(self, attribute: Attribute) -> Result<Finding, String> {
        let value = self.value.map(|json| attribute.kind().read(json)).transpose()?;
        let there = |word: Option<IgnoredAny>| word.map(|_| String::new());
        let finding = Finding {
            value,
            unit: self.unit,
            low: self.low,
            high: self.high,
            level: self.level,
            source: self.source.map(|_| strata_model::topology::Provenance::Measured),
            method: there(self.method),
            reason: there(self.reason),
            ..Finding::unknown("")
        };
        match finding.defect() {
            Some(defect) => Err(defect),
            None => Ok(finding),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Document, parse};

    fn committed(name: &str) -> Vec<u8> {
        std::fs::read(format!("{}/../../recordings/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    fn quick(bytes: &[u8]) -> Option<Light> {
        Light::quick(bytes, &mut b"of the file before".to_vec())
    }

    #[test]
    fn numbers_of_experiments_are_left_out_and_nothing_else() {
        let left = |text: &str| {
            let mut copy = Vec::new();
            without_experiments(text.as_bytes(), &mut copy);
            String::from_utf8(copy).unwrap()
        };
        assert_eq!(
            left(r#"{"a": {"experiments": [1, 2], "b": [3]}, "experiments":[4]}"#),
            r#"{"a": {"experiments":[], "b": [3]}, "experiments":[]}"#
        );
        for same in [
            r#"{"experiments": 7}"#,
            r#"{"experiments": [1, 2"#,
            r#"{"note": "experiments: [1]"}"#,
            r#"{"experiments":"#,
        ] {
            assert_eq!(left(same), same);
        }
    }

    #[test]
    fn the_quick_reader_finds_what_the_strict_one_finds() {
        for name in ["2026-11-21-h200.json", "2026-11-25-h100.json", "2026-11-25-h200-bandwidth.json"] {
            let bytes = committed(name);
            let Document::Topology(topology) = parse(name, &bytes).unwrap() else { panic!("{name}") };
            let (quick, strict) = (quick(&bytes).unwrap(), Light::of(&topology));
            assert!(quick.cells.len() > 100, "{name}: {}", quick.cells.len());
            assert_eq!(quick, strict, "{name}");
        }
    }

    #[test]
    fn what_is_unusual_is_left_to_the_strict_reader() {
        let text = String::from_utf8(committed("2026-11-21-h200.json")).unwrap();
        assert!(quick(text.as_bytes()).is_some());
        for (from, to) in [
            ("strata/topology/1", "strata/topology/2"),
            ("\"l1\": {", "\"l9\": {"),
            ("\"unit\": \"B\"", "\"unit\": 7"),
            ("\"source\": \"measured\"", "\"sauce\": \"measured\""),
            (
                "\"elements\": {\n    \"l1\": {",
                "\"elements\": {\n    \"l1\": {\"sets\": {\"value\": null, \"reason\": \"x\"},",
            ),
            ("\"multiprocessors\": 132", "\"multiprocessors\": 4000000000"),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            assert!(quick(changed.as_bytes()).is_none(), "{to}");
        }
        assert!(quick(&committed("2026-11-22-h200-characterize.json")).is_none());
        assert!(quick(b"").is_none() && quick(b"{}").is_none());
    }
}
