//! Bandwidth of copies that go on by themselves, against bytes in flight, beside loads that bring the same bytes through registers.
//!
//! Each warp copies pieces of memory into its part of shared memory and waits for all of a pass, as a load would be waited for. So shapes
//! of launches can be compared: bytes in flight are warps times the piece of a warp, however they are moved.
//!
//! What would refute it: copies that did not arrive. Then shared memory would not hold the last pieces in the end; and an mbarrier that
//! says how many bytes came would not let a warp go on.

use std::collections::BTreeMap;

use super::Level;
use super::halving::{Round, further_repeats, has_room, method, rates, search};
use super::interval::{OTHER_CLOCK, digits, per_second, thousandths};
use super::search::Shape;
use crate::probe::{Gap, Notebook, Unknown};
use strata_model::experiment::{AccessWidth, CopyStream, CopyWork};
use strata_model::topology::{BANDWIDTH_BY_BYTES_IN_FLIGHT, Finding, SeriesPoint};
use strata_model::units::{Bytes, BytesPerSecond};

/// Shapes of a launch: pieces of 512 bytes that a warp copies in a pass, threads of a block, blocks of an SM. From few bytes in flight to as
/// many as fit into the shared memory of a Hopper's SM, by few warps and by many, but by no more than [`MOST_COPIES`].
const SHAPES: [(u32, u32, u32); 18] = [
    (1, 64, 1),
    (1, 128, 1),
    (1, 256, 1),
    (1, 512, 1),
    (16, 32, 1),
    (1, 1024, 1),
    (2, 512, 1),
    (8, 128, 1),
    (16, 64, 1),
    (4, 512, 1),
    (16, 128, 1),
    (4, 1024, 1),
    (16, 256, 1),
    (8, 256, 3),
    (8, 768, 1),
    (16, 416, 1),
    (8, 1024, 1),
    (16, 128, 4),
];
/// Most warps of an SM: with 48 bulk copies in flight an H200 and an H100 get a third of what they get with 40.
#[cfg(test)]
const MOST_COPIES: u32 = 32;
/// Loads of a thread that are in flight at once at most, whatever the text of a kernel says: where a pass has more, ptxas waits for the first
/// ones before the last ones are issued (machine code in the recordings of 26 November 2026).
const MOST_LOADS: u32 = 4;
/// Shared memory of a block beside what it copies to: that of the kernel, and up to the next multiple of 128 bytes.
const BESIDE: Bytes = Bytes(512);
/// Share by which one way must be faster than the other to be called so: more than the medians of two launches differ by.
const FASTER: f64 = 1.1;

/// What so many bytes in flight give: bytes a cycle of an SM by the best shape that has them.
type ByBytes = BTreeMap<u64, f64>;

/// Bytes a second that such copies bring from a memory that all SMs share.
///
/// # Errors
///
/// An unknown, if the device has no such copies, or no room for them.
pub fn bandwidth(notebook: &Notebook, by: CopyWork, level: &Level) -> Result<Finding<BytesPerSecond>, Gap> {
    let sms = notebook.facts().multiprocessors;
    let stream = |shape: Shape, round, repeat| level.filled(level.stream(sms, shape, round, repeat), sms);
    let copies = |shape, round, repeat| CopyStream { stream: stream(shape, round, repeat), by };
    let shapes = shapes(notebook, |shape| copies(shape, Round::Search, 0));
    let best = search(notebook, &shapes, !level.is_fixed, copies)?.best;
    // A whole discovery found 0.5 % more than runs of the copies alone.
    let besides = OTHER_CLOCK + thousandths(level.other_place);
    let (value, low, high) = per_second(&best, besides).map_err(Unknown::because)?;

    let in_flight = |shape| stream(shape, Round::Search, 0).in_flight().0;
    let copied: Vec<(Shape, f64)> = rates(notebook, &shapes, copies, Round::Again, further_repeats())?
        .iter()
        .map(|of| (of.shape, of.median()))
        .collect();
    let alike: Vec<Shape> = shapes.iter().copied().filter(|shape| shape.unroll <= MOST_LOADS).collect();
    let loaded: Vec<(Shape, f64)> = rates(notebook, &alike, stream, Round::Again, further_repeats())?
        .iter()
        .map(|of| (of.shape, of.median()))
        .collect();
    let best_of = |rates: &[(Shape, f64)]| {
        let mut by_bytes = ByBytes::new();
        for &(shape, rate) in rates {
            let most = by_bytes.entry(in_flight(shape)).or_default();
            *most = most.max(rate);
        }
        by_bytes
    };
    let by_bytes = best_of(&copied);
    let points =
        by_bytes.iter().map(|(&bytes, &rate)| SeriesPoint { x: bytes as f64, value: digits(rate), band: None });
    let stated = copies(best.shape, Round::Stated, 0);
    let mut finding = Finding::measured(BytesPerSecond(digits(value)), method(&stated, best.sms(), best.cycles))
        .range(digits(low), digits(high))
        .series(BANDWIDTH_BY_BYTES_IN_FLIGHT, points.collect())
        .note(beside(&by_bytes, &best_of(&loaded)));
    if let Some((shape, rate)) = copied.iter().find(|(shape, _)| shape.threads == 32 && shape.blocks == 1) {
        let bytes = Bytes(in_flight(*shape));
        finding = finding.note(format!("a single warp of each SM gets {} B/clk with {bytes} in flight", digits(*rate)));
    }
    Ok(match level.shortage(stated.stream.footprint) {
        Some(shortage) => finding.note(shortage),
        None => finding,
    })
}

/// With how many bytes in flight which way is faster, in words.
fn beside(copied: &ByBytes, loaded: &ByBytes) -> String {
    let both = || copied.iter().filter_map(|(bytes, copied)| Some((*bytes, *copied, *loaded.get(bytes)?)));
    let more = 100.0 * (FASTER - 1.0);
    let faster = |what: &str, is_faster: fn(f64, f64) -> bool| {
        let at =
            both().filter(|&(_, copied, loaded)| is_faster(copied, loaded)).map(|(bytes, ..)| Bytes(bytes).to_string());
        let at: Vec<String> = at.collect();
        (!at.is_empty()).then(|| format!("{what} are more than {more:.0} % faster with {} in flight", at.join(", ")))
    };
    let few = both().next().map(|(bytes, copied, loaded)| {
        let bytes = Bytes(bytes);
        format!("with {bytes} in flight an SM gets {} B/clk by copies and {} by loads", digits(copied), digits(loaded))
    });
    let copies = faster("copies", |copied, loaded| copied > FASTER * loaded);
    let loads = faster("loads", |copied, loaded| loaded > FASTER * copied);
    let neither = (copies.is_none() && loads.is_none())
        .then(|| format!("neither way is more than {more:.0} % faster with any number of bytes in flight"));
    [few, copies, loads, neither].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The shapes that an SM has room for.
fn shapes(notebook: &Notebook, copies: impl Fn(Shape) -> CopyStream) -> Vec<Shape> {
    let facts = notebook.facts();
    let of = |&(unroll, threads, blocks)| Shape { width: AccessWidth::B16, unroll, threads, blocks };
    let fits = |shape: &Shape| {
        let copies = copies(*shape);
        let shared = facts.shared_of_block(copies.window() + BESIDE) * u64::from(shape.blocks);
        has_room(facts, shape.threads, shape.blocks)
            && copies.stream.footprint.0 > 0
            && shared.0 <= facts.shared_per_multiprocessor
    };
    SHAPES.iter().map(of).filter(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_which_way_is_faster() {
        let copied = ByBytes::from([(1024, 2.3), (8192, 20.0), (32768, 36.0)]);
        let loaded = ByBytes::from([(1024, 2.7), (8192, 20.4), (32768, 30.0), (65536, 37.0)]);
        let words = beside(&copied, &loaded);
        assert!(words.contains("with 1 KiB in flight an SM gets 2.3 B/clk by copies and 2.7 by loads"), "{words}");
        assert!(words.contains("copies are more than 10 % faster with 32 KiB in flight; loads"), "{words}");
        assert!(words.ends_with("loads are more than 10 % faster with 1 KiB in flight"), "{words}");
        assert!(beside(&loaded, &loaded).contains("neither way is more than 10 % faster"));
    }

    #[test]
    fn no_launch_has_more_bulk_copies_in_flight_than_are_fast() {
        assert!(SHAPES.iter().all(|(_, threads, blocks)| threads / 32 * blocks <= MOST_COPIES));
    }
}
