//! A fleet for a terminal.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};

use super::{change, changed, deviation, head, layout, middle, name, outlier, product, range, rule, summary, title};
use crate::fleet::{Fleet, Hosts, Product, Skipped, Spread};
use crate::report::small::trimmed;
use crate::report::terminal::{Extent, Terminal};
use crate::report::words::printable;

/// Most GPUs, hosts or files that a short text names in a list.
const MOST_NAMED: usize = 10;
/// Most attributes of one GPU that a short text names.
const MOST_OUTLIERS: usize = 5;
/// Most columns for the name of an attribute, which would break within a word otherwise.
const PLACE: usize = 32;
/// Most columns for a median, for the same reason.
const MEDIAN: usize = 13;
/// Stands after the number of GPUs where one of them stands out.
const MARK: &str = " *";
/// What the table's signs and columns mean.
const LEGEND: &str = "* a GPU or link stands out, ? those with an unknown value; median, or the value of most; MAD, the median absolute \
                      deviation, in per cent of the median.";
/// The names of attributes that a short text has of every element that has them.
const MAIN: [&str; 4] = ["size", "reach", "latency.cycles", "read_bandwidth.bytes_per_s"];

/// All of it, or about a screen.
pub fn text(fleet: &Fleet, terminal: &Terminal, extent: Extent) -> String {
    let mut out = terminal.wrapped_heading(&title(fleet), "  ");
    for line in head(fleet).into_iter().chain([summary(fleet)]) {
        out.push_str(&terminal.wrapped(&line, "", "  "));
    }
    for product in &fleet.products {
        of_product(&mut out, product, terminal, extent);
    }
    let mut lines = Vec::new();
    for one in named(&fleet.changed, extent) {
        lines.push(changed(one));
        lines.extend(limited(&one.changes, MOST_OUTLIERS, extent, "attributes").map(|line| format!("- {line}")));
    }
    lines.extend(more(fleet.changed.len(), MOST_NAMED, extent, "GPUs"));
    section(&mut out, "Changed since an earlier result", &lines, terminal);
    if let Some(hosts) = &fleet.hosts {
        missing(&mut out, hosts, terminal, extent);
    }
    let skipped = |one: &Skipped| format!("{} {}", one.file, one.reason);
    // Warnings name the first of them.
    let lines: Vec<String> = fleet.skipped.iter().filter(|_| extent == Extent::Details).map(skipped).collect();
    section(&mut out, "Skipped files", &lines, terminal);
    out.push('\n');
    out.push_str(&terminal.wrapped(LEGEND, "", ""));
    out.push_str(&terminal.wrapped(&rule(fleet), "", ""));
    if extent == Extent::Short {
        out.push_str(&terminal.wrapped("--details shows all attributes, GPUs and files.", "", ""));
    }
    out
}

fn of_product(out: &mut String, of: &Product, terminal: &Terminal, extent: Extent) {
    out.push('\n');
    out.push_str(&terminal.wrapped_heading(&product(of), "  "));
    let mut lines = Vec::new();
    for one in named(&of.stand_out, extent) {
        lines.push(name(&one.gpu));
        let outliers = one.outliers.iter().map(outlier).collect::<Vec<_>>();
        lines.extend(at_most(outliers, MOST_OUTLIERS, extent, "attributes").map(|line| format!("- {line}")));
    }
    let noun = if of.is_of_links { "links" } else { "GPUs" };
    lines.extend(more(of.stand_out.len(), MOST_NAMED, extent, noun));
    section(out, "Stand out, the furthest first", &lines, terminal);
    let mut lines = Vec::new();
    for one in &of.layouts {
        lines.push(layout(one));
        if of.layouts.len() > 1 {
            lines.extend(named(&one.named, extent).iter().map(|gpu| format!("- {}", name(gpu))));
            lines.extend(more(one.named.len(), MOST_NAMED, extent, "GPUs").map(|line| format!("- {line}")));
        }
    }
    section(out, "Layouts of the dies", &lines, terminal);
    let is_main = |row: &&Spread| {
        let attribute = row.place.split_once(' ').map_or("", |(_, attribute)| attribute);
        extent == Extent::Details || row.stand_out > 0 || row.known > 0 && MAIN.contains(&attribute)
    };
    let rows: Vec<&Spread> = of.attributes.iter().filter(is_main).collect();
    if !rows.is_empty() {
        out.push('\n');
        out.push_str(&table(&rows, if of.is_of_links { "Links" } else { "GPUs" }, terminal));
    }
}

fn table(rows: &[&Spread], counted: &str, terminal: &Terminal) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    let columns = |columns: usize| u16::try_from(columns).unwrap_or(u16::MAX);
    table.set_width(columns(terminal.width()));
    table.set_header(["Attribute", counted, "?", "Median", "MAD", "Range"]);
    for row in rows {
        let mark = if row.stand_out > 0 { MARK } else { "" };
        table.add_row([
            broken(&printable(&row.place)),
            format!("{}{mark}", row.known),
            if row.unknown > 0 { row.unknown.to_string() } else { String::new() },
            printable(&middle(row)),
            deviation(row),
            printable(&range(row)),
        ]);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    let longest = |cells: &dyn Fn(&Spread) -> usize| rows.iter().map(|row| cells(row)).max().unwrap_or(0);
    let place = longest(&|row| row.place.chars().count()).min(PLACE).min(terminal.width() / 2);
    let median = longest(&|row| middle(row).chars().count()).min(MEDIAN).min(terminal.width() / 6);
    // With the column to the right of it.
    for (at, least) in [(0, place + 1), (3, median + 1)] {
        if let Some(column) = table.column_mut(at) {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(columns(least))));
        }
    }
    trimmed(&table)
}

/// The name of a place, on two lines where it is too long for its column.
fn broken(place: &str) -> String {
    match place.rsplit_once('.').filter(|_| place.chars().count() > PLACE) {
        Some((attribute, part)) => format!("{attribute}.\n  {part}"),
        None => place.to_owned(),
    }
}

fn missing(out: &mut String, hosts: &Hosts, terminal: &Terminal, extent: Extent) {
    let mut lines: Vec<String> = Vec::new();
    let (skipped, absent): (Vec<_>, Vec<_>) = hosts.missing.iter().partition(|one| one.skipped.is_some());
    lines.extend(
        named(&absent, extent)
            .chunks(MOST_NAMED)
            .map(|some| some.iter().map(|one| one.host.as_str()).collect::<Vec<_>>().join(", ")),
    );
    lines.extend(more(absent.len(), MOST_NAMED, extent, "hosts"));
    lines.extend(
        named(&skipped, extent)
            .iter()
            .map(|one| format!("{}: {}", one.host, one.skipped.as_deref().unwrap_or_default())),
    );
    lines.extend(more(skipped.len(), MOST_NAMED, extent, "hosts"));
    section(out, "Hosts without a result", &lines, terminal);
    let mut lines = named(&hosts.unlisted, extent).to_vec();
    lines.extend(more(hosts.unlisted.len(), MOST_NAMED, extent, "files"));
    section(out, "Results of hosts that are not expected", &lines, terminal);
}

/// Those that are named.
fn named<T>(all: &[T], extent: Extent) -> &[T] {
    if extent == Extent::Details { all } else { &all[..all.len().min(MOST_NAMED)] }
}

/// How many are not named.
fn more(all: usize, most: usize, extent: Extent, what: &str) -> Option<String> {
    (extent == Extent::Short && all > most).then(|| format!("and {} more {what}", all - most))
}

/// Changes, of which a short text has a few.
fn limited(all: &[crate::fleet::Change], most: usize, extent: Extent, what: &str) -> impl Iterator<Item = String> {
    at_most(all.iter().map(change).collect(), most, extent, what)
}

/// Lines, of which a short text has a few.
fn at_most(mut lines: Vec<String>, most: usize, extent: Extent, what: &str) -> impl Iterator<Item = String> {
    let more = more(lines.len(), most, extent, what);
    if more.is_some() {
        lines.truncate(most);
    }
    lines.into_iter().chain(more)
}

/// Lines under a title, with those that begin with a dash below the one before.
fn section(out: &mut String, title: &str, lines: &[String], terminal: &Terminal) {
    if lines.is_empty() {
        return;
    }
    out.push('\n');
    out.push_str(&terminal.wrapped_heading(title, "  "));
    for line in lines {
        let (first, rest) = if line.starts_with("- ") { ("    ", "      ") } else { ("  ", "    ") };
        out.push_str(&terminal.wrapped(line, first, rest));
    }
}
