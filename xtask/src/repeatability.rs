//! `cargo xtask repeatability FILE…`: what several runs of one device agree on, as tables.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use gpu_strata::{Answer, Recording};
use strata_model::attribute::Attribute;
use strata_model::topology::{ElementName, Topology};

use crate::coverage::{Coverage, Pairs, compared, pairs};

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

/// Three tables of results or recordings: the values of the main attributes in every run, how intervals cover each other, and
/// in how many pairs `strata compare` finds a difference.
pub fn tables(files: &[PathBuf]) -> Result<String> {
    ensure!(files.len() > 1, "repeatability is that of at least two runs; name more files");
    let runs = files.iter().map(|file| result(file)).collect::<Result<Vec<_>>>()?;
    let mut coverage = Coverage::default();
    coverage.add("", &runs.iter().collect::<Vec<_>>());
    let mut sum = Pairs::default();
    for (a, b) in pairs(&runs) {
        sum.count(&compared(a, b));
    }
    let same = sum.same;
    Ok(format!(
        "{}\n{}\nPlaces that differ, and in how many pairs: {}\n\n{} of {} pairs of results are the same to strata compare\n",
        values(&runs),
        coverage.table(),
        sum.places(),
        same.part,
        same.whole
    ))
}

/// The result in a file.
fn result(file: &Path) -> Result<Topology> {
    if file.extension().is_some_and(|extension| extension == "strata") {
        return match Recording::open(file)?.replay()? {
            Answer::Discovery(found) => Ok(found.topology),
            Answer::Characterized(_) => bail!("`{}` is no recording of `strata discover`", file.display()),
        };
    }
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("`{}` is no result of strata", file.display()))
}

/// Each attribute with its value in every run and, for numbers, the spread.
fn values(runs: &[Topology]) -> String {
    let mut rows: BTreeMap<(ElementName, usize), Vec<String>> = BTreeMap::new();
    let mut durations = Vec::new();
    for topology in runs {
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
    out
}
