//! How far apart two loads may be until the second one misses (Fuchs et al., section 3.4.1, formulas 1 and 2).
//!
//! Pairs of loads of a byte, on memory never read before: the first of a pair misses everything, the second is `jump` bytes
//! further and hits wherever the first has brought the line. So the second's latency has a step at every size of line or
//! prefetch, and its levels are the latencies of the caches. The paper times all loads together; here each is timed by itself,
//! so that the second's stand alone.

mod formula;

use super::Answer;
use super::points::{PlannedLine, axis, figure, measure, said};
use crate::analysis::hundredths::nearest;
use crate::analysis::ks::ks_test;
use crate::analysis::robust;
use crate::probe::{Effort, Gap, Measurement, Notebook, Settle, Unknown, ask_each, fetch_of};
use strata_model::attribute::Sizes;
use strata_model::characterization::{Line, Suite};
use strata_model::experiment::{LoadPath, PatternRun, Prepare};
use strata_model::pattern::Pattern;
use strata_model::topology::Finding;
use strata_model::units::Bytes;

/// What is asked.
pub(super) const QUESTION: &str = "How many bytes does one load fetch, on each path?";

/// Pairs: the paper's.
const PAIRS: u32 = 512;
/// From pair to pair: the paper's.
const LARGE: Bytes = Bytes::kib(4);
/// Level of the test of Kolmogorov and Smirnov that two jumps' latencies differ: Größler, section 4.2.
const LEVEL: f64 = 0.01;
/// Two distributions are two levels of a hierarchy if they overlap less than this: a jump that leaves a line changes nearly every
/// load, noise and the spread of a memory's latency do not.
const APART: f64 = 0.8;

/// Between the two, a step may be hidden by noise, or be none: latencies of one level differ by chance, but not by this much.
const ALIKE: f64 = 0.3;

/// The paths, with their names in findings.
const PATHS: [(&str, LoadPath); 5] = [
    ("shared", LoadPath::Shared),
    ("texture", LoadPath::Texture),
    ("constant", LoadPath::Constant),
    ("global_ca", LoadPath::GlobalCa),
    ("global_cg", LoadPath::GlobalCg),
];

pub(super) fn experiment(path: LoadPath, small: u64) -> PatternRun {
    let pattern = Pattern::Pairs { pairs: PAIRS, small: Bytes(small), large: LARGE };
    PatternRun { prepare: Prepare::FlushL2, ..PatternRun::new(pattern, path, 1) }
}

/// Latencies of the second loads of the pairs. The first pair meets what nothing else does: translations.
pub(super) fn second_loads(measurement: &Measurement<PatternRun>) -> Vec<f64> {
    measurement.latencies().iter().skip(3).step_by(2).map(|&l| f64::from(l)).collect()
}

/// Their median: a launch is one value, whose spread over launches is the point's interval.
fn median_of_second(measurement: &Measurement<PatternRun>) -> Vec<f64> {
    robust::median(&second_loads(measurement)).into_iter().collect()
}

/// Half the mean time of a pair: the paper's latency, the loads after large jumps included.
fn mean_of_all(measurement: &Measurement<PatternRun>) -> Vec<f64> {
    let all: Vec<f64> = measurement.latencies().iter().skip(2).map(|&l| f64::from(l)).collect();
    vec![robust::mean(&all)]
}

/// The mean of the first loads of the pairs, which miss everything.
fn mean_of_first(measurement: &Measurement<PatternRun>) -> Vec<f64> {
    let first: Vec<f64> = measurement.latencies().iter().skip(2).step_by(2).map(|&l| f64::from(l)).collect();
    vec![robust::mean(&first)]
}

/// Measures and sums up.
pub(super) fn infer(notebook: &Notebook, suite: &Suite) -> Result<Answer, Gap> {
    let jumps: Vec<u32> = suite.jumps.iter().map(|&j| j as u32).collect();
    let plans = PATHS.map(|(_, path)| {
        PlannedLine::new(path.instruction(), jumps.iter().copied(), move |j: u32| experiment(path, u64::from(j)))
    });
    let second = measure(notebook, &plans, median_of_second)?;
    let all = measure(notebook, &plans, mean_of_all)?;
    let fetched = ask_each(PATHS.map(|(_, path)| match path {
        LoadPath::Shared => Ok(None),
        _ => fetch_of(notebook, path).map(Some),
    }))?;
    let long = measure(notebook, &plans, mean_of_first)?;
    let mut answer = Answer::default();
    let mut cheap = Vec::new();
    let mut formula = Vec::new();
    for (number, (((name, path), line), fetched)) in PATHS.into_iter().zip(&second).zip(fetched).enumerate() {
        let steps = match &line.reason {
            Some(reason) if line.points.is_empty() => Err(Unknown::because(reason.clone())),
            _ => steps(notebook, path, &jumps, line).settled()?,
        };
        match steps {
            Ok(steps) => {
                if let (Some(long), Some(mean)) = (long.get(number), all.get(number)) {
                    formula.extend(formula::infer(&mut answer, name, &steps, [line, long, mean]));
                }
                if let Some(first) = steps.steps.first() {
                    cheap.push(format!("{} by {}", first.size(), path.instruction()));
                }
                answer.finding(&format!("{name}_steps"), steps.finding(path, line, fetched.ok().flatten()));
            }
            Err(unknown) => answer.finding(&format!("{name}_steps"), unknown.finding()),
        }
    }
    if !cheap.is_empty() {
        answer.means(format!(
            "The first load of a byte also fetches its neighbours, up to the next boundary of {}.",
            cheap.join(", ")
        ));
    }
    if notebook.effort() == Effort::Quick {
        answer.means("At this effort there is one launch per jump, so a step may occur in this launch only.".into());
    }
    let x = || axis("distance", "B", true);
    let y = || axis("cycles per load, including the clock reads", "cycles", false);
    answer.figure(figure("second", "The second load of each pair", x(), y(), second));
    answer.figure(figure("mean", "All loads of the pairs, averaged", x(), y(), all));
    if !formula.is_empty() {
        let title = "What formula 2 of the paper predicts of this average, from the steps and the latencies";
        answer.figure(figure("formula", title, x(), y(), formula));
    }
    Ok(answer)
}

/// A step of the latency.
struct Step {
    /// Largest jump before it: what came along is larger.
    above: u32,
    /// Jump from which on the latency is another: what came along is no larger.
    at: u32,
    /// Median cycles before it.
    before: f64,
    /// And from it on.
    after: f64,
}

/// The steps of a path's latency.
struct Steps {
    /// The steps, ascending.
    steps: Vec<Step>,
    /// The smallest jump.
    least: Option<u32>,
    /// Numbers of the experiments.
    experiments: Vec<u32>,
}

impl Step {
    /// The size that it shows: sizes are powers of two, so that one jump in between is enough to know it.
    fn size(&self) -> String {
        if self.at <= 2 * self.above {
            format!("{} B", self.at)
        } else {
            format!("{} to {} B", self.above + 1, self.at)
        }
    }
}

/// Fits formula 2: the jumps at which the latency steps, by a test between neighbouring jumps.
fn steps(notebook: &Notebook, path: LoadPath, jumps: &[u32], line: &Line) -> Result<Steps, Gap> {
    let repeats = super::points::launches(notebook.effort());
    let mut samples = Vec::new();
    for &jump in jumps.iter().filter(|&&jump| line.at(f64::from(jump)).is_some()) {
        let launches: Vec<PatternRun> =
            (0..repeats).map(|repeat| PatternRun { repeat, ..experiment(path, u64::from(jump)) }).collect();
        let loads: Vec<f64> = notebook.read(&launches)?.iter().flat_map(second_loads).collect();
        samples.push((jump, loads));
    }
    let mut found = Vec::new();
    // Each level is held against all of the one before, so that a slow drift makes no step and no step hides in one.
    let mut level: Vec<f64> = Vec::new();
    let mut above = 0;
    for (jump, loads) in samples {
        if !level.is_empty() {
            let test = ks_test(&level, &loads, LEVEL);
            let (before, after) = (robust::median(&level).unwrap_or(0.0), robust::median(&loads).unwrap_or(0.0));
            if test.distinct && (ALIKE..=APART).contains(&test.statistic) && after > before {
                return Gap::unknown(format!(
                    "latencies spread so much that a step may hide in them: at {jump} B they are {} cycles in the median, \
                     before {}, and the two overlap (Kolmogorov-Smirnov distance {:.2})",
                    said(after),
                    said(before),
                    test.statistic
                ));
            }
            if test.distinct && test.statistic > APART && after > before {
                found.push(Step { above, at: jump, before: nearest(before), after: nearest(after) });
                level.clear();
            }
        }
        level.extend(loads);
        above = jump;
    }
    let experiments = line.points.iter().flat_map(|p| p.experiments.iter().copied()).collect();
    Ok(Steps { steps: found, least: jumps.first().copied(), experiments })
}

impl Steps {
    fn finding(&self, path: LoadPath, line: &Line, fetched: Option<Bytes>) -> Finding {
        let sizes = Sizes(self.steps.iter().map(|step| Bytes(step.at.into())).collect());
        let method = "distances at which the second load's latency changes (Kolmogorov-Smirnov test against all \
                      distances since the last change)";
        let (least, most) = (line.points.first(), line.points.last());
        let mut finding = match (sizes.0.is_empty(), least, most) {
            (true, Some(least), Some(most)) => Finding::measured(sizes, method).note(format!(
                "none from {} to {} B: {} cycles throughout",
                least.x,
                most.x,
                said(least.value)
            )),
            _ => {
                let levels: Vec<String> = self
                    .steps
                    .iter()
                    .map(|step| {
                        format!(
                            "{} cycles below {size}, {} from {size} on",
                            said(step.before),
                            said(step.after),
                            size = step.size()
                        )
                    })
                    .collect();
                Finding::measured(sizes, method).unit("B").note(levels.join("; "))
            }
        };
        if path == LoadPath::Shared {
            finding = finding.note("the walk goes round in a ring, because shared memory has no 2 MiB");
        }
        if path == LoadPath::Constant {
            finding = finding.note("from one fresh module of 64 KiB to the next");
        }
        if let Some(first) = self.steps.first()
            && let Some(Bytes(fetched)) = fetched
        {
            let agrees = (u64::from(first.above) + 1..=u64::from(first.at)).contains(&fetched);
            // Jumps that begin above the fetch cannot show it.
            if agrees || self.least.is_some_and(|least| u64::from(least) < fetched) {
                finding = finding.note(if agrees {
                    format!("the cold walk of a chain also finds a fetch granularity of {fetched} B")
                } else {
                    format!("the cold walk of a chain finds a fetch granularity of {fetched} B, which differs")
                });
            }
        }
        finding.from_experiments(self.experiments.iter().copied()).any()
    }
}
