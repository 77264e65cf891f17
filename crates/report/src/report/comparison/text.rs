//! The comparison for a terminal.

use super::{
    MOST_VALUES, Section, UNMET, by_reason, head, names, origin, origins, sections, sources, stated, unmet, verdict,
};
use crate::compare::{Comparison, Row, Single};
use crate::report::Terminal;

/// The whole comparison.
pub fn text(comparison: &Comparison, terminal: &Terminal) -> String {
    let mut out: String = head(comparison).iter().map(|line| terminal.wrapped(line, "", "  ")).collect();
    let unmet: Vec<String> = comparison.unmet.iter().map(unmet).collect();
    terminal.section(&mut out, UNMET, &unmet);
    let (before, same) = sections(comparison);
    before.iter().for_each(|rows| written(&mut out, rows, terminal));
    terminal.section(&mut out, "Known to A only", &alone(&comparison.only_a));
    terminal.section(&mut out, "Known to B only", &alone(&comparison.only_b));
    written(&mut out, &same, terminal);
    terminal.section(&mut out, "Sources", &sources(comparison));
    if !comparison.unknown.is_empty() {
        out.push_str(&format!("\nUnknown to both: {} values.\n", comparison.unknown.len()));
    }
    out
}

fn written(out: &mut String, rows: &Section<'_>, terminal: &Terminal) {
    let lines: Vec<String> = rows.rows.iter().map(|row| line(row, rows.mixed)).collect();
    terminal.section(out, rows.title, &lines);
}

fn line(row: &Row, mixed: bool) -> String {
    let (a, b) = (stated(&row.a), stated(&row.b));
    let mut said = Vec::new();
    // Of curves the number of points that both have says more than how many each has.
    if row.points_compared.is_none() {
        said.push(if a == b && row.agrees == Some(true) { a } else { format!("{a} against {b}") });
    }
    said.extend(verdict(row, mixed));
    let origins = origins(row);
    let origins = if origins.is_empty() { String::new() } else { format!(" ({})", origins.join("; ")) };
    format!("{}: {}{origins}", row.place, said.join("; "))
}

/// Values under the reason for which the other side has none.
pub(super) fn alone(singles: &[Single]) -> Vec<String> {
    let lines = by_reason(singles).into_iter().map(|(reason, all)| {
        if all.len() > MOST_VALUES {
            return format!("{reason}, {} values: {}", all.len(), names(&all));
        }
        let values: Vec<String> = all
            .iter()
            .map(|single| match origin(&single.stated) {
                Some(origin) => format!("{} {} ({origin})", single.place, stated(&single.stated)),
                None => format!("{} {}", single.place, stated(&single.stated)),
            })
            .collect();
        format!("{reason}: {}", values.join("; "))
    });
    lines.collect()
}
