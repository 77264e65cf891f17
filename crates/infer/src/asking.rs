//! The main loop: infer from the samples so far, measure the missing experiments, repeat until none is missing.
//!
//! Each question is a function over the [`Notebook`]. What it lacks is measured, all of it in one batch, and it is asked again.
//! The same loop serves a GPU and a recording, and whatever is asked about.

use std::time::{Duration, Instant};

use crate::probe::{Gap, Notebook, clock};
use crate::time::Time;
use strata_model::source::Source;
use strata_model::topology::RunInfo;

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// What is under way, as a report calls it.
    pub title: &'static str,
    /// Questions done.
    pub done: usize,
    /// Questions in all.
    pub total: usize,
    /// Experiments in the batch that begins.
    pub batch: usize,
    /// About how much of the run's time has passed, from 0 to 1. It never falls, and is below 1 while a question is open.
    pub share: f64,
}

/// The time that one stage took.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The question, or `clock`.
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

/// What the clock did during a run.
#[derive(Clone, Debug, Default)]
pub struct ClockSeen {
    /// Lowest and highest SM clock measured, in MHz.
    pub mhz: Option<(f64, f64)>,
    /// By which cycles become nanoseconds, if it could be measured.
    pub held: Option<clock::Held>,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

impl ClockSeen {
    /// The run with what the clock did. A replay finds the warnings anew that the run found and recorded.
    pub fn added_to(self, mut run: RunInfo) -> RunInfo {
        for warning in self.warnings {
            if !run.warnings.contains(&warning) {
                run.warnings.push(warning);
            }
        }
        run
    }
}

/// No probe needs more rounds than three bisections of 2^64, one after the other, as the spectrum does that asks for three levels of
/// TLBs (on the simulated GTX 680 it takes more than 64). One that asks for more does not converge.
const MAX_ROUNDS: usize = 3 * 64;

/// A run of questions.
pub struct Asking<'a> {
    source: &'a mut dyn Source,
    progress: &'a mut dyn FnMut(Progress),
    done: usize,
    total: usize,
    time: Time,
    stages: Vec<Stage>,
    next: u32,
}

impl<'a> Asking<'a> {
    /// A run of questions that take about this much time each, compared with one another.
    pub fn new(source: &'a mut dyn Source, weights: Vec<u32>, progress: &'a mut dyn FnMut(Progress)) -> Self {
        let total = weights.len();
        Asking { source, progress, done: 0, total, time: Time::of(weights), stages: Vec::new(), next: 1 }
    }

    /// Asks all `questions`, with a measurement of the clock before and after: whether it held while the run went on.
    pub fn with_clock<T>(
        &mut self,
        notebook: &mut Notebook,
        questions: impl FnOnce(&mut Self, &mut Notebook) -> T,
    ) -> (T, ClockSeen) {
        let before = self.stage(notebook, "clock", "clock", clock::infer).map_err(Gap::into_unknown);
        // The first look at what else uses the device, once its clock has settled.
        self.source.disturbed();
        let answers = questions(self, notebook);
        let after = self.stage(notebook, "clock", "clock", clock::after).map_err(Gap::into_unknown);
        let held = before.as_ref().ok().map(|before| clock::Held::of(before, after.as_ref().ok()));
        let mut seen = ClockSeen { held, ..ClockSeen::default() };
        match (&before, &after) {
            (Ok(before), Ok(after)) => {
                seen.mhz = Some((before.low.min(after.low) * 1e3, before.high.max(after.high) * 1e3));
                seen.warnings.extend(clock::drift(before, after));
            }
            (Ok(before), Err(unknown)) => {
                seen.mhz = Some((before.low * 1e3, before.high * 1e3));
                seen.warnings.push(format!("the SM clock was not measured again at the end: {}", unknown.reason()));
            }
            (Err(unknown), _) => seen.warnings.push(format!(
                "the SM clock could not be measured ({}); latencies are in cycles only",
                unknown.reason()
            )),
        }
        (answers, seen)
    }

    /// One of the questions of the total: asked until nothing is lacking and nothing disturbed its experiments, and counted as
    /// done.
    pub fn question<T>(
        &mut self,
        notebook: &mut Notebook,
        name: &'static str,
        title: &'static str,
        infer: impl Fn(&Notebook) -> T,
    ) -> T {
        self.time.question_begins();
        let mut answer = self.stage(notebook, name, title, &infer);
        for _ in 0..MAX_ROUNDS {
            let disturbed = self.source.disturbed();
            if disturbed.is_empty() {
                break;
            }
            notebook.forget(&disturbed);
            answer = self.stage(notebook, name, title, &infer);
        }
        self.done += 1;
        self.time.question_done();
        answer
    }

    /// Asks until nothing is lacking.
    fn stage<T>(
        &mut self,
        notebook: &mut Notebook,
        name: &'static str,
        title: &'static str,
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
            let share = self.time.share();
            (self.progress)(Progress { title, done: self.done, total: self.total, batch: missing.len(), share });
            let started = Instant::now();
            let answers = self.source.run(&missing);
            stage.measuring += started.elapsed();
            stage.experiments += missing.len();
            stage.batches += 1;
            self.time.batch_done();
            for (experiment, answer) in missing.into_iter().zip(answers) {
                let number = self.source.number(&experiment).unwrap_or(self.next);
                self.next = self.next.max(number) + 1;
                notebook.add(number, experiment, answer);
            }
        }
        self.stages.push(stage);
        infer(notebook)
    }

    /// Where the time went.
    pub fn into_stages(self) -> Vec<Stage> {
        self.stages
    }
}
