//! The modelled memory of a machine: caches, address translation, banks, textures, memory, clock and noise. Mechanism only; no
//! module here knows what an experiment asks.

pub(crate) mod atomics;
pub mod banks;
pub mod cache;
pub mod clock;
pub mod hierarchy;
pub mod instructions;
pub(crate) mod link;
pub mod memory;
mod noise;
mod parts;
mod policy;
pub(crate) mod ports;
mod private;
pub mod texture;

/// The parities of an address under masks, as a number: the first mask gives its lowest bit.
pub(super) fn parities(masks: &[u64], address: u64) -> u64 {
    masks.iter().rev().fold(0, |number, mask| number << 1 | u64::from((address & mask).count_ones() & 1))
}

/// Mixes the bits of a number (the finalizer of SplitMix64: Steele, Lea and Flood, 2014).
pub(super) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
