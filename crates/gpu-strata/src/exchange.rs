//! Formats that other programs read.

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
            Exchange::Prometheus => Ok(report::prometheus(topology, None)),
            Exchange::Nfd { expiry } => Ok(report::nfd(topology, None, expiry)),
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
