//! The board at the end of a run, from NVML. What NVML does not tell is left out, with the reason.

use std::ffi::{c_uint, c_void};

use libloading::Library;
use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{
    Clock, ComputeMode, EccCounter, MemoryError, OperationMode, PcieUtilCounter, RetirementCause,
};
use nvml_wrapper::enums::device::DeviceArchitecture;
use nvml_wrapper::error::{NvmlError, nvml_try};

use strata_gpu::{BoardFacts, RemappedRows, Unavailable};

/// Why NVML does not tell, where the driver is too old for a call or has given it up.
const NO_SUCH_CALL: &str = "this driver's NVML does not have the call";
/// Why NVML does not tell, where the board has no such thing.
const NOT_SUPPORTED: &str = "not supported by this GPU and driver";

/// Reads what `device` tells; `library` is where NVML was opened.
pub(super) fn read(device: &Device, library: &str) -> BoardFacts {
    let mut unavailable = Missing::default();
    let told = &mut unavailable;
    let pages = |cause| device.retired_pages(cause).map(|pages| pages.len() as u32);
    let facts = BoardFacts {
        architecture: told.note("architecture", architecture(device)),
        cores: told.note("cores", device.num_cores()),
        pcie_generation: told.note("pcie_generation", device.current_pcie_link_gen()),
        pcie_max_generation: told.note("pcie_max_generation", device.max_pcie_link_gen()),
        pcie_width: told.note("pcie_width", device.current_pcie_link_width()),
        pcie_max_width: told.note("pcie_max_width", device.max_pcie_link_width()),
        // Each takes 20 ms.
        pcie_received_bytes_per_s: told
            .note("pcie_received_bytes_per_s", device.pcie_throughput(PcieUtilCounter::Receive).map(bytes)),
        pcie_sent_bytes_per_s: told
            .note("pcie_sent_bytes_per_s", device.pcie_throughput(PcieUtilCounter::Send).map(bytes)),
        fan_percent: told.note("fan_percent", fan_percent(device)),
        persistence_mode: told.note("persistence_mode", device.is_in_persistent_mode()),
        compute_mode: told.note("compute_mode", device.compute_mode().map(compute_mode)),
        operation_mode: told
            .note("operation_mode", device.gpu_operation_mode().map(|mode| operation_mode(mode.current))),
        applications_graphics_clock_mhz: told
            .note("applications_graphics_clock_mhz", device.applications_clock(Clock::Graphics)),
        applications_memory_clock_mhz: told
            .note("applications_memory_clock_mhz", device.applications_clock(Clock::Memory)),
        power_limit_w: told.note("power_limit_w", device.power_management_limit().map(watts)),
        ecc_volatile_corrected: told
            .note("ecc_volatile_corrected", device.total_ecc_errors(MemoryError::Corrected, EccCounter::Volatile)),
        ecc_volatile_uncorrected: told
            .note("ecc_volatile_uncorrected", device.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile)),
        ecc_aggregate_corrected: told
            .note("ecc_aggregate_corrected", device.total_ecc_errors(MemoryError::Corrected, EccCounter::Aggregate)),
        ecc_aggregate_uncorrected: told.note(
            "ecc_aggregate_uncorrected",
            device.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Aggregate),
        ),
        retired_pages_single_bit: told
            .note("retired_pages_single_bit", pages(RetirementCause::MultipleSingleBitEccErrors)),
        retired_pages_double_bit: told.note("retired_pages_double_bit", pages(RetirementCause::DoubleBitEccError)),
        remapped_rows: told.note("remapped_rows", remapped_rows(device, library)),
        ..BoardFacts::default()
    };
    BoardFacts { unavailable: unavailable.0, ..facts }
}

/// What could not be read, and why.
#[derive(Default)]
struct Missing(Vec<Unavailable>);

impl Missing {
    fn note<T>(&mut self, key: &str, read: Result<T, NvmlError>) -> Option<T> {
        read.map_err(|failed| self.0.push(Unavailable { key: key.to_owned(), reason: reason(&failed) })).ok()
    }
}

/// Why a call gave nothing. NVML's loader names the file of the library, which says nothing of the GPU.
fn reason(failed: &NvmlError) -> String {
    match failed {
        NvmlError::NotSupported => NOT_SUPPORTED.to_owned(),
        NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound => NO_SUCH_CALL.to_owned(),
        NvmlError::UnexpectedVariant(number) => format!("NVML's answer {number} has no name here"),
        failed => failed.to_string(),
    }
}

/// Speed of the first fan. A board without any calls the number of the first one an invalid argument (an H200, driver 580).
fn fan_percent(device: &Device) -> Result<u32, NvmlError> {
    device.fan_speed(0).map_err(|failed| match failed {
        NvmlError::InvalidArg => NvmlError::NotSupported,
        other => other,
    })
}

fn architecture(device: &Device) -> Result<String, NvmlError> {
    match device.architecture()? {
        DeviceArchitecture::Unknown => Err(NvmlError::UnexpectedVariant(DeviceArchitecture::Unknown.as_c())),
        known => Ok(known.to_string()),
    }
}

/// NVML counts in KB.
fn bytes(kilobytes: u32) -> u64 {
    u64::from(kilobytes) * 1000
}

/// NVML counts in milliwatts.
fn watts(milliwatts: u32) -> f64 {
    f64::from(milliwatts) / 1e3
}

fn compute_mode(mode: ComputeMode) -> String {
    match mode {
        ComputeMode::Default => "default",
        ComputeMode::ExclusiveThread => "exclusive_thread",
        ComputeMode::Prohibited => "prohibited",
        ComputeMode::ExclusiveProcess => "exclusive_process",
    }
    .into()
}

fn operation_mode(mode: OperationMode) -> String {
    match mode {
        OperationMode::AllOn => "all_on",
        OperationMode::Compute => "compute",
        OperationMode::LowDP => "low_dp",
    }
    .into()
}

/// `nvmlDeviceGetRemappedRows`, as `nvml.h` declares it.
type GetRemappedRows = unsafe extern "C" fn(*mut c_void, *mut c_uint, *mut c_uint, *mut c_uint, *mut c_uint) -> c_uint;

/// The crate that opens NVML does not have this call.
fn remapped_rows(device: &Device, library: &str) -> Result<RemappedRows, NvmlError> {
    let absent = |_| NvmlError::FunctionNotFound;
    // SAFETY: this library is open already, so that nothing of it runs now.
    let library = unsafe { Library::new(library) }.map_err(absent)?;
    // SAFETY: NVML's function of this name has this type.
    let call = unsafe { library.get::<GetRemappedRows>(b"nvmlDeviceGetRemappedRows\0") }.map_err(absent)?;
    let (mut corrected, mut uncorrected, mut pending, mut failed) = (0, 0, 0, 0);
    // SAFETY: the handle is valid as long as the device is, and all four are valid for the writes.
    let code = unsafe { call(device.handle().cast(), &mut corrected, &mut uncorrected, &mut pending, &mut failed) };
    nvml_try(code as _)?;
    Ok(RemappedRows { corrected, uncorrected, pending: pending != 0, failed: failed != 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_name_no_file() {
        let missing = NvmlError::FailedToLoadSymbol("/usr/lib/libnvidia-ml.so.1: undefined symbol: nvmlX".into());
        assert_eq!(reason(&missing), NO_SUCH_CALL);
        assert_eq!(reason(&NvmlError::NotSupported), NOT_SUPPORTED);
        assert_eq!(reason(&NvmlError::UnexpectedVariant(11)), "NVML's answer 11 has no name here");
        assert!(reason(&NvmlError::NoPermission).contains("permission"));
    }
}
