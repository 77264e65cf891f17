//! Findings that are curves or maps, point by point.

use std::collections::BTreeMap;

use strata_model::attribute::{BankPoint, Curve, LaunchRow, PaddingRow, SmPlace, SpectrumRow, Step, Value};
use strata_model::characterization::{Axis, Line};
use strata_model::units::Bytes;

use super::content::{CurvePoint, Exact, Range};
use crate::reference::WaysAt;

/// Points by their place.
type Points = BTreeMap<String, CurvePoint>;

/// The points of a value that has points; `None` for any other, and for one with a number that is none.
pub fn of_value(value: &Value) -> Option<Points> {
    match value {
        Value::Curve(Curve(steps)) => steps.iter().map(step).collect(),
        Value::Spectrum(rows) => rows.0.iter().map(pattern).collect(),
        Value::BankCurve(points) => points.0.iter().map(stride).collect(),
        Value::Padding(rows) => Some(rows.0.iter().map(padding).collect()),
        Value::SmMap(map) => Some(map.0.iter().map(place).collect()),
        Value::Launches(rows) => rows.0.iter().map(launch).collect(),
        _ => None,
    }
}

/// Footprint and share of misses.
fn step(step: &Step) -> Option<(String, CurvePoint)> {
    let (low, high) = step.interval.unzip();
    Some((step.footprint.0.to_string(), point(Range::new(Some(step.share), low, high)?)))
}

fn pattern(row: &SpectrumRow) -> Option<(String, CurvePoint)> {
    let place = format!("{} {} {}", row.path.name(), row.data.name(), row.translation);
    Some((place, cycles(Range::new(Some(row.cycles), row.low, row.high)?, Exact::new())))
}

fn stride(at: &BankPoint) -> Option<(String, CurvePoint)> {
    let exact = Exact::from([("ways", at.ways.map(|ways| ways as f64))]);
    let place = format!("{} {}", of_width(at.width, at.mode), at.stride);
    Some((place, cycles(Range::new(Some(at.cycles), at.low, at.high)?, exact)))
}

/// Points of which only the ways are published.
pub fn of_ways(all: &[WaysAt]) -> Points {
    let point = |at: &WaysAt| {
        let place = format!("{} {}", of_width(Bytes(at.width), at.mode.map(Bytes)), at.stride);
        (place, CurvePoint { ranges: BTreeMap::new(), exact: Exact::from([("ways", Some(at.ways as f64))]) })
    };
    all.iter().map(point).collect()
}

fn launch(row: &LaunchRow) -> Option<(String, CurvePoint)> {
    let number = |Bytes(bytes): Bytes| Some(bytes as f64);
    Some((row.launch(), point(Range::new(number(row.size), number(row.low), number(row.high))?)))
}

fn padding(row: &PaddingRow) -> (String, CurvePoint) {
    let exact = Exact::from([("words", row.words.map(|words| words as f64))]);
    (of_width(row.width, row.mode), CurvePoint { ranges: BTreeMap::new(), exact })
}

/// Where an SM is. Its latencies depend on the page of the run, within intervals so wide that they would tell two dies apart rarely; and
/// beside them single SMs in another place would pass for chance. The near and the far latency are findings of their own.
fn place(sm: &SmPlace) -> (String, CurvePoint) {
    let mut exact = Exact::from([("partition", sm.partition.map(f64::from)), ("group", sm.group.map(f64::from))]);
    // A result of before they were found says nothing of them.
    exact.extend(
        [("tpc", sm.tpc), ("gpc", sm.gpc)]
            .into_iter()
            .filter_map(|(what, number)| Some((what, Some(f64::from(number?))))),
    );
    (sm.sm.to_string(), CurvePoint { ranges: BTreeMap::new(), exact })
}

/// Width of an access and, where banks can be chosen, the mode.
fn of_width(width: Bytes, mode: Option<Bytes>) -> String {
    mode.map_or(width.0.to_string(), |mode| format!("{} {}", width.0, mode.0))
}

fn cycles(range: Range, exact: Exact) -> CurvePoint {
    CurvePoint { ranges: BTreeMap::from([("cycles", range)]), exact }
}

fn point(range: Range) -> CurvePoint {
    CurvePoint { ranges: BTreeMap::from([("y", range)]), exact: Exact::new() }
}

/// The points of a line, each by its number on the x axis, or by its name there.
pub fn of_line(x: &Axis, line: &Line) -> Points {
    let place = |at: f64| match x.names.get(at as usize) {
        Some(name) if at >= 0.0 && at.fract() == 0.0 => name.clone(),
        // Negative zero is zero.
        _ => format!("{}", at + 0.0),
    };
    let points = line
        .points
        .iter()
        .filter_map(|p| Some((place(p.x), point(Range::new(Some(p.value), Some(p.low), Some(p.high))?))));
    points.collect()
}

#[cfg(test)]
mod tests {
    use strata_model::attribute::BankCurve;

    use super::*;

    #[test]
    fn rows_are_found_by_what_says_where_they_are() {
        let at =
            BankPoint { width: Bytes(4), stride: 2, cycles: 25.0, low: None, high: None, ways: Some(2), mode: None };
        let curve = of_value(&BankCurve(vec![at]).into()).unwrap();
        let (place, point) = curve.first_key_value().unwrap();
        assert_eq!(place, "4 2");
        assert_eq!(point.exact, Exact::from([("ways", Some(2.0))]));
        assert_eq!(point.ranges["cycles"], Range::new(Some(25.0), None, None).unwrap());
        let steps = of_value(&Curve(vec![Step::new(2112, 0.1), Step::new(2176, 0.2)]).into()).unwrap();
        assert_eq!(steps.keys().collect::<Vec<_>>(), ["2112", "2176"]);
        assert_eq!(of_value(&Value::from(Bytes(2))), None);
    }
}
