//! A run on a device: its options, its recording, and its description in the result.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use strata_bench::Timings as BenchTimings;
use strata_infer::asking::{ClockSeen, Stage};
use strata_infer::{characterize as parts, discover as elements};
use strata_model::characterization::Suite;
use strata_model::disturbance;
use strata_model::experiment::Experiment;
use strata_model::facts::{BoardFacts, DeviceFacts, HostFacts, Mig, OtherProcesses, Telemetry};
use strata_model::samples::{Failure, Samples};
use strata_model::source::Source;
use strata_model::topology::{RunInfo, Selection, Wanted};
use strata_recording::Header;
use strata_report::report;

pub use strata_infer::asking::Progress;
pub use strata_infer::probe::Effort;

use crate::answer::{Characterized, Discovery};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::host;
use crate::recorded::Recorder;

/// How a run is made. The default measures at standard effort with seed 1 and keeps no recording.
#[non_exhaustive]
pub struct Options<'a> {
    /// How much to measure.
    pub effort: Effort,
    /// Seed for all random choices.
    pub seed: u64,
    /// A discovery measures the bandwidth of the memories, too.
    pub bandwidth: bool,
    /// The file in which everything that is measured is kept; one that is there is replaced once the new one is complete. In a
    /// folder the recording gets a name by GPU, UUID and time. [`Device::recorded`] says what became of it.
    pub record: Option<PathBuf>,
    /// The result and the recording hold the host's CPU, memory, operating system and kernel. Those of a simulated GPU never do.
    pub host_facts: bool,
    /// Once this is set, nothing further is measured and the run ends with [`Error::Interrupted`].
    pub interrupted: Arc<AtomicBool>,
    /// Called before each batch of experiments.
    pub progress: Box<dyn FnMut(Progress) + 'a>,
    /// When the run began; durations in the result count from here.
    pub started: Instant,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            effort: Effort::Standard,
            seed: 1,
            bandwidth: false,
            record: None,
            host_facts: true,
            interrupted: Arc::default(),
            progress: Box::new(|_| ()),
            started: Instant::now(),
        }
    }
}

impl<'a> Options<'a> {
    /// The default options with this effort.
    pub fn effort(effort: Effort) -> Self {
        Options { effort, ..Options::default() }
    }

    /// With this seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// With the bandwidth of the memories, or without it.
    pub fn bandwidth(mut self, bandwidth: bool) -> Self {
        self.bandwidth = bandwidth;
        self
    }

    /// With a recording in this file.
    pub fn record(mut self, path: impl Into<PathBuf>) -> Self {
        self.record = Some(path.into());
        self
    }

    /// Without the facts of the host.
    pub fn without_host_facts(mut self) -> Self {
        self.host_facts = false;
        self
    }

    /// With a function that is told what is measured next.
    pub fn on_progress(mut self, progress: impl FnMut(Progress) + 'a) -> Self {
        self.progress = Box::new(progress);
        self
    }
}

/// Where the time of a run went. `Display` gives a table.
#[derive(Clone, Debug)]
pub struct Timings {
    opened: Duration,
    bench: BenchTimings,
    stages: Vec<Stage>,
    board: Duration,
    total: Duration,
}

impl fmt::Display for Timings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&report::timings(self.opened, &self.bench, &self.stages, self.board, self.total))
    }
}

/// What a run asks, besides effort and seed.
pub(crate) enum Asked<'a> {
    Topology(&'a Selection),
    Parts(&'a Suite),
    Experiments,
}

/// The samples of a list of experiments, of which those that something disturbs are run again.
fn undisturbed(source: &mut dyn Source, experiments: &[Experiment]) -> Vec<std::result::Result<Samples, Failure>> {
    source.disturbed();
    let mut answers = source.run(experiments);
    // The source gives up what stays disturbed, so this ends.
    loop {
        let again = source.disturbed();
        if again.is_empty() {
            return answers;
        }
        let better = source.run(&again);
        for (experiment, answer) in again.iter().zip(better) {
            let places = experiments.iter().zip(&mut answers).filter(|(asked, _)| *asked == experiment);
            places.for_each(|(_, place)| *place = answer.clone());
        }
    }
}

/// What came of the questions.
struct Outcome<T> {
    found: T,
    clock: ClockSeen,
    stages: Vec<Stage>,
}

impl Device {
    /// Measures the memory topology.
    ///
    /// ```
    /// use gpu_strata::topology::Wanted;
    /// use gpu_strata::{Device, Effort, Options};
    ///
    /// let mut device = Device::open("sim:k20c")?;
    /// let only: [Wanted; 2] = ["constant_l1.size".parse()?, "shared".parse()?];
    /// let found = device.discover_only(&only, Options::effort(Effort::Quick))?;
    /// assert_eq!(found.topology.elements.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the device cannot run the first kernel, if the recording cannot be made, or if the run was interrupted. What
    /// cannot be measured is no error: its finding is unknown and gives the reason.
    pub fn discover(&mut self, options: Options<'_>) -> Result<Discovery> {
        self.discover_only::<Wanted>(&[], options)
    }

    /// As [`Device::discover`], of these elements or attributes of elements alone: of names of elements
    /// ([`ElementName`](crate::topology::ElementName)), or of a mixture ([`Wanted`]); of all if there are none. What they depend on is
    /// measured, too, and does not stand in the result. A bandwidth that is named is measured whatever [`Options::bandwidth`] says.
    ///
    /// # Errors
    ///
    /// As [`Device::discover`].
    pub fn discover_only<W>(&mut self, only: &[W], options: Options<'_>) -> Result<Discovery>
    where
        W: Clone + Into<Wanted>,
    {
        let only = only.iter().cloned().map(W::into);
        let Options { effort, seed, bandwidth, .. } = options;
        let selection = Selection { bandwidth, atomics: bandwidth, ..Selection::of(only) };
        let question = elements::Request { selection, effort, seed };
        let asked = Asked::Topology(&question.selection);
        let (facts, run, timings, found) = self.run(&asked, options, |source, facts, progress| {
            let found = elements::discover(source, facts, &question, progress);
            Outcome { clock: found.clock.clone(), stages: found.stages.clone(), found }
        })?;
        Ok(Discovery::new(facts, run, found, None, Some(timings)))
    }

    /// Measures what access patterns cost: the parts of `suite` with its parameters.
    ///
    /// # Errors
    ///
    /// As [`Device::discover`], and [`Error::Input`] if the suite asks for something impossible.
    pub fn characterize(&mut self, suite: &Suite, options: Options<'_>) -> Result<Characterized> {
        if let Some(defect) = suite.defect() {
            return Err(Error::Input(defect));
        }
        let question = parts::Request { suite: suite.clone(), effort: options.effort, seed: options.seed };
        let (facts, run, timings, found) = self.run(&Asked::Parts(suite), options, |source, facts, progress| {
            let found = parts::characterize(source, facts, &question, progress);
            Outcome { clock: found.clock.clone(), stages: found.stages.clone(), found }
        })?;
        Ok(Characterized::new(facts, run, question.suite, found, None, Some(timings)))
    }

    /// Runs experiments of one's own and gives their samples in the same order. An experiment that fails does not end the
    /// others.
    ///
    /// # Errors
    ///
    /// As [`Device::discover`].
    pub fn measure(
        &mut self,
        experiments: &[Experiment],
        options: Options<'_>,
    ) -> Result<Vec<std::result::Result<Samples, Failure>>> {
        let (_, _, _, found) = self.run(&Asked::Experiments, options, |source, _, _| Outcome {
            found: undisturbed(source, experiments),
            clock: ClockSeen::default(),
            stages: Vec::new(),
        })?;
        Ok(found)
    }

    fn run<T>(
        &mut self,
        asked: &Asked<'_>,
        mut options: Options<'_>,
        ask: impl FnOnce(&mut dyn Source, &DeviceFacts, &mut dyn FnMut(Progress)) -> Outcome<T>,
    ) -> Result<(DeviceFacts, RunInfo, Timings, T)> {
        let opened = self.opened.saturating_duration_since(options.started);
        let facts = self.facts().clone();
        let run = self.begins(asked, &options);
        // Of samples that nobody keeps no description is needed.
        let kept = options.record.is_some() || !matches!(asked, Asked::Experiments);
        // Read beside the measurement: a host with hundreds of hardware threads takes its time.
        let host = (kept && options.host_facts && !run.simulated)
            .then(|| thread::Builder::new().name("host".into()).spawn(host::read))
            .and_then(std::result::Result::ok);
        self.recorded = None;
        let session = self.session(options.seed, options.started, &options.interrupted)?;
        let header = Header { device: facts.clone(), run: run.clone() };
        let start = |path: &PathBuf| Recorder::start(path, &header, asked);
        let (recorder, writer) = options.record.as_ref().map(start).transpose()?.unzip();
        let mut session = session.recorded(writer.flatten());

        let outcome = ask(&mut session, &facts, &mut options.progress);

        let telemetry_end = session.telemetry();
        let mut warnings = run.warnings.clone();
        warnings.extend(outcome.clock.warnings);
        let seen = session.seen();
        warnings.extend(seen.as_deref().and_then(disturbance::in_words));
        let notes = session.notes();
        warnings.extend(throttled(&telemetry_end).filter(|reduced| !notes.contains(reduced)));
        warnings.extend(notes);
        let stopped = options.interrupted.load(Ordering::Relaxed);
        if stopped {
            warnings.push("the run was interrupted; what had not been measured by then is unknown".into());
        }
        let run = RunInfo {
            duration_s: (session.elapsed_s() * 1e3).round() / 1e3,
            measured_clock_mhz: outcome.clock.mhz,
            telemetry_end,
            warnings,
            disturbances: seen,
            ..run
        };
        let (run, board) = surroundings(run, host, || kept.then(|| session.board()).flatten());
        let bench = session.timings();
        let finished = session.finish(&run);
        self.recorded = recorder.map(|recorder| recorder.end(finished));
        if stopped {
            return Err(Error::Interrupted { recorded: self.recorded.clone() });
        }
        let timings = Timings { opened, bench, stages: outcome.stages, board, total: options.started.elapsed() };
        Ok((facts, run, timings, outcome.found))
    }

    /// What is known of a run when it begins.
    fn begins(&self, asked: &Asked<'_>, options: &Options<'_>) -> RunInfo {
        let telemetry = self.telemetry();
        RunInfo {
            tool_version: env!("CARGO_PKG_VERSION").into(),
            backend: self.backend().into(),
            simulated: self.is_simulated(),
            seed: options.seed,
            effort: match asked {
                Asked::Topology(_) | Asked::Parts(_) => options.effort.name().into(),
                Asked::Experiments => String::new(),
            },
            only: match asked {
                Asked::Topology(selection) => selection.only.clone(),
                Asked::Parts(_) | Asked::Experiments => Vec::new(),
            },
            started: report::utc_now(),
            scope: if self.is_simulated() { "a simulated machine".into() } else { scope(telemetry) },
            warnings: warnings_of(telemetry).into_iter().chain(self.warning()).collect(),
            telemetry_start: telemetry.clone(),
            ..RunInfo::default()
        }
    }
}

/// The run with the facts of its host and its board, and how long those took.
fn surroundings(
    run: RunInfo,
    host: Option<JoinHandle<HostFacts>>,
    board: impl FnOnce() -> Option<BoardFacts>,
) -> (RunInfo, Duration) {
    let began = Instant::now();
    let host = host.and_then(|host| host.join().ok());
    let run = RunInfo { host, board: board(), ..run };
    (run, began.elapsed())
}

/// What this process could see of the GPU.
fn scope(telemetry: &Telemetry) -> String {
    let part = match telemetry.mig {
        Mig::On => "one MIG instance",
        Mig::Off => "whole GPU",
        Mig::Unknown => "the device as the driver shows it",
    };
    // The usual marks of a container; a process inside cannot see its neighbours.
    let container = std::path::Path::new("/.dockerenv").exists()
        || std::path::Path::new("/run/.containerenv").exists()
        || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    let others = match telemetry.processes {
        OtherProcesses::NotVisible => "other processes cannot be seen".to_owned(),
        OtherProcesses::Visible(0) => "no other process visible".to_owned(),
        OtherProcesses::Visible(1) => "1 other process visible".to_owned(),
        OtherProcesses::Visible(n) => format!("{n} other processes visible"),
    };
    format!("{part}{}; {others}", if container { ", in a container" } else { "" })
}

fn warnings_of(telemetry: &Telemetry) -> Vec<String> {
    let mut warnings = Vec::new();
    if let OtherProcesses::Visible(n @ 1..) = telemetry.processes {
        let use_it = if n == 1 { "1 other process uses".to_owned() } else { format!("{n} other processes use") };
        warnings.push(format!("{use_it} this GPU; the L2 and DRAM may be slower or look smaller"));
    }
    if telemetry.mig == Mig::On {
        warnings.push("MIG is on: the sizes of L2 and DRAM are those of this instance".into());
    }
    if let Some(note) = &telemetry.note {
        warnings.push(note.clone());
    }
    warnings
}

fn throttled(telemetry: &Telemetry) -> Option<String> {
    let reasons: Vec<&str> = telemetry
        .throttle_reasons
        .iter()
        .map(String::as_str)
        // An idle GPU lowers its clock, which says nothing of the run.
        .filter(|r| !r.to_ascii_lowercase().contains("idle"))
        .collect();
    (!reasons.is_empty()).then(|| format!("the GPU reduced its clock: {}", reasons.join(", ")))
}
