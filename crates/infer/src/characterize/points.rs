//! From samples to points of a figure, and from points to numbers.

use crate::analysis::hundredths::{down, nearest, up};
use crate::analysis::robust;
use crate::probe::{Effort, Gap, Measurement, Notebook};
use strata_model::characterization::{Axis, Figure, Line, Point};
use strata_model::experiment::PatternRun;
use strata_model::samples::Failure;
use strata_model::topology::Finding;
use strata_model::units::Cycles;

/// Launches of each experiment: the interval of a point is the range over them and their rounds.
pub(super) fn launches(effort: Effort) -> u32 {
    match effort {
        Effort::Quick => 1,
        Effort::Standard => 3,
        Effort::Thorough => 7,
    }
}

/// Rounds of a launch whose first finds caches empty, and whose others find what the first left there.
pub(super) const ROUNDS: u32 = 3;

/// A line that is to be measured: its name, and what is launched at each place of the x axis, ascending.
pub(super) struct PlannedLine {
    /// Its name.
    pub label: String,
    /// The places and what is launched there, [`launches`] times.
    pub places: Vec<(f64, PatternRun)>,
}

impl PlannedLine {
    /// A line with an experiment for each x.
    pub fn new<X: Copy + Into<f64>>(
        label: impl Into<String>,
        xs: impl IntoIterator<Item = X>,
        experiment: impl Fn(X) -> PatternRun,
    ) -> Self {
        PlannedLine { label: label.into(), places: xs.into_iter().map(|x| (x.into(), experiment(x))).collect() }
    }
}

/// What a launch's samples give a point.
pub(super) type Values = fn(&Measurement<PatternRun>) -> Vec<f64>;

/// Measures lines, all in one batch; `values` takes from a launch's samples what counts.
///
/// A place that could not be measured is left out; the first reason of a line stands beside it.
///
/// # Errors
///
/// [`Gap::Missing`] while samples are lacking; the first failure, if no place of any line could be measured.
pub(super) fn measure(notebook: &Notebook, plans: &[PlannedLine], values: Values) -> Result<Vec<Line>, Gap> {
    let repeats = launches(notebook.effort());
    let wanted: Vec<PatternRun> = plans
        .iter()
        .flat_map(|plan| &plan.places)
        .flat_map(|(_, experiment)| (0..repeats).map(move |repeat| PatternRun { repeat, ..*experiment }))
        .collect();
    let mut answers = notebook.read_each(&wanted)?.into_iter();
    let mut first: Option<Failure> = None;
    let mut lines = Vec::new();
    for plan in plans {
        let mut line = Line { label: plan.label.clone(), points: Vec::new(), reason: None, failed: false };
        for (x, _) in &plan.places {
            // All answers of the place are taken, also where the first is a failure.
            let answers: Vec<Result<Measurement<PatternRun>, Failure>> =
                answers.by_ref().take(repeats as usize).collect();
            let measurements: Result<Vec<Measurement<PatternRun>>, Failure> = answers.into_iter().collect();
            match measurements {
                Ok(measurements) => line.points.extend(point(notebook, *x, &measurements, values)),
                Err(failure) => {
                    line.failed |= matches!(failure, Failure::Failed { .. });
                    line.reason.get_or_insert(failure.to_string());
                    first.get_or_insert(failure);
                }
            }
        }
        lines.push(line);
    }
    match first {
        Some(failure) if lines.iter().all(|line| line.points.is_empty()) => Err(failure.into()),
        _ => Ok(lines),
    }
}

/// Cycles by which the time of a round may be off: the clock counts whole ones.
const RESOLUTION: f64 = 1.0;

/// What the clock cannot tell apart, in cycles an operation; nothing where each load was timed by itself.
fn resolution(measurement: &Measurement<PatternRun>) -> f64 {
    let fewest = measurement.samples().laps.iter().map(|lap| lap.loads.max(1)).min();
    fewest.map_or(0.0, |operations| RESOLUTION / f64::from(operations))
}

/// The median of all launches' values with their range, and what the clock cannot tell apart; nothing, if there is no value.
fn point(notebook: &Notebook, x: f64, measurements: &[Measurement<PatternRun>], values: Values) -> Option<Point> {
    let mut all: Vec<f64> = measurements.iter().flat_map(values).filter(|v| v.is_finite()).collect();
    all.sort_unstable_by(f64::total_cmp);
    let (low, high) = (*all.first()?, *all.last()?);
    let experiments =
        measurements.iter().filter_map(|measurement| notebook.number_of(measurement.experiment)).collect();
    let off = measurements.iter().map(resolution).fold(0.0, f64::max);
    let (low, high) = (down(low - off), up(high + off));
    Some(Point { x, value: nearest(robust::median(&all)?), low, high, ns: None, experiments })
}

/// Cycles an operation in every round of a launch.
pub(super) fn every_round(measurement: &Measurement<PatternRun>) -> Vec<f64> {
    measurement.samples().laps.iter().map(|lap| lap.cycles as f64 / f64::from(lap.loads.max(1))).collect()
}

/// Cycles an operation in the first round of a launch, which finds the SM's caches empty.
pub(super) fn first_round(measurement: &Measurement<PatternRun>) -> Vec<f64> {
    every_round(measurement).into_iter().take(1).collect()
}

/// Cycles an operation in the rounds after the first.
pub(super) fn later_rounds(measurement: &Measurement<PatternRun>) -> Vec<f64> {
    every_round(measurement).into_iter().skip(1).collect()
}

/// An axis of numbers.
pub(super) fn axis(label: &str, unit: &str, doubling: bool) -> Axis {
    Axis { label: label.into(), unit: (!unit.is_empty()).then(|| unit.into()), doubling, names: Vec::new() }
}

/// An axis of names.
pub(super) fn names(label: &str, names: &[&str]) -> Axis {
    Axis { names: names.iter().map(|&name| name.into()).collect(), ..axis(label, "", false) }
}

/// A figure.
pub(super) fn figure(name: &str, title: impl Into<String>, x: Axis, y: Axis, lines: Vec<Line>) -> Figure {
    Figure { name: name.into(), title: title.into(), x, y, lines }
}

/// "1 thread", "2 threads".
pub(super) fn counted(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What `relation` makes of two points; the interval is that of the extremes, for a relation that grows with the first and falls
/// with the second.
fn related(of: &Point, base: &Point, relation: impl Fn(f64, f64) -> f64) -> Point {
    Point {
        x: of.x,
        value: nearest(relation(of.value, base.value)),
        low: down(relation(of.low, base.high)),
        high: up(relation(of.high, base.low)),
        ns: None,
        experiments: of.experiments.iter().chain(&base.experiments).copied().collect(),
    }
}

/// Whether a point can be divided by: nothing of its interval is zero or less.
fn divides(base: &Point) -> bool {
    [base.value, base.low, base.high].into_iter().all(|value| value > 0.0)
}

/// What one point is of another, in per cent more; none where the other is no time.
pub(super) fn percent_more(of: &Point, base: &Point) -> Option<Point> {
    divides(base).then(|| related(of, base, |a, b| (a / b - 1.0) * 100.0))
}

/// How many times one point is the other; none where the other is no time.
pub(super) fn times(of: &Point, base: &Point) -> Option<Point> {
    divides(base).then(|| related(of, base, |a, b| a / b))
}

/// A difference of two points over a number.
pub(super) fn difference(of: &Point, base: &Point, over: f64) -> Point {
    related(of, base, |a, b| (a - b) / over)
}

/// Digits behind the point of a part of a cycle: four.
const PARTS: f64 = 1e4;

/// A point over a number: a part of a cycle, for each of many operations that go on at the same time.
pub(super) fn over(of: &Point, number: f64) -> Point {
    let part = |value: f64| (value / number * PARTS).round() / PARTS;
    Point { value: part(of.value), low: part(of.low), high: part(of.high), ..of.clone() }
}

/// A point as a finding.
pub(super) fn finding(point: &Point, unit: &str, method: impl Into<String>) -> Finding {
    let finding = match unit {
        "" => Finding::measured(point.value, method).any(),
        "cycles" => Finding::measured(Cycles(point.value), method).any(),
        unit => Finding::measured(point.value, method).unit(unit).any(),
    };
    finding.range(point.low, point.high).from_experiments(point.experiments.iter().copied())
}

/// So much longer or shorter, in words; `None` if it is nothing to speak of.
pub(super) fn longer(percent: f64) -> Option<String> {
    let size = said(percent.abs());
    match percent {
        p if p >= NOTHING => Some(format!("{size} % longer")),
        p if p <= -NOTHING => Some(format!("{size} % less time")),
        _ => None,
    }
}

/// Per cent below which two times are the same: launches of one program differ by as much.
pub(super) const NOTHING: f64 = 3.0;

/// A number in a sentence: three digits, no more than are known.
pub(super) fn said(value: f64) -> String {
    match value.abs() {
        x if x >= 99.5 => format!("{value:.0}"),
        x if x >= 9.95 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(values: &[f64]) -> Line {
        let point = |(i, &value): (usize, &f64)| Point {
            x: f64::from(1u32 << i),
            value,
            low: value - 1.0,
            high: value + 1.0,
            ns: None,
            experiments: vec![i as u32],
        };
        Line {
            label: String::new(),
            points: values.iter().enumerate().map(point).collect(),
            reason: None,
            failed: false,
        }
    }

    #[test]
    fn intervals_are_those_of_the_extremes() {
        let line = line(&[10.0, 20.0]);
        let more = percent_more(&line.points[1], &line.points[0]).unwrap();
        assert_eq!((more.value, more.experiments), (100.0, vec![1, 0]));
        assert!(more.low < 73.0 && more.high > 133.0, "{} to {}", more.low, more.high);
        let each = difference(&line.points[1], &line.points[0], 2.0);
        assert_eq!((each.value, each.low, each.high), (5.0, 4.0, 6.0));
    }
}
