//! Streams, events, and copies that are queued. A copy is made at once; the time that it takes is counted on its stream.

use std::ffi::c_void;
use std::ptr;

use crate::memory::pointer;
use crate::model::{Model, in_context};
use crate::{Code, INVALID_HANDLE, INVALID_VALUE};

/// Bytes that a copy engine moves in a millisecond.
const COPIED: f64 = 50e6;

/// When what was queued on a stream is done; not before everything was that was launched. The default stream is the launches'.
fn until(model: &mut Model, stream: *mut c_void) -> Result<&mut f64, Code> {
    if stream.is_null() {
        return Ok(&mut model.milliseconds);
    }
    let done = model.streams.get_mut(&stream.addr()).ok_or(INVALID_HANDLE)?;
    *done = done.max(model.milliseconds);
    Ok(done)
}

/// `cuStreamCreate`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreate(stream: *mut *mut c_void, flags: u32) -> Code {
    in_context(|model| {
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        let handle = model.handle();
        model.streams.insert(handle, 0.0);
        // SAFETY: by the contract of `cuda.h`.
        unsafe { stream.write(ptr::without_provenance_mut(handle)) };
        Ok(())
    })
}

/// `cuStreamWaitEvent`
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitEvent(stream: *mut c_void, event: *mut c_void, flags: u32) -> Code {
    in_context(|model| {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        let recorded = *model.events.get(&event.addr()).ok_or(INVALID_HANDLE)?;
        let done = until(model, stream)?;
        *done = done.max(recorded.unwrap_or_default());
        Ok(())
    })
}

/// `cuStreamDestroy`
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(stream: *mut c_void) -> Code {
    in_context(|model| model.streams.remove(&stream.addr()).map(|_| ()).ok_or(INVALID_HANDLE))
}

/// `cuMemcpyHtoDAsync`, from pinned memory.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: *mut c_void) -> Code {
    in_context(|model| copy(model, to, from.addr() as u64, bytes, stream, from.addr() as u64))
}

/// `cuMemcpyDtoHAsync`, to pinned memory.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: *mut c_void) -> Code {
    in_context(|model| copy(model, to.addr() as u64, from, bytes, stream, to.addr() as u64))
}

/// `cuMemcpyDtoDAsync`, also from one device to the other if one of them has access.
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuMemcpyDtoDAsync"))]
pub extern "C" fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: *mut c_void) -> Code {
    in_context(|model| {
        if model.on_device(to).is_some() || model.on_device(from).is_some() {
            return Err(INVALID_VALUE);
        }
        queue(model, to, from, bytes, stream)
    })
}

/// A copy of which the host's range begins at `host`.
fn copy(model: &mut Model, to: u64, from: u64, bytes: usize, stream: *mut c_void, host: u64) -> Result<(), Code> {
    if model.on_device(host).is_none() {
        return Err(INVALID_VALUE);
    }
    queue(model, to, from, bytes, stream)
}

fn queue(model: &mut Model, to: u64, from: u64, bytes: usize, stream: *mut c_void) -> Result<(), Code> {
    if !model.holds(to, bytes as u64) || !model.holds(from, bytes as u64) {
        return Err(INVALID_VALUE);
    }
    *until(model, stream)? += bytes as f64 / COPIED;
    let [to_there, from_there] = [to, from].map(|address| model.on_device(address).unwrap_or(address));
    if let Some(done) = model.machine.copy(to_there, from_there, bytes as u64) {
        return done;
    }
    // SAFETY: both are within allocations, which are others.
    unsafe { ptr::copy(pointer(from), pointer(to), bytes) };
    Ok(())
}

/// `cuEventCreate`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventCreate(event: *mut *mut c_void, flags: u32) -> Code {
    in_context(|model| {
        // Without timing an event has no time.
        if flags & 2 != 0 {
            return Err(INVALID_VALUE);
        }
        let handle = model.handle();
        model.events.insert(handle, None);
        // SAFETY: by the contract of `cuda.h`.
        unsafe { event.write(std::ptr::without_provenance_mut(handle)) };
        Ok(())
    })
}

/// `cuEventRecord`
#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: *mut c_void, stream: *mut c_void) -> Code {
    in_context(|model| {
        let done = *until(model, stream)?;
        *model.events.get_mut(&event.addr()).ok_or(INVALID_HANDLE)? = Some(done);
        Ok(())
    })
}

/// `cuEventSynchronize`
#[unsafe(no_mangle)]
pub extern "C" fn cuEventSynchronize(event: *mut c_void) -> Code {
    in_context(|model| {
        let recorded = *model.events.get(&event.addr()).ok_or(INVALID_HANDLE)?;
        model.milliseconds = model.milliseconds.max(recorded.unwrap_or_default());
        Ok(())
    })
}

/// `cuEventElapsedTime`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventElapsedTime(milliseconds: *mut f32, from: *mut c_void, to: *mut c_void) -> Code {
    in_context(|model| {
        let time = |event: *mut c_void| model.events.get(&event.addr()).copied().flatten().ok_or(INVALID_HANDLE);
        let between = time(to)? - time(from)?;
        // SAFETY: by the contract of `cuda.h`.
        unsafe { milliseconds.write(between as f32) };
        Ok(())
    })
}

/// `cuEventDestroy`
#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(event: *mut c_void) -> Code {
    in_context(|model| model.events.remove(&event.addr()).map(|_| ()).ok_or(INVALID_HANDLE))
}
