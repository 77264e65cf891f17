//! The file of a policy: its keys, and what is checked of them.

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;
use std::path::Path as FilePath;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::Value as Json;
use strata_model::attribute::{Compared, Path, Value};
use strata_model::characterization::PartName;
use strata_model::locate::Defect;
use strata_model::topology::ElementName;
use toml::Spanned;

use super::{Entry, Error, Limit, Origin, Policy, SCHEMA};
use crate::compare::{Choice, Kind, Place};

/// Longest file that is read: one of every attribute of a discovery has some twenty thousand bytes.
const LONGEST: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: Spanned<String>,
    product: String,
    linked_to: Option<String>,
    kind: Spanned<Kind>,
    #[serde(default)]
    simulated: bool,
    #[serde(default)]
    made_from: Vec<Origin>,
    limits: Spanned<BTreeMap<Spanned<String>, Row>>,
}

/// One limit, as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    low: Option<f64>,
    high: Option<f64>,
    equals: Option<Json>,
    tolerance: Option<f64>,
    unit: Option<String>,
    /// A value that nobody knows cannot pass, unless the file says that it may.
    #[serde(default = "yes")]
    required: bool,
}

fn yes() -> bool {
    true
}

impl Policy {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is too long, or is no policy.
    pub fn read(path: &FilePath) -> Result<Policy, Error> {
        let name = path.display().to_string();
        let defect = |what: String| Defect::of_file(&name, what);
        let file = strata_files::open(path).map_err(|error| {
            defect(format!("cannot be opened: {error}; `strata compare --write-policy FILE` makes one"))
        })?;
        let mut text = String::new();
        let read = file.take(LONGEST + 1).read_to_string(&mut text);
        read.map_err(|error| defect(format!("cannot be read: {error}; give a file of `--write-policy`")))?;
        if text.len() as u64 > LONGEST {
            return Err(defect(format!("longer than {LONGEST} bytes; a policy is shorter")).into());
        }
        Policy::parse(&name, &text)
    }

    /// Reads a text; `name` is its file's, for errors.
    ///
    /// # Errors
    ///
    /// The first key that is unknown, missing or wrong, with its line.
    pub fn parse(name: &str, text: &str) -> Result<Policy, Error> {
        let at = |span: Range<usize>, what: &str| Error::from(Defect::at(name, text, Some(span), what));
        let file: File = toml::from_str(text).map_err(|e| Defect::at(name, text, e.span(), e.message()))?;
        if file.schema.get_ref() != SCHEMA {
            let what =
                format!("`{}` is not a schema that this version reads; it reads {SCHEMA}", file.schema.get_ref());
            return Err(at(file.schema.span(), &what));
        }
        let kind = *file.kind.get_ref();
        if !matches!(kind, Kind::Topology | Kind::Characterization) {
            return Err(at(file.kind.span(), "a policy is for `topology` or `characterization`"));
        }
        if file.limits.get_ref().is_empty() {
            return Err(at(
                file.limits.span(),
                "without a limit everything would pass; add one, such as [limits.\"l1.size\"]",
            ));
        }
        let mut entries = BTreeMap::new();
        for (key, row) in file.limits.into_inner() {
            let wrong = |what: String| at(key.span(), &what);
            let (place, path) = place(kind, key.get_ref()).map_err(wrong)?;
            entries.insert(place, row.entry(path).map_err(wrong)?);
        }
        Ok(Policy {
            name: name.to_owned(),
            product: file.product,
            linked_to: file.linked_to,
            kind,
            simulated: file.simulated,
            made_from: file.made_from,
            entries,
            left_out: Vec::new(),
        })
    }
}

/// What a key names: an attribute of an element by the registry, or whatever a part may find.
fn place(kind: Kind, key: &str) -> Result<(Place, Option<Path>), String> {
    // Its message names what is near.
    let _: Choice = key.parse()?;
    let (subject, name) =
        key.split_once('.').ok_or_else(|| format!("`{key}` names no attribute; write `{key}.size`"))?;
    if kind == Kind::Characterization {
        let part = PartName::from_str(subject).map_err(|_| {
            format!("`{subject}` is no part of a characterization, and this policy is for characterizations")
        })?;
        return Ok((Place::of_part(part, name), None));
    }
    let element = ElementName::from_str(subject)
        .map_err(|_| format!("`{subject}` is no element of a discovery, and this policy is for discoveries"))?;
    let path: Path =
        name.parse().map_err(|error: String| format!("{error}; write one attribute, such as latency.cycles"))?;
    match path.kind().compared() {
        Compared::Points => Err(format!("`{name}` is {}, for which a policy has no limits", path.kind().words())),
        Compared::Parts => Err(format!("`{name}` has parts; write one of them, such as {name}.size")),
        Compared::Interval | Compared::Exact | Compared::Set => Ok((Place::of_element(element, path), Some(path))),
    }
}

impl Row {
    fn entry(self, path: Option<Path>) -> Result<Entry, String> {
        let Row { low, high, equals, tolerance, unit, required } = self;
        let finite = [low, high, tolerance].into_iter().flatten().all(f64::is_finite);
        if !finite {
            return Err("low, high and tolerance must be finite numbers".into());
        }
        if let (Some(of_kind), Some(unit)) = (path.and_then(|path| path.kind().unit()), &unit)
            && of_kind != unit
        {
            return Err(format!("the unit is {of_kind}, not {unit}; convert the limits"));
        }
        let unit = unit.or_else(|| path.and_then(|path| path.kind().unit()).map(str::to_owned));
        let limit = match (low.is_some() || high.is_some(), equals, tolerance) {
            (true, None, None) => range(low, high, path)?,
            (false, Some(json), None) => Limit::Equals(value(json, path, unit.as_deref())?),
            (false, Some(json), Some(percent)) => near(json, percent)?,
            (false, None, Some(_)) => return Err("a tolerance needs a value: add `equals`".into()),
            (false, None, None) => return Err("no limit; add `low`, `high` or `equals`".into()),
            (true, ..) => return Err("`low` and `high` exclude `equals` and `tolerance`; take one pair away".into()),
        };
        Ok(Entry { limit, unit, required, comment: None })
    }
}

fn range(low: Option<f64>, high: Option<f64>, path: Option<Path>) -> Result<Limit, String> {
    if low.zip(high).is_some_and(|(low, high)| low > high) {
        return Err("low is greater than high, so nothing would pass".into());
    }
    match path {
        Some(path) if path.kind().compared() != Compared::Interval => {
            Err(format!("it is {}, which has no low and high; write `equals`", path.kind().words()))
        }
        _ => Ok(Limit::Range { low, high }),
    }
}

fn value(json: Json, path: Option<Path>, unit: Option<&str>) -> Result<Value, String> {
    match path {
        Some(path) => path.kind().read(json).map_err(|error| format!("equals: {error}")),
        None => Value::of_unit(json, unit).map_err(|error| format!("equals: {error}")),
    }
}

fn near(json: Json, percent: f64) -> Result<Limit, String> {
    let value = json.as_f64().ok_or("a tolerance is for numbers alone; take it away, or write a number as `equals`")?;
    match (0.0..=100.0).contains(&percent) {
        true => Ok(Limit::Near { value, percent }),
        false => Err("the tolerance must be from 0 to 100 (per cent)".into()),
    }
}
