//! The GPUs of a node as a text: a row for each, or the whole report of each.

use comfy_table::{CellAlignment, Table, presets};

use super::{cell, columns, device, failures, head, warnings};
use crate::report::links::{NOTHING, UUID};
use crate::report::small::trimmed;
use crate::report::terminal::{Extent, Terminal};
use crate::report::text as one;
use strata_model::node::{Node, NodeGpu};

/// Says where the rest is.
const MORE: &str = "`--details` has the report of each GPU, and so has a file (`--output FILE`). \
                    `--format html` shows the values of all GPUs beside each other.";

/// The report, for a terminal or for paper.
pub fn text(node: &Node, terminal: &Terminal, extent: Extent) -> String {
    let mut out = one::beginning(&head(node), terminal);
    out.push('\n');
    for (i, line) in table(node).lines().enumerate() {
        out.push_str(&if i < 2 { terminal.heading(line) } else { line.to_owned() });
        out.push('\n');
    }
    terminal.reasons(&mut out, "Not measured", &failures(node));
    terminal.section(&mut out, "Warnings", &warnings(node));
    out.push('\n');
    match extent {
        Extent::Short => out.push_str(&terminal.wrapped(MORE, "", "")),
        Extent::Details => {
            for (device, topology) in node.measured() {
                out.push_str(&terminal.wrapped_heading(&format!("## {device}"), "  "));
                out.push('\n');
                out.push_str(&one::text(topology, terminal, extent));
                out.push('\n');
            }
        }
    }
    out
}

fn table(node: &Node) -> String {
    let columns = columns(node);
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    // A title that goes on over the next column is said once.
    let title = |i: usize| match i > 0 && columns[i - 1].title[0] == columns[i].title[0] {
        true => "",
        false => columns[i].title[0],
    };
    table.set_header(["GPU", "UUID"].into_iter().chain((0..columns.len()).map(title)));
    table.add_row(["", ""].into_iter().chain(columns.iter().map(|column| column.title[1])));
    for gpu in &node.gpus {
        let cells = columns.iter().map(|column| cell(gpu, column));
        table.add_row([gpu.device.clone(), uuid(gpu)].into_iter().chain(cells));
    }
    for at in 0..columns.len() {
        if let Some(column) = table.column_mut(at + 2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    trimmed(&table)
}

fn uuid(gpu: &NodeGpu) -> String {
    let uuid = device(gpu).and_then(|device| device.uuid.as_deref());
    uuid.map_or(NOTHING.to_owned(), |uuid| uuid.chars().take(UUID).collect())
}
