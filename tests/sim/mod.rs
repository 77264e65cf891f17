//! What tests of discovery on simulated machines share: running it, and what is true of a machine.

// Every test binary that has this uses another part of it.
#![allow(dead_code)]

pub mod any;
pub mod expect;
pub mod truth;

use std::sync::Arc;

use gpu_strata::asking::Stage;
use gpu_strata::bench::Bench;
use gpu_strata::discover::{Question, discover};
use gpu_strata::experiment::Experiment;
use gpu_strata::gpu::sim::Sim;
use gpu_strata::gpu::sim::machine::Machine;
use gpu_strata::gpu::{DeviceFacts, Gpu};
use gpu_strata::probe::Effort;
use gpu_strata::samples::{Failure, Samples};
use gpu_strata::source::Source;
use gpu_strata::topology::{ElementName, Finding, RunInfo, Topology};
use gpu_strata::{report, simulated};

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
    watched(Watched { source: bench, refuse, seen: Vec::new() }, facts, Question { only: only.to_vec(), effort, seed })
}

/// Discovery of some elements (of all, if none is named) on a machine in the way of the command line: by several simulated
/// GPUs side by side.
pub fn as_the_command(machine: &Machine, effort: Effort, seed: u64, only: &[ElementName]) -> Outcome {
    let facts = Sim::new(machine.clone(), 0).facts().clone();
    let fleet = simulated::fleet(machine, seed, &Arc::default()).expect("a simulated machine takes the census");
    let source = Watched { source: fleet, refuse: |_: &Experiment| None, seen: Vec::new() };
    watched(source, facts, Question { only: only.to_vec(), effort, seed })
}

fn watched<S: Source, R: FnMut(&Experiment) -> Option<Failure>>(
    mut source: Watched<S, R>,
    facts: DeviceFacts,
    question: Question,
) -> Outcome {
    let found = discover(&mut source, &facts, &question, &mut |_| {});
    let run = RunInfo { simulated: true, ..RunInfo::default() };
    let stages = found.stages.clone();
    Outcome { topology: report::assemble(facts, run, found, None), seen: source.seen, stages }
}

/// An attribute of an element by its name in `Element::findings`.
pub fn finding<'t>(topology: &'t Topology, name: ElementName, attribute: &str) -> &'t Finding {
    let all = topology.elements[&name].findings();
    let found = all.into_iter().find(|(a, _)| *a == attribute);
    found.unwrap_or_else(|| panic!("{name} has no attribute {attribute}")).1
}
