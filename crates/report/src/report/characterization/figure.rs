//! A figure as a table and as a picture.

use crate::report::plot::{self, Bar, Bars, Curves, Draw, Measure, Numbers, Plot, Series};
use crate::report::text::by_reason;
use strata_model::characterization::{Axis, Figure, Line, Point};
use strata_model::units::Bytes;

/// A figure as a table: a row for each line, a column for each place.
pub(in crate::report) struct Grid<'f> {
    /// The places, ascending.
    pub places: Vec<f64>,
    /// The lines, each with its points by place.
    pub rows: Vec<(&'f Line, Vec<Option<&'f Point>>)>,
}

impl<'f> Grid<'f> {
    /// The table of a figure.
    pub fn of(figure: &'f Figure) -> Self {
        let mut places: Vec<f64> = figure.lines.iter().flat_map(|line| &line.points).map(|point| point.x).collect();
        places.sort_unstable_by(f64::total_cmp);
        places.dedup_by(|a, b| a.total_cmp(b).is_eq());
        let at = |line: &'f Line, x: &f64| line.points.iter().find(|point| point.x.total_cmp(x).is_eq());
        let row = |line: &'f Line| (line, places.iter().map(|x| at(line, x)).collect());
        Grid { rows: figure.lines.iter().map(row).collect(), places }
    }

    /// Why points are missing, each reason once.
    pub fn missing(&self) -> Vec<String> {
        let gaps = self.rows.iter().filter_map(|(line, points)| {
            let reason = match &line.reason {
                Some(reason) => reason.as_str(),
                None if points.is_empty() || points.contains(&None) => "not measured",
                None => return None,
            };
            Some((line.label.clone(), reason.to_owned()))
        });
        let words = |(lines, reason): (String, String)| format!("points missing for {lines}: {reason}");
        by_reason(gaps).into_iter().map(words).collect()
    }
}

/// What an axis shows, with its unit where its label does not say it.
pub(super) fn heading(axis: &Axis) -> String {
    match &axis.unit {
        Some(unit) if !axis.label.split_whitespace().any(|word| word == unit) => format!("{}, {unit}", axis.label),
        _ => axis.label.clone(),
    }
}

/// A place on an axis: its name, or its number. Whole numbers of usual size are written out, as they are what was asked for.
pub(super) fn place(axis: &Axis, x: f64) -> String {
    let whole = x >= 0.0 && x.fract() == 0.0;
    match axis.names.get(x as usize) {
        Some(name) if whole => name.clone(),
        _ if whole && x < 1e4 => format!("{x}"),
        _ if whole && x < 1e18 && axis.unit.as_deref() == Some("B") => Bytes(x as u64).to_string(),
        _ => compact(x),
    }
}

/// A number with three digits that count, and k, M or G for thousands, millions and thousand millions.
pub(super) fn compact(x: f64) -> String {
    const SCALES: [(f64, &str); 4] = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
    let size = x.abs();
    if x == 0.0 {
        return "0".into();
    }
    if !(1e-3..9.995e11).contains(&size) {
        return format!("{x:.2e}");
    }
    // What rounds to a thousand is one of the next unit.
    let (scale, suffix) = SCALES.into_iter().find(|(scale, _)| size >= scale * 0.9995).unwrap_or((1.0, ""));
    let decimals = (2.0 - (size / scale).log10().floor()).max(0.0) as usize;
    let digits = format!("{:.decimals$}", x / scale);
    let digits = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { &digits };
    format!("{digits}{suffix}")
}

/// A point's value with its interval.
fn value(value: f64, low: f64, high: f64) -> String {
    match (compact(low), compact(high)) {
        (low, high) if low != high => format!("{} [{low} to {high}]", compact(value)),
        _ => compact(value),
    }
}

/// The points with their intervals: a row for each place, a column for each line, and one more where the points are times, too.
pub(in crate::report) fn numbers(figure: &Figure) -> Numbers {
    let grid = Grid::of(figure);
    let timed = figure.lines.iter().flat_map(|line| &line.points).any(|point| point.ns.is_some());
    let cells = |point: &Option<&Point>| {
        let cycles = point.map(|p| value(p.value, p.low, p.high));
        let ns = point.and_then(|p| p.ns).map(|time| value(time.value, time.low, time.high));
        let shown = |cell: Option<String>| cell.unwrap_or_else(|| "-".into());
        [shown(cycles)].into_iter().chain(timed.then(|| shown(ns)))
    };
    let row = |(i, x): (usize, &f64)| {
        let cells = grid.rows.iter().flat_map(|(_, points)| cells(&points[i]));
        [place(&figure.x, *x)].into_iter().chain(cells).collect()
    };
    let columns = |line: &Line| [line.label.clone()].into_iter().chain(timed.then(|| format!("{}, ns", line.label)));
    Numbers {
        head: [heading(&figure.x)].into_iter().chain(figure.lines.iter().flat_map(columns)).collect(),
        rows: grid.places.iter().enumerate().map(row).collect(),
    }
}

/// The same in a sentence.
pub(in crate::report) fn description(figure: &Figure) -> String {
    let points = || figure.lines.iter().flat_map(|line| &line.points);
    let (low, high) = points().fold((f64::MAX, f64::MIN), |(low, high), p| (low.min(p.value), high.max(p.value)));
    let lines = figure.lines.len();
    match points().count() {
        0 => "No point was measured.".into(),
        count => format!(
            "{count} point{} on {lines} line{}, {} from {} to {}.",
            if count == 1 { "" } else { "s" },
            if lines == 1 { "" } else { "s" },
            heading(&figure.y),
            compact(low),
            compact(high)
        ),
    }
}

/// The plot of a figure: lines with the range of each point, or bars where its places have names.
pub(in crate::report) fn plot(figure: &Figure) -> Plot {
    if figure.x.names.is_empty() { lines(figure).into() } else { bars(figure).into() }
}

fn lines(figure: &Figure) -> Curves {
    let series = |line: &Line| {
        let points = line.points.iter().map(|p| (p.x, [p.value, p.low, p.high]));
        Series::banded(&line.label, Draw::Line, points)
    };
    Curves {
        title: figure.title.clone(),
        description: description(figure),
        x: axis(&figure.x),
        y: axis(&figure.y),
        // A line without points has no place in the legend either.
        series: figure.lines.iter().filter(|line| !line.points.is_empty()).map(series).collect(),
        gaps: true,
        ..Curves::default()
    }
}

/// A bar for each point, place by place, of the line's colour.
fn bars(figure: &Figure) -> Bars {
    let grid = Grid::of(figure);
    let label = |x: f64, line: &Line| match figure.lines.len() {
        1 => place(&figure.x, x),
        _ => format!("{}, {}", place(&figure.x, x), line.label),
    };
    let bars = grid.places.iter().enumerate().flat_map(|(i, x)| {
        let at =
            grid.rows.iter().enumerate().filter_map(move |(series, (line, points))| Some((series, *line, points[i]?)));
        at.map(move |(series, line, point)| Bar { label: label(*x, line), value: point.value, series })
    });
    Bars {
        title: figure.title.clone(),
        description: description(figure),
        labels: heading(&figure.x),
        axis: axis(&figure.y),
        bars: bars.collect(),
    }
}

fn axis(axis: &Axis) -> plot::Axis {
    match axis.unit.as_deref() {
        Some("B") => plot::Axis { label: axis.label.clone(), measure: Measure::Bytes, log2: axis.doubling },
        _ => plot::Axis { label: heading(axis), measure: Measure::Number, log2: axis.doubling },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let all =
            [0.0, 0.012_34, 0.5, 1.0, 9.996, 43.25, 99.96, 999.4, 999.5, 1024.0, 123_456.0, 999_600.0, 2.5e9, -3.0];
        let shown = all.map(compact);
        let expected =
            ["0", "0.0123", "0.5", "1", "10", "43.2", "100", "999", "1k", "1.02k", "123k", "1M", "2.5G", "-3"];
        assert_eq!(shown, expected);
        assert_eq!([1e-7, 1e15].map(compact), ["1.00e-7", "1.00e15"]);
    }

    #[test]
    fn places_are_named_or_written_out() {
        let numbers = Axis { label: "distance".into(), unit: Some("B".into()), doubling: true, names: Vec::new() };
        assert_eq!([4.0, 1024.0, 65536.0, 0.5].map(|x| place(&numbers, x)), ["4", "1024", "64 KiB", "0.5"]);
        assert_eq!(heading(&numbers), "distance, B");
        let named = Axis { names: vec!["rows".into(), "columns".into()], ..numbers };
        assert_eq!([0.0, 1.0, 2.0, 0.5].map(|x| place(&named, x)), ["rows", "columns", "2", "0.5"]);
    }
}
