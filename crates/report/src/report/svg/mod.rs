//! Plain pictures as SVG: curves, bars and tiles, drawn by a few lines of our own.
//!
//! What cannot be drawn truly (nothing at all, a number that is not finite, more marks than a picture can show) gives no
//! picture. All text is escaped here, so that a caller may hand in what a recording holds.

mod axis;
mod bars;
mod boxes;
mod lines;
#[cfg(test)]
mod tests;
mod tiles;

use std::fmt::{self, Write};

pub(super) use axis::{Axis, Measure};
pub(super) use bars::{Bar, Bars};
pub(super) use boxes::{Area, Hand, Label, in_lines, line_width};
pub(super) use lines::{Lines, Mark, Series};
pub(super) use tiles::{Tile, TileGroup, TileRow, Tiles};

use super::words::printable;

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

/// Colours that people tell apart however they see colours: Okabe and Ito, "Color Universal Design" (2008), without their
/// yellow, which white paper swallows, and black, which is the ink.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"];
/// Of each colour whether white text stands better on it than black.
const WHITE_ON: [bool; 6] = [true, false, false, false, false, false];

/// What a picture wears.
const STYLE: &str = include_str!("../templates/picture.css");

/// The style of pictures for a page that holds several.
pub(super) const fn style() -> &'static str {
    STYLE
}

/// The colours of series as properties `--series-0`… of a page, for what its script draws.
pub(super) fn colours() -> String {
    let properties = COLOURS.iter().enumerate().map(|(i, colour)| format!("--series-{i}: {colour}; "));
    format!(":root {{ {}}}\n", properties.collect::<String>())
}

/// A finished picture.
pub(super) struct Picture {
    title: String,
    description: String,
    body: String,
    height: f64,
}

impl Picture {
    /// The title, as it was given.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// One sentence for those who cannot see it, as it was given.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// For a page that has the [`style`].
    pub fn inline(&self) -> String {
        self.document("")
    }

    /// As a file of its own, on paper of its own.
    pub fn alone(&self) -> String {
        let paper = format!("<style>{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
        self.document(&paper)
    }

    fn document(&self, first: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"strata-picture\" role=\"img\" viewBox=\"0 0 {WIDTH} {}\">\n\
             <title>{}</title>\n<desc>{}</desc>\n{first}{}</svg>\n",
            Units(self.height),
            escaped(&self.title),
            escaped(&self.description),
            self.body
        )
    }
}

/// The numbers of a picture, for those who want them or cannot see it.
pub(super) struct Numbers {
    /// Headings of the columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

/// Text as XML and HTML take it, within elements and within quoted attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
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

/// Where a text stands relative to its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// The shapes of a picture as they are drawn.
#[derive(Default)]
pub(super) struct Canvas {
    body: String,
}

// Writing to a string cannot fail, so the results are dropped here and nowhere else.
impl Canvas {
    fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let (x1, y1, x2, y2) = (Units(x1), Units(y1), Units(x2), Units(y2));
        let _ = writeln!(self.body, "<path class=\"{class}\" fill=\"none\" d=\"M{x1} {y1}L{x2} {y2}\"/>");
    }

    fn curve(&mut self, path: &str, colour: &str, dashes: &str) {
        let dashes = if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") };
        let _ = writeln!(
            self.body,
            "<path fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-linejoin=\"round\"{dashes} d=\"{path}\"/>"
        );
    }

    fn dot(&mut self, (x, y): (f64, f64), colour: &str) {
        let _ = writeln!(self.body, "<circle cx=\"{}\" cy=\"{}\" r=\"2.5\" fill=\"{colour}\"/>", Units(x), Units(y));
    }

    /// A rectangle; `hint`, if it says anything, is shown where the pointer rests on it.
    fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), colour: &str, hint: &str) {
        let (x, y, width, height) = (Units(x), Units(y), Units(width), Units(height));
        let shape =
            format!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"2\" fill=\"{colour}\"");
        let _ = if hint.is_empty() {
            writeln!(self.body, "{shape}/>")
        } else {
            writeln!(self.body, "{shape}><title>{}</title></rect>", escaped(hint))
        };
    }

    fn text(&mut self, at: (f64, f64), anchor: Anchor, text: &str) {
        self.styled_text(at, anchor, "", text);
    }

    /// Text with further attributes, which are not escaped.
    fn styled_text(&mut self, (x, y): (f64, f64), anchor: Anchor, attributes: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y) = (Units(x), Units(y));
        let _ = writeln!(self.body, "<text x=\"{x}\" y=\"{y}\"{anchor}{attributes}>{}</text>", escaped(text));
    }

    /// The title, at the top.
    pub fn heading(&mut self, title: &str) {
        let title = clipped(title, WIDTH - 2.0 * MARGIN);
        self.styled_text((MARGIN, MARGIN + 10.0), Anchor::Start, " class=\"heading\"", &title);
    }

    /// The picture of all that was drawn, `height` units high.
    pub fn finish(self, title: &str, description: &str, height: f64) -> Picture {
        Picture { title: title.to_owned(), description: description.to_owned(), body: self.body, height }
    }
}
