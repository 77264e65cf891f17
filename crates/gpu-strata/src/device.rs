//! A GPU to be measured: one of the driver's, or a simulated one.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use strata_bench::session::Session;
use strata_bench::{Bench, Fleet};
use strata_cuda::Cuda;
use strata_gpu::Gpu;
use strata_kernels as kernels;
use strata_model::facts::{DeviceFacts, Listed, Telemetry};
use strata_model::names;
use strata_sim::Sim;
use strata_sim::machine::spec::Link;
use strata_sim::machine::{self, Machine};

use crate::error::{Error, Result};
use crate::lock::{Lock, Taken};
use crate::recorded::Recorded;

/// Simulated GPUs that work side by side. The number is part of what fixes the samples, so it is the same on every host.
const MEMBERS: usize = 4;
/// Places at which a simulated GPU's memory begins, in large pages: as many as the largest pages of known GPUs hold, 32 MiB.
const BEGINNINGS: u64 = 16;

/// A device, open but idle. As long as it is there, nobody else opens the same GPU through this library or the `strata` command.
pub struct Device {
    kind: Kind,
    facts: DeviceFacts,
    telemetry: Telemetry,
    /// What is left of the time to wait for a GPU that others use.
    pub(crate) patience: Duration,
    unlocked: Option<String>,
    _lock: Option<Lock>,
    pub(crate) opened: Instant,
    pub(crate) recorded: Option<Recorded>,
}

enum Kind {
    Cuda(Box<Cuda>),
    Simulated {
        machine: Box<Machine>,
        /// What is at the other end of a link.
        peer: Option<Box<(Link, Machine)>>,
    },
}

impl Device {
    /// Opens a device by name: `auto` (the first GPU of the driver), `cuda:N`, a UUID, a PCI address, or a simulated one:
    /// `sim:NAME`, `sim:FILE.toml`.
    ///
    /// ```
    /// let device = gpu_strata::Device::open("sim:k20c")?;
    /// assert_eq!(device.facts().multiprocessors, 13);
    /// # Ok::<(), gpu_strata::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorClass::NoDevice`](crate::ErrorClass::NoDevice) without a driver or such a device;
    /// [`ErrorClass::Busy`](crate::ErrorClass::Busy) if another process of `strata` has the GPU open;
    /// [`ErrorClass::Input`](crate::ErrorClass::Input) if there is no such simulated machine or its file has a defect.
    pub fn open(name: &str) -> Result<Self> {
        Device::open_within(name, Duration::ZERO, &AtomicBool::new(false))
    }

    /// As [`Device::open`], waiting at most so long until another process of `strata` is done with the GPU. What is left of
    /// the time is spent in runs, on waiting for other programs that compute on the GPU. Nothing is waited for once
    /// `interrupted` is set.
    ///
    /// # Errors
    ///
    /// As [`Device::open`], and [`Error::Interrupted`].
    pub fn open_within(name: &str, wait: Duration, interrupted: &AtomicBool) -> Result<Self> {
        if let Some(machine) = simulated(name) {
            let machine = Machine::find(machine)?;
            let (facts, telemetry) = described(&mut Sim::new(machine.clone(), 0));
            let kind = Kind::Simulated { machine: Box::new(machine), peer: None };
            return Ok(Device {
                kind,
                facts,
                telemetry,
                patience: wait,
                unlocked: None,
                _lock: None,
                opened: Instant::now(),
                recorded: None,
            });
        }
        // Before there is a context: to make one disturbs what runs on the GPU.
        let found = strata_cuda::find(name)?;
        let (lock, patience, unlocked) = match Lock::take(&key(&found), wait, interrupted)? {
            Taken::Held(lock, left) => (Some(lock), left, None),
            Taken::Impossible(reason) => (None, wait, Some(reason)),
        };
        let mut gpu = Cuda::open(&format!("cuda:{}", found.ordinal))?;
        let (facts, telemetry) = described(&mut gpu);
        let kind = Kind::Cuda(Box::new(gpu));
        let opened = Instant::now();
        Ok(Device { kind, facts, telemetry, patience, unlocked, _lock: lock, opened, recorded: None })
    }

    /// A device with access to the memory of another one. Nothing is locked: the caller has the locks of both.
    pub(crate) fn open_linked(from: &str, to: &str) -> Result<Self> {
        let opened = Instant::now();
        let (kind, (facts, telemetry)) = match (simulated(from), simulated(to)) {
            (Some(own), Some(other)) => {
                let (own, other) = (Machine::find(own)?, Machine::find(other)?);
                let Some(link) = own.spec.link.clone() else {
                    return Err(Error::Input(format!("`{from}`: its machine file describes no link to another GPU")));
                };
                let found = described(&mut Sim::new(own.clone(), 0).linked(&link, &other));
                (Kind::Simulated { machine: Box::new(own), peer: Some(Box::new((link, other))) }, found)
            }
            (None, None) => {
                let mut gpu = Cuda::open_linked(from, to)?;
                let found = described(&mut gpu);
                (Kind::Cuda(Box::new(gpu)), found)
            }
            _ => return Err(Error::Input(format!("`{from}` and `{to}`: a GPU has no link to a simulated one"))),
        };
        Ok(Device {
            kind,
            facts,
            telemetry,
            patience: Duration::ZERO,
            unlocked: None,
            _lock: None,
            opened,
            recorded: None,
        })
    }

    /// The GPUs that the driver offers.
    ///
    /// # Errors
    ///
    /// [`ErrorClass::NoDevice`](crate::ErrorClass::NoDevice) without a usable driver.
    pub fn list() -> Result<Vec<Listed>> {
        Ok(strata_cuda::devices()?)
    }

    /// What the driver says of the device.
    pub fn facts(&self) -> &DeviceFacts {
        &self.facts
    }

    /// Clocks, throttling and other processes when the device was opened.
    pub fn telemetry(&self) -> &Telemetry {
        &self.telemetry
    }

    /// What became of the recording of the last run, if one was asked for.
    pub fn recorded(&self) -> Option<&Recorded> {
        self.recorded.as_ref()
    }

    /// Whether nothing real is measured.
    pub fn is_simulated(&self) -> bool {
        matches!(self.kind, Kind::Simulated { .. })
    }

    /// What runs the kernels, as results name it: `cuda` or `sim`.
    pub fn backend(&self) -> &'static str {
        match self.kind {
            Kind::Cuda(_) => "cuda",
            Kind::Simulated { .. } => "sim",
        }
    }

    /// What a reader of this device's numbers should know, if there is anything.
    pub(crate) fn warning(&self) -> Option<String> {
        let Kind::Simulated { machine, .. } = &self.kind else { return self.unlocked.clone() };
        let capability = machine.spec.device.compute_capability;
        let (major, minor) = kernels::PTX.oldest_target();
        ((capability.0, capability.1) < (major, minor)).then(|| {
            format!(
                "the kernels need compute capability {major}.{minor} or later on real GPUs; the simulator runs them on this \
                 machine of {}.{} anyway",
                capability.0, capability.1
            )
        })
    }

    /// Starts a run on it.
    pub(crate) fn session(
        &mut self,
        seed: u64,
        started: Instant,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Session<'_>> {
        match &mut self.kind {
            Kind::Cuda(gpu) => {
                let clock_khz = self.facts.clock_khz;
                let bench = Bench::new(gpu.as_mut(), Arc::clone(interrupted))?;
                Ok(Session::new(bench, started).watching(self.patience, clock_khz))
            }
            Kind::Simulated { machine, peer } => {
                let (machine, peer) = (machine.clone(), peer.clone());
                // The members' memory lies at the same addresses, which differ from seed to seed as from process to process.
                let open = move |number: usize| {
                    let noise = seed.wrapping_mul(MEMBERS as u64) + number as u64;
                    let sim = Sim::new(*machine.clone(), noise).beginning_at(seed % BEGINNINGS);
                    match &peer {
                        Some(peer) => sim.linked(&peer.0, &peer.1),
                        None => sim,
                    }
                };
                Ok(Session::new(Fleet::new(MEMBERS, interrupted, open)?, started))
            }
        }
    }
}

/// By what a GPU is locked.
pub(crate) fn key(found: &Listed) -> String {
    let known = found.uuid.as_ref().or(found.pci.as_ref()).cloned();
    known.unwrap_or_else(|| format!("cuda-{}", found.ordinal))
}

/// Its facts and its state now.
fn described(gpu: &mut dyn Gpu) -> (DeviceFacts, Telemetry) {
    (gpu.facts().clone(), gpu.telemetry())
}

/// What follows `sim:` in the name of a simulated device.
pub(crate) fn simulated(name: &str) -> Option<&str> {
    let prefix = name.get(..4)?;
    prefix.eq_ignore_ascii_case("sim:").then(|| &name[4..])
}

/// Whether a text can be the name of a device at all; whether the device is there, [`Device::open`] says.
///
/// # Errors
///
/// [`Error::Input`], which names the forms that there are.
pub fn check_device_name(name: &str) -> Result<()> {
    let lower = name.to_ascii_lowercase();
    let ordinal = lower.strip_prefix("cuda:").unwrap_or(&lower).parse::<u32>().is_ok();
    let uuid = lower.starts_with("gpu-") || lower.starts_with("mig-");
    let pci = lower.contains(':') && lower.chars().all(|c| c.is_ascii_hexdigit() || c == ':' || c == '.');
    let simulated = lower.strip_prefix("sim:").is_some_and(|machine| !machine.is_empty());
    if lower == "auto" || ordinal || uuid || pci || simulated {
        return Ok(());
    }
    let known: Vec<String> =
        ["auto", "cuda:0"].map(str::to_owned).into_iter().chain(machine::names().map(|m| format!("sim:{m}"))).collect();
    // A machine's name alone is the likeliest mistake.
    let near = names::near(&lower, known.iter().map(String::as_str))
        .into_iter()
        .chain(names::near(&format!("sim:{lower}"), known.iter().map(String::as_str)))
        .next();
    let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? Otherwise "));
    Err(Error::Input(format!(
        "unknown device `{name}`: {near}use auto, cuda:N, a UUID (GPU-…) or a PCI address (0000:1b:00.0), which `strata \
         devices` lists, or sim:NAME or sim:FILE.toml for a simulated machine (`strata machines` lists them)"
    )))
}
