//! Options with their comments.

use std::fmt::{Display, Write};

use strata_model::attribute::{Attribute, Key, Typed};
use strata_model::topology::{ElementName, Finding, Provenance, Topology};

use super::base::{self, Base};
use crate::report::said::{said, source};
use crate::report::words;

/// What was found of an attribute.
pub(super) struct Found<'t> {
    /// The value; 0 of what is no number.
    pub number: f64,
    pub finding: &'t Finding,
    /// Its name, value, interval and source.
    pub words: String,
}

impl Found<'_> {
    /// The interval of the difference from what was found of another attribute.
    pub fn less(&self, other: &Found<'_>) -> String {
        let end = |finding: &Finding, end: Option<f64>| end.or(finding.number()).unwrap_or_default();
        let low = end(self.finding, self.finding.low) - end(other.finding, other.finding.high);
        let high = end(self.finding, self.finding.high) - end(other.finding, other.finding.low);
        format!("from {low:.1} to {high:.1}")
    }
}

/// The text that grows.
pub(super) struct Page<'t> {
    pub topology: &'t Topology,
    pub base: &'static Base,
    pub text: String,
}

impl<'t> Page<'t> {
    pub fn new(topology: &'t Topology) -> Self {
        Page { topology, base: base::of(&topology.device), text: String::new() }
    }

    pub fn head(&mut self) {
        let (topology, base) = (self.topology, self.base.name);
        let run = &topology.run;
        self.note(&format!(
            "Options of Accel-Sim (GPGPU-Sim 4.x) for {}, by strata {}.",
            topology.device.name,
            env!("CARGO_PKG_VERSION")
        ));
        if !run.started.is_empty() {
            self.note(&format!("Measured {}.", run.started));
        }
        if run.simulated {
            self.note("SIMULATED: no hardware was measured.");
        }
        self.note(&format!(
            "Append this file to configs/tested-cfgs/{base}/gpgpusim.config: the last value of an option counts, and what is not here \
             stays as it is there."
        ));
        self.note("measured, driver, derived: where a value is from. default: the value of that configuration, because there is no other.");
        self.text.push('\n');
    }

    /// What was found of an attribute, or why there is nothing, in words.
    pub fn found(&self, element: ElementName, attribute: impl Into<Attribute>) -> Result<Found<'t>, String> {
        let attribute = attribute.into();
        let Some(finding) = self.topology.elements.get(&element).and_then(|found| found.finding(attribute)) else {
            return Err(format!("{element}.{attribute} is not in the result"));
        };
        match &finding.value {
            Some(value) => {
                let words = format!("{element}.{attribute} = {}", said(value, finding));
                Ok(Found { number: value.number().unwrap_or_default(), finding, words })
            }
            None => Err(format!("{element}.{attribute} is unknown: {}", words::reason(finding))),
        }
    }

    /// The value of an attribute, and all that is said of it.
    pub fn value<T: Typed>(&self, element: ElementName, key: Key<T>) -> Result<(&'t T, Found<'t>), String> {
        let found = self.found(element, key)?;
        match found.finding.get() {
            Some(value) => Ok((value, found)),
            None => Err(format!("{element}.{} is of another kind", key.key())),
        }
    }

    /// An option with a value that was found.
    pub fn set(&mut self, found: &Found<'_>, option: &str, value: impl Display, notes: &[String]) {
        self.option(source(found.finding.source.unwrap_or(Provenance::Measured)), &found.words, notes, option, value);
    }

    /// An option with a value that follows from what was found.
    pub fn derived(&mut self, option: &str, value: impl Display, notes: &[String]) {
        let (first, others) = notes.split_first().map_or(("", &[][..]), |(first, others)| (first.as_str(), others));
        self.option(source(Provenance::Derived), first, others, option, value);
    }

    /// An option with a value from the driver.
    pub fn driver(&mut self, option: &str, value: impl Display, what: &str) {
        self.option(source(Provenance::Driver), what, &[], option, value);
    }

    /// An option with the value of the shipped configuration.
    pub fn default(&mut self, option: &str, value: impl Display, why: &str) {
        let name = self.base.name;
        self.option("default", &format!("the value of {name}; {why}"), &[], option, value);
    }

    /// An option with a value from the driver, of which 0 stands for "nobody says".
    pub fn fact<N: Into<u64>>(&mut self, option: &str, value: N, default: N, what: &str) {
        match value.into() {
            0 => self.default(option, default.into(), &format!("the driver does not tell the {what}")),
            known => self.driver(option, known, what),
        }
    }

    /// As [`Page::fact`], of an option that some shipped configurations leave out.
    pub fn stated<N: Into<u64>>(&mut self, option: &str, value: N, what: &str) {
        let value = value.into();
        if value > 0 {
            self.driver(option, value, what);
        }
    }

    fn option(&mut self, from: &str, why: &str, notes: &[String], option: &str, value: impl Display) {
        self.note(&format!("{from}: {why}"));
        for note in notes {
            self.note(&format!("  {note}"));
        }
        let _ = writeln!(self.text, "{option} {value}\n");
    }

    /// A line of a comment. Nothing in it can end it.
    pub fn note(&mut self, note: &str) {
        let _ = writeln!(self.text, "# {}", words::printable(note));
    }
}
