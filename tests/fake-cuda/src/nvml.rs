//! A little of NVML, for whoever opens this library under NVML's name: the first device and its processes.
//!
//! `FAKE_NVML_PROCESSES` is a file that holds the number of processes; or that number, the one that it becomes, and the answer from
//! which on it is that. Without it there is no device. `FAKE_NVML_BUS` is what the bus carries, in KB/s.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Code;

pub(crate) const INVALID_ARGUMENT: Code = 2;
pub(crate) const NOT_SUPPORTED: Code = 3;
const NOT_FOUND: Code = 6;
pub(crate) const INSUFFICIENT_SIZE: Code = 7;
/// The UUID of the first device.
const FIRST: &str = "GPU-11111111-1111-1111-1111-111111111111";

/// `nvmlProcessInfo_t`
#[repr(C)]
pub struct Process {
    number: u32,
    memory: u64,
    instance: u32,
    compute_instance: u32,
}

fn processes() -> Option<u32> {
    let text = std::fs::read_to_string(std::env::var_os("FAKE_NVML_PROCESSES")?).ok()?;
    let numbers: Vec<u32> = text.split_whitespace().map(|n| n.parse().expect("the file holds numbers")).collect();
    match numbers[..] {
        [before, after, from] => Some(if ANSWERS.load(Ordering::Relaxed) < from { before } else { after }),
        _ => numbers.first().copied(),
    }
}

/// Lists of processes that were asked for.
static ANSWERS: AtomicU32 = AtomicU32::new(0);

/// `nvmlInit_v2`
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> Code {
    0
}

/// `nvmlInitWithFlags`
#[unsafe(no_mangle)]
pub extern "C" fn nvmlInitWithFlags(_flags: u32) -> Code {
    0
}

/// `nvmlShutdown`
#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> Code {
    0
}

/// `nvmlDeviceGetHandleByUUID`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, device: *mut *mut c_void) -> Code {
    // SAFETY: by the contract of `nvml.h`.
    if unsafe { CStr::from_ptr(uuid) }.to_str() != Ok(FIRST) || processes().is_none() {
        return NOT_FOUND;
    }
    // SAFETY: as above.
    unsafe { device.write(std::ptr::without_provenance_mut(1)) };
    0
}

/// `nvmlDeviceGetComputeRunningProcesses_v3`: this process and others, which get the numbers from 1 on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetComputeRunningProcesses_v3(
    device: *mut c_void,
    count: *mut u32,
    list: *mut Process,
) -> Code {
    ANSWERS.fetch_add(1, Ordering::Relaxed);
    let Some(listed) = processes().filter(|_| device.addr() == 1) else { return INVALID_ARGUMENT };
    // SAFETY: by the contract of `nvml.h`.
    let room = unsafe { count.replace(listed) };
    if room < listed {
        return INSUFFICIENT_SIZE;
    }
    for i in 0..listed {
        let number = if i == 0 { std::process::id() } else { i };
        let process = Process { number, memory: 1 << 20, instance: u32::MAX, compute_instance: u32::MAX };
        // SAFETY: by the contract of `nvml.h` there is room for so many.
        unsafe { list.add(i as usize).write(process) };
    }
    0
}

/// `nvmlDeviceGetPcieThroughput`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPcieThroughput(_: *mut c_void, _counter: u32, value: *mut u32) -> Code {
    let carried = std::env::var("FAKE_NVML_BUS").ok().and_then(|kilobytes| kilobytes.parse().ok());
    let Some(carried) = carried else { return NOT_SUPPORTED };
    // SAFETY: by the contract of `nvml.h`.
    unsafe { value.write(carried) };
    0
}
