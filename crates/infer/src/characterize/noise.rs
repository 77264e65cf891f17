//! What noise adds to a load that waits for several words.
//!
//! Each word is a request of its own, and the load takes as long as the slowest. So a spike that one load in a thousand meets is
//! met by one load of 32 words in thirty, and looks like a cost of the words. Loads of one word that are timed one by one show
//! the noise: by it the cost of a word is solved for, and the interval reaches from there to what was measured.

use crate::analysis::robust;

/// Steps of the search for the cost of a word.
const BISECTIONS: u32 = 40;
/// Cycles above the median, besides three deviations, from which on a load met a spike.
const SPIKE: f64 = 2.0;
/// Standard deviations by which the number of spikes that were seen may be too small: of a hundred lines one is three away.
const DEVIATIONS: f64 = 4.0;

/// Latencies of loads of one word.
pub(super) struct Noise {
    /// Cycles beyond the quickest, ascending.
    beyond: Vec<f64>,
    mean: f64,
    /// How many times larger the noise may be, as spikes are rare.
    factor: f64,
}

impl Noise {
    /// Of these latencies; none without any.
    pub fn of(latencies: &[f64]) -> Option<Self> {
        let mut sorted = latencies.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (least, median) = (*sorted.first()?, robust::median(&sorted)?);
        let spike = median + 3.0 * robust::median_absolute_deviation(&sorted)? + SPIKE;
        let spikes = sorted.iter().filter(|&&latency| latency > spike).count().max(1);
        let beyond: Vec<f64> = sorted.iter().map(|latency| latency - least).collect();
        let mean = robust::mean(&beyond);
        Some(Noise { beyond, mean, factor: 1.0 + DEVIATIONS / (spikes as f64).sqrt() })
    }

    /// Mean cycles by which a load of so many words, each costing `each` more than the one before, takes longer than a load of
    /// one.
    fn longer(&self, words: u32, each: f64) -> f64 {
        let last = f64::from(words - 1) * each + self.beyond.last().copied().unwrap_or(0.0);
        // The chance that any word comes later than a cycle, over all cycles, from the middle of each.
        let later = |cycle: u64| {
            let until = cycle as f64 + 0.5;
            let by_then = |word: u32| {
                let left = until - f64::from(word) * each;
                self.beyond.partition_point(|&beyond| beyond <= left) as f64 / self.beyond.len() as f64
            };
            1.0 - (0..words).map(by_then).product::<f64>()
        };
        (0..=last.ceil() as u64).map(later).sum::<f64>() - self.mean
    }

    /// Cycles a word that noise may have added, if a load of so many words takes `longer` than one of one.
    pub fn share(&self, words: u32, longer: f64) -> f64 {
        let measured = longer / f64::from(words - 1);
        let (mut low, mut high) = (0.0, measured.max(0.0));
        for _ in 0..BISECTIONS {
            let each = f64::midpoint(low, high);
            if self.longer(words, each) > longer { high = each } else { low = each }
        }
        ((measured - low) * self.factor).clamp(0.0, measured.max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_spikes_add_is_found() {
        // A spike of 500 cycles in one load of a hundred: 32 words of 7 cycles.
        let loads: Vec<f64> = (0..2000).map(|i| if i % 100 == 0 { 540.0 } else { 40.0 }).collect();
        let noise = Noise::of(&loads).unwrap();
        let longer = noise.longer(32, 7.0);
        assert!(longer > 31.0 * 8.0, "{longer}");
        // What is likely, without the factor for what may have been missed.
        let left = longer / 31.0 - noise.share(32, longer) / noise.factor;
        assert!((6.95..7.05).contains(&left), "{left} cycles are left of {}", longer / 31.0);
    }

    #[test]
    fn steady_loads_add_nothing() {
        let noise = Noise::of(&[40.0; 500]).unwrap();
        assert!(noise.share(32, 31.0 * 7.0) < 0.05);
    }
}
