//! Findings as values of a machine file, each with its source.

use strata_model::attribute::{Attribute, Data, Key, LATENCY_CYCLES, SPECTRUM, SpectrumRow, Translation, Typed};
use strata_model::experiment::LoadPath;
use strata_model::topology::{ElementName, Finding, Provenance, Topology};

/// Share of a latency by which its nine tenths may lie apart if a difference to another is to mean something.
const STEADY: f64 = 0.05;
/// Bytes a cycle that a machine file may say of a memory, and additions a cycle of atomics.
pub(super) const RATES: std::ops::RangeInclusive<f64> = 1.0..=65536.0;

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

/// An attribute of an element, as sources name it.
pub(super) fn named(element: ElementName, attribute: Attribute) -> String {
    format!("{element}.{attribute}")
}

/// The source of a default in the place of a finding.
pub(super) fn not_found(element: ElementName, attribute: Attribute) -> String {
    assumed(&format!("{} was not found", named(element, attribute)))
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
            None if run.started.is_empty() => format!("a run at an unknown time ({simulated}{name})"),
            None => format!("the run of {} ({simulated}{name})", run.started),
        };
        Found { topology, run }
    }

    /// A finding that has a value.
    pub fn known(&self, element: ElementName, attribute: impl Into<Attribute>) -> Option<&'t Finding> {
        self.topology.elements.get(&element)?.known(attribute)
    }

    /// The value of a finding.
    pub fn get<T: Typed>(&self, element: ElementName, key: Key<T>) -> Option<&'t T> {
        self.topology.elements.get(&element)?.get(key)
    }

    /// A finding that is a number.
    pub fn number(&self, element: ElementName, attribute: Attribute) -> Option<f64> {
        self.known(element, attribute)?.number()
    }

    /// A finding that is a number, as a whole one: a machine file knows no other.
    pub fn whole(&self, element: ElementName, attribute: Attribute) -> Option<Sourced<u64>> {
        let finding = self.known(element, attribute)?;
        let value = finding.number().filter(|value| *value >= 0.0)?;
        Some(Sourced::new(value.round() as u64, self.source(element, &[attribute], finding)))
    }

    /// How many cycles one attribute of an element is more than another, if it is.
    pub fn longer(&self, element: ElementName, one: Attribute, other: Attribute) -> Option<Sourced<u64>> {
        let [longer, shorter] = [one, other].map(|attribute| self.known(element, attribute));
        let (longer, shorter) = longer.zip(shorter)?;
        let cycles = (longer.number()? - shorter.number()?).round();
        (cycles >= 0.0).then(|| Sourced::new(cycles as u64, self.source(element, &[one, other], longer)))
    }

    /// A number of cycles that is at least one; `default` where none was found.
    pub fn cycles(&self, element: ElementName, attribute: Attribute, default: u64) -> Sourced<u64> {
        let found = self.whole(element, attribute).filter(|cycles| cycles.value >= 1);
        found.unwrap_or_else(|| Sourced::new(default, not_found(element, attribute)))
    }

    /// A bandwidth of an SM while all access memory, in bytes a cycle, times `times`; none outside of what a machine file may have.
    pub fn rate(&self, element: ElementName, attribute: Attribute, times: f64) -> Option<Sourced<f64>> {
        let finding = self.known(element, attribute)?;
        let rate = finding.number()? * times;
        let source = self.source(element, &[attribute], finding);
        RATES.contains(&rate).then(|| Sourced::new((rate * 100.0).round() / 100.0, source))
    }

    /// As [`Found::rate`], of all SMs together.
    pub fn rate_of_all(&self, element: ElementName, attribute: Attribute) -> Option<Sourced<f64>> {
        self.rate(element, attribute, f64::from(self.topology.device.multiprocessors))
    }

    /// Whether loads of one element are certainly answered sooner than those of another.
    pub fn is_faster(&self, element: ElementName, other: ElementName) -> bool {
        let ends = |element| {
            let latency = self.known(element, LATENCY_CYCLES)?;
            let cycles = latency.number()?;
            Some((latency.low.unwrap_or(cycles), latency.high.unwrap_or(cycles)))
        };
        ends(element).zip(ends(other)).is_some_and(|((_, high), (low, _))| high < low)
    }

    /// The row of the latency spectrum of loads by this path with the data and translation there.
    pub fn row(&self, path: LoadPath, data: Data, translation: Translation) -> Option<&'t SpectrumRow> {
        let spectrum = self.get(ElementName::TlbL1, SPECTRUM)?;
        spectrum.0.iter().find(|row| (row.path, row.data, row.translation) == (path, data, translation))
    }

    /// Cycles of such loads, if they are steady.
    pub fn spectrum(&self, path: LoadPath, data: Data, translation: Translation) -> Option<f64> {
        let row = self.row(path, data, translation)?;
        (row.high? - row.low? <= STEADY * row.cycles).then_some(row.cycles)
    }

    /// The source of what was found of some attributes of an element, of which this is one finding.
    pub fn source(&self, element: ElementName, attributes: &[Attribute], finding: &Finding) -> String {
        let kind = match finding.source {
            Some(Provenance::Driver) => "driver",
            Some(Provenance::Derived) => "derived",
            Some(Provenance::Measured) | None => "measured",
        };
        let attributes: Vec<&str> = attributes.iter().map(|attribute| attribute.key()).collect();
        format!("{kind}: {element}.{} of {}", attributes.join(", "), self.run)
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
