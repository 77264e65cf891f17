//! The text report: a table with one row per element, what one does with it, what is unknown; then the details, if they are
//! asked for.

use comfy_table::{CellAlignment, Table, presets};

use super::small::trimmed;
use super::terminal::{Extent, Terminal};
use super::words::{self, COLUMNS, Detail, SIGNS};
use super::{advice, rates, short, surroundings};
use strata_model::attribute::{Attribute, Kind};
use strata_model::topology::Topology;

/// The column of nanoseconds, which repeat cycles.
const NANOSECONDS: usize = 5;
/// Columns that a narrow table does without, in this order. What is in them stands in the list below the table.
const PUT_AWAY: [usize; 6] = [NANOSECONDS, 6, 7, 3, 2, 4];

/// Says where the rest is, below a short text.
pub(super) const MORE: &str = "`--details` says more, and so does a file (`--output FILE`).";

/// The report, for a terminal or for paper.
pub fn text(topology: &Topology, terminal: &Terminal, extent: Extent) -> String {
    let head = words::head(&topology.device, &topology.run, topology.replayed_from.as_deref());
    let mut out = beginning(&head, terminal);
    let rows: Vec<[String; 8]> = words::rows(topology).map(|(.., cells)| cells).collect();
    let (table, columns) = table(&rows, terminal.width());
    for (i, line) in table.lines().enumerate() {
        if i == 0 {
            out.push('\n');
        }
        // Titles and units.
        out.push_str(&if i < 2 { terminal.heading(line) } else { line.to_owned() });
        out.push('\n');
    }
    let legend = legend(&rows, &columns);
    if !legend.is_empty() {
        out.push_str(&terminal.wrapped(&legend, "", ""));
    }
    terminal.section(&mut out, "Warnings", &topology.run.warnings);
    terminal.section(&mut out, rates::TITLE, &rates::lines(topology));
    terminal.section(&mut out, advice::TITLE, &advice::lines(topology));
    match extent {
        Extent::Short => {
            terminal.section(&mut out, "Asked for by name", &by_name(topology));
            terminal.reasons(&mut out, "Unknown", &short::reasons(topology));
            out.push('\n');
            out.push_str(&terminal.wrapped(MORE, "", ""));
        }
        Extent::Details => {
            terminal.section(&mut out, "Device, from the driver", &words::device(&topology.device));
            terminal.section(&mut out, surroundings::TITLE, &surroundings::lines(&topology.run));
            terminal.section(&mut out, "Intervals and sources", &details(topology, !columns.contains(&NANOSECONDS)));
            terminal.reasons(&mut out, "Unknown", &by_reason(unknown(topology)));
        }
    }
    out
}

/// What the signs mean that stand in these columns of the table.
fn legend(rows: &[[String; 8]], columns: &[usize]) -> String {
    let cells = || rows.iter().flat_map(|row| columns.iter().filter(|column| **column > 0).map(|column| &row[*column]));
    let stands = |sign: &str| cells().any(|cell| cell == sign || cell.starts_with(sign) || cell.ends_with(sign));
    let signs = SIGNS.iter().filter(|(sign, _)| stands(sign));
    signs.map(|(sign, meaning)| format!("{sign} {meaning}")).collect::<Vec<_>>().join("; ")
}

/// The head of a report, whose first line says what it is of.
pub(super) fn beginning(head: &[String], terminal: &Terminal) -> String {
    let line = |(i, line): (usize, &String)| match i {
        0 => terminal.wrapped_heading(line, "  "),
        _ => terminal.wrapped(line, "", "  "),
    };
    head.iter().enumerate().map(line).collect()
}

/// The table with as many columns as fit, and which those are. A column of which nothing was asked for is left out, and so is a table
/// of nothing but names.
fn table(rows: &[[String; 8]], width: usize) -> (String, Vec<usize>) {
    let is_asked_for = |column: &usize| rows.iter().any(|row| !row[*column].is_empty());
    let mut columns: Vec<usize> = (0..COLUMNS.len()).filter(is_asked_for).collect();
    if columns.len() < 2 {
        return (String::new(), columns);
    }
    let mut text = table_of(rows, &columns);
    for put_away in PUT_AWAY {
        if text.lines().all(|line| line.chars().count() <= width) {
            break;
        }
        columns.retain(|column| *column != put_away);
        text = table_of(rows, &columns);
    }
    (text, columns)
}

fn table_of(rows: &[[String; 8]], columns: &[usize]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let titles: Vec<&str> = columns.iter().map(|c| COLUMNS[*c].title).collect();
    // A title that goes on over the next column is said once.
    table.set_header(titles.iter().enumerate().map(|(i, t)| if i > 0 && titles[i - 1] == *t { "" } else { t }));
    table.add_row(columns.iter().map(|c| COLUMNS[*c].unit));
    for row in rows {
        table.add_row(columns.iter().map(|c| row[*c].as_str()));
    }
    for (i, _) in columns.iter().enumerate().filter(|(_, c)| COLUMNS[**c].numeric) {
        if let Some(column) = table.column_mut(i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    trimmed(&table)
}

/// Every finding that has a value, with nanoseconds if the table has no place for them.
fn details(topology: &Topology, nanoseconds: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, element) in &topology.elements {
        for (attribute, finding) in element.reported() {
            // Curves are for programs and pictures, but for a short table.
            let curve = attribute.is_pictured() && attribute.kind() != Kind::Spectrum;
            if !finding.is_known() || curve || attribute == Attribute::LatencyNs && !nanoseconds {
                continue;
            }
            lines.push(format!("{} {}: {}", name.key(), attribute, Detail::of(finding)));
        }
    }
    lines
}

/// The values of attributes that were asked for by name.
fn by_name(topology: &Topology) -> Vec<String> {
    words::by_name(topology)
        .into_iter()
        .map(|(name, attribute, value)| format!("{name} {attribute}: {value}"))
        .collect()
}

/// What is unknown, and why.
fn unknown(topology: &Topology) -> impl Iterator<Item = (String, String)> {
    topology.elements.iter().flat_map(|(name, element)| {
        let unknown = words::attributes(element).filter(|(_, finding)| !finding.is_known());
        unknown.map(|(attribute, finding)| (format!("{} {attribute}", name.key()), words::reason(finding)))
    })
}

/// Each reason once, after all that it is the reason for.
pub(super) fn by_reason(unknown: impl Iterator<Item = (String, String)>) -> Vec<(String, String)> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for (what, reason) in unknown {
        match reasons.iter_mut().find(|(r, _)| *r == reason) {
            Some((_, all)) => all.push(what),
            None => reasons.push((reason, vec![what])),
        }
    }
    reasons.into_iter().map(|(reason, what)| (what.join(", "), reason)).collect()
}
