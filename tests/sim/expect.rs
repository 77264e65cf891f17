//! What a finding must be, and whether it is.

use gpu_strata::topology::{ElementName, Finding, Topology};
use serde_json::{Value, json};

/// What a finding must be.
#[derive(Clone, Debug)]
pub enum Expect {
    /// This, exactly.
    Is(Value),
    /// This number, no further off than the second.
    Near(f64, f64),
    /// A number from the first to the second.
    Within(f64, f64),
    /// These names; one that is left out must be said to be undecided.
    Names(Vec<&'static str>),
    /// Unknown, for a reason that contains this.
    Unknown(&'static str),
}

/// One attribute of one element and what it must be.
#[derive(Clone, Debug)]
pub struct Row {
    pub element: ElementName,
    pub attribute: &'static str,
    pub expect: Expect,
}

/// How a finding stands to what it must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// As it must be.
    Right,
    /// Not the value, but its interval covers it.
    Covered,
    /// Not the value, and the interval misses it by this many times its width.
    Missed(f64),
    /// Unknown with a reason, where there is something to know.
    Unanswered(String),
    /// Wrong, and how.
    Wrong(String),
}

impl Expect {
    /// What it is for people.
    pub fn shown(&self) -> String {
        match self {
            Expect::Is(value) => value.to_string().replace('"', ""),
            Expect::Near(value, _) => format!("{}", (value * 100.0).round() / 100.0),
            Expect::Within(low, high) if low == high => format!("{low}"),
            Expect::Within(low, high) => format!("{low} to {high}"),
            Expect::Names(names) => json!(names).to_string().replace('"', ""),
            Expect::Unknown(part) => format!("unknown ({part})"),
        }
    }

    /// The number that an interval should cover.
    fn number(&self) -> Option<(f64, f64)> {
        match self {
            Expect::Near(value, _) => Some((*value, *value)),
            Expect::Within(low, high) => Some((*low, *high)),
            _ => None,
        }
    }

    /// Holds a finding against this.
    pub fn judge(&self, finding: &Finding) -> Verdict {
        let reason = finding.reason.clone().unwrap_or_default();
        let wrong = |what: String| Verdict::Wrong(what);
        if finding.failed {
            return wrong(format!("failed: {reason}"));
        }
        match self {
            Expect::Unknown(part) if finding.is_known() => wrong(format!("{}, to be unknown: {part}", finding.value)),
            Expect::Unknown(part) if reason.contains(part) => Verdict::Right,
            Expect::Unknown(part) => wrong(format!("unknown because `{reason}`, not because of `{part}`")),
            _ if !finding.is_known() && reason.is_empty() => wrong("unknown without a reason".into()),
            _ if !finding.is_known() => Verdict::Unanswered(reason),
            Expect::Is(value) if *value == finding.value => Verdict::Right,
            Expect::Near(value, off) if finding.number().is_some_and(|n| (n - value).abs() <= *off) => Verdict::Right,
            Expect::Within(low, high) if finding.number().is_some_and(|n| (*low..=*high).contains(&n)) => {
                Verdict::Right
            }
            Expect::Names(names) => {
                let found: Vec<&str> =
                    finding.value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                let undecided = |name| finding.note.as_ref().is_some_and(|note| note.contains(&format!("{name}: ")));
                let right = found.iter().all(|name| names.contains(name))
                    && names.iter().all(|name| found.contains(name) || undecided(name));
                if right { Verdict::Right } else { wrong(format!("{}, not {names:?}", finding.value)) }
            }
            other => match (other.number(), finding.low.zip(finding.high)) {
                (Some((least, most)), Some((low, high))) if low <= most && high >= least => Verdict::Covered,
                (Some((least, most)), Some((low, high))) => {
                    let off = (low - most).max(least - high);
                    Verdict::Missed(if high > low { off / (high - low) } else { f64::INFINITY })
                }
                _ => wrong(format!("{}, not {}", finding.value, other.shown())),
            },
        }
    }
}

/// Each row with the verdict on its finding.
pub fn judge<'r>(topology: &Topology, rows: &'r [Row]) -> Vec<(&'r Row, Verdict)> {
    rows.iter().map(|row| (row, row.expect.judge(super::finding(topology, row.element, row.attribute)))).collect()
}
