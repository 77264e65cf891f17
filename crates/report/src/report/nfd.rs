//! A discovery as features of a Kubernetes node, for the local source of Node Feature Discovery.
//!
//! A few numbers become labels of the node. All others are features without a label, which rules can use.

use std::fmt::Write;

use strata_model::attribute::{
    Attribute, BANKS, FAR_LATENCY, FINGERPRINT, Kind, LATENCY_NS, LINE_SIZE, NEAR_LATENCY, PARTITIONS, REACH,
    READ_BANDWIDTH, SIZE,
};
use strata_model::topology::{ElementName, Topology};

use super::expiry::Expiry;

/// What all names begin with.
const PREFIX: &str = "strata.dev/";
/// Longest value of a label, in letters.
const LONGEST: usize = 63;
/// Most bytes of a file that Node Feature Discovery reads.
const MOST_BYTES: usize = 1 << 16;
/// What follows is no label.
const NO_LABEL: &str = "# +no-label\n";

/// The features of GPUs, as text with a newline at its end, valid as long as `expiry` says after the first run began. Each GPU has its number on
/// the node, where the result has several.
pub fn nfd(gpus: &[(Option<u32>, &Topology)], expiry: Expiry) -> String {
    let mut text = String::from("# Written by strata; the next run replaces it.\n");
    if let Some(expires) = gpus.iter().filter_map(|(_, topology)| expiry.end(topology)).min() {
        let _ = writeln!(text, "# +expiry-time={}", humantime::format_rfc3339_seconds(expires));
    }
    let mut rest = Vec::new();
    for &(gpu, topology) in gpus {
        labels(&mut text, &mut rest, topology, gpu);
    }
    // A file that is too large is not read at all, so the last features are left out.
    for feature in rest {
        if text.len() + feature.len() <= MOST_BYTES {
            text.push_str(&feature);
        }
    }
    text
}

/// The labels of a GPU, and its features without one.
fn labels(text: &mut String, rest: &mut Vec<String>, topology: &Topology, gpu: Option<u32>) {
    let of_gpu = gpu.map_or(String::new(), |gpu| format!("gpu-{gpu}."));
    let device = &topology.device;
    let mut label = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "{PREFIX}{of_gpu}{name}={value}");
        }
    };
    label("gpu.model", &allowed(&device.name));
    label("gpu.sms", &if device.multiprocessors > 0 { device.multiprocessors.to_string() } else { String::new() });
    label("gpu.simulated", &topology.run.simulated.to_string());
    if let Some(fingerprint) = topology.element(ElementName::Die).get(FINGERPRINT) {
        label("die.fingerprint", &allowed(fingerprint));
    }
    for (element, found) in &topology.elements {
        for (attribute, finding) in found.findings() {
            let Some(value) = finding.number().and_then(|number| whole(attribute, number)) else { continue };
            let name = format!("{element}.{}", name(attribute));
            match is_label(*element, attribute) {
                true => label(&name, &value),
                false => rest.push(format!("{NO_LABEL}{PREFIX}{of_gpu}{name}={value}\n")),
            }
        }
    }
}

/// Whether it is a label of the node: what one would choose a node by.
fn is_label(element: ElementName, attribute: Attribute) -> bool {
    use ElementName::{Dram, L1, L2, Shared, TlbL1, TlbL2, TlbL3};
    let all: [(&[ElementName], Attribute); 9] = [
        (&[L1, Shared, L2, Dram], SIZE.attribute()),
        (&[L1, L2], LINE_SIZE.attribute()),
        (&[L1, Shared, L2, Dram], LATENCY_NS.attribute()),
        (&[L2, Dram], READ_BANDWIDTH.attribute()),
        (&[Shared], BANKS.attribute()),
        (&[L2], PARTITIONS.attribute()),
        (&[L2], NEAR_LATENCY.attribute()),
        (&[L2], FAR_LATENCY.attribute()),
        (&[TlbL1, TlbL2, TlbL3], REACH.attribute()),
    ];
    all.iter().any(|(elements, named)| *named == attribute && elements.contains(&element))
}

/// The attribute with its unit: those of JSON, with a hyphen before the unit.
fn name(attribute: Attribute) -> String {
    let (field, _) = attribute.path();
    let unit = match attribute.kind() {
        Kind::Bytes => "-bytes",
        Kind::Cycles => "-cycles",
        Kind::Nanoseconds => "-ns",
        Kind::Rate => "-bytes-per-s",
        Kind::OperationRate => "-operations-per-s",
        _ => "",
    };
    let field = field.strip_suffix(&unit.replace('-', "_")).unwrap_or(field);
    format!("{field}{unit}")
}

/// The number as a whole one, so that rules can ask for more or less; `None` where rounding would lose what it says.
fn whole(attribute: Attribute, number: f64) -> Option<String> {
    let is_whole = matches!(
        attribute.kind(),
        Kind::Bytes | Kind::Cycles | Kind::Nanoseconds | Kind::Rate | Kind::OperationRate | Kind::Count | Kind::Ways
    );
    (is_whole && number.abs() < i64::MAX as f64).then(|| format!("{:.0}", number.round()))
}

/// A text as the value of a label: letters, digits, `-`, `_` and `.`, the first and the last a letter or a digit.
fn allowed(text: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let text: String = text.chars().map(legal).collect();
    let begun = text.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let cut = &begun[..begun.len().min(LONGEST)];
    cut.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()
}
