//! `strata measure`: experiments are data, so any of them can be run again.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, anyhow};
use gpu_strata::experiment::Experiment;
use gpu_strata::units::Bytes;
use gpu_strata::{Device, Options, Recording, sample_line};

use strata_files::STANDARD;

use super::files::Files;
use super::{Call, Fault, measuring, output};
use crate::cli::Measure;

/// Runs the experiments of a file and prints one line for each.
pub fn run(arguments: &Measure, call: Call) -> Result<ExitCode, Fault> {
    let numbered = experiments(arguments, call)?;
    let list: Vec<Experiment> = numbered.values().cloned().collect();
    if arguments.print {
        output::stdout(&(serde_json::to_string_pretty(&list).map_err(Fault::run)? + "\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let record = arguments.record.as_deref();
    let read = Files::default().read([&arguments.file]).device(&arguments.device);
    // The samples go to standard output.
    measuring::check(read, record, Some(Path::new(STANDARD)))?;
    // Nothing catches an interrupt here: it ends the process.
    let mut device = Device::open_within(&arguments.device, arguments.wait, &AtomicBool::new(false))?;
    let mut options = Options::default().seed(0);
    options.record = record.map(Path::to_owned);
    options.host_facts = !arguments.no_host_facts;
    options.started = call.started;
    let answers = device.measure(&list, options)?;
    let mut text = String::new();
    for ((number, experiment), answer) in numbered.iter().zip(&answers) {
        text.push_str(&sample_line(*number, experiment, answer));
    }
    let failed = answers.iter().filter(|a| a.is_err()).count();
    let recorded = measuring::recorded(call, &device, record);
    output::stdout(&text)?;
    Ok(if failed == 0 && recorded { ExitCode::SUCCESS } else { output::partial() })
}

/// Largest list of experiments that is read, in bytes: about a hundred thousand experiments.
const LONGEST: u64 = 64 << 20;

fn read(path: &Path) -> Result<Vec<u8>, Fault> {
    let cannot = || format!("cannot read `{}`", path.display());
    let text = strata_files::read(path, LONGEST).with_context(cannot).map_err(Fault::usage)?;
    if text.len() as u64 > LONGEST {
        let limit = Bytes(LONGEST);
        return Err(Fault::usage(anyhow!("`{}` is larger than {limit}; give it in parts", path.display())));
    }
    Ok(text)
}

fn experiments(arguments: &Measure, call: Call) -> Result<BTreeMap<u32, Experiment>, Fault> {
    let path = &arguments.file;
    if path.extension().is_some_and(|extension| extension == "strata") {
        return chosen(arguments, numbered(&Recording::open(path)?, call));
    }
    let text = read(path)?;
    if Recording::begins(&text) {
        let recording = Recording::from_reader(text.as_slice(), &path.display().to_string())?;
        return chosen(arguments, numbered(&recording, call));
    }
    let list: Vec<Experiment> = serde_json::from_slice(&text)
        .with_context(|| {
            format!(
                "`{}` is not a JSON list of experiments; `strata measure --print FILE.strata` prints those of a recording \
                 as an example",
                path.display()
            )
        })
        .map_err(Fault::usage)?;
    chosen(arguments, (1..).zip(list).collect())
}

/// The experiments of a recording by their numbers. What is missing of it is said.
fn numbered(recording: &Recording, call: Call) -> BTreeMap<u32, Experiment> {
    output::warn(call, &recording.defects());
    recording.experiments().map(|(number, experiment, _)| (number, experiment.clone())).collect()
}

/// Those that the numbers name; all without numbers.
fn chosen(arguments: &Measure, all: BTreeMap<u32, Experiment>) -> Result<BTreeMap<u32, Experiment>, Fault> {
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
