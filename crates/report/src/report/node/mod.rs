//! The GPUs of a node for people: a row for each GPU, how their values differ, and the links between them.

mod html;
mod markdown;
mod text;

pub use html::html;
pub use markdown::markdown;
pub use text::text;

use super::links::NOTHING;
use super::surroundings;
use super::words::{self, SIMULATED};
use crate::compare::{self, Options, Several, Statement};
use strata_model::attribute::Attribute;
use strata_model::facts::DeviceFacts;
use strata_model::links::{self, Link, LinkedGpu, Links};
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

/// The title of a report.
fn title(node: &Node) -> String {
    format!("Memory hierarchies of {}", products(node.measured().map(|(_, topology)| topology.device.name.as_str())))
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

/// The columns of which something was found.
fn columns(node: &Node) -> Vec<&'static Column> {
    let has = |column: &&Column| {
        node.measured().any(|(_, topology)| topology.element(column.element).finding(column.attribute).is_some())
    };
    COLUMNS.iter().filter(has).collect()
}

/// The titles of [`rows`].
fn titles(node: &Node) -> Vec<String> {
    let of_columns = columns(node).into_iter().map(|column| column.title.join(" "));
    ["GPU", "UUID", "PCI", "NUMA"].map(str::to_owned).into_iter().chain(of_columns).collect()
}

/// The names of devices, with a number behind those that are named more than once: a simulated GPU may be there as often as one likes.
pub fn distinct(devices: &[&str]) -> Vec<String> {
    let repeated = |device: &str| devices.iter().filter(|other| **other == device).count() > 1;
    let name = |(number, device): (usize, &&str)| match repeated(device) {
        true => format!("{device}#{number}"),
        false => (*device).to_owned(),
    };
    devices.iter().enumerate().map(name).collect()
}

/// The names of all GPUs, each another one.
fn names(node: &Node) -> Vec<String> {
    distinct(&node.gpus.iter().map(|gpu| gpu.device.as_str()).collect::<Vec<_>>())
}

/// The rows of the GPUs where there is room.
fn rows(node: &Node) -> Vec<Vec<String>> {
    node.gpus.iter().zip(names(node)).map(|(gpu, name)| described(node, gpu, name)).collect()
}

/// The cells of a GPU: its name, its UUID, its PCI address, its NUMA node and what was found.
fn described(node: &Node, gpu: &NodeGpu, name: String) -> Vec<String> {
    let fact = |of: fn(&DeviceFacts) -> Option<String>| device(gpu).and_then(of).unwrap_or_else(|| NOTHING.to_owned());
    let facts = [name, fact(|device| device.uuid.clone()), fact(|device| device.pci.clone())];
    let numa = gpu.numa_node.map_or(NOTHING.to_owned(), |node| node.to_string());
    facts.into_iter().chain([numa]).chain(columns(node).into_iter().map(|column| cell(gpu, column))).collect()
}

/// How a reader gets what a page of several GPUs has no room for.
const SEPARATELY: &str = "Each GPU has a report of its own, with its figures: record the run with --record FOLDER/ and replay one of its files.";

/// The facts of a GPU that are in its result.
fn device(gpu: &NodeGpu) -> Option<&DeviceFacts> {
    gpu.topology.as_ref().map(|topology| &topology.device)
}

/// A value as short as it can be.
fn cell(gpu: &NodeGpu, column: &Column) -> String {
    let Some(topology) = &gpu.topology else { return NOTHING.to_owned() };
    let Some(finding) = topology.element(column.element).finding(column.attribute) else { return NOTHING.to_owned() };
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

/// What GPUs and links warn of.
fn all_warnings(node: &Node, links: Option<&Links>) -> Vec<String> {
    let of_links = links.map(super::links::warnings);
    warnings(node).into_iter().chain(of_links.unwrap_or_default()).collect()
}

/// Why GPUs were not measured, by their names.
fn failures(node: &Node) -> Vec<(String, String)> {
    node.gpus.iter().filter_map(|gpu| Some((gpu.device.clone(), gpu.failure.clone()?))).collect()
}

/// The values of all GPUs beside each other, each by the name of its GPU.
fn values(node: &Node) -> Option<Several> {
    let named = node.gpus.iter().zip(names(node));
    let all: Vec<Statement> =
        named.filter_map(|(gpu, name)| Some(Statement::of_topology(gpu.topology.as_ref()?, &name))).collect();
    (!all.is_empty()).then(|| compare::several(&all, &Options::default()))
}

/// The links as a document of their own. Their GPUs are those that a link names: a GPU that could not be measured alone may have links.
fn links(node: &Node) -> Option<Links> {
    let mut gpus: Vec<LinkedGpu> = Vec::new();
    for device in node.links.iter().flat_map(|link| [&link.from, &link.to]) {
        if !gpus.iter().any(|gpu| gpu.device == *device) {
            gpus.push(linked(node, device));
        }
    }
    (!gpus.is_empty()).then(|| Links {
        schema: links::SCHEMA.to_owned(),
        tool_version: node.tool_version.clone(),
        started: node.started.clone(),
        duration_s: node.duration_s,
        host: node.host.clone(),
        gpus,
        links: node.links.clone(),
    })
}

/// What its own result says of this GPU, or those of the links from it.
fn linked(node: &Node, name: &str) -> LinkedGpu {
    let gpu = node.gpus.iter().find(|gpu| gpu.device == name);
    let from = |link: &&Link| link.from == name;
    let of_links = || node.links.iter().filter(from).find_map(|link| Some(&link.topology.as_ref()?.device));
    let facts = gpu.and_then(device).or_else(of_links);
    LinkedGpu {
        device: name.to_owned(),
        name: facts.map(|facts| facts.name.clone()).unwrap_or_default(),
        uuid: facts.and_then(|facts| facts.uuid.clone()),
        pci: facts.and_then(|facts| facts.pci.clone()),
        numa_node: gpu.and_then(|gpu| gpu.numa_node),
    }
}
