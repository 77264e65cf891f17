//! What the kernel that walks over pages is given, and what it writes: 32-bit words.

/// Bit of an SM's role: it walks the first window and times its laps.
pub const WALKS: u32 = 1;
/// Bit of an SM's role: it walks the second window.
pub const DISPLACES: u32 = 2;
/// Words before the roles of the SMs: how many walkers have timed a lap, and how many partners have walked.
pub const STATE: usize = 2;
/// Which of them says how many partners have.
pub const PARTNERS_DONE: usize = 1;
/// Words of an SM before its times: 1 where the last lap did not end where it began, and 1 where it has ended.
pub const HEAD: usize = 2;
/// Which of them says that the last lap went astray.
pub const ASTRAY: usize = 0;
/// Which of them says that it has ended.
pub const ENDED: usize = 1;
/// Looks at a word after which a thread no longer waits for the others: some hundred milliseconds, in which a thread makes hundreds of
/// thousands of visits.
pub const PATIENCE: u32 = 1 << 19;

/// Words of an SM that times two laps of so many parts.
pub const fn words(parts: u32) -> usize {
    HEAD + 2 * parts as usize
}
