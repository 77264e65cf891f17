//! Reads at random from more memory than a TLB translates, and what windows of it bring.
//!
//! All SMs read single lines at random from more and more memory ([`WindowStream`]). Beyond the reach of the last TLB most of them wait for a
//! translation. Then the memory is cut into windows that this TLB covers, and the SMs that share a TLB read from one window. As a control, the SMs
//! of each TLB have all windows in turn.
//!
//! Nothing is searched for: each SM has as many threads as it takes, and each thread one load on its way.

use super::interval::{OTHER_CLOCK, digits, promised};
use crate::probe::{Gap, Measurement, Notebook, ask_all, tlb};
use strata_model::attribute::{RANDOM_READ_BANDWIDTH, WINDOWED_READ_BANDWIDTH};
use strata_model::experiment::{
    AccessWidth, Content, LoadPath, MOST_DRAWN, Persistent, Prepare, Region, Stream, Traffic, WARP, WindowStream,
};
use strata_model::topology::{BANDWIDTH_BY_FOOTPRINT, Entry, Finding, SeriesPoint};
use strata_model::units::{Bytes, BytesPerSecond};

/// Most threads of a block.
const THREADS: u32 = 1024;
/// Cycles before reads count, and for which they do: in each all SMs of an H200 read some 380,000 lines.
const CYCLES: (u32, u32) = (40_000, 40_000);
/// Lines that are drawn of each window: more than all SMs of an H200 read meanwhile, and twice what its L2 holds.
const LINES: u32 = 1 << 20;
/// Launches before those that count, after which TLBs and the L2 hold what they do again and again, and launches of which the median is stated.
const REPEATS: (u32, u32) = (1, 3);
/// Parts of the reach over which SMs read, in eighths; and all of the memory.
const EIGHTHS: [u64; 5] = [4, 7, 8, 10, 12];
/// Part of the reach that a window has at most: sets overflow before all of them are full.
const COVERED: (u64, u64) = (31, 32);
/// Share by which the rate may differ in another run, where pages lie elsewhere.
const OTHER_PLACE: f64 = 0.02;
/// Bytes of a line that is read.
const LINE: Bytes = Bytes(4 * WARP as u64);

/// The attributes of DRAM.
pub fn entries(notebook: &Notebook) -> Vec<Entry> {
    [
        notebook.attribute(RANDOM_READ_BANDWIDTH, || whole(notebook)),
        notebook.attribute(WINDOWED_READ_BANDWIDTH, || windowed(notebook)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Reads over so many windows of so much memory; `sms` has the window of each SM.
fn reads(notebook: &Notebook, footprint: Bytes, windows: u32, sms: &[u8], repeat: u32) -> WindowStream {
    let facts = notebook.facts();
    let (least, most) = (WARP as u32, THREADS.min(facts.max_threads_per_block));
    let room = facts.max_threads_per_multiprocessor;
    // Blocks that leave no thread of the SM idle.
    let whole = (1..=most / least).rev().map(|warps| warps * least).find(|threads| room.is_multiple_of(*threads));
    let threads_per_block = whole.unwrap_or(least);
    let stream = Stream {
        traffic: Traffic::Read,
        path: LoadPath::GlobalCg,
        width: AccessWidth::B4,
        unroll: 1,
        threads_per_block,
        blocks_per_sm: (room / threads_per_block).max(1),
        sms: Vec::new(),
        footprint: footprint.round_down(LINE * u64::from(windows)),
        region: Region::Together,
        // A memory set fills all of it, and what is read does not matter here.
        content: Content::Zeros,
        prepare: Prepare::Nothing,
        warm_cycles: CYCLES.0,
        timed_cycles: CYCLES.1,
        repeat,
    };
    let pieces = LINES.min(MOST_DRAWN as u32 / windows.max(1));
    WindowStream { stream, windows, sms: sms.to_vec(), pieces, seed: notebook.seed(25) }
}

/// Bytes a second of such reads: the median, and what another run may find.
fn rate(notebook: &Notebook, footprint: Bytes, windows: u32, sms: &[u8]) -> Result<(f64, f64, f64), Gap> {
    let streams: Vec<WindowStream> =
        (0..REPEATS.0 + REPEATS.1).map(|repeat| reads(notebook, footprint, windows, sms, repeat)).collect();
    let per_second = |measurement: &Measurement<WindowStream>| {
        let seen = measurement.experiment.counted(measurement.samples())?;
        Some(seen.total() * seen.clock_ghz? * 1e9)
    };
    match notebook.read(&streams)?[REPEATS.0 as usize..].iter().map(per_second).collect::<Option<Vec<f64>>>() {
        Some(rates) => Ok(promised(&rates, OTHER_CLOCK + OTHER_PLACE)),
        None => Gap::unknown("the device's timer stood still"),
    }
}

/// The last level of the TLB that does not cover all that is walked, by its number, with its reach; and all that is walked.
fn last(notebook: &Notebook) -> Result<(Option<(usize, Bytes)>, Bytes), Gap> {
    let reaches = tlb::reaches(notebook)?;
    let limit = reaches.limit;
    let mut levels = reaches.levels.iter().map(tlb::Reach::reach).enumerate();
    Ok((levels.rfind(|(_, reach)| *reach < limit), limit))
}

fn whole(notebook: &Notebook) -> Result<Finding<BytesPerSecond>, Gap> {
    let (level, all) = last(notebook)?;
    let covered = level.map_or(all, |(_, reach)| reach);
    let mut footprints: Vec<Bytes> = EIGHTHS.map(|part| covered * part / 8).into();
    footprints.retain(|&footprint| footprint < all);
    footprints.push(all);
    let rates = ask_all(footprints.iter().map(|&footprint| rate(notebook, footprint, 1, &[])))?;
    let points = footprints.iter().zip(&rates).map(|(footprint, &(value, low, high))| SeriesPoint {
        x: footprint.0 as f64,
        value: digits(value),
        band: Some((digits(low), digits(high))),
    });
    let series: Vec<SeriesPoint> = points.collect();
    let (value, low, high) = rates[rates.len() - 1];
    let method =
        format!("lines of {} B at random from {all} by ld.global.cg, one load of each thread at a time", LINE.0);
    let finding = Finding::measured(BytesPerSecond(digits(value)), method)
        .range(digits(low), digits(high))
        .series(BANDWIDTH_BY_FOOTPRINT, series);
    Ok(match level {
        Some((_, reach)) => {
            let at = footprints.iter().rposition(|footprint| *footprint < reach).unwrap_or(0);
            let (within, ..) = rates[at];
            finding.note(format!("{} from {}, which the TLB covers", BytesPerSecond(digits(within)), footprints[at]))
        }
        None => finding.note("no TLB is known that does not cover all of it"),
    })
}

fn windowed(notebook: &Notebook) -> Result<Finding<BytesPerSecond>, Gap> {
    let (Some((number, reach)), all) = last(notebook)? else {
        return Gap::unknown("no TLB is known that does not cover all of the memory that is free");
    };
    let tlbs = tlb::instances(notebook, number)?;
    let windows = all.0.div_ceil(reach.0 * COVERED.0 / COVERED.1);
    if tlbs.count() < windows {
        return Gap::unknown(format!("{} TLBs cannot cover {windows} windows of {all}", tlbs.count()));
    }
    let Ok(windows) = u8::try_from(windows) else {
        return Gap::unknown(format!("{all} are {windows} windows, too many to be of use"));
    };
    let by_tlb: Vec<u8> = tlbs.of_sms().0.iter().map(|tlb| (tlb % u64::from(windows)) as u8).collect();
    let (value, low, high) = rate(notebook, all, windows.into(), &by_tlb)?;
    // The control: the SMs of each TLB, one after the other, have the first window, the second, and so on.
    let mut seen = vec![0; tlbs.count() as usize];
    let mixed = tlbs.of_sms().0.into_iter().map(|tlb| {
        let number: &mut u32 = &mut seen[tlb as usize];
        *number += 1;
        ((*number - 1) % u32::from(windows)) as u8
    });
    let mixed: Vec<u8> = mixed.collect();
    let is_mixed = tlbs.sizes().0.iter().all(|&sms| sms >= u64::from(windows));
    let control = if is_mixed { Some(rate(notebook, all, windows.into(), &mixed)?.0) } else { None };
    let method = format!(
        "lines of {} B at random from {windows} windows of {}, of which the SMs that share a TLB have one",
        LINE.0,
        all / u64::from(windows)
    );
    let finding = Finding::measured(BytesPerSecond(digits(value)), method).range(digits(low), digits(high));
    Ok(match control {
        Some(rate) => {
            let rate = BytesPerSecond(digits(rate));
            finding.note(format!("{rate} if the SMs of each TLB have all windows in turn"))
        }
        None => finding,
    })
}
