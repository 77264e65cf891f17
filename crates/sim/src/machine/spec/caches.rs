//! The tables of a machine file for caches and address translation.

use serde::Deserialize;

use super::Sources;
use crate::machine::value::{Busy, Delay, Extra, Rate, Size, Whole};

/// Whose a cache is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Every SM has its own.
    Sm,
    /// The device has one.
    Device,
}

/// Which line of a full set gives way.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Replacement {
    /// The one used longest ago.
    Lru,
    /// The one that came first.
    Fifo,
    /// By a tree of bits that point away from what was used last; ways must be a power of two.
    Plru,
    /// Any, with equal chances.
    Random,
    /// Any that was never hit; where all were, the newcomer is not kept. So no scan displaces what was hit once.
    Unhit,
    /// By way, with these odds (Fermi's L1: Mei et al., section 4.2); one number a way.
    Weighted(Vec<u32>),
}

/// Which set a line belongs to.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Index {
    /// The line's number, modulo the sets.
    Modulo,
    /// These bits of the address, the lowest first; there are two to the power of their number of sets (of a partition, where
    /// there are any). None is within a line.
    Bits(Vec<Whole<0, 63>>),
    /// Each bit of the set is the parity of the address under one of these masks.
    Parity(Vec<u64>),
    /// Lines in turn to the sets that still have room, as many in a round as all sets hold; then from the start. Where sets
    /// are equal this is `modulo`.
    Dealt,
    /// A mixing hash of the line's number, modulo the sets; the number is its seed.
    Hash(u64),
}

/// What a store does to a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Write {
    /// Goes through to the next level; the line stays if it is there.
    #[default]
    Through,
    /// Brings the line in.
    Allocate,
    /// Throws the line out.
    Evict,
}

/// A cache hint that a cache obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hint {
    /// Lines of accesses with this hint give way before all others of their set.
    EvictFirst,
    /// They give way after all others.
    EvictLast,
    /// They are not brought in; only of an SM's cache.
    NoAllocate,
    /// `discard.L2`: the line is given up at once, and what was stored to it goes nowhere; only of a device's cache.
    Discard,
}

/// A prefetch size that a cache obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[repr(u16)]
pub enum Prefetch {
    /// `.L2::64B`.
    #[serde(rename = "64 B")]
    B64 = 64,
    /// `.L2::128B`.
    #[serde(rename = "128 B")]
    B128 = 128,
    /// `.L2::256B`.
    #[serde(rename = "256 B")]
    B256 = 256,
}

/// Which threads of a block use which instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threads {
    /// Warp w uses instance w modulo the instances.
    #[default]
    Interleaved,
    /// The first warps of the block use the first instance, the next ones the second, in equal parts.
    Contiguous,
}

/// A cache.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Whose it is.
    pub scope: Scope,
    /// How many of it an SM has.
    #[serde(default = "one")]
    pub instances: Whole<1, 16>,
    /// Which threads use which.
    #[serde(default)]
    pub threads: Threads,
    /// Size of one instance (of all partitions together).
    pub size: Size,
    /// Line: the unit of allocation.
    pub line: Whole<4, 65536>,
    /// Sector: the unit of fetching; the line if absent.
    pub sector: Option<Whole<4, 65536>>,
    /// Sets (of all partitions together). Either this, or `set_ways`.
    pub sets: Option<Whole<1, 16_777_216>>,
    /// Ways of every set.
    pub ways: Option<Whole<1, 65536>>,
    /// Ways of each set, where they differ.
    pub set_ways: Option<Vec<Whole<1, 65536>>>,
    /// Index function.
    pub index: Index,
    /// Replacement.
    pub replacement: Replacement,
    /// What a store does; only of an SM's cache, since those of the device always bring the line in. `through` if absent.
    pub write: Option<Write>,
    /// What is stored stays in this cache until its line gives way, and then goes to memory; only of a device's cache. If absent, stores
    /// that miss go to memory at once.
    #[serde(default)]
    pub write_back: bool,
    /// Cache hints that it obeys; it treats all other accesses as those without a hint.
    #[serde(default)]
    pub hints: Vec<Hint>,
    /// Sizes of `.L2::64B` to `.L2::256B` that it obeys: a miss brings in the aligned block of so many bytes. Only of a device's cache.
    #[serde(default)]
    pub prefetch: Vec<Prefetch>,
    /// Cycles for which an access occupies it (a slice of it, where it has slices).
    #[serde(default)]
    pub port: Busy,
    /// Slices, each with a port of its own.
    #[serde(default = "one_slice")]
    pub slices: Whole<1, 256>,
    /// Each bit of the slice of a line is the parity of its address under one of these masks. If absent, a mixing hash of the line's
    /// number chooses the slice.
    pub slice_parity: Option<Vec<u64>>,
    /// Bytes a cycle that one instance gives to the loads of an SM, or all partitions and slices of a device's cache together to
    /// loads; any number if absent.
    pub bandwidth: Option<Rate>,
    /// Bytes a cycle that a device's cache takes from stores, all partitions together. If absent, stores take their part of
    /// `bandwidth`.
    pub write_bandwidth: Option<Rate>,
    /// One memory with shared memory: what it has when that takes so much. In ascending order of `shared`, the first with the
    /// cache's own sets and ways, none larger than the one before.
    #[serde(default)]
    pub configuration: Vec<Configuration>,
    /// Partitions of a device's cache: SMs belong to one, lines to another or the same. One cache may have them.
    pub partitions: Option<Partitions>,
    /// Sources.
    #[serde(default)]
    pub sources: Sources,
}

fn one() -> Whole<1, 16> {
    Whole::new(1).expect("in range")
}

fn one_slice() -> Whole<1, 256> {
    Whole::new(1).expect("in range")
}

/// One way to divide a memory between a cache and shared memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// Shared memory of the SM.
    pub shared: Size,
    /// Sets of the cache.
    pub sets: Whole<1, 16_777_216>,
    /// Its ways.
    pub ways: Whole<1, 65536>,
    /// Its index function, if not that of the cache.
    pub index: Option<Index>,
    /// Its replacement, if not that of the cache.
    pub replacement: Option<Replacement>,
}

/// An L2 in partitions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partitions {
    /// How many.
    pub count: Whole<2, 8>,
    /// Partition of each SM in turn, as digits; repeated if it is shorter than the number of SMs.
    pub sms: String,
    /// Lines go to the partitions in pieces of this size, by a mixing hash of the piece's number. Either this, or `parity`.
    pub granule: Option<Size>,
    /// Each bit of a line's partition is the parity of its address under one of these masks.
    pub parity: Option<Vec<u64>>,
    /// A partition keeps copies of the lines of others that its SMs load.
    pub copies: bool,
    /// What a hit in another partition takes more than one in its own.
    pub far_hit: Extra,
    /// What memory behind another partition takes more than that behind its own.
    pub far_memory: Extra,
    /// Bytes a cycle that go from one partition to another; any number, if it is not stated.
    pub crossing: Option<Rate>,
}

/// A level of address translation.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tlb {
    /// Name.
    pub name: String,
    /// Whose it is.
    pub scope: Scope,
    /// Where the device has several, the one that each SM uses: a digit or a small letter for each SM.
    pub sms: Option<String>,
    /// What one entry maps.
    pub page: Size,
    /// Sets. Either this, or `set_ways`.
    pub sets: Option<Whole<1, 65536>>,
    /// Ways of every set.
    pub ways: Option<Whole<1, 65536>>,
    /// Ways of each set, where they differ.
    pub set_ways: Option<Vec<Whole<1, 65536>>>,
    /// Replacement.
    pub replacement: Replacement,
    /// Cycles that a miss adds.
    pub penalty: Delay,
    /// Cycles that a miss adds besides where the load's line is not in the caches of the device: its page's entry in the table
    /// is not either, then (Mei et al., table 3: pattern 5 takes longer than patterns 3 and 4 explain).
    #[serde(default)]
    pub uncached: Extra,
    /// Sources.
    #[serde(default)]
    pub sources: Sources,
}

/// Which SMs share an instruction cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharers {
    /// Every SM has its own.
    Sm,
    /// Two SMs in a row share one.
    Tpc,
    /// The SMs of a GPC share one; `gpcs` of the device says which they are.
    Gpc,
    /// The device has one.
    Device,
}

/// An instruction cache. It is modelled for kernels that do not fit into the first of them; others are taken to be in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstructionCache {
    /// Name.
    pub name: String,
    /// Whose it is.
    pub shared_by: Sharers,
    /// Size, a multiple of a line times the ways.
    pub size: Size,
    /// Line.
    pub line: Whole<16, 65536>,
    /// Ways of every set; the set of a line is its number, modulo the sets.
    pub ways: Whole<1, 65536>,
    /// Replacement.
    pub replacement: Replacement,
    /// Cycles that a miss adds.
    pub penalty: Delay,
    /// Sources.
    #[serde(default)]
    pub sources: Sources,
}
