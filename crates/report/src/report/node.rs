//! The GPUs of a node as a text: a row for each, or the whole report of each.

use comfy_table::{CellAlignment, Table, presets};

use super::small::trimmed;
use super::terminal::{Extent, Terminal};
use super::words::{self, SIMULATED};
use super::{surroundings, text as one};
use strata_model::attribute::Attribute;
use strata_model::node::{Node, NodeGpu};
use strata_model::topology::{ElementName, Topology};

/// A column of the table: its two titles, and where its value is from.
struct Column {
    title: [&'static str; 2],
    element: ElementName,
    attribute: Attribute,
}

/// What administrators compare between GPUs: sizes, latencies in cycles, and bytes a second. They fit 80 columns.
const COLUMNS: [Column; 7] = {
    const fn column(title: [&'static str; 2], element: ElementName, attribute: Attribute) -> Column {
        Column { title, element, attribute }
    }
    use ElementName::{Dram, L1, L2};
    [
        column(["L1", "size"], L1, Attribute::Size),
        column(["L1", "cycles"], L1, Attribute::LatencyCycles),
        column(["L2", "size"], L2, Attribute::Size),
        column(["L2", "cycles"], L2, Attribute::LatencyCycles),
        column(["L2", "read"], L2, Attribute::ReadBandwidth),
        column(["DRAM", "cycles"], Dram, Attribute::LatencyCycles),
        column(["DRAM", "read"], Dram, Attribute::ReadBandwidth),
    ]
};
/// Letters of a UUID that tell GPUs of a node apart.
const UUID: usize = 12;

/// Says where the rest is.
const MORE: &str = "`--details` has the report of each GPU, and so has a file (`--output FILE`).";

/// The report, for a terminal or for paper.
pub fn text(node: &Node, terminal: &Terminal, extent: Extent) -> String {
    let mut out = one::beginning(&head(node), terminal);
    out.push('\n');
    for (i, line) in table(node).lines().enumerate() {
        out.push_str(&if i < 2 { terminal.heading(line) } else { line.to_owned() });
        out.push('\n');
    }
    let failures: Vec<(String, String)> =
        node.gpus.iter().filter_map(|gpu| Some((gpu.device.clone(), gpu.failure.clone()?))).collect();
    terminal.reasons(&mut out, "Not measured", &failures);
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

/// What it is of; first of all whether anything real was measured.
fn head(node: &Node) -> Vec<String> {
    let measured: Vec<&Topology> = node.measured().map(|(_, topology)| topology).collect();
    let mut lines = Vec::new();
    if measured.iter().any(|topology| topology.run.simulated) {
        lines.push(SIMULATED.to_owned());
    }
    let products = products(measured.iter().map(|topology| topology.device.name.as_str()));
    let how = if node.together && measured.len() > 1 { ", measured at the same time" } else { "" };
    lines.push(format!("{products}{how}"));
    lines.push(run(measured.iter().copied(), &node.tool_version, &node.started, node.duration_s));
    lines.extend(node.host.as_ref().map(surroundings::host));
    lines
}

/// The products of several GPUs, each with how many there are: `2 x NVIDIA H200, 1 x NVIDIA H100`.
pub(super) fn products<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut products: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match products.iter_mut().find(|(other, _)| *other == name) {
            Some((_, count)) => *count += 1,
            None => products.push((name, 1)),
        }
    }
    products.iter().map(|(name, count)| format!("{count} x {name}")).collect::<Vec<_>>().join(", ")
}

/// By what and when several results of one run were measured. They have effort and seed in common.
pub(super) fn run<'t>(
    mut measured: impl Iterator<Item = &'t Topology> + Clone,
    tool_version: &str,
    started: &str,
    duration_s: f64,
) -> String {
    let driver = measured.clone().find_map(|topology| topology.device.driver_version.as_deref());
    let driver = driver.map_or(String::new(), |version| format!("; driver {version}"));
    let (effort, seed) = measured.next().map_or(("", 0), |topology| (topology.run.effort.as_str(), topology.run.seed));
    format!("strata {tool_version}, {effort} effort, seed {seed}, {started}, {duration_s:.1} s{driver}")
}

fn table(node: &Node) -> String {
    // A column of which nothing was found is left out.
    let has = |column: &&Column| {
        node.measured().any(|(_, topology)| topology.element(column.element).finding(column.attribute).is_some())
    };
    let columns: Vec<&Column> = COLUMNS.iter().filter(has).collect();
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    // A title that goes on over the next column is said once.
    let title = |(i, column): (usize, &&Column)| match i > 0 && columns[i - 1].title[0] == column.title[0] {
        true => "",
        false => column.title[0],
    };
    table.set_header(["GPU", "UUID"].into_iter().chain(columns.iter().enumerate().map(title)));
    table.add_row(["", ""].into_iter().chain(columns.iter().map(|column| column.title[1])));
    for gpu in &node.gpus {
        table
            .add_row([gpu.device.clone(), uuid(gpu)].into_iter().chain(columns.iter().map(|column| cell(gpu, column))));
    }
    for at in 0..columns.len() {
        if let Some(column) = table.column_mut(at + 2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    trimmed(&table)
}

fn uuid(gpu: &NodeGpu) -> String {
    let uuid = gpu.topology.as_ref().and_then(|topology| topology.device.uuid.as_deref());
    uuid.map_or("-".to_owned(), |uuid| uuid.chars().take(UUID).collect())
}

/// A value as short as it can be.
fn cell(gpu: &NodeGpu, column: &Column) -> String {
    let Some(topology) = &gpu.topology else { return "-".to_owned() };
    let Some(finding) = topology.element(column.element).finding(column.attribute) else { return "-".to_owned() };
    words::cell(finding, &|finding| match (finding.unit.as_deref(), finding.number()) {
        (Some("cycles"), Some(cycles)) => format!("{cycles:.1}"),
        (_, Some(x)) => words::amount(finding, x),
        (_, None) => words::alone(finding),
    })
}

/// What all GPUs warn of once, and what some warn of by GPU.
fn warnings(node: &Node) -> Vec<String> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for (device, topology) in node.measured() {
        for warning in &topology.run.warnings {
            match all.iter_mut().find(|(other, _)| other == warning) {
                Some((_, devices)) => devices.push(device),
                None => all.push((warning, vec![device])),
            }
        }
    }
    let everywhere = node.measured().count();
    let line = |(warning, devices): (&str, Vec<&str>)| match devices.len() == everywhere {
        true => warning.to_owned(),
        false => format!("{}: {warning}", devices.join(", ")),
    };
    all.into_iter().map(line).collect()
}
