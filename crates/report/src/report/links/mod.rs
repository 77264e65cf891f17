//! The links of a node for people: a matrix of each quantity, with a row for each GPU that loads and a column for each whose memory it is.

mod html;
mod markdown;
mod text;

pub use html::html;
pub use markdown::markdown;
pub use text::text;

pub(super) use html::{content, places};
pub(super) use markdown::sections;

use super::words::{self, SIMULATED};
use super::{node, surroundings};
use strata_model::attribute::{Attribute, KEPT_BY};
use strata_model::links::{Link, LinkedGpu, Links};
use strata_model::topology::{ElementName, Finding, Topology};

/// One quantity of each link.
struct Quantity {
    /// Title of its matrix, with the unit.
    title: &'static str,
    element: ElementName,
    attribute: Attribute,
    /// Of the value's unit in the unit that is shown.
    scale: f64,
    /// Digits behind the point.
    digits: usize,
}

/// What is shown, in this order: latencies in cycles, rates in GB/s.
const QUANTITIES: [Quantity; 8] = {
    const fn cycles(title: &'static str, element: ElementName, attribute: Attribute) -> Quantity {
        Quantity { title, element, attribute, scale: 1.0, digits: 0 }
    }
    const fn rate(title: &'static str, attribute: Attribute) -> Quantity {
        Quantity { title, element: ElementName::PeerDram, attribute, scale: 1e-9, digits: 1 }
    }
    [
        cycles("Latency of the other GPU's L2 (cycles)", ElementName::PeerL2, Attribute::LatencyCycles),
        cycles("Latency of an atomic in the other GPU's L2 (cycles)", ElementName::PeerL2, Attribute::AtomicLatency),
        cycles("Latency of the other GPU's memory (cycles)", ElementName::PeerDram, Attribute::LatencyCycles),
        rate("Reads by SMs (GB/s)", Attribute::ReadBandwidth),
        rate("Writes by SMs (GB/s)", Attribute::WriteBandwidth),
        rate("Copies from the other GPU by copy engines (GB/s)", Attribute::FromPeerBandwidth),
        rate("Copies to the other GPU by copy engines (GB/s)", Attribute::ToPeerBandwidth),
        rate("Copies both ways at the same time, both together (GB/s)", Attribute::BothWaysBandwidth),
    ]
};

/// What stands where a GPU meets itself, and for what was not asked or not measured.
pub(super) const NOTHING: &str = "-";
/// Letters of a UUID that tell GPUs of a node apart.
pub(super) const UUID: usize = 12;

impl Quantity {
    /// What was found of it on a link.
    fn finding<'t>(&self, topology: &'t Topology) -> Option<&'t Finding> {
        topology.element(self.element).finding(self.attribute)
    }

    /// A number of it, in the unit of the title.
    fn shown(&self, number: f64) -> String {
        format!("{:.*}", self.digits, number * self.scale)
    }

    /// A value as short as it can be.
    fn cell(&self, link: Option<&Link>) -> String {
        let found = link.and_then(|link| self.finding(link.topology.as_ref()?));
        match found {
            None => NOTHING.to_owned(),
            Some(finding) => match finding.number() {
                Some(number) => self.shown(number),
                None => words::UNKNOWN.to_owned(),
            },
        }
    }

    /// Whether anything is said of it at all.
    fn is_there(&self, links: &Links) -> bool {
        links.measured().any(|(_, topology)| self.finding(topology).is_some())
    }

    /// The greatest difference between the two directions of two GPUs, as a share, with their names.
    fn asymmetry<'l>(&self, links: &'l Links) -> Option<(f64, &'l str, &'l str)> {
        let number = |link: &Link| self.finding(link.topology.as_ref()?)?.number();
        let of = |link: &'l Link| {
            let back = links.link(&link.to, &link.from)?;
            let (one, other) = (number(link)?, number(back)?);
            let share = (one - other).abs() / one.max(other).max(f64::MIN_POSITIVE);
            Some((share, link.from.as_str(), link.to.as_str()))
        };
        links.links.iter().filter_map(of).max_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// What it is of; first of all whether anything real was measured.
fn head(links: &Links) -> Vec<String> {
    let mut lines = Vec::new();
    let measured: Vec<&Topology> = links.measured().map(|(_, topology)| topology).collect();
    if measured.iter().any(|topology| topology.run.simulated) {
        lines.push(SIMULATED.to_owned());
    }
    lines.push(format!("Links of {}", node::products(links.gpus.iter().map(|gpu| gpu.name.as_str()))));
    lines.push(node::run(measured.iter().copied(), &links.tool_version, &links.started, links.duration_s));
    lines.extend(links.host.as_ref().map(surroundings::host));
    lines
}

/// The cells of a GPU: name, UUID, PCI address, NUMA node, connections.
fn described(links: &Links, gpu: &LinkedGpu) -> [String; 5] {
    let of = |text: &Option<String>, most: usize| {
        text.as_ref().map_or(NOTHING.to_owned(), |text| text.chars().take(most).collect())
    };
    let peers = || links.measured().filter(|(link, _)| link.from == gpu.device);
    let connections = peers().find_map(|(_, topology)| {
        let peer = topology.device.peer.as_ref()?;
        let generation = peer.nvlink_generation.map_or(String::new(), |of| format!(", generation {of}"));
        Some(format!("{}{generation}", peer.nvlinks?))
    });
    [
        gpu.device.clone(),
        of(&gpu.uuid, UUID),
        of(&gpu.pci, usize::MAX),
        gpu.numa_node.map_or(NOTHING.to_owned(), |node| node.to_string()),
        connections.unwrap_or_else(|| NOTHING.to_owned()),
    ]
}

/// What is no number: which caches keep lines of another GPU, and whether its atomics go over the link.
fn besides(links: &Links) -> Vec<String> {
    let kept = |topology: &Topology| {
        let elements = topology.element(ElementName::PeerL2).get(KEPT_BY)?;
        let titles: Vec<&str> = elements.names.iter().map(|name| name.title()).collect();
        Some(match titles.is_empty() {
            true => "No cache of a GPU keeps lines of another GPU's memory.".to_owned(),
            false => format!("Lines of another GPU's memory are kept by: {}.", titles.join(", ")),
        })
    };
    let atomics = |topology: &Topology| {
        let native = topology.device.peer.as_ref()?.native_atomics?;
        let how = if native { "go over the link" } else { "do not go over the link" };
        Some(format!("Atomics on another GPU's memory {how}, as the driver says."))
    };
    by_link(links, kept).into_iter().chain(by_link(links, atomics)).collect()
}

/// What is said of links, once for all of them if it is the same.
fn by_link(links: &Links, say: impl Fn(&Topology) -> Option<String>) -> Vec<String> {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for (link, topology) in links.measured() {
        let Some(what) = say(topology) else { continue };
        let name = format!("{} to {}", link.from, link.to);
        match said.iter_mut().find(|(other, _)| *other == what) {
            Some((_, names)) => names.push(name),
            None => said.push((what, vec![name])),
        }
    }
    let everywhere = links.measured().count();
    let line = |(what, names): (String, Vec<String>)| match names.len() == everywhere {
        true => what,
        false => format!("{}: {what}", names.join(", ")),
    };
    said.into_iter().map(line).collect()
}

/// Why links were not measured.
fn failures(links: &Links) -> Vec<(String, String)> {
    let failed = |link: &Link| Some((format!("{} to {}", link.from, link.to), link.failure.clone()?));
    links.links.iter().filter_map(failed).collect()
}

/// Says whose place is where in a matrix.
const READING: &str = "A row is the GPU whose SMs and copy engines work, a column the GPU whose memory it is.";

/// The titles of [`described`].
const COLUMNS: [&str; 5] = ["GPU", "UUID", "PCI", "NUMA", "NVLink"];

/// How far the two directions of a quantity differ, in words.
fn symmetry(links: &Links, quantity: &Quantity) -> Option<String> {
    let (share, from, to) = quantity.asymmetry(links)?;
    Some(format!("The two directions differ by at most {:.1} % ({from} and {to}).", share * 100.0))
}

/// Reasons of what is unknown, with the quantity and the links.
fn unknowns(links: &Links) -> Vec<(String, String)> {
    let of = |quantity: &'static Quantity| {
        let reason = |topology: &Topology| {
            let finding = quantity.finding(topology).filter(|finding| !finding.is_known())?;
            Some(words::reason(finding))
        };
        by_link(links, reason).into_iter().map(|why| (quantity.title.to_owned(), why))
    };
    QUANTITIES.iter().flat_map(of).collect()
}

pub(super) fn warnings(links: &Links) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (_, topology) in links.measured() {
        for warning in &topology.run.warnings {
            if !all.contains(warning) {
                all.push(warning.clone());
            }
        }
    }
    let of =
        |warning: &String| by_link(links, |topology| topology.run.warnings.contains(warning).then(|| warning.clone()));
    all.iter().flat_map(of).collect()
}
