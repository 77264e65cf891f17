//! One level as the curve over footprints shows it, and which visits of a walk miss it.

use std::collections::BTreeSet;

use super::curve::laps;
use super::visits::{Visits, as_latency, miss_share, point, typical};
use crate::analysis::band::DEVIATIONS;
use crate::analysis::plateau::Point;
use crate::probe::Measurement;
use crate::probe::levels::HitMiss;
use statrs::distribution::{Binomial, DiscreteCDF, Poisson};
use strata_model::experiment::Chase;
use strata_model::units::Bytes;

/// Share of a level's pages that must miss before an overflow is believed in where single misses cannot be told: visits to
/// a few pages differ in the mean by as much as a tenth of a miss.
pub(super) const BELIEVED: f64 = 0.5;
/// Share of loads that miss whatever the page: more is no chance.
const CHANCE: f64 = 0.02;
/// Where between hits and misses the limit may lie, as shares of the distance.
const LIMITS: [f64; 2] = [0.25, 0.75];
/// What comes more rarely is no chance: a level is looked at in a few hundred walks.
const CHANCES: f64 = 1e-5;
/// Share of the cost of one miss that visits take longer, at least, where all of them miss.
const ALL: f64 = 0.75;
/// Times the cost of one miss that visits take where two levels miss.
const TWO_COST: f64 = 1.5;

/// One level as the curve over footprints shows it.
#[derive(Clone, Debug)]
pub(in crate::probe) struct Rise {
    /// Distance of the pages walked.
    pub(super) distance: Bytes,
    /// Footprints of the last point below and the first above.
    pub(super) flat: u64,
    pub(super) grown: u64,
    pub(super) below: f64,
    pub(super) above: Option<f64>,
    /// First footprint on the plateau after it.
    pub(super) settled: Option<u64>,
    pub(super) error: f64,
    /// The walks up to it were made again with more laps, because means of the usual laps are uncertain.
    pub(super) is_noisy: bool,
    /// Where single misses can be told.
    pub(super) classes: Option<HitMiss>,
    /// Some visits, or all of those to the first footprint above, take longer by much less than the others do on the plateau after it.
    pub(super) two_costs: bool,
    /// Share of visits that seem to miss although all pages fit: loads that are slow at random.
    pub(super) strays: f64,
}

/// The most of what is expected so often that chance explains; none of what is never expected.
fn by_chance(expected: f64) -> f64 {
    Poisson::new(expected).map_or(0.0, |chance| chance.inverse_cdf(1.0 - CHANCES) as f64)
}

impl Rise {
    /// The footprints between which a further level overflows: where all visits miss this one, they take longer than one miss
    /// costs.
    pub(super) fn hides(&self) -> Option<(Bytes, Bytes)> {
        let (above, settled) = (self.above?, self.settled?);
        let cheaper = |classes: HitMiss| above - self.below > TWO_COST * (classes.miss - classes.hit);
        let hides = self.two_costs || self.classes.is_some_and(cheaper);
        hides.then_some((Bytes(self.flat), Bytes(settled)))
    }

    /// Whether visits to this footprint take so much longer in the mean than one miss of this level costs that a further level may overflow
    /// there.
    pub(super) fn costs_more(&self, point: &Point) -> bool {
        let dearer = |classes: HitMiss| point.mean - self.below > TWO_COST * (classes.miss - classes.hit);
        point.at > self.flat && self.classes.is_some_and(dearer)
    }

    /// Whether it is known what a miss costs: from single visits, or from the plateau after it.
    pub(super) fn has_cost(&self) -> bool {
        self.classes.is_some() || self.above.is_some()
    }

    /// Whether visits on the plateau after it take so little longer that not all of them miss.
    pub(super) fn is_partial(&self) -> bool {
        let (Some(classes), Some(above)) = (self.classes, self.above) else { return false };
        above - self.below < ALL * (classes.miss - classes.hit)
    }

    /// This one, up to where that one ends.
    pub(super) fn up_to(&self, later: &Rise) -> Rise {
        Rise { above: later.above, settled: later.settled, ..self.clone() }
    }

    /// This one, if visits on the plateau after it take as long as those of this walk where that is longer.
    pub(super) fn with_plateau(&self, measurement: &Measurement<Chase>) -> Rise {
        let Point { mean, error, .. } = point(measurement);
        match self.above {
            Some(above) if above < mean => Rise { above: Some(mean), error: self.error.hypot(error), ..self.clone() },
            _ => self.clone(),
        }
    }

    /// Pages that miss this level, if single misses can be told: those that do in most laps.
    pub(super) fn missed(&self, measurement: &Measurement<Chase>) -> Option<BTreeSet<usize>> {
        let classes = self.classes?;
        let typical = typical(measurement).into_iter().enumerate();
        Some(typical.filter(|&(_, extra)| classes.is_miss(as_latency(extra))).map(|(page, _)| page).collect())
    }

    /// Pages that are expected to seem to miss in most laps, by chance.
    fn stray_pages(&self, measurement: &Measurement<Chase>) -> f64 {
        let visits = Visits::of(measurement);
        let laps = visits.laps().len() as u64;
        // As in `typical`, half of an even number of laps is not most of them.
        let most = laps / 2 + 1;
        let chance = Binomial::new(self.strays, laps).map_or(0.0, |slow| slow.sf(most - 1));
        chance * visits.lap as f64
    }

    /// Share of visits that miss this level.
    pub(super) fn share(&self, measurement: &Measurement<Chase>) -> f64 {
        match (self.classes, self.above) {
            (Some(classes), _) => miss_share(&classes, &Visits::of(measurement).extras),
            (None, Some(above)) => ((point(measurement).mean - self.below) / (above - self.below)).clamp(0.0, 1.0),
            (None, None) => 0.0,
        }
    }

    /// The lowest and the highest share of visits that miss: in one lap or another, and wherever between hits and misses the
    /// limit lies.
    pub(super) fn least_and_most(&self, measurement: &Measurement<Chase>) -> (f64, f64) {
        let share = self.share(measurement);
        let Some(classes) = self.classes else {
            // By the mean alone: the plateau, too, is known to an error.
            let off = self
                .above
                .map_or(1.0, |above| DEVIATIONS * self.error.hypot(point(measurement).error) / (above - self.below));
            return ((share - off).max(0.0), (share + off).min(1.0));
        };
        let limit = |at: f64| HitMiss {
            threshold: (classes.hit + at * (classes.miss - classes.hit)).round() as u32,
            ..classes
        };
        let visits = Visits::of(measurement);
        let of_laps = visits.laps().map(|lap| miss_share(&classes, lap));
        let of_limits = LIMITS.map(|at| miss_share(&limit(at), &visits.extras));
        of_laps.chain(of_limits).fold((share, share), |(low, high), x| (low.min(x), high.max(x)))
    }

    /// How many pages too many a walk of so many may have whose misses pass for loads that are slow by chance. Whatever gives way, each
    /// page too many costs a miss in every lap.
    pub(super) fn unnoticed(&self, pages: u64) -> u64 {
        let laps = u64::from(laps(pages));
        by_chance((CHANCE + self.strays) * (laps * pages) as f64) as u64 / laps
    }

    /// Whether other pages miss in one lap than in another. By the mean alone that cannot be said.
    pub(super) fn come_and_go(&self, measurement: &Measurement<Chase>) -> bool {
        let Some(classes) = self.classes else { return false };
        let visits = Visits::of(measurement);
        let missed = |lap: &[f64]| lap.iter().map(|&extra| classes.is_miss(as_latency(extra))).collect();
        let laps: BTreeSet<Vec<bool>> = visits.laps().map(missed).collect();
        laps.len() > 1
    }

    /// Whether no visit of some lap misses. By the mean alone that cannot be said.
    pub(super) fn is_without_misses(&self, measurement: &Measurement<Chase>) -> bool {
        let visits = Visits::of(measurement);
        self.classes.is_some_and(|classes| visits.laps().any(|lap| miss_share(&classes, lap) == 0.0))
    }

    /// Whether the pages walked are more than fit.
    pub(super) fn overflows(&self, measurement: &Measurement<Chase>) -> bool {
        match self.missed(measurement) {
            Some(missed) => {
                let visits = (measurement.latencies().len() / 2) as f64;
                let chance = (CHANCE + self.strays) * visits;
                missed.len() as f64 > by_chance(self.stray_pages(measurement))
                    || self.share(measurement) * visits > by_chance(chance)
            }
            None => self.share(measurement) > BELIEVED,
        }
    }
}
