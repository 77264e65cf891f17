//! The width of a text, and whether it may have bold and dim letters.

use anstyle::Style;
use textwrap::Options;
use textwrap::WordSplitter::NoHyphenation;

use super::words::printable;

/// Narrowest text, in columns.
const NARROWEST: usize = 40;
/// Widest text, in columns: lines that are longer cannot be followed.
const WIDEST: usize = 160;

/// How much of a result a text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// What one reads at a terminal: the table and about a screen below it.
    Short,
    /// The same with all intervals, methods, reasons and figures.
    Details,
}

/// What a text is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    width: usize,
    styled: bool,
}

impl Terminal {
    /// A file or a pipe: 80 columns of plain letters, so that the same result gives the same text everywhere.
    pub const PAPER: Terminal = Terminal { width: 80, styled: false };

    /// A terminal of this many columns, of which a text uses 40 to 160; `styled` if it may have bold and dim letters.
    pub fn new(columns: usize, styled: bool) -> Self {
        Terminal { width: columns.clamp(NARROWEST, WIDEST), styled }
    }

    /// Columns that a text keeps to.
    pub fn width(&self) -> usize {
        self.width
    }

    /// A line that is no longer than the width, as a heading.
    pub(super) fn heading(&self, line: &str) -> String {
        self.in_style(line, Style::new().bold())
    }

    /// Breaks a line so that it keeps to the width.
    pub(super) fn wrapped(&self, line: &str, first: &str, rest: &str) -> String {
        self.folded(line, "", Style::new(), first, rest)
    }

    /// As [`Terminal::wrapped`], as a heading.
    pub(super) fn wrapped_heading(&self, line: &str, rest: &str) -> String {
        self.folded("", line, Style::new().bold(), "", rest)
    }

    /// Lines under a title; nothing, if there are none.
    pub(super) fn section(&self, out: &mut String, title: &str, lines: &[String]) {
        self.titled(out, title, lines.iter().map(|line| self.wrapped(line, "  ", "    ")));
    }

    /// Reasons, each after what it is the reason for, under a title; nothing, if there are none.
    pub(super) fn reasons(&self, out: &mut String, title: &str, lines: &[(String, String)]) {
        let reason = |(what, reason): &(String, String)| {
            self.folded(&format!("{what}:"), reason, Style::new().dimmed(), "  ", "    ")
        };
        self.titled(out, title, lines.iter().map(reason));
    }

    fn titled(&self, out: &mut String, title: &str, lines: impl ExactSizeIterator<Item = String>) {
        if lines.len() > 0 {
            out.push('\n');
            out.push_str(&self.wrapped_heading(title, "  "));
            out.extend(lines);
        }
    }

    fn in_style(&self, text: &str, style: Style) -> String {
        if self.styled && style != Style::new() && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// Breaks a text, of which the second part has a style, at blanks (a terminal is told nothing by what a name holds besides),
    /// and within a word only where the word is wider than a line.
    fn folded(&self, plain: &str, styled: &str, style: Style, first: &str, rest: &str) -> String {
        let options = Options::new(self.width).initial_indent(first).subsequent_indent(rest);
        let one_line = |text: &str| printable(text).split_whitespace().collect::<Vec<_>>().join(" ");
        let mut whole = one_line(plain);
        if !whole.is_empty() && !styled.is_empty() {
            whole.push(' ');
        }
        let plain = whole.len();
        whole.push_str(&one_line(styled));
        let mut left = whole.as_str();
        let mut out = String::new();
        for (i, line) in textwrap::wrap(&whole, options.word_splitter(NoHyphenation)).iter().enumerate() {
            let indent = if i == 0 { first } else { rest };
            let words = line.strip_prefix(indent).unwrap_or_default();
            left = left.trim_start_matches(' ');
            let still_plain = plain.saturating_sub(whole.len() - left.len()).min(words.len());
            left = left.strip_prefix(words).unwrap_or_default();
            let (words, rest) = words.split_at(still_plain);
            out.extend([indent, words, &self.in_style(rest, style), "\n"]);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_to_the_width() {
        let long = "word ".repeat(60);
        for width in [40, 80, 160] {
            let terminal = Terminal::new(width, false);
            let text = terminal.wrapped(&long, "  ", "    ");
            assert!(text.lines().all(|l| l.chars().count() <= width));
            assert_eq!(text.split_whitespace().count(), 60);
            assert!(text.starts_with("  word") && text.lines().nth(1).unwrap().starts_with("    word"));
            let unbroken = terminal.wrapped(&"x".repeat(500), "", "  ");
            assert!(unbroken.lines().all(|l| l.chars().count() <= width), "{unbroken}");
            assert_eq!(unbroken.matches('x').count(), 500);
        }
    }

    #[test]
    fn a_terminal_of_any_size_has_a_sane_width() {
        assert_eq!(
            [0, 39, 40, 100, 160, 9999].map(|columns| Terminal::new(columns, false).width()),
            [40, 40, 40, 100, 160, 160]
        );
    }

    #[test]
    fn letters_have_styles_only_where_that_is_wanted() {
        let lines = [("l1 size".to_owned(), "nothing was measured of it ".repeat(2))];
        let mut plain = String::new();
        Terminal::new(40, false).reasons(&mut plain, "Unknown", &lines);
        assert_eq!(plain, "\nUnknown\n  l1 size: nothing was measured of it\n    nothing was measured of it\n");
        let mut styled = String::new();
        Terminal::new(40, true).reasons(&mut styled, "Unknown", &lines);
        assert_eq!(
            styled,
            "\n\u{1b}[1mUnknown\u{1b}[0m\n  l1 size: \u{1b}[2mnothing was measured of it\u{1b}[0m\n    \
             \u{1b}[2mnothing was measured of it\u{1b}[0m\n"
        );
    }
}
