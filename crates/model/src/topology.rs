//! The answer: elements, each attribute a [`Finding`].
//!
//! "Unknown" is a result and carries its reason. A value from the driver never takes the place of a measured one: where
//! both exist, both are here.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::facts::{DeviceFacts, Telemetry};

/// Name and version of the JSON document.
pub const SCHEMA: &str = "strata/topology/1";

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
#[schemars(extend("if" = { "properties": { "value": { "type": "null" } } }))]
#[schemars(extend("then" = { "required": ["reason"] }, "else" = { "required": ["source", "method"] }))]
pub struct Finding {
    /// Number, text, list or object; null when unknown.
    pub value: Value,
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

impl Finding {
    fn new(value: Value, source: Option<Provenance>) -> Self {
        Finding {
            value,
            unit: None,
            low: None,
            high: None,
            level: None,
            source,
            method: None,
            experiments: Vec::new(),
            note: None,
            reason: None,
            failed: false,
        }
    }

    /// A measured value.
    pub fn measured(value: impl Into<Value>, method: impl Into<String>) -> Self {
        Finding { method: Some(method.into()), ..Finding::new(value.into(), Some(Provenance::Measured)) }
    }

    /// A value from the driver or a table.
    pub fn from_driver(value: impl Into<Value>, method: impl Into<String>) -> Self {
        Finding { method: Some(method.into()), ..Finding::new(value.into(), Some(Provenance::Driver)) }
    }

    /// A value computed from other findings.
    pub fn derived(value: impl Into<Value>, method: impl Into<String>) -> Self {
        Finding { method: Some(method.into()), ..Finding::new(value.into(), Some(Provenance::Derived)) }
    }

    /// No value, and why.
    pub fn unknown(reason: impl Into<String>) -> Self {
        Finding { reason: Some(reason.into()), ..Finding::new(Value::Null, None) }
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

    /// Whether there is a value.
    pub fn is_known(&self) -> bool {
        !self.value.is_null()
    }

    /// The value as a number.
    pub fn number(&self) -> Option<f64> {
        self.value.as_f64()
    }
}

/// A latency in the two units that users ask for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// In cycles of the SM clock.
    pub cycles: Finding,
    /// In nanoseconds, by the clock measured in the same run.
    pub ns: Finding,
}

/// One memory or cache. An attribute that does not apply to the element is absent; one that is unknown has its reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Element {
    /// Whether it exists for the loads in question: for `l1` whether global loads are cached there, for `local` whether
    /// local memory is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<Finding>,
    /// Usable capacity: the largest footprint before misses begin to grow with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Finding>,
    /// The size that the driver states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nominal_size: Option<Finding>,
    /// The footprint from which every load of a lap misses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thrash_size: Option<Finding>,
    /// Misses below the usable capacity that do not grow with the footprint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflicts: Option<Finding>,
    /// Misses of a lap by footprint, between the usable capacity and the footprint from which everything misses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staircase: Option<Finding>,
    /// Line: the unit of allocation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_size: Option<Finding>,
    /// Sector: the unit of fetching.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetch_granularity: Option<Finding>,
    /// What a TLB translates before its first entry gives way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<Finding>,
    /// Entries of a TLB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<Finding>,
    /// What one entry of a TLB maps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<Finding>,
    /// Load latency of a hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Cycles that a miss costs above a hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub miss_penalty: Option<Finding>,
    /// Cycles that a load takes longer by way of the L1 than past it, if the L1 does not have its line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub miss_overhead: Option<Finding>,
    /// Pieces in which the driver maps device memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mapping_granularity: Option<Finding>,
    /// Latency by what a load meets: a list of `path` (`cg` or `ca`), `data` (`l1`, `l2`, `memory`), `translation` (`hit`, or
    /// the last level that misses), `cycles` (the median; from `low` to `high` are nine tenths), `loads`, and `pattern`, its
    /// number in table 3 of Mei et al., null where it is not among those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spectrum: Option<Finding>,
    /// Other elements in the same physical cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_with: Option<Finding>,
    /// Physical caches of this kind in one multiprocessor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instances_per_sm: Option<Finding>,
    /// Sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sets: Option<Finding>,
    /// Lines that a set holds; a list, in descending order, where sets differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ways: Option<Finding>,
    /// How an address finds its set: `kind` is `bits` (with `bits`), `parity` (with `masks`) or `modulo` (with `sets`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<Finding>,
    /// Which line gives way: `lru`, `fifo`, `plru`, `bit_plru`, `random`, or an object with the `policy` `weighted` and its
    /// `probabilities` by the order of filling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Finding>,
    /// The same cache where a kernel asks for all the shared memory there is: `size` (bytes), `sets`, `ways`, `index`,
    /// `replacement` and `misses` (by footprint, as in `staircase`); null what is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_configuration: Option<Finding>,
    /// Parts of a shared cache that SMs are nearer to or farther from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitions: Option<Finding>,
    /// Of an atomic on a line of the SM's own partition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_latency: Option<Finding>,
    /// Of an atomic on a line of another partition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_latency: Option<Finding>,
    /// Of each SM, `sm` in ascending `%smid`: its `partition` and its `group` within that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_map: Option<Finding>,
    /// Banks of shared memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub banks: Option<Finding>,
    /// Bytes that a bank gives at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bank_width: Option<Finding>,
    /// Widths of the pieces that go to the banks in turn, as a program can choose them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bank_modes: Option<Finding>,
    /// Cycles for each further row that lanes of a warp want of one bank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict_cycles: Option<Finding>,
    /// Whether lanes that want the same word are served at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broadcast: Option<Finding>,
    /// Padding of the rows of 32 x 32 elements by which a column is read without conflicts: a list of `width` (bytes of an
    /// element), `words` (of 4 bytes; null if none was found) and, where banks can be chosen, `mode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub padding: Option<Finding>,
    /// Latency of a warp's load by stride: a list of `width` (bytes a lane), `stride` (in elements), `cycles`, `ways` (null if
    /// no whole number) and, where banks can be chosen, `mode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bank_curve: Option<Finding>,
}

impl Element {
    /// The findings by attribute name, latency in both units.
    pub fn findings(&self) -> Vec<(&'static str, &Finding)> {
        let plain = [
            ("cached", &self.cached),
            ("size", &self.size),
            ("nominal_size", &self.nominal_size),
            ("thrash_size", &self.thrash_size),
            ("conflicts", &self.conflicts),
            ("staircase", &self.staircase),
            ("line_size", &self.line_size),
            ("fetch_granularity", &self.fetch_granularity),
            ("miss_penalty", &self.miss_penalty),
            ("miss_overhead", &self.miss_overhead),
            ("shared_with", &self.shared_with),
            ("instances_per_sm", &self.instances_per_sm),
            ("sets", &self.sets),
            ("ways", &self.ways),
            ("index", &self.index),
            ("replacement", &self.replacement),
            ("least_configuration", &self.least_configuration),
            ("reach", &self.reach),
            ("entries", &self.entries),
            ("page_size", &self.page_size),
            ("mapping_granularity", &self.mapping_granularity),
            ("spectrum", &self.spectrum),
            ("partitions", &self.partitions),
            ("near_latency", &self.near_latency),
            ("far_latency", &self.far_latency),
            ("sm_map", &self.sm_map),
            ("banks", &self.banks),
            ("bank_width", &self.bank_width),
            ("bank_modes", &self.bank_modes),
            ("conflict_cycles", &self.conflict_cycles),
            ("broadcast", &self.broadcast),
            ("padding", &self.padding),
            ("bank_curve", &self.bank_curve),
        ];
        let mut all: Vec<_> = plain.into_iter().filter_map(|(name, f)| Some((name, f.as_ref()?))).collect();
        if let Some(latency) = &self.latency {
            all.push(("latency.cycles", &latency.cycles));
            all.push(("latency.ns", &latency.ns));
        }
        all
    }
}

/// The memories and caches that strata knows, in the order of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ElementName {
    /// The L1 data cache as `ld.global.ca` sees it.
    L1,
    /// The texture path.
    Texture,
    /// The read-only path, `ld.global.nc`.
    ReadOnly,
    /// The first constant cache, indexed path.
    ConstantL1,
    /// The second constant cache, "L1.5".
    ConstantL15,
    /// The uniform constant path.
    ConstantUniform,
    /// Shared memory.
    Shared,
    /// Local memory.
    Local,
    /// The L2.
    L2,
    /// Device memory.
    Dram,
    /// Pinned host memory over the bus.
    Host,
    /// The first level of address translation.
    TlbL1,
    /// The second.
    TlbL2,
    /// The third.
    TlbL3,
    /// The scalar data cache of an AMD GPU, which only imported timings have.
    ScalarL1,
}

impl ElementName {
    /// All of them, in the order of a report.
    pub const ALL: [ElementName; 15] = [
        ElementName::L1,
        ElementName::Texture,
        ElementName::ReadOnly,
        ElementName::ConstantL1,
        ElementName::ConstantL15,
        ElementName::ConstantUniform,
        ElementName::Shared,
        ElementName::Local,
        ElementName::L2,
        ElementName::Dram,
        ElementName::Host,
        ElementName::TlbL1,
        ElementName::TlbL2,
        ElementName::TlbL3,
        ElementName::ScalarL1,
    ];

    /// Whether an NVIDIA GPU may have it, and so whether it is asked for.
    pub const fn is_asked(self) -> bool {
        !matches!(self, ElementName::ScalarL1)
    }

    /// The JSON key, also the name on the command line.
    pub const fn key(self) -> &'static str {
        match self {
            ElementName::L1 => "l1",
            ElementName::Texture => "texture",
            ElementName::ReadOnly => "read_only",
            ElementName::ConstantL1 => "constant_l1",
            ElementName::ConstantL15 => "constant_l15",
            ElementName::ConstantUniform => "constant_uniform",
            ElementName::Shared => "shared",
            ElementName::Local => "local",
            ElementName::L2 => "l2",
            ElementName::Dram => "dram",
            ElementName::Host => "host",
            ElementName::TlbL1 => "tlb_l1",
            ElementName::TlbL2 => "tlb_l2",
            ElementName::TlbL3 => "tlb_l3",
            ElementName::ScalarL1 => "scalar_l1",
        }
    }

    /// The name in a table.
    pub const fn title(self) -> &'static str {
        match self {
            ElementName::L1 => "L1 data",
            ElementName::Texture => "Texture",
            ElementName::ReadOnly => "Read-only",
            ElementName::ConstantL1 => "Constant L1",
            ElementName::ConstantL15 => "Constant L1.5",
            ElementName::ConstantUniform => "Constant uniform",
            ElementName::Shared => "Shared",
            ElementName::Local => "Local",
            ElementName::L2 => "L2",
            ElementName::Dram => "DRAM",
            ElementName::Host => "Host (pinned)",
            ElementName::TlbL1 => "TLB L1",
            ElementName::TlbL2 => "TLB L2",
            ElementName::TlbL3 => "TLB L3",
            ElementName::ScalarL1 => "Scalar L1",
        }
    }
}

impl fmt::Display for ElementName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}

impl FromStr for ElementName {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        ElementName::ALL.into_iter().find(|e| e.key() == s).ok_or_else(|| {
            let known: Vec<_> = ElementName::ALL.iter().map(|e| e.key()).collect();
            format!("no element `{s}`; there are {}", known.join(", "))
        })
    }
}

/// How the run was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunInfo {
    /// Version of strata that measured.
    pub tool_version: String,
    /// What ran the kernels: `cuda`.
    pub backend: String,
    /// No hardware was measured.
    pub simulated: bool,
    /// Seed of every random choice.
    pub seed: u64,
    /// Effort: `quick`, `standard` or `thorough`.
    pub effort: String,
    /// Elements asked for; empty for all.
    pub only: Vec<ElementName>,
    /// Start, RFC 3339, UTC.
    pub started: String,
    /// Seconds from process start to the last sample.
    pub duration_s: f64,
    /// SM clock measured during the run, in MHz, lowest and highest.
    pub measured_clock_mhz: Option<(f64, f64)>,
    /// State of the GPU when the run started.
    pub telemetry_start: Telemetry,
    /// State of the GPU when the run ended.
    pub telemetry_end: Telemetry,
    /// What this process could see: the whole GPU, a MIG instance, a container.
    pub scope: String,
    /// Things the reader should know before trusting the numbers.
    pub warnings: Vec<String>,
}

/// The whole answer. Within version 1 keys may be added, so that a reader passes over those that it does not know; none is
/// taken away and none changes its meaning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Topology {
    /// Name and version of the format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// What the driver says of the device.
    pub device: DeviceFacts,
    /// How the run was made.
    pub run: RunInfo,
    /// What was found.
    pub elements: BTreeMap<ElementName, Element>,
    /// The recording that this was replayed from, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed_from: Option<String>,
}

impl Topology {
    /// Whether some probe failed (exit status 4).
    pub fn is_partial(&self) -> bool {
        self.elements.values().any(|e| e.findings().iter().any(|(_, f)| f.failed))
    }
}
