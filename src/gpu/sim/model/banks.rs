//! Banks of shared memory: how many words one bank must give for one access of a warp.

/// Largest number of different words that one bank must give, at least 1. `words` are the byte addresses that the lanes
/// access; lanes that want the same word share it.
pub fn degree(addresses: &[u64], bytes: u64, banks: u64, width: u64) -> u32 {
    let mut words: Vec<u64> = addresses
        .iter()
        // An access wider than a bank takes several.
        .flat_map(|&address| (0..bytes.div_ceil(width).max(1)).map(move |part| address / width + part))
        .collect();
    words.sort_unstable();
    words.dedup();
    let mut load = vec![0u32; banks as usize];
    for word in words {
        load[(word % banks) as usize] += 1;
    }
    load.into_iter().max().unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_stride(stride: u64, banks: u64, width: u64) -> u32 {
        let addresses: Vec<u64> = (0..32).map(|lane| lane * stride * 4).collect();
        degree(&addresses, 4, banks, width)
    }

    #[test]
    fn conflicts_follow_the_greatest_common_divisor() {
        let gcd = |mut a: u64, mut b: u64| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        for stride in 1..=64 {
            assert_eq!(u64::from(by_stride(stride, 32, 4)), gcd(stride, 32), "stride {stride}");
        }
        assert_eq!(by_stride(0, 32, 4), 1, "one word is broadcast");
    }

    #[test]
    fn wide_banks_give_two_words_at_once() {
        // Kepler's 8-byte mode: 4-byte words at stride 2 do not conflict (Mei et al., figure 7).
        assert_eq!(by_stride(2, 32, 8), 1);
        assert_eq!(by_stride(4, 32, 8), 2);
    }

    #[test]
    fn wide_accesses_take_several_banks() {
        let addresses: Vec<u64> = (0..32).map(|lane| lane * 8).collect();
        assert_eq!(degree(&addresses, 8, 32, 4), 2);
    }
}
