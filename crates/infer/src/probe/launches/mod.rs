//! The L1 that a kernel gets: what is left of the memory of an SM beside the shared memory that the driver sets aside.
//!
//! How much that is follows from the launch. With a carveout hint it is a share of the memory, without one it depends on how
//! many blocks an SM can hold and on their shared memory. First the hints are tried, from none of the memory to all of it: they
//! show which divisions there are, and the L1 of each. Then kernels of many shapes are launched without a hint, and each is
//! matched with a division by footprints between the sizes of neighbouring divisions, all in one launch.
//!
//! Single loads cannot be timed here, since their times would need shared memory. So misses show in the mean of a lap, and
//! small numbers of misses do not: the lower end of each interval is as much lower as could have been missed.
//!
//! Assumes that the first allocation is like the others; what `size` found of them widens the intervals. Fails if a footprint
//! that should fit does not: then that launch is left out.

mod divisions;
mod fit;

use std::cmp::Ordering;

use super::{Gap, Notebook, ask_each};
use crate::analysis::search;
use divisions::{Division, divisions, matching, tried};
pub use fit::Cache;
use fit::Shape;
use strata_model::attribute::{LaunchRow, Launches};
use strata_model::facts::DeviceFacts;
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// Threads of the smallest block: a warp.
const FEWEST_THREADS: u32 = 32;

/// The L1 by launch: of each division that a hint gives, and of kernels without a hint.
///
/// # Errors
///
/// An unknown, if the size with a hint cannot be found, or sizes do not fall with rising hints.
pub fn by_launch(notebook: &Notebook, cache: &Cache<'_>) -> Result<Finding<Launches>, Gap> {
    let facts = notebook.facts();
    let divisions = divisions(notebook, cache)?;
    let mut rows: Vec<LaunchRow> = divisions
        .iter()
        .map(|division| division.shape.row(facts, cache.over_allocations(division.knee), division.configured))
        .collect();
    let hinted = rows.len();
    let shapes = shapes(notebook);
    let tried = tried(cache, &divisions);
    let matched = ask_each(shapes.iter().map(|shape| matching(notebook, cache, &divisions, *shape)))?;
    let mut left_out: Vec<String> = Vec::new();
    for (shape, found) in shapes.iter().zip(matched) {
        match found {
            Ok(at) => {
                let Division { knee, configured, .. } = divisions[at];
                let (fits, misses) = tried[at];
                let mut size = cache.over_allocations(knee);
                // Where it is unknown what a division sets aside, a further one may have been taken for it.
                if configured.is_none() {
                    (size.low, size.high) = (size.low.min(fits), size.high.max(misses - cache.stride));
                }
                rows.push(shape.row(facts, size, configured));
            }
            Err(unknown) => {
                left_out.push(format!("{} threads with {}: {}", shape.threads, shape.shared, unknown.reason()))
            }
        }
    }
    let note = rule(facts, &rows[..hinted], &rows[hinted..]);
    let finding = Finding::measured(
        Launches(rows),
        format!(
            "whole-lap chase by {} of one thread of each launch, with a carveout hint of {} to {} %, and without one",
            cache.path,
            divisions.first().and_then(|first| first.shape.carveout).unwrap_or_default(),
            divisions.last().map_or(0, |last| last.last)
        ),
    );
    Ok(left_out.into_iter().fold(finding.note(note), |finding, why| finding.note(format!("left out: {why}"))))
}

/// Shapes of kernels that are launched without a hint: threads from a warp on, shared memory from none on, both doubled.
fn shapes(notebook: &Notebook) -> Vec<Shape> {
    let facts = notebook.facts();
    let every = notebook.effort().choose(2, 1, 1);
    let threads = search::doubling(u64::from(FEWEST_THREADS), u64::from(facts.max_threads_per_block));
    let shared: Vec<u64> = std::iter::once(0).chain(search::doubling(1024, facts.most_shared_per_block().0)).collect();
    let each = |threads: u64| {
        shared.iter().step_by(every).map(move |&shared| Shape {
            threads: threads as u32,
            shared: Bytes(shared),
            carveout: None,
        })
    };
    threads.into_iter().rev().step_by(every).flat_map(each).collect()
}

/// The rule that explains the most launches, in words.
fn rule(facts: &DeviceFacts, divisions: &[LaunchRow], launches: &[LaunchRow]) -> String {
    if let [only] = divisions {
        let same = launches.iter().filter(|row| row.size == only.size).count();
        return format!(
            "no carveout hint changes the usable capacity, and {same} of {} launches without a hint have it",
            launches.len()
        );
    }
    let known: Vec<Bytes> = divisions.iter().filter_map(|row| row.shared_configured).collect();
    let reserved = facts.shared_of_block(Bytes(0));
    let told: Vec<&LaunchRow> = launches.iter().filter(|row| row.shared_configured.is_some()).collect();
    if told.is_empty() || known.len() < divisions.len() {
        return format!(
            "for {} of {} sizes the hints do not tell how much shared memory is set aside",
            divisions.len() - known.len(),
            divisions.len()
        );
    }
    // How many launches set aside what so many blocks need, and how many more.
    let explained = |blocks: fn(&LaunchRow) -> u64| {
        let compared = told.iter().filter_map(|row| {
            let need = facts.shared_of_block(row.shared_per_block) * blocks(row);
            let expected = known.iter().filter(|step| **step >= need).min()?;
            Some(row.shared_configured?.cmp(expected))
        });
        let compared: Vec<Ordering> = compared.collect();
        let count = |which| compared.iter().filter(|one| **one == which).count();
        (count(Ordering::Equal), count(Ordering::Greater))
    };
    let (all, one) = (explained(|row| row.blocks_per_sm.into()), explained(|_| 1));
    let ((explained, more), words) =
        if one.0 > all.0 { (one, "one block") } else { (all, "all blocks that an SM can hold") };
    let steps: Vec<String> = known.iter().map(Bytes::to_string).collect();
    let mut text = format!(
        "set aside for shared memory: {}; the shared memory of {words}, with {reserved} a block for the system, rounded up to one \
         of these, explains {explained} of {} launches without a hint",
        steps.join(", "),
        told.len()
    );
    if more > 0 {
        text.push_str(&format!("; {more} have more set aside, and so less L1"));
    }
    text
}
