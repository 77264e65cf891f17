//! One finding: a value with its interval and source, or the reason why there is none.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

use super::series::{AllSeries, SeriesPoint};
use crate::attribute::{Kind, Typed, Value};
use crate::units::{Bytes, Cycles, Nanoseconds};

/// Where a value is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// Measured in this run.
    Measured,
    /// The driver says so, or a table by compute capability.
    Driver,
    /// Computed from measured values.
    Derived,
}

/// One attribute of one element: a value with its interval and source, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Finding", bound = "")]
#[schemars(extend("if" = { "properties": { "value": { "type": "null" } } }))]
#[schemars(extend("then" = { "required": ["reason"] }, "else" = { "required": ["source", "method"] }))]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub struct Finding<T = Value> {
    /// Number, text, list or object; null when unknown.
    #[serde(deserialize_with = "required")]
    #[schemars(required, with = "Json")]
    pub value: Option<T>,
    /// Unit of `value`, `low` and `high`: `B`, `cycles`, `ns`, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Lower end of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Confidence level of the interval; absent where the interval is the observed range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub level: Option<f64>,
    /// Where the value is from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Provenance>,
    /// How it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Numbers of the experiments that it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub experiments: Vec<u32>,
    /// Points of what it was read from, by the name of the series: for pictures, and not compared.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: AllSeries,
    /// What the reader should know besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The probe itself failed (exit status 4), as opposed to a reasoned unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

/// A value that must be written, if only as null.
fn required<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

impl<T> Finding<T> {
    /// A finding of which nothing is said yet.
    fn empty() -> Self {
        Finding {
            value: None,
            unit: None,
            low: None,
            high: None,
            level: None,
            source: None,
            method: None,
            experiments: Vec::new(),
            series: AllSeries::new(),
            note: None,
            reason: None,
            failed: false,
        }
    }

    /// No value, and why.
    pub fn unknown(reason: impl Into<String>) -> Self {
        Finding { reason: Some(reason.into()), ..Finding::empty() }
    }

    /// No value because the probe failed.
    pub fn failed(reason: impl Into<String>) -> Self {
        Finding { failed: true, ..Finding::unknown(reason) }
    }

    /// With this unit.
    pub fn unit(mut self, unit: &str) -> Self {
        self.unit = Some(unit.to_owned());
        self
    }

    /// With the observed range as interval.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        (self.low, self.high) = (Some(low), Some(high));
        self
    }

    /// With a lower bound.
    pub fn at_least(mut self, low: f64) -> Self {
        self.low = Some(low);
        self
    }

    /// With an upper bound.
    pub fn at_most(mut self, high: f64) -> Self {
        self.high = Some(high);
        self
    }

    /// With a confidence interval.
    pub fn interval(mut self, low: f64, high: f64, level: f64) -> Self {
        self.level = Some(level);
        self.range(low, high)
    }

    /// Resting on these experiments.
    pub fn from_experiments(mut self, numbers: impl IntoIterator<Item = u32>) -> Self {
        self.experiments.extend(numbers);
        self.experiments.sort_unstable();
        self.experiments.dedup();
        self
    }

    /// With a note, appended to what is there.
    pub fn note(mut self, note: impl AsRef<str>) -> Self {
        self.note = Some(match self.note.take() {
            Some(before) => format!("{before}; {}", note.as_ref()),
            None => note.as_ref().to_owned(),
        });
        self
    }

    /// With the points of a series.
    pub fn series(mut self, name: &str, points: Vec<SeriesPoint>) -> Self {
        self.series.insert(name.to_owned(), points);
        self
    }

    /// Whether there is a value.
    pub fn is_known(&self) -> bool {
        self.value.is_some()
    }

    /// The same without its value, for one of any type.
    pub fn without_value<U>(self) -> Finding<U> {
        self.with(|_| None)
    }

    /// The same with another value; all else stays.
    fn with<U>(self, value: impl FnOnce(Option<T>) -> Option<U>) -> Finding<U> {
        let Finding { unit, low, high, level, source, method, experiments, series, note, reason, failed, .. } = self;
        let value = value(self.value);
        Finding { value, unit, low, high, level, source, method, experiments, series, note, reason, failed }
    }
}

impl<T: Typed> Finding<T> {
    fn known(value: T, source: Provenance, method: String) -> Self {
        let unit = T::UNIT.map(str::to_owned);
        Finding { value: Some(value), unit, source: Some(source), method: Some(method), ..Finding::empty() }
    }

    /// A measured value, in the unit of its type where that has one.
    pub fn measured(value: T, method: impl Into<String>) -> Self {
        Finding::known(value, Provenance::Measured, method.into())
    }

    /// A value from the driver or a table.
    pub fn from_driver(value: T, method: impl Into<String>) -> Self {
        Finding::known(value, Provenance::Driver, method.into())
    }

    /// A value computed from other findings.
    pub fn derived(value: T, method: impl Into<String>) -> Self {
        Finding::known(value, Provenance::Derived, method.into())
    }

    /// The same as one of many, with the type of its value at run time.
    pub fn any(self) -> Finding {
        self.with(|value| value.map(Into::into))
    }
}

impl<T: Typed> From<Finding<T>> for Finding {
    fn from(finding: Finding<T>) -> Self {
        finding.any()
    }
}

impl Finding {
    /// The value as a number.
    pub fn number(&self) -> Option<f64> {
        self.value.as_ref()?.number()
    }

    /// The value, if there is one and it is of this type.
    pub fn get<T: Typed>(&self) -> Option<&T> {
        T::of(self.value.as_ref()?)
    }

    /// The number with its interval, if it is of this type.
    pub fn within<T: Typed + Quantity>(&self) -> Option<Interval<T>> {
        let value = self.get::<T>()?.clone();
        let end = |end: Option<f64>| end.map_or(value.clone(), T::from_number);
        Some(Interval { low: end(self.low), high: end(self.high), level: self.level, value })
    }
}

impl fmt::Display for Finding {
    /// The value with its unit, without its interval; or why it is unknown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.value, &self.unit) {
            (None, _) => write!(f, "unknown: {}", self.reason.as_deref().unwrap_or("no reason was given")),
            (Some(value), Some(unit)) if value.kind().unit().is_none() && value.number().is_some() => {
                write!(f, "{value} {unit}")
            }
            (Some(value @ (Value::Cycles(_) | Value::Nanoseconds(_))), Some(unit)) => write!(f, "{value} {unit}"),
            (Some(value), _) => write!(f, "{value}"),
        }
    }
}

impl Finding<Json> {
    /// The same with the value that its JSON is.
    ///
    /// # Errors
    ///
    /// If the JSON is no value of this kind.
    pub(super) fn typed(mut self, kind: Kind) -> Result<Finding, String> {
        let value = self.value.take().map(|json| kind.read(json)).transpose()?;
        Ok(self.with(|_| value))
    }
}

/// Findings of a part of a characterization, of which no registry knows the types. What is none of the kinds that this version
/// knows is left out, as unknown keys are.
pub(crate) mod by_name {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer};

    use super::{Finding, Json, Value};

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Finding>, D::Error> {
        let all = BTreeMap::<String, Finding<Json>>::deserialize(deserializer)?;
        let typed = |(name, mut finding): (String, Finding<Json>)| {
            let value = match finding.value.take() {
                Some(json) => Some(Value::of_unit(json, finding.unit.as_deref()).ok()?),
                None => None,
            };
            Some((name, finding.with(|_| value)))
        };
        Ok(all.into_iter().filter_map(typed).collect())
    }
}

/// A number with a unit.
pub trait Quantity {
    /// The nearest one to this number in its unit.
    fn from_number(number: f64) -> Self;
}

impl Quantity for Bytes {
    fn from_number(number: f64) -> Self {
        Bytes(number.round() as u64)
    }
}

impl Quantity for crate::units::BytesPerSecond {
    fn from_number(number: f64) -> Self {
        crate::units::BytesPerSecond(number)
    }
}

impl Quantity for crate::units::BytesPerClock {
    fn from_number(number: f64) -> Self {
        crate::units::BytesPerClock(number)
    }
}

impl Quantity for crate::units::OperationsPerSecond {
    fn from_number(number: f64) -> Self {
        crate::units::OperationsPerSecond(number)
    }
}

impl Quantity for crate::units::OperationsPerClock {
    fn from_number(number: f64) -> Self {
        crate::units::OperationsPerClock(number)
    }
}

impl Quantity for Cycles {
    fn from_number(number: f64) -> Self {
        Cycles(number)
    }
}

impl Quantity for Nanoseconds {
    fn from_number(number: f64) -> Self {
        Nanoseconds(number)
    }
}

impl Quantity for u64 {
    fn from_number(number: f64) -> Self {
        number.round() as u64
    }
}

impl Quantity for f64 {
    fn from_number(number: f64) -> Self {
        number
    }
}

/// A value with all that it may be. Where only one end is known, the value is the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval<T> {
    /// The value.
    pub value: T,
    /// Its lower end.
    pub low: T,
    /// Its upper end.
    pub high: T,
    /// Confidence level; `None` where the interval is the observed range.
    pub level: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_keeps_the_type_of_its_value() {
        let finding = Finding::measured(Bytes(2048), "by hand").range(1984.0, 2048.0).any();
        assert_eq!(finding.unit.as_deref(), Some("B"));
        assert_eq!(finding.get::<Bytes>(), Some(&Bytes(2048)));
        assert_eq!((finding.get::<Cycles>(), finding.number()), (None, Some(2048.0)));
        let interval = finding.within::<Bytes>().unwrap();
        assert_eq!((interval.low, interval.value, interval.high), (Bytes(1984), Bytes(2048), Bytes(2048)));
        let unknown = Finding::<Bytes>::unknown("nobody looked").any();
        assert!(!unknown.is_known() && unknown.unit.is_none());
        assert_eq!((finding.to_string(), unknown.to_string()), ("2 KiB".into(), "unknown: nobody looked".into()));
        assert_eq!(Finding::measured(Cycles(40.5), "by hand").any().to_string(), "40.5 cycles");
    }
}
