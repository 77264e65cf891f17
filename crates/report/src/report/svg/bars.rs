//! Bars: one beneath the other, each with its label before it and its value behind.

use super::axis::Ruler;
use super::{Anchor, Canvas, MARGIN, Picture, WIDTH, clipped, colours, drawable, width_of};
use crate::report::plot::{Axis, Bars};

/// Most bars of a picture: more is a table.
const MOST_BARS: usize = 64;
/// Room from one bar to the next, and height of a bar, in units.
const ROW: f64 = 22.0;
const HEIGHT: f64 = 15.0;
/// Most room of the labels, in units; what is longer is clipped and stands whole among the numbers.
const LABELS: f64 = 180.0;

/// The picture, if the values can be drawn.
pub(super) fn picture(plot: &Bars) -> Option<Picture> {
    let values = || plot.bars.iter().map(|b| b.value);
    if plot.bars.is_empty() || plot.bars.len() > MOST_BARS || !values().all(|v| drawable(v) && v >= 0.0) {
        return None;
    }
    let labels = plot.bars.iter().map(|b| width_of(&b.label)).fold(0.0, f64::max).min(LABELS);
    let shown = values().map(|v| width_of(&plot.axis.measure.show(v))).fold(0.0, f64::max);
    let (left, right) = (MARGIN + labels + 6.0, WIDTH - MARGIN - shown - 6.0);
    let axis = Axis { label: String::new(), log2: false, ..plot.axis };
    let ruler = Ruler::new(&axis, values().chain([0.0]), 4, false, (left, right))?;
    let mut canvas = Canvas::default();
    let top = canvas.heading(&plot.title) + 8.0;
    let bottom = top + ROW * plot.bars.len() as f64;
    for tick in &ruler.ticks {
        let place = ruler.place(*tick);
        canvas.line("grid", (place, top), (place, bottom + 4.0));
        canvas.text((place, bottom + 18.0), Anchor::Middle, &plot.axis.measure.show(*tick));
    }
    for (i, bar) in plot.bars.iter().enumerate() {
        let y = top + ROW * i as f64 + (ROW - HEIGHT) / 2.0;
        let end = ruler.place(bar.value);
        canvas.text((left - 6.0, y + 12.0), Anchor::End, &clipped(&bar.label, LABELS));
        canvas.rect((left, y), (end - left, HEIGHT), colours::colour(bar.series), "");
        canvas.text((end + 5.0, y + 12.0), Anchor::Start, &plot.axis.measure.show(bar.value));
    }
    canvas.line("axis", (left, top), (left, bottom + 4.0));
    canvas.text((WIDTH - MARGIN, bottom + 36.0), Anchor::End, &clipped(&plot.axis.label, WIDTH - 2.0 * MARGIN));
    Some(canvas.finish(&plot.title, &plot.description, bottom + 36.0 + MARGIN))
}
