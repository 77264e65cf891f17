//! The evidence of a run: its experiments with their samples, by the numbers that findings cite.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::experiment::Experiment;
use crate::samples::{Failure, Samples};

/// The experiments of a run that have samples. Cheap to hand on: the samples are shared, not copied.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    answers: BTreeMap<u32, (Experiment, Rc<Result<Samples, Failure>>)>,
}

impl Evidence {
    /// What was asked and what came back under this number; `None` where nothing was, or only a failure.
    pub fn get(&self, number: u32) -> Option<(&Experiment, &Samples)> {
        let (experiment, answer) = self.answers.get(&number)?;
        Some((experiment, answer.as_ref().as_ref().ok()?))
    }
}

impl FromIterator<(u32, Experiment, Rc<Result<Samples, Failure>>)> for Evidence {
    fn from_iter<T: IntoIterator<Item = (u32, Experiment, Rc<Result<Samples, Failure>>)>>(answers: T) -> Self {
        let answers = answers.into_iter().map(|(number, experiment, answer)| (number, (experiment, answer)));
        Evidence { answers: answers.collect() }
    }
}
