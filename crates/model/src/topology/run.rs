//! How a run was made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ElementName, Wanted};
use crate::apart;
use crate::attribute::Attribute;
use crate::disturbance::Disturbance;
use crate::facts::{BoardFacts, HostFacts, Telemetry};
use crate::moment;

/// How the run was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunInfo {
    /// Version of strata that measured.
    pub tool_version: String,
    /// What ran the kernels: `cuda`.
    pub backend: String,
    /// No hardware was measured.
    pub simulated: bool,
    /// Seed for all random choices.
    pub seed: u64,
    /// Effort: `quick`, `standard` or `thorough`; `imported` for timings of another tool, empty for experiments by themselves.
    #[schemars(extend("enum" = ["quick", "standard", "thorough", "imported", ""]))]
    pub effort: String,
    /// Elements and attributes asked for, such as `l1` and `l2.size`; empty for all.
    pub only: Vec<Wanted>,
    /// Start, RFC 3339, UTC; null where nobody knows it, as of timings of another tool without a summary.
    #[serde(with = "moment")]
    #[schemars(with = "String", extend("type" = ["string", "null"], "format" = "date-time"))]
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
    /// Times at which something else used the GPU; absent if nobody watched, as in recordings of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "apart")]
    #[schemars(with = "Option<Vec<Disturbance>>")]
    pub disturbances: Option<Vec<Disturbance>>,
    /// The host; absent if the user left it out, of a simulated GPU, and in recordings of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "apart")]
    #[schemars(with = "Option<HostFacts>")]
    pub host: Option<HostFacts>,
    /// The board when the run ended; absent without NVML, of a simulated GPU, and in recordings of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "apart")]
    #[schemars(with = "Option<BoardFacts>")]
    pub board: Option<BoardFacts>,
}

impl RunInfo {
    /// Whether an attribute was asked for, as far as [`RunInfo::only`] says.
    pub fn asked_for(&self, element: ElementName, attribute: impl Into<Attribute>) -> bool {
        let attribute = attribute.into();
        self.only.is_empty() || self.only.iter().any(|wanted| wanted.has(element, attribute))
    }
}
