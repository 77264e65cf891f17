//! A discovery as metrics of Prometheus, for the textfile collector of its node exporter.
//!
//! An attribute is a metric, an element a label, and the ends of an interval are metrics beside that of the value. All are in base
//! units: seconds, bytes, hertz, ratios. Every series names its GPU by the labels of NVIDIA's DCGM exporter.

use std::collections::BTreeMap;
use std::fmt::Write;

use strata_model::attribute::{Attribute, FINGERPRINT, Kind};
use strata_model::topology::{ElementName, Finding, Topology};

/// Nanoseconds in a second, and hertz in a megahertz.
const NS: f64 = 1e9;
const MHZ: f64 = 1e6;
/// Digits of the domain in a PCI address as the DCGM exporter writes it.
const DOMAIN: usize = 8;

/// The metrics of GPUs, as text with a newline at its end; each with its number on the node, where the result has several.
pub fn prometheus(gpus: &[(Option<u32>, &Topology)]) -> String {
    let mut page = Page::default();
    for &(gpu, topology) in gpus {
        page.gpu = labels_of(topology, gpu);
        page.run(topology);
        for (name, element) in &topology.elements {
            for (attribute, finding) in element.findings() {
                page.finding(*name, attribute, finding);
            }
        }
    }
    page.text()
}

/// A label with its value.
type Label = (&'static str, String);

/// A metric: what it means, and its series, each with its labels.
struct Metric {
    help: String,
    series: Vec<(Vec<Label>, f64)>,
}

#[derive(Default)]
struct Page {
    /// The labels of the GPU whose metrics come next.
    gpu: Vec<Label>,
    /// By name.
    metrics: BTreeMap<String, Metric>,
}

impl Page {
    fn gauge(&mut self, name: impl Into<String>, help: impl Into<String>, labels: Vec<Label>, value: f64) {
        let new = || Metric { help: help.into(), series: Vec::new() };
        let labels = self.gpu.iter().cloned().chain(labels).collect();
        self.metrics.entry(name.into()).or_insert_with(new).series.push((labels, value));
    }

    /// What is true of the whole run.
    fn run(&mut self, topology: &Topology) {
        let (device, run) = (&topology.device, &topology.run);
        let (major, minor) = device.compute_capability;
        let about = vec![
            ("compute_capability", format!("{major}.{minor}")),
            ("driver_version", device.driver_version.clone().unwrap_or_default()),
            ("strata_version", run.tool_version.clone()),
            ("effort", run.effort.clone()),
            ("simulated", run.simulated.to_string()),
        ];
        self.gauge("strata_gpu_info", "The GPU and the run that measured it; the value is always 1.", about, 1.0);
        if let Some(fingerprint) = topology.element(ElementName::Die).get(FINGERPRINT) {
            let help = "The fingerprint of the die, a hash of its map of SMs; the value is always 1.";
            self.gauge("strata_die_info", help, vec![("fingerprint", fingerprint.clone())], 1.0);
        }
        if let Ok(started) = humantime::parse_rfc3339(&run.started)
            && let Ok(since) = started.duration_since(std::time::UNIX_EPOCH)
        {
            let help = "When the run started, in seconds since 1970.";
            self.gauge("strata_run_start_timestamp_seconds", help, Vec::new(), since.as_secs_f64());
        }
        self.gauge("strata_run_duration_seconds", "How long the run took.", Vec::new(), run.duration_s);
        self.gauge("strata_run_warnings", "Warnings of the run.", Vec::new(), run.warnings.len() as f64);
        if let Some(disturbances) = &run.disturbances {
            let help = "Times at which something else used the GPU during the run.";
            self.gauge("strata_run_disturbances", help, Vec::new(), disturbances.len() as f64);
        }
        if let Some((low, high)) = run.measured_clock_mhz {
            self.gauge("strata_sm_clock_low_hertz", "Lowest SM clock during the run.", Vec::new(), low * MHZ);
            self.gauge("strata_sm_clock_high_hertz", "Highest SM clock during the run.", Vec::new(), high * MHZ);
        }
        let mut counts = [("known", 0.0), ("unknown", 0.0), ("failed", 0.0)];
        for (_, finding) in topology.elements.values().flat_map(|element| element.findings()) {
            counts[if finding.failed { 2 } else { usize::from(!finding.is_known()) }].1 += 1.0;
        }
        for (state, count) in counts {
            let help = "Attributes of the result that are known, that are unknown for a reason, and of which the probe failed.";
            self.gauge("strata_findings", help, vec![("state", state.into())], count);
        }
    }

    /// A number with its interval; of an unknown, its bounds.
    fn finding(&mut self, element: ElementName, attribute: Attribute, finding: &Finding) {
        let Some((base, unit, scale)) = metric(attribute) else { return };
        let about = attribute.about();
        let ends = [
            ("", finding.number(), about.to_owned()),
            ("_low", finding.low, format!("Lower end of the interval. {about}")),
            ("_high", finding.high, format!("Upper end of the interval. {about}")),
        ];
        for (end, number, help) in ends {
            if let Some(number) = number.filter(|number| number.is_finite()) {
                let name = format!("strata_{base}{end}{unit}");
                self.gauge(name, help, vec![("element", element.key().to_owned())], number / scale);
            }
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, Metric { help, series }) in &self.metrics {
            let _ = writeln!(text, "# HELP {name} {}", escaped(help, false));
            let _ = writeln!(text, "# TYPE {name} gauge");
            for (labels, value) in series {
                let all: Vec<String> =
                    labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value, true))).collect();
                let _ = writeln!(text, "{name}{{{}}} {value}", all.join(","));
            }
        }
        text
    }
}

/// The labels that name a GPU. What nobody knows is left out: to Prometheus an empty label is none.
fn labels_of(topology: &Topology, gpu: Option<u32>) -> Vec<Label> {
    let device = &topology.device;
    let number = gpu.map(|gpu| ("gpu", gpu.to_string()));
    let uuid = device.uuid.clone().map(|uuid| ("UUID", uuid));
    let pci = device.pci.as_deref().map(|pci| ("pci_bus_id", bus_id(pci)));
    number.into_iter().chain(uuid).chain(pci).chain([("modelName", device.name.clone())]).collect()
}

/// A PCI address with a domain of eight digits and capital letters.
fn bus_id(pci: &str) -> String {
    let (domain, rest) = pci.split_once(':').unwrap_or(("", pci));
    format!("{domain:0>DOMAIN$}:{rest}").to_uppercase()
}

/// The name of an attribute's metric without its unit, the unit as an ending, and how many of the attribute's units make one;
/// `None` for what is no number.
fn metric(attribute: Attribute) -> Option<(String, &'static str, f64)> {
    let (unit, scale) = match attribute.kind() {
        Kind::Bytes => ("_bytes", 1.0),
        Kind::Cycles => ("_cycles", 1.0),
        Kind::Nanoseconds => ("_seconds", NS),
        Kind::Rate => ("_bytes_per_second", 1.0),
        Kind::ClockRate => ("_bytes_per_cycle", 1.0),
        Kind::OperationRate => ("_operations_per_second", 1.0),
        Kind::OperationClockRate => ("_operations_per_cycle", 1.0),
        // A number whose unit is another one for each element has no metric.
        Kind::Number if attribute.unit().contains(' ') => return None,
        Kind::Count | Kind::Number | Kind::Ways => ("", 1.0),
        _ => return None,
    };
    // The unit is an ending of the metric, and no field of the attribute.
    let (field, within) = attribute.path();
    let per_sm = if within.is_some_and(|within| within.ends_with("_per_sm")) { "_per_sm" } else { "" };
    Some((format!("{}{per_sm}", field.strip_suffix(unit).unwrap_or(field)), unit, scale))
}

/// With the escapes of the format; a quote has one in labels only.
fn escaped(text: &str, is_label: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if is_label => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out
}
