//! What a probe sees: the samples so far, and a list of the experiments that it still needs.
//!
//! A probe is one function from samples to a finding. Where it needs a sample that is not there yet, [`Notebook::read`]
//! notes the experiment and answers [`Missing`]; so the same function that infers also asks, and a recording that lacks
//! what a newer probe wants gives a reasoned unknown instead of a question.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::hash::Hash;
use std::rc::Rc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::gap::{Gap, Missing, Settle};
use super::lacks::lacks;
use super::memo::{Cache, Inferred, Memo};
use strata_model::attribute::{Attribute, Key, Typed};
use strata_model::effort::Effort;
use strata_model::evidence::Evidence;
use strata_model::experiment::{Experiment, Imported};
use strata_model::facts::DeviceFacts;
use strata_model::import::Series;
use strata_model::samples::{Failure, Samples};
use strata_model::topology::{Entry, Finding};
use strata_model::units::Bytes;

type Answer = Result<Samples, Failure>;

/// The samples so far. Shared by all probes of a run.
pub struct Notebook {
    facts: DeviceFacts,
    effort: Effort,
    seed: u64,
    /// The attributes that are asked for; all, where nobody chose.
    asked: Option<BTreeSet<Attribute>>,
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
            asked: None,
            answers: FxHashMap::default(),
            missing: RefCell::default(),
            cited: RefCell::default(),
            memo: Memo::default(),
        }
    }

    /// From here on these attributes are asked for, and no others.
    pub fn ask(&mut self, attributes: impl IntoIterator<Item = Attribute>) {
        self.asked = Some(attributes.into_iter().collect());
    }

    /// Whether an attribute is asked for. One that is not may still be measured, where another one depends on it.
    pub fn asks(&self, attribute: impl Into<Attribute>) -> bool {
        let attribute = attribute.into();
        self.asked.as_ref().is_none_or(|asked| asked.contains(&attribute))
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

    /// Whether a recording that is replayed has no such experiment, since it is older than the probe that asks. Of a GPU never.
    ///
    /// # Errors
    ///
    /// [`Missing`], if it is not there yet.
    pub fn is_not_recorded<E: Clone + Into<Experiment>>(&self, experiment: &E) -> Result<bool, Missing> {
        Ok(matches!(self.read_each(std::slice::from_ref(experiment))?.as_slice(), [Err(Failure::NotRecorded)]))
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
    /// `None` if nobody asks for it: then nothing is measured.
    pub fn attribute<T: Typed>(&self, key: Key<T>, infer: impl FnOnce() -> Result<Finding<T>, Gap>) -> Option<Entry> {
        self.asks(key).then(|| Entry::new(key, self.finding(infer)))
    }

    /// As [`Notebook::attribute`], of what is no attribute of an element.
    pub fn finding<T>(&self, infer: impl FnOnce() -> Result<Finding<T>, Gap>) -> Finding<T> {
        let (finding, cited) = self.citing(infer);
        finding.unwrap_or_else(Gap::finding).from_experiments(cited)
    }

    /// As [`Notebook::attribute`], of the size itself: where it is beyond what could be tried, that is its lower bound.
    pub fn size(&self, key: Key<Bytes>, infer: impl FnOnce() -> Result<Finding<Bytes>, Gap>) -> Option<Entry> {
        self.asks(key).then(|| {
            let (finding, cited) = self.citing(infer);
            Entry::new(key, finding.unwrap_or_else(Gap::size).from_experiments(cited))
        })
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::gap::Unknown;
    use super::super::levels::HitMiss;
    use super::*;

    use strata_model::attribute::{LINE_SIZE, SIZE};
    use strata_model::experiment::{Chase, LoadPath, Timing};
    use strata_model::units::Bytes;

    fn chase(repeat: u32) -> Chase {
        let timing = Timing::resident(1);
        Chase { repeat, timing, ..Chase::each_load(LoadPath::GlobalCa, Bytes(1024), Bytes(32)) }
    }

    #[test]
    fn what_is_missing_is_noted_once_and_then_read() {
        let mut notebook = Notebook::new(DeviceFacts::default(), Effort::Quick, 0);
        let wanted = [chase(0), chase(1), chase(0)];
        assert_eq!(notebook.read(&wanted).unwrap_err(), Gap::Missing);
        assert_eq!(notebook.take_missing(), [chase(0).into(), chase(1).into()]);
        notebook.add(7, chase(0).into(), Ok(Samples { latencies: vec![40], ..Samples::default() }));
        notebook.add(8, chase(1).into(), Err(Failure::failed("broken")));
        notebook.add(9, chase(2).into(), Ok(Samples::default()));
        let failed = |how: &str| Gap::from(Unknown::Failed(how.into()));
        assert_eq!(notebook.read(&[chase(2)]).unwrap_err(), failed("the samples hold 0 latencies, not 1"));
        assert_eq!(notebook.read(&wanted).unwrap_err(), failed("broken"));
        let finding = notebook.finding(|| {
            let measurements = notebook.read(&[chase(0)])?;
            Ok(Finding::measured(measurements[0].latencies()[0].into(), "read"))
        });
        assert_eq!((finding.value, finding.experiments), (Some(40_u64), vec![7]));
        assert!(notebook.take_missing().is_empty());
    }

    /// Hits and misses of nothing in particular.
    const LEVELS: HitMiss = HitMiss { threshold: 50, hit: 40.0, miss: 60.0, spread: 1.0 };

    #[test]
    fn what_is_inferred_once_still_cites_its_experiments() {
        let mut notebook = Notebook::new(DeviceFacts::default(), Effort::Quick, 0);
        notebook.add(3, chase(0).into(), Ok(Samples { latencies: vec![40], ..Samples::default() }));
        let times = Cell::new(0);
        let levels = || {
            notebook.once(&notebook.memo.l2_levels, (), || {
                times.set(times.get() + 1);
                notebook.read(&[chase(0)])?;
                Ok(LEVELS)
            })
        };
        for _ in 0..2 {
            let finding = notebook.finding(|| Ok(Finding::measured(levels()?.hit, "hit")));
            assert_eq!((finding.value, finding.experiments), (Some(40.0), vec![3]));
        }
        assert_eq!(times.get(), 1);
    }

    #[test]
    fn what_nobody_asks_for_is_not_inferred() {
        let mut notebook = Notebook::new(DeviceFacts::default(), Effort::Quick, 0);
        let size = || Ok(Finding::measured(Bytes(64), "by hand"));
        assert!(notebook.size(SIZE, size).is_some() && notebook.attribute(LINE_SIZE, size).is_some());
        notebook.ask([SIZE.into()]);
        assert!(notebook.asks(SIZE) && notebook.size(SIZE, size).is_some());
        assert_eq!(notebook.attribute(LINE_SIZE, || panic!("nobody asks for it")), None);
        assert!(notebook.take_missing().is_empty());
    }

    #[test]
    fn what_is_missing_is_inferred_again_and_what_is_unknown_is_not() {
        let mut notebook = Notebook::new(DeviceFacts::default(), Effort::Quick, 0);
        let times = Cell::new(0);
        let ask = |notebook: &Notebook| {
            notebook.once(&notebook.memo.l2_levels, (), || {
                times.set(times.get() + 1);
                notebook.read(&[chase(0)])?;
                Gap::unknown("unclear")
            })
        };
        assert_eq!(ask(&notebook), Err(Gap::Missing));
        notebook.add(1, chase(0).into(), Ok(Samples { latencies: vec![40], ..Samples::default() }));
        for _ in 0..2 {
            assert_eq!(ask(&notebook), Err(Unknown::because("unclear").into()));
        }
        assert_eq!(times.get(), 2);
    }

    #[test]
    fn what_is_forgotten_is_asked_and_inferred_again() {
        let mut notebook = Notebook::new(DeviceFacts::default(), Effort::Quick, 0);
        let level = |notebook: &Notebook| {
            notebook.once(&notebook.memo.l2_levels, (), || {
                let hit = f64::from(notebook.read(&[chase(0)])?[0].latencies()[0]);
                Ok(HitMiss { hit, ..LEVELS })
            })
        };
        let samples = |cycles| Ok(Samples { latencies: vec![cycles], ..Samples::default() });
        notebook.add(1, chase(0).into(), samples(4000));
        assert_eq!(level(&notebook).unwrap().hit, 4000.0);
        notebook.forget(&[chase(0).into()]);
        assert_eq!(level(&notebook), Err(Gap::Missing));
        notebook.add(2, chase(0).into(), samples(40));
        assert_eq!(level(&notebook).unwrap().hit, 40.0);
    }

    #[test]
    fn answers_are_kept_by_question_and_key() {
        let notebook = Notebook::new(DeviceFacts::default(), Effort::Quick, 0);
        let fetch = |bytes: u64| crate::probe::fetch::Fetch { granularity: Bytes(bytes), agreement: 1.0 };
        let sector = |path, bytes| notebook.once(&notebook.memo.sector, path, || Ok(fetch(bytes)));
        assert_eq!(sector(LoadPath::GlobalCa, 32), Ok(fetch(32)));
        assert_eq!(sector(LoadPath::Texture, 64), Ok(fetch(64)));
        assert_eq!(sector(LoadPath::GlobalCa, 128), Ok(fetch(32)));
    }
}
