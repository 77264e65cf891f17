//! `strata replay`: the report of a recorded run.

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;

use anyhow::anyhow;
use gpu_strata::characterization::Suite;
use gpu_strata::probe::Effort;
use gpu_strata::recording::Recording;
use gpu_strata::topology::RunInfo;
use gpu_strata::{characterize, discover, report};

use super::Fault;
use super::output::{self, Answer};
use crate::cli::Replay;

/// Reads the recording and infers everything anew.
pub fn run(arguments: &Replay) -> Result<ExitCode, Fault> {
    let destination = output::Destination::open(&arguments.output)?;
    let answer = answer(&arguments.file, &arguments.only)?;
    if matches!(answer, Answer::Characterization(_)) {
        output::check_of_characterization(arguments.output.format)?;
    }
    output::warn(&answer.run().warnings);
    destination.answer(&answer, arguments.output.format)
}

/// What a recording says, or what of it `only` names.
pub fn answer(file: &Path, only: &[String]) -> Result<Answer, Fault> {
    let recording = Recording::read(file).map_err(Fault::usage)?;
    let name = file.display().to_string();
    match recording.asked.clone() {
        None => topology(recording, only, &name),
        Some(suite) => characterization(recording, suite, only, &name),
    }
}

fn topology(mut recording: Recording, only: &[String], name: &str) -> Result<Answer, Fault> {
    let only = named(only, name, "a discovery")?;
    let run = recording.run_info();
    let facts = recording.header.device.clone();
    let only = if only.is_empty() { run.only.clone() } else { only };
    let question = discover::Question { only, effort: effort(&run), seed: run.seed };
    let mut found = if recording.is_imported() {
        let entries = recording.entries.iter().filter(|entry| entry.is_current());
        let measured = entries.map(|entry| (entry.number, entry.experiment.clone(), entry.outcome.clone()));
        discover::imported(measured, &facts, &question)
    } else {
        discover::discover(&mut recording, &facts, &question, &mut |_| {})
    };
    let evidence = std::mem::take(&mut found.evidence);
    Ok(Answer::Topology(Box::new(report::assemble(facts, run, found, Some(name))), evidence))
}

fn characterization(mut recording: Recording, mut suite: Suite, only: &[String], name: &str) -> Result<Answer, Fault> {
    // A recording may come from anyone.
    if let Some(defect) = suite.defect() {
        return Err(Fault::usage(anyhow!("`{name}` asks for what cannot be measured ({defect}); record again")));
    }
    let only = named(only, name, "a characterization")?;
    if !only.is_empty() {
        suite.parts = only;
        suite = suite.sorted();
    }
    let run = recording.run_info();
    let facts = recording.header.device.clone();
    let question = characterize::Question { suite, effort: effort(&run), seed: run.seed };
    let found = characterize::characterize(&mut recording, &facts, &question, &mut |_| {});
    let answer = report::assemble_characterization(facts, run, question.suite, found, Some(name));
    Ok(Answer::Characterization(Box::new(answer)))
}

fn effort(run: &RunInfo) -> Effort {
    Effort::from_name(&run.effort).unwrap_or(Effort::Standard)
}

/// What `--only` names; what there is to name depends on what the recording is of.
fn named<T: FromStr<Err: Display>>(only: &[String], file: &str, kind: &str) -> Result<Vec<T>, Fault> {
    let parse = |text: &String| {
        text.parse().map_err(|unknown| Fault::usage(anyhow!("--only: `{file}` is {kind} and has {unknown}")))
    };
    only.iter().map(parse).collect()
}
