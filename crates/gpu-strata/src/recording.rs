//! A recording: every experiment of a run with its samples.

use std::fmt::Display;
use std::io::Read;
use std::path::{Path, PathBuf};

use strata_infer::probe::Effort;
use strata_infer::{characterize, discover};
use strata_model::characterization::Suite;
use strata_model::experiment::Experiment;
use strata_model::facts::DeviceFacts;
use strata_model::names::advice;
use strata_model::samples::{Failure, Samples};
use strata_model::topology::{RunInfo, Selection, Wanted};
use strata_recording::{Cut, Entry, Header, Writer};
use strata_report::{export, import};

pub use strata_report::export::{Summary as ExportSummary, Written};

use crate::answer::{Answer, Characterized, Discovery};
use crate::error::{Error, Result};

/// The recordings that come with the library: name and bytes.
const EXAMPLES: [(&str, &[u8]); 1] = [("h200", include_bytes!("../../../recordings/example-h200.strata"))];

/// A recording that was read. It needs no GPU to give its result again.
#[derive(Debug)]
pub struct Recording {
    content: strata_recording::Recording,
    name: String,
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    ///
    /// [`Error::Recording`], if it cannot be read or is none. One that was cut short or is damaged in places is no error: see
    /// [`Recording::defects`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let content = strata_recording::Recording::read(path).map_err(Error::Recording)?;
        Ok(Recording { content, name: path.display().to_string() })
    }

    /// The device that was measured.
    pub fn device(&self) -> &DeviceFacts {
        &self.content.header.device
    }

    /// How the run was made.
    pub fn run(&self) -> RunInfo {
        self.content.run_info()
    }

    /// Names of the recordings that come with the library.
    pub fn examples() -> impl Iterator<Item = &'static str> {
        EXAMPLES.iter().map(|(name, _)| *name)
    }

    /// A recording of a real GPU that comes with the library, for those who have none at hand.
    ///
    /// ```
    /// let recording = gpu_strata::Recording::example("h200")?;
    /// assert_eq!(recording.device().name, "NVIDIA H200");
    /// # Ok::<(), gpu_strata::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Input`], if there is none of this name.
    pub fn example(name: &str) -> Result<Self> {
        let found = EXAMPLES.iter().find(|(known, _)| *known == name);
        let (_, bytes) = found
            .ok_or_else(|| Error::Input(format!("no example `{name}`; {}", advice(name, Recording::examples()))))?;
        Recording::from_reader(*bytes, &format!("example {name}"))
    }

    /// Whether these bytes are the beginning of a recording.
    pub fn begins(bytes: &[u8]) -> bool {
        bytes.starts_with(&strata_recording::MAGIC)
    }

    /// Reads a recording from anything that gives bytes, such as standard input. Errors and reports call it `name`.
    ///
    /// # Errors
    ///
    /// As [`Recording::open`].
    pub fn from_reader(input: impl Read, name: &str) -> Result<Self> {
        let content = strata_recording::Recording::from_reader(input).map_err(|error| {
            Error::Recording(strata_recording::Error::In { path: name.into(), error: Box::new(error) })
        })?;
        Ok(Recording { content, name: name.to_owned() })
    }

    /// What is missing of what was written: where it ends before its run did, and what is damaged.
    pub fn defects(&self) -> Vec<String> {
        let ends = |cut: &Cut| format!("the recording ends early, at byte {}: {}", cut.offset, cut.reason);
        self.content.cut.iter().map(ends).chain(self.content.lost.iter().map(ToString::to_string)).collect()
    }

    /// The experiments by their numbers, with what came back.
    pub fn experiments(&self) -> impl Iterator<Item = (u32, &Experiment, &std::result::Result<Samples, Failure>)> {
        self.content.entries.iter().map(|entry| (entry.number, &entry.experiment, &entry.outcome))
    }

    /// Infers everything anew from the samples.
    ///
    /// # Errors
    ///
    /// [`Error::Input`], if the recording asks for something impossible.
    pub fn replay(self) -> Result<Answer> {
        self.replay_only::<&str>(&[])
    }

    /// As [`Recording::replay`], of these elements, attributes of elements (`l1.size`) or parts alone; of all that the run was asked
    /// for if there are none.
    ///
    /// # Errors
    ///
    /// [`Error::Input`], if a name is none that the recorded run has, or the recording asks for something impossible.
    pub fn replay_only<S: AsRef<str>>(self, only: &[S]) -> Result<Answer> {
        match self.content.asked.clone() {
            None => self.topology(only),
            Some(suite) => self.characterization(suite, only),
        }
    }

    fn topology<S: AsRef<str>>(self, only: &[S]) -> Result<Answer> {
        let Recording { content: mut recording, name } = self;
        let is_imported = recording.is_imported();
        let wanted = |text: &str| if is_imported { text.parse() } else { Wanted::of_a_gpu(text) };
        let only = named(only, &name, "a discovery", wanted)?;
        let asked = recording.selection();
        let selection = if only.is_empty() { asked } else { Selection { only: Selection::of(only).only, ..asked } };
        let run = RunInfo { only: selection.only.clone(), ..recording.run_info() };
        let facts = recording.header.device.clone();
        let question = discover::Request { selection, effort: effort(&run), seed: run.seed };
        let found = if recording.is_imported() {
            let entries = recording.entries.iter().filter(|entry| entry.is_current());
            let measured = entries.map(|entry| (entry.number, entry.experiment.clone(), entry.outcome.clone()));
            discover::import(measured, &facts, &question)
        } else {
            discover::discover(&mut recording, &facts, &question, &mut |_| {})
        };
        Ok(Discovery::new(facts, run, found, Some(&name), None).into())
    }

    fn characterization<S: AsRef<str>>(self, mut suite: Suite, only: &[S]) -> Result<Answer> {
        let Recording { content: mut recording, name } = self;
        // A recording may come from anyone.
        if let Some(defect) = suite.defect() {
            return Err(Error::Input(format!("`{name}` asks for what cannot be measured ({defect}); record again")));
        }
        let only = named(only, &name, "a characterization", str::parse)?;
        if !only.is_empty() {
            suite.parts = only;
            suite = suite.sorted();
        }
        let run = recording.run_info();
        let facts = recording.header.device.clone();
        let question = characterize::Request { suite, effort: effort(&run), seed: run.seed };
        let found = characterize::characterize(&mut recording, &facts, &question, &mut |_| {});
        Ok(Characterized::new(facts, run, question.suite, found, Some(&name), None).into())
    }

    /// Writes the samples as CSV files into a folder, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// [`Error::Export`], if a file cannot be written.
    pub fn export_csv(&self, folder: impl AsRef<Path>) -> Result<ExportSummary> {
        Ok(export::csv(&self.content, folder.as_ref())?)
    }

    /// Writes the machine code of the recorded kernels into a folder, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// [`Error::Export`], if a file cannot be written.
    pub fn export_code(&self, folder: impl AsRef<Path>) -> Result<ExportSummary> {
        Ok(export::code(&self.content, folder.as_ref())?)
    }
}

fn effort(run: &RunInfo) -> Effort {
    Effort::from_name(&run.effort).unwrap_or(Effort::Standard)
}

/// What `only` names; what there is to name depends on what the recording is of.
fn named<T, E: Display>(
    only: &[impl AsRef<str>],
    file: &str,
    kind: &str,
    parse: impl Fn(&str) -> std::result::Result<T, E>,
) -> Result<Vec<T>> {
    let refused = |unknown| Error::Input(format!("`{file}` is {kind} and has {unknown}"));
    only.iter().map(|text| parse(text.as_ref()).map_err(refused)).collect()
}

/// Timings of another tool, read from its files.
#[derive(Debug)]
pub struct Imported {
    content: import::Import,
}

impl Imported {
    /// Reads the raw timings that MT4G left in a folder.
    ///
    /// # Errors
    ///
    /// [`Error::Import`], if the folder holds no such timings.
    pub fn mt4g(folder: impl AsRef<Path>) -> Result<Self> {
        Ok(Imported { content: import::mt4g(folder.as_ref())? })
    }

    /// The device that was measured.
    pub fn device(&self) -> &DeviceFacts {
        &self.content.device
    }

    /// How the run was made, with warnings about what the files do not hold.
    pub fn run(&self) -> &RunInfo {
        &self.content.run
    }

    /// Files that were read.
    pub fn files(&self) -> usize {
        self.content.files
    }

    /// Series of timings that the files hold.
    pub fn series(&self) -> usize {
        self.content.measured.len()
    }

    /// Keeps the timings as a recording, which [`Recording::open`] reads.
    ///
    /// # Errors
    ///
    /// [`Error::Recorder`], if the file cannot be written.
    pub fn record(self, path: impl Into<PathBuf>) -> Result<()> {
        let import::Import { device, run, measured, .. } = self.content;
        let mut writer = Writer::create(&path.into()).map_err(Error::Recorder)?;
        writer.header(&Header { device, run: run.clone() }).map_err(Error::Recorder)?;
        let entries: Vec<Entry> = (1..)
            .zip(measured)
            .map(|(number, (row, samples))| Entry::new(number, row.into(), Ok(samples), 0.0))
            .collect();
        writer.measured(&entries).map_err(Error::Recorder)?;
        writer.end(&run).map_err(Error::Recorder)?;
        writer.complete().map(drop).map_err(Error::Recorder)
    }
}
