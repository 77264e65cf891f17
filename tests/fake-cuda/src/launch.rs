//! Launches and textures.

use std::ffi::c_void;
use std::ptr;

use crate::device::{MAX_TEXELS, MULTIPROCESSORS, THREADS};
use crate::fault::{Fault, fault};
use crate::model::{Model, in_context};
use crate::{Code, INVALID_HANDLE, INVALID_VALUE, LAUNCH_OUT_OF_RESOURCES, NOT_SUPPORTED, OUT_OF_MEMORY};

const ILLEGAL_ADDRESS: Code = 700;
const COOPERATIVE_LAUNCH_TOO_LARGE: Code = 720;
const INVALID_CLUSTER_SIZE: Code = 912;
/// Milliseconds that a launch takes.
pub const LAUNCH: f64 = 0.5;
/// Blocks of a cluster that every device with clusters has, and that an H200 has.
const PORTABLE_CLUSTER: u32 = 8;
const LARGEST_CLUSTER: u32 = 16;

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
    array: *mut c_void,
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

impl Linear {
    /// Bytes of a texel: one unsigned byte, or one, two or four unsigned words.
    fn texel(&self) -> Option<u64> {
        match (self.format, self.channels) {
            (1, 1) => Some(1),
            (3, 1 | 2 | 4) => Some(4 * u64::from(self.channels)),
            _ => None,
        }
    }
}

/// `CUDA_TEXTURE_DESC`, in words: three address modes, filter mode, flags, anisotropy, four of mipmaps, four of the border's
/// colour, twelve reserved.
pub type TextureDescription = [u32; 26];

/// Word of the flags in a texture's description.
const TEXTURE_FLAGS: usize = 4;
/// Word of the filter mode, which is 1 for the mean of texels.
const FILTER_MODE: usize = 3;
/// `CU_AD_FORMAT_FLOAT`.
const FORMAT_F32: u32 = 0x20;

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
        let (array, used, sound) = match resource.kind {
            0 => {
                // Beyond the edge is what is at the edge.
                expected[..3].fill(1);
                // SAFETY: as above.
                let array = unsafe { resource.union.array }.addr();
                let known = model.arrays.get(&array);
                if known.is_some_and(|array| array.format == FORMAT_F32) {
                    // Not as integers; coordinates may be normalized, and the mean of texels may be wanted.
                    expected[TEXTURE_FLAGS] = description[TEXTURE_FLAGS] & 2;
                    expected[FILTER_MODE] = description[FILTER_MODE] & 1;
                }
                (Some(array), size_of::<*mut c_void>(), known.is_some())
            }
            2 => {
                let texel = linear.texel().ok_or(INVALID_VALUE)?;
                let sound = linear.address.is_multiple_of(512)
                    && linear.bytes as u64 / texel <= MAX_TEXELS
                    && model.holds(linear.address, linear.bytes as u64);
                (None, size_of::<Linear>(), sound)
            }
            _ => return Err(INVALID_VALUE),
        };
        let sound = sound
            && words[used / 4..].iter().all(|&word| word == 0)
            && resource.flags == 0
            && description == expected
            && view.is_null();
        if !sound {
            return Err(INVALID_VALUE);
        }
        if fault() == Fault::TextureFails {
            return Err(OUT_OF_MEMORY);
        }
        let executed = match array {
            None => linear.texel().and_then(|texel| model.machine.texture(linear.address, linear.bytes as u64, texel)),
            // What executes kernels here has no arrays.
            Some(_) => None,
        };
        let handle = executed.unwrap_or_else(|| Ok(model.handle() as u64))?;
        model.textures.insert(handle, array);
        // SAFETY: by the contract of `cuda.h`.
        unsafe { texture.write(handle) };
        Ok(())
    })
}

/// `cuTexObjectDestroy`
#[unsafe(no_mangle)]
pub extern "C" fn cuTexObjectDestroy(texture: u64) -> Code {
    in_context(|model| {
        if model.textures.remove(&texture).is_none() {
            model.must_be_new("texture", texture as usize);
            return Err(INVALID_VALUE);
        }
        model.machine.destroy_texture(texture);
        Ok(())
    })
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
        let shape = [grid_x, grid_y, grid_z, block_x, block_y, block_z];
        let (_, parameter_bytes) = checked(model, function, shape, shared_bytes)?;
        // Parameters come one way or the other. Those that come as a buffer must be as many as the kernel has.
        let mut words = Vec::new();
        let given = match (parameters.is_null(), extra.is_null()) {
            (true, true) => 0,
            (true, false) => {
                // SAFETY: by the contract of `cuda.h`.
                words = unsafe { buffer(extra) }?;
                size_of_val(words.as_slice())
            }
            (false, true) => parameter_bytes,
            (false, false) => return Err(INVALID_VALUE),
        };
        if given != parameter_bytes {
            return Err(INVALID_VALUE);
        }
        let own = model.functions.get(&function.addr()).ok_or(INVALID_HANDLE)?;
        let asked = (own.carveout, own.bank_width);
        model.machine.launch(function.addr(), [grid_x * grid_y * grid_z, block_x, shared_bytes], asked, &words)?;
        launched(model)
    })
}

/// `cuLaunchCooperativeKernel`
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuLaunchCooperativeKernel"))]
#[allow(clippy::too_many_arguments, reason = "as many as in `cuda.h`")]
pub unsafe extern "C" fn cuLaunchCooperativeKernel(
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
) -> Code {
    in_context(|model| {
        let shape = [grid_x, grid_y, grid_z, block_x, block_y, block_z];
        let (threads, parameter_bytes) = checked(model, function, shape, shared_bytes)?;
        if fault() == Fault::CooperationRefused {
            return Err(NOT_SUPPORTED);
        }
        if u64::from(grid_x) * u64::from(grid_y) * u64::from(grid_z) > u64::from(MULTIPROCESSORS * (THREADS / threads))
        {
            return Err(COOPERATIVE_LAUNCH_TOO_LARGE);
        }
        for i in 0..parameter_bytes / 8 {
            // SAFETY: by the contract of `cuda.h` there is a pointer for each parameter, and each has 8 bytes.
            let _ = unsafe { parameters.add(i).read().cast::<u64>().read_volatile() };
        }
        launched(model)
    })
}

/// `CUlaunchAttribute`: an identifier, padding, and a union of 64 bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub struct Attribute {
    id: u32,
    padding: u32,
    value: [u32; 16],
}

/// `CUlaunchConfig`.
#[repr(C)]
pub struct Configuration {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    stream: *mut c_void,
    attributes: *const Attribute,
    count: u32,
}

/// `cuLaunchKernelEx`: clusters in a row, at most 8 blocks each, or 16 where the function may have more than every device has.
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuLaunchKernelEx"))]
pub unsafe extern "C" fn cuLaunchKernelEx(
    configuration: *const Configuration,
    function: *mut c_void,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Code {
    in_context(|model| {
        // SAFETY: by the contract of `cuda.h`.
        let configuration = unsafe { &*configuration };
        let ([x, y, z], [a, b, c]) = (configuration.grid, configuration.block);
        let (threads, parameter_bytes) = checked(model, function, [x, y, z, a, b, c], configuration.shared_bytes)?;
        if !configuration.stream.is_null() || !parameters.is_null() || extra.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: by the contract of `cuda.h`.
        if unsafe { buffer(extra) }?.len() * size_of::<u64>() != parameter_bytes {
            return Err(INVALID_VALUE);
        }
        let (mut cluster, mut together) = ([1, 1, 1], false);
        for i in 0..configuration.count as usize {
            // SAFETY: by the contract of `cuda.h` there are so many attributes.
            let Attribute { id, padding, value } = unsafe { *configuration.attributes.add(i) };
            match id {
                // Nothing is asked of accesses that do not hit the window.
                1 if value[6] == 0 && value[4] == 1f32.to_bits() && (1..=2).contains(&value[5]) => {}
                2 => together = value[0] == 1,
                4 => cluster = [value[0], value[1], value[2]],
                _ => return Err(INVALID_VALUE),
            }
            let used = match id {
                1 => 7,
                4 => 3,
                _ => 1,
            };
            if padding != 0 || value[used..].iter().any(|&word| word != 0) {
                return Err(INVALID_VALUE);
            }
        }
        let large = model.functions.get(&function.addr()).is_some_and(|function| function.large_clusters);
        let sizes = 1..=if large { LARGEST_CLUSTER } else { PORTABLE_CLUSTER };
        if fault() == Fault::ClusterRefused || !sizes.contains(&cluster[0]) || cluster[1..] != [1, 1] {
            return Err(INVALID_CLUSTER_SIZE);
        }
        if !x.is_multiple_of(cluster[0]) {
            return Err(INVALID_VALUE);
        }
        if together && x > MULTIPROCESSORS * (THREADS / threads) {
            return Err(COOPERATIVE_LAUNCH_TOO_LARGE);
        }
        launched(model)
    })
}

/// Threads of a block, and the bytes of the parameters, of a launch that can be.
fn checked(model: &Model, function: *mut c_void, shape: [u32; 6], shared_bytes: u32) -> Result<(u32, usize), Code> {
    let function = model.functions.get(&function.addr()).ok_or(INVALID_HANDLE)?;
    let [grid @ .., x, y, z] = shape;
    let threads = x.checked_mul(y).and_then(|n| n.checked_mul(z)).ok_or(INVALID_VALUE)?;
    if grid.contains(&0) || !(1..=1024).contains(&threads) || shared_bytes > function.max_shared {
        return Err(INVALID_VALUE);
    }
    Ok((threads, function.parameter_bytes))
}

/// A launch has happened, as the fault has it.
fn launched(model: &mut Model) -> Result<(), Code> {
    match fault() {
        Fault::LaunchFails => return Err(LAUNCH_OUT_OF_RESOURCES),
        Fault::Asynchronous => model.poisoned = Some(ILLEGAL_ADDRESS),
        _ => {}
    }
    model.milliseconds += LAUNCH;
    Ok(())
}

/// The parameters, of 64 bits each, in a list of `CU_LAUNCH_PARAM_…`.
///
/// # Safety
///
/// `extra` must be a list as `cuda.h` has it, up to its end.
unsafe fn buffer(extra: *mut *mut c_void) -> Result<Vec<u64>, Code> {
    let (mut buffer, mut size) = (ptr::null_mut::<c_void>(), 0);
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
    if (buffer.is_null() && size > 0) || !size.is_multiple_of(size_of::<u64>()) {
        return Err(INVALID_VALUE);
    }
    // SAFETY: by this function's contract the buffer has so many bytes.
    Ok((0..size / 8).map(|i| unsafe { buffer.cast::<u64>().add(i).read_unaligned() }).collect())
}
