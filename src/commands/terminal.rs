//! Whether standard output is a terminal, and how wide it is. Files and pipes get the width of paper.

use std::env;
use std::io::{self, IsTerminal};

use gpu_strata::{Terminal, printable};
use terminal_size::{Width, terminal_size_of};

/// Text that holds what a file says, for a terminal: lines without control characters, which could move the cursor, change colours
/// or reverse what is read.
pub fn safe(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// The width and style of texts on standard output.
pub fn of_stdout() -> Terminal {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return Terminal::PAPER;
    }
    let columns = terminal_size_of(&stdout).map(|(Width(columns), _)| usize::from(columns));
    let word = |name| env::var(name).ok();
    of_terminal(columns, word("COLUMNS").as_deref(), word("NO_COLOR").as_deref(), word("TERM").as_deref())
}

/// The terminal, from its number of columns (if known) and the environment variables of its user.
fn of_terminal(columns: Option<usize>, set: Option<&str>, no_color: Option<&str>, term: Option<&str>) -> Terminal {
    // Zero or a text that is not a number is ignored.
    let set = set.and_then(|text| text.trim().parse::<usize>().ok()).filter(|columns| *columns > 0);
    let columns = set.or(columns).unwrap_or(Terminal::PAPER.width());
    // By the convention of NO_COLOR, an empty value does not count.
    let styled = no_color.is_none_or(str::is_empty) && term != Some("dumb");
    Terminal::new(columns, styled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_lines() {
        assert_eq!(safe("a\u{1b}[31m\nb\u{202e}\n"), "a\u{fffd}[31m\nb\u{fffd}\n");
    }

    #[test]
    fn the_user_has_the_last_word_on_the_width() {
        let width = |columns, set| of_terminal(columns, set, None, None).width();
        assert_eq!(width(Some(100), None), 100);
        assert_eq!(width(Some(100), Some("120")), 120);
        assert_eq!([Some("0"), Some("wide"), Some("-3"), Some("")].map(|set| width(Some(100), set)), [100; 4]);
        assert_eq!([width(None, None), width(Some(7), None), width(Some(100), Some("99999"))], [80, 40, 160]);
    }

    #[test]
    fn letters_are_plain_where_that_was_asked_for() {
        let with = |no_color, term| of_terminal(Some(80), None, no_color, term);
        assert_eq!(with(None, Some("xterm")), Terminal::new(80, true));
        assert_eq!(with(Some(""), Some("xterm")), Terminal::new(80, true));
        assert_eq!(with(Some("1"), Some("xterm")), Terminal::PAPER);
        assert_eq!(with(None, Some("dumb")), Terminal::PAPER);
    }
}
