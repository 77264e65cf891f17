//! Figures as data that the script of a page draws, with zoom and a readout of values.
//!
//! The SVG pictures of [`super::svg`] are for paper and for pages without scripts; a [`Plot`] is the same or more as numbers.
//! Every plot is kept once in a [`Store`], however many findings show it.

use std::collections::HashMap;

use serde::ser::{Serialize, Serializer};

use super::svg::{self, Lines};
use super::words::printable;

/// Digits to which a number is drawn: a screen has fewer.
const DIGITS: usize = 6;

/// A number, written as briefly as a plot needs it: whole numbers without a point, others to [`DIGITS`] digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number(pub f64);

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

/// What an axis shows.
#[derive(Debug, serde::Serialize)]
pub(super) struct Axis {
    /// What it is, with the unit if the numbers do not bear one.
    pub label: String,
    /// How its numbers are shown.
    pub measure: svg::Measure,
    /// Each doubling takes the same room; only where all numbers are at least one.
    pub log2: bool,
}

impl Axis {
    /// A linear axis of plain numbers.
    pub fn of(label: &str) -> Self {
        Axis { label: label.into(), measure: svg::Measure::Number, log2: false }
    }

    /// An axis of bytes.
    pub fn bytes(label: &str, log2: bool) -> Self {
        Axis { label: label.into(), measure: svg::Measure::Bytes, log2 }
    }
}

impl From<&svg::Axis> for Axis {
    fn from(axis: &svg::Axis) -> Self {
        Axis { label: printable(&axis.label), measure: axis.measure, log2: axis.log2 }
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Draw {
    /// Dots, joined by straight lines.
    Line,
    /// A value holds up to the next point.
    Steps,
    /// Dots alone.
    Points,
}

/// Some points of a plot under one name.
#[derive(Debug, serde::Serialize)]
pub(super) struct Series {
    /// Its name in the legend.
    pub name: String,
    /// How it is drawn.
    pub draw: Draw,
    /// It belongs to the right axis, of shares, instead of the left one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub right: bool,
    /// Places on the x axis, ascending and all different, each as its distance from the one before.
    pub dx: Vec<Number>,
    /// Values.
    pub y: Vec<Number>,
    /// Lower ends of a band around the values; none when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub low: Vec<Number>,
    /// Upper ends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub high: Vec<Number>,
}

impl Series {
    /// A series of points; of several at one place the last.
    pub fn new(name: impl Into<String>, draw: Draw, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Series::with_band(name, draw, points.into_iter().map(|(x, y)| (x, [y, y, y])), false)
    }

    /// A series of points, each value with the ends of its band.
    pub fn banded(name: impl Into<String>, draw: Draw, points: impl IntoIterator<Item = (f64, [f64; 3])>) -> Self {
        Series::with_band(name, draw, points, true)
    }

    fn with_band(
        name: impl Into<String>,
        draw: Draw,
        points: impl IntoIterator<Item = (f64, [f64; 3])>,
        band: bool,
    ) -> Self {
        let mut points: Vec<(f64, [f64; 3])> = points.into_iter().collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.reverse();
        points.dedup_by(|a, b| a.0 == b.0);
        points.reverse();
        let mut before = 0.0;
        let dx = points.iter().map(|(x, _)| Number(x - std::mem::replace(&mut before, *x))).collect();
        let column = |i: usize| points.iter().map(|(_, v)| Number(v[i])).collect::<Vec<_>>();
        let (low, high) = if band { (column(1), column(2)) } else { (Vec::new(), Vec::new()) };
        Series { name: printable(&name.into()), draw, right: false, dx, y: column(0), low, high }
    }

    /// The same on the right axis.
    pub fn on_the_right(self) -> Self {
        Series { right: true, ..self }
    }
}

/// A place on the x axis that is worth a line, with what is certain of it as a band.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(super) struct Mark {
    /// The place.
    pub at: Number,
    /// What is there.
    pub label: String,
    /// Lower end of its interval.
    pub low: Number,
    /// Upper end.
    pub high: Number,
}

/// A figure as data.
#[derive(Debug, serde::Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Plot {
    /// Series over one x axis.
    Curves {
        /// What it shows.
        title: String,
        /// Its name where a reader chooses among several.
        #[serde(skip_serializing_if = "String::is_empty")]
        choice: String,
        /// The axis to the right.
        x: Axis,
        /// The axis upwards.
        y: Axis,
        /// The series.
        series: Vec<Series>,
        /// Places that are worth a line, whoever shows the plot.
        marks: Vec<Mark>,
    },
    /// A table of numbers as colours.
    Heat {
        /// What it shows.
        title: String,
        /// What the columns are.
        x: String,
        /// What the rows are.
        y: String,
        /// What the colours are.
        value: String,
        /// Name of each row, from below.
        rows: Vec<String>,
        /// The values, row by row.
        cells: Vec<Vec<u32>>,
    },
}

impl Plot {
    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        match self {
            Plot::Curves { series, .. } => series.iter().all(|s| s.y.is_empty()),
            Plot::Heat { cells, .. } => cells.iter().all(Vec::is_empty),
        }
    }
}

impl From<&Lines> for Plot {
    fn from(lines: &Lines) -> Self {
        let draw = if lines.steps { Draw::Steps } else { Draw::Line };
        let mark = |mark: &svg::Mark| {
            let at = Number(mark.at);
            Mark { at, label: printable(&mark.label), low: at, high: at }
        };
        Plot::Curves {
            title: printable(&lines.title),
            choice: String::new(),
            x: (&lines.x).into(),
            y: (&lines.y).into(),
            series: lines.series.iter().map(|s| Series::new(&s.name, draw, s.points.iter().copied())).collect(),
            marks: lines.marks.iter().map(mark).collect(),
        }
    }
}

/// The plots of a page, each once.
#[derive(Debug, Default)]
pub(super) struct Store {
    plots: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Store {
    /// Keeps a plot; its number in the page. A plot that cannot be written as JSON is none.
    pub fn keep(&mut self, plot: &Plot) -> Option<usize> {
        let text = serde_json::to_string(plot).ok()?;
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
        assert_eq!((series.dx, series.y), (vec![Number(1.0), Number(3.0)], vec![Number(2.0), Number(3.0)]));
    }

    #[test]
    fn a_plot_is_kept_once_and_cannot_end_its_script() {
        let plot = |title: &str| Plot::Curves {
            title: title.into(),
            choice: String::new(),
            x: Axis::bytes("footprint", true),
            y: Axis::of("cycles"),
            series: vec![Series::new("</script><script>", Draw::Points, [(1.0, 1.0)])],
            marks: Vec::new(),
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
}
