//! How a cache is made: misses by footprint, ways, index function, replacement policy, and who shares it.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::curve::Curve;
use crate::topology::ElementName;
use crate::units::Bytes;

/// Sizes in bytes, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Sizes(pub Vec<Bytes>);

/// How many there are of several things, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Counts(pub Vec<u64>);

/// Lines that a set holds: one number where all sets hold as many, otherwise a list in descending order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Ways {
    /// Every set holds as many.
    Equal(u64),
    /// The ways of each set.
    Each(Vec<u64>),
}

impl Ways {
    /// The ways of each kind of set: one number where all are equal.
    pub fn list(&self) -> &[u64] {
        match self {
            Ways::Equal(one) => std::slice::from_ref(one),
            Ways::Each(all) => all,
        }
    }
}

/// How an address finds its set or its partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schemars(inline)]
pub enum IndexFunction {
    /// Bits of the address are the number of the set or partition.
    Bits {
        /// Which bits, the lowest first; bit 0 is the lowest of the address in bytes.
        bits: Vec<u32>,
    },
    /// Each bit of that number is the parity of some bits of the address.
    Parity {
        /// The bits of each parity.
        masks: Vec<Mask>,
    },
    /// The number of the line modulo the number of sets.
    Modulo {
        /// The number of sets.
        sets: u64,
    },
}

impl IndexFunction {
    /// One mask for each bit of the number, which is the parity of the address under it; `None` for [`IndexFunction::Modulo`]. A bit that
    /// no address has makes a mask of 0.
    pub fn masks(&self) -> Option<Vec<u64>> {
        match self {
            IndexFunction::Bits { bits } => Some(bits.iter().map(|bit| 1u64.checked_shl(*bit).unwrap_or(0)).collect()),
            IndexFunction::Parity { masks } => Some(masks.iter().map(|mask| mask.0).collect()),
            IndexFunction::Modulo { .. } => None,
        }
    }
}

/// Bits of an address; in JSON a hexadecimal text such as `0x1080`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask(pub u64);

impl Serialize for Mask {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Mask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        digits.map(Mask).ok_or_else(|| de::Error::custom(format_args!("`{text}` is no hexadecimal number")))
    }
}

impl JsonSchema for Mask {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mask".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^0x[0-9a-f]+$" })
    }
}

/// Probabilities of a random choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Odds {
    /// Of each line, by the order of filling.
    pub probabilities: Vec<f64>,
    /// How many evictions were counted for them; `None` where they were not counted, or nobody says.
    pub counted: Option<u64>,
}

impl From<Vec<f64>> for Odds {
    /// Odds that were not counted.
    fn from(probabilities: Vec<f64>) -> Self {
        Odds { probabilities, counted: None }
    }
}

/// Which line a full set evicts.
#[derive(Clone, Debug, PartialEq)]
pub enum Policy {
    /// The least recently used one.
    Lru,
    /// The one that came first.
    Fifo,
    /// By a binary tree of pointers.
    Plru,
    /// By one bit for each line, which a use sets.
    BitPlru,
    /// Any, each as likely.
    Random,
    /// Any, with these probabilities by the order of filling.
    Weighted(Odds),
    /// A policy that only a newer version knows, by its name.
    Other(String),
}

impl Policy {
    /// Its name in JSON.
    pub fn name(&self) -> &str {
        match self {
            Policy::Lru => "lru",
            Policy::Fifo => "fifo",
            Policy::Plru => "plru",
            Policy::BitPlru => "bit_plru",
            Policy::Random => "random",
            Policy::Weighted(_) => "weighted",
            Policy::Other(name) => name,
        }
    }

    /// The policy of this name that needs nothing but its name.
    pub fn named(name: &str) -> Self {
        let known = [Policy::Lru, Policy::Fifo, Policy::Plru, Policy::BitPlru, Policy::Random];
        known.into_iter().find(|policy| policy.name() == name).unwrap_or_else(|| Policy::Other(name.to_owned()))
    }
}

/// A policy as JSON has it: its name, or an object for one with probabilities.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum WrittenPolicy {
    Named(String),
    Weighted {
        policy: String,
        probabilities: Vec<f64>,
        /// Evictions that were counted for the probabilities.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counted: Option<u64>,
    },
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let policy = self.name().to_owned();
        match self {
            Policy::Weighted(Odds { probabilities, counted }) => {
                WrittenPolicy::Weighted { policy, probabilities: probabilities.clone(), counted: *counted }
            }
            _ => WrittenPolicy::Named(policy),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match WrittenPolicy::deserialize(deserializer)? {
            WrittenPolicy::Named(name) => Policy::named(&name),
            WrittenPolicy::Weighted { policy, probabilities, counted } if policy == "weighted" => {
                Policy::Weighted(Odds { probabilities, counted })
            }
            WrittenPolicy::Weighted { policy, .. } => Policy::Other(policy),
        })
    }
}

impl JsonSchema for Policy {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Policy".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        WrittenPolicy::json_schema(generator)
    }
}

/// A set of elements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elements {
    /// The elements.
    pub names: Vec<ElementName>,
    /// Names that a file has and this version does not know.
    pub others: Vec<String>,
}

impl Elements {
    /// All names, as JSON has them.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| name.key()).chain(self.others.iter().map(String::as_str))
    }

    /// Whether this element is one of them.
    pub fn contains(&self, name: ElementName) -> bool {
        self.names.contains(&name)
    }
}

impl FromIterator<ElementName> for Elements {
    fn from_iter<I: IntoIterator<Item = ElementName>>(names: I) -> Self {
        Elements { names: names.into_iter().collect(), others: Vec::new() }
    }
}

impl<'a> FromIterator<&'a str> for Elements {
    fn from_iter<I: IntoIterator<Item = &'a str>>(keys: I) -> Self {
        let mut all = Elements::default();
        for key in keys {
            match key.parse() {
                Ok(name) => all.names.push(name),
                Err(_) => all.others.push(key.to_owned()),
            }
        }
        all
    }
}

impl Serialize for Elements {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.keys())
    }
}

impl<'de> Deserialize<'de> for Elements {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys = Vec::<String>::deserialize(deserializer)?;
        Ok(keys.iter().map(String::as_str).collect())
    }
}

impl JsonSchema for Elements {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Elements".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<String>::json_schema(generator)
    }
}

/// The same cache in another configuration. What is unknown is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Configuration {
    /// Usable capacity.
    pub size: Bytes,
    /// Sets.
    #[serde(default)]
    pub sets: Option<u64>,
    /// Lines of a set.
    #[serde(default)]
    pub ways: Option<Ways>,
    /// How an address finds its set.
    #[serde(default)]
    pub index: Option<IndexFunction>,
    /// Which line a full set evicts.
    #[serde(default)]
    pub replacement: Option<Policy>,
    /// Misses by footprint.
    #[serde(default)]
    pub misses: Option<Curve>,
}
