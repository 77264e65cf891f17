//! What a finding must be, and whether it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use strata_model::attribute::{Effect, FetchRow, Fetches, Hints, Launches as LaunchesFound};
use strata_model::experiment::Access;
use strata_model::topology::{ElementName, Finding, Topology};
use strata_model::units::Bytes;

use crate::truth::launches::Launches;

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
    /// This object, or these numbers, each no further off than the second.
    Like(Value, f64),
    /// An object of which these are among the parts, each no further off than the second, or null.
    Parts(Value, f64),
    /// A latency spectrum, each of whose patterns (path, data and translation) takes this long, from the first to the second.
    Patterns(BTreeMap<String, (f64, f64)>),
    /// Sizes by launch, each row of which is so.
    Launches(Launches),
    /// Where each SM is, in this order: those that are said to be together are together, and no others. What is not said of an SM is null or
    /// left out.
    Places(Vec<Value>),
    /// What becomes of the lines of each access that is listed.
    Effects(BTreeMap<Access, Effect>),
    /// No bytes but these are fetched for each access; some may be left out.
    Fetched(BTreeMap<Access, u64>),
    /// That, or unknown for a reason: whether it shows depends on the draw.
    IfStated(Box<Expect>),
}

/// One attribute of one element and what it must be.
#[derive(Clone, Debug)]
pub struct Row {
    /// The element.
    pub element: ElementName,
    /// The attribute's key.
    pub attribute: &'static str,
    /// What its finding must be.
    pub expect: Expect,
}

/// How a finding stands to what it must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Verdict {
    /// As it must be.
    Right,
    /// Not the value, but its interval covers it.
    Covered,
    /// Not the value, and the interval misses it by this many times its width, which is not zero.
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
            Expect::Unknown("") => "unknown".into(),
            Expect::Unknown(part) => format!("unknown ({part})"),
            Expect::Like(value, _) | Expect::Parts(value, _) => value.to_string().replace('"', ""),
            Expect::Patterns(patterns) => {
                let all: Vec<String> = patterns.iter().map(|(name, (low, high))| pattern(name, *low, *high)).collect();
                all.join(", ")
            }
            Expect::Launches(truth) => {
                let shown = truth.divisions.iter().map(|(aside, least, most)| match least == most {
                    true => format!("{}: {}", Bytes(*aside), Bytes(*least)),
                    false => format!("{}: {} to {}", Bytes(*aside), Bytes(*least), Bytes(*most)),
                });
                format!("beside {}", shown.collect::<Vec<_>>().join(", "))
            }
            Expect::Places(places) => json!(places).to_string().replace('"', ""),
            Expect::Effects(effects) => {
                effects.iter().map(|(access, effect)| format!("{access} {effect}")).collect::<Vec<_>>().join("; ")
            }
            Expect::Fetched(bytes) => bytes
                .iter()
                .map(|(access, &bytes)| format!("{access}: {}", Bytes(bytes)))
                .collect::<Vec<_>>()
                .join("; "),
            Expect::IfStated(expect) => expect.shown(),
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

    /// What is wrong with the bounds of an unknown, if anything is: they are statements, too.
    fn contradicted(&self, finding: &Finding) -> Option<String> {
        let (least, most) = match self {
            Expect::Is(value) => value.as_f64().map(|value| (value, value))?,
            Expect::IfStated(expect) => return expect.contradicted(finding),
            other => other.number()?,
        };
        match (finding.low, finding.high) {
            _ if finding.is_known() => None,
            (Some(low), _) if low > most => Some(format!("unknown, but at least {low}")),
            (_, Some(high)) if high < least => Some(format!("unknown, but at most {high}")),
            _ => None,
        }
    }

    /// Holds a finding against this.
    pub fn judge(&self, finding: &Finding) -> Verdict {
        let reason = finding.reason.clone().unwrap_or_default();
        let found_value = crate::json(finding);
        let wrong = |what: String| Verdict::Wrong(what);
        if finding.failed {
            return wrong(format!("failed: {reason}"));
        }
        if let Some(what) = self.contradicted(finding) {
            return wrong(format!("{what}: {reason}"));
        }
        match self {
            Expect::IfStated(_) if !finding.is_known() && !reason.is_empty() => Verdict::Right,
            Expect::IfStated(expect) => expect.judge(finding),
            Expect::Unknown(part) if finding.is_known() => wrong(format!("{}, to be unknown: {part}", found_value)),
            Expect::Unknown(part) if reason.contains(part) => Verdict::Right,
            _ if !finding.is_known() && reason.is_empty() => wrong("unknown without a reason".into()),
            // Noise may be in the way before the reason that is expected.
            _ if !finding.is_known() => Verdict::Unanswered(reason),
            Expect::Is(value) if *value == found_value => Verdict::Right,
            // A number that is given with a bound or an interval is not stated exactly.
            Expect::Is(value)
                if value.as_f64().is_some_and(|value| {
                    let (low, high) = (finding.low.unwrap_or(value), finding.high.unwrap_or(value));
                    let stated = finding.low.is_some() || finding.high.is_some();
                    finding.number().is_some() && stated && (low..=high).contains(&value)
                }) =>
            {
                Verdict::Covered
            }
            // One number for sets of which not all were seen: those may hold more, so there is no upper end.
            Expect::Is(Value::Array(ways))
                if finding.high.is_none()
                    && found_value.is_u64()
                    && (ways.iter().filter(|w| **w == found_value).count() * 2 > ways.len()
                        || ways.iter().all(|w| w.as_f64() >= finding.low.or(Some(f64::INFINITY)))) =>
            {
                Verdict::Covered
            }
            Expect::Like(value, off) if alike(value, &found_value, *off) => Verdict::Right,
            Expect::Like(value, _) => wrong(format!("{}, not {value}", found_value)),
            Expect::Parts(parts, off) => {
                // The interval of a configuration is that of its size.
                let covers =
                    |size: f64| finding.low.zip(finding.high).is_some_and(|(low, high)| (low..=high).contains(&size));
                let part = |(key, a): (&String, &Value)| {
                    let covered = key == "size" && a.as_f64().is_some_and(covers);
                    covered || found_value.get(key).is_some_and(|b| b.is_null() || alike(a, b, *off))
                };
                let right = parts.as_object().is_some_and(|parts| parts.iter().all(part));
                if right { Verdict::Right } else { wrong(format!("{}, not {parts}", found_value)) }
            }
            Expect::Patterns(patterns) => {
                let rows = found_value.as_array().map_or(&[][..], Vec::as_slice);
                let off: Vec<String> = rows
                    .iter()
                    .filter_map(|row| {
                        let (name, cycles) = (pattern_name(row), row["cycles"].as_f64().unwrap_or(f64::NAN));
                        // Each row has an interval of its own.
                        let end = |end: &str| row[end].as_f64().unwrap_or(cycles);
                        let (from, to) = (end("low").min(cycles), end("high").max(cycles));
                        let right = patterns.get(&name).is_some_and(|(low, high)| from <= *high && to >= *low);
                        (!right).then(|| format!("{name}: {cycles} [{from} to {to}], not {:?}", patterns.get(&name)))
                    })
                    .collect();
                if off.is_empty() && !rows.is_empty() { Verdict::Right } else { wrong(off.join("; ")) }
            }
            Expect::Launches(truth) => {
                let Some(LaunchesFound(rows)) = finding.get() else { return wrong("no list".into()) };
                let off: Vec<String> = rows.iter().filter_map(|row| truth.wrong(row)).collect();
                if off.is_empty() && !rows.is_empty() { Verdict::Right } else { wrong(off.join("; ")) }
            }
            Expect::Places(places) => {
                let found = found_value.as_array().map_or(&[][..], Vec::as_slice);
                if found.iter().all(|place| place["gpc"].is_null()) {
                    return Verdict::Unanswered("the map names no GPC".into());
                }
                let off = misplaced(places, found);
                if off.is_empty() { Verdict::Right } else { wrong(off.join("; ")) }
            }
            Expect::Effects(effects) => {
                let Some(Hints(rows)) = finding.get() else { return wrong("no list".into()) };
                let off = rows.iter().filter(|row| effects.get(&row.access) != Some(&row.effect));
                let off: Vec<String> = off.map(|row| format!("{} {}", row.access, row.effect)).collect();
                if off.is_empty() { Verdict::Right } else { wrong(off.join("; ")) }
            }
            Expect::Fetched(bytes) => {
                let Some(Fetches(rows)) = finding.get() else { return wrong("no list".into()) };
                let is = |row: &FetchRow| {
                    bytes.get(&row.access).is_some_and(|&bytes| row.bytes.0 == bytes && row.most.0 == bytes)
                };
                let off: Vec<String> = rows.iter().filter(|row| !is(row)).map(FetchRow::to_string).collect();
                if off.is_empty() { Verdict::Right } else { wrong(off.join("; ")) }
            }
            Expect::Near(value, off) if finding.number().is_some_and(|n| (n - value).abs() <= *off) => Verdict::Right,
            Expect::Within(low, high) if finding.number().is_some_and(|n| (*low..=*high).contains(&n)) => {
                Verdict::Right
            }
            Expect::Names(names) => {
                let found: Vec<&str> = found_value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                let undecided = |name| finding.note.as_ref().is_some_and(|note| note.contains(&format!("{name}: ")));
                let right = found.iter().all(|name| names.contains(name))
                    && names.iter().all(|name| found.contains(name) || undecided(name));
                if right { Verdict::Right } else { wrong(format!("{}, not {names:?}", found_value)) }
            }
            other => match (other.number(), finding.low.zip(finding.high)) {
                (Some((least, most)), Some((low, high))) if low <= most && high >= least => Verdict::Covered,
                (Some((least, most)), Some((low, high))) if high > low => {
                    Verdict::Missed((low - most).max(least - high) / (high - low))
                }
                _ => wrong(format!("{}, not {}", found_value, other.shown())),
            },
        }
    }
}

/// What is wrong with where SMs are said to be. Which number a GPC or a partition has does not matter.
fn misplaced(truth: &[Value], found: &[Value]) -> Vec<String> {
    let sms = |places: &[Value]| places.iter().map(|place| place["sm"].clone()).collect::<Vec<_>>();
    if sms(truth) != sms(found) {
        return vec!["not all SMs".into()];
    }
    let of = |key: &'static str| {
        let said: Vec<(String, String)> = truth
            .iter()
            .zip(found)
            .filter(|(_, found)| !found[key].is_null())
            .map(|(truth, found)| (truth[key].to_string(), found[key].to_string()))
            .collect();
        let differs = |a: &(String, String)| said.iter().any(|b| (a.0 == b.0) != (a.1 == b.1));
        said.iter()
            .find(|one| differs(one))
            .map(|(truth, found)| format!("{key} {found} is not {truth} of the machine"))
    };
    ["partition", "tpc", "gpc"].into_iter().filter_map(of).collect()
}

/// A pattern by what it meets: `cg: l2, hit`.
pub fn pattern_name(row: &Value) -> String {
    let word = |key: &str| row[key].as_str().unwrap_or("?").to_owned();
    format!("{}: {}, {}", word("path"), word("data"), word("translation"))
}

/// A pattern with its latency, for people.
pub fn pattern(name: &str, low: f64, high: f64) -> String {
    if high - low <= 3.0 {
        format!("{name} {:.0}", low.midpoint(high))
    } else {
        format!("{name} {low:.0} to {high:.0}")
    }
}

/// What a value says of how it was found: a machine has no such thing.
const OF_THE_RUN: &str = "counted";

/// Whether two values are equal but for numbers, which may be so far off.
fn alike(a: &Value, b: &Value, off: f64) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b, off)),
        (Value::Object(a), Value::Object(b)) => {
            let of_the_machine = b.keys().filter(|key| *key != OF_THE_RUN).count();
            a.len() == of_the_machine && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| alike(a, b, off)))
        }
        (Value::Number(a), Value::Number(b)) => a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| (a - b).abs() <= off),
        _ => a == b,
    }
}

/// Each row with the verdict on its finding.
pub fn judge<'r>(topology: &Topology, rows: &'r [Row]) -> Vec<(&'r Row, Verdict)> {
    rows.iter().map(|row| (row, row.expect.judge(crate::finding(topology, row.element, row.attribute)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_model::units::Cycles;

    #[test]
    fn sms_are_where_they_are_said_to_be_whatever_the_numbers() {
        let truth = [0, 0, 1, 1].iter().enumerate().map(|(sm, gpc)| json!({ "sm": sm, "tpc": sm / 2, "gpc": gpc }));
        let truth: Vec<Value> = truth.collect();
        let found = |gpcs: [Option<u32>; 4]| {
            let places = gpcs.iter().enumerate().map(|(sm, gpc)| json!({ "sm": sm, "gpc": gpc }));
            misplaced(&truth, &places.collect::<Vec<_>>())
        };
        assert!(found([Some(7), Some(7), Some(0), Some(0)]).is_empty());
        assert!(found([None, Some(7), Some(0), None]).is_empty());
        assert_eq!(found([Some(7), Some(7), Some(7), None]), ["gpc 7 is not 0 of the machine"]);
        assert_eq!(found([Some(7), Some(8), Some(0), Some(0)]).len(), 1);
        assert_eq!(misplaced(&truth, &[]), ["not all SMs"]);
    }

    #[test]
    fn a_missed_interval_can_be_kept_and_read_again() {
        let found = |low, high| Finding::measured(Cycles(100.0), "a chase").range(low, high);
        let judged = |finding: Finding<Cycles>| Expect::Near(50.0, 1.0).judge(&finding.any());
        let narrow = judged(found(100.0, 100.0));
        assert_eq!(narrow, Verdict::Wrong("100.0, not 50".into()));
        let missed = judged(found(90.0, 110.0));
        assert_eq!(missed, Verdict::Missed(2.0));
        for verdict in [narrow, missed] {
            let kept = serde_json::to_string(&verdict).unwrap();
            assert_eq!(serde_json::from_str::<Verdict>(&kept).unwrap(), verdict);
        }
    }
}
