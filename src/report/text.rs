//! The table for people: one row an element, then what the table cannot hold.

use comfy_table::{CellAlignment, Table, presets};

use super::plots::{PICTURED, SPECTRUM};
use super::small::trimmed;
use super::words::{self, COLUMNS, Detail, FROM_DRIVER, printable};
use crate::topology::Topology;

/// Width that a report keeps to.
pub(super) const WIDTH: usize = 80;

/// The whole report.
pub fn text(topology: &Topology) -> String {
    let mut out: String = words::head(&topology.device, &topology.run, topology.replayed_from.as_deref())
        .iter()
        .map(|line| wrapped(line, "", "  "))
        .collect();
    out.push('\n');
    out.push_str(&table(topology));
    section(&mut out, "Device, from the driver", &words::device(&topology.device));
    section(&mut out, "Intervals and sources", &details(topology));
    section(&mut out, "Unknown", &by_reason(unknown(topology)));
    section(&mut out, "Warnings", &topology.run.warnings);
    out
}

fn table(topology: &Topology) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let titles: Vec<&str> = COLUMNS.iter().map(|c| c.title).collect();
    // A title that goes on over the next column is said once.
    table.set_header(titles.iter().enumerate().map(|(i, t)| if i > 0 && titles[i - 1] == *t { "" } else { t }));
    table.add_row(COLUMNS.iter().map(|c| c.unit));
    for (name, element) in &topology.elements {
        table.add_row(words::row(*name, element));
    }
    for (i, _) in COLUMNS.iter().enumerate().filter(|(_, c)| c.numeric) {
        if let Some(column) = table.column_mut(i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    trimmed(&table)
}

fn details(topology: &Topology) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, element) in &topology.elements {
        for (attribute, finding) in words::attributes(element) {
            // Curves are for programs and pictures, but for a short table.
            if !finding.is_known() || PICTURED.contains(&attribute) && attribute != SPECTRUM {
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

/// Each reason once, with all that it is the reason for.
pub(super) fn by_reason(unknown: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for (what, reason) in unknown {
        match reasons.iter_mut().find(|(r, _)| *r == reason) {
            Some((_, all)) => all.push(what),
            None => reasons.push((reason, vec![what])),
        }
    }
    reasons.into_iter().map(|(reason, what)| format!("{}: {reason}", what.join(", "))).collect()
}

/// Lines under a title; nothing, if there are none.
pub(super) fn section(out: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    out.push('\n');
    out.push_str(title);
    out.push('\n');
    for line in lines {
        out.push_str(&wrapped(line, "  ", "    "));
    }
}

/// Breaks a line at blanks (a terminal is told nothing by what a name holds besides) so that it keeps to [`WIDTH`]; a word that is longer stands alone.
pub(super) fn wrapped(line: &str, first: &str, rest: &str) -> String {
    let mut out = String::new();
    let mut current = first.to_owned();
    let mut empty = true;
    for word in printable(line).split_whitespace() {
        let width = current.chars().count() + usize::from(!empty) + word.chars().count();
        if !empty && width > WIDTH {
            out.push_str(&current);
            out.push('\n');
            current = rest.to_owned();
            empty = true;
        }
        if !empty {
            current.push(' ');
        }
        current.push_str(word);
        empty = false;
    }
    out + &current + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_to_the_width() {
        let long = "word ".repeat(60);
        let text = wrapped(&long, "  ", "    ");
        assert!(text.lines().all(|l| l.chars().count() <= WIDTH));
        assert_eq!(text.split_whitespace().count(), 60);
        assert!(text.starts_with("  word") && text.lines().nth(1).unwrap().starts_with("    word"));
    }
}
