//! Usable capacity from the second lap of a sequential chase: the largest footprint before slow loads begin to grow in number.
//!
//! Größler's chapter 3 puts the change where the vectors change most; that stands in the note. Here it is where slow loads begin
//! to *grow*, as everywhere in strata. Fails (and says so) if slow loads grow from the first footprint on, or never.

use super::super::capacity::test;
use super::super::sweep::Sweep;
use super::super::{Measurement, Notebook, Unknown};
use super::footprints::{Count, Knee, is_growing, is_plateau, knee, whole};
use super::{Hits, distinct, fetch, footprint, latency, series, stride};
use crate::analysis::growth::Growth;
use crate::analysis::robust;
use strata_model::attribute::{Curve, Step};
use strata_model::experiment::Imported;
use strata_model::import::{Level, Question, Series};
use strata_model::topology::Finding;
use strata_model::units::{Bytes, Cycles};

/// Share of the largest footprint's loads that must be slow before their median says what a miss costs.
const ENOUGH: f64 = 0.05;
/// And so many times the share of slow loads where the footprint fits: their median is then that of a miss.
const TIMES_NOISE: f64 = 3.0;
/// A series without growth says that the cache is larger if no more than this share of the largest footprint's loads is slow.
const STRAYS: f64 = 0.01;
/// A miss is told from a hit if it takes so many times the spread of the hits longer.
const APART: f64 = 3.0;
/// A miss takes at least this part of a hit longer than the hit, and at least this part of what a miss of a cold chase does. On
/// the GPUs seen it is half of a hit and a quarter of a cold miss.
const LEAST_MISS: f64 = 0.2;
/// Loads that take longer than hits of another series by this part of what a miss takes there may be misses. Kernels alone
/// differ by up to a third of it on the GPUs seen.
const ALL_MISS: f64 = 0.5;
/// If none of n lines misses, at most 3 / n of all lines do, with 95 % confidence (the rule of three).
const RULE_OF_THREE: f64 = 3.0;
/// Most loads of a line, which miss together: sectors of the lines of the GPUs seen.
const SECTORS: f64 = 4.0;

/// What a series of footprints shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Capacity {
    level: Level,
    growth: Growth,
    /// Largest footprint that surely fits as far as loads were timed, in bytes: above it a few loads may miss.
    sure: u64,
    /// Share of the loads of footprints that fit which are slow now and then.
    noise: f64,
    hits: Hits,
    /// No finer step exists, in bytes; 1 if it is not known.
    step: u64,
    /// By footprint.
    counts: Vec<Count>,
    /// Median of the slow loads of the largest footprint, and their share of it.
    slowest: Option<(f64, f64)>,
    /// Where the thesis' pipeline puts the change, and its test's two numbers.
    change: Result<(Bytes, (f64, f64)), Unknown>,
    sweep: Sweep,
    remarks: Vec<String>,
}

/// The capacity; `step` is the granularity of fetching, if it is known.
pub(super) fn capacity(notebook: &Notebook, level: Level, step: Option<f64>) -> Result<Capacity, Unknown> {
    let measurements = series(notebook, level, Question::Size)?;
    let (measurements, cut) = whole(measurements);
    if measurements.len() < 2 {
        return Err(Unknown::because(
            "the series has one footprint only; a size needs footprints that fit and larger ones",
        ));
    }
    let hits = Hits::of(&measurements)?;
    let measurements = distinct(measurements, |row| row.footprint, |loads| hits.count_slow(loads));
    let (first, last) = (&measurements[0], &measurements[measurements.len() - 1]);
    let mut counts: Vec<Count> = measurements.iter().map(|measurement| Count::of(measurement, &hits)).collect();
    let mut remarks: Vec<String> = cut.into_iter().chain(remark(notebook, level, &hits)).collect();
    if !counts[0].slow.is_empty() {
        counts = smaller(notebook, level, step, &hits, counts[0].footprint).into_iter().chain(counts).collect();
    }
    let Some(Knee { growth, sure, noise, remark }) = knee(&counts) else {
        let mut reason = format!(
            "no more loads are slow up to this footprint than at the smallest one, {}",
            footprint(&first.experiment)
        );
        for remark in remarks {
            reason = format!("{reason}; {remark}");
        }
        // Loads that never met the level, or never hit it, say nothing of its size.
        if let Some(other) = beyond(notebook, level, &hits).or_else(|| misses(notebook, level, &hits)) {
            return Err(Unknown::because(format!("{other}; {reason}")));
        }
        let count = Count::of(last, &hits);
        if hits.share_slow(last.latencies()) > STRAYS || is_growing(&counts) {
            return Err(Unknown::because(format!(
                "at the largest footprint, {}, {} of {} loads are slow, which cannot be told from loads that are slow for \
                 reasons of their own",
                footprint(&last.experiment),
                count.slow.len(),
                count.loads
            )));
        }
        return Err(Unknown::Beyond { bound: footprint(&last.experiment), reason });
    };
    remarks.extend(remark);
    let smallest = &counts[0];
    if growth.flat_points < 2 {
        return Err(Unknown::because(format!(
            "at the smallest footprint of the timings, {}, {} of {} loads are slow, and more from {} on: whether the smallest \
             one fits cannot be seen",
            Bytes(smallest.footprint),
            smallest.slow.len(),
            smallest.loads,
            Bytes(growth.first_grown)
        )));
    }
    is_plateau(&counts, &growth, &hits)?;
    is_miss(notebook, level, &hits, typical_slow(&measurements, &growth, &hits), &growth)?;
    Ok(Capacity {
        level,
        growth,
        sure,
        noise,
        hits,
        step: step.map_or(1, |step| step as u64),
        slowest: slowest(last, &hits),
        change: test(&measurements).map(|(row, numbers)| (footprint(row), numbers)),
        sweep: Sweep::of(&measurements, footprint),
        counts,
        remarks,
    })
}

/// Whether the slow loads take so much longer than hits that they can be misses.
fn is_miss(notebook: &Notebook, level: Level, hits: &Hits, slow: f64, growth: &Growth) -> Result<(), Unknown> {
    let of_hit = LEAST_MISS * hits.median;
    let of_cold = fetch::cold_miss(notebook, level).map_or(0.0, |cold| LEAST_MISS * cold);
    let least = of_hit.max(of_cold);
    if slow - hits.median >= least {
        return Ok(());
    }
    Err(Unknown::because(format!(
        "loads take {} cycles more from {} on, which is too little for a miss: that takes at least {least:.0} more, a fifth of \
         {}",
        slow - hits.median,
        Bytes(growth.first_grown),
        if of_cold > of_hit { "what a miss takes in the cold chase" } else { "a hit" }
    )))
}

/// What smaller footprints show: rows of the line-size series at the granularity of fetching are such laps, too.
fn smaller(notebook: &Notebook, level: Level, step: Option<f64>, hits: &Hits, below: u64) -> Vec<Count> {
    let rows = notebook.imported(Series { level, question: Question::LineSize });
    let at_step = |measurement: &Measurement<Imported>| {
        let row = &measurement.experiment;
        step == Some(stride(row).0 as f64) && footprint(row).0 < below
    };
    let rows: Vec<Measurement<Imported>> = rows.into_iter().filter(at_step).collect();
    // Another kernel may have timed them.
    let alike = rows.first().and_then(|measurement| robust::median_u32(measurement.latencies()));
    if alike.is_none_or(|median| (median - hits.median).abs() > hits.spread) {
        return Vec::new();
    }
    let rows = distinct(rows, |row| row.footprint, |loads| hits.count_slow(loads));
    rows.iter().map(|measurement| Count::of(measurement, hits)).collect()
}

/// Median of the slow loads of the footprints that do not fit, in cycles.
fn typical_slow(measurements: &[Measurement<Imported>], growth: &Growth, hits: &Hits) -> f64 {
    let grown = measurements.iter().filter(|row| footprint(&row.experiment).0 >= growth.first_grown);
    let slow: Vec<u32> = grown.flat_map(Measurement::latencies).copied().filter(|&l| hits.is_slow(l)).collect();
    robust::median_u32(&slow).unwrap_or(hits.median)
}

fn slowest(measurement: &Measurement<Imported>, hits: &Hits) -> Option<(f64, f64)> {
    let slow: Vec<u32> = measurement.latencies().iter().copied().filter(|&l| hits.is_slow(l)).collect();
    Some((robust::median_u32(&slow)?, slow.len() as f64 / measurement.latencies().len() as f64))
}

/// Why these loads cannot have been answered by this level, if they cannot: they are faster than the level before it, whose own
/// timings include no less.
fn beyond(notebook: &Notebook, level: Level, hits: &Hits) -> Option<String> {
    let before = match level {
        Level::ConstantL15 => Level::ConstantL1,
        Level::L2 => Level::L1,
        _ => return None,
    };
    let least = latency::least(notebook, before)?;
    (hits.median < least.cycles).then(|| {
        format!(
            "these loads take {} cycles and a hit of the {} takes {}, so that something before it answered them",
            hits.median,
            before.name(),
            least.cycles
        )
    })
}

/// Why no row may hold hits: all loads are slower than another series' hits by about what a miss takes there.
fn misses(notebook: &Notebook, level: Level, hits: &Hits) -> Option<String> {
    let (least, cold) = (latency::least(notebook, level)?, fetch::cold_miss(notebook, level)?);
    (hits.median - least.cycles >= ALL_MISS * cold).then(|| {
        format!(
            "all loads take about {} cycles, and hits {} in the {} series, where a miss takes {cold} more: these may all \
             be misses",
            hits.median,
            least.cycles,
            least.question.name()
        )
    })
}

/// What is odd about the rows: loads faster than those of the level's own latency series.
fn remark(notebook: &Notebook, level: Level, hits: &Hits) -> Option<String> {
    let own = latency::stated(notebook, level)?;
    (hits.median + hits.spread < own).then(|| {
        format!(
            "loads of these rows take {} cycles, and those of the latency series {own}, so these rows are not latencies \
             of this level alone",
            hits.median
        )
    })
}

impl Capacity {
    /// The largest footprint that fits.
    pub fn usable(&self) -> Bytes {
        Bytes(self.growth.last_flat)
    }

    /// The smallest footprint that is beyond it.
    pub fn first_beyond(&self) -> Bytes {
        Bytes(self.growth.first_grown)
    }

    /// As the finding `size`.
    pub fn size(&self) -> Finding<Bytes> {
        let Growth { last_flat, first_grown, .. } = self.growth;
        let loads = self.counts.iter().map(|c| c.loads).max().unwrap_or(0);
        let method = format!(
            "second lap of a sequential chase, at most {loads} loads of it; a load of more than {:.0} cycles is slow, hits take {}",
            self.hits.slow, self.hits.median
        );
        let highest = first_grown.saturating_sub(self.step).max(last_flat) as f64;
        let finding = Finding::measured(Bytes(last_flat), method);
        let mut finding = match self.lowest() {
            Some(lowest) => finding.range(lowest, highest),
            None => finding.at_most(highest),
        };
        let slow = |at: u64| self.counts.iter().find(|c| c.footprint == at).map_or(0, |c| c.slow.len());
        finding = finding.note(format!(
            "{} loads are slow at {} and {} at {}",
            slow(last_flat),
            Bytes(last_flat),
            slow(first_grown),
            Bytes(first_grown)
        ));
        finding = finding.note(match &self.change {
            Ok((at, (d, critical))) => {
                format!("change point at {at}, confirmed by Kolmogorov-Smirnov (D = {d:.3}, critical {critical:.3})")
            }
            Err(unknown) => unknown.reason(),
        });
        if self.level == Level::L2 {
            finding = finding.note("as one SM sees it");
        }
        if !self.is_whole_lap() {
            finding = finding.note("only the first loads of a lap were timed, so that earlier misses may be unseen");
        }
        self.sweep.on(self.remarks.iter().fold(finding, |finding, remark| finding.note(remark)))
    }

    /// Whether every load of the lap over the largest footprint that fits was timed.
    fn is_whole_lap(&self) -> bool {
        // The first load of the lap may be left out.
        let timed = |count: &Count| (count.loads as u64 + 1).saturating_mul(self.step);
        self.counts.iter().any(|count| count.footprint == self.growth.last_flat && timed(count) >= count.footprint)
    }

    /// Lower end of the size, in bytes, if there is one. Loads behind the timed ones may miss at smaller footprints.
    fn lowest(&self) -> Option<f64> {
        // Lines of an L2 lie in pages that are anywhere, so that the first loads do not stand for the others.
        if self.level == Level::L2 && !self.is_whole_lap() {
            return None;
        }
        let count = self.counts.iter().find(|count| count.footprint == self.growth.last_flat)?;
        let behind = if self.is_whole_lap() { 0.0 } else { RULE_OF_THREE * SECTORS };
        let share = 1.0 - (behind + count.unseen(self.noise)) / count.loads as f64;
        (share > 0.0).then(|| (self.sure as f64 * share).floor())
    }

    /// As the finding `thrash_size`.
    pub fn thrash_size(&self) -> Result<Finding<Bytes>, Unknown> {
        match (self.growth.all_miss, self.counts.last()) {
            (Some(size), _) => {
                Ok(Finding::measured(Bytes(size), "smallest footprint beyond which all timed loads are slow"))
            }
            (None, Some(Count { footprint, slow, loads, .. })) => Err(Unknown::because(format!(
                "more than {}: there {} of {loads} loads are slow",
                Bytes(*footprint),
                slow.len()
            ))),
            (None, None) => Err(Unknown::because("no footprint")),
        }
    }

    /// As the finding `conflicts`.
    pub fn conflicts(&self) -> Finding<f64> {
        Finding::measured(self.growth.base, "slow loads below the usable capacity that do not grow with the footprint")
            .unit("loads")
    }

    /// As the finding `staircase`.
    pub fn staircase(&self) -> Finding<Curve> {
        let share = |count: &Count| count.slow.len() as f64 / count.loads.max(1) as f64;
        let points: Vec<Step> = self.counts.iter().map(|count| Step::new(count.footprint, share(count))).collect();
        Finding::measured(
            Curve::rounded(&points),
            "pairs of footprint (bytes) and share of the timed loads that are slow",
        )
    }

    /// As the finding `miss_penalty`. What timing takes is in both and cancels.
    pub fn miss_penalty(&self) -> Result<Finding<Cycles>, Unknown> {
        let enough = ENOUGH.max(TIMES_NOISE * self.noise);
        let Some((miss, share)) = self.slowest.filter(|(_, share)| *share >= enough) else {
            return Err(Unknown::because(format!(
                "too few loads of the largest footprint are slow, while {:.1} % of the loads of smaller ones are, too",
                self.noise * 100.0
            )));
        };
        let (hit, spread) = (self.hits.median, self.hits.spread);
        if miss - hit < APART * spread {
            return Err(Unknown::because(format!(
                "slow loads ({miss} cycles) and hits ({hit}, spread over {spread:.0}) overlap"
            )));
        }
        let method = "median of the slow loads of the largest footprint minus the median of the hits";
        let finding = Finding::measured(Cycles(miss - hit), method);
        Ok(finding
            .range(miss - hit - spread, miss - hit + spread)
            .note(format!("{:.0} % of its loads are slow", share * 100.0)))
    }
}
