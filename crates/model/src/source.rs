//! The upper seam: where samples come from. The bench measures them, a recording replays them; the layers above do not know
//! which.

use crate::experiment::Experiment;
use crate::samples::{Failure, Samples};

/// Answers experiments with samples.
pub trait Source {
    /// Runs a batch and answers in its order. Small experiments of a batch may share a launch, one to an SM.
    fn run(&mut self, batch: &[Experiment]) -> Vec<Result<Samples, Failure>>;

    /// Ends a part of a run, and gives those of its experiments that something else on the device disturbed. They are to be asked
    /// again. None of a source that nothing can disturb.
    fn disturbed(&mut self) -> Vec<Experiment> {
        Vec::new()
    }

    /// The number under which an experiment that was run is kept, if it is kept under one.
    fn number(&self, experiment: &Experiment) -> Option<u32> {
        let _ = experiment;
        None
    }
}
