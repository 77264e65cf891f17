//! What barriers cost (Fuchs et al., section 3.4.2; warps and grids are its future work, section 5).
//!
//! Every thread writes 1024 words of global memory, the same for all, and waits N times for the others: the paper's kernel.
//! Rounds of one launch repeat it; all of them write what is in the L2 after the first.

use crate::characterization::Suite;
use crate::probe::{Gap, Notebook};

use super::Answer;

/// What is asked.
pub(super) const QUESTION: &str = "What do barriers cost threads that write to global memory?";

/// Fits the answer.
pub(super) fn infer(_: &Notebook, _: &Suite) -> Result<Answer, Gap> {
    Gap::unknown("not there yet")
}
