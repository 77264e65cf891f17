//! The report as GitHub-flavoured Markdown.
//!
//! Pictures are files beside it, which GitHub shows, or stand at its end as data that the sections refer to, so that what lies
//! between can be read as text. Each has its description and its folded numbers with it.

use std::fmt::Write;

use super::album::{Album, Markdown, Pictures};
use super::diagram;
use super::plot::Numbers;
use super::plots::{self, Drawn};
use super::surroundings;
use super::words::{self, COLUMNS, Detail, NO_PICTURE, SIMULATED, printable};
use strata_model::attribute::Attribute;
use strata_model::facts::DeviceFacts;
use strata_model::topology::{Element, ElementName, Finding, RunInfo, Topology};

/// The whole report.
pub fn markdown(topology: &Topology, pictures: Pictures<'_>) -> Markdown {
    let (device, run) = (&topology.device, &topology.run);
    let title = format!("Memory hierarchy of {}", device.name);
    let mut out = beginning(&title, device, run, topology.replayed_from.as_deref());
    let _ = writeln!(out, "## Summary\n");
    summary(&mut out, topology);
    let mut album = Album::new(pictures);
    if let Some(picture) = diagram::picture(topology) {
        album.place(&mut out, diagram::NAME, &picture);
    }
    section(&mut out, "Device, from the driver", words::device(device).into_iter());
    section(&mut out, surroundings::TITLE, surroundings::lines(run).into_iter());
    for (name, element) in &topology.elements {
        chapter(&mut out, &mut album, *name, element);
    }
    album.finished(out)
}

/// What a report begins with: title, head and warnings.
pub(super) fn beginning(title: &str, device: &DeviceFacts, run: &RunInfo, replayed_from: Option<&str>) -> String {
    let mut out = String::new();
    if run.simulated {
        let _ = writeln!(out, "**{SIMULATED}**\n");
    }
    let _ = writeln!(out, "# {}\n", plain(title));
    list(&mut out, words::head(device, run, replayed_from).into_iter().filter(|line| line != SIMULATED));
    section(&mut out, "Warnings", run.warnings.iter().cloned());
    out
}

// Writing to a string cannot fail, so the results are dropped.

pub(super) fn section(out: &mut String, title: &str, lines: impl ExactSizeIterator<Item = String>) {
    if lines.len() > 0 {
        let _ = writeln!(out, "## {title}\n");
        list(out, lines);
    }
}

pub(super) fn list(out: &mut String, lines: impl Iterator<Item = String>) {
    for line in lines {
        let _ = writeln!(out, "- {}", plain(&line));
    }
    out.push('\n');
}

fn summary(out: &mut String, topology: &Topology) {
    let headings =
        COLUMNS.iter().map(|c| if c.unit.is_empty() { c.title.into() } else { format!("{}<br>{}", c.title, c.unit) });
    let rules = COLUMNS.iter().map(|c| if c.numeric { "---:" } else { "---" }.to_owned());
    let mut rows = words::rows(topology).peekable();
    if rows.peek().is_none() {
        return;
    }
    cells(out, headings);
    cells(out, rules);
    for (.., row) in rows {
        cells(out, row.iter().map(|cell| plain(cell)));
    }
    let _ = writeln!(out, "\n{}\n", plain(&words::legend(topology)));
}

fn cells(out: &mut String, cells: impl Iterator<Item = String>) {
    let _ = writeln!(out, "| {} |", cells.collect::<Vec<_>>().join(" | "));
}

/// The section of an element; its pictures go to the album.
fn chapter(out: &mut String, album: &mut Album<'_>, name: ElementName, element: &Element) {
    let _ = writeln!(out, "## {} (`{}`)\n", name.title(), name.key());
    let plots = plots::of(name, element);
    for (attribute, finding) in words::attributes(element) {
        if !plots.iter().any(|p| p.attribute == attribute) {
            let _ = writeln!(out, "- **{attribute}**: {}", plain(&line(attribute, finding)));
        }
    }
    out.push('\n');
    for plot in &plots {
        let how = element.finding(plot.attribute).map(|finding| Detail::without_value(finding, "").to_string());
        picture(out, album, name, plot, &how.unwrap_or_default());
    }
    for plot in &plots::series::of(name, element) {
        picture(out, album, name, plot, "");
    }
}

fn line(attribute: Attribute, finding: &Finding) -> String {
    if !finding.is_known() {
        format!("unknown: {}", words::reason(finding))
    } else if attribute.is_pictured() {
        Detail::without_value(finding, NO_PICTURE).to_string()
    } else {
        Detail::of(finding).to_string()
    }
}

/// A picture with its caption and its numbers, in the words of its attribute; `how` says how it was found.
fn picture(out: &mut String, album: &mut Album<'_>, element: ElementName, plot: &Drawn, how: &str) {
    album.place(out, &format!("{}-{}", element.key(), plot.name("-")), &plot.picture);
    let description = plain(plot.picture.description());
    let _ = writeln!(out, "**{}**{}. {description}\n", plot.name(", "), plain(how));
    folded(out, "The numbers of this picture", &plot.plot.numbers());
}

/// A table that a reader unfolds.
pub(super) fn folded(out: &mut String, summary: &str, numbers: &Numbers) {
    let _ = writeln!(out, "<details><summary>{summary}</summary>\n");
    table(out, numbers);
    let _ = writeln!(out, "\n</details>\n");
}

fn table(out: &mut String, numbers: &Numbers) {
    grid(out, &numbers.head, numbers.rows.iter().cloned());
}

/// A table of texts.
pub(super) fn grid(out: &mut String, head: &[String], rows: impl Iterator<Item = Vec<String>>) {
    cells(out, head.iter().map(|cell| plain(cell)));
    cells(out, head.iter().map(|_| "---".to_owned()));
    for row in rows {
        cells(out, row.iter().map(|cell| plain(cell)));
    }
}

/// Text that Markdown shows as it is, on one line: no emphasis, no link, no HTML, no end of a table's cell.
pub(super) fn plain(text: &str) -> String {
    let text: Vec<char> = printable(text).chars().collect();
    let mut out = String::with_capacity(text.len());
    for (i, &c) in text.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| text[i]);
        let after = text.get(i + 1).copied();
        let in_a_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let escape = match c {
            '\\' | '`' | '*' | '[' | ']' | '|' | '~' | '$' => true,
            // Within a word it is no emphasis, and names of attributes are easier to read without.
            '_' => !(in_a_word(before) && in_a_word(after)),
            // At the beginning of a line these make headings, lists and rules.
            '#' | '-' | '+' | '=' => i == 0 && text.len() > 1,
            // Addresses become links without being asked.
            ':' => after == Some('/'),
            '.' => i >= 3 && text[i - 3..i].iter().all(|c| matches!(c, 'w' | 'W')),
            _ => false,
        };
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c => {
                if escape {
                    out.push('\\');
                }
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        for (text, shown) in [
            ("<script>&\"", "&lt;script&gt;&amp;\""),
            ("a|b\n# c", "a\\|b # c"),
            ("[x](javascript:y)", "\\[x\\](javascript:y)"),
            ("line_size *x* _y_ `z` ~~n~~ $e$", "line_size \\*x\\* \\_y\\_ \\`z\\` \\~\\~n\\~\\~ \\$e\\$"),
            ("http://e.org www.e.org", "http\\://e.org www\\.e.org"),
            ("- x", "\\- x"),
            ("-", "-"),
        ] {
            assert_eq!(plain(text), shown);
        }
    }
}
