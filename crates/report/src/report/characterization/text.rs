//! The report for a terminal: each part in short, then its tables and the details, if they are asked for.

use std::borrow::Cow;

use textwrap::Options;
use textwrap::WordSplitter::NoHyphenation;

use super::figure::{Grid, compact, heading, place};
use super::{detail, findings, unanswered};
use crate::report::surroundings;
use crate::report::terminal::{Extent, Terminal};
use crate::report::text::{MORE, beginning, by_reason};
use crate::report::words::{self, printable};
use strata_model::characterization::{Characterization, Figure, Part, PartName, Point};

/// Widest name of a line before it is broken.
const LABEL: usize = 24;
/// Widest name of a place before it is broken.
const PLACE: usize = 12;
/// What stands before a table.
const INDENT: &str = "  ";

/// Sentences of a part that a short text has: the first says what the pattern costs.
const FEW_SENTENCES: usize = 1;

/// The report, for a terminal or for paper.
pub fn text(answer: &Characterization, terminal: &Terminal, extent: Extent) -> String {
    let head = words::head(&answer.device, &answer.run, answer.replayed_from.as_deref());
    let mut out = beginning(&head, terminal);
    terminal.section(&mut out, "Warnings", &answer.run.warnings);
    for (name, part) in &answer.parts {
        in_short(&mut out, *name, part, terminal);
    }
    out.push('\n');
    match extent {
        Extent::Short => out.push_str(&terminal.wrapped(MORE, "", "")),
        Extent::Details => {
            out.push_str(&terminal.wrapped_heading("Details", ""));
            details(&mut out, answer, terminal);
        }
    }
    out
}

/// A part as its pattern, what it costs here, and what one does about it.
fn in_short(out: &mut String, name: PartName, part: &Part, terminal: &Terminal) {
    let cost = part.meaning.iter().take(FEW_SENTENCES).cloned();
    let reason = unanswered(part).map(|reason| format!("Not answered: {reason}"));
    let advice = (!part.meaning.is_empty()).then(|| format!("{ADVICE} {}", name.advice()));
    let lines: Vec<String> = cost.chain(reason).chain(advice).collect();
    terminal.section(out, &format!("{} ({})", name.title(), name.key()), &lines);
}

/// Stands before what one does about a pattern.
const ADVICE: &str = "Advice:";

/// All figures, intervals and reasons.
fn details(out: &mut String, answer: &Characterization, terminal: &Terminal) {
    for (name, part) in &answer.parts {
        chapter(out, *name, part, terminal);
    }
    terminal.section(out, "Device, from the driver", &words::device(&answer.device));
    terminal.section(out, surroundings::TITLE, &surroundings::lines(&answer.run));
    let known = findings(answer).filter(|(.., finding)| finding.is_known());
    let known: Vec<String> = known
        .map(|(part, content, name, finding)| format!("{} {name}: {}", part.key(), detail(content, name, finding)))
        .collect();
    terminal.section(out, "Intervals and sources", &known);
    let unknown = findings(answer).filter(|(.., finding)| !finding.is_known());
    let unknown = unknown.map(|(part, _, name, finding)| (format!("{} {name}", part.key()), words::reason(finding)));
    terminal.reasons(out, "Unknown", &by_reason(unknown));
}

fn chapter(out: &mut String, name: PartName, part: &Part, terminal: &Terminal) {
    let reason = unanswered(part).map(|reason| format!("Not answered: {reason}"));
    let lines: Vec<String> = [part.question.clone()].into_iter().chain(reason).collect();
    terminal.section(out, &format!("{} ({})", name.title(), name.key()), &lines);
    if !part.meaning.is_empty() {
        out.push('\n');
        part.meaning.iter().for_each(|sentence| out.push_str(&terminal.wrapped(sentence, INDENT, INDENT)));
    }
    for figure in &part.figures {
        out.push('\n');
        out.push_str(&terminal.wrapped(&format!("{}: {}", figure.title, heading(&figure.y)), INDENT, "    "));
        let grid = Grid::of(figure);
        out.push_str(&table(figure, &grid, terminal.width()));
        grid.missing().iter().for_each(|line| out.push_str(&terminal.wrapped(&format!("- {line}"), INDENT, "    ")));
    }
}

/// A column, or the labels before all columns: its heading, and what stands below it, each in as many lines as it takes.
struct Column {
    cells: Vec<Vec<String>>,
}

impl Column {
    fn width(&self) -> usize {
        self.cells.iter().flatten().map(|line| line.chars().count()).max().unwrap_or(0)
    }
}

/// The numbers of a figure, in as many blocks side by side below each other as the width asks for.
fn table(figure: &Figure, grid: &Grid<'_>, most_columns: usize) -> String {
    let labels = grid.rows.iter().map(|(line, _)| line.label.clone());
    let labels =
        Column { cells: [heading(&figure.x)].into_iter().chain(labels).map(|label| folded(&label, LABEL)).collect() };
    let columns: Vec<Column> = grid.places.iter().enumerate().map(|(i, x)| column(figure, grid, i, *x)).collect();
    let fits = |block: &[Column]| {
        let width = INDENT.len() + labels.width() + block.iter().map(|c| 2 + c.width()).sum::<usize>();
        width <= most_columns || block.len() == 1
    };
    // Blocks of the same number of columns, as few as fit.
    let most = (1..=columns.len()).rev().find(|most| columns.chunks(*most).all(fits)).unwrap_or(1);
    let even = columns.len().div_ceil(columns.len().div_ceil(most).max(1)).max(1);
    let blocks: Vec<String> = columns.chunks(even).map(|columns| block(&labels, columns)).collect();
    blocks.join("\n")
}

fn column(figure: &Figure, grid: &Grid<'_>, i: usize, x: f64) -> Column {
    let cell = |point: Option<&Point>| point.map_or("-".to_owned(), |p| compact(p.value));
    let cells = grid.rows.iter().map(|(_, points)| vec![cell(points[i])]);
    Column { cells: [folded(&place(&figure.x, x), PLACE)].into_iter().chain(cells).collect() }
}

/// The labels with some of the columns. A heading of several lines ends, a label of several begins beside its numbers.
fn block(labels: &Column, columns: &[Column]) -> String {
    let mut out = String::new();
    for row in 0..labels.cells.len() {
        let all = || [labels].into_iter().chain(columns);
        let height = all().map(|column| column.cells[row].len()).max().unwrap_or(0);
        for line in 0..height {
            let mut text = INDENT.to_owned();
            for (i, column) in all().enumerate() {
                let cell = &column.cells[row];
                let above = if row == 0 { height - cell.len() } else { 0 };
                let cell = line.checked_sub(above).and_then(|line| cell.get(line)).map_or("", String::as_str);
                let width = column.width();
                text.push_str(&if i == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") });
            }
            out.push_str(text.trim_end());
            out.push('\n');
        }
    }
    out
}

/// A text in lines of this width, broken at blanks, and within a word only where the word is wider.
fn folded(text: &str, width: usize) -> Vec<String> {
    let text = printable(text);
    let lines = textwrap::wrap(&text, Options::new(width).word_splitter(NoHyphenation));
    lines.into_iter().map(Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_folded_and_nothing_is_lost() {
        assert_eq!(folded("every 16 writes", 24), ["every 16 writes"]);
        assert_eq!(folded("every 16 writes", 8), ["every 16", "writes"]);
        assert_eq!(folded("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(folded("", 4), [""]);
    }
}
