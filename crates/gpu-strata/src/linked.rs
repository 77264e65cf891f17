//! The links of a node: each GPU at the memory of each other GPU.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use strata_model::facts::Listed;
use strata_model::links::{self, Link, LinkedGpu, Links};
use strata_model::topology::{ElementName, Topology, Wanted};
use strata_report::report;

use crate::answer::Terminal;
use crate::device::{self, Device};
use crate::error::{Error, Result, in_full};
use crate::lock::{Lock, Taken};
use crate::recorded::Recorded;
use crate::run::{Effort, Options, Progress};

/// What is measured of each link: all that is of one ([`ElementName::is_of_link`]).
const ELEMENTS: [ElementName; 2] = [ElementName::PeerL2, ElementName::PeerDram];

/// How the links of a node are measured. The default measures at standard effort with seed 1 and keeps no recording.
#[non_exhaustive]
pub struct LinkOptions<'a> {
    /// Elements or attributes that are measured, of `peer_l2` and `peer_dram`; all of these if there are none.
    pub only: Vec<Wanted>,
    /// How much to measure.
    pub effort: Effort,
    /// Seed for all random choices, the same for each link.
    pub seed: u64,
    /// How long GPUs are waited for that others use, all together.
    pub wait: Duration,
    /// The folder in which a recording of each link is kept, named by GPU, both UUIDs and time.
    pub record: Option<PathBuf>,
    /// The result and the recordings hold the host's CPU, memory, operating system and kernel.
    pub host_facts: bool,
    /// Once this is set, nothing further is measured and the run ends with [`Error::Interrupted`].
    pub interrupted: Arc<AtomicBool>,
    /// Called before each batch of experiments with the number of the link, from 0, and how many there are.
    pub progress: Box<dyn FnMut(usize, usize, Progress) + 'a>,
    /// When the run began; durations in the result count from here.
    pub started: Instant,
}

impl Default for LinkOptions<'_> {
    fn default() -> Self {
        LinkOptions {
            only: Vec::new(),
            effort: Effort::Standard,
            seed: 1,
            wait: Duration::ZERO,
            record: None,
            host_facts: true,
            interrupted: Arc::default(),
            progress: Box::new(|_, _, _| ()),
            started: Instant::now(),
        }
    }
}

/// What was found of the links of a node.
#[derive(Debug)]
#[non_exhaustive]
pub struct LinkDiscovery {
    /// The result.
    pub links: Links,
    /// What became of the recording of each link, if recordings were asked for.
    pub recorded: Vec<Recorded>,
}

/// Measures the links between these devices, one after the other.
///
/// # Errors
///
/// [`Error::Input`] for fewer than two devices, [`Error::Busy`] if another process of `strata` has one of them open,
/// [`Error::Interrupted`], and the error of the first link if none of them could be measured. A link that cannot be measured beside others
/// that can is no error: the result has the reason.
pub fn discover_links(devices: &[String], options: LinkOptions<'_>) -> Result<LinkDiscovery> {
    if devices.len() < 2 {
        return Err(Error::Input(format!(
            "a link has two ends, and there is {}: name two GPUs or more",
            devices.first().map_or("no GPU", String::as_str)
        )));
    }
    let LinkOptions { only, effort, seed, wait, record, host_facts, interrupted, mut progress, started } = options;
    if let Some(other) = only.iter().find(|wanted| !wanted.element().is_of_link()) {
        let [l2, dram] = ELEMENTS;
        return Err(Error::Input(format!("`{other}` is nothing of a link; a link has {l2} and {dram}")));
    }
    let only = if only.is_empty() { ELEMENTS.map(Wanted::from).to_vec() } else { only };
    let known = devices.iter().map(|device| listed(device)).collect::<Result<Vec<_>>>()?;
    let _locks = locked(&known, wait, &interrupted)?;
    let pairs: Vec<(usize, usize)> = (0..devices.len())
        .flat_map(|from| (0..devices.len()).filter(move |to| *to != from).map(move |to| (from, to)))
        .collect();
    let names = report::node::distinct(&devices.iter().map(String::as_str).collect::<Vec<_>>());
    let mut links = Vec::new();
    let (mut recorded, mut first) = (Vec::new(), None);
    for (number, &(from, to)) in pairs.iter().enumerate() {
        let mut options =
            Options::effort(effort).seed(seed).bandwidth(true).on_progress(|step| progress(number, pairs.len(), step));
        // Recordings are named by UUID, which simulated GPUs do not have: each has a folder of its own.
        options.record = record.as_ref().map(|path| match known[from] {
            Some(_) => path.clone(),
            None => path.join(format!("{from}-to-{to}/")),
        });
        (options.host_facts, options.interrupted, options.started) = (host_facts, Arc::clone(&interrupted), started);
        let (topology, failure) = match one(&devices[from], &devices[to], &only, options) {
            Ok((topology, kept)) => {
                recorded.extend(kept);
                (Some(topology), None)
            }
            Err(error @ Error::Interrupted { .. }) => return Err(error),
            Err(error) => {
                let failure = in_full(&error);
                first = first.or(Some(error));
                (None, Some(failure))
            }
        };
        if interrupted.load(Ordering::Relaxed) {
            return Err(Error::Interrupted { recorded: recorded.pop() });
        }
        links.push(Link { from: names[from].clone(), to: names[to].clone(), topology, failure });
    }
    if let (Some(first), true) = (first, links.iter().all(|link| link.topology.is_none())) {
        return Err(first);
    }
    let runs = || links.iter().filter_map(|link| Some(&link.topology.as_ref()?.run));
    let document = Links {
        schema: links::SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        started: runs().map(|run| run.started.clone()).min().unwrap_or_default(),
        duration_s: runs().map(|run| run.duration_s).fold(0.0, f64::max),
        host: runs().find_map(|run| run.host.clone()),
        gpus: names.iter().zip(&known).map(|(device, listed)| gpu(device, listed.as_ref(), &links)).collect(),
        links,
    };
    Ok(LinkDiscovery { links: document, recorded })
}

/// Measures one link.
fn one(from: &str, to: &str, only: &[Wanted], options: Options<'_>) -> Result<(Topology, Option<Recorded>)> {
    let mut device = Device::open_linked(from, to)?;
    let found = device.discover_only(only, options)?;
    Ok((found.topology, device.recorded().cloned()))
}

/// What the driver says of a device; nothing of a simulated one.
fn listed(device: &str) -> Result<Option<Listed>> {
    match device::simulated(device) {
        Some(_) => Ok(None),
        None => Ok(Some(strata_cuda::find(device)?)),
    }
}

/// The locks of all GPUs, in an order that is the same for all processes, so that no two wait for each other.
fn locked(known: &[Option<Listed>], wait: Duration, interrupted: &AtomicBool) -> Result<Vec<Lock>> {
    let mut keys: Vec<String> = known.iter().flatten().map(device::key).collect();
    keys.sort_unstable();
    let (mut locks, mut left) = (Vec::new(), wait);
    for key in keys {
        if let Taken::Held(lock, after) = Lock::take(&key, left, interrupted)? {
            locks.push(lock);
            left = after;
        }
    }
    Ok(locks)
}

/// What is known of a GPU of the node.
fn gpu(device: &str, listed: Option<&Listed>, links: &[Link]) -> LinkedGpu {
    // A simulated GPU is only known by links from it or to it.
    let known = |link: &Link| {
        let facts = &link.topology.as_ref()?.device;
        match (link.from == device, link.to == device) {
            (true, _) => Some(facts.name.clone()),
            (_, true) => facts.peer.as_ref().map(|peer| peer.name.clone()),
            _ => None,
        }
    };
    let name = listed.map(|gpu| gpu.name.clone()).or_else(|| links.iter().find_map(known));
    let pci = listed.and_then(|gpu| gpu.pci.clone());
    LinkedGpu {
        device: device.to_owned(),
        name: name.unwrap_or_default(),
        uuid: listed.and_then(|gpu| gpu.uuid.clone()),
        numa_node: pci.as_deref().and_then(numa_node),
        pci,
    }
}

/// The NUMA node of a PCI slot, as Linux says; nothing where there is one node only, or in a container that does not show it.
pub fn numa_node(pci: &str) -> Option<u32> {
    let text = fs::read_to_string(format!("/sys/bus/pci/devices/{pci}/numa_node")).ok()?;
    text.trim().parse().ok()
}

impl LinkDiscovery {
    /// As a text for people: a matrix of each quantity.
    pub fn text(&self, terminal: &Terminal) -> String {
        report::links::text(&self.links, terminal)
    }

    /// As GitHub-flavoured Markdown: a table of each quantity.
    pub fn markdown(&self) -> String {
        report::links::markdown(&self.links)
    }

    /// As one HTML page that needs no network: a heat map of each quantity.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if the page cannot be made.
    pub fn html(&self) -> Result<String> {
        report::links::html(&self.links).map_err(Error::report("the links as HTML"))
    }

    /// The whole result as JSON; [`Schema::Links`](crate::Schema::Links) describes it.
    ///
    /// # Errors
    ///
    /// [`Error::Report`], if a value cannot be written as JSON, which no finding holds.
    pub fn json(&self) -> Result<String> {
        report::json(&self.links).map_err(Error::report("the result as JSON"))
    }
}
