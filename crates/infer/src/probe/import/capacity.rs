//! Usable capacity from the second lap of a sequential chase: the largest footprint before slow loads begin to grow in number.
//!
//! Größler's chapter 3 puts the change where the vectors change most; that stands in the note. Here it is where slow loads begin
//! to *grow*, as everywhere in strata. Fails (and says so) if slow loads grow from the first footprint on, or never.

use super::super::capacity::test;
use super::super::{Measurement, Notebook, Unknown};
use super::{Hits, footprint, latency, series, stride, tick};
use crate::analysis::growth::{self, Growth};
use crate::analysis::robust;
use strata_model::attribute::{Curve, Step};
use strata_model::experiment::Imported;
use strata_model::import::{Level, Question, Series};
use strata_model::topology::Finding;
use strata_model::units::{Bytes, Cycles};

/// Share of the largest footprint's loads that must be slow before their median says what a miss costs.
const ENOUGH: f64 = 0.05;
/// A miss is told from a hit if it takes so many times the spread of the hits longer.
const APART: f64 = 3.0;

/// Slow loads of a footprint.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Count {
    footprint: u64,
    slow: usize,
    loads: usize,
}

impl Count {
    fn of(measurement: &Measurement<Imported>, hits: &Hits) -> Self {
        let loads = measurement.latencies();
        Count { footprint: footprint(&measurement.experiment).0, slow: hits.count_slow(loads), loads: loads.len() }
    }
}

/// What a series of footprints shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Capacity {
    level: Level,
    growth: Growth,
    hits: Hits,
    /// No finer step exists, in bytes; 1 if it is not known.
    step: u64,
    /// By footprint.
    counts: Vec<Count>,
    /// Median of the slow loads of the largest footprint, and their share of it.
    slowest: Option<(f64, f64)>,
    /// Where the thesis' pipeline puts the change, and its test's two numbers.
    change: Result<(Bytes, (f64, f64)), Unknown>,
    remark: Option<String>,
}

/// The capacity; `step` is the granularity of fetching, if it is known.
pub(super) fn capacity(notebook: &Notebook, level: Level, step: Option<f64>) -> Result<Capacity, Unknown> {
    let measurements = series(notebook, level, Question::Size)?;
    let (first, last) = (&measurements[0], &measurements[measurements.len() - 1]);
    let hits = Hits::of(first.latencies(), tick(&measurements))?;
    let mut counts: Vec<Count> = measurements.iter().map(|measurement| Count::of(measurement, &hits)).collect();
    let remark = remark(notebook, level, &hits);
    if counts[0].slow > 0 {
        counts = smaller(notebook, level, step, &hits, counts[0].footprint).into_iter().chain(counts).collect();
    }
    let points: Vec<(u64, f64)> = counts.iter().map(|c| (c.footprint, c.slow as f64)).collect();
    let laps: Vec<u64> = counts.iter().map(|c| c.loads as u64).collect();
    let Some(growth) = growth::growth_of_laps(&points, &laps) else {
        let reason = format!(
            "no more loads are slow up to this footprint than at the smallest one, {}{}",
            footprint(&first.experiment),
            remark.map_or(String::new(), |remark| format!("; {remark}"))
        );
        // Loads that never met the level say nothing of it.
        return Err(match beyond(notebook, level, &hits) {
            Some(other) => Unknown::because(format!("{other}; {reason}")),
            None => Unknown::Beyond { bound: footprint(&last.experiment), reason },
        });
    };
    let smallest = counts[0];
    if growth.flat_points < 2 && smallest.slow > 0 {
        return Err(Unknown::because(format!(
            "less than {}: at this smallest footprint of the timings {} of {} loads are slow, and more from {} on",
            Bytes(smallest.footprint),
            smallest.slow,
            smallest.loads,
            Bytes(growth.first_grown)
        )));
    }
    Ok(Capacity {
        level,
        growth,
        hits,
        step: step.map_or(1, |step| step as u64),
        slowest: slowest(last, &hits),
        change: test(&measurements).map(|(row, numbers)| (footprint(row), numbers)),
        counts,
        remark,
    })
}

/// What smaller footprints show: rows of the line-size series at the granularity of fetching are such laps, too.
fn smaller(notebook: &Notebook, level: Level, step: Option<f64>, hits: &Hits, below: u64) -> Vec<Count> {
    let rows = notebook.imported(Series { level, question: Question::LineSize });
    let at_step = |measurement: &&Measurement<Imported>| {
        let row = &measurement.experiment;
        step == Some(stride(row).0 as f64) && footprint(row).0 < below
    };
    let rows: Vec<&Measurement<Imported>> = rows.iter().filter(at_step).collect();
    // Another kernel may have timed them.
    let alike = rows.first().and_then(|measurement| robust::median_u32(measurement.latencies()));
    if alike.is_none_or(|median| (median - hits.median).abs() > hits.spread) {
        return Vec::new();
    }
    rows.into_iter().map(|measurement| Count::of(measurement, hits)).collect()
}

fn slowest(measurement: &Measurement<Imported>, hits: &Hits) -> Option<(f64, f64)> {
    let slow: Vec<u32> = measurement.latencies().iter().copied().filter(|&l| f64::from(l) > hits.slow).collect();
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
        let highest = first_grown.saturating_sub(self.step).max(last_flat);
        let mut finding = Finding::measured(Bytes(last_flat), method).range(last_flat as f64, highest as f64);
        let slow = |at: u64| self.counts.iter().find(|c| c.footprint == at).map_or(0, |c| c.slow);
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
        match &self.remark {
            Some(remark) => finding.note(remark),
            None => finding,
        }
    }

    /// As the finding `thrash_size`.
    pub fn thrash_size(&self) -> Result<Finding<Bytes>, Unknown> {
        match (self.growth.all_miss, self.counts.last()) {
            (Some(size), _) => {
                Ok(Finding::measured(Bytes(size), "smallest footprint beyond which all timed loads are slow"))
            }
            (None, Some(&Count { footprint, slow, loads })) => {
                Err(Unknown::because(format!("more than {}: there {slow} of {loads} loads are slow", Bytes(footprint))))
            }
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
        let share = |count: &Count| count.slow as f64 / count.loads.max(1) as f64;
        let points: Vec<Step> = self.counts.iter().map(|count| Step::new(count.footprint, share(count))).collect();
        Finding::measured(
            Curve::rounded(&points),
            "pairs of footprint (bytes) and share of the timed loads that are slow",
        )
    }

    /// As the finding `miss_penalty`. What timing takes is in both and cancels.
    pub fn miss_penalty(&self) -> Result<Finding<Cycles>, Unknown> {
        let Some((miss, share)) = self.slowest.filter(|(_, share)| *share >= ENOUGH) else {
            return Err(Unknown::because("too few loads of the largest footprint are slow"));
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
