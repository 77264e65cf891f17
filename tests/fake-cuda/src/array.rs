//! CUDA arrays, which are memory of the host in rows.

use std::ffi::c_void;
use std::ptr;

use crate::fault::{Fault, fault};
use crate::model::{Array, in_context};
use crate::{Code, INVALID_HANDLE, INVALID_VALUE, OUT_OF_MEMORY};

/// Largest side of an array of two dimensions: `CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH` of an H200.
const LARGEST: usize = 131_072;

/// `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
pub struct Descriptor {
    width: usize,
    height: usize,
    format: u32,
    channels: u32,
}

/// Half of a `CUDA_MEMCPY2D`: x in bytes, y, kind of memory, host, device, array, pitch.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct End(usize, usize, u32, *const c_void, u64, *mut c_void, usize);

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy2d {
    from: End,
    to: End,
    width_bytes: usize,
    height: usize,
}

/// `cuArrayCreate`
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuArrayCreate_v2"))]
pub unsafe extern "C" fn cuArrayCreate_v2(array: *mut *mut c_void, descriptor: *const Descriptor) -> Code {
    in_context(|model| {
        // SAFETY: by the contract of `cuda.h`.
        let Descriptor { width, height, format, channels } = unsafe { descriptor.read() };
        let sides = (1..=LARGEST).contains(&width) && (1..=LARGEST).contains(&height);
        if !sides || (format, channels) != (3, 1) {
            return Err(INVALID_VALUE);
        }
        let handle = model.handle();
        model.arrays.insert(handle, Array { width, texels: vec![0; width * height] });
        // SAFETY: by the contract of `cuda.h`.
        unsafe { array.write(ptr::without_provenance_mut(handle)) };
        Ok(())
    })
}

/// `cuArrayDestroy`. No texture may read it any more.
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuArrayDestroy"))]
pub extern "C" fn cuArrayDestroy(array: *mut c_void) -> Code {
    in_context(|model| {
        let handle = array.addr();
        if model.textures.values().any(|&read| read == Some(handle)) {
            return Err(INVALID_VALUE);
        }
        if model.arrays.remove(&handle).is_none() {
            model.must_be_new("array", handle);
            return Err(INVALID_HANDLE);
        }
        Ok(())
    })
}

/// `cuMemcpy2D`, from the host to the whole of an array.
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuMemcpy2D_v2"))]
pub unsafe extern "C" fn cuMemcpy2D_v2(copy: *const Copy2d) -> Code {
    in_context(|model| {
        // SAFETY: by the contract of `cuda.h`.
        let Copy2d { from, to, width_bytes, height } = unsafe { copy.read() };
        let array = model.arrays.get_mut(&to.5.addr()).ok_or(INVALID_HANDLE)?;
        let whole = width_bytes == 4 * array.width && height * array.width == array.texels.len();
        let ends = (from.0, from.1, from.2) == (0, 0, 1) && (to.0, to.1, to.2) == (0, 0, 3);
        if !whole || !ends || from.6 < width_bytes {
            return Err(INVALID_VALUE);
        }
        if fault() == Fault::CopyFails {
            return Err(OUT_OF_MEMORY);
        }
        for (y, row) in array.texels.chunks_exact_mut(array.width).enumerate() {
            // SAFETY: by the contract of `cuda.h` there are `height` rows at this distance.
            let source = unsafe { from.3.cast::<u8>().add(y * from.6) };
            // SAFETY: as above, each of as many bytes as a row of the array.
            unsafe { ptr::copy_nonoverlapping(source, row.as_mut_ptr().cast(), width_bytes) };
        }
        Ok(())
    })
}
