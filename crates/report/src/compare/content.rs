//! The value of one side at a place, and whether two values agree.

use std::collections::{BTreeMap, BTreeSet};

use super::chance::{self, Chance};
use strata_infer::analysis::band;
use strata_model::attribute::{Odds, Sizes, Value};

/// A number with all that it may be: the interval of a measurement, a published range, a bound (infinite on one side), or
/// the number alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The value and the level of its interval, where it has one at a level.
    stated: Option<(f64, f64)>,
    /// What differences are relative to: the value, or where there is none the greater end.
    scale: f64,
}

impl Range {
    /// Of a value and the ends of its interval. One end without the other is a bound. `None`: nothing is known.
    pub fn new(value: Option<f64>, low: Option<f64>, high: Option<f64>) -> Option<Self> {
        let known: Vec<f64> = [value, low, high].into_iter().flatten().filter(|x| x.is_finite()).collect();
        let least = known.iter().copied().min_by(f64::total_cmp)?;
        let greatest = known.iter().copied().max_by(f64::total_cmp)?;
        let scale =
            value.filter(|x| x.is_finite()).unwrap_or(if greatest.abs() > least.abs() { greatest } else { least });
        let end = |end: Option<f64>| end.is_some_and(f64::is_finite);
        let up = if low.is_some() && high.is_none() { f64::INFINITY } else { greatest };
        let down = if end(high) && low.is_none() { f64::NEG_INFINITY } else { least };
        Some(Range { low: down, high: up, stated: None, scale: scale.abs() })
    }

    /// With an interval of this level around a value, if it is one.
    pub fn at_level(self, value: Option<f64>, level: Option<f64>) -> Self {
        let inside = |value: &f64| (self.low..=self.high).contains(value);
        Range { stated: value.filter(inside).zip(level), ..self }
    }

    /// Whether it has an interval at a level.
    pub fn has_level(&self) -> bool {
        self.stated.is_some()
    }

    /// As wide as it counts among many comparisons.
    fn widened(&self, chance: Chance, other: &Range) -> Range {
        let Some((value, level)) = self.stated else { return *self };
        let factor = chance.widening(level, other.has_level());
        Range { low: value - factor * (value - self.low), high: value + factor * (self.high - value), ..*self }
    }

    /// How far two lie apart, in per cent of the larger value, if more than chance accounts for: 0 where it does not.
    pub fn apart_among(&self, other: &Range, chance: Chance) -> f64 {
        match self.widened(chance, other).apart(&other.widened(chance, self)) {
            0.0 => 0.0,
            _ => self.apart(other),
        }
    }

    /// How far two lie apart, in per cent of the larger value: 0 where they overlap.
    pub fn apart(&self, other: &Range) -> f64 {
        let gap = (self.low - other.high).max(other.low - self.high);
        // A gap that is there means that one of the two is not zero; the sum is for subnormal numbers.
        if gap > 0.0 { gap / self.scale.max(other.scale).max(f64::MIN_POSITIVE) * 100.0 } else { 0.0 }
    }
}

/// One point of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoint {
    /// What has to overlap, by name.
    pub ranges: BTreeMap<&'static str, Range>,
    /// What has to be equal.
    pub exact: Exact,
}

/// Numbers by name; `None` where one is unknown.
pub type Exact = BTreeMap<&'static str, Option<f64>>;

/// What is known of a place.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A number.
    Number(Range),
    /// A list whose order says nothing.
    Set(BTreeSet<String>),
    /// Probabilities in an order, such as those of a replacement policy.
    Odds(Vec<Range>),
    /// What is equal or not: text, a list, yes or no.
    Exact(Value),
    /// Points by their place on the x axis.
    Curve(BTreeMap<String, CurvePoint>),
}

/// How two contents compare.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Nothing speaks against their being the same.
    Agree {
        /// Of curves: points that were compared.
        points: Option<usize>,
    },
    /// Numbers that lie apart.
    Apart {
        /// By how much, in per cent.
        percent: f64,
    },
    /// Values that are not equal.
    Unequal,
    /// Curves of which points lie apart or are not equal.
    Points {
        /// How many.
        differ: usize,
        /// Of how many that both have.
        of: usize,
        /// The largest distance in per cent, if any of them are numbers apart.
        percent: Option<f64>,
    },
    /// Curves without a point at the same place.
    Nothing,
}

impl Content {
    /// Whether it has an interval at a level: a number, or a curve at any of its points.
    pub fn has_level(&self) -> bool {
        match self {
            Content::Number(range) => range.has_level(),
            Content::Curve(points) => points.values().flat_map(|point| point.ranges.values()).any(Range::has_level),
            Content::Odds(odds) => odds.iter().any(Range::has_level),
            Content::Set(_) | Content::Exact(_) => false,
        }
    }

    /// Points, of a curve.
    pub fn points(&self) -> Option<usize> {
        if let Content::Curve(points) = self { Some(points.len()) } else { None }
    }

    /// Compares with another. Distances of up to `tolerance` per cent count as none, and what `chance` accounts for.
    pub fn against(&self, other: &Content, tolerance: f64, chance: Chance) -> Verdict {
        match (self, other) {
            (Content::Number(a), Content::Number(b)) => match a.apart_among(b, chance) {
                percent if percent > tolerance => Verdict::Apart { percent },
                _ => Verdict::Agree { points: None },
            },
            (Content::Curve(a), Content::Curve(b)) => curves(a, b, tolerance, chance),
            (Content::Odds(a), Content::Odds(b)) if self::odds(a, b, tolerance, chance) => {
                Verdict::Agree { points: None }
            }
            (Content::Set(a), Content::Set(b)) if a == b => Verdict::Agree { points: None },
            (Content::Exact(a), Content::Exact(b)) if equal(a, b, tolerance) => Verdict::Agree { points: None },
            _ => Verdict::Unequal,
        }
    }
}

fn curves(
    a: &BTreeMap<String, CurvePoint>,
    b: &BTreeMap<String, CurvePoint>,
    tolerance: f64,
    chance: Chance,
) -> Verdict {
    let (mut of, mut differ, mut most) = (0, 0, None::<f64>);
    // Where a point has an interval, one in some may lie apart.
    let mut numbers = false;
    for (x, here) in a {
        let Some(there) = b.get(x) else { continue };
        of += 1;
        numbers |= !here.ranges.is_empty();
        let apart = apart(here, there, chance);
        let unequal = !alike(&here.exact, &there.exact, tolerance);
        differ += usize::from(unequal || apart > tolerance);
        if apart > tolerance {
            most = Some(most.map_or(apart, |most| most.max(apart)));
        }
    }
    match (of, differ) {
        (0, _) if a.is_empty() && b.is_empty() => Verdict::Agree { points: Some(0) },
        (0, _) => Verdict::Nothing,
        (_, 0) => Verdict::Agree { points: Some(of) },
        (_, few) if numbers && few <= chance::points_apart(of) => Verdict::Agree { points: Some(of) },
        _ => Verdict::Points { differ, of, percent: most },
    }
}

/// The largest distance of what two points have in common.
fn apart(a: &CurvePoint, b: &CurvePoint, chance: Chance) -> f64 {
    let common = a.ranges.iter().filter_map(|(name, here)| Some(here.apart_among(b.ranges.get(name)?, chance)));
    common.fold(0.0, f64::max)
}

/// Where neither side says how many evictions it counted, as results of earlier versions: some hundred at least, of which two
/// runs differ by as much.
const UNCOUNTED_OFF: f64 = 0.05;

/// What a replacement policy with probabilities says: each with its interval if evictions were counted, otherwise alone.
pub fn of_odds(odds: &Odds) -> Option<Content> {
    /// Level of an interval of [`band::DEVIATIONS`].
    const LEVEL: f64 = 0.95;
    let range = |&share: &f64| {
        let Some(counted) = odds.counted else { return Range::new(Some(share), None, None) };
        let (low, high) = band::wilson(share, usize::try_from(counted).unwrap_or(usize::MAX), band::DEVIATIONS);
        Some(Range::new(Some(share), Some(low), Some(high))?.at_level(Some(share), Some(LEVEL)))
    };
    odds.probabilities.iter().map(range).collect::<Option<_>>().map(Content::Odds)
}

/// Whether each probability agrees. They share the chance of their policy.
fn odds(a: &[Range], b: &[Range], tolerance: f64, chance: Chance) -> bool {
    let counted = a.iter().chain(b).any(Range::has_level);
    let each = chance.shared_by(a.len());
    let agree = |(a, b): (&Range, &Range)| {
        let near = !counted && (a.low - b.low).abs() <= UNCOUNTED_OFF;
        near || a.apart_among(b, each) <= tolerance
    };
    a.len() == b.len() && a.iter().zip(b).all(agree)
}

/// Equality of values that are no numbers. The numbers within may lie up to `tolerance` per cent apart.
fn equal(a: &Value, b: &Value, tolerance: f64) -> bool {
    let near = |a: f64, b: f64| {
        let range = |number| Range::new(Some(number), None, None);
        range(a).zip(range(b)).is_some_and(|(a, b)| a.apart(&b) <= tolerance)
    };
    let all_near = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| near(*a, *b));
    let floats = |all: &[u64]| all.iter().map(|x| *x as f64).collect::<Vec<_>>();
    match (a, b) {
        (Value::Ways(a), Value::Ways(b)) => all_near(&floats(a.list()), &floats(b.list())),
        (Value::Sizes(a), Value::Sizes(b)) => {
            let sizes = |all: &Sizes| all.0.iter().map(|size| size.0 as f64).collect::<Vec<_>>();
            all_near(&sizes(a), &sizes(b))
        }
        _ => a == b,
    }
}

/// Equality of what has to be equal at a point of a curve, but for the tolerance.
fn alike(a: &Exact, b: &Exact, tolerance: f64) -> bool {
    let range = |number: &Option<f64>| Range::new(*number, None, None);
    let near = |a: &Option<f64>, b: &Option<f64>| match (range(a), range(b)) {
        (Some(a), Some(b)) => a.apart(&b) <= tolerance,
        (a, b) => a.is_none() && b.is_none(),
    };
    a.keys().eq(b.keys()) && a.values().zip(b.values()).all(|(a, b)| near(a, b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use strata_model::attribute::Ways;

    use super::*;

    const ALONE: Chance = Chance::of_one_among(1);

    fn range(value: Option<f64>, low: Option<f64>, high: Option<f64>) -> Range {
        Range::new(value, low, high).unwrap()
    }

    #[test]
    fn intervals_that_touch_agree() {
        let a = range(Some(10.0), Some(9.0), Some(11.0));
        assert_eq!(a.apart(&range(Some(11.0), None, None)), 0.0);
        assert_eq!(a.apart(&range(Some(12.0), Some(11.5), Some(12.5))), 0.5 / 12.0 * 100.0);
        assert_eq!(a.apart(&range(None, Some(8.0), Some(9.0))), 0.0);
        assert_eq!(range(Some(0.0), None, None).apart(&range(Some(0.0), None, None)), 0.0);
    }

    #[test]
    fn a_bound_speaks_only_against_what_lies_beyond_it() {
        let bound = range(None, Some(65536.0), None);
        assert_eq!(bound.apart(&range(Some(131_072.0), None, None)), 0.0);
        assert_eq!(bound.apart(&range(Some(32768.0), None, None)), 50.0);
        let at_least = range(Some(2008.0), Some(2008.0), None);
        assert_eq!(at_least.apart(&range(Some(2048.0), None, None)), 0.0);
        assert_eq!(range(None, None, Some(5.0)).apart(&range(Some(1.0), None, None)), 0.0);
        let at_most = range(Some(68.0), None, Some(68.0));
        assert_eq!(at_most.apart(&range(Some(60.0), None, None)), 0.0);
        assert_eq!(at_most.apart(&range(Some(75.0), None, None)), 7.0 / 75.0 * 100.0);
        assert_eq!(Range::new(None, None, None), None);
    }

    #[test]
    fn lists_are_equal_in_their_order_within_the_tolerance() {
        let ways = |all: &[u64]| Value::from(Ways::Each(all.to_vec()));
        assert!(equal(&ways(&[1, 2]), &ways(&[1, 2]), 0.0) && !equal(&ways(&[1, 2]), &ways(&[2, 1]), 0.0));
        assert!(!equal(&ways(&[100, 1]), &ways(&[98, 1]), 1.0) && equal(&ways(&[100, 1]), &ways(&[98, 1]), 2.0));
        assert!(!equal(&Value::from(true), &Value::from(false), 50.0));
    }

    #[test]
    fn odds_agree_within_what_was_counted() {
        let odds = |all: &[f64], counted| of_odds(&Odds { probabilities: all.to_vec(), counted }).unwrap();
        let agree = |a: &Content, b: &Content, t| matches!(a.against(b, t, ALONE), Verdict::Agree { .. });
        let published = odds(&[1.0 / 6.0, 0.5, 1.0 / 6.0, 1.0 / 6.0], None);
        let found = [0.162, 0.512, 0.165, 0.162];
        assert!(agree(&odds(&found, Some(8000)), &published, 0.0) && agree(&odds(&found, Some(300)), &published, 0.0));
        assert!(!agree(&odds(&found, Some(1_000_000)), &published, 0.0), "a million evictions show the difference");
        // Two runs, and another policy.
        assert!(agree(&odds(&found, Some(8000)), &odds(&[0.171, 0.494, 0.168, 0.167], Some(8000)), 0.0));
        assert!(!agree(&odds(&found, Some(8000)), &odds(&[0.25, 0.25, 0.25, 0.25], None), 0.0));
        assert!(!agree(&odds(&found, Some(8000)), &odds(&found[..3], Some(8000)), 0.0));
        assert!(agree(&odds(&found, Some(1_000_000)), &published, 3.0), "within the tolerance");
        // Nobody says how many were counted.
        assert!(
            agree(&odds(&found, None), &published, 0.0)
                && !agree(&odds(&[0.1, 0.6, 0.15, 0.15], None), &published, 0.0)
        );
    }

    #[test]
    fn curves_compare_where_both_have_points() {
        let point =
            |y: f64| CurvePoint { ranges: BTreeMap::from([("y", range(Some(y), None, None))]), exact: Exact::new() };
        let curve =
            |points: &[(&str, f64)]| Content::Curve(points.iter().map(|(x, y)| ((*x).to_owned(), point(*y))).collect());
        let a = curve(&[("1", 10.0), ("2", 20.0), ("3", 30.0)]);
        assert_eq!(a.against(&curve(&[("2", 20.0), ("4", 9.0)]), 0.0, ALONE), Verdict::Agree { points: Some(1) });
        let differing = curve(&[("1", 8.0), ("2", 20.0)]);
        assert_eq!(a.against(&differing, 0.0, ALONE), Verdict::Points { differ: 1, of: 2, percent: Some(20.0) });
        assert_eq!(a.against(&differing, 20.0, ALONE), Verdict::Agree { points: Some(2) });
        assert_eq!(a.against(&curve(&[("7", 1.0)]), 0.0, ALONE), Verdict::Nothing);
    }

    prop_compose! {
        fn any_range()(value in -1e6..1e6f64, below in 0.0..1e3f64, above in 0.0..1e3f64) -> (f64, f64, f64) {
            (value, value - below, value + above)
        }
    }

    proptest! {
        #[test]
        fn distances_are_the_same_both_ways((a, al, ah) in any_range(), (b, bl, bh) in any_range()) {
            let (a, b) = (range(Some(a), Some(al), Some(ah)), range(Some(b), Some(bl), Some(bh)));
            prop_assert_eq!(a.apart(&b), b.apart(&a));
            prop_assert_eq!(a.apart(&a), 0.0);
        }

        #[test]
        fn wider_intervals_are_never_further_apart(
            (a, al, ah) in any_range(), (b, bl, bh) in any_range(), down in 0.0..1e6f64, up in 0.0..1e6f64
        ) {
            let other = range(Some(b), Some(bl), Some(bh));
            let narrow = range(Some(a), Some(al), Some(ah)).apart(&other);
            let wide = range(Some(a), Some(al - down), Some(ah + up)).apart(&other);
            prop_assert!(wide <= narrow);
        }

        #[test]
        fn more_tolerance_never_makes_a_difference((a, al, ah) in any_range(), b in -1e6..1e6f64, t in 0.0..50.0f64) {
            let (a, b) = (range(Some(a), Some(al), Some(ah)), range(Some(b), None, None));
            let agrees = |t| matches!(Content::Number(a).against(&Content::Number(b), t, ALONE), Verdict::Agree { .. });
            prop_assert!(!agrees(t) || agrees(t + 1.0));
        }
    }
}
