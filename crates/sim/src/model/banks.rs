//! Banks of shared memory: how many rows the banks must serve one after the other for one access of a warp.
//!
//! A bank gives one row of its memory at once, to all lanes that want something of it. Words go to the banks in turn. On
//! compute capability 3.x a bank is 8 bytes wide, and words of 4 or of 8 bytes go to the banks in turn, as the program chooses:
//! with words of 4 bytes the words i and i + 32 of an aligned segment of 64 are one row of one bank (CUDA C Programming Guide,
//! compute capability 3.x; Mei et al., section 4.1, figures 6 and 7).

/// The banks of a machine, as a function sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Banks {
    /// How many; a power of two.
    pub count: u64,
    /// Bytes that one gives at once.
    pub width: u64,
    /// Bytes of a word; words go to the banks in turn. At most the width.
    pub word: u64,
}

/// Lanes of a warp.
const LANES: usize = 32;
/// Most words of one access: 16 bytes a lane, in words of 4.
const MOST_WORDS: usize = 4 * LANES;
/// Most banks of a machine.
const MOST_BANKS: usize = 128;

impl Banks {
    /// Bytes that all banks give at once.
    pub fn row(self) -> u64 {
        self.count * self.width
    }

    /// How many times in turn banks must give a row for one access; at least 1. `addresses` are what the lanes access, in
    /// their order, `bytes` each.
    ///
    /// As many lanes are served together as all banks could serve without a conflict: the warp where banks give what it
    /// asks for, its halves for accesses of 8 bytes to 32 banks of 4, its quarters for those of 16 (CUDA C Programming Guide,
    /// compute capability 2.x, on accesses of 64 and 128 bits: conflicts are counted in each half or quarter). Parts do not
    /// conflict with one another. Assumed: an access whose rows are all had at once, as when all lanes want one word, is not
    /// divided. (For 16 bytes the guide adds one more for compute capability 2.x, which is not modelled.)
    pub fn passes(self, addresses: &[u64], bytes: u64) -> u32 {
        if self.is_one_row(addresses, bytes) {
            return 1;
        }
        let together = (self.row() / bytes.max(1)).clamp(1, LANES as u64) as usize;
        addresses.chunks(together).map(|part| self.degree(part, bytes)).sum()
    }

    /// Whether no bank must give two rows to these lanes.
    fn is_one_row(self, addresses: &[u64], bytes: u64) -> bool {
        let mut rows = [u64::MAX; MOST_BANKS];
        let parts = bytes.div_ceil(self.word).max(1);
        let words = addresses.iter().flat_map(|address| (0..parts).map(move |part| address + part * self.word));
        for at in words {
            let Some(row) = rows.get_mut((at / self.word % self.count) as usize) else { return false };
            if *row != u64::MAX && *row != at / self.row() {
                return false;
            }
            *row = at / self.row();
        }
        true
    }

    /// Largest number of different rows that one bank must give to these lanes, at least 1.
    fn degree(self, addresses: &[u64], bytes: u64) -> u32 {
        if self.is_one_row(addresses, bytes) {
            return 1;
        }
        let parts = bytes.div_ceil(self.word).max(1);
        let mut wanted = [(0, 0); MOST_WORDS];
        let mut count = 0;
        for &address in addresses {
            for part in 0..parts {
                let at = address + part * self.word;
                // Beyond what a warp can ask for there is nothing.
                if let Some(place) = wanted.get_mut(count) {
                    *place = (at / self.word % self.count, at / self.row());
                    count += 1;
                }
            }
        }
        let wanted = &mut wanted[..count];
        wanted.sort_unstable();
        let (mut most, mut here) = (1, 0);
        for i in 0..wanted.len() {
            let same_bank = i > 0 && wanted[i].0 == wanted[i - 1].0;
            if !same_bank {
                here = 1;
            } else if wanted[i].1 != wanted[i - 1].1 {
                here += 1;
            }
            most = most.max(here);
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FERMI: Banks = Banks { count: 32, width: 4, word: 4 };
    /// Kepler's two modes.
    const KEPLER_4: Banks = Banks { count: 32, width: 8, word: 4 };
    const KEPLER_8: Banks = Banks { count: 32, width: 8, word: 8 };

    fn by_stride(banks: Banks, stride: u64, bytes: u64) -> u64 {
        let addresses: Vec<u64> = (0..32).map(|lane| lane * stride * bytes).collect();
        u64::from(banks.passes(&addresses, bytes))
    }

    fn gcd(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }

    #[test]
    fn conflicts_follow_the_greatest_common_divisor() {
        for stride in 1..=64 {
            assert_eq!(by_stride(FERMI, stride, 4), gcd(stride, 32), "stride {stride}");
        }
        assert_eq!(by_stride(FERMI, 0, 4), 1, "one word is broadcast");
    }

    #[test]
    fn wide_banks_give_two_words_at_once() {
        // Kepler's 8-byte mode: 4-byte words at stride 2 do not conflict (Mei et al., figure 7).
        assert_eq!(by_stride(KEPLER_8, 2, 4), 1);
        assert_eq!(by_stride(KEPLER_8, 4, 4), 2);
        for stride in (2..=64).step_by(2) {
            assert_eq!(by_stride(KEPLER_8, stride, 4), gcd(stride / 2, 32), "stride {stride}");
        }
    }

    #[test]
    fn wide_accesses_take_several_banks() {
        let addresses: Vec<u64> = (0..32).map(|lane| lane * 8).collect();
        assert_eq!(FERMI.passes(&addresses, 8), 2);
    }

    #[test]
    fn the_two_modes_differ_as_figures_6_and_7_say() {
        // Mei et al., section 4.1: at stride 2 no conflict in either mode, two at 4 in both, at 6 two by 4-byte words and none
        // by 8-byte words; 8-byte words are the better choice for other even strides that are no powers of two.
        let both = |stride| (by_stride(KEPLER_4, stride, 4), by_stride(KEPLER_8, stride, 4));
        assert_eq!([2, 4, 6].map(both), [(1, 1), (2, 2), (2, 1)]);
        for stride in (2u64..=64).step_by(2) {
            let (four, eight) = both(stride);
            if stride.is_power_of_two() {
                assert_eq!((four, eight), (stride / 2, stride / 2), "stride {stride}");
            } else {
                assert!(eight <= four, "stride {stride}");
            }
        }
        // Word i and word i + 32 of an aligned segment are one row; of two segments they are not.
        assert_eq!(KEPLER_4.passes(&[0, 128], 4), 1);
        assert_eq!(KEPLER_4.passes(&[128, 256], 4), 2);
    }

    #[test]
    fn halves_and_quarters_do_not_conflict_with_one_another() {
        for stride in 1..=64 {
            assert_eq!(by_stride(FERMI, stride, 8), 2 * gcd(stride, 16), "8 B, stride {stride}");
            assert_eq!(by_stride(FERMI, stride, 16), 4 * gcd(stride, 8), "16 B, stride {stride}");
        }
        assert_eq!((by_stride(FERMI, 0, 8), by_stride(FERMI, 0, 16)), (1, 1), "one element is broadcast");
        // Two rows of banks 0 to 15 in one half, two of banks 16 to 31 in the other: four, and not the two of a whole warp.
        let halves: Vec<u64> = (0..32u64).map(|lane| lane / 16 * 64 + lane % 8 * 8 + lane / 8 % 2 * 128).collect();
        assert_eq!(FERMI.passes(&halves, 8), 4);
    }
}
