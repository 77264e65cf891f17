//! What a sweep of footprints showed, in few points: the pictures of Größler's section 4.2.1.

use super::Measurement;
use crate::analysis::hundredths::nearest;
use crate::analysis::{reduction, robust};
use strata_model::topology::{AVERAGE_LOAD, DISTANCE, Finding, SeriesPoint};
use strata_model::units::Bytes;

/// Most footprints that are kept: as many as a picture shows apart.
const MOST_POINTS: usize = 64;
/// Parts of the loads of a chain below and above the ends of the band.
const TAIL: f64 = 0.1;

/// Mean load and distance from hits, by footprint.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sweep {
    average: Vec<SeriesPoint>,
    distance: Vec<SeriesPoint>,
}

impl Sweep {
    /// Of measurements in ascending order of their footprints; of many, some at equal steps with the first and the last.
    pub fn of<E>(measurements: &[Measurement<E>], footprint: impl Fn(&E) -> Bytes) -> Self {
        let vectors: Vec<&[u32]> = measurements.iter().map(Measurement::latencies).collect();
        let reduced = reduction::reduce(&vectors);
        let mut sweep = Sweep::default();
        for i in evenly(measurements.len()) {
            let (x, loads) = (footprint(&measurements[i].experiment).0 as f64, vectors[i]);
            let at = |part| robust::quantile_u32(loads, part).map(nearest);
            let band = at(TAIL).zip(at(1.0 - TAIL));
            sweep.average.push(SeriesPoint { x, value: nearest(average(loads)), band });
            sweep.distance.push(SeriesPoint { x, value: nearest(reduced[i].distance), band: None });
        }
        sweep
    }

    /// A finding with what it was read from.
    pub fn on<T>(&self, finding: Finding<T>) -> Finding<T> {
        match self.average.is_empty() {
            true => finding,
            false => finding.series(AVERAGE_LOAD, self.average.clone()).series(DISTANCE, self.distance.clone()),
        }
    }
}

/// Mean of the loads of a chain, in raw cycles.
pub(super) fn average(loads: &[u32]) -> f64 {
    robust::mean(&loads.iter().map(|&load| f64::from(load)).collect::<Vec<f64>>())
}

/// Places in a list of so many, at most [`MOST_POINTS`], at equal steps from the first to the last.
fn evenly(count: usize) -> Vec<usize> {
    let kept = count.min(MOST_POINTS);
    (0..kept).map(|i| i * (count - 1) / (kept - 1).max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_places_are_all_kept_and_of_many_the_ends() {
        assert!(evenly(0).is_empty());
        assert_eq!(evenly(1), [0]);
        assert_eq!(evenly(5), [0, 1, 2, 3, 4]);
        let many = evenly(1000);
        assert_eq!((many.len(), many[0], many[MOST_POINTS - 1]), (MOST_POINTS, 0, 999));
        assert!(many.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
