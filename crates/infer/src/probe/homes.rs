//! In which partition of the L2 lines are at home.
//!
//! A few SMs of each partition chase the same lines by dependent atomics, which are carried out where a line is at home: the
//! partition whose SMs are soonest has it. The lines are random ones of some pages of 2 MiB, in an allocation of their own: one that
//! also serves larger footprints is moved when they come, and its pages have other homes then (an H200 showed it).
//!
//! Assumes that a line's home does not move. Where another thing than the distance makes SMs differ by line, lines are near no
//! partition clearly.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::partitions::{by_line, fastest, partitions};
use super::{Gap, Measurement, Notebook};
use crate::analysis::graph::double_centred;
use crate::analysis::overflow::parities;
use crate::analysis::robust;
use strata_model::experiment::{Chase, LARGE_PAGE, LoadPath, Order, Place, Timing};
use strata_model::units::Bytes;

/// Lines begin at multiples of this: the smallest sector of any L2.
const SECTOR: Bytes = Bytes(32);
/// Laps of which the fastest counts: what delays an atomic only ever adds to it.
const LAPS: u32 = 4;
/// SMs of each partition whose median counts.
const SMS: usize = 3;
/// Share of what crossing to another partition costs by which the nearest partition must be nearer than the next.
const CLEARLY: f64 = 0.5;
/// Share of the lines that may be near no partition clearly.
const FEW: f64 = 0.05;
/// Why homes are not known of memory that was elsewhere at first.
pub(super) const MOVED: &str = "the memory that the atomics were on was moved during the run";
/// How the homes of lines are found.
pub(super) const METHOD: &str = "dependent atomics by a few SMs of each partition on random lines of 2 MiB pages";

/// Memory of which it is asked where its lines are at home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Area {
    /// The allocation, which stays where it is.
    allocation: u32,
    /// Bytes of it.
    bytes: Bytes,
    /// Lines of each 2 MiB.
    lines: usize,
    /// Number of its seed.
    seed: u64,
    /// Address bits by whose parity half of the lines of a page are drawn from each partition; none, where that is not known.
    mask: u64,
}

impl Area {
    /// Where the hash is found. The lines of half of the pages are many more than a page has address bits.
    pub const OF_THE_HASH: Area =
        Area { allocation: Place::UNMOVED, bytes: Place::UNMOVED_BYTES, lines: 32, seed: 31, mask: 0 };

    /// Where memory is streamed through by partition: of so many bytes. The hash is known by then, and one line of a page says where all of
    /// them are at home; the others confirm it. With few lines, each partition must have equally many: times are held against the mean over all lines.
    pub const fn of_streams(bytes: Bytes, mask: u64) -> Self {
        Area { allocation: Place::PARTITIONED, bytes, lines: 4, seed: 32, mask }
    }

    /// Whether another line of a page is wanted, beside those that have been drawn.
    fn wants(&self, drawn: &[u64], line: u64) -> bool {
        let parity = |line: u64| parities(&[self.mask], line);
        let of_its_side = drawn.iter().filter(|other| parity(**other) == parity(line)).count();
        !drawn.contains(&line) && of_its_side < if self.mask == 0 { self.lines } else { self.lines / 2 }
    }
}

/// A line whose home is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Its address.
    pub address: u64,
    /// Its partition.
    pub home: usize,
}

impl Line {
    /// The number of its page.
    pub fn page(self) -> u64 {
        self.address / LARGE_PAGE.0
    }
}

/// Lines with their homes.
#[derive(Clone, Debug)]
pub(super) struct Homes {
    /// The lines whose home is clear, in the order of the visit. The first allocation begins within a page, so that its lines of two
    /// neighbouring pages take turns.
    pub lines: Vec<Line>,
    /// Where the allocation begins.
    pub base: u64,
    area: Area,
    /// How many partitions there are.
    pub partitions: usize,
    /// The SMs that were asked.
    pub asked: Vec<Asked>,
}

/// An SM that was asked.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub sm: u32,
    /// Its partition.
    pub partition: usize,
    /// Of each of the lines the slowest lap of its atomics, in cycles with the overhead of timing.
    pub slowest: Vec<f64>,
}

impl Homes {
    /// A chase over the lines, in their order, by one of the SMs alone.
    pub fn chase(&self, path: LoadPath, sm: u32) -> Chase {
        chase(self.area, path, self.lines.iter().map(|line| line.address.wrapping_sub(self.base)).collect(), sm)
    }

    /// Whether a chase went over these lines.
    pub fn are_of(&self, measurement: &Measurement<Chase>) -> bool {
        measurement.samples().base == self.base
    }
}

fn chase(area: Area, path: LoadPath, offsets: Vec<u64>, sm: u32) -> Chase {
    let place = Place { allocation: area.allocation, ..Place::alone_on(sm) };
    Chase { order: Order::Listed { offsets }, place, ..Chase::each_load(path, area.bytes, SECTOR) }
}

/// Random lines, 2 MiB after 2 MiB.
fn draw(area: Area, seed: u64) -> Vec<u64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut of_page = |page: u64| -> Vec<u64> {
        let mut drawn = Vec::new();
        while drawn.len() < area.lines {
            let line = page * LARGE_PAGE.0 + rng.random_range(0..LARGE_PAGE / SECTOR) * SECTOR.0;
            if area.wants(&drawn, line) {
                drawn.push(line);
            }
        }
        drawn
    };
    (0..area.bytes / LARGE_PAGE).flat_map(&mut of_page).collect()
}

/// The homes of random lines of an area.
///
/// # Errors
///
/// An unknown where there is one partition, or where lines are near none clearly.
pub(super) fn homes(notebook: &Notebook, area: Area) -> Result<Homes, Gap> {
    notebook.once(&notebook.memo.homes, area, || {
        let parts = partitions(notebook)?;
        let Some(crossing) = parts.crossing() else {
            return Gap::unknown("all SMs take the same time to the same line");
        };
        let drawn = draw(area, notebook.seed(area.seed));
        let timing = Timing::resident(LAPS * drawn.len() as u32);
        let some = |partition: usize| parts.some_of(partition, SMS).into_iter().map(move |sm| (sm, partition));
        let sms: Vec<(u32, usize)> = (0..parts.number()).flat_map(some).collect();
        let atomics = |&(sm, _): &(u32, usize)| Chase { timing, ..chase(area, LoadPath::Atomic, drawn.clone(), sm) };
        let measurements = notebook.read(&sms.iter().map(atomics).collect::<Vec<Chase>>())?;
        // It is the same for all, unless the memory was moved or the recording is of another's making.
        let base = measurements[0].samples().base;
        if measurements.iter().any(|measurement| measurement.samples().base != base) {
            return Gap::unknown(MOVED);
        }
        let rows = double_centred(&measurements.iter().map(fastest).collect::<Vec<Vec<f64>>>());
        let time = |partition: usize, line: usize| {
            let own = sms.iter().zip(&rows).filter(|((_, of), _)| *of == partition);
            robust::median(&own.map(|(_, row)| row[line]).collect::<Vec<f64>>()).unwrap_or(f64::MAX)
        };
        let home = |line: usize| {
            let mut times: Vec<(f64, usize)> = (0..parts.number()).map(|part| (time(part, line), part)).collect();
            times.sort_by(|a, b| a.0.total_cmp(&b.0));
            (times[1].0 - times[0].0 >= CLEARLY * crossing).then_some(times[0].1)
        };
        let homes: Vec<Option<usize>> = (0..drawn.len()).map(home).collect();
        let unclear = homes.iter().filter(|home| home.is_none()).count();
        if unclear as f64 > FEW * drawn.len() as f64 {
            return Gap::unknown(format!("{unclear} of {} lines are near no partition clearly", drawn.len()));
        }
        let line =
            |(offset, home): (&u64, &Option<usize>)| Some(Line { address: base.wrapping_add(*offset), home: (*home)? });
        let lines = drawn.iter().zip(&homes).filter_map(line).collect();
        let asked = sms.iter().zip(&measurements).map(|(&(sm, partition), measurement)| {
            let slowest = by_line(measurement).zip(&homes).filter(|(_, home)| home.is_some());
            let slowest = slowest.map(|(laps, _)| laps.into_iter().fold(0.0, f64::max)).collect();
            Asked { sm, partition, slowest }
        });
        Ok(Homes { lines, base, area, partitions: parts.number(), asked: asked.collect() })
    })
}
