//! What the kernel that walks through code is given, and what it writes: 32-bit words.

/// In place of an SM: each that is not the partner, or no partner.
pub const ANYBODY: u32 = u32::MAX;
/// Words before the times of a walker: 1 where it has ended.
pub const HEAD: usize = 1;
/// Words before the claims of the SMs: how many have made their first laps, and whether the partner has made its own.
pub const STATE: usize = 2;

/// Looks at a word after which a thread no longer waits for the others: some ten milliseconds.
pub const PATIENCE: u32 = 1 << 16;

/// Which of them says that the partner has.
pub const PARTNER_DONE: usize = 1;

/// Words of a walker that times so many laps.
pub const fn words(laps: u32) -> usize {
    HEAD + laps as usize
}
