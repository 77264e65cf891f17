//! A policy as the text of its file.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value};

use super::{ENOUGH, Entry, Limit, Origin, Policy, SCHEMA};
use crate::compare::{Kind, Place};
use crate::report::toml_comment;

/// Greatest number up to which every whole number is a float.
const WHOLE: f64 = 9_007_199_254_740_992.0;

impl Policy {
    /// The text of its file; [`Policy::parse`] reads it.
    pub fn toml(&self) -> String {
        let mut document = DocumentMut::new();
        document["schema"] = SCHEMA.into();
        document["product"] = self.product.as_str().into();
        if let Some(to) = &self.linked_to {
            document["linked_to"] = to.as_str().into();
        }
        document["kind"] = match self.kind {
            Kind::Characterization => "characterization",
            _ => "topology",
        }
        .into();
        if self.simulated {
            document["simulated"] = true.into();
        }
        if !self.made_from.is_empty() {
            document["made_from"] = Item::ArrayOfTables(self.made_from.iter().map(origin).collect::<ArrayOfTables>());
        }
        let mut limits = Table::new();
        limits.set_implicit(true);
        for (place, entry) in &self.entries {
            limits.insert(&place.path(), Item::Table(table(entry)));
        }
        document["limits"] = Item::Table(limits);
        self.head() + &document.to_string() + &self.tail()
    }

    /// What the file is and how to read it.
    fn head(&self) -> String {
        let gpus: BTreeSet<&str> = self.made_from.iter().filter_map(|origin| origin.uuid.as_deref()).collect();
        let of = match gpus.len() {
            0 => String::new(),
            1 => " of 1 GPU".to_owned(),
            many => format!(" of {many} GPUs"),
        };
        let mut lines = vec![
            format!("Limits for {}, made by strata {} from {} results{of}.", self.subject(), env!("CARGO_PKG_VERSION"), self.made_from.len()),
            "A number passes if its value lies from low to high. The limits are those of the next good result (99.9 % prediction \
             interval of normal values), and at least what the good results and their intervals cover and 1 % more \
             (docs/methods/acceptance.md). A value that is counted or built must be equal."
                .to_owned(),
            "A required value that is unknown fails. You may edit all of it: low, high, equals, tolerance (per cent, beside \
             equals), unit, required."
                .to_owned(),
        ];
        if self.made_from.len() < ENOUGH {
            lines.push(format!(
                "Fewer than {ENOUGH} results say little of the spread, so limits of what varies are wide."
            ));
        }
        lines.iter().map(|line| toml_comment(line)).collect::<String>() + "\n"
    }

    /// What has no limit, by reason.
    fn tail(&self) -> String {
        let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (reason, place) in &self.left_out {
            reasons.entry(reason).or_default().push(Place::path(place));
        }
        let line = |(reason, places): (&str, Vec<String>)| toml_comment(&format!("{reason}: {}", places.join(", ")));
        let lines: String = reasons.into_iter().map(line).collect();
        if lines.is_empty() { lines } else { format!("\n# Left out:\n{lines}") }
    }
}

fn origin(origin: &Origin) -> Table {
    let Origin { file, uuid, peer, date, seed, effort, strata } = origin;
    let mut table = Table::new();
    table["file"] = file.as_str().into();
    for (key, uuid) in [("uuid", uuid), ("peer", peer)] {
        if let Some(uuid) = uuid {
            table[key] = uuid.as_str().into();
        }
    }
    table["date"] = date.as_str().into();
    // A seed beyond the integers of TOML is rare, and nothing is computed from it here.
    table["seed"] = i64::try_from(*seed).unwrap_or(i64::MAX).into();
    table["effort"] = effort.as_str().into();
    table["strata"] = strata.as_str().into();
    table
}

fn table(entry: &Entry) -> Table {
    let mut table = Table::new();
    let comment = entry.comment.as_ref().map_or(String::new(), |comment| toml_comment(comment));
    table.decor_mut().set_prefix(format!("\n{comment}"));
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            table.insert(key, Item::Value(value));
        }
    };
    match &entry.limit {
        Limit::Range { low, high } => {
            put("low", low.map(number));
            put("high", high.map(number));
        }
        Limit::Equals(value) => put("equals", serde_json::to_value(value).ok().and_then(|json| toml(&json))),
        Limit::Near { value, percent } => {
            put("equals", Some(number(*value)));
            put("tolerance", Some(number(*percent)));
        }
    }
    put("unit", entry.unit.as_deref().map(Value::from));
    put("required", Some(entry.required.into()));
    table
}

/// A whole number without a point.
fn number(x: f64) -> Value {
    if x.fract() == 0.0 && x.abs() < WHOLE { (x as i64).into() } else { x.into() }
}

/// The same in TOML; `None` for null, which TOML does not have.
fn toml(json: &Json) -> Option<Value> {
    Some(match json {
        Json::Null => return None,
        Json::Bool(flag) => (*flag).into(),
        Json::Number(of) => of.as_i64().map(Value::from).or_else(|| of.as_f64().map(number))?,
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => items.iter().filter_map(toml).collect::<Array>().into(),
        Json::Object(fields) => {
            let fields = fields.iter().filter_map(|(key, value)| Some((key.as_str(), toml(value)?)));
            fields.collect::<InlineTable>().into()
        }
    })
}
