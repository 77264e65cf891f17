//! Launches: what a function is given before one, blocks that come when there is room, blocks that are on the device together,
//! blocks in clusters.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::attributes;
use super::calls::{self, Calls, FunctionHandle, LaunchAttribute, LaunchConfiguration, Stream};
use super::error;
use strata_gpu::{DeviceFacts, Error, Launch, Result};
use strata_model::experiment::Reuse;
use strata_model::units::Bytes;

/// The default stream, the only one used.
const STREAM: Stream = ptr::null_mut();
/// Largest cluster that every device with clusters has (CUDA C++ Programming Guide, "Thread Block Clusters").
const PORTABLE_CLUSTER: u32 = 8;

/// What the driver was asked for a function so far.
#[derive(Default)]
pub(super) struct Given {
    carveout: Option<u8>,
    /// Most dynamic shared memory that was asked for; less needs no further request.
    shared: Bytes,
    bank_width: Option<Bytes>,
    large_clusters: bool,
}

/// Asks for what a launch needs and the function does not have. `function` must be of a module that is loaded in the current context.
pub(super) fn configure(
    calls: &Calls,
    function: FunctionHandle,
    given: &mut Given,
    launch: &Launch,
    facts: &DeviceFacts,
) -> Result<()> {
    // SAFETY: the function is of a module that is loaded.
    let set = |attribute: c_int, value: c_int| unsafe { calls.func_set_attribute(function, attribute, value) };
    if launch.carveout != given.carveout {
        if facts.compute_capability < attributes::CARVEOUTS {
            let configuration = attributes::cache_configuration(launch.carveout);
            // SAFETY: as above.
            unsafe { calls.func_set_cache_config(function, configuration) }.map_err(|failed| {
                refusal(failed, || "this device does not let its L1 and shared memory be divided by a launch".into())
            })?;
        } else {
            let value = launch.carveout.map_or(attributes::CARVEOUT_DEFAULT, c_int::from);
            let percent = launch.carveout.unwrap_or(0);
            let refused = |failed| {
                refusal(failed, || {
                    format!("this device does not take a preferred shared-memory carveout of {percent} %")
                })
            };
            match set(attributes::FUNCTION_CARVEOUT, value).map_err(refused) {
                // Without a carveout there is nothing that a request for the extremes could change, nor one for none.
                Err(Error::Unsupported { .. }) if matches!(launch.carveout, None | Some(0 | 100)) => {}
                other => other?,
            }
        }
        given.carveout = launch.carveout;
    }
    if launch.shared.0 > facts.shared_per_block && launch.shared > given.shared {
        let bytes = c_int::try_from(launch.shared.0).unwrap_or(c_int::MAX);
        set(attributes::FUNCTION_MAX_DYNAMIC_SHARED, bytes).map_err(|failed| {
            refusal(failed, || {
                format!(
                    "this device does not give a block {} of dynamic shared memory (at most {}, static included)",
                    launch.shared,
                    Bytes(facts.shared_per_block_optin.unwrap_or(facts.shared_per_block))
                )
            })
        })?;
        given.shared = launch.shared;
    }
    if launch.bank_width != given.bank_width {
        let configuration = attributes::shared_banks(launch.bank_width)
            .ok_or_else(|| unsupported("shared-memory banks can only be 4 or 8 B wide".into()))?;
        // SAFETY: as above.
        unsafe { calls.func_set_shared_mem_config(function, configuration) }.map_err(|failed| {
            refusal(failed, || "this device does not let the width of shared memory's banks be chosen".into())
        })?;
        given.bank_width = launch.bank_width;
    }
    if launch.cluster.is_some_and(|blocks| blocks > PORTABLE_CLUSTER) && !given.large_clusters {
        set(attributes::FUNCTION_LARGE_CLUSTERS, 1).map_err(|failed| refusal(failed, || no_such_cluster(launch)))?;
        given.large_clusters = true;
    }
    Ok(())
}

/// What the driver says of something that the device does not have.
fn refusal(failed: Error, reason: impl FnOnce() -> String) -> Error {
    match error::code(&failed) {
        Some(error::INVALID_VALUE | error::NOT_SUPPORTED | error::UNSUPPORTED_LIMIT) => unsupported(reason()),
        _ => failed,
    }
}

fn unsupported(reason: String) -> Error {
    Error::Unsupported { reason }
}

fn shared_bytes(launch: &Launch) -> Result<u32> {
    u32::try_from(launch.shared.0)
        .map_err(|_| unsupported(format!("no block can have {} of shared memory", launch.shared)))
}

/// Queues a kernel. `function` must be of a module that is loaded in the current context.
pub(super) fn launch(calls: &Calls, function: FunctionHandle, launch: &Launch, parameters: &[u64]) -> Result<()> {
    let shared = shared_bytes(launch)?;
    let mut bytes = size_of_val(parameters);
    let mut extra = parameter_buffer(parameters, &mut bytes);
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

/// Queues a kernel whose blocks come in clusters, together if the launch asks for it, or that has a window. `function` must be of a module
/// that is loaded in the current context.
pub(super) fn with_attributes(
    calls: &Calls,
    function: FunctionHandle,
    launch: &Launch,
    parameters: &[u64],
) -> Result<()> {
    let mut asked = attributes(launch)?;
    let configuration = LaunchConfiguration {
        grid: [launch.blocks, 1, 1],
        block: [launch.threads, 1, 1],
        shared_bytes: shared_bytes(launch)?,
        stream: STREAM,
        attributes: asked.as_mut_ptr(),
        attribute_count: asked.len() as u32,
    };
    let mut bytes = size_of_val(parameters);
    let mut extra = parameter_buffer(parameters, &mut bytes);
    // SAFETY: the function is of a loaded module. The driver only reads the configuration, its attributes, `extra`, `bytes` and the
    // parameters, and before the call returns.
    let queued = unsafe { calls.launch_kernel_ex(&configuration, function, ptr::null_mut(), extra.as_mut_ptr()) };
    queued.map_err(|failed| match error::code(&failed) {
        Some(error::INVALID_CLUSTER_SIZE | error::NOT_SUPPORTED) if launch.cluster.is_some() => {
            unsupported(no_such_cluster(launch))
        }
        Some(error::INVALID_VALUE | error::NOT_SUPPORTED) if launch.window.is_some() => {
            unsupported("this device takes no access policy window".into())
        }
        Some(error::COOPERATIVE_LAUNCH_TOO_LARGE) => too_large(launch),
        _ => failed,
    })
}

/// What a launch states beyond its shape.
fn attributes(launch: &Launch) -> Result<Vec<LaunchAttribute>> {
    let attribute = |id: u32, first: &[u32]| {
        let mut value = [0; 16];
        value[..first.len()].copy_from_slice(first);
        LaunchAttribute { id, padding: 0, value }
    };
    let mut asked = Vec::new();
    if let Some(blocks) = launch.cluster {
        if blocks == 0 || !launch.blocks.is_multiple_of(blocks) {
            return Err(unsupported(format!("{} blocks are no whole number of clusters of {blocks}", launch.blocks)));
        }
        asked.push(attribute(calls::LAUNCH_CLUSTER, &[blocks, 1, 1]));
    }
    if launch.cooperative {
        asked.push(attribute(calls::LAUNCH_COOPERATIVE, &[1]));
    }
    if let Some(window) = launch.window {
        let halves = |value: u64| [value as u32, (value >> 32) as u32];
        let ([base, above], [bytes, more]) = (halves(window.base.0), halves(window.bytes.0));
        let inside = match window.reuse {
            Reuse::Streaming => calls::STREAMING,
            Reuse::Persisting => calls::PERSISTING,
        };
        // All of it, and nothing is said of other accesses.
        asked.push(attribute(calls::LAUNCH_WINDOW, &[base, above, bytes, more, 1f32.to_bits(), inside, 0]));
    }
    Ok(asked)
}

/// Sets so much of the L2 aside for lines that persist, and lets go of those that do.
pub(super) fn set_aside_l2(calls: &Calls, bytes: usize) -> Result<()> {
    let refused = |failed| refusal(failed, || "this device sets no part of its L2 aside".into());
    // SAFETY: no arguments, and numbers only.
    unsafe {
        calls.ctx_reset_persisting_l2_cache().map_err(refused)?;
        calls.ctx_set_limit(calls::LIMIT_PERSISTING, bytes).map_err(refused)
    }
}

fn no_such_cluster(launch: &Launch) -> String {
    format!(
        "this device does not launch clusters of {} blocks with {} threads and {} of shared memory each",
        launch.cluster.unwrap_or(1),
        launch.threads,
        launch.shared
    )
}

/// A device without clusters.
pub(super) fn no_clusters(facts: &DeviceFacts) -> Error {
    let (major, minor) = facts.compute_capability;
    unsupported(format!(
        "this device launches no clusters: they need compute capability 9.0 or later, and it has {major}.{minor}"
    ))
}

/// The parameters as one buffer with its size, so that the driver reads no more than there is, whatever the kernel declares.
fn parameter_buffer(parameters: &[u64], bytes: &mut usize) -> [*mut c_void; 5] {
    [
        calls::LAUNCH_BUFFER_POINTER,
        parameters.as_ptr().cast_mut().cast(),
        calls::LAUNCH_BUFFER_SIZE,
        ptr::from_mut(bytes).cast(),
        calls::LAUNCH_END,
    ]
}

/// More blocks than the device holds together.
fn too_large(launch: &Launch) -> Error {
    unsupported(format!(
        "{} blocks of {} threads are more than this device holds at the same time",
        launch.blocks, launch.threads
    ))
}

/// Queues a kernel whose blocks are on the device together. `function` must be of a module that is loaded in the current
/// context, and have as many parameters as there are, of 64 bits each: this call takes no size of them.
pub(super) fn together(calls: &Calls, function: FunctionHandle, launch: &Launch, parameters: &[u64]) -> Result<()> {
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
        Some(error::COOPERATIVE_LAUNCH_TOO_LARGE) => too_large(launch),
        Some(error::NOT_SUPPORTED) => not_together(),
        _ => failed,
    })
}

/// A device on which blocks cannot count on each other.
pub(super) fn not_together() -> Error {
    unsupported("this device has no cooperative launches, by which all blocks are on it at the same time".into())
}
