//! Asynchronous copies: how long one takes until the thread that asked for it can use what was copied.
//!
//! One thread copies and waits, again and again, while nothing else runs. Its memory is in the L2. A copy of a few bytes goes to one
//! partition of the L2, so several places are tried, and two SMs: the interval holds all of them. Larger copies give a series.
//!
//! What would refute it: a copy that is not waited for. Then shared memory, or memory, would not hold the content of the last place.

use std::collections::BTreeMap;

use super::{Gap, Notebook};
use crate::analysis::robust::{spread, tenths};
use strata_model::experiment::{AsyncCopy, COPY_UNIT, CopyWork};
use strata_model::topology::{Finding, LATENCY_BY_COPIED_BYTES, SeriesPoint};
use strata_model::units::{Bytes, Cycles, KIB};

/// Compute capability from which there are copies that go on by themselves.
pub const FIRST: (u32, u32) = (8, 0);
/// Copies of a short measurement, and how often both kinds are made: the median of three has no chance disturbance.
const STEPS: (u32, u32) = (16, 3);
/// Bytes of a copy.
const SIZES: [Bytes; 8] =
    [COPY_UNIT, Bytes(64), Bytes(256), Bytes(KIB), Bytes(4 * KIB), Bytes(16 * KIB), Bytes(64 * KIB), Bytes(128 * KIB)];
/// Places in memory, so far apart: all bits below 1 MiB that choose the partition of the L2 of an H100 or H200 (from 4 KiB on) take
/// several values.
const PLACES: (u64, Bytes) = (8, Bytes(52 * KIB));
/// More cycles than the copies of one place and SM differed by between two launches.
const AGAIN: f64 = 4.0;

/// The copies of one size.
fn copies(notebook: &Notebook, work: CopyWork, bytes: Bytes) -> Vec<AsyncCopy> {
    let middle = notebook.facts().multiprocessors / 2;
    let sms = if middle > 0 { vec![0, middle] } else { vec![0] };
    let places = if work == CopyWork::Mbarrier { 1 } else { PLACES.0 };
    let (steps, rounds) = STEPS;
    let of = |place: u64, sm| AsyncCopy { work, bytes, place: PLACES.1 * place, sm, steps, rounds, repeat: 0 };
    (0..places).flat_map(|place| sms.iter().map(move |&sm| of(place, sm))).collect()
}

/// As a finding of the latency of such copies of 16 bytes; with a series by their bytes where there are larger ones.
///
/// # Errors
///
/// An unknown, if the device has no such copies.
pub fn latency(notebook: &Notebook, work: CopyWork) -> Result<Finding<Cycles>, Gap> {
    let is_bulk = matches!(work, CopyWork::Bulk | CopyWork::BulkStore);
    let sizes = if is_bulk { &SIZES[..] } else { &SIZES[..1] };
    let experiments: Vec<AsyncCopy> = sizes.iter().flat_map(|&bytes| copies(notebook, work, bytes)).collect();
    let mut by_bytes: BTreeMap<Bytes, Vec<f64>> = BTreeMap::new();
    let mut failure = None;
    for (answer, experiment) in notebook.read_each(&experiments)?.into_iter().zip(&experiments) {
        match answer.map(|measurement| experiment.step(measurement.samples())) {
            Ok(Some(cycles)) => by_bytes.entry(experiment.bytes).or_default().push(cycles),
            Ok(None) => return Gap::unknown("copies reported no times"),
            // The largest may not fit.
            Err(why) => failure = failure.or(Some((experiment.bytes, why))),
        }
    }
    let smallest = by_bytes.get(&COPY_UNIT).and_then(|cycles| spread(cycles));
    let (median, least, most) = match (smallest, failure.clone()) {
        (Some(smallest), _) => smallest,
        (None, Some((_, why))) => return Err(why.into()),
        (None, None) => return Gap::unknown("no copy was made"),
    };
    let method = match work {
        CopyWork::Bulk => {
            "cp.async.bulk by one thread, mbarrier.arrive.expect_tx before it and mbarrier.try_wait after it, difference of 2n and n"
        }
        CopyWork::BulkStore => {
            "cp.async.bulk to memory by one thread, cp.async.bulk.wait_group 0 after each, difference of 2n and n"
        }
        CopyWork::CpAsync => {
            "cp.async.cg of 16 bytes by one thread, cp.async.wait_all after each, difference of 2n and n"
        }
        CopyWork::Mbarrier => "mbarrier.arrive and mbarrier.try_wait by one thread, difference of 2n and n",
    };
    let finding = Finding::measured(Cycles(tenths(median)), method).range(tenths(least - AGAIN), tenths(most + AGAIN));
    let point = |(bytes, cycles): (&Bytes, &Vec<f64>)| {
        let (median, least, most) = spread(cycles)?;
        Some(SeriesPoint { x: bytes.0 as f64, value: tenths(median), band: Some((tenths(least), tenths(most))) })
    };
    let points: Vec<SeriesPoint> = by_bytes.iter().filter_map(point).collect();
    let largest = points.last().map(|point| (Bytes(point.x as u64), point.value));
    Ok(match largest.filter(|(bytes, _)| *bytes > COPY_UNIT) {
        Some((bytes, cycles)) => finding
            .series(LATENCY_BY_COPIED_BYTES, points)
            .note(format!("a single copy of {bytes} takes {cycles:.0} cycles, {:.0} B/clk", bytes.0 as f64 / cycles)),
        None => finding,
    })
}
