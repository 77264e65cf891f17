//! Plots as data.
//!
//! A [`Plot`] is made once. The picture for paper and Markdown ([`super::svg`]), the table of its numbers ([`Plot::numbers`])
//! and the JSON that the script of a page draws ([`Store`]) all come from it.

mod json;
mod measure;
mod numbers;

pub(super) use json::Store;
pub(super) use measure::Measure;
pub(super) use numbers::Numbers;

use json::{number, shown};

/// What an axis shows.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub(super) struct Axis {
    /// What it is, with the unit if the numbers do not bear one.
    #[serde(serialize_with = "shown")]
    pub label: String,
    /// How its numbers are shown.
    pub measure: Measure,
    /// Each doubling takes the same room. Only where all numbers are at least one; otherwise the axis is linear.
    pub log2: bool,
}

impl Axis {
    /// A linear axis of plain numbers.
    pub fn of(label: &str) -> Self {
        Axis { label: label.into(), measure: Measure::Number, log2: false }
    }

    /// An axis of bytes.
    pub fn bytes(label: &str, log2: bool) -> Self {
        Axis { label: label.into(), measure: Measure::Bytes, log2 }
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
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// Its name in the legend.
    pub name: String,
    /// How it is drawn.
    pub draw: Draw,
    /// It belongs to the right axis, of shares, instead of the left one.
    pub right: bool,
    /// Whether there is a band around the values.
    pub banded: bool,
    /// Places on the x axis in any order, each with its value and the lower and the upper end of the band.
    pub points: Vec<(f64, [f64; 3])>,
}

impl Series {
    /// A series of points.
    pub fn new(name: impl Into<String>, draw: Draw, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y)| (x, [y, y, y])).collect();
        Series { name: name.into(), draw, right: false, banded: false, points }
    }

    /// A series of points, each value with the ends of its band.
    pub fn banded(name: impl Into<String>, draw: Draw, points: impl IntoIterator<Item = (f64, [f64; 3])>) -> Self {
        Series { banded: true, points: points.into_iter().collect(), ..Series::new(name, draw, []) }
    }

    /// The same on the right axis.
    pub fn on_the_right(self) -> Self {
        Series { right: true, ..self }
    }

    /// Places and values.
    pub fn values(&self) -> impl Iterator<Item = (f64, f64)> {
        self.points.iter().map(|(x, [y, ..])| (*x, *y))
    }
}

/// A place on the x axis that is worth a line, with what is certain of it as a band.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(super) struct Mark {
    /// The place.
    #[serde(serialize_with = "number")]
    pub at: f64,
    /// What is there.
    #[serde(serialize_with = "shown")]
    pub label: String,
    /// Lower end of its interval.
    #[serde(serialize_with = "number")]
    pub low: f64,
    /// Upper end.
    #[serde(serialize_with = "number")]
    pub high: f64,
}

impl Mark {
    /// A mark without a band.
    pub fn new(at: f64, label: String) -> Self {
        Mark { at, label, low: at, high: at }
    }
}

/// A value on the y axis that has a name.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(super) struct Level {
    /// The value.
    #[serde(serialize_with = "number")]
    pub at: f64,
    /// What has it.
    #[serde(serialize_with = "shown")]
    pub label: String,
}

/// Series over one x axis.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub(super) struct Curves {
    /// What it shows.
    #[serde(serialize_with = "shown")]
    pub title: String,
    /// The same in a sentence, with numbers, for those who cannot see the picture.
    #[serde(skip)]
    pub description: String,
    /// Its name where a reader chooses among several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub choice: String,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upwards; it shows zero, unless each doubling takes the same room on it.
    pub y: Axis,
    /// The series.
    pub series: Vec<Series>,
    /// Places that are worth a line, whoever shows the plot.
    pub marks: Vec<Mark>,
    /// Values that are worth a line; their names stand at the right, one below the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Level>,
    /// Where the x axis begins at the latest, though the first point lies beyond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<f64>,
    /// Gaps that are much wider than most interrupt a curve of the picture: nothing was measured there.
    #[serde(skip)]
    pub gaps: bool,
}

/// A table of numbers as colours.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct Heat {
    /// What it shows.
    pub title: String,
    /// What the columns are.
    pub x: String,
    /// What the rows are.
    pub y: String,
    /// What the colours are.
    pub value: String,
    /// Name of each row, from below.
    pub rows: Vec<String>,
    /// The values, row by row.
    pub cells: Vec<Vec<u32>>,
}

/// A bar.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    /// What it is.
    pub label: String,
    /// How long it is; not below zero.
    pub value: f64,
    /// Which series it is of: those of one series have one colour.
    pub series: usize,
}

/// Bars, one beneath the other.
#[derive(Clone, Debug)]
pub(super) struct Bars {
    /// What it shows.
    pub title: String,
    /// The same in a sentence, with numbers.
    pub description: String,
    /// What the labels are.
    pub labels: String,
    /// The axis of the values; it begins at zero.
    pub axis: Axis,
    /// The bars, from above.
    pub bars: Vec<Bar>,
}

/// A tile.
#[derive(Clone, Debug)]
pub(super) struct Tile {
    /// What stands on it: three or four characters.
    pub label: String,
    /// All that is known of it; shown where the pointer rests on it.
    pub hint: String,
    /// How dark it is, from 0 to 1, where that says something; otherwise it has the colour of its group.
    pub shade: Option<f64>,
}

/// Tiles side by side.
#[derive(Clone, Debug)]
pub(super) struct TileRow {
    /// Its name.
    pub name: String,
    /// The tiles.
    pub tiles: Vec<Tile>,
}

/// Rows of one colour.
#[derive(Clone, Debug)]
pub(super) struct TileGroup {
    /// Its name.
    pub name: String,
    /// The rows.
    pub rows: Vec<TileRow>,
}

/// Labelled squares in rows, rows in groups.
#[derive(Clone, Debug)]
pub(super) struct Tiles {
    /// What it shows.
    pub title: String,
    /// The same in a sentence, with numbers.
    pub description: String,
    /// What the labels are.
    pub labels: String,
    /// The groups, from above.
    pub groups: Vec<TileGroup>,
}

/// A plot. The script of a page draws curves and heat maps; bars and tiles have their numbers written on them and are
/// pictures alone.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Plot {
    /// Series over one x axis.
    Curves(Curves),
    /// A table of numbers as colours.
    Heat(Heat),
    /// Bars.
    #[serde(skip)]
    Bars(Bars),
    /// Tiles.
    #[serde(skip)]
    Tiles(Tiles),
}

impl Plot {
    /// What it shows.
    pub fn title_mut(&mut self) -> &mut String {
        match self {
            Plot::Curves(curves) => &mut curves.title,
            Plot::Heat(heat) => &mut heat.title,
            Plot::Bars(bars) => &mut bars.title,
            Plot::Tiles(tiles) => &mut tiles.title,
        }
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        match self {
            Plot::Curves(curves) => curves.series.iter().all(|s| s.points.is_empty()),
            Plot::Heat(heat) => heat.cells.iter().all(Vec::is_empty),
            Plot::Bars(bars) => bars.bars.is_empty(),
            Plot::Tiles(tiles) => tiles.groups.iter().flat_map(|group| &group.rows).all(|row| row.tiles.is_empty()),
        }
    }
}

impl From<Curves> for Plot {
    fn from(curves: Curves) -> Self {
        Plot::Curves(curves)
    }
}

impl From<Bars> for Plot {
    fn from(bars: Bars) -> Self {
        Plot::Bars(bars)
    }
}

impl From<Tiles> for Plot {
    fn from(tiles: Tiles) -> Self {
        Plot::Tiles(tiles)
    }
}
