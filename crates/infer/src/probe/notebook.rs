//! What a probe sees: the samples so far, and a list of the experiments that it still needs.
//!
//! A probe is one function from samples to a finding. Where it needs a sample that is not there yet, [`Notebook::read`]
//! notes the experiment and answers [`Missing`]; so the same function that infers also asks, and a recording that lacks
//! what a newer probe wants gives a reasoned unknown instead of a question.

use std::cell::RefCell;
use std::hash::Hash;
use std::rc::Rc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::gap::{Gap, Missing, Settle};
use super::memo::{Cache, Inferred, Memo};
use strata_model::attribute::{Key, Typed};
use strata_model::effort::Effort;
use strata_model::evidence::Evidence;
use strata_model::experiment::{Atomics, Experiment, Imported, Launched, Stream, Timing};
use strata_model::facts::DeviceFacts;
use strata_model::import::Series;
use strata_model::pattern::Pattern;
use strata_model::samples::{Failure, Samples};
use strata_model::topology::{Entry, Finding};
use strata_model::units::Bytes;

type Answer = Result<Samples, Failure>;

/// The samples so far. Shared by all probes of a run.
pub struct Notebook {
    facts: DeviceFacts,
    effort: Effort,
    seed: u64,
    bandwidth: bool,
    atomics: bool,
    answers: FxHashMap<Experiment, (u32, Rc<Answer>)>,
    missing: RefCell<IndexSet<Experiment, FxBuildHasher>>,
    cited: RefCell<Vec<u32>>,
    /// What was inferred, for [`Notebook::once`].
    pub(super) memo: Memo,
}

impl Notebook {
    /// An empty one.
    pub fn new(facts: DeviceFacts, effort: Effort, seed: u64) -> Self {
        Notebook {
            facts,
            effort,
            seed,
            bandwidth: false,
            atomics: false,
            answers: FxHashMap::default(),
            missing: RefCell::default(),
            cited: RefCell::default(),
            memo: Memo::default(),
        }
    }

    /// With the question of bandwidth, or without it.
    pub fn with_bandwidth(self, bandwidth: bool) -> Self {
        Notebook { bandwidth, ..self }
    }

    /// With the question of atomics a second, or without it.
    pub fn with_atomics(self, atomics: bool) -> Self {
        Notebook { atomics, ..self }
    }

    /// Whether bandwidth is asked for.
    pub fn asks_bandwidth(&self) -> bool {
        self.bandwidth
    }

    /// Whether atomics a second are asked for.
    pub fn asks_atomics(&self) -> bool {
        self.atomics
    }

    /// What the driver says of the device.
    pub fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    /// How much is to be measured.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// A seed for an experiment, different for each `purpose` and each seed of the run.
    pub fn seed(&self, purpose: u64) -> u64 {
        self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(purpose)
    }

    /// The samples of these experiments, in their order. What is missing is noted, all of it at once.
    ///
    /// # Errors
    ///
    /// [`Gap::Missing`] if any is not there yet; otherwise the first failure.
    pub fn read<E: Clone + Into<Experiment>>(&self, experiments: &[E]) -> Result<Vec<Measurement<E>>, Gap> {
        let measurements = self.read_each(experiments)?;
        measurements.into_iter().map(|measurement| measurement.map_err(Gap::from)).collect()
    }

    /// As [`Notebook::read`], with each experiment's own failure in its place.
    ///
    /// # Errors
    ///
    /// [`Missing`] if any is not there yet.
    pub fn read_each<E: Clone + Into<Experiment>>(
        &self,
        experiments: &[E],
    ) -> Result<Vec<Result<Measurement<E>, Failure>>, Missing> {
        let known: Vec<_> = experiments
            .iter()
            .map(|experiment| {
                let wanted = experiment.clone().into();
                let known = self.answers.get(&wanted);
                if known.is_none() {
                    self.missing.borrow_mut().insert(wanted);
                }
                known
            })
            .collect();
        let known: Vec<&(u32, Rc<Answer>)> = known.into_iter().collect::<Option<_>>().ok_or(Missing)?;
        let mut cited = self.cited.borrow_mut();
        cited.extend(known.iter().filter(|(_, answer)| !is_not_recorded(answer)).map(|(number, _)| *number));
        Ok(experiments
            .iter()
            .zip(known)
            .map(|(experiment, (_, answer))| match answer.as_ref() {
                Ok(_) => Ok(Measurement { experiment: experiment.clone(), answer: Rc::clone(answer) }),
                Err(failure) => Err(failure.clone()),
            })
            .collect())
    }

    /// The number that an experiment has, once it has been asked.
    pub fn number_of(&self, experiment: impl Into<Experiment>) -> Option<u32> {
        self.answers.get(&experiment.into()).map(|(number, _)| *number)
    }

    /// Adds what came back. Samples of which there are not as many as were asked for, as a recording of another's making may
    /// hold, are a failure.
    pub fn add(&mut self, number: u32, experiment: Experiment, answer: Answer) {
        let answer = answer.and_then(|samples| match lacks(&samples, &experiment) {
            Some(what) => Err(Failure::failed(what)),
            None => Ok(samples),
        });
        self.answers.insert(experiment, (number, Rc::new(answer)));
    }

    /// Forgets what came back of these experiments, and all that was inferred, which may rest on it.
    pub fn forget(&mut self, experiments: &[Experiment]) {
        for experiment in experiments {
            self.answers.remove(experiment);
        }
        self.memo = Memo::default();
    }

    /// The measurements of an imported series, by footprint and stride.
    pub fn imported(&self, series: Series) -> Vec<Measurement<Imported>> {
        let mut found: Vec<(u32, Measurement<Imported>)> = self
            .answers
            .iter()
            .filter_map(|(experiment, (number, answer))| match experiment {
                Experiment::Imported(imported) if imported.series == series && answer.is_ok() => {
                    Some((*number, Measurement { experiment: *imported, answer: Rc::clone(answer) }))
                }
                _ => None,
            })
            .collect();
        found.sort_by_key(|(number, Measurement { experiment: e, .. })| (e.footprint, e.stride, e.repeat, *number));
        self.cited.borrow_mut().extend(found.iter().map(|(number, _)| *number));
        found.into_iter().map(|(_, measurement)| measurement).collect()
    }

    /// The experiments noted as missing since the last call.
    pub fn take_missing(&self) -> Vec<Experiment> {
        self.missing.take().into_iter().collect()
    }

    /// How many experiments it holds.
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// All that was answered, for whoever shows what findings rest on.
    pub fn into_evidence(self) -> Evidence {
        self.answers.into_iter().map(|(experiment, (number, answer))| (number, experiment, answer)).collect()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// One attribute of an element: what `infer` says, with the numbers of the experiments that it read, or why it says nothing.
    pub fn attribute<T: Typed>(&self, key: Key<T>, infer: impl FnOnce() -> Result<Finding<T>, Gap>) -> Entry {
        Entry::new(key, self.finding(infer))
    }

    /// As [`Notebook::attribute`], of what is no attribute of an element.
    pub fn finding<T>(&self, infer: impl FnOnce() -> Result<Finding<T>, Gap>) -> Finding<T> {
        let (finding, cited) = self.citing(infer);
        finding.unwrap_or_else(Gap::finding).from_experiments(cited)
    }

    /// As [`Notebook::attribute`], of the size itself: where it is beyond what could be tried, that is its lower bound.
    pub fn size(&self, key: Key<Bytes>, infer: impl FnOnce() -> Result<Finding<Bytes>, Gap>) -> Entry {
        let (finding, cited) = self.citing(infer);
        Entry::new(key, finding.unwrap_or_else(Gap::size).from_experiments(cited))
    }

    /// What `infer` says, with the numbers of the experiments that it read.
    fn citing<T>(&self, infer: impl FnOnce() -> T) -> (T, Vec<u32>) {
        let outer = self.cited.take();
        let answer = infer();
        (answer, self.cited.replace(outer))
    }

    /// Something that several attributes need, inferred once it can be and kept in `cache` under `key`. Each of them cites
    /// the experiments that were read for it.
    ///
    /// # Errors
    ///
    /// As `infer`.
    pub(super) fn once<K: Eq + Hash, V: Clone>(
        &self,
        cache: &Cache<K, V>,
        key: K,
        infer: impl FnOnce() -> Result<V, Gap>,
    ) -> Result<V, Gap> {
        if let Some(Inferred { answer, cited }) = cache.get(&key) {
            self.cited.borrow_mut().extend(cited);
            return Ok(answer?);
        }
        let (answer, cited) = self.citing(infer);
        self.cited.borrow_mut().extend(&cited);
        let answer = answer.settled()?;
        cache.keep(key, Inferred { answer: answer.clone(), cited });
        Ok(answer?)
    }
}

/// An experiment, of any kind or of one, with its samples.
#[derive(Clone, Debug)]
pub struct Measurement<E = Experiment> {
    /// What was done.
    pub experiment: E,
    answer: Rc<Answer>,
}

impl<E> Measurement<E> {
    /// What came back.
    pub fn samples(&self) -> &Samples {
        match self.answer.as_ref() {
            Ok(samples) => samples,
            Err(failure) => unreachable!("a measurement is made only of samples, not of {failure}"),
        }
    }

    /// Per-load latencies, overhead included.
    pub fn latencies(&self) -> &[u32] {
        &self.samples().latencies
    }
}

/// Whether a recording lacks the experiment.
fn is_not_recorded(answer: &Answer) -> bool {
    matches!(answer, Err(Failure::NotRecorded))
}

/// What is missing of what the experiment asks for, if anything is.
fn lacks(samples: &Samples, experiment: &Experiment) -> Option<String> {
    let latencies = |wanted: u32| (samples.latencies.len(), wanted as usize, "latencies");
    let laps = |rounds: u32| (samples.laps.len(), 2 * rounds as usize, "times of laps");
    let (found, wanted, what) = match experiment {
        Experiment::Clock(_) => (samples.clocks.len().min(1), 1, "clock readings"),
        Experiment::Watch(_) => (samples.clocks.len(), 3, "clock readings"),
        Experiment::Chase(chase) | Experiment::Launched(Launched { chase, .. }) => match chase.timing {
            Timing::EachLoad { loads, .. } => latencies(loads),
            Timing::EachPair { pairs } => latencies(pairs),
            Timing::Laps { rounds, .. } => laps(rounds),
        },
        Experiment::Disturb(disturb) => latencies(disturb.loads),
        Experiment::Warp(warp) => laps(warp.rounds),
        Experiment::Pattern(run) => match run.pattern {
            Pattern::Pairs { .. } => latencies(run.pattern.operations()),
            _ => (samples.laps.len(), run.rounds as usize, "times of rounds"),
        },
        Experiment::Stream(Stream { sms, blocks_per_sm, .. })
        | Experiment::Atomics(Atomics { sms, blocks_per_sm, .. }) => {
            let sms = if sms.is_empty() { samples.laps.len() / (*blocks_per_sm).max(1) as usize } else { sms.len() };
            (samples.laps.len(), sms.max(1) * *blocks_per_sm as usize, "times of blocks")
        }
        // The pauses decide how many loads end in the time that counts.
        Experiment::LoadedChase(chase) => {
            let blocks = chase.stream.blocks_per_sm.max(1) as usize;
            (samples.laps.len() % blocks, 0, "times of blocks too many")
        }
        Experiment::Transfer(_) => (samples.clocks.len(), 1, "times"),
        Experiment::Imported(imported) => latencies(imported.loads),
    };
    (found != wanted).then(|| format!("the samples hold {found} {what}, not {wanted}"))
}

#[cfg(test)]
mod tests;
