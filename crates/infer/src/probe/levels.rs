//! Telling hits from misses without a fixed number of cycles: latencies of one level form a tight group.

use super::Unknown;
use crate::analysis::{cluster, ks, robust};

/// Hits and misses of one cache on one path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HitMiss {
    /// Raw latencies above this are misses.
    pub threshold: u32,
    /// Median raw latency of a hit.
    pub hit: f64,
    /// Median raw latency of a miss.
    pub miss: f64,
    /// Raw latencies of hits are spread over so many cycles, from the lower quartile to the bulk's end; at least one.
    pub spread: f64,
}

/// Share of the reference that may lie above the threshold: rare spikes that every GPU shows (refreshes, arbitration).
const REFERENCE_SPIKES: f64 = 0.05;
/// Share of the loads of a footprint that must lie beyond the hits before misses are believed in.
const CREDIBLE_MISSES: f64 = 0.02;
/// Level of the test that two footprints' latencies are alike.
const ALPHA: f64 = 0.01;
/// Two groups are apart if the gap between their quartiles is at least this many times the spread of the hits.
const APART: f64 = 3.0;

impl HitMiss {
    /// From `reference`, all of which should hit, and `larger` ones, some of which should miss. The threshold lies in the
    /// middle of the gap between the reference's bulk and the nearest level beyond it: of all that are given, the one
    /// whose misses are the fastest, since footprints may overflow the next level too.
    ///
    /// # Errors
    ///
    /// An unknown, if none of the larger shows a group beyond the reference's.
    pub fn learn(reference: &[u32], larger: &[&[u32]]) -> Result<Self, Unknown> {
        let (Some(hit), Some(bulk), Some(low)) = (
            robust::quantile_u32(reference, 0.5),
            robust::quantile_u32(reference, 1.0 - REFERENCE_SPIKES),
            robust::quantile_u32(reference, 0.25),
        ) else {
            return Err(Unknown::because("no samples of a footprint that fits"));
        };
        // A clock read takes whole cycles, so the spread of the hits is at least one.
        let spread = (bulk - low).max(1.0);
        let nearest = larger
            .iter()
            .filter_map(|latencies| {
                let beyond: Vec<u32> = latencies.iter().copied().filter(|&l| f64::from(l) > bulk + spread).collect();
                let enough = CREDIBLE_MISSES * latencies.len() as f64;
                let level = cluster::levels(&beyond).into_iter().find(|level| level.count as f64 >= enough)?;
                Some((f64::from(level.low), level.centre))
            })
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((near, miss)) = nearest else {
            return Err(Unknown::because("no load of the largest footprint takes longer than a hit"));
        };
        if near - bulk < APART * spread && miss - hit < APART * spread {
            return Err(Unknown::because(format!(
                "hits ({hit:.0} cycles) and misses ({miss:.0} cycles) do not separate on this device"
            )));
        }
        Ok(HitMiss { threshold: ((bulk + near) / 2.0).round() as u32, hit, miss, spread })
    }

    /// Whether latencies show nothing but the hits of the reference: no credible share of them lies beyond its bulk, and the
    /// Kolmogorov-Smirnov test does not tell the two apart. Where [`HitMiss::learn`] finds no misses, this says whether there
    /// are none or whether they cannot be told from hits.
    pub fn alike(reference: &[u32], latencies: &[u32]) -> bool {
        let (Some(bulk), Some(low)) =
            (robust::quantile_u32(reference, 1.0 - REFERENCE_SPIKES), robust::quantile_u32(reference, 0.25))
        else {
            return false;
        };
        let beyond = bulk + (bulk - low).max(1.0);
        let slow = latencies.iter().filter(|&&l| f64::from(l) > beyond).count();
        let cycles = |all: &[u32]| -> Vec<f64> { all.iter().map(|&l| f64::from(l)).collect() };
        (slow as f64) < CREDIBLE_MISSES * latencies.len() as f64
            && !ks::ks_test(&cycles(reference), &cycles(latencies), ALPHA).distinct
    }

    /// Whether a load that took so long missed.
    pub fn is_miss(&self, latency: u32) -> bool {
        latency > self.threshold
    }

    /// How many of these miss.
    pub fn misses(&self, latencies: &[u32]) -> usize {
        latencies.iter().filter(|&&l| self.is_miss(l)).count()
    }

    /// What share of these misses; 0 of none.
    pub fn miss_share(&self, latencies: &[u32]) -> f64 {
        if latencies.is_empty() { 0.0 } else { self.misses(latencies) as f64 / latencies.len() as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tight_groups_separate_however_close() {
        let reference = vec![40; 1000];
        let large: Vec<u32> = (0..1000).map(|i| if i % 4 == 0 { 44 } else { 40 }).collect();
        let levels = HitMiss::learn(&reference, &[&large]).unwrap();
        assert_eq!((levels.hit, levels.miss), (40.0, 44.0));
        assert_eq!(levels.misses(&large), 250);
        assert_eq!(levels.misses(&reference), 0);
    }

    #[test]
    fn spikes_alone_are_no_misses() {
        let mut reference = vec![40; 1000];
        reference[3] = 900;
        let mut large = vec![40; 1000];
        large[7] = 800;
        assert!(matches!(HitMiss::learn(&reference, &[&large]), Err(Unknown::Because(_))));
    }

    #[test]
    fn misses_that_hide_among_the_hits_are_not_alike() {
        let reference: Vec<u32> = (0..64).map(|i| 40 + i * 7 % 20).collect();
        let hits: Vec<u32> = (0..2000).map(|i| 40 + i * 7 % 20).collect();
        let hidden: Vec<u32> = hits.iter().map(|l| l + 12).collect();
        assert!(HitMiss::learn(&reference, &[&hidden]).is_err());
        assert!(!HitMiss::alike(&reference, &hidden));
        assert!(HitMiss::alike(&reference, &hits));
    }
}
