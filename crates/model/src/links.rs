//! The result of a node's links: what each GPU finds at the memory of each other GPU.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::HostFacts;
use crate::moment;
use crate::node;
use crate::topology::Topology;

/// Name and version of the JSON document.
pub const SCHEMA: &str = "strata/links/1";

/// What was found of the links of a node. Within version 1 keys may be added, so that a reader passes over those that it does not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Links {
    /// Name and version of the format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Version of strata that measured.
    pub tool_version: String,
    /// When the first link began, RFC 3339, UTC.
    #[serde(with = "moment")]
    #[schemars(with = "String", extend("type" = ["string", "null"], "format" = "date-time"))]
    pub started: String,
    /// Seconds from process start to the last sample of the last link.
    pub duration_s: f64,
    /// The host; absent if the user left it out, or if all GPUs are simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostFacts>,
    /// The GPUs, in the order in which they were asked for.
    pub gpus: Vec<LinkedGpu>,
    /// Each ordered pair of them: first all links from the first GPU, then those from the second.
    pub links: Vec<Link>,
}

/// A GPU of the node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkedGpu {
    /// The name by which it was asked for, such as `cuda:0`.
    pub device: String,
    /// Product.
    pub name: String,
    /// UUID.
    pub uuid: Option<String>,
    /// PCI address.
    pub pci: Option<String>,
    /// The host's NUMA node that its PCI slot is on; null where the system does not say.
    pub numa_node: Option<u32>,
}

/// The way from the SMs and copy engines of one GPU to the memory of another: either what was found, or why nothing was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// The GPU whose SMs load and store, by the name in `gpus`.
    pub from: String,
    /// The GPU whose memory it is.
    pub to: String,
    /// What was found: a whole document of `strata/topology/1`, with the elements `peer_l2` and `peer_dram`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Why it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Link {
    /// Both ends, for people.
    pub fn name(&self) -> String {
        format!("{} to {}", self.from, self.to)
    }

    /// What no run has written, if anything is: neither a topology nor a reason, or a topology that says what cannot be or is of no
    /// link.
    pub fn defect(&self) -> Option<String> {
        let what = match &self.topology {
            Some(topology) if topology.device.peer.is_none() => "a topology of no link".to_owned(),
            topology => node::either(topology.as_ref(), self.failure.as_ref())?,
        };
        Some(format!("{}: {what}", self.name()))
    }
}

impl Links {
    /// Whether a link was not measured, or some probe failed.
    pub fn is_partial(&self) -> bool {
        self.links.iter().any(|link| link.topology.as_ref().is_none_or(Topology::is_partial))
    }

    /// What no run has written, if anything is.
    pub fn defect(&self) -> Option<String> {
        match self.links.is_empty() {
            true => Some("no link".to_owned()),
            false => self.links.iter().find_map(Link::defect),
        }
    }

    /// The link from one GPU to another, by their names.
    pub fn link(&self, from: &str, to: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.from == from && link.to == to)
    }

    /// The links that were measured.
    pub fn measured(&self) -> impl Iterator<Item = (&Link, &Topology)> {
        self.links.iter().filter_map(|link| Some((link, link.topology.as_ref()?)))
    }
}
