//! Formats that other programs read.

use strata_model::node::{Node, NodeGpu};
use strata_model::topology::Topology;
use strata_report::compare::Document;
use strata_report::report;

pub use strata_report::report::Expiry;

use crate::comparison::{Loaded, Side};
use crate::error::{Error, Result};

/// Formats that other programs read; only a discovery has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Exchange {
    /// JSON with the keys of MT4G's results.
    Mt4g,
    /// XML that hwloc's `lstopo -i` draws.
    Hwloc,
    /// A machine file that [`Device::open`](crate::Device::open) simulates.
    Machine,
    /// Options of Accel-Sim (GPGPU-Sim 4.x), to append to a configuration that comes with it.
    Accelsim,
    /// Metrics for the textfile collector of Prometheus' node exporter, in seconds, bytes and hertz.
    Prometheus,
    /// Features of a Kubernetes node, for the local source of Node Feature Discovery.
    Nfd {
        /// How long after the measurement they are valid.
        expiry: Expiry,
    },
}

impl Exchange {
    /// A discovery in this format, as text with a newline at its end.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if it cannot be written, which no finding causes.
    pub fn write(self, topology: &Topology) -> Result<String> {
        match self {
            Exchange::Mt4g => {
                report::json(&report::mt4g(topology)).map_err(Error::report("the result with MT4G's keys"))
            }
            Exchange::Hwloc => report::hwloc(topology).map_err(Error::report("the XML")),
            Exchange::Machine => Ok(report::machine(topology)),
            Exchange::Accelsim => Ok(report::accelsim(topology)),
            Exchange::Prometheus => Ok(report::prometheus(&[(None, topology)])),
            Exchange::Nfd { expiry } => Ok(report::nfd(&[(None, topology)], expiry)),
        }
    }

    /// The GPUs of a node in this format, each with its number: as in `cuda:N` where all are named so, otherwise by their order.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for the formats that describe one GPU.
    pub fn write_node(self, node: &Node) -> Result<String> {
        let ordinal = |gpu: &NodeGpu| gpu.device.trim_start_matches("cuda:").parse::<u32>().ok();
        let ordinals: Option<Vec<u32>> = node.gpus.iter().map(ordinal).collect();
        let numbers = ordinals.unwrap_or_else(|| (0..node.gpus.len() as u32).collect());
        let found = node.gpus.iter().map(|gpu| gpu.topology.as_ref());
        let gpus: Vec<(Option<u32>, &Topology)> =
            numbers.into_iter().zip(found).filter_map(|(number, found)| Some((Some(number), found?))).collect();
        match self {
            Exchange::Prometheus => Ok(report::prometheus(&gpus)),
            Exchange::Nfd { expiry } => Ok(report::nfd(&gpus, expiry)),
            _ => Err(Error::Input("this format describes one GPU; measure one".into())),
        }
    }
}

impl Side {
    /// The discovery that a file holds, as JSON or as a recording.
    ///
    /// # Errors
    ///
    /// [`Error::Unreadable`], [`Error::Recording`] or [`Error::Document`] for a file that is no result; [`Error::Input`] for what is
    /// no result of a discovery.
    pub fn discovery(self) -> Result<Topology> {
        match self.load()? {
            Loaded::Document(Document::Topology(topology), _) => Ok(*topology),
            _ => Err(no_discovery()),
        }
    }
}

/// The error for what is no discovery.
pub(crate) fn no_discovery() -> Error {
    Error::Input(
        "mt4g, hwloc, machine, accelsim, prometheus and nfd describe what memory a GPU has, which only a discovery measures; a \
         characterization can be written as text, json, markdown and html"
            .into(),
    )
}
