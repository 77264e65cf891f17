//! Initialisation, the devices and their contexts.

use std::ffi::{c_char, c_void};

use crate::fault::{Fault, fault};
use crate::model::{CURRENT, in_context, initialize, initialized};
use crate::{Code, INVALID_CONTEXT, INVALID_VALUE, SUCCESS};

const INVALID_DEVICE: Code = 101;

/// Names, UUIDs and PCI addresses. The order is not that of the PCI addresses, as with a real driver.
const NAMES: [&str; 2] = ["NVIDIA H200", "NVIDIA H200"];
const UUIDS: [[u8; 16]; 2] = [[0x11; 16], [0x22; 16]];
const INSTANCE: [u8; 16] = [0x33; 16];
const PCI: [&str; 2] = ["0000:5D:00.0", "0000:1B:00.0"];

/// Memory of a device.
pub const TOTAL: usize = 150_110_011_392;
/// SMs, and threads that each holds at a time.
pub const MULTIPROCESSORS: u32 = 132;
pub const THREADS: u32 = 2048;
/// Shared memory of a block after asking for more.
pub const SHARED_OPTIN: u32 = 232_448;
/// Widest linear texture of 32-bit texels.
pub const MAX_TEXELS: u64 = 1 << 28;

/// `CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH`.
const COOPERATIVE_LAUNCH: i32 = 95;
/// `CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH`.
const CLUSTER_LAUNCH: i32 = 120;

/// `CU_LIMIT_PERSISTING_L2_CACHE_SIZE`, and the attribute that says how much it may be. This value is assumed.
const LIMIT_PERSISTING: i32 = 6;
const MOST_PERSISTING: (i32, i32) = (108, 30 << 20);

/// Attributes by their number in `cuda.h`, with the values of an H200.
const ATTRIBUTES: [(i32, i32); 29] = [
    (1, 1024),
    (5, i32::MAX),
    (8, 49_152),
    (9, 65_536),
    (10, 32),
    (12, 65_536),
    (13, 1_980_000),
    (16, MULTIPROCESSORS as i32),
    (17, 0),
    (18, 0),
    (32, 1),
    (36, 3_201_000),
    (37, 6144),
    (38, 62_914_560),
    (39, THREADS as i32),
    (69, 134_217_728),
    (75, 9),
    (76, 0),
    (79, 1),
    (80, 1),
    (81, 233_472),
    (82, 65_536),
    (COOPERATIVE_LAUNCH, 1),
    (97, SHARED_OPTIN as i32),
    (102, 1),
    (106, 32),
    MOST_PERSISTING,
    (111, 1024),
    (CLUSTER_LAUNCH, 1),
];

/// Where a Tesla K20c differs. Its driver, of CUDA 11.4, knows no clusters.
const KEPLER: [(i32, i32); 13] = [
    (13, 706_000),
    (16, 13),
    (36, 2_600_000),
    (37, 320),
    (38, 1_310_720),
    (75, 3),
    (76, 5),
    (81, 49_152),
    (COOPERATIVE_LAUNCH, 0),
    (97, 49_152),
    (102, 0),
    (106, 16),
    (111, 0),
];

/// `cuInit`
#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: u32) -> Code {
    match fault() {
        Fault::NoDevice => 100,
        Fault::InitFails => 999,
        _ if flags != 0 => INVALID_VALUE,
        _ => {
            initialize();
            SUCCESS
        }
    }
}

/// `cuDriverGetVersion`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut i32) -> Code {
    let told = match fault() {
        Fault::OldDriver => 8000,
        Fault::Kepler => 11_040,
        _ => 13_000,
    };
    // SAFETY: by the contract of `cuda.h`.
    unsafe { version.write(told) };
    SUCCESS
}

/// `cuDeviceGetCount`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut i32) -> Code {
    initialized(|_| {
        // SAFETY: by the contract of `cuda.h`.
        unsafe { count.write(NAMES.len() as i32) };
        Ok(())
    })
}

/// `cuDeviceGet`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut i32, ordinal: i32) -> Code {
    initialized(|_| {
        index(ordinal)?;
        // SAFETY: by the contract of `cuda.h`.
        unsafe { device.write(ordinal) };
        Ok(())
    })
}

/// `cuDeviceGetName`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, length: i32, device: i32) -> Code {
    initialized(|_| {
        let index = index(device)?;
        let told = match fault() {
            Fault::Mig if index == 0 => format!("{} MIG 1g.18gb", NAMES[index]),
            Fault::Kepler => "Tesla K20c".into(),
            _ => NAMES[index].into(),
        };
        // SAFETY: by the contract of `cuda.h`.
        unsafe { write_text(name, length, &told) }
    })
}

/// `cuDeviceGetUuid`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid(uuid: *mut [u8; 16], device: i32) -> Code {
    initialized(|_| {
        // SAFETY: by the contract of `cuda.h`.
        unsafe { uuid.write(UUIDS[index(device)?]) };
        Ok(())
    })
}

/// `cuDeviceGetUuid_v2`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: i32) -> Code {
    initialized(|_| {
        let index = index(device)?;
        let instance = index == 0 && fault() == Fault::Mig;
        // SAFETY: by the contract of `cuda.h`.
        unsafe { uuid.write(if instance { INSTANCE } else { UUIDS[index] }) };
        Ok(())
    })
}

/// `cuDeviceGetPCIBusId`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetPCIBusId(text: *mut c_char, length: i32, device: i32) -> Code {
    // SAFETY: by the contract of `cuda.h`.
    initialized(|_| unsafe { write_text(text, length, PCI[index(device)?]) })
}

/// `cuDeviceTotalMem`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: i32) -> Code {
    initialized(|_| {
        index(device)?;
        // SAFETY: by the contract of `cuda.h`.
        unsafe { bytes.write(TOTAL) };
        Ok(())
    })
}

/// `cuDeviceGetAttribute`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(value: *mut i32, attribute: i32, device: i32) -> Code {
    initialized(|_| {
        index(device)?;
        let own: &[(i32, i32)] = if fault() == Fault::Kepler { &KEPLER } else { &[] };
        let (_, told) =
            own.iter().chain(&ATTRIBUTES).copied().find(|&(number, _)| number == attribute).ok_or(INVALID_VALUE)?;
        let told = match (attribute, fault()) {
            (CLUSTER_LAUNCH, Fault::Kepler) => return Err(INVALID_VALUE),
            (CLUSTER_LAUNCH, Fault::NoClusters) => 0,
            (COOPERATIVE_LAUNCH, Fault::NoCooperation) => 0,
            (COOPERATIVE_LAUNCH, Fault::CooperationRefused) => return Err(INVALID_VALUE),
            _ => told,
        };
        // SAFETY: by the contract of `cuda.h`.
        unsafe { value.write(told) };
        Ok(())
    })
}

/// `cuDeviceGetTexture1DLinearMaxWidth`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetTexture1DLinearMaxWidth(
    texels: *mut usize,
    format: u32,
    channels: u32,
    device: i32,
) -> Code {
    initialized(|_| {
        index(device)?;
        if (format, channels) != (3, 1) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: by the contract of `cuda.h`.
        unsafe { texels.write(MAX_TEXELS as usize) };
        Ok(())
    })
}

/// `cuDevicePrimaryCtxRetain`. A context is its device's index, plus one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: i32) -> Code {
    initialized(|model| {
        let index = index(device)?;
        model.retained[index] += 1;
        // SAFETY: by the contract of `cuda.h`.
        unsafe { context.write(std::ptr::without_provenance_mut(index + 1)) };
        Ok(())
    })
}

/// `cuDevicePrimaryCtxRelease`. With the last context all must have been given back.
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(device: i32) -> Code {
    initialized(|model| {
        let index = index(device)?;
        model.retained[index] = model.retained[index].checked_sub(1).ok_or(INVALID_CONTEXT)?;
        if model.retained == [0, 0] {
            model.must_be_empty();
        }
        Ok(())
    })
}

/// `cuCtxSetCurrent`
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: *mut c_void) -> Code {
    initialized(|model| {
        let device = context.addr().checked_sub(1);
        if device.is_some_and(|device| model.retained.get(device).is_none_or(|&count| count == 0)) {
            return Err(INVALID_CONTEXT);
        }
        CURRENT.set(device);
        Ok(())
    })
}

/// `cuCtxSynchronize`
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize() -> Code {
    in_context(|_| Ok(()))
}

/// `cuCtxSetLimit`, of the part of the L2 whose lines persist.
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuCtxSetLimit"))]
pub extern "C" fn cuCtxSetLimit(limit: i32, value: usize) -> Code {
    let possible = limit == LIMIT_PERSISTING && value <= MOST_PERSISTING.1 as usize;
    in_context(|_| if possible { Ok(()) } else { Err(INVALID_VALUE) })
}

/// `cuCtxResetPersistingL2Cache`
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuCtxResetPersistingL2Cache"))]
pub extern "C" fn cuCtxResetPersistingL2Cache() -> Code {
    in_context(|_| Ok(()))
}

pub fn index(device: i32) -> Result<usize, Code> {
    usize::try_from(device).ok().filter(|&index| index < NAMES.len()).ok_or(INVALID_DEVICE)
}

/// # Safety
///
/// `to` must be valid for writes of `length` bytes.
unsafe fn write_text(to: *mut c_char, length: i32, text: &str) -> Result<(), Code> {
    let room = usize::try_from(length).ok().and_then(|length| length.checked_sub(1)).ok_or(INVALID_VALUE)?;
    let shown = text.len().min(room);
    for (i, byte) in text.bytes().take(shown).chain([0]).enumerate() {
        // SAFETY: `i` is less than `length`.
        unsafe { to.add(i).write(byte as c_char) };
    }
    Ok(())
}
