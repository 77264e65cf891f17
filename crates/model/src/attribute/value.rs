//! The value of an attribute, and the properties of each type of value.

use schemars::{Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value as Json;

use super::{
    BankCurve, Configuration, Counts, Curve, Elements, Fetches, Hints, IndexFunction, Launches, Padding, Policy, Sizes,
    SmMap, Spectrum, Ways,
};
use crate::units::{
    Bytes, BytesPerClock, BytesPerSecond, Cycles, Nanoseconds, OperationsPerClock, OperationsPerSecond,
};

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// Two numbers differ if their intervals do not overlap.
    Interval,
    /// The values are equal or not.
    Exact,
    /// As sets: the order says nothing.
    Set,
    /// Point by point, where both have one at the same place.
    Points,
    /// Part by part, each part as the attribute that it is in the whole.
    Parts,
}

/// A type that a value may have.
pub trait Typed: Sized + Clone + Into<Value> {
    /// Its kind.
    const KIND: Kind;

    /// The unit of a finding of this type, where the type says it.
    const UNIT: Option<&'static str> = None;

    /// The value, if it is of this type.
    fn of(value: &Value) -> Option<&Self>;
}

macro_rules! values {
    ($($(#[$doc:meta])* $kind:ident($type:ty), $words:literal, $compared:ident $(, $unit:literal)?;)*) => {
        /// A value of an attribute or of another finding, in its own type.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Value {
            $($(#[$doc])* $kind($type),)*
        }

        /// Kinds of values.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Value {
            /// Its kind.
            pub const fn kind(&self) -> Kind {
                match self {
                    $(Value::$kind(_) => Kind::$kind,)*
                }
            }
        }

        impl Kind {
            /// In words, such as `bytes`.
            pub const fn words(self) -> &'static str {
                match self {
                    $(Kind::$kind => $words,)*
                }
            }

            /// How two values of this kind are compared.
            pub const fn compared(self) -> Compared {
                match self {
                    $(Kind::$kind => Compared::$compared,)*
                }
            }

            /// The unit that goes without saying for this kind.
            pub const fn unit(self) -> Option<&'static str> {
                match self {
                    $(Kind::$kind => <$type as Typed>::UNIT,)*
                }
            }

            /// Reads a value of this kind.
            ///
            /// # Errors
            ///
            /// If the JSON is no such value; the message says what is wrong.
            pub fn read(self, json: Json) -> Result<Value, String> {
                fn typed<T: DeserializeOwned>(kind: Kind, json: Json) -> Result<T, String> {
                    serde_json::from_value(json).map_err(|error| format!("not {}: {error}", kind.words()))
                }
                Ok(match self {
                    $(Kind::$kind => Value::$kind(typed(self, json)?),)*
                })
            }

            /// The JSON schema of a value of this kind.
            pub(crate) fn schema(self, generator: &mut SchemaGenerator) -> Schema {
                match self {
                    $(Kind::$kind => generator.subschema_for::<$type>(),)*
                }
            }
        }

        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Value::$kind(value)
            }
        }

        impl Typed for $type {
            const KIND: Kind = Kind::$kind;
            $(const UNIT: Option<&'static str> = Some($unit);)?

            fn of(value: &Value) -> Option<&Self> {
                if let Value::$kind(value) = value { Some(value) } else { None }
            }
        })*
    };
}

values! {
    /// Yes or no.
    Flag(bool), "yes or no", Exact;
    /// A number of bytes.
    Bytes(Bytes), "a number of bytes", Interval, "B";
    /// A number of cycles.
    Cycles(Cycles), "a number of cycles", Interval, "cycles";
    /// A time.
    Nanoseconds(Nanoseconds), "a number of nanoseconds", Interval, "ns";
    /// How many there are.
    Count(u64), "a count", Interval;
    /// Another number: a share, a ratio, a percentage, a mean count.
    Number(f64), "a number", Interval;
    /// Words.
    Text(String), "text", Exact;
    /// Several sizes.
    Sizes(Sizes), "a list of sizes", Exact;
    /// How many of several things.
    Counts(Counts), "a list of counts", Exact;
    /// Lines of a set.
    Ways(Ways), "a count, or a list of counts", Interval;
    /// An index function.
    Index(IndexFunction), "an index function", Exact;
    /// A replacement policy.
    Policy(Policy), "a replacement policy", Exact;
    /// A curve by footprint.
    Curve(Curve), "a curve by footprint", Points;
    /// A set of elements.
    Elements(Elements), "a set of elements", Set;
    /// A map of SMs.
    SmMap(SmMap), "a map of the SMs", Points;
    /// A latency spectrum.
    Spectrum(Spectrum), "a list of latencies", Points;
    /// A configuration of a cache.
    Configuration(Configuration), "a configuration of a cache", Parts;
    /// Paddings.
    Padding(Padding), "a table of paddings", Points;
    /// A curve by stride.
    BankCurve(BankCurve), "a curve by stride", Points;
    /// Sizes by launch.
    Launches(Launches), "a list of sizes by launch", Points;
    /// What accesses leave in a cache.
    Hints(Hints), "a list of accesses and what becomes of their lines", Exact;
    /// What a cache fetches.
    Fetches(Fetches), "a list of accesses and the bytes that are fetched for them", Exact;
    /// A throughput.
    Rate(BytesPerSecond), "a number of bytes a second", Interval, "B/s";
    /// A throughput by the clock.
    ClockRate(BytesPerClock), "a number of bytes a cycle", Interval, "B/clk";
    /// A throughput of operations.
    OperationRate(OperationsPerSecond), "a number of operations a second", Interval, "op/s";
    /// A throughput of operations by the clock.
    OperationClockRate(OperationsPerClock), "a number of operations a cycle", Interval, "op/clk";
}

impl Kind {
    /// Whether values of this kind are counted, named or built, so that two of the same thing are equal: no number that is
    /// measured, and no curve.
    pub const fn is_discrete(self) -> bool {
        match self.compared() {
            Compared::Exact | Compared::Set => true,
            Compared::Interval => matches!(self, Kind::Count | Kind::Ways),
            Compared::Points | Compared::Parts => false,
        }
    }
}

impl Value {
    /// The value as a number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Bytes(Bytes(bytes)) => Some(*bytes as f64),
            Value::Cycles(Cycles(x))
            | Value::Nanoseconds(Nanoseconds(x))
            | Value::Rate(BytesPerSecond(x))
            | Value::ClockRate(BytesPerClock(x))
            | Value::OperationRate(OperationsPerSecond(x))
            | Value::OperationClockRate(OperationsPerClock(x))
            | Value::Number(x) => Some(*x),
            Value::Count(count) | Value::Ways(Ways::Equal(count)) => Some(*count as f64),
            _ => None,
        }
    }

    /// Items of the value, and every 64 bytes of its texts: what it takes to compare it.
    pub fn weight(&self) -> usize {
        let texts = |all: &[String]| all.iter().map(|text| 1 + text.len() / 64).sum::<usize>();
        let policy = |policy: &Policy| match policy {
            Policy::Weighted(odds) => odds.probabilities.len(),
            other => other.name().len() / 64,
        };
        let index = |index: &IndexFunction| match index {
            IndexFunction::Bits { bits } => bits.len(),
            IndexFunction::Parity { masks } => masks.len(),
            IndexFunction::Modulo { .. } => 1,
        };
        1 + match self {
            Value::Text(text) => text.len() / 64,
            Value::Sizes(Sizes(all)) => all.len(),
            Value::Counts(Counts(all)) => all.len(),
            Value::Ways(ways) => ways.list().len(),
            Value::Index(function) => index(function),
            Value::Policy(replacement) => policy(replacement),
            Value::Curve(Curve(points)) => 4 * points.len(),
            Value::Elements(Elements { names, others }) => names.len() + texts(others),
            Value::SmMap(SmMap(all)) => all.iter().map(|sm| 4 + 4 * sm.latency.len()).sum(),
            Value::Spectrum(Spectrum(rows)) => 8 * rows.len(),
            Value::Padding(Padding(rows)) => 3 * rows.len(),
            Value::BankCurve(BankCurve(points)) => 7 * points.len(),
            Value::Launches(Launches(rows)) => 8 * rows.len(),
            Value::Hints(Hints(rows)) => rows.len(),
            Value::Fetches(Fetches(rows)) => rows.len(),
            Value::Configuration(Configuration { ways, index: function, replacement, misses, .. }) => {
                ways.as_ref().map_or(0, |ways| ways.list().len())
                    + function.as_ref().map_or(0, index)
                    + replacement.as_ref().map_or(0, policy)
                    + misses.as_ref().map_or(0, |misses| 4 * misses.0.len())
            }
            _ => 0,
        }
    }

    /// Reads a value of which only its shape and its unit say what it is, as of a finding of a characterization or of a
    /// comparison: a number, a text, yes or no, a list of sizes, a set of elements, a table of paddings, an index function or
    /// a replacement policy.
    ///
    /// # Errors
    ///
    /// If it is none of these.
    pub fn of_unit(json: Json, unit: Option<&str>) -> Result<Value, String> {
        let kind = match (&json, unit) {
            (Json::Bool(_), _) => Kind::Flag,
            (Json::String(_), _) => Kind::Text,
            (Json::Number(number), Some("B")) if number.is_u64() => Kind::Bytes,
            (Json::Number(_), Some("cycles")) => Kind::Cycles,
            (Json::Number(_), Some("ns")) => Kind::Nanoseconds,
            (Json::Number(_), Some("B/s")) => Kind::Rate,
            (Json::Number(_), Some("B/clk")) => Kind::ClockRate,
            (Json::Number(_), Some("op/s")) => Kind::OperationRate,
            (Json::Number(_), Some("op/clk")) => Kind::OperationClockRate,
            (Json::Number(number), None) if number.is_u64() => Kind::Count,
            (Json::Number(_), _) => Kind::Number,
            (Json::Array(items), _) if items.iter().all(Json::is_u64) => Kind::Sizes,
            (Json::Array(items), _) if items.iter().all(Json::is_string) => Kind::Elements,
            (Json::Array(items), _) if items.iter().all(Json::is_object) => Kind::Padding,
            (Json::Object(fields), _) if fields.contains_key("kind") => Kind::Index,
            (Json::Object(fields), _) if fields.contains_key("policy") => Kind::Policy,
            _ => return Err("no value of a kind that this version knows".into()),
        };
        kind.read(json)
    }
}

impl<'de> Deserialize<'de> for Value {
    /// As [`Value::of_unit`], of a value without a unit.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::of_unit(Json::deserialize(deserializer)?, None).map_err(de::Error::custom)
    }
}
