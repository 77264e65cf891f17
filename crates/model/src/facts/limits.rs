//! What no device has: bounds of the counts that are read from files.

use super::{DeviceFacts, PeerFacts};

/// Most of each count: dozens of times what devices have, and so few that memory and time for each of them can be had.
const MOST_MULTIPROCESSORS: u64 = 4096;
/// As above; of threads and blocks of a multiprocessor, and of cores.
const MOST_THREADS: u64 = 1 << 16;
/// As above; of registers.
const MOST_REGISTERS: u64 = 1 << 24;
/// As above; bytes of a memory of the SM, and of constants, for which AMD's driver says two GiB.
const MOST_ON_CHIP: u64 = 1 << 32;
/// As above; bytes of a memory of the device.
const MOST_MEMORY: u64 = 1 << 50;
/// As above; kilohertz of a clock.
const MOST_CLOCK: u64 = 1 << 30;
/// As above; bits of the memory bus.
const MOST_BITS: u64 = 1 << 20;

impl DeviceFacts {
    /// What is larger than on any device, so that it cannot be planned for. Facts of a driver have no such defect; those of a file
    /// may come from anyone.
    pub fn defect(&self) -> Option<String> {
        let or_none = |count: Option<u32>| u64::from(count.unwrap_or(0));
        let of_peer = |bytes: fn(&PeerFacts) -> u64| self.peer.as_ref().map_or(0, bytes);
        let counts = [
            ("multiprocessors", self.multiprocessors.into(), MOST_MULTIPROCESSORS),
            ("cores per multiprocessor", or_none(self.cores_per_multiprocessor), MOST_THREADS),
            ("threads per warp", self.warp_size.into(), MOST_THREADS),
            ("threads per block", self.max_threads_per_block.into(), MOST_THREADS),
            ("threads per multiprocessor", self.max_threads_per_multiprocessor.into(), MOST_THREADS),
            ("blocks per multiprocessor", or_none(self.max_blocks_per_multiprocessor), MOST_THREADS),
            ("registers per block", self.registers_per_block.into(), MOST_REGISTERS),
            ("registers per multiprocessor", self.registers_per_multiprocessor.into(), MOST_REGISTERS),
            ("bytes of shared memory per block", self.most_shared_per_block().0, MOST_ON_CHIP),
            ("bytes of shared memory per multiprocessor", self.shared_per_multiprocessor, MOST_ON_CHIP),
            ("bytes of reserved shared memory", self.shared_reserved_per_block.unwrap_or(0), MOST_ON_CHIP),
            ("bytes of constant memory", self.constant_memory, MOST_ON_CHIP),
            ("bytes of memory", self.total_memory, MOST_MEMORY),
            ("bytes of free memory", self.free_memory, MOST_MEMORY),
            ("bytes of L2", self.l2_size, MOST_MEMORY),
            ("bytes of the other GPU's free memory", of_peer(|peer| peer.free_memory), MOST_MEMORY),
            ("bytes of the other GPU's L2", of_peer(|peer| peer.l2_size), MOST_MEMORY),
            ("kHz of the SM clock", self.clock_khz.into(), MOST_CLOCK),
            ("kHz of the memory clock", self.memory_clock_khz.into(), MOST_CLOCK),
            ("bits of the memory bus", self.memory_bus_bits.into(), MOST_BITS),
        ];
        let (what, count, most) = counts.into_iter().find(|&(_, count, most)| count > most)?;
        Some(format!("it says that the device has {count} {what}, and no device has more than {most}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_bounded() {
        assert_eq!(DeviceFacts::default().defect(), None);
        let many = DeviceFacts { multiprocessors: u32::MAX, ..DeviceFacts::default() };
        assert!(many.defect().unwrap().contains("4294967295 multiprocessors"));
        let large = DeviceFacts { total_memory: u64::MAX, ..DeviceFacts::default() };
        assert!(large.defect().unwrap().contains("bytes of memory"));
    }
}
