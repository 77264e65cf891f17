//! Latency by what a load meets.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::experiment::LoadPath;

/// What has the data of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Data {
    /// The L1.
    L1,
    /// The L2.
    L2,
    /// Device memory.
    Memory,
}

impl Data {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Data::L1 => "l1",
            Data::L2 => "l2",
            Data::Memory => "memory",
        }
    }
}

/// How far the translation of an address went: `hit`, or the last TLB that missed, such as `l2 miss`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Translation {
    /// The first TLB has it.
    Hit,
    /// The TLBs up to this level miss; 1 is the first.
    Miss(u32),
}

impl fmt::Display for Translation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Translation::Hit => f.write_str("hit"),
            Translation::Miss(level) => write!(f, "l{level} miss"),
        }
    }
}

impl FromStr for Translation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let level = || text.strip_prefix('l')?.strip_suffix(" miss")?.parse().ok();
        match text {
            "hit" => Ok(Translation::Hit),
            _ => {
                level().map(Translation::Miss).ok_or_else(|| format!("`{text}` is neither `hit` nor such as `l1 miss`"))
            }
        }
    }
}

impl Serialize for Translation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Translation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Translation {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Translation".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(hit|l[0-9]+ miss)$" })
    }
}

/// A path of loads by its short name.
mod path_name {
    use super::{Deserialize, Deserializer, LoadPath, Serializer, de};

    pub fn serialize<S: Serializer>(path: &LoadPath, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(path.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LoadPath, D::Error> {
        let name = String::deserialize(deserializer)?;
        let path = LoadPath::ALL.into_iter().find(|path| path.name() == name);
        path.ok_or_else(|| de::Error::custom(format_args!("no path `{name}`")))
    }
}

/// Latency of the loads that meet one combination of data and translation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct SpectrumRow {
    /// The path, `cg` or `ca`.
    #[serde(with = "path_name")]
    #[schemars(with = "String")]
    pub path: LoadPath,
    /// Number of the pattern in table 3 of Mei et al.; null where it is not among those.
    #[serde(default)]
    pub pattern: Option<u32>,
    /// What has the data.
    pub data: Data,
    /// How far translation went.
    pub translation: Translation,
    /// Median, in cycles.
    pub cycles: f64,
    /// Nineteen of twenty loads take longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// One of twenty loads takes longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Loads that it is the median of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loads: Option<u64>,
}

/// Latencies by what loads meet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Spectrum(pub Vec<SpectrumRow>);
