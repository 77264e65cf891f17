//! What access patterns cost: parts, each with its figures, findings and sentences.
//!
//! As in [`crate::topology`], "unknown" is a result and carries its reason.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::DeviceFacts;
use crate::names;
use crate::pattern::{MOST_VARIABLES, STATEMENTS_A_PASS};
use crate::topology::{Finding, RunInfo, by_name};

/// Name and version of the JSON document.
pub const SCHEMA: &str = "strata/characterization/1";

/// The experiments that there are, in the order of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PartName {
    /// How far apart two loads may be until the second one misses, by path (Fuchs et al., section 3.4.1).
    Locality,
    /// What barriers cost (section 3.4.2).
    Synchronization,
    /// What lost coalescing costs (section 3.4.3).
    Coalescing,
    /// What register spilling costs (section 3.4.4).
    Spilling,
    /// Strides and padding in shared memory.
    Banks,
    /// One address for the warp against several.
    Constant,
    /// The read-only path against the L1.
    ReadOnly,
    /// A CUDA array against linear memory.
    #[serde(rename = "texture_2d")]
    Texture2d,
    /// Counting by global and by shared atomics.
    Histogram,
    /// Arithmetic to a load.
    Intensity,
    /// A CUDA array of three dimensions against linear memory.
    #[serde(rename = "texture_3d")]
    Texture3d,
    /// Operands in registers, in shared memory and in the L1.
    Operands,
    /// Operations a byte at which each memory stops being the limit (Williams et al., 2009).
    Roofline,
}

impl PartName {
    /// All of them, in the order of a report.
    pub const ALL: [PartName; 13] = [
        PartName::Locality,
        PartName::Synchronization,
        PartName::Coalescing,
        PartName::Spilling,
        PartName::Banks,
        PartName::Constant,
        PartName::ReadOnly,
        PartName::Texture2d,
        PartName::Histogram,
        PartName::Intensity,
        PartName::Texture3d,
        PartName::Operands,
        PartName::Roofline,
    ];

    /// Whether it is measured only where it is named: the bandwidths that it needs take long in a simulation.
    pub const fn is_on_request(self) -> bool {
        matches!(self, PartName::Roofline)
    }

    /// The JSON key, also the name on the command line.
    pub const fn key(self) -> &'static str {
        match self {
            PartName::Locality => "locality",
            PartName::Synchronization => "synchronization",
            PartName::Coalescing => "coalescing",
            PartName::Spilling => "spilling",
            PartName::Banks => "banks",
            PartName::Constant => "constant",
            PartName::ReadOnly => "read_only",
            PartName::Texture2d => "texture_2d",
            PartName::Histogram => "histogram",
            PartName::Intensity => "intensity",
            PartName::Texture3d => "texture_3d",
            PartName::Operands => "operands",
            PartName::Roofline => "roofline",
        }
    }

    /// The heading in a report.
    pub const fn title(self) -> &'static str {
        match self {
            PartName::Locality => "Locality",
            PartName::Synchronization => "Synchronization",
            PartName::Coalescing => "Coalescing",
            PartName::Spilling => "Register spilling",
            PartName::Banks => "Shared memory banks",
            PartName::Constant => "Constant memory",
            PartName::ReadOnly => "Read-only path",
            PartName::Texture2d => "Textures of two dimensions",
            PartName::Histogram => "Histogram",
            PartName::Intensity => "Arithmetic intensity",
            PartName::Texture3d => "Textures of three dimensions",
            PartName::Operands => "Operands in registers, shared memory and the L1",
            PartName::Roofline => "Roofline",
        }
    }

    /// What a programmer does about it, in one sentence that holds on every GPU.
    pub const fn advice(self) -> &'static str {
        match self {
            PartName::Locality => "Place together what is used together, aligned to the bytes that one load fetches.",
            PartName::Synchronization => {
                "Use the barrier of the smallest group that shares data, and as few as possible."
            }
            PartName::Coalescing => "Let neighbouring threads access neighbouring words.",
            PartName::Spilling => {
                "Keep few values alive in a thread, or start smaller blocks, so that registers hold them."
            }
            PartName::Banks => "Pad the rows of shared arrays, or use an odd stride in words.",
            PartName::Constant => "Use constant memory where all lanes of a warp read the same word.",
            PartName::ReadOnly => "Use `ld.global.nc` (`__ldg`) where it is faster here.",
            PartName::Texture2d => {
                "Use a CUDA array for the orders in which it is faster here, or where a filter is needed."
            }
            PartName::Histogram => "Where shared atomics are faster, count in shared memory and merge at the end.",
            PartName::Intensity => {
                "Reuse each loaded word for as many operations: keep tiles in registers and shared memory."
            }
            PartName::Texture3d => "Use a CUDA array for the orders in which it is faster here.",
            PartName::Operands => "Keep operands that are used again in registers.",
            PartName::Roofline => {
                "Count the operations and the bytes of a kernel: the memory of which it needs the largest share is its limit."
            }
        }
    }
}

impl fmt::Display for PartName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}

impl FromStr for PartName {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        PartName::ALL
            .into_iter()
            .find(|e| e.key() == s)
            .ok_or_else(|| format!("no part `{s}`; {}", names::advice(s, PartName::ALL.map(PartName::key))))
    }
}

/// What was asked for, besides device, effort and seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Suite {
    /// Parts; when empty, all but those on request ([`PartName::is_on_request`]).
    pub parts: Vec<PartName>,
    /// Thread counts of a block.
    pub threads: Vec<u32>,
    /// Distances from thread to thread, in bytes.
    pub distances: Vec<u64>,
    /// Jumps within a pair of loads, in bytes.
    pub jumps: Vec<u64>,
    /// Barriers in all, while each thread writes [`WRITES`] words.
    #[serde(default = "barriers")]
    pub barriers: Vec<u32>,
    /// Variables of 64 bits; when empty, the powers of two up to 2048, or up to 256 with quick effort.
    #[serde(default)]
    pub variables: Vec<u32>,
    /// Statements that add these variables up.
    #[serde(default = "statements")]
    pub statements: u32,
}

/// Numbers of barriers: Fuchs et al., section 3.4.2.
fn barriers() -> Vec<u32> {
    (0..=WRITES.ilog2()).map(|power| 1 << power).collect()
}

/// Statements: Fuchs et al., section 3.4.4.
const fn statements() -> u32 {
    4096
}

/// Words that each thread writes among the barriers: Fuchs et al., section 3.4.2.
pub const WRITES: u32 = 1024;

impl Default for Suite {
    /// As the papers have it: Fuchs et al., section 3.4.
    fn default() -> Self {
        let powers = |from: u32, to: u32| (from..=to).map(|power| 1u64 << power);
        Suite {
            parts: Vec::new(),
            threads: powers(0, 10).map(|t| t as u32).collect(),
            distances: powers(2, 10).collect(),
            jumps: powers(0, 9).collect(),
            barriers: barriers(),
            variables: Vec::new(),
            statements: statements(),
        }
    }
}

impl Suite {
    /// What makes it impossible to ask, if anything does. Counts, distances and jumps have to be ascending, without repetition.
    pub fn defect(&self) -> Option<String> {
        fn list<T: PartialOrd + fmt::Display>(
            what: &str,
            all: &[T],
            allowed: impl Fn(&T) -> bool,
            range: &str,
        ) -> Option<String> {
            if let Some(other) = all.iter().find(|x| !allowed(x)) {
                return Some(format!("{what} {other}: allowed are {range}"));
            }
            (all.is_empty() || !all.is_sorted_by(|a, b| a < b))
                .then(|| format!("{what}: at least one is needed, in ascending order, each once"))
        }
        list("threads", &self.threads, |t| (1..=MOST_THREADS).contains(t), "1 to 1024")
            .or_else(|| {
                let allowed = |d: &u64| (4..=MOST_DISTANCE).contains(d) && d.is_multiple_of(4);
                list("distance", &self.distances, allowed, "multiples of 4 B from 4 to 4096")
            })
            .or_else(|| list("jump", &self.jumps, |j| (1..=MOST_JUMP).contains(j), "1 to 2048 B"))
            .or_else(|| {
                let allowed = |n: &u32| *n > 0 && WRITES.is_multiple_of(*n);
                list("barriers", &self.barriers, allowed, "powers of two from 1 to 1024")
            })
            .or_else(|| {
                let allowed = |n: &u32| (2..=MOST_VARIABLES).contains(n);
                let range = "2 to 2048";
                (!self.variables.is_empty()).then(|| list("variables", &self.variables, allowed, range)).flatten()
            })
            .or_else(|| {
                let allowed = (1..=MOST_STATEMENTS).contains(&self.statements)
                    && self.statements.is_multiple_of(STATEMENTS_A_PASS);
                let what = self.statements;
                (!allowed).then(|| format!("statements {what}: allowed are multiples of 256 from 256 to 65536"))
            })
    }

    /// With its lists ascending and without repetition.
    pub fn sorted(mut self) -> Self {
        fn sort<T: Ord>(all: &mut Vec<T>) {
            all.sort_unstable();
            all.dedup();
        }
        sort(&mut self.parts);
        sort(&mut self.threads);
        sort(&mut self.distances);
        sort(&mut self.jumps);
        sort(&mut self.barriers);
        sort(&mut self.variables);
        self
    }
}

/// Most threads of a block on any GPU.
const MOST_THREADS: u32 = 1024;
/// Largest distance from thread to thread: 32 times a line.
const MOST_DISTANCE: u64 = 4096;
/// Largest jump within a pair of loads: pairs are further apart than it.
const MOST_JUMP: u64 = 2048;

/// Most statements: sixteen times the paper's, which take milliseconds.
const MOST_STATEMENTS: u32 = 65536;

/// An axis of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// What it shows.
    pub label: String,
    /// Unit of its numbers: `B`, `cycles`, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Its numbers are powers of two, or nearly so: each takes an equal step.
    pub doubling: bool,
    /// Its numbers are places in this list; empty where they are numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// A point of a figure: a measured value with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Place on the x axis.
    pub x: f64,
    /// Median.
    pub value: f64,
    /// Least observed.
    pub low: f64,
    /// Greatest observed.
    pub high: f64,
    /// The same in nanoseconds, where the figure shows cycles and the SM clock could be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns: Option<Time>,
    /// Numbers of the experiments that it rests on.
    pub experiments: Vec<u32>,
}

/// A time in nanoseconds with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Time {
    /// The median's cycles at the SM clock measured in the run.
    pub value: f64,
    /// The fewest cycles at the fastest clock.
    pub low: f64,
    /// The most cycles at the slowest clock.
    pub high: f64,
}

/// A line of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Line {
    /// Its name.
    pub label: String,
    /// Its points, ascending.
    pub points: Vec<Point>,
    /// Why points are missing, where any are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What is missing was tried and failed (exit status 4), as opposed to what this device cannot do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
}

impl Line {
    /// The point at a place.
    pub fn at(&self, x: f64) -> Option<&Point> {
        self.points.iter().find(|point| point.x == x)
    }

    /// The same places with what `of` makes of each point.
    pub fn map(&self, of: impl Fn(&Point) -> Option<Point>) -> Line {
        Line { points: self.points.iter().filter_map(of).collect(), ..self.clone() }
    }
}

/// A table of measured points that is drawn as lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Its key in the part: a word.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<Line>,
}

/// One experiment's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// What was asked, in a sentence.
    pub question: String,
    /// What the answer means for a kernel on this GPU: sentences made of the numbers below.
    pub meaning: Vec<String>,
    /// Numbers that were fitted or computed, by name.
    #[serde(deserialize_with = "by_name::deserialize")]
    pub findings: BTreeMap<String, Finding>,
    /// The findings in cycles as times in nanoseconds, by the same names.
    #[serde(default, deserialize_with = "by_name::deserialize", skip_serializing_if = "BTreeMap::is_empty")]
    pub times: BTreeMap<String, Finding>,
    /// Every point.
    pub figures: Vec<Figure>,
    /// Why there is no answer at all, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<Finding>,
}

/// The whole answer. Within version 1 keys may be added, so that a reader passes over those that it does not know; none is
/// taken away and none changes its meaning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Characterization {
    /// Name and version of the format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// What the driver says of the device.
    pub device: DeviceFacts,
    /// How the run was made.
    pub run: RunInfo,
    /// What was asked for.
    pub asked: Suite,
    /// What was found.
    pub parts: BTreeMap<PartName, Part>,
    /// The recording that this was replayed from, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed_from: Option<String>,
}

impl Characterization {
    /// Whether something failed (exit status 4).
    pub fn is_partial(&self) -> bool {
        let line = |part: &Part| part.figures.iter().flat_map(|figure| &figure.lines).any(|line| line.failed);
        self.parts.values().any(|p| line(p) || p.findings.values().chain(&p.unanswered).any(|f| f.failed))
    }
}
