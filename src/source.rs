//! The upper seam: where samples come from. The bench measures them, a recording remembers them; nothing above asks which.

use crate::experiment::Experiment;
use crate::samples::{Failure, Samples};

/// Answers experiments with samples.
pub trait Source {
    /// Runs a batch and answers in its order. Small experiments of a batch may share a launch, one to an SM.
    fn run(&mut self, batch: &[Experiment]) -> Vec<Result<Samples, Failure>>;
}
