//! Plateaus of a curve that rises in steps: the mean latency of a load over the footprint, where each cache level adds the cost
//! of its misses.
//!
//! A point belongs to the next step if it lies above the plateau before it by more than chance explains, given the errors
//! of both, and by more than a share of the step before; the plateau begins where the curve has stopped rising.
//!
//! Fails where two levels overflow within one point of each other: they are one step then.

/// One point of the curve: a mean with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Footprint, in any unit.
    pub at: u64,
    /// Mean.
    pub mean: f64,
    /// Standard error of the mean.
    pub error: f64,
}

/// A rise of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Index of the last point that still lies on the plateau before.
    pub flat: usize,
    /// Index of the first point above it.
    pub grown: usize,
    /// Index of the first point on the plateau after it, if the curve stops rising before it ends.
    pub settled: Option<usize>,
    /// Height of the plateau before.
    pub below: f64,
    /// Height of the plateau after.
    pub above: Option<f64>,
}

/// Standard errors that are not chance.
const SIGNIFICANT: f64 = 5.0;
/// A new step is at least this share of the one before: a plateau's last creep is less.
const STEP_SHARE: f64 = 0.5;
/// A step that begins while the one before has hardly settled is at least this many times as high. A slow rise may pause, and go on by
/// half of what it has risen before.
const NEXT_STEP: f64 = 1.0;
/// The curve has stopped rising where a point is above the one before by no more than this share of the step, or by no more
/// than [`QUIET`] standard errors. A level whose entries map several of the pages walked is overflowed little by little.
const CREEP: f64 = 0.05;
/// Standard errors within which two points are equal.
const QUIET: f64 = 2.0;

/// The steps of a curve whose points are in ascending order.
pub fn steps(points: &[Point]) -> Vec<Step> {
    let mut found: Vec<Step> = Vec::new();
    let mut start = 0;
    while start < points.len() {
        let height_before = found.last().map_or(0.0, |s| points[start].mean - s.below);
        // The plateau takes points in as long as they do not rise above what it has.
        let mut grown = start + 1;
        while grown < points.len() && !rises(&points[start..grown], &points[grown..], height_before) {
            grown += 1;
        }
        // Points that each are too uncertain to be above those before may be so together. Behind a step they may be its last creep.
        if found.is_empty()
            && let Some(split) = split(&points[start..grown])
        {
            grown = start + split;
        }
        let below = height(&points[start..grown]);
        if let Some(last) = found.last_mut() {
            last.above = Some(below);
        }
        if grown == points.len() {
            break;
        }
        let settled = (grown..points.len().saturating_sub(1)).find(|&i| {
            let next = points[i + 1];
            let noise = QUIET * points[i].error.hypot(next.error);
            next.mean - points[i].mean <= noise.max(CREEP * (points[i].mean - below))
                && points.get(i + 2).is_none_or(|after| {
                    // The next step may begin at once; a creep goes on.
                    let further = after.mean - next.mean;
                    further <= noise.max(CREEP * (next.mean - below)) || further > NEXT_STEP * (next.mean - below)
                })
        });
        found.push(Step { flat: last_flat(points, start, grown), grown, settled, below, above: None });
        match settled {
            Some(index) => start = index,
            None => break,
        }
    }
    found
}

/// Where a plateau is two: the points from there on lie higher than those before by more than chance explains, as errors of single
/// points go.
fn split(plateau: &[Point]) -> Option<usize> {
    let least = |points: &[Point]| points.iter().map(|point| point.error).fold(f64::MAX, f64::min);
    let beyond = |at: usize| {
        let (low, high) = plateau.split_at(at);
        let rise = height(high) - height(low);
        let chance = least(low).hypot(least(high));
        // A single point may be chance.
        (low.len() > 1 && high.len() > 1 && rise > SIGNIFICANT * chance)
            .then_some((at, rise / chance.max(f64::MIN_POSITIVE)))
    };
    (1..plateau.len()).filter_map(beyond).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
}

/// The last point of a plateau. What lies above the points before it by more than chance, although by too little for a step, may
/// be the beginning of the step.
fn last_flat(points: &[Point], start: usize, grown: usize) -> usize {
    let is_flat = |&i: &usize| {
        let before = &points[start..i];
        let error = before.iter().map(|p| p.error).fold(f64::MAX, f64::min);
        i == start || points[i].mean - height(before) <= QUIET * points[i].error.hypot(error)
    };
    (start..grown).rev().find(is_flat).unwrap_or(start)
}

/// Mean of the points, those of small error counting most.
fn height(points: &[Point]) -> f64 {
    let weight = |p: &Point| 1.0 / p.error.max(f64::MIN_POSITIVE).powi(2);
    let sum: f64 = points.iter().map(weight).sum();
    points.iter().map(|p| p.mean * weight(p)).sum::<f64>() / sum
}

fn rises(plateau: &[Point], rest: &[Point], step_before: f64) -> bool {
    let level = height(plateau);
    let error = plateau.iter().map(|p| p.error).fold(f64::MAX, f64::min);
    // Two in a row, where there are two: one may be chance. Of a mixture of two levels the error is large, so the second may
    // also be as high as the first.
    let is_above = |p: &Point| p.mean - level > (SIGNIFICANT * p.error.hypot(error)).max(STEP_SHARE * step_before);
    match rest {
        [first, second, ..] => is_above(first) && (is_above(second) || second.mean >= first.mean),
        rest => rest.iter().all(is_above),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(means: &[f64], error: f64) -> Vec<Point> {
        means.iter().enumerate().map(|(i, &mean)| Point { at: 1 << i, mean, error }).collect()
    }

    #[test]
    fn sharp_steps_are_found() {
        let found = steps(&curve(&[0.0, 0.0, 0.0, 27.0, 27.0, 27.0, 111.0, 111.0], 0.1));
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].flat, found[0].grown, found[0].settled), (2, 3, Some(3)));
        assert!((found[0].above.unwrap() - 27.0).abs() < 0.01);
        assert_eq!((found[1].flat, found[1].grown), (5, 6));
        assert!((found[1].above.unwrap() - 111.0).abs() < 0.01);
    }

    #[test]
    fn a_small_step_among_uncertain_points_is_found() {
        // A simulated TLB of 8 entries whose misses cost 29 cycles, under smear, before one of 32 entries.
        let means = [12.5, 2.0, 4.8, 24.2, 23.6, 27.6, 31.2, 395.5, 397.2, 394.0, 393.5];
        let errors = [4.2, 5.6, 3.2, 3.2, 1.8, 1.9, 2.0, 1.6, 1.3, 1.0, 0.9];
        let point = |(at, (mean, error)): (u64, (&f64, &f64))| Point { at, mean: *mean, error: *error };
        let points: Vec<Point> = (0..).zip(means.iter().zip(&errors)).map(point).collect();
        let found = steps(&points);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!((found[0].flat, found[0].grown, found[1].flat, found[1].grown), (2, 3, 5, 7), "{found:?}");
    }

    #[test]
    fn a_slow_rise_is_one_step_and_an_unfinished_one_has_no_height() {
        // An H200: micro TLB from 256 MiB on, the next level from 64 GiB on.
        let means = [0.0, 0.5, 0.2, 4.3, 5.9, 7.5, 8.5, 9.0, 9.6, 9.7, 10.1, 9.9, 10.2, 10.0, 41.7, 50.0];
        let found = steps(&curve(&means, 0.3));
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].grown, 3);
        assert!((found[0].above.unwrap() - 9.8).abs() < 0.4, "{found:?}");
        assert_eq!((found[1].flat, found[1].grown), (13, 14));
        assert_eq!(found[1].above, None);
    }

    #[test]
    fn a_pause_in_a_slow_rise_ends_no_step() {
        // Another H200: two footprints of the slow rise are alike, and the next two again.
        let means = [0.0, -0.5, -0.5, -0.6, 4.4, 4.7, 7.4, 7.4, 8.7, 8.9, 9.5, 9.8, 10.0, 10.1, 10.2, 10.3, 11.2, 41.7];
        let found = steps(&curve(&means, 0.3));
        assert_eq!(found.iter().map(|s| s.grown).collect::<Vec<_>>(), [4, 17], "{found:?}");
        assert!((found[0].above.unwrap() - 10.0).abs() < 0.4, "{found:?}");
    }

    #[test]
    fn the_beginning_of_a_step_is_not_flat() {
        let mut points = curve(&[0.0, 0.0, 0.0, 10.0, 20.0, 22.0, 22.0], 0.2);
        points[3].error = 2.6;
        points[4].error = 2.0;
        let found = steps(&points);
        assert_eq!(found.iter().map(|s| (s.flat, s.grown)).collect::<Vec<_>>(), [(2, 4)]);
    }

    #[test]
    fn a_step_that_the_next_one_follows_at_once_begins_where_it_begins() {
        // A simulated TLB of 20 entries before one of 30, both with weighted replacement.
        let mut points = curve(&[0.0, 0.2, -0.1, 22.1, 78.7, 285.6, 371.8, 383.4, 384.0, 384.0], 0.3);
        points[4].error = 23.2;
        points[5].error = 22.9;
        points[6].error = 7.8;
        let found = steps(&points);
        assert_eq!(found.iter().map(|s| (s.flat, s.grown)).collect::<Vec<_>>(), [(2, 3)]);
    }

    #[test]
    fn nothing_rises_in_noise() {
        let means = [0.3, -0.4, 0.2, -0.1, 0.5, 0.1, -0.3];
        assert_eq!(steps(&curve(&means, 0.3)), []);
        assert_eq!(steps(&[]), []);
    }
}
