//! The devices that the driver sees, and their facts.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use super::attributes::Attribute;
use super::calls::{AllocationProperties, Device, MINIMUM, ON_DEVICE, PINNED};
use super::cores;
use super::error;
use super::library::Driver;
use super::texture::FORMAT_U32;
use strata_gpu::{DeviceFacts, Listed, Result};

/// Every device, in the driver's order. It need not be the order of `nvidia-smi`, which goes by PCI address.
pub(super) fn list(driver: &Driver) -> Result<Vec<Listed>> {
    let mut count = 0;
    // SAFETY: `count` is valid for the write.
    unsafe { driver.device_get_count(&mut count) }?;
    if count < 1 {
        return Err(error::no_device(""));
    }
    (0..count).map(|ordinal| listed(driver, ordinal)).collect()
}

/// The driver's handle of a device.
pub(super) fn handle(driver: &Driver, ordinal: u32) -> Result<Device> {
    let mut device = 0;
    // SAFETY: `device` is valid for the write.
    unsafe { driver.device_get(&mut device, ordinal as c_int) }?;
    Ok(device)
}

fn listed(driver: &Driver, ordinal: c_int) -> Result<Listed> {
    let device = handle(driver, ordinal as u32)?;
    let name = name(driver, device)?;
    let mut total = 0;
    // SAFETY: `total` is valid for the write.
    unsafe { driver.device_total_mem(&mut total, device) }?;
    Ok(Listed {
        ordinal: ordinal as u32,
        uuid: uuid(driver, device, &name),
        name,
        pci: pci(driver, device),
        compute_capability: (
            number(driver, device, Attribute::COMPUTE_CAPABILITY_MAJOR)?,
            number(driver, device, Attribute::COMPUTE_CAPABILITY_MINOR)?,
        ),
        total_memory: total as u64,
    })
}

/// The facts of a device, but for what needs a context or NVML (`free_memory` and `driver_version`).
pub(super) fn facts(driver: &Driver, device: Device, listed: &Listed) -> Result<DeviceFacts> {
    let number = |attribute| number(driver, device, attribute);
    let maybe = |attribute| self::attribute(driver, device, attribute).ok();
    // The driver answers 0 for what an older device does not have.
    let positive = |attribute| maybe(attribute).and_then(|n| u32::try_from(n).ok()).filter(|&n| n > 0);
    let flag = |attribute| maybe(attribute).map(|n| n != 0);
    let size = |attribute| number(attribute).map(u64::from);
    Ok(DeviceFacts {
        name: listed.name.clone(),
        uuid: listed.uuid.clone(),
        pci: listed.pci.clone(),
        compute_capability: listed.compute_capability,
        driver_api: driver.version(),
        driver_version: None,
        multiprocessors: number(Attribute::MULTIPROCESSOR_COUNT)?,
        cores_per_multiprocessor: cores::per_multiprocessor(listed.compute_capability),
        warp_size: number(Attribute::WARP_SIZE)?,
        max_threads_per_block: number(Attribute::MAX_THREADS_PER_BLOCK)?,
        max_threads_per_multiprocessor: number(Attribute::MAX_THREADS_PER_MULTIPROCESSOR)?,
        max_blocks_per_multiprocessor: positive(Attribute::MAX_BLOCKS_PER_MULTIPROCESSOR),
        max_grid_blocks: number(Attribute::MAX_GRID_DIM_X)?,
        registers_per_block: number(Attribute::MAX_REGISTERS_PER_BLOCK)?,
        registers_per_multiprocessor: number(Attribute::MAX_REGISTERS_PER_MULTIPROCESSOR)?,
        shared_per_block: size(Attribute::MAX_SHARED_MEMORY_PER_BLOCK)?,
        shared_per_block_optin: positive(Attribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN).map(u64::from),
        shared_per_multiprocessor: size(Attribute::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
        shared_reserved_per_block: maybe(Attribute::RESERVED_SHARED_MEMORY_PER_BLOCK)
            .and_then(|n| u64::try_from(n).ok()),
        constant_memory: size(Attribute::TOTAL_CONSTANT_MEMORY)?,
        total_memory: listed.total_memory,
        free_memory: 0,
        l2_size: size(Attribute::L2_CACHE_SIZE)?,
        global_l1_cache: flag(Attribute::GLOBAL_L1_CACHE_SUPPORTED),
        local_l1_cache: flag(Attribute::LOCAL_L1_CACHE_SUPPORTED),
        clock_khz: positive(Attribute::CLOCK_RATE).unwrap_or(0),
        memory_clock_khz: positive(Attribute::MEMORY_CLOCK_RATE).unwrap_or(0),
        memory_bus_bits: positive(Attribute::GLOBAL_MEMORY_BUS_WIDTH).unwrap_or(0),
        ecc: flag(Attribute::ECC_ENABLED),
        integrated: flag(Attribute::INTEGRATED).unwrap_or(false),
        watchdog: flag(Attribute::KERNEL_EXEC_TIMEOUT).unwrap_or(false),
        virtual_memory: flag(Attribute::VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED),
        max_linear_texture: max_linear_texture(driver, device),
        mapping_granularity: mapping_granularity(driver, listed.ordinal),
        peer: None,
    })
}

/// The width for 32-bit texels of one channel, which CUDA 11.1 and later tell; the attribute before it is one for all.
fn max_linear_texture(driver: &Driver, device: Device) -> Option<u64> {
    let mut texels = 0;
    // SAFETY: `texels` is valid for the write.
    if unsafe { driver.device_get_texture_1d_linear_max_width(&mut texels, FORMAT_U32, 1, device) }.is_ok() {
        return Some(texels as u64);
    }
    attribute(driver, device, Attribute::MAXIMUM_TEXTURE1D_LINEAR_WIDTH).ok().and_then(|n| u64::try_from(n).ok())
}

/// In what pieces a driver with virtual-memory calls maps device memory.
fn mapping_granularity(driver: &Driver, ordinal: u32) -> Option<u64> {
    let properties = AllocationProperties {
        kind: PINNED,
        handles: 0,
        location: [ON_DEVICE, ordinal as c_int],
        attributes: ptr::null_mut(),
        flags: [0; 8],
    };
    let mut bytes = 0;
    // SAFETY: both pointers are valid, `properties` for the read of a `CUmemAllocationProp`, `bytes` for the write.
    unsafe { driver.mem_get_allocation_granularity(&mut bytes, &properties, MINIMUM) }.ok()?;
    Some(bytes as u64)
}

/// Whether all blocks of a launch can be had on the device together; `None` where the driver does not tell.
pub(super) fn launches_together(driver: &Driver, device: Device) -> Option<bool> {
    attribute(driver, device, Attribute::COOPERATIVE_LAUNCH).ok().map(|told| told != 0)
}

/// Whether the device has clusters; `None` where the driver does not tell.
pub(super) fn launches_clusters(driver: &Driver, device: Device) -> Option<bool> {
    attribute(driver, device, Attribute::CLUSTER_LAUNCH).ok().map(|told| told != 0)
}

fn attribute(driver: &Driver, device: Device, attribute: Attribute) -> Result<c_int> {
    let mut value = 0;
    // SAFETY: `value` is valid for the write; a number that the driver does not know is an error value.
    unsafe { driver.device_get_attribute(&mut value, attribute.0, device) }?;
    Ok(value)
}

/// An attribute that every device has. None of them is negative.
pub(super) fn number(driver: &Driver, device: Device, attribute: Attribute) -> Result<u32> {
    self::attribute(driver, device, attribute).map(|n| u32::try_from(n).unwrap_or(0))
}

fn name(driver: &Driver, device: Device) -> Result<String> {
    let mut text: [c_char; 256] = [0; 256];
    // SAFETY: the driver writes at most the length given, the closing NUL included.
    unsafe { driver.device_get_name(text.as_mut_ptr(), text.len() as c_int, device) }?;
    Ok(closed(&text))
}

fn pci(driver: &Driver, device: Device) -> Option<String> {
    let mut text: [c_char; 32] = [0; 32];
    // SAFETY: the driver writes at most the length given, the closing NUL included.
    unsafe { driver.device_get_pci_bus_id(text.as_mut_ptr(), text.len() as c_int, device) }.ok()?;
    Some(closed(&text).to_ascii_lowercase())
}

fn uuid(driver: &Driver, device: Device, name: &str) -> Option<String> {
    let mut own = [0; 16];
    // SAFETY: `own` is valid for the write of 16 bytes.
    unsafe { driver.device_get_uuid(&mut own, device) }.ok()?;
    let mut whole = own;
    // SAFETY: `whole` is valid for the write of 16 bytes. On failure it is not read as anything but what it was.
    let told = unsafe { driver.device_get_uuid_v1(&mut whole, device) }.is_ok();
    let instance = told && whole != own || name.contains(" MIG ");
    Some(format_uuid(own, instance))
}

fn format_uuid(bytes: [u8; 16], instance: bool) -> String {
    let hex = |range: std::ops::Range<usize>| bytes[range].iter().map(|b| format!("{b:02x}")).collect::<String>();
    let prefix = if instance { "MIG" } else { "GPU" };
    format!("{prefix}-{}-{}-{}-{}-{}", hex(0..4), hex(4..6), hex(6..8), hex(8..10), hex(10..16))
}

fn closed(text: &[c_char]) -> String {
    let bytes: Vec<u8> = text.iter().map(|&c| c as u8).collect();
    CStr::from_bytes_until_nul(&bytes).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::format_uuid;

    #[test]
    fn uuids_are_written_as_nvidia_smi_writes_them() {
        let bytes = std::array::from_fn(|i| i as u8 * 17);
        assert_eq!(format_uuid(bytes, false), "GPU-00112233-4455-6677-8899-aabbccddeeff");
        assert!(format_uuid(bytes, true).starts_with("MIG-0011"));
    }
}
