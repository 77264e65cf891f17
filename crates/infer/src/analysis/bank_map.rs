//! Which words of shared memory are in the same bank, and the cost of an access that follows from it.

/// Lanes of a warp.
const LANES: usize = 32;
/// Bytes of a word.
const WORD: u64 = 4;

/// How words lie in banks. A row is what all banks give at once; rows follow one another, and all are laid out alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankMap {
    /// Words of a row; a power of two.
    pub row: u64,
    /// Words of a row that are in the bank of its first word, ascending from 0; closed under exclusive or.
    pub columns: Vec<u64>,
}

impl BankMap {
    /// Banks.
    pub fn banks(&self) -> u64 {
        self.row / self.columns.len().max(1) as u64
    }

    /// Bytes that a bank gives at once.
    pub fn width(&self) -> u64 {
        WORD * self.columns.len() as u64
    }

    /// Bytes of the pieces that go to the banks in turn: the run of neighbouring words at the start of a row that are in one
    /// bank.
    pub fn piece(&self) -> u64 {
        WORD * self.columns.iter().enumerate().take_while(|(i, column)| **column == *i as u64).count() as u64
    }

    /// The bank of a word, named by the least of its words in a row.
    fn bank(&self, word: u64) -> u64 {
        let place = word % self.row.max(1);
        self.columns.iter().map(|column| place ^ column).min().unwrap_or(place)
    }

    /// How many rows banks must give in turn for an access of one word a lane. As many lanes are served together as there
    /// are words in a row (16 banks serve half a warp), unless all rows are had at once.
    pub fn passes(&self, words: &[u64]) -> u32 {
        let whole = self.degree(words);
        let together = self.row.clamp(1, LANES as u64) as usize;
        if together >= words.len() || whole == 1 {
            return whole;
        }
        words.chunks(together).map(|part| self.degree(part)).sum()
    }

    fn degree(&self, words: &[u64]) -> u32 {
        let mut wanted: Vec<(u64, u64)> = words.iter().map(|&word| (self.bank(word), word / self.row.max(1))).collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted.chunk_by(|a, b| a.0 == b.0).map(|rows| rows.len() as u32).max().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(map: &BankMap, stride: u64) -> u32 {
        map.passes(&(0..32).map(|lane| lane * stride).collect::<Vec<_>>())
    }

    #[test]
    fn plain_banks() {
        let map = BankMap { row: 32, columns: vec![0] };
        assert_eq!((map.banks(), map.width(), map.piece()), (32, 4, 4));
        for (stride, passes) in [(0, 1), (1, 1), (2, 2), (3, 1), (12, 4), (32, 32), (33, 1), (64, 32)] {
            assert_eq!(strided(&map, stride), passes, "stride {stride}");
        }
    }

    #[test]
    fn keplers_banks_in_both_modes() {
        // Mei et al., section 4.1: strides 2, 4 and 6.
        let four = BankMap { row: 64, columns: vec![0, 32] };
        assert_eq!((four.banks(), four.width(), four.piece()), (32, 8, 4));
        assert_eq!([2, 4, 6].map(|stride| strided(&four, stride)), [1, 2, 2]);
        let eight = BankMap { row: 64, columns: vec![0, 1] };
        assert_eq!((eight.banks(), eight.width(), eight.piece()), (32, 8, 8));
        assert_eq!([2, 4, 6].map(|stride| strided(&eight, stride)), [1, 2, 1]);
    }

    #[test]
    fn sixteen_banks_serve_half_a_warp() {
        let map = BankMap { row: 16, columns: vec![0] };
        assert_eq!([0, 1, 2, 16].map(|stride| strided(&map, stride)), [1, 2, 4, 32]);
    }
}
