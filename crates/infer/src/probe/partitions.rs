//! Partitions of the L2: which SMs and which lines are on the same side, and the latency of the other side.
//!
//! Every SM chases the same lines by dependent atomics, one SM at a time. An atomic is carried out where its line is at
//! home, so that copies which an L2 keeps on the requester's side (Hopper does, for loads) cannot hide the distance; first
//! touches by loads would show it once. The times of an SM, less the mean of each line and of the SM, say on which side of
//! each line it is: SMs of one partition agree in all lines, those of different ones in none.
//!
//! Assumes that lines are spread over the partitions by address, and that no line's home moves. It would be refuted by SMs
//! whose correlation with others is neither high nor low, and by near and far lines that overlap: then that is said instead.

use super::latency::spaced;
use super::{Gap, Measurement, Notebook, Unknown};
use crate::analysis::graph::{correlation, double_centred, groups, parts};
use crate::analysis::robust;
use strata_model::attribute::{Reach, SmMap, SmPlace};
use strata_model::experiment::{Chase, LoadPath, Order, Place, Timing};
use strata_model::topology::Finding;
use strata_model::units::{Bytes, Cycles, KIB, MIB};

/// Lines that every SM visits: in one large page, so that translation costs nothing.
const FOOTPRINT: Bytes = Bytes(2 * MIB);
/// One line in every piece of this size: 256 lines, so that the odd slow one does not matter.
const PIECE: Bytes = Bytes(8 * KIB);
/// A line of an L2.
const LINE: Bytes = Bytes(128);
/// Laps of which the fastest counts: what delays a load only ever adds to it.
const LAPS: u32 = 3;
/// Most groups that one partition is split into: none has more GPCs.
const MOST_GROUPS: usize = 8;
/// Distances between SMs below this many cycles are noise: a cycle is the least that the clock shows.
const LEAST_DISTANCE: f64 = 1.0;
/// SMs whose times correlate by more than this are on one side; of `n` partitions those on different ones by -1/(n - 1).
const SAME: f64 = 0.5;
/// The lowest correlation on one side is above the highest across by at least this.
const APART: f64 = 0.3;
/// Times differ by line and SM if they do by this many times what they do from lap to lap.
const STRUCTURED: f64 = 3.0;
/// Cycles by which the fastest of a few laps may differ where nothing disturbs.
const QUIET: f64 = 0.5;
/// Share of lines and SMs that may differ by chance.
const FEW: f64 = 0.05;
/// Cycles that a time differs by at least before it counts whether another lap's differs in the same direction.
const LEAST_DIFFERENCE: f64 = 0.25;
/// Standard deviations by which laps may agree by chance more than half of the time.
const DEVIATIONS: f64 = 5.0;
/// Loads of one line may differ by so many cycles from lap to lap; more could hide what crossing to another partition costs.
const MOST_NOISE: f64 = 3.0;
/// SMs of a partition at least: one alone agrees with itself.
const FEWEST: usize = 2;

/// What is known of the partitions.
#[derive(Clone, Debug)]
pub struct Partitions {
    /// Number of each SM's partition, in the order of SMs.
    of_sm: Vec<usize>,
    /// Group of each SM within its partition.
    group: Vec<usize>,
    /// Groups of each partition.
    groups: Vec<usize>,
    count: usize,
    near: (f64, f64, f64),
    far: Option<(f64, f64, f64)>,
    /// Lowest correlation within a partition and highest across.
    correlations: Option<(f64, f64)>,
    /// What each SM's atomics on the lines of each partition take: the mean, and the 5th and 95th percentile over the lines.
    reach: Vec<Vec<(f64, f64, f64)>>,
    /// Cycles by which partitions would have to be apart to show.
    shows: f64,
}

fn chases(notebook: &Notebook) -> Vec<Chase> {
    let sms = notebook.facts().multiprocessors.max(1);
    let chase = Chase {
        order: Order::Scattered { granule: LINE },
        seed: notebook.seed(30),
        ..Chase::each_load(LoadPath::Atomic, FOOTPRINT, PIECE)
    };
    let timing = Timing::resident(LAPS * chase.lap() as u32);
    (0..sms).map(|sm| Chase { timing, place: Place::alone_on(sm), ..chase.clone() }).collect()
}

/// Whether times differ by line and SM in the same direction in one lap as in another, however little: noise has no memory.
fn repeats(measurements: &[Measurement<Chase>]) -> bool {
    let lap = |number: u32| -> Vec<f64> {
        let rows = measurements.iter().map(|measurement| {
            let length = measurement.experiment.lap() as usize;
            let lap = measurement.latencies().chunks_exact(length).nth(number as usize);
            lap.map_or(vec![0.0; length], |lap| lap.iter().map(|&latency| f64::from(latency)).collect())
        });
        double_centred(&rows.collect::<Vec<Vec<f64>>>()).concat()
    };
    let laps: Vec<Vec<f64>> = (0..LAPS).map(lap).collect();
    let pairs = laps.windows(2).flat_map(|two| two[0].iter().zip(&two[1]));
    let (mut all, mut counted, mut same) = (0usize, 0usize, 0usize);
    for (one, other) in pairs {
        all += 1;
        if one.abs() >= LEAST_DIFFERENCE && other.abs() >= LEAST_DIFFERENCE {
            counted += 1;
            same += usize::from((*one > 0.0) == (*other > 0.0));
        }
    }
    let sms = measurements.len() as f64;
    // The times of a line sum to nothing, so that one of them tells nothing new. Of three laps two pairs share one.
    let independent = counted as f64 * (sms - 1.0) / sms / 2.0;
    let by_chance = 0.5 + DEVIATIONS * 0.5 / independent.sqrt();
    counted as f64 > FEW * all as f64 && same as f64 / counted as f64 > by_chance
}

/// Of each line the times of all laps.
pub(super) fn by_line(measurement: &Measurement<Chase>) -> impl Iterator<Item = Vec<f64>> {
    let lap = measurement.experiment.lap() as usize;
    let laps: Vec<&[u32]> = measurement.latencies().chunks_exact(lap).collect();
    (0..lap).map(move |line| laps.iter().map(|times| f64::from(times[line])).collect())
}

/// Of each line the fastest of the laps.
pub(super) fn fastest(measurement: &Measurement<Chase>) -> Vec<f64> {
    by_line(measurement).map(|times| times.into_iter().fold(f64::MAX, f64::min)).collect()
}

/// Of each line the fastest of the laps, and how far single laps are from their median, in the mean.
fn typical(measurement: &Measurement<Chase>) -> (Vec<f64>, f64) {
    let noise: Vec<f64> =
        by_line(measurement).map(|times| robust::median_absolute_deviation(&times).unwrap_or_default()).collect();
    (fastest(measurement), robust::mean(&noise))
}

/// Of each SM, whose times of the lines are a row, what lines of each partition take, in which they are at home.
fn reach(rows: &[Vec<f64>], homes: &[usize], count: usize) -> Vec<Vec<(f64, f64, f64)>> {
    let of = |row: &Vec<f64>, part: usize| {
        let times: Vec<f64> = row.iter().zip(homes).filter(|(_, home)| **home == part).map(|(time, _)| *time).collect();
        let (_, low, high) = spread(&times);
        (robust::mean(&times), low, high)
    };
    rows.iter().map(|row| (0..count).map(|part| of(row, part)).collect()).collect()
}

fn spread(values: &[f64]) -> (f64, f64, f64) {
    let at = |q| robust::quantile(values, q).unwrap_or_default();
    (at(0.5), at(0.05), at(0.95))
}

/// The partitions.
///
/// # Errors
///
/// An unknown, if SMs differ by line and do not fall into groups.
pub fn partitions(notebook: &Notebook) -> Result<Partitions, Gap> {
    notebook.once(&notebook.memo.partitions, (), || {
        let measurements = notebook.read(&chases(notebook))?;
        let (rows, noise): (Vec<Vec<f64>>, Vec<f64>) = measurements.iter().map(typical).unzip();
        let centred = double_centred(&rows);
        // By the median over all lines: a far line in every second or third is seen by it, a slow load now and then is not.
        let differences: Vec<f64> = centred.iter().flatten().map(|x| x.abs()).collect();
        let structure = robust::median(&differences).unwrap_or_default();
        let all: Vec<f64> = rows.concat();
        let sms = rows.len();
        let noise = robust::mean(&noise);
        // A clock reading is good to a cycle.
        if sms < 2 || structure <= STRUCTURED * noise.max(1.0) {
            let seen = differences.iter().filter(|&&x| x > STRUCTURED * noise.max(QUIET)).count();
            if seen as f64 > FEW * differences.len() as f64 || repeats(&measurements) {
                return Gap::unknown(
                    "the latencies of some lines depend on the SM, by too little or for too few lines to identify \
                     partitions",
                );
            }
            if noise > MOST_NOISE {
                return Gap::unknown(format!(
                    "loads of one line by one SM differ by {noise:.0} cycles from lap to lap, which may hide partitions"
                ));
            }
            let group = vec![0; sms];
            let lines = rows.first().map_or(0, Vec::len);
            return Ok(Partitions {
                reach: reach(&rows, &vec![0; lines], 1),
                of_sm: group.clone(),
                group,
                groups: vec![1],
                count: 1,
                near: spread(&all),
                far: None,
                correlations: None,
                shows: (STRUCTURED * noise.max(QUIET)).ceil(),
            });
        }
        let unclear = |why: String| Gap::unknown(format!("the latencies depend on SM and line, but {why}"));
        if sms < 2 * FEWEST {
            return unclear(format!("{sms} are too few to identify partitions"));
        }
        let of_sm = parts(sms, |a, b| correlation(&centred[a], &centred[b]) > SAME);
        let count = of_sm.iter().max().map_or(0, |m| m + 1);
        let alone = (0..count).any(|part| of_sm.iter().filter(|&&p| p == part).count() < FEWEST);
        let (mut within, mut across) = (1.0f64, -1.0f64);
        for a in 0..sms {
            for b in 0..a {
                let r = correlation(&centred[a], &centred[b]);
                if of_sm[a] == of_sm[b] { within = within.min(r) } else { across = across.max(r) }
            }
        }
        if count < 2 || alone || within - across < APART {
            return unclear(format!(
                "they do not form partitions of several SMs (correlations from {within:.2} within groups to {across:.2} across)"
            ));
        }
        // A line is at home in the partition whose SMs reach it soonest.
        let lines = rows[0].len();
        let mean_of = |part: usize, line: usize| {
            let times: Vec<f64> = (0..sms).filter(|&sm| of_sm[sm] == part).map(|sm| rows[sm][line]).collect();
            robust::mean(&times)
        };
        let homes: Vec<usize> = (0..lines)
            .map(|line| {
                let times: Vec<f64> = (0..count).map(|part| mean_of(part, line)).collect();
                (0..count).min_by(|&a, &b| times[a].total_cmp(&times[b])).unwrap_or(0)
            })
            .collect();
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for (sm, row) in rows.iter().enumerate() {
            for (line, &time) in row.iter().enumerate() {
                if homes[line] == of_sm[sm] { near.push(time) } else { far.push(time) }
            }
        }
        let reach = reach(&rows, &homes, count);
        let (near, far) = (spread(&near), spread(&far));
        if near.2 >= far.1 {
            return unclear(format!(
                "near and far lines overlap ({:.0} to {:.0} and {:.0} to {:.0} cycles): SMs at different distances from \
                 one cache would look the same",
                near.1, near.2, far.1, far.2
            ));
        }
        let mut group = vec![0; sms];
        let mut group_counts = Vec::new();
        for part in 0..count {
            let members: Vec<usize> = (0..sms).filter(|&sm| of_sm[sm] == part).collect();
            let own: Vec<Vec<f64>> = members.iter().map(|&sm| rows[sm].clone()).collect();
            let found = groups(&own, MOST_GROUPS, LEAST_DISTANCE);
            group_counts.push(found.iter().max().map_or(1, |m| m + 1));
            for (&sm, number) in members.iter().zip(found) {
                group[sm] = number;
            }
        }
        Ok(Partitions {
            of_sm,
            group,
            groups: group_counts,
            count,
            reach,
            near,
            far: Some(far),
            correlations: Some((within, across)),
            shows: 0.0,
        })
    })
}

const METHOD: &str = "dependent atomics by every SM, one at a time, on the same 256 lines";

impl Partitions {
    /// How many there are.
    pub fn number(&self) -> usize {
        self.count
    }

    /// The partition of an SM, counted from 0; SMs that were not asked are in the first.
    pub fn of(&self, sm: u32) -> usize {
        self.of_sm.get(sm as usize).copied().unwrap_or(0)
    }

    /// Cycles that a far line takes longer than a near one; none, where there is one partition.
    pub(super) fn crossing(&self) -> Option<f64> {
        self.far.map(|far| far.0 - self.near.0)
    }

    /// Up to `most` SMs of a partition, spread over all of its SMs.
    pub(super) fn some_of(&self, part: usize, most: usize) -> Vec<u32> {
        let all: Vec<u32> = (0..).zip(&self.of_sm).filter(|(_, of)| **of == part).map(|(sm, _)| sm).collect();
        spaced(all.len() as u32, most as u32).into_iter().map(|at| all[at as usize]).collect()
    }

    /// As the finding `partitions`.
    pub fn count(&self) -> Finding<u64> {
        let finding = Finding::measured(self.count as u64, METHOD).range(self.count as f64, self.count as f64);
        match self.correlations {
            None => finding.note(format!(
                "all SMs take the same time to the same line; a partition on which no SM hangs would not show, nor partitions less \
                 than {} cycles apart, nor partitions that take whole pages of 2 MiB",
                self.shows
            )),
            Some((within, across)) => {
                let sizes: Vec<String> =
                    (0..self.count).map(|part| self.of_sm.iter().filter(|&&p| p == part).count().to_string()).collect();
                finding.note(format!(
                    "{} SMs; the correlation of their times is at least {within:.2} within a partition and at most \
                     {across:.2} across",
                    sizes.join(" and ")
                ))
            }
        }
    }

    /// As the finding `near_latency`.
    pub fn near(&self) -> Finding<Cycles> {
        cycles(self.near)
    }

    /// As the finding `far_latency`.
    ///
    /// # Errors
    ///
    /// An unknown where there is one partition.
    pub fn far(&self) -> Result<Finding<Cycles>, Unknown> {
        self.far.map(cycles).ok_or_else(|| Unknown::because("all SMs take the same time to the same line"))
    }

    /// What an SM's atomics on lines of each partition take.
    fn latency(&self, sm: usize) -> Vec<Reach> {
        let of = |(partition, &(mean, low, high)): (u32, &(f64, f64, f64))| Reach {
            partition,
            cycles: Cycles(robust::tenths(mean)),
            low: Cycles(robust::tenths(low)),
            high: Cycles(robust::tenths(high)),
        };
        self.reach.get(sm).map(|parts| (0..).zip(parts).map(of).collect()).unwrap_or_default()
    }

    /// As the finding `sm_map`.
    pub fn map(&self) -> Finding<SmMap> {
        let number = |list: &[usize], sm: usize| list.get(sm).map(|&number| number as u32);
        let rows = (0..self.of_sm.len()).map(|sm| SmPlace {
            sm: sm as u32,
            partition: number(&self.of_sm, sm),
            group: number(&self.group, sm),
            tpc: None,
            gpc: None,
            latency: self.latency(sm),
        });
        let groups: Vec<String> = self.groups.iter().map(usize::to_string).collect();
        Finding::measured(SmMap(rows.collect()), METHOD).note(format!(
            "SMs in ascending `%smid`; within the partitions there are {} groups of SMs with similar latencies; \
             latencies alone do not show which GPC or TPC an SM belongs to",
            groups.join(" and ")
        ))
    }
}

fn cycles((median, low, high): (f64, f64, f64)) -> Finding<Cycles> {
    Finding::measured(Cycles(median.round()), METHOD).range(low.round(), high.round()).note(
        "latency of an atomic, including the timing overhead; the interval is the 5th to the 95th percentile over \
               lines and SMs",
    )
}
