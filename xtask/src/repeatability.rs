//! `cargo xtask repeatability FILE.json…`: what several runs of one device agree on, as a table.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use strata_model::attribute::Attribute;
use strata_model::topology::{ElementName, Topology};

/// Attributes whose spread over runs is shown.
const SHOWN: [Attribute; 7] = [
    Attribute::Size,
    Attribute::LineSize,
    Attribute::FetchGranularity,
    Attribute::LatencyCycles,
    Attribute::MissPenalty,
    Attribute::SharedWith,
    Attribute::InstancesPerSm,
];

/// The table: each attribute with its value in every run and, for numbers, the spread.
pub fn table(files: &[PathBuf]) -> Result<String> {
    ensure!(files.len() > 1, "repeatability is that of at least two runs; name more files");
    let mut rows: BTreeMap<(ElementName, usize), Vec<String>> = BTreeMap::new();
    let mut durations = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
        let topology: Topology =
            serde_json::from_str(&text).with_context(|| format!("`{}` is no result of strata", file.display()))?;
        durations.push(format!("{:.2}", topology.run.duration_s));
        for (name, element) in &topology.elements {
            for (attribute, finding) in element.findings() {
                let Some(place) = SHOWN.iter().position(|s| *s == attribute) else { continue };
                if let Some(value) = &finding.value {
                    let shown = value.number().map_or_else(|| value.to_string(), |number| number.to_string());
                    rows.entry((*name, place)).or_default().push(shown);
                }
            }
        }
    }
    let mut out = format!(
        "Seconds a run: {}\n\n| element | attribute | values | spread |\n|---|---|---|---|\n",
        durations.join(", ")
    );
    for ((name, place), values) in rows {
        let numbers: Vec<f64> = values.iter().filter_map(|v| v.parse().ok()).collect();
        let spread = if numbers.len() == values.len() {
            let (low, high) = numbers.iter().fold((f64::MAX, f64::MIN), |(l, h), &x| (l.min(x), h.max(x)));
            format!("{:.2} ({:.2} %)", high - low, (high - low) / high.abs().max(f64::MIN_POSITIVE) * 100.0)
        } else {
            let alike = values.iter().all(|v| *v == values[0]);
            if alike { "none".into() } else { "differ".to_owned() }
        };
        let _ = writeln!(out, "| {name} | {} | {} | {spread} |", SHOWN[place], values.join(", "));
    }
    Ok(out)
}
