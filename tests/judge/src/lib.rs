//! What is true of a simulated machine, and how a discovery or a characterization of it stands to that. For tests and for
//! `cargo xtask`.

pub mod expect;
pub mod said;
pub mod truth;

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use gpu_strata::{Device, Effort, Options};
use strata_model::attribute::{Attribute, Value};
use strata_model::characterization::{Characterization, Suite};
use strata_model::experiment::Experiment;
use strata_model::samples::{Failure, Samples};
use strata_model::topology::{ElementName, Finding, Topology, Wanted};
use strata_recording::Recording;
use strata_sim::machine::Machine;

/// What comes of each job, on as many threads as there are cores. After a `None` a thread takes no further job. No job is on two
/// threads, so that a seed gives one result.
///
/// # Panics
///
/// If a job does.
pub fn side_by_side<J: Sync, R: Send>(jobs: &[J], one: impl Fn(&J) -> Option<R> + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || std::iter::from_fn(|| one(jobs.get(next.fetch_add(1, Ordering::Relaxed))?)).collect::<Vec<R>>();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("no job panics")).collect()
    })
}

/// The machines of a list of kept ones, by their numbers, and the seed of those that only one seed shows: a line each, as in
/// `322:1  what was wrong`. Lines that begin with `#` are comments.
///
/// # Panics
///
/// If a line begins with no number, since its machine would be left out unseen.
pub fn kept(lines: &str) -> impl Iterator<Item = (u64, Option<u64>)> {
    let number = |word: &str| word.parse::<u64>().unwrap_or_else(|_| panic!("`{word}` is no number of a machine"));
    lines.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_whitespace().next()).map(
        move |word| match word.split_once(':') {
            Some((machine, seed)) => (number(machine), Some(number(seed))),
            None => (number(word), None),
        },
    )
}

/// What discovery found, and all that it saw.
pub struct Outcome {
    /// What it found.
    pub topology: Topology,
    /// All experiments and what came of them.
    pub seen: Vec<(Experiment, Result<Samples, Failure>)>,
}

/// A device of the library's front that simulates this machine, written to a file as a user's own machine is.
///
/// # Panics
///
/// If the file cannot be written or is refused.
pub fn device(machine: &Machine) -> Device {
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a temporary file");
    file.write_all(machine.text.as_bytes()).expect("the machine fits");
    let name = file.path().to_str().expect("a path of text");
    Device::open(&format!("sim:{name}")).unwrap_or_else(|error| panic!("{}: {error}", machine.origin))
}

/// Discovery of some elements or attributes (of all, if none is named) in the way of the command line: through the library's front, by
/// several simulated GPUs side by side. What was seen is read from the recording.
///
/// # Panics
///
/// If the machine cannot be discovered.
pub fn discovery<W: Clone + Into<Wanted>>(machine: &Machine, effort: Effort, seed: u64, only: &[W]) -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run.strata");
    let options = Options::effort(effort).seed(seed).record(&path);
    let found = device(machine).discover_only(only, options).expect("a simulated machine is discovered");
    let recording = Recording::read(&path).expect("what was recorded can be read");
    let seen = recording.entries.iter().map(|entry| (entry.experiment.clone(), entry.outcome.clone())).collect();
    Outcome { topology: found.topology, seen }
}

/// Characterization of some parts in the way of the command line: through the library's front.
///
/// # Panics
///
/// If the machine cannot be characterized.
pub fn characterization(machine: &Machine, suite: &Suite, effort: Effort, seed: u64) -> Characterization {
    let found = device(machine).characterize(suite, Options::effort(effort).seed(seed));
    found.expect("a simulated machine is characterized").characterization
}

/// Discovery of all there is.
///
/// # Panics
///
/// As [`discovery`].
pub fn whole_discovery(machine: &Machine, effort: Effort, seed: u64) -> Outcome {
    discovery::<ElementName>(machine, effort, seed, &[])
}

/// An attribute of an element by its key.
///
/// # Panics
///
/// If the element has no such attribute.
pub fn finding<'t>(topology: &'t Topology, name: ElementName, attribute: &str) -> &'t Finding {
    let attribute: Attribute = attribute.parse().expect("a known attribute");
    topology.elements[&name].finding(attribute).unwrap_or_else(|| panic!("{name} has no attribute {attribute}"))
}

/// The value of a finding as JSON has it, null where it is unknown: what expectations are written in.
///
/// # Panics
///
/// Never: every value can be written.
pub fn json(finding: &Finding) -> serde_json::Value {
    // Of a map the places: its latencies have intervals, and `partitions.rs` of the simulated tests holds them against the machine.
    let mut value = finding.value.clone();
    if let Some(Value::SmMap(map)) = &mut value {
        map.0.iter_mut().for_each(|sm| sm.latency.clear());
    }
    serde_json::to_value(&value).expect("a value can be written")
}
