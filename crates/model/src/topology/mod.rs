//! The result of a discovery: elements, with a [`Finding`] for each attribute.
//!
//! "Unknown" is a result and carries its reason. A value from the driver never takes the place of a measured one: where
//! both exist, both are here.

mod check;
mod element;
mod explained;
mod finding;
mod name;
mod run;
mod selection;
mod series;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use element::{Element, Entry};
pub(crate) use finding::by_name;
pub use finding::{Finding, Interval, Provenance, Quantity};
pub use name::ElementName;
pub use run::RunInfo;
pub use selection::{STEPS, Selection, Wanted};
pub use series::{
    AVERAGE_LOAD, AllSeries, BANDWIDTH_BY_BYTES_IN_FLIGHT, BANDWIDTH_BY_CLUSTER_SIZE, BANDWIDTH_BY_FOOTPRINT,
    BANDWIDTH_BY_SMS, BANDWIDTH_BY_SMS_OF_ONE_PARTITION_FIRST, DISTANCE, DISTURBANCE, LATENCY_BY_COPIED_BYTES,
    LATENCY_BY_COPY_BANDWIDTH, LATENCY_BY_READ_BANDWIDTH, LATENCY_BY_WRITE_BANDWIDTH, SeriesPoint, TIME_BY_LOADS,
};

use crate::facts::DeviceFacts;

/// Name and version of the JSON document.
pub const SCHEMA: &str = "strata/topology/1";

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

/// What is said of an element that was not asked for.
static NOTHING: Element = Element::NOTHING;

impl Topology {
    /// What was found of an element; nothing, if it was not asked for.
    pub fn element(&self, name: ElementName) -> &Element {
        self.elements.get(&name).unwrap_or(&NOTHING)
    }

    /// The L1 data cache.
    pub fn l1(&self) -> &Element {
        self.element(ElementName::L1)
    }

    /// Shared memory.
    pub fn shared(&self) -> &Element {
        self.element(ElementName::Shared)
    }

    /// The L2.
    pub fn l2(&self) -> &Element {
        self.element(ElementName::L2)
    }

    /// Device memory.
    pub fn dram(&self) -> &Element {
        self.element(ElementName::Dram)
    }

    /// Whether some probe failed (exit status 4).
    pub fn is_partial(&self) -> bool {
        self.elements.values().any(|element| element.findings().any(|(_, finding)| finding.failed))
    }
}
