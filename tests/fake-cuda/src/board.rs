//! What NVML tells of the board of the first device. `FAKE_NVML_BOARD` chooses the board: `server` has no fan, no operation mode and
//! remapped rows; `desktop` has a fan and retired pages, and NVML gives numbers for its architecture and modes that no header has.
//! Without the variable NVML supports none of this. Each number is another, so that two that change places are seen.

use std::ffi::{c_uint, c_ulonglong, c_void};

use crate::Code;
use crate::nvml::{INSUFFICIENT_SIZE, INVALID_ARGUMENT, NOT_SUPPORTED};

/// `NVML_ERROR_NO_PERMISSION`
const NO_PERMISSION: Code = 4;

#[derive(Clone, Copy, PartialEq)]
enum Board {
    Server,
    Desktop,
}

fn board(device: *mut c_void) -> Result<Board, Code> {
    if device.addr() != 1 {
        return Err(INVALID_ARGUMENT);
    }
    match std::env::var("FAKE_NVML_BOARD").as_deref() {
        Ok("server") => Ok(Board::Server),
        Ok("desktop") => Ok(Board::Desktop),
        _ => Err(NOT_SUPPORTED),
    }
}

/// Writes what the board has; of what it has not, gives the code.
///
/// # Safety
///
/// `to` must be valid for a write.
unsafe fn tell<T>(device: *mut c_void, to: *mut T, has: impl FnOnce(Board) -> Result<T, Code>) -> Code {
    match board(device).and_then(has) {
        // SAFETY: by this function's contract.
        Ok(value) => unsafe {
            to.write(value);
            0
        },
        Err(code) => code,
    }
}

/// A call that gives one number: of the server, and of the desktop.
macro_rules! number {
    ($($name:ident: $server:expr, $desktop:expr;)*) => {$(
        /// The call of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(device: *mut c_void, value: *mut c_uint) -> Code {
            // SAFETY: by the contract of `nvml.h`.
            unsafe {
                tell(device, value, |board| match board {
                    Board::Server => $server,
                    Board::Desktop => $desktop,
                })
            }
        }
    )*};
}

number! {
    nvmlDeviceGetArchitecture: Ok(9), Ok(4711);
    nvmlDeviceGetNumGpuCores: Ok(16896), Ok(10752);
    nvmlDeviceGetCurrPcieLinkGeneration: Ok(4), Ok(1);
    nvmlDeviceGetMaxPcieLinkGeneration: Ok(5), Ok(3);
    nvmlDeviceGetCurrPcieLinkWidth: Ok(8), Ok(4);
    nvmlDeviceGetMaxPcieLinkWidth: Ok(16), Ok(8);
    nvmlDeviceGetPersistenceMode: Ok(1), Ok(0);
    nvmlDeviceGetComputeMode: Ok(3), Ok(77);
    nvmlDeviceGetPowerManagementLimit: Ok(700_000), Err(NO_PERMISSION);
}

/// `nvmlDeviceGetFanSpeed_v2`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetFanSpeed_v2(device: *mut c_void, fan: c_uint, percent: *mut c_uint) -> Code {
    // SAFETY: by the contract of `nvml.h`.
    unsafe {
        tell(device, percent, |board| match board {
            Board::Desktop if fan == 0 => Ok(43),
            Board::Desktop => Err(INVALID_ARGUMENT),
            Board::Server => Err(NOT_SUPPORTED),
        })
    }
}

/// `nvmlDeviceGetGpuOperationMode`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGpuOperationMode(
    device: *mut c_void,
    now: *mut c_uint,
    pending: *mut c_uint,
) -> Code {
    let has = |board| if board == Board::Desktop { Ok(2) } else { Err(NOT_SUPPORTED) };
    // SAFETY: by the contract of `nvml.h`.
    unsafe { tell(device, now, has).max(tell(device, pending, has)) }
}

/// `nvmlDeviceGetApplicationsClock`: of graphics (0) and of memory (2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetApplicationsClock(device: *mut c_void, clock: c_uint, mhz: *mut c_uint) -> Code {
    let of = |_| match clock {
        0 => Ok(1980),
        2 => Ok(3201),
        _ => Err(INVALID_ARGUMENT),
    };
    // SAFETY: by the contract of `nvml.h`.
    unsafe { tell(device, mhz, of) }
}

/// `nvmlDeviceGetTotalEccErrors`: 11 and 12 are volatile, 21 and 22 aggregate; 11 and 21 were corrected.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTotalEccErrors(
    device: *mut c_void,
    kind: c_uint,
    counter: c_uint,
    count: *mut c_ulonglong,
) -> Code {
    let of = |board| match (board, kind, counter) {
        (Board::Server, 0..2, 0..2) => Ok(11 + c_ulonglong::from(kind) + 10 * c_ulonglong::from(counter)),
        (Board::Server, ..) => Err(INVALID_ARGUMENT),
        (Board::Desktop, ..) => Err(NOT_SUPPORTED),
    };
    // SAFETY: by the contract of `nvml.h`.
    unsafe { tell(device, count, of) }
}

/// Two pages of the desktop were retired for single-bit errors (cause 0), none for a double-bit error.
fn retired(board: Board, cause: c_uint) -> Result<&'static [c_ulonglong], Code> {
    match (board, cause) {
        (Board::Desktop, 0) => Ok(&[0x1000, 0x9000]),
        (Board::Desktop, 1) => Ok(&[]),
        (Board::Desktop, _) => Err(INVALID_ARGUMENT),
        (Board::Server, _) => Err(NOT_SUPPORTED),
    }
}

/// `nvmlDeviceGetRetiredPages`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetRetiredPages(
    device: *mut c_void,
    cause: c_uint,
    count: *mut c_uint,
    addresses: *mut c_ulonglong,
) -> Code {
    let pages = match board(device).and_then(|board| retired(board, cause)) {
        Ok(pages) => pages,
        Err(code) => return code,
    };
    // SAFETY: by the contract of `nvml.h`, which forbids null.
    let room = unsafe { count.replace(pages.len() as c_uint) } as usize;
    if addresses.is_null() {
        return INVALID_ARGUMENT;
    }
    if room < pages.len() {
        return INSUFFICIENT_SIZE;
    }
    for (i, page) in pages.iter().enumerate() {
        // SAFETY: by the contract of `nvml.h` there is room for so many.
        unsafe { addresses.add(i).write(*page) };
    }
    0
}

/// `nvmlDeviceGetRetiredPages_v2`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetRetiredPages_v2(
    device: *mut c_void,
    cause: c_uint,
    count: *mut c_uint,
    addresses: *mut c_ulonglong,
    timestamps: *mut c_ulonglong,
) -> Code {
    // SAFETY: by the contract of `nvml.h`.
    let code = unsafe { nvmlDeviceGetRetiredPages(device, cause, count, addresses) };
    if code == 0 && !timestamps.is_null() {
        // SAFETY: by the contract of `nvml.h` there is room for so many.
        unsafe { (0..*count as usize).for_each(|i| timestamps.add(i).write(1)) };
    }
    code
}

/// `nvmlDeviceGetRemappedRows`: one row waits for a reset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetRemappedRows(
    device: *mut c_void,
    corrected: *mut c_uint,
    uncorrected: *mut c_uint,
    pending: *mut c_uint,
    failed: *mut c_uint,
) -> Code {
    let has = |number| move |board| if board == Board::Server { Ok(number) } else { Err(NOT_SUPPORTED) };
    let all = [(corrected, 5), (uncorrected, 6), (pending, 1), (failed, 0)];
    // SAFETY: by the contract of `nvml.h`.
    all.into_iter().map(|(to, number)| unsafe { tell(device, to, has(number)) }).max().unwrap_or(0)
}
