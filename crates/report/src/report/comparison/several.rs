//! Three or more results beside each other: a table with a column for each.

use std::fmt::Write;

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use minijinja::context;
use minijinja::value::Value;

use super::html::Frame;
use super::{restrictions, side, stated, tolerance};
use crate::compare::several::{Cell, FEWEST, Row};
use crate::compare::{Several, Stated};
use crate::report::markdown::plain;
use crate::report::small::trimmed;
use crate::report::terminal::Terminal;
use crate::report::words::{UNKNOWN, printable};

/// Stands after an outlier.
const OUTLIER: &str = " *";
/// Stands after an outlier on a page, which has room for a word: a colour alone is not seen by everyone.
const OUTLIER_ON_A_PAGE: &str = "▲ outlier";
/// How the rule of a page names that mark.
const TRIANGLE: &str = "▲";
/// Most columns for the name of a place, which would break within a word otherwise.
const PLACE: usize = 34;
/// Columns for a value and the gap before it, from which a text has fewer results in a block.
const COLUMN: usize = 15;

/// The results' letters: A to Z, then by number.
fn letter(i: usize) -> String {
    u8::try_from(i).ok().filter(|i| *i < 26).map_or_else(|| format!("#{}", i + 1), |i| char::from(b'A' + i).to_string())
}

fn head(answer: &Several) -> Vec<String> {
    let mut lines: Vec<String> = answer.sides.iter().enumerate().map(|(i, of)| side(&letter(i), of)).collect();
    lines.extend(restrictions(&answer.remarks, &answer.only, &answer.required));
    lines.push(rule(answer, "*"));
    lines.push(summary(answer));
    lines
}

/// When two numbers differ, and what the marks mean.
fn rule(answer: &Several, outlier: &str) -> String {
    let tolerance = tolerance(answer.tolerance_percent);
    // Of two results neither stands apart.
    let marks = match answer.sides.len() < FEWEST {
        true => String::new(),
        false => format!(
            " {outlier} marks an outlier: a value that differs from more than half of the others, of which there are two or more."
        ),
    };
    format!(
        "Two numbers differ if their intervals do not overlap{tolerance}. All pairs share a 5 % chance of a false difference.{marks} \
         {UNKNOWN} is unknown."
    )
}

fn summary(answer: &Several) -> String {
    let (mut differ, mut same, mut alone) = (0, 0, 0);
    for row in &answer.rows {
        let count = if row.differs() {
            &mut differ
        } else if row.pairs_compared > 0 {
            &mut same
        } else {
            &mut alone
        };
        *count += 1;
    }
    let verdict = if answer.same { "Nothing differs" } else { "The results differ" };
    format!("{verdict}: {differ} different, {same} the same, {alone} that cannot be compared.")
}

/// The groups of rows, with their titles.
fn groups(answer: &Several) -> [(&'static str, Vec<&Row>); 2] {
    let (differ, rest): (Vec<&Row>, Vec<&Row>) = answer.rows.iter().partition(|row| row.differs());
    [("Different", differ), ("The same", rest.into_iter().filter(|row| row.pairs_compared > 0).collect())]
}

fn cell(cell: &Cell, show: &dyn Fn(&Stated) -> String) -> String {
    let shown = cell.stated.as_ref().map_or(UNKNOWN.to_owned(), |known| printable(&show(known)));
    format!("{shown}{}", if cell.outlier { OUTLIER } else { "" })
}

/// Without its interval: a table has no place for it.
fn short(known: &Stated) -> String {
    match &known.value {
        Some(_) => stated(&Stated { low: None, high: None, ..known.clone() }),
        None => stated(known),
    }
}

/// The whole comparison for a terminal. Intervals are in the other formats.
pub fn text(answer: &Several, terminal: &Terminal) -> String {
    let mut out: String = head(answer).iter().map(|line| terminal.wrapped(line, "", "  ")).collect();
    let columns: Vec<usize> = (0..answer.sides.len()).collect();
    let longest = answer.rows.iter().map(|row| row.place.chars().count()).max().unwrap_or(0);
    let place = longest.min(PLACE).min(terminal.width() / 2);
    let most = (terminal.width().saturating_sub(place) / COLUMN).max(1);
    let width = |columns: usize| u16::try_from(columns).unwrap_or(u16::MAX);
    for (title, rows) in groups(answer).into_iter().filter(|(_, rows)| !rows.is_empty()) {
        out.push('\n');
        out.push_str(&terminal.wrapped_heading(title, "  "));
        for (i, block) in columns.chunks(most).enumerate() {
            out.push_str(if i > 0 { "\n" } else { "" });
            let mut table = Table::new();
            table.load_style(presets::NOTHING);
            table.set_content_arrangement(ContentArrangement::Dynamic);
            table.set_width(width(terminal.width()));
            table.set_header([String::new()].into_iter().chain(block.iter().map(|i| letter(*i))));
            for row in &rows {
                let cells = block.iter().map(|i| row.cells.get(*i).map_or(String::new(), |one| cell(one, &short)));
                table.add_row([printable(&row.place)].into_iter().chain(cells));
            }
            if let Some(places) = table.column_mut(0) {
                places.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width(place))));
            }
            out.push_str(&trimmed(&table));
        }
    }
    out
}

/// The whole comparison as GitHub-flavoured Markdown.
pub fn markdown(answer: &Several) -> String {
    let mut out = "# Comparison\n\n".to_owned();
    for line in head(answer) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "- {}", plain(&line));
    }
    let letters: Vec<String> = (0..answer.sides.len()).map(letter).collect();
    for (title, rows) in groups(answer).into_iter().filter(|(_, rows)| !rows.is_empty()) {
        out.push('\n');
        table(&mut out, title, &letters, &rows);
    }
    out
}

/// A group of rows as a section of Markdown, with a column for each of these names.
fn table(out: &mut String, title: &str, names: &[String], rows: &[&Row]) {
    let titles: Vec<String> = names.iter().map(|name| plain(name)).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "## {title}\n\n| what | {} |\n|---|{}", titles.join(" | "), "---|".repeat(names.len()));
    for row in rows {
        let cells: Vec<String> = row.cells.iter().map(|one| plain(&cell(one, &stated))).collect();
        let _ = writeln!(out, "| {} | {} |", plain(&row.place), cells.join(" | "));
    }
}

/// All groups that have rows, with the keys and the titles of their sections: also what cannot be compared, for which a page has room.
fn sections(answer: &Several) -> Vec<(&'static str, &'static str, Vec<&Row>)> {
    let [differ, same] = groups(answer);
    let alone = answer.rows.iter().filter(|row| !row.differs() && row.pairs_compared == 0).collect();
    // Of one result there is nothing to compare.
    let of_alone = if answer.sides.len() > 1 { "Cannot be compared" } else { "Values" };
    let all = [("different", differ.0, differ.1), ("same", same.0, same.1), ("alone", of_alone, alone)];
    all.into_iter().filter(|(_, _, rows)| !rows.is_empty()).collect()
}

/// The results under names that the reader knows already.
pub(in crate::report) struct Named<'a> {
    answer: &'a Several,
    names: Vec<String>,
}

impl<'a> Named<'a> {
    /// By the names of their sides.
    pub fn new(answer: &'a Several) -> Self {
        Named { answer, names: answer.sides.iter().map(|side| side.name.clone()).collect() }
    }

    /// The verdict with its counts, and when two values differ; nothing of one result.
    pub fn verdict(&self, outlier: &str) -> Vec<String> {
        if self.names.len() < 2 { Vec::new() } else { vec![summary(self.answer), rule(self.answer, outlier)] }
    }

    /// The sections of a page: titles and keys.
    pub fn sections(&self) -> Vec<(&'static str, &'static str)> {
        sections(self.answer).iter().map(|(key, title, _)| (*title, *key)).collect()
    }

    /// As sections of Markdown.
    pub fn markdown(&self, out: &mut String) {
        let lines = self.verdict(OUTLIER.trim());
        lines.iter().for_each(|line| *out += &format!("{}\n\n", plain(line)));
        for (_, title, rows) in sections(self.answer) {
            table(out, title, &self.names, &rows);
            out.push('\n');
        }
    }

    /// For the template of a page: `letters`, `mark`, `groups` and `verdict`.
    pub fn page(&self) -> Value {
        let verdict = self.verdict(TRIANGLE).iter().map(|line| printable(line)).collect::<Vec<_>>();
        context! { verdict, ..values(self.answer, &self.names) }
    }
}

/// The values for their template, with a column for each of these names.
fn values(answer: &Several, names: &[String]) -> Value {
    let groups = sections(answer).into_iter().map(|(key, title, rows)| {
        let intervals = key == "different";
        context! { key, title, rows => rows.iter().map(|one| row(one, intervals)).collect::<Vec<Value>>() }
    });
    let letters = names.iter().map(|name| printable(name)).collect::<Vec<_>>();
    context! { letters, mark => OUTLIER_ON_A_PAGE, groups => groups.collect::<Vec<Value>>() }
}

/// The whole comparison as one HTML page.
///
/// # Errors
///
/// If the template cannot be filled in, which would be a fault of the template and not of the answer.
pub fn html(answer: &Several) -> Result<String, minijinja::Error> {
    let places: Vec<(&str, &str)> = sections(answer).iter().map(|(key, title, _)| (*title, *key)).collect();
    let letters: Vec<String> = (0..answer.sides.len()).map(letter).collect();
    let frame = Frame {
        sides: letters.iter().map(String::as_str).zip(&answer.sides).collect(),
        same: answer.same,
        summary: summary(answer),
        restrictions: restrictions(&answer.remarks, &answer.only, &answer.required),
        rule: rule(answer, TRIANGLE),
    };
    frame.page("several.html", &places, values(answer, &letters))
}

/// A row for its template; with `intervals`, they stand beside the values and not behind them.
fn row(row: &Row, intervals: bool) -> Value {
    let shown = |cell: &Cell| {
        let value = cell.stated.as_ref().map(|known| {
            let (short, whole) = (printable(&short(known)), printable(&stated(known)));
            if intervals || short == whole { (whole, None) } else { (short, Some(whole)) }
        });
        let reason = cell.reason.as_deref().map(printable);
        let (text, title) = value.unwrap_or_else(|| (UNKNOWN.to_owned(), reason));
        context! { text, title, outlier => cell.outlier }
    };
    context! {
        place => printable(&row.place),
        unmet => row.unmet,
        cells => row.cells.iter().map(shown).collect::<Vec<Value>>(),
    }
}
