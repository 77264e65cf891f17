//! What a kernel of distributed shared memory writes for each block: 32-bit words.

/// Words before the times: the `%smid`, and how many bytes from its beginning the walk of a chain has ended.
pub const HEAD: usize = 2;

/// Words of a block that measures so many rounds, each of a short and a long time.
pub const fn words(rounds: u32) -> usize {
    HEAD + 2 * rounds as usize
}
