//! A session: the bench with a recording beside it, so that no sample is lost.

use std::collections::HashMap;
use std::time::Instant;

use crate::{Lab, Timings};
use strata_gpu::Telemetry;
use strata_model::experiment::Experiment;
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
}

impl<'g> Session<'g> {
    /// A session in this lab, with a recording whose header has been written, or none.
    pub fn new(lab: impl Lab + 'g, writer: Option<Writer>, started: Instant) -> Self {
        Session { lab: Box::new(lab), writer, started, next: 1, numbers: HashMap::new(), broken: None }
    }

    /// Seconds since the process began.
    pub fn elapsed_s(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// State of the GPU now.
    pub fn telemetry(&mut self) -> Telemetry {
        self.lab.telemetry()
    }

    /// Where the time went.
    pub fn timings(&self) -> Timings {
        self.lab.timings()
    }

    /// Experiments so far.
    pub fn count(&self) -> u32 {
        self.next - 1
    }

    /// Closes the recording.
    ///
    /// # Errors
    ///
    /// The first error of any write to it.
    pub fn finish(mut self, run: &RunInfo) -> Result<Option<u64>, strata_recording::Error> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        match self.writer.take() {
            Some(mut writer) => {
                writer.end(run)?;
                Ok(Some(writer.bytes()))
            }
            None => Ok(None),
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
        let answers = self.lab.run(batch);
        let at_s = self.elapsed_s();
        let entries: Vec<Entry> = batch
            .iter()
            .zip(&answers)
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
        answers
    }

    fn number(&self, experiment: &Experiment) -> Option<u32> {
        self.numbers.get(experiment).copied()
    }
}
