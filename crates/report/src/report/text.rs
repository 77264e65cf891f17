//! The text report: a table with one row per element, then the details.

use comfy_table::{CellAlignment, Table, presets};

use super::small::trimmed;
use super::surroundings;
use super::terminal::Terminal;
use super::words::{self, COLUMNS, Detail, FROM_DRIVER};
use strata_model::attribute::{Attribute, Kind};
use strata_model::topology::Topology;

/// The column of nanoseconds, which repeat cycles.
const NANOSECONDS: usize = 5;
/// Columns that a narrow table does without, in this order. What is in them stands in the list below the table.
const PUT_AWAY: [usize; 6] = [NANOSECONDS, 6, 7, 3, 2, 4];

/// The whole report, for a terminal or for paper.
pub fn text(topology: &Topology, terminal: &Terminal) -> String {
    let head = words::head(&topology.device, &topology.run, topology.replayed_from.as_deref());
    let mut out = beginning(&head, terminal);
    out.push('\n');
    let (table, columns) = table(topology, terminal.width());
    for (i, line) in table.lines().enumerate() {
        // Titles and units.
        out.push_str(&if i < 2 { terminal.heading(line) } else { line.to_owned() });
        out.push('\n');
    }
    if let Some(launch) = words::of_launch(topology) {
        out.push_str(&terminal.wrapped(&launch, "", ""));
    }
    terminal.section(&mut out, "Device, from the driver", &words::device(&topology.device));
    terminal.section(&mut out, surroundings::TITLE, &surroundings::lines(&topology.run));
    terminal.section(&mut out, "Intervals and sources", &details(topology, !columns.contains(&NANOSECONDS)));
    terminal.reasons(&mut out, "Unknown", &by_reason(unknown(topology)));
    terminal.section(&mut out, "Warnings", &topology.run.warnings);
    out
}

/// The head of a report, whose first line says what it is of.
pub(super) fn beginning(head: &[String], terminal: &Terminal) -> String {
    let line = |(i, line): (usize, &String)| match i {
        0 => terminal.wrapped_heading(line, "  "),
        _ => terminal.wrapped(line, "", "  "),
    };
    head.iter().enumerate().map(line).collect()
}

/// The table with as many columns as fit, and which those are.
fn table(topology: &Topology, width: usize) -> (String, Vec<usize>) {
    let mut columns: Vec<usize> = (0..COLUMNS.len()).collect();
    let mut text = table_of(topology, &columns);
    for put_away in PUT_AWAY {
        if text.lines().all(|line| line.chars().count() <= width) {
            break;
        }
        columns.retain(|column| *column != put_away);
        text = table_of(topology, &columns);
    }
    (text, columns)
}

fn table_of(topology: &Topology, columns: &[usize]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let titles: Vec<&str> = columns.iter().map(|c| COLUMNS[*c].title).collect();
    // A title that goes on over the next column is said once.
    table.set_header(titles.iter().enumerate().map(|(i, t)| if i > 0 && titles[i - 1] == *t { "" } else { t }));
    table.add_row(columns.iter().map(|c| COLUMNS[*c].unit));
    for (name, element) in &topology.elements {
        let row = words::row(*name, element);
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
    if words::has_driver_mark(topology) {
        lines.push(format!("{FROM_DRIVER} from the driver, not measured"));
    }
    lines
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
