//! Three or more results beside each other: a table with a column for each.

use std::fmt::Write;

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use minijinja::context;
use minijinja::value::Value;

use super::html::Frame;
use super::{restrictions, side, stated, tolerance};
use crate::compare::several::{Cell, Row};
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
    format!(
        "Two numbers differ if their intervals do not overlap{tolerance}. All pairs share a 5 % chance of a false difference. \
         {outlier} marks an outlier: a value that differs from more than half of the others. {UNKNOWN} is unknown."
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
    for (title, rows) in groups(answer).into_iter().filter(|(_, rows)| !rows.is_empty()) {
        let letters: Vec<String> = (0..answer.sides.len()).map(letter).collect();
        let _ =
            writeln!(out, "\n## {title}\n\n| what | {} |\n|---|{}", letters.join(" | "), "---|".repeat(letters.len()));
        for row in rows {
            let cells: Vec<String> = row.cells.iter().map(|one| plain(&cell(one, &stated))).collect();
            let _ = writeln!(out, "| {} | {} |", plain(&row.place), cells.join(" | "));
        }
    }
    out
}

/// The whole comparison as one HTML page.
///
/// # Errors
///
/// If the template cannot be filled in, which would be a fault of the template and not of the answer.
pub fn html(answer: &Several) -> Result<String, minijinja::Error> {
    let [differ, same] = groups(answer);
    let alone = answer.rows.iter().filter(|row| !row.differs() && row.pairs_compared == 0).collect();
    // A page has room for what cannot be compared as well; its titles are anchors.
    let all = [("different", differ), ("same", same), ("alone", ("Cannot be compared", alone))];
    let filled: Vec<_> = all.into_iter().filter(|(_, (_, rows))| !rows.is_empty()).collect();
    let places: Vec<(&str, &str)> = filled.iter().map(|(key, (title, _))| (*title, *key)).collect();
    let letters: Vec<String> = (0..answer.sides.len()).map(letter).collect();
    let frame = Frame {
        sides: letters.iter().map(String::as_str).zip(&answer.sides).collect(),
        same: answer.same,
        summary: summary(answer),
        restrictions: restrictions(&answer.remarks, &answer.only, &answer.required),
        rule: rule(answer, TRIANGLE),
    };
    let groups = filled.iter().map(|(key, (title, rows))| {
        let intervals = *key == "different";
        context! { key => *key, title => *title, rows => rows.iter().map(|one| row(one, intervals)).collect::<Vec<Value>>() }
    });
    let groups = groups.collect::<Vec<Value>>();
    frame.page("several.html", &places, context! { letters => &letters, mark => OUTLIER_ON_A_PAGE, groups })
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
