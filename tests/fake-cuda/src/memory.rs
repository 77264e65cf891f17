//! Memory: the host's, at the same address on the device.

use std::ffi::c_void;
use std::ptr;

use crate::device::TOTAL;
use crate::fault::{Fault, fault};
use crate::model::{Allocation, Block, Model, in_context};
use crate::{Code, INVALID_VALUE, OUT_OF_MEMORY};

/// Most that the stand-in really allocates.
const LIMIT: usize = 1 << 30;

/// Memory that another process leaves.
const LEFT: u64 = 256 << 20;

/// Makes an allocation of zeros and gives its address.
pub fn allocate(model: &mut Model, bytes: usize, pinned: bool) -> Result<u64, Code> {
    if bytes == 0 {
        return Err(INVALID_VALUE);
    }
    if !pinned && model.used() + model.held + bytes as u64 > TOTAL as u64 {
        return Err(OUT_OF_MEMORY);
    }
    if !pinned && let Some(made) = model.machine.allocate(bytes as u64, false) {
        let address = made?;
        model
            .allocations
            .insert(address, Allocation { blocks: Vec::new(), bytes: bytes as u64, pinned, on_device: None });
        return Ok(address);
    }
    if bytes > LIMIT {
        return Err(OUT_OF_MEMORY);
    }
    let mut blocks = vec![Block([0; size_of::<Block>()]); bytes.div_ceil(size_of::<Block>())];
    let address = blocks.as_mut_ptr().expose_provenance() as u64;
    model.allocations.insert(address, Allocation { blocks, bytes: bytes as u64, pinned, on_device: None });
    Ok(address)
}

fn free(model: &mut Model, address: u64, pinned: bool) -> Result<(), Code> {
    match model.allocations.get(&address) {
        Some(allocation) if allocation.pinned == pinned => {
            let allocation = model.allocations.remove(&address);
            model.machine.free(allocation.as_ref().and_then(|a| a.on_device).unwrap_or(address));
            drop(allocation.map(|a| a.blocks));
            Ok(())
        }
        _ => Err(INVALID_VALUE),
    }
}

pub fn pointer(address: u64) -> *mut u8 {
    ptr::with_exposed_provenance_mut(address as usize)
}

/// `cuMemGetInfo`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Code {
    in_context(|model| {
        // SAFETY: by the contract of `cuda.h`.
        unsafe { free.write(TOTAL - (model.used() + model.held) as usize) };
        if fault() == Fault::MemoryTaken {
            model.held = TOTAL as u64 - model.used() - LEFT;
        }
        // SAFETY: as above.
        unsafe { total.write(TOTAL) };
        Ok(())
    })
}

/// `cuMemGetAllocationGranularity`
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuMemGetAllocationGranularity"))]
pub unsafe extern "C" fn cuMemGetAllocationGranularity(
    bytes: *mut usize,
    properties: *const c_void,
    option: u32,
) -> Code {
    // SAFETY: by the contract of `cuda.h`: pinned memory, no handles, on a device, of that number.
    let words = unsafe { properties.cast::<[u32; 4]>().read() };
    if words[..3] != [1, 0, 1] || words[3] > 1 || option != 0 {
        return INVALID_VALUE;
    }
    // SAFETY: as above.
    unsafe { bytes.write(2 << 20) };
    0
}

/// `cuMemAlloc`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> Code {
    in_context(|model| {
        match fault() {
            Fault::OutOfMemory => return Err(OUT_OF_MEMORY),
            Fault::UnknownCode => return Err(12345),
            _ => {}
        }
        // SAFETY: by the contract of `cuda.h`.
        unsafe { address.write(allocate(model, bytes, false)?) };
        Ok(())
    })
}

/// `cuMemFree`
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: u64) -> Code {
    in_context(|model| free(model, address, false))
}

/// `cuMemHostAlloc`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostAlloc(host: *mut *mut c_void, bytes: usize, flags: u32) -> Code {
    in_context(|model| {
        // Not mapped, it has no address on the device.
        if flags & 2 == 0 {
            return Err(INVALID_VALUE);
        }
        let address = allocate(model, bytes, true)?;
        // SAFETY: by the contract of `cuda.h`.
        unsafe { host.write(pointer(address).cast()) };
        Ok(())
    })
}

/// `cuMemHostGetDevicePointer`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostGetDevicePointer_v2(address: *mut u64, host: *mut c_void, flags: u32) -> Code {
    in_context(|model| {
        let own = host.addr() as u64;
        let pinned = |allocation: &&mut Allocation| allocation.pinned && flags == 0;
        let allocation = model.allocations.get_mut(&own).filter(pinned).ok_or(INVALID_VALUE)?;
        // What a machine has there is not what the host sees.
        if allocation.on_device.is_none() {
            allocation.on_device = model.machine.allocate(allocation.bytes, true).transpose()?;
        }
        // SAFETY: by the contract of `cuda.h`.
        unsafe { address.write(allocation.on_device.unwrap_or(own)) };
        Ok(())
    })
}

/// `cuMemFreeHost`
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeHost(host: *mut c_void) -> Code {
    in_context(|model| free(model, host.addr() as u64, true))
}

/// `cuMemcpyHtoD`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) -> Code {
    in_context(|model| {
        if !model.holds(to, bytes as u64) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: by the contract of `cuda.h`.
        if let Some(done) = model.machine.write(to, unsafe { std::slice::from_raw_parts(from.cast(), bytes) }) {
            return done;
        }
        // SAFETY: `from` by the contract of `cuda.h`; `to` is within an allocation.
        unsafe { ptr::copy(from.cast(), pointer(to), bytes) };
        Ok(())
    })
}

/// `cuMemcpyDtoH`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) -> Code {
    in_context(|model| {
        if !model.holds(from, bytes as u64) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: by the contract of `cuda.h`; every caller's buffer has been written.
        if let Some(done) = model.machine.read(from, unsafe { std::slice::from_raw_parts_mut(to.cast(), bytes) }) {
            return done;
        }
        // SAFETY: `to` by the contract of `cuda.h`; `from` is within an allocation.
        unsafe { ptr::copy(pointer(from), to.cast(), bytes) };
        Ok(())
    })
}

/// `cuMemsetD32`
#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD32_v2(address: u64, value: u32, words: usize) -> Code {
    in_context(|model| {
        if !address.is_multiple_of(4) || !model.holds(address, 4 * words as u64) {
            return Err(INVALID_VALUE);
        }
        if value == 0
            && let Some(done) = model.machine.clear(address, 4 * words as u64)
        {
            return done;
        }
        for i in 0..words {
            // SAFETY: within an allocation, and aligned.
            unsafe { pointer(address).cast::<u32>().add(i).write(value) };
        }
        Ok(())
    })
}
