//! What the kernel of contention is given, and what it writes: 32-bit words.

/// Role of the SM whose loads are timed.
pub const TIMES: u32 = 2;
/// Role of the SMs that load one line over and over.
pub const LOADS: u32 = 1;
/// Words before the roles of the SMs: how many blocks load, and 1 once they need not go on.
pub const STATE: usize = 2;
/// Which of them says that they need not go on.
pub const OVER: usize = 1;
/// Words before the times: 1 where a load did not bring what is there, how many blocks loaded when the timing began, and 1 once it has ended.
pub const HEAD: usize = 3;
/// Which of them says that a load did not bring what is there.
pub const ASTRAY: usize = 0;
/// Which of them is how many blocks loaded.
pub const LOADING: usize = 1;
/// Which of them says that it has ended.
pub const ENDED: usize = 2;
/// Loads of each chain after which a warp looks whether it need go on.
pub const LOADS_A_LOOK: u32 = 8;
/// Loads, one after the other, before the first that is timed: they take some ten thousand cycles, in which each warp of the others has made
/// several loads.
pub const SETTLING: u32 = 40;
/// Looks at a word after which a thread no longer waits for the others: some hundred milliseconds. Several thousand timed loads
/// of some thousand cycles each take a few.
pub const PATIENCE: u32 = 1 << 17;
