//! `strata measure`: experiments are data, so any of them can be run again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, anyhow};
use gpu_strata::experiment::Experiment;
use gpu_strata::units::Bytes;
use gpu_strata::{Device, Options, Recording, sample_line};

use super::{Fault, output};
use crate::cli::Measure;

/// Runs the experiments of a file and prints one line for each.
pub fn run(arguments: &Measure, started: Instant) -> Result<ExitCode, Fault> {
    let numbered = experiments(arguments)?;
    let list: Vec<Experiment> = numbered.values().cloned().collect();
    if arguments.print {
        output::stdout(&(serde_json::to_string_pretty(&list).map_err(Fault::run)? + "\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let record = arguments.record.as_deref().map(|path| output::Reserved::open(path, "--record")).transpose()?;
    // Nothing catches an interrupt here: it ends the process.
    let mut device = Device::open_within(&arguments.device, arguments.wait, &AtomicBool::new(false))?;
    let mut options = Options::default().seed(0);
    options.record = record.map(output::Reserved::take);
    options.host_facts = !arguments.no_host_facts;
    options.started = started;
    let answers = device.measure(&list, options)?;
    let mut text = String::new();
    for ((number, experiment), answer) in numbered.iter().zip(&answers) {
        text.push_str(&sample_line(*number, experiment, answer));
    }
    let failed = answers.iter().filter(|a| a.is_err()).count();
    output::stdout(&text)?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(4) })
}

/// Largest list of experiments that is read, in bytes: about a hundred thousand experiments.
const LONGEST: u64 = 64 << 20;

fn read(path: &Path) -> Result<Vec<u8>, Fault> {
    let cannot = || format!("cannot read `{}`", path.display());
    let mut text = Vec::new();
    let file = File::open(path).with_context(cannot).map_err(Fault::usage)?;
    file.take(LONGEST + 1).read_to_end(&mut text).with_context(cannot).map_err(Fault::usage)?;
    if text.len() as u64 > LONGEST {
        let limit = Bytes(LONGEST);
        return Err(Fault::usage(anyhow!("`{}` is larger than {limit}; give it in parts", path.display())));
    }
    Ok(text)
}

fn experiments(arguments: &Measure) -> Result<BTreeMap<u32, Experiment>, Fault> {
    let all: BTreeMap<u32, Experiment> = if arguments.file.extension().is_some_and(|e| e == "strata") {
        let recording = Recording::open(&arguments.file)?;
        recording.experiments().map(|(number, experiment, _)| (number, experiment.clone())).collect()
    } else {
        let text = read(&arguments.file)?;
        let list: Vec<Experiment> = serde_json::from_slice(&text)
            .with_context(|| {
                format!(
                    "`{}` is not a JSON list of experiments; `strata measure --print FILE.strata` prints those of a recording \
                     as an example",
                    arguments.file.display()
                )
            })
            .map_err(Fault::usage)?;
        (1..).zip(list).collect()
    };
    if arguments.number.is_empty() {
        return Ok(all);
    }
    arguments
        .number
        .iter()
        .map(|number| {
            let experiment = all.get(number).cloned();
            let experiment = experiment.ok_or_else(|| {
                Fault::usage(anyhow!(
                    "`{}` has no experiment {number}; it has {} of them",
                    arguments.file.display(),
                    all.len()
                ))
            });
            experiment.map(|e| (*number, e))
        })
        .collect()
}
