//! The order in which the questions about the topology are asked: the clock, the elements, the clock again.

use std::collections::BTreeMap;

use crate::asking::{Asking, ClockSeen, Progress, Stage};
use crate::consistent;
use crate::probe::{self, Effort, Notebook, latency};
use crate::time;
use strata_model::evidence::Evidence;
use strata_model::experiment::Experiment;
use strata_model::facts::DeviceFacts;
use strata_model::samples::{Failure, Samples};
use strata_model::source::Source;
use strata_model::topology::{self, Element, ElementName, RunInfo, Topology};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Elements; all when empty.
    pub only: Vec<ElementName>,
    /// How much to measure.
    pub effort: Effort,
    /// Seed for all random choices.
    pub seed: u64,
    /// Whether the bandwidth of the memories is asked for, too.
    pub bandwidth: bool,
    /// Whether atomics a second are asked for, too: wherever bandwidth is, but in a recording that was made before they were measured.
    pub atomics: bool,
}

impl Request {
    fn wants(&self, element: ElementName) -> bool {
        self.only.is_empty() || self.only.contains(&element)
    }
}

/// What was found.
#[derive(Debug)]
pub struct Discovery {
    /// The elements.
    pub elements: BTreeMap<ElementName, Element>,
    /// What the clock did.
    pub clock: ClockSeen,
    /// Experiments read.
    pub experiments: usize,
    /// What the findings rest on.
    pub evidence: Evidence,
    /// Time by stage: measuring and inferring.
    pub stages: Vec<Stage>,
}

impl Discovery {
    /// The result. `replayed_from` names the recording of a replay.
    pub fn into_topology(self, device: DeviceFacts, run: RunInfo, replayed_from: Option<&str>) -> Topology {
        Topology {
            schema: topology::SCHEMA.into(),
            device,
            run: self.clock.added_to(run),
            elements: self.elements,
            replayed_from: replayed_from.map(str::to_owned),
        }
    }
}

/// Asks every probe until none lacks anything.
pub fn discover(
    source: &mut dyn Source,
    facts: &DeviceFacts,
    question: &Request,
    progress: &mut dyn FnMut(Progress),
) -> Discovery {
    let wanted: Vec<ElementName> =
        ElementName::ALL.into_iter().filter(|e| e.is_asked() && question.wants(*e)).collect();
    let mut notebook = Notebook::new(facts.clone(), question.effort, question.seed)
        .with_bandwidth(question.bandwidth)
        .with_atomics(question.atomics);
    let weights = wanted.iter().map(|name| time::of_element(*name)).collect();
    let mut asking = Asking::new(source, weights, progress);
    let (mut elements, mut clock): (BTreeMap<ElementName, Element>, _) =
        asking.with_clock(&mut notebook, |asking, notebook| {
            wanted
                .into_iter()
                .map(|name| {
                    let element = asking.question(notebook, name.key(), name.title(), |n| probe::element(name, n));
                    (name, element)
                })
                .collect()
        });
    clock.warnings.extend(consistent::enforce(&mut elements));
    for element in elements.values_mut() {
        element.extend(latency::nanoseconds(element, clock.held.as_ref()));
    }
    let stages = asking.into_stages();
    Discovery { elements, clock, experiments: notebook.len(), evidence: notebook.into_evidence(), stages }
}

/// What timings of another tool show, which are all there is: nothing can be asked.
pub fn import(
    measured: impl IntoIterator<Item = (u32, Experiment, Result<Samples, Failure>)>,
    facts: &DeviceFacts,
    question: &Request,
) -> Discovery {
    let mut notebook = Notebook::new(facts.clone(), question.effort, question.seed);
    for (number, experiment, outcome) in measured {
        notebook.add(number, experiment, outcome);
    }
    let elements = probe::import::elements(&notebook).into_iter().filter(|(name, _)| question.wants(*name)).collect();
    let experiments = notebook.len();
    let evidence = notebook.into_evidence();
    Discovery { elements, clock: ClockSeen::default(), experiments, evidence, stages: Vec::new() }
}
