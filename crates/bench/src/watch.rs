//! Watches for something else that uses the device while experiments run, and decides what becomes of them.
//!
//! A driver that shares a device between processes gives each of them the whole device for a time slice, and stops its kernels
//! in between. So a kernel that reads the clock all the time sees a gap, and nothing else makes one. Such a kernel runs between
//! the parts of a run. Where it is stopped, or a load of the part itself is, the part's experiments are not believed: they are
//! measured again, and after that given up.

use std::time::{Duration, Instant};

use strata_gpu::Glance;
use strata_model::disturbance::{Consequence, Disturbance, Sign};
use strata_model::experiment::{Experiment, LoadPath, Stream, Watch, Watched};
use strata_model::samples::{ClockSpan, Failure, Lap, Samples};

/// How long the kernel watches, in microseconds: longer than a time slice, of about 2 ms, after which a process with work at hand
/// has had its turn.
const SPAN_US: u32 = 4000;
/// A kernel that reads the clock is stopped if so many microseconds pass between two reads. To give the device to another
/// process and back takes longer. On a quiet device a read takes less than one, and a change of the clock some.
const STOPPED_US: f64 = 50.0;
/// A load that takes so many microseconds was stopped: the slowest memory, the host's, answers in about 2.
const LONG_LOAD_US: f64 = 50.0;
/// A lap was stopped if it takes this many times as long as another of as many loads, and so many microseconds longer. On a quiet
/// H200 laps differ by up to 72 microseconds, short ones by up to four fifths.
const STOPPED_LAP: u64 = 2;
const STOPPED_LAP_US: f64 = 200.0;
/// Bytes a second over the bus that are another's copies: 1 % of what PCIe 4.0 has. On an idle H200 it is 2 MB/s at most.
const BUSY_BUS: u64 = 300_000_000;
/// The blocks of a stream were stopped if one lives so many microseconds longer than this many times the time that it is given.
const STOPPED_STREAM: (f64, f64) = (200.0, 2.0);
/// Attempts after the first to measure a part undisturbed.
const REPEATS: u32 = 3;
/// Time of a run that may go into further attempts, besides what the user grants.
const BUDGET: Duration = Duration::from_secs(5);
/// Time between two looks at a device that others use.
const PAUSE: Duration = Duration::from_millis(100);
/// Glances may take this much of a run, and this part of it: the driver's answers must not cost more than the kernel.
const GLANCES: Duration = Duration::from_millis(50);
const GLANCES_PART: u32 = 50;

/// Microseconds by which the longest block of a stream outlives its time; 0 unless that is more than it could by itself.
fn overrun_us(stream: &Stream, blocks: &[ClockSpan], clock_mhz: f64) -> f64 {
    let longest = blocks.iter().map(|block| block.nanoseconds).max().unwrap_or(0) as f64 / 1e3;
    let given = f64::from(stream.warm_cycles + stream.timed_cycles) / clock_mhz;
    let (slack, factor) = STOPPED_STREAM;
    if longest > factor * given + slack { longest - given } else { 0.0 }
}

/// What a look at the device showed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    /// What the kernel saw; nothing if it did not run.
    pub watched: Option<Watched>,
    /// What the driver tells of others.
    pub glance: Glance,
    /// Bytes a second over the device's bus, while this process moves none; nothing if nobody asked or can tell.
    pub bus: Option<u64>,
}

impl Look {
    fn is_stopped(&self) -> bool {
        self.watched.is_some_and(|watched| watched.longest_us > STOPPED_US)
    }

    fn is_copying(&self) -> bool {
        self.bus.is_some_and(|bytes| bytes > BUSY_BUS)
    }
}

/// What is to be done after a look.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// All is well.
    Calm,
    /// These experiments are to be measured again.
    Again(Vec<Experiment>),
    /// These are not to be tried further, and why.
    GiveUp(Vec<Experiment>, String),
}

/// What is known of other users of the device.
pub(crate) struct Watchman {
    budget: Duration,
    patience: Duration,
    looks: u32,
    clock_mhz: f64,
    /// The last look.
    last: Look,
    /// When it was taken, in seconds since the start.
    last_s: f64,
    /// Experiments since the last calm look, and those of them with a long load.
    suspects: Vec<Experiment>,
    interrupted: Vec<Experiment>,
    /// Longest load of those.
    longest_us: f64,
    repeats: u32,
    repeating: Option<Instant>,
    /// Time that glances took.
    glances: Duration,
    seen: Vec<Disturbance>,
    /// Memory errors at the first glance.
    errors: Option<u64>,
    notes: Vec<String>,
}

impl Watchman {
    /// One who grants `patience` beyond the usual, and takes the device's clock to be this until it is measured.
    pub fn new(patience: Duration, clock_khz: u32) -> Self {
        Watchman {
            budget: BUDGET,
            patience,
            looks: 0,
            clock_mhz: f64::from(clock_khz) / 1e3,
            last: Look::default(),
            last_s: 0.0,
            suspects: Vec::new(),
            interrupted: Vec::new(),
            longest_us: 0.0,
            repeats: 0,
            repeating: None,
            glances: Duration::ZERO,
            seen: Vec::new(),
            errors: None,
            notes: Vec::new(),
        }
    }

    /// The kernel that looks, each time under a name of its own.
    pub fn kernel(&mut self) -> Experiment {
        self.looks += 1;
        Watch { span_us: SPAN_US, sm: 0, repeat: self.looks }.into()
    }

    /// Takes a glance, so long after the start, unless glances have been slow.
    pub fn glance(&mut self, elapsed: Duration, take: impl FnOnce() -> Glance) -> Glance {
        if self.glances > GLANCES + elapsed / GLANCES_PART {
            return self.last.glance.clone();
        }
        let started = Instant::now();
        let glance = take();
        self.glances += started.elapsed();
        self.note(&glance);
        glance
    }

    /// Notes what a reader should know besides disturbances.
    fn note(&mut self, glance: &Glance) {
        let reasons = glance.throttle_reasons.join(", ");
        let mut notes = Vec::new();
        if !reasons.is_empty() {
            notes.push(format!("the GPU reduced its clock: {reasons}"));
        }
        let errors = self.errors.or(glance.memory_errors);
        if let (Some(before), Some(now @ 1..)) = (errors, glance.memory_errors)
            && now > before
        {
            notes.push(
                "the GPU's memory had errors during the run that could not be corrected: see `nvidia-smi -q -d ECC`"
                    .into(),
            );
        }
        self.errors = errors;
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    /// Takes note of what was measured.
    pub fn measured(&mut self, batch: &[Experiment], answers: &[Result<Samples, Failure>]) {
        for (experiment, answer) in batch.iter().zip(answers) {
            // Both clocks go on while a kernel is stopped.
            if matches!(experiment, Experiment::Clock(_)) {
                continue;
            }
            let Ok(samples) = answer else { continue };
            self.suspects.push(experiment.clone());
            // Rounds of a pattern may differ as much by themselves: in the first its code is fetched.
            let laps: &[Lap] = match experiment {
                Experiment::Pattern(_) | Experiment::Stream(_) | Experiment::LoadedChase(_) => &[],
                // Atomics on one word wait for each other, for as long as the queue is.
                Experiment::Atomics(_) => &[],
                _ => &samples.laps,
            };
            let longest_us = match experiment.stream() {
                Some(stream) => overrun_us(stream, &samples.clocks, self.clock_mhz),
                None => longest_us(&samples.latencies, laps, self.clock_mhz),
            };
            if longest_us > LONG_LOAD_US {
                self.interrupted.push(experiment.clone());
                self.longest_us = self.longest_us.max(longest_us);
            }
        }
    }

    /// Whether a part must be looked at that has ended: the first, and every one in which something was measured.
    pub fn must_look(&self) -> bool {
        self.looks == 0 || !self.suspects.is_empty()
    }

    /// The next part gets attempts of its own.
    pub fn part_ends(&mut self) {
        self.repeats = 0;
    }

    /// Whether the next look must count what crosses the bus: that takes 40 ms, longer than the rest of a look.
    pub fn needs_bus(&self) -> bool {
        self.last.is_copying() || self.suspects.iter().any(crosses_bus)
    }

    /// What is to be done, after this look at the end of a part.
    pub fn judge(&mut self, look: Look, now_s: f64) -> Verdict {
        if let Some(since) = self.repeating.take() {
            self.spend(since.elapsed());
        }
        let first = self.looks <= 1;
        let came = !first && look.glance.processes > self.last.glance.processes.or(Some(0));
        let stopped = look.is_stopped();
        let suspects = std::mem::take(&mut self.suspects);
        let interrupted = std::mem::take(&mut self.interrupted);
        let longest_us = std::mem::take(&mut self.longest_us);
        // What began while others were at work is no better than what ended so.
        let before = self.last.is_stopped() && !first;
        let all = came || stopped || before;
        let copying = look.is_copying();
        let doubtful = if all {
            suspects
        } else {
            // Copies slow down what crosses the bus. On an H200 nothing else was found to change.
            let crossing = suspects.into_iter().filter(|experiment| copying && crosses_bus(experiment));
            let crossing: Vec<Experiment> = crossing.filter(|experiment| !interrupted.contains(experiment)).collect();
            interrupted.into_iter().chain(crossing).collect()
        };
        let stops = [look.watched, self.last.watched].into_iter().flatten().map(|w| w.longest_us);
        let stopped_us = stops.chain([longest_us]).fold(0.0, f64::max);
        let processes = look.glance.processes;
        let from_s = std::mem::replace(&mut self.last_s, now_s);
        // The span of a kernel that was stopped may hold two clocks.
        if let Some(watched) = look.watched.filter(|_| !stopped) {
            self.clock_mhz = watched.clock_mhz;
        }
        self.last = look;
        if doubtful.is_empty() && !stopped && !came {
            self.part_ends();
            return Verdict::Calm;
        }
        let sign = if stopped || before {
            Sign::Stopped
        } else if longest_us > 0.0 {
            Sign::LongLoad
        } else if came {
            Sign::Process
        } else {
            Sign::Copies
        };
        let stopped_us = (stopped_us > STOPPED_US).then_some((stopped_us * 10.0).round() / 10.0);
        let again = self.repeats < REPEATS && (self.budget + self.patience) > Duration::ZERO;
        let consequence = match (doubtful.is_empty(), again) {
            (true, _) => Consequence::Noted,
            (_, true) => Consequence::Repeated,
            (_, false) => Consequence::GivenUp,
        };
        let experiments = doubtful.len() as u32;
        let rounded = |seconds: f64| (seconds * 1e3).round() / 1e3;
        let (from_s, to_s) = (rounded(from_s), rounded(now_s));
        self.seen.push(Disturbance { from_s, to_s, sign, stopped_us, processes, experiments, consequence });
        match consequence {
            Consequence::Noted => Verdict::Calm,
            Consequence::Repeated => {
                self.repeats += 1;
                self.repeating = Some(Instant::now());
                Verdict::Again(doubtful)
            }
            Consequence::GivenUp => Verdict::GiveUp(doubtful, reason(stopped_us, sign, self.repeats)),
        }
    }

    /// How long to wait before another look, while others use the device and the user is willing to wait.
    pub fn waits(&self) -> Option<Duration> {
        ((self.last.is_stopped() || self.last.is_copying()) && !self.patience.is_zero())
            .then(|| self.patience.min(PAUSE))
    }

    /// Another look, after so long a wait.
    pub fn waited(&mut self, look: Look, took: Duration, now_s: f64) {
        self.patience = self.patience.saturating_sub(took);
        if let Some(since) = &mut self.repeating {
            *since = Instant::now();
        }
        (self.last, self.last_s) = (look, now_s);
    }

    fn spend(&mut self, took: Duration) {
        let beyond = took.saturating_sub(self.budget);
        self.budget = self.budget.saturating_sub(took);
        self.patience = self.patience.saturating_sub(beyond);
    }

    /// All that was seen.
    pub fn seen(&self) -> &[Disturbance] {
        &self.seen
    }

    /// What a reader should know besides.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// Whether an experiment loads from the host's memory.
fn crosses_bus(experiment: &Experiment) -> bool {
    experiment.path() == Some(LoadPath::Host)
}

/// The longest of the loads that were timed one by one, in microseconds; or what a lap took beyond the shortest, if that is a stop.
fn longest_us(latencies: &[u32], laps: &[Lap], clock_mhz: f64) -> f64 {
    let us = |cycles: u64| cycles as f64 / clock_mhz.max(1.0);
    let load = latencies.iter().max().map_or(0.0, |&cycles| us(u64::from(cycles)));
    let beyond = |lap: &Lap| {
        let alike = laps.iter().filter(|other| other.loads == lap.loads).map(|other| other.cycles);
        let shortest = alike.min().unwrap_or(lap.cycles);
        let beyond = us(lap.cycles - shortest);
        if lap.cycles > STOPPED_LAP * shortest && beyond > STOPPED_LAP_US { beyond } else { 0.0 }
    };
    laps.iter().map(beyond).fold(load, f64::max)
}

/// Why experiments were given up.
fn reason(stopped_us: Option<f64>, sign: Sign, repeats: u32) -> String {
    let copied = (sign == Sign::Copies).then(|| " and copied data between the host and the GPU".to_owned());
    let stopped = stopped_us.map(|us| format!(" and stopped its kernels for up to {:.1} ms", us / 1e3)).or(copied);
    let repeats = match repeats {
        0 => String::new(),
        1 => ", also when it was measured again".into(),
        n => format!(", also in {n} repetitions"),
    };
    format!(
        "another process used the GPU while this was measured{}{repeats}; measure again when nothing else runs on the GPU, or \
         give it time with `--wait SECONDS`",
        stopped.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests;
