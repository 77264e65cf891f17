//! The result of a node: what was found of each of its GPUs, and of the links between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::HostFacts;
use crate::links::Link;
use crate::moment;
use crate::topology::Topology;

/// Name and version of the JSON document.
pub const SCHEMA: &str = "strata/node/1";

/// What was found of the GPUs of a node. Within version 1 keys may be added, so that a reader passes over those that it does not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Name and version of the format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Version of strata that measured.
    pub tool_version: String,
    /// When the first GPU began, RFC 3339, UTC.
    #[serde(with = "moment")]
    #[schemars(with = "String", extend("type" = ["string", "null"], "format" = "date-time"))]
    pub started: String,
    /// Seconds from process start to the last sample of the last GPU.
    pub duration_s: f64,
    /// Whether all GPUs were measured at the same time.
    pub together: bool,
    /// The host; absent if the user left it out, or if all GPUs are simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostFacts>,
    /// The GPUs, in the order in which they were asked for; none if a health check measured links alone.
    pub gpus: Vec<NodeGpu>,
    /// The links between them, if they were measured: each ordered pair, first all links from the first GPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
}

/// One of the GPUs of a node: either its topology, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeGpu {
    /// The name by which it was asked for, such as `cuda:0`.
    pub device: String,
    /// What was found: a whole document of `strata/topology/1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// The host's NUMA node that its PCI slot is on; absent where the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
    /// Why it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Node {
    /// Whether a GPU or a link was not measured, or some probe failed.
    pub fn is_partial(&self) -> bool {
        let topologies = self.gpus.iter().map(|gpu| &gpu.topology);
        let mut all = topologies.chain(self.links.iter().map(|link| &link.topology));
        all.any(|topology| topology.as_ref().is_none_or(Topology::is_partial))
    }

    /// The GPUs that were measured, with their names.
    pub fn measured(&self) -> impl Iterator<Item = (&str, &Topology)> {
        self.gpus.iter().filter_map(|gpu| Some((gpu.device.as_str(), gpu.topology.as_ref()?)))
    }

    /// What no run has written, if anything is: a GPU or a link with neither a topology nor a reason, or a topology that says what cannot be.
    pub fn defect(&self) -> Option<String> {
        if self.gpus.is_empty() && self.links.is_empty() {
            return Some("neither a GPU nor a link".to_owned());
        }
        let of_gpus = self.gpus.iter().find_map(|gpu| {
            let what = either(gpu.topology.as_ref(), gpu.failure.as_ref())?;
            Some(format!("{}: {what}", gpu.device))
        });
        of_gpus.or_else(|| self.links.iter().find_map(Link::defect))
    }
}

/// What is wrong with what was found of a GPU or a link, which is either a topology or the reason why there is none.
pub(crate) fn either(topology: Option<&Topology>, failure: Option<&String>) -> Option<String> {
    match (topology, failure) {
        (Some(topology), None) => topology.defect(),
        (None, Some(_)) => None,
        (None, None) => Some("neither a topology nor a failure".to_owned()),
        (Some(_), Some(_)) => Some("a topology and a failure".to_owned()),
    }
}
