//! The linker: a text becomes an image that holds the text.

use std::ffi::{c_char, c_void};
use std::ptr;

use crate::fault::{Fault, fault};
use crate::model::in_context;
use crate::module::{IMAGE_MAGIC, is_ptx};
use crate::{Code, INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED};

const INVALID_PTX: Code = 218;
const JIT_COMPILER_NOT_FOUND: Code = 221;
const UNSUPPORTED_PTX_VERSION: Code = 222;

/// The newest PTX that a driver of CUDA 11.4 reads, and the newest target that a Tesla K20c runs.
const KEPLER: [u32; 2] = [74, 35];

/// What the compiler says of a text that it rejects.
const LOG: &str =
    "ptxas application ptx input, line 7; error   : Unknown symbol 'missing'\nptxas fatal   : Ptx assembly aborted";

/// A link under way: where errors are written, and the image.
pub struct Link {
    log: Option<Log>,
    image: Vec<u8>,
}

/// The buffer of the options `CU_JIT_ERROR_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`: its address, its size, and
/// where the length of what was written goes.
#[derive(Clone, Copy)]
pub struct Log {
    buffer: usize,
    size: usize,
    length: usize,
}

impl Log {
    /// # Safety
    ///
    /// `options` and `values` must be valid for reads of `count` of each.
    pub unsafe fn of(count: u32, options: *mut u32, values: *mut *mut c_void) -> Option<Log> {
        let (mut buffer, mut size) = (None, None);
        for i in 0..count as usize {
            // SAFETY: by this function's contract.
            let (option, value) = unsafe { (options.add(i).read(), values.add(i)) };
            match option {
                // SAFETY: as above.
                5 => buffer = Some(unsafe { value.read() }.expose_provenance()),
                // SAFETY: as above.
                6 => size = Some((unsafe { value.read() }.addr(), value.expose_provenance())),
                _ => {}
            }
        }
        let (size, length) = size?;
        Some(Log { buffer: buffer?, size, length })
    }

    /// # Safety
    ///
    /// What the options named must still be there.
    unsafe fn write(self, text: &str) {
        let written = text.len().min(self.size.saturating_sub(1));
        let buffer: *mut u8 = ptr::with_exposed_provenance_mut(self.buffer);
        // SAFETY: by this function's contract; `written` and the NUL fit the buffer's size.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), buffer, written) };
        // SAFETY: as above.
        unsafe { buffer.add(written).write(0) };
        // SAFETY: as above.
        unsafe { ptr::with_exposed_provenance_mut::<usize>(self.length).write(written) };
    }
}

/// Compiles, as the fault has it.
///
/// # Safety
///
/// What the log names must be there.
pub unsafe fn compile(text: &[u8], log: Option<Log>) -> Result<(), Code> {
    if fault() == Fault::NoCompiler {
        return Err(JIT_COMPILER_NOT_FOUND);
    }
    let named = [".version ", ".target sm_"].map(|word| number_behind(text, word));
    if fault() == Fault::Kepler && named.into_iter().zip(KEPLER).any(|(named, most)| named > Some(most)) {
        return Err(UNSUPPORTED_PTX_VERSION);
    }
    if fault() == Fault::CompileError || !is_ptx(text) {
        if let Some(log) = log {
            // SAFETY: by this function's contract.
            unsafe { log.write(LOG) };
        }
        return Err(INVALID_PTX);
    }
    Ok(())
}

/// The digits behind a word in a text, without a point.
fn number_behind(text: &[u8], word: &str) -> Option<u32> {
    let text = String::from_utf8_lossy(text);
    let (_, rest) = text.split_once(word)?;
    let number: String =
        rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').filter(char::is_ascii_digit).collect();
    number.parse().ok()
}

/// `cuLinkCreate`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLinkCreate_v2(
    count: u32,
    options: *mut u32,
    values: *mut *mut c_void,
    state: *mut *mut c_void,
) -> Code {
    in_context(|model| {
        if fault() == Fault::NoLinker {
            return Err(NOT_SUPPORTED);
        }
        // SAFETY: by the contract of `cuda.h`.
        let log = unsafe { Log::of(count, options, values) };
        let handle = model.handle();
        model.links.insert(handle, Link { log, image: IMAGE_MAGIC.to_vec() });
        // SAFETY: by the contract of `cuda.h`.
        unsafe { state.write(ptr::without_provenance_mut(handle)) };
        Ok(())
    })
}

/// `cuLinkAddData`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLinkAddData_v2(
    state: *mut c_void,
    kind: u32,
    data: *mut c_void,
    bytes: usize,
    _name: *const c_char,
    _count: u32,
    _options: *mut u32,
    _values: *mut *mut c_void,
) -> Code {
    in_context(|model| {
        let link = model.links.get_mut(&state.addr()).ok_or(INVALID_HANDLE)?;
        if kind != 1 {
            return Err(INVALID_VALUE);
        }
        // SAFETY: by the contract of `cuda.h`.
        let text = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), bytes) };
        // SAFETY: by the contract of `cuda.h` the options live as long as the link.
        unsafe { compile(text, link.log) }?;
        link.image.extend_from_slice(text);
        Ok(())
    })
}

/// `cuLinkComplete`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLinkComplete(state: *mut c_void, image: *mut *mut c_void, bytes: *mut usize) -> Code {
    in_context(|model| {
        let link = model.links.get_mut(&state.addr()).ok_or(INVALID_HANDLE)?;
        // SAFETY: by the contract of `cuda.h`.
        unsafe { image.write(link.image.as_mut_ptr().cast()) };
        // SAFETY: as above.
        unsafe { bytes.write(link.image.len()) };
        Ok(())
    })
}

/// `cuLinkDestroy`
#[unsafe(no_mangle)]
pub extern "C" fn cuLinkDestroy(state: *mut c_void) -> Code {
    in_context(|model| model.links.remove(&state.addr()).map(drop).ok_or(INVALID_HANDLE))
}
