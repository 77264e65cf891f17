//! What unusual shapes are called.

use super::shape::Policy;

/// Names of what may be unusual about a cache or TLB.
pub struct Names {
    policies: [&'static str; 5],
    /// Its index is a hash.
    pub hash: &'static str,
    /// Its index takes bits of the address.
    pub bits: &'static str,
    /// Its index takes parities of bits of the address.
    pub parity: &'static str,
    /// Its sets have different ways.
    pub unequal: &'static str,
    /// Its sets are no power of two.
    pub other_sets: &'static str,
    /// It is fully associative.
    pub one_set: &'static str,
    /// Its sets have one way.
    pub direct: &'static str,
    /// Its lines are short.
    pub short: &'static str,
    /// Its lines are long.
    pub long: &'static str,
    /// Its sectors are shorter than the 32 B of a request.
    pub tiny_sectors: &'static str,
    /// Its lines have more than four sectors.
    pub many_sectors: &'static str,
    /// Lines are short up to this length.
    pub short_line: u64,
    /// Lines are long from this length on.
    pub long_line: u64,
}

macro_rules! names {
    ($who:literal, $short:literal, $long:literal) => {
        Names {
            policies: [
                concat!("fifo ", $who),
                concat!("plru ", $who),
                concat!("random ", $who),
                concat!("unhit ", $who),
                concat!("weighted ", $who),
            ],
            hash: concat!("hashed ", $who),
            bits: concat!($who, " indexed by bits"),
            parity: concat!($who, " indexed by parity"),
            unequal: concat!($who, " with unequal sets"),
            other_sets: concat!($who, " with sets no power of two"),
            one_set: concat!($who, " of one set"),
            direct: concat!("direct-mapped ", $who),
            short: concat!("short lines in ", $who),
            long: concat!("long lines in ", $who),
            tiny_sectors: concat!("tiny sectors in ", $who),
            many_sectors: concat!("many sectors a line in ", $who),
            short_line: $short,
            long_line: $long,
        }
    };
}

/// Of the L1: lines are usually 128 B.
pub const L1: Names = names!("l1", 64, 256);
/// Of the L2: lines are usually 128 B.
pub const L2: Names = names!("l2", 64, 256);
/// Of the constant caches: lines are usually 64 B in the first and 256 B in the second.
pub const CONSTANT: Names = names!("constants", 32, 512);
/// Of TLBs, of which only sets and replacement are drawn.
pub const TLB: Names = names!("tlb", 0, 65536);

impl Names {
    /// What a policy is called, if it is unusual.
    pub fn policy(&self, policy: Policy) -> Option<&'static str> {
        Policy::UNUSUAL.iter().position(|&one| one == policy).map(|i| self.policies[i])
    }

    /// All names of a cache.
    #[cfg(test)]
    pub fn of_cache(&self) -> Vec<&'static str> {
        let others = [self.hash, self.bits, self.parity, self.one_set, self.direct];
        let lines = [self.short, self.long, self.tiny_sectors, self.many_sectors];
        [self.of_tlb(), others.to_vec(), lines.to_vec()].concat()
    }

    /// All names of a TLB.
    #[cfg(test)]
    pub fn of_tlb(&self) -> Vec<&'static str> {
        [&self.policies[..], &[self.unequal, self.other_sets]].concat()
    }
}
