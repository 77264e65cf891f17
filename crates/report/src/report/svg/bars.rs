//! Bars: one beneath the other, each with its label before it and its value behind.

use super::axis::Ruler;
use super::{Anchor, Axis, COLOURS, Canvas, LINE_HEIGHT, MARGIN, Numbers, Picture, WIDTH, clipped, drawable, width_of};

/// Most bars of a picture: more is a table.
const MOST_BARS: usize = 64;
/// Room from one bar to the next, and height of a bar, in units.
const ROW: f64 = 22.0;
const HEIGHT: f64 = 15.0;
/// Most room of the labels, in units; what is longer is clipped and stands whole among the numbers.
const LABELS: f64 = 180.0;

/// A bar.
pub(in crate::report) struct Bar {
    /// What it is.
    pub label: String,
    /// How long it is; not below zero.
    pub value: f64,
    /// Which series it is of: those of one series have one colour.
    pub series: usize,
}

/// A picture of bars.
pub(in crate::report) struct Bars {
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

impl Bars {
    /// The picture, if the values can be drawn.
    pub fn picture(&self) -> Option<Picture> {
        let values = || self.bars.iter().map(|b| b.value);
        if self.bars.is_empty() || self.bars.len() > MOST_BARS || !values().all(|v| drawable(v) && v >= 0.0) {
            return None;
        }
        let labels = self.bars.iter().map(|b| width_of(&b.label)).fold(0.0, f64::max).min(LABELS);
        let shown = values().map(|v| width_of(&self.axis.measure.show(v))).fold(0.0, f64::max);
        let (left, right) = (MARGIN + labels + 6.0, WIDTH - MARGIN - shown - 6.0);
        let (top, bottom) = (MARGIN + LINE_HEIGHT + 8.0, MARGIN + LINE_HEIGHT + 8.0 + ROW * self.bars.len() as f64);
        let axis = Axis { label: String::new(), log2: false, ..self.axis };
        let ruler = Ruler::new(&axis, values().chain([0.0]), 4, false, (left, right))?;
        let mut canvas = Canvas::default();
        canvas.heading(&self.title);
        for tick in &ruler.ticks {
            let place = ruler.place(*tick);
            canvas.line("grid", (place, top), (place, bottom + 4.0));
            canvas.text((place, bottom + 18.0), Anchor::Middle, &self.axis.measure.show(*tick));
        }
        for (i, bar) in self.bars.iter().enumerate() {
            let y = top + ROW * i as f64 + (ROW - HEIGHT) / 2.0;
            let end = ruler.place(bar.value);
            canvas.text((left - 6.0, y + 12.0), Anchor::End, &clipped(&bar.label, LABELS));
            canvas.rect((left, y), (end - left, HEIGHT), COLOURS[bar.series % COLOURS.len()], "");
            canvas.text((end + 5.0, y + 12.0), Anchor::Start, &self.axis.measure.show(bar.value));
        }
        canvas.line("axis", (left, top), (left, bottom + 4.0));
        canvas.text((WIDTH - MARGIN, bottom + 36.0), Anchor::End, &clipped(&self.axis.label, WIDTH - 2.0 * MARGIN));
        Some(canvas.finish(&self.title, &self.description, bottom + 36.0 + MARGIN))
    }

    /// The bars as a table.
    pub fn numbers(&self) -> Numbers {
        Numbers {
            head: vec![self.labels.clone(), self.axis.label.clone()],
            rows: self.bars.iter().map(|b| vec![b.label.clone(), self.axis.measure.show(b.value)]).collect(),
        }
    }
}
