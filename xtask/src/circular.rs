//! `cargo xtask circular FILE.strata NAME`: the recorded experiments of a real GPU, run on the machine that models it. Where
//! the two distributions differ, the model is wrong or leaves something out; that discovery recovers the model proves
//! nothing about the GPU.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use strata_bench::Bench;
use strata_infer::analysis::{ks, robust};
use strata_model::experiment::{Experiment, LoadPath};
use strata_model::samples::Samples;
use strata_model::source::Source;
use strata_recording::Recording;
use strata_sim::Sim;
use strata_sim::machine::Machine;

/// Every so many experiments one is run, so that each kind is there and the table takes a minute.
const EVERY: usize = 9;
/// Distributions further apart than this, by the Kolmogorov-Smirnov statistic, differ for more than chance.
const DIFFERS: f64 = 0.2;
/// Level of the test, of which only the statistic is shown.
const ALPHA: f64 = 0.01;

/// What one kind of experiment gave.
#[derive(Default)]
struct Kind {
    medians: Vec<(f64, f64)>,
    distances: Vec<f64>,
}

/// Cycles a load, whatever the kernel.
fn cycles(samples: &Samples) -> Vec<f64> {
    if samples.laps.is_empty() {
        samples.latencies.iter().map(|&l| f64::from(l)).collect()
    } else {
        let spans = samples.laps.chunks_exact(2);
        spans.map(|pair| (pair[1].cycles as f64 - pair[0].cycles as f64) / f64::from(pair[0].loads)).collect()
    }
}

/// The table, by kernel, path and preparation.
pub fn table(recording: &Path, machine: &str) -> Result<String> {
    let recording = Recording::read(recording)?;
    let mut gpu = Sim::new(Machine::find(machine)?, 1);
    let mut bench = Bench::new(&mut gpu, Arc::default())?;
    let entries: Vec<_> = recording
        .entries
        .iter()
        .filter(|e| !matches!(e.experiment, Experiment::Clock(_) | Experiment::Watch(_)))
        .collect();
    let chosen: Vec<_> = entries.into_iter().step_by(EVERY).filter(|e| e.outcome.is_ok()).collect();
    let batch: Vec<Experiment> = chosen.iter().map(|e| e.experiment.clone()).collect();
    let mut kinds: BTreeMap<String, Kind> = BTreeMap::new();
    for (entry, simulated) in chosen.iter().zip(bench.run(&batch)) {
        let (Ok(real), Ok(simulated)) = (&entry.outcome, simulated) else { continue };
        let (real, simulated) = (cycles(real), cycles(&simulated));
        let e = &entry.experiment;
        let prepared = serde_json::to_value(e.prepare())?;
        let state = prepared.as_str().map_or("fill".to_owned(), str::to_owned).replace("nothing", "as written");
        let kind =
            kinds.entry(format!("{} | {} | {state}", e.name(), e.path().map_or("", LoadPath::name))).or_default();
        let median = |values: &[f64]| robust::median(values).unwrap_or(0.0);
        kind.medians.push((median(&real), median(&simulated)));
        kind.distances.push(ks::ks_test(&real, &simulated, ALPHA).statistic);
    }
    let mut out = String::from(
        "| kernel | path | L2 before | experiments | median cycles, real | simulated | mean D | D > 0.2 |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (name, kind) in kinds {
        let of = |which: fn(&(f64, f64)) -> f64| robust::median(&kind.medians.iter().map(which).collect::<Vec<_>>());
        let apart = kind.distances.iter().filter(|&&d| d > DIFFERS).count();
        writeln!(
            out,
            "| {name} | {} | {:.1} | {:.1} | {:.2} | {:.0} % |",
            kind.distances.len(),
            of(|m| m.0).unwrap_or(0.0),
            of(|m| m.1).unwrap_or(0.0),
            robust::mean(&kind.distances),
            100.0 * apart as f64 / kind.distances.len() as f64
        )?;
    }
    Ok(out)
}
