//! What tests of discovery on simulated machines share: running it, and what is true of a machine.

pub use strata_judge::{Outcome, device, discovery, expect, finding, json, truth, whole_discovery};

use std::sync::Arc;

use gpu_strata::Effort;
use strata_bench::Bench;
use strata_gpu::Gpu;
use strata_infer::discover::{Request, discover};
use strata_model::experiment::Experiment;
use strata_model::samples::{Failure, Samples};
use strata_model::source::Source;
use strata_model::topology::{ElementName, RunInfo, Selection};
use strata_sim::Sim;
use strata_sim::machine::Machine;

/// How many times as many cases tests that take long have as in an ordinary run.
fn samples() -> usize {
    let asked = std::env::var("STRATA_SAMPLES");
    asked.map_or(1, |n| n.parse().ok().filter(|n| *n > 0).expect("STRATA_SAMPLES is a number of samples"))
}

/// The cases of a test that takes long: the first few of them, and with `STRATA_SAMPLES=N` so many times as many.
pub fn sample<T>(few: usize, all: &[T]) -> &[T] {
    &all[..all.len().min(few * samples())]
}

/// One of `every` cases, spread over all of them, and with `STRATA_SAMPLES=N` so many times as many.
pub fn spread<T>(every: usize, all: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    all.step_by((every / samples()).max(1))
}

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
    let selection = Selection::of(only.iter().map(|name| (*name).into()));
    let question = Request { selection, effort: Effort::Quick, seed: 1 };
    let found = discover(&mut watched, &facts, &question, &mut |_| {});
    let run = RunInfo { simulated: true, ..RunInfo::default() };
    Outcome { topology: found.into_topology(facts, run, None), seen: watched.seen }
}
