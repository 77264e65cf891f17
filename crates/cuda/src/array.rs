//! CUDA arrays: memory in a layout that only the driver knows, where neighbours in two or three dimensions are near each other. A
//! texture reads them.

use std::ffi::c_void;
use std::ptr;

use super::calls::{ArrayHandle, Calls};
use super::error;
use super::texture::{FORMAT_F32, FORMAT_U32};
use strata_gpu::{Array, Error, Result};

/// A `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
pub(super) struct ArrayDescription {
    width: usize,
    height: usize,
    /// 0 for an array of two dimensions.
    depth: usize,
    format: u32,
    channels: u32,
    flags: u32,
}

/// One end of a `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct End {
    x_bytes: usize,
    y: usize,
    z: usize,
    level_of_detail: usize,
    memory_type: u32,
    host: *const c_void,
    device: u64,
    array: ArrayHandle,
    reserved: *const c_void,
    pitch: usize,
    height: usize,
}

/// A `CUDA_MEMCPY3D`.
#[repr(C)]
pub(super) struct Copy3d {
    from: End,
    to: End,
    width_bytes: usize,
    height: usize,
    depth: usize,
}

/// `CU_MEMORYTYPE_HOST`.
const HOST: u32 = 1;
/// `CU_MEMORYTYPE_ARRAY`.
const ARRAY: u32 = 3;
/// Bytes of a texel.
const TEXEL: usize = size_of::<u32>();

/// An array with its texels in it. A context must be current. The caller has to destroy it.
pub(super) fn create(calls: &Calls, wanted: &Array<'_>) -> Result<ArrayHandle> {
    wanted.check()?;
    let (width, height) = (wanted.width as usize, wanted.height as usize);
    let depth = wanted.depth.map_or(0, |depth| depth as usize);
    let format = if wanted.sampling.is_some() { FORMAT_F32 } else { FORMAT_U32 };
    let description = ArrayDescription { width, height, depth, format, channels: 1, flags: 0 };
    let mut array = ptr::null_mut();
    // SAFETY: the description is laid out as in `cuda.h` and valid for the read, `array` for the write.
    unsafe { calls.array_create(&mut array, &description) }.map_err(|failed| match error::code(&failed) {
        Some(error::INVALID_VALUE | error::NOT_SUPPORTED) => Error::Unsupported {
            reason: format!("this device has no CUDA array of {} texels of 32 bits", wanted.sides()),
        },
        _ => failed,
    })?;
    let nowhere = End {
        x_bytes: 0,
        y: 0,
        z: 0,
        level_of_detail: 0,
        memory_type: HOST,
        host: ptr::null(),
        device: 0,
        array: ptr::null_mut(),
        reserved: ptr::null(),
        pitch: width * TEXEL,
        height,
    };
    let copy = Copy3d {
        from: End { host: wanted.texels.as_ptr().cast(), ..nowhere },
        to: End { memory_type: ARRAY, array, pitch: 0, height: 0, ..nowhere },
        width_bytes: width * TEXEL,
        height,
        depth: depth.max(1),
    };
    // SAFETY: laid out as in `cuda.h`. The driver reads `depth` layers of `height` rows of `width` texels, which `texels` has, and
    // writes as many to an array of that size; with memory of the host that is not pinned it is done when the call returns.
    unsafe { calls.memcpy_3d(&copy) }.inspect_err(|_| destroy(calls, array))?;
    Ok(array)
}

/// Destroys an array that [`create`] made, whether or not that succeeds: the caller has to forget it.
pub(super) fn destroy(calls: &Calls, array: ArrayHandle) {
    // SAFETY: a live array of the current context, which no texture reads any more and the caller forgets.
    let _ = unsafe { calls.array_destroy(array) };
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn arrays_and_copies_are_laid_out_as_in_the_header() {
        assert_eq!((size_of::<ArrayDescription>(), offset_of!(ArrayDescription, format)), (40, 24));
        assert_eq!((offset_of!(ArrayDescription, channels), offset_of!(ArrayDescription, flags)), (28, 32));
        assert_eq!((size_of::<Copy3d>(), offset_of!(Copy3d, to)), (200, 88));
        assert_eq!((offset_of!(Copy3d, width_bytes), offset_of!(Copy3d, depth)), (176, 192));
        assert_eq!((offset_of!(End, memory_type), offset_of!(End, host)), (32, 40));
        assert_eq!((offset_of!(End, device), offset_of!(End, array), offset_of!(End, pitch)), (48, 56, 72));
        assert_eq!(offset_of!(End, height), 80);
    }
}
