//! A result against a policy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strata_model::attribute::Value;

use super::make::{is_same, is_simulated, kind_words, subject_of};
use super::{Entry, Error, Limit, Policy};
use crate::compare::{Claim, Document, Place, Side, Stated, Statement};

/// Name and version of the JSON document.
pub const ACCEPTANCE: &str = "strata/acceptance/1";

/// Which results pass a policy. Within version 1 keys may be added; none goes away or changes its meaning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Acceptance {
    /// Name and version of the format.
    #[schemars(extend("const" = ACCEPTANCE))]
    pub schema: String,
    /// The policy.
    pub policy: PolicyFacts,
    /// Every result passes: exit status 0.
    pub passes: bool,
    /// Each result, in the order in which they were given.
    pub results: Vec<Checked>,
}

/// Which policy it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyFacts {
    /// Its file.
    pub file: String,
    /// The product that it is for.
    pub product: String,
    /// How many results it was made from.
    pub made_from: usize,
    /// How many limits it has.
    pub limits: usize,
}

/// One result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// The result.
    pub result: Side,
    /// Nothing is outside its limits, and what is required is known.
    pub passes: bool,
    /// What is outside its limits: what is not a number first, then the furthest beyond.
    pub outside: Vec<Judged>,
    /// What is required and unknown.
    pub unmet: Vec<Unanswered>,
    /// What is unknown and may be.
    pub unknown: Vec<Unanswered>,
    /// What is within its limits.
    pub within: Vec<Judged>,
}

/// A value beside its limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// Subject and name, such as `l2 latency.cycles`.
    pub place: String,
    /// What the result says.
    pub stated: Stated,
    /// Least value that is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Greatest value that is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The only value that is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub equals: Option<Value>,
    /// How far it lies beyond the limit, in per cent of the larger of the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond_percent: Option<f64>,
    /// Why it is outside, where no number says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// A value that is unknown, or of which only a bound is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unanswered {
    /// Subject and name.
    pub place: String,
    /// Why.
    pub reason: String,
}

/// What came of a limit.
enum Outcome {
    Within(Judged),
    Outside(Judged),
    Unknown(String),
}

impl Policy {
    /// Holds results against the limits, each with its name.
    ///
    /// # Errors
    ///
    /// The first result of another product or of another kind, or simulated where the policy is not: such a result can neither
    /// pass nor fail.
    pub fn check(&self, results: &[(Document, String)]) -> Result<Acceptance, Error> {
        let results: Vec<Checked> =
            results.iter().map(|(document, name)| self.checked(document, name)).collect::<Result<_, _>>()?;
        Ok(Acceptance {
            schema: ACCEPTANCE.into(),
            policy: self.facts(),
            passes: results.iter().all(|checked| checked.passes),
            results,
        })
    }

    /// Which policy it is.
    pub fn facts(&self) -> PolicyFacts {
        PolicyFacts {
            file: self.name.clone(),
            product: self.product.clone(),
            made_from: self.made_from.len(),
            limits: self.entries.len(),
        }
    }

    /// Holds one result against the limits.
    ///
    /// # Errors
    ///
    /// As [`Policy::check`].
    pub(crate) fn checked(&self, document: &Document, name: &str) -> Result<Checked, Error> {
        self.fits(document, name)?;
        let statement = document.statement(name);
        let (mut outside, mut unmet, mut unknown, mut within) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (place, entry) in &self.entries {
            match judge(place, entry, &statement) {
                Outcome::Within(judged) => within.push(judged),
                Outcome::Outside(judged) => outside.push(judged),
                Outcome::Unknown(reason) => {
                    let unanswered = Unanswered { place: place.to_string(), reason };
                    if entry.required { unmet.push(unanswered) } else { unknown.push(unanswered) }
                }
            }
        }
        let beyond = |judged: &Judged| judged.beyond_percent.unwrap_or(f64::INFINITY);
        outside.sort_by(|a, b| beyond(b).total_cmp(&beyond(a)));
        let passes = outside.is_empty() && unmet.is_empty();
        Ok(Checked { result: statement.side, passes, outside, unmet, unknown, within })
    }

    fn fits(&self, document: &Document, name: &str) -> Result<(), Error> {
        let (policy, of) = (&self.name, subject_of(document));
        let simulated = |simulated: bool| if simulated { "a simulated machine" } else { "a real GPU" };
        Err(Error::Unfit(if document.kind() != self.kind {
            let (is, wanted) = (kind_words(document.kind()), kind_words(self.kind));
            format!("`{name}` is {is}, and `{policy}` is for {wanted}; give a result of that kind")
        } else if of != self.subject() {
            format!("`{name}` is of {of}, and `{policy}` is for {}; give the policy for it", self.subject())
        } else if is_simulated(document) != self.simulated {
            let (is, wanted) = (simulated(is_simulated(document)), simulated(self.simulated));
            format!("`{name}` is of {is}, and `{policy}` is for {wanted}; measure the GPU that you want to accept")
        } else {
            return Ok(());
        }))
    }
}

fn judge(place: &Place, entry: &Entry, statement: &Statement) -> Outcome {
    let claims = statement.claims.get(place).into_iter().flatten();
    let stated = claims.into_iter().find_map(|claim| match claim {
        Claim::Known { stated, .. } => Some(stated),
        Claim::Unknown(_) => None,
    });
    let Some(stated) = stated else { return Outcome::Unknown(statement.silence(place).to_owned()) };
    let (low, high) = match &entry.limit {
        Limit::Range { low, high } => (*low, *high),
        Limit::Near { value, percent } => {
            let reach = value.abs() * percent / 100.0;
            (Some(value - reach), Some(value + reach))
        }
        Limit::Equals(_) => (None, None),
    };
    let equals = if let Limit::Equals(value) = &entry.limit { Some(value.clone()) } else { None };
    let mut judged = Judged {
        place: place.to_string(),
        stated: (**stated).clone(),
        low,
        high,
        equals,
        beyond_percent: None,
        because: None,
    };
    if entry.unit.is_some() && stated.unit != entry.unit {
        let unit = |unit: &Option<String>| unit.clone().unwrap_or_else(|| "no unit".into());
        judged.because = Some(format!("different units: {} and {}", unit(&stated.unit), unit(&entry.unit)));
        return Outcome::Outside(judged);
    }
    match (&stated.value, &entry.limit) {
        (Some(value), Limit::Equals(equals)) if is_same(value, equals) => Outcome::Within(judged),
        (Some(_), Limit::Equals(_)) => {
            judged.because = Some("not equal".into());
            Outcome::Outside(judged)
        }
        (Some(value), _) => match value.number() {
            // Beside a value whose interval reaches the limits, the next one may be within them.
            Some(_) if reaches(&judged) => Outcome::Within(judged),
            Some(number) => within(judged, number, number),
            None => {
                judged.because = Some("not a number".into());
                Outcome::Outside(judged)
            }
        },
        // A bound may exclude the limits, but cannot show that they are kept.
        (None, Limit::Equals(equals)) => match equals.number() {
            Some(number) => bound(judged, Some(number), Some(number)),
            None => Outcome::Unknown("only a bound of it is known".into()),
        },
        (None, _) => bound(judged, low, high),
    }
}

/// A number from `least` to `greatest`, against the limits.
fn within(mut judged: Judged, least: f64, greatest: f64) -> Outcome {
    let below = judged.low.filter(|low| greatest < *low).map(|low| (greatest, low));
    let above = judged.high.filter(|high| least > *high).map(|high| (least, high));
    let Some((number, limit)) = below.or(above) else { return Outcome::Within(judged) };
    let scale = number.abs().max(limit.abs()).max(f64::MIN_POSITIVE);
    judged.beyond_percent = Some((number - limit).abs() / scale * 100.0);
    Outcome::Outside(judged)
}

/// Whether the interval of a value and the limits have a number in common.
fn reaches(judged: &Judged) -> bool {
    let Stated { low, high, .. } = judged.stated;
    // An interval with one end is open.
    (low.is_some() || high.is_some())
        && judged.low.zip(high).is_none_or(|(least, high)| high >= least)
        && judged.high.zip(low).is_none_or(|(most, low)| low <= most)
}

/// A value of which only bounds are known.
fn bound(judged: Judged, low: Option<f64>, high: Option<f64>) -> Outcome {
    let least = judged.stated.low.unwrap_or(f64::NEG_INFINITY);
    let greatest = judged.stated.high.unwrap_or(f64::INFINITY);
    match within(Judged { low, high, ..judged }, least, greatest) {
        Outcome::Outside(judged) => Outcome::Outside(judged),
        _ => Outcome::Unknown("only a bound of it is known".into()),
    }
}
