//! What a finding that was read from a file says, and no run would have said.

use super::{Element, Finding, Topology};
use crate::characterization::{Characterization, Part};

/// The unit of sizes.
const BYTES: &str = "B";
/// Part of a value by which its interval may miss it: both are rounded when they are written.
const ROUNDING: f64 = 1e-6;

impl Finding {
    /// What is impossible in it, if anything is.
    pub fn defect(&self) -> Option<String> {
        let value = self.value.as_ref().and_then(|value| value.number());
        let (low, high) = (self.low, self.high);
        let beyond = |a: f64, b: f64| a > b + ROUNDING * b.abs().max(a.abs());
        if let (Some(low), Some(high)) = (low, high)
            && low > high
        {
            return Some(format!("its interval begins at {low} and ends at {high}"));
        }
        if let Some(value) = value
            && (low.is_some_and(|low| beyond(low, value)) || high.is_some_and(|high| beyond(value, high)))
        {
            return Some(format!("its value {value} is outside of its interval"));
        }
        let is_size = self.unit.as_deref() == Some(BYTES);
        if is_size && [value, low, high].into_iter().flatten().any(|bytes| bytes < 0.0) {
            return Some("a size is negative".to_owned());
        }
        if self.level.is_some_and(|level| !(0.0..=1.0).contains(&level)) {
            return Some("its level is not between 0 and 1".to_owned());
        }
        match (&self.value, &self.source, &self.method, &self.reason) {
            (None, _, _, None) => Some("it has neither a value nor a reason".to_owned()),
            (Some(_), None, _, _) => Some("it has a value without a source".to_owned()),
            (Some(_), _, None, _) => Some("it has a value without a method".to_owned()),
            _ => None,
        }
    }
}

impl Topology {
    /// The first finding with a defect, or what the facts of the device say that no device has. A result of a run has none; a file
    /// may come from anyone.
    pub fn defect(&self) -> Option<String> {
        let of_element = |(name, element): (&_, &Element)| {
            element
                .findings()
                .find_map(|(attribute, finding)| Some(format!("{name}.{}: {}", attribute.key(), finding.defect()?)))
        };
        self.device
            .defect()
            .map(|defect| format!("device: {defect}"))
            .or_else(|| self.elements.iter().find_map(of_element))
    }
}

impl Characterization {
    /// As [`Topology::defect`].
    pub fn defect(&self) -> Option<String> {
        let of_part = |(name, part): (&_, &Part)| {
            let mut findings = part.findings.iter();
            findings.find_map(|(key, finding)| Some(format!("{name}.{key}: {}", finding.defect()?)))
        };
        self.device.defect().map(|defect| format!("device: {defect}")).or_else(|| self.parts.iter().find_map(of_part))
    }
}
