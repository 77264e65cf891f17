//! What is said of a fleet, as its JSON has it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strata_model::attribute::Value;

/// Name and version of the JSON document.
pub const SCHEMA: &str = "strata/fleet/1";

/// What many results say of the GPUs that they are of. Within version 1 keys may be added; none goes away or changes its meaning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fleet {
    /// Name and version of the format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// No GPU or link stands out or changed, and no host is missing: exit status 0.
    pub well: bool,
    /// Results that count.
    pub results: usize,
    /// GPUs. Results of one UUID are of one GPU; a result without a UUID is of a GPU of its own.
    pub gpus: usize,
    /// Links from one GPU to another.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub links: usize,
    /// When the first of these runs started, RFC 3339; absent where no result says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// When the last of these runs started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Versions of strata that measured, and how many results each made.
    pub versions: Vec<Counted>,
    /// A number stands out if it lies at least so many robust standard deviations from the median of its product …
    pub least_sigmas: f64,
    /// … and at least so many per cent of the median.
    pub least_percent: f64,
    /// What alone was looked at; empty for all.
    pub only: Vec<String>,
    /// The products, that with the most GPUs first.
    pub products: Vec<Product>,
    /// GPUs of which a later result differs from an earlier one.
    pub changed: Vec<Changed>,
    /// The hosts, if it was said which ones are expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
    /// Files that were not used, each with the reason.
    pub skipped: Vec<Skipped>,
    /// Reports of earlier fleets among the files.
    pub earlier_reports: usize,
    /// Files in folders that are not called `*.json`, or are hidden.
    pub passed_over: usize,
}

/// A word and how often it occurs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counted {
    /// The word.
    pub name: String,
    /// How many results have it.
    pub results: usize,
}

/// The GPUs of one name, or the links from them to those of another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Product {
    /// The name, as the driver has it; of MIG instances with their size, and of links with the name of the GPU whose memory it is.
    pub name: String,
    /// Links are counted here, and not GPUs, also where a key says `gpus`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_links: bool,
    /// No hardware was measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    /// Results.
    pub results: usize,
    /// GPUs; the last result of each counts.
    pub gpus: usize,
    /// Versions of the driver.
    pub drivers: Vec<Counted>,
    /// Layouts of the dies, the most frequent one first; empty where no result knows its GPCs.
    pub layouts: Vec<Layout>,
    /// What all say of each attribute.
    pub attributes: Vec<Spread>,
    /// GPUs that stand out, the furthest first.
    pub stand_out: Vec<StandsOut>,
}

/// Dies with GPCs of the same sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Layout {
    /// SMs of each GPC, in ascending order.
    pub gpcs: Vec<u64>,
    /// GPUs with this layout.
    pub gpus: usize,
    /// How many different maps of the SMs these GPUs have.
    pub maps: usize,
    /// The GPUs, unless this is the most frequent layout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<Gpu>,
}

/// What the GPUs of a product say of an attribute. Values in different units have a row for each unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Subject and name, such as `l2 latency.cycles`.
    pub place: String,
    /// Unit of all numbers of this row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// GPUs with a value.
    pub known: usize,
    /// GPUs of which the value is unknown, or only a bound of it is known.
    pub unknown: usize,
    /// Median of the numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median: Option<f64>,
    /// Median absolute deviation from the median, not scaled: half of the numbers lie within it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mad: Option<f64>,
    /// The least number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// The greatest number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greatest: Option<f64>,
    /// Of an attribute that is counted, named or built: its values, the most frequent first. At most 16; `other_values` counts the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Common>,
    /// How many more values there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub other_values: usize,
    /// GPUs that stand out here.
    pub stand_out: usize,
    /// Why nothing can stand out; absent where it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_judged: Option<String>,
}

/// A value and how many GPUs have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Common {
    /// Number, text, list or object.
    #[schemars(with = "serde_json::Value")]
    pub value: Value,
    /// GPUs with it.
    pub gpus: usize,
}

/// Which GPU or link it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Gpu {
    /// The host of the list of those that are expected, if the file's path has its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// File of its last result.
    pub file: String,
    /// The name that it has there, if that is a result of several GPUs or of links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// UUID, where the driver tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Of a link, UUID of the GPU whose memory it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// When that run started, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
}

/// A GPU that stands out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StandsOut {
    /// The GPU.
    pub gpu: Gpu,
    /// In what, the furthest first.
    pub outliers: Vec<Outlier>,
}

/// A value that stands out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outlier {
    /// Subject and name.
    pub place: String,
    /// The value.
    #[schemars(with = "serde_json::Value")]
    pub value: Value,
    /// Unit of the numbers here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Lower end of its interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of its interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// What it is held against: the median of the product, or what the majority has.
    #[schemars(with = "serde_json::Value")]
    pub expected: Value,
    /// Of a majority, how many GPUs have it; absent of a median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub majority: Option<usize>,
    /// GPUs with a value.
    pub known: usize,
    /// Distance from a number that is expected, in per cent of it; negative below. Absent where the expected number is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_percent: Option<f64>,
    /// Distance from the median in robust standard deviations (1.4826 times the median absolute deviation). Absent where more than
    /// half of the GPUs have the same number, so that the deviation is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_sigmas: Option<f64>,
}

/// A GPU that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    /// The GPU.
    pub gpu: Gpu,
    /// Its product.
    pub product: String,
    /// How many results there are of it.
    pub results: usize,
    /// What changed, by time.
    pub changes: Vec<Change>,
}

/// A value that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Subject and name.
    pub place: String,
    /// Unit of the numbers here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// What it was.
    pub before: Moment,
    /// What it became.
    pub after: Moment,
    /// How far it moved, in per cent of the number before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_percent: Option<f64>,
}

/// A value at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// The result's file.
    pub file: String,
    /// When its run started, RFC 3339.
    pub started: String,
    /// The value.
    #[schemars(with = "serde_json::Value")]
    pub value: Value,
    /// Lower end of its interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of its interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

/// The hosts of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hosts {
    /// How many are expected.
    pub expected: usize,
    /// Those without a result, in the order of the list.
    pub missing: Vec<Missing>,
    /// Files of results whose paths have the name of no host on the list.
    pub unlisted: Vec<String>,
}

/// A host without a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// Its name.
    pub host: String,
    /// Its file, if there is one that could not be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// A file that was not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// The file.
    pub file: String,
    /// Why.
    pub reason: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
