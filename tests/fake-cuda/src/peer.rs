//! Access of one device to the memory of the other.

use std::ffi::c_void;

use crate::device::index;
use crate::fault::{Fault, fault};
use crate::model::{CURRENT, in_context, initialized};
use crate::{Code, INVALID_CONTEXT, INVALID_VALUE, PEER_ACCESS_ALREADY_ENABLED, PEER_ACCESS_NOT_ENABLED};

/// `cuDeviceCanAccessPeer`
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuDeviceCanAccessPeer"))]
pub unsafe extern "C" fn cuDeviceCanAccessPeer(possible: *mut i32, from: i32, to: i32) -> Code {
    initialized(|_| {
        let others = index(from)? != index(to)?;
        // SAFETY: by the contract of `cuda.h`.
        unsafe { possible.write(i32::from(others && fault() != Fault::NoPeers)) };
        Ok(())
    })
}

/// `cuDeviceGetP2PAttribute`: rank, access, atomics.
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuDeviceGetP2PAttribute"))]
pub unsafe extern "C" fn cuDeviceGetP2PAttribute(value: *mut i32, attribute: i32, from: i32, to: i32) -> Code {
    initialized(|_| {
        if index(from)? == index(to)? {
            return Err(INVALID_VALUE);
        }
        let told = match attribute {
            1 => 0,
            2 | 3 => 1,
            _ => return Err(INVALID_VALUE),
        };
        // SAFETY: by the contract of `cuda.h`.
        unsafe { value.write(told) };
        Ok(())
    })
}

/// `cuCtxEnablePeerAccess`
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuCtxEnablePeerAccess"))]
pub extern "C" fn cuCtxEnablePeerAccess(peer: *mut c_void, flags: u32) -> Code {
    in_context(|model| {
        let to =
            peer.addr().checked_sub(1).filter(|&device| model.retained.get(device).is_some_and(|&count| count > 0));
        let (from, to) = (CURRENT.get().ok_or(INVALID_CONTEXT)?, to.ok_or(INVALID_CONTEXT)?);
        if flags != 0 || from == to {
            return Err(INVALID_VALUE);
        }
        if model.accesses.insert((from, to)) { Ok(()) } else { Err(PEER_ACCESS_ALREADY_ENABLED) }
    })
}

/// `cuCtxDisablePeerAccess`
#[cfg_attr(not(feature = "no-optional-calls"), unsafe(no_mangle))]
#[cfg_attr(feature = "no-optional-calls", unsafe(export_name = "fake_cuda_hides_cuCtxDisablePeerAccess"))]
pub extern "C" fn cuCtxDisablePeerAccess(peer: *mut c_void) -> Code {
    in_context(|model| {
        let access = CURRENT.get().zip(peer.addr().checked_sub(1)).ok_or(INVALID_CONTEXT)?;
        if model.accesses.remove(&access) { Ok(()) } else { Err(PEER_ACCESS_NOT_ENABLED) }
    })
}
