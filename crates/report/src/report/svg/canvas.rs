//! What pictures are drawn on: an SVG document in the making. Everything that is written goes through a writer of XML.

use std::fmt::Display;

use quick_xml::Writer;
use quick_xml::events::{BytesEnd, BytesStart, BytesText, Event};

use super::{LINE_HEIGHT, MARGIN, Units, WIDTH, clipped, look, width_of};
use crate::report::words::printable;

/// Where a text stands relative to its point.
#[derive(Clone, Copy)]
pub(in crate::report) enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

impl Anchor {
    /// As SVG has it; nothing, where it begins.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Anchor::Start => "",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// A finished picture.
pub(in crate::report) struct Picture {
    title: String,
    description: String,
    body: Vec<u8>,
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

    /// For a page, whose [`super::style`] gives it the colours of its theme.
    pub fn inline(&self) -> String {
        self.document(false)
    }

    /// Its height, in widths.
    pub fn ratio(&self) -> f64 {
        self.height / WIDTH
    }

    /// As a file of its own, on paper of its own.
    pub fn alone(&self) -> String {
        self.document(true)
    }

    fn document(&self, alone: bool) -> String {
        let mut page = Canvas::default();
        let height = Units(self.height);
        let whole = format!("0 0 {WIDTH} {height}");
        let mut attributes: Vec<(&'static str, &dyn Display)> = vec![
            ("xmlns", &"http://www.w3.org/2000/svg"),
            ("class", &"strata-picture"),
            ("role", &"img"),
            ("viewBox", &whole),
        ];
        // Where no page gives it room, it has its own.
        if alone {
            attributes.extend([("width", &WIDTH as &dyn Display), ("height", &height)]);
        }
        attributes.extend(look::WHOLE.iter().map(|(key, value)| (*key, value as &dyn Display)));
        page.open("svg", &attributes);
        page.new_line();
        page.line_of("title", &[], &self.title);
        page.line_of("desc", &[], &self.description);
        if alone {
            page.shape("rect", &[("class", &"paper"), ("width", &"100%"), ("height", &"100%")]);
        }
        page.out.get_mut().extend_from_slice(&self.body);
        page.close("svg");
        page.new_line();
        String::from_utf8_lossy(&page.out.into_inner()).into_owned()
    }
}

/// The attributes of an element; those without a value are left out. A class brings what it looks like.
type Attributes<'a> = &'a [(&'static str, &'a dyn Display)];

/// The shapes of a picture as they are drawn.
pub(in crate::report) struct Canvas {
    out: Writer<Vec<u8>>,
}

impl Default for Canvas {
    fn default() -> Self {
        Canvas { out: Writer::new(Vec::new()) }
    }
}

impl Canvas {
    fn write(&mut self, event: Event<'_>) {
        // Writing into memory cannot fail.
        let _ = self.out.write_event(event);
    }

    fn start(name: &'static str, attributes: Attributes<'_>) -> BytesStart<'static> {
        let mut start = BytesStart::new(name);
        let given = |key: &str| attributes.iter().any(|(other, value)| *other == key && !value.to_string().is_empty());
        for (key, value) in attributes {
            let value = printable(&value.to_string());
            if value.is_empty() {
                continue;
            }
            start.push_attribute((*key, value.as_str()));
            if *key == "class" {
                look::of(&value)
                    .into_iter()
                    .filter(|(plain, _)| !given(plain))
                    .for_each(|plain| start.push_attribute(plain));
            }
        }
        start
    }

    /// Opens an element that holds something.
    pub(super) fn open(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.write(Event::Start(Self::start(name, attributes)));
    }

    /// Closes it.
    pub(super) fn close(&mut self, name: &'static str) {
        self.write(Event::End(BytesEnd::new(name)));
    }

    /// Text within an element.
    pub(super) fn words(&mut self, text: &str) {
        self.write(Event::Text(BytesText::new(&printable(text))));
    }

    /// Ends a line of the file.
    pub(super) fn new_line(&mut self) {
        self.write(Event::Text(BytesText::from_escaped("\n")));
    }

    /// An element that holds nothing, on a line of its own.
    pub(super) fn shape(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.write(Event::Empty(Self::start(name, attributes)));
        self.new_line();
    }

    /// An element that holds text, on a line of its own.
    fn line_of(&mut self, name: &'static str, attributes: Attributes<'_>, text: &str) {
        self.open(name, attributes);
        self.words(text);
        self.close(name);
        self.new_line();
    }

    /// A straight line.
    pub(super) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let (x1, y1, x2, y2) = (Units(x1), Units(y1), Units(x2), Units(y2));
        self.shape("path", &[("class", &class), ("fill", &"none"), ("d", &format_args!("M{x1} {y1}L{x2} {y2}"))]);
    }

    /// A curve of this colour.
    pub(super) fn curve(&mut self, path: &str, colour: &str, dashes: &str) {
        self.shape(
            "path",
            &[
                ("fill", &"none"),
                ("stroke", &colour),
                ("stroke-width", &2),
                ("stroke-linejoin", &"round"),
                ("stroke-dasharray", &dashes),
                ("d", &path),
            ],
        );
    }

    /// A rectangle; `hint`, if it says anything, is shown where the pointer rests on it.
    pub(super) fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), colour: &str, hint: &str) {
        let (x, y, width, height) = (Units(x), Units(y), Units(width), Units(height));
        let attributes: Attributes<'_> =
            &[("x", &x), ("y", &y), ("width", &width), ("height", &height), ("rx", &2), ("fill", &colour)];
        if hint.is_empty() {
            return self.shape("rect", attributes);
        }
        self.open("rect", attributes);
        self.open("title", &[]);
        self.words(hint);
        self.close("title");
        self.close("rect");
        self.new_line();
    }

    /// Text.
    pub(super) fn text(&mut self, at: (f64, f64), anchor: Anchor, text: &str) {
        self.styled_text(at, anchor, &[], text);
    }

    /// Text with attributes more.
    pub(super) fn styled_text(&mut self, (x, y): (f64, f64), anchor: Anchor, more: Attributes<'_>, text: &str) {
        let (x, y) = (Units(x), Units(y));
        let own: Attributes<'_> = &[("x", &x), ("y", &y), ("text-anchor", &anchor.name())];
        self.line_of("text", &[own, more].concat(), text);
    }

    /// The title, at the top, on two lines if it is long; where it ends.
    pub fn heading(&mut self, title: &str) -> f64 {
        let width = WIDTH - 2.0 * MARGIN;
        let fits = |at: &usize| width_of(&title[..*at]) <= width;
        let spaces = title.match_indices(' ').map(|(at, _)| at);
        let (first, second) = match spaces.take_while(fits).last().filter(|_| width_of(title) > width) {
            Some(at) => (&title[..at], &title[at + 1..]),
            None => (title, ""),
        };
        let mut y = MARGIN;
        for line in [first, second].into_iter().filter(|line| !line.is_empty()) {
            self.styled_text((MARGIN, y + 10.0), Anchor::Start, &[("class", &"heading")], &clipped(line, width));
            y += LINE_HEIGHT;
        }
        y.max(MARGIN + LINE_HEIGHT)
    }

    /// The picture of all that was drawn, `height` units high.
    pub fn finish(self, title: &str, description: &str, height: f64) -> Picture {
        let body = self.out.into_inner();
        Picture { title: title.to_owned(), description: description.to_owned(), body, height }
    }
}
