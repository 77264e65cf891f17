//! The meaning of the driver's error codes, with advice for those that a user can fix.

use super::calls::{Calls, Code};
use strata_gpu::Error;

/// `CUDA_SUCCESS`.
pub(super) const SUCCESS: Code = 0;
/// `CUDA_ERROR_INVALID_VALUE`.
pub(super) const INVALID_VALUE: Code = 1;
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub(super) const OUT_OF_MEMORY: Code = 2;
const STUB_LIBRARY: Code = 34;
const NO_DEVICE: Code = 100;
/// `CUDA_ERROR_UNSUPPORTED_LIMIT`.
pub(super) const UNSUPPORTED_LIMIT: Code = 215;
/// `CUDA_ERROR_JIT_COMPILER_NOT_FOUND`.
pub(super) const JIT_COMPILER_NOT_FOUND: Code = 221;
/// `CUDA_ERROR_UNSUPPORTED_PTX_VERSION`.
pub(super) const UNSUPPORTED_PTX_VERSION: Code = 222;
/// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`.
pub(super) const PEER_ACCESS_ALREADY_ENABLED: Code = 704;
/// `CUDA_ERROR_NOT_FOUND`.
pub(super) const NOT_FOUND: Code = 500;
/// `CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE`.
pub(super) const COOPERATIVE_LAUNCH_TOO_LARGE: Code = 720;
/// `CUDA_ERROR_NOT_SUPPORTED`.
pub(super) const NOT_SUPPORTED: Code = 801;
/// `CUDA_ERROR_INVALID_CLUSTER_SIZE`.
pub(super) const INVALID_CLUSTER_SIZE: Code = 912;
const SYSTEM_NOT_READY: Code = 802;
const SYSTEM_DRIVER_MISMATCH: Code = 803;
const COMPAT_NOT_SUPPORTED: Code = 804;

/// What can be done without a GPU.
pub(super) const WITHOUT_GPU: &str = "Without a GPU, `strata replay --example h200` reports a recorded run of a real one, and `strata discover --device sim:k20c` measures a simulated one.";
/// How a container is given its GPUs.
pub(super) const CONTAINER: &str = "in a container, ask for the GPUs (`docker run --gpus all`, `apptainer exec --nv`)";

/// Whether a result means that the context is gone, so that every later call fails as well. `cuda.h` says of these that the
/// process must be ended, or the context destroyed, before CUDA can be used again; `CUDA_ERROR_UNKNOWN` may be any of them.
pub(super) fn is_sticky(code: Code) -> bool {
    matches!(
        code,
        4           // deinitialized
        | 214       // uncorrectable ECC error
        | 220       // uncorrectable NVLink error
        | 226       // contained error
        | 700       // illegal address
        | 702       // launch timeout
        | 709       // context destroyed
        | 710       // assertion in a kernel
        | 714
            ..=719 // hardware stack, illegal instruction, misaligned, address space, program counter, launch failed
        | 721       // tensor memory leaked
        | 810       // MPS client terminated
        | 999 // unknown
    )
}

/// A failed call.
pub(super) fn call(calls: &Calls, call: &'static str, code: Code) -> Error {
    let (name, meaning) = calls.describe(code);
    Error::Call {
        call,
        code,
        name: name.unwrap_or_else(|| "unknown result".to_owned()),
        meaning: meaning.unwrap_or_else(|| "the driver has no description of it".to_owned()),
        lost: is_sticky(code),
    }
}

/// The result of a failed call, if it was one.
pub(super) fn code(error: &Error) -> Option<Code> {
    match error {
        Error::Call { code, .. } => Some(*code),
        _ => None,
    }
}

/// A driver that does not start.
pub(super) fn start(failed: Error) -> Error {
    let Error::Call { code, name, meaning, .. } = failed else { return failed };
    if code == NO_DEVICE {
        let hidden = match std::env::var("CUDA_VISIBLE_DEVICES") {
            Ok(visible) => format!(" CUDA_VISIBLE_DEVICES is `{visible}`, which may hide it."),
            Err(_) => String::new(),
        };
        return no_device(&hidden);
    }
    let advice = match code {
        STUB_LIBRARY => "The library is the CUDA toolkit's stub, not the driver: take its folder off LD_LIBRARY_PATH.",
        SYSTEM_NOT_READY => "On a machine with NVSwitch the service `nvidia-fabricmanager` must run.",
        SYSTEM_DRIVER_MISMATCH => {
            "The driver's library and kernel module have different versions: restart the machine after an update, \
             and let a container use the host's library."
        }
        COMPAT_NOT_SUPPORTED => {
            "The library is a forward-compatibility package that does not support this GPU: take its folder off \
             LD_LIBRARY_PATH."
        }
        _ => {
            "See whether `nvidia-smi` works, the module nvidia_uvm is loaded (`nvidia-modprobe -u`) and /dev/nvidia* may \
             be opened."
        }
    };
    Error::Driver(format!(
        "the NVIDIA driver does not start: cuInit failed: {name} ({code}): {meaning}. {advice} {WITHOUT_GPU}"
    ))
}

/// A driver without any device.
pub(super) fn no_device(hidden: &str) -> Error {
    Error::NoDevice(format!(
        "the NVIDIA driver is there but sees no CUDA device.{hidden} See what `nvidia-smi` lists; {CONTAINER}. {WITHOUT_GPU}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_faults_of_the_context_are_sticky() {
        for code in [700, 702, 709, 710, 714, 716, 719, 999] {
            assert!(is_sticky(code), "{code}");
        }
        for code in [1, 2, 100, 218, 500, 600, 701, 703, 713, 720, 801, 12345] {
            assert!(!is_sticky(code), "{code}");
        }
    }
}
