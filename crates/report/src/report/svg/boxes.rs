//! The parts of drawings with boxes: frames, wires with heads, and lines of text whose words have hints of their own.

use std::fmt::Write;

use super::{Anchor, CHARACTER, Canvas, Units, clipped, escaped};

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

// Writing to a string cannot fail, so the results are dropped.
impl Canvas {
    /// A frame in this colour with a breath of it inside. `of` names what it frames, for those who read the file.
    pub(in crate::report) fn frame(&mut self, area: Area, colour: &str, class: &str, of: &str) {
        let _ = writeln!(
            self.body,
            "<rect class=\"{class}\" data-of=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" \
             fill=\"{colour}\" stroke=\"{colour}\"/>",
            escaped(of),
            Units(area.x),
            Units(area.y),
            Units(area.width),
            Units(area.height)
        );
    }

    /// A card in the paper's colour, which hides what lies behind it.
    pub(in crate::report) fn card(&mut self, area: Area, of: &str) {
        let _ = writeln!(
            self.body,
            "<rect class=\"card\" data-of=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"6\"/>",
            escaped(of),
            Units(area.x),
            Units(area.y),
            Units(area.width),
            Units(area.height)
        );
    }

    /// A line of labels, each with its hint, that takes no more than `width` units.
    pub(in crate::report) fn labels(
        &mut self,
        at: (f64, f64),
        anchor: Anchor,
        hand: Hand,
        labels: &[Label],
        width: f64,
    ) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let _ =
            write!(self.body, "<text class=\"{}\" x=\"{}\" y=\"{}\"{anchor}>", hand.class(), Units(at.0), Units(at.1));
        for (i, label) in labels.iter().enumerate() {
            let between = if i > 0 { BETWEEN } else { "" };
            // An estimate in characters of 12 units serves any hand by its share.
            let text = escaped(&clipped(&label.text, width * CHARACTER / hand.character()));
            let _ = match label.hint.as_str() {
                "" => write!(self.body, "{between}{text}"),
                hint => write!(self.body, "{between}<tspan>{text}<title>{}</title></tspan>", escaped(hint)),
            };
        }
        self.body.push_str("</text>\n");
    }

    /// A wire through these points, which ends in a head if it leads somewhere. `class` may say more of its look.
    pub(in crate::report) fn wire(&mut self, points: &[(f64, f64)], class: &str, head: bool) {
        let Some((&first, rest)) = points.split_first() else { return };
        let mut path = format!("M{} {}", Units(first.0), Units(first.1));
        for &(x, y) in rest {
            let _ = write!(path, "L{} {}", Units(x), Units(y));
        }
        let _ = writeln!(self.body, "<path class=\"wire{class}\" d=\"{path}\"/>");
        let (Some(&(x, y)), true) = (rest.last(), head) else { return };
        let before = points[points.len() - 2];
        // Wires are level or upright, so one of these is zero.
        let (dx, dy) =
            ((x - before.0).signum() * f64::from(x != before.0), (y - before.1).signum() * f64::from(y != before.1));
        let corner = |side: f64| (x - dx * HEAD.0 - dy * side, y - dy * HEAD.0 - dx * side);
        let ((ax, ay), (bx, by)) = (corner(HEAD.1), corner(-HEAD.1));
        let _ = writeln!(
            self.body,
            "<path class=\"head\" d=\"M{} {}L{} {}L{} {}Z\"/>",
            Units(x),
            Units(y),
            Units(ax),
            Units(ay),
            Units(bx),
            Units(by)
        );
    }
}
