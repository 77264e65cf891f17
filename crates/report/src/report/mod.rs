//! What people and programs read: the text table, JSON with its schema, Markdown and HTML with pictures, and the small texts
//! around them. For other programs there are MT4G's keys, hwloc's XML, machine files of the simulator, options
//! of Accel-Sim, metrics of Prometheus and features of Kubernetes nodes.
//!
//! Reports are made of a [`Topology`](strata_model::topology::Topology), or of a
//! [`Characterization`](strata_model::characterization::Characterization) ([`mod@characterization`]), and of nothing else, so that
//! a replay gives the report of the run. Only the page for a browser shows the samples, too
//! ([`Evidence`](strata_model::evidence::Evidence)).

mod accelsim;
pub mod acceptance;
mod advice;
mod album;
pub mod characterization;
pub mod comparison;
mod diagram;
mod evidence;
mod expiry;
pub mod explained;
pub mod fleet;
pub mod health;
mod html;
mod hwloc;
pub mod launched;
pub mod links;
mod machine;
mod markdown;
mod mt4g;
mod nfd;
pub mod node;
mod overview;
mod page;
pub mod papers;
mod plot;
mod plots;
mod prometheus;
mod rates;
mod said;
mod short;
mod small;
mod spoken;
mod surroundings;
mod svg;
mod terminal;
mod text;
mod words;

pub use accelsim::accelsim;
pub use album::{Markdown, PictureFile, Pictures};
pub use expiry::Expiry;
pub use html::html;
pub use hwloc::hwloc;
pub(crate) use machine::comment as toml_comment;
pub use machine::machine;
pub use markdown::markdown;
pub use mt4g::{Mt4g, mt4g};
pub use nfd::nfd;
pub use prometheus::prometheus;
pub use small::{devices, sample_line, timings, utc_now};
pub(crate) use surroundings::host;
pub use terminal::{Extent, Terminal};
pub use text::text;
pub use words::printable;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::Value;

/// The whole result as JSON, with a newline at the end.
///
/// # Errors
///
/// If a value cannot be written as JSON, which no finding holds.
pub fn json(answer: &impl Serialize) -> serde_json::Result<String> {
    Ok(with_number_lists_on_one_line(&serde_json::to_string_pretty(answer)?) + "\n")
}

/// The key of the numbers of the experiments behind a finding.
const EXPERIMENTS: &str = "experiments";

/// The result as JSON in one line, with a newline at its end, without the numbers of the experiments behind each finding.
///
/// # Errors
///
/// As [`json`].
pub fn compact_json(answer: &impl Serialize) -> serde_json::Result<String> {
    let mut value = serde_json::to_value(answer)?;
    without_experiments(&mut value);
    Ok(value.to_string() + "\n")
}

fn without_experiments(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, value| key != EXPERIMENTS || !value.is_array());
            map.values_mut().for_each(without_experiments);
        }
        Value::Array(list) => list.iter_mut().for_each(without_experiments),
        _ => {}
    }
}

/// Indented JSON has a line for each number of a list, and a finding may rest on a thousand experiments. Only line breaks
/// go; they cannot stand in a JSON string, so no text is touched.
fn with_number_lists_on_one_line(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find("[\n") {
        let (before, list) = rest.split_at(at);
        out.push_str(before);
        let end = list.find(']').map_or(list.len(), |end| end + 1);
        let numbers = list[..end].chars().all(|c| c.is_ascii_digit() || c.is_whitespace() || "[],.-+eE".contains(c));
        if numbers && !list[1..end].contains('[') {
            let compact: Vec<&str> = list[..end].split_whitespace().collect();
            out.push_str(&compact.join(" ").replace("[ ", "[").replace(" ]", "]"));
            rest = &list[end..];
        } else {
            out.push_str(&list[..2]);
            rest = &list[2..];
        }
    }
    out + rest
}

/// The JSON schema of a result, with a newline at the end.
///
/// # Errors
///
/// If the schema cannot be written as JSON.
pub fn schema<T: JsonSchema>() -> serde_json::Result<String> {
    let settings = SchemaSettings::default().with_transform(RecursiveTransform(close));
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    if let Some(Value::Object(definitions)) = schema.get_mut("$defs") {
        for (name, definition) in definitions {
            if let Value::Object(definition) = definition {
                definition.entry("title").or_insert_with(|| name.as_str().into());
            }
        }
    }
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

/// A list of which each place is described has no further ones.
fn close(schema: &mut Schema) {
    if schema.get("prefixItems").is_some() && schema.get("items").is_none() {
        schema.insert("items".into(), false.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_numbers_take_one_line_and_nothing_else_changes() {
        let value = serde_json::json!({
            "a": [1, 2.5, -3], "b": [[1, 2], [3, 4]], "c": ["x [\n1]", "y"], "d": [], "e": [{"f": [7]}], "g": [1e300]
        });
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        let compact = with_number_lists_on_one_line(&pretty);
        assert!(compact.contains("\"a\": [1, 2.5, -3]"), "{compact}");
        assert!(compact.contains("    [1, 2],\n"), "{compact}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&compact).unwrap(), value);
    }
}
