//! What access patterns cost: the parts of `strata characterize`, in the order in which they are measured.
//!
//! A part is a function over the [`Notebook`], as a probe is: it names the experiments that it needs and makes of their samples
//! figures, findings and sentences. `points` turns samples into points; a part's file says what its figures mean.

mod banks;
mod coalescing;
mod constant;
mod histogram;
mod intensity;
mod locality;
mod noise;
mod operands;
mod plateau;
mod points;
mod read_only;
mod roofline;
mod spilling;
mod synchronization;
mod texture_2d;
mod texture_3d;
mod times;
mod walks;

use std::collections::BTreeMap;

use crate::asking::{Asking, ClockSeen, Progress, Stage};
use crate::probe::{Effort, Gap, Notebook};
use crate::time;
use strata_model::characterization::{self, Characterization, Figure, Part, PartName, Suite};
use strata_model::facts::DeviceFacts;
use strata_model::source::Source;
use strata_model::topology::{Finding, RunInfo};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Parts and their parameters.
    pub suite: Suite,
    /// How much to measure.
    pub effort: Effort,
    /// Seed for all random choices.
    pub seed: u64,
}

/// What was found.
#[derive(Debug)]
pub struct Characterized {
    /// The parts.
    pub parts: BTreeMap<PartName, Part>,
    /// What the clock did.
    pub clock: ClockSeen,
    /// Experiments read.
    pub experiments: usize,
    /// Time by stage: measuring and inferring.
    pub stages: Vec<Stage>,
}

impl Characterized {
    /// The result. `replayed_from` names the recording of a replay.
    pub fn into_characterization(
        self,
        device: DeviceFacts,
        run: RunInfo,
        asked: Suite,
        replayed_from: Option<&str>,
    ) -> Characterization {
        let mut parts = self.parts;
        parts.values_mut().for_each(|part| times::add(part, self.clock.held.as_ref()));
        Characterization {
            schema: characterization::SCHEMA.into(),
            device,
            run: self.clock.added_to(run),
            asked,
            parts,
            replayed_from: replayed_from.map(str::to_owned),
        }
    }
}

/// Asks every part until none lacks anything.
pub fn characterize(
    source: &mut dyn Source,
    facts: &DeviceFacts,
    question: &Request,
    progress: &mut dyn FnMut(Progress),
) -> Characterized {
    let suite = &question.suite;
    let is_wanted = |part: &PartName| match suite.parts.is_empty() {
        true => !part.is_on_request(),
        false => suite.parts.contains(part),
    };
    let wanted: Vec<PartName> = PartName::ALL.into_iter().filter(is_wanted).collect();
    let mut notebook = Notebook::new(facts.clone(), question.effort, question.seed);
    let weights = wanted.iter().map(|name| time::of_part(*name)).collect();
    let mut asking = Asking::new(source, weights, progress);
    let (parts, clock) = asking.with_clock(&mut notebook, |asking, notebook| {
        wanted
            .into_iter()
            .map(|name| (name, asking.question(notebook, name.key(), name.title(), |n| part(name, n, suite))))
            .collect()
    });
    Characterized { parts, clock, experiments: notebook.len(), stages: asking.into_stages() }
}

/// What a part answers, before its heading is put to it.
#[derive(Debug, Default)]
struct Answer {
    meaning: Vec<String>,
    findings: BTreeMap<String, Finding>,
    figures: Vec<Figure>,
}

impl Answer {
    fn finding(&mut self, name: &str, finding: Finding) {
        self.findings.insert(name.into(), finding);
    }

    fn figure(&mut self, figure: Figure) {
        self.figures.push(figure);
    }

    /// Adds a sentence.
    fn means(&mut self, sentence: String) {
        self.meaning.push(sentence);
    }

    /// Adds what another question found.
    fn join(&mut self, other: Answer) {
        self.meaning.extend(other.meaning);
        self.findings.extend(other.findings);
        self.figures.extend(other.figures);
    }

    /// The value of a finding, if it is a number.
    fn number(&self, name: &str) -> Option<f64> {
        self.findings.get(name).and_then(Finding::number)
    }
}

/// How a part makes its answer.
type Infer = fn(&Notebook, &Suite) -> Result<Answer, Gap>;

/// One part, with the reason where it has no answer.
fn part(name: PartName, notebook: &Notebook, suite: &Suite) -> Part {
    let (question, infer): (&str, Infer) = match name {
        PartName::Locality => (locality::QUESTION, locality::infer),
        PartName::Synchronization => (synchronization::QUESTION, synchronization::infer),
        PartName::Coalescing => (coalescing::QUESTION, coalescing::infer),
        PartName::Spilling => (spilling::QUESTION, spilling::infer),
        PartName::Banks => (banks::QUESTION, banks::infer),
        PartName::Constant => (constant::QUESTION, constant::infer),
        PartName::ReadOnly => (read_only::QUESTION, read_only::infer),
        PartName::Texture2d => (texture_2d::QUESTION, texture_2d::infer),
        PartName::Histogram => (histogram::QUESTION, histogram::infer),
        PartName::Intensity => (intensity::QUESTION, intensity::infer),
        PartName::Texture3d => (texture_3d::QUESTION, texture_3d::infer),
        PartName::Operands => (operands::QUESTION, operands::infer),
        PartName::Roofline => (roofline::QUESTION, roofline::infer),
    };
    let (answer, unanswered) = match infer(notebook, suite) {
        Ok(answer) => (answer, None),
        Err(gap) => (Answer::default(), Some(gap.finding())),
    };
    let Answer { meaning, findings, figures } = answer;
    Part { question: question.into(), meaning, findings, times: BTreeMap::new(), figures, unanswered }
}
