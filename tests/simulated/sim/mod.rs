//! What tests of discovery on simulated machines share: running it, and what is true of a machine.

pub mod any;
pub mod expect;
pub mod truth;

use std::sync::Arc;

use strata_bench::Bench;
use strata_gpu::Gpu;
use strata_infer::asking::Stage;
use strata_infer::discover::{Request, discover};
use strata_infer::probe::Effort;
use strata_model::attribute::Attribute;
use strata_model::experiment::Experiment;
use strata_model::samples::{Failure, Samples};
use strata_model::source::Source;
use strata_model::topology::{ElementName, Finding, RunInfo, Topology};
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
    pub stages: Vec<Stage>,
}

/// Discovery on a machine.
pub fn discovery(machine: &Machine, effort: Effort, seed: u64) -> Outcome {
    refusing(machine, effort, seed, &[], |_| None)
}

/// Discovery of some elements on a machine that refuses some experiments.
pub fn refusing(
    machine: &Machine,
    effort: Effort,
    seed: u64,
    only: &[ElementName],
    refuse: impl FnMut(&Experiment) -> Option<Failure>,
) -> Outcome {
    let mut gpu = Sim::new(machine.clone(), seed);
    let facts = gpu.facts().clone();
    let bench = Bench::new(&mut gpu, Arc::default()).expect("a simulated machine takes the census");
    let mut watched = Watched { source: bench, refuse, seen: Vec::new() };
    let question = Request { only: only.to_vec(), effort, seed };
    let found = discover(&mut watched, &facts, &question, &mut |_| {});
    let run = RunInfo { simulated: true, ..RunInfo::default() };
    let stages = found.stages.clone();
    Outcome { topology: found.into_topology(facts, run, None), seen: watched.seen, stages }
}

/// Discovery of some elements (of all, if none is named) in the way of the command line: through the library's front, by
/// several simulated GPUs side by side, with standard effort. What was seen is read from the recording.
pub fn as_users_do(machine: &str, seed: u64, only: &[ElementName]) -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run.strata");
    let mut device = gpu_strata::Device::open(&format!("sim:{machine}")).expect("it comes with strata");
    let options = gpu_strata::Options::effort(Effort::Standard).seed(seed).record(&path);
    let found = device.discover_only(only, options).expect("a simulated machine is discovered");
    let recording = strata_recording::Recording::read(&path).expect("what was recorded can be read");
    let seen = recording.entries.iter().map(|entry| (entry.experiment.clone(), entry.outcome.clone())).collect();
    Outcome { topology: found.topology, seen, stages: Vec::new() }
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
