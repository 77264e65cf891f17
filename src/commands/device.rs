//! Opening the device that the command line names: a GPU of the driver's, or a simulated one.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gpu_strata::bench::Bench;
use gpu_strata::gpu::cuda::Cuda;
use gpu_strata::gpu::sim::Sim;
use gpu_strata::gpu::sim::machine::Machine;
use gpu_strata::gpu::{DeviceFacts, Gpu, Telemetry};
use gpu_strata::kernels;
use gpu_strata::recording::Writer;
use gpu_strata::session::Session;

use super::Fault;

/// A device, open but idle.
pub enum Device {
    /// A GPU of the driver's.
    Cuda(Box<Cuda>),
    /// A simulated one.
    Simulated(Box<Machine>),
}

impl Device {
    /// Opens a device by the name that `--device` gave.
    pub fn open(name: &str) -> Result<Self, Fault> {
        match simulated(name) {
            Some(machine) => Ok(Device::Simulated(Box::new(Machine::find(machine).map_err(Fault::usage)?))),
            None => Ok(Device::Cuda(Box::new(Cuda::open(name).map_err(Fault::gpu)?))),
        }
    }

    /// What runs the kernels.
    pub fn backend(&self) -> &'static str {
        match self {
            Device::Cuda(_) => "cuda",
            Device::Simulated(_) => "sim",
        }
    }

    /// Whether nothing real is measured.
    pub fn is_simulated(&self) -> bool {
        matches!(self, Device::Simulated(_))
    }

    /// Its facts and its state now.
    pub fn describe(&mut self) -> (DeviceFacts, Telemetry) {
        match self {
            Device::Cuda(gpu) => (gpu.facts().clone(), gpu.telemetry()),
            Device::Simulated(machine) => {
                let mut gpu = Sim::new(*machine.clone(), 0);
                (gpu.facts().clone(), gpu.telemetry())
            }
        }
    }

    /// What somebody should know who reads numbers of this device, if there is anything.
    pub fn warning(&self) -> Option<String> {
        let Device::Simulated(machine) = self else { return None };
        let capability = machine.spec.device.compute_capability;
        let (major, minor) = kernels::TARGET;
        ((capability.0, capability.1) < kernels::TARGET).then(|| {
            format!(
                "the kernels' text is for compute capability {major}.{minor} and later; the simulator runs it on this machine of \
                 {}.{} all the same",
                capability.0, capability.1
            )
        })
    }

    /// Starts a session on it.
    pub fn session<'d>(
        &'d mut self,
        seed: u64,
        writer: Option<Writer>,
        started: std::time::Instant,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Session<'d>, Fault> {
        match self {
            Device::Cuda(gpu) => {
                let bench = Bench::new(gpu.as_mut(), Arc::clone(interrupted)).map_err(Fault::gpu)?;
                Ok(Session::new(bench, writer, started))
            }
            Device::Simulated(machine) => {
                let fleet = gpu_strata::simulated::fleet(machine, seed, interrupted).map_err(Fault::gpu)?;
                Ok(Session::new(fleet, writer, started))
            }
        }
    }
}

/// What follows `sim:` in the name of a simulated device.
pub fn simulated(name: &str) -> Option<&str> {
    let prefix = name.get(..4)?;
    prefix.eq_ignore_ascii_case("sim:").then(|| &name[4..])
}
