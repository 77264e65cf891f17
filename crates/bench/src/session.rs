//! A session: the bench with a recording beside it, so that no sample is lost.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::watch::{Look, Verdict, Watchman};
use crate::{Lab, Timings};
use strata_gpu::{BoardFacts, Telemetry};
use strata_model::disturbance::Disturbance;
use strata_model::experiment::{Experiment, Watched};
use strata_model::samples::{Failure, Samples};
use strata_model::source::Source;
use strata_model::topology::RunInfo;
use strata_recording::{Code, Entry, Writer};

/// Measures, numbers the experiments, and writes each batch to the recording as soon as it is back.
pub struct Session<'g> {
    lab: Box<dyn Lab + 'g>,
    writer: Option<Writer>,
    started: Instant,
    next: u32,
    numbers: HashMap<Experiment, u32>,
    broken: Option<strata_recording::Error>,
    watchman: Option<Watchman>,
    /// What is not measured any more, and why.
    given_up: HashMap<Experiment, Failure>,
}

impl<'g> Session<'g> {
    /// A session in this lab, without a recording.
    pub fn new(lab: impl Lab + 'g, started: Instant) -> Self {
        Session {
            lab: Box::new(lab),
            writer: None,
            started,
            next: 1,
            numbers: HashMap::new(),
            broken: None,
            watchman: None,
            given_up: HashMap::new(),
        }
    }

    /// One that watches for others who use the device, and grants so much time to wait for them; `clock_khz` is the device's
    /// peak clock.
    #[must_use]
    pub fn watching(self, patience: Duration, clock_khz: u32) -> Self {
        Session { watchman: Some(Watchman::new(patience, clock_khz)), ..self }
    }

    /// One that is recorded; the header has been written.
    #[must_use]
    pub fn recorded(self, writer: Option<Writer>) -> Self {
        Session { writer, ..self }
    }

    /// What else used the device so far; nothing if nobody watches.
    pub fn seen(&self) -> Option<Vec<Disturbance>> {
        Some(self.watchman.as_ref()?.seen().to_vec())
    }

    /// What a reader should know of the device's state during the run.
    pub fn notes(&self) -> Vec<String> {
        self.watchman.as_ref().map_or_else(Vec::new, |watchman| watchman.notes().to_vec())
    }

    /// Seconds since the process began.
    pub fn elapsed_s(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// State of the GPU now.
    pub fn telemetry(&mut self) -> Telemetry {
        self.lab.telemetry()
    }

    /// What NVML says of the board.
    pub fn board(&mut self) -> Option<BoardFacts> {
        self.lab.board()
    }

    /// Where the time went.
    pub fn timings(&self) -> Timings {
        self.lab.timings()
    }

    /// Experiments so far.
    pub fn count(&self) -> u32 {
        self.next - 1
    }

    /// Closes the recording, which is then complete; its length in bytes.
    ///
    /// # Errors
    ///
    /// The first error of any write to it. What was written before is in its partial file.
    pub fn finish(mut self, run: &RunInfo) -> Result<Option<u64>, strata_recording::Error> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        match self.writer.take() {
            Some(mut writer) => {
                if let Some(watchman) = &self.watchman {
                    writer.seen(watchman.seen())?;
                }
                if let Some(host) = &run.host {
                    writer.host(host)?;
                }
                if let Some(board) = &run.board {
                    writer.board(board)?;
                }
                writer.end(run)?;
                writer.complete().map(Some)
            }
            None => Ok(None),
        }
    }

    /// A look at what else uses the device; none once the user has stopped the run.
    fn look(&mut self) -> Option<Look> {
        let watchman = self.watchman.as_mut()?;
        let kernel = [watchman.kernel()];
        let lab = self.lab.as_mut();
        let answers = lab.run(&kernel);
        let glance = watchman.glance(self.started.elapsed(), || lab.glance());
        let bus = watchman.needs_bus().then(|| lab.bus_traffic()).flatten();
        self.keep(&kernel, &answers);
        match answers.first() {
            Some(Err(Failure::Interrupted)) | None => None,
            Some(answer) => Some(Look { watched: answer.as_ref().ok().and_then(Watched::of), glance, bus }),
        }
    }

    /// Looks again and again as long as others use the device, the user grants time, and does not stop the run.
    fn wait_for_calm(&mut self) {
        while let Some(pause) = self.watchman.as_ref().and_then(Watchman::waits) {
            let began = Instant::now();
            std::thread::sleep(pause);
            let Some(look) = self.look() else { return };
            let now_s = self.elapsed_s();
            if let Some(watchman) = &mut self.watchman {
                watchman.waited(look, began.elapsed(), now_s);
            }
        }
    }

    /// Numbers what was tried and writes it to the recording. Of an experiment that is measured again the last answer counts.
    fn keep(&mut self, batch: &[Experiment], answers: &[Result<Samples, Failure>]) {
        let at_s = self.elapsed_s();
        let entries: Vec<Entry> = batch
            .iter()
            .zip(answers)
            // What was not tried is not part of the recording: another run may still measure it.
            .filter(|(_, answer)| !matches!(answer, Err(Failure::Interrupted)))
            .map(|(experiment, answer)| {
                let number = self.next;
                self.next += 1;
                self.numbers.insert(experiment.clone(), number);
                Entry::new(number, experiment.clone(), answer.clone(), at_s)
            })
            .collect();
        if self.broken.is_none()
            && let Err(error) = self.record(&entries)
        {
            self.writer = None;
            self.broken = Some(error);
        }
    }

    fn record(&mut self, entries: &[Entry]) -> Result<(), strata_recording::Error> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        for compiled in self.lab.take_compiled() {
            writer.code(&Code::new(compiled.kernel, &compiled.ptx, compiled.machine_code))?;
        }
        writer.measured(entries)
    }
}

impl Source for Session<'_> {
    fn run(&mut self, batch: &[Experiment]) -> Vec<Result<Samples, Failure>> {
        let mut answers: Vec<Option<Result<Samples, Failure>>> =
            batch.iter().map(|experiment| self.given_up.get(experiment).cloned().map(Err)).collect();
        let tried = |known: &Option<_>| known.is_none();
        let asked: Vec<Experiment> =
            batch.iter().zip(&answers).filter(|(_, known)| tried(known)).map(|(asked, _)| asked.clone()).collect();
        let measured = self.lab.run(&asked);
        if let Some(watchman) = &mut self.watchman {
            watchman.measured(&asked, &measured);
        }
        answers.iter_mut().filter(|known| tried(known)).zip(measured).for_each(|(place, answer)| *place = Some(answer));
        let lacking = || Err(Failure::failed("the device gave no answer"));
        let answers: Vec<_> = answers.into_iter().map(|answer| answer.unwrap_or_else(lacking)).collect();
        self.keep(batch, &answers);
        answers
    }

    fn disturbed(&mut self) -> Vec<Experiment> {
        let Some(watchman) = &mut self.watchman else { return Vec::new() };
        if !watchman.must_look() {
            watchman.part_ends();
            // It may be tried again where another part needs it.
            self.given_up.clear();
            return Vec::new();
        }
        let Some(look) = self.look() else { return Vec::new() };
        let now_s = self.elapsed_s();
        let Some(watchman) = &mut self.watchman else { return Vec::new() };
        let verdict = watchman.judge(look, now_s);
        match verdict {
            Verdict::Calm => {
                self.given_up.clear();
                self.wait_for_calm();
                Vec::new()
            }
            Verdict::Again(list) => {
                // Of those that are not asked again no sample may count in a replay.
                let failure = Err(Failure::failed("another process used the GPU while this was measured"));
                self.keep(&list, &vec![failure; list.len()]);
                self.wait_for_calm();
                list
            }
            Verdict::GiveUp(list, reason) => {
                let failure = Failure::failed(reason);
                self.keep(&list, &vec![Err(failure.clone()); list.len()]);
                self.given_up.extend(list.iter().map(|experiment| (experiment.clone(), failure.clone())));
                list
            }
        }
    }

    fn number(&self, experiment: &Experiment) -> Option<u32> {
        self.numbers.get(experiment).copied()
    }
}
