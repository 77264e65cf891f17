//! Findings that are curves or maps, point by point.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::content::{CurvePoint, Range};
use strata_model::characterization::{Axis, Line};
use strata_model::topology::Finding;

/// The attribute that is a small element of its own.
pub const CONFIGURATION: &str = "least_configuration";

/// How the rows of a list of objects are compared.
struct Rows {
    /// Attribute.
    attribute: &'static str,
    /// Fields that say where a row is.
    place: &'static [&'static str],
    /// Fields that are measured; `low` and `high` of a row are the ends of its interval.
    measured: &'static [&'static str],
    /// Fields that have to be equal.
    exact: &'static [&'static str],
}

const ROWS: [Rows; 4] = [
    Rows { attribute: "bank_curve", place: &["width", "mode", "stride"], measured: &["cycles"], exact: &["ways"] },
    Rows { attribute: "padding", place: &["width", "mode"], measured: &[], exact: &["words"] },
    Rows { attribute: "sm_map", place: &["sm"], measured: &[], exact: &["partition", "group"] },
    Rows { attribute: "spectrum", place: &["path", "data", "translation"], measured: &["cycles"], exact: &[] },
];

/// What `least_configuration` says of one of its parts; the value is still to be put in.
pub fn part_of_configuration(name: &str, whole: &Finding) -> Finding {
    let unit = (name == "size").then(|| "B".to_owned());
    Finding {
        unit,
        low: None,
        high: None,
        reason: whole.reason.clone().or_else(|| Some("unknown, as its note there says".into())),
        ..whole.clone()
    }
}

/// The points of an attribute that has points; `None` for any other, and for one whose value has another shape than ours.
pub fn of_attribute(attribute: &str, value: &Value) -> Option<BTreeMap<String, CurvePoint>> {
    let items = value.as_array()?;
    if let Some(rows) = ROWS.iter().find(|rows| rows.attribute == attribute) {
        return items.iter().map(|item| row(rows, item.as_object()?)).collect();
    }
    let steps = attribute == "staircase" || attribute.strip_prefix(CONFIGURATION) == Some(".misses");
    if steps { items.iter().map(step).collect() } else { None }
}

fn row(rows: &Rows, fields: &Map<String, Value>) -> Option<(String, CurvePoint)> {
    let place: Vec<String> = rows.place.iter().filter_map(|name| Some(shown(fields.get(*name)?))).collect();
    let number = |name: &str| fields.get(name).and_then(Value::as_f64);
    let mut ranges = BTreeMap::new();
    for name in rows.measured {
        ranges.insert((*name).to_owned(), Range::new(Some(number(name)?), number("low"), number("high"))?);
    }
    let exact: Map<String, Value> =
        rows.exact.iter().filter_map(|name| Some(((*name).to_owned(), fields.get(*name)?.clone()))).collect();
    Some((place.join(" "), CurvePoint { ranges, exact: Value::Object(exact) }))
}

/// A pair of footprint and share.
fn step(item: &Value) -> Option<(String, CurvePoint)> {
    let [x, y] = item.as_array()?.as_slice() else { return None };
    Some((number(x.as_f64()?), point(Range::new(y.as_f64(), None, None)?)))
}

fn point(range: Range) -> CurvePoint {
    CurvePoint { ranges: BTreeMap::from([("y".to_owned(), range)]), exact: Value::Null }
}

/// The points of a line, each by its number on the x axis, or by its name there.
pub fn of_line(x: &Axis, line: &Line) -> BTreeMap<String, CurvePoint> {
    let place = |at: f64| match x.names.get(at as usize) {
        Some(name) if at >= 0.0 && at.fract() == 0.0 => name.clone(),
        _ => number(at),
    };
    let points = line
        .points
        .iter()
        .filter_map(|p| Some((place(p.x), point(Range::new(Some(p.value), Some(p.low), Some(p.high))?))));
    points.collect()
}

fn shown(value: &Value) -> String {
    match value {
        Value::Number(n) => n.as_f64().map_or_else(|| n.to_string(), number),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// One text for each number, whether it was written as 2 or as 2.0.
fn number(x: f64) -> String {
    // Negative zero is zero.
    format!("{}", x + 0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_are_found_by_what_says_where_they_are() {
        let curve =
            of_attribute("bank_curve", &json!([{"width": 4, "stride": 2.0, "cycles": 25.0, "ways": 2}])).unwrap();
        let (place, point) = curve.first_key_value().unwrap();
        assert_eq!(place, "4 2");
        assert_eq!(point.exact, json!({"ways": 2}));
        assert_eq!(point.ranges["cycles"], Range::new(Some(25.0), None, None).unwrap());
        let steps = of_attribute("staircase", &json!([[2112, 0.1], [2176.0, 0.2]])).unwrap();
        assert_eq!(steps.keys().collect::<Vec<_>>(), ["2112", "2176"]);
    }

    /// A result may come from anyone.
    #[test]
    fn other_shapes_are_no_curves() {
        for value in [json!("x"), json!([1]), json!([[1]]), json!([["a", 1]]), json!({"a": 1}), json!([[1, 2, 3]])] {
            assert_eq!(of_attribute("staircase", &value), None, "{value}");
        }
        assert_eq!(of_attribute("spectrum", &json!([{"path": "cg"}])), None);
        assert_eq!(of_attribute("size", &json!([[1, 2]])), None);
    }
}
