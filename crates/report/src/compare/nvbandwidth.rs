//! What NVIDIA's nvbandwidth measured (`nvbandwidth --json`), beside a result of the same node.
//!
//! A test case of nvbandwidth has a matrix with a number for each GPU or each ordered pair of GPUs. Each of them is compared with the
//! same GPU or link of ours. In a test case of reads the GPU of the row copies from the memory of the GPU of the column, by its SMs or by
//! an engine. In a test case of writes it copies to that memory. No number has an interval. A remark names the test cases for which we
//! have no value.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::comparison::{Comparison, Kind, Side, Stated};
use super::place::Place;
use super::statement::{Claim, Statement, content};
use super::{Document, Options, compare};
use strata_model::attribute::{
    Attribute, BOTH_WAYS_BANDWIDTH, DEVICE_TO_HOST_BANDWIDTH, FROM_PEER_BANDWIDTH, HOST_TO_DEVICE_BANDWIDTH,
    LATENCY_NS, READ_BANDWIDTH, TO_PEER_BANDWIDTH, WRITE_BANDWIDTH,
};
use strata_model::topology::{ElementName, Finding};
use strata_model::units::{BytesPerSecond, Nanoseconds};

/// Bytes per second of what nvbandwidth calls GB/s.
const GIGABYTE_PER_SECOND: f64 = 1e9;

/// Matrices of a test of both ways, one below the other: one way, the other way, and both together.
const BOTH_WAYS_MATRICES: usize = 3;

/// The test cases that measure what we measure, and what it is of ours.
///
/// nvbandwidth's buffers have 512 MiB, more than an L2 holds; the latencies are of 2 MiB, which the other GPU's L2 keeps.
const CASES: [(&str, ElementName, Attribute); 11] = [
    ("device_to_device_memcpy_read_ce", ElementName::PeerDram, FROM_PEER_BANDWIDTH.attribute()),
    ("device_to_device_memcpy_write_ce", ElementName::PeerDram, TO_PEER_BANDWIDTH.attribute()),
    (BOTH_WAYS, ElementName::PeerDram, BOTH_WAYS_BANDWIDTH.attribute()),
    ("device_to_device_memcpy_read_sm", ElementName::PeerDram, READ_BANDWIDTH.attribute()),
    ("device_to_device_memcpy_write_sm", ElementName::PeerDram, WRITE_BANDWIDTH.attribute()),
    ("device_to_device_latency_sm", ElementName::PeerL2, LATENCY_NS.attribute()),
    ("host_to_device_memcpy_ce", ElementName::Host, HOST_TO_DEVICE_BANDWIDTH.attribute()),
    ("device_to_host_memcpy_ce", ElementName::Host, DEVICE_TO_HOST_BANDWIDTH.attribute()),
    ("host_to_device_memcpy_sm", ElementName::Host, READ_BANDWIDTH.attribute()),
    ("device_to_host_memcpy_sm", ElementName::Host, WRITE_BANDWIDTH.attribute()),
    ("host_device_latency_sm", ElementName::Host, LATENCY_NS.attribute()),
];

/// The test case of both ways of which each GPU's engine fetches, as ours do.
const BOTH_WAYS: &str = "device_to_device_bidirectional_memcpy_read_ce";

/// The state of a test case that has numbers.
const PASSED: &str = "Passed";

/// A file of nvbandwidth.
#[derive(Debug, Deserialize)]
pub struct Results {
    nvbandwidth: Content,
}

#[derive(Debug, Deserialize)]
struct Content {
    version: Option<String>,
    #[serde(rename = "Driver Version")]
    driver: Option<String>,
    /// Each as `0: NVIDIA H200 (00000000:19:00): (host)`; only later versions have them.
    #[serde(rename = "GPU Device list", default)]
    gpus: Vec<String>,
    error: Option<String>,
    #[serde(default)]
    testcases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
struct Case {
    name: String,
    #[serde(default)]
    status: String,
    #[serde(rename = "bandwidth_matrix", default)]
    matrix: Vec<Vec<Cell>>,
}

/// A number, which nvbandwidth writes as text; `N/A` where it measured nothing.
#[derive(Clone, Copy, Debug)]
struct Cell(Option<f64>);

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "N/A" {
            return Ok(Cell(None));
        }
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        number.map(|number| Cell(Some(number))).ok_or_else(|| D::Error::custom(format!("`{text}` is no bandwidth")))
    }
}

/// A GPU of nvbandwidth's, or the way from one to another, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Gpu(usize),
    Link { from: usize, to: usize },
}

impl Case {
    /// The number of a GPU or link, if this case has one.
    fn number(&self, of: Of) -> Option<f64> {
        let columns = self.matrix.first()?.len();
        let (row, column) = match of {
            Of::Gpu(gpu) if self.matrix.len() == 1 => (0, gpu),
            Of::Gpu(_) => return None,
            Of::Link { from, to } if self.name == BOTH_WAYS => {
                let total = (BOTH_WAYS_MATRICES - 1) * columns;
                (self.matrix.len() == BOTH_WAYS_MATRICES * columns).then_some((total + from, to))?
            }
            Of::Link { from, to } => (from, to),
        };
        self.matrix.get(row)?.get(column)?.0
    }
}

impl Content {
    /// The number of the GPU with this PCI address, or with this name where the file has no addresses.
    fn gpu(&self, pci: Option<&str>, device: &str) -> Option<usize> {
        if self.gpus.is_empty() {
            return device.strip_prefix("cuda:")?.parse().ok();
        }
        let address = address(pci?)?;
        self.gpus.iter().position(|gpu| gpu.to_ascii_lowercase().contains(&format!("({address})")))
    }

    /// The GPU or link that a result is of. `label` is its name within its file, such as `cuda:0 to cuda:1`.
    fn of(&self, document: &Document, label: Option<&str>) -> Option<Of> {
        let label = label.unwrap_or_default();
        let Document::Topology(topology) = document else { return None };
        let pci = topology.device.pci.as_deref();
        match (&topology.device.peer, label.split_once(" to ")) {
            (None, _) => self.gpu(pci, label).map(Of::Gpu),
            (Some(peer), names) => {
                let (from, to) = names.unwrap_or_default();
                Some(Of::Link { from: self.gpu(pci, from)?, to: self.gpu(peer.pci.as_deref(), to)? })
            }
        }
    }

    fn statement(&self, of: Of, name: &str) -> Statement {
        let mut statement = Statement::new(self.side(name), "not measured by nvbandwidth");
        let passed = |name: &str| self.testcases.iter().find(|case| case.name == name && case.status == PASSED);
        for (case, element, attribute) in CASES {
            let Some(number) = passed(case).and_then(|case| case.number(of)) else { continue };
            let finding = match attribute == LATENCY_NS.attribute() {
                true => Finding::measured(Nanoseconds(number), "").any(),
                false => Finding::measured(BytesPerSecond(number * GIGABYTE_PER_SECOND), "").any(),
            };
            let Some(content) = content(&finding) else { continue };
            let stated = Box::new(Stated { value: finding.value, unit: finding.unit, ..Stated::default() });
            statement.add(Place::of_element(element, attribute), Claim::Known { content, stated, context: false });
        }
        statement
    }

    fn side(&self, name: &str) -> Side {
        let gpus = self.testcases.iter().filter_map(|case| case.matrix.first()).map(Vec::len).max().unwrap_or_default();
        Side {
            name: name.to_owned(),
            kind: Kind::Nvbandwidth,
            device: if gpus == 1 { "one GPU".to_owned() } else { format!("{gpus} GPUs") },
            uuid: None,
            simulated: false,
            driver: self.driver.clone(),
            host: None,
            made: Some(format!("nvbandwidth {}", self.version.as_deref().unwrap_or("of an unknown version"))),
        }
    }

    /// What the file has and is not compared.
    fn remarks(&self) -> Vec<String> {
        let names = |of: &dyn Fn(&&Case) -> bool| {
            self.testcases.iter().filter(of).map(|case| case.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let is_ours = |case: &Case| CASES.iter().any(|(name, ..)| *name == case.name);
        let others = names(&|case| case.status == PASSED && !is_ours(case));
        let waived = names(&|case| case.status != PASSED);
        let mut remarks = vec![
            "nvbandwidth gives one number for each GPU or pair and no interval; --tolerance allows for what varies"
                .into(),
        ];
        remarks.extend(self.error.as_ref().map(|error| format!("nvbandwidth ended with an error: {error}")));
        if !others.is_empty() {
            remarks.push(format!("Not compared, because strata measures nothing like it: {others}"));
        }
        if !waived.is_empty() {
            remarks.push(format!("nvbandwidth has no numbers of {waived}"));
        }
        remarks
    }
}

/// A PCI address without its function, as nvbandwidth writes it: `00000000:19:00`.
fn address(pci: &str) -> Option<String> {
    let mut parts = pci.split('.').next()?.split(':').map(|part| u32::from_str_radix(part, 16).ok());
    let (domain, bus, device) = (parts.next()??, parts.next()??, parts.next()??);
    Some(format!("{domain:08x}:{bus:02x}:{device:02x}"))
}

/// Compares the GPUs and links of one file, each with its name if it is one of several, with what nvbandwidth measured on the same node.
/// The side of nvbandwidth is the second, or the first if it `leads`.
///
/// # Errors
///
/// If none of them is in nvbandwidth's file.
pub fn beside(
    ours: (&[(Document, Option<String>)], &str),
    results: (&Results, &str),
    leads: bool,
    options: &Options,
) -> Result<Comparison, String> {
    let (documents, file) = ours;
    let (Results { nvbandwidth }, their_file) = results;
    let mut whole: Option<Comparison> = None;
    for (document, label) in documents {
        let Some(of) = nvbandwidth.of(document, label.as_deref()) else { continue };
        let theirs = nvbandwidth.statement(of, their_file);
        let mut here = document.statement(file);
        here.claims.retain(|place, _| {
            CASES.iter().any(|(_, element, attribute)| *place == Place::of_element(*element, *attribute))
        });
        let (a, b) = if leads { (&theirs, &here) } else { (&here, &theirs) };
        let one = compare(a, b, options);
        let one = if let Some(label) = label { one.named(label) } else { one };
        whole = Some(if let Some(whole) = whole { whole.and(one) } else { one });
    }
    let mut whole = whole.ok_or_else(|| {
        format!(
            "none of the GPUs of `{file}` is one that `{their_file}` has; give a result of the same node, as `strata links --format \
             json` or `strata discover --device all --links --format json` writes it"
        )
    })?;
    whole.remarks.extend(nvbandwidth.remarks());
    Ok(whole)
}
