//! What formula 2 of Fuchs et al. (section 3.4.1) predicts: half of the loads go to memory, and the other half to the nearest level
//! whose line holds the jump.

use super::Steps;
use crate::analysis::hundredths::{down, nearest, up};
use crate::analysis::robust;
use crate::characterize::Answer;
use crate::characterize::points::{finding, percent_more};
use strata_model::characterization::{Line, Point};

/// Adds by how much the prediction for a path is off, and gives its lines: as measured, and as predicted. `lines` are the second
/// loads of the pairs, the first loads, and the mean of both.
pub(super) fn infer(answer: &mut Answer, name: &str, steps: &Steps, lines: [&Line; 3]) -> Vec<Line> {
    let [second, first, mean] = lines;
    let Some(memory) = memory(first) else { return Vec::new() };
    let predicted = mean.map(|point| {
        let level = level(steps, second, point.x)?;
        let half = |level: f64, memory: f64| f64::midpoint(level, memory);
        Some(Point {
            value: nearest(half(level.value, memory.value)),
            low: down(half(level.low, memory.low)),
            high: up(half(level.high, memory.high)),
            ..point.clone()
        })
    });
    let off = mean.points.iter().filter_map(|point| percent_more(point, predicted.at(point.x)?));
    if let Some(worst) = off.max_by(|a, b| a.value.abs().total_cmp(&b.value.abs())) {
        let method = "mean of all loads compared with formula 2 of Fuchs et al.: half the loads take as long as memory, half as \
                      long as the level whose line holds the jump";
        let note = format!("at a distance of {} B, where it is furthest off", worst.x);
        answer.finding(&format!("{name}_off_formula"), finding(&worst, "%", method).note(note));
    }
    let named = |line: &Line, what: &str| Line { label: format!("{}, {what}", line.label), ..line.clone() };
    vec![named(mean, "measured"), named(&predicted, "formula 2")]
}

/// The time of memory: the mean over all jumps, since the first load of a pair does not depend on the jump.
fn memory(first: &Line) -> Option<Point> {
    over(&first.points.iter().collect::<Vec<_>>(), 0.0)
}

/// The time of the level that answers a jump: the median over the jumps between two steps.
fn level(steps: &Steps, second: &Line, jump: f64) -> Option<Point> {
    let level = |x: f64| steps.steps.iter().filter(|step| f64::from(step.at) <= x).count();
    let alike: Vec<&Point> = second.points.iter().filter(|point| level(point.x) == level(jump)).collect();
    over(&alike, jump)
}

/// Points as one: the mean of their values, the least and the greatest end of their intervals.
fn over(points: &[&Point], x: f64) -> Option<Point> {
    let first = points.first()?;
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    Some(Point {
        x,
        value: robust::mean(&values),
        low: points.iter().map(|point| point.low).fold(f64::MAX, f64::min),
        high: points.iter().map(|point| point.high).fold(f64::MIN, f64::max),
        ..(*first).clone()
    })
}
