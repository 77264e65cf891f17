//! Bandwidth of copies that go on by themselves, against bytes in flight, beside loads that bring the same bytes through registers.
//!
//! Each warp copies pieces of memory into its part of shared memory and waits for all of a pass, as a load would be waited for. So shapes
//! of launches can be compared: bytes in flight are warps times the piece of a warp, however they are moved.
//!
//! What would refute it: copies that did not arrive. Then shared memory would not hold the last pieces in the end; and an mbarrier that
//! says how many bytes came would not let a warp go on.

use std::collections::BTreeMap;

use super::halving::{Round, further_repeats, has_room, method, rates, search};
use super::interval::{OTHER_CLOCK, digits, per_second, thousandths};
use super::search::Shape;
use super::{Level, lap};
use crate::probe::{Gap, Notebook, Unknown};
use strata_model::experiment::{AccessWidth, CopyStream, CopyWork, Stream};
use strata_model::topology::{BANDWIDTH_BY_BYTES_IN_FLIGHT, Finding, SeriesPoint};
use strata_model::units::{Bytes, BytesPerSecond};

/// Shapes of a launch: pieces of 512 bytes that a warp copies in a pass, threads of a block, blocks of an SM. From few bytes in flight to as
/// many as fit into the shared memory of a Hopper's SM, by few warps and by many.
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
/// Share by which one way must be faster than the other to be called so.
const FASTER: f64 = 1.05;

/// What so many bytes in flight give: bytes a cycle of an SM by the best shape that has them.
type ByBytes = BTreeMap<u64, f64>;

/// Bytes a second that such copies bring from a memory that all SMs share.
///
/// # Errors
///
/// An unknown, if the device has no such copies, or no room for them.
pub fn bandwidth(notebook: &Notebook, by: CopyWork, level: &Level) -> Result<Finding<BytesPerSecond>, Gap> {
    let sms = notebook.facts().multiprocessors;
    let stream = |shape: Shape, round, repeat| level.stream(sms, shape, round, repeat);
    let copies = |shape, round, repeat| CopyStream { stream: stream(shape, round, repeat), by };
    let shapes = shapes(notebook, |shape| stream(shape, Round::Search, 0));
    let best = search(notebook, &shapes, !level.is_fixed, copies)?.best;
    let besides = OTHER_CLOCK + thousandths(level.other_place);
    let (value, low, high) = per_second(&best, besides).map_err(Unknown::because)?;

    let in_flight = |shape| stream(shape, Round::Search, 0).in_flight().0;
    let again = further_repeats;
    let copied: Vec<(Shape, f64)> =
        rates(notebook, &shapes, copies, Round::Again, again())?.iter().map(|of| (of.shape, of.median())).collect();
    let loaded: Vec<(Shape, f64)> =
        rates(notebook, &shapes, stream, Round::Again, again())?.iter().map(|of| (of.shape, of.median())).collect();
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
    let finding = Finding::measured(BytesPerSecond(digits(value)), method(&stated, best.sms(), best.cycles))
        .range(digits(low), digits(high))
        .series(BANDWIDTH_BY_BYTES_IN_FLIGHT, points.collect())
        .note(beside(&by_bytes, &best_of(&loaded)));
    let of_one_warp = |rates: &[(Shape, f64)]| {
        let warp = rates.iter().find(|(shape, _)| shape.threads == 32 && shape.blocks == 1);
        warp.map(|&(shape, rate)| (in_flight(shape), rate))
    };
    Ok(match (of_one_warp(&copied), of_one_warp(&loaded)) {
        (Some((bytes, copied)), Some((_, loaded))) => finding.note(format!(
            "a single warp of an SM with {} in flight gets {} B/clk, and {} by loads",
            Bytes(bytes),
            digits(copied),
            digits(loaded)
        )),
        _ => finding,
    })
}

/// From how many bytes in flight which way is faster, in words.
fn beside(copied: &ByBytes, loaded: &ByBytes) -> String {
    let both = || copied.iter().filter_map(|(bytes, copied)| Some((*bytes, *copied, *loaded.get(bytes)?)));
    let first = |is_faster: fn(f64, f64) -> bool| -> Vec<String> {
        both()
            .filter(|&(_, copied, loaded)| is_faster(copied, loaded))
            .map(|(bytes, ..)| Bytes(bytes).to_string())
            .collect()
    };
    let copies = first(|copied, loaded| copied > FASTER * loaded);
    let loads = first(|copied, loaded| loaded > FASTER * copied);
    let faster = |what: &str, at: Vec<String>| match at.is_empty() {
        true => format!("{what} nowhere"),
        false => format!("{what} with {} in flight", at.join(", ")),
    };
    let few = both().next().map_or(String::new(), |(bytes, copied, loaded)| {
        format!(": {} and {} B/clk of an SM with {} in flight", digits(copied), digits(loaded), Bytes(bytes))
    });
    format!(
        "copies and loads by launches of the same shapes{few}; faster by more than {:.0} % are {}, and {}",
        100.0 * (FASTER - 1.0),
        faster("copies", copies),
        faster("loads", loads)
    )
}

/// The shapes that an SM has room for.
fn shapes(notebook: &Notebook, stream: impl Fn(Shape) -> Stream) -> Vec<Shape> {
    let facts = notebook.facts();
    let of = |&(unroll, threads, blocks)| Shape { width: AccessWidth::B16, unroll, threads, blocks };
    let fits = |shape: &Shape| {
        let stream = stream(*shape);
        has_room(facts, shape.threads, shape.blocks)
            && stream.footprint.0 >= lap(&stream, facts.multiprocessors).0
            && stream.in_flight().0 < facts.shared_per_multiprocessor
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
        assert!(words.contains("2.3 and 2.7 B/clk of an SM with 1 KiB in flight"), "{words}");
        assert!(words.contains("5 % are copies with 32 KiB in flight, and loads with 1 KiB in flight"), "{words}");
        assert!(beside(&loaded, &loaded).contains("are copies nowhere, and loads nowhere"));
    }
}
