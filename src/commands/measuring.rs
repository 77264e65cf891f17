//! What the commands that measure have in common: opening device and recording, progress, the end of a run.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gpu_strata::asking::{ClockSeen, Progress, Stage};
use gpu_strata::characterization::Suite;
use gpu_strata::gpu::{DeviceFacts, Mig, OtherProcesses, Telemetry};
use gpu_strata::recording::Header;
use gpu_strata::report;
use gpu_strata::source::Source;
use gpu_strata::topology::{ElementName, RunInfo};
use indicatif::{ProgressBar, ProgressStyle};

use super::device::Device;
use super::{Fault, output};
use crate::cli;

/// What a run asks, besides effort and seed.
pub enum Asked<'a> {
    /// Elements; all when empty.
    Elements(&'a [ElementName]),
    /// Parts with their parameters.
    Parts(&'a Suite),
}

/// What came of the questions.
pub struct Outcome<T> {
    /// The answer.
    pub found: T,
    /// What the clock did.
    pub clock: ClockSeen,
    /// Where the time went.
    pub stages: Vec<Stage>,
}

/// A run: measures by `ask`, records, and writes the report that `assemble` makes of device, run and answer.
pub fn run<T>(
    arguments: &cli::Run,
    asked: &Asked<'_>,
    started: Instant,
    ask: impl FnOnce(&mut dyn Source, &DeviceFacts, &mut dyn FnMut(Progress)) -> Outcome<T>,
    assemble: impl FnOnce(DeviceFacts, RunInfo, T) -> output::Answer,
) -> Result<ExitCode, Fault> {
    // What cannot be written is noticed before anything is measured.
    let destination = output::Destination::open(&arguments.output)?;
    let record = arguments.record.as_deref().map(|path| output::Reserved::open(path, "--record")).transpose()?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed)).map_err(Fault::run)?;

    let mut device = Device::open(&arguments.device)?;
    let opened = started.elapsed();
    let (facts, telemetry) = device.describe();
    let run = RunInfo {
        tool_version: env!("CARGO_PKG_VERSION").into(),
        backend: device.backend().into(),
        simulated: device.is_simulated(),
        seed: arguments.seed,
        effort: arguments.effort.name().into(),
        only: match asked {
            Asked::Elements(only) => only.to_vec(),
            Asked::Parts(_) => Vec::new(),
        },
        started: report::utc_now(),
        scope: if device.is_simulated() { "a simulated machine".into() } else { scope(&telemetry) },
        warnings: warnings_of(&telemetry).into_iter().chain(device.warning()).collect(),
        telemetry_start: telemetry,
        ..RunInfo::default()
    };
    let mut writer = record.map(output::Reserved::record).transpose()?;
    if let Some(writer) = &mut writer {
        writer.header(&Header { device: facts.clone(), run: run.clone() }).map_err(Fault::run)?;
        if let Asked::Parts(suite) = asked {
            writer.asked(suite).map_err(Fault::run)?;
        }
    }
    let mut session = device.session(arguments.seed, writer, started, &interrupted)?;

    let bar = progress_bar(arguments.quiet);
    let outcome = ask(&mut session, &facts, &mut |progress| show(&bar, &progress));
    bar.finish_and_clear();

    let telemetry_end = session.telemetry();
    let mut warnings = run.warnings.clone();
    warnings.extend(outcome.clock.warnings);
    warnings.extend(throttled(&telemetry_end));
    let stopped = interrupted.load(Ordering::Relaxed);
    if stopped {
        warnings.push("the run was interrupted; what had not been measured by then is unknown".into());
    }
    let run = RunInfo {
        duration_s: (session.elapsed_s() * 1e3).round() / 1e3,
        measured_clock_mhz: outcome.clock.mhz,
        telemetry_end,
        warnings,
        ..run
    };
    let timings = session.timings();
    let recorded = session.finish(&run).map_err(Fault::run)?;
    if stopped {
        return Err(Fault::interrupted(match (&arguments.record, recorded) {
            (Some(path), Some(bytes)) => {
                format!("interrupted; {} holds what had been measured ({bytes} bytes)", path.display())
            }
            _ => "interrupted; nothing was kept, since no --record was given".into(),
        }));
    }
    if arguments.timings {
        eprint!("{}", report::timings(opened, &timings, &outcome.stages, started.elapsed()));
    }
    if !arguments.quiet {
        output::warn(&run.warnings);
    }
    destination.answer(&assemble(facts, run, outcome.found), arguments.output.format)
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
        OtherProcesses::Visible(n) => format!("{n} other processes visible"),
    };
    format!("{part}{}; {others}", if container { ", in a container" } else { "" })
}

fn warnings_of(telemetry: &Telemetry) -> Vec<String> {
    let mut warnings = Vec::new();
    if let OtherProcesses::Visible(n @ 1..) = telemetry.processes {
        warnings.push(format!("{n} other processes are on this GPU; what SMs share may be slower or look smaller"));
    }
    if telemetry.mig == Mig::On {
        warnings.push("MIG is on: sizes of what SMs share are those of this instance".into());
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
    (!reasons.is_empty()).then(|| format!("the clock was held down: {}", reasons.join(", ")))
}

fn progress_bar(quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    // Drawn to standard error, and only if that is a terminal.
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg} [{elapsed} elapsed, about {eta} left]");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

fn show(bar: &ProgressBar, progress: &Progress) {
    bar.set_length(progress.total as u64);
    bar.set_position(progress.done as u64);
    bar.set_message(format!("{}: {} experiments", progress.title, progress.batch));
}
