//! Whether what is stored stays in the L2 until its line gives way.
//!
//! Other memory fills the L2. Then all SMs write to lines of a part of the L2's size, or read them. Later they read the other memory again,
//! which displaces those lines, and that is timed ([`Displacement`]). Lines that were only read give way for nothing. What was stored and is in the L2 only must go to memory first, which takes
//! memory's bandwidth from the reading.
//!
//! Fails where the reading takes no longer. Then stores may go to memory at once, or memory's bandwidth is not what limits the reading.

use super::residency::Asked;
use super::{Gap, Notebook};
use crate::analysis::robust;
use strata_model::experiment::{Displacement, LONGEST_PAUSE, STORED, Traffic};
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// Part of the capacity that is written or read first: so little that most of it stays until it is displaced, also where victims are random.
const PART: u64 = 2;
/// The pause is so many times as long as the timed reading. The stores touch at most a quarter of the lines of that reading. So they have
/// reached memory by then if they go there at once.
const PAUSES: f64 = 2.0;
/// What is done to the memory that is displaced.
const KINDS: [Traffic; 2] = [Traffic::Read, Traffic::Write];
/// Share of all pairs in which the reading after stores must take longer than that after loads. Of five and five, chance gives as many in 2 %.
const LONGER: f64 = 0.9;
/// Least part by which it takes longer: on four H200s 5 % or more, in 61 processes.
const LEAST: f64 = 0.03;

/// What the timed reading took after loads and after stores: the mean of its blocks, in cycles, for each launch.
fn times(notebook: &Notebook, asked: &Asked) -> Result<[Vec<f64>; 2], Gap> {
    if asked.line < STORED {
        return Gap::unknown(format!(
            "a store of {STORED} writes several lines of {}, of which a load reads one",
            asked.line
        ));
    }
    let all = asked.all.round_down(asked.line);
    let one = |traffic: Traffic, pause: u32, repeat: u32| Displacement {
        traffic,
        first: asked.first(),
        before: all,
        after: all,
        step: asked.line,
        pause,
        repeat,
    };
    let mean = |cycles: &[u32]| robust::mean(&cycles.iter().copied().map(f64::from).collect::<Vec<_>>());
    let first = notebook.read(&[one(Traffic::Read, 0, 0)])?;
    let takes = mean(first[0].latencies());
    if PAUSES * takes > f64::from(LONGEST_PAUSE) {
        return Gap::unknown(format!(
            "reading {all} takes {takes:.0} cycles, and stores may take as long to go to memory: no experiment waits as long as twice that"
        ));
    }
    // A power of two, so that runs of one GPU wait equally long; the longest is one, too.
    let pause = ((PAUSES * takes) as u32).max(1).next_power_of_two();
    // In turn, so that a clock that changes is in both.
    let launches: Vec<Displacement> = (0..notebook.effort().choose(5, 5, 7))
        .flat_map(|repeat| KINDS.map(|traffic| one(traffic, pause, repeat)))
        .collect();
    let measurements = notebook.read(&launches)?;
    Ok([0, 1].map(|kind| measurements.iter().skip(kind).step_by(KINDS.len()).map(|of| mean(of.latencies())).collect()))
}

/// By which part a reading takes longer after stores, if it surely does.
fn longer(after_loads: &[f64], after_stores: &[f64]) -> Option<f64> {
    let pairs = after_loads.len() * after_stores.len();
    let of = |stored: &f64| after_loads.iter().filter(|&loaded| stored > loaded).count();
    let slower: usize = after_stores.iter().map(of).sum();
    let part = robust::median(after_stores)? / robust::median(after_loads)? - 1.0;
    (slower as f64 >= LONGER * pairs as f64 && part >= LEAST).then_some(part)
}

/// Whether the L2 keeps what is stored until its line gives way: true, or unknown.
///
/// # Errors
///
/// An unknown, where reading what displaces stored lines takes no longer than reading what displaces loaded ones.
pub fn write_back(notebook: &Notebook, asked: &Asked) -> Result<Finding<bool>, Gap> {
    let [after_loads, after_stores] = times(notebook, asked)?;
    let [loaded, stored] = [&after_loads, &after_stores].map(|times| robust::median(times).unwrap_or_default());
    let what = format!("reading {} takes {stored:.0} cycles", asked.all.round_down(asked.line));
    let first = asked.first();
    match longer(&after_loads, &after_stores) {
        Some(part) => Ok(Finding::measured(
            true,
            "reading of other memory by all SMs, after stores to half as many lines as the L2 holds and after loads of them",
        )
        .note(format!(
            "{what} after stores to the lines of {first}, {:.1} % longer than after loads of them ({loaded:.0})",
            100.0 * part
        ))),
        None => Gap::unknown(format!(
            "{what} after stores to the lines of {first}, and {loaded:.0} after loads of them: stores may go to memory at once, or memory's \
             bandwidth is not what limits the reading"
        )),
    }
}

impl Asked {
    /// Memory whose lines are written or read first.
    fn first(&self) -> Bytes {
        Bytes(self.capacity.0 / PART).round_down(self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_longer_by_more_than_chance_and_by_a_part() {
        // The cycles of an H200 (GPU-04a20b9d) over 128 MiB, after loads and stores of 16 MiB and of none.
        let (loads, stores) =
            ([29746.0, 29678.0, 29701.0, 29746.0, 29724.0], [35189.0, 33353.0, 35169.0, 33411.0, 33418.0]);
        assert!(longer(&loads, &stores).is_some_and(|part| (part - 0.124).abs() < 0.001));
        assert_eq!(longer(&loads, &loads), None);
        let of_none = ([30520.0, 31283.0, 29761.0, 31286.0, 29633.0], [29766.0, 29746.0, 29738.0, 29759.0, 29749.0]);
        assert_eq!([longer(&of_none.0, &of_none.1), longer(&of_none.1, &of_none.0)], [None; 2]);
        // Surely, but by too little.
        assert_eq!(longer(&[100.0; 5], &[102.0; 5]), None);
        // Not surely.
        assert_eq!(longer(&[100.0, 100.0, 140.0], &[105.0, 130.0, 130.0]), None);
    }
}
