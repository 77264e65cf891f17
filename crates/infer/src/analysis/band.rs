//! A band around a curve: where another measurement of it is expected.
//!
//! A curve over footprints is measured in one place in memory. At another place, or on another SM, its steps move a little to one
//! side, and where the index is hashed its plateaus move up or down. So the band at a point spans what its neighbours on either
//! side say, and how far other places are from it at the nearest points that were measured there as well. A share is counted,
//! too, and counts vary by chance.

/// A point: its place on the x axis, and the share there.
pub type Point = (u64, f64);

/// Standard deviations on either side of an interval of 95 % of a normal distribution.
pub const DEVIATIONS: f64 = 1.96;

/// The ends of the band at each point of `curve`, each share of which was counted among so many; `others` are curves of other
/// places, with points at some of the same x. All are in ascending order of x. No end leaves 0 to 1.
/// A curve whose steps may lie up to `off` further on the x axis, either way, has a band that spans all points so near.
pub fn around(curve: &[Point], off: u64, counted: &[usize], others: &[Vec<Point>]) -> Vec<(f64, f64)> {
    let spans = spans(curve, off, others);
    let widen = |((low, high), &n): ((f64, f64), &usize)| (wilson(low, n, DEVIATIONS).0, wilson(high, n, DEVIATIONS).1);
    spans.into_iter().zip(counted).map(widen).collect()
}

/// Wilson's interval of a share that was counted among `n`, so many standard deviations on either side.
pub fn wilson(share: f64, n: usize, deviations: f64) -> (f64, f64) {
    let n = n.max(1) as f64;
    let z2 = deviations * deviations / n;
    let centre = (share + z2 / 2.0) / (1.0 + z2);
    let half = deviations / (1.0 + z2) * (share * (1.0 - share) / n + z2 / (4.0 * n)).sqrt();
    ((centre - half).clamp(0.0, share), (centre + half).clamp(share, 1.0))
}

fn spans(curve: &[Point], off: u64, others: &[Vec<Point>]) -> Vec<(f64, f64)> {
    let deviations: Vec<Vec<Point>> = others.iter().map(|other| from_curve(curve, other)).collect();
    let band = |i: usize| {
        let (at, value) = curve[i];
        let first = curve.partition_point(|point| point.0 < at.saturating_sub(off)).min(i.saturating_sub(1));
        let after = curve.partition_point(|point| point.0 <= at.saturating_add(off)).max((i + 2).min(curve.len()));
        let neighbours = curve[first..after].iter().map(|point| point.1);
        let elsewhere = deviations.iter().flat_map(|all| nearest(all, at)).map(|deviation| value + deviation);
        let all = || neighbours.clone().chain(elsewhere.clone());
        (all().fold(value, f64::min).clamp(0.0, 1.0), all().fold(value, f64::max).clamp(0.0, 1.0))
    };
    (0..curve.len()).map(band).collect()
}

/// How far another curve is from this one, where both have a point.
fn from_curve(curve: &[Point], other: &[Point]) -> Vec<Point> {
    let here = |x: u64| curve.binary_search_by_key(&x, |point| point.0).ok().map(|i| curve[i].1);
    other.iter().filter_map(|&(x, y)| Some((x, y - here(x)?))).collect()
}

/// The last value up to `at`, and the first from there on.
fn nearest(points: &[Point], at: u64) -> impl Iterator<Item = f64> + Clone {
    let after = points.partition_point(|point| point.0 < at);
    let before = points[..after].last();
    let exact = points.get(after).filter(|point| point.0 == at);
    before.filter(|_| exact.is_none()).into_iter().chain(points.get(after)).map(|point| point.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_spans_the_neighbours() {
        let curve = [(1, 0.0), (2, 0.0), (3, 0.5), (4, 1.0)];
        assert_eq!(spans(&curve, 0, &[]), [(0.0, 0.0), (0.0, 0.5), (0.0, 1.0), (0.5, 1.0)]);
        assert_eq!(spans(&curve, 2, &[]), [(0.0, 0.5), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0)]);
        assert!(around(&[], 0, &[], &[]).is_empty());
    }

    #[test]
    fn other_places_widen_it_where_they_were_measured_and_between() {
        let curve = [(1, 0.5), (2, 0.5), (3, 0.5), (4, 0.5), (5, 0.5)];
        let others = [vec![(1, 0.5), (4, 0.7)], vec![(1, 0.4), (4, 0.5)]];
        let low_high = spans(&curve, 0, &others);
        let rounded: Vec<(i32, i32)> =
            low_high.iter().map(|(low, high)| ((low * 10.0).round() as i32, (high * 10.0).round() as i32)).collect();
        assert_eq!(rounded, [(4, 5), (4, 7), (4, 7), (5, 7), (5, 7)]);
    }

    #[test]
    fn shares_stay_shares() {
        let far = vec![(1, 1.0)];
        assert_eq!(spans(&[(1, 0.9), (2, 0.95)], 0, &[far]), [(0.9, 1.0), (0.9, 1.0)]);
    }

    #[test]
    fn what_is_counted_varies_by_chance() {
        // Wilson 1927: of 10 of 100 the interval of 95 % is 5.5 % to 17.4 %; of none of 100 it ends at 3.7 %.
        let (low, high) = wilson(0.1, 100, DEVIATIONS);
        assert!((low - 0.055).abs() < 0.001 && (high - 0.174).abs() < 0.001, "{low} to {high}");
        let (low, high) = wilson(0.0, 100, DEVIATIONS);
        assert!(low == 0.0 && (high - 0.037).abs() < 0.001, "{low} to {high}");
        assert_eq!(around(&[(1, 0.1)], 0, &[100], &[]), [wilson(0.1, 100, DEVIATIONS)]);
    }
}
