//! Curves: several named series of points over one pair of axes.

use std::fmt::Write;

use super::axis::Ruler;
use super::{
    Anchor, Canvas, LINE_HEIGHT, MARGIN, MOST_MARKS, Picture, Units, WIDTH, clipped, colours, drawable, notes, width_of,
};
use crate::report::plot::{Curves, Draw, Series};

/// Height of the field between the axes, in units.
const FIELD: f64 = 190.0;
/// Most series of a picture: each has a colour and a pattern of dashes of its own, and the combinations repeat after it.
const MOST_SERIES: usize = 12;
/// Patterns of dashes; four beside six colours, so that twelve series differ and neighbours differ in both.
const DASHES: [&str; 4] = ["", "7 3", "2 3", "8 3 2 3"];
/// Points of a series up to which each is marked, so that a reader sees where was measured; more run into each other.
const MOST_DOTS: usize = 64;
/// Least distance of the markers of a series with more points, in units.
const MARKERS_APART: f64 = 36.0;
/// Series whose markers stand between each other's.
const PHASES: usize = 3;
/// Length of a series' sample in the legend, with the room behind it, in units.
const SAMPLE: f64 = 34.0;

/// The picture, if the points can be drawn.
pub(super) fn picture(plot: &Curves) -> Option<Picture> {
    let points = || plot.series.iter().flat_map(Series::values);
    let numbers = points()
        .flat_map(|(x, y)| [x, y])
        .chain(plot.marks.iter().map(|m| m.at))
        .chain(plot.levels.iter().map(|l| l.at))
        .chain(plot.from);
    let count = points().count();
    if count == 0 || count > MOST_MARKS || plot.series.len() > MOST_SERIES || !numbers.into_iter().all(drawable) {
        return None;
    }
    let mut canvas = Canvas::default();
    let title_end = canvas.heading(&plot.title);
    let legend_end = legend(&plot.series, &mut canvas, title_end);
    // Doublings never come down to zero.
    let doublings = plot.y.log2 && points().all(|(_, y)| y >= 1.0);
    let ys = || points().map(|(_, y)| y).chain(plot.levels.iter().map(|l| l.at)).chain((!doublings).then_some(0.0));
    let ruler = |places| Ruler::new(&plot.y, ys(), 5, true, places);
    // How wide its labels are does not depend on where they stand.
    let left = MARGIN + ruler((1.0, 0.0))?.label_width(plot.y.measure).clamp(20.0, 90.0) + 6.0;
    let right = WIDTH - MARGIN - notes::room(&plot.levels);
    let xs = points().map(|(x, _)| x).chain(plot.marks.iter().map(|m| m.at)).chain(plot.from);
    let x = Ruler::new(&plot.x, xs, 4, false, (left, right))?;
    let marks = notes::Marks::of(&plot.marks, &x);
    // What the y axis shows stands above it, and the labels of marks between.
    let top = legend_end + LINE_HEIGHT + marks.height() + 6.0;
    let bottom = top + FIELD;
    let y = ruler((bottom, top))?;
    for tick in &y.ticks {
        let place = y.place(*tick);
        canvas.line("grid", (left, place), (right, place));
        canvas.text((left - 6.0, place + 4.0), Anchor::End, &plot.y.measure.show(*tick));
    }
    for tick in &x.ticks {
        let place = x.place(*tick);
        canvas.line("axis", (place, bottom), (place, bottom + 4.0));
        canvas.text((place, bottom + 18.0), Anchor::Middle, &plot.x.measure.show(*tick));
    }
    canvas.line("axis", (left, bottom), (right, bottom));
    canvas.text((MARGIN, legend_end + 12.0), Anchor::Start, &clipped(&plot.y.label, right - MARGIN));
    canvas.text((right, bottom + 36.0), Anchor::End, &clipped(&plot.x.label, right - left));
    marks.draw(&mut canvas, (top, bottom));
    notes::levels(&plot.levels, &mut canvas, &y, (left, right), (top, bottom));
    for (i, series) in plot.series.iter().enumerate() {
        let colour = colours::colour(i);
        let mut points: Vec<(f64, f64)> = series.values().map(|(a, b)| (x.place(a), y.place(b))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let whole = vec![points.as_slice()];
        for run in if plot.gaps { runs(&points) } else { whole } {
            if series.draw != Draw::Points {
                canvas.curve(&path(run, series.draw == Draw::Steps), colour, DASHES[i % DASHES.len()]);
            }
        }
        // Steps of one series need no markers; everything else shows where was measured, or tells a series by its shape.
        if points.len() <= MOST_DOTS || series.draw == Draw::Points {
            points.iter().for_each(|p| canvas.marker(i, *p));
        } else if plot.series.len() > 1 {
            spaced(&points, i).for_each(|p| canvas.marker(i, p));
        }
    }
    Some(canvas.finish(&plot.title, &plot.description, bottom + 36.0 + MARGIN))
}

/// Draws the names of the series from `top` down, if there are several; where that ends.
fn legend(series: &[Series], canvas: &mut Canvas, top: f64) -> f64 {
    if series.len() < 2 {
        return top;
    }
    let (mut x, mut y) = (MARGIN, top);
    for (i, series) in series.iter().enumerate() {
        let name = clipped(&series.name, WIDTH - 2.0 * MARGIN - SAMPLE);
        let width = SAMPLE + width_of(&name) + 12.0;
        if x > MARGIN && x + width > WIDTH - MARGIN {
            (x, y) = (MARGIN, y + LINE_HEIGHT);
        }
        let (colour, dashes) = (colours::colour(i), DASHES[i % DASHES.len()]);
        if series.draw != Draw::Points {
            canvas.curve(&path(&[(x, y + 8.0), (x + SAMPLE - 6.0, y + 8.0)], false), colour, dashes);
        }
        canvas.marker(i, (x + (SAMPLE - 6.0) / 2.0, y + 8.0));
        canvas.text((x + SAMPLE, y + 12.0), Anchor::Start, &name);
        x += width;
    }
    y + LINE_HEIGHT
}

/// Some of many points, so far apart that their markers do not run into each other. Points ascend. Series begin at places of
/// their own, so that the markers of curves on one another are all seen.
fn spaced(points: &[(f64, f64)], series: usize) -> impl Iterator<Item = (f64, f64)> {
    let first = points.first().map_or(0.0, |(x, _)| *x);
    let mut next = first + MARKERS_APART * (series % PHASES) as f64 / PHASES as f64;
    points.iter().copied().filter(move |(x, _)| {
        let far = *x >= next;
        next = if far { *x + MARKERS_APART } else { next };
        far
    })
}

/// Gaps so many times as wide as most of a series interrupt its curve: nothing was measured there, so nothing is drawn.
const GAP: f64 = 8.0;

/// The pieces of a series without gaps; its points ascend.
fn runs(points: &[(f64, f64)]) -> Vec<&[(f64, f64)]> {
    let mut widths: Vec<f64> = points.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    widths.sort_unstable_by(f64::total_cmp);
    let widest = widths.get(widths.len() / 2).map_or(f64::MAX, |middle| GAP * middle);
    points.chunk_by(|a, b| b.0 - a.0 <= widest).collect()
}

/// The way through the points.
fn path(points: &[(f64, f64)], steps: bool) -> String {
    let mut path = String::new();
    for (i, &(x, y)) in points.iter().enumerate() {
        let (x, y) = (Units(x), Units(y));
        // Writing to a string cannot fail.
        let _ = match (i, steps) {
            (0, _) => write!(path, "M{x} {y}"),
            (_, true) => write!(path, "H{x}V{y}"),
            (_, false) => write!(path, "L{x} {y}"),
        };
    }
    path
}
