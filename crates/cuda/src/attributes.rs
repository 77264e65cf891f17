//! Numbers of the attributes asked for, from `CUdevice_attribute` and `CUfunction_attribute` in `cuda.h`.

use std::ffi::c_int;

use strata_model::units::Bytes;

/// An attribute of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attribute(pub c_int);

macro_rules! attributes {
    ($($name:ident = $id:literal;)*) => {
        impl Attribute {
            $(pub const $name: Attribute = Attribute($id);)*
        }
    };
}

attributes! {
    MAX_THREADS_PER_BLOCK = 1;
    MAX_GRID_DIM_X = 5;
    MAX_SHARED_MEMORY_PER_BLOCK = 8;
    TOTAL_CONSTANT_MEMORY = 9;
    WARP_SIZE = 10;
    MAX_REGISTERS_PER_BLOCK = 12;
    CLOCK_RATE = 13;
    MULTIPROCESSOR_COUNT = 16;
    KERNEL_EXEC_TIMEOUT = 17;
    INTEGRATED = 18;
    ECC_ENABLED = 32;
    MEMORY_CLOCK_RATE = 36;
    GLOBAL_MEMORY_BUS_WIDTH = 37;
    L2_CACHE_SIZE = 38;
    MAX_THREADS_PER_MULTIPROCESSOR = 39;
    MAXIMUM_TEXTURE1D_LINEAR_WIDTH = 69;
    COMPUTE_CAPABILITY_MAJOR = 75;
    COMPUTE_CAPABILITY_MINOR = 76;
    GLOBAL_L1_CACHE_SUPPORTED = 79;
    LOCAL_L1_CACHE_SUPPORTED = 80;
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81;
    MAX_REGISTERS_PER_MULTIPROCESSOR = 82;
    COOPERATIVE_LAUNCH = 95;
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97;
    VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102;
    MAX_BLOCKS_PER_MULTIPROCESSOR = 106;
    MAX_PERSISTING_L2_CACHE_SIZE = 108;
    RESERVED_SHARED_MEMORY_PER_BLOCK = 111;
    CLUSTER_LAUNCH = 120;
}

/// `CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES`.
pub(super) const FUNCTION_LOCAL: c_int = 3;
/// `CU_FUNC_ATTRIBUTE_NUM_REGS`.
pub(super) const FUNCTION_REGISTERS: c_int = 4;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
pub(super) const FUNCTION_MAX_DYNAMIC_SHARED: c_int = 8;
/// `CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT`.
pub(super) const FUNCTION_CARVEOUT: c_int = 9;
/// `CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`.
pub(super) const FUNCTION_LARGE_CLUSTERS: c_int = 14;

/// `CU_SHAREDMEM_CARVEOUT_DEFAULT`: the driver chooses.
pub(super) const CARVEOUT_DEFAULT: c_int = -1;

/// First compute capability whose shared memory is divided by [`FUNCTION_CARVEOUT`]. Before it the driver has three choices, which
/// [`cache_configuration`] names, and Maxwell and Pascal have nothing to choose.
pub(super) const CARVEOUTS: (u32, u32) = (5, 0);

/// The member of `CUfunc_cache` that gives shared memory at least so many per cent of the most it can have: 16, 32 or 48 of 48 KiB
/// on Kepler. `None` is the context's own choice.
pub(super) fn cache_configuration(carveout_percent: Option<u8>) -> c_int {
    match carveout_percent {
        // `CU_FUNC_CACHE_PREFER_NONE`
        None => 0,
        // `CU_FUNC_CACHE_PREFER_L1`
        Some(0..=33) => 2,
        // `CU_FUNC_CACHE_PREFER_EQUAL`
        Some(34..=66) => 3,
        // `CU_FUNC_CACHE_PREFER_SHARED`
        Some(_) => 1,
    }
}

/// The member of `CUsharedconfig` for banks of this width (`None` is the context's own choice), if there is one.
pub(super) fn shared_banks(width: Option<Bytes>) -> Option<c_int> {
    match width {
        // `CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE`
        None => Some(0),
        // `CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE`
        Some(Bytes(4)) => Some(1),
        // `CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE`
        Some(Bytes(8)) => Some(2),
        Some(_) => None,
    }
}
