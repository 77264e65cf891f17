//! Launches, of blocks that come when there is room and of blocks that are on the device together.

use std::ffi::c_void;
use std::ptr;

use super::calls::{self, Calls, FunctionHandle, Stream};
use super::error;
use strata_gpu::{Error, Launch, Result};

/// The default stream, the only one used.
const STREAM: Stream = ptr::null_mut();

fn unsupported(reason: String) -> Error {
    Error::Unsupported { reason }
}

fn shared_bytes(launch: Launch) -> Result<u32> {
    u32::try_from(launch.shared.0)
        .map_err(|_| unsupported(format!("no block can have {} of shared memory", launch.shared)))
}

/// Queues a kernel. `function` must be of a module that is loaded in the current context.
pub(super) fn launch(calls: &Calls, function: FunctionHandle, launch: Launch, parameters: &[u64]) -> Result<()> {
    let shared = shared_bytes(launch)?;
    // As one buffer with its size, so that the driver reads no more than there is, whatever the kernel declares.
    let mut bytes = size_of_val(parameters);
    let mut extra: [*mut c_void; 5] = [
        calls::LAUNCH_BUFFER_POINTER,
        parameters.as_ptr().cast_mut().cast(),
        calls::LAUNCH_BUFFER_SIZE,
        (&raw mut bytes).cast(),
        calls::LAUNCH_END,
    ];
    // SAFETY: the function is of a loaded module. The driver only reads `extra`, `bytes` and the parameters, and before
    // the call returns. What the kernel itself does is on the device; it gets no pointer to memory that Rust manages.
    unsafe {
        calls.launch_kernel(
            function,
            launch.blocks,
            1,
            1,
            launch.threads,
            1,
            1,
            shared,
            STREAM,
            ptr::null_mut(),
            extra.as_mut_ptr(),
        )
    }
}

/// Queues a kernel whose blocks are on the device together. `function` must be of a module that is loaded in the current
/// context, and have as many parameters as there are, of 64 bits each: this call takes no size of them.
pub(super) fn together(calls: &Calls, function: FunctionHandle, launch: Launch, parameters: &[u64]) -> Result<()> {
    let shared = shared_bytes(launch)?;
    let mut each: Vec<*mut c_void> = parameters.iter().map(|value| ptr::from_ref(value).cast_mut().cast()).collect();
    // SAFETY: the function is of a loaded module. The driver only reads, and before the call returns: of `each` as many
    // pointers as the kernel has parameters, which are all there are, and at each of them the 8 bytes of one parameter.
    let queued = unsafe {
        calls.launch_cooperative_kernel(
            function,
            launch.blocks,
            1,
            1,
            launch.threads,
            1,
            1,
            shared,
            STREAM,
            each.as_mut_ptr(),
        )
    };
    queued.map_err(|failed| match error::code(&failed) {
        Some(error::COOPERATIVE_LAUNCH_TOO_LARGE) => unsupported(format!(
            "{} blocks of {} threads are more than this device holds at the same time",
            launch.blocks, launch.threads
        )),
        Some(error::NOT_SUPPORTED) => not_together(),
        _ => failed,
    })
}

/// A device on which blocks cannot count on each other.
pub(super) fn not_together() -> Error {
    unsupported("this device has no cooperative launches, by which all blocks are on it at the same time".into())
}
