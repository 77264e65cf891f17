//! A histogram of latencies, the input of the clusterings: millions of loads have few distinct latencies.

/// Distinct values and their counts, with running sums, so that any range of bins is counted in constant time.
pub(super) struct Histogram {
    /// Distinct values, ascending.
    pub values: Vec<u32>,
    /// `upto[i]`: how many samples lie in the first `i` bins; one entry more than bins.
    upto: Vec<usize>,
    /// Sum of the samples in the first `i` bins; exact, since the values are whole and fewer than 2^32.
    sum_upto: Vec<u64>,
}

impl Histogram {
    /// Of samples in any order; O(n log n).
    pub fn of(samples: &[u32]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable();
        let (mut values, mut upto, mut sum_upto) = (Vec::new(), vec![0], vec![0]);
        let (mut count, mut sum) = (0, 0);
        for run in sorted.chunk_by(|a, b| a == b) {
            count += run.len();
            sum += run.len() as u64 * u64::from(run[0]);
            values.push(run[0]);
            upto.push(count);
            sum_upto.push(sum);
        }
        Histogram { values, upto, sum_upto }
    }

    /// Samples in all.
    pub fn total(&self) -> usize {
        self.count(0, self.values.len())
    }

    /// Samples in the bins `from..to`.
    pub fn count(&self, from: usize, to: usize) -> usize {
        self.upto[to] - self.upto[from]
    }

    /// Sum of the samples in the bins `from..to`.
    pub fn sum(&self, from: usize, to: usize) -> f64 {
        (self.sum_upto[to] - self.sum_upto[from]) as f64
    }

    /// Mean of the samples in the bins `from..to`, which must not be empty.
    pub fn mean(&self, from: usize, to: usize) -> f64 {
        self.sum(from, to) / self.count(from, to) as f64
    }

    /// The `q`-quantile of the samples in the bins `from..to`, which must not be empty: the value at that rank, rounded down.
    pub fn quantile(&self, from: usize, to: usize, q: f64) -> u32 {
        let rank = self.upto[from] + ((self.count(from, to) - 1) as f64 * q) as usize;
        self.value_at(rank)
    }

    /// The median of the samples in the bins `from..to`, which must not be empty: the mean of the middle two.
    pub fn median(&self, from: usize, to: usize) -> f64 {
        let (start, count) = (self.upto[from], self.count(from, to));
        let (lower, upper) = (self.value_at(start + (count - 1) / 2), self.value_at(start + count / 2));
        (f64::from(lower) + f64::from(upper)) / 2.0
    }

    fn value_at(&self, rank: usize) -> u32 {
        self.values[self.upto.partition_point(|&u| u <= rank) - 1]
    }
}

/// A valley this much emptier than a group beside it is one: noise and tails fill it less.
const VALLEY: f64 = 0.1;
/// Logarithm of how unlikely a gap must be by chance: e^-20 is two in a thousand million. A broad level has hundreds of gaps
/// and each of thousands of samples is judged, so that one in a million would show up.
const UNLIKELY: f64 = 20.0;

/// Whether a group of `count` samples that extends over `extent` cycles ends at a gap of `cycles` with `strangers` samples in
/// it, rather than being sampled too thinly to show that it goes on.
///
/// Were it to go on over the gap, each sample would miss the gap with probability extent / (extent + gap). One sample is
/// taken off, since the extent is that of the samples themselves: a single sample says nothing. Strangers are charged by
/// Chernoff's bound on so few of a Poisson number.
pub(super) fn ends_at_gap(count: usize, extent: f64, cycles: f64, strangers: usize) -> bool {
    let expected = (count as f64 - 1.0) * (cycles / extent).ln_1p();
    let seen = strangers as f64;
    let evidence = if strangers == 0 { expected } else { expected - seen + seen * (seen / expected).ln() };
    seen < VALLEY * count as f64 / extent * cycles && evidence >= UNLIKELY
}

#[cfg(test)]
mod tests {
    use super::super::robust;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_range_of_bins_is_that_of_its_samples(
            samples in prop::collection::vec(0u32..20, 1..80), from in 0usize..20, more in 1usize..20,
        ) {
            let h = Histogram::of(&samples);
            let from = from.min(h.values.len() - 1);
            let to = (from + more).min(h.values.len());
            let inside: Vec<u32> = samples.iter().copied().filter(|s| h.values[from..to].contains(s)).collect();
            prop_assert_eq!(h.total(), samples.len());
            prop_assert_eq!(h.count(from, to), inside.len());
            prop_assert_eq!(h.sum(from, to), inside.iter().sum::<u32>() as f64);
            prop_assert_eq!(Some(h.median(from, to)), robust::median_u32(&inside));
            let mut sorted = inside.clone();
            sorted.sort_unstable();
            prop_assert_eq!(h.quantile(from, to, 0.9), sorted[((sorted.len() - 1) as f64 * 0.9) as usize]);
        }
    }

    #[test]
    fn a_gap_needs_samples_to_be_missing() {
        assert!(ends_at_gap(500, 2.0, 1.0, 0));
        assert!(!ends_at_gap(40, 2.0, 1.0, 0), "chance leaves it out once in ten million");
        assert!(ends_at_gap(60, 2.0, 1.0, 0) && !ends_at_gap(60, 2.0, 1.0, 2), "strangers are charged");
        assert!(!ends_at_gap(500, 2.0, 1.0, 30), "not empty enough");
        assert!(!ends_at_gap(1, 1.0, 1e9, 0), "one sample has no extent");
    }
}
