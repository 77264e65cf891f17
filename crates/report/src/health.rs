//! The health of a node: each of its GPUs, and each link between them, against the policy of its product.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strata_model::attribute::Value;
use strata_model::facts::{HostFacts, OtherProcesses};
use strata_model::topology::Topology;

use crate::compare::Document;
use crate::policy::{Checked, Policy, PolicyFacts, subject};
use crate::report::acceptance;

/// Name and version of the JSON document.
pub const SCHEMA: &str = "strata/health/1";

/// What came of a check. The order is that of importance: a node has the greatest of its GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every value is within its limits.
    Passed,
    /// Nobody can tell: the GPU is in use, there is no driver, or no policy is for this product.
    Untested,
    /// Nothing is outside its limits, but a value that the policy requires is unknown.
    Incomplete,
    /// A value is outside its limits, the GPU did not answer, or a GPU is missing.
    Failed,
}

/// The health of a node. Within version 1 keys may be added; none goes away or changes its meaning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// Name and version of the format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Version of strata that checked.
    pub tool_version: String,
    /// What came of it.
    pub verdict: Verdict,
    /// The same in one line.
    pub summary: String,
    /// How long it took, in seconds.
    pub duration_s: f64,
    /// The host; absent if the user left it out, or if all GPUs are simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostFacts>,
    /// How many GPUs there should be and are, if the user said how many there should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
    /// The policies.
    pub policies: Vec<PolicyFacts>,
    /// The GPUs, in the order in which they were asked for; none if all policies are for links.
    pub gpus: Vec<GpuHealth>,
    /// The links between them, if a policy is for links: first all from the first GPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkHealth>,
}

/// How many GPUs a node has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Count {
    /// So many there should be.
    pub expected: usize,
    /// So many were found.
    pub found: usize,
}

/// The health of a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GpuHealth {
    /// The name by which it was asked for, such as `cuda:0`.
    pub device: String,
    /// Its UUID, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// The product, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// What came of it.
    pub verdict: Verdict,
    /// The same in one line.
    pub summary: String,
    /// Every limit and what the GPU says, if it was measured and there is a policy for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<Checked>,
}

/// The health of a link: of the way from the SMs and copy engines of one GPU to the memory of another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkHealth {
    /// The GPU whose SMs load and store, by the name by which it was asked for.
    pub from: String,
    /// The GPU whose memory it is.
    pub to: String,
    /// What came of it.
    pub verdict: Verdict,
    /// The same in one line.
    pub summary: String,
    /// Every limit and what the link says, if it was measured and there is a policy for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checked: Option<Checked>,
}

/// A GPU or a link that somebody tried to measure.
#[derive(Clone, Debug)]
pub struct Examined {
    /// The name by which the GPU was asked for.
    pub device: String,
    /// Of a link, the GPU whose memory it is.
    pub to: Option<String>,
    /// Its UUID, where it is known without a measurement.
    pub uuid: Option<String>,
    /// What came of the measurement.
    pub outcome: Outcome,
}

/// What came of a measurement.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// There is a result.
    Measured(Box<Topology>),
    /// The GPU or the link is at fault, and how: it did not answer in time, or the program crashed in its driver.
    Sick(String),
    /// There is no result, and nobody knows whether it is at fault.
    Untested(String),
}

/// Holds each GPU and each link against the policy of its product.
pub fn check(policies: &[&Policy], examined: Vec<Examined>, count: Option<Count>, duration_s: f64) -> Health {
    let host = examined.iter().find_map(|one| match &one.outcome {
        Outcome::Measured(topology) => topology.run.host.clone(),
        _ => None,
    });
    let (mut gpus, mut links) = (Vec::new(), Vec::new());
    for Examined { device, to, uuid, outcome } in examined {
        match to {
            None => gpus.push(gpu(policies, device, uuid, outcome)),
            Some(to) => {
                let (verdict, summary, checked) = held(policies, &format!("{device} to {to}"), outcome);
                links.push(LinkHealth { from: device, to, verdict, summary, checked });
            }
        }
    }
    let short_of = count.filter(|count| count.found < count.expected);
    let parts: [Vec<Part<'_>>; 2] =
        [gpus.iter().map(Part::of_gpu).collect(), links.iter().map(Part::of_link).collect()];
    let worst = parts.iter().flatten().map(|part| part.verdict).max().unwrap_or(Verdict::Untested);
    Health {
        schema: SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        verdict: if short_of.is_some() { Verdict::Failed } else { worst },
        summary: summary(&parts, worst, short_of),
        duration_s,
        host,
        count,
        policies: policies.iter().map(|policy| policy.facts()).collect(),
        gpus,
        links,
    }
}

fn gpu(policies: &[&Policy], device: String, uuid: Option<String>, outcome: Outcome) -> GpuHealth {
    let facts = if let Outcome::Measured(topology) = &outcome { Some(&topology.device) } else { None };
    let (product, known) = (facts.map(|facts| facts.name.clone()), facts.and_then(|facts| facts.uuid.clone()));
    let (verdict, summary, checked) = held(policies, &device, outcome);
    GpuHealth { device, uuid: known.or(uuid), product, verdict, summary, checked }
}

/// What comes of the policies for a GPU or a link of this name.
fn held(policies: &[&Policy], name: &str, outcome: Outcome) -> (Verdict, String, Option<Checked>) {
    let topology = match outcome {
        Outcome::Measured(topology) => topology,
        Outcome::Sick(why) => return (Verdict::Failed, why, None),
        Outcome::Untested(why) => return (Verdict::Untested, why, None),
    };
    let disturbed = disturbed(&topology);
    let simulated = if topology.run.simulated { "the simulated " } else { "" };
    let peer = topology.device.peer.as_ref().map(|peer| peer.name.as_str());
    let of = subject(&format!("{simulated}{}", topology.device.name), peer);
    let document = Document::Topology(topology);
    // A policy of another product refuses it.
    let checked = policies.iter().find_map(|policy| policy.checked(&document, name).ok());
    let (verdict, summary) = match &checked {
        Some(checked) => judged(checked, disturbed),
        None => (Verdict::Untested, format!("no policy is for {of}; give one with --policy")),
    };
    (verdict, summary, checked)
}

/// Whether something else used the GPU during the run.
fn disturbed(topology: &Topology) -> bool {
    let run = &topology.run;
    let shared = [&run.telemetry_start, &run.telemetry_end]
        .iter()
        .any(|telemetry| matches!(telemetry.processes, OtherProcesses::Visible(1..)));
    shared || run.disturbances.as_ref().is_some_and(|all| !all.is_empty())
}

/// What the limits say. If others use the GPU, what does not pass says nothing of the GPU.
fn judged(checked: &Checked, disturbed: bool) -> (Verdict, String) {
    let more = |count: usize| if count > 1 { format!("; and {} more", count - 1) } else { String::new() };
    let (verdict, what) = match (checked.outside.first(), checked.unmet.first()) {
        (Some(first), _) => (Verdict::Failed, format!("{}{}", acceptance::line(first), more(checked.outside.len()))),
        (None, Some(first)) => {
            let more = more(checked.unmet.len());
            (Verdict::Incomplete, format!("{} is required and unknown: {}{more}", first.place, first.reason))
        }
        (None, None) => return (Verdict::Passed, format!("{} values within their limits", checked.within.len())),
    };
    match disturbed {
        true => (Verdict::Untested, format!("others used the GPU; check it again when it is idle. {what}")),
        false => (verdict, what),
    }
}

/// A GPU or a link, as the line for the node needs it.
struct Part<'h> {
    name: String,
    verdict: Verdict,
    summary: &'h str,
    checked: Option<&'h Checked>,
}

impl<'h> Part<'h> {
    fn of_gpu(gpu: &'h GpuHealth) -> Self {
        let GpuHealth { device, verdict, summary, checked, .. } = gpu;
        Part { name: device.clone(), verdict: *verdict, summary, checked: checked.as_ref() }
    }

    fn of_link(link: &'h LinkHealth) -> Self {
        let LinkHealth { from, to, verdict, summary, checked } = link;
        Part { name: format!("{from} to {to}"), verdict: *verdict, summary, checked: checked.as_ref() }
    }
}

/// The node in one line, the worst first. Node Problem Detector shows 80 characters of it.
fn summary([gpus, links]: &[Vec<Part<'_>>; 2], worst: Verdict, short_of: Option<Count>) -> String {
    let missing =
        short_of.map(|count| format!("{} of {} GPUs are missing", count.expected - count.found, count.expected));
    let found = [such(gpus, ["GPU", "GPUs"], worst), such(links, ["link", "links"], worst)];
    let said: Vec<String> = missing.into_iter().chain(found.into_iter().flatten()).collect();
    if said.is_empty() { "nothing was found to check".to_owned() } else { said.join("; ") }
}

/// Those of the parts that the worst verdict of the node is of.
fn such(parts: &[Part<'_>], [one, many]: [&str; 2], worst: Verdict) -> Option<String> {
    let mut such = parts.iter().filter(|part| part.verdict == worst);
    let first = such.next()?;
    Some(match (worst, such.count() + 1, parts.len()) {
        (Verdict::Passed, 1, _) => format!("the {one} passed"),
        (Verdict::Passed, count, _) => format!("all {count} {many} passed"),
        (verdict, _, 1) => format!("{} {}: {}", first.name, word(verdict), short(first)),
        (verdict, count, all) => format!("{count} of {all} {many} {}: {} {}", word(verdict), first.name, short(first)),
    })
}

/// What is wrong with a GPU or a link, as short as it can be said.
fn short(part: &Part<'_>) -> String {
    let outside = part.checked.iter().filter(|_| part.verdict == Verdict::Failed).flat_map(|checked| &checked.outside);
    let Some((first, beyond)) = outside.take(1).find_map(|first| Some((first, first.beyond_percent?))) else {
        return part.summary.to_owned();
    };
    let stated = first.stated.value.as_ref().and_then(Value::number).or(first.stated.high);
    let is_below = first.low.zip(stated).is_some_and(|(low, stated)| stated < low);
    format!("{} is {beyond:.0} % {} its limit", first.place, if is_below { "below" } else { "above" })
}

/// As a word of a sentence.
pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Untested => "untested",
        Verdict::Incomplete => "incomplete",
        Verdict::Failed => "failed",
    }
}
