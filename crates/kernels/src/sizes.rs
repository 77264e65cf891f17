//! Sizes that kernels and the bench agree on.

/// Bytes of local memory a thread's chain may take. The driver sets local memory aside for every thread the device can
/// hold (270,336 on an H200), so this is kept small: 1 KiB costs 264 MiB there.
pub const LOCAL_BYTES: u64 = 1024;
/// Bytes of the constant bank that the chain may take: all that a module can declare.
pub const CONSTANT_BYTES: u64 = 65536;
/// Name of the constant bank's symbol.
pub const CONSTANT_SYMBOL: &str = "constant_chain";
/// Loads in the body of the whole-lap loop, as a power of two.
pub const UNROLL_SHIFT: u32 = 3;
/// Alignment of a warp's elements in shared memory, in bytes: 32 banks of 8 bytes, the longest row of banks known (CUDA C
/// Programming Guide, compute capability 3.x). So an element's bank follows from its offset.
pub const BANK_ROW: u64 = 256;
