//! Modules: the entry points and variables that a text declares.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use crate::device::SHARED_OPTIN;
use crate::fault::{Fault, fault};
use crate::link::{Log, compile};
use crate::memory::allocate;
use crate::model::{Allocation, Function, Module, in_context};
use crate::{Code, INVALID_HANDLE, INVALID_VALUE, LAUNCH_OUT_OF_RESOURCES};

const INVALID_IMAGE: Code = 200;
const NOT_FOUND: Code = 500;
/// Dynamic shared memory of a block without asking for more.
const SHARED_DEFAULT: u32 = 49_152;

/// How an image begins that the linker made.
pub const IMAGE_MAGIC: &[u8] = b"\x7fELF fake ";

/// Whether these bytes are a text with a version, closed by NUL.
pub fn is_ptx(bytes: &[u8]) -> bool {
    CStr::from_bytes_with_nul(bytes).is_ok_and(|text| text.to_string_lossy().contains(".version"))
}

/// `cuModuleLoadData`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void) -> Code {
    // SAFETY: by the contract of `cuda.h`.
    unsafe { cuModuleLoadDataEx(module, image, 0, ptr::null_mut(), ptr::null_mut()) }
}

/// `cuModuleLoadDataEx`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut *mut c_void,
    image: *const c_void,
    count: u32,
    options: *mut u32,
    values: *mut *mut c_void,
) -> Code {
    in_context(|model| {
        // SAFETY: an image is a text closed by NUL; those of the linker here are as well.
        let image = unsafe { CStr::from_ptr(image.cast()) };
        let text = match image.to_bytes_with_nul().strip_prefix(IMAGE_MAGIC) {
            Some(text) if is_ptx(text) => text,
            Some(_) => return Err(INVALID_IMAGE),
            None => {
                // SAFETY: by the contract of `cuda.h`.
                unsafe { compile(image.to_bytes_with_nul(), Log::of(count, options, values)) }?;
                image.to_bytes_with_nul()
            }
        };
        let text = String::from_utf8_lossy(text).trim_end_matches('\0').to_owned();
        let handle = model.handle();
        model.machine.load(handle, &text)?;
        model.modules.insert(handle, Module { text, variables: HashMap::new() });
        // SAFETY: by the contract of `cuda.h`.
        unsafe { module.write(ptr::without_provenance_mut(handle)) };
        Ok(())
    })
}

/// `cuModuleUnload`
#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: *mut c_void) -> Code {
    in_context(|model| {
        let handle = module.addr();
        let Some(module) = model.modules.remove(&handle) else {
            model.must_be_new("module", handle);
            return Err(INVALID_HANDLE);
        };
        model.machine.unload(handle);
        for address in module.variables.values() {
            model.allocations.remove(address);
        }
        model.functions.retain(|_, function| function.module != handle);
        if fault() == Fault::UnloadFails { Err(LAUNCH_OUT_OF_RESOURCES) } else { Ok(()) }
    })
}

/// `cuModuleGetFunction`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    function: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> Code {
    in_context(|model| {
        // SAFETY: by the contract of `cuda.h`.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let text = &model.modules.get(&module.addr()).ok_or(INVALID_HANDLE)?.text;
        let parameter_bytes = parameter_bytes(text, &name).ok_or(NOT_FOUND)?;
        let handle = model.handle();
        let module = module.addr();
        model.machine.function(handle, module, &name)?;
        model
            .functions
            .insert(handle, Function { module, parameter_bytes, max_shared: SHARED_DEFAULT, ..Function::default() });
        // SAFETY: by the contract of `cuda.h`.
        unsafe { function.write(ptr::without_provenance_mut(handle)) };
        Ok(())
    })
}

/// `cuModuleGetGlobal`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetGlobal_v2(
    address: *mut u64,
    bytes: *mut usize,
    module: *mut c_void,
    name: *const c_char,
) -> Code {
    in_context(|model| {
        // SAFETY: by the contract of `cuda.h`.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        let own = model.modules.get(&module.addr()).ok_or(INVALID_HANDLE)?;
        let size = variable_bytes(&own.text, &name).ok_or(NOT_FOUND)?;
        let known = own.variables.get(&name).copied();
        let place = match known {
            Some(place) => place,
            None => match model.machine.symbol(module.addr(), &name) {
                Some(place) => {
                    let allocation =
                        Allocation { blocks: Vec::new(), bytes: size as u64, pinned: false, on_device: None };
                    model.allocations.insert(place, allocation);
                    place
                }
                None => allocate(model, size, false)?,
            },
        };
        if let Some(own) = model.modules.get_mut(&module.addr()) {
            own.variables.insert(name, place);
        }
        // SAFETY: by the contract of `cuda.h`.
        unsafe { address.write(place) };
        // SAFETY: as above.
        unsafe { bytes.write(size) };
        Ok(())
    })
}

/// `cuFuncSetAttribute`
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetAttribute(function: *mut c_void, attribute: i32, value: i32) -> Code {
    in_context(|model| {
        let function = model.functions.get_mut(&function.addr()).ok_or(INVALID_HANDLE)?;
        match (attribute, u32::try_from(value)) {
            (8, Ok(value)) if value <= SHARED_OPTIN => function.max_shared = value,
            // Nothing of this kind can be chosen before Maxwell.
            (9, _) if (-1..=100).contains(&value) && ![Fault::NoCarveout, Fault::Kepler].contains(&fault()) => {
                function.carveout = u8::try_from(value).ok();
            }
            (14, Ok(allowed @ (0 | 1))) => function.large_clusters = allowed == 1,
            _ => return Err(INVALID_VALUE),
        }
        if fault() == Fault::SlowAttributes {
            model.milliseconds += crate::launch::LAUNCH;
        }
        Ok(())
    })
}

/// `cuFuncGetAttribute`: local memory and registers, as a compiler may give them.
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuFuncGetAttribute"))]
pub unsafe extern "C" fn cuFuncGetAttribute(value: *mut i32, attribute: i32, function: *mut c_void) -> Code {
    in_context(|model| {
        model.functions.get(&function.addr()).ok_or(INVALID_HANDLE)?;
        let told = match attribute {
            3 => 128,
            4 => 40,
            _ => return Err(INVALID_VALUE),
        };
        // SAFETY: by the contract of `cuda.h`.
        unsafe { value.write(told) };
        Ok(())
    })
}

/// `cuFuncSetCacheConfig`: the default, most shared memory, most L1, or both alike.
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuFuncSetCacheConfig"))]
pub extern "C" fn cuFuncSetCacheConfig(function: *mut c_void, configuration: i32) -> Code {
    in_context(|model| {
        let function = model.functions.get_mut(&function.addr()).ok_or(INVALID_HANDLE)?;
        let place = usize::try_from(configuration).map_err(|_| INVALID_VALUE)?;
        function.carveout = *[None, Some(100), Some(0), Some(50)].get(place).ok_or(INVALID_VALUE)?;
        Ok(())
    })
}

/// `cuFuncSetSharedMemConfig`: the default, banks of four or of eight bytes.
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuFuncSetSharedMemConfig"))]
pub extern "C" fn cuFuncSetSharedMemConfig(function: *mut c_void, configuration: i32) -> Code {
    in_context(|model| {
        let function = model.functions.get_mut(&function.addr()).ok_or(INVALID_HANDLE)?;
        if !(0..=2).contains(&configuration) || fault() == Fault::NoBankChoice {
            return Err(INVALID_VALUE);
        }
        function.bank_width = [None, Some(4), Some(8)][configuration as usize];
        Ok(())
    })
}

/// Bytes of the parameters of an entry point; every one has 64 bits.
fn parameter_bytes(text: &str, name: &str) -> Option<usize> {
    let (_, rest) = text.split_once(&format!(".entry {name}"))?;
    let list = rest.trim_start().strip_prefix('(')?.split(')').next()?;
    Some(8 * list.matches(".param").count())
}

/// Bytes of a variable that is declared as an array of bytes: `.b8 name[64]`.
fn variable_bytes(text: &str, name: &str) -> Option<usize> {
    let (_, rest) = text.split_once(&format!(".b8 {name}["))?;
    rest.split(']').next()?.trim().parse().ok()
}
