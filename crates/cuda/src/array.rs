//! CUDA arrays: memory in a layout that only the driver knows, where neighbours in two dimensions are near each other. A
//! texture reads them.

use std::ffi::c_void;
use std::ptr;

use super::calls::{ArrayHandle, Calls};
use super::error;
use super::texture::FORMAT_U32;
use strata_gpu::{Error, Result};

/// A `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
pub(super) struct ArrayDescription {
    width: usize,
    height: usize,
    format: u32,
    channels: u32,
}

/// One end of a `CUDA_MEMCPY2D`.
#[repr(C)]
struct End {
    x_bytes: usize,
    y: usize,
    memory_type: u32,
    host: *const c_void,
    device: u64,
    array: ArrayHandle,
    pitch: usize,
}

/// A `CUDA_MEMCPY2D`.
#[repr(C)]
pub(super) struct Copy2d {
    from: End,
    to: End,
    width_bytes: usize,
    height: usize,
}

/// `CU_MEMORYTYPE_HOST`.
const HOST: u32 = 1;
/// `CU_MEMORYTYPE_ARRAY`.
const ARRAY: u32 = 3;
/// Bytes of a texel.
const TEXEL: usize = size_of::<u32>();

/// An array of 32-bit texels in rows of `width`, with these in it; there must be a whole number of rows, at least one. A
/// context must be current. The caller has to destroy it.
pub(super) fn create(calls: &Calls, width: usize, texels: &[u32]) -> Result<ArrayHandle> {
    let height = texels.len() / width;
    let description = ArrayDescription { width, height, format: FORMAT_U32, channels: 1 };
    let mut array = ptr::null_mut();
    // SAFETY: the description is laid out as in `cuda.h` and valid for the read, `array` for the write.
    unsafe { calls.array_create(&mut array, &description) }.map_err(|failed| match error::code(&failed) {
        Some(error::INVALID_VALUE | error::NOT_SUPPORTED) => Error::Unsupported {
            reason: format!("this device has no CUDA array of {width} x {height} texels of 32 bits"),
        },
        _ => failed,
    })?;
    let nowhere = End {
        x_bytes: 0,
        y: 0,
        memory_type: HOST,
        host: ptr::null(),
        device: 0,
        array: ptr::null_mut(),
        pitch: width * TEXEL,
    };
    let copy = Copy2d {
        from: End { host: texels.as_ptr().cast(), ..nowhere },
        to: End { memory_type: ARRAY, array, pitch: 0, ..nowhere },
        width_bytes: width * TEXEL,
        height,
    };
    // SAFETY: laid out as in `cuda.h`. The driver reads `height` rows of `width` texels, which `texels` has, and writes as many
    // to an array of that size; with memory of the host that is not pinned it is done when the call returns.
    unsafe { calls.memcpy_2d(&copy) }.inspect_err(|_| destroy(calls, array))?;
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
        assert_eq!((size_of::<ArrayDescription>(), offset_of!(ArrayDescription, format)), (24, 16));
        assert_eq!(offset_of!(ArrayDescription, channels), 20);
        assert_eq!((size_of::<Copy2d>(), offset_of!(Copy2d, to)), (128, 56));
        assert_eq!((offset_of!(Copy2d, width_bytes), offset_of!(Copy2d, height)), (112, 120));
        assert_eq!((offset_of!(End, y), offset_of!(End, memory_type), offset_of!(End, host)), (8, 16, 24));
        assert_eq!((offset_of!(End, device), offset_of!(End, array), offset_of!(End, pitch)), (32, 40, 48));
    }
}
