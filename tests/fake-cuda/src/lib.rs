//! A stand-in for the CUDA driver, for tests without a GPU: two devices, memory that is the host's, modules that hold what
//! their text declares, and kernels that do nothing, or with the feature `executes` what their text says. `FAKE_CUDA_FAULT` chooses what goes wrong; see `fault::Fault`.
//!
//! It is written from `cuda.h`, not from the program under test, and refuses what a driver would refuse: an argument that is
//! not laid out as the header says gives an error.

// It is a C library, so every function crosses a boundary that the compiler cannot see.
#![allow(unsafe_code)]
// What the fault was is for whoever reads the output of a test.
#![allow(clippy::print_stderr)]
#![allow(non_snake_case, reason = "the driver's names")]
#![allow(clippy::missing_safety_doc, reason = "every function has the contract that `cuda.h` gives it")]

mod array;
#[cfg(not(feature = "no-optional-calls"))]
mod board;
mod device;
#[cfg(feature = "executes")]
mod execute;
#[cfg(not(feature = "executes"))]
#[path = "idle.rs"]
mod execute;
mod fault;
mod launch;
mod link;
mod memory;
mod model;
mod module;
mod nvml;
mod peer;
mod stream;

use std::ffi::{CString, c_char};

/// A `CUresult`.
type Code = i32;

const SUCCESS: Code = 0;
const INVALID_VALUE: Code = 1;
const OUT_OF_MEMORY: Code = 2;
const NOT_INITIALIZED: Code = 3;
const LAUNCH_OUT_OF_RESOURCES: Code = 701;
const NOT_SUPPORTED: Code = 801;
const INVALID_CONTEXT: Code = 201;
const INVALID_HANDLE: Code = 400;
const PEER_ACCESS_ALREADY_ENABLED: Code = 704;
const PEER_ACCESS_NOT_ENABLED: Code = 705;

/// Name and description of every result that the stand-in gives, but one.
const RESULTS: [(Code, &str, &str); 18] = [
    (SUCCESS, "CUDA_SUCCESS", "no error"),
    (INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"),
    (OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"),
    (NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"),
    (100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"),
    (101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"),
    (INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"),
    (218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"),
    (221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"),
    (INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"),
    (500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"),
    (700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"),
    (LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"),
    (PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"),
    (PEER_ACCESS_NOT_ENABLED, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"),
    (720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"),
    (NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"),
    (999, "CUDA_ERROR_UNKNOWN", "unknown error"),
];

/// `cuGetErrorName`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(code: Code, text: *mut *const c_char) -> Code {
    // SAFETY: by the contract of `cuda.h`.
    unsafe { told(code, text, |(_, name, _)| name) }
}

/// `cuGetErrorString`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: Code, text: *mut *const c_char) -> Code {
    // SAFETY: by the contract of `cuda.h`.
    unsafe { told(code, text, |(_, _, meaning)| meaning) }
}

/// # Safety
///
/// `text` must be valid for a write.
unsafe fn told(
    code: Code,
    text: *mut *const c_char,
    part: fn((Code, &'static str, &'static str)) -> &'static str,
) -> Code {
    let found = RESULTS.into_iter().find(|&(known, ..)| known == code);
    // Constants of the driver live as long as it does.
    let words = found.map(|result| CString::new(part(result)).expect("no NUL in it").into_raw().cast_const());
    // SAFETY: by this function's contract.
    unsafe { text.write(words.unwrap_or(std::ptr::null())) };
    if words.is_some() { SUCCESS } else { INVALID_VALUE }
}
