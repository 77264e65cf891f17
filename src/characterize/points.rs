//! From samples to points of a figure.

use crate::analysis::robust;
use crate::characterization::{Axis, Figure, Line, Point};
use crate::experiment::Experiment;
use crate::probe::{Effort, Gap, Notebook, Sheet};
use crate::samples::Failure;

/// Launches of each experiment: the interval of a point is the range over them and their rounds.
pub(super) fn launches(effort: Effort) -> u32 {
    match effort {
        Effort::Quick => 1,
        Effort::Standard => 3,
        Effort::Thorough => 7,
    }
}

/// What is measured at one place of a figure's x axis.
pub(super) struct Place {
    /// The place.
    pub x: f64,
    /// What is launched there, [`launches`] times.
    pub experiment: Experiment,
}

/// A line that is to be measured.
pub(super) struct Plan {
    /// Its name.
    pub label: String,
    /// Its places, ascending.
    pub places: Vec<Place>,
}

/// Measures lines, all in one batch; `values` takes from a launch's samples what counts.
///
/// A place that could not be measured is left out; the first reason of a line stands beside it.
///
/// # Errors
///
/// [`Gap::Missing`] while samples are lacking; the first failure, if no place of any line could be measured.
pub(super) fn measure(
    notebook: &Notebook,
    plans: &[Plan],
    values: impl Fn(&Sheet) -> Vec<f64>,
) -> Result<Vec<Line>, Gap> {
    let repeats = launches(notebook.effort());
    let wanted: Vec<Experiment> = plans
        .iter()
        .flat_map(|plan| &plan.places)
        .flat_map(|place| (0..repeats).map(|repeat| Experiment { repeat, ..place.experiment.clone() }))
        .collect();
    let mut answers = notebook.read_each(&wanted)?.into_iter();
    let mut first: Option<Failure> = None;
    let mut lines = Vec::new();
    for plan in plans {
        let mut line = Line { label: plan.label.clone(), points: Vec::new(), reason: None };
        for place in &plan.places {
            let answers: Vec<_> = answers.by_ref().take(repeats as usize).collect();
            let sheets: Result<Vec<Sheet>, Failure> = answers.into_iter().collect();
            match sheets {
                Ok(sheets) => line.points.extend(point(notebook, place.x, &sheets, &values)),
                Err(failure) => {
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

/// The median of all launches' values with their range; nothing, if there is no value.
fn point(notebook: &Notebook, x: f64, sheets: &[Sheet], values: impl Fn(&Sheet) -> Vec<f64>) -> Option<Point> {
    let mut all: Vec<f64> = sheets.iter().flat_map(values).filter(|v| v.is_finite()).collect();
    all.sort_unstable_by(f64::total_cmp);
    let (low, high) = (*all.first()?, *all.last()?);
    let experiments = sheets.iter().filter_map(|sheet| notebook.number_of(&sheet.experiment)).collect();
    Some(Point { x, value: robust::median(&all)?, low, high, experiments })
}

/// Cycles an operation, of each round of a launch.
pub(super) fn cycles_an_operation(sheet: &Sheet) -> Vec<f64> {
    sheet.samples().laps.iter().map(|lap| lap.cycles as f64 / f64::from(lap.loads.max(1))).collect()
}

/// An axis of numbers.
pub(super) fn axis(label: &str, unit: &str, doubling: bool) -> Axis {
    Axis { label: label.into(), unit: (!unit.is_empty()).then(|| unit.into()), doubling, names: Vec::new() }
}

/// A figure of cycles.
pub(super) fn figure(name: &str, title: &str, x: Axis, y: Axis, lines: Vec<Line>) -> Figure {
    Figure { name: name.into(), title: title.into(), x, y, lines }
}

/// The value of a line at a place.
pub(super) fn at(line: &Line, x: f64) -> Option<&Point> {
    line.points.iter().find(|point| point.x == x)
}
