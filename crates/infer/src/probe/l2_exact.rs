//! The usable capacity of an L2 that is small enough to be walked line by line.
//!
//! The search by samples ([`super::l2`]) leaves a bracket of a few pieces of 64 KiB. Inside it every line of a footprint is
//! timed after two warm laps of one thread; whole laps between the windows of times undo what writing them out displaces.
//! So the first line beyond the capacity shows. One allocation; a walk takes time in proportion to the square of the
//! footprint, which is why large L2s keep the answer of the sample, with its interval.

use super::l2::{LATE, PIECE};
use super::levels::HitMiss;
use super::spikes::{self, Count, Spikes};
use super::{Gap, Notebook};
use crate::analysis::growth::Growth;
use crate::analysis::search::{self, Bracket};
use strata_model::experiment::{Chase, LoadPath, Place};
use strata_model::units::Bytes;

/// Footprints up to this are walked line by line.
pub const LARGEST: Bytes = Bytes::mib(8);
/// Footprints between the ends of a bracket.
const SECTIONS: usize = 3;
/// Rounds: each leaves a quarter of the bracket, so 12 narrow 2^24 lines to one.
const MAX_ROUNDS: usize = 12;

/// Where misses begin to grow, to one `step`, from the bracket that a sample has left.
///
/// # Errors
///
/// An unknown, if misses do not grow within the bracket.
pub fn refine(
    notebook: &Notebook,
    levels: &HitMiss,
    coarse: &Growth,
    spikes: Spikes,
    step: Bytes,
) -> Result<Growth, Gap> {
    let margin = LATE * PIECE.0;
    let mut bracket =
        Bracket { low: coarse.last_flat.saturating_sub(margin).max(PIECE.0), high: coarse.first_grown + margin };
    let mut sweep: Vec<Chase> = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let ends = [bracket.low, bracket.high];
        for size in search::sections(bracket, step.0, SECTIONS).into_iter().chain(ends) {
            let chase = walk(Bytes(size).round_down(step), step);
            if !sweep.contains(&chase) {
                sweep.push(chase);
            }
        }
        let mut counts: Vec<Count> = notebook
            .read(&sweep)?
            .iter()
            .map(|measurement| Count {
                footprint: measurement.experiment.footprint.0,
                loads: measurement.latencies().len(),
                slow: levels.misses(measurement.latencies()) as f64,
            })
            .collect();
        counts.sort_unstable_by_key(|count| count.footprint);
        let Some(knee) = spikes::knee(&counts, spikes) else {
            // The sample was early by more than that: look further up.
            if bracket.high > 2 * coarse.first_grown {
                return Gap::unknown("misses do not grow line by line where a sample shows growth");
            }
            bracket = Bracket { low: bracket.high, high: bracket.high + bracket.high / 16 };
            continue;
        };
        let growth = knee.growth;
        if growth.first_grown - growth.last_flat <= step.0 {
            return Ok(growth);
        }
        bracket = Bracket { low: growth.last_flat, high: growth.first_grown };
    }
    Gap::unknown("the search line by line did not converge")
}

fn walk(footprint: Bytes, step: Bytes) -> Chase {
    Chase { warm_laps: 2, place: Place::alone_on(0), ..Chase::each_load(LoadPath::GlobalCg, footprint, step) }
}
