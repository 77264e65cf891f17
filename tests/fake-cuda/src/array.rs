//! CUDA arrays, which are memory of the host in rows.

use std::ffi::c_void;
use std::ptr;

use crate::fault::{Fault, fault};
use crate::model::{Array, in_context};
use crate::{Code, INVALID_HANDLE, INVALID_VALUE, OUT_OF_MEMORY};

/// Largest side of an array of two dimensions: `CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH` of an H200.
const LARGEST: usize = 131_072;
/// Largest side of an array of three dimensions: `CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH` of an H200.
const LARGEST_3D: usize = 16_384;
/// `CU_AD_FORMAT_UNSIGNED_INT32` and `CU_AD_FORMAT_FLOAT`.
const FORMATS: [u32; 2] = [3, 0x20];

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
pub struct Descriptor {
    width: usize,
    height: usize,
    depth: usize,
    format: u32,
    channels: u32,
    flags: u32,
}

/// Half of a `CUDA_MEMCPY3D`: x in bytes, y, z and level of detail, kind of memory, host, device, array, reserved, pitch and
/// height.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct End([usize; 4], u32, *const c_void, u64, *mut c_void, *const c_void, [usize; 2]);

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy3d {
    from: End,
    to: End,
    width_bytes: usize,
    height: usize,
    depth: usize,
}

/// `cuArray3DCreate`
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuArray3DCreate_v2"))]
pub unsafe extern "C" fn cuArray3DCreate_v2(array: *mut *mut c_void, descriptor: *const Descriptor) -> Code {
    in_context(|model| {
        // SAFETY: by the contract of `cuda.h`.
        let Descriptor { width, height, depth, format, channels, flags } = unsafe { descriptor.read() };
        let largest = if depth == 0 { LARGEST } else { LARGEST_3D };
        let sides = [width, height, depth.max(1)].iter().all(|side| (1..=largest).contains(side));
        if !sides || !FORMATS.contains(&format) || (channels, flags) != (1, 0) {
            return Err(INVALID_VALUE);
        }
        let handle = model.handle();
        model.arrays.insert(handle, Array { width, height, format, texels: vec![0; width * height * depth.max(1)] });
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

/// `cuMemcpy3D`, from the host to the whole of an array.
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuMemcpy3D_v2"))]
pub unsafe extern "C" fn cuMemcpy3D_v2(copy: *const Copy3d) -> Code {
    in_context(|model| {
        // SAFETY: by the contract of `cuda.h`.
        let Copy3d { from, to, width_bytes, height, depth } = unsafe { copy.read() };
        let array = model.arrays.get_mut(&to.4.addr()).ok_or(INVALID_HANDLE)?;
        let whole = width_bytes == 4 * array.width
            && height == array.height
            && depth * height * array.width == array.texels.len();
        let ends = (from.0, from.1) == ([0; 4], 1) && (to.0, to.1) == ([0; 4], 3);
        let [pitch, rows] = from.6;
        if !whole || !ends || pitch < width_bytes || rows < height {
            return Err(INVALID_VALUE);
        }
        if fault() == Fault::CopyFails {
            return Err(OUT_OF_MEMORY);
        }
        for (number, row) in array.texels.chunks_exact_mut(array.width).enumerate() {
            let (z, y) = (number / height, number % height);
            // SAFETY: by the contract of `cuda.h` there are `depth` layers of `rows` rows at this distance.
            let source = unsafe { from.2.cast::<u8>().add((z * rows + y) * pitch) };
            // SAFETY: as above, each of as many bytes as a row of the array.
            unsafe { ptr::copy_nonoverlapping(source, row.as_mut_ptr().cast(), width_bytes) };
        }
        Ok(())
    })
}
