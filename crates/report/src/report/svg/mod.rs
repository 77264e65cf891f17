//! Pictures of plots as SVG: curves, bars and tiles.
//!
//! What cannot be drawn truly (nothing at all, a number that is not finite, more marks than a picture can show) gives no
//! picture. All text is escaped where it is written, so that a caller may hand in what a recording holds.

mod axis;
mod bars;
mod boxes;
mod canvas;
mod colours;
mod lines;
mod look;
mod marker;
mod notes;
#[cfg(test)]
mod tests;
mod tiles;

use std::fmt;

pub(super) use boxes::{Area, Hand, Label, in_lines, line_width};
pub(super) use canvas::{Anchor, Canvas, Picture};
pub(super) use colours::{COLOURS, GREY, heat};

use super::plot::Plot;

/// Width of a picture, in its own units. Narrow, so that its text stays readable on a telephone.
pub(super) const WIDTH: f64 = 440.0;
/// Room at the edges, in units.
pub(super) const MARGIN: f64 = 12.0;
/// Height of a line of text of 12 units, in units.
const LINE_HEIGHT: f64 = 16.0;
/// Estimated width of a character of 12 units, in units. Fonts differ and none is at hand, so it is on the wide side.
const CHARACTER: f64 = 7.0;
/// Most points, bars or tiles of a picture; beyond it the file grows and nothing more is seen.
const MOST_MARKS: usize = 4096;
/// Largest magnitude that is drawn: beyond any count of bytes, and far from where sums of floats overflow.
const LARGEST: f64 = 1e18;

/// What a page says of its pictures: the colours of its theme.
const STYLE: &str = include_str!("../templates/picture.css");

/// The style of the pictures of a page.
pub(super) fn style() -> String {
    [colours::style().as_str(), STYLE].concat()
}

/// The picture of a plot, if it can be drawn; a heat map is for a page with a script alone.
pub(super) fn picture(plot: &Plot) -> Option<Picture> {
    match plot {
        Plot::Curves(curves) => lines::picture(curves),
        Plot::Heat(_) => None,
        Plot::Bars(bars) => bars::picture(bars),
        Plot::Tiles(tiles) => tiles::picture(tiles),
    }
}

/// Text that takes no more than `width` units, by the estimate.
fn clipped(text: &str, width: f64) -> String {
    let most = (width / CHARACTER).max(1.0) as usize;
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// Estimated width of a text, in units.
fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * CHARACTER
}

/// Whether a number can be drawn.
fn drawable(x: f64) -> bool {
    x.is_finite() && x.abs() <= LARGEST
}

/// A coordinate, to a tenth of a unit: finer is not seen.
struct Units(f64);

impl fmt::Display for Units {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() / 10.0;
        // Minus zero would be written with its sign.
        write!(f, "{}", if tenths == 0.0 { 0.0 } else { tenths })
    }
}
