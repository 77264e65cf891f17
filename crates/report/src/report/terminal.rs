//! What a text is written for: how wide it may be, and whether it may have bold and dim letters.

use anstyle::Style;

use super::words::printable;

/// Narrowest text, in columns.
const NARROWEST: usize = 40;
/// Widest text, in columns: lines that are longer cannot be followed.
const WIDEST: usize = 160;

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
        self.folded(&[(line, Style::new())], first, rest)
    }

    /// As [`Terminal::wrapped`], as a heading.
    pub(super) fn wrapped_heading(&self, line: &str, rest: &str) -> String {
        self.folded(&[(line, Style::new().bold())], "", rest)
    }

    /// Lines under a title; nothing, if there are none.
    pub(super) fn section(&self, out: &mut String, title: &str, lines: &[String]) {
        let lines: Vec<[(&str, Style); 1]> = lines.iter().map(|line| [(line.as_str(), Style::new())]).collect();
        self.titled(out, title, &lines);
    }

    /// Reasons, each after what it is the reason for, under a title; nothing, if there are none.
    pub(super) fn reasons(&self, out: &mut String, title: &str, lines: &[(String, String)]) {
        let all: Vec<String> = lines.iter().map(|(what, _)| format!("{what}:")).collect();
        let spans = all
            .iter()
            .zip(lines)
            .map(|(what, (_, reason))| [(what.as_str(), Style::new()), (reason.as_str(), Style::new().dimmed())]);
        self.titled(out, title, &spans.collect::<Vec<_>>());
    }

    fn titled<const N: usize>(&self, out: &mut String, title: &str, lines: &[[(&str, Style); N]]) {
        if lines.is_empty() {
            return;
        }
        out.push('\n');
        out.push_str(&self.wrapped_heading(title, "  "));
        for line in lines {
            out.push_str(&self.folded(line, "  ", "    "));
        }
    }

    fn in_style(&self, text: &str, style: Style) -> String {
        if self.styled && style != Style::new() && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// Breaks spans of text at blanks (a terminal is told nothing by what a name holds besides), and within a word only where
    /// the word is wider than a line.
    fn folded(&self, spans: &[(&str, Style)], first: &str, rest: &str) -> String {
        let indent = first.chars().count().max(rest.chars().count());
        let room = self.width.saturating_sub(indent).max(1);
        let mut out = first.to_owned();
        let mut column = first.chars().count();
        let mut empty = true;
        for (text, style) in spans {
            // Words of one style that stand on one line.
            let mut run = String::new();
            for word in printable(text).split_whitespace() {
                let letters: Vec<char> = word.chars().collect();
                for (i, piece) in letters.chunks(room).enumerate() {
                    if i > 0 || !empty && column + 1 + piece.len() > self.width {
                        out.push_str(&self.in_style(&std::mem::take(&mut run), *style));
                        out.push('\n');
                        out.push_str(rest);
                        column = rest.chars().count();
                        empty = true;
                    }
                    if !empty {
                        // A blank between spans is of neither.
                        if run.is_empty() {
                            out.push(' ')
                        } else {
                            run.push(' ')
                        }
                        column += 1;
                    }
                    run.extend(piece);
                    column += piece.len();
                    empty = false;
                }
            }
            out.push_str(&self.in_style(&run, *style));
        }
        out.push('\n');
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
