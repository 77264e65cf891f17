//! The comparison for a terminal.

use super::{Section, by_reason, head, origin, sections, stated, verdict};
use crate::compare::{Comparison, Row, Single};
use crate::report::text::{section, wrapped};

/// The whole comparison.
pub fn text(comparison: &Comparison) -> String {
    let mut out: String = head(comparison).iter().map(|line| wrapped(line, "", "  ")).collect();
    let (before, same) = sections(comparison);
    before.iter().for_each(|rows| written(&mut out, rows));
    section(&mut out, "Known to A only", &alone(&comparison.only_a));
    section(&mut out, "Known to B only", &alone(&comparison.only_b));
    written(&mut out, &same);
    if !comparison.unknown.is_empty() {
        out.push_str(&format!("\nUnknown to both: {} values.\n", comparison.unknown.len()));
    }
    out
}

fn written(out: &mut String, rows: &Section<'_>) {
    let lines: Vec<String> = rows.rows.iter().map(|row| line(row, rows.mixed)).collect();
    section(out, rows.title, &lines);
}

fn line(row: &Row, mixed: bool) -> String {
    let (a, b) = (stated(&row.a), stated(&row.b));
    let values = if a == b && row.agrees == Some(true) { a } else { format!("{a} against {b}") };
    let verdict = verdict(row, mixed).map_or(String::new(), |verdict| format!("; {verdict}"));
    let origins: Vec<String> = [origin(&row.a), origin(&row.b)].into_iter().flatten().collect();
    let origins = if origins.is_empty() { String::new() } else { format!(" ({})", origins.join("; ")) };
    format!("{}: {values}{verdict}{origins}", row.place)
}

/// Values under the reason for which the other side has none.
fn alone(singles: &[Single]) -> Vec<String> {
    let lines = by_reason(singles).into_iter().map(|(reason, all)| {
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
