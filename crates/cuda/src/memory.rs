//! Allocations: the kind of each address, which decides how it is freed and copied.

use std::collections::{BTreeMap, HashSet};
use std::ffi::c_void;
use std::ptr;

use super::calls::{self, Calls};
use strata_gpu::{DevicePtr, Result};
use strata_model::units::Bytes;

/// What has been allocated and not freed.
#[derive(Default)]
pub(super) struct Allocations {
    device: HashSet<u64>,
    pinned: BTreeMap<u64, Pinned>,
}

/// Host memory under its device address.
#[derive(Clone, Copy)]
struct Pinned {
    host: *mut c_void,
    bytes: u64,
}

impl Allocations {
    /// Device memory.
    pub fn allocate(&mut self, calls: &Calls, bytes: Bytes) -> Result<DevicePtr> {
        let mut address = 0;
        // SAFETY: `address` is valid for the write.
        unsafe { calls.mem_alloc(&mut address, bytes.0 as usize) }?;
        self.device.insert(address);
        Ok(DevicePtr(address))
    }

    /// Host memory, mapped into the device's addresses.
    pub fn allocate_pinned(&mut self, calls: &Calls, bytes: Bytes) -> Result<DevicePtr> {
        let mut host = ptr::null_mut();
        // SAFETY: `host` is valid for the write.
        unsafe { calls.mem_host_alloc(&mut host, bytes.0 as usize, calls::HOST_DEVICE_MAP) }?;
        let mut address = 0;
        // SAFETY: `host` is memory that was just allocated as mapped; `address` is valid for the write.
        if let Err(failed) = unsafe { calls.mem_host_get_device_pointer(&mut address, host, 0) } {
            // SAFETY: allocated above and given to no one.
            let _ = unsafe { calls.mem_free_host(host) };
            return Err(failed);
        }
        self.pinned.insert(address, Pinned { host, bytes: bytes.0 });
        Ok(DevicePtr(address))
    }

    /// Gives memory of either kind back. The driver waits for what still uses it.
    pub fn free(&mut self, calls: &Calls, memory: DevicePtr) -> Result<()> {
        if let Some(pinned) = self.pinned.remove(&memory.0) {
            // SAFETY: allocated by `cuMemHostAlloc`, and forgotten, so it is freed once.
            return unsafe { calls.mem_free_host(pinned.host) };
        }
        self.device.remove(&memory.0);
        // SAFETY: the driver checks that this is the address of an allocation.
        unsafe { calls.mem_free(memory.0) }
    }

    /// Gives everything back that is left, whether or not that succeeds.
    pub fn free_all(&mut self, calls: &Calls) {
        let left: Vec<u64> = self.device.iter().chain(self.pinned.keys()).copied().collect();
        for address in left {
            let _ = self.free(calls, DevicePtr(address));
        }
    }

    /// The host's address of a range that lies within pinned memory.
    pub fn host(&self, address: u64, bytes: usize) -> Option<*mut u8> {
        let (&start, pinned) = self.pinned.range(..=address).next_back()?;
        let at = address - start;
        let end = at.checked_add(bytes as u64)?;
        // SAFETY: `at` is within the allocation, whose size fits the address space.
        (end <= pinned.bytes).then(|| unsafe { pinned.host.cast::<u8>().add(at as usize) })
    }
}

/// Copies to memory of either kind and waits.
pub(super) fn write(calls: &Calls, known: &Allocations, to: DevicePtr, data: &[u8]) -> Result<()> {
    if data.is_empty() {
        return Ok(());
    }
    let Some(host) = known.host(to.0, data.len()) else {
        // SAFETY: `data` is valid for the reads; the driver checks that the range is memory of this context.
        return unsafe { calls.memcpy_htod(to.0, data.as_ptr().cast(), data.len()) };
    };
    // SAFETY: no arguments.
    unsafe { calls.ctx_synchronize() }?;
    // SAFETY: the whole range is pinned memory, which no reference is ever made to, so it cannot overlap `data`; nothing is
    // queued that uses it.
    unsafe { ptr::copy_nonoverlapping(data.as_ptr(), host, data.len()) };
    Ok(())
}

/// Copies from memory of either kind, after everything queued.
pub(super) fn read(calls: &Calls, known: &Allocations, from: DevicePtr, data: &mut [u8]) -> Result<()> {
    if data.is_empty() {
        return Ok(());
    }
    let Some(host) = known.host(from.0, data.len()) else {
        // SAFETY: `data` is valid for the writes; the driver checks that the range is memory of this context.
        return unsafe { calls.memcpy_dtoh(data.as_mut_ptr().cast(), from.0, data.len()) };
    };
    // SAFETY: no arguments.
    unsafe { calls.ctx_synchronize() }?;
    // SAFETY: as in `write`, the other way round.
    unsafe { ptr::copy_nonoverlapping(host, data.as_mut_ptr(), data.len()) };
    Ok(())
}
