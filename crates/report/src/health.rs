//! The health of a node: each of its GPUs against the policy of its product.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strata_model::attribute::Value;
use strata_model::facts::{HostFacts, OtherProcesses};
use strata_model::topology::Topology;

use crate::compare::Document;
use crate::policy::{Checked, Policy, PolicyFacts};
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
    /// The GPUs, in the order in which they were asked for.
    pub gpus: Vec<GpuHealth>,
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

/// A GPU that somebody tried to measure.
#[derive(Clone, Debug)]
pub struct Examined {
    /// The name by which it was asked for.
    pub device: String,
    /// Its UUID, where it is known without a measurement.
    pub uuid: Option<String>,
    /// What came of the measurement.
    pub outcome: Outcome,
}

/// What came of a measurement.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It has a result.
    Measured(Box<Topology>),
    /// The GPU is at fault, and how: it did not answer in time, or the program crashed in its driver.
    Sick(String),
    /// There is no result, and nobody knows whether the GPU is at fault.
    Untested(String),
}

/// Holds each GPU against the policy of its product.
pub fn check(policies: &[&Policy], examined: Vec<Examined>, count: Option<Count>, duration_s: f64) -> Health {
    let host = examined.iter().find_map(|one| match &one.outcome {
        Outcome::Measured(topology) => topology.run.host.clone(),
        _ => None,
    });
    let gpus: Vec<GpuHealth> = examined.into_iter().map(|one| gpu(policies, one)).collect();
    let short_of = count.filter(|count| count.found < count.expected);
    let worst = gpus.iter().map(|gpu| gpu.verdict).max().unwrap_or(Verdict::Untested);
    Health {
        schema: SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        verdict: if short_of.is_some() { Verdict::Failed } else { worst },
        summary: summary(&gpus, worst, short_of),
        duration_s,
        host,
        count,
        policies: policies.iter().map(|policy| policy.facts()).collect(),
        gpus,
    }
}

fn gpu(policies: &[&Policy], Examined { device, uuid, outcome }: Examined) -> GpuHealth {
    let unmeasured = |verdict, summary| GpuHealth {
        device: device.clone(),
        uuid: uuid.clone(),
        product: None,
        verdict,
        summary,
        checked: None,
    };
    let topology = match outcome {
        Outcome::Measured(topology) => topology,
        Outcome::Sick(why) => return unmeasured(Verdict::Failed, why),
        Outcome::Untested(why) => return unmeasured(Verdict::Untested, why),
    };
    let (product, disturbed) = (topology.device.name.clone(), disturbed(&topology));
    let uuid = topology.device.uuid.clone().or_else(|| uuid.clone());
    let of = if topology.run.simulated { "the simulated " } else { "" };
    let document = Document::Topology(topology);
    // A policy of another product refuses it.
    let checked = policies.iter().find_map(|policy| policy.checked(&document, &device).ok());
    let (verdict, summary) = match &checked {
        Some(checked) => judged(checked, disturbed),
        None => (Verdict::Untested, format!("no policy is for {of}{product}; give one with --policy")),
    };
    GpuHealth { product: Some(product), uuid, checked, ..unmeasured(verdict, summary) }
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

/// The node in one line, the worst first. Node Problem Detector shows 80 characters of it.
fn summary(gpus: &[GpuHealth], worst: Verdict, short_of: Option<Count>) -> String {
    let missing =
        short_of.map(|count| format!("{} of {} GPUs are missing", count.expected - count.found, count.expected));
    let mut such = gpus.iter().filter(|gpu| gpu.verdict == worst);
    let found = such.next().map(|first| match (worst, such.count() + 1, gpus.len()) {
        (Verdict::Passed, 1, _) => "the GPU passed".to_owned(),
        (Verdict::Passed, count, _) => format!("all {count} GPUs passed"),
        (verdict, _, 1) => format!("{} {}: {}", first.device, word(verdict), short(first)),
        (verdict, count, all) => format!("{count} of {all} GPUs {}: {} {}", word(verdict), first.device, short(first)),
    });
    match (missing, found) {
        (Some(missing), Some(found)) => format!("{missing}; {found}"),
        (one, other) => one.or(other).unwrap_or_else(|| "no GPU was found".to_owned()),
    }
}

/// What is wrong with a GPU, as short as it can be said.
fn short(gpu: &GpuHealth) -> String {
    let outside = gpu.checked.iter().filter(|_| gpu.verdict == Verdict::Failed).flat_map(|checked| &checked.outside);
    let Some((first, beyond)) = outside.take(1).find_map(|first| Some((first, first.beyond_percent?))) else {
        return gpu.summary.clone();
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
