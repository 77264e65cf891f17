//! The parts of drawings with boxes: frames, wires with heads, and lines of text whose words have hints of their own.

use super::{Anchor, CHARACTER, Canvas, Units, clipped};

/// Estimated width of a character of 11 units, in units: on the wide side, as [`CHARACTER`].
pub(in crate::report) const SMALL_CHARACTER: f64 = 6.4;
/// Between the words of a line.
const BETWEEN: &str = " · ";
/// Length and half the width of the head of a wire, in units.
const HEAD: (f64, f64) = (7.0, 3.5);

/// A few words, with what is shown where the pointer rests on them.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::report) struct Label {
    /// What is read.
    pub text: String,
    /// All that is known of it; nothing is shown if it is empty.
    pub hint: String,
}

impl Label {
    /// Words without a hint.
    pub fn plain(text: impl Into<String>) -> Self {
        Label { text: text.into(), hint: String::new() }
    }
}

/// How a line of text is set.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::report) enum Hand {
    /// The name of something.
    Bold,
    /// Its particulars.
    Small,
    /// As [`Hand::Small`], in less ink.
    Quiet,
    /// An instruction.
    Code,
}

impl Hand {
    const fn class(self) -> &'static str {
        match self {
            Hand::Bold => "heading",
            Hand::Small => "small",
            Hand::Quiet => "small quiet",
            Hand::Code => "small code",
        }
    }

    /// Estimated width of a character, in units.
    const fn character(self) -> f64 {
        match self {
            Hand::Bold => CHARACTER,
            _ => SMALL_CHARACTER,
        }
    }
}

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::report) struct Area {
    /// Left edge, in units.
    pub x: f64,
    /// Upper edge, in units.
    pub y: f64,
    /// Width, in units.
    pub width: f64,
    /// Height, in units.
    pub height: f64,
}

impl Area {
    /// Right edge, in units.
    pub fn right(self) -> f64 {
        self.x + self.width
    }

    /// Lower edge, in units.
    pub fn bottom(self) -> f64 {
        self.y + self.height
    }
}

/// Estimated width of labels on one line, in units.
pub(in crate::report) fn line_width(labels: &[Label], hand: Hand) -> f64 {
    let characters: usize = labels.iter().map(|label| label.text.chars().count()).sum();
    (characters + BETWEEN.chars().count() * labels.len().saturating_sub(1)) as f64 * hand.character()
}

/// The labels in lines of this width; one that is wider stands alone.
pub(in crate::report) fn in_lines(labels: &[Label], hand: Hand, width: f64) -> Vec<Vec<Label>> {
    let mut lines: Vec<Vec<Label>> = Vec::new();
    for label in labels {
        match lines.last_mut() {
            Some(line) if line_width(&[line.as_slice(), std::slice::from_ref(label)].concat(), hand) <= width => {
                line.push(label.clone());
            }
            _ => lines.push(vec![label.clone()]),
        }
    }
    lines
}

impl Canvas {
    /// A frame in this colour with a breath of it inside. `of` names what it frames, for those who read the file.
    pub(in crate::report) fn frame(&mut self, area: Area, colour: &str, class: &str, of: &str) {
        self.area(area, class, of, "4", colour);
    }

    /// A card in the paper's colour, which hides what lies behind it.
    pub(in crate::report) fn card(&mut self, area: Area, of: &str) {
        self.area(area, "card", of, "6", "");
    }

    fn area(&mut self, area: Area, class: &str, of: &str, corner: &str, colour: &str) {
        let (x, y, width, height) = (Units(area.x), Units(area.y), Units(area.width), Units(area.height));
        self.shape(
            "rect",
            &[
                ("class", &class),
                ("data-of", &of),
                ("x", &x),
                ("y", &y),
                ("width", &width),
                ("height", &height),
                ("rx", &corner),
                ("fill", &colour),
                ("stroke", &colour),
            ],
        );
    }

    /// A line of labels, each with its hint, that takes no more than `width` units.
    pub(in crate::report) fn labels(
        &mut self,
        (x, y): (f64, f64),
        anchor: Anchor,
        hand: Hand,
        labels: &[Label],
        width: f64,
    ) {
        let (x, y) = (Units(x), Units(y));
        self.open("text", &[("class", &hand.class()), ("x", &x), ("y", &y), ("text-anchor", &anchor.name())]);
        for (i, label) in labels.iter().enumerate() {
            self.words(if i > 0 { BETWEEN } else { "" });
            // An estimate in characters of 12 units serves any hand by its share.
            let text = clipped(&label.text, width * CHARACTER / hand.character());
            if label.hint.is_empty() {
                self.words(&text);
            } else {
                self.open("tspan", &[]);
                self.words(&text);
                self.open("title", &[]);
                self.words(&label.hint);
                self.close("title");
                self.close("tspan");
            }
        }
        self.close("text");
        self.new_line();
    }

    /// A wire through these points, which ends in a head if it leads somewhere. `class` may say more of its look.
    pub(in crate::report) fn wire(&mut self, points: &[(f64, f64)], class: &str, head: bool) {
        if points.is_empty() {
            return;
        }
        self.shape("path", &[("class", &format_args!("wire{class}")), ("d", &way(points, ""))]);
        let (&[.., before, (x, y)], true) = (points, head) else { return };
        // Wires are level or upright, so one of these is zero.
        let (dx, dy) =
            ((x - before.0).signum() * f64::from(x != before.0), (y - before.1).signum() * f64::from(y != before.1));
        let corner = |side: f64| (x - dx * HEAD.0 - dy * side, y - dy * HEAD.0 - dx * side);
        let corners = [(x, y), corner(HEAD.1), corner(-HEAD.1)];
        self.shape("path", &[("class", &"head"), ("d", &way(&corners, "Z"))]);
    }
}

/// Straight lines through these points, as a path has them.
fn way(points: &[(f64, f64)], end: &str) -> String {
    let points: Vec<String> = points.iter().map(|&(x, y)| format!("{} {}", Units(x), Units(y))).collect();
    format!("M{}{end}", points.join("L"))
}
