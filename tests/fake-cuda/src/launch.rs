//! Launches, textures and events.

use std::ffi::c_void;
use std::ptr;

use crate::device::MAX_TEXELS;
use crate::fault::{Fault, fault};
use crate::model::in_context;
use crate::{Code, INVALID_HANDLE, INVALID_VALUE};

const ILLEGAL_ADDRESS: Code = 700;
const LAUNCH_OUT_OF_RESOURCES: Code = 701;

/// `CUDA_RESOURCE_DESC`, with the union as its only used member and its reserved words, as large as the header's.
#[repr(C)]
pub struct ResourceDescription {
    kind: u32,
    union: ResourceUnion,
    flags: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
union ResourceUnion {
    linear: Linear,
    reserved: [i32; 32],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Linear {
    address: u64,
    format: u32,
    channels: u32,
    bytes: usize,
}

/// `CUDA_TEXTURE_DESC`, in words: three address modes, filter mode, flags, anisotropy, four of mipmaps, four of the border's
/// colour, twelve reserved.
pub type TextureDescription = [u32; 26];

/// Word of the flags in a texture's description.
const TEXTURE_FLAGS: usize = 4;

/// `cuTexObjectCreate`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuTexObjectCreate(
    texture: *mut u64,
    resource: *const ResourceDescription,
    description: *const TextureDescription,
    view: *const c_void,
) -> Code {
    in_context(|model| {
        // SAFETY: by the contract of `cuda.h`.
        let (resource, description) = unsafe { (&*resource, *description) };
        // SAFETY: plain words, which have been written whatever the member.
        let (linear, words) = unsafe { (resource.union.linear, resource.union.reserved) };
        let mut expected = [0; 26];
        // Read as integers.
        expected[TEXTURE_FLAGS] = 1;
        let sound = resource.kind == 2
            && (linear.format, linear.channels) == (3, 1)
            && linear.address.is_multiple_of(512)
            && linear.bytes as u64 / 4 <= MAX_TEXELS
            && model.holds(linear.address, linear.bytes as u64)
            && words[size_of::<Linear>() / 4..].iter().all(|&word| word == 0)
            && resource.flags == 0
            && description == expected
            && view.is_null();
        if !sound {
            return Err(INVALID_VALUE);
        }
        let handle = model.handle() as u64;
        model.textures.insert(handle);
        // SAFETY: by the contract of `cuda.h`.
        unsafe { texture.write(handle) };
        Ok(())
    })
}

/// `cuTexObjectDestroy`
#[unsafe(no_mangle)]
pub extern "C" fn cuTexObjectDestroy(texture: u64) -> Code {
    in_context(|model| if model.textures.remove(&texture) { Ok(()) } else { Err(INVALID_VALUE) })
}

/// `cuLaunchKernel`
#[cfg_attr(not(feature = "missing-symbol"), unsafe(no_mangle))]
#[cfg_attr(feature = "missing-symbol", unsafe(export_name = "fake_cuda_hides_cuLaunchKernel"))]
#[allow(clippy::too_many_arguments, reason = "as many as in `cuda.h`")]
pub unsafe extern "C" fn cuLaunchKernel(
    function: *mut c_void,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared_bytes: u32,
    _stream: *mut c_void,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Code {
    in_context(|model| {
        let function = model.functions.get(&function.addr()).ok_or(INVALID_HANDLE)?;
        let threads = block_x.checked_mul(block_y).and_then(|n| n.checked_mul(block_z)).ok_or(INVALID_VALUE)?;
        if grid_x == 0 || grid_y == 0 || grid_z == 0 || !(1..=1024).contains(&threads) {
            return Err(INVALID_VALUE);
        }
        if shared_bytes > function.max_shared {
            return Err(INVALID_VALUE);
        }
        // Parameters come one way or the other. Those that come as a buffer must be as many as the kernel has.
        let given = match (parameters.is_null(), extra.is_null()) {
            (true, true) => 0,
            // SAFETY: by the contract of `cuda.h`.
            (true, false) => unsafe { buffer_size(extra) }?,
            (false, true) => function.parameter_bytes,
            (false, false) => return Err(INVALID_VALUE),
        };
        if given != function.parameter_bytes {
            return Err(INVALID_VALUE);
        }
        match fault() {
            Fault::LaunchFails => return Err(LAUNCH_OUT_OF_RESOURCES),
            Fault::Asynchronous => model.poisoned = Some(ILLEGAL_ADDRESS),
            _ => {}
        }
        model.clock += 1;
        Ok(())
    })
}

/// The size of the parameters in a list of `CU_LAUNCH_PARAM_…`.
///
/// # Safety
///
/// `extra` must be a list as `cuda.h` has it, up to its end.
unsafe fn buffer_size(extra: *mut *mut c_void) -> Result<usize, Code> {
    let (mut buffer, mut size) = (ptr::null_mut(), 0);
    for i in (0..).step_by(2) {
        // SAFETY: not beyond the end, which leaves the loop.
        let key = unsafe { extra.add(i).read() };
        if key.is_null() {
            break;
        }
        // SAFETY: every key but the end has a value.
        let value = unsafe { extra.add(i + 1).read() };
        match key.addr() {
            1 => buffer = value,
            // SAFETY: by this function's contract.
            2 => size = unsafe { value.cast::<usize>().read() },
            _ => return Err(INVALID_VALUE),
        }
    }
    if buffer.is_null() && size > 0 { Err(INVALID_VALUE) } else { Ok(size) }
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
pub extern "C" fn cuEventRecord(event: *mut c_void, _stream: *mut c_void) -> Code {
    in_context(|model| {
        let now = model.clock;
        *model.events.get_mut(&event.addr()).ok_or(INVALID_HANDLE)? = Some(now);
        Ok(())
    })
}

/// `cuEventSynchronize`
#[unsafe(no_mangle)]
pub extern "C" fn cuEventSynchronize(event: *mut c_void) -> Code {
    in_context(|model| model.events.get(&event.addr()).map(|_| ()).ok_or(INVALID_HANDLE))
}

/// `cuEventElapsedTime`. Every launch took half a millisecond.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventElapsedTime(milliseconds: *mut f32, from: *mut c_void, to: *mut c_void) -> Code {
    in_context(|model| {
        let time = |event: *mut c_void| model.events.get(&event.addr()).copied().flatten().ok_or(INVALID_HANDLE);
        let launches = time(to)?.wrapping_sub(time(from)?);
        // SAFETY: by the contract of `cuda.h`.
        unsafe { milliseconds.write(0.5 * launches as f32) };
        Ok(())
    })
}

/// `cuEventDestroy`
#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(event: *mut c_void) -> Code {
    in_context(|model| model.events.remove(&event.addr()).map(|_| ()).ok_or(INVALID_HANDLE))
}
