//! The facts that a driver would report about a machine.

use super::machine::Machine;
use strata_gpu::DeviceFacts;

/// Version of the driver interface that the simulator stands in for.
const DRIVER_API: &str = "simulated";

/// The facts of a machine.
pub(super) fn facts(machine: &Machine) -> DeviceFacts {
    let spec = &machine.spec;
    let device = &spec.device;
    let number = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    DeviceFacts {
        name: device.name.clone(),
        compute_capability: (device.compute_capability.0, device.compute_capability.1),
        driver_api: DRIVER_API.into(),
        multiprocessors: number(device.multiprocessors.get()),
        cores_per_multiprocessor: device.cores_per_multiprocessor.map(|n| number(n.get())),
        warp_size: 32,
        max_threads_per_block: number(device.max_threads_per_block.get()),
        max_threads_per_multiprocessor: number(device.max_threads_per_multiprocessor.get()),
        max_blocks_per_multiprocessor: Some(number(device.max_blocks_per_multiprocessor.get())),
        max_grid_blocks: i32::MAX as u32,
        registers_per_block: number(device.registers_per_multiprocessor.get()),
        registers_per_multiprocessor: number(device.registers_per_multiprocessor.get()),
        shared_per_block: spec.shared.per_block.0,
        shared_per_block_optin: spec.shared.per_block_optin.map(|s| s.0),
        shared_per_multiprocessor: spec.shared.per_multiprocessor.0,
        shared_reserved_per_block: Some(spec.shared.reserved_per_block.0),
        constant_memory: 65536,
        total_memory: device.memory.0,
        free_memory: device.memory.0,
        l2_size: device.l2.0,
        clock_khz: number(spec.clock.mhz.get() * 1000),
        memory_clock_khz: number(device.memory_clock_mhz.get() * 1000),
        memory_bus_bits: number(device.memory_bus_bits.get()),
        ecc: None,
        virtual_memory: Some(false),
        mapping_granularity: None,
        max_linear_texture: Some(1 << 27),
        ..DeviceFacts::default()
    }
}
