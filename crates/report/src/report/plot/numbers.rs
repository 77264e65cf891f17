//! The numbers of a plot as a table.

use super::{Bars, Curves, Heat, Plot, Tiles};

/// The numbers of a picture, for those who want them or cannot see it.
pub(in crate::report) struct Numbers {
    /// Headings of the columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Plot {
    /// The plot as a table.
    pub fn numbers(&self) -> Numbers {
        match self {
            Plot::Curves(plot) => curves(plot),
            Plot::Heat(plot) => heat(plot),
            Plot::Bars(plot) => bars(plot),
            Plot::Tiles(plot) => tiles(plot),
        }
    }
}

/// A row for each place on the x axis, a column for each series.
fn curves(plot: &Curves) -> Numbers {
    let head = if plot.series.len() == 1 {
        vec![plot.x.label.clone(), plot.y.label.clone()]
    } else {
        [&plot.x.label].into_iter().chain(plot.series.iter().map(|s| &s.name)).cloned().collect()
    };
    let mut points: Vec<(f64, usize, f64)> = Vec::new();
    for (i, series) in plot.series.iter().enumerate() {
        points.extend(series.values().map(|(x, y)| (x, i, y)));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let row = |same: &[(f64, usize, f64)]| {
        let mut cells = vec![String::new(); plot.series.len() + 1];
        cells[0] = plot.x.measure.show(same[0].0);
        for (_, i, y) in same {
            cells[i + 1] = plot.y.measure.show(*y);
        }
        cells
    };
    Numbers { head, rows: points.chunk_by(|a, b| a.0 == b.0).map(row).collect() }
}

/// A line for each row.
fn heat(plot: &Heat) -> Numbers {
    let row = |(name, cells): (&String, &Vec<u32>)| {
        let cells: Vec<String> = cells.iter().map(u32::to_string).collect();
        vec![name.clone(), cells.join(" ")]
    };
    Numbers {
        head: vec![plot.y.clone(), plot.value.clone()],
        rows: plot.rows.iter().zip(&plot.cells).map(row).collect(),
    }
}

/// A line for each bar.
fn bars(plot: &Bars) -> Numbers {
    Numbers {
        head: vec![plot.labels.clone(), plot.axis.label.clone()],
        rows: plot.bars.iter().map(|b| vec![b.label.clone(), plot.axis.measure.show(b.value)]).collect(),
    }
}

/// A line for each row.
fn tiles(plot: &Tiles) -> Numbers {
    let rows = plot.groups.iter().flat_map(|group| group.rows.iter().map(move |row| (group, row)));
    let cells = rows.map(|(group, row)| {
        let labels: Vec<&str> = row.tiles.iter().map(|t| t.label.as_str()).collect();
        vec![format!("{}, {}", group.name, row.name), labels.join(" ")]
    });
    Numbers { head: vec!["Group".into(), plot.labels.clone()], rows: cells.collect() }
}
