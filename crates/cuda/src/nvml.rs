//! The GPU's state while a run goes on, from NVML, where it is there. A run needs none of it: what is missing is said in a
//! note, and never an error.

use std::ffi::OsStr;

use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, EccCounter, MemoryError, PcieUtilCounter, TemperatureSensor};
use nvml_wrapper::error::NvmlError;

use super::board;
use strata_gpu::{BoardFacts, DeviceFacts, Glance, Mig, OtherProcesses, Telemetry};

/// Where NVML is looked for: its usual name, the one that some containers have, WSL's.
const CANDIDATES: [&str; 3] = ["libnvidia-ml.so.1", "libnvidia-ml.so", "/usr/lib/wsl/lib/libnvidia-ml.so.1"];

/// The generation of an `nvmlNvlinkVersion_t`: its numbers count 2.2 and 3.1, too.
fn generation(version: u32) -> Option<u32> {
    match version {
        1 => Some(1),
        2 | 3 => Some(2),
        4 | 5 => Some(3),
        6 => Some(4),
        7 => Some(5),
        _ => None,
    }
}

/// `NVML_NVLINK_MAX_LINKS`.
const MOST_LINKS: u32 = 18;

/// NVML, opened for one device, or the reason why not.
pub(super) struct Monitor {
    nvml: Result<Nvml, String>,
    /// Where NVML was opened.
    library: &'static str,
    uuid: Option<String>,
    pci: Option<String>,
}

impl Monitor {
    /// Opens NVML for the device of these facts.
    pub fn open(facts: &DeviceFacts) -> Self {
        let (nvml, library) = open();
        Monitor { nvml, library, uuid: facts.uuid.clone(), pci: facts.pci.clone() }
    }

    /// Version of the kernel driver.
    pub fn driver_version(&self) -> Option<String> {
        self.nvml.as_ref().ok()?.sys_driver_version().ok()
    }

    /// What can be seen now.
    pub fn telemetry(&self) -> Telemetry {
        let instance = self.is_instance();
        let unseen = |note| Telemetry {
            mig: if instance { Mig::On } else { Mig::Unknown },
            note: Some(note),
            ..Telemetry::default()
        };
        let nvml = match &self.nvml {
            Ok(nvml) => nvml,
            Err(reason) => return unseen(reason.clone()),
        };
        match self.device(nvml, instance) {
            Ok(device) => read(&device, instance),
            Err(reason) => unseen(format!("NVML does not find the device: {reason}")),
        }
    }

    /// What can be seen quickly: a few calls. The use of the GPU in per cent is not asked for, since this process's own kernels
    /// count in it.
    pub fn glance(&self) -> Glance {
        let instance = self.is_instance();
        let Ok(nvml) = &self.nvml else { return Glance::default() };
        let Ok(device) = self.device(nvml, instance) else { return Glance::default() };
        Glance {
            processes: processes(&device).ok().map(|listed| others(&listed, std::process::id()).0),
            throttle_reasons: device.current_throttle_reasons().map(throttle_reasons).unwrap_or_default(),
            memory_errors: device.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile).ok(),
        }
    }

    /// Bytes a second over PCIe, in the direction that has more. NVML counts each for 20 ms.
    pub fn bus_traffic(&self) -> Option<u64> {
        let instance = self.is_instance();
        let device = self.device(self.nvml.as_ref().ok()?, instance).ok()?;
        let counted = [PcieUtilCounter::Receive, PcieUtilCounter::Send].map(|way| device.pcie_throughput(way).ok());
        let kilobytes = counted.into_iter().flatten().max()?;
        Some(u64::from(kilobytes) * 1000)
    }

    /// The board; nothing where NVML is absent. It takes more than 40 ms, since NVML counts what crosses the bus for
    /// 20 ms in each direction.
    pub fn board(&self) -> Option<BoardFacts> {
        let device = self.device(self.nvml.as_ref().ok()?, self.is_instance()).ok()?;
        Some(board::read(&device, self.library))
    }

    /// NVLink connections that are up, and their generation; nothing where NVML does not tell.
    pub fn nvlinks(&self) -> Option<(u32, Option<u32>)> {
        let device = self.device(self.nvml.as_ref().ok()?, self.is_instance()).ok()?;
        let links = (0..MOST_LINKS).map(|number| device.link_wrapper_for(number));
        let told: Vec<_> =
            links.filter_map(|link| Some((link.is_active().ok()?, link.version().ok().and_then(generation)))).collect();
        let up = || told.iter().filter(|(is_up, _)| *is_up);
        (!told.is_empty()).then(|| (up().count() as u32, up().find_map(|(_, generation)| *generation)))
    }

    /// Whether the device is a part of a divided GPU.
    fn is_instance(&self) -> bool {
        self.uuid.as_deref().is_some_and(|uuid| uuid.starts_with("MIG-"))
    }

    /// The GPU: by its UUID, or by its PCI address. An instance has its own UUID but the clocks are the whole GPU's, whose
    /// address it shares.
    fn device<'n>(&self, nvml: &'n Nvml, instance: bool) -> Result<nvml_wrapper::Device<'n>, String> {
        let mut reason = "the driver gives neither UUID nor PCI address".to_owned();
        if let Some(uuid) = self.uuid.as_deref().filter(|_| !instance) {
            match nvml.device_by_uuid(uuid) {
                Ok(device) => return Ok(device),
                Err(failed) => reason = failed.to_string(),
            }
        }
        if let Some(pci) = self.pci.as_deref() {
            match nvml.device_by_pci_bus_id(pci) {
                Ok(device) => return Ok(device),
                Err(failed) => reason = failed.to_string(),
            }
        }
        Err(reason)
    }
}

/// NVML, or why not, and where it was opened.
fn open() -> (Result<Nvml, String>, &'static str) {
    let mut reason = String::new();
    for candidate in CANDIDATES {
        match Nvml::builder().lib_path(OsStr::new(candidate)).init() {
            Ok(nvml) => return (Ok(nvml), candidate),
            // Not found here: the next place. The first place's reason is the one that helps.
            Err(NvmlError::LibloadingError(failed)) if reason.is_empty() => {
                let said = std::error::Error::source(&failed).map_or_else(|| failed.to_string(), ToString::to_string);
                reason = format!("NVML cannot be opened: {said}");
            }
            Err(NvmlError::LibloadingError(_)) => {}
            Err(failed) => return (Err(format!("NVML does not start: {failed}")), candidate),
        }
    }
    (Err(reason), "")
}

fn read(device: &nvml_wrapper::Device, instance: bool) -> Telemetry {
    let mut missing = Missing::default();
    let mut telemetry = Telemetry {
        sm_clock_mhz: missing.note("SM clock", device.clock_info(Clock::SM)),
        max_sm_clock_mhz: missing.note("highest SM clock", device.max_clock_info(Clock::SM)),
        memory_clock_mhz: missing.note("memory clock", device.clock_info(Clock::Memory)),
        throttle_reasons: missing
            .note("throttle reasons", device.current_throttle_reasons())
            .map(throttle_reasons)
            .unwrap_or_default(),
        temperature_c: missing.note("temperature", device.temperature(TemperatureSensor::Gpu)),
        mig: match device.mig_mode() {
            _ if instance => Mig::On,
            Ok(mode) if mode.current == 1 => Mig::On,
            // A device that cannot be divided is not.
            Ok(_) | Err(NvmlError::NotSupported) => Mig::Off,
            Err(_) => Mig::Unknown,
        },
        ..Telemetry::default()
    };
    if let Some(listed) = missing.note("processes", processes(device)) {
        let (others, known) = others(&listed, std::process::id());
        telemetry.processes = OtherProcesses::Visible(others);
        if !known {
            missing.0.push(format!(
                "NVML numbers processes otherwise than this container does: one of the {} that it lists is taken for this one",
                listed.len()
            ));
        }
    }
    telemetry.note = (!missing.0.is_empty()).then(|| missing.0.join("; "));
    telemetry
}

/// What could not be read, and why.
#[derive(Default)]
struct Missing(Vec<String>);

impl Missing {
    fn note<T>(&mut self, what: &str, read: Result<T, NvmlError>) -> Option<T> {
        read.map_err(|failed| self.0.push(format!("{what}: {failed}"))).ok()
    }
}

/// Reasons in NVML's words. An idle GPU's low clock is not held down by anything, so idleness is none.
#[allow(deprecated, reason = "the names include one that NVML has renamed; it has the same bit and is never given")]
fn throttle_reasons(reasons: ThrottleReasons) -> Vec<String> {
    (reasons - ThrottleReasons::GPU_IDLE).iter_names().map(|(name, _)| name.to_ascii_lowercase()).collect()
}

/// Processes that compute or draw on the GPU. Drivers before 510 do not have these calls.
fn processes(device: &nvml_wrapper::Device) -> Result<Vec<u32>, NvmlError> {
    let mut listed = device.running_compute_processes()?;
    listed.extend(device.running_graphics_processes().unwrap_or_default());
    let mut numbers: Vec<u32> = listed.iter().map(|process| process.pid).collect();
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

/// How many of the listed are not this process, and whether that is certain. This process computes, so where any are listed it
/// is among them, if perhaps under a number of the host's.
fn others(listed: &[u32], own: u32) -> (u32, bool) {
    let known = listed.is_empty() || listed.contains(&own);
    (listed.len().saturating_sub(1) as u32, known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_not_another() {
        assert_eq!(others(&[], 7), (0, true));
        assert_eq!(others(&[7], 7), (0, true));
        assert_eq!(others(&[5, 7, 9], 7), (2, true));
        assert_eq!(others(&[4711], 7), (0, false));
    }

    #[test]
    fn a_version_of_nvlink_is_its_generation() {
        assert_eq!([1, 3, 5, 6, 7, 99].map(generation), [Some(1), Some(2), Some(3), Some(4), Some(5), None]);
    }

    #[test]
    fn idleness_is_no_throttling() {
        let reasons = ThrottleReasons::GPU_IDLE | ThrottleReasons::SW_POWER_CAP;
        assert_eq!(throttle_reasons(reasons), ["sw_power_cap"]);
        assert!(throttle_reasons(ThrottleReasons::NONE).is_empty());
    }
}
