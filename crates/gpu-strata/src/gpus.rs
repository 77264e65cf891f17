//! Several GPUs of one node, measured at the same time.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use strata_model::links::Link;
use strata_model::node::{self, Node, NodeGpu};
use strata_model::topology::{Topology, Wanted};
use strata_report::report;

use crate::answer::{Extent, Terminal};
use crate::device::{Device, check_device_name};
use crate::error::{Error, Result, in_full};
use crate::linked::{LinkDiscovery, numa_node};
use crate::recorded::Recorded;
use crate::run::{Effort, Options, Progress};

/// The name of all GPUs that the driver offers.
const ALL: &str = "all";

/// How the GPUs of a node are measured. The default measures everything at standard effort with seed 1 and keeps no recording.
#[non_exhaustive]
pub struct NodeOptions<'a> {
    /// Elements or attributes that are measured; all if there are none.
    pub only: Vec<Wanted>,
    /// How much to measure.
    pub effort: Effort,
    /// Seed for all random choices, the same for each GPU.
    pub seed: u64,
    /// Whether bandwidth is measured; if nothing is said, on a GPU and at more than quick effort.
    pub bandwidth: Option<bool>,
    /// How long each GPU is waited for that others use.
    pub wait: Duration,
    /// The folder in which a recording of each GPU is kept, named by GPU, UUID and time.
    pub record: Option<PathBuf>,
    /// The results and the recordings hold the host's CPU, memory, operating system and kernel.
    pub host_facts: bool,
    /// Once this is set, nothing further is measured and the run ends with [`Error::Interrupted`].
    pub interrupted: Arc<AtomicBool>,
    /// Called before each batch of experiments with the number of the GPU, from 0, in the order in which they were asked for.
    pub progress: Box<dyn FnMut(usize, Progress) + Send + 'a>,
    /// When the run began; durations in the result count from here.
    pub started: Instant,
}

impl Default for NodeOptions<'_> {
    fn default() -> Self {
        NodeOptions {
            only: Vec::new(),
            effort: Effort::Standard,
            seed: 1,
            bandwidth: None,
            wait: Duration::ZERO,
            record: None,
            host_facts: true,
            interrupted: Arc::default(),
            progress: Box::new(|_, _| ()),
            started: Instant::now(),
        }
    }
}

/// What was found of the GPUs of a node.
#[derive(Debug)]
#[non_exhaustive]
pub struct NodeDiscovery {
    /// The result.
    pub node: Node,
    /// What became of the recording of each GPU, if recordings were asked for.
    pub recorded: Vec<Recorded>,
}

/// Whether a name asks for several GPUs: `all`, or names with commas between them.
pub fn is_of_several(names: &str) -> bool {
    names.trim().eq_ignore_ascii_case(ALL) || names.contains(',')
}

/// Whether a text can be the name of one device or of several; whether they are there, [`devices_named`] and [`Device::open`] say.
///
/// # Errors
///
/// [`Error::Input`], which names the forms that there are.
pub fn check_device_names(names: &str) -> Result<()> {
    if names.trim().eq_ignore_ascii_case(ALL) {
        return Ok(());
    }
    parts(names).try_for_each(check_device_name)
}

fn parts(names: &str) -> impl Iterator<Item = &str> {
    names.split(',').map(str::trim)
}

/// The devices that a name asks for: `all` GPUs of the driver, or each of a list such as `cuda:0,cuda:2`.
///
/// # Errors
///
/// [`ErrorClass::NoDevice`](crate::ErrorClass::NoDevice) without a driver or such a GPU, and [`Error::Input`] if one is named twice.
pub fn devices_named(names: &str) -> Result<Vec<String>> {
    if names.trim().eq_ignore_ascii_case(ALL) {
        return Ok(Device::list()?.into_iter().map(|listed| format!("cuda:{}", listed.ordinal)).collect());
    }
    check_device_names(names)?;
    let mut keys: Vec<String> = Vec::new();
    let mut devices = Vec::new();
    for name in parts(names) {
        // A simulated GPU may be there as often as one likes.
        if crate::device::simulated(name).is_none() {
            let key = format!("cuda:{}", strata_cuda::find(name)?.ordinal);
            if keys.contains(&key) {
                return Err(Error::Input(format!(
                    "--device: `{name}` is named twice (it is {key}); name each GPU once"
                )));
            }
            keys.push(key);
        }
        devices.push(name.to_owned());
    }
    Ok(devices)
}

/// Measures these devices at the same time, each in a thread of its own.
///
/// # Errors
///
/// [`Error::Interrupted`], and the error of the first device if none of them could be measured. A device that cannot be measured beside
/// others that can is no error: the result has the reason.
pub fn discover_node(devices: &[String], options: NodeOptions<'_>) -> Result<NodeDiscovery> {
    let NodeOptions { progress, ref started, .. } = options;
    let progress = Mutex::new(progress);
    let started = *started;
    let asked = Asked {
        only: &options.only,
        effort: options.effort,
        seed: options.seed,
        bandwidth: options.bandwidth,
        wait: options.wait,
        record: options.record.as_ref(),
        host_facts: options.host_facts,
        interrupted: &options.interrupted,
        started,
    };
    let found: Vec<Result<(Topology, Option<Recorded>)>> = thread::scope(|scope| {
        let one = |(number, name): (usize, &String)| {
            let (asked, progress, name) = (&asked, &progress, name.clone());
            scope.spawn(move || {
                // A panic of another thread has left nothing undone.
                let show = |step| (progress.lock().unwrap_or_else(PoisonError::into_inner))(number, step);
                asked.discover(number, &name, show)
            })
        };
        let threads: Vec<_> = devices.iter().enumerate().map(one).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    if options.interrupted.load(Ordering::Relaxed) {
        let recorded = found.iter().find_map(|found| match found {
            Err(Error::Interrupted { recorded }) => recorded.clone(),
            _ => None,
        });
        return Err(Error::Interrupted { recorded });
    }
    if found.iter().all(Result::is_err) {
        let first = found.into_iter().find_map(Result::err);
        return Err(first.unwrap_or_else(|| Error::Input("no device was named".into())));
    }
    let mut recorded = Vec::new();
    let mut gpus = Vec::new();
    for (device, found) in devices.iter().zip(found) {
        let device = device.clone();
        gpus.push(match found {
            Ok((topology, kept)) => {
                recorded.extend(kept);
                let numa_node = topology.device.pci.as_deref().and_then(numa_node);
                NodeGpu { device, topology: Some(topology), numa_node, failure: None }
            }
            Err(error) => NodeGpu { device, topology: None, numa_node: None, failure: Some(in_full(&error)) },
        });
    }
    Ok(NodeDiscovery { recorded, ..NodeDiscovery::of(gpus, Vec::new()) })
}

/// What each thread is told.
struct Asked<'a> {
    only: &'a [Wanted],
    effort: Effort,
    seed: u64,
    bandwidth: Option<bool>,
    wait: Duration,
    record: Option<&'a PathBuf>,
    host_facts: bool,
    interrupted: &'a Arc<AtomicBool>,
    started: Instant,
}

impl Asked<'_> {
    fn discover(
        &self,
        number: usize,
        name: &str,
        progress: impl FnMut(Progress),
    ) -> Result<(Topology, Option<Recorded>)> {
        let mut device = Device::open_within(name, self.wait, self.interrupted)?;
        let bandwidth = self.bandwidth.unwrap_or(!device.is_simulated() && self.effort != Effort::Quick);
        let mut options = Options::effort(self.effort).seed(self.seed).bandwidth(bandwidth).on_progress(progress);
        // Recordings are named by UUID, which simulated GPUs do not have: each has a folder of its own.
        let folder =
            |path: &PathBuf| path.join(if device.is_simulated() { format!("{number}/") } else { String::new() });
        options.record = self.record.map(folder);
        options.host_facts = self.host_facts;
        options.interrupted = Arc::clone(self.interrupted);
        options.started = self.started;
        let found = device.discover_only(self.only, options)?;
        Ok((found.topology, device.recorded().cloned()))
    }
}

impl NodeDiscovery {
    /// The node of these GPUs, which were measured at the same time, and of the links between them, if they were measured.
    pub fn of(gpus: Vec<NodeGpu>, links: Vec<Link>) -> Self {
        let topologies = || gpus.iter().map(|gpu| &gpu.topology).chain(links.iter().map(|link| &link.topology));
        let runs = || topologies().filter_map(|topology| Some(&topology.as_ref()?.run));
        let node = Node {
            schema: node::SCHEMA.to_owned(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            started: runs().map(|run| run.started.clone()).min().unwrap_or_default(),
            duration_s: runs().map(|run| run.duration_s).fold(0.0, f64::max),
            together: true,
            host: runs().find_map(|run| run.host.clone()),
            gpus,
            links,
        };
        NodeDiscovery { node, recorded: Vec::new() }
    }

    /// With the links between these GPUs, and their recordings.
    #[must_use]
    pub fn with_links(mut self, found: LinkDiscovery) -> Self {
        let LinkDiscovery { links, recorded } = found;
        self.node.duration_s = self.node.duration_s.max(links.duration_s);
        self.node.links = links.links;
        self.recorded.extend(recorded);
        self
    }

    /// As a text for people: a row for each GPU, or the whole report of each.
    pub fn text(&self, terminal: &Terminal, extent: Extent) -> String {
        report::node::text(&self.node, terminal, extent)
    }

    /// As GitHub-flavoured Markdown: a table of the GPUs, their values beside each other, and a table of each quantity of the links.
    pub fn markdown(&self) -> String {
        report::node::markdown(&self.node)
    }

    /// As one HTML page that needs no network: the GPUs, their values beside each other, and heat maps of the links.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if the page cannot be made.
    pub fn html(&self) -> Result<String> {
        report::node::html(&self.node).map_err(Error::report("the node as HTML"))
    }

    /// The whole result as JSON; [`Schema::Node`](crate::Schema::Node) describes it.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if a value cannot be written as JSON, which no finding holds.
    pub fn json(&self) -> Result<String> {
        report::json(&self.node).map_err(Error::report("the result as JSON"))
    }

    /// As [`NodeDiscovery::json`] in one line and without the numbers of the experiments.
    ///
    /// # Errors
    ///
    /// As [`NodeDiscovery::json`].
    pub fn compact_json(&self) -> Result<String> {
        report::compact_json(&self.node).map_err(Error::report("the result as JSON"))
    }
}
