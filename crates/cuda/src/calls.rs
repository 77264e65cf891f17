//! The driver's calls that are used, and no others: one list, from which a table of function pointers and a checked wrapper
//! for each are made. Signatures and versioned names are those of `cuda.h`.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use libloading::Library;

use super::array::{ArrayDescription, Copy3d};
use super::error;
use super::texture::{ResourceDescription, TextureDescription};
use strata_gpu::{Error, Result};

/// A `CUresult`. An integer, because drivers return values that are younger than this program.
pub(super) type Code = c_int;
/// A `CUdevice`.
pub(super) type Device = c_int;
/// A `CUcontext`.
pub(super) type Context = *mut c_void;
/// A `CUmodule`.
pub(super) type ModuleHandle = *mut c_void;
/// A `CUfunction`.
pub(super) type FunctionHandle = *mut c_void;
/// A `CUstream`; null is the default stream. Copy engines have streams of their own.
pub(super) type Stream = *mut c_void;
/// A `CUevent`.
pub(super) type Event = *mut c_void;
/// A `CUlinkState`.
pub(super) type LinkState = *mut c_void;
/// A `CUarray`.
pub(super) type ArrayHandle = *mut c_void;

/// `CU_MEMHOSTALLOC_DEVICEMAP`.
pub(super) const HOST_DEVICE_MAP: u32 = 2;
/// `CU_LAUNCH_PARAM_END`, `CU_LAUNCH_PARAM_BUFFER_POINTER` and `CU_LAUNCH_PARAM_BUFFER_SIZE`.
pub(super) const LAUNCH_END: *mut c_void = ptr::null_mut();
pub(super) const LAUNCH_BUFFER_POINTER: *mut c_void = ptr::without_provenance_mut(1);
pub(super) const LAUNCH_BUFFER_SIZE: *mut c_void = ptr::without_provenance_mut(2);

/// A `CUmemAllocationProp`: what memory is to be made.
#[repr(C)]
pub(super) struct AllocationProperties {
    /// A `CUmemAllocationType`.
    pub kind: c_int,
    /// Handles by which it may be shared: none.
    pub handles: c_int,
    /// A `CUmemLocation`: its kind and number.
    pub location: [c_int; 2],
    /// For handles of Windows.
    pub attributes: *mut c_void,
    /// Compression, remote access, usage and what is reserved.
    pub flags: [u8; 8],
}

/// `CU_MEM_ALLOCATION_TYPE_PINNED` and `CU_MEM_LOCATION_TYPE_DEVICE`.
pub(super) const PINNED: c_int = 1;
pub(super) const ON_DEVICE: c_int = 1;
/// `CU_MEM_ALLOC_GRANULARITY_MINIMUM`.
pub(super) const MINIMUM: u32 = 0;

/// A `CUlaunchAttribute`: an identifier, padded to eight bytes, and its value.
#[repr(C, align(8))]
pub(super) struct LaunchAttribute {
    pub id: u32,
    pub padding: u32,
    /// A `CUlaunchAttributeValue`, a union of 64 bytes: of a cluster three numbers of blocks, of a cooperative launch one flag, of a window its
    /// address, its size, the share of it that hits (a `float`), and what is said of these accesses and of the others.
    pub value: [u32; 16],
}

/// `CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW`, and its `CU_ACCESS_PROPERTY_STREAMING` and `CU_ACCESS_PROPERTY_PERSISTING`.
pub(super) const LAUNCH_WINDOW: u32 = 1;
pub(super) const STREAMING: u32 = 1;
pub(super) const PERSISTING: u32 = 2;
/// `CU_LIMIT_PERSISTING_L2_CACHE_SIZE`.
pub(super) const LIMIT_PERSISTING: c_int = 6;
/// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE` and `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`.
pub(super) const LAUNCH_COOPERATIVE: u32 = 2;
pub(super) const LAUNCH_CLUSTER: u32 = 4;

/// A `CUlaunchConfig`.
#[repr(C)]
pub(super) struct LaunchConfiguration {
    /// Blocks in each direction.
    pub grid: [u32; 3],
    /// Threads of a block in each direction.
    pub block: [u32; 3],
    pub shared_bytes: u32,
    pub stream: Stream,
    pub attributes: *mut LaunchAttribute,
    pub attribute_count: u32,
}

/// As large as in `cuda.h`, which the driver takes them to be.
const _: () = assert!(size_of::<LaunchAttribute>() == 72 && size_of::<LaunchConfiguration>() == 56);

macro_rules! calls {
    ($($need:ident $name:ident = $first:literal $(or $other:literal)? ($($argument:ident: $type:ty),*);)*) => {
        /// The driver's calls, by address. Those that not every driver since CUDA 9.0 has may be absent.
        pub(super) struct Calls {
            $($name: Option<unsafe extern "C" fn($($type),*) -> Code>,)*
        }

        impl Calls {
            /// Looks the calls up in `library`, which must stay open as long as they are used.
            ///
            /// # Safety
            ///
            /// `library` must be a CUDA driver library: its symbols have the signatures of `cuda.h`.
            pub unsafe fn find(library: &Library) -> std::result::Result<Self, &'static str> {
                $(
                    let mut $name = None;
                    for symbol in [$first $(, $other)?] {
                        // SAFETY: by the caller's promise the symbol has the signature that `cuda.h` gives it.
                        if let Ok(found) = unsafe { library.get::<unsafe extern "C" fn($($type),*) -> Code>(symbol) } {
                            $name = Some(*found);
                            break;
                        }
                    }
                    if $name.is_none() && calls!(@ $need) {
                        return Err($first);
                    }
                )*
                Ok(Calls { $($name),* })
            }

            $(
                /// The call of `cuda.h`, its result turned into a [`Result`].
                ///
                /// # Safety
                ///
                /// What `cuda.h` asks of the arguments: pointers valid for what the call reads and writes, live handles.
                #[allow(clippy::too_many_arguments, dead_code, reason = "as many as in `cuda.h`; `describe` needs no wrapper")]
                pub unsafe fn $name(&self, $($argument: $type),*) -> Result<()> {
                    let call = $first.trim_end_matches("_v2");
                    let Some(function) = self.$name else {
                        return Err(Error::Unsupported { reason: format!("this driver does not have {call}") });
                    };
                    // SAFETY: the caller answers for the arguments; the library is never closed.
                    let code = unsafe { function($($argument),*) };
                    self.check(call, code)
                }
            )*
        }
    };
    (@ needed) => { true };
    (@ optional) => { false };
}

calls! {
    needed init = "cuInit" (flags: u32);
    optional get_error_name = "cuGetErrorName" (code: Code, text: *mut *const c_char);
    optional get_error_string = "cuGetErrorString" (code: Code, text: *mut *const c_char);

    needed device_get_count = "cuDeviceGetCount" (count: *mut c_int);
    needed device_get = "cuDeviceGet" (device: *mut Device, ordinal: c_int);
    needed device_get_name = "cuDeviceGetName" (name: *mut c_char, length: c_int, device: Device);
    // Version 1 tells the whole GPU's UUID, version 2 that of a MIG instance where the device is one.
    optional device_get_uuid_v1 = "cuDeviceGetUuid" (uuid: *mut [u8; 16], device: Device);
    optional device_get_uuid = "cuDeviceGetUuid_v2" or "cuDeviceGetUuid" (uuid: *mut [u8; 16], device: Device);
    needed device_get_pci_bus_id = "cuDeviceGetPCIBusId" (text: *mut c_char, length: c_int, device: Device);
    needed device_total_mem = "cuDeviceTotalMem_v2" (bytes: *mut usize, device: Device);
    needed device_get_attribute = "cuDeviceGetAttribute" (value: *mut c_int, attribute: c_int, device: Device);
    optional device_get_texture_1d_linear_max_width = "cuDeviceGetTexture1DLinearMaxWidth"
        (texels: *mut usize, format: u32, channels: u32, device: Device);

    needed device_primary_ctx_retain = "cuDevicePrimaryCtxRetain" (context: *mut Context, device: Device);
    needed device_primary_ctx_release = "cuDevicePrimaryCtxRelease_v2" or "cuDevicePrimaryCtxRelease" (device: Device);
    needed ctx_set_current = "cuCtxSetCurrent" (context: Context);
    needed ctx_synchronize = "cuCtxSynchronize" ();
    // Since CUDA 11.0, for devices from compute capability 8.0 on.
    optional ctx_set_limit = "cuCtxSetLimit" (limit: c_int, value: usize);
    optional ctx_reset_persisting_l2_cache = "cuCtxResetPersistingL2Cache" ();

    // Asked for where a link is measured.
    optional device_can_access_peer = "cuDeviceCanAccessPeer" (possible: *mut c_int, from: Device, to: Device);
    optional device_get_p2p_attribute = "cuDeviceGetP2PAttribute"
        (value: *mut c_int, attribute: c_int, from: Device, to: Device);
    optional ctx_enable_peer_access = "cuCtxEnablePeerAccess" (peer: Context, flags: u32);
    optional ctx_disable_peer_access = "cuCtxDisablePeerAccess" (peer: Context);

    needed mem_get_info = "cuMemGetInfo_v2" (free: *mut usize, total: *mut usize);
    // Since CUDA 10.2.
    optional mem_get_allocation_granularity = "cuMemGetAllocationGranularity"
        (bytes: *mut usize, properties: *const AllocationProperties, option: u32);
    needed mem_alloc = "cuMemAlloc_v2" (address: *mut u64, bytes: usize);
    needed mem_free = "cuMemFree_v2" (address: u64);
    needed mem_host_alloc = "cuMemHostAlloc" (host: *mut *mut c_void, bytes: usize, flags: u32);
    needed mem_host_get_device_pointer = "cuMemHostGetDevicePointer_v2"
        (address: *mut u64, host: *mut c_void, flags: u32);
    needed mem_free_host = "cuMemFreeHost" (host: *mut c_void);
    needed memcpy_htod = "cuMemcpyHtoD_v2" (to: u64, from: *const c_void, bytes: usize);
    needed memcpy_dtoh = "cuMemcpyDtoH_v2" (to: *mut c_void, from: u64, bytes: usize);
    needed memcpy_htod_async = "cuMemcpyHtoDAsync_v2" (to: u64, from: *const c_void, bytes: usize, stream: Stream);
    needed memcpy_dtoh_async = "cuMemcpyDtoHAsync_v2" (to: *mut c_void, from: u64, bytes: usize, stream: Stream);
    optional memcpy_dtod_async = "cuMemcpyDtoDAsync_v2" (to: u64, from: u64, bytes: usize, stream: Stream);
    needed memset_d32 = "cuMemsetD32_v2" (address: u64, value: u32, words: usize);

    optional link_create = "cuLinkCreate_v2"
        (count: u32, options: *mut u32, values: *mut *mut c_void, state: *mut LinkState);
    optional link_add_data = "cuLinkAddData_v2"
        (state: LinkState, kind: u32, data: *mut c_void, bytes: usize, name: *const c_char,
         count: u32, options: *mut u32, values: *mut *mut c_void);
    optional link_complete = "cuLinkComplete" (state: LinkState, image: *mut *mut c_void, bytes: *mut usize);
    optional link_destroy = "cuLinkDestroy" (state: LinkState);
    needed module_load_data = "cuModuleLoadData" (module: *mut ModuleHandle, image: *const c_void);
    needed module_load_data_ex = "cuModuleLoadDataEx"
        (module: *mut ModuleHandle, image: *const c_void, count: u32, options: *mut u32, values: *mut *mut c_void);
    needed module_unload = "cuModuleUnload" (module: ModuleHandle);
    needed module_get_function = "cuModuleGetFunction"
        (function: *mut FunctionHandle, module: ModuleHandle, name: *const c_char);
    needed module_get_global = "cuModuleGetGlobal_v2"
        (address: *mut u64, bytes: *mut usize, module: ModuleHandle, name: *const c_char);
    optional func_set_attribute = "cuFuncSetAttribute" (function: FunctionHandle, attribute: c_int, value: c_int);
    optional func_get_attribute = "cuFuncGetAttribute" (value: *mut c_int, attribute: c_int, function: FunctionHandle);
    // What divides the L1 and shared memory of Fermi and Kepler.
    optional func_set_cache_config = "cuFuncSetCacheConfig" (function: FunctionHandle, configuration: c_int);
    // Deprecated since CUDA 12.4: only compute capability 3.x has the choice.
    optional func_set_shared_mem_config = "cuFuncSetSharedMemConfig" (function: FunctionHandle, configuration: c_int);
    needed launch_kernel = "cuLaunchKernel"
        (function: FunctionHandle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
         shared_bytes: u32, stream: Stream, parameters: *mut *mut c_void, extra: *mut *mut c_void);
    // Since CUDA 9.0, for devices from compute capability 6.0 on.
    optional launch_cooperative_kernel = "cuLaunchCooperativeKernel"
        (function: FunctionHandle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
         shared_bytes: u32, stream: Stream, parameters: *mut *mut c_void);
    // Since CUDA 11.8. It alone launches clusters, and launches with a window.
    optional launch_kernel_ex = "cuLaunchKernelEx"
        (configuration: *const LaunchConfiguration, function: FunctionHandle, parameters: *mut *mut c_void,
         extra: *mut *mut c_void);

    optional array_create = "cuArray3DCreate_v2" (array: *mut ArrayHandle, description: *const ArrayDescription);
    optional array_destroy = "cuArrayDestroy" (array: ArrayHandle);
    optional memcpy_3d = "cuMemcpy3D_v2" (copy: *const Copy3d);
    needed tex_object_create = "cuTexObjectCreate"
        (texture: *mut u64, resource: *const ResourceDescription, description: *const TextureDescription,
         view: *const c_void);
    needed tex_object_destroy = "cuTexObjectDestroy" (texture: u64);

    needed stream_create = "cuStreamCreate" (stream: *mut Stream, flags: u32);
    needed stream_wait_event = "cuStreamWaitEvent" (stream: Stream, event: Event, flags: u32);
    needed stream_destroy = "cuStreamDestroy_v2" (stream: Stream);

    needed event_create = "cuEventCreate" (event: *mut Event, flags: u32);
    needed event_record = "cuEventRecord" (event: Event, stream: Stream);
    needed event_synchronize = "cuEventSynchronize" (event: Event);
    needed event_elapsed_time = "cuEventElapsedTime" (milliseconds: *mut f32, from: Event, to: Event);
    needed event_destroy = "cuEventDestroy_v2" (event: Event);
}

impl Calls {
    /// The driver's symbol and description of a result, where it has them.
    pub fn describe(&self, code: Code) -> (Option<String>, Option<String>) {
        let text = |function: Option<unsafe extern "C" fn(Code, *mut *const c_char) -> Code>| {
            let mut text = ptr::null();
            // SAFETY: `text` is written with the address of a string constant of the driver, or left or made null.
            let found = unsafe { function?(code, &mut text) } == 0 && !text.is_null();
            // SAFETY: the driver's constants are NUL-terminated and the library is never closed.
            found.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        (text(self.get_error_name), text(self.get_error_string))
    }

    fn check(&self, call: &'static str, code: Code) -> Result<()> {
        match code {
            error::SUCCESS => Ok(()),
            _ => Err(error::call(self, call, code)),
        }
    }
}
