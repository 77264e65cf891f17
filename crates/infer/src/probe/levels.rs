//! Telling hits from misses without a fixed number of cycles: latencies of one level form a tight group.

use super::Unknown;
use crate::analysis::{band, cluster, ks, robust};

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
/// Among fewer loads spikes may by chance be more than [`REFERENCE_SPIKES`]. If 3 % of all loads are spikes, more than 5 % of 128 loads
/// are spikes in one sample of eleven.
const FEW: usize = 256;
/// Times that misses must be more frequent than spikes were seen to be. A spike comes as often in every footprint, a miss does
/// not.
const RARER: f64 = 2.0;
/// Share of the loads that spikes never reach, however few loads there are to tell by.
const MOST: f64 = 0.5;
/// Standard deviations by which spikes may be more frequent than they were seen: of many footprints one may have by chance as many
/// spikes as two allow.
const SURE: f64 = 3.0;
/// As [`SURE`], of cold walks: one load of each fetch misses, one of 32 say, and no larger footprint has more.
const SURE_OF_WALKS: f64 = 2.0;
/// A load is far beyond others if it takes so many times longer than they do, or than they differ.
const FAR: f64 = 3.0;
/// Level of the test that all of some footprints' latencies are alike.
const ALPHA: f64 = 0.01;
/// Two groups are apart if the gap between their quartiles is at least this many times the spread of the hits.
const APART: f64 = 3.0;

impl HitMiss {
    /// From `reference`, all of which should hit, and `larger` ones in ascending order, some of which should miss. The threshold
    /// lies in the middle of the gap between the reference's bulk and the nearest level beyond it: of all that are given, the
    /// one whose misses are the fastest, since footprints may overflow the next level too. A group of slow loads that is
    /// nearly as frequent in smaller footprints is spikes and no level.
    ///
    /// # Errors
    ///
    /// An unknown, if none of the larger shows a group beyond the reference's.
    pub fn learn(reference: &[u32], larger: &[&[u32]]) -> Result<Self, Unknown> {
        Self::learn_frequent(reference, larger, CREDIBLE_MISSES)
    }

    /// As [`HitMiss::learn`], of misses that are at least this share of some footprint's loads.
    ///
    /// # Errors
    ///
    /// As [`HitMiss::learn`].
    pub fn learn_frequent(reference: &[u32], larger: &[&[u32]], credible: f64) -> Result<Self, Unknown> {
        Self::learn_by(reference, larger, &|_| credible, SURE)
    }

    /// As [`HitMiss::learn`], of misses that are at least so large a share of the loads of some footprint, each with its own share.
    ///
    /// # Errors
    ///
    /// As [`HitMiss::learn`].
    pub fn learn_from(reference: &[u32], larger: &[(&[u32], f64)]) -> Result<Self, Unknown> {
        let (latencies, credible): (Vec<&[u32]>, Vec<f64>) = larger.iter().copied().unzip();
        Self::learn_by(reference, &latencies, &|at| credible[at], SURE)
    }

    /// As [`HitMiss::learn`], of cold walks, in which the first load of each fetch misses.
    ///
    /// # Errors
    ///
    /// As [`HitMiss::learn`].
    pub fn learn_from_walks(reference: &[u32], walks: &[&[u32]]) -> Result<Self, Unknown> {
        Self::learn_by(reference, walks, &|_| CREDIBLE_MISSES, SURE_OF_WALKS)
    }

    fn learn_by(
        reference: &[u32],
        larger: &[&[u32]],
        credible: &dyn Fn(usize) -> f64,
        sure: f64,
    ) -> Result<Self, Unknown> {
        let (Some(hit), Some((low, bulk))) = (robust::quantile_u32(reference, 0.5), bulk(reference)) else {
            return Err(Unknown::because("no samples of a footprint that fits"));
        };
        // A clock read takes whole cycles, so the spread of the hits is at least one.
        let spread = (bulk - low).max(1.0);
        let nearest = larger
            .iter()
            .enumerate()
            .filter_map(|(at, latencies)| {
                let beyond: Vec<u32> = latencies.iter().copied().filter(|&l| f64::from(l) > bulk + spread).collect();
                let is_level = |level: &cluster::Group| {
                    let share = level.count as f64 / latencies.len() as f64;
                    let often = share > MOST || share > most_spikes(level, reference, &larger[..at], sure);
                    share >= credible(at) && often
                };
                let level = cluster::levels(&beyond).into_iter().find(is_level)?;
                // Of a few loads a slow hit may pass for one of the misses.
                let is_of_it = |&l: &f64| l >= f64::from(level.low) && level.centre - l <= l - bulk;
                let near = beyond.iter().map(|&l| f64::from(l)).filter(is_of_it).min_by(f64::total_cmp)?;
                Some((near, level.centre))
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

    /// With the median hit of footprints that fit: the reference may be so few loads that its own median is far off.
    pub fn with_hits_of<'m>(self, fitting: impl Iterator<Item = &'m [u32]>) -> Self {
        let hits: Vec<u32> = fitting.flatten().copied().filter(|&latency| !self.is_miss(latency)).collect();
        HitMiss { hit: robust::quantile_u32(&hits, 0.5).unwrap_or(self.hit), ..self }
    }

    /// Whether latencies show nothing but the hits of the reference: no credible share of them lies beyond its bulk, and the
    /// Kolmogorov-Smirnov test does not show that they are slower. Where [`HitMiss::learn`] finds no misses, this says whether
    /// there are none or whether they cannot be told from hits. `among` is the number of footprints that are asked: each is
    /// tested at a level that much smaller.
    pub fn alike(reference: &[u32], latencies: &[u32], among: usize) -> bool {
        let Some((low, bulk)) = bulk(reference) else { return false };
        let beyond = bulk + (bulk - low).max(1.0);
        let slow = latencies.iter().filter(|&&l| f64::from(l) > beyond).count();
        (slow as f64) < CREDIBLE_MISSES * latencies.len() as f64
            && !are_slower(latencies, reference, ALPHA / among.max(1) as f64)
    }

    /// Whether these are so few loads that spikes may be too large a share of them to be left out, and so many are apart from the
    /// others.
    pub fn few_and_apart(loads: &[u32]) -> bool {
        let mut sorted = loads.to_vec();
        sorted.sort_unstable();
        let apart = |pair: &[u32]| f64::from(pair[1] - pair[0]) > APART * f64::from(pair[0] - sorted[0]).max(1.0);
        let beyond = sorted.windows(2).position(apart).map_or(0, |at| sorted.len() - 1 - at);
        loads.len() < FEW && beyond as f64 > REFERENCE_SPIKES * loads.len() as f64
    }

    /// Whether the median of these latencies lies far above that of the reference, beside how much the middle half of that differs.
    pub fn typically_slower(reference: &[u32], latencies: &[u32]) -> bool {
        let of = |share| robust::quantile_u32(reference, share);
        let (Some(low), Some(median), Some(high)) = (of(0.25), of(0.5), of(0.75)) else { return false };
        robust::quantile_u32(latencies, 0.5).is_some_and(|later| later - median > APART * (high - low).max(1.0))
    }

    /// The share of slow loads that chance allows anywhere, given those of a footprint that fits.
    pub fn most_by_chance(&self, fitting: &[u32]) -> f64 {
        most_by_chance(self.misses(fitting), fitting.len(), SURE)
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

/// Whether the Kolmogorov-Smirnov test shows at this level that some loads are slower than others.
pub fn are_slower(loads: &[u32], others: &[u32], alpha: f64) -> bool {
    let cycles = |all: &[u32]| -> Vec<f64> { all.iter().map(|&l| f64::from(l)).collect() };
    ks::slower(&cycles(loads), &cycles(others), alpha).is_some()
}

/// The lower quartile of the reference and the end of its bulk. One load of a few may be a spike; it is left out if it lies far
/// beyond the others.
fn bulk(reference: &[u32]) -> Option<(f64, f64)> {
    let mut sorted = reference.to_vec();
    sorted.sort_unstable();
    if let [.., before, last] = sorted[..]
        && (sorted.len() as f64) < 1.0 / REFERENCE_SPIKES
        && f64::from(last - before) > FAR * f64::from(before - sorted[0]).max(f64::from(before))
    {
        sorted.pop();
    }
    Some((robust::quantile_u32(&sorted, 0.25)?, robust::quantile_u32(&sorted, 1.0 - REFERENCE_SPIKES)?))
}

/// How frequent spikes of these latencies may be at most, if all of the first of these footprints are hits: the least that any
/// number of them allows, since the larger ones may miss.
fn most_spikes(group: &cluster::Group, reference: &[u32], smaller: &[&[u32]], sure: f64) -> f64 {
    let (mut loads, mut slow) = (0, 0);
    let bounds = std::iter::once(&reference).chain(smaller).map(|latencies| {
        loads += latencies.len();
        slow += latencies.iter().filter(|&&l| (group.low..=group.high).contains(&l)).count();
        most_by_chance(slow, loads, sure)
    });
    bounds.fold(1.0, f64::min)
}

/// The share of slow loads that chance allows elsewhere, where so many of so many loads were slow.
fn most_by_chance(slow: usize, loads: usize, sure: f64) -> f64 {
    let share = slow as f64 / loads.max(1) as f64;
    band::wilson(share, loads, sure).1.max(RARER * share)
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

    /// Hits of 40 cycles, of which one in `every` takes 30 longer.
    fn spiky(loads: u32, every: u32) -> Vec<u32> {
        (0..loads).map(|i| if i % every == every / 2 { 70 } else { 40 }).collect()
    }

    #[test]
    fn small_spikes_that_are_as_frequent_everywhere_are_no_misses() {
        let fit: Vec<Vec<u32>> = [32, 64, 128, 256, 512, 1024].map(|loads| spiky(loads, 30)).to_vec();
        let mut missing = spiky(2048, 30);
        missing.iter_mut().filter(|l| **l == 40).for_each(|l| *l = 210);
        let larger: Vec<&[u32]> = fit[1..].iter().chain([&missing]).map(Vec::as_slice).collect();
        let levels = HitMiss::learn(&fit[0], &larger).unwrap();
        assert_eq!((levels.hit, levels.miss), (40.0, 210.0));
        let fitting: Vec<&[u32]> = fit[1..].iter().map(Vec::as_slice).collect();
        assert!(HitMiss::learn(&fit[0], &fitting).is_err());
    }

    #[test]
    fn misses_of_the_second_footprint_already_are_misses() {
        let larger = [vec![210; 64], vec![210; 128], vec![400; 4096]];
        let levels = HitMiss::learn(&[40; 32], &larger.each_ref().map(Vec::as_slice)).unwrap();
        assert_eq!(levels.miss, 210.0);
        // A TLB of eight entries, before one of 21.
        let levels = HitMiss::learn(&[0; 8], &[&[26; 12], &[26; 16], &[245; 24], &[245; 32]]).unwrap();
        assert_eq!(levels.miss, 26.0);
    }

    #[test]
    fn a_spike_among_four_loads_hides_no_misses() {
        let larger = [vec![70; 8], vec![70; 16], vec![110; 64], vec![110; 128]];
        let levels = HitMiss::learn(&[70, 70, 2608, 70], &larger.each_ref().map(Vec::as_slice)).unwrap();
        assert_eq!((levels.hit, levels.miss), (70.0, 110.0));
        assert!(!HitMiss::alike(&[70, 70, 2608, 70], &larger[3], 1));
    }

    #[test]
    fn a_slow_hit_among_a_few_misses_is_no_miss() {
        // A simulated constant L1 of 27 lines: hits take 29 to 32 cycles, of which the first four show two values.
        let levels = HitMiss::learn(&[29, 29, 30, 30], &[&[32, 29, 88, 89, 91], &[90; 64]]).unwrap();
        assert!(!levels.is_miss(32) && levels.is_miss(88), "{levels:?}");
        assert_eq!(levels.miss, 88.5);
    }

    #[test]
    fn a_few_loads_are_doubted_if_one_is_apart() {
        assert!(HitMiss::few_and_apart(&[40, 40, 111, 40]) && HitMiss::few_and_apart(&[111, 40, 40, 111]));
        assert!(!HitMiss::few_and_apart(&[40, 41, 43, 42]));
        let many: Vec<u32> = (0..60).map(|i| if i == 7 { 111 } else { 40 }).collect();
        assert!(!HitMiss::few_and_apart(&many));
        let two_of_32: Vec<u32> = (0..32).map(|i| if i % 20 == 7 { 497 } else { 32 }).collect();
        assert!(HitMiss::few_and_apart(&two_of_32));
    }

    #[test]
    fn misses_that_hide_among_the_hits_are_not_alike() {
        let reference: Vec<u32> = (0..64).map(|i| 40 + i * 7 % 20).collect();
        let hits: Vec<u32> = (0..2000).map(|i| 40 + i * 7 % 20).collect();
        let hidden: Vec<u32> = hits.iter().map(|l| l + 12).collect();
        assert!(HitMiss::learn(&reference, &[&hidden]).is_err());
        assert!(!HitMiss::alike(&reference, &hidden, 1));
        assert!(HitMiss::alike(&reference, &hits, 1));
        // A larger footprint that is faster by chance does not miss.
        assert!(HitMiss::alike(&hidden[..64], &hits, 1));
        // One of many is asked for more than chance gives one of them.
        let later: Vec<u32> = hits.iter().map(|l| l + 4).collect();
        assert!(!HitMiss::alike(&reference, &later, 1) && HitMiss::alike(&reference, &later, 1000));
    }
}
