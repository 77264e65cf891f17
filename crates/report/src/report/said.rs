//! A finding in one line, for files that other programs read.

use std::fmt::Write;

use strata_model::attribute::{Value, Ways};
use strata_model::topology::{Finding, Provenance};
use strata_model::units::{
    Bytes, BytesPerClock, BytesPerSecond, Cycles, Nanoseconds, OperationsPerClock, OperationsPerSecond,
};

/// A value with its unit, interval and source.
pub(super) fn said(value: &Value, finding: &Finding) -> String {
    let mut text = match value {
        // With a point, so that a measured number is not taken for a count.
        Value::Cycles(Cycles(x)) | Value::Nanoseconds(Nanoseconds(x)) | Value::Number(x) => format!("{x:?}"),
        Value::Rate(BytesPerSecond(x)) | Value::ClockRate(BytesPerClock(x)) => format!("{x:?}"),
        Value::OperationRate(OperationsPerSecond(x)) | Value::OperationClockRate(OperationsPerClock(x)) => {
            format!("{x:?}")
        }
        Value::Bytes(Bytes(bytes)) => bytes.to_string(),
        Value::Ways(Ways::Each(all)) => all.iter().map(u64::to_string).collect::<Vec<_>>().join(" "),
        Value::Elements(elements) => elements.keys().collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    };
    if let Some(unit) = &finding.unit {
        let _ = write!(text, " {unit}");
    }
    let mut about = Vec::new();
    if let (Some(low), Some(high)) = (finding.low, finding.high) {
        about.push(format!("{low} to {high}"));
    }
    about.extend(finding.level.map(|level| format!("level {level}")));
    about.extend(finding.source.map(|from| source(from).to_owned()));
    let _ = write!(text, " ({})", about.join(", "));
    text
}

/// Where a value is from, in a word.
pub(super) const fn source(from: Provenance) -> &'static str {
    match from {
        Provenance::Measured => "measured",
        Provenance::Driver => "driver",
        Provenance::Derived => "derived",
    }
}
