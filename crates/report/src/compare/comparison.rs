//! The answer of a comparison, as its JSON has it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strata_model::attribute::Value;

/// Name and version of the JSON document.
pub const SCHEMA: &str = "strata/comparison/1";

/// What one side is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A result of `strata discover`.
    Topology,
    /// A result of `strata characterize`.
    Characterization,
    /// The summary that MT4G writes.
    Mt4g,
    /// The bandwidths and latencies that nvbandwidth writes.
    Nvbandwidth,
    /// Published values that come with this program.
    Reference,
}

/// One of the two sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// The file, or `reference:NAME`.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The GPU, as its driver names it; of a reference, what was matched and by what.
    pub device: String,
    /// UUID of the GPU, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// No hardware was measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
    /// Version of the driver, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// CPU, memory, operating system and kernel of the host, where they are known. They decide nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// How it was made: program, effort, seed, time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
}

/// How sure a published value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Surety {
    /// Read in the source itself.
    Read,
    /// Recalled from the literature.
    Recalled,
}

/// Where a published value is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Citation {
    /// The GPU that it was published for.
    pub product: String,
    /// Key of the source, and where in it: `mei, table 4`.
    pub source: String,
    /// Author, title and year of the source.
    pub title: String,
    /// How sure it is.
    pub surety: Surety,
}

/// What one side says of a place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stated {
    /// Number, text, list or object; null where only an interval or bound is known, and for curves.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schemars(required, with = "serde_json::Value")]
    pub value: Option<Value>,
    /// Unit of `value`, `low` and `high`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Lower end of the interval, or lower bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Points of a curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<usize>,
    /// Which of several numbers for one quantity it is, such as `p50`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistic: Option<String>,
    /// Of a published value, where it is from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citation: Option<Citation>,
    /// What the reader should know besides, of published values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What both sides say of a place, and whether they agree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Subject and name, such as `l2 latency.cycles`.
    pub place: String,
    /// What A says.
    pub a: Stated,
    /// What B says.
    pub b: Stated,
    /// Whether they agree; null where they have nothing in common that could be compared.
    pub agrees: Option<bool>,
    /// How far the two intervals lie apart, in per cent of the larger value; of curves the largest of its points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart_percent: Option<f64>,
    /// Of curves, how many points of those that both have differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points_differ: Option<usize>,
    /// Of curves, how many points both have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points_compared: Option<usize>,
    /// Why they differ or cannot be compared, where no number says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// What one side alone knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Single {
    /// Subject and name.
    pub place: String,
    /// What is known.
    pub stated: Stated,
    /// Why the other side does not know.
    pub reason: String,
}

/// What is required and not known on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unmet {
    /// Subject and name.
    pub place: String,
    /// Why A does not know it; absent where A does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
    /// Why B does not know it; absent where B does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b: Option<String>,
    /// Why it could not be compared though both know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// The whole answer. Of a place that one side has several values for, each pair is a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The first side.
    pub a: Side,
    /// The second side.
    pub b: Side,
    /// Distances of up to this many per cent of the larger value count as none.
    pub tolerance_percent: f64,
    /// Values compared that have an interval at a level. They share one chance of a false difference, so the more there are, the
    /// wider each interval counts.
    #[serde(default)]
    pub intervals_compared: usize,
    /// What alone was compared; empty for all.
    pub only: Vec<String>,
    /// What must be known on both sides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
    /// What is different about the two sides themselves.
    pub remarks: Vec<String>,
    /// Nothing differs and what is required is known: exit status 0.
    pub same: bool,
    /// What is required and not known on both sides; each counts as a difference.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<Unmet>,
    /// What differs: what is not a number first, then the furthest apart.
    pub differs: Vec<Row>,
    /// Where sources contradict each other, and some agree.
    pub contested: Vec<Row>,
    /// What cannot be compared.
    pub incomparable: Vec<Row>,
    /// Published for another product of the same architecture; decides nothing.
    pub context: Vec<Row>,
    /// What only A knows.
    pub only_a: Vec<Single>,
    /// What only B knows.
    pub only_b: Vec<Single>,
    /// What agrees.
    pub agrees: Vec<Row>,
    /// Places that neither side knows.
    pub unknown: Vec<String>,
}

impl Stated {
    /// Whether it is more than a bound: a value, a curve, or a range with both ends.
    pub fn is_whole(&self) -> bool {
        self.value.is_some() || self.points.is_some() || (self.low.is_some() && self.high.is_some())
    }
}

impl Comparison {
    /// Whether anything was compared at all.
    pub fn compared(&self) -> bool {
        [&self.differs, &self.contested, &self.context, &self.agrees].iter().any(|rows| !rows.is_empty())
    }

    /// The same with the name of a GPU or link before each place.
    pub(super) fn named(mut self, name: &str) -> Self {
        let rename = |place: &mut String| *place = format!("{name} {place}");
        let rows =
            [&mut self.differs, &mut self.contested, &mut self.incomparable, &mut self.context, &mut self.agrees];
        rows.into_iter().flatten().for_each(|row| rename(&mut row.place));
        [&mut self.only_a, &mut self.only_b].into_iter().flatten().for_each(|single| rename(&mut single.place));
        self.unmet.iter_mut().for_each(|unmet| rename(&mut unmet.place));
        self.unknown.iter_mut().for_each(rename);
        self
    }

    /// This comparison and that of another GPU or link of the same two files.
    pub(super) fn and(mut self, other: Comparison) -> Self {
        self.a.merge(&other.a);
        self.b.merge(&other.b);
        self.intervals_compared += other.intervals_compared;
        self.remarks
            .extend(other.remarks.into_iter().filter(|remark| !self.remarks.contains(remark)).collect::<Vec<_>>());
        self.same &= other.same;
        self.unmet.extend(other.unmet);
        for (rows, others) in [
            (&mut self.differs, other.differs),
            (&mut self.contested, other.contested),
            (&mut self.incomparable, other.incomparable),
            (&mut self.context, other.context),
            (&mut self.agrees, other.agrees),
        ] {
            rows.extend(others);
        }
        self.only_a.extend(other.only_a);
        self.only_b.extend(other.only_b);
        self.unknown.extend(other.unknown);
        self.sort();
        self
    }

    /// What is no number (or no point of a number) is a difference of kind, and stands first.
    pub(super) fn sort(&mut self) {
        let distance = |row: &Row| row.apart_percent.unwrap_or(f64::INFINITY);
        self.differs.sort_by(|x, y| distance(y).total_cmp(&distance(x)));
    }
}

impl Side {
    /// Leaves out what is not said of both.
    fn merge(&mut self, other: &Side) {
        if self.device != other.device {
            self.device = "GPUs of several products".into();
        }
        self.uuid.take_if(|uuid| other.uuid.as_ref() != Some(uuid));
    }
}
