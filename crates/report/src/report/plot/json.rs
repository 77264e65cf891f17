//! Plots for the script of a page, which lets a reader zoom and read values. A page keeps each plot once in a [`Store`],
//! however many findings show it.

use std::collections::HashMap;

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use super::{Plot, Series};
use crate::report::words::printable;

/// Digits to which a number is drawn: a screen has fewer.
const DIGITS: usize = 6;

/// A number, written as briefly as a plot needs it: whole numbers without a point, others to [`DIGITS`] digits.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // Whole numbers that a float holds exactly.
        const EXACT: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;
        let x = self.0;
        if x.fract() == 0.0 && x.abs() < EXACT {
            return to.serialize_i64(x as i64);
        }
        if !x.is_finite() {
            return to.serialize_none();
        }
        // The largest float rounds to infinity.
        let rounded = format!("{x:.*e}", DIGITS - 1).parse().ok().filter(|r: &f64| r.is_finite());
        to.serialize_f64(rounded.unwrap_or(x))
    }
}

/// A number of a field.
pub(super) fn number<S: Serializer>(x: &f64, to: S) -> Result<S::Ok, S::Error> {
    Number(*x).serialize(to)
}

/// Text without what cannot be seen.
pub(super) fn shown<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
    printable(text).serialize(to)
}

impl Serialize for Series {
    /// Places ascend and each is there once, with the last of its values. Each is written as its distance from the one before.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut points = self.points.clone();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.reverse();
        points.dedup_by(|a, b| a.0 == b.0);
        points.reverse();
        let mut before = 0.0;
        let dx: Vec<Number> = points.iter().map(|(x, _)| Number(x - std::mem::replace(&mut before, *x))).collect();
        let column = |i: usize| points.iter().map(|(_, v)| Number(v[i])).collect::<Vec<_>>();
        let mut fields = to.serialize_struct("Series", 7)?;
        fields.serialize_field("name", &printable(&self.name))?;
        fields.serialize_field("draw", &self.draw)?;
        if self.right {
            fields.serialize_field("right", &true)?;
        }
        fields.serialize_field("dx", &dx)?;
        fields.serialize_field("y", &column(0))?;
        if self.banded && !points.is_empty() {
            fields.serialize_field("low", &column(1))?;
            fields.serialize_field("high", &column(2))?;
        }
        fields.end()
    }
}

/// The plots of a page, each once.
#[derive(Debug, Default)]
pub(in crate::report) struct Store {
    plots: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Store {
    /// Keeps a plot; its number in the page. A plot of nothing, or of a kind that the script does not draw, is not kept.
    pub fn keep(&mut self, plot: &Plot) -> Option<usize> {
        let text = serde_json::to_string(plot).ok().filter(|_| !plot.is_empty())?;
        if let Some(number) = self.numbers.get(&text) {
            return Some(*number);
        }
        self.plots.push(text.clone());
        self.numbers.insert(text, self.plots.len() - 1);
        Some(self.plots.len() - 1)
    }

    /// All of them as a JSON list that can stand in a script element: a `<` could end it.
    pub fn json(&self) -> String {
        format!("[{}]", self.plots.join(",\n")).replace('<', "\\u003c")
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Bars, Curves, Draw};
    use super::*;

    #[test]
    fn numbers_are_brief() {
        let shown = |x: f64| serde_json::to_string(&Number(x)).unwrap();
        assert_eq!([3.0, -2.5, 0.123_456_78, 1e300, 5e-324].map(shown), ["3", "-2.5", "0.123457", "1e+300", "5e-324"]);
        assert_eq!([f64::NAN, f64::INFINITY].map(shown), ["null", "null"]);
    }

    #[test]
    fn a_series_ascends_and_has_each_place_once() {
        let series = Series::new("s", Draw::Line, [(4.0, 1.0), (1.0, 2.0), (4.0, 3.0)]);
        let expected = serde_json::json!({"name": "s", "draw": "line", "dx": [1, 3], "y": [2, 3]});
        assert_eq!(serde_json::to_value(&series).unwrap(), expected);
    }

    #[test]
    fn a_plot_is_kept_once_and_cannot_end_its_script() {
        let plot = |title: &str| {
            Plot::Curves(Curves {
                title: title.into(),
                x: Axis::bytes("footprint", true),
                y: Axis::of("cycles"),
                series: vec![Series::new("</script><script>", Draw::Points, [(1.0, 1.0)])],
                ..Curves::default()
            })
        };
        let mut store = Store::default();
        assert_eq!(
            [store.keep(&plot("a")), store.keep(&plot("b")), store.keep(&plot("a"))],
            [Some(0), Some(1), Some(0)]
        );
        let json = store.json();
        assert!(!json.contains('<'), "{json}");
        let plots: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(plots[1]["series"][0]["name"], "</script><script>");
    }

    #[test]
    fn what_the_script_does_not_draw_is_not_kept() {
        let bar = super::super::Bar { label: "a".into(), value: 1.0, series: 0 };
        let axis = Axis::of("cycles");
        let (title, description, labels) = (String::new(), String::new(), String::new());
        let bars = Plot::Bars(Bars { title, description, labels, axis, bars: vec![bar] });
        assert_eq!(Store::default().keep(&bars), None);
        assert_eq!(Store::default().keep(&Plot::Curves(Curves::default())), None);
    }
}
