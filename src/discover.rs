//! The order in which the questions are asked.
//!
//! Each element's probe is asked what it can say; what it lacks is measured, all of it in one batch, and it is asked again
//! until it lacks nothing. The same loop serves a GPU and a recording.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::gpu::DeviceFacts;
use crate::probe::{self, Effort, Gap, Notebook};
use crate::source::Source;
use crate::topology::{Element, ElementName};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Question {
    /// Elements; all when empty.
    pub only: Vec<ElementName>,
    /// How much to measure.
    pub effort: Effort,
    /// Seed of every random choice.
    pub seed: u64,
}

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The element under way; `None` while the clock is warmed up.
    pub element: Option<ElementName>,
    /// Elements done.
    pub done: usize,
    /// Elements in all.
    pub total: usize,
    /// Experiments in the batch that begins.
    pub batch: usize,
}

/// What was found.
#[derive(Debug)]
pub struct Discovery {
    /// The elements.
    pub elements: BTreeMap<ElementName, Element>,
    /// Lowest and highest SM clock measured, in MHz.
    pub clock_mhz: Option<(f64, f64)>,
    /// What the reader should know.
    pub warnings: Vec<String>,
    /// Experiments read.
    pub experiments: usize,
    /// Time by stage: measuring and inferring.
    pub stages: Vec<Stage>,
}

/// The time that one stage took.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The element, or `clock`.
    pub name: &'static str,
    /// Spent in the source of samples.
    pub measuring: Duration,
    /// Spent in inference.
    pub inferring: Duration,
    /// Experiments asked for.
    pub experiments: usize,
    /// Batches.
    pub batches: usize,
}

/// No probe needs more rounds than a bisection of 2^64; one that asks for more does not converge.
const MAX_ROUNDS: usize = 64;

/// Asks every probe until none lacks anything.
pub fn discover(
    source: &mut dyn Source,
    facts: &DeviceFacts,
    question: &Question,
    progress: &mut dyn FnMut(Progress),
) -> Discovery {
    let wanted: Vec<ElementName> =
        ElementName::ALL.into_iter().filter(|e| question.only.is_empty() || question.only.contains(e)).collect();
    let mut notebook = Notebook::new(facts.clone(), question.effort, question.seed);
    let mut run = Run { source, progress, done: 0, total: wanted.len(), stages: Vec::new(), next: 1 };

    let clock = run.stage(&mut notebook, None, "clock", probe::clock::infer);
    if let Ok(clock) = &clock {
        notebook.set_clock(clock.rate);
    }
    let mut elements = BTreeMap::new();
    for name in wanted {
        let element = run.stage(&mut notebook, Some(name), name.key(), |notebook| probe::element(name, notebook));
        elements.insert(name, element);
        run.done += 1;
    }
    // The clock once more: whether it held while the run went on.
    let after = run.stage(&mut notebook, None, "clock", probe::clock::after);
    let mut warnings = Vec::new();
    let mut clock_mhz = None;
    let reason = |gap: &Gap| gap.clone().finding().reason.unwrap_or_default();
    match (&clock, &after) {
        (Ok(before), Ok(after)) => {
            clock_mhz = Some((before.low.min(after.low) * 1e3, before.high.max(after.high) * 1e3));
            warnings.extend(probe::clock::drift(before, after));
        }
        (Ok(before), Err(gap)) => {
            clock_mhz = Some((before.low * 1e3, before.high * 1e3));
            warnings.push(format!("the SM clock was not measured again at the end: {}", reason(gap)));
        }
        (Err(gap), _) => {
            warnings
                .push(format!("the SM clock could not be measured ({}); latencies are in cycles only", reason(gap)));
        }
    }
    Discovery { elements, clock_mhz, warnings, experiments: notebook.len(), stages: run.stages }
}

struct Run<'a> {
    source: &'a mut dyn Source,
    progress: &'a mut dyn FnMut(Progress),
    done: usize,
    total: usize,
    stages: Vec<Stage>,
    next: u32,
}

impl Run<'_> {
    fn stage<T>(
        &mut self,
        notebook: &mut Notebook,
        element: Option<ElementName>,
        name: &'static str,
        infer: impl Fn(&Notebook) -> T,
    ) -> T {
        let mut stage =
            Stage { name, measuring: Duration::ZERO, inferring: Duration::ZERO, experiments: 0, batches: 0 };
        for _ in 0..MAX_ROUNDS {
            let started = Instant::now();
            let answer = infer(notebook);
            let missing = notebook.take_missing();
            stage.inferring += started.elapsed();
            if missing.is_empty() {
                self.stages.push(stage);
                return answer;
            }
            (self.progress)(Progress { element, done: self.done, total: self.total, batch: missing.len() });
            let started = Instant::now();
            let answers = self.source.run(&missing);
            stage.measuring += started.elapsed();
            stage.experiments += missing.len();
            stage.batches += 1;
            for (experiment, answer) in missing.into_iter().zip(answers) {
                let number = self.source.number(&experiment).unwrap_or(self.next);
                self.next = self.next.max(number) + 1;
                notebook.add(number, experiment, answer);
            }
        }
        self.stages.push(stage);
        infer(notebook)
    }
}
