//! The links of a node as a text.

use comfy_table::{CellAlignment, Table, presets};

use super::{COLUMNS, QUANTITIES, Quantity, READING, besides, described, failures, head, symmetry, unknowns, warnings};
use crate::report::small::trimmed;
use crate::report::terminal::Terminal;
use crate::report::text as one;
use strata_model::links::Links;

/// The report, for a terminal or for paper.
pub fn text(links: &Links, terminal: &Terminal) -> String {
    let mut out = one::beginning(&head(links), terminal);
    out.push('\n');
    push(&mut out, terminal, &gpus(links), 1);
    out.push('\n');
    out.push_str(&terminal.wrapped(READING, "", ""));
    for quantity in QUANTITIES.iter().filter(|quantity| quantity.is_there(links)) {
        out.push('\n');
        out.push_str(&terminal.wrapped_heading(quantity.title, "  "));
        push(&mut out, terminal, &matrix(links, quantity), 0);
        if let Some(line) = symmetry(links, quantity) {
            out.push_str(&terminal.wrapped(&line, "", "  "));
        }
    }
    terminal.section(&mut out, "Besides", &besides(links));
    terminal.reasons(&mut out, "Not measured", &failures(links));
    terminal.reasons(&mut out, "Unknown", &unknowns(links));
    terminal.section(&mut out, "Warnings", &warnings(links));
    out
}

/// Adds a table, of which the first lines are headings.
fn push(out: &mut String, terminal: &Terminal, table: &str, headings: usize) {
    for (i, line) in table.lines().enumerate() {
        out.push_str(&if i < headings { terminal.heading(line) } else { line.to_owned() });
        out.push('\n');
    }
}

fn gpus(links: &Links) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(COLUMNS);
    for gpu in &links.gpus {
        table.add_row(described(links, gpu));
    }
    trimmed(&table)
}

fn matrix(links: &Links, quantity: &Quantity) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let names = || links.gpus.iter().map(|gpu| gpu.device.clone());
    table.set_header([String::new()].into_iter().chain(names()));
    for from in names() {
        let cells = names().map(|to| quantity.cell(links.link(&from, &to)));
        table.add_row([from.clone()].into_iter().chain(cells));
    }
    for at in 0..links.gpus.len() {
        if let Some(column) = table.column_mut(at + 1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    trimmed(&table)
}
