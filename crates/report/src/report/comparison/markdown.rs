//! The comparison as GitHub-flavoured Markdown: a table for each group.

use std::fmt::Write;

use super::{
    MOST_VALUES, Section, UNMET, by_reason, head, names, origin, origins, sections, sources, stated, unmet, verdict,
};
use crate::compare::{Comparison, Single, Stated};
use crate::report::markdown::plain;

/// The whole comparison.
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = "# Comparison\n\n".to_owned();
    for line in head(comparison) {
        let _ = writeln!(out, "- {}", plain(&line));
    }
    if !comparison.unmet.is_empty() {
        let _ = writeln!(out, "\n## {UNMET}\n");
        comparison.unmet.iter().for_each(|one| out.push_str(&format!("- {}\n", plain(&unmet(one)))));
    }
    let (before, same) = sections(comparison);
    before.iter().for_each(|rows| table(&mut out, rows));
    alone(&mut out, "Known to A only", &comparison.only_a);
    alone(&mut out, "Known to B only", &comparison.only_b);
    table(&mut out, &same);
    let sources = sources(comparison);
    if !sources.is_empty() {
        let _ = writeln!(out, "\n## Sources\n");
        sources.iter().for_each(|source| out.push_str(&format!("- {}\n", plain(source))));
    }
    if !comparison.unknown.is_empty() {
        let _ = writeln!(out, "\nUnknown to both: {} values.", comparison.unknown.len());
    }
    out
}

fn table(out: &mut String, section: &Section<'_>) {
    if section.rows.is_empty() {
        return;
    }
    let cited = section.rows.iter().any(|row| row.a.citation.is_some() || row.b.citation.is_some());
    let source = |head: &str| if cited { format!(" {head} |") } else { String::new() };
    let _ = writeln!(out, "\n## {}\n\n| what | A | B | |{}", section.title, source("source"));
    let _ = writeln!(out, "|---|---|---|---|{}", if cited { "---|" } else { "" });
    for row in section.rows {
        let verdict = verdict(row, section.mixed).unwrap_or_default();
        let origins = origins(row);
        let cell = |text: &str| plain(text);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |{}",
            cell(&row.place),
            cell(&stated(&row.a)),
            cell(&stated(&row.b)),
            cell(&verdict),
            source(&cell(&origins.join("; ")))
        );
    }
}

fn alone(out: &mut String, title: &str, singles: &[Single]) {
    if singles.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## {title}\n");
    for (reason, all) in by_reason(singles) {
        if all.len() > MOST_VALUES {
            let _ = writeln!(out, "- {}, {} values: {}", plain(reason), all.len(), plain(&names(&all)));
            continue;
        }
        let value = |Single { place, stated, .. }: &&Single| plain(&format!("{place} {}", with_origin(stated)));
        let _ = writeln!(out, "- {}: {}", plain(reason), all.iter().map(value).collect::<Vec<_>>().join("; "));
    }
}

fn with_origin(value: &Stated) -> String {
    origin(value).map_or_else(|| stated(value), |origin| format!("{} ({origin})", stated(value)))
}
