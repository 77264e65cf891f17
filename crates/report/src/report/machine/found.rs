//! Findings as values of a machine file, each with its source.

use serde_json::Value;

use strata_model::topology::{ElementName, Finding, Provenance, Topology};

/// Share of a latency by which its nine tenths may lie apart if a difference to another is to mean something.
const STEADY: f64 = 0.05;

/// A value and where it is from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Its source: begins with `measured`, `driver`, `derived` or `assumed`.
    pub source: String,
}

impl<T> Sourced<T> {
    /// A value with this source.
    pub fn new(value: T, source: String) -> Self {
        Sourced { value, source }
    }
}

/// The source of a default.
pub(super) fn assumed(why: &str) -> String {
    format!("assumed: {why}")
}

/// What was discovered, and how to name the run.
pub(super) struct Found<'t> {
    /// All of it.
    pub topology: &'t Topology,
    /// The run: device, and recording or date.
    pub run: String,
}

impl<'t> Found<'t> {
    /// Of this result.
    pub fn new(topology: &'t Topology) -> Self {
        let (name, run) = (&topology.device.name, &topology.run);
        let simulated = if run.simulated { "simulated " } else { "" };
        let run = match &topology.replayed_from {
            Some(recording) => format!("{recording} ({simulated}{name})"),
            None => format!("the run of {} ({simulated}{name})", run.started),
        };
        Found { topology, run }
    }

    /// A finding that has a value.
    pub fn known(&self, element: ElementName, attribute: &str) -> Option<&'t Finding> {
        let all = self.topology.elements.get(&element)?.findings();
        all.into_iter().find(|(name, finding)| *name == attribute && finding.is_known()).map(|(_, finding)| finding)
    }

    /// A finding that is a number.
    pub fn number(&self, element: ElementName, attribute: &str) -> Option<f64> {
        self.known(element, attribute)?.number()
    }

    /// A finding that is a number, as a whole one: a machine file knows no other.
    pub fn whole(&self, element: ElementName, attribute: &str) -> Option<Sourced<u64>> {
        let finding = self.known(element, attribute)?;
        let value = finding.number().filter(|value| *value >= 0.0)?;
        Some(Sourced::new(value.round() as u64, self.source(element, attribute, finding)))
    }

    /// A number of cycles that is at least one; `default` where none was found.
    pub fn cycles(&self, element: ElementName, attribute: &str, default: u64) -> Sourced<u64> {
        let found = self.whole(element, attribute).filter(|cycles| cycles.value >= 1);
        found.unwrap_or_else(|| Sourced::new(default, assumed(&format!("{element}.{attribute} was not found"))))
    }

    /// Cycles of loads by this path with the data and translation there, of the latency spectrum, if they are steady.
    pub fn spectrum(&self, path: &str, data: &str, translation: &str) -> Option<f64> {
        let rows = self.known(ElementName::TlbL1, "spectrum")?.value.as_array()?;
        let is_it = |row: &&Value| row["path"] == path && row["data"] == data && row["translation"] == translation;
        let row = rows.iter().find(is_it)?;
        let (cycles, low, high) = (row["cycles"].as_f64()?, row["low"].as_f64()?, row["high"].as_f64()?);
        (high - low <= STEADY * cycles).then_some(cycles)
    }

    /// The source of a finding.
    pub fn source(&self, element: ElementName, attribute: &str, finding: &Finding) -> String {
        let kind = match finding.source {
            Some(Provenance::Driver) => "driver",
            Some(Provenance::Derived) => "derived",
            Some(Provenance::Measured) | None => "measured",
        };
        format!("{kind}: {element}.{attribute} of {}", self.run)
    }

    /// The source of what the driver said.
    pub fn driver(&self, what: &str) -> String {
        format!("driver: {what}, {}", self.run)
    }

    /// The source of what follows from findings.
    pub fn derived(&self, how: &str) -> String {
        format!("derived: {how}, of {}", self.run)
    }
}
