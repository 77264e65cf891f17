//! What tests of discovery on simulated machines share: running it, and what is true of a machine.

pub mod expect;
pub mod truth;

use std::io::Write;
use std::sync::Arc;

use gpu_strata::{Device, Effort, Options};
use strata_bench::Bench;
use strata_gpu::Gpu;
use strata_infer::discover::{Request, discover};
use strata_model::attribute::Attribute;
use strata_model::experiment::Experiment;
use strata_model::samples::{Failure, Samples};
use strata_model::source::Source;
use strata_model::topology::{ElementName, Finding, RunInfo, Topology};
use strata_recording::Recording;
use strata_sim::Sim;
use strata_sim::machine::Machine;

/// Answers from a source, but for what it refuses, and remembers what was asked and what came back.
pub struct Watched<S, R> {
    pub source: S,
    pub refuse: R,
    pub seen: Vec<(Experiment, Result<Samples, Failure>)>,
}

impl<S: Source, R: FnMut(&Experiment) -> Option<Failure>> Source for Watched<S, R> {
    fn run(&mut self, batch: &[Experiment]) -> Vec<Result<Samples, Failure>> {
        let refused: Vec<Option<Failure>> = batch.iter().map(&mut self.refuse).collect();
        let asked: Vec<Experiment> =
            batch.iter().zip(&refused).filter(|(_, r)| r.is_none()).map(|(e, _)| e.clone()).collect();
        let mut answered = self.source.run(&asked).into_iter();
        let answers: Vec<Result<Samples, Failure>> =
            refused.into_iter().map(|r| r.map_or_else(|| answered.next().expect("one each"), Err)).collect();
        self.seen.extend(batch.iter().cloned().zip(answers.iter().cloned()));
        answers
    }
}

/// What discovery found, and all that it saw.
pub struct Outcome {
    pub topology: Topology,
    pub seen: Vec<(Experiment, Result<Samples, Failure>)>,
}

/// A device of the library's front that simulates this machine, written to a file as a user's own machine is.
pub fn device(machine: &Machine) -> Device {
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a temporary file");
    file.write_all(machine.text.as_bytes()).expect("the machine fits");
    let name = file.path().to_str().expect("a path of text");
    Device::open(&format!("sim:{name}")).unwrap_or_else(|error| panic!("{}: {error}", machine.origin))
}

/// Discovery of some elements (of all, if none is named) in the way of the command line: through the library's front, by
/// several simulated GPUs side by side. What was seen is read from the recording.
pub fn discovery(machine: &Machine, effort: Effort, seed: u64, only: &[ElementName]) -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run.strata");
    let options = Options::effort(effort).seed(seed).record(&path);
    let found = device(machine).discover_only(only, options).expect("a simulated machine is discovered");
    let recording = Recording::read(&path).expect("what was recorded can be read");
    let seen = recording.entries.iter().map(|entry| (entry.experiment.clone(), entry.outcome.clone())).collect();
    Outcome { topology: found.topology, seen }
}

/// Discovery of some elements on a machine that refuses some experiments, which no device does: by one simulated GPU.
pub fn refusing(
    machine: &Machine,
    only: &[ElementName],
    refuse: impl FnMut(&Experiment) -> Option<Failure>,
) -> Outcome {
    let mut gpu = Sim::new(machine.clone(), 1);
    let facts = gpu.facts().clone();
    let bench = Bench::new(&mut gpu, Arc::default()).expect("a simulated machine takes the census");
    let mut watched = Watched { source: bench, refuse, seen: Vec::new() };
    let question = Request { only: only.to_vec(), effort: Effort::Quick, seed: 1 };
    let found = discover(&mut watched, &facts, &question, &mut |_| {});
    let run = RunInfo { simulated: true, ..RunInfo::default() };
    Outcome { topology: found.into_topology(facts, run, None), seen: watched.seen }
}

/// An attribute of an element by its key.
pub fn finding<'t>(topology: &'t Topology, name: ElementName, attribute: &str) -> &'t Finding {
    let attribute: Attribute = attribute.parse().unwrap();
    topology.elements[&name].finding(attribute).unwrap_or_else(|| panic!("{name} has no attribute {attribute}"))
}

/// The value of a finding as JSON has it, null where it is unknown: what expectations are written in.
pub fn json(finding: &Finding) -> serde_json::Value {
    serde_json::to_value(&finding.value).unwrap()
}
