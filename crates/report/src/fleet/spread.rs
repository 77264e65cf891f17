//! What the GPUs of a product say of one attribute, and which of them stand out.

use std::cmp::Reverse;
use std::collections::HashMap;

use strata_infer::analysis::robust::{median, median_absolute_deviation};
use strata_model::attribute::{Kind, Value};
use strata_model::units::Bytes;

use super::Options;
use super::document::{Common, Outlier, Spread};
use super::places::{Entry, Rule};
use super::read::{Short, Word, Words};

/// Robust standard deviations in one median absolute deviation: 1 over the 75 % quantile of the normal distribution. With it, both
/// are equal for normal values.
const SIGMA: f64 = 1.4826;
/// Fewest numbers of which one can stand out. The deviation of few is often small by chance: among three normal values one lies more
/// than six robust deviations away in 17 % of all cases, among five in 8 %, among ten in 2 % (simulated). The distance in per cent
/// must hold as well.
const FEWEST_NUMBERS: usize = 5;
/// Fewest values of which a majority counts: of two, none can have it.
const FEWEST_VALUES: usize = 3;
/// Most values of an attribute that are written out, as the document says. What is built has one or two.
const MOST_VALUES: usize = 16;

/// The values of an attribute in one unit, each with the number of its GPU.
pub struct Column<'a> {
    /// What they are of.
    pub entry: &'a Entry,
    /// Their unit.
    pub unit: Option<&'a str>,
    /// The values.
    pub known: Vec<(usize, Short)>,
    /// GPUs without a value.
    pub unknown: usize,
}

/// What is equal or not.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Same {
    Number(u64),
    Word(Word),
}

impl Same {
    fn of(said: Short) -> Option<Self> {
        match said {
            Short::Unknown => None,
            // Zero has two signs.
            Short::Number { value, .. } => Some(Same::Number((value + 0.0).to_bits())),
            Short::Word(word) => Some(Same::Word(word)),
        }
    }

    fn number(self) -> Option<f64> {
        if let Same::Number(bits) = self { Some(f64::from_bits(bits)) } else { None }
    }

    fn value(self, kind: Kind, words: &Words) -> Value {
        match self {
            Same::Number(bits) => number(kind, f64::from_bits(bits)),
            Same::Word(word) => words.value(word).clone(),
        }
    }
}

/// A number as a value of this kind: whole numbers stay whole.
pub fn number(kind: Kind, value: f64) -> Value {
    /// Up to here every whole number is a float.
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    let is_whole = value.fract() == 0.0 && (0.0..WHOLE).contains(&value);
    match kind {
        Kind::Bytes if is_whole => Value::Bytes(Bytes(value as u64)),
        Kind::Count | Kind::Ways if is_whole => Value::Count(value as u64),
        _ => Value::Number(value),
    }
}

/// A number that is there.
pub fn there(end: f64) -> Option<f64> {
    Some(end).filter(|end| !end.is_nan())
}

/// Whether the interval of a value holds a number. A bound has no other end.
fn reaches(said: Short, target: f64) -> bool {
    let Short::Number { low, high, .. } = said else { return false };
    match (there(low), there(high)) {
        (None, None) => false,
        (low, high) => low.is_none_or(|low| low <= target) && high.is_none_or(|high| target <= high),
    }
}

/// How far a number lies from another, in per cent of that; `None` from 0.
pub fn off_percent(value: f64, from: f64) -> Option<f64> {
    (from != 0.0).then(|| (value - from) / from.abs() * 100.0)
}

impl Column<'_> {
    /// The row of this attribute, and what stands out, with the number of each GPU.
    pub fn judged(&self, words: &Words, options: &Options) -> (Spread, Vec<(usize, Outlier)>) {
        let kind = self.entry.kind;
        let numbers: Vec<f64> = self.known.iter().filter_map(|(_, said)| Same::of(*said)?.number()).collect();
        let all = numbers.len() == self.known.len() && !numbers.is_empty();
        let numbers = if all { numbers } else { Vec::new() };
        let mut row = Spread {
            place: self.entry.place.to_string(),
            unit: self.unit.map(str::to_owned),
            known: self.known.len(),
            unknown: self.unknown,
            median: median(&numbers),
            mad: median_absolute_deviation(&numbers),
            least: numbers.iter().copied().min_by(f64::total_cmp),
            greatest: numbers.iter().copied().max_by(f64::total_cmp),
            values: Vec::new(),
            other_values: 0,
            stand_out: 0,
            not_judged: None,
        };
        let judged = match (self.entry.rule, row.median.zip(row.mad)) {
            (Rule::OfTheDie, _) => Err("every die may have its own".to_owned()),
            (Rule::Measured, Some((median, mad))) => self.far(median, SIGMA * mad, options),
            (Rule::Measured, None) | (Rule::Built, _) => {
                let values = self.values(words);
                let judged = self.others(values.first().copied(), words);
                row.other_values = values.len().saturating_sub(MOST_VALUES);
                let common = |(same, gpus): (Same, usize)| Common { value: same.value(kind, words), gpus };
                row.values = values.into_iter().take(MOST_VALUES).map(common).collect();
                judged
            }
        };
        let outliers = judged.unwrap_or_else(|reason| {
            row.not_judged = Some(reason);
            Vec::new()
        });
        row.stand_out = outliers.len();
        (row, outliers)
    }

    /// Numbers that lie far from the median by both measures, and whose intervals do not hold it.
    fn far(&self, median: f64, sigma: f64, options: &Options) -> Result<Vec<(usize, Outlier)>, String> {
        if self.known.len() < FEWEST_NUMBERS {
            return Err(format!("fewer than {FEWEST_NUMBERS} GPUs have a value"));
        }
        let far = |&(gpu, said): &(usize, Short)| {
            let value = Same::of(said)?.number()?;
            let off_sigmas = (sigma > 0.0).then(|| (value - median) / sigma);
            let percent = off_percent(value, median);
            // Where all others are equal, or 0, any distance is far by that measure.
            let is_far = value != median
                && off_sigmas.is_none_or(|off| off.abs() >= options.least_sigmas)
                && percent.is_none_or(|off| off.abs() >= options.least_percent)
                && !reaches(said, median);
            let outlier = Outlier { off_sigmas, off_percent: percent, ..self.outlier(said, value, median) };
            is_far.then_some((gpu, outlier))
        };
        Ok(self.known.iter().filter_map(far).collect())
    }

    /// Values that differ from that of the majority.
    fn others(&self, first: Option<(Same, usize)>, words: &Words) -> Result<Vec<(usize, Outlier)>, String> {
        if self.known.len() < FEWEST_VALUES {
            return Err(format!("fewer than {FEWEST_VALUES} GPUs have a value"));
        }
        let Some((majority, gpus)) = first.filter(|(_, gpus)| gpus * 2 > self.known.len()) else {
            return Err("no value has the majority".into());
        };
        let kind = self.entry.kind;
        let other = |&(gpu, said): &(usize, Short)| {
            let same = Same::of(said)?;
            if same == majority || majority.number().is_some_and(|number| reaches(said, number)) {
                return None;
            }
            let (value, expected) = (same.number().unwrap_or(f64::NAN), majority.number().unwrap_or(f64::NAN));
            let percent = off_percent(value, expected).filter(|off| !off.is_nan());
            let outlier = Outlier {
                value: same.value(kind, words),
                expected: majority.value(kind, words),
                majority: Some(gpus),
                off_percent: percent,
                ..self.outlier(said, value, expected)
            };
            Some((gpu, outlier))
        };
        Ok(self.known.iter().filter_map(other).collect())
    }

    fn outlier(&self, said: Short, value: f64, expected: f64) -> Outlier {
        let (low, high) = match said {
            Short::Number { low, high, .. } => (there(low), there(high)),
            _ => (None, None),
        };
        Outlier {
            place: self.entry.place.to_string(),
            value: number(self.entry.kind, value),
            unit: self.unit.map(str::to_owned),
            low,
            high,
            expected: number(self.entry.kind, expected),
            majority: None,
            known: self.known.len(),
            off_percent: None,
            off_sigmas: None,
        }
    }

    /// All values with their numbers of GPUs, the most frequent one first.
    fn values(&self, words: &Words) -> Vec<(Same, usize)> {
        let mut counts: HashMap<Same, usize> = HashMap::new();
        for same in self.known.iter().filter_map(|(_, said)| Same::of(*said)) {
            *counts.entry(same).or_default() += 1;
        }
        let mut counts: Vec<(Same, usize)> = counts.into_iter().collect();
        // Numbers of words depend on which file was read first, so their texts decide.
        counts.sort_by_cached_key(|(same, gpus)| (Reverse(*gpus), same.value(self.entry.kind, words).to_string()));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::super::places::TABLE;
    use super::*;
    use strata_model::attribute::Attribute;
    use strata_model::topology::ElementName;

    fn judged(attribute: Attribute, values: &[(f64, f64, f64)]) -> (Spread, Vec<(usize, Outlier)>) {
        let said = |&(value, low, high)| Short::Number { value, low, high, level: f32::NAN };
        let known = values.iter().map(said).enumerate().collect();
        let entry = TABLE.entry(TABLE.of(ElementName::L2, attribute)[0].1);
        Column { entry, unit: Some("x"), known, unknown: 1 }.judged(&Words::default(), &Options::default())
    }

    fn exact(values: &[f64]) -> Vec<(f64, f64, f64)> {
        values.iter().map(|value| (*value, f64::NAN, f64::NAN)).collect()
    }

    fn gpus(attribute: Attribute, values: &[f64]) -> Vec<usize> {
        judged(attribute, &exact(values)).1.iter().map(|(gpu, _)| *gpu).collect()
    }

    #[test]
    fn a_number_stands_out_by_both_measures() {
        let latency = Attribute::LatencyCycles;
        let (row, outliers) = judged(latency, &exact(&[100.0, 101.0, 99.0, 100.0, 102.0, 150.0]));
        assert_eq!((row.median, row.mad, row.least, row.greatest), (Some(100.5), Some(1.0), Some(99.0), Some(150.0)));
        let [(5, ref outlier)] = outliers[..] else { panic!("{outliers:?}") };
        assert_eq!(outlier.off_percent.map(f64::round), Some(49.0));
        assert_eq!(outlier.off_sigmas.map(f64::round), Some(33.0));
        // Many deviations, but few per cent; and the other way round.
        assert!(gpus(latency, &[100.0, 100.1, 99.9, 100.0, 100.1, 103.0]).is_empty());
        assert!(gpus(latency, &[100.0, 120.0, 80.0, 110.0, 90.0, 150.0]).is_empty());
        // All others are equal.
        assert!(gpus(latency, &[100.0, 100.0, 100.0, 100.0, 100.0, 104.0]).is_empty());
        assert_eq!(gpus(latency, &[100.0, 100.0, 100.0, 100.0, 94.0, 106.0]), [4, 5]);
        assert_eq!(gpus(latency, &[0.0, 0.0, 0.0, 0.0, 0.5]), [4]);
        // Too few.
        let (row, outliers) = judged(latency, &exact(&[100.0, 100.0, 100.0, 200.0]));
        assert!(outliers.is_empty() && row.not_judged.is_some());
    }

    #[test]
    fn an_interval_that_holds_the_median_does_not_stand_out() {
        let mut values = exact(&[100.0, 100.0, 100.0, 100.0, 150.0]);
        let stands_out = |values: &[(f64, f64, f64)]| judged(Attribute::LatencyCycles, values).1.len();
        assert_eq!(stands_out(&values), 1);
        for (low, high, count) in [(90.0, 160.0, 0), (140.0, 160.0, 1), (f64::NAN, 150.0, 0), (150.0, f64::NAN, 1)] {
            values[4] = (150.0, low, high);
            assert_eq!(stands_out(&values), count, "{low} {high}");
        }
    }

    #[test]
    fn what_is_built_is_held_against_the_majority() {
        let ways = Attribute::Ways;
        let (row, outliers) = judged(ways, &exact(&[16.0, 16.0, 15.0, 16.0]));
        assert_eq!(row.values[0], Common { value: Value::Count(16), gpus: 3 });
        let [(2, ref outlier)] = outliers[..] else { panic!("{outliers:?}") };
        assert_eq!((&outlier.expected, outlier.majority, outlier.known), (&Value::Count(16), Some(3), 4));
        assert_eq!((outlier.off_percent, outlier.off_sigmas), (Some(-6.25), None));
        assert!(gpus(ways, &[16.0, 16.0, 15.0, 15.0]).is_empty());
        assert!(gpus(ways, &[16.0, 15.0]).is_empty());
        // 15 or more is no other value.
        let mut values = exact(&[16.0, 16.0, 16.0]);
        values.push((15.0, 15.0, f64::NAN));
        assert_eq!(judged(ways, &values).1.len(), 0);
    }
}
