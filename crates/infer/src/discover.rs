//! The order in which the questions about the topology are asked: the clock, the elements, the clock again.

use std::collections::BTreeMap;

use crate::asking::{Asking, ClockSeen, Progress, Stage};
use crate::consistent;
use crate::probe::{self, Effort, Notebook, latency};
use crate::time;
use strata_model::attribute::{Attribute, LATENCY_CYCLES, LATENCY_NS};
use strata_model::evidence::Evidence;
use strata_model::experiment::Experiment;
use strata_model::facts::DeviceFacts;
use strata_model::samples::{Failure, Samples};
use strata_model::source::Source;
use strata_model::topology::{self, Element, ElementName, RunInfo, Selection, Topology, Wanted};

/// Why an attribute that was asked for by name is not there.
const NOT_MEASURED: &str =
    "this GPU has no such thing, or this version of strata does not measure it; `strata explain` says what is measured";

/// The same of the memory of another GPU.
const OF_A_LINK: &str = "it is the memory of another GPU; `strata links` measures it";

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Of which elements and attributes.
    pub selection: Selection,
    /// How much to measure.
    pub effort: Effort,
    /// Seed for all random choices.
    pub seed: u64,
}

impl Request {
    /// The attributes of an element for which probes run. Nanoseconds follow from cycles.
    fn probed(&self, element: ElementName) -> impl Iterator<Item = Attribute> {
        let asked = move |attribute| self.selection.asks(element, attribute);
        let cycles = Attribute::from(LATENCY_CYCLES);
        let is_probed = move |attribute| asked(attribute) || attribute == cycles && asked(LATENCY_NS.into());
        Attribute::ALL.iter().copied().filter(move |attribute| is_probed(*attribute))
    }

    /// Takes away what was found and not asked for. Warns of attributes that were asked for by name and are not there, and why.
    fn limit(&self, elements: &mut BTreeMap<ElementName, Element>, why: &str) -> Vec<String> {
        for (name, element) in elements.iter_mut() {
            element.retain(|attribute| self.selection.asks(*name, attribute));
        }
        let is_absent = |wanted: &&Wanted| {
            let mut stated = elements.get(&wanted.element()).into_iter().flat_map(Element::findings);
            !wanted.is_whole() && !stated.any(|(attribute, _)| wanted.has(wanted.element(), attribute))
        };
        let absent = self.selection.only.iter().filter(is_absent);
        let why = |wanted: &Wanted| match wanted.element() {
            ElementName::PeerL2 | ElementName::PeerDram => OF_A_LINK,
            _ => why,
        };
        absent.map(|wanted| format!("{wanted} was asked for, and is not there: {}", why(wanted))).collect()
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
        ElementName::ALL.into_iter().filter(|e| e.is_asked() && question.selection.has(*e)).collect();
    let mut notebook = Notebook::new(facts.clone(), question.effort, question.seed);
    let weights = wanted.iter().map(|name| time::of_element(*name)).collect();
    let mut asking = Asking::new(source, weights, progress);
    let (mut elements, mut clock): (BTreeMap<ElementName, Element>, _) =
        asking.with_clock(&mut notebook, |asking, notebook| {
            wanted
                .into_iter()
                .map(|name| {
                    notebook.ask(question.probed(name));
                    let element = asking.question(notebook, name.key(), name.title(), |n| probe::element(name, n));
                    (name, element)
                })
                .collect()
        });
    clock.warnings.extend(consistent::enforce(&mut elements));
    for element in elements.values_mut() {
        element.extend(latency::nanoseconds(element, clock.held.as_ref()));
    }
    clock.warnings.extend(question.limit(&mut elements, NOT_MEASURED));
    // The device has no clusters, no such copies and no such instructions, it was measured without another GPU, or they were not asked for when the recording was made.
    let of_later = [
        ElementName::Die,
        ElementName::DistributedShared,
        ElementName::AsyncCopy,
        ElementName::InstructionL0,
        ElementName::InstructionL1,
        ElementName::InstructionL15,
        ElementName::PeerL2,
        ElementName::PeerDram,
    ];
    elements.retain(|name, element| !of_later.contains(name) || element.findings().next().is_some());
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
    let mut elements: BTreeMap<ElementName, Element> =
        probe::import::elements(&notebook).into_iter().filter(|(name, _)| question.selection.has(*name)).collect();
    let clock =
        ClockSeen { warnings: question.limit(&mut elements, "the timings do not show it"), ..ClockSeen::default() };
    let experiments = notebook.len();
    let evidence = notebook.into_evidence();
    Discovery { elements, clock, experiments, evidence, stages: Vec::new() }
}
